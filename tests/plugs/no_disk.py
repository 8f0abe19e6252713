"""A machine on which nothing can be written."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock


@contextmanager
def no_disk(folder: Path) -> Iterator[Path]:
    """A home that is a file, where the place for temporary files is below one too."""
    file = folder / "file"
    file.write_text("no folder")
    with mock.patch.object(tempfile, "tempdir", str(file / "temporary")):
        yield file

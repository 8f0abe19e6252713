"""The command line in the test's own process: most of a process's time is its start."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from memorist.__main__ import main


def run_program(
    *arguments: str,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    encoding: str = "utf-8",
) -> subprocess.CompletedProcess[str]:
    """Run `memorist` with these arguments; what it prints, in an encoding, and its exit status, as
    of a process.
    """
    out = io.TextIOWrapper(io.BytesIO(), encoding, write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding, write_through=True)
    status: object = 0
    with (
        chdir(cwd),
        mock.patch.dict(os.environ, environment or {}),
        mock.patch.object(sys, "argv", ["memorist", *arguments]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
    texts = [each.buffer.getvalue().decode(encoding) for each in (out, err)]
    return subprocess.CompletedProcess(
        ["memorist", *arguments], status if isinstance(status, int) else 1, *texts
    )

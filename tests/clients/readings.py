"""What tests look at in a session: the typed words in it, and what a replay by the real command gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memorist.core.messages import Message, Origin, Text
from memorist.formats.harness import typed_text


def typed(messages: Iterable[Message]) -> list[str]:
    """What the messages hold of a person's words, a text each."""
    return [
        typed_text(block.text)
        for message in messages
        for block in message.blocks
        if isinstance(block, Text) and (block.origin or message.origin) is Origin.USER
    ]


def replay(session: Path, folder: Path) -> tuple[dict[str, Any], str]:
    """What `memorist replay --json` says of the session, and the notes it wrote."""
    done = subprocess.run(
        [sys.executable, "-m", "memorist", "replay", str(session), "--out", str(folder / "out"), "--json"],
        cwd=folder,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (said,) = json.loads(done.stdout)["sessions"]
    return said, Path(said["session_memory"]["path"]).read_text("utf-8")

"""What tests look at in a session: the typed words in it, and what a replay by the real command
gives.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from memorist.core.messages import Message, Origin, TextBlock
from memorist.formats.host_markup import strip_host_markup


def typed(messages: Iterable[Message]) -> list[str]:
    """What the messages hold of a person's words, a text each."""
    return [
        strip_host_markup(block.text)
        for message in messages
        for block in message.blocks
        if isinstance(block, TextBlock) and (block.origin or message.origin) is Origin.USER
    ]


def replay(session: Path, folder: Path) -> tuple[dict[str, Any], str]:
    """What `memorist replay --json` says of the session, and the notes it wrote."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "memorist",
            "replay",
            str(session),
            "--out",
            str(folder / "out"),
            "--json",
        ],
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

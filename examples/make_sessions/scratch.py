"""A scratch project that a session works in: written from a table of files, committed with git."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

AUTHOR, MAIL = "Dev", "dev@example.com"


def make_project(folder: Path, files: Mapping[str, str], *, commit: str) -> None:
    """Write the files into a new folder and commit them on the branch `main`."""
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    environment = tool_environment(folder.parent)
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", commit]):
        subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, timeout=30)


def tool_environment(home: Path) -> dict[str, str]:
    """What the tools of a session see of the environment: this Python as `python`, git with a
    made-up author, nothing of the user's own.
    """
    programs = home / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    # A login shell, which is what Codex starts, sets PATH anew; its profile puts it back.
    (home / ".profile").write_text('export PATH="$HOME/bin:$PATH"\n', encoding="utf-8")
    python = programs / "python"
    if not python.exists():
        python.symlink_to(
            Path(sys.base_prefix)
            / "bin"
            / f"python{sys.version_info.major}.{sys.version_info.minor}"
        )
    return {
        "PATH": os.pathsep.join((str(programs), os.environ.get("PATH", os.defpath))),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_AUTHOR_NAME": AUTHOR,
        "GIT_AUTHOR_EMAIL": MAIL,
        "GIT_COMMITTER_NAME": AUTHOR,
        "GIT_COMMITTER_EMAIL": MAIL,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PAGER": "cat",
    }

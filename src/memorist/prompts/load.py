"""Reads the prompts that ship with memorist."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from memorist.errors import UsageError


@cache
def load(name: str) -> str:
    """The text of a prompt, by its path below this folder without `.md`: `load("forks/boundaries")`. As it stands in the file.

    Raises UsageError when there is no such prompt.
    """
    path = Path(__file__).parent.joinpath(*f"{name}.md".split("/"))
    try:
        return path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise UsageError(f"memorist has no prompt {name!r}; look below its folder `prompts`.") from error

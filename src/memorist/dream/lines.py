"""Split the lines of a memory into prose and code: rules about words apply to prose only. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"\s*(?:```|~~~)")


def told_apart(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line with its end, and whether it is prose.

    Fenced and indented code is not; an unclosed fence reaches to the end.
    """
    fenced = False
    for line in text.splitlines(keepends=True):
        fence = _FENCE.match(line) is not None
        yield line, not (fenced or fence or line.startswith(("    ", "\t")))
        fenced = fenced != fence

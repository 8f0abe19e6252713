"""A text as a person sees it: without the colour codes of terminals. Places in it are places in the
text it was made of.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from msgspec import Struct

from memorist.core.lazy import lazy_pattern

_COLOR = lazy_pattern(
    r"(?:\x1b|\\x1[bB]|\\u001[bB]|\\033|\\e)\[[0-9;:?]{0,24}[A-Za-z]|\x1b[()][A-Z0-9]|\x1b\][^\x07\x1b]{0,200}(?:\x07|\x1b\\)"
)
"""A control sequence (ECMA-48: CSI, a character set's choice, an operating system command), raw or
as JSON and shells write it.
"""
COLOR_SIGNS = ("\x1b", "\\x1b[", "\\x1B[", "\\u001b[", "\\u001B[", "\\033[", "\\e[")
"""How a control sequence begins."""


class TextWithoutColorCodes(Struct, frozen=True):
    """The text without what was left out, and where the parts that were kept begin: in the view,
    and in the text it was made of.
    """

    text: str
    shown_from: tuple[int, ...] = ()
    original_from: tuple[int, ...] = ()

    def map_to_original_span(self, start: int, end: int) -> tuple[int, int]:
        """Where the characters from `start` up to `end` (never an empty range) stood."""
        if not self.shown_from:
            return start, end
        return self._map_position(start), self._map_position(end - 1) + 1

    def _map_position(self, at: int) -> int:
        part = bisect_right(self.shown_from, at) - 1
        return self.original_from[part] + at - self.shown_from[part]


def remove_color_codes(text: str) -> str:
    """The text without colour codes, where no places in it are needed."""
    return _COLOR.sub("", text) if any(sign in text for sign in COLOR_SIGNS) else text


def build_view_without_colors(text: str, positions: Iterable[int]) -> TextWithoutColorCodes:
    """The text without colour codes; the text itself, as the same object, where it has none.
    `places`: where a sign of one stands, in order.
    """
    parts: list[str] = []
    shown_from: list[int] = []
    original_from: list[int] = []
    done = size = 0
    for at in positions:
        code = _COLOR.match(text, at) if at >= done else None
        if code is None:
            continue
        if code.start() > done:
            parts.append(text[done : code.start()])
            shown_from.append(size)
            original_from.append(done)
            size += len(parts[-1])
        done = code.end()
    if not done:
        return TextWithoutColorCodes(text)
    if done < len(text):
        parts.append(text[done:])
        shown_from.append(size)
        original_from.append(done)
    return TextWithoutColorCodes("".join(parts), tuple(shown_from), tuple(original_from))

"""Cutting a text to a number of tokens, with a mark that says how much was removed. Pure."""

from __future__ import annotations

import re

from memorist.core.token_count import BYTES_PER_TOKEN, estimate_text_tokens

CUT_MARK = " tokens cut …"
"""End of the mark."""


def _cut_mark(tokens: int) -> str:
    return f"\n… {tokens}{CUT_MARK}\n"


def cut_to_bytes(text: str, size: int) -> str:
    """At most the first `size` UTF-8 bytes, cut at a character boundary, and at a line end if there
    is one in the second half.
    """
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= size:
        return text
    head = raw[:size].decode("utf-8", "ignore")
    line_end = head.rfind("\n", len(head) // 2)
    return head[:line_end] if line_end > 0 else head


def _tail(text: str, size: int) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    cut = raw[max(0, len(raw) - size) :].decode("utf-8", "ignore")
    line_start = cut.find("\n", 0, len(cut) // 2)
    return cut[line_start + 1 :] if line_start >= 0 else cut


def truncate_end(text: str, tokens: int) -> str:
    """Keep the start of the text, at most `tokens` estimated tokens; a mark follows when something
    is cut.
    """
    size = estimate_text_tokens(text)
    if size <= tokens:
        return text
    head = cut_to_bytes(text, tokens * BYTES_PER_TOKEN)
    return head + _cut_mark(size - estimate_text_tokens(head)).rstrip("\n")


def render_way_back(id: str) -> str:
    """The line behind a cut: the id by which the whole text is found."""
    return f"[whole text: {id}]\n"


def truncate_middle(text: str, tokens: int, *, way_back: str = "") -> str:
    """Keep the start and the end of the text, `tokens` / 2 estimated tokens each, with a mark
    between them when something is cut (as CX-6 asks), and behind it `way_back`.
    """
    size = estimate_text_tokens(text)
    if size <= tokens:
        return text
    half = max(1, tokens * BYTES_PER_TOKEN // 2)
    head, tail = cut_to_bytes(text, half), _tail(text, half)
    mark = _cut_mark(size - estimate_text_tokens(head) - estimate_text_tokens(tail))
    return head + mark + way_back + tail


_CUT = re.compile(rf"\n… \d+{CUT_MARK}\n(?:\[whole text: [^\]\n]*\]\n)?")


def split_at_cut(text: str) -> tuple[str, str] | None:
    """What stands before the first mark and behind the last one of a text that was cut in the
    middle; None for any other.
    """
    head, *rest = _CUT.split(text)
    return (head, rest[-1]) if rest else None

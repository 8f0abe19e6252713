"""Cut a text to a number of tokens, and leave a mark that says how much is gone."""

from __future__ import annotations

from memorist.core.tokens import BYTES_PER_TOKEN, estimate_text


def _mark(tokens: int) -> str:
    return f"\n… {tokens} tokens cut …\n"


def _head(text: str, size: int) -> str:
    """The longest start of at most `size` UTF-8 bytes, on a character boundary, at a line end if one lies in its second half."""
    cut = text.encode("utf-8", "surrogatepass")[:size].decode("utf-8", "ignore")
    line_end = cut.rfind("\n", len(cut) // 2)
    return cut[:line_end] if line_end > 0 else cut


def _tail(text: str, size: int) -> str:
    raw = text.encode("utf-8", "surrogatepass")
    cut = raw[max(0, len(raw) - size) :].decode("utf-8", "ignore")
    line_start = cut.find("\n", 0, len(cut) // 2)
    return cut[line_start + 1 :] if line_start >= 0 else cut


def cut_end(text: str, tokens: int) -> str:
    """The start of the text, at most `tokens` estimated tokens, with a mark when something is cut."""
    size = estimate_text(text)
    if size <= tokens:
        return text
    head = _head(text, tokens * BYTES_PER_TOKEN)
    return head + _mark(size - estimate_text(head)).rstrip("\n")


def cut_middle(text: str, tokens: int) -> str:
    """Start and end of the text, half of `tokens` estimated tokens each, with a mark between them when something is cut (CX-6's way)."""
    size = estimate_text(text)
    if size <= tokens:
        return text
    half = max(1, tokens * BYTES_PER_TOKEN // 2)
    head, tail = _head(text, half), _tail(text, half)
    return head + _mark(size - estimate_text(head) - estimate_text(tail)) + tail

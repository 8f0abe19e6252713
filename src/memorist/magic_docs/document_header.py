"""The header that makes a file a Magic Doc, and the italic line after it, which is its instruction
(MD-1). Pure.

Names and shape are those of Claude Code. A header inside fenced code is an example and
makes nothing a Magic Doc.
"""

from __future__ import annotations

import re

from msgspec import Struct

from memorist.core.markdown import mark_fenced_code, split_lines_at_line_feeds

SUFFIXES = (".md", ".markdown", ".mdx")
"""File name suffixes of possible Magic Docs."""

_HEADER = re.compile(r"\ufeff?#[ \t]*MAGIC[ \t]+DOC:[ \t]*(\S.*)", re.IGNORECASE)
_ITALIC = re.compile(r"([_*])(?![_*\s])(.+)(?<![\s_*])\1")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


class MagicDocHeader(Struct, frozen=True):
    """The header of a document."""

    title: str
    instruction: str
    """What the user wants it to hold; empty if no italic line follows."""
    frame: str
    """The file from its beginning to the end of the header, or of the instruction if there is one:
    the part that no update may change.
    """


def is_markdown(path: str) -> bool:
    """Tell whether a file of that name may be a Magic Doc."""
    return path.lower().endswith(SUFFIXES)


def find_magic_doc_header(text: str) -> MagicDocHeader | None:
    """Return the first header that begins a line, in any case; None if the text is not a
    Magic Doc.
    """
    start = 0
    for line, fenced in mark_fenced_code(split_lines_at_line_feeds(text)):
        bare = line.rstrip("\r\n")
        found = None if fenced else _HEADER.fullmatch(bare.rstrip())
        if found is not None:
            return _with_instruction(found[1].strip(), text, start + len(bare))
        start += len(line)
    return None


def _with_instruction(title: str, text: str, end: int) -> MagicDocHeader:
    """The instruction is the next line, or the one after a single blank line."""
    start = min(len(text), end + 1 + text[end:].startswith("\r"))
    for _ in range(2):
        line = _LINE.match(text, start)
        if line is None:
            break
        bare = line[0].strip()
        italic = _ITALIC.fullmatch(bare)
        if italic is not None:
            stop = start + len(line[0].rstrip("\r\n"))
            return MagicDocHeader(title, italic[2].strip(), text[:stop])
        if bare:
            break
        start = line.end()
    return MagicDocHeader(title, "", text[:end])

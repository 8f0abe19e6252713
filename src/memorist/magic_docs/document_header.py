"""The header that makes a file a Magic Doc, and the italic line after it, which is its instruction
(MD-1). Pure.

Names and shape are those of claude-code.md 11.2. A header inside fenced code is an example and
makes nothing a Magic Doc.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from memorist.core.markdown import find_placeholders, render_template

SUFFIXES = (".md", ".markdown", ".mdx")
"""File name suffixes of possible Magic Docs."""

_HEADER = re.compile(r"\ufeff?#[ \t]*MAGIC[ \t]+DOC:[ \t]*(\S.*)", re.IGNORECASE)
_ITALIC = re.compile(r"([_*])(?![_*\s])(.+)(?<![\s_*])\1")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


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


def find_header(text: str) -> MagicDocHeader | None:
    """Return the first header that begins a line, in any case; None if the text is not a
    Magic Doc.
    """
    lines = _outside_fences(text)
    for line, end in lines:
        found = _HEADER.fullmatch(line)
        if found is not None:
            return _with_instruction(found[1].strip(), text, end)
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


def _outside_fences(text: str) -> Iterator[tuple[str, int]]:
    """Yield each line outside fenced code, without its end and trailing blanks, and where that end
    begins.
    """
    fence = ""
    for found in _LINE.finditer(text):
        line = found[0].rstrip("\r\n")
        mark = _FENCE.match(line)
        if fence:
            if mark is not None and mark[1].startswith(fence):
                fence = ""
        elif mark is not None:
            fence = mark[1]
        else:
            yield line.rstrip(), found.start() + len(line)


# The instruction of the fork that updates a Magic Doc. Pure.


class MagicDocPrompts(Struct, frozen=True, kw_only=True):
    """The prompt texts: ours, or the user's own in place of `prompt`."""

    prompt: str
    own_instruction: str
    refused: str
    form: str
    is_user_prompt: bool = False


def render_demands(
    header: MagicDocHeader, prompts: MagicDocPrompts, refused: tuple[str, ...]
) -> tuple[str, str]:
    """What the owner says of the document, and why its last change was rejected; empty without."""
    own, reasons = (
        render_template(text, {name: value}, strict=True).strip() if value else ""
        for text, name, value in (
            (prompts.own_instruction, "instruction", header.instruction),
            (prompts.refused, "reasons", "; ".join(refused)),
        )
    )
    return own, reasons


def build_update_prompt(
    contents: str,
    path: str,
    header: MagicDocHeader,
    prompts: MagicDocPrompts,
    refused: tuple[str, ...] = (),
) -> str:
    """Build the instruction for one document.

    `refused` are the reasons why its last change was rejected.

    In a user's own prompt unknown names stay as they are, and the reasons go to its end if it does
    not place them.
    """
    own, reasons = render_demands(header, prompts, refused)
    values = {
        "docContents": contents.rstrip("\n"),
        "docPath": path,
        "docTitle": header.title,
        "customInstructions": f"\n{own}\n" if own else "",
        "refused": reasons,
    }
    text = render_template(prompts.prompt, values, strict=not prompts.is_user_prompt).strip()
    if reasons and "refused" not in find_placeholders(prompts.prompt):
        text += "\n\n" + reasons
    return text + "\n"

"""Markdown as far as memorist needs it: sections that begin with a level-one heading, and code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})")
_MAX_EXTRA_INDENT = 3
"""Of a closing fence, in characters: one that is further in is part of the code."""
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_BACKTICKS = re.compile(r"`+")


class TopLevelSection(Struct, frozen=True):
    """A heading line (with its `# `) and the text up to the next heading, without blank lines at
    either end.
    """

    header: str
    body: str

    @property
    def title(self) -> str:
        """The heading without its `#`."""
        return self.header.lstrip("#").strip()


class TopLevelOutline(Struct, frozen=True):
    """A text as a preamble and its level-one sections."""

    preamble: str
    sections: tuple[TopLevelSection, ...]


def parse_top_level_outline(text: str, titles: Collection[str] | None = None) -> TopLevelOutline:
    """Split a text at the lines that begin with `# `, outside fenced code.

    With `titles`, only headings in that list count (ignoring case and spacing): any other `# ` line
    stays part of the body.
    """
    wanted = None if titles is None else {_normalize_title(title) for title in titles}
    preamble: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    for line, fenced in mark_fenced_code(text.splitlines()):
        # A known header ends a fence that was never closed, or all that follows would be swallowed.
        if line.startswith("# ") and (
            not fenced if wanted is None else _normalize_title(line[2:]) in wanted
        ):
            sections.append((line.rstrip(), []))
        else:
            (sections[-1][1] if sections else preamble).append(line.rstrip())
    return TopLevelOutline(
        preamble="\n".join(preamble).strip("\n"),
        sections=tuple(
            TopLevelSection(header, "\n".join(body).strip("\n")) for header, body in sections
        ),
    )


def _normalize_title(title: str) -> str:
    return " ".join(title.lower().split())


def split_lines_at_line_feeds(text: str) -> list[str]:
    """The lines, each with its end; only a line feed ends one."""
    return _LINE.findall(text)


def mark_fenced_code(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is of fenced code, the fences included; an open fence reaches
    to the end.
    """
    fence = indent = ""
    for line in lines:
        mark = _FENCE.match(line)
        is_open = bool(fence)
        if mark and is_open:
            closes = mark[2].startswith(fence) and not line.strip(" \t\r\n" + fence[0])
            if closes and len(mark[1]) <= len(indent) + _MAX_EXTRA_INDENT:
                fence = ""
        elif mark and not (mark[2][0] == "`" and "`" in line[mark.end() :]):
            indent, fence = mark.groups()
        yield line, is_open or bool(fence)


def blank_code_spans(text: str) -> str:
    """Blank what stands between two equally long runs of backticks; linear time, and the length
    stays the same.
    """
    runs = [match.span() for match in _BACKTICKS.finditer(text)]
    later: dict[int, list[int]] = {}
    for at in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[at][1] - runs[at][0], []).append(at)
    parts: list[str] = []
    done = at = 0
    while at < len(runs):
        start, end = runs[at]
        same_length = later[end - start]
        while same_length and same_length[-1] <= at:
            same_length.pop()
        if same_length:
            at = same_length[-1]
            parts += (text[done:start], " " * (runs[at][1] - start))
            done = runs[at][1]
        at += 1
    return "".join((*parts, text[done:]))

"""Markdown as far as memorist needs it: sections that begin with a level-one heading, and code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from msgspec import Struct

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
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
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        is_header = line.startswith("# ") and not fenced
        if wanted is not None and line.startswith("# ") and _normalize_title(line[2:]) in wanted:
            # A known header ends a fence that was never closed, or all that follows would be
            # swallowed.
            is_header, fenced = True, False
        elif wanted is not None:
            is_header = False
        if is_header:
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


def mark_fenced_code(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line with its end, and whether it is of fenced code, the fences included; an open
    fence reaches to the end.
    """
    fence = ""
    for line in _LINE.findall(text):
        mark = _FENCE.match(line)
        sign = mark[1] if mark else ""
        is_open = bool(fence)
        if is_open and sign.startswith(fence) and not line.strip(" \t\r\n" + fence[0]):
            fence = ""
        elif mark and not is_open and not (sign[0] == "`" and "`" in line[mark.end() :]):
            fence = sign
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

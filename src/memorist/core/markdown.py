"""Markdown as far as memorist needs it: sections that begin with a level-one heading."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct


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

"""Repair links between memories whose target is gone (DR-5). Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Mapping

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.dream.duplicate_memories import mark_prose_lines

_LINK = lazy_pattern(
    r"(?<![!\\])(?:\[\[(?P<name>[^\[\]|\n]{1,200})(?:\|(?P<label>[^\[\]\n]{1,200}))?\]\]"
    r"|\[(?P<text>[^\[\]\n]{1,200})\]\((?P<path>[^()\s#]{1,200}\.md)(?P<part>#[^()\s]{0,200})?\))"
)
_CODE_SPAN = lazy_pattern(r"`[^`\n]*`")
_ONLY_LINKS = lazy_pattern(
    r"\s*(?:[-*+]\s+)?(?:see(?:\s+also)?:?\s+)?\0(?:(?:\s*,\s*|\s+and\s+)\0)*[.;]?\s*",
    re.IGNORECASE,
)


class ValidLinkTargets(Struct, frozen=True, kw_only=True):
    """Valid link targets. Paths are relative to the memory folder."""

    present: Collection[str]
    names: Mapping[str, str] = {}
    """Header names to the paths of their memories."""
    known_paths: Collection[str] = ()
    """Paths that the history knows."""
    moved: Mapping[str, str] = {}
    """Paths that this dream removes, to the memory that says the same."""


def repair_memory_links(path: str, text: str, links: ValidLinkTargets) -> str:
    """Return the text of the memory at `path` with links retargeted to what moved, and without
    provably dead links.

    A line that holds nothing else is removed with its link; elsewhere the link's words stay.
    """
    return "".join(
        _repair_line(path, line, links) if prose and "[" in line else line
        for line, prose in mark_prose_lines(text)
    )


def _repair_line(path: str, line: str, links: ValidLinkTargets) -> str:
    code = [match.span() for match in _CODE_SPAN.finditer(line)]
    dead = 0

    def put(match: re.Match[str], replace_with: Callable[[str], str]) -> str:
        nonlocal dead
        if any(start <= match.start() < end for start, end in code):
            return match[0]
        target = _link_target(path, match, links)
        if target in links.moved:
            return _retarget_link(path, match, links.moved[target])
        if target in links.present or target not in links.known_paths:
            return match[0]
        dead += 1
        return replace_with(match["label"] or match["text"] or match["name"])

    bare = _LINK.sub(lambda match: put(match, lambda _: "\0"), line)
    if dead and _ONLY_LINKS.fullmatch(bare):
        return ""
    return _LINK.sub(lambda match: put(match, str), line) if dead or bare != line else line


def _link_target(path: str, match: re.Match[str], links: ValidLinkTargets) -> str:
    if match["path"]:
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), match["path"]))
    name = match["name"].partition("#")[0].strip()
    file = name if name.endswith(".md") else f"{name}.md"
    return file if file in links.moved or file in links.present else links.names.get(name, file)


def _retarget_link(path: str, match: re.Match[str], to: str) -> str:
    """The link to what stayed, also to the part of it that was named (`#setup`)."""
    if match["path"]:
        target = posixpath.relpath(to, posixpath.dirname(path) or ".")
        return f"[{match['text']}]({target}{match['part'] or ''})"
    _, mark, part = match["name"].partition("#")
    label = f"|{match['label']}" if match["label"] else ""
    return f"[[{to.removesuffix('.md')}{mark}{part}{label}]]"

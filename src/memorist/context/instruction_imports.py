"""Imports (`@path`) and comments of an instruction file.

Pure, and linear in the text (Claude Code).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from memorist.platforms.user_home import expand_user

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BACKTICK_RUN = re.compile(r"`+")
_IMPORT = re.compile(r"@(?<![^\s(\[]@)((?:[^\s\\]|\\ ){1,1000})")
"""Matches at the start, or after a space or an opening bracket.

The `@` comes first in the pattern so that a search jumps from one `@` to the next.
"""
_TRAILING_PUNCTUATION = ".,;:!?)]}\"'*_"


def find_instruction_imports(text: str) -> tuple[str, ...]:
    """Return the imported paths, in order and without duplicates.

    Code spans and fenced blocks are ignored.
    """
    if "@" not in text:
        return ()
    found: dict[str, None] = {}
    for prose in _prose(text):
        for match in _IMPORT.finditer(_blank_code_spans(prose)):
            path = match[1].partition("#")[0].replace("\\ ", " ").rstrip(_TRAILING_PUNCTUATION)
            if path and path[0] not in "@#":
                found[path] = None
    return tuple(found)


def is_path_like(name: str) -> bool:
    """Tell whether the name is meant as a file rather than a user or a package: only then is a
    missing one reported.
    """
    last = name.rpartition("/")[2]
    return name.startswith(("/", "~/", "./", "../")) or "." in last[1:]


def resolve_instruction_import(name: str, importer: Path) -> Path:
    """The file that an import names: from the home folder, or from the importing file's folder."""
    wanted = Path(name)
    return Path(expand_user(name)) if name.startswith("~/") else importer.parent / wanted


def find_instruction_import_problem(name: str, depth: int, hops: int, *, exists: bool) -> str:
    """Why an import at this `depth` is not followed; empty where it is, or is no path at all.
    `hops` is the longest chain of imports (`context.import_depth`).
    """
    if depth >= hops:
        return f"it is more than {hops} imports away" if exists else ""
    return "it is not there" if not exists and is_path_like(name) else ""


def _fenced_blocks(text: str) -> Iterator[tuple[bool, str]]:
    """Split the text into stretches, each with whether it is fenced code."""
    if "```" not in text and "~~~" not in text:
        yield False, text
        return
    lines: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if not fence and mark:
            yield False, "".join(lines)
            lines, fence = [line], mark[1]
        elif fence and mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
            yield True, "".join([*lines, line])
            lines, fence = [], ""
        else:
            lines.append(line)
    yield bool(fence), "".join(lines)


def _prose(text: str) -> Iterator[str]:
    return (block for fenced, block in _fenced_blocks(text) if block and not fenced)


def _blank_code_spans(text: str) -> str:
    """Blank out code spans: a run of backticks up to the next run of the same length."""
    if "`" not in text:
        return text
    runs = [match.span() for match in _BACKTICK_RUN.finditer(text)]
    positions: dict[int, list[int]] = defaultdict(list)
    for number, (start, end) in reversed(list(enumerate(runs))):
        positions[end - start].append(number)
    kept: list[str] = []
    done = number = 0
    while number < len(runs):
        start, end = runs[number]
        later = positions[end - start]
        while later and later[-1] <= number:
            later.pop()
        if later:
            kept += [text[done:start], " ` "]
            number = later[-1]
            done = runs[number][1]
        number += 1
    return "".join([*kept, text[done:]])


def strip_html_comments(text: str) -> str:
    """Remove HTML comments that begin a line; those in fenced code, within a line, and unclosed
    ones stay.
    """
    if "<!--" not in text:
        return text
    return "".join(
        block if fenced else _strip_prose_comments(block) for fenced, block in _fenced_blocks(text)
    )


def _strip_prose_comments(text: str) -> str:
    kept: list[str] = []
    done = 0
    for at in (match.start() for match in re.finditer(r"^ {0,3}<!--", text, re.MULTILINE)):
        if at < done:
            continue
        end = text.find("-->", at)
        if end < 0:
            break
        kept.append(text[done:at])
        done = end + 3
        if text[done : done + 1] == "\n":
            done += 1
    return "".join([*kept, text[done:]])

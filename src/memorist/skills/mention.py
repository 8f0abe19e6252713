"""Find the skills a message invokes: `$name`, `@name`, or a link to a SKILL.md. Pure (SK-2).

Source: codex.md section 4.3. Code in fences or backticks is skipped, where a dollar sign means a
variable. A name counts only as a whole word, and only when it identifies exactly one skill; copies
of a skill count as one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from memorist.core.later import late_pattern
from memorist.skills.skill import FILE_NAME, Skill, same

VARIABLES = frozenset(
    {"PATH", "HOME", "USER", "SHELL", "PWD", "TMPDIR", "TEMP", "TMP", "LANG", "TERM", "XDG_CONFIG_HOME"}
)  # fmt: skip
"""Names that mean a shell variable even where a skill has that name (codex.md section 4.3)."""

_FENCE = late_pattern(r"[ ]{0,3}(`{3,}|~{3,})")
_TICKS = late_pattern(r"`+")
_LINK = late_pattern(r"\[[^\[\]\n]{0,200}\]\(\s*(?:<([^<>\n]{1,1024})>|([^()\s]{1,1024}))(?:\s+[\"'][^\"'\n]{0,200}[\"'])?\s*\)")
_WORD = r"([A-Za-z0-9_](?:[\w:-]{0,127}))(?![\w:-])"
_AFTER = r"(?!\.\w|[/=(\[{$@\\])"
_DOLLAR = late_pattern(r"(?<![\w$\\{/])\$" + _WORD + _AFTER, re.ASCII)
_AT = late_pattern(r"(?<![\w@.+/\\%&=-])@" + _WORD + _AFTER, re.ASCII)
_ESCAPES = late_pattern(r"(?:%[0-9A-Fa-f]{2})+")
_PRICE = late_pattern(r"\d[\d_]*[kKmMbB]?")


class Ambiguous(Struct, frozen=True):
    """A name shared by several different skills, and their paths."""

    name: str
    paths: tuple[str, ...]


class Mentions(Struct, frozen=True):
    """What a message invokes: each skill once, in text order, and the ambiguous names."""

    skills: tuple[Skill, ...] = ()
    ambiguous: tuple[Ambiguous, ...] = ()


def mentions(text: str, skills: Sequence[Skill], cwd: str = "") -> Mentions:
    """Find the skills that the text invokes.

    Relative links are resolved against `cwd`; without it they are matched as the end of a path.
    """
    usable = [skill for skill in skills if skill.mentionable]
    if not usable or ("$" not in text and "@" not in text and "](" not in text):
        return Mentions()
    prose = without_code(text)
    found: list[tuple[int, Skill]] = []
    for link in _LINK.finditer(prose):
        target = _target(link[1] or link[2], usable, cwd)
        found += [(link.start(), target)] if target is not None else []
    linked = {skill.name for _, skill in found}
    named, ambiguous = _named(_LINK.sub(lambda link: " " * len(link[0]), prose), usable, linked)
    once = {skill.path: skill for _, skill in sorted(found + named, key=lambda pair: pair[0])}
    return Mentions(tuple(once.values()), ambiguous)


def _named(prose: str, usable: Sequence[Skill], linked: set[str]) -> tuple[list[tuple[int, Skill]], tuple[Ambiguous, ...]]:
    """Find skills named by a sign and a word; names already settled by a link are skipped."""
    by_name: dict[str, list[Skill]] = {}
    for skill in usable:
        by_name.setdefault(skill.name, []).append(skill)
    found: list[tuple[int, Skill]] = []
    doubtful: dict[str, Ambiguous] = {}
    for start, word in _words(prose):
        name = next((form for form in (word, word.rstrip(":-")) if form in by_name), "")
        if not name or name in linked:
            continue
        first, *others = by_name[name]
        if all(same(first, other) for other in others):
            found.append((start, first))
        else:
            doubtful[name] = Ambiguous(name, tuple(skill.path for skill in by_name[name]))
    return found, tuple(doubtful.values())


def _words(prose: str) -> Iterator[tuple[int, str]]:
    for match in _DOLLAR.finditer(prose):
        if match[1] not in VARIABLES and not _PRICE.fullmatch(match[1]):
            yield match.start(), match[1]
    for match in _AT.finditer(prose):
        yield match.start(), match[1]


def _target(target: str, usable: Sequence[Skill], cwd: str) -> Skill | None:
    """Resolve a link to a skill's SKILL.md or folder; None for other links and ambiguous ones."""
    path = _ESCAPES.sub(_unescaped, target.partition("#")[0].removeprefix("file://").removeprefix("skill://"))
    if not path or "://" in path or "\0" in path:
        return None
    wanted = posixpath.normpath(path if path.startswith("/") or not cwd else posixpath.join(cwd, path))
    if wanted.startswith("/"):
        return next((skill for skill in usable if wanted in (skill.path, skill.folder)), None)
    if not wanted.endswith(FILE_NAME) or wanted.startswith("~"):
        wanted = wanted.removeprefix("~/")
    ends = [skill for skill in usable if f"/{wanted}" in (skill.path[-len(wanted) - 1 :], skill.folder[-len(wanted) - 1 :])]
    return ends[0] if ends and all(same(ends[0], each) for each in ends) else None


def _unescaped(escapes: re.Match[str]) -> str:
    return bytes.fromhex(escapes[0].replace("%", "")).decode("utf-8", "replace")


def without_code(text: str) -> str:
    """Blank fenced code and backtick spans; the length stays the same.

    An open fence reaches to the end.
    """
    lines: list[str] = []
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = _FENCE.match(line)
        sign = mark[1] if mark else ""
        if fence:
            ends = sign.startswith(fence) and not line.strip(" \t\r\n" + fence[0])
            lines.append(" " * len(line))
            fence = "" if ends else fence
        elif sign and not (sign[0] == "`" and "`" in line[len(mark[0]) if mark else 0 :]):
            lines.append(" " * len(line))
            fence = sign
        else:
            lines.append(line)
    return _without_spans("".join(lines))


def _without_spans(text: str) -> str:
    """Blank what stands between two equally long runs of backticks; linear time."""
    runs = [match.span() for match in _TICKS.finditer(text)]
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

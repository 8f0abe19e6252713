"""Skills that a message mentions: `$name`, `@name`, or a link to a SKILL.md. Pure (SK-2).

Source: Codex. Code in fences or backticks is skipped, where a dollar sign means a
variable. A name counts only as a whole word, and only when it identifies exactly one skill; copies
of a skill count as one.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.markdown import blank_code_spans, mark_fenced_code, split_markdown_lines
from memorist.skills.skill_file import Skill, are_equal_skills

SHELL_VARIABLES = frozenset(
    ["PATH", "HOME", "USER", "SHELL", "PWD", "TMPDIR", "TEMP", "TMP", "LANG", "TERM",
     "XDG_CONFIG_HOME"]
)  # fmt: skip
"""Names that mean a shell variable even where a skill has that name (Codex)."""


_LINK = lazy_pattern(
    r"\[[^\[\]\n]{0,200}\]\(\s*(?:<([^<>\n]{1,1024})>|([^()\s]{1,1024}))"
    r"(?:\s+[\"'][^\"'\n]{0,200}[\"'])?\s*\)"
)


_WORD = r"([A-Za-z0-9_](?:[\w:-]{0,127}))(?![\w:-])"


_NOT_FOLLOWED_BY = r"(?!\.\w|[/=(\[{$@\\])"


_DOLLAR_MENTION = lazy_pattern(r"(?<![\w$\\{/])\$" + _WORD + _NOT_FOLLOWED_BY, re.ASCII)


_AT_MENTION = lazy_pattern(r"(?<![\w@.+/\\%&=-])@" + _WORD + _NOT_FOLLOWED_BY, re.ASCII)


_ESCAPES = lazy_pattern(r"(?:%[0-9A-Fa-f]{2})+")


_PRICE = lazy_pattern(r"\d[\d_]*[kKmMbB]?")


class AmbiguousSkillMention(Struct, frozen=True):
    """A name shared by several different skills, and their paths."""

    name: str
    paths: tuple[str, ...]


class SkillMentions(Struct, frozen=True):
    """What a message invokes: each skill once, in text order, and the ambiguous names."""

    skills: tuple[Skill, ...] = ()
    ambiguous: tuple[AmbiguousSkillMention, ...] = ()


def find_skill_mentions(text: str, skills: Sequence[Skill], cwd: str = "") -> SkillMentions:
    """Find the skills that the text invokes.

    Relative links are resolved against `cwd`; without it they are matched as the end of a path.
    """
    usable = [skill for skill in skills if skill.mentionable]
    if not usable or ("$" not in text and "@" not in text and "](" not in text):
        return SkillMentions()
    prose = mask_code(text)
    found: list[tuple[int, Skill]] = []
    for link in _LINK.finditer(prose):
        target = _resolve_link(link[1] or link[2], usable, cwd)
        found += [(link.start(), target)] if target is not None else []
    linked = {skill.name for _, skill in found}
    named, ambiguous = _find_named_skills(
        _LINK.sub(lambda link: " " * len(link[0]), prose), usable, linked
    )
    once = {skill.path: skill for _, skill in sorted(found + named, key=lambda pair: pair[0])}
    return SkillMentions(tuple(once.values()), ambiguous)


def _find_named_skills(
    prose: str, usable: Sequence[Skill], linked: set[str]
) -> tuple[list[tuple[int, Skill]], tuple[AmbiguousSkillMention, ...]]:
    """Find skills named by a sign and a word; names already settled by a link are skipped."""
    by_name: dict[str, list[Skill]] = {}
    for skill in usable:
        by_name.setdefault(skill.name, []).append(skill)
    found: list[tuple[int, Skill]] = []
    doubtful: dict[str, AmbiguousSkillMention] = {}
    for start, word in _find_mention_words(prose):
        name = next((form for form in (word, word.rstrip(":-")) if form in by_name), "")
        if not name or name in linked:
            continue
        first, *others = by_name[name]
        if all(are_equal_skills(first, other) for other in others):
            found.append((start, first))
        else:
            doubtful[name] = AmbiguousSkillMention(
                name, tuple(skill.path for skill in by_name[name])
            )
    return found, tuple(doubtful.values())


def _find_mention_words(prose: str) -> Iterator[tuple[int, str]]:
    for match in _DOLLAR_MENTION.finditer(prose):
        if match[1] not in SHELL_VARIABLES and not _PRICE.fullmatch(match[1]):
            yield match.start(), match[1]
    for match in _AT_MENTION.finditer(prose):
        yield match.start(), match[1]


def _resolve_link(target: str, usable: Sequence[Skill], cwd: str) -> Skill | None:
    """Resolve a link to a skill's SKILL.md or folder; None for other links and ambiguous ones."""
    path = _ESCAPES.sub(
        _unescape, target.partition("#")[0].removeprefix("file://").removeprefix("skill://")
    )
    if not path or "://" in path or "\0" in path:
        return None
    wanted = posixpath.normpath(
        path if path.startswith(("/", "~/")) or not cwd else posixpath.join(cwd, path)
    )
    if wanted.startswith("/"):
        return next((skill for skill in usable if wanted in (skill.path, skill.folder)), None)
    wanted = wanted.removeprefix("~/")
    ends = [
        skill
        for skill in usable
        if f"/{wanted}" in (skill.path[-len(wanted) - 1 :], skill.folder[-len(wanted) - 1 :])
    ]
    return ends[0] if ends and all(are_equal_skills(ends[0], each) for each in ends) else None


def _unescape(escapes: re.Match[str]) -> str:
    return bytes.fromhex(escapes[0].replace("%", "")).decode("utf-8", "replace")


def mask_code(text: str) -> str:
    """Blank fenced code and backtick spans; the length stays the same.

    An open fence reaches to the end.
    """
    return blank_code_spans(
        "".join(
            " " * len(line) if fenced else line
            for line, fenced in mark_fenced_code(split_markdown_lines(text))
        )
    )

"""Skills that a message mentions: `$name`, `@name`, or a link to a SKILL.md. Pure (SK-2).

Source: Codex. Code in fences or backticks is skipped, where a dollar sign means a
variable. A name counts only as a whole word, and only when it identifies exactly one skill; copies
of a skill count as one.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Container, Iterator, Sequence

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.markdown import blank_code_spans, mark_fenced_code, split_lines_at_line_feeds
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


_WORD = r"((?:\w|[^\x00-\x7f])(?:[\w:-]|[^\x00-\x7f]){0,127})"
"""A name and what stands behind it without a blank, in any script."""


_GOES_ON = lazy_pattern(r"[\w:-]|\.\w|[/=(\[{$@\\]", re.ASCII)
"""What follows a word that is no name of a skill: a path, a call, an assignment."""


_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
    "\uac00-\ud7a3\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Letters of scripts in which the next word, or a particle, follows without a blank; of Korean
also those of which others are made up.
"""


_UNSPACED_LETTER = lazy_pattern(f"[{_UNSPACED}]")


_NOT_IN_WORD = rf"(?<![^\W{_UNSPACED}])"


_DOLLAR_MENTION = lazy_pattern(_NOT_IN_WORD + r"(?<![$\\{/])\$" + _WORD)


_AT_MENTION = lazy_pattern(_NOT_IN_WORD + r"(?<![@.+/\\%&=-])@" + _WORD)


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
        by_name.setdefault(unicodedata.normalize("NFC", skill.name), []).append(skill)
    found: list[tuple[int, Skill]] = []
    doubtful: dict[str, AmbiguousSkillMention] = {}
    for start, name in _find_mentioned_names(prose, by_name):
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


def _find_mentioned_names(prose: str, known: Container[str]) -> Iterator[tuple[int, str]]:
    """The longest known name behind each sign, with the sign's position."""
    for pattern in (_DOLLAR_MENTION, _AT_MENTION):
        for match in pattern.finditer(prose):
            goes_on = _GOES_ON.match(prose, match.end()) is not None
            word = unicodedata.normalize("NFC", match[1])
            ends = (end for end in range(len(word), 0, -1) if word[:end] in known)
            name = next((word[:end] for end in ends if _ends_name(word[end:], goes_on)), "")
            is_other = name in SHELL_VARIABLES or _PRICE.fullmatch(name)
            if not (pattern is _DOLLAR_MENTION and is_other):
                yield match.start(), name


def _ends_name(rest: str, goes_on: bool) -> bool:
    """Whether a name ends before the rest of its word: before signs, and before a letter only where
    its script has no blanks between words.
    """
    behind = rest.lstrip(":-")
    if not behind:
        return not goes_on
    if behind[0].isascii():
        return False
    has_greeting_and_closing = unicodedata.category(behind[0])[0] in "LMN"
    return behind != rest or not has_greeting_and_closing or bool(_UNSPACED_LETTER.match(behind))


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
            for line, fenced in mark_fenced_code(split_lines_at_line_feeds(text))
        )
    )

"""Find the skills a message invokes: `$name`, `@name`, or a link to a SKILL.md. Pure (SK-2).

Source: codex.md section 4.3. Code in fences or backticks is skipped, where a dollar sign means a
variable. A name counts only as a whole word, and only when it identifies exactly one skill; copies
of a skill count as one.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.restored_content import InvokedSkill, parse_restored_skill
from memorist.core.lazy import lazy_pattern
from memorist.core.markdown import render_template
from memorist.core.messages import SKILL_ID_PREFIX, Message, Origin, TextBlock
from memorist.core.token_count import estimate_text_tokens, truncate_end
from memorist.extensions import SessionExtension, SessionView
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.settings import Family, SkillsSettings
from memorist.skills.skill import SKILL_FILE, Skill, SkillPrompts, is_same_skill, load_skill_prompts

SHELL_VARIABLES = frozenset(
    ["PATH", "HOME", "USER", "SHELL", "PWD", "TMPDIR", "TEMP", "TMP", "LANG", "TERM",
     "XDG_CONFIG_HOME"]
)  # fmt: skip
"""Names that mean a shell variable even where a skill has that name (codex.md section 4.3)."""

_FENCE = lazy_pattern(r"[ ]{0,3}(`{3,}|~{3,})")
_BACKTICKS = lazy_pattern(r"`+")
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


class AmbiguousMention(Struct, frozen=True):
    """A name shared by several different skills, and their paths."""

    name: str
    paths: tuple[str, ...]


class SkillMentions(Struct, frozen=True):
    """What a message invokes: each skill once, in text order, and the ambiguous names."""

    skills: tuple[Skill, ...] = ()
    ambiguous: tuple[AmbiguousMention, ...] = ()


def find_mentions(text: str, skills: Sequence[Skill], cwd: str = "") -> SkillMentions:
    """Find the skills that the text invokes.

    Relative links are resolved against `cwd`; without it they are matched as the end of a path.
    """
    usable = [skill for skill in skills if skill.mentionable]
    if not usable or ("$" not in text and "@" not in text and "](" not in text):
        return SkillMentions()
    prose = blank_code(text)
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
) -> tuple[list[tuple[int, Skill]], tuple[AmbiguousMention, ...]]:
    """Find skills named by a sign and a word; names already settled by a link are skipped."""
    by_name: dict[str, list[Skill]] = {}
    for skill in usable:
        by_name.setdefault(skill.name, []).append(skill)
    found: list[tuple[int, Skill]] = []
    doubtful: dict[str, AmbiguousMention] = {}
    for start, word in _find_mention_words(prose):
        name = next((form for form in (word, word.rstrip(":-")) if form in by_name), "")
        if not name or name in linked:
            continue
        first, *others = by_name[name]
        if all(is_same_skill(first, other) for other in others):
            found.append((start, first))
        else:
            doubtful[name] = AmbiguousMention(name, tuple(skill.path for skill in by_name[name]))
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
        path if path.startswith("/") or not cwd else posixpath.join(cwd, path)
    )
    if wanted.startswith("/"):
        return next((skill for skill in usable if wanted in (skill.path, skill.folder)), None)
    if not wanted.endswith(SKILL_FILE) or wanted.startswith("~"):
        wanted = wanted.removeprefix("~/")
    ends = [
        skill
        for skill in usable
        if f"/{wanted}" in (skill.path[-len(wanted) - 1 :], skill.folder[-len(wanted) - 1 :])
    ]
    return ends[0] if ends and all(is_same_skill(ends[0], each) for each in ends) else None


def _unescape(escapes: re.Match[str]) -> str:
    return bytes.fromhex(escapes[0].replace("%", "")).decode("utf-8", "replace")


def blank_code(text: str) -> str:
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
    return _blank_code_spans("".join(lines))


def _blank_code_spans(text: str) -> str:
    """Blank what stands between two equally long runs of backticks; linear time."""
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


# Build the message with an invoked skill's body, and find invoked skills in a history, for
# compaction.


_ROLLOUT_BODY = re.compile(
    r"\s*<skill>\s*<name>([^<>\n]{1,256})</name>\s*<path>([^<>\n]{1,4096})</path>\n?(.*)"
    r"</skill>\s*",
    re.DOTALL | re.IGNORECASE,
)
_FILE_NATIVE_BODY = re.compile(
    r"\s*Base directory for this skill: ([^\n]{1,4096})\n+(.*)", re.DOTALL | re.IGNORECASE
)


def build_skill_messages(
    text: str,
    skills: Sequence[Skill],
    present_paths: Collection[str] = (),
    *,
    family: Family = "rollout",
    cwd: str = "",
    settings: SkillsSettings | None = None,
) -> tuple[Message, ...]:
    """Build the messages to insert right after a user message with this text.

    One for each skill it invokes, then one for each ambiguous name. `present_paths` are skills
    whose body was already injected in this turn. Ids and bytes of the messages depend on nothing
    but the skill, so that later requests repeat them exactly.
    """
    chosen = settings or SkillsSettings()
    if not chosen.enabled:
        return ()
    texts = load_skill_prompts()
    called = find_mentions(text, skills, cwd)
    bodies = [
        build_body_message(skill, family, texts, chosen)
        for skill in called.skills
        if skill.path not in present_paths
    ]
    return (*bodies, *(_build_ambiguity_message(each, texts) for each in called.ambiguous))


def build_body_message(
    skill: Skill, family: Family, prompts: SkillPrompts, settings: SkillsSettings
) -> Message:
    """Build the message with a skill's body, cut to its limit, in the family's tag.

    The body cannot close that tag.
    """
    contents = neutralize_markup(strip_hidden_characters(skill.body), ("skill",))
    if estimate_text_tokens(contents) > settings.body_tokens:
        cut = render_template(prompts.cut, {"path": _escape_text(skill.path)}, strict=True)
        contents = f"{truncate_end(contents, settings.body_tokens)}\n{cut}"
    if family == "rollout":
        values = {
            "name": _escape_text(skill.name),
            "path": _escape_text(skill.path),
            "contents": contents,
        }
        shown = render_template(prompts.body_rollout, values, strict=True)
    else:
        shown = render_template(
            prompts.body_file_native,
            {"folder": _escape_text(skill.folder), "contents": contents},
            strict=True,
        )
    return _build_injected_message(f"{SKILL_ID_PREFIX}{_short_digest(skill.path, shown)}", shown)


def _build_ambiguity_message(each: AmbiguousMention, texts: SkillPrompts) -> Message:
    paths = "\n".join(f"- {_escape_text(path)}" for path in each.paths)
    shown = render_template(
        texts.ambiguous,
        {"name": _escape_text(each.name), "count": str(len(each.paths)), "paths": paths},
        strict=True,
    )
    return _build_injected_message(
        f"{SKILL_ID_PREFIX}doubt-{_short_digest(each.name, shown)}", shown
    )


def _build_injected_message(identity: str, text: str) -> Message:
    return Message(id=identity, role="user", blocks=(TextBlock(text),), origin=Origin.INJECTED)


def _escape_text(text: str) -> str:
    return " ".join(strip_hidden_characters(text).split()).replace("<", "&lt;").replace(">", "&gt;")


def _short_digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def find_invoked_skills(messages: Iterable[Message]) -> tuple[InvokedSkill, ...]:
    """Find the skills whose bodies are in these messages, for a compaction. The last occurrence of
    a skill counts.
    """
    found: dict[str, InvokedSkill] = {}
    for order, message in enumerate(messages):
        for block in message.blocks:
            if isinstance(block, TextBlock) and (block.origin or message.origin) is Origin.INJECTED:
                one = _parse_body(block.text, float(order))
                if one is not None:
                    found[one.path] = one
    return tuple(found.values())


def _parse_body(text: str, order: float) -> InvokedSkill | None:
    tagged = _ROLLOUT_BODY.fullmatch(text)
    based = None if tagged else _FILE_NATIVE_BODY.fullmatch(text)
    if tagged is not None:
        name, path, contents = tagged[1].strip(), tagged[2].strip(), tagged[3]
    elif based is not None:
        path, contents = f"{based[1].strip()}/SKILL.md", based[2]
        name = PurePosixPath(path).parent.name
    else:
        return None
    return InvokedSkill(name, path, contents.strip("\n"), order)


# Track the skills invoked in a session, message by message, so that they survive a compaction
# (SK-2, CP-8).


class InvokedSkills(SessionExtension):
    """Follows every message of a session once; a skill's newest body counts.

    `template` is the text with which compaction restores a skill.
    """

    def __init__(self, template: str) -> None:
        self._template = template
        self._found: dict[str, InvokedSkill] = {}
        self._count = 0

    def on_resume(self, view: SessionView) -> None:
        """Follow what memorist itself injected, which is not recorded as a message."""
        for message in view.messages():
            if message.origin is Origin.INJECTED:
                self.on_message(message)

    def on_message(self, message: Message, *, replayed: bool = False) -> None:
        """Follow a message, of the host or injected by memorist."""
        del replayed
        if message.origin is Origin.MODEL or message.role == "assistant":
            return
        found = list(find_invoked_skills([message]))
        if (
            not found
            and message.origin is Origin.INJECTED
            and (back := parse_restored_skill(message, self._template)) is not None
        ):
            found = [InvokedSkill(back[0], "", back[1], 0.0)]
        for each in found:
            self._count += 1
            self._found.pop(each.name, None)
            self._found[each.name] = replace(each, order=float(self._count), message=message.id)

    def list_invoked(self) -> tuple[InvokedSkill, ...]:
        """Return the invoked skills, oldest first."""
        return tuple(self._found.values())

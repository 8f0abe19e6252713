"""The skills that a session invoked, tracked message by message, and the messages that give a model
their text (SK-2). Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from memorist.compaction.restored_content import InvokedSkill, parse_previously_restored_skill
from memorist.core.messages import SKILL_ID_PREFIX, Message, Origin, TextBlock
from memorist.core.prompt_templates import render_template
from memorist.core.token_count import estimate_text_tokens
from memorist.core.truncation import truncate_end
from memorist.extensions import SessionExtension, SessionView
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.settings import Family, SkillsSettings
from memorist.skills.skill_file import Skill, SkillPrompts, load_skill_prompts
from memorist.skills.skill_mentions import AmbiguousSkillMention, find_skill_mentions

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


def build_mentioned_skill_messages(
    text: str,
    skills: Sequence[Skill],
    *,
    family: Family = "rollout",
    cwd: str = "",
    settings: SkillsSettings | None = None,
) -> tuple[Message, ...]:
    """Build the messages to insert right after a user message with this text.

    One for each skill it invokes, then one for each ambiguous name. Ids and bytes of the messages
    depend on nothing but the skill, so that later requests repeat them exactly.
    """
    chosen = settings or SkillsSettings()
    if not chosen.enabled:
        return ()
    texts = load_skill_prompts()
    called = find_skill_mentions(text, skills, cwd)
    bodies = (build_skill_body_message(each, family, texts, chosen) for each in called.skills)
    return (*bodies, *(_build_ambiguity_message(each, texts) for each in called.ambiguous))


def build_skill_body_message(
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


def _build_ambiguity_message(each: AmbiguousSkillMention, texts: SkillPrompts) -> Message:
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


def find_injected_skills(messages: Iterable[Message]) -> tuple[InvokedSkill, ...]:
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


class InvokedSkillTracker(SessionExtension):
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
        found = list(find_injected_skills([message]))
        if (
            not found
            and message.origin is Origin.INJECTED
            and (back := parse_previously_restored_skill(message, self._template)) is not None
        ):
            found = [InvokedSkill(back[0], "", back[1], 0.0)]
        for each in found:
            self._count += 1
            self._found.pop(each.name, None)
            self._found[each.name] = replace(each, order=float(self._count), message=message.id)

    def list_invoked(self) -> tuple[InvokedSkill, ...]:
        """Return the invoked skills, oldest first."""
        return tuple(self._found.values())

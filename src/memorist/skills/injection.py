"""Build the message with an invoked skill's body, and find invoked skills in a history, for
compaction.

Pure (SK-2, CP-8). Source: codex.md section 4.3 for the rollout family's tag;
`memorist.formats.harness` for how a file-native client opens a skill's text. Both are recognised as
injected when they are read back.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from memorist.compaction.restore import InvokedSkill
from memorist.core.messages import SKILL_BODY, Message, Origin, Text
from memorist.core.template import render
from memorist.core.tokens import estimate_text
from memorist.core.truncate import cut_end
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible
from memorist.skills.listing import Family
from memorist.skills.mention import Ambiguous, mentions
from memorist.skills.settings import SkillsSettings
from memorist.skills.skill import Skill
from memorist.skills.texts import Texts, shipped

_ROLLOUT = re.compile(
    r"\s*<skill>\s*<name>([^<>\n]{1,256})</name>\s*<path>([^<>\n]{1,4096})</path>\n?(.*)</skill>\s*", re.DOTALL | re.IGNORECASE
)
_FILE_NATIVE = re.compile(r"\s*Base directory for this skill: ([^\n]{1,4096})\n+(.*)", re.DOTALL | re.IGNORECASE)


def injections(
    text: str,
    skills: Sequence[Skill],
    already: Collection[str] = (),
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
    texts = shipped()
    called = mentions(text, skills, cwd)
    bodies = [body_message(skill, family, texts, chosen) for skill in called.skills if skill.path not in already]
    return (*bodies, *(_doubt(each, texts) for each in called.ambiguous))


def body_message(skill: Skill, family: Family, texts: Texts, settings: SkillsSettings) -> Message:
    """Build the message with a skill's body, cut to its limit, in the family's tag.

    The body cannot close that tag.
    """
    contents = neutralise(visible(skill.body), ("skill",))
    if estimate_text(contents) > settings.body_tokens:
        contents = f"{cut_end(contents, settings.body_tokens)}\n{render(texts.cut, {'path': _plain(skill.path)}, strict=True)}"
    if family == "rollout":
        values = {"name": _plain(skill.name), "path": _plain(skill.path), "contents": contents}
        shown = render(texts.body_rollout, values, strict=True)
    else:
        shown = render(texts.body_file_native, {"folder": _plain(skill.folder), "contents": contents}, strict=True)
    return _injected(f"{SKILL_BODY}{_digest(skill.path, shown)}", shown)


def _doubt(each: Ambiguous, texts: Texts) -> Message:
    paths = "\n".join(f"- {_plain(path)}" for path in each.paths)
    shown = render(texts.ambiguous, {"name": _plain(each.name), "count": str(len(each.paths)), "paths": paths}, strict=True)
    return _injected(f"{SKILL_BODY}doubt-{_digest(each.name, shown)}", shown)


def _injected(identity: str, text: str) -> Message:
    return Message(id=identity, role="user", blocks=(Text(text),), origin=Origin.INJECTED)


def _plain(text: str) -> str:
    return " ".join(visible(text).split()).replace("<", "&lt;").replace(">", "&gt;")


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def invoked(messages: Iterable[Message], skills: Sequence[Skill] = ()) -> tuple[InvokedSkill, ...]:
    """Find the skills whose bodies are in these messages, for `memorist.compaction.restore.Facts`.

    A skill that is still known is returned with its current body, others with the body shown. The
    last occurrence of a skill counts.
    """
    known = {_plain(skill.path): skill for skill in skills} | {_plain(skill.folder): skill for skill in skills}
    found: dict[str, InvokedSkill] = {}
    for order, message in enumerate(messages):
        for block in message.blocks:
            if isinstance(block, Text) and (block.origin or message.origin) is Origin.INJECTED:
                one = _read_back(block.text, float(order), known)
                if one is not None:
                    found[one.path] = one
    return tuple(found.values())


def _read_back(text: str, order: float, known: dict[str, Skill]) -> InvokedSkill | None:
    tagged = _ROLLOUT.fullmatch(text)
    based = None if tagged else _FILE_NATIVE.fullmatch(text)
    if tagged is not None:
        name, path, contents = tagged[1].strip(), tagged[2].strip(), tagged[3]
    elif based is not None:
        path, contents = f"{based[1].strip()}/SKILL.md", based[2]
        name = PurePosixPath(path).parent.name
    else:
        return None
    skill = known.get(path)
    if skill is not None:
        return InvokedSkill(skill.name, skill.path, skill.body, order)
    return InvokedSkill(name, path, contents.strip("\n"), order)

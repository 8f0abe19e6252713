"""Content restored after a full compaction: files, skills, the plan, tasks and background work
(CP-8). Pure; the compactor gathers the content.

Source: claude-code.md section 6.6. Restored texts are wrapped in `<system-reminder>`, the tag that
marks both these and the host's own injections.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct

from memorist.compaction.result import Restored
from memorist.compaction.settings import CompactionSettings
from memorist.compaction.texts import Texts
from memorist.core.messages import SKILL_BODY, Message, Origin, Text
from memorist.core.template import render
from memorist.core.tokens import estimate_message, estimate_text
from memorist.core.truncate import cut_end
from memorist.session_memory.actions import Reads, action_of

RESTORED_LEAD = "<system-reminder>\n[memorist] Brought back after compaction:"
"""Prefix of every restored message; identifies earlier ones, which are then rebuilt."""

INSTRUCTION_FILES = frozenset(
    {"claude.md", "claude.local.md", "agents.md", "agents.override.md", "gemini.md", "memory.md", "memory_summary.md", "summary.md"}
)
"""Instruction and memory files come with the context anyway (claude-code.md section 2.1, codex.md
section 1.10).
"""

_CLOSING = re.compile(r"</(?=system-reminder>)", re.IGNORECASE)


class ReadFile(Struct, frozen=True):
    """A file that was read in the session. `content` is its present content, None when it can no
    longer be read; a higher `order` is newer.
    """

    path: str
    content: str | None
    order: float


class InvokedSkill(Struct, frozen=True):
    """A skill that this agent invoked."""

    name: str
    path: str
    content: str
    order: float
    message: str = ""
    """Id of the message that holds its body; empty where unknown."""


class Facts(Struct, frozen=True, kw_only=True):
    """Content that can be restored."""

    files: tuple[ReadFile, ...] = ()
    exclude: frozenset[str] = frozenset()
    """Paths that are never restored: the plan, memory files."""
    skills: tuple[InvokedSkill, ...] = ()
    plan: tuple[str, str] | None = None
    """Path and content."""
    tasks: str = ""
    background: str = ""
    """Work that still runs or whose result was not read yet."""
    announcements: tuple[str, ...] = ()
    """What a host had announced and the compaction removed: tools, agents, server instructions."""


class Back(Struct, frozen=True):
    """A restored message, and its record."""

    message: Message
    restored: Restored


def restore(facts: Facts, kept: Sequence[Message], settings: CompactionSettings, texts: Texts, factor: float = 1.0) -> tuple[Back, ...]:
    """The messages to restore, most useful first: plan, tasks, background work, announcements,
    files, skills.
    """
    found: list[Back] = []
    if facts.plan is not None and facts.plan[1].strip():
        path, content = facts.plan
        found.append(_back("plan", path, render(texts.plan, {"path": path, "content": _inert(content)}, strict=True), factor))
    for kind, text in (("the task list", facts.tasks), ("work in the background", facts.background)):
        if text.strip():
            found.append(_back("task", kind, render(texts.tasks, {"what": kind, "content": _inert(text)}, strict=True), factor))
    for text in facts.announcements:
        values = {"what": "what was announced before", "content": _inert(text)}
        found.append(_back("pointer", "announcement", render(texts.tasks, values, strict=True), factor))
    found += _files(facts, kept, settings, texts, factor)
    return (*found, *skills_back(facts.skills, kept, settings, texts, factor))


def _back(kind: Literal["file", "skill", "plan", "task", "pointer"], what: str, text: str, factor: float) -> Back:
    start = f"{SKILL_BODY}restored-" if kind == "skill" else "memorist-restored-"
    message = Message(id=f"{start}{what}", role="user", blocks=(Text(text),), origin=Origin.INJECTED)
    return Back(message, Restored(kind, what, estimate_message(message, factor)))


def _inert(text: str) -> str:
    """The text with its closing tags escaped: file content cannot break out of the wrapper."""
    return _CLOSING.sub("<\\/", text)


def paths_in(messages: Iterable[Message]) -> frozenset[str]:
    """Paths of the files that the messages' calls read; these are in view already."""
    return frozenset(
        path for message in messages for use in message.tool_uses if isinstance(action := action_of(use), Reads) for path in action.paths
    )


def _files(facts: Facts, kept: Sequence[Message], settings: CompactionSettings, texts: Texts, factor: float) -> list[Back]:
    newest: dict[str, ReadFile] = {}
    for each in sorted(facts.files, key=lambda each: each.order):
        newest[each.path] = each
    out = facts.exclude | paths_in(kept)
    candidates = [each for each in newest.values() if not _excluded(each.path, out)]
    candidates.sort(key=lambda each: each.order, reverse=True)
    found, room = [], settings.restore_files_tokens
    for each in [each for each in candidates if each.content is not None][: settings.restore_files]:
        content = each.content or ""
        back = _back("file", each.path, render(texts.file, {"path": each.path, "content": _inert(content)}, strict=True), factor)
        if estimate_text(content, factor) > settings.restore_file_tokens or back.restored.tokens > room:
            back = _back("pointer", each.path, render(texts.file_reference, {"path": each.path}, strict=True), factor)
        room -= back.restored.tokens
        if room >= 0:
            found.append(back)
    return found


def _excluded(path: str, out: Collection[str]) -> bool:
    return path in out or PurePosixPath(path.replace("\\", "/")).name.lower() in INSTRUCTION_FILES


def skills_back(
    skills: Sequence[InvokedSkill], kept: Sequence[Message], settings: CompactionSettings, texts: Texts, factor: float
) -> list[Back]:
    """The skills to restore, newest first within their budget; those whose body is in the kept
    messages are skipped.
    """
    standing = {message.id for message in kept}
    newest: dict[str, InvokedSkill] = {}
    for each in sorted((each for each in skills if each.message not in standing), key=lambda each: each.order):
        newest.pop(each.name, None)
        newest[each.name] = each
    found, room = [], settings.restore_skills_tokens
    for each in reversed(newest.values()):
        content = _inert(each.content)
        if estimate_text(content, factor) > settings.restore_skill_tokens:
            remark = render(texts.skill_cut, {"path": each.path}, strict=True)
            content = cut_end(content, int(settings.restore_skill_tokens / factor)) + "\n" + remark
        back = _back("skill", each.name, render(texts.skill, {"name": each.name, "content": content}, strict=True), factor)
        if back.restored.tokens > room:
            break
        room -= back.restored.tokens
        found.append(back)
    return found


def restored_skill(message: Message, template: str) -> tuple[str, str] | None:
    """Name and content of a skill that an earlier compaction restored with this template; None
    where the message is not one.
    """
    before, between, after = re.split(r"\{\{\w+\}\}", template.strip("\n"))
    text = message.text
    if not (text.startswith(before) and between in text and text.endswith(after)):
        return None
    name, _, content = text[len(before) : len(text) - len(after)].partition(between)
    return name, content

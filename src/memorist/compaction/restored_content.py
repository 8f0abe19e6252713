"""Content restored after a full compaction: files, skills, the plan, tasks and background work
(CP-8). Pure; the compactor gathers the content.

Source: Claude Code. Restored texts are wrapped in `<system-reminder>`, the tag that
marks both these and the host's own injections.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Literal

from msgspec import Struct

from memorist.compaction.compaction_prompts import CompactionPrompts
from memorist.compaction.compaction_result import RestoredRecord
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import SKILL_ID_PREFIX, Message, Origin, TextBlock
from memorist.core.prompt_templates import render_template
from memorist.core.text_analysis import parse_word_list
from memorist.core.token_count import estimate_message_tokens, estimate_text_tokens
from memorist.core.truncation import truncate_end
from memorist.errors import StoreError
from memorist.ports import FileSystem
from memorist.settings import CompactionSettings
from memorist.transcript_analysis.tool_actions import ReadAction, parse_tool_action
from memorist.transcript_analysis.transcript_ledger import SessionActions, TranscriptLedger

RESTORED_PREFIX = "<system-reminder>\n[memorist] Brought back after compaction:"
"""Prefix of every restored message; identifies earlier ones, which are then rebuilt."""

ANNOUNCED = "what was announced before"
RESTORED_ANNOUNCEMENT = f"{RESTORED_PREFIX} {ANNOUNCED}.\n"
"""Prefix of a restored announcement."""

INSTRUCTION_FILES = parse_word_list(
    """
         claude.md claude.local.md agents.md agents.override.md gemini.md memory.md
    memory_summary.md     summary.md
    """
)
"""Instruction and memory files come with the context anyway (Claude Code, Codex).
"""

_CLOSING_TAG = re.compile(r"</(?=system-reminder>)", re.IGNORECASE)


class RestorableFile(Struct, frozen=True):
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


class RestorableContent(Struct, frozen=True, kw_only=True):
    """Content that can be restored."""

    files: tuple[RestorableFile, ...] = ()
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


_ANNOUNCEMENT = lazy_pattern(
    r"\s*(?:<system-reminder>\s*)?((?:The following (?:deferred tools|(?:\w+ )?skills|agent types) "
    r"|New agent types |Available agent types |# MCP Server Instructions)[\s\S]*?)"
    r"(?:</system-reminder>\s*)?\Z",
    re.IGNORECASE,
)
"""How Claude Code begins what it announces once in a conversation: tools that can be looked up,
skills, agents, the instructions of MCP servers.
"""

_ANNOUNCED_CHARACTERS = 40
"""Characters by which two announcements are of the same kind."""


def find_host_announcements(messages: Iterable[Message]) -> tuple[str, ...]:
    """What a host announced in these messages, the newest of each kind, in order; also as an
    earlier compaction restored it.
    """
    found: dict[str, str] = {}
    for message in messages:
        for block in message.blocks:
            if not isinstance(block, TextBlock) or (
                (block.origin or message.origin) is not Origin.INJECTED
            ):
                continue
            text = block.text.replace(RESTORED_ANNOUNCEMENT, "", 1)
            if match := _ANNOUNCEMENT.match(text):
                kind = match[1][:_ANNOUNCED_CHARACTERS].lower()
                found.pop(kind, None)
                found[kind] = match[1].strip()
    return tuple(found.values())


class RestoredItem(Struct, frozen=True):
    """A restored message, and its record."""

    message: Message
    restored: RestoredRecord


def build_restored_items(
    available: RestorableContent,
    kept: Sequence[Message],
    settings: CompactionSettings,
    texts: CompactionPrompts,
    factor: float = 1.0,
) -> tuple[RestoredItem, ...]:
    """The messages to restore, most useful first: plan, tasks, background work, announcements,
    files, skills.
    """
    found: list[RestoredItem] = []
    if available.plan is not None and available.plan[1].strip():
        path, content = available.plan
        found.append(
            _build_restored_item(
                "plan",
                path,
                render_template(
                    texts.plan, {"path": path, "content": _escape_closing_tag(content)}, strict=True
                ),
                factor,
            )
        )
    for kind, text in (
        ("the task list", available.tasks),
        ("work in the background", available.background),
    ):
        if text.strip():
            found.append(
                _build_restored_item(
                    "task",
                    kind,
                    render_template(
                        texts.tasks,
                        {"what": kind, "content": _escape_closing_tag(text)},
                        strict=True,
                    ),
                    factor,
                )
            )
    shown = "\n".join(message.text for message in kept)
    for text in available.announcements:
        if text in shown:
            continue
        values = {"what": ANNOUNCED, "content": _escape_closing_tag(text)}
        found.append(
            _build_restored_item(
                "pointer", "announcement", render_template(texts.tasks, values, strict=True), factor
            )
        )
    found += _restore_files(available, kept, settings, texts, factor)
    return (*found, *build_restored_skills(available.skills, kept, settings, texts, factor))


def _build_restored_item(
    kind: Literal["file", "skill", "plan", "task", "pointer"], what: str, text: str, factor: float
) -> RestoredItem:
    start = f"{SKILL_ID_PREFIX}restored-" if kind == "skill" else "memorist-restored-"
    message = Message(
        id=f"{start}{what}", role="user", blocks=(TextBlock(text),), origin=Origin.INJECTED
    )
    return RestoredItem(
        message, RestoredRecord(kind, what, estimate_message_tokens(message, factor))
    )


def _escape_closing_tag(text: str) -> str:
    """The text with its closing tags escaped: file content cannot break out of the wrapper."""
    return _CLOSING_TAG.sub("<\\/", text)


def find_read_paths(messages: Iterable[Message]) -> frozenset[str]:
    """Paths of the files that the messages' calls read; these are in view already."""
    return frozenset(
        path
        for message in messages
        for use in message.tool_uses
        if isinstance(action := parse_tool_action(use), ReadAction)
        for path in action.paths
    )


def _restore_files(
    available: RestorableContent,
    kept: Sequence[Message],
    settings: CompactionSettings,
    texts: CompactionPrompts,
    factor: float,
) -> list[RestoredItem]:
    newest: dict[str, RestorableFile] = {}
    for each in sorted(available.files, key=lambda each: each.order):
        newest[each.path] = each
    out = available.exclude | find_read_paths(kept)
    candidates = [each for each in newest.values() if not _is_excluded(each.path, out)]
    candidates.sort(key=lambda each: each.order, reverse=True)
    found, room = [], settings.restore_files_tokens
    for each in [each for each in candidates if each.content is not None][: settings.restore_files]:
        content = each.content or ""
        back = _build_restored_item(
            "file",
            each.path,
            render_template(
                texts.file,
                {"path": each.path, "content": _escape_closing_tag(content)},
                strict=True,
            ),
            factor,
        )
        if (
            estimate_text_tokens(content, factor) > settings.restore_file_tokens
            or back.restored.tokens > room
        ):
            back = _build_restored_item(
                "pointer",
                each.path,
                render_template(texts.file_reference, {"path": each.path}, strict=True),
                factor,
            )
        room -= back.restored.tokens
        if room >= 0:
            found.append(back)
    return found


def _is_excluded(path: str, out: Collection[str]) -> bool:
    return path in out or PurePosixPath(path.replace("\\", "/")).name.lower() in INSTRUCTION_FILES


def build_restored_skills(
    skills: Sequence[InvokedSkill],
    kept: Sequence[Message],
    settings: CompactionSettings,
    texts: CompactionPrompts,
    factor: float,
) -> list[RestoredItem]:
    """The skills to restore, newest first within their budget; those whose body is in the kept
    messages are skipped.
    """
    standing = {message.id for message in kept}
    newest: dict[str, InvokedSkill] = {}
    for each in sorted(
        (each for each in skills if each.message not in standing), key=lambda each: each.order
    ):
        newest.pop(each.name, None)
        newest[each.name] = each
    found, room = [], settings.restore_skills_tokens
    for each in reversed(newest.values()):
        content = _escape_closing_tag(each.content)
        if estimate_text_tokens(content, factor) > settings.restore_skill_tokens:
            remark = render_template(texts.skill_cut, {"path": each.path}, strict=True)
            content = (
                truncate_end(content, int(settings.restore_skill_tokens / factor)) + "\n" + remark
            )
        back = _build_restored_item(
            "skill",
            each.name,
            render_template(texts.skill, {"name": each.name, "content": content}, strict=True),
            factor,
        )
        if back.restored.tokens > room:
            break
        room -= back.restored.tokens
        found.append(back)
    return found


def parse_previously_restored_skill(message: Message, template: str) -> tuple[str, str] | None:
    """Name and content of a skill that an earlier compaction restored with this template; None
    where the message is not one.
    """
    before, between, after = re.split(r"\{\{\w+\}\}", template.strip("\n"))
    text = message.text
    if not (text.startswith(before) and between in text and text.endswith(after)):
        return None
    name, _, content = text[len(before) : len(text) - len(after)].partition(between)
    return name, content


MAX_CANDIDATE_FILES = 8
"""Newest-read files considered; some are not restored: instruction files, and those in view."""


def gather_restorable_content(
    ledger: TranscriptLedger, files: FileSystem, notes: Path, settings: CompactionSettings
) -> RestorableContent:
    """Gather the restorable content of a session from its ledger. A file that can no longer be read
    is listed without content.
    """
    newest = sorted(
        (note for note in ledger.work_record.files.files.values() if note.reads),
        key=lambda note: note.order,
    )[-MAX_CANDIDATE_FILES:]
    read = tuple(
        RestorableFile(
            note.path,
            _read_content(Path(ledger.cwd or "/") / note.path, files, settings),
            note.order,
        )
        for note in newest
    )
    work = ledger.work_record
    tasks = "\n".join(f"- [{task.status}] {task.text}" for task in work.tasks.values())
    background = "\n".join(f"- {id}: {what}" for id, what in work.background.running.items())
    plan = _find_plan(work, files, settings)
    return RestorableContent(
        files=read,
        exclude=frozenset({str(notes), *((plan[0],) if plan else ())}),
        plan=plan,
        tasks=tasks,
        background=background,
    )


def _find_plan(
    work: SessionActions, files: FileSystem, settings: CompactionSettings
) -> tuple[str, str] | None:
    """The newest plan with its place: its file as it is now, else as the user was shown it."""
    content = work.plan_path and _read_content(Path(work.plan_path), files, settings)
    if not content and not work.plan:
        return None
    return (
        work.plan_path or "the conversation",
        truncate_end(content or work.plan, settings.restore_file_tokens),
    )


def _read_content(path: Path, files: FileSystem, settings: CompactionSettings) -> str | None:
    try:
        return files.read(path, limit=settings.restore_file_tokens * 8).decode("utf-8", "replace")
    except (FileNotFoundError, StoreError):
        return None

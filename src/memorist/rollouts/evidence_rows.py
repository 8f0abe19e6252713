"""Entries of a recorded session as rows of evidence: who speaks, and what is left out. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from memorist.auto_memory.statements.user_prose import extract_redacted_user_text
from memorist.auto_memory.write_evidence import extract_own_words
from memorist.core.bounded_collections import BoundedDict
from memorist.core.messages import (
    RECALL_ID_PREFIX,
    ROLLOUT_MEMORY_ID_PREFIX,
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    ToolResult,
    ToolUse,
    UnknownBlock,
)
from memorist.core.truncation import truncate_middle
from memorist.core.utc_time import format_utc_day
from memorist.formats.transcript_format import CompactionBoundary, TranscriptEntry
from memorist.rollouts.session_evidence import (
    MAX_ROW_TOKENS,
    MAX_TOOL_ROW_TOKENS,
    EvidenceRow,
    SpeakerPriority,
)
from memorist.transcript_analysis.call_outcome import get_result_head_and_tail, parse_call_outcome
from memorist.transcript_analysis.tool_actions import (
    ChangeAction,
    CommandAction,
    DelegateAction,
    OtherToolAction,
    ReadAction,
    TaskListAction,
    TaskUpdateAction,
    ToolAction,
    find_call_kind,
)
from memorist.transcript_analysis.user_words_in_results import (
    find_user_words_in_result,
    parse_tool_action_unless_mcp,
)

MAX_OPEN_CALLS = 64
"""Calls awaiting a result; the result of an older one never came."""


_MAX_CALL_CHARACTERS = 400


_INSTRUCTION_OPENINGS = (
    "# agents.md instructions", "<skill", "<user_instructions", "base directory for this skill:",
    "<permissions instructions", "<system-reminder",
    "<skills_instructions", "<plugins_instructions", "<apps_instructions", "<collaboration_mode",
    "<personality_spec", "caveat: the messages below",
    "<local-command-caveat", "[memorist]",
)  # fmt: skip
"""How texts begin that a client repeats in every session, case-folded: they are instruction files,
not work.
"""


class EvidenceRowBuilder:
    """Builds rows of entries, in order.

    The agent's last words before the user speaks again are its final answer, which is known only
    then.
    """

    def __init__(self) -> None:
        self._open: dict[str, ToolAction] = BoundedDict(MAX_OPEN_CALLS)
        self._saying: list[EvidenceRow] = []
        self.turns = 0
        """User messages so far."""

    def feed(self, entry: TranscriptEntry) -> Iterator[EvidenceRow]:
        """Yield the rows that are complete with this entry."""
        if isinstance(entry, CompactionBoundary):
            yield from self._flush_replies(SpeakerPriority.COMMENTARY)
            return
        if not isinstance(entry, Message) or entry.id.startswith(
            (RECALL_ID_PREFIX, ROLLOUT_MEMORY_ID_PREFIX)
        ):
            return
        for result in entry.tool_results:
            yield from self._on_tool_result(entry, result)
        if entry.origin is Origin.MODEL:
            yield from self._on_model_message(entry)
        elif entry.role not in ("developer", "system"):
            yield from self._on_other_message(entry)

    def finish(self) -> Iterator[EvidenceRow]:
        """Yield the pending rows at the end of the session."""
        yield from self._flush_replies(SpeakerPriority.FINAL)

    def _flush_replies(self, tier: SpeakerPriority) -> Iterator[EvidenceRow]:
        saying, self._saying = self._saying, []
        for row in saying:
            yield EvidenceRow(tier=tier, text=row.text, line=row.line, date=row.date)

    def _on_model_message(self, message: Message) -> Iterator[EvidenceRow]:
        if message.text.strip():
            self._saying.append(_build_row(message, SpeakerPriority.FINAL, message.text))
        for search in _list_web_searches(message):
            yield from self._flush_replies(SpeakerPriority.COMMENTARY)
            yield _build_row(message, SpeakerPriority.TOOL, search)
        for call in message.tool_uses:
            yield from self._flush_replies(SpeakerPriority.COMMENTARY)
            self._on_tool_call(call)

    def _on_tool_call(self, call: ToolUse) -> None:
        self._open[call.id] = parse_tool_action_unless_mcp(call)

    def _on_tool_result(self, message: Message, result: ToolResult) -> Iterator[EvidenceRow]:
        action = self._open.pop(result.tool_use_id, None)
        outcome = parse_call_outcome(result, action, get_result_head_and_tail(result))
        if outcome.user_text and (outcome.rejected or find_call_kind(action) == "ask"):
            how = "Refused: " if outcome.rejected else "Answered: "
            row = _build_row(message, SpeakerPriority.USER, f"{how}{outcome.user_text}")
            replies = find_user_words_in_result(result, action)
            yield replace(row, own="\n".join(each.text for each in replies if each.proven))
            return
        if isinstance(action, TaskListAction | TaskUpdateAction):
            return  # its answer only says that the list was taken
        text = truncate_middle(
            "\n".join(filter(None, (result.text.strip(), _attachment_marks(result)))),
            MAX_TOOL_ROW_TOKENS,
        )
        failed = " (failed)" if outcome.ok is False else ""
        yield _build_row(
            message,
            SpeakerPriority.TOOL,
            f"{describe_agent_action(action)[:_MAX_CALL_CHARACTERS]}{failed}\n{text}".strip(),
        )

    def _on_other_message(self, message: Message) -> Iterator[EvidenceRow]:
        words = extract_redacted_user_text(message)
        marks = _attachment_marks(message)
        if message.origin is Origin.USER and (words or marks):
            yield from self._flush_replies(SpeakerPriority.FINAL)
            self.turns += 1
            row = _build_row(message, SpeakerPriority.USER, "\n".join(filter(None, (words, marks))))
            yield replace(row, own=extract_own_words(words) if message.is_typed else "")
            return
        text = message.text.strip()
        if (
            not text
            or message.origin is Origin.TOOL
            or text[:40].lower().startswith(_INSTRUCTION_OPENINGS)
        ):
            return
        tier = (
            SpeakerPriority.AGENT
            if message.origin in (Origin.AGENT, Origin.NOTIFICATION)
            else SpeakerPriority.HARNESS
        )
        yield _build_row(message, tier, text)


def _list_web_searches(message: Message) -> Iterator[str]:
    """What the agent looked for on the web, by Codex's own tool: the query, or the page that it
    opened. Codex records no result.
    """
    for block in message.blocks:
        if isinstance(block, UnknownBlock) and block.kind == "web_search_call":
            action = block.raw.get("action")
            given = action if isinstance(action, dict) else {}
            found = next(
                (each for key in _SEARCH_KEYS if isinstance(each := given.get(key), str)), ""
            )
            if found.strip():
                yield f"web search: {found.strip()}"


_SEARCH_KEYS = ("query", "url", "pattern")


def _build_row(message: Message, tier: SpeakerPriority, text: str) -> EvidenceRow:
    return EvidenceRow(
        tier=tier,
        text=truncate_middle(text, MAX_ROW_TOKENS),
        line=message.line,
        date=format_utc_day(message.timestamp),
    )


def _attachment_marks(holder: Message | ToolResult) -> str:
    """Render one mark per image and document."""
    blocks = holder.blocks if isinstance(holder, Message) else holder.content
    return "\n".join(
        "[image]" if isinstance(block, ImageBlock) else "[document]"
        for block in blocks
        if isinstance(block, ImageBlock | DocumentBlock)
    )


def describe_agent_action(action: ToolAction | None) -> str:
    """Describe a call in a few words."""
    match action:
        case CommandAction(short_command=short):
            return f"$ {short}"
        case ChangeAction(changes=changes):
            return "changed " + ", ".join(change.path for change in changes[:8])
        case ReadAction(paths=paths, what=what):
            return f"read {' '.join((*paths, what))}".strip()
        case DelegateAction(what=what):
            return f"gave to another agent: {what}"
        case OtherToolAction(name=name, detail=detail) if name:
            return f"{name} {detail}".strip()
        case _:
            return "a call"

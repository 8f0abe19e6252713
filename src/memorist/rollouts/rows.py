"""Turn entries of a recorded session into rows of evidence: who speaks, what is left out, what
belongs together (RO-3). Pure.

Left out: reasoning, developer and system messages, instruction files and skill bodies that a client
inserted, and what memorist itself showed of earlier sessions. Images and documents stay as marks. A
question the agent asked the user, or a call the user refused with words, counts as the user's.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from memorist.auto_memory.evidence import typed_words
from memorist.core.messages import PAST, RECALLED, Document, Image, Message, Origin, ToolResult, ToolUse
from memorist.formats.recorded import Boundary, Entry
from memorist.rollouts.evidence import ROW_TOKENS, TOOL_TOKENS, Row, Tier, cut_row
from memorist.session_memory.actions import Action, Asks, Changes, Delegates, Plans, PlansOne, Proposes, Reads, Runs, Uses, action_of
from memorist.session_memory.outcomes import ends_of, outcome_of

OPEN_LIMIT = 64
"""Calls awaiting a result; the result of an older one never came."""
_CALL_LENGTH = 400
_INSTRUCTIONS = (
    "# agents.md instructions", "<skill", "<user_instructions", "base directory for this skill:", "<permissions instructions", "<system-reminder",
    "<skills_instructions", "<plugins_instructions", "<apps_instructions", "<collaboration_mode", "<personality_spec", "caveat: the messages below",
    "<local-command-caveat", "[memorist]",
)  # fmt: skip
"""How texts begin that a client repeats in every session, case-folded: they are instruction files,
not work.
"""


def day(timestamp: float | None) -> str:
    """Return the UTC day of a time in seconds since the epoch; empty for none, and for one outside
    the calendar.
    """
    if timestamp is None:
        return ""
    try:
        return datetime.fromtimestamp(timestamp, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return ""


class RowMaker:
    """Builds rows of entries, in order.

    The agent's last words before the user speaks again are its final answer, which is known only
    then.
    """

    def __init__(self) -> None:
        self._open: dict[str, Action] = {}
        self._saying: list[Row] = []
        self.turns = 0
        """User messages so far."""

    def add(self, entry: Entry) -> Iterator[Row]:
        """Yield the rows that are complete with this entry."""
        if isinstance(entry, Boundary):
            yield from self._said(Tier.COMMENTARY)
            return
        if not isinstance(entry, Message) or entry.id.startswith((RECALLED, PAST)):
            return
        for result in entry.tool_results:
            yield from self._answered(entry, result)
        if entry.origin is Origin.MODEL:
            yield from self._model(entry)
        elif entry.role not in ("developer", "system"):
            yield from self._others(entry)

    def end(self) -> Iterator[Row]:
        """Yield the pending rows at the end of the session."""
        yield from self._said(Tier.FINAL)

    def _said(self, tier: Tier) -> Iterator[Row]:
        saying, self._saying = self._saying, []
        for row in saying:
            yield Row(tier=tier, text=row.text, line=row.line, date=row.date)

    def _model(self, message: Message) -> Iterator[Row]:
        if message.text.strip():
            self._saying.append(_row(message, Tier.FINAL, message.text))
        for call in message.tool_uses:
            yield from self._said(Tier.COMMENTARY)
            self._called(call)

    def _called(self, call: ToolUse) -> None:
        self._open[call.id] = action_of(call)
        if len(self._open) > OPEN_LIMIT:
            del self._open[next(iter(self._open))]

    def _answered(self, message: Message, result: ToolResult) -> Iterator[Row]:
        action = self._open.pop(result.tool_use_id, None)
        kind = action.kind if isinstance(action, Runs) else "ask" if isinstance(action, Asks | Proposes) else "file"
        outcome = outcome_of(result, kind, ends_of(result))
        if outcome.said and (outcome.rejected or kind == "ask"):
            how = "Refused: " if outcome.rejected else "Answered: "
            yield _row(message, Tier.USER, f"{how}{outcome.said}")
            return
        if isinstance(action, Plans | PlansOne):
            return  # its answer only says that the list was taken
        text = cut_row("\n".join(filter(None, (result.text.strip(), _marks(result)))), TOOL_TOKENS)
        failed = " (failed)" if outcome.ok is False else ""
        yield _row(message, Tier.TOOL, f"{described(action)[:_CALL_LENGTH]}{failed}\n{text}".strip())

    def _others(self, message: Message) -> Iterator[Row]:
        words = typed_words(message)
        marks = _marks(message)
        if message.origin is Origin.USER and (words or marks):
            yield from self._said(Tier.FINAL)
            self.turns += 1
            yield _row(message, Tier.USER, "\n".join(filter(None, (words, marks))))
            return
        text = message.text.strip()
        if not text or message.origin is Origin.TOOL or text[:40].lower().startswith(_INSTRUCTIONS):
            return
        tier = Tier.AGENT if message.origin in (Origin.AGENT, Origin.NOTIFICATION) else Tier.HARNESS
        yield _row(message, tier, text)


def _row(message: Message, tier: Tier, text: str) -> Row:
    return Row(tier=tier, text=cut_row(text, ROW_TOKENS), line=message.line, date=day(message.timestamp))


def _marks(holder: Message | ToolResult) -> str:
    """Render one mark per image and document."""
    blocks = holder.blocks if isinstance(holder, Message) else holder.content
    return "\n".join("[image]" if isinstance(block, Image) else "[document]" for block in blocks if isinstance(block, Image | Document))


def described(action: Action | None) -> str:
    """Describe a call in a few words."""
    match action:
        case Runs(short=short):
            return f"$ {short}"
        case Changes(changes=changes):
            return "changed " + ", ".join(change.path for change in changes[:8])
        case Reads(paths=paths, what=what):
            return f"read {' '.join((*paths, what))}".strip()
        case Delegates(what=what):
            return f"gave to another agent: {what}"
        case Uses(name=name, detail=detail) if name:
            return f"{name} {detail}".strip()
        case _:
            return "a call"

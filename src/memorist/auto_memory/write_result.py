"""What became of changes that were asked for: written, waiting, refused, or known already. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.inbox import Proposal
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.auto_memory.write_gate import RefusedChange
from memorist.core.sentences import shorten_to_one_line
from memorist.events import Event, MemoryChanged, MemoryNeedsReview, MemoryRefused
from memorist.safety.secrets import redact_bytes

MAX_EVENT_TEXT_CHARS = 200
"""Characters of a proposal's text that an event names."""


class WriteResult(Struct, frozen=True, kw_only=True):
    """The result of some changes."""

    change_id: str = ""
    """Id of the change in the history; empty when nothing was written."""
    paths: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    refused: tuple[RefusedChange, ...] = ()
    remarks: tuple[str, ...] = ()
    """What was removed from the written files, and what was known already."""
    replaced_paths: tuple[str, ...] = ()
    """Paths of the memories in whose place a new one came."""
    shortened: tuple[str, ...] = ()
    """Paths of the memories a part of which a new one took the place of."""


def report_write_result(
    written: WriteResult, why: ChangeReason, tell: Callable[[Event], None] | None
) -> None:
    """Send an event for each thing that became of some changes."""
    if tell is None:
        return
    why = add_replaced_memories_to_reason(why, written.replaced_paths, written.shortened)
    if written.change_id:
        tell(MemoryChanged(written.change_id, why.actor, why.what, written.paths))
    for waiting in written.proposals:
        text = shorten_to_one_line(waiting.one_line_text, MAX_EVENT_TEXT_CHARS)
        tell(MemoryNeedsReview(waiting.id, waiting.path, waiting.reasons, text, waiting.is_removal))
    for refused in written.refused:
        tell(MemoryRefused(refused.path, refused.reasons))


def add_replaced_memories_to_reason(
    reason: ChangeReason, replaced: Sequence[str], shortened: Sequence[str] = ()
) -> ChangeReason:
    """The reason of a change, which names the memories that it replaces, and those of which it
    replaces a part.
    """
    named = [*replaced, *(f"a part of {path}" for path in shortened)]
    return (
        replace(reason, what=f"{reason.what}; in place of {', '.join(named)}") if named else reason
    )


def merge_everywhere_result(here: WriteResult, there: WriteResult, prefix: str) -> WriteResult:
    """The result of one write into a project's folder and into that of every project, whose paths
    are told with `prefix`.
    """
    return replace(
        here,
        change_id=here.change_id or there.change_id,
        paths=(*here.paths, *(prefix + path for path in there.paths)),
        proposals=(
            *here.proposals,
            *(replace(each, path=prefix + each.path) for each in there.proposals),
        ),
        refused=(*here.refused, *there.refused),
        remarks=(*here.remarks, *there.remarks),
        replaced_paths=(*here.replaced_paths, *(prefix + path for path in there.replaced_paths)),
        shortened=(*here.shortened, *(prefix + path for path in there.shortened)),
    )


def redact_change(change: MemoryChange) -> MemoryChange:
    """The change without secrets in what it would write; the same object where there are none."""
    clean = redact_bytes(change.after or b"")
    return change if clean is (change.after or b"") else replace(change, after=clean)

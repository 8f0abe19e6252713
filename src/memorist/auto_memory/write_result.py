"""What became of changes that were asked for: written, waiting, refused, or known already. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.inbox import Proposal
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.statement_comparison import Reconciliation
from memorist.auto_memory.write_gate import AcceptedChange, NeedsReview, RefusedChange
from memorist.safety.secrets import redact_bytes


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


class ReconciledChanges:
    """What is written and what waits, after new memories were compared with known ones."""

    def __init__(self) -> None:
        self._changes: dict[str, MemoryChange] = {}
        self.waits: list[NeedsReview] = []
        self.remarks: list[str] = []
        self.replaced: tuple[str, ...] = ()
        self.shortened: tuple[str, ...] = ()

    @property
    def changes(self) -> list[MemoryChange]:
        """What is written, one change for each path."""
        return [*self._changes.values()]

    def add(self, change: MemoryChange) -> None:
        """Add a change that needs no comparison."""
        self._changes[change.path] = change

    def add_reconciled(self, accepted: AcceptedChange, found: Reconciliation) -> None:
        """Add what becomes of one new memory."""
        if found.contradicts:
            reason = f"it says otherwise than {found.contradicts}"
            self.waits.append(
                NeedsReview(accepted.change, accepted.trust, (reason, *accepted.remarks))
            )
            return
        for change in found.changes:
            # What several new memories repeat gets one newer date; what one replaces goes.
            if change.after is None or change.path not in self._changes:
                self._changes[change.path] = change
        self.replaced += found.replaced_paths
        self.shortened += found.shortened_paths
        if found.known_path:
            outcome = "its date is new" if found.changes else "nothing was written"
            self.remarks.append(f"{outcome}: {found.known_path} says so already")
        if found.replaced_paths:
            self.remarks.append(
                f"in place of {', '.join(found.replaced_paths)}, which the history keeps"
            )
        if found.shortened_paths:
            self.remarks.append(
                f"a part of {', '.join(found.shortened_paths)} said otherwise and is out"
            )
        for change, why in found.questions:
            trust = parse_memory_file(change.path, change.before or b"").provenance.trust
            self.waits.append(NeedsReview(change, trust, (why,)))


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
        proposals=(*here.proposals, *there.proposals),
        refused=(*here.refused, *there.refused),
        remarks=(*here.remarks, *there.remarks),
        replaced_paths=(*here.replaced_paths, *(prefix + path for path in there.replaced_paths)),
        shortened=(*here.shortened, *(prefix + path for path in there.shortened)),
    )


def redact_change(change: MemoryChange) -> MemoryChange:
    """The change without secrets in what it would write; the same object where there are none."""
    clean = redact_bytes(change.after or b"")
    return change if clean is (change.after or b"") else replace(change, after=clean)

"""What is written and what waits, after new memories were compared with those that are there:
nothing is kept twice, and nothing is beside its opposite.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from memorist.auto_memory.known_memories import KnownMemories
from memorist.auto_memory.memory_changes import Actor, ChangeReason, MemoryChange
from memorist.auto_memory.memory_file import Trust, parse_memory_file, with_provenance
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.auto_memory.memory_reconciliation import (
    Reconciliation,
    prefix_statement_with_its_refusal,
    reconcile_new_memory,
)
from memorist.auto_memory.team_memory import is_team_path
from memorist.auto_memory.write_gate import AcceptedChange, NeedsReview
from memorist.core.text_encoding import encode_file_text_as_utf8

RECONCILED_ACTORS: frozenset[Actor] = frozenset({"user", "said", "extraction", "agent", "inbox"})
"""Actors whose new memories are compared with those that are there. The others bring whole folders
or restore what was.
"""


class ReconciledChanges:
    """What is written and what waits of some changes."""

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


def reconcile_accepted_changes(
    accepted: Sequence[AcceptedChange],
    reason: ChangeReason,
    folder: MemoryFolder,
    known_memories: KnownMemories,
    timestamp: str,
) -> ReconciledChanges:
    """Compare what would be new in a folder with what is there. Raises StoreError."""
    result = ReconciledChanges()
    removed = {each.change.path for each in accepted if each.change.after is None}
    for each in accepted:
        change = each.change
        if (
            reason.actor not in RECONCILED_ACTORS
            or change.before is not None
            or change.after is None
            or is_team_path(change.path)
        ):
            result.add(change)
            continue
        said = prefix_statement_with_its_refusal(change.memory_after)
        topics = [topic for topic in known_memories.find_related(said) if topic.path not in removed]
        found = reconcile_new_memory(change, topics, timestamp)
        removed.update(found.replaced_paths)
        changes = tuple(_drop_unproven_claim_of_rest(each, folder) for each in found.changes)
        result.add_reconciled(each, replace(found, changes=changes))
    return result


def _drop_unproven_claim_of_rest(change: MemoryChange, folder: MemoryFolder) -> MemoryChange:
    """What is left of a memory that another program wrote stays of unknown origin."""
    before, topic = change.memory_before, change.memory_after
    is_rest = before is not None and change.after is not None and before.body != topic.body
    if not is_rest or not folder.has_untrusted_origin(change.path):
        return change
    unproven = with_provenance(topic, replace(topic.provenance, trust=Trust.UNKNOWN))
    return replace(change, after=encode_file_text_as_utf8(unproven.text()))

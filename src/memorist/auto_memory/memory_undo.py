"""Taking back a change of the memory folder: which one, and in which folders."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile, islice
from pathlib import Path

from msgspec.structs import replace

from memorist.auto_memory.inbox import Inbox, Proposal, build_proposal
from memorist.auto_memory.memory_changes import (
    HISTORY_WAS_LOST,
    OUTSIDE_ACTORS,
    ChangeReason,
    MemoryChange,
    RecordedChange,
    render_change_headline,
)
from memorist.auto_memory.memory_file import Trust, parse_memory_file, with_provenance
from memorist.auto_memory.memory_folder import MemoryFolder
from memorist.auto_memory.memory_history import FolderHistory
from memorist.auto_memory.memory_manifest import is_index_file
from memorist.auto_memory.quotation_proof import adds_nothing_to_former_memory
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.errors import NothingToDo, WriteConflict
from memorist.safety.secrets import redact_bytes

MAX_EARLIER_CHANGES = 1_000
"""Changes before the undone one that are looked through for who wrote a memory. Our choice."""


def find_newest_change_to_undo(history: FolderHistory) -> RecordedChange | None:
    """The newest change that is not undone yet and that somebody made: what was recorded again
    since a history was lost would take all memories out. None where there is none.
    """
    undone: set[str] = set()
    for each in history.iter_changes():
        if each.undoes and each.id not in undone:
            undone.add(each.undoes)
        elif (
            not each.undoes
            and each.id not in undone
            and each.why != HISTORY_WAS_LOST
            and not all(map(is_index_file, each.paths))
        ):
            return each
    return None


def undo_recorded_change(
    folder: MemoryFolder,
    other: MemoryFolder | None,
    recorded: RecordedChange,
    *,
    inbox: Inbox,
    now: float,
    reason: ChangeReason | None = None,
) -> str:
    """Take back a change of a folder; what was accepted by it waits again in its inbox. One that
    moved a memory between this folder and the `other` one is taken back in both. `now` is in
    seconds since the epoch. Returns the id of the change; with a `reason` of its own it is one that
    the next undo takes back.

    Raises WriteConflict when a file was changed again since, or another project took part in the
    move; NothingToDo for a change of the index alone.
    """
    halves = [(folder, recorded)]
    if recorded.why.move and other is not None:
        halves += _find_other_half_of_move(folder, other, recorded)
    plans = [(each, half, _plan_memory_undo(each, half)) for each, half in halves]
    if not any(changes for _, _, changes in plans):
        raise NothingToDo(
            f"“{recorded.why.what}” changed the index alone, which is made from the memories"
        )
    ids: dict[Path, str] = {}
    # What comes back is written first: a kill leaves a memory twice rather than nowhere.
    inbox.add(_build_proposals_to_wait_again(folder, recorded, plans[0][2], now))
    for each, half, changes in sorted(
        plans, key=lambda plan: any(change.after is None for change in plan[2])
    ):
        why = reason or ChangeReason(
            actor="undo", what=render_change_headline("undo", half.why.what)
        )
        id = each.apply_changes(changes, why, undoes="" if reason else half.id)
        ids[each.layout.folder] = id
    return ids[folder.layout.folder]


TAKEN_BACK = "you accepted it, and took that back"
"""Why a change waits again."""


def _build_proposals_to_wait_again(
    folder: MemoryFolder, recorded: RecordedChange, undone: Sequence[MemoryChange], now: float
) -> list[Proposal]:
    """What waits again once its acceptance was `undone`: the memory that it wrote, or else
    those that it removed. None for a change that was no accepted proposal.
    """
    if recorded.why.actor != "inbox":
        return []
    changes = [
        MemoryChange(
            path=each.path,
            before=each.after,
            after=folder.history.read_file(each.path, recorded.id),
        )
        for each in undone
    ]
    written = [each for each in changes if each.after is not None]
    return [
        build_proposal(each, reasons=(TAKEN_BACK,), change_reason=recorded.why, timestamp=now)
        for each in written or changes
    ]


def _find_other_half_of_move(
    folder: MemoryFolder, other: MemoryFolder, recorded: RecordedChange
) -> list[tuple[MemoryFolder, RecordedChange]]:
    """The change of the other folder in the same move; none where that is taken back already, or
    the move was interrupted before it.
    """
    other.refresh()
    undone: set[str] = set()
    for each in other.history.iter_changes():
        if each.undoes and each.id not in undone:
            undone.add(each.undoes)
        elif each.why.move == recorded.why.move:
            return [] if each.id in undone else [(other, each)]
    moved = {
        parse_memory_file(path, data).body
        for path in recorded.paths
        if not is_index_file(path)
        and (data := folder.history.read_file(path, recorded.id)) is not None
    }
    if moved and moved <= {other.read_memory_file(head.path).body for head in other.headers()}:
        return []
    raise WriteConflict(
        f"“{recorded.why.what}” moved a memory from or to another project; take it back there, "
        f"or move the memory again with `memorist memory move`. To take back an earlier change, "
        f"name it: `memorist memory log` lists them"
    )


def _plan_memory_undo(folder: MemoryFolder, recorded: RecordedChange) -> list[MemoryChange]:
    """The changes that give each file of a recorded change what it held before.

    Raises WriteConflict when a file was changed again since.
    """
    history = folder.history
    before = history.find_parent_id(recorded.id)
    changes = []
    for path in recorded.paths:
        if is_index_file(path):
            continue
        now, then = folder.read_present_bytes(path), history.read_file(path, recorded.id)
        if (now and redact_bytes(now)) != then:
            if now is None:
                raise WriteConflict(
                    f"{path} is not there any more; undo the change that removed it first: "
                    "`memorist memory log` lists them"
                )
            raise WriteConflict(
                f"{path} was changed again since; undo the later change first, or edit the file"
            )
        former = history.read_file(path, before) if before else None
        if former is not None:
            former = _drop_unproven_claim(history, path, former, recorded)
        changes.append(MemoryChange(path=path, before=now, after=former))
    return changes


def _drop_unproven_claim(
    history: FolderHistory, path: str, former: bytes, undone: RecordedChange
) -> bytes:
    """A former version without its claim to be the user's word, where another program wrote that:
    what comes back is written by us, and would be believed.
    """
    topic = parse_memory_file(path, former)
    if topic.provenance.trust not in USER_TRUST:
        return former
    earlier = dropwhile(lambda each: each.id != undone.id, history.iter_changes())
    for change in islice(earlier, 1, MAX_EARLIER_CHANGES):
        if change.why.actor in OUTSIDE_ACTORS:
            continue
        # A memory that was renamed by hand stood under another name.
        written = {name: history.read_file(name, change.id) for name in change.paths}
        if former in written.values():
            return former
        known = written.get(path)
        if known is not None and adds_nothing_to_former_memory(
            topic, parse_memory_file(path, known)
        ):
            return former
        if known is not None:
            break
    unproven = with_provenance(topic, replace(topic.provenance, trust=Trust.UNKNOWN))
    return encode_file_text_as_utf8(unproven.text())

"""The journal of dreams for the user: what each did to which memory and why, what it left to the
user, and how to undo it; and the memories that dreams took out, which the history still has.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_manifest import INDEX_NAME
from memorist.core.utc_time import format_utc_minute
from memorist.dream.memory_conflicts import DreamRemark
from memorist.dream.structural_dream import DreamAct
from memorist.events import UpdateMethod
from memorist.store.disk_files import DiskFiles, read_if_exists
from memorist.store.home_layout import MemoryLayout

JOURNAL_HEADING = "# Dreams\n\nWhat was done to this memory while nobody worked, newest last.\n"
_VERBS = {
    "merged": "taken out as said elsewhere",
    "retired": "taken out",
    "dated": "given dates",
    "unlinked": "links mended",
    "changed": "rewritten",
    "added": "new",
}


class DreamReport(Struct, frozen=True, kw_only=True):
    """The result of one dream, or in a dry run what it would be."""

    way: UpdateMethod = "structural"
    ran: bool = True
    """False if it did not begin; `why` gives the reason."""
    why: str = ""
    """Why it began, or why it did not."""
    change: str = ""
    """Change id in the history of memory; empty if nothing was written."""
    acts: tuple[DreamAct, ...] = ()
    waiting: tuple[tuple[str, str, str], ...] = ()
    """Proposals in the inbox: id, path and reason."""
    refused: tuple[tuple[str, str], ...] = ()
    """Path and reason of what was rejected."""
    remarks: tuple[DreamRemark, ...] = ()
    said: str = ""
    """The model's own account."""
    failed: str = ""
    """Why the dream, or its model, did not complete; what rules prove is done all the same."""
    diff: str = ""
    """In a dry run, what it would write."""


def render_report_lines(report: DreamReport) -> list[str]:
    """Render what a dream did, line by line; one line if it did nothing."""
    found = [f"- {act.path}: {_VERBS.get(act.did, act.did)} ({act.why})" for act in report.acts]
    found += [
        f"- {path}: {f'waits in the inbox as {id}' if id else 'would wait in the inbox'} ({reason})"
        for id, path, reason in report.waiting
    ]
    found += [f"- {path}: not kept ({reason})" for path, reason in report.refused]
    found += [f"- {remark.path}: {remark.what}" for remark in report.remarks]
    found += [f"- not finished: {report.failed}"] if report.failed else []
    return [" ".join(line.split()) for line in found] or ["- nothing to do"]


def render_journal_entry(report: DreamReport, at: float) -> str:
    """Render the journal entry of one dream."""
    head = (
        f"\n## {format_utc_minute(at)} UTC, "
        f"{'by a model' if report.way == 'model' else 'by rule'}: "
        f"{' '.join(report.why.split())}\n\n"
    )
    back = (
        [
            f"- change {report.change[:12]}; `memorist memory undo {report.change[:12]}` takes "
            f"it back"
        ]
        if report.change
        else []
    )
    return head + "\n".join([*render_report_lines(report), *back]) + "\n"


def summarize_dream_acts(acts: Sequence[DreamAct]) -> str:
    """Summarize the acts, for example `2 merged, 1 dated`."""
    kinds = dict.fromkeys(act.did for act in acts)
    return ", ".join(f"{sum(act.did == kind for act in acts)} {kind}" for kind in kinds)


def read_dream_journal(where: MemoryLayout) -> str:
    """What dreams did to a memory, oldest first; empty before the first. Raises StoreError."""
    return (read_if_exists(DiskFiles(), get_journal_path(where)) or b"").decode("utf-8", "replace")


def get_journal_path(where: MemoryLayout) -> Path:
    """Return the path of the journal of dreams."""
    return where.dream_state / "journal.md"


# The memories that dreams took out of a folder, which its history still has. Pure but for what
# the memory reads.


class MemoryRemovedByDream(Struct, frozen=True, kw_only=True):
    """A memory as it was before a dream took it out."""

    path: str
    change: str
    """Id of the change that took it out, which `AutoMemory.undo` takes back."""
    at: float
    """Seconds since the epoch, UTC."""
    text: str


def list_memories_removed_by_dreams(memory: AutoMemory) -> tuple[MemoryRemovedByDream, ...]:
    """List the memories that dreams took out and that are not there now, as `RecordedChange`s are
    listed: by the last dream that took each out. Raises StoreError.
    """
    present = {head.path for head in memory.headers()}
    history = memory.folder.history
    found: dict[str, MemoryRemovedByDream] = {}
    for each in history.list_changes():
        for path in each.paths:
            archived = (
                each.why.actor == "dream"
                and path not in present
                and path not in found
                and path != INDEX_NAME
            )
            if archived and history.read_file(path, each.id) is None:
                data = history.read_file(path, history.find_parent_id(each.id)) or b""
                found[path] = MemoryRemovedByDream(
                    path=path, change=each.id, at=each.at, text=data.decode("utf-8", "replace")
                )
    return tuple(found.values())

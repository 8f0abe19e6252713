"""The journal of dreams for the user: what each did to which memory and why, what it left to the
user, and how to undo it. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from memorist.auto_memory.topic import moment
from memorist.dream.conflicts import Remark
from memorist.dream.structural import Act
from memorist.events import Way

HEADING = "# Dreams\n\nWhat was done to this memory while nobody worked, newest last.\n"
_VERBS = {
    "merged": "taken out as said elsewhere",
    "retired": "taken out",
    "dated": "given dates",
    "unlinked": "links mended",
    "changed": "rewritten",
    "added": "new",
}


class Dreamt(Struct, frozen=True, kw_only=True):
    """The result of one dream, or in a dry run what it would be."""

    way: Way = "structural"
    ran: bool = True
    """False if it did not begin; `why` gives the reason."""
    why: str = ""
    """Why it began, or why it did not."""
    change: str = ""
    """Change id in the history of memory; empty if nothing was written."""
    acts: tuple[Act, ...] = ()
    waiting: tuple[tuple[str, str, str], ...] = ()
    """Proposals in the inbox: id, path and reason."""
    refused: tuple[tuple[str, str], ...] = ()
    """Path and reason of what was rejected."""
    remarks: tuple[Remark, ...] = ()
    said: str = ""
    """The model's own account."""
    failed: str = ""
    """Why the dream, or its model, did not complete; what rules prove is done all the same."""
    diff: str = ""
    """In a dry run, what it would write."""


def lines(dreamt: Dreamt) -> list[str]:
    """Render what a dream did, line by line; one line if it did nothing."""
    found = [f"- {act.path}: {_VERBS.get(act.did, act.did)} ({act.why})" for act in dreamt.acts]
    found += [
        f"- {path}: {f'waits in the inbox as {id}' if id else 'would wait in the inbox'} ({reason})" for id, path, reason in dreamt.waiting
    ]
    found += [f"- {path}: not kept ({reason})" for path, reason in dreamt.refused]
    found += [f"- {remark.path}: {remark.what}" for remark in dreamt.remarks]
    found += [f"- not finished: {dreamt.failed}"] if dreamt.failed else []
    return [" ".join(line.split()) for line in found] or ["- nothing to do"]


def entry(dreamt: Dreamt, at: float) -> str:
    """Render the journal entry of one dream."""
    head = f"\n## {moment(at)[:16].replace('T', ' ')} UTC, {'by a model' if dreamt.way == 'model' else 'by rule'}: {' '.join(dreamt.why.split())}\n\n"
    back = [f"- change {dreamt.change[:12]}; `memorist memory undo {dreamt.change[:12]}` takes it back"] if dreamt.change else []
    return head + "\n".join([*lines(dreamt), *back]) + "\n"


def counted(acts: Sequence[Act]) -> str:
    """Summarize the acts, for example `2 merged, 1 dated`."""
    kinds = dict.fromkeys(act.did for act in acts)
    return ", ".join(f"{sum(act.did == kind for act in acts)} {kind}" for kind in kinds)

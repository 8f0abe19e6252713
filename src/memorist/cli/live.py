"""Restore a recording to what its model saw.

Rolled-back turns are removed; in memorist's own transcripts, the messages that memorist injected
are added back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from memorist.context.rollback import surviving
from memorist.core.messages import SHOWN_ANEW, Message
from memorist.engine.view import Inserted, Kept
from memorist.errors import StoreError
from memorist.formats.recorded import Boundary, Entry
from memorist.store.files import DiskFiles
from memorist.store.layout import SessionLayout


def as_shown(entries: Iterable[Entry], place: Path) -> list[Entry]:
    """The entries of the recording at `path`, without rolled-back turns; for memorist's own
    transcripts, with injected messages.

    What was injected before a compaction is no longer known; unreadable files add nothing.
    """
    layout = SessionLayout(place.parent)
    left = surviving(entries)
    return list(_with(left, _added(layout))) if place.name == layout.transcript.name else left


def _added(layout: SessionLayout) -> dict[str, list[Message]]:
    """Injected messages, by the id of the message they follow."""
    found: dict[str, list[Message]] = {}
    anchors: dict[str, str] = {}
    for each in _saved(layout):
        anchor = anchors.get(each.after, each.after)
        anchors[each.message.id] = anchor
        found.setdefault(anchor, []).append(each.message)
    return found


def _saved(layout: SessionLayout) -> Iterator[Inserted]:
    """Injected messages of the saved window, then the later ones."""
    last = ""
    with contextlib.suppress(FileNotFoundError, StoreError, msgspec.DecodeError):
        for kept in msgspec.json.decode(DiskFiles().read(layout.window), type=list[Kept]):
            if kept.own is not None and kept.own.id.startswith(SHOWN_ANEW):
                yield Inserted(last, kept.own)
            last = kept.id
    with contextlib.suppress(FileNotFoundError, StoreError):
        for line in DiskFiles().read(layout.inserts).splitlines():
            with contextlib.suppress(msgspec.DecodeError):  # a torn last line
                yield msgspec.json.decode(line, type=Inserted)


def _with(entries: list[Entry], added: dict[str, list[Message]]) -> Iterator[Entry]:
    """The entries with the injected messages after each, from the last compaction on.

    A compaction counts messages without injected ones, so none are added before it.
    """
    begun = max((at for at, entry in enumerate(entries) if isinstance(entry, Boundary)), default=-1)
    for at, entry in enumerate(entries):
        yield entry
        if isinstance(entry, Message) and at > begun:
            yield from added.pop(entry.id, ())

"""Review what a model did to a copy of the folder before any of it is written: what it removed, and
whether that exceeds one dream's limit (DR-4). Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.changes import Change, bad_path
from memorist.auto_memory.evidence import plain, words
from memorist.auto_memory.manifest import INDEX_NAME
from memorist.auto_memory.shown import BY_PERSON
from memorist.auto_memory.topic import parse
from memorist.dream.settings import DreamSettings
from memorist.dream.structural import Act

RETIRED = re.compile(r"\s*retired:\s*(?P<why>\S[^\n]{0,300})\s*", re.IGNORECASE)
"""All that a model leaves of a memory which it retires."""
SHARE = 5
"""At most one in this many memories may be retired in one dream."""
FEW = 3
"""At least this many may be retired, even in a small folder."""


class Made(Struct, frozen=True, kw_only=True):
    """The reviewed changes of a model."""

    changes: tuple[Change, ...] = ()
    """To be judged by the gate and written; removals come last."""
    questions: tuple[tuple[Change, str], ...] = ()
    """Memories that the user stated and the model wants retired, with its reason: the user
    decides.
    """
    acts: tuple[Act, ...] = ()
    refused: str = ""
    """Why none of it is kept; empty if it is acceptable."""


def made(changed: Mapping[str, tuple[bytes | None, bytes | None]], before: Mapping[str, bytes], settings: DreamSettings) -> Made:
    """Sort the differences between the folder (`before`: every memory) and the copy.

    `changed` maps each path to its old and new bytes in the copy.
    """
    written: list[Change] = []
    gone: list[Change] = []
    asked: list[tuple[Change, str]] = []
    acts: list[Act] = []
    for path, (old, new) in sorted(changed.items()):
        if path == INDEX_NAME or bad_path(path, frozenset(before)) or old == new:
            continue
        retired = RETIRED.fullmatch((new or b"").decode("utf-8", "replace")) if new is not None else None
        if new is not None and retired is None:
            written.append(Change(path=path, before=old, after=new))
            acts.append(Act(path=path, did="added" if old is None else "changed", why="by the model"))
        elif old is not None:
            why = " ".join(retired["why"].split()) if retired else "it deleted the file"
            change = Change(path=path, before=old, after=None)
            if parse(path, old).provenance.trust in BY_PERSON:
                asked.append((change, f"the dream would retire it: {why}"))
            else:
                gone.append(change)
                acts.append(Act(path=path, did="retired", why=why))
    after = _after(before, (*written, *gone))
    count = len(gone) + len(asked) + _gutted(written, before, _words(after))
    refused = _too_many(count, len(before), settings) or _too_much(_words(before), _words(after), settings)
    return Made(refused=refused) if refused else Made(changes=(*written, *gone), questions=tuple(asked), acts=tuple(acts))


def _after(before: Mapping[str, bytes], changes: Sequence[Change]) -> dict[str, bytes]:
    """Return the folder as it would be."""
    after = dict(before)
    for change in changes:
        after.pop(change.path, None)
        if change.after is not None:
            after[change.path] = change.after
    return after


def _gutted(written: Sequence[Change], before: Mapping[str, bytes], left: frozenset[str]) -> int:
    """Count memories rewritten so that most of their words no longer occur anywhere: as good as
    retired.
    """
    had = [_words({change.path: before[change.path]}) for change in written if change.path in before]
    return sum(2 * len(words - left) > len(words) for words in had)


def most_retired(present: int, settings: DreamSettings) -> int:
    """Return how many of `present` memories a model may retire in one dream."""
    return min(settings.retired, max(FEW, present // SHARE))


def _too_many(gone: int, present: int, settings: DreamSettings) -> str:
    most = most_retired(present, settings)
    return f"it would take out {gone} of {present} memories, and at most {most} may go in one dream" if gone > most else ""


def _too_much(had: frozenset[str], left: frozenset[str], settings: DreamSettings) -> str:
    """Return why too many of the folder's words would be lost; a word that occurs elsewhere is not
    lost. A small folder may lose a few words.
    """
    lost = len(had - left)
    if lost <= max(FEW * 10, int(settings.loss * len(had))):
        return ""
    return f"it would take {lost} of {len(had)} words out of memory, and at most {settings.loss:.0%} may go in one dream"


def _words(folder: Mapping[str, bytes]) -> frozenset[str]:
    return frozenset(word for path, data in folder.items() for word in words(plain(parse(path, data).body)))

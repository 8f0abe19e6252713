"""What a session is shown of its memory at the start: applicable entries, whole, most useful first
(RO-7, RO-8). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.dialects.codex_handbook import VERSION, absolute_folders
from memorist.context.piece import Section
from memorist.context.settings import Family
from memorist.core.template import render as fill
from memorist.core.tokens import estimate_text
from memorist.rollouts.notes import Note
from memorist.rollouts.overview import Part, Summary, Topic, fitted, parse, render
from memorist.rollouts.places import Here, holds
from memorist.safety.data import neutralise
from memorist.safety.granting import grants
from memorist.safety.orders import signs_of_orders
from memorist.safety.secrets import redact

TAG = "memory_summary"
_HUGE = 4
"""An entry larger than this part of the room is left out, so that it does not push out all others.
"""


class Texts(Struct, frozen=True):
    """The prompts around the summary."""

    shown: str
    """`rollouts/shown`."""
    lookup: str
    """`rollouts/lookup`: how to look further in the full form."""
    lean: str
    """`rollouts/lean`: the same in the lean form."""


class Shown(Struct, frozen=True, kw_only=True):
    """The text for a session, and what it holds."""

    text: str
    tokens: int
    """Estimated tokens of the summary in it."""
    entries: int
    """Preferences, tips and topics in it."""
    left_out: int
    """Entries of this place left out for lack of space."""
    elsewhere: int
    """Entries that hold in other places."""
    withheld: int
    """Entries that read like orders planted for an agent."""

    def section(self, family: Family, source: str) -> Section:
        """Build its context section: the rollout family's developer message, or the file-native
        family's reminder.
        """
        return Section(tag="memory" if family == "rollout" else "system-reminder", text=self.text, source=source)


class View(Struct, frozen=True, kw_only=True):
    """For which session it is rendered, and how much."""

    here: Here
    folder: str
    """Where the files are, as the session's tools reach them."""
    tokens: int = 2_500
    """`rollouts.summary_tokens`."""
    lean: bool = False


def show(summary: str, notes: Sequence[Note], view: View, texts: Texts) -> Shown | None:
    """Render what a session is shown; None if there is nothing for it.

    `summary` is the text of `memory_summary.md`, empty if there is none. Notes that are not merged
    yet come first.
    """
    whole = parse(summary) if summary.partition("\n")[0].strip() == VERSION else Summary()
    held = _with_notes(_here(whole, view.here), notes, view.here)
    elsewhere = _count(whole) - _count(_here(whole, view.here))
    fit = _fit(held)
    withheld = _count(held) - _count(fit) + (bool(held.profile) and not fit.profile)
    small = _small(fit, view.tokens // _HUGE)
    small = replace(small, left_out=_count(fit) - _count(small))
    cut = fitted(small, view.tokens, _size)
    if not (_count(cut) or cut.profile):
        return None
    plain = _text(cut)
    values = {
        "folder": view.folder,
        "summary": plain,
        "lookup": fill(texts.lean if view.lean else texts.lookup, {"folder": view.folder}, strict=True).strip(),
    }
    return Shown(
        text=fill(texts.shown, values, strict=True).strip(),
        tokens=estimate_text(plain),
        entries=_count(cut),
        left_out=cut.left_out,
        elsewhere=elsewhere,
        withheld=withheld,
    )


def _size(text: str) -> int:
    return estimate_text(_plain(text))


def _text(summary: Summary) -> str:
    return _plain(render(summary))


def _plain(text: str) -> str:
    """Return the text without the version line, headings without content, and scaffold."""
    lines = text.removeprefix(VERSION).strip().split("\n\n")
    kept = [
        part for at, part in enumerate(lines) if not part.startswith("## ") or (at + 1 < len(lines) and not lines[at + 1].startswith("## "))
    ]
    return redact(neutralise("\n\n".join(kept), (TAG,))).text


def _count(summary: Summary) -> int:
    return len(summary.topics) + sum(len(part.entries) for part in (*summary.preferences, *summary.tips))


def _here(summary: Summary, here: Here) -> Summary:
    """Return what applies at the location.

    Sections unknown to the layout have no place, and are not shown.
    """

    def holding(place: str) -> bool:
        return holds(place, absolute_folders(place), here)

    return replace(
        summary,
        preferences=tuple(part for part in summary.preferences if holding(part.place)),
        tips=tuple(part for part in summary.tips if holding(part.place)),
        topics=tuple(topic for topic in summary.topics if holding(topic.place)),
        preamble="",
        other=(),
    )


def _with_notes(summary: Summary, notes: Sequence[Note], here: Here) -> Summary:
    waiting = [note for note in notes if not note.merged and not note.orders and holds(note.place, absolute_folders(note.place), here)]
    parts = [Part(note.place, (f"{note.text} [noted {note.date}]" if note.date else note.text,)) for note in reversed(waiting)]
    places: dict[str, tuple[str, ...]] = {}
    for part in (*parts, *summary.preferences):
        places[part.place] = (*places.get(part.place, ()), *part.entries)
    return replace(summary, preferences=tuple(Part(place, entries) for place, entries in places.items()))


def _fit(summary: Summary) -> Summary:
    """Drop entries that read like orders planted for an agent: files can be changed past every gate
    (SF-2).
    """

    def parts(given: Sequence[Part]) -> tuple[Part, ...]:
        kept = (Part(part.place, tuple(entry for entry in part.entries if not _ordering(entry))) for part in given)
        return tuple(part for part in kept if part.entries)

    return replace(
        summary,
        profile="" if _ordering(summary.profile) else summary.profile,
        preferences=parts(summary.preferences),
        tips=parts(summary.tips),
        topics=tuple(topic for topic in summary.topics if not _ordering(topic.text)),
    )


def _ordering(text: str) -> bool:
    return bool(signs_of_orders(text)) or grants(text)


def _small(summary: Summary, limit: int) -> Summary:
    """Drop entries that are too long to be shown beside others."""

    def short(text: str) -> bool:
        return estimate_text(text) <= limit

    def parts(given: Sequence[Part]) -> tuple[Part, ...]:
        kept = (Part(part.place, tuple(filter(short, part.entries))) for part in given)
        return tuple(part for part in kept if part.entries)

    topics: tuple[Topic, ...] = tuple(topic for topic in summary.topics if short(topic.text))
    return replace(summary, preferences=parts(summary.preferences), tips=parts(summary.tips), topics=topics)

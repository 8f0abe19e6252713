"""Notes written on the user's request, such as "remember this": shown before any consolidation,
merged at the next, never obeyed. Pure.

One file each in `extensions/ad_hoc/notes/`, as in codex.md section 1.9; a header, which foreign
notes lack, says where the note holds and when it was merged. memorist never deletes a note.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from memorist.auto_memory.dialects.codex import NOTES
from memorist.core.front_matter import Document, join, split, with_values
from memorist.rollouts.handbook import EVERYWHERE, Entry
from memorist.rollouts.handbook_reading import read_entry
from memorist.rollouts.places import folders_of
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible
from memorist.safety.orders import signs_of_orders
from memorist.safety.secrets import redact

LIMIT = 2_000
"""Characters of a note that are merged and shown: the layout asks for one small note."""
_SLUG = 80
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)T\d\d-\d\d-\d\d")
_HEADING = re.compile(r"\A#+ [^\n]*\n+(?=\S)")


class Note(Struct, frozen=True, kw_only=True):
    """One note."""

    path: str
    """Relative to the folder."""
    text: str
    """Without secrets, scaffold and invisible characters; cut at `MAX_NOTE_CHARACTERS`."""
    place: str = EVERYWHERE
    date: str = ""
    """ISO 8601 date from its file name."""
    merged: str = ""
    """ISO 8601 date of its merge into the handbook; empty while it waits."""
    orders: tuple[str, ...] = ()
    """Signs that it is an order planted for an agent: it is then neither shown nor merged."""

    @property
    def name(self) -> str:
        """Its name in the handbook."""
        return self.path.removeprefix(NOTES).removesuffix(".md").replace(" ", "_").replace("]", "_").replace("[", "_")

    @property
    def entry(self) -> Entry:
        """The note as a claim of the handbook."""
        return Entry(text=self.text, date=self.date, by="note", note=self.name)


def new_note(text: str, *, now: str, place: str = EVERYWHERE) -> tuple[str, bytes]:
    """Build path and bytes of a new note.

    `now` is RFC 3339 UTC; `group_title` is "everywhere" or a folder's full path. Secrets are
    removed.
    """
    plain = redact(visible(text)).text.strip()
    words = "-".join(re.findall(r"[a-z0-9]+", plain.encode("ascii", "ignore").decode().lower()))[:_SLUG].strip("-")
    stamp = now.removesuffix("Z")[:19].replace(":", "-")
    front = with_values(None, {"place": place}) if place != EVERYWHERE else None
    data = join(Document(front, f"{plain}\n")).encode("utf-8", "replace")
    return f"{NOTES}{stamp}-{words or 'note'}.md", data


def read_note(path: str, data: bytes) -> Note:
    """Parse a note from its file."""
    document = split(data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n"))
    front = document.front
    said = document.body.strip()
    plain = " ".join(_HEADING.sub("", redact(neutralise(visible(said))).text).split())
    timed = _DATE.match(path.removeprefix(NOTES))
    place = front.text("place") if front else ""
    return Note(
        path=path,
        text=read_entry(plain if len(plain) <= LIMIT else plain[: LIMIT - 1].rstrip() + "…", ()).text,
        place=place if folders_of(place) else EVERYWHERE,
        date=timed[1] if timed else "",
        merged=front.text("merged") if front else "",
        orders=tuple(sorted(signs_of_orders(said) | signs_of_orders(path))),
    )


def notes_of(files: Mapping[str, bytes]) -> tuple[Note, ...]:
    """Return the notes among the files of the folder, oldest first, without empty ones."""
    found = (read_note(path, data) for path, data in sorted(files.items()) if path.startswith(NOTES) and path.endswith(".md"))
    return tuple(note for note in found if note.text)


def marked_merged(data: bytes, today: str) -> bytes:
    """Return a note's file marked as merged; all else stays byte for byte."""
    text = data.decode("utf-8", "surrogateescape")
    document = split(text)
    front = with_values(document.front, {"merged": today})
    opening = (
        Document(front, document.body) if document.front is None else Document(front, document.body, document.opening, document.closing)
    )
    return join(opening).encode("utf-8", "surrogateescape")

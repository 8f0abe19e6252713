"""Notes written on the user's request, such as "remember this": shown before any consolidation,
merged at the next, never obeyed. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

from memorist.auto_memory.interop.codex_memory import NOTES_FOLDER
from memorist.core.front_matter import (
    MarkdownDocument,
    join_front_matter,
    split_front_matter,
    update_front_matter,
)
from memorist.rollouts.handbook import EVERYWHERE, HandbookClaim
from memorist.rollouts.handbook_parser import parse_handbook_entry
from memorist.rollouts.session_location import parse_group_title_folders
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.prompt_injection import find_injection_rules
from memorist.safety.secrets import redact

MAX_NOTE_CHARACTERS = 2_000
"""Characters of a note that are merged and shown: the layout asks for one small note."""
_SLUG = 80
_DATE = re.compile(r"(\d{4}-\d\d-\d\d)T\d\d-\d\d-\d\d")
_HEADING = re.compile(r"\A#+ [^\n]*\n+(?=\S)")


class UserNote(Struct, frozen=True, kw_only=True):
    """One note."""

    path: str
    """Relative to the folder."""
    text: str
    """Without secrets, scaffold and invisible characters; cut at `MAX_NOTE_CHARACTERS`."""
    group: str = EVERYWHERE
    date: str = ""
    """ISO 8601 date from its file name."""
    merged: str = ""
    """ISO 8601 date of its merge into the handbook; empty while it waits."""
    orders: tuple[str, ...] = ()
    """Signs that it is an order planted for an agent: it is then neither shown nor merged."""

    @property
    def name(self) -> str:
        """Its name in the handbook."""
        return (
            self.path.removeprefix(NOTES_FOLDER)
            .removesuffix(".md")
            .replace(" ", "_")
            .replace("]", "_")
            .replace("[", "_")
        )

    @property
    def as_handbook_entry(self) -> HandbookClaim:
        """The note as a claim of the handbook."""
        return HandbookClaim(text=self.text, date=self.date, by="note", note=self.name)


def build_note_file(text: str, *, now: str, group_title: str = EVERYWHERE) -> tuple[str, bytes]:
    """Build path and bytes of a new note.

    `now` is RFC 3339 UTC; `group_title` is "everywhere" or a folder's full path. Secrets are
    removed.
    """
    plain = redact(strip_hidden_characters(text)).text.strip()
    words = "-".join(re.findall(r"[a-z0-9]+", plain.encode("ascii", "ignore").decode().lower()))[
        :_SLUG
    ].strip("-")
    stamp = now.removesuffix("Z")[:19].replace(":", "-")
    front = update_front_matter(None, {"place": group_title}) if group_title != EVERYWHERE else None
    data = join_front_matter(MarkdownDocument(front, f"{plain}\n")).encode("utf-8", "replace")
    return f"{NOTES_FOLDER}{stamp}-{words or 'note'}.md", data


def parse_note(path: str, data: bytes) -> UserNote:
    """Parse a note from its file."""
    document = split_front_matter(
        data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    )
    front = document.front
    said = document.body.strip()
    plain = " ".join(
        _HEADING.sub("", redact(neutralize_markup(strip_hidden_characters(said))).text).split()
    )
    timed = _DATE.match(path.removeprefix(NOTES_FOLDER))
    folder = front.text_value("place") if front else ""
    return UserNote(
        path=path,
        text=parse_handbook_entry(
            plain
            if len(plain) <= MAX_NOTE_CHARACTERS
            else plain[: MAX_NOTE_CHARACTERS - 1].rstrip() + "…",
            (),
        ).text,
        group=folder if parse_group_title_folders(folder) else EVERYWHERE,
        date=timed[1] if timed else "",
        merged=front.text_value("merged") if front else "",
        orders=tuple(sorted(find_injection_rules(said) | find_injection_rules(path))),
    )


def parse_user_notes(files: Mapping[str, bytes]) -> tuple[UserNote, ...]:
    """Return the notes among the files of the folder, oldest first, without empty ones."""
    found = (
        parse_note(path, data)
        for path, data in sorted(files.items())
        if path.startswith(NOTES_FOLDER) and path.endswith(".md")
    )
    return tuple(note for note in found if note.text)


def mark_note_merged(data: bytes, today: str) -> bytes:
    """Return a note's file marked as merged; all else stays byte for byte."""
    text = data.decode("utf-8", "surrogateescape")
    document = split_front_matter(text)
    front = update_front_matter(document.front, {"merged": today})
    opening = (
        MarkdownDocument(front, document.body)
        if document.front is None
        else MarkdownDocument(front, document.body, document.opening, document.closing)
    )
    return join_front_matter(opening).encode("utf-8", "surrogateescape")

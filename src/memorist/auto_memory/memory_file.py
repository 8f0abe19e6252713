"""One memory: a Markdown file with name, description and type, and memorist's own header key
(AM-2).

Pure.
"""

from __future__ import annotations

import unicodedata
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.front_matter import (
    MarkdownDocument,
    join_front_matter,
    quote_invalid_values,
    split_front_matter,
    update_front_matter,
)
from memorist.core.plural import pluralize
from memorist.core.text_encoding import (
    count_undecoded_bytes,
    decode_file_text_losslessly,
    encode_file_text_as_utf8,
)
from memorist.errors import UsageError

# The four kinds of memory, and how far each origin is trusted.


class MemoryKind(StrEnum):
    """What a memory is about (Claude Code)."""

    USER = "user"
    FEEDBACK = "feedback"
    PROJECT = "project"
    REFERENCE = "reference"


def check_memory_kind(kind: MemoryKind | str) -> MemoryKind:
    """The kind of that name. Raises UsageError for an unknown one."""
    try:
        return MemoryKind(kind)
    except ValueError as error:
        raise UsageError(f"{kind!r} is no kind of memory: {', '.join(MemoryKind)}") from error


class Trust(StrEnum):
    """Origin of a memory's content, most trusted first."""

    STATED = "stated"
    """The user said it; the words are quoted."""
    REVIEWED = "reviewed"
    """The user accepted it in the inbox, or wrote it by hand."""
    DERIVED = "derived"
    """A model concluded it from the conversation."""
    IMPORTED = "imported"
    """It came from another system's memory."""
    TEAM = "team"
    """A team mate shared it."""
    OUTSIDE = "outside"
    """It came from a tool, a web page, a file or another agent."""
    UNKNOWN = "unknown"
    """The file does not say; another program wrote it."""


KIND_GUIDANCE: dict[MemoryKind, str] = {
    MemoryKind.USER: "the person's role, knowledge, aims, how they like to be spoken with; no "
    "judgement of them",
    MemoryKind.FEEDBACK: "how to work here: corrections, unusual choices that the person confirmed",
    MemoryKind.PROJECT: "decisions, dates and duties that code and history do not show",
    MemoryKind.REFERENCE: "a tracker, dashboard, channel or document outside, and what is in it",
}
"""What a kind is for, as extraction tells it to the model."""

USER_KINDS = frozenset({MemoryKind.USER, MemoryKind.FEEDBACK})
"""Kinds that speak for the user: they need the user's own words as evidence (SF-2)."""


def parse_kind(text: str) -> MemoryKind | None:
    """Parse a kind's name; None for any other text, which is tolerated (Claude Code)."""
    try:
        return MemoryKind(text.strip().lower())
    except ValueError:
        return None


def parse_trust(text: str) -> Trust:
    """Parse a trust level's name; `UNKNOWN` for any other text."""
    try:
        return Trust(text.strip().lower())
    except ValueError:
        return Trust.UNKNOWN


MEMORIST_KEY = "memorist"
"""The one header key that belongs to memorist."""
MAX_FILE_NAME_BYTES = 80
"""Bytes of a generated file name, extension included; every file system accepts it in any Unicode
form.
"""


class Provenance(Struct, frozen=True, kw_only=True):
    """Origin of a memory: session, messages and quote; when it was created and last verified; its
    status.
    """

    session: str = ""
    messages: tuple[str, ...] = ()
    quote: str = ""
    created: str = ""
    """ISO 8601 date and time, UTC."""
    verified: str = ""
    status: str = "active"
    """`active`, `superseded`, or `muted` by the user: kept, and not shown to a model."""
    trust: Trust = Trust.UNKNOWN
    replaces: tuple[str, ...] = ()
    """Paths of the memories in whose place it came; the history has them."""


class MemoryFile(Struct, frozen=True, kw_only=True):
    """One memory file. `path` is relative to the memory folder, with slashes."""

    path: str
    document: MarkdownDocument

    @property
    def name(self) -> str:
        """The header's name, or the file's."""
        found = self._text("name")
        return found or self.path.rsplit("/", 1)[-1].removesuffix(".md")

    @property
    def description(self) -> str:
        """The line by which it is selected; without one in the header, the first line of the
        body.
        """
        return self._text("description") or _first_line(self.body)

    @property
    def kind(self) -> MemoryKind | None:
        """Its kind, from `type` or `metadata.type`; None when neither names a known one."""
        front = self.document.front
        if front is None:
            return None
        nested = front.mapping_value("metadata").get("type")
        return parse_kind(front.text_value("type")) or (
            parse_kind(nested) if isinstance(nested, str) else None
        )

    @property
    def body(self) -> str:
        """The text below the header."""
        return self.document.body.strip("\n")

    @property
    def one_line_text(self) -> str:
        """What it says in one line: its text, or where that is longer its description."""
        body = self.body.strip()
        return self.description if "\n" in body else body

    @property
    def pinned(self) -> bool:
        """Whether the header pins it to the index, whatever its age."""
        return self._text("pinned").lower() in ("true", "yes", "1")

    @property
    def header_problem(self) -> str:
        """Why the header could not be read; empty when it could, or there is none."""
        return self.document.front.problem if self.document.front else ""

    @property
    def encoding_problem(self) -> str:
        """What could not be read, as it is in another encoding; empty for nothing."""
        count = count_undecoded_bytes(self.text())
        return (
            f"{pluralize(count, 'byte')} of it cannot be read: it is not in UTF-8" if count else ""
        )

    @property
    def provenance(self) -> Provenance:
        """What memorist recorded of its origin; all unknown for a file that another program
        wrote.
        """
        given = self.document.front.mapping_value(MEMORIST_KEY) if self.document.front else {}
        return Provenance(
            session=_text_value(given, "session"),
            messages=_text_list(given, "messages"),
            quote=_text_value(given, "quote"),
            created=_text_value(given, "created"),
            verified=_text_value(given, "verified"),
            status=_text_value(given, "status") or "active",
            trust=parse_trust(_text_value(given, "trust")),
            replaces=_text_list(given, "replaces"),
        )

    @property
    def verified_day(self) -> str:
        """The day it was last verified or written, ISO 8601; empty where the file does not say."""
        origin = self.provenance
        return (origin.verified or origin.created)[:10]

    def text(self) -> str:
        """The file's whole text."""
        return join_front_matter(self.document)

    def _text(self, key: str) -> str:
        return self.document.front.text_value(key) if self.document.front else ""


def _text_value(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _text_list(given: dict[str, Any], key: str) -> tuple[str, ...]:
    found = given.get(key)
    return tuple(str(each) for each in found) if isinstance(found, list) else ()


def with_invalid_header_values_quoted(topic: MemoryFile) -> MemoryFile:
    """The topic with those header values quoted that are no YAML as a model wrote them, where that
    makes its header readable; otherwise unchanged.
    """
    front = topic.document.front
    if front is None or not front.problem:
        return topic
    lines = quote_invalid_values("".join(entry.raw for entry in front.entries).splitlines())
    text = f"---\n{chr(10).join(lines)}\n---\n{topic.document.body}"
    found = parse_memory_file(topic.path, encode_file_text_as_utf8(text))
    return topic if found.header_problem else found


def _first_line(body: str) -> str:
    line = next((line.strip("# *").strip() for line in body.splitlines() if line.strip("# *-")), "")
    return line[:150]


def parse_memory_file(path: str, data: bytes) -> MemoryFile:
    """Parse a topic file.

    Never fails: invalid UTF-8 is kept, a broken header is in `MemoryFile.header_problem`.
    """
    text = decode_file_text_losslessly(data)
    return MemoryFile(path=path, document=_read_behind_stub(split_front_matter(text), text))


def _read_behind_stub(first: MarkdownDocument, text: str) -> MarkdownDocument:
    """The document with its second header where the first neither names nor describes it, as tools
    that sync notes put one in front; the first stays as it is, before the second.
    """
    front = first.front
    if front is None or {"name", "description", MEMORIST_KEY} & front.values.keys():
        return first
    second = split_front_matter(first.body.lstrip("\r\n"))
    if second.front is None or not second.front.text_value("description"):
        return first
    before = text[: len(text) - len(first.body.lstrip("\r\n"))]
    return replace(second, opening=before + second.opening)


def create_memory_file(
    path: str,
    *,
    kind: MemoryKind | None,
    name: str,
    description: str,
    body: str,
    provenance: Provenance,
) -> MemoryFile:
    """Create a memory that does not exist yet."""
    values: dict[str, Any] = {"name": name, "description": description}
    if kind is not None:
        values["type"] = kind.value
    front = update_front_matter(None, values)
    topic = MemoryFile(path=path, document=MarkdownDocument(front, f"\n{body.strip()}\n"))
    return with_provenance(topic, provenance)


def with_provenance(topic: MemoryFile, provenance: Provenance) -> MemoryFile:
    """Return the memory with memorist's key set; other values under that key stay."""
    front = topic.document.front
    given = dict(front.mapping_value(MEMORIST_KEY)) if front else {}
    fields: dict[str, Any] = {
        "session": provenance.session,
        "messages": list(provenance.messages),
        "quote": provenance.quote,
        "created": provenance.created,
        "verified": provenance.verified,
        "status": provenance.status if provenance.status != "active" else "",
        "trust": provenance.trust.value,
        "replaces": list(provenance.replaces),
    }
    for key, value in fields.items():
        given.pop(key, None)
        if value:
            given[key] = value
    return replace(
        topic,
        document=replace(topic.document, front=update_front_matter(front, {MEMORIST_KEY: given})),
    )


def with_body(topic: MemoryFile, body: str) -> MemoryFile:
    """Return the memory with another text below the same header."""
    return replace(topic, document=replace(topic.document, body=body))


def with_header_values(topic: MemoryFile, values: dict[str, Any]) -> MemoryFile:
    """Return the memory with these header keys set; None removes a key."""
    return replace(
        topic,
        document=replace(topic.document, front=update_front_matter(topic.document.front, values)),
    )


_MARKS = frozenset({"Mn", "Mc"})
"""Categories of what is written onto a letter: vowels of Hindi and Thai, points of Hebrew."""


def make_file_name(name: str) -> str:
    """Make a file name: letters with their marks, digits and dashes of any script, lower case,
    ending in `.md`; `untitled.md` where there are none, as of an emoji alone.
    """
    plain = ""
    for letter in unicodedata.normalize("NFKC", name).casefold():
        is_mark = unicodedata.category(letter) in _MARKS and plain[-1:] not in ("", "-")
        plain += letter if letter.isalnum() or is_mark else "-"
    words = "-".join(filter(None, plain.split("-")))
    cut = words.encode()[: MAX_FILE_NAME_BYTES - 3].decode("utf-8", "ignore").strip("-")
    return f"{cut or 'untitled'}.md"

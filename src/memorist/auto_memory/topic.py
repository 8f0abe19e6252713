"""One memory: a Markdown file with name, description and type, and memorist's own header key
(AM-2).

Pure.
"""

from __future__ import annotations

import datetime as dt
import unicodedata
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.kinds import Kind, Trust, kind_of, trust_of
from memorist.core.front_matter import Document, join, split, with_values

OWN_KEY = "memorist"
"""The one header key that belongs to memorist."""
MAX_NAME = 80
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
    """`active`, or `superseded`."""
    trust: Trust = Trust.UNKNOWN


class Topic(Struct, frozen=True, kw_only=True):
    """One memory file. `path` is relative to the memory folder, with slashes."""

    path: str
    document: Document

    @property
    def name(self) -> str:
        """The header's name, or the file's."""
        found = self._text("name")
        return found or self.path.rsplit("/", 1)[-1].removesuffix(".md")

    @property
    def description(self) -> str:
        """The line by which it is selected; without one in the header, the first line of the body.
        """
        return self._text("description") or _first_words(self.body)

    @property
    def kind(self) -> Kind | None:
        """Its kind, from `type` or `metadata.type`; None when neither names a known one."""
        front = self.document.front
        if front is None:
            return None
        nested = front.mapping("metadata").get("type")
        return kind_of(front.text("type")) or (kind_of(nested) if isinstance(nested, str) else None)

    @property
    def body(self) -> str:
        """The text below the header."""
        return self.document.body.strip("\n")

    @property
    def pinned(self) -> bool:
        """Whether the header pins it to the index, whatever its age."""
        return self._text("pinned").lower() in ("true", "yes", "1")

    @property
    def problem(self) -> str:
        """Why the header could not be read; empty when it could, or there is none."""
        return self.document.front.problem if self.document.front else ""

    @property
    def provenance(self) -> Provenance:
        """What memorist recorded of its origin; all unknown for a file that another program wrote.
        """
        given = self.document.front.mapping(OWN_KEY) if self.document.front else {}
        messages = given.get("messages")
        return Provenance(
            session=_plain(given, "session"),
            messages=tuple(str(each) for each in messages) if isinstance(messages, list) else (),
            quote=_plain(given, "quote"),
            created=_plain(given, "created"),
            verified=_plain(given, "verified"),
            status=_plain(given, "status") or "active",
            trust=trust_of(_plain(given, "trust")),
        )

    def text(self) -> str:
        """The file's whole text."""
        return join(self.document)

    def _text(self, key: str) -> str:
        return self.document.front.text(key) if self.document.front else ""


def _plain(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    return " ".join(value.split()) if isinstance(value, str) else ""


def _first_words(body: str) -> str:
    line = next((line.strip("# *").strip() for line in body.splitlines() if line.strip("# *").strip()), "")
    return line[:150]


def parse(path: str, data: bytes) -> Topic:
    """Parse a topic file.

    Never fails: invalid UTF-8 is kept, a broken header is in `Topic.header_problem`.
    """
    return Topic(path=path, document=split(data.decode("utf-8", "surrogateescape")))


def encode(text: str) -> bytes:
    """Encode a topic file's text, restoring invalid UTF-8; other lone surrogates become question
    marks.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def new_topic(path: str, *, kind: Kind | None, name: str, description: str, body: str, provenance: Provenance) -> Topic:
    """Create a memory that does not exist yet."""
    values: dict[str, Any] = {"name": name, "description": description}
    if kind is not None:
        values["type"] = kind.value
    front = with_values(None, values)
    made = Topic(path=path, document=Document(front, f"\n{body.strip()}\n"))
    return with_provenance(made, provenance)


def with_provenance(topic: Topic, provenance: Provenance) -> Topic:
    """Return the memory with memorist's key set; other values under that key stay."""
    front = topic.document.front
    given = dict(front.mapping(OWN_KEY)) if front else {}
    fields: dict[str, Any] = {
        "session": provenance.session,
        "messages": list(provenance.messages),
        "quote": provenance.quote,
        "created": provenance.created,
        "verified": provenance.verified,
        "status": provenance.status if provenance.status != "active" else "",
        "trust": provenance.trust.value,
    }
    for key, value in fields.items():
        given.pop(key, None)
        if value:
            given[key] = value
    return replace(topic, document=replace(topic.document, front=with_values(front, {OWN_KEY: given})))


def with_body(topic: Topic, body: str) -> Topic:
    """Return the memory with another text below the same header."""
    return replace(topic, document=replace(topic.document, body=body))


def with_header(topic: Topic, values: dict[str, Any]) -> Topic:
    """Return the memory with these header keys set; None removes a key."""
    return replace(topic, document=replace(topic.document, front=with_values(topic.document.front, values)))


def file_name(name: str) -> str:
    """Make a file name: letters, digits and dashes of any script, lower case, ending in `.md`."""
    plain = "".join(letter if letter.isalnum() else "-" for letter in unicodedata.normalize("NFKC", name).casefold())
    words = "-".join(filter(None, plain.split("-")))
    cut = words.encode()[: MAX_NAME - 3].decode("utf-8", "ignore").strip("-")
    return f"{cut or 'memory'}.md"


def moment(at: float) -> str:
    """Format seconds since the epoch as ISO 8601, UTC, whole seconds; empty outside the calendar.
    """
    try:
        return dt.datetime.fromtimestamp(int(at), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""

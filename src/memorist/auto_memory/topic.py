"""One memory: a Markdown file with a header of name, description and type, and what memorist adds under one key of its own (AM-2). Pure."""

from __future__ import annotations

import datetime as dt
import unicodedata
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.kinds import Kind, Trust, kind_of, trust_of
from memorist.core.front_matter import Document, join, split, with_values

OWN_KEY = "memorist"
"""The one key of the header that is ours."""
MAX_NAME = 80
"""Characters of a file name made by us, ending included; every file system takes it in any Unicode form."""


class Provenance(Struct, frozen=True, kw_only=True):
    """Where a memory comes from: session, messages and words that led to it; when it was made and last checked; its standing."""

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
        """The one line by which it is chosen; where the header has none, the first line of the body."""
        return self._text("description") or _first_words(self.body)

    @property
    def kind(self) -> Kind | None:
        """Its kind; None when the header names none that is known. Both places are read: `type`, and `metadata.type`."""
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
        """Whether the header says that it is to be kept in the index whatever its age."""
        return self._text("pinned").lower() in ("true", "yes", "1")

    @property
    def problem(self) -> str:
        """Why the header could not be read; empty when it could, or there is none."""
        return self.document.front.problem if self.document.front else ""

    @property
    def provenance(self) -> Provenance:
        """What memorist knows of its origin; all unknown for a file that somebody else wrote."""
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
    """Read a topic file. Never fails: bytes that are no UTF-8 are kept, a broken header is reported by `Topic.problem`."""
    return Topic(path=path, document=split(data.decode("utf-8", "surrogateescape")))


def encode(text: str) -> bytes:
    """The bytes of a topic file's text, also of one that was no UTF-8; a lone surrogate becomes a question mark."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def new_topic(path: str, *, kind: Kind | None, name: str, description: str, body: str, provenance: Provenance) -> Topic:
    """A memory that is not there yet."""
    values: dict[str, Any] = {"name": name, "description": description}
    if kind is not None:
        values["type"] = kind.value
    front = with_values(None, values)
    made = Topic(path=path, document=Document(front, f"\n{body.strip()}\n"))
    return with_provenance(made, provenance)


def with_provenance(topic: Topic, provenance: Provenance) -> Topic:
    """The memory with our key set; what else stands under that key stays."""
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
    """The memory with another text below the same header."""
    return replace(topic, document=replace(topic.document, body=body))


def with_header(topic: Topic, values: dict[str, Any]) -> Topic:
    """The memory with these keys of the header set; None takes a key out."""
    return replace(topic, document=replace(topic.document, front=with_values(topic.document.front, values)))


def file_name(name: str) -> str:
    """A file name for a memory of this name: letters, digits and dashes of any script, lower case, `.md` at the end."""
    plain = "".join(letter if letter.isalnum() else "-" for letter in unicodedata.normalize("NFKC", name).casefold())
    words = "-".join(filter(None, plain.split("-")))
    cut = words.encode()[: MAX_NAME - 3].decode("utf-8", "ignore").strip("-")
    return f"{cut or 'memory'}.md"


def moment(at: float) -> str:
    """A time in seconds since the epoch as it stands in a header: ISO 8601, UTC, whole seconds; empty outside what calendars know."""
    try:
        return dt.datetime.fromtimestamp(int(at), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return ""

"""The shared form of a memory: without what is specific to the machine (session, messages, quotes,
trust, pin). Pure.

Texts are compared in this form, so that two machines with different origin marks on one memory
agree that it is the same.
"""

from __future__ import annotations

import hashlib

from msgspec import Struct

from memorist.auto_memory.shared import not_for_a_team
from memorist.auto_memory.topic import OWN_KEY, encode, parse, with_header
from memorist.safety.secrets import find_secrets

_PIN = "pinned"


class Unshareable(Struct, frozen=True):
    """A memory that stays on this machine, and why. Never contains the offending text."""

    key: str
    why: str


def wire(data: bytes) -> str:
    """Return a file's shared text. Raises UnicodeDecodeError if it is not UTF-8. Idempotent."""
    topic = parse("memory.md", data.decode("utf-8").encode())
    status = topic.provenance.status
    bare = with_header(topic, {OWN_KEY: {"status": status} if status == "superseded" else None, _PIN: None})
    front = bare.document.front
    text = bare.document.body if front is not None and not front.entries else bare.text()
    return text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff\n").rstrip("\n") + "\n"


def landed(text: str, before: bytes | None) -> bytes:
    """Return the file for a shared text, keeping a pin that the user set here.

    The gate adds the marks of origin.
    """
    pinned = before is not None and parse("memory.md", before).pinned
    return encode(with_header(parse("memory.md", encode(text)), {_PIN: "true"}).text()) if pinned else encode(text)


def digest(text: str) -> str:
    """Return the checksum of a shared text: `sha256:` and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def unshareable(data: bytes, *, limit: int) -> str:
    """Return why a file's text is not sent to others; empty if it may be.

    A secret is named by its rule alone (TM-4).
    """
    try:
        text = wire(data)
    except UnicodeDecodeError:
        return "it is no UTF-8 text"
    if len(text.encode()) > limit:
        return f"it has more than {limit:,} bytes"
    kind = parse("memory.md", data).kind
    rules = sorted({finding.rule for finding in find_secrets(text)})
    return not_for_a_team(kind) or (f"it holds a secret: {', '.join(rules)}" if rules else "")

"""The shared form of a memory: without what is specific to the machine (session, messages, quotes,
trust, pin). Pure.

Texts are compared in this form, so that two machines with different origin marks on one memory
agree that it is the same.
"""

from __future__ import annotations

import hashlib

from msgspec import Struct

from memorist.auto_memory.memory_file import MEMORIST_KEY, parse_memory_file, with_header_values
from memorist.auto_memory.team_memory import find_kind_sharing_problem
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.safety.secrets import find_secrets

_PIN_KEY = "pinned"


class UnshareableMemory(Struct, frozen=True):
    """A memory that stays on this machine, and why. Never contains the offending text."""

    key: str
    why: str


def to_shared_text(data: bytes) -> str:
    """Return a file's shared text. Raises UnicodeDecodeError if it is not UTF-8. Idempotent."""
    topic = parse_memory_file("memory.md", data.decode("utf-8").encode())
    status = topic.provenance.status
    bare = with_header_values(
        topic,
        {MEMORIST_KEY: {"status": status} if status == "superseded" else None, _PIN_KEY: None},
    )
    front = bare.document.front
    text = bare.document.body if front is not None and not front.entries else bare.text()
    return text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff\n").rstrip("\n") + "\n"


def build_local_file_keeping_pin(text: str, before: bytes | None) -> bytes:
    """Return the file for a shared text, keeping a pin that the user set here.

    The gate adds the marks of origin.
    """
    pinned = before is not None and parse_memory_file("memory.md", before).pinned
    if pinned:
        return encode_file_text_as_utf8(
            with_header_values(
                parse_memory_file("memory.md", encode_file_text_as_utf8(text)), {_PIN_KEY: "true"}
            ).text()
        )
    return encode_file_text_as_utf8(text)


def compute_text_checksum(text: str) -> str:
    """Return the checksum of a shared text: `sha256:` and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def find_sharing_problem(data: bytes, *, limit: int) -> str:
    """Return why a file's text is not sent to others; empty if it may be.

    A secret is named by its rule alone (TM-4).
    """
    try:
        text = to_shared_text(data)
    except UnicodeDecodeError:
        return "it is no UTF-8 text"
    if not text.strip("\0 \t\n") or "\0" in text:
        return "it is empty or damaged, as after a power cut"
    if len(text.encode()) > limit:
        return f"it has more than {limit:,} bytes"
    kind = parse_memory_file("memory.md", data).kind
    rules = sorted({finding.rule for finding in find_secrets(text)})
    return find_kind_sharing_problem(kind) or (
        f"it holds a secret: {', '.join(rules)}" if rules else ""
    )

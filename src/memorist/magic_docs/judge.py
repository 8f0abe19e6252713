"""Decide whether a change of a Magic Doc may be written. Pure (MD-2, SF-1, SF-2).

The file is the user's own, and others read it as such. So what a model made of it passes only if
header and instruction are unchanged and it holds no new secret, nothing invisible, and no order or
permission from elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct

from memorist.auto_memory.evidence import Evidence, borrowed
from memorist.magic_docs.header import Header, find_header
from memorist.safety.granting import grants, waives
from memorist.safety.hidden import hidden
from memorist.safety.instructing import instructs
from memorist.safety.orders import signs_of_orders
from memorist.safety.secrets import find_secrets

SHRINKS_FROM = 60
"""Words of a document from which its shrinking is checked. Our choice."""
SHRINKS_TO = 0.25
"""Smallest share of them that one update may leave: less is a document lost, not outdated lines
removed. Our choice.
"""

PIECE = 10_000
"""Characters of a source compared at once; the words of such short sources are remembered
(auto_memory/evidence.py). Our choice.
"""
OVERLAP = 200
"""Characters that two pieces share, so that a run of words is whole in one of them."""

_PATH = re.compile(r"`([\w.@+-]+(?:/[\w.@+-]+)+/?)`")


class Document(Struct, frozen=True):
    """A Magic Doc as it is."""

    text: str
    header: Header

    @property
    def body(self) -> str:
        """The text below header and instruction."""
        return self.text[len(self.header.frame) :]


class Fit(Struct, frozen=True):
    """The change may be written, as these bytes."""

    data: bytes


class Unfit(Struct, frozen=True):
    """The change is rejected."""

    reasons: tuple[str, ...]


class Same(Struct, frozen=True):
    """The change says nothing new, and is not written."""


def read_document(data: bytes, max_bytes: int) -> Document | str:
    """Parse the document, or return why it cannot be updated; the empty text if it is not a Magic
    Doc.
    """
    text = data.decode("utf-8", "replace")
    header = find_header(text)
    if header is None:
        return ""
    if len(data) > max_bytes:
        return f"it is larger than {max_bytes:,} bytes; split it, or raise magic_docs.max_bytes"
    if "\0" in text or text.encode("utf-8") != data:
        return "it is not UTF-8 text; save it as UTF-8"
    return Document(text, header)


def judge(before: Document, data: bytes, said: Evidence, max_bytes: int) -> Fit | Unfit | Same:
    """Judge the bytes that a fork made of a document.

    `evidence` is what the conversation holds, by speaker.
    """
    try:
        after = with_ends_of(before.text, data.decode("utf-8"))
    except UnicodeDecodeError:
        return Unfit(("it would not be UTF-8 text",))
    if after.split() == before.text.split():
        return Same()
    made = after.encode("utf-8")
    if not after.startswith(before.header.frame) or find_header(after) != before.header:
        return Unfit(("it would change the title, the instruction under it, or what stands above them",))
    body = after[len(before.header.frame) :]
    added, removed = difference(before.body, body)
    reasons = (
        *_size(before, body, len(made), max_bytes),
        *_secrets(before.text, after),
        *_unseen(added, removed),
        *_orders(before, added, removed, said),
    )
    return Unfit(reasons) if reasons else Fit(made)


def with_ends_of(before: str, after: str) -> str:
    """Return the new text with the old line ends, and the old end of the last line.

    Mixed line ends stay as they are.
    """
    plain = before.replace("\r\n", "")
    end = "\n"
    if "\r\n" not in before:
        after = after.replace("\r\n", "\n")
    elif "\n" not in plain:
        end = "\r\n"
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    return after + end if before.endswith("\n") and not after.endswith("\n") else after


def difference(before: str, after: str) -> tuple[str, str]:
    """Return the added and the removed lines, each in order."""
    old, new = before.splitlines(), after.splitlines()
    return "\n".join(_beyond(new, Counter(old))), "\n".join(_beyond(old, Counter(new)))


def _beyond(lines: list[str], known: Counter[str]) -> list[str]:
    found = []
    for line in lines:
        if known[line]:
            known[line] -= 1
        else:
            found.append(line)
    return found


def named_paths(before: str, after: str) -> tuple[str, ...]:
    """Return paths in backticks that only the new text names, verbatim: something that can be
    looked up.
    """
    known = set(_PATH.findall(before))
    return tuple(dict.fromkeys(path for path in _PATH.findall(after) if path not in known and ".." not in path.split("/")))


def _pieces(source: str) -> list[str]:
    return [source[max(0, start - OVERLAP) : start + PIECE] for start in range(0, len(source), PIECE)]


def _binds(text: str) -> bool:
    return instructs(text) or waives(text)


def _size(before: Document, body: str, size: int, max_bytes: int) -> tuple[str, ...]:
    old, new = len(before.body.split()), len(body.split())
    checks = (
        (size > max_bytes, f"it would be larger than {max_bytes:,} bytes"),
        (bool(old) and not new, "it would be empty"),
        (old >= SHRINKS_FROM and 0 < new < old * SHRINKS_TO, "it would lose more than three quarters of its text at once"),
    )
    return tuple(reason for found, reason in checks if found)


def _secrets(before: str, after: str) -> tuple[str, ...]:
    """New secrets only; what the user has in the file is the user's choice."""
    rules = {finding.rule for finding in find_secrets(after) if after[finding.start : finding.end] not in before}
    return tuple(f"it would hold what looks like a secret ({rule})" for rule in sorted(rules))


def _unseen(added: str, removed: str) -> tuple[str, ...]:
    return ("it would hold characters that cannot be seen",) if len(hidden(added)) > len(hidden(removed)) else ()


def _orders(before: Document, added: str, removed: str, said: Evidence) -> tuple[str, ...]:
    """New lines that read like a planted order, bind the reader with words from elsewhere, or
    permit something the user did not.
    """
    signs = signs_of_orders(added) - signs_of_orders(removed)
    reasons = [f"it reads like an order planted for an agent ({sign})" for sign in sorted(signs)]
    # What the file says already was put there by the user, also where a tool has just printed it.
    own = Evidence(
        session=said.session,
        user=(*said.user, ("", before.text)),
        outside=tuple(piece for source in said.outside for piece in _pieces(source)),
    )
    binding = "\n".join(line for line in added.splitlines() if _binds(line))
    if binding and any(map(_binds, borrowed(binding, own))):
        reasons.append("it tells the reader what to do in words that came from a tool, a web page or another agent")
    typed = "\n".join(text for _, text in said.user)
    if grants(added) and not grants(removed) and not grants(typed):
        reasons.append("it permits something in a person's name, and the person did not say so")
    return tuple(reasons)

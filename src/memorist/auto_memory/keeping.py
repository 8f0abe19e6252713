"""Plan memory changes for explicit statements of the user (AM-8). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.changes import Change
from memorist.auto_memory.dates import absolute
from memorist.auto_memory.evidence import plain, words
from memorist.auto_memory.kinds import Kind, Trust
from memorist.auto_memory.said import Said
from memorist.auto_memory.said_same import same_rule, telling
from memorist.auto_memory.said_title import titled
from memorist.auto_memory.topic import Provenance, Topic, encode, file_name, new_topic
from memorist.safety.secrets import redact

MATCHES = 5
"""Memories that one "forget" may match at most; with more its meaning is unclear."""
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "a an the that this it about of to for i you we my your our is are be was as on in at and or please me"
        " what everything anything all said told asked know knew learned remembered rule rules memory memories note notes thing things",
    )
)
"""Words that do not identify a memory."""


class Known(Struct, frozen=True):
    """A statement that memory already contains."""

    said: Said
    path: str


class Kept(Struct, frozen=True):
    """A new memory for a statement."""

    said: Said
    change: Change


class Dropped(Struct, frozen=True):
    """The memories that a "forget" refers to.

    `sure` when exactly one memory contains every word of the statement.
    """

    said: Said
    changes: tuple[Change, ...]
    sure: bool


Keeping = Known | Kept | Dropped


def keep(said: Said, topics: Sequence[Topic], *, session: str, at: float | None) -> Keeping:
    """Plan what to do about one statement, given the existing memories.

    `timestamp` is the time of the message in seconds since the epoch.
    """
    if said.act == "forget":
        return forget(said, topics)
    text = absolute(said.text, at) if at is not None else said.text
    letters = telling(text)
    sayings = ((topic.path, saying) for topic in topics for saying in (topic.body, topic.description))
    known = next((path for path, saying in sayings if letters in saying.casefold() and same_rule(saying, text)), None)
    if known is not None:
        return Known(said, known)
    # The name is made from the text, and the gate redacts secrets in texts, not in names.
    slug, description = titled(replace(said, text=redact(said.text).text))
    path = _free(file_name(slug), {topic.path.casefold() for topic in topics})
    provenance = Provenance(session=session, messages=(said.message,), quote=said.quote, trust=Trust.STATED)
    topic = new_topic(path, kind=Kind(said.kind), name=path.removesuffix(".md"), description=description, body=text, provenance=provenance)
    return Kept(said, Change(path=path, before=None, after=encode(topic.text())))


def _free(plain_name: str, taken: set[str]) -> str:
    path, number = plain_name, 1
    while path.casefold() in taken:
        number += 1
        path = f"{plain_name.removesuffix('.md')}-{number}.md"
    return path


def forget(said: Said, topics: Sequence[Topic]) -> Dropped:
    """Find the memories that contain every word of the statement.

    Where there are none, those that contain most of the words, for the user to decide.
    """
    wanted = _content(said.text)
    if not wanted:
        return Dropped(said, (), sure=False)
    shares = [(len(wanted & _content(f"{topic.name} {topic.description} {topic.body}")) / len(wanted), topic) for topic in topics]
    whole = [topic for share, topic in shares if share == 1.0]
    near = whole or [topic for share, topic in shares if share >= 0.6]
    changes = tuple(Change(path=topic.path, before=encode(topic.text()), after=None) for topic in near[:MATCHES])
    return Dropped(said, changes, sure=len(whole) == 1)


def _content(text: str) -> frozenset[str]:
    """Return the content words, cut to six letters so that `tests` matches `testing`."""
    return frozenset(word[:6] for word in words(plain(text)) if word not in _EMPTY)

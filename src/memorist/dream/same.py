"""When two memories say the same, provably: nothing is merged that any word, number, name or order tells apart (DR-5). Pure.

`memorist.auto_memory.said_same` asks whether two sayings are the same rule, and lets articles, plurals and the order of lists go. For taking a memory
out that is too much: "the server fails" and "the servers fail" are two facts. Here only what cannot carry meaning goes: blanks, blank lines, list
marks, typographic quotes, a capital at the start of a line, `please`, a dot at the end, and `don't` for `do not`. What is alike beyond that is a
question for the person (`memorist.dream.conflicts`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

from memorist.auto_memory.evidence import plain, words
from memorist.auto_memory.topic import OWN_KEY, Topic
from memorist.dream.lines import told_apart

_MARK = re.compile(r"^[-*+]\s+")
_PLEASE = re.compile(r"^(?:please|pls|kindly)[,\s]\s*", re.IGNORECASE)
_SHORT = re.compile(r"\b(do|does|did|is|are|was|were|should|would|could|must|has|have|had)n't\b", re.IGNORECASE)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
_OWN = frozenset({"name", "description", "type", "metadata", "modified", OWN_KEY})


def identity(text: str) -> tuple[str, ...]:
    """What is left of a text once all that cannot carry meaning is gone; equal for texts that say the same. Empty for a text without words."""
    found = [_prose(line) if prose else line.rstrip() for line, prose in told_apart(unicodedata.normalize("NFC", text))]
    return tuple(line for line in found if line.strip())


def _prose(line: str) -> str:
    line = " ".join(line.translate(_QUOTES).split())
    line = _PLEASE.sub("", _MARK.sub("- ", line))
    line = _SHORT.sub(r"\1 not", line)
    line = line[:-1] if line.endswith((".", "。")) and not line.endswith("..") else line
    mark, rest = ("- ", line[2:]) if line.startswith("- ") else ("", line)
    rest = _PLEASE.sub("", rest)
    first = rest.split(" ", 1)[0]
    return mark + (rest[0].lower() + rest[1:] if first.istitle() else rest)


def key(topic: Topic) -> tuple[object, ...] | None:
    """What memories that say the same have in common; None for one that is never merged: without text, with a broken header, or superseded."""
    body = identity(topic.body)
    if not body or topic.problem or topic.provenance.status != "active":
        return None
    return (body, topic.kind, _label(topic), _description(topic, body), _beside(topic))


def _label(topic: Topic) -> frozenset[tuple[str, int]]:
    """Words by which the name says more than the text: two memories of the same text may be about two things. A number counts as a word."""
    known = set(_words(f"{topic.description}\n{topic.body}"))
    names = {topic.name, topic.path.removesuffix(".md")}
    return frozenset(Counter(word for name in names for word in _words(name) if word not in known).items())


def _words(text: str) -> list[str]:
    return words(plain(text.replace("_", " ").replace("-", " ")))


def _description(topic: Topic, body: tuple[str, ...]) -> tuple[str, ...]:
    """What the description adds; nothing where it is the beginning of the text, as it is where nobody wrote one."""
    found = identity(topic.description)
    start = "".join(found).removesuffix("…").rstrip()
    return () if " ".join(body).startswith(start) else found


def _beside(topic: Topic) -> str:
    """Everything else that somebody put into the header."""
    front = topic.document.front
    if front is None:
        return ""
    metadata = {name: value for name, value in front.mapping("metadata").items() if name != "type"}
    return repr(sorted((name, str(value)) for name, value in front.values.items() if name not in _OWN and name != "pinned")) + repr(
        sorted((str(name), str(value)) for name, value in metadata.items())
    )

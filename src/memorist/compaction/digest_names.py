"""Names that occurred in a history, and the file each belongs to. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from math import log, log1p

from msgspec import Struct

from memorist.compaction.digest_units import Piece

_PART = re.compile(r"[^\s\"'`()\[\]{},;]+")
"""Text between signs that cannot be part of a name."""

_PLAIN = re.compile(r"[A-Za-z0-9_@$-]+")
"""A name that is a single word."""

_LONGEST_PLACE = 120

OWN_KINDS = frozenset({"said", "call", "change", "thought"})
"""Kinds of extracts written by the assistant: names it used itself are likely to be used again."""

AGE_UNIT = 4_000
"""Tokens; age enters as log(1 + tokens since / NAME_AGE_UNIT)."""

OWN, ALL, AGE, OWN_AGE, NEVER_OWN = 0.8, 0.15, -0.35, -0.5, 3.5
"""Weights of: uses by the assistant, uses by anyone, age of the last use, age of the assistant's
last use, and the age assumed for a name it never used. Fitted on the recorded sessions and rounded.
"""

PATH, DIGIT = 0.3, -0.4
"""Weights of a slash in the name, and of a digit."""


class Name(Struct):
    """A name: how often it occurred, how often in the assistant's words, in which steps last, and
    in which file last.
    """

    text: str
    place: str = ""
    pieces: int = 0
    own: int = 0
    step: int = 0
    own_step: int = 0


class Standing(dict[str, bool]):
    """Tells for each name whether it occurs anywhere in a text, alone or within a longer word.
    Caches its answers.

    Only the distinct words of the text are searched, which is far less than the text.
    """

    __slots__ = ("_parts", "_plain")

    def __init__(self, text: str) -> None:
        super().__init__()
        self._parts = "\n".join(set(_PART.findall(text)))
        words = set(_PLAIN.findall(self._parts))
        self._plain = "\n".join(words)
        self.update(dict.fromkeys(words, True))

    def __missing__(self, name: str) -> bool:
        found = self[name] = name in (self._plain if _PLAIN.fullmatch(name) else self._parts)
        return found


def collect(found: Sequence[Piece], named: Sequence[set[str]]) -> list[Name]:
    """Collect the names of a history; `named` holds the names of each block."""
    names: dict[str, Name] = {}
    for piece, texts in zip(found, named, strict=True):
        source = piece.source
        own = source.kind in OWN_KINDS
        for text in sorted(texts):
            name = names.setdefault(text, Name(text))
            name.pieces += 1
            name.step = source.step
            if own:
                name.own += 1
                name.own_step = source.step
            if source.path and source.path != text:
                name.place = source.path
    return list(names.values())


def weight(name: Name, ages: Sequence[int]) -> float:
    """Score of a name: the logarithm of how likely it is to be used again, relative to its length.
    """
    value = OWN * log1p(name.own) + ALL * log(name.pieces) + AGE * log1p(ages[name.step - 1] / AGE_UNIT)
    value += OWN_AGE * (log1p(ages[name.own_step - 1] / AGE_UNIT) if name.own_step else NEVER_OWN)
    value += PATH * ("/" in name.text) + DIGIT * any(map(str.isdigit, name.text))
    return value - log(len(name.text) + 3) / 2


def ranked(names: Iterable[Name], ages: Sequence[int]) -> list[Name]:
    """The names, most likely to be used again first."""
    return sorted(names, key=lambda each: -weight(each, ages))


def names_text(names: Sequence[Name], known: Callable[[str], bool], room: int, root: str = "") -> str:
    """Render the names that are not `known`, in the given order, grouped by the file they occurred
    in, within `room` tokens.
    """
    by_place: dict[str, list[str]] = {}
    left = room
    spare = 0
    for name in names:
        if left <= 0:
            break
        place = _place(name.place, root)
        label = "" if place in by_place else _label(place)
        size = len(f"{label}, {name.text}".encode("utf-8", "surrogatepass")) - spare
        tokens = -(-size // 4)
        # Most names come when there is hardly room any more, and to look for one costs more than to count it.
        if tokens > left or known(name.text):
            continue
        spare = tokens * 4 - size
        left -= tokens
        by_place.setdefault(place, []).append(name.text)
    return "\n".join(f"{_label(place)}{', '.join(found)}." for place, found in by_place.items())


def _place(path: str, root: str) -> str:
    if root and path.startswith(root + "/"):
        path = path[len(root) + 1 :]
    return path if len(path) <= _LONGEST_PLACE and "\n" not in path else ""


def _label(place: str) -> str:
    return f"- Seen in {place}: " if place else "- Named in calls, outputs or words: "

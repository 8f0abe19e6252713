"""Names that came up, and where each belongs. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from math import log, log1p

from msgspec import Struct

from memorist.compaction.digest_units import Piece

_PART = re.compile(r"[^\s\"'`()\[\]{},;]+")
"""What stands between signs of which none is part of a name."""

_PLAIN = re.compile(r"[A-Za-z0-9_@$-]+")
"""A name that is one word."""

_LONGEST_PLACE = 120

OWN_KINDS = frozenset({"said", "call", "change", "thought"})
"""Kinds of extracts that are the assistant's own words: what it named itself it names again."""

AGE_UNIT = 4_000
"""Tokens; ages count as log(1 + tokens since / AGE_UNIT)."""

OWN, ALL, AGE, OWN_AGE, NEVER_OWN = 0.8, 0.15, -0.35, -0.5, 3.5
"""Weights of how often the assistant used a name, how often anyone did, how long ago either was last; and the age of a name it never used.
Fitted on the recorded sessions and rounded."""

PATH, DIGIT = 0.3, -0.4
"""Weights of a stroke in the name, and of a digit."""


class Name(Struct):
    """A name: how often it came up, how often by the assistant, in which steps last, and in which file last."""

    text: str
    place: str = ""
    pieces: int = 0
    own: int = 0
    step: int = 0
    own_step: int = 0


class Standing(dict[str, bool]):
    """Tells of each name whether it stands somewhere in a text, alone or within a longer word. Remembers what it was asked.

    Each word of the text is looked at once, which is far less to search than the text.
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
    """The names of a history; `named` holds those of each piece."""
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
    """How likely the name is to be used again, as a logarithm, for its length."""
    value = OWN * log1p(name.own) + ALL * log(name.pieces) + AGE * log1p(ages[name.step - 1] / AGE_UNIT)
    value += OWN_AGE * (log1p(ages[name.own_step - 1] / AGE_UNIT) if name.own_step else NEVER_OWN)
    value += PATH * ("/" in name.text) + DIGIT * any(map(str.isdigit, name.text))
    return value - log(len(name.text) + 3) / 2


def ranked(names: Iterable[Name], ages: Sequence[int]) -> list[Name]:
    """The names, those first that are likeliest to be used again."""
    return sorted(names, key=lambda each: -weight(each, ages))


def names_text(names: Sequence[Name], known: Callable[[str], bool], room: int, root: str = "") -> str:
    """Lines of the names that are not `known`, in the order given, each with the file that it was seen in, within `room` tokens."""
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

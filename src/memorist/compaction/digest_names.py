"""Names that came up, and where each belongs. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import log2

from msgspec import Struct

from memorist.compaction.digest_units import Piece

_NAME = re.compile(
    r"https?://[^\s\"'`<>()\[\]{},;]+"
    r"|[~.]{0,2}/?[A-Za-z0-9_@$-]+(?:(?:/|\.|::|->)[A-Za-z0-9_@$-]+)+"
    r"|[A-Za-z_$][A-Za-z0-9_$]*|\d[0-9A-Za-z_-]*"
)
_SHAPED = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]|\w_\w|[A-Za-z].*\d|\d.*[A-Za-z]|^\d{5,}$|[\w)]/\w|::|->|\w\.[A-Za-z_]\w")
_SHORTEST = 4


class Name(Struct):
    """A name: how often and by whom it came up, and where last."""

    text: str
    place: str
    step: int
    pieces: int = 0
    own: int = 0
    weight: float = 0.0


def names_of(text: str) -> set[str]:
    found = {each.strip(".-/:") for each in _NAME.findall(text)}
    return {each for each in found if _SHORTEST <= len(each) <= 200 and _SHAPED.search(each)}


def collect(found: Sequence[Piece], ages: Sequence[int]) -> dict[str, Name]:
    names: dict[str, Name] = {}
    for piece in found:
        own = piece.source.kind in ("said", "call", "change", "thought")
        for text in names_of(piece.text):
            name = names.get(text)
            if name is None:
                name = names[text] = Name(text, "", 0)
            name.pieces += 1
            name.own += own
            name.step = piece.source.step
            if piece.source.path or not name.place:
                name.place = piece.source.path
    for name in names.values():
        age = ages[name.step - 1]
        name.weight = (1 + log2(1 + name.pieces) + 2 * log2(1 + name.own)) / (1 + age / 20000)
    return names


def names_text(names: dict[str, Name], known: str, room: int) -> str:
    """Lines of names that do not stand in `known`, heaviest first, within `room` tokens."""
    by_place: dict[str, list[str]] = {}
    left = room * 4
    for name in sorted(names.values(), key=lambda each: -each.weight / (len(each.text) + 14) ** 0.5):
        if name.text in known:
            continue
        place = name.place if len(name.place) < 120 else ""
        cost = len(name.text) + 2 + (0 if place in by_place else len(place) + 6)
        if cost > left:
            continue
        left -= cost
        by_place.setdefault(place, []).append(name.text)
    return "\n".join(f"In {place or 'what was said and printed'}: {', '.join(found)}" for place, found in by_place.items())

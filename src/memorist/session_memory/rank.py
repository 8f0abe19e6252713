"""Select the lines of notes of a given size: one pass over the candidates, best first, each taken
if it adds something new. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from memorist.session_memory.lexicon import name_keys, read, token_cost

NAME_WORTH = 1.5
"""Value of a new identifier, in new words."""

NEW_SHARE = 0.25
"""Share of a line that must be new to the notes."""

FILL_WEIGHT = 0.9
"""Lines of at least this weight fill the remaining room if they add anything new at all."""

FILL_SHARE = 0.04
"""The share of such a line that must be new."""

WHOLE_WEIGHT = 2.5
"""Lines of at least this weight fill it even if they add nothing new: the user's words are better
whole.
"""

LINE_OVERHEAD = 3
"""Tokens of a bullet and a line end."""

SMALLEST = LINE_OVERHEAD + 3
"""Remaining tokens below which no line is tried."""

KNOWN_LINES = 512
"""Size of the line cache: most lines of a session are unchanged from one update of the notes to the
next.
"""


class Line(Struct, frozen=True, gc=False):
    """A candidate line of a section. Lines of one `group` belong together; `order` is their
    position.
    """

    section: str
    text: str
    stems: frozenset[str]
    keys: frozenset[str]
    cost: int
    weight: float
    order: tuple[int, ...]
    must: bool = False
    bullet: bool = False
    table: bool = False


def line(section: str, text: str, order: tuple[int, ...], weight: float = 1.0, *, must: bool = False) -> Line:
    """Build a line from this text."""
    stems, keys, cost = _weighed(text)
    return Line(section, text, stems, keys, cost, weight, order, must)


@lru_cache(KNOWN_LINES)
def _weighed(text: str) -> tuple[frozenset[str], frozenset[str], int]:
    found = read(text)
    return found.stems, name_keys(found.names), token_cost(text) + LINE_OVERHEAD


def worth(candidate: Line) -> float:
    """Value of the line per token."""
    return candidate.weight * (len(candidate.stems) + NAME_WORTH * len(candidate.keys)) / (candidate.cost + 4)


class Chosen:
    """The lines selected so far, and what they cover."""

    __slots__ = ("budget", "caps", "keys", "lines", "per_section", "spent", "stems")

    def __init__(self, budget: int, caps: Mapping[str, int]) -> None:
        self.budget = budget
        self.caps = caps
        self.lines: list[Line] = []
        self.spent = 0
        self.per_section: dict[str, int] = {}
        self.stems: set[str] = set()
        self.keys: set[str] = set()

    @property
    def full(self) -> bool:
        """Whether no line has room any more."""
        return self.spent + SMALLEST > self.budget

    def fits(self, candidate: Line) -> bool:
        """Whether there is room for the line, in total and in its section."""
        cost = candidate.cost
        return self.spent + cost <= self.budget and self.per_section.get(candidate.section, 0) + cost <= self.caps[candidate.section]

    def take(self, candidate: Line) -> bool:
        """Add the line if there is room for it."""
        if not self.fits(candidate):
            return False
        self.lines.append(candidate)
        self.spent += candidate.cost
        self.per_section[candidate.section] = self.per_section.get(candidate.section, 0) + candidate.cost
        self.stems |= candidate.stems
        self.keys |= candidate.keys
        return True

    def newness(self, candidate: Line) -> float:
        """The share of the line that is not in the notes yet."""
        whole = len(candidate.stems) + NAME_WORTH * len(candidate.keys)
        return (len(candidate.stems - self.stems) + NAME_WORTH * len(candidate.keys - self.keys)) / whole if whole else 0.0

    def says_new(self, candidate: Line) -> bool:
        """Whether enough of the line is not in the notes yet."""
        fresh = len(candidate.stems - self.stems) + NAME_WORTH * len(candidate.keys - self.keys)
        whole = len(candidate.stems) + NAME_WORTH * len(candidate.keys)
        return fresh >= 2 and fresh >= NEW_SHARE * whole


def choose(lines: Sequence[Line], budget: int, caps: Mapping[str, int], floors: Mapping[str, int]) -> Chosen:
    """Select lines: first those that must be included, in order; then the best of each section up
    to its floor; then the rest by worth while there is room.
    """
    chosen = Chosen(budget, caps)
    for each in lines:
        if each.must:
            chosen.take(each)
    rest = sorted([each for each in lines if not each.must], key=worth, reverse=True)
    taken = _floors(chosen, rest, floors)
    left: list[Line] = []
    for each in rest:
        if chosen.full:
            return chosen
        if id(each) not in taken and chosen.fits(each) and not (chosen.says_new(each) and chosen.take(each)):
            left.append(each)
    for each in left:
        whole = each.weight >= WHOLE_WEIGHT
        if (whole or each.weight >= FILL_WEIGHT) and chosen.fits(each) and (whole or chosen.newness(each) > FILL_SHARE):
            chosen.take(each)
    return chosen


def _floors(chosen: Chosen, rest: list[Line], floors: Mapping[str, int]) -> set[int]:
    """Fill each section up to its floor; returns the ids of the lines added."""
    of_section: dict[str, list[Line]] = {section: [] for section in floors}
    for each in rest:
        if each.section in of_section:
            of_section[each.section].append(each)
    taken: set[int] = set()
    for section, floor in floors.items():
        taken |= _fill(chosen, of_section[section], floor)
    return taken


def _fill(chosen: Chosen, lines: list[Line], floor: int) -> set[int]:
    """Add the best lines of one section up to its floor; returns the ids of those added."""
    taken: set[int] = set()
    for each in lines:
        used = chosen.per_section.get(each.section, 0)
        if used + SMALLEST > floor or chosen.full:
            break
        if used + each.cost <= floor and chosen.fits(each) and chosen.says_new(each) and chosen.take(each):
            taken.add(id(each))
    return taken

"""The skill catalogue for a model, trimmed fairly to its budget. Pure (SK-2).

Source: codex.md section 4.2. All descriptions are shortened to one common length before any skill
is left out; skills are left out only when names and files alone do not fit. Omissions are reported
to the model and to the host.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.template import render
from memorist.core.tokens import BYTES_PER_TOKEN
from memorist.safety.data import neutralise
from memorist.skills.settings import SkillsSettings
from memorist.skills.skill import Scope, Skill
from memorist.skills.texts import Texts

Family = Literal["rollout", "file-native"]

ORDER: tuple[Scope, ...] = ("system", "project", "user")
"""Order in the prompt (codex.md section 4.2)."""

TELLING_CUT = 100
"""Average characters cut per description above which the host is warned (codex.md section 4.2)."""

_DOTS = "..."
_HARMLESS = re.compile(r"[\w./~-]+", re.ASCII)
_SHORTEST = 8
"""Characters below which a piece of a description is omitted as useless. Our choice."""


class Catalogue(Struct, frozen=True, kw_only=True):
    """The text to show (empty where there is nothing to list), and what became of each skill."""

    text: str = ""
    shown: tuple[Skill, ...] = ()
    left_out: tuple[Skill, ...] = ()
    """Skills that did not fit."""
    cut: int = 0
    """Characters cut from descriptions."""
    warnings: tuple[str, ...] = ()


class _Budget(Struct, frozen=True):
    """A limit and the function that measures sizes for it."""

    limit: int
    size: Callable[[str], int]


class _Item(Struct, frozen=True):
    """One skill as it is shown: the fixed part, and the description that may be shortened."""

    skill: Skill
    name: str
    place: str
    description: str

    def line(self, length: int) -> str:
        """Render its line with at most `length` characters of the description."""
        words = shortened(self.description, length)
        return f"- {self.name}: {words} (file: {self.place})" if words else f"- {self.name} (file: {self.place})"


def shortened(text: str, length: int) -> str:
    """Cut to `length` characters, dots at the cut; empty where so few would be useless."""
    if len(text) <= length:
        return text
    return text[: length - len(_DOTS)] + _DOTS if length >= _SHORTEST else ""


def catalogue(
    skills: Sequence[Skill], family: Family, texts: Texts, settings: SkillsSettings, *, window: int | None = None, factor: float = 1.0
) -> Catalogue:
    """Build the catalogue of the skills that a model may choose.

    `window` is the context window in tokens, `factor` the tokens per estimated token
    (`core.tokens.family_factor`); without a window the limit is in characters. The whole text,
    frame included, stays within the limit.
    """
    listed = sorted((skill for skill in skills if skill.listed), key=lambda skill: (ORDER.index(skill.scope), skill.name, skill.path))
    if not listed or not settings.enabled:
        return Catalogue()
    tokens = 0 if window is None else int(window * settings.share / factor)
    budget = _Budget(settings.characters, len) if window is None else _Budget(tokens * BYTES_PER_TOKEN, _bytes)
    frame = texts.rollout if family == "rollout" else texts.file_native
    items = [_item(skill, settings) for skill in listed]
    plain = _fitted(items, (), frame, texts, budget)
    if not plain.cut and not plain.left_out:
        return plain
    roots = _roots(listed)
    short = _fitted([_nearer(item, roots) for item in items], roots, frame, texts, budget)
    return min(plain, short, key=lambda made: (len(made.left_out), made.cut, budget.size(made.text)))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _roots(skills: Sequence[Skill]) -> tuple[str, ...]:
    """Return roots shared by several skills: a short name for each saves space."""
    counts: dict[str, int] = {}
    for skill in skills:
        if skill.root and skill.path.startswith(skill.root + "/"):
            counts[skill.root] = counts.get(skill.root, 0) + 1
    return tuple(root for root, count in counts.items() if count > 1)


def _item(skill: Skill, settings: SkillsSettings) -> _Item:
    words = f"{skill.description} {skill.when_to_use}".rstrip()
    return _Item(skill, _inert(skill.name), _inert(skill.path), shortened(_inert(words), settings.description_characters))


def _nearer(item: _Item, roots: Sequence[str]) -> _Item:
    """Return the item with a short name for its root."""
    skill = item.skill
    if skill.root not in roots or not skill.path.startswith(skill.root + "/"):
        return item
    place = f"r{roots.index(skill.root)}{skill.path[len(skill.root) :]}"
    return replace(item, place=place if item.place == skill.path else _inert(place))


def _inert(text: str) -> str:
    """Put text on one line without tags that could open or close a frame.

    Plain names and paths are recognised as harmless at once.
    """
    return text if _HARMLESS.fullmatch(text) else neutralise(" ".join(text.split()))


def _fitted(items: Sequence[_Item], roots: Sequence[str], frame: str, texts: Texts, budget: _Budget) -> Catalogue:
    table = "".join(f"r{at} = {_inert(root)}\n" for at, root in enumerate(roots))

    def whole(lines: Sequence[str], left: int) -> str:
        said = "\n" + render(texts.left_out, {"count": str(left)}, strict=True) if left else ""
        return render(frame, {"roots": table, "lines": "\n".join(lines), "left_out": said}, strict=True)

    room = budget.limit - budget.size(whole((), 0)) + 1
    cost = _cost(items, budget)
    most = max(len(item.description) for item in items)
    if cost(0) <= room:
        length = most if cost(most) <= room else _longest(room, cost, most)
        return _made(whole([item.line(length) for item in items], 0), items, (), length)
    kept, out = _some(items, budget.limit - budget.size(whole((), len(items))) + 1, budget)
    text = whole([item.line(0) for item in kept], len(out)) if kept else ""
    return _made(text, kept, tuple(item.skill for item in out), 0)


def _cost(items: Sequence[_Item], budget: _Budget) -> Callable[[int], int]:
    """Return the size of all lines as a function of the descriptions' common length.

    Computed in closed form as long as every character of a description has the same size.
    """
    bare = sum(budget.size(item.line(0)) + 1 for item in items)
    if budget.size is not len and not all(item.description.isascii() for item in items):
        return lambda length: sum(budget.size(item.line(length)) + 1 for item in items)
    lengths = sorted(len(item.description) + len(": ") for item in items if item.description)
    sums = (0, *accumulate(lengths))

    def cost(length: int) -> int:
        most = length + len(": ")
        whole = bisect_right(lengths, most)
        return bare + sums[whole] + (most * (len(lengths) - whole) if length >= _SHORTEST else 0)

    return cost


def _longest(room: int, cost: Callable[[int], int], most: int) -> int:
    """Find the greatest common length whose lines fit, by bisection: the cost grows with the
    length.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cost(middle) <= room else (low, middle - 1)
    return low


def _some(items: Sequence[_Item], room: int, budget: _Budget) -> tuple[list[_Item], list[_Item]]:
    """Split the items into those whose lines fit without descriptions, and the others."""
    kept: list[_Item] = []
    out: list[_Item] = []
    for item in items:
        size = budget.size(item.line(0)) + 1
        fits = size <= room
        room -= size if fits else 0
        (kept if fits else out).append(item)
    return kept, out


def _made(text: str, items: Sequence[_Item], out: tuple[Skill, ...], length: int) -> Catalogue:
    cut = sum(len(item.description) - len(shortened(item.description, length)) for item in items)
    warnings = []
    if out:
        warnings.append(f"{len(out)} skills are not listed for want of room; turn some off in skills.off, or raise skills.share")
    if items and cut / len(items) > TELLING_CUT:
        warnings.append(f"descriptions of skills were shortened by {cut // len(items)} characters on average to fit")
    return Catalogue(text=text, shown=tuple(item.skill for item in items), left_out=out, cut=cut, warnings=tuple(warnings))

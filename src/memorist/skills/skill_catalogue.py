"""The skill catalogue for a model, trimmed fairly to its budget. Pure (SK-2).

Source: Codex. All descriptions are shortened to one common length before any skill
is left out; skills are left out only when names and files alone do not fit. Omissions are reported
to the model and to the host.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.context_pieces import ContextSection, OmittedSource
from memorist.context.context_tags import require_context_tag_definition, unwrap_tag
from memorist.core.prompt_templates import render_template
from memorist.core.token_count import BYTES_PER_TOKEN, get_token_factor
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.settings import Family, SkillsSettings
from memorist.skills.skill_file import (
    Skill,
    SkillPrompts,
    SkillScope,
    UnusableSkillFile,
    load_skill_prompts,
)

PROMPT_ORDER: tuple[SkillScope, ...] = ("system", "project", "user")
"""Order in the prompt (Codex)."""

_ELLIPSIS = "..."
_SAFE_TEXT = re.compile(r"[\w./~-]+", re.ASCII)
_MIN_DESCRIPTION_CHARS = 8
"""Characters below which a piece of a description is omitted as useless. Our choice."""


class SkillCatalogue(Struct, frozen=True, kw_only=True):
    """The text to show (empty where there is nothing to list), and what became of each skill."""

    text: str = ""
    listed: tuple[Skill, ...] = ()
    left_out: tuple[Skill, ...] = ()
    """Skills that did not fit."""
    cut_characters: int = 0
    """Characters cut from descriptions."""


class _CatalogueBudget(Struct, frozen=True):
    """A limit and the function that measures sizes for it."""

    limit: int
    size: Callable[[str], int]


class _CatalogueItem(Struct, frozen=True):
    """One skill as it is shown: the fixed part, and the description that may be shortened."""

    skill: Skill
    name: str
    path: str
    description: str

    def render_line(self, length: int) -> str:
        """Render its line with at most `length` characters of the description."""
        words = shorten_description(self.description, length)
        if words:
            return f"- {self.name}: {words} (file: {self.path})"
        return f"- {self.name} (file: {self.path})"


def shorten_description(text: str, length: int) -> str:
    """Cut to `length` characters, dots at the cut; empty where so few would be useless."""
    if len(text) <= length:
        return text
    return text[: length - len(_ELLIPSIS)] + _ELLIPSIS if length >= _MIN_DESCRIPTION_CHARS else ""


def build_skill_catalogue(
    skills: Sequence[Skill],
    family: Family,
    prompts: SkillPrompts,
    settings: SkillsSettings,
    *,
    window: int | None = None,
    model: str = "",
) -> SkillCatalogue:
    """Build the catalogue of the skills that a model may choose.

    `window` is the context window in tokens of the `model`; without a window the limit is in
    characters. The whole text, frame included, stays within the limit.
    """
    listed = sorted(
        (skill for skill in skills if skill.listed),
        key=lambda skill: (PROMPT_ORDER.index(skill.scope), skill.name, skill.path),
    )
    if not listed or not settings.enabled:
        return SkillCatalogue()
    tokens = 0 if window is None else int(window * settings.share / get_token_factor(model))
    budget = (
        _CatalogueBudget(settings.characters, len)
        if window is None
        else _CatalogueBudget(tokens * BYTES_PER_TOKEN, _utf8_bytes)
    )
    frame = prompts.rollout if family == "rollout" else prompts.file_native
    items = [_build_item(skill, settings) for skill in listed]
    plain = _fit_items(items, (), frame, prompts, budget)
    if not plain.cut_characters and not plain.left_out:
        return plain
    roots = _find_shared_roots(listed)
    short = _fit_items(
        [_with_short_root(item, roots) for item in items], roots, frame, prompts, budget
    )
    return min(
        plain,
        short,
        key=lambda catalogue: (
            len(catalogue.left_out),
            catalogue.cut_characters,
            budget.size(catalogue.text),
        ),
    )


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _find_shared_roots(skills: Sequence[Skill]) -> tuple[str, ...]:
    """Return roots shared by several skills: a short name for each saves space."""
    counts: dict[str, int] = {}
    for skill in skills:
        if skill.root and skill.path.startswith(skill.root + "/"):
            counts[skill.root] = counts.get(skill.root, 0) + 1
    return tuple(root for root, count in counts.items() if count > 1)


def _build_item(skill: Skill, settings: SkillsSettings) -> _CatalogueItem:
    words = f"{skill.description} {skill.when_to_use}".rstrip()
    return _CatalogueItem(
        skill,
        _neutralise_line(skill.name),
        _neutralise_line(skill.path),
        shorten_description(_neutralise_line(words), settings.description_characters),
    )


def _with_short_root(item: _CatalogueItem, roots: Sequence[str]) -> _CatalogueItem:
    """Return the item with a short name for its root."""
    skill = item.skill
    if skill.root not in roots or not skill.path.startswith(skill.root + "/"):
        return item
    short_path = f"r{roots.index(skill.root)}{skill.path[len(skill.root) :]}"
    return replace(
        item, path=short_path if item.path == skill.path else _neutralise_line(short_path)
    )


def _neutralise_line(text: str) -> str:
    """Put text on one line without tags that could open or close a frame.

    Plain names and paths are recognised as harmless at once.
    """
    return text if _SAFE_TEXT.fullmatch(text) else neutralize_markup(" ".join(text.split()))


def _fit_items(
    items: Sequence[_CatalogueItem],
    roots: Sequence[str],
    frame: str,
    texts: SkillPrompts,
    budget: _CatalogueBudget,
) -> SkillCatalogue:
    table = "".join(f"r{at} = {_neutralise_line(root)}\n" for at, root in enumerate(roots))

    def whole(lines: Sequence[str], left: int) -> str:
        said = (
            "\n" + render_template(texts.left_out, {"count": str(left)}, strict=True)
            if left
            else ""
        )
        return render_template(
            frame, {"roots": table, "lines": "\n".join(lines), "left_out": said}, strict=True
        )

    room = budget.limit - budget.size(whole((), 0)) + 1
    cost = _line_cost(items, budget)
    most = max(len(item.description) for item in items)
    if cost(0) <= room:
        length = most if cost(most) <= room else _find_longest_length(room, cost, most)
        return _build_result(
            whole([item.render_line(length) for item in items], 0), items, (), length
        )
    kept, out = _split_by_room(items, budget.limit - budget.size(whole((), len(items))) + 1, budget)
    text = whole([item.render_line(0) for item in kept], len(out)) if kept else ""
    return _build_result(text, kept, tuple(item.skill for item in out), 0)


def _line_cost(items: Sequence[_CatalogueItem], budget: _CatalogueBudget) -> Callable[[int], int]:
    """Return the size of all lines as a function of the descriptions' common length.

    Computed in closed form as long as every character of a description has the same size.
    """
    bare = sum(budget.size(item.render_line(0)) + 1 for item in items)
    if budget.size is not len and not all(item.description.isascii() for item in items):
        return lambda length: sum(budget.size(item.render_line(length)) + 1 for item in items)
    lengths = sorted(len(item.description) + len(": ") for item in items if item.description)
    sums = (0, *accumulate(lengths))

    def cost(length: int) -> int:
        most = length + len(": ")
        whole = bisect_right(lengths, most)
        return (
            bare
            + sums[whole]
            + (most * (len(lengths) - whole) if length >= _MIN_DESCRIPTION_CHARS else 0)
        )

    return cost


def _find_longest_length(room: int, cost: Callable[[int], int], most: int) -> int:
    """Find the greatest common length whose lines fit, by bisection: the cost grows with the
    length.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if cost(middle) <= room else (low, middle - 1)
    return low


def _split_by_room(
    items: Sequence[_CatalogueItem], room: int, budget: _CatalogueBudget
) -> tuple[list[_CatalogueItem], list[_CatalogueItem]]:
    """Split the items into those whose lines fit without descriptions, and the others."""
    kept: list[_CatalogueItem] = []
    out: list[_CatalogueItem] = []
    for item in items:
        size = budget.size(item.render_line(0)) + 1
        fits = size <= room
        room -= size if fits else 0
        (kept if fits else out).append(item)
    return kept, out


def _build_result(
    text: str, items: Sequence[_CatalogueItem], out: tuple[Skill, ...], length: int
) -> SkillCatalogue:
    cut = sum(
        len(item.description) - len(shorten_description(item.description, length)) for item in items
    )
    return SkillCatalogue(
        text=text, listed=tuple(item.skill for item in items), left_out=out, cut_characters=cut
    )


# The skill catalogue as a section of the assembled context, and the skills it omits.


CATALOGUE_SOURCE = "the skills' folders"
_CATALOGUE_TAGS = {"rollout": "skills_instructions", "file-native": "system-reminder"}


def build_catalogue_section(
    skills: Sequence[Skill],
    family: Family,
    settings: SkillsSettings,
    *,
    window: int | None = None,
    model: str = "",
) -> ContextSection | None:
    """Build the section; None without skills. `window`, `model`: see `build_skill_catalogue`."""
    return wrap_catalogue_in_section(
        build_skill_catalogue(
            skills, family, load_skill_prompts(), settings, window=window, model=model
        ),
        family,
    )


def wrap_catalogue_in_section(
    catalogue: SkillCatalogue, family: Family, limit_words: str = ""
) -> ContextSection | None:
    """Wrap a catalogue in a section; None where it is empty. `limit_words` describes its limit."""
    if not catalogue.text:
        return None
    kind = require_context_tag_definition(_CATALOGUE_TAGS[family], family)
    why = (
        f"{len(catalogue.listed)} skill{'' if len(catalogue.listed) == 1 else 's'} that a "
        f"message may call for"
    )
    if limit_words:
        why += f", within {limit_words}"
    if catalogue.left_out:
        why += f"; {len(catalogue.left_out)} found no room"
    if catalogue.cut_characters:
        why += f"; {catalogue.cut_characters:,} characters of descriptions were cut"
    return ContextSection(
        tag=kind.tag,
        text=unwrap_tag(catalogue.text, kind) or catalogue.text,
        source=CATALOGUE_SOURCE,
        why=why,
    )


def list_skills_outside_catalogue(
    skills: Iterable[Skill],
    catalogue: SkillCatalogue,
    problems: Iterable[UnusableSkillFile],
    limit_words: str,
) -> tuple[OmittedSource, ...]:
    """List unusable files, skills that did not fit, and skills that are invoked by name only."""
    return (
        *(
            OmittedSource(each.path, f"cannot be used as a skill: {each.reason}")
            for each in problems
        ),
        *(
            OmittedSource(
                each.path,
                f"the skill {each.name} found no room in the catalogue, within {limit_words}",
            )
            for each in catalogue.left_out
        ),
        *(
            OmittedSource(
                each.path, f"the skill {each.name} is not offered: it is called for by name only"
            )
            for each in skills
            if not each.listed
        ),
    )

"""The catalogue of skills as a section of the first context, and what of the skills is not in it. Pure (SK-2, CX-9)."""

from __future__ import annotations

from collections.abc import Iterable

from memorist.context.piece import LeftOut, Section
from memorist.context.scaffold import row, unwrap
from memorist.skills.listing import Catalogue, Family
from memorist.skills.skill import Problem, Skill

_TAGS: dict[Family, str] = {"rollout": "skills_instructions", "file-native": "system-reminder"}


def catalogue_section(made: Catalogue, family: Family, limit: str) -> tuple[Section, ...]:
    """The section; none where there is nothing to list. `limit` says what it was fitted to, in a few words."""
    if not made.text:
        return ()
    tag = _TAGS[family]
    count, out = len(made.shown), len(made.left_out)
    why = f"{count} skill{'' if count == 1 else 's'} on offer{f', {out} more found no room' if out else ''}, within {limit}"
    if made.cut:
        why += f"; {made.cut:,} characters of descriptions were cut"
    return (Section(tag=tag, text=unwrap(made.text, row(tag, family)) or made.text, source="skills", why=why),)


def skills_left_out(skills: Iterable[Skill], made: Catalogue, problems: Iterable[Problem], limit: str) -> tuple[LeftOut, ...]:
    """Files that cannot be used, skills that found no room, and those that are called for by name only."""
    return (
        *(LeftOut(each.path, f"cannot be used as a skill: {each.reason}") for each in problems),
        *(LeftOut(each.path, f"the skill {each.name} found no room in the catalogue, within {limit}") for each in made.left_out),
        *(LeftOut(each.path, f"the skill {each.name} is not offered: it is called for by name only") for each in skills if not each.listed),
    )

"""The skill catalogue as a section of the assembled context, and the skills it omits.

Pure (SK-2, CX-9).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memorist.context.piece import LeftOut, Section
from memorist.context.scaffold import row, unwrap
from memorist.context.settings import Family
from memorist.skills.listing import Catalogue, catalogue
from memorist.skills.settings import SkillsSettings
from memorist.skills.skill import Problem, Skill
from memorist.skills.texts import shipped

SOURCE = "the skills' folders"
_TAGS = {"rollout": "skills_instructions", "file-native": "system-reminder"}


def catalogue_section(
    skills: Sequence[Skill], family: Family, settings: SkillsSettings, *, window: int | None = None, factor: float = 1.0
) -> Section | None:
    """Build the section; None without skills. `window` and `factor` as for `build_catalogue`."""
    return section_of(catalogue(skills, family, shipped(), settings, window=window, factor=factor), family)


def section_of(made: Catalogue, family: Family, limit: str = "") -> Section | None:
    """Wrap a catalogue in a section; None where it is empty. `limit_words` describes its limit."""
    if not made.text:
        return None
    kind = row(_TAGS[family], family)
    why = f"{len(made.shown)} skill{'' if len(made.shown) == 1 else 's'} that a message may call for"
    if limit:
        why += f", within {limit}"
    if made.left_out:
        why += f"; {len(made.left_out)} found no room"
    if made.cut:
        why += f"; {made.cut:,} characters of descriptions were cut"
    return Section(tag=kind.tag, text=unwrap(made.text, kind) or made.text, source=SOURCE, why=why)


def skills_left_out(skills: Iterable[Skill], made: Catalogue, problems: Iterable[Problem], limit: str) -> tuple[LeftOut, ...]:
    """List unusable files, skills that did not fit, and skills that are invoked by name only."""
    return (
        *(LeftOut(each.path, f"cannot be used as a skill: {each.reason}") for each in problems),
        *(LeftOut(each.path, f"the skill {each.name} found no room in the catalogue, within {limit}") for each in made.left_out),
        *(LeftOut(each.path, f"the skill {each.name} is not offered: it is called for by name only") for each in skills if not each.listed),
    )

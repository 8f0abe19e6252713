"""The catalogue of skills as a section of an assembled context. Pure (SK-2)."""

from __future__ import annotations

from collections.abc import Sequence

from memorist.context.piece import Section
from memorist.context.scaffold import row, unwrap
from memorist.context.settings import Family
from memorist.skills.listing import catalogue
from memorist.skills.settings import SkillsSettings
from memorist.skills.skill import Skill
from memorist.skills.texts import shipped

SOURCE = "the skills' folders"
_TAGS = {"rollout": "skills_instructions", "file-native": "system-reminder"}


def catalogue_section(
    skills: Sequence[Skill], family: Family, settings: SkillsSettings, *, window: int | None = None, factor: float = 1.0
) -> Section | None:
    """The section; None where there is no skill to tell of. `window` and `factor` as for `catalogue`."""
    found = catalogue(skills, family, shipped(), settings, window=window, factor=factor)
    if not found.text:
        return None
    kind = row(_TAGS[family], family)
    why = f"{len(found.shown)} skill{'' if len(found.shown) == 1 else 's'} that a message may call for"
    if found.left_out:
        why += f"; {len(found.left_out)} found no room"
    return Section(tag=kind.tag, text=unwrap(found.text, kind) or found.text, source=SOURCE, why=why)

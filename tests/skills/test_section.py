"""The catalogue as a section of the first context."""

from __future__ import annotations

import pytest

from memorist.context.first_context_assembly import order_sections_as_pieces
from memorist.core.token_count import estimate_text_tokens
from memorist.settings import Family, SkillsSettings
from memorist.skills.skill_catalogue import (
    CATALOGUE_SOURCE,
    build_catalogue_section,
    build_skill_catalogue,
    list_skills_outside_catalogue,
    wrap_catalogue_in_section,
)
from memorist.skills.skill_file import Skill, UnusableSkillFile, load_skill_prompts

pytestmark = pytest.mark.covers("SK-2", "CX-9")

WINDOW = 20_000
FAMILIES: tuple[Family, ...] = ("rollout", "file-native")


def skill(name: str, *, listed: bool = True) -> Skill:
    return Skill(
        name=name,
        description="ships it " * 9,
        path=f"/p/{name}/SKILL.md",
        scope="project",
        body="",
        listed=listed,
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_the_section_is_the_catalogue_within_its_budget(family: Family) -> None:
    """Assembled, it stands in its tag once, and takes no more than the share of the window; the
    reason counts what it shows.
    """
    made = build_skill_catalogue(
        [skill(f"s{number}") for number in range(90)],
        family,
        load_skill_prompts(),
        SkillsSettings(),
        window=WINDOW,
    )

    section = wrap_catalogue_in_section(made, family, "2 % of it")
    assert section is not None
    (piece,) = order_sections_as_pieces(family, [section])

    assert piece.text == made.text
    assert estimate_text_tokens(piece.text) <= WINDOW * 0.02
    assert section.why.startswith(
        f"{len(made.listed)} skills that a message may call for, within 2 % of it; "
        f"{len(made.left_out)} found no room"
    )
    assert made.left_out
    assert section.source == CATALOGUE_SOURCE


def test_without_skills_there_is_no_section() -> None:
    """Nothing is told of what is not there."""
    made = build_skill_catalogue([], "rollout", load_skill_prompts(), SkillsSettings())

    assert wrap_catalogue_in_section(made, "rollout") is None
    assert build_catalogue_section([], "rollout", SkillsSettings()) is None
    assert list_skills_outside_catalogue([], made, [], "x") == ()


def test_what_is_not_in_it_is_named() -> None:
    """A broken file with its reason, a skill without room, one that is only called for by name."""
    quiet = skill("quiet", listed=False)
    skills = [quiet, *(skill(f"s{number}") for number in range(90))]
    made = build_skill_catalogue(
        skills, "rollout", load_skill_prompts(), SkillsSettings(), window=WINDOW
    )

    found = list_skills_outside_catalogue(
        skills, made, [UnusableSkillFile("/p/bad/SKILL.md", "project", "it has no header")], "2 %"
    )

    assert found[0].source == "/p/bad/SKILL.md"
    assert "it has no header" in found[0].why
    assert [each.source for each in found[1:-1]] == [each.path for each in made.left_out]
    assert (found[-1].source, "by name only" in found[-1].why) == (quiet.path, True)

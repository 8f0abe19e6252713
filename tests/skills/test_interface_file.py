"""`agents/openai.yaml` next to a SKILL.md."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.settings import SkillsSettings
from memorist.skills.skill_catalogue import build_skill_catalogue
from memorist.skills.skill_discovery import CachingSkillDiscovery, DiscoveredSkills, discover_skills
from memorist.skills.skill_file import load_skill_prompts
from memorist.skills.skill_interface import (
    MAX_EXTRA_DEPTH,
    MAX_EXTRA_VALUES,
    MAX_TEXT_CHARS,
    SkillInterface,
    parse_skill_interface,
)
from memorist.skills.skill_roots import SkillBaseFolders

pytestmark = pytest.mark.covers("SK-1")

WHOLE = """\
interface:
  display_name: Ship it
  default_prompt: "Ship what is ready."
  icon_small: ./assets/small.svg
dependencies:
  tools:
    - type: mcp
      value: deployer
      url: https://example.com/mcp
  since: 2
policy:
  allow_implicit_invocation: false
  products: [codex]
later: {a: [1]}
"""


def write(folder: Path, beside: str | bytes | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text("---\nname: ship\ndescription: d\n---\nbody\n", "utf-8")
    if beside is not None:
        (folder / "agents").mkdir(exist_ok=True)
        (folder / "agents" / "openai.yaml").write_bytes(
            beside if isinstance(beside, bytes) else beside.encode()
        )
    return folder


def look(project: Path) -> DiscoveredSkills:
    return discover_skills(
        SkillBaseFolders(project=str(project), cwd=str(project), system=()), SkillsSettings()
    )


def test_what_bears_on_use_is_taken_and_the_rest_kept() -> None:
    """Interface, tools and policy by name; what nobody here knows stays as it came."""
    found = parse_skill_interface(WHOLE)

    assert found.interface == {
        "display_name": "Ship it",
        "default_prompt": "Ship what is ready.",
        "icon_small": "./assets/small.svg",
    }
    assert found.tools == ({"type": "mcp", "value": "deployer", "url": "https://example.com/mcp"},)
    assert not found.implicit
    assert found.extra == {
        "later": {"a": ["1"]},
        "policy": {"products": ["codex"]},
        "dependencies": {"since": "2"},
    }
    assert not found.problem


@pytest.mark.covers("SK-2")
def test_a_policy_against_implicit_use_keeps_a_skill_out_of_the_catalogue(tmp_path: Path) -> None:
    """It answers when it is named all the same."""
    write(tmp_path / ".agents/skills/ship", WHOLE)
    write(tmp_path / ".agents/skills/open", "policy:\n  allow_implicit_invocation: true\n")

    hidden, shown = sorted(look(tmp_path).skills, key=lambda each: each.listed)

    assert (hidden.listed, hidden.mentionable, hidden.interface.interface["display_name"]) == (
        False,
        True,
        "Ship it",
    )
    assert build_skill_catalogue(
        [hidden, shown], "rollout", load_skill_prompts(), SkillsSettings()
    ).listed == (shown,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"a: [1", "no valid YAML"),
        (b"- a\n", "no list of keys"),
        (b"x" * 70_000, "70000 bytes"),
        (b"\xff\xfe: {", "no valid YAML"),
    ],
)
def test_a_broken_file_is_reported_and_hides_no_skill(
    tmp_path: Path, text: bytes, reason: str
) -> None:
    """The problem names the file beside; the skill is as it would be without it."""
    folder = write(tmp_path / ".agents/skills/ship", text)

    found = look(tmp_path)

    assert [(each.name, each.listed) for each in found.skills] == [("ship", True)]
    (problem,) = found.problems
    assert problem.path == str(folder / "agents" / "openai.yaml")
    assert reason in problem.reason


def test_a_pipe_beside_a_skill_stops_nothing(tmp_path: Path) -> None:
    """It is not opened; neither is a folder of that name, and a missing file is no problem."""
    import os

    folder = write(tmp_path / ".agents/skills/ship")
    (folder / "agents").mkdir()
    assert look(tmp_path).problems == ()
    os.mkfifo(folder / "agents" / "openai.yaml")
    write(tmp_path / ".agents/skills/other")
    (tmp_path / ".agents/skills/other/agents/openai.yaml").mkdir(parents=True)

    assert [each.reason for each in look(tmp_path).problems] == ["it is no ordinary file"] * 2


def test_a_change_beside_a_skill_is_seen(tmp_path: Path) -> None:
    """The kept skill is read anew although its SKILL.md did not change."""
    folder = write(tmp_path / ".agents/skills/ship", "policy: {allow_implicit_invocation: true}")
    search = CachingSkillDiscovery(
        SkillBaseFolders(project=str(tmp_path), cwd=str(tmp_path), system=()), SkillsSettings()
    )
    assert search.find_skills().skills[0].listed

    write(folder, "policy: {allow_implicit_invocation: false}")

    assert not search.find_skills().skills[0].listed


@given(
    st.text(
        st.sampled_from("interface:polcytdenswa \n-[]{}&*!|>'\"#,\x00\u202e\ud800é1")
        | st.characters(),
        max_size=200,
    )
)
def test_no_text_breaks_the_reader(text: str) -> None:
    """Whatever stands in the file, the value is within its limits and can be written."""
    found = parse_skill_interface(text)

    assert isinstance(found, SkillInterface)
    msgspec.json.encode(found)
    assert all(len(each) <= MAX_TEXT_CHARS for each in found.interface.values())


def test_references_that_multiply_are_cut() -> None:
    """Nine lines of YAML can stand for a billion values; a copy of a few hundred is kept."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]

    found = parse_skill_interface("\n".join(lines))

    assert len(msgspec.json.encode(found.extra)) < MAX_EXTRA_VALUES * MAX_EXTRA_DEPTH * 4

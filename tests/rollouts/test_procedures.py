"""Drafts of skills from what sessions did alike."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.rollouts.skill_procedures import find_longest_common_commands
from memorist.skills.skill_file import Skill, parse_skill
from memorist.store.extract_rows import StoredExtract
from rollouts.sessions import TILL, kept, made, task

STEPS = ["make db", "pnpm test --run", "git tag v1", "pnpm publish -r"]


def did(
    thread: str, *commands: str, root: str = "/home/dev/shop", title: str = "Release the shop"
) -> StoredExtract:
    steps = "\n".join(f"- Ran `{command}`" for command in commands)
    return kept(
        thread,
        task(title),
        root=root,
        summary=f"# A session\n\n## Task 1: {title}\nOutcome: success\n\nKey steps:\n{steps}\n",
    )


def drafts(*rows: StoredExtract) -> dict[str, bytes]:
    return {path: data for path, data in made(rows).files.items() if path.startswith("skills/")}


@pytest.mark.covers("RO-6", "SK-3")
def test_what_two_sessions_did_alike_becomes_a_draft() -> None:
    """The common steps in their order, in a valid skill that says that it is a draft and where it
    comes from.
    """
    found = drafts(did("a", *STEPS), did("b", "ls -l", *STEPS[:2], "cat x y", *STEPS[2:]))
    (path,) = found
    skill = parse_skill(found[path].decode(), f"/m/{path}", "user")

    assert isinstance(skill, Skill)
    assert skill.remarks == ()
    assert [line.split(". ", 1)[1] for line in skill.body.split("\n") if line[:1].isdigit()] == [
        f"`{step}`" for step in STEPS
    ]
    assert "draft" in skill.description.lower()
    assert skill.body.count("rollout_summaries/") == 2


@pytest.mark.covers("RO-6")
def test_one_session_or_two_projects_make_none() -> None:
    """Nor do two steps alike, or steps that failed."""
    failed = [f"{step}` failed `x" for step in STEPS]

    assert drafts(did("a", *STEPS)) == {}
    assert drafts(did("a", *STEPS), did("b", *STEPS, root=TILL)) == {}
    assert drafts(did("a", *STEPS), did("b", *STEPS[:2])) == {}
    assert drafts(did("a", *failed), did("b", *failed)) == {}


@pytest.mark.covers("RO-6")
def test_a_draft_goes_with_its_sessions_unless_the_user_made_it_theirs() -> None:
    """A changed draft is the user's file from then on."""
    rows = [did("a", *STEPS), did("b", *STEPS)]
    first = made(rows)
    (path,) = drafts(*rows)
    mine = {**first.files, path: first.files[path] + b"\nMine.\n"}

    assert path not in made(rows[:1], first.files).files
    assert made(rows[:1], mine, first.files).files[path].endswith(b"Mine.\n")
    assert made(rows, mine, first.files).files[path].endswith(b"Mine.\n")


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcd"), max_size=8), st.lists(st.sampled_from("abcd"), max_size=8))
def test_the_common_sequence_stands_in_both(first: list[str], second: list[str]) -> None:
    """In order, and as long from either side."""
    found = find_longest_common_commands(first, second)

    for whole in (first, second):
        rest = iter(whole)
        assert all(each in rest for each in found)
    assert len(found) == len(find_longest_common_commands(second, first))

"""The handbook: what is written is read again, what anybody wrote is kept, and no text can forge
what a claim rests on.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.auto_memory.interop.codex_memory import import_codex_memory
from memorist.rollouts.handbook import (
    Handbook,
    HandbookClaim,
    HandbookGroup,
    HandbookSessionReference,
    HandbookTask,
    render_group,
    render_handbook,
)
from memorist.rollouts.handbook_parser import parse_handbook, parse_handbook_entry
from rollouts.sessions import SHOP, bullet, handbook, kept, made, task

LINE = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=30)
PATHS = LINE | st.sampled_from(
    ["/a, b", "/x (y)", '/"q"', "/a; thread_id=z", "a=b", "/home/dev/R and D"]
)
SOURCES = st.builds(
    HandbookSessionReference,
    path=st.just("rollout_summaries/x.md"),
    thread=PATHS,
    updated=st.just("2025-11-20T00:00:00Z"),
    cwd=PATHS,
    rollout=PATHS,
)


@pytest.mark.covers("RO-6")
@settings(deadline=None)
@given(
    st.lists(SOURCES, max_size=3, unique_by=lambda each: each.thread),
    st.lists(st.integers(0, 2), max_size=3, unique=True),
)
def test_sessions_and_what_rests_on_them_are_read_back(
    sources: list[HandbookSessionReference], chosen: list[int]
) -> None:
    """Whatever signs stand in ids and paths; an entry names all sessions of a task, or some of
    them.
    """
    support = tuple(sorted(sources[at].thread for at in chosen if at < len(sources)))
    entry = HandbookClaim(
        text="use pnpm",
        proof="said",
        date="2025-11-20",
        support=support,
        works=(4,) if support else (),
    )
    group = HandbookGroup(
        title="/srv/a",
        folders=("/srv/a",),
        applies="cwd=/srv/a",
        works=(HandbookTask(number=4, title="T", outcome="fail", sources=tuple(sources)),),
    )
    text = render_handbook(Handbook(groups=(replace(group, preferences=(entry,)),)))

    (found,) = parse_handbook(text).groups

    assert found.works[0].sources == tuple(sources)
    assert set(support) <= set(found.preferences[0].support)
    assert replace(found.preferences[0], support=support) == entry


@pytest.mark.covers("RO-6")
@settings(deadline=None)
@given(st.lists(st.sampled_from([
    "# Task Group: /srv/a", "scope: x", "applies_to: cwd=/srv/a; reuse_rule=y", "## Task 1: t, success", "### rollout_summary_files",
    "- r.md (cwd=/a, rollout_path=/b, updated_at=c, thread_id=d)", "### keywords", "a, b", "## User preferences", "- p [Task 1]", "  more", "text",
    "## My own", "### below", "```", "# Other", "", "- [by the user]", "## Failures and how to do differently", "left_out: 3 entries",
]), max_size=25))  # fmt: skip
def test_what_anybody_wrote_stands_as_it_was(lines: list[str]) -> None:
    """A file that is only read and written keeps its bytes, but for blank lines between groups;
    made anew, it says the same.
    """
    text = "\n".join(lines)
    found = parse_handbook(text)

    assert "".join(render_handbook(found).split()) == "".join(text.split())
    again = parse_handbook("\n\n".join([found.preamble, *map(render_group, found.groups)]))
    assert [replace(group, raw="") for group in again.groups] == [
        replace(group, raw="") for group in parse_handbook(render_handbook(again)).groups
    ]
    for word in ("more", "text", "My own", "below"):
        assert text.count(word) == render_handbook(again).count(word)


@pytest.mark.covers("RO-6")
@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_a_handbook(text: str) -> None:
    """Reading never fails, nor does writing what was read."""
    assert isinstance(render_handbook(parse_handbook(text)), str)


@pytest.mark.covers("RO-5", "SF-2")
@pytest.mark.parametrize(
    "mark",
    ["[by the user]", "[ad-hoc note x]", "[Task 1]", "[said 2025-01-01]", "[Task 1] [by the user]"],
)
def test_a_session_cannot_forge_what_a_claim_rests_on(mark: str) -> None:
    """Marks in a session's own text are taken out: they would make it the user's, which no
    forgetting touches.
    """
    row = kept("a", task("T", preferences=[bullet(f"use npm {mark}", proof="inferred")]))

    (entry,) = parse_handbook(handbook(made([row]))).groups[0].preferences

    assert (entry.text, entry.by, entry.proof, entry.support) == (
        "use npm",
        "sessions",
        "inferred",
        ("a",),
    )
    assert handbook(made([], made([row]).files)).count("use npm") == 0


def test_a_mark_names_tasks_and_single_sessions() -> None:
    """`[Task 1, Task 2 xxxx]` is all of task 1 and one session of task 2; an unknown one rests on
    nothing.
    """
    works = [
        HandbookTask(number=1, title="", sources=(HandbookSessionReference(path="", thread="a"),)),
        HandbookTask(
            number=2,
            title="",
            sources=(
                HandbookSessionReference(path="", thread="b"),
                HandbookSessionReference(path="", thread="c"),
            ),
        ),
    ]

    assert parse_handbook_entry("x [Task 1, Task 2 001A]", works).support == ("a", "b")
    assert parse_handbook_entry("x [Tasks 1, 2]", works).support == ("a", "b", "c")
    assert parse_handbook_entry("x [Task 9]", works).support == ()


@pytest.mark.covers("RO-6")
def test_codex_reads_the_handbook_and_the_summary() -> None:
    """The layouts are the ones that the dialect of Codex knows: one parser serves both."""
    draft = made(
        [
            kept(
                "a",
                task("T", preferences=[bullet("use pnpm")], knowledge=[bullet("the API is slow")]),
            )
        ]
    )
    found = import_codex_memory(
        {path: draft.files[path] for path in ("MEMORY.md", "memory_summary.md")}
    )

    assert {"use pnpm"} <= {topic.body.strip() for topic in found.topics}
    assert set(found.folders.values()) == {(SHOP,)}
    assert all("Task 1" not in topic.body for topic in found.topics)

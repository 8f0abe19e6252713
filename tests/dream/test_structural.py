"""The dream by rule: what is the same becomes one, what only looks so stays two, and doing it again
changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dream.conftest import data
from memorist.auto_memory.memory_file import (
    MemoryKind,
    Provenance,
    Trust,
    create_memory_file,
    parse_memory_file,
)
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.dream.dream_input import DreamInput
from memorist.dream.duplicate_memories import compute_memory_merge_key, compute_text_meaning_key
from memorist.dream.memory_conflicts import DreamRemark, InstructionSource
from memorist.dream.memory_text_repair import (
    ValidLinkTargets,
    find_proven_line_times,
    repair_memory_links,
    resolve_dates_by_line_times,
)
from memorist.dream.structural_dream import DreamPlan, plan_dream

MONDAY = 1_772_452_800.0  # 2026-03-02, noon


def held(files: Mapping[str, bytes], **more: Any) -> DreamInput:
    return DreamInput(
        topics=tuple(parse_memory_file(path, each) for path, each in files.items()),
        data=files,
        **more,
    )


def planned(files: Mapping[str, bytes], **more: Any) -> DreamPlan:
    return plan_dream(held(files, **more), max_questions=50)


def after(files: Mapping[str, bytes], done: DreamPlan) -> dict[str, bytes]:
    now = dict(files)
    for change in done.changes:
        assert now[change.path] == change.before
        now.pop(change.path)
        if change.after is not None:
            now[change.path] = change.after
    return now


SAME = [
    ("Use pnpm here.", "use pnpm here"),
    ("Don't push to main.", "Do not push to main"),
    ("Please keep it short", "Keep it short."),
    ("Say “no” twice", 'Say "no" twice'),
    ("- one\n- two", "* one\n\n* two"),
    ("  Run   `a  b`  now, always", "Run `a  b` now, always"),
]
APART = [
    ("The server fails.", "The servers fail."),
    ("Use tabs", "Do not use tabs"),
    ("Never use tabs", "Use tabs"),
    ("Keep 10 copies", "Keep 100 copies"),
    ("Run a then b", "Run b then a"),
    ("Ask Ann, Bob and Carl", "Ask Carl, Bob and Ann"),
    ("Use the cache", "Use a cache"),
    ("Run `a  b`", "Run `a b`"),
    ("Run `don't`", "Run `do not`"),
    ("Is it safe?", "Is it safe"),
    ("Ignore *.log", "Ignore *.logs"),
    ("```\nEcho on\n```", "```\necho on\n```"),
    ("Write to src/A", "Write to src/a"),
    ("no, use npm", "no use npm"),
    ("Use Rust for Go parts", "Use rust for go parts"),
    ("Run in ..", "Run in ."),
    ("- one\n- two", "- two\n- one"),
]


@pytest.mark.covers("DR-5")
@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_differs_in_nothing_that_means_something_is_the_same(one: str, other: str) -> None:
    """Case of the first word, dots at the end, politeness, short forms, quotes, list marks and
    blanks tell nothing apart.
    """
    assert compute_text_meaning_key(one) == compute_text_meaning_key(other)


@pytest.mark.covers("DR-5")
@pytest.mark.parametrize(("one", "other"), APART)
def test_one_word_number_or_order_makes_two(one: str, other: str) -> None:
    """A plural, a negation, a number, an article, an order, a letter of code: each keeps two
    memories apart.
    """
    assert compute_text_meaning_key(one) != compute_text_meaning_key(other)


@pytest.mark.covers("DR-5")
def test_memories_that_say_the_same_become_one_and_links_follow() -> None:
    """The better founded stays, the other goes last, and a link to it leads to what stayed."""
    files = {
        "a-use-pnpm.md": data("use pnpm here", name="use-pnpm", kind="feedback"),
        "use-pnpm-here.md": data(
            "Use pnpm here.", name="use-pnpm-here", kind="feedback", trust=Trust.STATED
        ),
        "other.md": data(
            "Installing is told in [[use-pnpm]] and in [it](a-use-pnpm.md).", kind="project"
        ),
    }
    files["use-pnpm.md"] = files.pop("a-use-pnpm.md")

    done = planned(files)

    assert sorted(after(files, done)) == ["other.md", "use-pnpm-here.md"]
    assert done.changes[-1].after is None
    assert "[[use-pnpm-here]]" in after(files, done)["other.md"].decode()
    assert [(act.path, act.did) for act in done.acts if act.did == "merged"] == [
        ("use-pnpm.md", "merged")
    ]


def said(
    body: str,
    *,
    name: str,
    kind: str = "feedback",
    session: str = "s",
    trust: Trust = Trust.STATED,
    description: str = "Use pnpm",
) -> bytes:
    """A memory as memorist keeps what a person said outright in a session."""
    made = create_memory_file(
        "x.md",
        kind=MemoryKind(kind),
        name=name,
        description=description,
        body=body,
        provenance=Provenance(trust=trust, quote=body, session=session),
    )
    return encode_file_text_as_utf8(made.text())


@pytest.mark.covers("DR-5")
def test_a_number_that_memorist_put_behind_a_taken_name_tells_nothing_apart() -> None:
    """What the person said twice outright is kept once, with the plain name; a third one by any
    number too.
    """
    files = {
        path: said("Use pnpm here.", name=path.removesuffix(".md"))
        for path in ("use-pnpm.md", "use-pnpm-2.md", "use-pnpm-17.md")
    }

    done = planned(files)

    assert sorted(after(files, done)) == ["use-pnpm.md"]
    assert {act.path for act in done.acts} == {"use-pnpm-2.md", "use-pnpm-17.md"}
    assert not planned(after(files, done)).changes


@pytest.mark.covers("DR-5")
@pytest.mark.parametrize(
    ("other", "where"),
    [
        (said("Use pnpm here!", name="use-pnpm-2"), {}),
        (said("use pnpm here.", name="use-pnpm-2"), {}),
        (said("Use pnpm here.", name="use-pnpm-2", kind="project"), {}),
        (said("Use pnpm here.", name="use-pnpm-2", description="Use pnpm in the shop"), {}),
        (said("Use pnpm here.", name="the second"), {}),
        (said("Use pnpm here.", name="use-pnpm-2", session=""), {}),
        (said("Use pnpm here.", name="use-pnpm-2", trust=Trust.DERIVED), {}),
        (said("Use pnpm here.", name="use-pnpm-2"), {"foreign": {"use-pnpm-2.md"}}),
        (said("Use pnpm here.", name="use-pnpm-2"), {"restored_paths": {"use-pnpm-2.md"}}),
        (said("Use pnpm here.", name="use-pnpm-2"), {"restored_paths": {"use-pnpm.md"}}),
    ],
    ids=[
        "text",
        "letter",
        "kind",
        "description",
        "name",
        "by hand",
        "by a model",
        "foreign",
        "kept",
        "the other kept",
    ],
)
def test_a_number_keeps_two_apart_wherever_anything_else_differs(
    other: bytes, where: dict[str, Any]
) -> None:
    """A letter, a kind, a description, a name by hand, another writer, a file of somebody else's,
    or what the person took back.
    """
    files = {"use-pnpm.md": said("Use pnpm here.", name="use-pnpm"), "use-pnpm-2.md": other}

    assert not [act for act in planned(files, **where).acts if act.did == "merged"]


@pytest.mark.covers("DR-5")
def test_numbers_that_mean_something_stay() -> None:
    """Phases without a plain one beside them, and a number that is a word of the text of neither."""
    files = {
        f"phase-{number}.md": said(
            "Begins in March.", name=f"phase-{number}", description="When it begins"
        )
        for number in (2, 3)
    }

    assert not planned(files).changes


@pytest.mark.covers("DR-5")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            ("opens.md", data("It opens at 9", name="berlin-office")),
            ("opens2.md", data("It opens at 9", name="tokyo-office")),
        ),
        (
            ("phase-1.md", data("Begins in March", name="phase-1")),
            ("phase-2.md", data("Begins in March", name="phase-2")),
        ),
        (
            ("a.md", data("Use it", name="a", description="for the web shop")),
            ("b.md", data("Use it", name="a", description="for the app")),
        ),
        (
            ("use-it.md", data("Use it", name="use-it", kind="feedback")),
            ("use_it.md", data("Use it", name="use-it", kind="project")),
        ),
        (
            ("x-is-due.md", data("X is due tomorrow", name="x")),
            ("x.md", data("X is due tomorrow", name="x")),
        ),
        (
            ("x-is-due.md", data("X is due on Friday", name="x")),
            ("x.md", data("X is due on Friday", name="x")),
        ),
    ],
)
def test_a_name_a_description_a_kind_or_a_day_keeps_equal_texts_apart(
    one: tuple[str, bytes], other: tuple[str, bytes]
) -> None:
    """Two memories of the same text may be about two things: what stands around it decides, and
    "tomorrow" is another day for each.
    """
    assert not planned(dict((one, other))).changes


@pytest.mark.covers("DR-5", "SF-2")
def test_a_foreign_file_neither_wins_nor_is_rewritten() -> None:
    """What somebody else put there and claims to be the person's word gives way to ours, and no
    link or date in it is touched.
    """
    claims = data("Use pnpm here", name="use-pnpm", kind="feedback", trust=Trust.STATED)
    files = {
        "use-pnpm.md": claims,
        "use_pnpm.md": data("Use pnpm here", name="use-pnpm", kind="feedback"),
        "links.md": data("See [[gone]] there", name="links"),
    }

    done = planned(files, foreign={"use-pnpm.md", "links.md"}, ever={"gone.md"})

    assert [(change.path, change.after) for change in done.changes] == [("use-pnpm.md", None)]


@pytest.mark.covers("DR-5")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Told in [[gone]].", "Told in gone."),
        ("Told in [the plan](gone.md), at length.", "Told in the plan, at length."),
        ("One.\n- [[gone]]\nTwo.", "One.\nTwo."),
        ("One.\nSee also [[gone]] and [[gone]].\n", "One.\n"),
        ("Told in [[never]].", "Told in [[never]]."),
        ("Told in [[there]] and [[Titled]].", "Told in [[there]] and [[Titled]]."),
        ("Write `[[gone]]` so.", "Write `[[gone]]` so."),
        ("```\n[[gone]]\n```", "```\n[[gone]]\n```"),
        ("See [guide](docs/gone.md).", "See [guide](docs/gone.md)."),
        ("![shot](gone.md) stays", "![shot](gone.md) stays"),
        ("Told in [[old]] and [x](old.md).", "Told in [[new]] and [x](new.md)."),
        ("In [[old#Why]], [x](old.md#why).", "In [[new#Why]], [x](new.md#why)."),
        ("In [[gone#Why]], [x](gone.md#why).", "In gone#Why, x."),
    ],
)
def test_only_links_that_are_provably_dead_go(text: str, left: str) -> None:
    """What the history knew and the folder has no more is dead; what was never there, or is code,
    or a path of the repository, stays.
    """
    links = ValidLinkTargets(
        present={"there.md", "titled-one.md", "new.md"},
        names={"Titled": "titled-one.md"},
        known_paths={"gone.md", "old.md"},
        moved={"old.md": "new.md"},
    )
    assert repair_memory_links("x.md", text, links) == left


@pytest.mark.covers("DR-5")
def test_dates_become_absolute_by_the_day_of_their_line_only() -> None:
    """The day comes from the line's own change; a rule, code, and a line of an unproven day stay as
    they are.
    """
    text = "Due tomorrow.\nAlways note today's date.\n```\ntomorrow\n```\nShips next Friday."
    times = find_proven_line_times(
        [
            ("Due tomorrow.", "a"),
            ("Always note today's date.", "a"),
            ("tomorrow", "a"),
            ("Ships next Friday.", "b"),
        ],
        {"a": ("extraction", MONDAY), "b": ("import", MONDAY)},
    )

    assert resolve_dates_by_line_times(text, times) == text.replace(
        "Due tomorrow", "Due 2026-03-03 (tomorrow)"
    )
    assert (
        find_proven_line_times([("x", "a"), ("x", "c")], {"a": ("said", 1.0), "c": ("said", 2.0)})
        == {}
    )


@pytest.mark.covers("DR-5")
def test_a_date_in_code_that_shows_code_stays() -> None:
    """And one in the prose behind it does not."""
    text = "````\n```\ntomorrow\n````\nDue tomorrow.\n"
    lines = [("tomorrow", "a"), ("Due tomorrow.", "a")]
    times = find_proven_line_times(lines, {"a": ("extraction", MONDAY)})

    assert resolve_dates_by_line_times(text, times) == text.replace(
        "Due tomorrow", "Due 2026-03-03 (tomorrow)"
    )


@pytest.mark.covers("DR-5")
def test_contradictions_are_told_and_not_settled() -> None:
    """A negation, and another value of the same thing, become questions about the older or weaker
    one; no text changes.
    """
    files = {
        "a.md": data("Use the shared pool", name="a"),
        "b.md": data("Never use the shared pool", name="b", trust=Trust.STATED),
        "c.md": data("The port is 8080", name="c"),
        "d.md": data("The port is 9090", name="d"),
        "e.md": data("The owner is busy", name="e"),
        "f.md": data("The owner is glad", name="f"),
        "g.md": data("The servers fail", name="g"),
        "h.md": data("The server fails", name="h"),
    }
    changed = {path: MONDAY + place for place, path in enumerate(files)}

    done = planned(files, changed=changed)

    assert not done.changes
    assert {(each.path, each.other_path) for each in done.questions} == {
        ("a.md", "b.md"),
        ("c.md", "d.md"),
        ("g.md", "h.md"),
    }
    pinned = files | {
        "c.md": files["c.md"].replace(b"type: project", b"type: project\npinned: true")
    }
    assert "d.md" in {each.path for each in planned(pinned, changed=changed).questions}
    again = planned(
        files, changed=changed, asked_question_keys=[each.mark for each in done.questions]
    )
    assert not again.questions
    waiting = planned(files, changed=changed, questioned_paths={"a.md", "d.md"})
    assert [each.path for each in waiting.questions] == ["g.md"]
    files["d.md"] = data("The port is 9091", name="d")
    assert [
        each.path
        for each in planned(
            files, changed=changed, asked_question_keys=[each.mark for each in done.questions]
        ).questions
    ] == ["c.md"]


@pytest.mark.covers("DR-5")
def test_of_memory_and_instruction_file_the_older_is_called_stale() -> None:
    """Where the file changed later the memory is asked about; where the memory is newer the file is
    named, with its line; a repetition is asked about.
    """
    files = {
        "a.md": data("The port is 8080", name="a"),
        "b.md": data("Never squash commits", name="b"),
        "c.md": data("Use pnpm", name="c"),
    }
    changed = dict.fromkeys(files, MONDAY)
    old = InstructionSource(
        path="CLAUDE.md", text="# Rules\n\n- The port is 9090\n", at=MONDAY - 10
    )
    new = InstructionSource(
        path="AGENTS.md", text="* Squash commits.\n* use pnpm\n", at=MONDAY + 10
    )

    done = planned(files, changed=changed, instructions=(old, new))

    assert not done.changes
    assert [(each.path, "stale" in each.why) for each in done.questions] == [
        ("b.md", True),
        ("c.md", False),
    ]
    assert "AGENTS.md:1" in done.questions[0].why
    assert done.remarks == (DreamRemark("CLAUDE.md:3", done.remarks[0].what),)
    assert "a.md" in done.remarks[0].what


@pytest.mark.covers("DR-4", "DR-5")
def test_what_the_person_took_back_is_left_alone() -> None:
    """A memory that is as an undo left it is neither merged nor merged into, and its text stays."""
    files = {
        "use-x.md": data("Use x", name="use-x"),
        "use_x.md": data("use x.", name="use-x"),
        "l.md": data("In [[gone]] it is", name="l"),
    }

    done = planned(files, restored_paths=set(files), ever={"gone.md"})

    assert not done.changes
    assert planned(files, ever={"gone.md"}).changes


BODIES = st.sampled_from(
    [
        *(text for pair in SAME for text in pair),
        *(text for pair in APART for text in pair),
        "In [[m0]] and [x](m1.md)",
        "[[m2]]",
        "[[gone]] is told",
    ]
)


@pytest.mark.covers("DR-4", "DR-5")
@given(
    st.lists(st.tuples(BODIES, st.sampled_from(["project", "feedback"]), st.booleans()), max_size=8)
)
def test_a_second_dream_finds_nothing_and_no_text_is_lost(
    given_: list[tuple[str, str, bool]],
) -> None:
    """Whatever the folder: each memory that went has one that says the same, and the plan of the
    result is empty.
    """
    files = {
        f"m{number}.md": data(body, name="m", description=body[:5] if odd else "", kind=kind)
        for number, (body, kind, odd) in enumerate(given_)
    }
    done = planned(files, ever={"gone.md", *files})
    left = after(files, done)

    assert not planned(left, ever={"gone.md", *files}).changes
    kept = {compute_memory_merge_key(parse_memory_file(path, each)) for path, each in left.items()}
    acts = {act.path for act in done.acts if act.did == "merged"}
    assert acts == files.keys() - left.keys()
    assert len(kept) <= len(left)
    if not any("[" in body for body, _, _ in given_):
        assert {
            compute_text_meaning_key(parse_memory_file(path, each).body)
            for path, each in files.items()
        } == {
            compute_text_meaning_key(parse_memory_file(path, each).body)
            for path, each in left.items()
        }


@pytest.mark.covers("DR-5")
@pytest.mark.parametrize(
    ("description", "left"),
    [
        ("Ships tomorrow, see [the plan](gone.md).", "Ships 2026-03-03 (tomorrow), see the plan."),
        ("Ships tomorrow", "Ships 2026-03-03 (tomorrow)"),
        ("Ships tomorrow, see [the", "Ships 2026-03-03 (tomorrow), see [the"),
        ("What ships tomorrow", "What ships tomorrow"),
        ("About [the plan](gone.md)", "About the plan"),
        ("[the plan](gone.md)", "[the plan](gone.md)"),
    ],
)
def test_the_description_that_the_index_shows_is_put_right_with_the_text(
    description: str, left: str
) -> None:
    """Its day is proven where it begins a line of the text; its dead links go as the text's do, and
    it is never emptied.
    """
    body = "Ships tomorrow, see [the plan](gone.md)."
    files = {"a.md": data(body, name="a", description=description, kind="project")}
    done = planned(files, ever={"gone.md"}, times={"a.md": {body: MONDAY}})

    told = parse_memory_file("a.md", after(files, done)["a.md"])
    assert told.body.strip() == "Ships 2026-03-03 (tomorrow), see the plan."
    assert (told.document.front.text_value("description") if told.document.front else "") == left
    assert not planned(after(files, done), ever={"gone.md"}).changes


@pytest.mark.covers("DR-5")
@given(st.text(max_size=300), st.text(max_size=60))
def test_any_text_can_be_dreamt_of(body: str, name: str) -> None:
    """Hostile texts in body, name and links raise nothing, and the text of a folder of one memory
    never goes.
    """
    files = {
        "a.md": data(body or "x", name=name or "n"),
        "b.md": f"---\nname: {name}\n---\n{body}".encode("utf-8", "replace"),
    }
    done = planned(
        files,
        ever={"gone.md"},
        instructions=(InstructionSource(path="CLAUDE.md", text=body, at=1.0),),
    )
    assert after(files, done)

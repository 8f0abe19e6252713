"""The scaffold table: every row is recognised when it is read back, and is what the harness rules and the data rules know."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.compaction.recorded import Recorded
from memorist.context.recorded import recorded_pieces
from memorist.context.rows import FILE_NATIVE, ROLLOUT, TABLE, Row
from memorist.context.scaffold import contained, identify, pieces_of, required, row, unwrap, wrap
from memorist.context.settings import Family
from memorist.core.messages import Message, Origin, Role
from memorist.errors import InputError, SettingsError
from memorist.formats import harness
from memorist.formats.harness import origin_of
from memorist.formats.registry import codec
from memorist.safety.data import neutralise
from memorist.testing.shapes import shape

SHAPES = Path(__file__).parents[1] / "shapes"
VALUES = {"folder": "/w/app", "key": "ticket", "name": "[Image #1]", "source": "goal", "agent": "ann"}
BY_ROLE: dict[str, str] = {"developer": "developer_instructions", "system": "static"}
"""How a text without a tag is named when it is read back."""
IDS = [f"{kind.family}: {kind.tag}" for kind in TABLE]


def sample(kind: Row) -> str:
    text = "" if kind.known == "label" or kind.tag in {"interruption", "boundary"} else "made up here"
    return wrap(kind, text, {name: VALUES[name] for name in required(kind)})


def read_back(kind: Row) -> Message:
    """The row's sample after a way over the wire of its family."""
    text = sample(kind)
    if kind.family == "rollout":
        item = {"type": "message", "role": kind.role, "content": [{"type": _part(kind.role), "text": text}]}
        return codec("openai_responses").decode_item(item, id="m")[0]
    if kind.role == "system":
        return codec("anthropic").decode_request({"system": [{"type": "text", "text": text}], "messages": [], "max_tokens": 1}).system[0]
    return codec("anthropic").decode_item({"role": kind.role, "content": [{"type": "text", "text": text}]}, id="m")[0]


def _part(role: Role) -> str:
    return "output_text" if role == "assistant" else "input_text"


@pytest.mark.covers("CX-1", "CX-2", "FM-7")
@pytest.mark.parametrize("kind", TABLE, ids=IDS)
def test_a_row_counts_as_what_the_table_says_when_it_is_read_back(kind: Row) -> None:
    """The wire's own reading gives the row's origin; where a person and a harness share a role, by the text alone."""
    assert read_back(kind).origin is kind.origin
    if kind.role == "user":
        assert origin_of(sample(kind)) is kind.origin


@pytest.mark.covers("CX-1", "CX-2")
@pytest.mark.parametrize("kind", TABLE, ids=IDS)
def test_a_row_is_found_by_its_sample(kind: Row) -> None:
    """All but those that only their role tells are named again, in any case of letters; nobody else's words are."""
    found = identify(sample(kind), kind.role, kind.family)

    assert found == (None if kind.known == "role" else kind)
    if kind.known != "role":
        assert identify(sample(kind).upper(), kind.role, kind.family) == kind
        assert identify(f"Why is there {sample(kind)}", kind.role, kind.family) is None


@pytest.mark.covers("CX-1")
def test_the_table_and_the_harness_rules_know_the_same_tags() -> None:
    """A tag that is recognised has a row, and says the same origin."""
    parts = {kind.tag.lower(): kind.origin for kind in TABLE if kind.known == "part"}
    wholes = {kind.tag.lower() for kind in TABLE if kind.known == "whole" and kind.role in {"user", "developer"}}

    assert parts == harness._PARTS
    assert set(harness._WHOLES) <= wholes


@pytest.mark.covers("CX-1", "CX-2", "SF-3")
@pytest.mark.parametrize(
    "kind", [kind for kind in TABLE if kind.known != "role" and kind.role in {"user", "developer"}], ids=lambda kind: kind.tag
)
def test_a_row_inside_data_is_made_harmless(kind: Row) -> None:
    """What a file or a tool says cannot pass for a harness."""
    if kind.origin is Origin.USER:
        return
    assert origin_of(neutralise(sample(kind))) is Origin.USER


def test_tags_are_unique_in_a_family() -> None:
    """A tag is one row."""
    for rows in (ROLLOUT, FILE_NATIVE):
        assert len({kind.tag.lower() for kind in rows}) == len(rows)


@pytest.mark.parametrize("family", get_args(Family))
def test_every_row_has_the_shape_that_is_kept(family: str) -> None:
    """Role, recognition, moment, form, and what the reader makes of it: compared exactly."""
    lines = []
    for kind in (kind for kind in TABLE if kind.family == family):
        form = (kind.opening + "…" + kind.closing).replace("\n", "⏎")
        own = " (own message)" if kind.apart else ""
        lines.append(f"{kind.tag}: {kind.role}{own}, by {kind.known}, {kind.when}\n    {form}\n    {shape([read_back(kind)])}")
    text = f"The scaffold table of the {family} family: each row's form, and its sample as it is read back.\n\n{''.join(lines)}"

    assert text == (SHAPES / f"scaffold_{family.replace('-', '_')}.txt").read_text("utf-8")


@pytest.mark.covers("CX-1", "CX-2", "CX-9")
@pytest.mark.parametrize("kind", TABLE, ids=IDS)
def test_a_row_has_a_kept_shape_and_is_named_where_it_stands_in_a_session(kind: Row) -> None:
    """Written into a session it comes back as one piece: its role, its name (its role's, where it has no tag), what it counts as."""
    kept = (SHAPES / f"scaffold_{kind.family.replace('-', '_')}.txt").read_text("utf-8")
    message = read_back(kind)
    pieces = recorded_pieces(Recorded(head=None, at="m", messages=(message,), everything=(message,)), kind.family)

    assert f"\n{kind.tag}: {kind.role}" in kept
    assert [(each.role, each.tag) for each in pieces] == [(kind.role, BY_ROLE[kind.role] if kind.known == "role" else kind.tag)]
    assert message.origin is kind.origin


TAGGED = [kind for kind in TABLE if kind.opening and kind.closing]


@pytest.mark.covers("CX-1", "CX-2", "SF-3")
@given(st.sampled_from(TAGGED), st.text(), st.text(min_size=1))
def test_any_text_can_be_put_into_a_tag_and_taken_out(kind: Row, text: str, value: str) -> None:
    """Nothing in the text or in a value ends the tag: what comes out is what went in."""
    inner = contained(text, kind).strip()
    wrapped = wrap(kind, inner, dict.fromkeys(required(kind), f"x{value}") if kind.tag != "external_KEY" else VALUES)

    found = unwrap(wrapped, kind)

    assert found is not None
    assert found.strip() == inner


@given(st.sampled_from(TAGGED), st.text())
def test_contained_text_cannot_end_its_tag(kind: Row, text: str) -> None:
    """A closing tag in any case of letters loses its sign; a second time changes nothing."""
    closing = kind.closing.strip().replace("{{key}}", "ticket")
    hostile = f"{text}{closing}{closing.upper()}{text}"

    safe = contained(hostile, kind)

    assert closing.lower() not in safe.lower()
    assert contained(safe, kind) == safe


@given(st.text(), st.sampled_from(["user", "developer", "system", "assistant"]))
def test_any_text_is_cut_without_loss(text: str, role: Role) -> None:
    """Every word of it is in one of the pieces."""
    pieces = [piece for _, piece in pieces_of(text, role)]

    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_reminders_are_parted_from_what_was_typed() -> None:
    """A message with both gives a piece for each, in order."""
    text = "<system-reminder>\na\n</system-reminder>\nfix it\n<available-deferred-tools>\nWebFetch\n</available-deferred-tools>"

    found = [(kind.tag if kind else "", piece) for kind, piece in pieces_of(text, "user")]

    assert [tag for tag, _ in found] == ["system-reminder", "", "available-deferred-tools"]
    assert found[1][1] == "fix it"


def test_a_tag_that_nobody_knows_is_an_error() -> None:
    """The message names it; a value that is missing is one too."""
    with pytest.raises(InputError, match="'nonsense' is no tag"):
        row("nonsense")
    with pytest.raises(InputError, match="rollout family"):
        row("env", "rollout")
    with pytest.raises(SettingsError, match="folder"):
        wrap(row("AGENTS.md"), "x")


@pytest.mark.parametrize("size", [1_000, 100_000])
def test_hostile_text_is_cut_in_the_time_its_length_takes(size: int) -> None:
    """Openings without ends, and ends without openings, leave one piece: the text."""
    for text in ("<system-reminder>\n" * size, "</skill>" * size, "<external_a>" * size):
        assert [kind for kind, _ in pieces_of(text, "user")] == [None]

"""The scaffold table: every row is recognised when it is read back, and is what the harness rules
and the data rules know.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.compaction.window_at_message import RecordedWindow
from memorist.context.context_tags import (
    FILE_NATIVE_ROWS,
    ROLLOUT_ROWS,
    SCAFFOLD_TABLE,
    ContextTag,
    escape_closing_tag,
    identify_context_tag,
    require_context_tag_definition,
    split_by_context_tags,
    unwrap_tag,
    wrap_unescaped_text_in_tag,
)
from memorist.context.recorded_context import build_recorded_pieces
from memorist.core.messages import Message, Origin, Role
from memorist.core.prompt_templates import find_placeholders
from memorist.errors import InputError, SettingsError
from memorist.formats import host_markup
from memorist.formats.codec_registry import find_codec
from memorist.formats.host_markup import detect_origin
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.settings import Family
from support.conversation_text import render_shape

SHAPES = Path(__file__).parents[1] / "shapes"
VALUES = {
    "folder": "/w/app",
    "key": "ticket",
    "name": "[Image #1]",
    "source": "goal",
    "agent": "ann",
}
BY_ROLE: dict[str, str] = {"developer": "developer_instructions", "system": "static"}
"""How a text without a tag is named when it is read back."""
IDS = [f"{kind.family}: {kind.tag}" for kind in SCAFFOLD_TABLE]


def sample(kind: ContextTag) -> str:
    text = (
        "" if kind.form == "label" or kind.tag in {"interruption", "boundary"} else "made up here"
    )
    return wrap_unescaped_text_in_tag(
        kind, text, {name: VALUES[name] for name in find_placeholders(kind.opening)}
    )


def read_back(kind: ContextTag) -> Message:
    """The row's sample after a way over the wire of its family."""
    text = sample(kind)
    if kind.family == "rollout":
        item = {
            "type": "message",
            "role": kind.role,
            "content": [{"type": _part(kind.role), "text": text}],
        }
        return find_codec("openai_responses").decode_item(item, id="m")[0]
    if kind.role == "system":
        return (
            find_codec("anthropic")
            .decode_request(
                {"system": [{"type": "text", "text": text}], "messages": [], "max_tokens": 1}
            )
            .system[0]
        )
    return find_codec("anthropic").decode_item(
        {"role": kind.role, "content": [{"type": "text", "text": text}]}, id="m"
    )[0]


def _part(role: Role) -> str:
    return "output_text" if role == "assistant" else "input_text"


@pytest.mark.covers("CX-1", "CX-2", "FM-7")
@pytest.mark.parametrize("kind", SCAFFOLD_TABLE, ids=IDS)
def test_a_row_counts_as_what_the_table_says_when_it_is_read_back(kind: ContextTag) -> None:
    """The wire's own reading gives the row's origin; where a person and a harness share a role, by
    the text alone.
    """
    assert read_back(kind).origin is kind.origin
    if kind.role == "user":
        assert detect_origin(sample(kind)) is kind.origin


@pytest.mark.covers("CX-1", "CX-2")
@pytest.mark.parametrize("kind", SCAFFOLD_TABLE, ids=IDS)
def test_a_row_is_found_by_its_sample(kind: ContextTag) -> None:
    """All but those that only their role tells are named again, in any case of letters; nobody
    else's words are.
    """
    found = identify_context_tag(sample(kind), kind.role, kind.family)

    assert found == (None if kind.form == "role" else kind)
    if kind.form != "role":
        assert identify_context_tag(sample(kind).upper(), kind.role, kind.family) == kind
        assert identify_context_tag(f"Why is there {sample(kind)}", kind.role, kind.family) is None


@pytest.mark.covers("CX-1")
def test_the_table_and_the_harness_rules_know_the_same_tags() -> None:
    """A tag that is recognised has a row, and says the same origin; three that only wrap what is
    not typed have none, since nobody assembles them.
    """
    parts = {kind.tag.lower(): kind.origin for kind in SCAFFOLD_TABLE if kind.form == "part"}
    wholes = {
        kind.tag.lower()
        for kind in SCAFFOLD_TABLE
        if kind.form == "whole" and kind.role in {"user", "developer"}
    }

    known = host_markup._PART_TAGS
    assert parts.items() <= known.items()
    assert known.keys() - parts.keys() == {"hook_prompt", "in-app-browser-context", "stdin"}
    assert set(host_markup._WHOLE_TEXT_TAGS) <= wholes


@pytest.mark.covers("CX-1", "CX-2", "SF-3")
@pytest.mark.parametrize(
    "kind",
    [kind for kind in SCAFFOLD_TABLE if kind.form != "role" and kind.role in {"user", "developer"}],
    ids=lambda kind: kind.tag,
)
def test_a_row_inside_data_is_made_harmless(kind: ContextTag) -> None:
    """What a file or a tool says cannot pass for a harness."""
    if kind.origin is Origin.USER:
        return
    assert detect_origin(neutralize_markup(sample(kind))) is Origin.USER


def test_tags_are_unique_in_a_family() -> None:
    """A tag is one row."""
    for rows in (ROLLOUT_ROWS, FILE_NATIVE_ROWS):
        assert len({kind.tag.lower() for kind in rows}) == len(rows)


@pytest.mark.parametrize("family", get_args(Family))
def test_every_row_has_the_shape_that_is_kept(family: str) -> None:
    """Role, recognition, moment, form, and what the reader makes of it: compared exactly."""
    lines = []
    for kind in (kind for kind in SCAFFOLD_TABLE if kind.family == family):
        form = (kind.opening + "…" + kind.closing).replace("\n", "⏎")
        own = " (own message)" if kind.apart else ""
        lines.append(
            f"{kind.tag}: {kind.role}{own}, by {kind.form}, {kind.when}\n    {form}\n    "
            f"{render_shape([read_back(kind)])}"
        )
    text = (
        f"The scaffold table of the {family} family: each row's form, and its sample as it "
        f"is read back.\n\n{''.join(lines)}"
    )

    assert text == (SHAPES / f"scaffold_{family.replace('-', '_')}.txt").read_text("utf-8")


@pytest.mark.covers("CX-1", "CX-2", "CX-9")
@pytest.mark.parametrize("kind", SCAFFOLD_TABLE, ids=IDS)
def test_a_row_has_a_kept_shape_and_is_named_where_it_stands_in_a_session(kind: ContextTag) -> None:
    """Written into a session it comes back as one piece: its role, its name (its role's, where it
    has no tag), what it counts as.
    """
    kept = (SHAPES / f"scaffold_{kind.family.replace('-', '_')}.txt").read_text("utf-8")
    message = read_back(kind)
    pieces = build_recorded_pieces(
        RecordedWindow(head=None, last_message="m", messages=(message,), all_messages=(message,)),
        kind.family,
    )

    assert f"\n{kind.tag}: {kind.role}" in kept
    assert [(each.role, each.tag) for each in pieces] == [
        (kind.role, BY_ROLE[kind.role] if kind.form == "role" else kind.tag)
    ]
    assert message.origin is kind.origin


TAGGED = [kind for kind in SCAFFOLD_TABLE if kind.opening and kind.closing]


@pytest.mark.covers("CX-1", "CX-2", "SF-3")
@given(st.sampled_from(TAGGED), st.text(), st.text(min_size=1))
def test_any_text_can_be_put_into_a_tag_and_taken_out(
    kind: ContextTag, text: str, value: str
) -> None:
    """Nothing in the text or in a value ends the tag: what comes out is what went in."""
    inner = escape_closing_tag(text, kind).strip()
    wrapped = wrap_unescaped_text_in_tag(
        kind,
        inner,
        dict.fromkeys(find_placeholders(kind.opening), f"x{value}")
        if kind.tag != "external_KEY"
        else VALUES,
    )

    found = unwrap_tag(wrapped, kind)

    assert found is not None
    assert found.strip() == inner


@given(st.sampled_from(TAGGED), st.text())
def test_contained_text_cannot_end_its_tag(kind: ContextTag, text: str) -> None:
    """A closing tag in any case of letters loses its sign; a second time changes nothing."""
    closing = kind.closing.strip().replace("{{key}}", "ticket")
    hostile = f"{text}{closing}{closing.upper()}{text}"

    safe = escape_closing_tag(hostile, kind)

    assert closing.lower() not in safe.lower()
    assert escape_closing_tag(safe, kind) == safe


@given(st.text(), st.sampled_from(["user", "developer", "system", "assistant"]))
def test_any_text_is_cut_without_loss(text: str, role: Role) -> None:
    """Every word of it is in one of the pieces."""
    pieces = [piece for _, piece in split_by_context_tags(text, role)]

    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_reminders_are_parted_from_what_was_typed() -> None:
    """A message with both gives a piece for each, in order."""
    text = (
        "<system-reminder>\na\n</system-reminder>\nfix "
        "it\n<available-deferred-tools>\nWebFetch\n</available-deferred-tools>"
    )

    found = [
        (kind.tag if kind else "", piece) for kind, piece in split_by_context_tags(text, "user")
    ]

    assert [tag for tag, _ in found] == ["system-reminder", "", "available-deferred-tools"]
    assert found[1][1] == "fix it"


def test_a_tag_that_nobody_knows_is_an_error() -> None:
    """The message names it; a value that is missing is one too."""
    with pytest.raises(InputError, match="'nonsense' is no tag"):
        require_context_tag_definition("nonsense")
    with pytest.raises(InputError, match="rollout family"):
        require_context_tag_definition("env", "rollout")
    with pytest.raises(SettingsError, match="folder"):
        wrap_unescaped_text_in_tag(require_context_tag_definition("AGENTS.md"), "x")


@pytest.mark.parametrize("size", [1_000, 100_000])
def test_hostile_text_is_cut_in_the_time_its_length_takes(size: int) -> None:
    """Openings without ends, and ends without openings, leave one piece: the text."""
    for text in ("<system-reminder>\n" * size, "</skill>" * size, "<external_a>" * size):
        assert [kind for kind, _ in split_by_context_tags(text, "user")] == [None]

"""What passes between the program that an agent calls and the process behind it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.hooks import hook_protocol, hook_time_limits

WORDS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\t\n"))


@given(WORDS, WORDS, WORDS, WORDS, st.integers(0, hook_protocol.MAX_EVENT_BYTES))
@pytest.mark.covers("IN-2")
def test_a_question_is_read_as_it_was_asked(
    version: str, event: str, client: str, project: str, length: int
) -> None:
    """Every value without a tab or a line end comes back as it was."""
    assert hook_protocol.parse_hook_header(
        hook_protocol.encode_hook_header(version, event, client, project, length)
    ) == (version, event, client, project, length)


@given(st.text())
def test_a_value_cannot_become_another_one(project: str) -> None:
    """A folder whose name holds a tab or a line end is left out, and shifts nothing."""
    found = hook_protocol.parse_hook_header(
        hook_protocol.encode_hook_header("1", "Stop", "", project, 7)
    )

    assert found is not None
    assert found == ("1", "Stop", "", found[3], 7)


@given(st.binary(max_size=200))
def test_what_is_no_question_is_none(line: bytes) -> None:
    """Any bytes are read or refused, never an error; a length beyond what is taken is refused."""
    found = hook_protocol.parse_hook_header(line)

    assert found is None or found[4] <= hook_protocol.MAX_EVENT_BYTES


@given(st.binary(max_size=300), st.data())
@pytest.mark.covers("IN-2")
def test_half_an_answer_is_no_answer(data: bytes, drawn: st.DataObject) -> None:
    """An answer that was broken off at any byte is told from a whole one, so that an agent is never
    shown half a JSON.
    """
    whole = hook_protocol.encode_daemon_response(hook_protocol.DONE, data)
    cut = drawn.draw(st.integers(0, len(whole) - 1))

    assert hook_protocol.parse_daemon_response(whole) == (hook_protocol.DONE, data)
    assert hook_protocol.parse_daemon_response(whole[:cut]) is None
    assert hook_protocol.parse_daemon_response(whole + b"x") is None


@given(st.text())
def test_a_damaged_file_of_limits_leaves_the_usual_ones(text: str) -> None:
    """Whatever stands in the file, each wait is more than nothing and less than an hour."""
    told = hook_time_limits.parse_time_limits_file(text)

    assert all(
        0 < hook_time_limits.resolve_event_time_limit(event, told) < 3_600
        for event in ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "Other")
    )


def test_the_settings_decide_how_long_is_waited() -> None:
    """A limit from the file goes before the usual one, and the star stands for every other event."""
    told = hook_time_limits.parse_time_limits_file(
        "SessionStart 7.5\n* 0.25\nbroken\nPreCompact nan\n"
    )

    assert [
        hook_time_limits.resolve_event_time_limit(event, told)
        for event in ("SessionStart", "Stop", "PreCompact")
    ] == [7.5, 0.25, 10.0]


@given(st.integers(2, 99).map(str), st.binary(max_size=20))
@pytest.mark.covers("IN-2")
def test_a_later_protocol_is_told_from_junk(number: str, rest: bytes) -> None:
    """A question of a later memorist makes room for it; one of this protocol and what is no
    question of ours do not.
    """
    assert hook_protocol.is_other_protocol_version(b"memorist\t" + number.encode() + b"\t" + rest)
    assert not hook_protocol.is_other_protocol_version(
        hook_protocol.encode_hook_header("0.1.0", "Stop", "codex", "", 0)
    )
    assert not hook_protocol.is_other_protocol_version(b"x" + rest)
    assert not hook_protocol.is_other_protocol_version(hook_protocol.PING)

"""Bodies of requests, read and written without losing a byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from memorist.errors import WireFormatError
from memorist.proxy.request_body import (
    encode_changed_request_body,
    parse_request_body,
    replace_lone_surrogate_escapes,
)
from support.sweeps import examples

BUSY = examples(15, whole=50, suppress_health_check=[HealthCheck.too_slow])
"""Also where the machine has much else to do."""
TEXTS = st.text(st.characters(codec="utf-8"), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=4,
)
ENTRIES = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant"]),
        "content": TEXTS | st.lists(VALUES, max_size=3),
    }
)
OURS = ENTRIES.map(lambda entry: {**entry, "ours": True})
REQUESTS = st.builds(
    lambda before, history, after: {
        **before,
        "messages": history,
        **{key: value for key, value in after.items() if key not in before},
    },
    st.dictionaries(TEXTS.filter(lambda key: key != "messages"), VALUES, max_size=3),
    st.lists(ENTRIES, max_size=6),
    st.dictionaries(TEXTS.filter(lambda key: key != "messages"), VALUES, max_size=3),
)
SPOKEN = REQUESTS.filter(lambda request: bool(request["messages"]))
STYLES = st.sampled_from(
    [
        {},
        {"separators": (",", ":")},
        {"indent": 2},
        {"ensure_ascii": False},
        {"ensure_ascii": False, "indent": 1},
    ]
)


def wire(request: object, style: dict[str, Any]) -> bytes:
    return json.dumps(request, **style).encode()


@pytest.mark.covers("IN-3")
@BUSY
@given(REQUESTS, STYLES)
def test_a_body_says_what_its_json_says_and_each_place_holds_its_value(
    request: dict[str, Any], style: dict[str, Any]
) -> None:
    """However it is written: spaces, escapes, order of keys."""
    raw = wire(request, style)
    body = parse_request_body(raw, "messages")

    assert body.values == request
    assert all(
        json.loads(raw[place.start : place.end]) == request[name]
        for name, place in body.key_spans.items()
    )
    assert [json.loads(raw[start:end]) for start, end in body.entry_spans] == request["messages"]


@pytest.mark.covers("IN-3")
@BUSY
@given(REQUESTS, STYLES, st.lists(ENTRIES, max_size=3), st.integers(0, 3))
def test_a_body_that_goes_on_from_another_is_read_as_if_it_stood_alone(
    request: dict[str, Any], style: dict[str, Any], more: list[Any], gone: int
) -> None:
    """What was read before is used again only where it is the same, byte for byte; also when
    entries at the end changed.
    """
    before = parse_request_body(wire(request, style), "messages")
    kept = request["messages"][: len(request["messages"]) - gone] if gone else request["messages"]
    raw = wire({**request, "messages": [*kept, *more]}, style)

    grown, alone = parse_request_body(raw, "messages", before), parse_request_body(raw, "messages")

    assert (grown.values, grown.key_spans, grown.entry_spans) == (
        alone.values,
        alone.key_spans,
        alone.entry_spans,
    )
    assert all(
        mine is theirs
        for mine, theirs in zip(grown.items[: grown.shared_entries], before.items, strict=False)
    )


@pytest.mark.covers("IN-3")
@BUSY
@given(REQUESTS, STYLES)
def test_a_request_that_was_not_changed_is_not_written(
    request: dict[str, Any], style: dict[str, Any]
) -> None:
    """Equal values, even in other objects, leave the client's bytes as they are."""
    body = parse_request_body(wire(request, style), "messages")

    assert encode_changed_request_body(body, body.values) is None
    assert encode_changed_request_body(body, json.loads(json.dumps(request))) is None


@pytest.mark.covers("IN-3")
@BUSY
@given(
    REQUESTS.filter(lambda request: len(request) > 1),
    STYLES,
    st.lists(OURS, min_size=1, max_size=3),
    st.data(),
)
def test_what_is_written_says_what_was_asked_and_keeps_all_bytes_before_the_first_change(
    request: dict[str, Any], style: dict[str, Any], ours: list[Any], data: st.DataObject
) -> None:
    """Entries taken out, others put in anywhere, keys changed and added: the JSON is right, and the
    entries before the change stand as they stood.
    """
    raw = wire(request, style)
    body = parse_request_body(raw, "messages")
    history = request["messages"]
    at = data.draw(st.integers(0, len(history)))
    dropped = data.draw(st.integers(0, len(history) - at))
    sent = {
        **json.loads(json.dumps(request)),
        "messages": [*history[:at], *ours, *history[at + dropped :]],
        "added by us": {"a": 1},
    }

    new = encode_changed_request_body(body, sent)

    assert new is not None
    assert json.loads(new) == sent
    same = next(
        (
            index
            for index, (mine, theirs) in enumerate(zip(sent["messages"], history, strict=False))
            if mine != theirs
        ),
        at,
    )
    end = body.entry_spans[same - 1][1] if same else body.key_spans["messages"].start
    assert new[:end] == raw[:end]
    for kept in history[at + dropped :]:
        spellings = [
            raw[slice(*place)]
            for place, entry in zip(body.entry_spans, history, strict=True)
            if entry == kept
        ]
        assert any(spelling in new for spelling in spellings)


@pytest.mark.covers("IN-3")
@BUSY
@given(
    REQUESTS.filter(lambda request: bool(request["messages"])),
    STYLES,
    st.lists(OURS, min_size=1, max_size=2),
    st.lists(st.lists(ENTRIES, max_size=2), max_size=4),
)
def test_entries_of_ours_are_the_same_bytes_in_each_later_request(
    request: dict[str, Any], style: dict[str, Any], ours: list[Any], turns: list[list[Any]]
) -> None:
    """A conversation that memorist changed once goes on: each request begins with the bytes of the
    one before, and says what it shall.
    """
    before, start = None, b""
    history = list(request["messages"])
    for more in [[], *turns]:
        history = [*history, *more]
        body = parse_request_body(
            wire({"model": "m", "messages": history}, style), "messages", before
        )
        shown = [*ours, *history]
        new = encode_changed_request_body(body, {**body.values, "messages": shown})
        assert new is not None
        assert json.loads(new)["messages"] == shown
        assert new.startswith(start)
        start = new.rstrip().removesuffix(b"}").rstrip().removesuffix(b"]").rstrip()
        before = body


@pytest.mark.covers("IN-3")
def test_half_a_surrogate_pair_is_read_and_goes_out_as_it_came() -> None:
    """Half an emoji stands for no character; the entry is read with the sign for that, and the
    client's bytes stay.
    """
    raw = (
        rb'{"messages": '
        rb'[{"role": "user", "content": "\ud83d and \ud83d\ude00 and \\ud83d"}, {"role": "user", "content": "b"}]}'
    )
    body = parse_request_body(raw, "messages")

    assert body.items[0]["content"] == "\ufffd and 😀 and \\ud83d"
    assert encode_changed_request_body(body, body.values) is None
    assert encode_changed_request_body(body, {"messages": body.items[:1]}) == raw.replace(
        rb', {"role": "user", "content": "b"}', b""
    )


@given(st.binary(max_size=60))
def test_mending_half_pairs_moves_nothing(data: bytes) -> None:
    """The bytes are as many as before, and what has no half pair is not touched."""
    assert len(replace_lone_surrogate_escapes(data)) == len(data)
    assert replace_lone_surrogate_escapes(b'"\\ud83d\\ude00"') == b'"\\ud83d\\ude00"'


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"1",
        b'{"messages": [}',
        b'{"a": 1, "a": 2}',
        b'{"messages": [], "messages": []}',
        b'{"a": NaN}',
        b'{"a": "\xff"}',
        b"[" * 5000,
    ],
)
def test_what_is_no_request_is_refused(raw: bytes) -> None:
    """No JSON, no object, or a thing said twice: WireFormatError, and the caller passes it on unread."""
    with pytest.raises(WireFormatError):
        parse_request_body(raw, "messages")


@pytest.mark.covers("IN-3")
@given(st.binary(max_size=80), st.binary(max_size=80))
def test_reading_hostile_bytes_raises_nothing_else(one: bytes, other: bytes) -> None:
    """Whatever a client sends, before and after a request that was fine."""
    before = parse_request_body(
        b'{"messages": [{"role": "user", "content": "a"}], "x": 1}', "messages"
    )
    for raw in (one, b'{"messages": [{"role": "user", "content": "a"}' + other):
        try:
            body = parse_request_body(raw, "messages", before)
        except WireFormatError:
            continue
        assert body.raw == raw

"""The window: what a request shows once something of ours stands in it, and what that costs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memorist.core.messages import Message, Origin, TextBlock
from memorist.engine.host_history import COMPARED_NEWEST_ENTRIES, HostHistory
from memorist.engine.shown_history import ShownHistory
from memorist.formats.codec_registry import find_codec

CODEC = find_codec("anthropic")


def user(text: str, *, marked: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    return {
        "role": "user",
        "content": [block | ({"cache_control": {"type": "ephemeral"}} if marked else {})],
    }


def ours(number: int) -> Message:
    return Message(
        id=f"memorist-recall-{number}",
        role="user",
        blocks=(TextBlock(f"ours {number}"),),
        origin=Origin.INJECTED,
    )


@pytest.mark.covers("EN-1", "CX-8")
@given(st.lists(st.sampled_from(["host", "many", "ours", "sent", "front", "spare"]), max_size=40))
def test_what_is_sent_is_what_the_host_and_we_showed(steps: list[str]) -> None:
    """Whatever comes in whatever order, with a cache mark that moves: the list is the host's newest
    bytes and ours in their places, and a list that was given away is never touched again.
    """
    history = HostHistory(CODEC, is_typed=True)
    window = ShownHistory(CODEC, history)
    window.append_injected(ours(0))
    expected: list[tuple[str, bool]] = [("ours 0", False)]
    items: list[dict[str, Any]] = []
    gone: list[tuple[list[Any], list[Any]]] = []
    for number, step in enumerate(steps, 1):
        if step in ("host", "many"):
            new = [
                f"host {number}-{each}"
                for each in range(2 * COMPARED_NEWEST_ENTRIES if step == "many" else 1)
            ]
            items = [user(each["content"][0]["text"]) for each in items] + [
                user(text) for text in new
            ]
            items[-1] = user(new[-1], marked=True)
            window.add_entries(history.add_request(items).entries)
            expected = [(text, False) for text, _ in expected] + [
                (text, text == new[-1]) for text in new
            ]
        elif step == "ours":
            window.append_injected(ours(number))
            expected.append((f"ours {number}", False))
        elif step == "front":
            window.replace_messages([ours(number), *window.messages])
            expected.insert(0, (f"ours {number}", False))
        elif step == "spare":
            window.copy_items_ahead_of_request()
        else:
            sent = window.build_request_items()
            gone.append((sent, list(sent)))
    assert [
        (each["content"][0]["text"], "cache_control" in each["content"][0])
        for each in window.build_request_items()
    ] == expected
    assert all(sent == copy for sent, copy in gone)


@pytest.mark.covers("CP-18")
def test_what_is_shown_in_place_of_a_hosts_entry_has_its_mark_of_today() -> None:
    """The mark comes and goes with the host's own entry: frozen, it would be one too many."""
    history = HostHistory(CODEC, is_typed=True)
    window = ShownHistory(CODEC, history)
    window.add_entries(history.add_request([user("long", marked=True)]).entries)
    window.replace_messages([replace(each, blocks=(TextBlock("l…"),)) for each in window.messages])

    assert window.build_request_items() == [user("l…", marked=True)]

    window.add_entries(
        history.add_request([user("long"), reply("ok"), user("next", marked=True)]).entries
    )
    assert window.build_request_items() == [user("l…"), reply("ok"), user("next", marked=True)]

    window.add_entries(
        history.add_request([user("long", marked=True), reply("ok"), user("next")]).entries
    )
    assert window.build_request_items() == [user("l…", marked=True), reply("ok"), user("next")]


@pytest.mark.covers("EN-1")
@pytest.mark.parametrize("role", ["system", "developer"])
def test_instructions_that_change_with_each_request_are_sent_as_they_are_now(role: str) -> None:
    """A clock, or what the host looked up, in the first message: also in a long conversation of
    which something is shown smaller, and without taking it for a rewritten history.
    """
    codec = find_codec("openai_chat")
    history = HostHistory(codec, is_typed=True)
    window = ShownHistory(codec, history)
    said: list[dict[str, Any]] = []
    for number in range(3 * COMPARED_NEWEST_ENTRIES):
        said.append({"role": "user", "content": f"word {number}"})
        update = history.add_request([{"role": role, "content": f"It is {number}."}, *said])
        assert not update.rewritten
        window.add_entries(update.entries)
        if number == COMPARED_NEWEST_ENTRIES:
            window.replace_messages([*window.messages[:1], ours(1), *window.messages[-1:]])
        window.copy_items_ahead_of_request()

        assert window.build_request_items()[0] == {"role": role, "content": f"It is {number}."}
    assert len(window.build_request_items()) < len(said)


def reply(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


@pytest.mark.covers("CX-3", "CX-8")
def test_ours_stands_before_new_words_and_before_nothing_that_was_sent_or_answered() -> None:
    """Right before the entry, where a new process finds it by the message above; not among what was
    sent, answered, or belongs to a call.
    """
    history = HostHistory(CODEC, is_typed=True)
    window = ShownHistory(CODEC, history)
    items: list[dict[str, Any]] = [user("one"), reply("first"), user("two")]
    window.add_entries(history.add_request(items).entries)
    one, first, two = window.messages

    assert window.insert_before(ours(1), one) is None
    assert window.insert_before(ours(2), two) is first
    assert [each["content"][0]["text"] for each in window.build_request_items()] == [
        "one",
        "first",
        "ours 2",
        "two",
    ]
    assert window.insert_before(ours(3), two) is None

    call = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c1", "name": "Read", "input": {}}],
    }
    answer = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "Done."},
            {"type": "text", "text": "three"},
        ],
    }
    window.add_entries(history.add_request([*items, call, answer]).entries)
    assert all(window.insert_before(ours(4), each) is None for each in window.messages)
    assert len(window.build_request_items()) == 6


@pytest.mark.covers("EN-1")
def test_a_request_of_a_long_session_looks_at_what_is_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a memory shown in it, the thousandth request looks at as few entries of the history as
    the tenth.
    """
    history = HostHistory(CODEC, is_typed=True)
    window = ShownHistory(CODEC, history)
    window.append_injected(ours(0))
    looked: list[int] = []
    plain = history.get_entry

    def counted(index: int) -> object:
        looked.append(index)
        return plain(index)

    monkeypatch.setattr(history, "get_entry", counted)
    counts = []
    items: list[dict[str, Any]] = []
    for number in range(1_000):
        items.append(user(f"text {number}"))
        window.add_entries(history.add_request(items).entries)
        looked.clear()
        window.build_request_items()
        counts.append(len(looked))

    assert max(counts) <= COMPARED_NEWEST_ENTRIES + 1

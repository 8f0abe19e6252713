"""A host's own objects come back wherever the wire item was left as it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memorist.adapters.message_map import MessageMap


class Mine:
    """A host's message, with something that no wire format has."""

    def __init__(self, *said: str) -> None:
        self.said = said
        self.secret = object()


def items(message: Mine) -> list[dict[str, str]]:
    return [{"role": "user", "content": text} for text in message.said]


def paired(messages: Sequence[Mine]) -> MessageMap[Mine]:
    return MessageMap((message, items(message)) for message in messages)


def made(run: list[Any]) -> list[Mine]:
    return [Mine(*(item["content"] for item in run))]


def said(messages: Sequence[Mine]) -> list[str]:
    return [text for message in messages for text in message.said]


def test_what_was_left_as_it_was_is_the_hosts_own_object() -> None:
    """Equal items are enough; they need not be the same objects."""
    messages = [Mine("a"), Mine("b"), Mine("c")]
    sent = [dict(item) for item in paired(messages).wire_items]

    assert paired(messages).build_host_messages(sent, made) == messages


def test_only_what_was_added_is_made() -> None:
    """An insertion, a cut and a change leave the rest to the host's objects."""
    messages = [Mine("a"), Mine("b"), Mine("c"), Mine("d")]
    sent = [
        {"role": "user", "content": text} for text in ("summary", "c", "memory", "memory too", "d!")
    ]

    back = paired(messages).build_host_messages(sent, made)

    assert [message.said for message in back] == [
        ("summary",),
        ("c",),
        ("memory", "memory too", "d!"),
    ]
    assert back[1] is messages[2]


def test_a_message_of_several_items_comes_back_whole_or_is_made_of_what_is_left() -> None:
    """A host's object never says more or less than what is to be sent."""
    whole, torn = Mine("a", "b"), Mine("c", "d")
    originals = paired([whole, torn])

    back = originals.build_host_messages(
        [*originals.wire_items[:3], {"role": "user", "content": "short"}], made
    )

    assert back[0] is whole
    assert [message.said for message in back[1:]] == [("c", "short")]


def test_a_message_without_items_stays_behind_the_one_before_it() -> None:
    """What has no form on the wire goes where its neighbour goes."""
    first, silent, second, last = Mine(), Mine(), Mine("a"), Mine("b")
    after = Mine()
    originals = paired([first, second, after, silent, last])

    assert originals.build_host_messages(originals.wire_items, made) == [
        first,
        second,
        after,
        silent,
        last,
    ]
    assert originals.build_host_messages(
        [*originals.wire_items[:1], {"role": "user", "content": "x"}], made
    )[:4] == [first, second, after, silent]
    assert originals.build_host_messages(originals.wire_items[1:], made) == [last]


def test_two_messages_that_say_the_same_stay_two() -> None:
    """Each of the host's objects is given back once, in order."""
    messages = [Mine("ok"), Mine("go"), Mine("ok")]
    originals = paired(messages)

    assert (
        originals.build_host_messages(
            [{"role": "user", "content": "go"}, {"role": "user", "content": "ok"}], made
        )
        == messages[1:]
    )
    assert [
        message is other
        for message, other in zip(
            originals.build_host_messages([*originals.wire_items, *originals.wire_items], made),
            messages,
            strict=False,
        )
    ] == [True] * 3


texts = st.sampled_from(["a", "b", "", "ok", "\ud800"])


@given(st.lists(st.lists(texts, max_size=3), max_size=6), st.data())
def test_the_messages_always_say_what_is_to_be_sent(
    spoken: list[list[str]], data: st.DataObject
) -> None:
    """Whatever was cut, doubled, moved or added: the words come out in the order that was asked
    for, and each object at most once.
    """
    messages = [Mine(*words) for words in spoken]
    originals = paired(messages)
    known = [item["content"] for item in originals.wire_items]
    wanted = data.draw(
        st.lists(st.sampled_from([*known, "new"]) if known else st.just("new"), max_size=12)
    )

    back = originals.build_host_messages(
        [{"role": "user", "content": text} for text in wanted], made
    )

    assert said(back) == wanted
    assert len({id(message) for message in back}) == len(back)


@given(st.lists(st.lists(texts, max_size=3), max_size=6))
def test_unchanged_is_unchanged(spoken: list[list[str]]) -> None:
    """Nothing is made when nothing changed."""
    messages = [Mine(*words) for words in spoken]
    originals = paired(messages)

    assert (
        originals.build_host_messages(originals.wire_items, lambda run: [Mine("made")]) == messages
    )

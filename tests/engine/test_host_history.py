"""What is new in a request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.messages import JsonObject, Message
from memorist.engine.engine import Memorist
from memorist.engine.host_history import HostHistory
from memorist.errors import WireFormatError
from memorist.formats.codec_registry import find_codec
from memorist.store.transcript_reader import read_transcript
from support.sweeps import examples

ANTHROPIC = find_codec("anthropic")
TASK = "Use pnpm in this repository, never npm."


def user(text: str, *, marked: bool = False) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    return {
        "role": "user",
        "content": [{**block, "cache_control": {"type": "ephemeral"}} if marked else block],
    }


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def reply(text: str) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": text}],
        "usage": {},
    }


def texts(history: HostHistory, items: list[Any]) -> list[str]:
    return [message.text for message in history.add_request(items).new_messages]


@pytest.mark.covers("EN-1")
def test_only_what_is_new_in_a_request_is_taken() -> None:
    """The second request of a conversation brings its two new entries, not its history."""
    history = HostHistory(ANTHROPIC, is_typed=True)

    assert texts(history, [user("one")]) == ["one"]
    assert texts(history, [user("one"), assistant("two"), user("three")]) == ["two", "three"]


@pytest.mark.covers("EN-1")
def test_a_cache_mark_that_moves_is_no_news_but_is_kept_for_forks() -> None:
    """Hosts mark the newest message and unmark the one before; the bytes last sent are what a fork
    must repeat.
    """
    history = HostHistory(ANTHROPIC, is_typed=True)
    history.add_request([user("one", marked=True)])

    assert texts(history, [user("one"), assistant("two"), user("three", marked=True)]) == [
        "two",
        "three",
    ]
    assert history.items == [user("one"), assistant("two"), user("three", marked=True)]


def test_the_echo_of_an_observed_reply_is_not_new() -> None:
    """The reply was taken when it came; the host sends it back with the next request."""
    history = HostHistory(ANTHROPIC, is_typed=True)
    history.add_request([user("one")])
    history.add_reply(ANTHROPIC.decode_reply(reply("two")).messages)

    assert texts(history, [user("one"), assistant("two"), user("three")]) == ["three"]


def test_the_same_words_twice_are_two_messages() -> None:
    """A word such as continue may be said again and again."""
    history = HostHistory(ANTHROPIC, is_typed=True)
    history.add_request([user("continue")])
    history.add_reply(ANTHROPIC.decode_reply(reply("done")).messages)
    first = history.add_request(
        [user("continue"), assistant("done"), user("continue")]
    ).new_messages

    assert [message.text for message in first] == ["continue"]
    assert first[0].id.endswith("-2")


def test_a_rewritten_history_is_told_and_its_known_messages_are_not_new() -> None:
    """A host that compacts sends a summary and a tail; the tail is known."""
    history = HostHistory(ANTHROPIC, is_typed=True)
    items = [user(f"m{number}") for number in range(30)]
    history.add_request(items)
    news = history.add_request([user("summary"), *items[-5:]])

    assert news.rewritten
    assert [message.text for message in news.new_messages] == ["summary"]


@pytest.mark.covers("SM-14")
def test_after_a_restart_only_unknown_messages_are_new() -> None:
    """Ids come from what is said, so a transcript on disk tells what is known."""
    first = HostHistory(ANTHROPIC, is_typed=True)
    known = [
        message.id
        for message in first.add_request([user("one"), user("one"), assistant("two")]).new_messages
    ]
    second = HostHistory(ANTHROPIC, known, is_typed=True)

    assert texts(second, [user("one"), user("one"), assistant("two"), user("three")]) == ["three"]


def test_objects_of_an_sdk_in_the_history_are_taken_as_what_they_send() -> None:
    """Hosts put `reply.content` back as it is."""
    from anthropic.types import TextBlock

    history = HostHistory(ANTHROPIC, is_typed=True)
    history.add_request([user("one")])
    items = [
        user("one"),
        {"role": "assistant", "content": [TextBlock(type="text", text="two")]},
        user("three"),
    ]

    assert texts(history, items) == ["two", "three"]
    assert history.items[1] == assistant("two")


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c"]), max_size=4), max_size=8))
def test_however_a_history_grows_each_entry_is_new_exactly_once(steps: list[list[str]]) -> None:
    """Over any sequence of growing requests all texts are seen in order, none twice."""
    history, items, seen = HostHistory(ANTHROPIC, is_typed=True), list[Any](), list[str]()
    for step in steps:
        items = items + [user(text) for text in step]
        seen += texts(history, items)

    assert seen == [text for step in steps for text in step]
    assert history.items == items


@pytest.mark.covers("EN-1")
def test_a_host_that_changes_its_entries_later_does_not_change_what_was_sent() -> None:
    """A fork repeats the bytes of the request, not what became of the host's objects."""
    history, entry = HostHistory(ANTHROPIC, is_typed=True), user("one")
    history.add_request([entry])
    entry["content"][0]["text"] = "changed"

    assert history.items == [user("one")]


@examples(15, whole=50)
@given(st.lists(st.tuples(st.integers(1, 12), st.booleans(), st.booleans()), max_size=8))
def test_a_list_made_ahead_is_the_history_and_belongs_to_whoever_took_it(
    steps: list[tuple[int, bool, bool]],
) -> None:
    """Whenever the copy was made, and however the host's marks moved since: the list is what was
    sent last, and later requests leave it alone.
    """
    history, items, taken = (
        HostHistory(ANTHROPIC, is_typed=True),
        list[Any](),
        list[tuple[list[Any], list[Any]]](),
    )
    for count, ahead, marked in steps:
        items = [user(item["content"][0]["text"]) for item in items] + [
            user(str(len(items) + new)) for new in range(count)
        ]
        items[-1] = user(str(len(items) - 1), marked=marked)
        history.add_request(items)
        taken.append((history.take_copy(), list(items)))
        if ahead:
            history.copy_items_ahead_of_request()

    assert all(given == sent for given, sent in taken)
    assert len({id(given) for given, _ in taken}) == len(taken)


def test_a_rewritten_history_is_not_sent_from_an_older_copy() -> None:
    """A copy made ahead of a request is of no use when the host starts anew."""
    history = HostHistory(ANTHROPIC, is_typed=True)
    history.add_request([user("one"), assistant("two"), user("three")])
    history.copy_items_ahead_of_request()
    history.add_request([user("other")])

    assert history.take_copy() == [user("other")]


@pytest.mark.parametrize("format", ["anthropic", "openai_responses", "openai_chat"])
async def test_keys_that_are_no_text_are_what_json_makes_of_them(
    format: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A tool of a Python program returns `{1: "a"}`, and its SDK writes the key as "1"; a key that
    no SDK writes is refused by name, and nothing is lost of the requests around it.
    """
    given: dict[Any, Any] = {1: "a", None: {True: 2.5, 1.5: [{2: 3}]}}
    parts: dict[str, JsonObject] = {
        "anthropic": {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "f", "input": given}],
        },
        "openai_responses": {"type": "of_next_year", "role": "assistant", "content": given},
        "openai_chat": {"role": "assistant", "content": "ok", "annotations": given},
    }
    key = "input" if format == "openai_responses" else "messages"
    history = [{"role": "user", "content": "one"}, parts[format]]
    async with Memorist(home=tmp_path) as engine:
        session = await engine.open("s", format=format)
        sent = await session.prepare({"model": "m", key: history})
        history = [*history, {"role": "user", "content": "two"}]
        await session.prepare({"model": "m", key: history})
        bad = {"role": "user", "content": [{"type": "text", "text": "x", "extra": {(1, 2): 3}}]}
        with pytest.raises(WireFormatError, match="no JSON"):
            await session.prepare({"model": "m", key: [*history, bad]})
        await session.prepare({"model": "m", key: [*history, {"role": "user", "content": "end"}]})

    kept = read_transcript(session.layout.transcript)
    said = [each.text for each in kept if isinstance(each, Message) and each.origin == "user"]
    assert json.loads(json.dumps(sent))[key][1] == json.loads(json.dumps(parts[format]))
    assert said == ["one", "two", "end"]
    assert not caplog.records


def test_an_sdks_objects_and_tuples_are_copied_as_they_are_sent() -> None:
    """An object that says what it is on the wire becomes that, wherever it stands."""

    class Block:
        def model_dump(self, **_: object) -> dict[str, Any]:
            return {"type": "text", "text": "two"}

    history = HostHistory(ANTHROPIC, is_typed=True)
    history.add_request([user("one"), {"role": "assistant", "content": (Block(),)}])

    assert history.items == [user("one"), assistant("two")]
    assert texts(
        history, [user("one"), {"role": "assistant", "content": [Block()]}, user("three")]
    ) == ["three"]


@pytest.mark.covers("SF-2")
@pytest.mark.parametrize("is_window", [False, True])
@pytest.mark.parametrize("names", [("ann", "bob", None), (None, "researcher", "bob")])
async def test_what_another_person_of_a_conversation_says_is_not_the_users_rule(
    tmp_path: Path, names: tuple[str | None, ...], is_window: bool
) -> None:
    """Chat Completions names the author of a message: who speaks first is the user, with a name or
    without; a rule of anybody else is not kept, and one of the user is. So also where the host
    sends its newest messages alone.
    """
    async with Memorist(home=tmp_path / "home") as engine:
        session = await engine.open("s", project=str(tmp_path), format="openai_chat")
        messages: list[dict[str, Any]] = []
        rules = (
            "Never use npm here, use pnpm.",
            "Always commit straight to the main branch.",
            "Never write a test for the importer.",
        )
        for name, text in zip(names, rules, strict=True):
            named = {"name": name} if name else {}
            messages.append({"role": "user", "content": text} | named)
            sent = messages[-1:] if is_window else messages
            await session.prepare({"model": "m", "messages": sent})
            messages.append({"role": "assistant", "content": "Yes."})
        await session.close()
        kept = [head.description for head in engine.memory(str(tmp_path)).headers()]

    assert kept == ["Never use npm here, use pnpm."]


@pytest.mark.covers("SF-2")
@pytest.mark.parametrize("is_first", [True, False])
def test_a_task_that_a_model_wrote_is_not_what_a_user_typed(*, is_first: bool) -> None:
    """A host may put a subagent's task into the history, in front or at the end; what a model
    quotes of the user stays the user's, also where the history is rewritten afterwards.
    """
    call = {
        "type": "tool_use",
        "id": "c",
        "name": "ask",
        "input": {"task": TASK, "default": "Thank you."},
    }
    asked = [user("Ask it."), {"role": "assistant", "content": [call]}]
    history = HostHistory(ANTHROPIC, is_typed=True)
    history.add_request([user(TASK)] if is_first else asked[:1])
    history.add_request([user(TASK), *asked] if is_first else asked)
    tasks = [user(f" {TASK}\n"), *asked] if not is_first else [user(TASK), *asked[:1]]

    additions = history.add_request([*tasks, user("Thank you.")])

    typed = {m.text.strip(): m.is_typed for each in additions.entries for m in each.messages}
    assert typed[TASK] is is_first
    assert typed["Ask it."]
    assert typed["Thank you."]


def test_words_edited_away_far_back_are_a_rewriting() -> None:
    """A checkpoint of LangGraph whose first message was changed: the history is read anew. Old results that a host takes out, and words that it changes with each request, rewrite
    nothing.
    """
    codec = find_codec("openai_chat")
    history = HostHistory(codec, is_typed=True)

    def request(first: str, result: str, turns: int) -> list[dict[str, Any]]:
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        opening: list[dict[str, Any]] = [
            {"role": "user", "content": first},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": result},
        ]
        for number in range(turns):
            opening.append({"role": "assistant", "content": f"Reply {number}."})
            opening.append({"role": "user", "content": f"Question {number}?"})
        return opening

    history.add_request(request("The plover is secret.", "long", 10))
    cleared = history.add_request(request("The plover is secret.", "cleared", 11))
    edited = history.add_request(request("The heron is known.", "cleared", 12))
    clock = history.add_request(request("The heron is known, at noon.", "cleared", 13))

    assert not cleared.rewritten
    assert edited.rewritten
    assert "plover" not in str(history.entries)
    assert not clock.rewritten

"""Any history becomes one that the provider takes."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.context.history_repair import CONTINUATION_OPENING, normalize_history
from memorist.core.messages import (
    MISSING_OUTPUT,
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResult,
    ToolUse,
    UnknownBlock,
)
from memorist.core.token_count import estimate_text_tokens
from memorist.errors import WireFormatError
from memorist.formats.codec_registry import find_codec
from memorist.testing.request_checks import find_request_problem
from support.sweeps import examples, sampled

FORMATS = ["anthropic", "openai_responses", "openai_chat"]
BY_FORMAT = pytest.mark.parametrize("name", FORMATS)
IDS = st.sampled_from(["a", "b", "c", "a-2", "d"])
PICTURE = ImageBlock({"type": "base64", "media_type": "image/png", "data": "AAAA"})
PARTS = st.one_of(
    st.builds(TextBlock, st.text(max_size=3)),
    st.just(PICTURE),
    st.builds(UnknownBlock, st.just("odd"), st.just({"type": "odd", "text": "x"})),
)
BLOCKS = st.one_of(
    st.builds(TextBlock, st.text(max_size=3)),
    st.builds(ToolUse, IDS, st.just("run"), st.just({"x": 1})),
    st.builds(
        ToolResult, IDS, st.lists(PARTS, max_size=3).map(tuple), st.booleans(), plain=st.just(False)
    ),
    st.builds(ThinkingBlock, st.just("hm"), st.none() | st.just("sig")),
    st.builds(RedactedThinkingBlock, st.just("zz")),
    st.just(PICTURE),
    st.just(DocumentBlock({"type": "text", "media_type": "text/plain", "data": "words"})),
    st.builds(UnknownBlock, st.just("odd"), st.just({"type": "odd", "text": "x"})),
)
FOREIGN = st.builds(
    Message,
    id=st.just("m"),
    role=st.sampled_from(["user", "assistant", "tool", "developer"]),
    blocks=st.lists(BLOCKS, max_size=4).map(tuple),
    origin=st.sampled_from([Origin.USER, Origin.MODEL, Origin.TOOL]),
)
ODD = st.sampled_from(
    [
        None,
        5,
        "x",
        {},
        {"type": "odd", "id": "u1"},
        {"role": "alien", "content": "x"},
        {"role": "user", "content": None},
    ]
)
TEXTS = st.sampled_from(["", " ", "words"])


def wire(name: str) -> st.SearchStrategy[Any]:
    """Entries as hosts send them, whole and broken."""
    if name == "anthropic":
        block = st.one_of(
            st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
            st.builds(lambda call: {"type": "tool_use", "id": call, "name": "n", "input": {}}, IDS),
            st.builds(
                lambda call: {"type": "tool_result", "tool_use_id": call, "content": "ok"}, IDS
            ),
            st.sampled_from(
                [
                    {"type": "thinking", "thinking": "", "signature": "s"},
                    {"type": "odd"},
                    {"type": "tool_use", "id": 3},
                ]
            ),
            st.sampled_from(
                [
                    {"type": "text"},
                    {"type": "tool_result"},
                    {"type": "server_tool_use", "id": "s", "name": "n", "input": {}},
                ]
            ),
        )
        role = st.sampled_from(["user", "assistant", "assistant", "user", "system"])
        content = st.lists(block, max_size=4) | TEXTS
        return ODD | st.builds(
            lambda role, content: {"role": role, "content": content}, role, content
        )
    if name == "openai_chat":
        call = st.builds(
            lambda i: {"id": i, "type": "function", "function": {"name": "n", "arguments": "{}"}},
            IDS,
        )
        return st.one_of(
            ODD,
            st.builds(lambda text: {"role": "user", "content": text}, TEXTS),
            st.builds(
                lambda calls: {"role": "assistant", "content": None, "tool_calls": calls},
                st.lists(call, max_size=3),
            ),
            st.just({"role": "assistant", "content": "x", "tool_calls": [{"id": 3}, {"id": "q"}]}),
            st.builds(lambda i: {"role": "tool", "tool_call_id": i, "content": "ok"}, IDS),
            st.sampled_from(
                [{"role": "tool", "content": "x"}, {"role": "developer", "content": "d"}]
            ),
        )
    kinds = st.sampled_from(
        [
            "function_call",
            "custom_tool_call",
            "local_shell_call",
            "shell_call",
            "computer_call",
            "apply_patch_call",
        ]
    )
    return st.one_of(
        ODD,
        st.builds(lambda text: {"type": "message", "role": "user", "content": text}, TEXTS),
        st.builds(
            lambda kind, i: {
                "type": kind,
                "call_id": i,
                "name": "n",
                "arguments": "{}",
                "input": "",
                "action": {},
                "operation": {},
            },
            kinds,
            IDS,
        ),
        st.builds(
            lambda kind, i: {"type": f"{kind}_output", "call_id": i, "output": "ok"}, kinds, IDS
        ),
        st.sampled_from(
            [
                {"type": "function_call", "call_id": None},
                {"type": "function_call_output", "output": "x"},
            ]
        ),
        st.sampled_from(
            [
                {"type": "tool_search_call", "call_id": None, "execution": "server"},
                {"type": "reasoning", "summary": []},
            ]
        ),
        st.sampled_from(
            [{"type": "tool_search_call", "call_id": "a", "execution": "client", "arguments": {}}]
        ),
    )


def body(name: str, messages: tuple[Message, ...]) -> dict[str, Any]:
    wire_codec = find_codec(name)
    return {
        "model": "m",
        "max_tokens": 1,
        wire_codec.history_key(): wire_codec.encode_messages(messages),
    }


def histories(name: str) -> st.SearchStrategy[list[Message]]:
    """Messages of this wire, of the others, and of none, in one list."""
    read = find_codec(name)
    native = wire(name).map(lambda item: read.decode_item(item, id="w")[0])
    other = FORMATS[(FORMATS.index(name) + 1) % 3]
    read_other = find_codec(other)
    translated = wire(other).map(lambda item: read_other.decode_item(item, id="o")[0])
    return st.one_of(
        st.lists(native, max_size=10),
        st.lists(FOREIGN, max_size=10),
        st.lists(native | FOREIGN | translated, max_size=10),
    )


@pytest.mark.covers("CX-5")
@BY_FORMAT
@given(data=st.data())
def test_any_history_becomes_one_that_the_strict_provider_takes(
    name: str, data: st.DataObject
) -> None:
    """Whatever stands in a history, what is sent is not refused, and normalising it again changes
    nothing.
    """
    messages = data.draw(histories(name))
    done = normalize_history(messages, name)
    sent = body(name, done)

    assert find_request_problem(name, sent, window=10**9, tokens=0) is None
    assert normalize_history(done, name) == done
    again = find_codec(name).decode_request(sent)
    history = normalize_history(
        [*again.system, *again.messages] if name == "openai_chat" else again.messages, name
    )
    assert find_request_problem(name, body(name, history), window=10**9, tokens=0) is None


def said(role: Any, *blocks: Any, id: str = "m") -> Message:
    return Message(
        id=id,
        role=role,
        blocks=blocks,
        origin=Origin.MODEL if role == "assistant" else Origin.USER,
        is_typed=(Origin.MODEL if role == "assistant" else Origin.USER) is Origin.USER,
    )


ASK = said("user", TextBlock("do it"))
CALL = ToolUse("t1", "run", {})
DONE = ToolResult("t1", (TextBlock("ok"),))


@pytest.mark.covers("CX-5")
@BY_FORMAT
def test_a_sound_history_stays_as_it_is(name: str) -> None:
    """What is in order is the very same object afterwards: its bytes stay in the cache."""
    messages = [
        ASK,
        said("assistant", TextBlock("yes"), CALL),
        said("tool", DONE),
        said("assistant", TextBlock("done")),
    ]

    assert all(
        one is other for one, other in zip(normalize_history(messages, name), messages, strict=True)
    )


@pytest.mark.covers("CX-5")
@BY_FORMAT
def test_a_missing_output_is_the_same_each_time(name: str) -> None:
    """The made output has a constant text and an id that follows from the call's, however long the
    history becomes.
    """
    short = normalize_history([ASK, said("assistant", CALL), said("user", TextBlock("stop"))], name)
    long = normalize_history(
        [
            ASK,
            said("assistant", CALL),
            said("user", TextBlock("stop")),
            said("assistant", TextBlock("well")),
            ASK,
        ],
        name,
    )

    (made,) = short[2].tool_results
    assert made.text == MISSING_OUTPUT
    assert made.is_error
    assert long[: len(short)] == short


@pytest.mark.covers("CX-5")
@BY_FORMAT
def test_an_output_without_its_call_goes(name: str) -> None:
    """An orphan is not sent; the words beside it are."""
    done = normalize_history([ASK, said("user", DONE, TextBlock("and more"))], name)

    assert not any(message.tool_results for message in done)
    assert "and more" in done[-1].text


@pytest.mark.covers("CX-5")
def test_neighbours_of_one_role_are_merged_for_anthropic_with_outputs_first() -> None:
    """Two user entries become one, and a tool's answer stands before the words."""
    items = [
        {"role": "user", "content": "do it"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "run", "input": {}}],
        },
        {"role": "user", "content": "wait"},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}],
        },
    ]
    read = find_codec("anthropic")
    sent = body(
        "anthropic",
        normalize_history(
            [read.decode_item(item, id=str(n))[0] for n, item in enumerate(items)], "anthropic"
        ),
    )["messages"]

    assert [entry["role"] for entry in sent] == ["user", "assistant", "user"]
    assert [block["type"] for block in sent[2]["content"]] == ["tool_result", "text"]


@pytest.mark.covers("CX-5")
def test_a_history_for_anthropic_begins_with_the_user() -> None:
    """Constant words stand before an assistant's first message, and for no history at all."""
    assert (
        normalize_history([said("assistant", TextBlock("hello"))], "anthropic")[0].text
        == CONTINUATION_OPENING
    )
    assert normalize_history([], "openai_chat")[0].text == CONTINUATION_OPENING


@pytest.mark.covers("CX-5")
def test_unknown_items_stay() -> None:
    """An item that nobody knows is sent as it came."""
    item = {"type": "made_up", "x": [1]}

    done = normalize_history(
        find_codec("openai_responses").decode_item(item, id="u"), "openai_responses"
    )

    assert body("openai_responses", done)["input"] == [item]


@pytest.mark.covers("CX-5")
@BY_FORMAT
def test_pictures_stay(name: str) -> None:
    """In what the user sends, and in outputs too."""
    messages = [
        said("user", PICTURE),
        said("assistant", CALL),
        said("tool", ToolResult("t1", (PICTURE,), plain=False)),
    ]

    assert normalize_history(messages, name) == tuple(messages)


@pytest.mark.covers("CX-6")
@examples(15, whole=50)
@given(texts=st.lists(st.integers(0, 900), min_size=1, max_size=6), limit=st.integers(64, 300))
def test_a_long_output_is_cut_once_in_the_middle(texts: list[int], limit: int) -> None:
    """What is left fits the limit with its marks, and cutting it again changes nothing."""
    parts = tuple(TextBlock(f"{n} " * n) for n in texts)
    done = normalize_history(
        [ASK, said("assistant", CALL), said("tool", ToolResult("t1", parts, plain=False))],
        "openai_responses",
        tool_tokens=limit,
    )

    assert (
        sum(
            estimate_text_tokens(part.text)
            for part in done[2].tool_results[0].content
            if isinstance(part, TextBlock)
        )
        <= limit
    )
    assert normalize_history(done, "openai_responses", tool_tokens=limit) == done


@pytest.mark.covers("CX-6")
def test_half_of_a_cut_output_is_its_start_and_half_its_end() -> None:
    """By default 10,000 tokens stay: the start and the end in equal parts, with a mark between
    them.
    """
    text = "\n".join(f"line {number}" for number in range(50_000))

    (cut,) = normalize_history(
        [ASK, said("assistant", CALL), said("tool", ToolResult("t1", (TextBlock(text),)))],
        "anthropic",
    )[2].tool_results

    head, mark, tail = cut.text.partition("tokens cut")
    assert mark
    assert text.startswith(head.rpartition("\n")[0])
    assert text.endswith(tail.partition("\n")[2])
    assert 9_900 <= estimate_text_tokens(cut.text) <= 10_000
    assert abs(len(head) - len(tail)) < 100


@pytest.mark.covers("CX-5")
def test_the_same_id_twice_is_told_apart() -> None:
    """Each call has an id of its own afterwards, and its own output."""
    messages = [
        ASK,
        said("assistant", CALL),
        said("tool", DONE),
        said("assistant", CALL),
        said("tool", ToolResult("t1", (TextBlock("two"),))),
    ]

    done = normalize_history(messages, "anthropic")

    assert [call.id for message in done for call in message.tool_uses] == ["t1", "t1-2"]
    assert [
        (result.tool_use_id, result.text) for message in done for result in message.tool_results
    ] == [("t1", "ok"), ("t1-2", "two")]


@pytest.mark.covers("CX-5")
@pytest.mark.parametrize("name", sampled(FORMATS, {FORMATS[0]}))
def test_the_work_is_linear(name: str) -> None:
    """The steps that Python takes grow as the messages do, for calls without outputs, with late
    ones and with one id for all.
    """

    def steps(size: int) -> int:
        messages = [
            message
            for number in range(size)
            for message in (
                said("assistant", ToolUse(f"t{number % (size // 2)}", "run", {})),
                said("user", TextBlock("x")),
            )
        ] + [
            said("tool", ToolResult(f"t{number}", (TextBlock("late"),)))
            for number in range(size // 2)
        ]
        count = 0

        def counted(frame: object, event: str, argument: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(counted)
        try:
            normalize_history(messages, name)
        finally:
            sys.setprofile(None)
        return count

    assert steps(2_000) < 2.5 * steps(1_000)


def test_another_format_is_refused() -> None:
    """The names of the formats are said."""
    with pytest.raises(WireFormatError, match="openai_chat"):
        normalize_history([], "gopher")


def test_reasoning_that_nothing_follows_is_dropped() -> None:
    """After an interruption OpenAI refuses an item of reasoning by its id; what has none, as Codex
    sends it, stays, and so does reasoning before the model's own item.
    """
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}
    named = {"type": "reasoning", "id": "rs_1", "summary": []}
    call = {"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}
    done = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    bare = {"type": "reasoning", "summary": [], "encrypted_content": "e"}
    codec = find_codec("openai_responses")
    kept = [said, named, call, done, bare, said]
    items = [said, named, call, done, named, bare, said, named]
    messages = codec.decode_request({"model": "m", "input": items}).messages

    sent = normalize_history(messages, "openai_responses")

    assert codec.encode_messages(sent) == kept
    assert normalize_history(sent, "openai_responses") == sent


@BY_FORMAT
def test_ids_of_another_clients_calls_become_such_as_the_provider_takes(name: str) -> None:
    """Some clients join two ids, or write punctuation into one; a provider's own stay."""
    ids = ["call_1|fc_" + "0" * 60, "functions.bash:0", "toolu_1"]
    blocks = tuple(ToolUse(id, "run", {}) for id in ids)
    results = tuple(ToolResult(id, (TextBlock(id),)) for id in reversed(ids))
    history = (
        Message(id="u", role="user", blocks=(TextBlock("go"),), origin=Origin.USER, is_typed=True),
        Message(id="a", role="assistant", blocks=blocks, origin=Origin.MODEL),
        Message(id="r", role="user", blocks=results, origin=Origin.TOOL),
    )

    sent = normalize_history(history, name)

    calls = [use.id for message in sent for use in message.tool_uses]
    assert all(re.fullmatch(r"[\w-]{1,40}", call) for call in calls)
    assert calls[2] == "toolu_1"
    found = {each.tool_use_id: each.text for message in sent for each in message.tool_results}
    assert [found[call] for call in calls] == ids

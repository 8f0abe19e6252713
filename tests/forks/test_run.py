"""A fork from its first request to its receipt, in all three wire formats."""

from __future__ import annotations

import asyncio
import copy
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memorist.core.messages import JsonObject, Usage
from memorist.forks.answer_form import FormTask
from memorist.forks.file_tool_calls import EditFileCall, TextReplacement
from memorist.forks.fork_request import FORK_MARK, is_fork_request, is_parent_model
from memorist.forks.fork_runner import load_fork_prompts, run_fork
from memorist.forks.fork_spec import (
    EditMethod,
    FolderAccess,
    ForkLimits,
    ForkOutcome,
    ForkPermission,
    ForkSpec,
    NoToolsPermission,
    ParentCall,
    Receipt,
    SingleFileEdit,
)
from memorist.forks.text_edits import ParsedAnswerEdits
from memorist.formats.codec_registry import find_codec
from memorist.formats.request_codec import OUTPUT_LIMIT_KEYS, REPEATED_REASON
from memorist.ports import Request
from memorist.testing import CallTool, FrozenClock, InMemoryFiles, ReplyParts, Say, ScriptedModel
from memorist.testing.steps import Step

FORMATS = ["anthropic", "openai_responses", "openai_chat"]
NOTES = Path("/mem/notes.md")
PLACEHOLDER = load_fork_prompts().placeholder.strip()


def tools(wire: str, names: tuple[str, ...]) -> list[JsonObject]:
    schema = {"type": "object", "properties": {}}
    match wire:
        case "anthropic":
            return [{"name": name, "description": name, "input_schema": schema} for name in names]
        case "openai_responses":
            return [
                {
                    "type": "function",
                    "name": name,
                    "description": name,
                    "parameters": schema,
                    "strict": False,
                }
                for name in names
            ]
        case _:
            return [
                {
                    "type": "function",
                    "function": {"name": name, "description": name, "parameters": schema},
                }
                for name in names
            ]


def parent_request(
    wire: str, *, names: tuple[str, ...] = ("Read", "Edit", "Bash"), size: int = 200
) -> Request:
    """A parent's request with a cache mark at its end where the format has marks."""
    long = "word " * size
    body: JsonObject
    match wire:
        case "anthropic":
            mark = {"cache_control": {"type": "ephemeral"}}
            body = {
                "model": "model",
                "max_tokens": 4_096,
                "system": [{"type": "text", "text": "Be good.", **mark}],
                "messages": [{"role": "user", "content": [{"type": "text", "text": long, **mark}]}],
                "thinking": {"type": "disabled"},
            }
        case "openai_responses":
            body = {
                "model": "model",
                "instructions": "Be good.",
                "input": [{"role": "user", "content": long}],
                "prompt_cache_key": "k",
            }
        case _:
            body = {
                "model": "model",
                "messages": [
                    {"role": "system", "content": "Be good."},
                    {"role": "user", "content": long},
                ],
                "temperature": 0,
            }
    return Request(format=wire, body=body | {"tools": tools(wire, names)})


async def parent_of(model: ScriptedModel, **options: Any) -> ParentCall:
    """Play the parent's last turn on the model, so that its prefix is in the cache as it would be."""
    asked = parent_request(model.format, **options)
    reply = await model.send(asked)
    return ParentCall(asked, reply.body)


def edit(old: str, new: str, path: Path = NOTES) -> CallTool:
    return CallTool(
        name="Edit", input={"file_path": str(path), "old_string": old, "new_string": new}
    )


def memory(text: bytes = b"one\ntwo\n") -> InMemoryFiles:
    files = InMemoryFiles()
    files.write(NOTES, text)
    return files


def spec(parent: ParentCall | None, **changes: Any) -> ForkSpec:
    plain: dict[str, Any] = {
        "label": "notes",
        "why": "a test",
        "instruction": "Bring the notes up to date.",
        "permission": SingleFileEdit(NOTES),
        "known_files": (NOTES,),
    }
    return ForkSpec(parent=parent, **(plain | changes))


async def play(
    script: list[Step],
    *,
    wire: str = "anthropic",
    parent: Step | None = None,
    files: InMemoryFiles | None = None,
    names: tuple[str, ...] = ("Read", "Edit", "Bash"),
    **changes: Any,
) -> tuple[Receipt, ScriptedModel, InMemoryFiles]:
    files = files or memory()
    clock = FrozenClock()
    model = ScriptedModel([parent or Say(text="Parent speaks."), *script], format=wire, clock=clock)
    receipt = await run_fork(
        spec(await parent_of(model, names=names), **changes), model=model, files=files, clock=clock
    )
    return receipt, model, files


def encoded(value: object) -> bytes:
    return msgspec.json.encode(value)


@pytest.mark.covers("FK-1")
@pytest.mark.parametrize("wire", FORMATS)
async def test_every_request_of_a_fork_extends_the_parents_byte_for_byte(wire: str) -> None:
    """The history goes on where the last request's ended; all other keys are the same bytes in the
    same order.
    """
    parent = ReplyParts(
        parts=(
            Say(text="I look."),
            CallTool(name="Bash", input={"command": "ls"}),
            CallTool(name="Read", input={"file_path": "/x"}),
        )
    )

    receipt, model, _ = await play(
        [edit("one", "1"), edit("two", "2"), Say(text="Done.")], wire=wire, parent=parent
    )

    key = find_codec(wire).history_key()
    first, *forks = [sent.body for sent in model.requests]
    assert receipt.outcome is ForkOutcome.CHANGED
    assert len(forks) == 3
    for before, after in zip([first, *forks], forks, strict=False):
        assert encoded({**before, key: []}) == encoded({**after, key: []})
        assert list(before) == list(after)
        assert encoded(after[key]).startswith(encoded(before[key])[:-1] + b",")


@pytest.mark.covers("FK-1")
@pytest.mark.parametrize("wire", FORMATS)
async def test_open_calls_of_the_reply_get_one_constant_answer_each(wire: str) -> None:
    """The provider takes the request (it is checked strictly), and the answers are the same text
    for every call.
    """
    parent = ReplyParts(
        parts=(
            CallTool(name="Bash", input={"command": "ls"}),
            CallTool(name="Read", input={"file_path": "/x"}),
        )
    )

    _, model, _ = await play([Say(text="Nothing to do.")], wire=wire, parent=parent)

    messages = find_codec(wire).decode_request(model.requests[1].body).messages
    answers = [result.text for message in messages for result in message.tool_results]
    assert answers == [PLACEHOLDER, PLACEHOLDER]
    assert messages[-1].role == "user"
    assert FORK_MARK in messages[-1].text
    assert "Bring the notes up to date." in messages[-1].text


@pytest.mark.covers("FK-1")
async def test_a_custom_tools_open_call_is_answered_in_its_own_kind() -> None:
    """In Responses a call with free text is paired with a `custom_tool_call_output`, for the
    placeholder and for the fork's own calls.
    """
    patch = f"*** Begin Patch\n*** Update File: {NOTES}\n-one\n+1\n*** End Patch"
    open_call = CallTool(name="apply_patch", arguments="*** Begin Patch", custom=True)
    own_call = CallTool(name="apply_patch", arguments=patch, custom=True)

    receipt, model, files = await play(
        [own_call, Say(text="Done.")],
        wire="openai_responses",
        parent=open_call,
        names=("apply_patch", "exec_command"),
    )

    kinds = [item.get("type") for item in model.requests[-1].body["input"]]
    assert kinds.count("custom_tool_call_output") == 2
    assert receipt.outcome is ForkOutcome.CHANGED
    assert files.read(NOTES) == b"1\ntwo\n"


@pytest.mark.covers("FK-1")
@pytest.mark.parametrize("wire", FORMATS)
async def test_a_fork_of_a_long_parent_reads_nearly_all_from_the_cache(wire: str) -> None:
    """By the provider's own way of counting at least 95 % of the input is a cache read, and none of
    the fork's tail is written to the cache.
    """
    clock = FrozenClock()
    model = ScriptedModel(
        [Say(text="Parent speaks."), edit("one", "1"), Say(text="Done.")],
        format=wire,
        window=400_000,
    )
    parent = await parent_of(model, size=60_000)

    receipt = await run_fork(spec(parent), model=model, files=memory(), clock=clock)

    usage = receipt.usage
    assert receipt.turns == 2
    assert usage.cache_read >= 0.95 * (usage.input + usage.cache_read + usage.cache_write)
    assert usage.cache_write == 0


@pytest.mark.covers("FK-2")
@pytest.mark.parametrize("wire", FORMATS)
async def test_the_parents_request_and_reply_are_never_changed(wire: str) -> None:
    """What the fork is made from is the same after the run."""
    model = ScriptedModel(
        [CallTool(name="Bash", input={"command": "ls"}), edit("one", "1"), Say(text="Done.")],
        format=wire,
    )
    parent = await parent_of(model)
    before = copy.deepcopy(parent)

    await run_fork(spec(parent), model=model, files=memory(), clock=FrozenClock())

    assert encoded(parent) == encoded(before)


@pytest.mark.covers("FK-3")
@pytest.mark.parametrize("wire", FORMATS)
async def test_a_denied_call_tells_the_model_why(wire: str) -> None:
    """The reason stands in the answer to the call and in the receipt; the fork can go on."""
    receipt, model, _ = await play(
        [CallTool(name="Bash", input={"command": "rm -r /"}), edit("one", "1"), Say(text="Done.")],
        wire=wire,
    )

    messages = find_codec(wire).decode_request(model.requests[2].body).messages
    (answer,) = [result for message in messages for result in message.tool_results]
    assert f"Only an edit of {NOTES} is allowed here." in answer.text
    assert receipt.denied == (answer.text.removeprefix("Denied. "),)
    assert receipt.outcome is ForkOutcome.CHANGED


@pytest.mark.covers("FK-3")
async def test_a_denied_call_is_marked_as_an_error_and_answers_share_one_message() -> None:
    """In Anthropic's format the answers to one reply stand in one user message, the denied one
    flagged.
    """
    _, model, _ = await play(
        [ReplyParts(parts=(edit("one", "1"), CallTool(name="Task", input={}))), Say(text="Done.")]
    )

    content = model.requests[2].body["messages"][-1]["content"]
    assert [(block["type"], block.get("is_error", False)) for block in content] == [
        ("tool_result", False),
        ("tool_result", True),
    ]
    assert "cache_control" not in encoded(content).decode()


@pytest.mark.covers("FK-8")
@pytest.mark.parametrize("wire", FORMATS)
async def test_saying_done_without_an_effect_is_unchanged(wire: str) -> None:
    """A model that claims work it did not do gets the outcome `unchanged` and an empty list of
    files.
    """
    receipt, _, files = await play([Say(text="I have updated the notes.")], wire=wire)

    assert receipt.outcome is ForkOutcome.UNCHANGED
    assert receipt.files == ()
    assert receipt.said == "I have updated the notes."
    assert files.read(NOTES) == b"one\ntwo\n"


@pytest.mark.covers("FK-8")
async def test_the_receipt_counts_what_was_used() -> None:
    """Requests, turns, tokens by kind and price add up over the run."""
    one, two = (
        Usage(input=10, cache_read=100, cache_write=5, output=7),
        Usage(input=1, cache_read=200, output=2),
    )
    model = ScriptedModel(
        [
            Say(text="x"),
            CallTool(name="Edit", input=edit("one", "1").input, usage=one),
            Say(text="Done.", usage=two),
        ]
    )
    clock = FrozenClock(50.0)
    told: list[Receipt] = []

    receipt = await run_fork(
        spec(await parent_of(model)),
        model=model,
        files=memory(),
        clock=clock,
        cost=lambda usage: usage.output / 1_000,
        record=told.append,
    )

    assert told == [receipt]
    assert receipt.usage == one + two
    assert (receipt.requests, receipt.turns) == (2, 2)
    assert receipt.cost_usd == pytest.approx(0.009)
    assert (receipt.label, receipt.why, receipt.model, receipt.started) == (
        "notes",
        "a test",
        "scripted:model",
        50.0,
    )
    assert [(change.path, change.before, change.after) for change in receipt.files] == [
        (str(NOTES), 8, 6)
    ]


@pytest.mark.covers("FK-5", "FK-8")
async def test_retries_count_as_requests() -> None:
    """A provider that has to be asked three times for an answer uses up three of the requests."""

    class Retried(ScriptedModel):
        async def send(self, request: Request) -> Any:
            return msgspec.structs.replace(await super().send(request), attempts=3)

    model = Retried([Say(text="Parent."), again(0), other(1), other(2)])
    changes = {"permission": FolderAccess(folder=NOTES.parent), "limits": ForkLimits(requests=5)}

    receipt = await run_fork(
        spec(await parent_of(model), **changes), model=model, files=memory(), clock=FrozenClock()
    )

    assert (receipt.requests, receipt.turns, receipt.outcome) == (6, 2, ForkOutcome.OVER_LIMIT)


@pytest.mark.covers("FK-8")
async def test_an_unknown_price_makes_the_cost_unknown() -> None:
    """No price is not a price of zero."""
    receipt, _, _ = await play([Say(text="Done.")])

    assert receipt.cost_usd is None


@pytest.mark.covers("FK-6")
@pytest.mark.parametrize("wire", FORMATS)
async def test_without_file_tools_edits_are_read_from_the_text(wire: str) -> None:
    """A host without an editing tool is asked for edits in text; its tool list stays as it is."""
    answer = f'<edit path="{NOTES}"><old>one</old><new>1</new></edit>'

    receipt, model, files = await play([Say(text=answer)], wire=wire, names=("search_web",))

    task = find_codec(wire).decode_request(model.requests[1].body).messages[-1].text
    assert "<edit path=" in task
    assert model.requests[1].body["tools"] == model.requests[0].body["tools"]
    assert receipt.outcome is ForkOutcome.CHANGED
    assert receipt.turns == 1
    assert files.read(NOTES) == b"1\ntwo\n"


@pytest.mark.covers("FK-6")
async def test_edits_in_the_text_count_beside_file_tools_too() -> None:
    """A small model that has an editing tool and writes its edit as text has made it; what is wrong
    with it is told.
    """
    broken = f'<edit path="{NOTES}"><old>one</old></edit>'
    whole = f'<edit path="{NOTES}"><old>one</old><new>1</new></edit>'

    receipt, model, files = await play([Say(text=broken), Say(text=whole)])

    report = find_codec("anthropic").decode_request(model.requests[2].body).messages[-1].text
    assert "pairs of <old> and <new>" in report
    assert receipt.outcome is ForkOutcome.CHANGED
    assert files.read(NOTES) == b"1\ntwo\n"


@pytest.mark.covers("FK-6", "FK-3")
async def test_text_edits_stand_under_the_same_permission_and_failures_go_back() -> None:
    """A denied path, a text that is not there and a broken element are named in one report; the
    good edit is made; the mended one too.
    """
    first = f"""<edit path="{NOTES}"><old>one</old><new>1</new></edit>
<edit path="/mem/other.md"><old>x</old><new>y</new></edit>
<write path="{NOTES}">all</write>
<edit path="{NOTES}"><old>tow</old><new>2</new></edit>
<edit path="{NOTES}"><old>x</old></edit>"""
    second = f'<edit path="{NOTES}"><old>two</old><new>2</new></edit>'

    receipt, model, files = await play([Say(text=first), Say(text=second)], names=())

    report = find_codec("anthropic").decode_request(model.requests[2].body).messages[-1].text
    assert report.count("\n- ") == 4
    assert all(
        word in report
        for word in (
            "/mem/other.md is another file",
            "as a whole",
            "exactly so: tow",
            "pairs of <old> and <new>",
        )
    )
    assert len(receipt.denied) == 2
    assert receipt.outcome is ForkOutcome.CHANGED
    assert files.read(NOTES) == b"1\n2\n"


@pytest.mark.covers("FK-7")
async def test_a_fork_of_a_small_model_is_cut_to_its_window() -> None:
    """The summary of the history is cut between its start and its newest lines, and the answer gets
    its part of the window, so that nothing is refused for its length.
    """
    model = ScriptedModel([Say(text="Done.")], format="openai_chat", window=4_096)
    summary = "Derived first. " + "It went on and on. " * 2_000 + "Newest last."

    receipt = await run_fork(
        spec(None, history_summary=summary), model=model, files=memory(), clock=FrozenClock()
    )

    sent = model.requests[0].body
    text = str(sent["messages"])
    assert receipt.outcome is ForkOutcome.UNCHANGED
    assert len(text) < 3_072 * 4
    assert "Derived first." in text
    assert "Newest last." in text
    assert sent["max_completion_tokens"] == 1_024


@pytest.mark.covers("FK-7")
@pytest.mark.parametrize("words", [1, 200, 500, 900])
async def test_no_later_turn_of_a_fork_is_longer_than_the_window(words: int) -> None:
    """Each turn asks for no more output than the window still holds. Where that is nothing it is
    not sent, so that no server refuses it, and the receipt says why the fork ended.
    """
    wrong = [
        f'{"word " * words}<edit path="{NOTES}">\n<old>\nnone {number}\n</old>\n'
        f"<new>\nx\n</new>\n</edit>"
        for number in range(5)
    ]
    model = ScriptedModel(
        [*(Say(text=each) for each in wrong), Say(text="Done.")], format="openai_chat", window=4_096
    )

    receipt = await run_fork(
        spec(None, history_summary="It went on. " * 600, edit_method=EditMethod.TEXT),
        model=model,
        files=memory(),
        clock=FrozenClock(),
    )

    sizes = [
        sum(len(each["content"]) for each in sent.body["messages"]) // 4
        + sent.body["max_completion_tokens"]
        for sent in model.requests
    ]
    assert max(sizes) <= 4_096
    assert receipt.outcome is ForkOutcome.OVER_LIMIT
    assert ("models.window" in receipt.said) is (words > 200)


def build_form() -> FormTask:
    """One new text for the notes."""
    return FormTask(
        instruction="Fill in the form.",
        material="The notes: one, two.",
        schema={"type": "object", "properties": {"text": {"type": "string"}}},
        read=lambda answer: ParsedAnswerEdits(
            (EditFileCall(str(NOTES), (TextReplacement("one\ntwo\n", str(answer["text"])),)),)
        ),
    )


@pytest.mark.covers("FK-6", "FK-7")
@pytest.mark.parametrize("wire", FORMATS)
async def test_a_form_is_filled_in_as_json_of_a_schema(wire: str) -> None:
    """A fresh request carries the schema in the format's own way, the task first and then the
    data, and a program makes the edit of the JSON answer.
    """
    model = ScriptedModel([Say(text='{"text": "one\\n2\\n"}')], format=wire)
    files = memory()

    receipt = await run_fork(
        spec(None, history_summary="What happened.", form=build_form(), known_files=(NOTES,)),
        model=model,
        files=files,
        clock=FrozenClock(),
    )

    sent = encoded(model.requests[0].body).decode()
    assert '"json_schema"' in sent
    assert "Fill in the form." in sent
    assert "What happened." in sent
    assert "The notes: one, two." in sent
    assert "<edit path" not in sent
    assert receipt.outcome is ForkOutcome.CHANGED
    assert files.read(NOTES) == b"one\n2\n"


@pytest.mark.covers("FK-1", "FK-6")
async def test_a_form_beside_a_conversation_leaves_its_messages_as_they_are() -> None:
    """The parent's messages and tools come first, byte for byte, so that the server's cache serves
    them; only the schema is added.
    """
    model = ScriptedModel([Say(text="Hello."), Say(text='{"text": "new"}')], format="openai_chat")
    asked = parent_request("openai_chat")
    reply = await model.send(asked)
    files = memory()
    receipt = await run_fork(
        spec(ParentCall(asked, reply.body), form=build_form(), known_files=(NOTES,)),
        model=model,
        files=files,
        clock=FrozenClock(),
    )

    body = model.requests[-1].body
    assert body["messages"][: len(asked.body["messages"])] == asked.body["messages"]
    assert body.get("tools") == asked.body.get("tools")
    assert body["response_format"]["json_schema"]["schema"] == build_form().schema
    assert receipt.outcome is ForkOutcome.CHANGED
    assert files.read(NOTES) == b"new"


@pytest.mark.covers("FK-6")
async def test_words_in_place_of_a_form_are_told_and_asked_for_again() -> None:
    """The second answer counts."""
    model = ScriptedModel([Say(text="Done."), Say(text='{"text": "new"}')], format="openai_chat")
    receipt = await run_fork(
        spec(None, history_summary="What happened.", form=build_form(), known_files=(NOTES,)),
        model=model,
        files=memory(),
        clock=FrozenClock(),
    )

    assert "holds no JSON object" in encoded(model.requests[1].body).decode()
    assert receipt.outcome is ForkOutcome.CHANGED


@pytest.mark.covers("FK-7")
@pytest.mark.parametrize("wire", FORMATS)
async def test_another_model_than_the_parents_gets_the_digest(wire: str) -> None:
    """Its request holds the digest and the task, and nothing of the full history."""
    parent = ParentCall(
        parent_request("anthropic" if wire == "openai_chat" else "openai_chat"), None
    )
    model = ScriptedModel([Say(text="Nothing to do.")], format=wire, name="scripted:small")

    receipt = await run_fork(
        spec(parent, history_summary="What happened."),
        model=model,
        files=memory(),
        clock=FrozenClock(),
    )

    body = encoded(model.requests[0].body).decode()
    assert model.requests[0].body["model"] == "small"
    assert "What happened." in body
    assert "word word" not in body
    assert "tools" not in model.requests[0].body
    assert receipt.outcome is ForkOutcome.UNCHANGED


@pytest.mark.covers("FK-7")
async def test_another_model_without_a_digest_is_refused_before_any_request() -> None:
    """The full history never goes to a model whose cache does not hold it."""
    model = ScriptedModel([], name="scripted:small")

    receipt = await run_fork(
        spec(ParentCall(parent_request("anthropic"))),
        model=model,
        files=memory(),
        clock=FrozenClock(),
    )

    assert receipt.outcome is ForkOutcome.FAILED
    assert "digest" in receipt.said
    assert model.requests == []
    assert is_parent_model(
        "anthropic:model@http://127.0.0.1:1", "anthropic", ParentCall(parent_request("anthropic"))
    )


@pytest.mark.covers("FK-2")
@pytest.mark.parametrize("wire", FORMATS)
async def test_a_forks_own_history_cannot_be_forked(wire: str) -> None:
    """The boundaries at the start of a user's text give it away; the same words in a question or in
    the reply do not.
    """
    _, model, _ = await play([Say(text="Nothing to do.")], wire=wire)
    own = ParentCall(model.requests[1], None)
    talk = ScriptedModel([Say(text=f"{FORK_MARK} x")], format=wire)
    wire_codec = find_codec(wire)
    question = Request(
        format=wire,
        body=wire_codec.append_reply_and_messages(
            parent_request(wire).body,
            None,
            wire_codec.build_user_messages(f"What does {FORK_MARK} mean?"),
        ),
    )
    innocent = ParentCall(question, (await talk.send(question)).body)
    again = ScriptedModel([Say(text="Nothing to do.")], format=wire)

    refused = await run_fork(spec(own), model=again, files=memory(), clock=FrozenClock())
    allowed = await run_fork(spec(innocent), model=again, files=memory(), clock=FrozenClock())

    assert (refused.outcome, refused.said, refused.requests) == (
        ForkOutcome.FAILED,
        "A fork may not fork.",
        0,
    )
    assert allowed.outcome is ForkOutcome.UNCHANGED
    assert is_fork_request(find_codec(wire), own.request.body)


@pytest.mark.covers("FK-2")
async def test_a_fork_started_inside_a_fork_is_refused() -> None:
    """Also when the inner one has a clean history, and in a task of its own; afterwards forks work
    again.
    """
    inner: list[Receipt] = []
    started: list[Request] = []
    clock = FrozenClock()

    class Nesting(ScriptedModel):
        async def send(self, request: Request) -> Any:
            if request.label == "notes" and not started:
                started.append(request)
                task = run_fork(
                    spec(ParentCall(parent_request("anthropic"))),
                    model=model,
                    files=memory(),
                    clock=clock,
                )
                inner.append(await asyncio.create_task(task))
            return await super().send(request)

    model = Nesting([Say(text="Parent."), Say(text="Done.")])
    outer = await run_fork(spec(await parent_of(model)), model=model, files=memory(), clock=clock)
    after, _, _ = await play([Say(text="Done.")])

    assert [receipt.said for receipt in inner] == ["A fork may not fork."]
    assert outer.outcome is ForkOutcome.UNCHANGED
    assert after.outcome is ForkOutcome.UNCHANGED


def again(_: int) -> CallTool:
    return CallTool(name="Read", input={"file_path": str(NOTES)})


def other(number: int) -> CallTool:
    return CallTool(name="Read", input={"file_path": str(NOTES), "offset": number + 1})


@pytest.mark.covers("FK-3")
@pytest.mark.parametrize("permission", [NoToolsPermission(), SingleFileEdit(NOTES)])
async def test_a_fork_that_is_asked_for_text_only_gives_its_text(
    permission: ForkPermission,
) -> None:
    """With `ANSWER` nothing in the text is taken for an edit, and the words are in the receipt."""
    text = f'A summary. <edit path="{NOTES}"><old>one</old><new>1</new></edit>'

    receipt, model, files = await play(
        [Say(text=text)], permission=permission, edit_method=EditMethod.ANSWER
    )

    assert receipt.said == text
    assert receipt.outcome is ForkOutcome.UNCHANGED
    assert files.read(NOTES) == b"one\ntwo\n"
    assert (
        "editing tool"
        not in find_codec("anthropic").decode_request(model.requests[1].body).messages[-1].text
    )


@pytest.mark.covers("FK-1")
def test_the_prompts_of_forks_hold_what_the_code_relies_on() -> None:
    """The boundaries begin with the mark, the placeholder is one line, and the forms name their
    tags and fields.
    """
    texts = load_fork_prompts()

    assert texts.boundaries.startswith(FORK_MARK)
    assert "\n" not in PLACEHOLDER
    assert all(
        tag in texts.text_edits
        for tag in (
            "<edit path=",
            "<old>",
            "</old>",
            "<new>",
            "</new>",
            "</edit>",
            "<write path=",
            "</write>",
        )
    )


HOSTS_ANSWERS = {
    "anthropic": {
        "max_tokens": 50,
        "stop_sequences": ["\n"],
        "tool_choice": {"type": "tool", "name": "final_result"},
        "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}},
    },
    "openai_chat": {
        "max_completion_tokens": 50,
        "stop": ["\n"],
        "n": 3,
        "tool_choice": "required",
        "response_format": {"type": "json_object"},
    },
    "openai_responses": {
        "max_output_tokens": 50,
        "tool_choice": {"type": "function", "name": "final_result"},
        "text": {"verbosity": "low", "format": {"type": "json_schema", "schema": {}}},
    },
}


@pytest.mark.covers("FK-1")
@pytest.mark.parametrize("wire", HOSTS_ANSWERS)
async def test_what_a_hosts_answer_has_to_be_does_not_bind_a_fork(wire: str) -> None:
    """A host that wants 50 tokens, one line, a schema or a call of its own tool gets that from its
    model; a fork of the same request answers in text, and what else it asks for stays.
    """
    model = ScriptedModel([Say(text="Hello."), again(0)], format=wire)
    asked = parent_request(wire, names=("final_result",))
    asked = msgspec.structs.replace(asked, body=asked.body | HOSTS_ANSWERS[wire])
    reply = await model.send(asked)
    await run_fork(
        spec(ParentCall(asked, reply.body), limits=ForkLimits(turns=1, output=800)),
        model=model,
        files=memory(),
        clock=FrozenClock(),
    )

    sent = model.requests[-1].body
    assert [sent[key] for key in OUTPUT_LIMIT_KEYS if key in sent] == [800]
    assert not {"stop", "stop_sequences", "n", "tool_choice", "response_format"} & sent.keys()
    assert sent.get("output_config") in (None, {"effort": "low"})
    assert sent.get("text") in (None, {"verbosity": "low"})
    assert sent["tools"] == asked.body["tools"]


@pytest.mark.covers("FK-1")
async def test_a_limit_grows_no_further_than_every_model_takes() -> None:
    """A provider refuses a limit above its model's own; a host's larger one stays."""
    limits = []
    for given in (50, 9_000):
        model = ScriptedModel([Say(text="Hello."), again(0)], format="anthropic")
        asked = parent_request("anthropic")
        asked = msgspec.structs.replace(asked, body=asked.body | {"max_tokens": given})
        reply = await model.send(asked)
        await run_fork(
            spec(ParentCall(asked, reply.body), limits=ForkLimits(turns=1, output=16_000)),
            model=model,
            files=memory(),
            clock=FrozenClock(),
        )
        limits.append(model.requests[-1].body["max_tokens"])

    assert limits == [4_096, 9_000]


@pytest.mark.covers("FK-1")
async def test_a_hosts_short_answers_do_not_cut_a_fork() -> None:
    """The fork's own limit counts where the host's is smaller; a cut answer is named in the
    receipt.
    """

    class Cut(ScriptedModel):
        async def send(self, request: Request) -> Any:
            return msgspec.structs.replace(await super().send(request), stop_reason="length")

    model = Cut([Say(text="Hello."), again(0)], format="openai_chat")
    asked = parent_request("openai_chat")
    asked = msgspec.structs.replace(asked, body=asked.body | {"max_tokens": 60})
    reply = await model.send(asked)
    receipt = await run_fork(
        spec(ParentCall(asked, reply.body), limits=ForkLimits(turns=1, output=800)),
        model=model,
        files=memory(),
        clock=FrozenClock(),
    )

    assert model.requests[-1].body["max_tokens"] == 800
    assert receipt.outcome is ForkOutcome.OVER_LIMIT
    assert "cut off at its output limit" in receipt.said


@pytest.mark.covers("FK-8")
@pytest.mark.parametrize("limits", [ForkLimits(turns=1), ForkLimits(turns=3)])
async def test_an_answer_that_was_stopped_in_a_loop_is_named_in_the_receipt(
    limits: ForkLimits,
) -> None:
    """What it changed before counts, and the receipt does not blame the output limit."""
    answer = f'<edit path="{NOTES}"><old>two</old><new>three</new></edit>\nAnd so on.'
    stopped = ReplyParts(parts=(Say(text=answer),), stop_reason=REPEATED_REASON)
    files = memory()
    receipt = await run_fork(
        spec(None, material="words", edit_method=EditMethod.TEXT, limits=limits, one_round=True),
        model=ScriptedModel([stopped, stopped], format="openai_chat"),
        files=files,
        clock=FrozenClock(),
    )

    assert receipt.outcome is ForkOutcome.CHANGED
    assert receipt.said.startswith("It repeated itself without end and was stopped")
    assert "output limit" not in receipt.said
    assert files.read(NOTES) == b"one\nthree\n"

"""Forks that are due at once, in one request."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from memorist.core.messages import JsonObject
from memorist.engine.engine import Memorist
from memorist.forks.answer_form import FormTask, coerce_to_text_list
from memorist.forks.file_tool_calls import WriteFileCall
from memorist.forks.fork_runner import run_fork
from memorist.forks.fork_spec import FolderAccess, ForkOutcome, ForkSpec, ParentCall, Receipt
from memorist.forks.joint_fork import JoinedForkRunner, merge_history_summaries
from memorist.forks.text_edits import ParsedAnswerEdits
from memorist.ports import Reply, Request
from memorist.settings import SessionMemorySettings, Settings
from memorist.testing import (
    FrozenClock,
    Hang,
    InMemoryFiles,
    ReplyParts,
    Say,
    ScriptedModel,
    ScriptedServer,
    Step,
)

FOLDER = Path("/n")


def build_spec(label: str, summary: str = "") -> ForkSpec:
    """A fork that writes each line of its answer into a file of its own folder."""
    folder = FOLDER / label
    form = FormTask(
        instruction=f"Task of {label}.",
        material=f"Data of {label}.",
        schema={"type": "object", "properties": {"lines": {"type": "array"}}},
        read=lambda answer: ParsedAnswerEdits(
            tuple(
                WriteFileCall(line if line.startswith("/") else f"{folder}/{line}.md", line)
                for line in coerce_to_text_list(answer.get("lines"))
            )
        ),
    )
    return ForkSpec(
        label=label,
        why=f"{label} is due",
        instruction="",
        permission=FolderAccess(folder=folder),
        history_summary=summary or f"What {label} saw.",
        form=form,
    )


async def run_together(
    model: ScriptedModel, files: InMemoryFiles, *specs: ForkSpec
) -> tuple[list[Receipt], list[Receipt]]:
    """The receipts of forks that start at once, and those that were recorded."""
    clock, recorded = FrozenClock(), list[Receipt]()
    joint, start = JoinedForkRunner(clock), partial(run_fork, clock=clock)
    runs = (
        joint.run(each, model=model, files=files, record=recorded.append, start=start)
        for each in specs
    )
    return list(await asyncio.gather(*runs)), recorded


@pytest.mark.covers("FK-8")
async def test_forks_that_are_due_at_once_are_one_request_and_a_receipt_each() -> None:
    """The answer's parts are written each under its own permission; what the request took is
    counted once.
    """
    answer = {"notes": {"lines": ["a", "/n/memories/b.md"]}, "memories": {"lines": ["c"]}}
    model = ScriptedModel([Say(text=msgspec.json.encode(answer).decode())], format="openai_chat")
    files = InMemoryFiles()

    receipts, recorded = await run_together(
        model, files, build_spec("notes"), build_spec("memories")
    )

    (request,) = model.requests
    sent = msgspec.json.encode(request.body).decode()
    assert all(f"{word} of {label}." in sent for word in ("Task", "Data")
               for label in ("notes", "memories"))  # fmt: skip
    assert recorded == receipts
    assert [each.label for each in receipts] == ["notes", "memories"]
    assert [each.requests for each in receipts] == [1, 0]
    assert [each.outcome for each in receipts] == [ForkOutcome.CHANGED, ForkOutcome.CHANGED]
    assert len(receipts[0].denied) == 1
    assert files.read(FOLDER / "notes/a.md") == b"a"
    assert files.lstat(FOLDER / "memories/b.md") is None
    assert files.read(FOLDER / "memories/c.md") == b"c"


@pytest.mark.covers("FK-8")
async def test_forks_of_two_requests_that_wait_for_no_reply_are_two_requests() -> None:
    """Each is asked about the conversation that it belongs to."""
    model = ScriptedModel([Say(text="{}"), Say(text="{}")], format="openai_chat")
    specs = [
        replace(
            build_spec(label),
            parent=ParentCall(
                Request(
                    format="openai_chat",
                    body={"model": "other", "messages": [{"role": "user", "content": label}]},
                    label="parent",
                )
            ),
        )
        for label in ("notes", "memories")
    ]

    await run_together(model, InMemoryFiles(), *specs)

    assert len(model.requests) == 2


@pytest.mark.covers("FK-8")
async def test_a_receipt_quotes_its_own_part_of_the_answer() -> None:
    """A user who reads why nothing was remembered is not shown the notes in its place."""
    answer = {"notes": {"lines": ["a"]}, "memories": {"lines": [], "remark": "none"}}
    model = ScriptedModel([Say(text=msgspec.json.encode(answer).decode())], format="openai_chat")

    receipts, _ = await run_together(
        model, InMemoryFiles(), build_spec("notes"), build_spec("memories")
    )

    assert receipts[1].said == '{"memories":{"lines":[],"remark":"none"}}'


@pytest.mark.covers("FK-8")
@pytest.mark.parametrize(
    "answer",
    [
        '{"notes": {"lines": ["a"]}}',
        '{"notes": {"lines": ["a"], "mem',
        '{"notes": {"lines": ["a"]}, "memories": {"lines": [{"text": "cut in the mid',
    ],
)
async def test_a_part_that_is_missing_or_cut_leaves_the_others(answer: str) -> None:
    """One task without an answer has changed nothing, and the other stands."""
    receipts, _ = await run_together(
        ScriptedModel([Say(text=answer)], format="openai_chat"),
        InMemoryFiles(),
        build_spec("notes"),
        build_spec("memories"),
    )

    assert [each.outcome for each in receipts] == [ForkOutcome.CHANGED, ForkOutcome.UNCHANGED]


@pytest.mark.covers("FK-8")
async def test_a_task_that_a_cut_answer_did_not_come_to_says_so() -> None:
    """It is told apart from one of which the model had nothing to say."""
    cut = ReplyParts(parts=(Say(text='{"notes": {"lines": ["a"], "mem'),), stop_reason="length")

    receipts, _ = await run_together(
        ScriptedModel([cut], format="openai_chat"),
        InMemoryFiles(),
        build_spec("notes"),
        build_spec("memories"),
    )

    assert receipts[0].outcome is ForkOutcome.CHANGED
    assert receipts[1].outcome is ForkOutcome.UNCHANGED
    assert "cut off at its output limit (forks.output)" in receipts[1].said


@pytest.mark.covers("FK-8")
async def test_each_part_is_read_like_an_answer_of_its_own() -> None:
    """With another object around it, or its keys spelled otherwise; the receipt names what a part
    drops beside its edits, and the keys that another part does not have.
    """
    answer = {"notes": {"answer": {"Lines": ["a"]}}, "memories": {"rows": ["c"]}}
    model = ScriptedModel([Say(text=msgspec.json.encode(answer).decode())], format="openai_chat")
    spec = build_spec("notes")
    assert spec.form is not None
    read = spec.form.read
    form = replace(spec.form, read=lambda given: replace(read(given), dropped=("a line is cut",)))

    (notes, memories), _ = await run_together(
        model, InMemoryFiles(), replace(spec, form=form), build_spec("memories")
    )

    assert (notes.outcome, notes.said) == (ForkOutcome.CHANGED, "a line is cut")
    assert memories.outcome is ForkOutcome.UNCHANGED
    assert "none of the keys that it should have: `lines`" in memories.said


@pytest.mark.covers("FK-8")
async def test_a_run_without_an_answer_ends_all_of_them_with_the_reason() -> None:
    """Prose twice, where two turns are allowed, is over the limit for each."""
    specs = [
        msgspec.structs.replace(spec, limits=msgspec.structs.replace(spec.limits, turns=2))
        for spec in (build_spec("notes"), build_spec("memories"))
    ]
    receipts, _ = await run_together(
        ScriptedModel([Say(text="Done."), Say(text="Really.")], format="openai_chat"),
        InMemoryFiles(),
        *specs,
    )

    assert [each.outcome for each in receipts] == [ForkOutcome.OVER_LIMIT] * 2
    assert all("turns were used up" in each.said for each in receipts)
    assert all("holds no JSON object" in each.said for each in receipts)


@pytest.mark.covers("FK-8")
async def test_one_that_is_cancelled_leaves_the_others_and_the_last_ends_the_run() -> None:
    """A session that closes ends what still runs; each leaves its receipt."""
    model = ScriptedModel([Hang()], format="openai_chat")
    clock, recorded = FrozenClock(), list[Receipt]()
    joint, start = JoinedForkRunner(clock), partial(run_fork, clock=clock)
    runs = [
        asyncio.create_task(
            joint.run(spec, model=model, files=InMemoryFiles(), record=recorded.append, start=start)
        )
        for spec in (build_spec("notes"), build_spec("memories"))
    ]
    for _ in range(20):  # until the request is out
        await asyncio.sleep(0)
    for run in runs:
        run.cancel()
        await asyncio.wait({run})
        assert run.cancelled()
    await asyncio.sleep(0)

    assert [each.outcome for each in recorded] == [ForkOutcome.CANCELLED] * 2
    # The provider bills the request that was broken off: the last receipt holds what it used.
    assert [each.requests for each in recorded] == [0, 1]
    assert recorded[1].usage.input > 0
    assert [each.label for each in recorded] == ["notes", "memories"]


class SlowModel(ScriptedModel):
    """Answers when it is let."""

    def __init__(self, steps: list[Step], *, format: str) -> None:
        super().__init__(steps, format=format)
        self.asked, self.goes_on = asyncio.Event(), asyncio.Event()

    async def send(self, request: Request) -> Reply:
        self.asked.set()
        await self.goes_on.wait()
        return await super().send(request)


@pytest.mark.covers("FK-8")
async def test_what_a_request_used_is_counted_once_whichever_fork_is_cancelled() -> None:
    """Also that of one which asked alone, and where the first of several leaves before the
    answer, of which it changes nothing any more.
    """
    answer = {"notes": {"lines": ["a"]}, "memories": {"lines": ["c"]}}
    for labels, cancelled in ((("notes",), 0), (("notes", "memories"), 0)):
        model = SlowModel([Say(text=msgspec.json.encode(answer).decode())], format="openai_chat")
        clock, recorded, files = FrozenClock(), list[Receipt](), InMemoryFiles()
        joint, start = JoinedForkRunner(clock), partial(run_fork, clock=clock)
        runs = [
            asyncio.create_task(
                joint.run(
                    build_spec(each), model=model, files=files, record=recorded.append, start=start
                )
            )
            for each in labels
        ]
        await model.asked.wait()
        runs[cancelled].cancel()
        await asyncio.wait({runs[cancelled]})
        model.goes_on.set()
        await asyncio.wait(runs)

        assert sum(each.requests for each in recorded) == 1
        assert [each.label for each in recorded] == list(labels)
        assert recorded[0].outcome is ForkOutcome.CANCELLED
        assert files.lstat(FOLDER / "notes/a.md") is None


def test_what_several_summaries_hold_is_shown_once() -> None:
    """The newest messages that two of them quote stand there once; what only one holds is kept."""
    notes = (
        "Derived.\n\nThe newest messages:\n\n[user]\nMend it.\n\n[assistant]\nDone.\n(calls Edit)"
    )
    memories = (
        "The newest messages:\n\n[user]\nNo floats.\n\n[user]\nMend it.\n\n[assistant]\nDone."
    )
    joined = merge_history_summaries([notes, memories])

    assert (
        sorted(joined.count(text) for text in ("Mend it.", "Done.", "No floats.", "Derived."))
        == [1] * 4
    )


@pytest.mark.covers("FK-1", "FK-8")
async def test_a_turn_on_a_model_of_this_machine_asks_it_once(tmp_path: Path) -> None:
    """Notes, memories and a document of the project are due at the end of a turn: one request goes
    to the server beside the host's own, and each of the three gets its part of the answer.
    """
    document = tmp_path / "HOW.md"
    document.write_text("# MAGIC DOC: How\n\n## Tests\n\nNothing is known yet.\n", "utf-8")
    said = "We always run pytest -q -x before a commit here, please remember that."
    answer = {
        "session_memory": {"Workflow": ["`pytest -q -x` runs the tests."]},
        "extraction": {"memories": []},
        "magic_docs": {
            "changes": [{"section": "Tests", "old": "Nothing is known yet.",
                         "new": "`pytest -q -x` runs them."}]
        },
    }  # fmt: skip
    settings = Settings(session_memory=SessionMemorySettings(start_tokens=10, growth_tokens=1))
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": str(document)}}
    shown = {"type": "tool_result", "tool_use_id": "t1", "content": document.read_text()}
    request: JsonObject = {
        "model": "claude-opus-4-6",
        "max_tokens": 100,
        "messages": [
            {"role": "user", "content": said},
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [shown]},
        ],
    }
    reply: JsonObject = {
        "role": "assistant",
        "content": [{"type": "text", "text": "I ran `pytest -q -x`: 12 passed."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 900, "output_tokens": 20},
    }
    steps: list[Step] = [Say(text=msgspec.json.encode(answer).decode())]
    with ScriptedServer(steps) as server:
        model = f"openai-chat:small@{server.openai_url}"
        async with Memorist(model=model, home=tmp_path / "h", settings=settings) as engine:
            session = await engine.open("s1", project=str(tmp_path))
            await session.prepare(request)
            await session.observe(reply)
            await session.end_turn()
            await session.close()
            notes, receipts = session.notes or "", session.receipts()
        asked = len(server.received)
        schemas = [
            each.body["response_format"]["json_schema"]["schema"] for each in server.received
        ]

    assert asked == 1
    assert [array for schema in schemas for array in find_endless_arrays(schema)] == []
    assert "- `pytest -q -x` runs the tests." in notes
    assert "`pytest -q -x` runs them." in document.read_text("utf-8")
    assert sorted(each.label for each in receipts) == ["extraction", "magic_docs", "session_memory"]
    assert sum(each.requests for each in receipts) == 1


def find_endless_arrays(schema: object) -> list[object]:
    """The arrays of a schema without a largest number of entries."""
    if isinstance(schema, list):
        return [found for each in schema for found in find_endless_arrays(each)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("type") == "array" and "maxItems" not in schema else []
    return own + find_endless_arrays(list(schema.values()))

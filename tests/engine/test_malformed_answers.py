"""Whatever form a model's answer comes in, what is good in it is used, nothing that was there is
lost, and the receipt says what became of it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memorist.core.messages import JsonObject
from memorist.engine.engine import Memorist
from memorist.forks import joint_fork
from memorist.forks.fork_spec import ForkOutcome, Receipt
from memorist.session_memory import session_notes
from memorist.settings import AutoMemorySettings, MagicDocsSettings, SessionMemorySettings, Settings
from memorist.testing import Hang, Say, ScriptedModel

TYPED = (
    "No floats in money.py, please. The timetable of the ferry is kept in docs/ferry.md, because "
    "the office prints it."
)
REPLIED = "money.py rounds twice. The server listens on port 9090."
DOCUMENT = "# MAGIC DOC: The shop\n_Ports._\n\n## Ports\n\nThe server listens on port 8080.\n"
GOOD: dict[str, JsonObject] = {
    "session_memory": {"Key results": ["The server listens on port 9090."]},
    "extraction": {
        "memories": [
            {
                "kind": "project",
                "description": "where the timetable of the ferry is",
                "text": "The timetable of the ferry is kept in docs/ferry.md.",
                "quote": "The timetable of the ferry is kept in docs/ferry.md",
            }
        ]
    },
    "magic_docs": {
        "changes": [
            {
                "section": "Ports",
                "old": "The server listens on port 8080.",
                "new": "The server listens on port 9090.",
            }
        ]
    },
}
ADDED = {
    "session_memory": "- The server listens on port 9090.",
    "extraction": "The timetable of the ferry is kept in docs/ferry.md.",
    "magic_docs": "The server listens on port 9090.",
}


def _respell(good: JsonObject) -> JsonObject:
    return {key.upper().replace(" ", "_"): value for key, value in good.items()}


def _call(good: JsonObject) -> str:
    call = {"name": "answer", "arguments": json.dumps(good)}
    return f"<tool_call>\n{json.dumps(call)}\n</tool_call>"


READ: dict[str, Callable[[JsonObject], str]] = {
    "comments and a comma too many": lambda good: (
        f"{{ // the answer\n{json.dumps(good)[1:-1]},\n}} /* end */"
    ),
    "two fences": lambda good: f"```\n```json\n{json.dumps(good, indent=1)}\n```\n```",
    "a longer thought before it": lambda good: (
        f"<think>\n{json.dumps({key: ['no ' * 200] for key in good})}\n</think>\n{json.dumps(good)}"
    ),
    "keys in another spelling": lambda good: json.dumps(_respell(good)),
    "an object around it": lambda good: json.dumps({"answer": {"result": good}}),
    "as a text in an object": lambda good: json.dumps({"answer": json.dumps(good)}),
    "a tool call": _call,
    "a loop behind it": lambda good: json.dumps(good)[:-2] + ', "and again"' * 3_000,
}
UNREAD: dict[str, Callable[[JsonObject], str]] = {
    "empty": lambda good: " ",
    "prose": lambda good: "The port is another one now.",
    "a thought without an end": lambda good: f"<think>\n{json.dumps(good)}",
    "a loop of words": lambda good: "and again " * 3_000,
    "other keys": lambda good: json.dumps({"note": "the port", "lines": ["9090"]}),
    "cut at its beginning": lambda good: json.dumps(good)[: json.dumps(good).index(":") + 4],
    "cut in its last text": lambda good: json.dumps(good)[: json.dumps(good).rindex(" ")],
}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No fork waits for others."""
    monkeypatch.setattr(joint_fork, "GATHER_SECONDS", 0.0)


async def run_turn(folder: Path, way: str, answer: str | None) -> tuple[str, Receipt | None]:
    """What stands after a turn whose work in this way a model answers so, or that structure does
    alone; and its receipt.
    """
    shop = folder / ("structure" if answer is None else "model")
    (shop / ".git").mkdir(parents=True)
    (shop / "SHOP.md").write_text(DOCUMENT)
    settings = Settings(
        home=str(shop / "home"),
        session_memory=SessionMemorySettings(
            enabled=way == "session_memory", start_tokens=10, growth_tokens=1
        ),
        auto_memory=AutoMemorySettings(enabled=way == "extraction"),
        magic_docs=MagicDocsSettings(enabled=way == "magic_docs"),
    )
    near = "openai-chat:small@http://127.0.0.1:1/v1"
    model = ScriptedModel(
        lambda _: Say(text=answer or " "), format="openai_chat", name=near, window=100_000
    )
    async with Memorist(
        model="structural" if answer is None else model, settings=settings
    ) as engine:
        session = await engine.open("s", project=str(shop))
        session.on_file_read("SHOP.md")
        asked: JsonObject = {"role": "user", "content": TYPED}
        await session.prepare({"model": "claude-made-up", "max_tokens": 9, "messages": [asked]})
        await session.observe(
            {
                "role": "assistant",
                "content": [{"type": "text", "text": REPLIED}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 900, "output_tokens": 20},
            }
        )
        await session.end_turn()
        await session.close()
        files = sorted(shop.glob("home/projects/*/memory/*.md"))
        kept = {
            "session_memory": session.notes or "",
            "extraction": "\n".join(each.read_text() for each in files),
            "magic_docs": (shop / "SHOP.md").read_text(),
        }
        return kept[way], next(iter(session.receipts()), None)


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """By way what stands where structure works alone."""
    return {way: asyncio.run(run_turn(tmp_path_factory.mktemp(way), way, None))[0] for way in GOOD}


@pytest.mark.covers("SM-5", "AM-5", "MD-2", "FK-8")
@pytest.mark.parametrize("way", GOOD)
@pytest.mark.parametrize("form", READ)
async def test_a_good_answer_is_used_in_whatever_form_it_comes(
    tmp_path: Path, way: str, form: str
) -> None:
    """By one request; and the receipt says that something changed."""
    kept, receipt = await run_turn(tmp_path, way, READ[form](GOOD[way]))

    assert receipt is not None
    assert (receipt.outcome, receipt.requests) == (ForkOutcome.CHANGED, 1), receipt.said
    assert ADDED[way] in kept


@pytest.mark.covers("SM-5", "AM-5", "MD-2", "FK-8")
@pytest.mark.parametrize("way", GOOD)
@pytest.mark.parametrize("form", UNREAD)
async def test_an_answer_without_use_leaves_what_structure_makes(
    tmp_path: Path, proved: dict[str, str], way: str, form: str
) -> None:
    """Every line of it, and no line of a document; the receipt gives the reason."""
    kept, receipt = await run_turn(tmp_path, way, UNREAD[form](GOOD[way]))

    assert set(proved[way].splitlines()) <= set(kept.splitlines())
    assert receipt is not None
    if ADDED[way] not in kept:
        assert receipt.outcome is not ForkOutcome.CHANGED
        assert receipt.said.strip()


@pytest.mark.covers("MD-2", "FK-8")
async def test_a_change_that_fits_is_made_beside_one_that_does_not(tmp_path: Path) -> None:
    """The receipt names the one that was dropped."""
    (good,) = GOOD["magic_docs"]["changes"]
    answer = json.dumps({"changes": [good, {"section": "", "old": "Colours", "new": "Blue"}]})

    kept, receipt = await run_turn(tmp_path, "magic_docs", answer)

    assert kept == DOCUMENT.replace("8080", "9090")
    assert receipt is not None
    assert "Dropped: no one line reads “Colours”" in receipt.said


@pytest.mark.covers("MD-2", "AM-5")
@pytest.mark.parametrize("way", ["extraction", "magic_docs"])
@pytest.mark.parametrize("form", ["a bare list", "another key", "one object in place of the list"])
async def test_the_entries_of_a_list_count_under_any_key(
    tmp_path: Path, way: str, form: str
) -> None:
    """Their own keys tell what they are."""
    ((key, entries),) = GOOD[way].items()
    answer: object = {"another key": {"found": entries}, "a bare list": entries}.get(form)

    kept, _ = await run_turn(tmp_path, way, json.dumps(answer or {key: entries[0]}))

    assert ADDED[way] in kept


@pytest.mark.covers("SM-9")
async def test_a_model_that_hangs_at_the_close_leaves_the_notes_that_structure_proves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The close waits for a bounded time, and the notes are no empty template afterwards."""
    monkeypatch.setattr(session_notes, "MAX_CLOSE_WAIT_SECONDS", 0.05)
    settings = Settings(
        home=str(tmp_path / "home"),
        session_memory=SessionMemorySettings(start_tokens=10, growth_tokens=1),
        auto_memory=AutoMemorySettings(enabled=False),
    )
    model = ScriptedModel(lambda _: Hang(), strict=False)
    async with Memorist(model=model, settings=settings) as engine:
        session = await engine.open("s", project=str(tmp_path))
        asked: JsonObject = {"role": "user", "content": TYPED}
        await session.prepare({"model": "claude-made-up", "max_tokens": 9, "messages": [asked]})
        await session.observe(
            {
                "role": "assistant",
                "content": [{"type": "text", "text": REPLIED}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 900, "output_tokens": 20},
            }
        )
        await session.end_turn()
        await asyncio.wait_for(session.close(), 10)

        assert "No floats in money.py" in (session.notes or "")

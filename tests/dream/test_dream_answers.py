"""Whatever form a dream's answer comes in, no memory is lost to it, and its receipt says what stands."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from dream.conftest import DAY, World, data
from dream.test_dream import model, named, rewrite
from memorist.forks.fork_spec import ForkOutcome

NEW = "Desk 0 answers for part 0 and part 7."


def _call(path: str) -> str:
    call = {"name": "Write", "arguments": {"file_path": path, "content": data(NEW).decode()}}
    return f"<tool_call>{json.dumps(call)}</tool_call>"


def _change(path: str) -> dict[str, str]:
    return {"file": path, "old": "\n\nDesk 0 answers for part 0.", "new": f"\n\n{NEW}"}


def _weigh(path: str) -> str:
    return f'<think>\nOr <write path="{path}">\nretired: of no use\n</write>?\n'


USED: dict[str, Callable[[str], str]] = {
    "two fences": lambda path: f"```\n```xml\n{rewrite(path, NEW)}\n```\n```",
    "a thought before it": lambda path: f"{_weigh(path)}</think>\n{rewrite(path, NEW)}",
    "an element around it": lambda path: f"<answer>{rewrite(path, NEW)}</answer>",
    "a loop": lambda path: rewrite(path, NEW) * 300,
    "a tool call": _call,
    "an object, without the header": lambda path: json.dumps(
        {"edits": [{"path": path, "text": NEW}]}
    ),
    "a fenced list": lambda path: f"```json\n{json.dumps([_change(path)])}\n```",
    "a second edit that is cut": lambda path: (
        rewrite(path, NEW) + rewrite(path.replace("desk-0", "desk-1"), NEW)[:-20]
    ),
    "a second edit of another folder": lambda path: rewrite(path, NEW) + rewrite("/etc/x", NEW),
}
UNUSED: dict[str, Callable[[str], str]] = {
    "empty": lambda path: " ",
    "prose": lambda path: "All is well.",
    "a loop of words": lambda path: "and again " * 3_000,
    "a thought without an end": _weigh,
    "cut in the middle": lambda path: rewrite(path, NEW)[:-20],
    "other attributes": lambda path: rewrite(path, NEW).replace("path=", "file="),
    "an object without a path": lambda path: json.dumps({"edits": [{"text": NEW}]}),
    "an object that is cut": lambda path: json.dumps({"path": path, "content": NEW})[:-4],
    "a tool call that is cut": lambda path: _call(path)[:-30],
    "another language, without what it said": lambda path: rewrite(path, "Der Tisch ist weg."),
    "every memory emptied": lambda path: "\n".join(
        f'<write path="{path.replace("desk-0", f"desk-{number}")}">\n</write>'
        for number in range(6)
    ),
}


def _fill(world: World) -> None:
    for number in range(6):
        body = f"Desk {number} answers for part {number}."
        world.put(f"desk-{number}.md", data(body, name=f"desk-{number}"))
    world.clock.advance(3 * DAY)


def _answer(form: Callable[[str], str]) -> Callable[[str], str]:
    """The answer in this form, about the first desk's memory."""
    return lambda shown: form(next(path for path in named(shown) if "desk-0" in path))


@pytest.mark.covers("DR-3", "DR-4", "FK-8")
@pytest.mark.parametrize("form", USED)
async def test_an_edit_that_fits_is_made_in_whatever_form_it_comes(world: World, form: str) -> None:
    """Also beside one that does not; every other memory is as it was."""
    _fill(world)
    before = world.state()

    await world.dream(model(_answer(USED[form]))).dream_now("asked for", ())

    after = world.state()
    assert NEW in world.body("desk-0.md")
    assert b"\ndescription: " in after["desk-0.md"]
    assert {path for path in before if after.get(path) != before[path]} <= {
        "desk-0.md",
        "MEMORY.md",
    }
    assert world.receipts[-1].outcome is ForkOutcome.CHANGED
    assert not world.memory.inbox.list_proposals()


@pytest.mark.covers("DR-4", "FK-8")
@pytest.mark.parametrize("form", UNUSED)
async def test_an_answer_without_use_changes_no_memory(world: World, form: str) -> None:
    """Nor does it ask for anything; where an edit was refused, the receipt says which and why."""
    _fill(world)
    before = world.state()

    dreamt = await world.dream(model(_answer(UNUSED[form]))).dream_now("asked for", ())

    assert world.state() == before
    assert not world.memory.inbox.list_proposals()
    (receipt,) = world.receipts
    assert receipt.outcome is not ForkOutcome.CHANGED
    assert all(why in receipt.said for _, why in dreamt.refused)

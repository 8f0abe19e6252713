"""What forks cost: whether every byte of the parent's request stands unchanged in front, and how
much of the input the cache serves (FK-1).
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import msgspec

from benchmarks.report import BenchResult, BenchRow
from memorist.core.messages import JsonObject, Usage
from memorist.engine.engine import Memorist
from memorist.forks.fork_request import FORK_MARK
from memorist.formats.codec_registry import find_codec
from memorist.formats.request_codec import Codec
from memorist.ports import Reply, Request
from memorist.settings import Settings
from memorist.testing.models import ScriptedModel
from memorist.testing.steps import Say, Step

FORMATS = ("anthropic", "openai_responses", "openai_chat")
TURNS = 40
"""Turns of the conversation: with these pages it grows from 17,000 to about 100,000 tokens, as
recorded sessions of coding agents do.
"""
_PAGE = (
    "A page of work: what was read, which command ran, what it said, and what that means for "
    "the next step. " * 75
)
_ANSWER = "Done with this step; the next one follows from it. " * 8
_encode = msgspec.json.Encoder().encode


def measure(data: Path) -> BenchResult:
    """Play a conversation in each wire format with notes kept by a scripted model that shares its
    cache. Needs no data.
    """
    del data
    rows = []
    for name in FORMATS:
        requests, usages = asyncio.run(_play(name))
        same, whole = _prefixes(requests, find_codec(name))
        share, first = _share(sum(usages, Usage())), _share(usages[0])
        rows.append(
            BenchRow(
                f"{name}: bytes of the parent's request that are the fork's prefix",
                100 * same / max(1, whole),
                "%",
                "100",
                same == whole > 0,
            )
        )
        rows.append(
            BenchRow(
                f"{name}: input of {len(usages)} forks read from the cache",
                100 * share,
                "%",
                "at least 95",
                share >= 0.95,
            )
        )
        rows.append(BenchRow(f"{name}: the same of the first fork, the smallest", 100 * first, "%"))
    return BenchResult("forks", tuple(rows))


def _share(usage: Usage) -> float:
    return usage.cache_read / max(1, usage.input + usage.cache_read + usage.cache_write)


async def _play(name: str) -> tuple[list[Request], list[Usage]]:
    wire = find_codec(name)
    with tempfile.TemporaryDirectory() as folder:
        notes = Path(folder) / "session" / "session-memory" / "summary.md"
        model = ScriptedModel(
            lambda request: _answer(request, notes), format=name, name="scripted:m"
        )
        async with Memorist(model=model, home=folder, settings=Settings()) as engine:
            session = await engine.open("session", format=name, folder=Path(folder) / "session")
            body = wire.build_request(
                "m", system="You work in steps. " * 3_000, text=f"Step 0. {_PAGE}", max_output=4_000
            )
            for turn in range(1, TURNS + 1):
                request = await session.prepare(_marked(body, name))
                reply = await model.send(Request(format=name, body=request))
                await session.observe(reply.body)
                await session.session_memory.wait_or_cancel(30)
                body = _next(wire, body, reply, turn)
            usages = [receipt.usage for receipt in session.receipts()]
    return model.requests, usages


def _next(wire: Codec, body: JsonObject, reply: Reply, turn: int) -> JsonObject:
    return wire.append_reply_and_messages(
        body, reply.body, wire.build_user_messages(f"Step {turn}. {_PAGE}")
    )


def _marked(body: JsonObject, name: str) -> JsonObject:
    """The request as a host sends it: for Anthropic with a cache mark on the newest block, which
    moves every turn.
    """
    if name != "anthropic":
        return body
    *older, last = body["messages"]
    content = (
        last["content"]
        if isinstance(last["content"], list)
        else [{"type": "text", "text": last["content"]}]
    )
    marked = [*content[:-1], {**content[-1], "cache_control": {"type": "ephemeral"}}]
    return {**body, "messages": [*older, {**last, "content": marked}]}


def _answer(request: Request, notes: Path) -> Step:
    if FORK_MARK.encode() not in _encode(request.body):
        return Say(text=_ANSWER)
    # The notes' Current State has an italic line that is in the file exactly once; the edit puts a
    # line below it.
    lines = notes.read_text("utf-8").splitlines()
    hint = lines[lines.index("# Current State") + 1]
    return Say(
        text=f'<edit path="{notes}">\n<old>\n{hint}\n</old>\n<new>\n{hint}\nUp to date after '
        f"{len(request.body)} parts.\n</new>\n</edit>"
    )


def _prefixes(requests: list[Request], wire: Codec) -> tuple[int, int]:
    """Bytes of the parents' requests that stand unchanged in their forks, and all their bytes."""
    same = whole = 0
    key = wire.history_key()
    for index, request in enumerate(requests):
        if FORK_MARK.encode() not in _encode(request.body):
            continue
        parent = next(
            earlier
            for earlier in reversed(requests[:index])
            if FORK_MARK.encode() not in _encode(earlier.body)
        )
        pairs = list(zip(parent.body[key], request.body[key], strict=False))
        pairs += [
            (value, request.body.get(name)) for name, value in parent.body.items() if name != key
        ]
        whole += sum(len(_encode(mine)) for mine, _ in pairs)
        same += sum(
            len(_encode(mine)) for mine, theirs in pairs if _encode(mine) == _encode(theirs)
        )
    return same, whole

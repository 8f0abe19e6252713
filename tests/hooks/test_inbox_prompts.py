"""The user decides in their client on what waits, by a prompt; a "forget" that finds nothing is
answered.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hooks.recordings import FOLDER, ClaudeFile, CodexFile
from memorist.auto_memory.statements.inbox_requests import InboxRequest, find_inbox_request
from memorist.engine.engine import Memorist
from memorist.hooks.hook_event import Client, HookEvent
from memorist.hooks.hook_session import HookSessionPool
from memorist.settings import Settings

pytestmark = pytest.mark.covers("AM-10", "IN-2", "WD-3")
PROPOSALS = ("no emojis please", "we should discuss before you edit")


class Typing:
    """A client into which a user types; `marks` are what its records say of the prompts."""

    def __init__(self, engine: Memorist, client: Client, folder: Path, **marks: Any) -> None:
        self.engine, self._client, self._marks = engine, client, marks
        self._path = folder / f"rollout-{client}.jsonl"
        self._file = (CodexFile if client == "codex" else ClaudeFile)()
        self._pool = HookSessionPool(engine, lambda event, client, error: pytest.fail(str(error)))

    async def type(self, prompt: str, *, at: float | None = None) -> tuple[str, str, str]:
        """The line that the user sees at once, that at the turn's end, and what the model is
        shown.
        """
        when = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
        self._file.user(prompt)
        record = json.loads(self._file.lines.pop())
        record |= {"timestamp": when.isoformat().replace("+00:00", "Z")} | self._marks
        asked = await self._call("UserPromptSubmit", prompt)
        self._file.lines.append(json.dumps(record).encode() + b"\n")
        self._file.says("Done.")
        ended = await self._call("Stop", "")
        return asked[0], ended[0], asked[1]

    async def _call(self, name: str, prompt: str) -> tuple[str, str]:
        self._path.write_bytes(b"".join(self._file.lines))
        event = HookEvent(session_id="s1", transcript_path=str(self._path), cwd=FOLDER)
        given = replace(event, hook_event_name=name, prompt=prompt)
        answer = await self._pool.render_output_for_event(self._client, given, "", 20.0)
        await self._pool.wait_until_idle()
        return answer.notice, answer.text

    async def close(self) -> list[str]:
        """What the project's memory says."""
        await self._pool.close()
        return [topic.body.strip() for topic in self.engine.memory(FOLDER).read_memory_files()]


def opened(folder: Path) -> Memorist:
    engine = Memorist(model="structural", settings=Settings(home=str(folder / "home")))
    engine.starts_workers = False
    return engine


@pytest.mark.parametrize("client", ["claude-code", "codex"])
async def test_a_typed_prompt_shows_accepts_and_rejects(client: Client, tmp_path: Path) -> None:
    """One line says what came of it, and the model is told to leave it to memorist."""
    async with opened(tmp_path) as engine:
        user = Typing(engine, client, tmp_path)
        for each in PROPOSALS:
            waits = (await user.type(each))[1]
            assert waits == f"memorist: waits for your yes: “{each}” · type: memorist memory inbox"
        listed = (await user.type("memorist memory inbox"))[0]
        accepted = await user.type("memorist memory inbox accept 2")
        rejected = await user.type("memorist reject 1")
        empty = (await user.type("memorist inbox"))[0]

        assert await user.close() == [PROPOSALS[1]]
    assert listed == (
        f"memorist: waiting for you · 1 “{PROPOSALS[0]}” · 2 “{PROPOSALS[1]}” · "
        "type: memorist memory inbox accept 1 (or reject 1)"
    )
    assert accepted[1] == f"memorist: remembered “{PROPOSALS[1]}” · memorist memory undo"
    assert "no command" in accepted[2]
    assert rejected[1] == f"memorist: rejected “{PROPOSALS[0]}”"
    assert empty == "memorist: nothing waits for you"


async def test_an_accepted_removal_is_said_to_be_one(tmp_path: Path) -> None:
    """The line said "remembered" with the newer words, which were there already."""
    async with opened(tmp_path) as engine:
        user = Typing(engine, "claude-code", tmp_path)
        await user.type("remember: Alice owns billing")
        await user.type("remember: Bob owns billing now")
        accepted = await user.type("memorist accept 1")

        assert await user.close() == ["Bob owns billing now"]
    assert accepted[1] == "memorist: forgot “Alice owns billing” · memorist memory undo"


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ("memorist memory inbox accept 7", "nothing that waits has the number or id '7'"),
        ("memorist memory inbox accept all", "nothing that waits has the number or id 'all'"),
        ("memorist memory inbox accept", "the number is missing"),
        ("memorist accept 1 7", "nothing that waits has the number or id '7'"),
    ],
)
async def test_a_wrong_number_is_answered_and_decides_nothing(
    prompt: str, says: str, tmp_path: Path
) -> None:
    """Also where another number of the same prompt is right."""
    async with opened(tmp_path) as engine:
        user = Typing(engine, "claude-code", tmp_path)
        await user.type(PROPOSALS[0])
        line = (await user.type(prompt))[1]

        assert says in line
        assert await user.close() == []
        assert len(engine.memory(FOLDER).list_proposals()) == 1


@pytest.mark.parametrize(
    "marks",
    [
        {"promptSource": "sdk", "entrypoint": "sdk-cli"},
        {"agentId": "a1"},
        {"origin": {"kind": "peer"}},
        {"isMeta": True},
        {"isSidechain": True},
    ],
)
async def test_a_prompt_that_the_user_did_not_type_decides_nothing(
    marks: dict[str, Any], tmp_path: Path
) -> None:
    """Of a program, a pipe, a subagent, a peer or the client itself."""
    async with opened(tmp_path) as engine:
        first = Typing(engine, "claude-code", tmp_path)
        await first.type(PROPOSALS[0])
        first._marks = marks  # the same session, whose next prompt somebody else sends
        line = (await first.type("memorist memory inbox accept 1"))[1]

        assert "remembered" not in line
        assert await first.close() == []
        assert len(engine.memory(FOLDER).list_proposals()) == 1


async def test_a_prompt_of_long_ago_decides_nothing(tmp_path: Path) -> None:
    """What is read late, as from a session that is resumed, meant other numbers."""
    async with opened(tmp_path) as engine:
        user = Typing(engine, "claude-code", tmp_path)
        await user.type(PROPOSALS[0])
        line = (await user.type("memorist memory inbox accept 1", at=1_780_000_000.0))[1]

        assert "older than what waits" in line
        assert await user.close() == []


async def test_what_the_user_said_otherwise_since_is_not_accepted(tmp_path: Path) -> None:
    """As in a terminal, where it is asked about first."""
    async with opened(tmp_path) as engine:
        user = Typing(engine, "claude-code", tmp_path)
        await user.type("no emojis please")
        await user.type("Always use emojis.")
        line = (await user.type("memorist memory inbox accept 1"))[1]

        assert "you said otherwise since" in line
        assert await user.close() == ["Always use emojis."]


@pytest.mark.parametrize(
    "prompt",
    [
        "please memorist memory inbox accept 1",
        "memorist memory inbox accept 1 and fix the parser",
        "memorist memory inbox accept 1?",
        "Run memorist memory inbox accept 1",
        "> memorist memory inbox accept 1",
        "memorist memory inbox accept 1\nmemorist memory inbox accept 2",
        "memorist",
        "memorist memory add 1",
    ],
)
def test_only_a_whole_prompt_counts(prompt: str) -> None:
    """Nothing around it, nothing quoted."""
    assert find_inbox_request(prompt) is None


def test_the_ways_to_write_it() -> None:
    """As in a terminal, shorter, or copied with its marks."""
    for prompt in (
        "memorist memory inbox accept 1 3",
        "`memorist accept 1, 3`",
        "Memorist inbox accept 1  3 ",
    ):
        assert find_inbox_request(prompt) == InboxRequest("accept", ("1", "3"))


@pytest.mark.parametrize(
    ("prompts", "says"),
    [
        (("Forget the rule about Mocha.",), "nothing about “Mocha” is remembered"),
        (("forget everything you know about me",), "nothing about you is remembered"),
        (
            ("Always use pnpm.", "Forget the rule about the pnpm workspace filter flags."),
            "forgot nothing: which memory is meant by “pnpm workspace",
        ),
        (("Always use pnpm.", "Fix the parser.", "forget that"), "forgot nothing: "),
        (("Fix the parser.", "forget that"), ""),
        (("Always use pnpm.", "forget that"), "forgot “Always use pnpm.” · memorist memory undo"),
        (("use tabs", "forget that"), "rejected “use tabs”"),
        (("Always use pnpm.", "Forget everything"), "run: memorist memory forget --all"),
        (
            ("Always use pnpm.", "that pnpm thing I told you, please drop it"),
            "is pnpm.md meant? Then run: memorist memory forget pnpm.md",
        ),
        (
            ("Always use pnpm.", "the rule on mocha that I gave you, wipe it"),
            "nothing about “mocha” is remembered",
        ),
        (("Always use pnpm.", "clear the pnpm cache and drop the memory table"), ""),
        (("Immer pnpm benutzen.", "Lösche alle Erinnerungen"), "memorist memory forget --all"),
    ],
)
async def test_a_forget_that_finds_nothing_is_answered(
    prompts: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    """It was silent, and the user relied on it; so is what "forget that" took back. About the work
    it stays silent.
    """
    async with opened(tmp_path) as engine:
        user = Typing(engine, "claude-code", tmp_path)
        lines = [(await user.type(each))[1] for each in prompts]
        await user.close()

    assert (says in lines[-1]) if says else not lines[-1]

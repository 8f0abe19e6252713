"""What a user wants of one session alone: no memory from here on, or a text kept in sight."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from msgspec.structs import replace

from hooks.recordings import FOLDER, ClaudeFile
from memorist.auto_memory.statements import no_memory_and_pin_requests
from memorist.auto_memory.statements.no_memory_and_pin_requests import (
    find_text_to_pin,
    user_asks_for_no_memory,
)
from memorist.auto_memory.statements.pattern_required_words import holds_required_word
from memorist.engine.engine import Memorist
from memorist.engine.rollout_pipeline import open_rollout_pipeline
from memorist.engine.session_pins import add_pin, read_pins
from memorist.errors import StoreError
from memorist.hooks.hook_event import HookEvent
from memorist.hooks.hook_session import HookOutput, HookSessionPool
from memorist.settings import CompactionSettings, Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout, SessionLayout
from memorist.store.rollout_rows import list_rollouts
from memorist.testing.models import ScriptedModel
from rollouts.conftest import claude
from support.sweeps import examples

pytestmark = pytest.mark.covers("WD-7")
MODEL = "claude-sonnet-5"


class Client:
    """Claude Code with hooks: prompts and compactions of one session."""

    def __init__(self, engine: Memorist, folder: Path) -> None:
        self.pool = HookSessionPool(engine, lambda event, client, error: pytest.fail(str(error)))
        self.path = folder / "s.jsonl"
        self.file = ClaudeFile()

    async def event(self, name: str, prompt: str = "", source: str = "") -> HookOutput:
        self.path.write_bytes(b"".join(self.file.lines))
        event = HookEvent(session_id="s1", transcript_path=str(self.path), cwd=FOLDER)
        given = replace(event, hook_event_name=name, prompt=prompt, source=source)
        answer = await self.pool.render_output_for_event("claude-code", given, "", 20.0)
        await self.pool.wait_until_idle()
        return answer

    async def turn(self, prompt: str) -> tuple[HookOutput, HookOutput]:
        asked = await self.event("UserPromptSubmit", prompt)
        self.file.user(prompt)
        self.file.says("Done.")
        return asked, await self.event("Stop")


async def test_a_word_to_the_client_turns_memory_off_for_the_session(tmp_path: Path) -> None:
    """After the word nothing is kept or shown, and nothing is learned later; what was kept before
    it stays.
    """
    async with Memorist(
        model="structural", settings=Settings(home=str(tmp_path / "home"))
    ) as engine:
        engine.starts_workers = False
        client = Client(engine, tmp_path)
        await client.turn("Always run the linter before you commit.")
        said, _ = await client.turn("Don't remember anything from this session. Fix the parser.")
        later = [
            *await client.turn("Never use npm, use pnpm here."),
            await client.event("SessionEnd"),
        ]
        await client.pool.close()
        kept = [head.description for head in engine.memory(FOLDER).headers()]
        again = HookSessionPool(engine, lambda *_: pytest.fail("it failed"))
        event = HookEvent(session_id="s1", cwd=FOLDER, hook_event_name="SessionStart")
        resumed = await again.render_output_for_event("claude-code", event, "", 20.0)
        await again.close()
        assert engine.memory_off_sessions() == {"s1"}

    assert "memory is off" in said.notice
    assert "none of memorist's tools" in said.text
    assert [(each.text, each.notice) for each in [*later, resumed]] == [("", "")] * 4
    assert kept == ["Always run the linter before you commit."]


async def test_the_end_of_another_session_takes_in_no_recording_of_one_without_memory(
    tmp_path: Path,
) -> None:
    """Clients keep the sessions of a project in one folder, which is looked through then."""
    settings = Settings(home=str(tmp_path / "home"))
    folder = tmp_path / "sessions"
    claude(folder / "c1.jsonl", ["Always count the till at closing."], session="c1")
    claude(folder / "c2.jsonl", ["The wombat flag is secret."], session="c2")
    async with open_rollout_pipeline(settings) as past:
        past.find_sessions([folder])
        known = {each.id: each.mode for each in list_rollouts(past.state)}
    claude(folder / "c3.jsonl", ["The zebra flag is secret."], session="c3")
    layout = Layout(tmp_path / "home")
    layout.memory_off_sessions.parent.mkdir(parents=True)
    layout.memory_off_sessions.write_text("c2\nc3\n")
    async with Memorist(model="structural", settings=settings) as engine:
        engine.starts_workers = False
        client = Client(engine, folder)
        await client.turn("Look at the parser.")
        await client.event("SessionEnd")
        await client.pool.close()
    async with open_rollout_pipeline(settings) as past:
        after = {each.id: each.mode for each in list_rollouts(past.state)}

    assert known == {"c1": "enabled", "c2": "enabled"}
    assert after == {"c1": "enabled", "c2": "disabled", "s1": "enabled"}


async def test_what_is_pinned_in_words_is_shown_again_after_a_compaction(tmp_path: Path) -> None:
    """Not while it stands in the conversation; after the client compacted it, once."""
    async with Memorist(
        model="structural", settings=Settings(home=str(tmp_path / "home"))
    ) as engine:
        engine.starts_workers = False
        client = Client(engine, tmp_path)
        first, _ = await client.turn("Keep this in sight for this session: the port is 9417")
        second, _ = await client.turn("Look at the parser.")
        compacted = await client.event("SessionStart", source="compact")
        third, _ = await client.turn("Go on.")
        await client.pool.close()

    assert "keeps “the port is 9417” in sight" in first.notice
    assert second.notice == ""
    assert "9417" not in first.text + second.text
    assert "9417" in compacted.text
    assert "9417" not in third.text


@pytest.mark.parametrize("first", [b"", b'["one"]'])
def test_what_two_processes_pin_at_once_is_kept(tmp_path: Path, first: bytes) -> None:
    """A pin that another process adds between reading and writing stays: the later write dropped
    it.
    """
    disk, layout = DiskFiles(), SessionLayout(tmp_path)
    if first:
        disk.write(layout.pins, first)

    class Files(DiskFiles):
        """Another process pins after the first reading."""

        others: ClassVar = ["theirs"]

        def read(self, path: Path, *, limit: int | None = None) -> bytes:
            try:
                return super().read(path, limit=limit)
            finally:
                if self.others:
                    add_pin(disk, layout, self.others.pop())

    add_pin(Files(), layout, "ours")
    assert read_pins(disk, layout)[-2:] == ("theirs", "ours")


def test_a_link_to_nothing_in_place_of_the_pins_stops_nobody(tmp_path: Path) -> None:
    """No file can be created there, and none is found: it was tried without an end."""
    layout = SessionLayout(tmp_path)
    layout.pins.symlink_to(tmp_path / "nothing")

    with pytest.raises(StoreError):
        add_pin(DiskFiles(), layout, "ours")


async def test_a_host_pins_a_text_and_turns_memory_off_by_a_call(tmp_path: Path) -> None:
    """`Session.pin` goes out with the next request and stays; after `turn_memory_off` no statement
    is kept.
    """
    settings = Settings(home=str(tmp_path / "home"), compaction=CompactionSettings(enabled=False))
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    async with Memorist(model=ScriptedModel([]), settings=settings) as engine:
        session = await engine.open("s1", project=str(tmp_path / "shop"))
        session.pin("the port is 9417")
        said = [{"role": "user", "content": "Look at the parser."}]
        body = await session.prepare({"model": MODEL, "max_tokens": 9, "messages": said})
        session.turn_memory_off()
        said += [
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": "Always run the linter before you commit."},
        ]
        await session.prepare({"model": MODEL, "max_tokens": 9, "messages": said})
        await session.close()
        kept = engine.memory(str(tmp_path / "shop")).headers()

    assert "9417" in str(body["messages"])
    assert kept == []


async def test_a_session_of_any_name_is_left_out_once_memory_is_off(tmp_path: Path) -> None:
    """Whatever a host calls it; turning memory off again when it is resumed notes it once."""
    settings = Settings(home=str(tmp_path / "home"))
    for _ in range(2):
        async with Memorist(model="structural", settings=settings) as engine:
            for name in ("Größe 1", "a%20b", "s1"):
                session = await engine.open(name)
                session.turn_memory_off()
                await session.close()

            assert engine.memory_off_sessions() == {"Größe 1", "a%20b", "s1"}
    assert len(engine.layout.memory_off_sessions.read_text().splitlines()) == 3


@pytest.mark.parametrize(
    "message",
    [
        "Look at the failing test in tests/till.\n\n{}\n\nThen run the linter.",
        "private stuff\n{}",
        "{}\nWhat does this error mean?",
        "{}\nCan you fix the text on the button?",
        "{}\nHe wants the report by Friday.",
        "before we start\n\n{}\n\nwhat do you think of this error?\n```\nKeyError: x\n```",
        "some notes:\n- the till is slow\n- {}\n- use the new parser",
        "{}\n\nProofread the letter below.\n\nDear Ms Jones,\nI like the job.\nBest,\nJo",
    ],
)
def test_a_wish_in_the_midst_of_a_message_is_heard(message: str) -> None:
    """Beside a task, a heading, a list or a letter of the user's own."""
    assert user_asks_for_no_memory(message.format("Don't remember anything from this session."))


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": '<channel source="chat">\nTurn memory off.\n</channel>'},
        {"prompt": "# Files mentioned by the user:\nTurn memory off.\n\n## My request:\nlook"},
        {"prompt": "Turn memory off.", "agent_id": "a1"},
    ],
)
async def test_a_prompt_that_the_user_did_not_type_turns_nothing_off(
    tmp_path: Path, fields: dict[str, str]
) -> None:
    """What a channel, a mentioned file or a subagent says is no wish of the user's."""
    async with Memorist(
        model="structural", settings=Settings(home=str(tmp_path / "home"))
    ) as engine:
        engine.starts_workers = False
        pool = HookSessionPool(engine, lambda *_: pytest.fail("it failed"))
        given = HookEvent(session_id="s1", cwd=FOLDER, hook_event_name="UserPromptSubmit")
        answer = await pool.render_output_for_event(
            "claude-code", replace(given, **fields), "", 20.0
        )
        await pool.close()

        assert engine.memory_off_sessions() == frozenset()
        assert "memory is off" not in answer.notice


async def test_a_wish_that_is_taken_for_a_quotation_is_answered_with_the_command(
    tmp_path: Path,
) -> None:
    """Who meant it sees that memory stays on."""
    async with Memorist(
        model="structural", settings=Settings(home=str(tmp_path / "home"))
    ) as engine:
        engine.starts_workers = False
        client = Client(engine, tmp_path)
        asked, _ = await client.turn("from the ticket\nTurn memory off.\nwho wrote that?")
        await client.pool.close()

    assert "memory stays on" in asked.notice
    assert "/memorist:off" in asked.notice


def test_words_for_it_in_other_languages_and_words_that_only_sound_alike() -> None:
    """A whole sentence asks for it, typed plainly; tasks and facts with the same words do not."""
    off = """
        don't remember anything from this session|please don't save anything about this conversation
        turn memory off for this session|this chat is off the record|/memorist:off|$memorist-off|[$memorist-off](/home/u/SKILL.md)|merk dir nichts aus dieser Sitzung
        ne retiens rien de cette conversation|no guardes nada de esta sesión|não guarde nada desta conversa
        не запоминай ничего из этой сессии|请不要记住这次对话的任何内容|この会話は覚えないでください
        go incognito|no memory please|stop remembering|disable memory for this session|Keep nothing of this chat.
        Don't use memory in this session|ignore your memory for this conversation|memory: off|MEMORIST_OFF=1
        Please don't save anything we talk about today.|nothing from this session should be remembered
        Schalte das Gedächtnis aus|désactive la mémoire|desactiva la memoria|desative a memória|выключи память
        can you disable memory for this chat?|I don't want you to remember this session|Gedächtnis bitte ausschalten
        switch your memory off for the rest of this session|this session should not be remembered
        mémoire désactivée pour cette session|n'enregistre rien de cette conversation
        关闭记忆|メモリをオフにして|disattiva la memoria
    """
    on = """
        don't save anything to the database in this test|turn off the memory limit|the session is not saved
        remember this session for me|the memory is off by 4 bytes|don't record the session cookie
        why don't you remember anything from this session?|`turn memory off`|disable memory checks
        don't save anything|stop remembering the scroll position|no memory leaks please|pause the memory profiler
        ignore memory errors for this session object|don't use memory mapped files|keep nothing in the cache
    """
    split = [each.strip() for line in off.splitlines() for each in line.split("|") if each.strip()]
    assert [each for each in split if not user_asks_for_no_memory(each)] == []
    split = [each.strip() for line in on.splitlines() for each in line.split("|") if each.strip()]
    assert [each for each in split if user_asks_for_no_memory(each)] == []
    assert (
        find_text_to_pin("The key is q7. Keep that in sight for this session.") == "The key is q7."
    )
    for command in ("/memorist:pin", "$memorist-pin", "[$memorist-pin](/home/u/SKILL.md)"):
        assert find_text_to_pin(f"{command} the port is 9417") == "the port is 9417"
    assert find_text_to_pin("pin this dependency to 1.2") == ""


@pytest.mark.parametrize(
    "wish",
    [
        *("pin: {}", "keep in mind for this session that {}", "keep {} in sight for this session"),
        *("for the rest of this session, remember that {}", "don't lose sight of this: {}"),
        *("for this session only: {}", "keep this visible: {}", "remember for this session: {}"),
        *("In dieser Sitzung gilt: {}", "merk dir für diese Sitzung: {}"),
        *("pour cette session, retiens que {}", "para esta sesión ten en cuenta: {}"),
        *("nesta sessão, lembre-se de que {}", "в этой сессии помни: {}"),
        *("在本次会话中请记住：{}", "このセッションでは覚えておいて：{}"),
    ],
)
def test_a_text_is_pinned_in_the_words_of_many(wish: str) -> None:
    """However a person says that it holds for this session."""
    assert find_text_to_pin(wish.format("the port is 9417")) == "the port is 9417"


FORMS = {
    no_memory_and_pin_requests._OFF_TEXT: no_memory_and_pin_requests._OFF,
    no_memory_and_pin_requests._PIN_TEXT: no_memory_and_pin_requests._PIN,
}


@examples(2, whole=20, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_every_form_of_a_wish_holds_a_word_that_is_looked_for_first(data: st.DataObject) -> None:
    """A text without these words is not split into sentences: no form of a wish may lack them."""
    form = data.draw(st.sampled_from(sorted(FORMS)))
    pattern = re.compile(FORMS[form].pattern, FORMS[form].flags)
    assert holds_required_word(form, data.draw(st.from_regex(pattern, fullmatch=True)))

"""A session whose host has its context assembled: what stands first, what is told later, what comes
back, and that the prefix only grows.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.cli.main import memorist_group
from memorist.context.context_pieces import ContextSection
from memorist.context.first_context_assembly import HostContext
from memorist.context.host_permissions import HostPermissions
from memorist.context.request_prefix_growth import PrefixChecker
from memorist.context.world_state import restore_world_state
from memorist.core.messages import Message
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.errors import InputError, UsageError
from memorist.formats import transcript_format
from memorist.formats.transcript_format import TurnRollback
from memorist.settings import CompactionSettings, ContextSettings, Settings
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.testing.frozen_clock import FrozenClock
from support.sweeps import examples

NOON = 1_784_894_400.0
DAY = 86_400.0


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    (shop / "api").mkdir()
    (shop / "CLAUDE.md").write_text("Use tabs in this project.\n", "utf-8")
    (shop / "AGENTS.md").write_text("Use tabs, says AGENTS.\n", "utf-8")
    skill(shop, "deploy", "1. Run the tests.\n2. Push the tag.\n")
    return shop


def skill(project: Path, name: str, body: str) -> None:
    folder = project / ".agents" / "skills" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {name}\ndescription: Does {name}.\n---\n{body}", "utf-8"
    )


class Host:
    """A loop of a host that leaves the context to memorist; each request is checked for its prefix."""

    def __init__(self, home: Path, format: str = "anthropic", **settings: Any) -> None:
        self.format = format
        self.clock = FrozenClock(NOON)
        self.prefix = PrefixChecker()
        self.history: list[Any] = []
        self.sent: list[dict[str, Any]] = []
        self.model = "m"
        context = ContextSettings(
            managed=f"{home}/none", user_folder=f"{home}/none", agents_folder=f"{home}/none"
        )
        self.settings = Settings(home=str(home), context=context, **settings)

    def engine(self) -> Memorist:
        return Memorist(model="structural", settings=self.settings, clock=self.clock)

    async def open(self, engine: Memorist, project: Path, context: HostContext) -> Session:
        session = await engine.open("s", project=str(project), format=self.format)
        session.assemble_context(context)
        return session

    async def turn(self, session: Session, text: str, reply: str = "Done.") -> str:
        """One call of the model; gives what was sent, as text."""
        self.history.append({"role": "user", "content": text})
        return await self.call(session, reply)

    async def call(self, session: Session, reply: str = "Done.", **more: Any) -> str:
        key = "input" if self.format == "openai_responses" else "messages"
        body = {"model": self.model, "max_tokens": 500, key: list(self.history), **more}
        request = await session.prepare(body)
        self.prefix(request)
        self.sent.append(request)
        match self.format:
            case "anthropic":
                content = [{"type": "text", "text": reply}]
                await session.observe(
                    {
                        "role": "assistant",
                        "content": content,
                        "usage": {"input_tokens": 10, "output_tokens": 5},
                    }
                )
                self.history.append({"role": "assistant", "content": content})
            case "openai_responses":
                item = {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": reply}],
                }
                await session.observe({"output": [item]})
                self.history.append(item)
            case _:
                message = {"role": "assistant", "content": reply}
                await session.observe(
                    {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
                )
                self.history.append(message)
        await session.end_turn()
        return msgspec.json.encode(request).decode()

    def messages(self, number: int = -1) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.sent[number][
            "input" if self.format == "openai_responses" else "messages"
        ]
        return found


def texts(entry: dict[str, Any]) -> str:
    content = entry["content"]
    return (
        content
        if isinstance(content, str)
        else "\n".join(str(part.get("text", "")) for part in content)
    )


def told(host: Host) -> Iterator[str]:
    """What stands in the last request besides what the host itself said."""
    own = {str(entry.get("content")) for entry in host.history if entry["role"] == "user"}
    for entry in host.messages():
        if entry["role"] != "assistant" and texts(entry) not in own:
            yield texts(entry)


@pytest.mark.covers("CX-2", "CX-8")
async def test_the_file_native_family_is_assembled_in_a_messages_request(
    tmp_path: Path, project: Path
) -> None:
    """System blocks behind the host's own, the user context first of all messages, then what the
    user said; the next request extends it.
    """
    host = Host(tmp_path / "home")
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="file-native")
        )
        host.history.append({"role": "user", "content": "Hello."})
        await host.call(session, system="You help.")
        host.history.append({"role": "user", "content": "Go on."})
        await host.call(session, system="You help.")

        first, second = host.sent
        assert first["system"][0]["text"] == "You help."
        assert f"Working folder: {project}" in first["system"][1]["text"]
        assert "Use tabs in this project." in texts(first["messages"][0])
        assert "Today's date" in texts(first["messages"][0])
        assert "deploy" in texts(first["messages"][0])
        assert texts(first["messages"][1]) == "Hello."
        assert len(second["messages"]) == len(first["messages"]) + 2
        assert not host.prefix.differences
        assert {piece.tag for piece in session.first_context} == {"env", "system-reminder"}


@pytest.mark.covers("CX-1", "CX-8")
async def test_the_rollout_family_is_assembled_in_a_responses_request(
    tmp_path: Path, project: Path
) -> None:
    """One developer message, one contextual user message, then the user's words."""
    host = Host(tmp_path / "home", "openai_responses")
    section = ContextSection(tag="developer_instructions", text="Answer in English.")
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="rollout", sections=(section,))
        )
        await host.turn(session, "Hello.")
        await host.turn(session, "Go on.")

        entries = host.messages(0)
        assert [entry["role"] for entry in entries] == ["developer", "user", "user"]
        assert "Answer in English." in texts(entries[0])
        assert "<skills_instructions>" in texts(entries[0])
        assert texts(entries[1]).index("# AGENTS.md instructions") < texts(entries[1]).index(
            "<environment_context>"
        )
        assert not host.prefix.differences


@pytest.mark.covers("CX-1", "CX-2")
@pytest.mark.parametrize("family", ["rollout", "file-native"])
@pytest.mark.parametrize("format", ["anthropic", "openai_responses", "openai_chat"])
async def test_every_family_fits_every_format(
    tmp_path: Path, project: Path, family: Any, format: str
) -> None:
    """Instructions, folder and skills stand before the user's words, and over three turns and a
    change of folder nothing before them changes.
    """
    host = Host(tmp_path / "home", format)
    async with host.engine() as engine:
        session = await host.open(engine, project, HostContext(folder=str(project), family=family))
        whole = await host.turn(session, "Hello there.")
        session.assemble_context(HostContext(folder=str(project / "api"), family=family))
        await host.turn(session, "And now?")
        last = await host.turn(session, "And then?")

        assert whole.index("Use tabs") < whole.index("Hello there.")
        assert "deploy" in whole
        assert last.count(str(project / "api")) >= 1
        assert not host.prefix.differences, str(host.prefix)


@pytest.mark.covers("CX-1")
async def test_a_chat_hosts_own_system_prompt_stays_first(tmp_path: Path, project: Path) -> None:
    """Many providers take one system message, at the head."""
    host = Host(tmp_path / "home", "openai_chat")
    host.history = [{"role": "system", "content": "You help."}]
    async with host.engine() as engine:
        session = await host.open(engine, project, HostContext(folder=str(project)))
        await host.turn(session, "Hello.")

        assert host.messages()[0] == {"role": "system", "content": "You help."}
        assert texts(host.messages()[-1]) == "Hello."


@pytest.mark.covers("CX-3", "CX-8")
async def test_only_what_changed_is_told_and_only_once(tmp_path: Path, project: Path) -> None:
    """A turn without changes adds nothing; the day and a changed instruction file are each told
    once, before the user's words.
    """
    host = Host(tmp_path / "home")
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="file-native")
        )
        await host.turn(session, "One.")
        await host.turn(session, "Two.")
        before = len(list(told(host)))
        host.clock.advance(DAY)
        await host.turn(session, "Three.")
        (day,) = list(told(host))[before:]
        (project / "CLAUDE.md").write_text("Use spaces in this project, four of them.\n", "utf-8")
        await host.turn(session, "Four.")
        (_, file) = list(told(host))[before:]
        await host.turn(session, "Five.")

        assert before == 1
        assert "Today's date: 2026-07-25" in day
        assert "Working folder" not in day
        assert "Use spaces in this project" in file
        assert len(list(told(host))) == before + 2
        order = [texts(entry) for entry in host.messages()]
        assert order.index("Three.") == order.index(day) + 1
        assert order.index("Four.") == order.index(file) + 1
        assert not host.prefix.differences


@pytest.mark.covers("CX-3", "CX-8", "SM-14")
@example(["day", "turn", "restart", "folder", "turn"], "openai_responses", "rollout")
@example(["tools", "day", "restart", "turn"], "anthropic", "file-native")
@given(
    st.lists(
        st.sampled_from(["turn", "tools", "day", "folder", "model", "restart"]),
        min_size=1,
        max_size=10,
    ),
    st.sampled_from(["anthropic", "openai_responses", "openai_chat"]),
    st.sampled_from(["rollout", "file-native"]),
)
@examples(5, whole=15)
def test_whatever_changes_the_prefix_grows_and_the_change_stands_before_the_words(
    moves: list[str], format: str, family: Any
) -> None:
    """Days, folders, models and processes come and go between turns: no request changes what was
    sent, and a turn's last entry is what the user said.
    """
    with tempfile.TemporaryDirectory() as home:
        asyncio.run(_moved(moves, Host(Path(home), format), family))


async def _moved(moves: list[str], host: Host, family: Any) -> None:
    folder = Path(host.settings.home) / "shop"
    (folder / "api").mkdir(parents=True)
    (folder / "CLAUDE.md").write_text("Use tabs.", "utf-8")
    places = [folder, folder / "api"]
    left = ["turn", *moves, "turn"]
    while left:
        async with host.engine() as engine:
            session = await host.open(
                engine, folder, HostContext(folder=str(places[0]), family=family)
            )
            while left and (move := left.pop(0)) != "restart":
                if move == "day":
                    host.clock.advance(DAY)
                elif move == "folder":
                    places.reverse()
                    session.assemble_context(HostContext(folder=str(places[0]), family=family))
                elif move == "model":
                    host.model += "n"
                else:
                    words = f"Words {len(left)}."
                    await host.turn(session, words)
                    assert texts(host.messages()[-1]) == words
                    assert all(
                        difference.part == "model" for difference in host.prefix.differences
                    ), str(host.prefix)
                    if move == "tools" and host.format == "anthropic":
                        await _works(host, session)


async def _works(host: Host, session: Session) -> None:
    """The model calls a tool, and a day passes meanwhile."""
    name = f"c{len(host.history)}"
    host.history[-1]["content"].append(
        {"type": "tool_use", "id": name, "name": "Read", "input": {}}
    )
    host.history.append(
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": name, "content": "Done."}],
        }
    )
    host.clock.advance(DAY)
    await host.call(session)


@pytest.mark.covers("CX-3")
async def test_a_change_of_the_model_is_told_in_the_rollout_family(
    tmp_path: Path, project: Path
) -> None:
    """The developer says that another model answers now, before the words that it is to answer."""
    host = Host(tmp_path / "home", "openai_responses")
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="rollout")
        )
        await host.turn(session, "One.")
        host.model = "n"
        await host.turn(session, "Two.")

        switch, words = host.messages()[-2:]
        assert switch["role"] == "developer"
        assert texts(switch).startswith("<model_switch>")
        assert words == {"role": "user", "content": "Two."}


@pytest.mark.covers("CX-3", "CX-4")
async def test_rules_of_a_scope_come_when_a_file_of_it_is_read(
    tmp_path: Path, project: Path
) -> None:
    """They stand at the tail then, once."""
    rules = project / ".claude" / "rules"
    rules.mkdir(parents=True)
    (rules / "api.md").write_text('---\npaths: "api/**"\n---\nEvery route has a test.\n', "utf-8")
    host = Host(tmp_path / "home")
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="file-native")
        )
        early = await host.turn(session, "One.")
        session.on_file_read("api/routes.py")
        late = await host.turn(session, "Two.")
        later = await host.turn(session, "Three.")

        assert "Every route has a test." not in early
        assert late.count("Every route has a test.") == later.count("Every route has a test.") == 1
        assert not host.prefix.differences


@pytest.mark.covers("SK-2", "CX-8")
async def test_a_skill_is_shown_once_after_the_message_that_calls_for_it(
    tmp_path: Path, project: Path
) -> None:
    """And again only when its body has changed."""
    host = Host(tmp_path / "home")
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="file-native")
        )
        await host.turn(session, "Please $deploy it.")
        order = [texts(entry) for entry in host.messages()]
        await host.turn(session, "Once more: $deploy.")
        again = msgspec.json.encode(host.sent[-1]).decode()
        skill(project, "deploy", "1. Ask the team first.\n")
        await host.turn(session, "And $deploy again.")

        assert "2. Push the tag." in order[-1]
        assert order[-2] == "Please $deploy it."
        assert again.count("2. Push the tag.") == 1
        assert "1. Ask the team first." in msgspec.json.encode(host.sent[-1]).decode()
        assert not host.prefix.differences


@pytest.mark.covers("CX-3", "SK-2")
@pytest.mark.parametrize("format", ["anthropic", "openai_chat", "openai_responses"])
@pytest.mark.parametrize("meanwhile", ["", "Look at the parser."])
async def test_a_call_that_is_taken_back_and_said_again_is_answered_again(
    tmp_path: Path, project: Path, format: str, meanwhile: str
) -> None:
    """The user goes back before the message, and on from it later: it is recorded already, and
    what it calls for stayed out of the request.
    """
    host = Host(tmp_path / "home", format)
    async with host.engine() as engine:
        session = await host.open(engine, project, HostContext(folder=str(project)))
        await host.turn(session, "Hello.")
        assert "Push the tag" in await host.turn(session, "$deploy, please.")
        whole = host.history[:3]
        host.history, host.prefix = host.history[:2], PrefixChecker()
        without = await (host.turn(session, meanwhile) if meanwhile else host.call(session))
        assert "Push the tag" not in without
        host.history, host.prefix = [*whole], PrefixChecker()
        again = await host.call(session)
        assert again.count("Push the tag") == 1
        assert (await host.turn(session, "Go on.")).count("Push the tag") == 1


async def test_a_skill_that_came_and_was_called_at_once_is_listed_too(
    tmp_path: Path, project: Path
) -> None:
    """The call finds it before the search between turns does; a turn later it stands in the
    catalogue all the same.
    """
    host = Host(tmp_path / "home")
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="file-native")
        )
        await host.turn(session, "One.")
        skill(project, "release", "1. Write the notes.\n")
        await host.turn(session, "Two, with $deploy.")
        called = await host.turn(session, "Three, with $release.")
        later = await host.turn(session, "Four.")

        assert "1. Write the notes." in called
        assert later.count("Does release.") == 1
        assert not host.prefix.differences, str(host.prefix)


@pytest.mark.covers("CX-3", "CX-8", "SM-14")
async def test_a_new_process_sends_the_same_bytes_and_tells_what_changed_meanwhile(
    tmp_path: Path, project: Path
) -> None:
    """The first context comes from the disk as it was; the file that changed while nobody was there
    is told at the tail.
    """
    host = Host(tmp_path / "home")
    context = HostContext(folder=str(project), family="file-native")
    async with host.engine() as engine:
        session = await host.open(engine, project, context)
        await host.turn(session, "One, with $deploy.")
    (project / "CLAUDE.md").write_text("Use spaces from now on.\n", "utf-8")
    async with host.engine() as engine:
        session = await host.open(engine, project, context)
        whole = await host.turn(session, "Two.")
        await host.turn(session, "Three, with $deploy.")

        assert whole.count("Use spaces from now on.") == 1
        assert not host.prefix.differences, str(host.prefix)
        assert msgspec.json.encode(host.sent[-1]).decode().count("2. Push the tag.") == 1
        state = restore_world_state(
            transcript_format.read_session(UnpackedUtf8Lines(session.layout.transcript))
        )
        assert any("Use spaces" not in str(value) for value in state.values.values())
        assert not state.unknown


@pytest.mark.covers("CX-3", "SF-5")
@pytest.mark.parametrize("damage", ["lost", "torn", "another"])
async def test_a_damaged_record_of_the_first_context_is_made_anew(
    tmp_path: Path, project: Path, damage: str
) -> None:
    """Nothing is left out: the context is looked up again."""
    host = Host(tmp_path / "home")
    context = HostContext(folder=str(project), family="file-native")
    async with host.engine() as engine:
        session = await host.open(engine, project, context)
        await host.turn(session, "One.")
        file = session.layout.context_snapshot
    match damage:
        case "lost":
            file.unlink()
        case "torn":
            os.truncate(file, file.stat().st_size // 2)
        case _:
            file.write_text("[1, 2]", "utf-8")
    async with host.engine() as engine:
        session = await host.open(engine, project, context)
        whole = await host.turn(session, "Two.")

        assert whole.count("Use tabs in this project.") == 1


@pytest.mark.covers("CX-3", "SF-1")
async def test_a_first_context_with_a_secret_is_shown_whole_and_not_stored(
    tmp_path: Path, project: Path
) -> None:
    """A token in an instruction file reaches the model in each process, as the host's own text, and
    no file of the home has it.
    """
    token = "ghp_" + "0aK9xmP2qLr7vBn4wZs8tYc3dF6gH1jQ5eXu"
    (project / "CLAUDE.md").write_text(f"Use {token} for the registry.\n", "utf-8")
    host = Host(tmp_path / "home")
    context = HostContext(folder=str(project), family="file-native")
    for question in ("One.", "Two."):
        async with host.engine() as engine:
            session = await host.open(engine, project, context)
            whole = await host.turn(session, question)

        assert whole.count(token) == 1
        held = [each for each in (tmp_path / "home").rglob("*") if each.is_file()]
        assert not [each for each in held if token.encode() in each.read_bytes()]


@pytest.mark.covers("CX-1", "CX-2", "CP-8", "SK-2")
@pytest.mark.parametrize("family", ["rollout", "file-native"])
async def test_a_compaction_brings_the_context_and_the_called_skills_back(
    tmp_path: Path, project: Path, family: Any
) -> None:
    """The first context is looked up anew and stands first; the skill comes back with the remark
    that it is context; nothing stands there twice.
    """
    host = Host(tmp_path / "home", compaction=CompactionSettings(schedule="threshold"))
    async with host.engine() as engine:
        session = await host.open(engine, project, HostContext(folder=str(project), family=family))
        await host.turn(
            session, "Start, with $deploy. " + "The importer drops the last row. " * 200
        )
        for number in range(30):
            await host.turn(
                session,
                f"Step {number}. " + f"Line {number} of the importer is wrong. " * 60,
                "I see. " * 80,
            )
        (project / "CLAUDE.md").write_text("Use spaces after all.\n", "utf-8")
        (project / "AGENTS.md").write_text("Use spaces after all.\n", "utf-8")
        done = await session.compact()
        whole = await host.turn(session, "Go on.")

        assert done.result is not None
        assert whole.count("Use spaces after all.") == 1
        assert "Use tabs" not in whole
        assert whole.count("2. Push the tag.") == 1
        assert "context only" in whole
        assert (
            whole.index("Use spaces after all.")
            < whole.index("2. Push the tag.")
            < whole.index("Go on.")
        )
        second = await session.compact()
        assert (
            second.result is None
            or (await host.turn(session, "And on.")).count("2. Push the tag.") == 1
        )


@pytest.mark.covers("CX-1")
async def test_what_the_user_remembers_stands_in_the_first_context_of_the_next_session(
    tmp_path: Path, project: Path
) -> None:
    """The index of the memory has its place in the assembled context, and is not shown a second
    time.
    """
    host = Host(tmp_path / "home")
    context = HostContext(folder=str(project), family="file-native")
    async with host.engine() as engine:
        session = await host.open(engine, project, context)
        await host.turn(session, "Remember that the staging server is called heron.")
        await session.close()
        host.history, host.prefix = [], PrefixChecker()
        session = await engine.open("t", project=str(project), format="anthropic")
        session.assemble_context(context)
        await host.turn(session, "Hello again.")

        (index,) = [piece for piece in session.first_context if piece.source == "auto memory"]
        assert "heron" in index.text
        assert sum(text.count(index.text) for text in map(texts, host.messages())) == 1


@pytest.mark.covers("CX-1")
async def test_a_host_that_assembles_itself_is_sent_as_it_is(tmp_path: Path, project: Path) -> None:
    """Without a memory, not a byte of ours stands in its request."""
    host = Host(tmp_path / "home", "openai_chat")
    async with host.engine() as engine:
        session = await engine.open("s", project=str(project), format="openai_chat")
        await host.turn(session, "Hello, please $deploy.")

        assert host.messages() == [{"role": "user", "content": "Hello, please $deploy."}]
        assert session.first_context == ()


@pytest.mark.covers("CX-1", "CX-2")
@pytest.mark.parametrize(
    ("folder", "family", "said"),
    [("/srv/shop", "rolout", "rolout"), ("shop", None, "absolute"), ("", None, "absolute")],
)
def test_a_context_that_cannot_be_is_refused_where_the_host_writes_it(
    folder: str, family: Any, said: str
) -> None:
    """Not by an error of another kind in the middle of its next request, nor silently."""
    with pytest.raises(UsageError, match=said):
        HostContext(folder=folder, family=family)


@pytest.mark.covers("CX-1")
async def test_a_section_that_the_family_does_not_have_is_named(
    tmp_path: Path, project: Path
) -> None:
    """The host is told which, and the session goes on once it is mended."""
    host = Host(tmp_path / "home")
    async with host.engine() as engine:
        wrong = HostContext(
            folder=str(project), sections=(ContextSection(tag="no-such-tag", text="x"),)
        )
        session = await host.open(engine, project, HostContext(folder=str(project)))
        with pytest.raises(InputError, match="no-such-tag"):
            session.assemble_context(wrong)
        assert "Use tabs" in await host.turn(session, "Hello.")


@pytest.mark.covers("CX-3", "CX-7", "CX-8", "SK-2")
async def test_turns_that_are_taken_back_leave_the_older_part_as_it_was_sent(
    tmp_path: Path, project: Path
) -> None:
    """What was told and shown in them is told again when it is wanted; the transcript keeps every
    message and says what was taken back.
    """
    host = Host(tmp_path / "home")
    context = HostContext(folder=str(project), family="file-native")
    async with host.engine() as engine:
        session = await host.open(engine, project, context)
        await host.turn(session, "One.")
        session.assemble_context(HostContext(folder=str(project / "api"), family="file-native"))
        await host.turn(session, "Two, with $deploy.")
        await host.turn(session, "Three.")
        early = list(host.sent[0]["messages"])
        del host.history[2:]
        again = await host.turn(session, "Two, in other words, with $deploy.")

        assert [texts(entry) for entry in host.messages()[: len(early)]] == [
            texts(entry) for entry in early
        ]
        assert again.count(f"Working folder: {project / 'api'}") == 1
        assert again.count("2. Push the tag.") == 1
        assert "Three." not in again
        (difference,) = host.prefix.differences
        assert difference.why in ("rolled back", "host rewrite")
        assert (
            difference.index == len(early) + 2
        )  # behind the reply, and what is told again in the same words
        entries = list(transcript_format.read_session(UnpackedUtf8Lines(session.layout.transcript)))
        (marker,) = [entry for entry in entries if isinstance(entry, TurnRollback)]
        assert (marker.turns, marker.kept) == (2, True)
        assert any(isinstance(entry, Message) and "Three." in entry.text for entry in entries)
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project / "api"), family="file-native")
        )
        after = await host.turn(session, "Four.")

        assert after.count(f"Working folder: {project / 'api'}") == 1
        assert after.count("2. Push the tag.") == 1
        assert len(host.prefix.differences) == 1, str(host.prefix)


@pytest.mark.covers("CX-7", "CX-8")
async def test_a_host_that_summarises_by_itself_has_its_context_looked_up_again(
    tmp_path: Path, project: Path
) -> None:
    """Its summary and the messages that it kept are no roll-back; the first context stands before
    them, once.
    """
    host = Host(tmp_path / "home")
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="file-native")
        )
        for number in range(4):
            await host.turn(session, f"Step {number}.")
        host.history = [
            {"role": "user", "content": "Summary: three steps are done."},
            *host.history[6:],
        ]
        whole = await host.turn(session, "Go on.")

        assert whole.count("Use tabs in this project.") == 1
        assert not any(
            isinstance(entry, TurnRollback)
            for entry in transcript_format.read_session(
                UnpackedUtf8Lines(session.layout.transcript)
            )
        )


@pytest.mark.covers("CX-5", "CX-8")
async def test_a_call_that_the_user_interrupted_gets_an_output(
    tmp_path: Path, project: Path
) -> None:
    """The provider would refuse the request without it; the next requests repeat it byte for byte."""
    host = Host(tmp_path / "home")
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="file-native")
        )
        await host.turn(session, "One.")
        host.history[-1] = {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}
            ],
        }
        first = await host.turn(session, "Stop. Do something else.")
        await host.turn(session, "Go on.")

        order = [
            entry["content"][0].get("type")
            for entry in host.messages()
            if isinstance(entry["content"], list)
        ]
        assert "interrupted" in first
        assert order[order.index("tool_use") + 1] == "tool_result"
        assert (
            host.sent[-1]["messages"][: len(host.sent[-2]["messages"])] == host.sent[-2]["messages"]
            or not host.prefix.differences[1:]
        )


@pytest.mark.covers("CX-6")
async def test_the_rollout_family_cuts_a_long_output_in_the_middle(
    tmp_path: Path, project: Path
) -> None:
    """Ten thousand tokens of it stay, from both ends."""
    host = Host(tmp_path / "home", "openai_responses", compaction=CompactionSettings(enabled=False))
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="rollout")
        )
        await host.turn(session, "One.")
        output = "first line\n" + "in between\n" * 4_000 + "last line"
        host.history += [
            {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c1", "output": output},
        ]
        shown = await host.turn(session, "Two.")

        assert "first line" in shown
        assert "last line" in shown
        assert len(host.messages()[-2]["output"]) <= 40_000 < len(output)


@pytest.mark.covers("CX-1", "CX-3")
async def test_what_a_host_allows_is_told_and_told_again_when_it_changes(
    tmp_path: Path, project: Path
) -> None:
    """In words and among the environment's values, in the first context; a change comes later, and
    the prefix stays.
    """
    host = Host(tmp_path / "home", "openai_responses")
    strict = HostPermissions(approval="untrusted", sandbox="read-only")
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="rollout", allowed=strict)
        )
        first = await host.turn(session, "hello")
        same = await host.turn(session, "go on")
        session.assemble_context(
            HostContext(
                folder=str(project),
                family="rollout",
                allowed=HostPermissions(approval="never", sandbox="read-only"),
            )
        )
        later = await host.turn(session, "and now")

    assert ("Approval: untrusted." in first, "<sandbox_mode>read-only</sandbox_mode>" in first) == (
        True,
        True,
    )
    assert same.count("Approval: untrusted.") == 1
    assert (later.count("Approval: untrusted."), later.count("Approval: never.")) == (1, 1)
    assert later.index("and now") > later.index("Approval: untrusted.")
    assert "<approval_policy>never</approval_policy>" in later


@pytest.mark.covers("CX-9")
async def test_the_transcript_of_an_assembled_session_is_shown_with_its_first_context(
    tmp_path: Path, project: Path
) -> None:
    """`memorist context` of the transcript lists the pieces, with where they came from."""
    host = Host(tmp_path / "home")
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="file-native")
        )
        await host.turn(session, "Hello.")
        transcript = session.layout.transcript

    printed = CliRunner().invoke(
        memorist_group,
        ["context", str(transcript), "--family", "file-native", "--json"],
        catch_exceptions=False,
    )

    items = json.loads(printed.output)["items"]
    assert items[0]["tag"] == "env"
    assert any(item["source"] == str(project / "CLAUDE.md") for item in items)
    assert [item["tag"] for item in items][-2:] == ["prompt", "reply"]


@pytest.mark.covers("CX-7", "CX-9")
async def test_the_transcript_is_shown_with_what_was_told_later_and_without_turns_taken_back(
    tmp_path: Path, project: Path
) -> None:
    """Item by item what the last request held; also where a new window was saved, as after turns
    that were taken back.
    """
    host = Host(tmp_path / "home")
    async with host.engine() as engine:
        session = await host.open(
            engine, project, HostContext(folder=str(project), family="file-native")
        )
        await host.turn(session, "One.")
        session.assemble_context(HostContext(folder=str(project / "api"), family="file-native"))
        await host.turn(session, "Two, with $deploy.")
        early = items_of(session.layout.transcript)
        await host.turn(session, "Three.")
        del host.history[4:]
        await host.turn(session, "Three, in other words.")
        late = items_of(session.layout.transcript)
        saved = session.layout.shown_messages.exists()

    tags = ["prompt", "reply", "system-reminder", "prompt", "skill", "reply"]
    shown = [(item["tag"], item["why"]) for item in early if item["source"] == "memorist"]
    assert [why for _, why in shown] == [
        "memorist told what of the surroundings changed",
        "the body of a skill that was called for",
    ]
    assert [item["tag"] for item in early[-len(tags) :]] == [
        tag if tag != "skill" else shown[1][0] for tag in tags
    ]
    assert saved
    assert late[: len(early)] == early
    assert [item["text"] for item in late[len(early) :]] == ["Three, in other words.", "Done."]


def items_of(transcript: Path) -> list[dict[str, Any]]:
    printed = CliRunner().invoke(
        memorist_group, ["context", str(transcript), "--json"], catch_exceptions=False
    )
    found: list[dict[str, Any]] = json.loads(printed.output)["items"]
    return found

"""Hermes Agent: the story with its real agent loop, which loads memorist from its plug-in folder,
and what is particular to its two interfaces.
"""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plugs import hermes_given
from plugs.story import (
    CORRECTION,
    EVERYTHING,
    LATER,
    LESSON,
    MODEL,
    TASK,
    TOOL,
    WINDOW,
    Reader,
    Talk,
    World,
    go_on_while_locked,
    leave_streams,
    read_large_pages,
    read_page,
    run_story,
    settings,
    tell_users_apart,
    words,
)

with TemporaryDirectory() as _folder, pytest.MonkeyPatch.context() as _patch:
    _patch.setenv("HOME", _folder)  # Hermes makes ~/.hermes when it is imported
    pytest.importorskip(
        "run_agent",
        reason="hermes-agent is not installed; `make test-plugs PLUGS=hermes` brings it",
    )
    from hermes_cli import plugins
    from hermes_state import SessionDB
    from plugins.memory import discover_memory_providers
    from run_agent import AIAgent
    from tools.registry import registry

from memorist.adapters.engine_thread import EngineThread
from memorist.adapters.hermes import MemoristEngine, MemoristMemoryProvider, plugin
from memorist.adapters.hermes_state import (
    HermesPluginState,
    encode_message_as_wire_json,
    list_texts_added_to_request,
)
from memorist.core.messages import JsonObject
from memorist.testing.provider_server import ScriptedServer

pytestmark = pytest.mark.timeout(600)
"""A story makes two hundred requests, on a machine that may be busy."""

MANIFEST = (
    'name: memorist\nkind: standalone\nversion: "0.1"\ndescription: Memory and context engine\n'
)
PLUGIN = (
    "from memorist.adapters.hermes import MemoristMemoryProvider, plugin\nfrom "
    "plugs.hermes_given import OPTIONS\n\nregister = plugin(**OPTIONS)\n"
)
OWN_MEMORY = {"memory_enabled": False, "user_profile_enabled": False}
CONFIG: dict[str, Any] = {
    "model": {"context_length": 70_000},
    "auxiliary": {"compression": {"context_length": 70_000}},
    "memory": OWN_MEMORY,
}
"""The scripted server tells its real window, which is smaller than Hermes allows."""
WITH: dict[str, Any] = {
    "memory": OWN_MEMORY | {"provider": "memorist"},
    "context": {"engine": "memorist"},
    "plugins": {"enabled": ["memorist"]},
}


END = "(end)"
"""After each result, whose last space Hermes takes away."""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Hermes keeps everything in a folder of this test."""
    folder = tmp_path / "hermes"
    monkeypatch.setenv("HERMES_HOME", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder


def install(folder: Path, options: dict[str, Any] | None, config: dict[str, Any] = WITH) -> None:
    """What the page in the docs tells to write; and forget what this process had loaded."""
    where = folder / "plugins" / "memorist"
    where.mkdir(parents=True, exist_ok=True)
    (where / "plugin.yaml").write_text(MANIFEST)
    (where / "__init__.py").write_text(PLUGIN)
    (folder / "config.yaml").write_text(json.dumps(CONFIG if options is None else CONFIG | config))
    hermes_given.OPTIONS = options or {}
    plugins._plugin_manager = None
    for name in [
        name for name in sys.modules if name.startswith(("_hermes_user_memory", "hermes_plugins"))
    ]:
        del sys.modules[name]


class Hermes:
    """An `AIAgent` with one tool."""

    reaches = EVERYTHING

    def __init__(self, home: Path) -> None:
        self.home = home

    def begin(self, world: World, session: str) -> Talk:
        install(
            self.home,
            None
            if world.attached is None
            else {"attached": world.attached, "project": world.project},
        )
        return Conversation(world, session)


class Conversation:
    def __init__(self, world: World, session: str, **more: Any) -> None:
        parameters = {
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
        }
        about = {"name": TOOL, "description": str(world.tool.__doc__), "parameters": parameters}
        registry.register(
            name=TOOL,
            toolset="harbour",
            schema=about,
            handler=lambda given, **_: world.tool(int(given["number"])) + END,
            override=True,
        )
        self.agent = AIAgent(
            base_url=world.server.openai_url,
            api_key="none",
            model=MODEL,
            provider="custom",
            api_mode="chat_completions",
            quiet_mode=True,
            enabled_toolsets=more.pop("toolsets", ["harbour"]),
            skip_context_files=True,
            session_id=session,
            user_id=world.user or None,
            **more,
        )
        self.history: list[dict[str, Any]] = []
        self.server = world.server

    def say(self, text: str | list[JsonObject]) -> str:
        result = self.agent.run_conversation(text, conversation_history=self.history)
        self.history = result["messages"]
        return str(result["final_response"])

    def leave(self, text: str) -> None:
        def stop(words: str | None) -> None:
            if words and words.strip():
                self.agent.interrupt()

        result = self.agent.run_conversation(
            text, conversation_history=self.history, stream_callback=stop
        )
        assert result["interrupted"]
        self.history = result["messages"]

    def close(self) -> None:
        self.agent.shutdown_memory_provider(self.history)
        self.agent.close()
        # Hermes asks a server of an unknown kind for paths that only some kinds have.
        self.server.refusals[:] = [
            each for each in self.server.refusals if "no such path" not in each
        ]


@pytest.mark.covers("IN-1")
def test_the_story(tmp_path: Path, home: Path) -> None:
    """A long task past its window, a correction, a second session that remembers; and a broken
    memorist changes nothing.
    """
    run_story(Hermes(home), tmp_path)


@pytest.mark.covers("IN-1", "SF-5")
def test_a_locked_database_holds_up_nobody(tmp_path: Path, home: Path) -> None:
    """What was said meanwhile is kept afterwards."""
    go_on_while_locked(Hermes(home), tmp_path)


@pytest.mark.covers("IN-1", "CP-10")
def test_large_results_are_read_once(tmp_path: Path, home: Path) -> None:
    """Three results of 25,000 characters at once, past the window: no page is asked for twice."""
    read_large_pages(Hermes(home), tmp_path)


@pytest.mark.covers("IN-1")
def test_streams_that_are_stopped_lose_nothing(tmp_path: Path, home: Path) -> None:
    """The person stops each answer at its first words."""
    leave_streams(Hermes(home), tmp_path)


@pytest.mark.covers("IN-1", "SF-2")
def test_users_of_one_gateway_share_nothing(tmp_path: Path, home: Path) -> None:
    """By the user whom the gateway names to its memory provider."""
    tell_users_apart(Hermes(home), tmp_path)


@pytest.mark.covers("IN-1")
def test_a_picture_goes_out_as_it_came(tmp_path: Path, home: Path) -> None:
    """Also beside what memorist shows, and with the next request."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    told: list[object] = []
    with (
        ScriptedServer(Reader(0)) as server,
        EngineThread(home=tmp_path / "home", settings=settings(), listener=told.append) as engine,
    ):
        seeing = WITH | {"model": CONFIG["model"] | {"supports_vision": True}}
        install(home, {"attached": engine, "project": tmp_path}, seeing)
        talk = Conversation(World(server=server, project=tmp_path, attached=engine), "one")
        talk.say([{"type": "text", "text": CORRECTION}, picture])
        talk.say(LATER)
        talk.close()

    sent = [
        [part for message in request.body["messages"] for part in message["content"]]
        for request in server.received
        if any("image_url" in str(message) for message in request.body.get("messages", ()))
    ]
    assert len(sent) == 2
    assert all(parts.count(picture) == 1 for parts in sent)
    assert not [event for event in told if type(event).__name__ == "AdapterFailed"]


def test_hermes_finds_the_provider_in_its_folder(home: Path, tmp_path: Path) -> None:
    """By the two files that the page in the docs tells to write."""
    with EngineThread(home=tmp_path / "home") as engine:
        install(home, {"attached": engine})

        assert ("memorist", "Memory and context engine", True) in discover_memory_providers()


def test_a_provider_alone_remembers_and_does_not_compact(home: Path, tmp_path: Path) -> None:
    """Only `memory.provider` is set: a turn is heard of at its end, and the next session is shown
    what was learnt.
    """
    told: list[object] = []
    only = {"memory": WITH["memory"]}
    with (
        ScriptedServer(Reader(1)) as server,
        EngineThread(home=tmp_path / "home", settings=settings(), listener=told.append) as engine,
    ):
        world = World(server=server, project=tmp_path, attached=engine)
        for session, text in (("one", TASK), ("two", LATER)):
            install(home, {"attached": engine, "project": tmp_path}, only)
            talk = Conversation(world, session)
            talk.say(text)
            if session == "one":
                talk.say(CORRECTION)
            talk.close()

    assert LESSON in words(server.received[-1].body)
    assert not [event for event in told if type(event).__name__ == "AdapterFailed"]


def test_a_refusal_as_too_long_is_answered_with_a_smaller_history(
    home: Path, tmp_path: Path
) -> None:
    """The provider's window is smaller than memorist and Hermes know: Hermes asks its engine and
    sends again.
    """
    with (
        ScriptedServer(Reader(12), window=WINDOW // 3) as server,
        EngineThread(home=tmp_path / "home", settings=settings()) as engine,
    ):
        install(home, {"attached": engine, "project": tmp_path})
        talk = Conversation(World(server=server, project=tmp_path, attached=engine), "s")
        last = talk.say(TASK)
        talk.close()

    assert "came last" in last
    assert TASK in words(server.received[-1].body)


@pytest.mark.parametrize("in_place", [True, False])
def test_a_conversation_that_hermes_keeps_in_its_database_stays_one(
    home: Path, tmp_path: Path, *, in_place: bool
) -> None:
    """Hermes gives a compacted session the same id or another one; memorist has one conversation,
    which knows the task and its last words.
    """
    with (
        ScriptedServer(Reader(30), window=WINDOW) as server,
        EngineThread(home=tmp_path / "home", settings=settings()) as engine,
    ):
        install(
            home,
            {"attached": engine, "project": tmp_path},
            WITH | {"compression": {"in_place": in_place}},
        )
        database = SessionDB(tmp_path / "hermes.db")
        talk = Conversation(
            World(server=server, project=tmp_path, attached=engine), "first", session_db=database
        )
        assert "came last" in talk.say(TASK)
        talk.say("Thank you, that is all.")
        ids = {talk.agent.session_id, "first"}
        talk.close()
        database.close()

    assert len(ids) == (1 if in_place else 2)
    found = list((tmp_path / "home").glob("projects/*/*/transcript.jsonl"))
    assert [path.parent.name for path in found] == ["first"]
    assert "that is all" in found[0].read_text("utf-8")
    assert TASK in words(server.received[-1].body)
    assert not server.refusals or all("no such path" in each for each in server.refusals)


def history(pages: int) -> list[dict[str, Any]]:
    """As Hermes keeps one: with times, and ids of its own."""
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": TASK, "timestamp": 1.0, "api_content": TASK}
    ]
    for number in range(1, pages + 1):
        call = {
            "id": f"c{number}",
            "call_id": f"c{number}",
            "type": "function",
            "function": {"name": TOOL, "arguments": "{}"},
        }
        messages.append(
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [call],
                "finish_reason": "tool_calls",
                "reasoning": None,
            }
        )
        messages.append(
            {
                "role": "tool",
                "content": read_page(number),
                "tool_call_id": f"c{number}",
                "name": TOOL,
            }
        )
    return messages


def begun(attached: EngineThread, **more: Any) -> MemoristEngine:
    engine = MemoristEngine(HermesPluginState(attached=attached, project="", **more))
    engine.update_model(MODEL, 70_000)
    engine.on_session_start("s", hermes_home="/srv/hermes")
    return engine


def test_a_compaction_by_hand_keeps_hermes_own_messages(tmp_path: Path) -> None:
    """`/compress` with a topic: fewer messages, the last ones the very objects, none changed, and
    the next compaction goes on from there.
    """
    with EngineThread(home=tmp_path / "home", settings=settings()) as attached:
        engine = begun(attached)
        messages = history(12)
        before = copy.deepcopy(messages)

        smaller = engine.compress(messages, focus_topic="the ships", force=True)
        more = [*smaller, {"role": "user", "content": "And then?"}]

        assert messages == before
        assert len(smaller) < len(messages)
        assert TASK in str(smaller)
        assert engine.compression_count == 1
        assert engine.compress(more)[-1] is more[-1]


def test_the_threshold_is_the_lower_one(tmp_path: Path) -> None:
    """Memorist's for the model's window, or three quarters of what Hermes says it is."""
    with EngineThread(home=tmp_path / "home", settings=settings()) as attached:
        engine = begun(attached)
        own = engine.threshold_tokens
        engine.update_model("another", 70_000)

        assert own < WINDOW
        assert engine.threshold_tokens == 52_500
        assert [engine.should_compress(tokens) for tokens in (52_499, 52_500)] == [False, True]


def test_what_was_cut_can_be_fetched_back_where_that_was_asked_for(tmp_path: Path) -> None:
    """The tool gives the whole text; ids and tools that are not known are answered as errors."""
    with EngineThread(home=tmp_path / "home", settings=settings()) as attached:
        engine = begun(attached, fetch=True)
        engine.compress(history(12), force=True)

        answers = [
            json.loads(engine.handle_tool_call(name, {"id": id}))
            for name, id in (("memorist_fetch", "c3"), ("memorist_fetch", "?"), ("x", "c3"))
        ]

        assert [schema["name"] for schema in engine.get_tool_schemas()] == ["memorist_fetch"]
        assert answers[0] == {"text": read_page(3)}
        assert [list(answer) for answer in answers[1:]] == [["error"], ["error"]]
        assert begun(attached).get_tool_schemas() == []


def test_an_engine_that_cannot_work_leaves_the_history_as_it_is(
    tmp_path: Path, unusable_home: Path
) -> None:
    """A home that is a file, and messages of no known kind."""
    messages = history(3)
    odd: list[Any] = [
        {"role": "user", "content": TASK},
        {"role": "assistant", "tool_calls": [{"function": None}]},
        7,
    ]
    with EngineThread(home=unusable_home) as broken, EngineThread(home=tmp_path / "home") as whole:
        assert begun(broken).compress(messages) is messages
        assert begun(broken).compress(messages, focus_topic="ships", force=True) is messages
        assert begun(whole).compress(odd) is odd


def test_copies_of_an_engine_share_what_cannot_be_copied(tmp_path: Path) -> None:
    """Hermes copies the engine for each agent; each copy has its own session and counts."""
    with EngineThread(home=tmp_path / "home") as attached:
        engine = begun(attached)
        other = copy.deepcopy(engine)
        other.on_session_start("t", hermes_home="/srv/hermes")
        other.compression_count = 5

        assert other.shared is engine.shared
        assert (engine.session, engine.compression_count) == ("s", 0)


def test_the_same_options_share_one_engine() -> None:
    """Hermes loads the file of the plug-in once for the provider and once for the engine."""

    class Registry:
        def __init__(self) -> None:
            self.given: list[Any] = []
            self.register_memory_provider = self.register_context_engine = self.given.append

    registry = Registry()
    for project in ("/srv/shop", "/srv/shop", "/srv/ship"):
        plugin(project=project)(registry)
    shared = [each.shared for each in registry.given]

    assert shared[0] is shared[1] is shared[2] is shared[3]
    assert shared[4] is not shared[0]


def test_a_session_goes_on_under_another_id_only_after_a_compaction(tmp_path: Path) -> None:
    """A compaction by Hermes that gives the session another id keeps the conversation; `/new` and
    another user begin one.
    """
    with EngineThread(home=tmp_path / "home") as attached:
        shared = HermesPluginState(attached=attached)
        provider = MemoristMemoryProvider(shared)
        provider.initialize("a", hermes_home="/srv/hermes", platform="cli")
        provider.on_session_switch("b", parent_session_id="a", reason="compression")
        provider.on_session_switch("c", parent_session_id="b", reason="compression")
        assert shared.conversation("c") is shared.conversation("a")
        provider.on_session_switch("d", reset=True)
        assert shared.conversation("d") is not shared.conversation("a")
        assert shared.conversation("d").project == shared.conversation("a").project == "/srv/hermes"
        assert shared.conversation("a subagent's").project == ""
        for session, user in (("e", "ada"), ("f", "eve"), ("g", "ada")):
            provider.initialize(
                session, hermes_home="/srv/hermes", platform="telegram", user_id=user
            )
        names = [shared.conversation(session).name for session in ("e", "f", "g")]

    assert [name.user for name in names] == ["telegram:ada", "telegram:eve", "telegram:ada"]
    assert {name.project for name in names} == {"/srv/hermes"}


def test_nothing_is_remembered_of_subagents_and_timers(tmp_path: Path) -> None:
    """What an agent said to another agent is no person's word."""
    with EngineThread(home=tmp_path / "home") as attached:
        provider = MemoristMemoryProvider(HermesPluginState(attached=attached, project=tmp_path))
        provider.initialize("a", hermes_home="/srv/hermes", platform="cron", agent_context="cron")
        provider.sync_turn(
            CORRECTION,
            "I will.",
            messages=[
                {"role": "user", "content": CORRECTION},
                {"role": "assistant", "content": "I will."},
            ],
        )
        shown = provider.prefetch(LATER)
        provider.shutdown()

        assert shown == ""
        assert attached.engine.memory(str(tmp_path)).headers() == []


messages = st.dictionaries(
    st.sampled_from(["role", "content", "tool_call_id", "name", "timestamp"]),
    st.none() | st.text(max_size=6) | st.lists(st.just({"type": "text", "text": "x"}), max_size=2),
)


@given(messages)
def test_what_goes_over_the_wire_of_a_message_is_settled(message: JsonObject) -> None:
    """Twice gives the same as once, and nothing of Hermes' own is in it."""
    item = encode_message_as_wire_json(message)

    assert encode_message_as_wire_json(item) == item
    assert "timestamp" not in item


@given(
    st.lists(st.text(max_size=4), max_size=6),
    st.lists(st.text(min_size=1, max_size=4), max_size=3),
    st.integers(0, 6),
)
def test_what_memorist_adds_is_told_apart_from_what_hermes_said(
    said: list[str], ours: list[str], at: int
) -> None:
    """The texts put between Hermes' messages, and no other; a copy of Hermes' words is one of
    Hermes'.
    """
    given_items = [{"role": "user", "content": text} for text in said]
    new = [{"role": "user", "content": f"memorist: {text}"} for text in ours]

    found = list_texts_added_to_request(given_items, [*given_items[:at], *new, *given_items[at:]])

    assert found == [str(item["content"]) for item in new]


def test_agents_of_one_process_keep_their_models(tmp_path: Path) -> None:
    """Each conversation's window is that of its own agent's model, also after a compaction has
    given it another id.
    """
    with EngineThread(home=tmp_path) as engine:
        shared = HermesPluginState(attached=engine)
        first = MemoristEngine(shared)
        first.on_session_start("a")
        second = copy.deepcopy(first)
        second.on_session_start("b")
        for each, model in ((first, "large"), (second, "small")):
            each.update_model(model, 70_000)
        first.on_session_start("a2", boundary_reason="compression", old_session_id="a")

        assert [shared.get_model(each) for each in ("a", "a2", "b")] == ["large", "large", "small"]

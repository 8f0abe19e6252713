"""What memorist assembles in the situations of `clients.situations`, by its own parts and without any client."""

from __future__ import annotations

from pathlib import Path

from clients import situations
from clients.agents import HOOK_WORDS
from memorist.context.assemble import REMINDER, anthropic_body, assemble, deferred_tools, made, messages_of, responses_body
from memorist.context.environment import env_block, environment_context
from memorist.context.instructions import agents_text, claude_text
from memorist.context.normalise import normalise
from memorist.context.outline import Facts, Item, added, outline
from memorist.context.piece import Piece
from memorist.context.piece import Section as Given
from memorist.context.run import Outside, Seen, assembled, look
from memorist.context.scaffold import row, unwrap
from memorist.context.settings import ContextSettings, Family
from memorist.context.world import NOTHING, Render, Section, WorldState, advance, as_messages, digest
from memorist.core.messages import JsonObject, Message, Origin, Text, ToolResult, ToolUse
from memorist.engine import Memorist
from memorist.formats.registry import codec
from memorist.skills.injection import body_message, injections
from memorist.skills.listing import catalogue
from memorist.skills.run import discover, places_of
from memorist.skills.settings import SkillsSettings
from memorist.skills.skill import Skill
from memorist.skills.texts import shipped
from memorist.store.files import DiskFiles
from memorist.testing import FrozenClock, Say, ScriptedModel

FAMILIES: dict[str, Family] = {"codex": "rollout", "claude_code": "file-native"}
FORMATS = {"codex": "openai_responses", "claude_code": "anthropic"}
LONG = "It was added up line by line. " * 400
"""A reply that it pays to compact."""


class Host:
    """A host that has its context assembled. `body` is its next request."""

    def __init__(self, client: str, project: Path) -> None:
        self.client, self.family = client, FAMILIES[client]
        self._project = project
        self._skills: tuple[Skill, ...] = discover(
            places_of(project, {"HOME": str(project.parent)}, str(project.parent)), SkillsSettings()
        ).skills
        self._pieces: tuple[Piece, ...] = ()
        self._state: WorldState = NOTHING
        self.history: list[Message] = []

    def asks(self, words: str, *, folder: str = "", model: str = "first-model") -> None:
        """The user's turn: what changed, what the host's hook says, the words, and the skills that they call for."""
        seen = look(self._project / folder, self.family, Outside(files=DiskFiles(), clock=FrozenClock(), settings=ContextSettings()))
        step = advance(self._state, _sections(seen, model))
        if self._state is NOTHING:
            self._pieces = assembled(seen, self._given()).pieces
        else:
            self.history += as_messages(step.changes, self.family, str(len(self.history)))
        self._state = step.state
        if self.family == "file-native":
            self.history += messages_of(assemble(self.family, (), [Given(tag=REMINDER, text=HOOK_WORDS)]), self.family)
        self.history.append(Message(id=f"u{len(self.history)}", role="user", blocks=(Text(words),), origin=Origin.USER))
        self.history += injections(words, self._skills, family=self.family)

    def answers(self, words: str) -> None:
        """The model's reply."""
        self.history.append(Message(id=f"a{len(self.history)}", role="assistant", blocks=(Text(words),), origin=Origin.MODEL))

    def calls(self, name: str, *, skill: bool = False) -> None:
        """The model calls a tool, which answers; with `skill` it is the tool that loads the skill."""
        call = f"call-{len(self.history)}"
        self.history += [
            Message(id=f"a{call}", role="assistant", blocks=(ToolUse(call, name, {}, "{}"),), origin=Origin.MODEL),
            Message(id=f"t{call}", role="tool", blocks=(ToolResult(call, (Text("Done."),)),), origin=Origin.TOOL),
        ]
        if skill:
            self.history.append(body_message(self._skills[0], self.family, shipped(), SkillsSettings()))

    def body(self) -> JsonObject:
        """The request, with neighbours of one role in one message where the API has it so."""
        if self.family == "rollout":
            return {"model": "m", **responses_body(self._pieces, self.history)}
        body = anthropic_body(self._pieces, self.history)
        wire = codec("anthropic")
        messages = normalise(wire.decode_request(body).messages, "anthropic")
        return {"model": "m", "max_tokens": 100, **body, "messages": wire.encode_messages(messages)}

    def _given(self) -> list[Given]:
        """What the host brings: a system prompt, permissions, tools beside the schema; and the catalogue of skills."""
        tag = "skills_instructions" if self.family == "rollout" else REMINDER
        text = catalogue(self._skills, self.family, shipped(), SkillsSettings()).text
        listed = Given(tag=tag, text=unwrap(text, row(tag, self.family)) or "")
        if self.family == "rollout":
            return [
                Given(tag="base_instructions", text="Work with care."),
                listed,
                Given(tag="permissions instructions", text="Nothing needs approval."),
            ]
        return [Given(tag="static", text="Work with care."), listed, deferred_tools(["ToolSearch"])]


def _sections(seen: Seen, model: str) -> list[Section]:
    """What is compared from turn to turn, in the order of the first context."""
    if seen.family == "rollout":
        folder = seen.around.places[0].folder
        environment = Given(tag="environment_context", text=environment_context(seen.around))
        rules = Given(tag="AGENTS.md", text=agents_text(seen.instructions), values={"folder": folder})
        switch = Given(tag="model_switch", text=f"From here on {model} answers.")
        return [
            Section("model", model, _tagged(switch)),
            Section("instructions", digest(rules.text) + folder, _tagged(rules), "user"),
            Section("environment", environment.text, _tagged(environment), "user"),
        ]
    files = seen.instructions.loaded
    return [
        Section("environment", env_block(seen.around), _plain(env_block(seen.around))),
        Section("model", model, _plain(f"From here on {situations.CLAUDE_OTHER} answers.")),
        *(Section(f"instructions {file.path}", digest(file.text), _plain(claude_text(file))) for file in files),
    ]


def _tagged(given: Given) -> Render:
    text = made(given, row(given.tag, "rollout")).text
    return lambda value, before: text if value is not None else ""


def _plain(text: str) -> Render:
    return lambda value, before: text if value is not None else ""


async def situations_of(client: str, project: Path, home: Path) -> dict[str, tuple[Item, ...]]:
    """The structure of what memorist assembles, by the situation."""
    compactions = _codex_compactions if client == "codex" else _claude_compactions
    return _turns(Host(client, project), situations.facts(project)) | await compactions(client, project, home)


def _turns(host: Host, facts: Facts) -> dict[str, tuple[Item, ...]]:
    """One session: what each turn adds to the request."""
    found: dict[str, tuple[Item, ...]] = {}
    before: tuple[Item, ...] = ()

    def note(name: str) -> None:
        nonlocal before
        now = outline(host.body(), facts)
        found[name] = added(before, now)
        before = now

    host.asks(situations.FIRST)
    note("first turn")
    host.answers("200.50")
    host.asks(situations.SECOND)
    note("nothing changed")
    host.answers("Birch.")
    if host.client == "codex":
        host.asks(situations.MENTION)
        note("skill mentioned")
    else:
        host.asks(situations.BY_TOOL)
        before = outline(host.body(), facts)
        host.calls("Skill", skill=True)
        note("skill by the tool")
        host.answers("Two lines.")
        host.asks(situations.MENTION)
        note("skill by a command")
    host.answers("Two lines.")
    host.asks(situations.ELSEWHERE, folder=situations.DEPOT)
    note("another folder")
    host.answers("The same.")
    host.asks(situations.OTHERWISE, folder=situations.DEPOT, model=situations.CLAUDE_OTHER)
    note("another model")
    return found


async def _codex_compactions(client: str, project: Path, home: Path) -> dict[str, tuple[Item, ...]]:
    """Before a turn, and in the middle of one: the engine compacts what the host sends, and the host goes on."""
    found, facts, host = {}, situations.facts(project), Host(client, project)
    async with _engine(home) as engine:
        session = await engine.open("s", format="openai_responses", folder=home / "session")
        host.asks(situations.FIRST)
        host.answers(LONG)
        await session.prepare(host.body())
        assert (await session.compact(strategy="inline")).result is not None
        host.asks(situations.SECOND)
        found["compaction before a turn"] = outline(await session.prepare(host.body()), facts)
        host.calls("exec_command")
        host.answers(LONG)
        host.calls("exec_command")
        await session.prepare(host.body())
        assert (await session.compact(strategy="inline")).result is not None
        found["compaction in a turn"] = outline(await session.prepare(host.body()), facts)
    return found


async def _claude_compactions(client: str, project: Path, home: Path) -> dict[str, tuple[Item, ...]]:
    """By hand between two turns, and in the middle of one."""
    found, facts = {}, situations.facts(project)
    async with _engine(home) as engine:
        for name in ("compaction by hand", "compaction in a turn"):
            host = Host(client, project)
            session = await engine.open(name.replace(" ", "-"), format="anthropic", folder=home / name)
            host.asks(situations.FIRST)
            host.answers(LONG)
            host.asks(situations.SECOND)
            host.answers(LONG)
            if name == "compaction in a turn":
                host.calls("Bash")
            await session.prepare(host.body())
            assert (await session.compact(strategy="full")).result is not None
            if name == "compaction by hand":
                host.asks(situations.AFTER)
            found[name] = outline(await session.prepare(host.body()), facts)
    return found


def _engine(home: Path) -> Memorist:
    return Memorist(model=ScriptedModel([Say(text=f"<summary>{situations.SUMMARY}</summary>")] * 4), home=home)

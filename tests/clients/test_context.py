"""What the real Codex and Claude Code send besides the conversation, beside what memorist assembles
in the same situation (docs/context-compared.md).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from clients import situations
from clients.agents import Agent, ClaudeCode, Codex
from clients.situations import DEPOT, FIRST, SECOND
from memorist.context.request_prefix_growth import PrefixChecker, PrefixDifferenceReason
from memorist.core.messages import JsonObject
from memorist.engine.engine import Memorist
from memorist.ports import Request
from memorist.testing import Say, ScriptedServer, Step, check_prefix
from memorist.testing.steps import Script
from support.context_outline import OutlineItem, build_outline, find_added_items

pytestmark = pytest.mark.real_client

VERSIONS = json.loads(Path(__file__).with_name("package.json").read_text("utf-8"))["dependencies"]
PACKAGES = {"codex": "@openai/codex", "claude_code": "@anthropic-ai/claude-code"}


class Story:
    """A session in a furnished project: the body of each request, and its structure."""

    def __init__(
        self,
        agent: Agent,
        folder: Path,
        server: ScriptedServer,
        steps: Script,
        turns: Sequence[Mapping[str, str]],
    ) -> None:
        for turn in turns:
            agent.ask(turn["words"], folder=turn.get("folder", ""), model=turn.get("model", ""))
        assert server.refusals == []
        assert callable(steps) or len(server.received) == len(steps)
        self.bodies: list[JsonObject] = [request.body for request in server.received]
        self.items = [
            build_outline(body, situations.facts(folder / "project")) for body in self.bodies
        ]

    def new(self, number: int) -> tuple[OutlineItem, ...]:
        """What a request, counted from 0, has behind all that the one before it had."""
        return find_added_items(self.items[number - 1], self.items[number])


def codex(
    program: Path, folder: Path, steps: Sequence[Step], turns: Sequence[Mapping[str, str]]
) -> Story:
    """A story of Codex."""
    with ScriptedServer(steps) as server:
        agent = Codex(program, folder, server)
        situations.furnish(folder / "project", "codex")
        return Story(agent, folder, server, steps, turns)


def claude(
    program: Path,
    folder: Path,
    steps: Sequence[Step],
    turns: Sequence[Mapping[str, str]],
    window: int | None = None,
) -> Story:
    """A story of Claude Code."""
    with ScriptedServer(steps) as server:
        agent = ClaudeCode(program, folder, server, window=window)
        situations.furnish(folder / "project", "claude_code")
        return Story(agent, folder, server, steps, turns)


@pytest.fixture(scope="module")
def codex_turns(codex_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Five turns: the first, one without changes, one that mentions a skill, one in another folder,
    one by another model.
    """
    turns = [
        {"words": FIRST},
        {"words": SECOND},
        {"words": situations.MENTION},
        {"words": situations.ELSEWHERE, "folder": DEPOT},
        {"words": situations.OTHERWISE, "folder": DEPOT, "model": situations.CODEX_OTHER},
    ]
    return codex(
        codex_program, tmp_path_factory.mktemp("codex-turns"), situations.CODEX_STEPS, turns
    )


@pytest.fixture(scope="module")
def codex_full(codex_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Two turns; the context is full before the second, and again in the middle of it."""
    return codex(
        codex_program,
        tmp_path_factory.mktemp("codex-full"),
        situations.CODEX_FULL_STEPS,
        [{"words": FIRST}, {"words": SECOND}],
    )


@pytest.fixture(scope="module")
def claude_turns(claude_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Six turns: the first, one without changes, a skill by the model's tool and one by a command,
    another folder, another model.
    """
    turns = [
        {"words": FIRST},
        {"words": SECOND},
        {"words": situations.BY_TOOL},
        {"words": situations.SLASH},
        {"words": situations.ELSEWHERE, "folder": DEPOT},
        {"words": situations.OTHERWISE, "folder": DEPOT, "model": situations.CLAUDE_OTHER},
    ]
    return claude(
        claude_program, tmp_path_factory.mktemp("claude-turns"), situations.CLAUDE_STEPS, turns
    )


@pytest.fixture(scope="module")
def claude_by_hand(claude_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Two turns, `/compact`, and one more turn."""
    turns = [{"words": words} for words in (FIRST, SECOND, situations.COMPACT, situations.AFTER)]
    return claude(
        claude_program,
        tmp_path_factory.mktemp("claude-by-hand"),
        situations.CLAUDE_FULL_STEPS,
        turns,
    )


@pytest.fixture(scope="module")
def claude_in_turn(claude_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Two turns; the context is full in the middle of the second."""
    turns = [{"words": FIRST}, {"words": SECOND}]
    folder = tmp_path_factory.mktemp("claude-in-turn")
    return claude(
        claude_program, folder, situations.CLAUDE_IN_TURN_STEPS, turns, situations.CLAUDE_WINDOW
    )


def remembering(_: Request) -> Step:
    """The model of a client that also looks after its memory, in requests of its own."""
    return Say(text="200.50")


@pytest.fixture(scope="module")
def codex_memory(
    codex_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[OutlineItem, ...]:
    """The first turn with memory, developer instructions, and a model of the catalogue."""
    folder = tmp_path_factory.mktemp("codex-memory")
    with ScriptedServer(remembering) as server:
        agent = Codex(codex_program, folder, server)
        situations.furnish(folder / "project", "codex")
        config, memory = (
            folder / "codex" / "config.toml",
            folder / "codex" / "memories" / "memory_summary.md",
        )
        plain = config.read_text("utf-8").replace("[features]", "[features]\nmemories = true")
        config.write_text(
            f'developer_instructions = "{situations.PLAINLY}"\n{plain}\n[memories]\nversion = '
            f'"v1"\n',
            "utf-8",
        )
        memory.parent.mkdir()
        memory.write_text(situations.CODEX_MEMORY, "utf-8")
        story = Story(
            agent,
            folder,
            server,
            remembering,
            [{"words": FIRST, "model": situations.CODEX_CATALOGUED}],
        )
    (asked,) = [
        items
        for items, body in zip(story.items, story.bodies, strict=True)
        if FIRST in json.dumps(body["input"][-1])
    ]
    return asked


@pytest.fixture(scope="module")
def claude_memory(
    claude_program: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[OutlineItem, ...]:
    """The first turn with an index of its auto memory."""
    folder = tmp_path_factory.mktemp("claude-memory")
    slug = "".join(sign if sign.isalnum() else "-" for sign in str(folder / "project"))
    index = folder / "claude" / "projects" / slug / "memory" / "MEMORY.md"
    index.parent.mkdir(parents=True)
    index.write_text(situations.CLAUDE_MEMORY, "utf-8")
    return claude(claude_program, folder, [Say(text="200.50")], [{"words": FIRST}]).items[0]


@pytest.mark.parametrize("client", PACKAGES)
def test_the_record_is_of_the_versions_that_are_run(client: str) -> None:
    """A new version of a client needs a new look at what it sends."""
    assert situations.recorded()[client]["version"] == VERSIONS[PACKAGES[client]]


@pytest.mark.covers("CX-1", "CX-3", "SK-2")
def test_codex_sends_what_is_recorded(
    codex_turns: Story, codex_full: Story, codex_memory: tuple[OutlineItem, ...]
) -> None:
    """Roles, tags, order and shared messages: on the first turn, bare and with all that it can
    hold, when nothing changed, with a skill, in another folder, by another model, and after both of
    its compactions.
    """
    sent = {
        "first turn": codex_turns.items[0],
        "first turn with memory": codex_memory,
        "nothing changed": codex_turns.new(1),
        "skill mentioned": codex_turns.new(2),
        "another folder": codex_turns.new(3),
        "another model": codex_turns.new(4),
        "compaction before a turn": codex_full.items[2],
        "compaction in a turn": codex_full.items[4],
    }

    assert {
        name: [str(item) for item in items] for name, items in sent.items()
    } == situations.theirs("codex")


@pytest.mark.covers("CX-2", "CX-3", "SK-2")
def test_claude_code_sends_what_is_recorded(
    claude_turns: Story,
    claude_by_hand: Story,
    claude_in_turn: Story,
    claude_memory: tuple[OutlineItem, ...],
) -> None:
    """The same of Claude Code, with a skill that the model's tool loads and one that a command
    calls for.
    """
    sent = {
        "first turn": claude_turns.items[0],
        "first turn with memory": claude_memory,
        "nothing changed": claude_turns.new(1),
        "skill by the tool": claude_turns.new(3),
        "skill by a command": claude_turns.new(4),
        "another folder": claude_turns.new(5),
        "another model": claude_turns.new(6),
        "compaction by hand": claude_by_hand.items[-1],
        "compaction in a turn": claude_in_turn.items[-1],
    }

    assert {
        name: [str(item) for item in items] for name, items in sent.items()
    } == situations.theirs("claude_code")


BREAKS: dict[str, list[tuple[int, PrefixDifferenceReason]]] = {
    "codex_turns": [(5, "model")],
    "codex_full": [(2, "tools"), (3, "tools"), (4, "tools"), (5, "tools")],
    "claude_turns": [(7, "model")],
    "claude_by_hand": [(4, "system")],
    "claude_in_turn": [(4, "system")],
}
"""Where the clients break the prefix themselves: another model; Codex asks for a compaction without
tools and has them again after it; Claude Code writes another line about itself into the system
prompt after a compaction. What stands first in a request is named, and hides the compaction behind
it. """


@pytest.mark.parametrize("name", BREAKS)
@pytest.mark.covers("CX-8")
def test_the_prefix_of_a_client_grows_but_where_it_is_known_to_break(
    name: str, request: pytest.FixtureRequest
) -> None:
    """Every request extends the one before, a changed folder and a called skill included; what
    breaks it is named.
    """
    story: Story = request.getfixturevalue(name)
    prefix = PrefixChecker()

    for body in story.bodies:
        prefix(body)

    assert [(each.request, each.why) for each in prefix.differences] == BREAKS[name]


@pytest.mark.parametrize("name", BREAKS)
@pytest.mark.covers("CX-8")
async def test_behind_a_client_memorist_breaks_no_prefix(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """As long as nothing is due each request goes through as it came, so that no other break is
    added.
    """
    story: Story = request.getfixturevalue(name)
    spoken = "openai_responses" if name.startswith("codex") else "anthropic"
    async with Memorist(model="structural", home=tmp_path) as engine:
        session = await engine.open("s", format=spoken, folder=tmp_path / "session")

        sent = [await session.prepare(body) for body in story.bodies]

    assert sent == story.bodies
    check_prefix(sent, except_for={why for _, why in BREAKS[name]})

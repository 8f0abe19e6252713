"""What memorist assembles in the situations of `clients.situations`, for a host that leaves its
context to the engine; without any client.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from clients import situations
from clients.agents import HOOK_WORDS
from memorist.compaction.compaction_result import CompactionStrategy
from memorist.context.context_pieces import ContextSection
from memorist.context.first_context_assembly import REMINDER_TAG, HostContext
from memorist.context.history_repair import normalize_history
from memorist.core.messages import JsonObject
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.formats.codec_registry import find_codec
from memorist.settings import ContextSettings, Family, Settings, SkillsSettings
from memorist.skills.skill_discovery import discover_skills, find_skill_base_folders
from memorist.skills.skill_file import load_skill_prompts
from memorist.skills.skill_invocation import build_skill_body_message
from memorist.testing import Say, ScriptedModel
from support.context_outline import OutlineItem, build_outline, find_added_items
from support.first_request import build_deferred_tools_section

FAMILIES: dict[str, Family] = {"codex": "rollout", "claude_code": "file-native"}
FORMATS = {"codex": "openai_responses", "claude_code": "anthropic"}
SECTIONS = {
    "codex": (
        ContextSection(tag="base_instructions", text="Work with care."),
        ContextSection(tag="permissions instructions", text="Nothing needs approval."),
    ),
    "claude_code": (
        ContextSection(tag="static", text="Work with care."),
        build_deferred_tools_section(["ToolSearch"]),
    ),
}
"""What the host brings: a system prompt, permissions, tools beside the schema."""
MORE: dict[str, tuple[ContextSection, ...]] = {
    "codex": (
        ContextSection(tag="developer_instructions", text=situations.PLAINLY),
        ContextSection(tag="collaboration_mode", text="Work by yourself."),
        ContextSection(tag="multi_agent_role", text="You are the first."),
        ContextSection(tag="multi_agent_mode", text="There are others."),
    ),
    "claude_code": (),
}
"""What it brings beside that where it can do more."""
LONG = "It was added up line by line. " * 400
"""A reply that it pays to compact."""


class Host:
    """A host in the middle of a session. It keeps its history in its own wire format, and says
    where it works.
    """

    def __init__(self, client: str, project: Path, session: Session) -> None:
        self.client = client
        self._project = project
        self._session = session
        self._model = "claude-sonnet-4-5"
        self._history: list[Any] = []
        self._items: tuple[OutlineItem, ...] = ()
        self.works_in("")

    def works_in(self, folder: str, *more: ContextSection) -> None:
        """From here on it works in a folder of the project."""
        sections = (*SECTIONS[self.client], *more)
        self._session.assemble_context(
            HostContext(
                folder=str(self._project / folder), family=FAMILIES[self.client], sections=sections
            )
        )

    def uses(self, model: str) -> None:
        """From here on another model answers."""
        self._model = model

    def says(self, words: str) -> None:
        """The user's words; Claude Code's host puts what its hook says before them."""
        if self.client == "codex":
            self._history.append(
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": words}],
                }
            )
            return
        hook = f"<{REMINDER_TAG}>\n{HOOK_WORDS}\n</{REMINDER_TAG}>"
        self._history.append(
            {
                "role": "user",
                "content": [{"type": "text", "text": hook}, {"type": "text", "text": words}],
            }
        )

    def hears(self, words: str) -> None:
        """The model's reply."""
        if self.client == "codex":
            self._history.append(
                {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": words}],
                }
            )
        else:
            self._history.append({"role": "assistant", "content": words})

    def runs(self, name: str, *, skill: bool = False) -> None:
        """The model calls a tool, which answers; with `skill` the answer brings a skill's body, as
        memorist writes it.
        """
        call = f"call_{len(self._history)}"
        if self.client == "codex":
            self._history += [
                {"type": "function_call", "call_id": call, "name": name, "arguments": "{}"},
                {"type": "function_call_output", "call_id": call, "output": "Done."},
            ]
            return
        found = discover_skills(
            find_skill_base_folders(
                self._project, {"HOME": str(self._project.parent)}, str(self._project.parent)
            ),
            SkillsSettings(),
        ).skills
        body = (
            build_skill_body_message(
                found[0], "file-native", load_skill_prompts(), SkillsSettings()
            ).text
            if skill
            else ""
        )
        answer: list[Any] = [{"type": "tool_result", "tool_use_id": call, "content": "Done."}]
        self._history += [
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": call, "name": name, "input": {}}],
            },
            {
                "role": "user",
                "content": [*answer, *([{"type": "text", "text": body}] if body else [])],
            },
        ]

    async def sent(self) -> tuple[OutlineItem, ...]:
        """The structure of the next request, with neighbours of one role in one message where the
        API has it so.
        """
        key = "input" if self.client == "codex" else "messages"
        request = {
            "model": self._model,
            key: list(self._history),
            **({} if self.client == "codex" else {"max_tokens": 100}),
        }
        return build_outline(
            _merged(await self._session.prepare(request)), situations.facts(self._project)
        )

    async def new(self) -> tuple[OutlineItem, ...]:
        """What the next request has behind the one before it."""
        before, self._items = self._items, await self.sent()
        return find_added_items(before, self._items)

    async def compacts(self, way: CompactionStrategy) -> None:
        """The conversation is made smaller."""
        await self.sent()
        done = await self._session.compact(strategy=way)
        assert done.result is not None, done.why


def _merged(body: JsonObject) -> JsonObject:
    if "input" in body:
        return body
    wire = find_codec("anthropic")
    return {
        **body,
        "messages": wire.encode_messages(
            normalize_history(wire.decode_request(body).messages, "anthropic")
        ),
    }


async def situations_of(
    client: str, project: Path, home: Path
) -> dict[str, tuple[OutlineItem, ...]]:
    """The structure of what memorist sends, by the situation."""
    found: dict[str, tuple[OutlineItem, ...]] = {}
    stories: dict[str, list[Callable[[Host], Awaitable[dict[str, tuple[OutlineItem, ...]]]]]] = {
        "codex": [_turns, _codex_full],
        "claude_code": [_turns, _claude_by_hand, _claude_in_turn],
    }
    context = ContextSettings(
        managed=f"{home}/none", user_folder=f"{home}/none", agents_folder=f"{home}/none"
    )
    model = ScriptedModel([Say(text=f"<summary>{situations.SUMMARY}</summary>")] * 4)
    async with Memorist(model=model, settings=Settings(home=str(home), context=context)) as engine:
        for story in stories[client]:
            session = await engine.open(
                story.__name__, format=FORMATS[client], folder=home / story.__name__
            )
            found |= await story(Host(client, project, session))
        earlier = await engine.open("earlier", project=str(project), format=FORMATS[client])
        host = Host(client, project, earlier)
        host.says(f"Remember that {situations.MEMORY}.")
        await host.sent()
        await earlier.close()
        host = Host(
            client,
            project,
            await engine.open("later", project=str(project), format=FORMATS[client]),
        )
        host.works_in("", *MORE[client])
        host.says(situations.FIRST)
        found["first turn with memory"] = await host.sent()
    return found


async def _turns(host: Host) -> dict[str, tuple[OutlineItem, ...]]:
    found = {}
    host.says(situations.FIRST)
    found["first turn"] = await host.new()
    host.hears("200.50")
    host.says(situations.SECOND)
    found["nothing changed"] = await host.new()
    host.hears("Birch.")
    if host.client == "claude_code":
        host.says(situations.BY_TOOL)
        await host.new()
        host.runs("Skill", skill=True)
        found["skill by the tool"] = await host.new()
        host.hears("Two lines.")
    host.says(situations.MENTION)
    found["skill mentioned" if host.client == "codex" else "skill by a command"] = await host.new()
    host.hears("Two lines.")
    host.works_in(situations.DEPOT)
    host.says(situations.ELSEWHERE)
    found["another folder"] = await host.new()
    host.hears("The same.")
    host.uses(situations.CLAUDE_OTHER)
    host.says(situations.OTHERWISE)
    found["another model"] = await host.new()
    return found


async def _codex_full(host: Host) -> dict[str, tuple[OutlineItem, ...]]:
    """Before a turn, and in the middle of it."""
    found = {}
    host.says(situations.FIRST)
    host.hears(LONG)
    await host.compacts("inline")
    host.says(situations.SECOND)
    found["compaction before a turn"] = await host.sent()
    host.runs("exec_command")
    host.hears(LONG)
    host.runs("exec_command")
    await host.compacts("inline")
    found["compaction in a turn"] = await host.sent()
    return found


async def _claude_by_hand(host: Host) -> dict[str, tuple[OutlineItem, ...]]:
    host.says(situations.FIRST)
    host.hears(LONG)
    host.says(situations.SECOND)
    host.hears(LONG)
    await host.compacts("full")
    host.says(situations.AFTER)
    return {"compaction by hand": await host.sent()}


async def _claude_in_turn(host: Host) -> dict[str, tuple[OutlineItem, ...]]:
    host.says(situations.FIRST)
    host.hears(LONG)
    host.says(situations.SECOND)
    host.hears(LONG)
    host.runs("Bash")
    await host.compacts("full")
    return {"compaction in a turn": await host.sent()}

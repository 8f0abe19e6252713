"""Every way in which typed words reach memory, each driven as its host drives it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from attacks.typed_conversations import TypedTurn
from hooks.recordings import ClaudeFile, CodexFile
from memorist.adapters.engine_thread import EngineThread
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.engine.engine import Memorist
from memorist.engine.tenants import Tenants
from memorist.hooks.hook_event import Client, HookEvent, parse_hook_event
from memorist.hooks.hook_session import HookSessionPool
from memorist.rollouts.raw_memory import SAID_PREFIX
from memorist.rollouts.stage_one_session_scan import read_task_log_and_turn_sizes
from memorist.rollouts.structural_stage_one import build_structural_result
from memorist.settings import ProxySettings, Settings
from memorist.store.rollout_rows import Rollout, SessionFormat
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.testing import Say, ScriptedServer
from proxy.conftest import RunningProxy


class Held(Struct, frozen=True):
    """What memory holds after a conversation."""

    kept: tuple[str, ...]
    waits: tuple[str, ...]
    is_off: bool = False
    pins: tuple[str, ...] = ()


Door = Callable[[Path, Sequence[TypedTurn]], Awaitable[Held]]


def read_held(engine: Memorist, memory: AutoMemory) -> Held:
    """What a project's memory and that of every project hold, and what holds for the session."""
    folders = [each for each in (memory, memory.everywhere) if each is not None]
    kept = [
        ("everywhere: " if each is not memory else "") + topic.body.strip()
        for each in folders
        for topic in each.read_memory_files()
        if topic.provenance.trust in USER_TRUST
    ]
    waits = [
        parse_memory_file(each.path, (each.after or "").encode()).body.strip()
        if each.after
        else f"forget {each.path}"
        for each in memory.list_proposals()
    ]
    return Held(
        tuple(sorted(kept)),
        tuple(sorted(waits)),
        is_off=bool(engine.memory_off_sessions()),
        pins=tuple(
            text
            for path in engine.layout.projects.rglob("pins.json")
            for text in json.loads(path.read_bytes())
        ),
    )


def project_of(folder: Path) -> Path:
    project = folder / "shop"
    (project / ".git").mkdir(parents=True, exist_ok=True)
    return project


def wire_reply(form: str, text: str) -> dict[str, Any]:
    """A reply of the model in a wire format."""
    if form == "anthropic":
        return {
            "id": "msg", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 9, "output_tokens": 2},
        }  # fmt: skip
    if form == "openai_chat":
        message = {"role": "assistant", "content": text}
        return {
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        }
    output = [
        {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
         "content": [{"type": "output_text", "text": text, "annotations": []}]}
    ]  # fmt: skip
    return {
        "id": "resp_1",
        "object": "response",
        "model": "m",
        "status": "completed",
        "output": output,
    }


def wire_request(form: str, turns: Sequence[TypedTurn]) -> dict[str, Any]:
    """The request with which the newest turn is asked."""
    items: list[dict[str, Any]] = []
    kind = {"type": "message"} if form == "openai_responses" else {}
    for each in turns:
        items.append({**kind, "role": "user", "content": each.text})
        answered: Any = each.reply
        if form == "openai_responses":
            answered = [{"type": "output_text", "text": each.reply, "annotations": []}]
        items.append({**kind, "role": "assistant", "content": answered})
    key = "input" if form == "openai_responses" else "messages"
    more = {"max_tokens": 1000} if form == "anthropic" else {}
    return {"model": "m", **more, key: items[:-1]}


def session_door(form: str) -> Door:
    """`Memorist.open`, `prepare` and `observe`."""

    async def drive(folder: Path, turns: Sequence[TypedTurn]) -> Held:
        project = project_of(folder)
        async with Memorist(model="structural", home=folder / "home") as engine:
            session = await engine.open("s1", project=str(project), format=form)
            for number in range(1, len(turns) + 1):
                await session.prepare(wire_request(form, turns[:number]))
                await session.observe(wire_reply(form, turns[number - 1].reply))
                await session.end_turn()
            await session.close()
            return read_held(engine, engine.memory(str(project)))

    return drive


async def tenant_door(folder: Path, turns: Sequence[TypedTurn]) -> Held:
    """A server's session of one user."""
    async with Tenants(folder / "homes") as tenants:
        for number in range(1, len(turns) + 1):
            async with tenants.session("ann", "t1", project="shop") as session:
                await session.prepare(wire_request("anthropic", turns[:number]))
                await session.observe(wire_reply("anthropic", turns[number - 1].reply))
                await session.end_turn()
        return read_held(await tenants.engine("ann"), await tenants.memory("ann", project="shop"))


async def adapter_door(folder: Path, turns: Sequence[TypedTurn]) -> Held:
    """What the adapters of SDKs and frameworks share."""
    project = project_of(folder)
    with EngineThread(home=folder / "home", model="structural") as attached:
        talk = attached.conversation("s1", format="openai_chat", project=str(project))
        for number in range(1, len(turns) + 1):
            talk.prepare(wire_request("openai_chat", turns[:number]))
            talk.observe(wire_reply("openai_chat", turns[number - 1].reply))
            talk.end_turn()
    async with Memorist(model="structural", home=folder / "home") as engine:
        return read_held(engine, engine.memory(str(project)))


def hook_door(client: Client) -> Door:
    """A client's hooks and the file that it writes."""

    async def drive(folder: Path, turns: Sequence[TypedTurn]) -> Held:
        project = project_of(folder)
        path = folder / ("rollout-s1.jsonl" if client == "codex" else "s1.jsonl")
        file = (CodexFile if client == "codex" else ClaudeFile)("s1", str(project))
        async with Memorist(model="structural", home=folder / "home") as engine:
            engine.starts_workers = False
            pool = HookSessionPool(engine, lambda *_: None)

            async def call(name: str, **more: str) -> None:
                path.write_bytes(b"".join(file.lines))
                given = {
                    "session_id": "s1",
                    "transcript_path": str(path),
                    "cwd": str(project),
                    "hook_event_name": name,
                    **more,
                }
                event = parse_hook_event(json.dumps(given).encode(), name)
                assert isinstance(event, HookEvent)
                await pool.render_output_for_event(client, event, "", 20.0)
                await pool.wait_until_idle()

            await call("SessionStart", source="startup")
            for turn in turns:
                await call("UserPromptSubmit", prompt=turn.text)
                file.user(turn.text)
                file.says(turn.reply)
                await call("Stop")
            await call("SessionEnd")
            await pool.close()
            return read_held(engine, engine.memory(str(project)))

    return drive


def proxy_door(form: str, path: str) -> Door:
    """A client whose base address is the proxy's."""

    async def drive(folder: Path, turns: Sequence[TypedTurn]) -> Held:
        project = project_of(folder)
        await asyncio.to_thread(_ask_through_proxy, folder, project, form, path, turns)
        async with Memorist(model="structural", home=folder / "home") as engine:
            return read_held(engine, engine.memory(str(project)))

    return drive


def _ask_through_proxy(
    folder: Path, project: Path, form: str, path: str, turns: Sequence[TypedTurn]
) -> None:
    replies = iter(turns)
    headers = {"x-memorist-project": str(project), "x-memorist-session": "s1"}
    with ScriptedServer(lambda _: Say(text=next(replies).reply)) as server:
        settings = ProxySettings(port=0, upstreams={"anthropic": server.url, "openai": server.url})

        def open_engine(home: Path) -> Memorist:
            return Memorist(home=home, settings=Settings(proxy=settings, model="structural"))

        with RunningProxy(folder / "home", settings, engine=open_engine) as proxy:
            for number in range(1, len(turns) + 1):
                answer = proxy.ask(path, wire_request(form, turns[:number]), headers=headers)
                assert answer.status == 200, answer.data


LIVE_DOORS: dict[str, Door] = {
    "session anthropic": session_door("anthropic"),
    "session openai_chat": session_door("openai_chat"),
    "session openai_responses": session_door("openai_responses"),
    "tenant": tenant_door,
    "adapter": adapter_door,
    "hooks of Claude Code": hook_door("claude-code"),
    "hooks of Codex": hook_door("codex"),
    "proxy anthropic": proxy_door("anthropic", "/v1/messages"),
    "proxy openai_chat": proxy_door("openai_chat", "/v1/chat/completions"),
    "proxy openai_responses": proxy_door("openai_responses", "/v1/responses"),
}


def record_claude_code(cwd: str, turns: Sequence[TypedTurn]) -> bytes:
    return _record(ClaudeFile("s1", cwd), turns)


def record_codex(cwd: str, turns: Sequence[TypedTurn]) -> bytes:
    return _record(CodexFile("s1", cwd), turns)


def _record(file: ClaudeFile | CodexFile, turns: Sequence[TypedTurn]) -> bytes:
    for turn in turns:
        file.user(turn.text)
        file.says(turn.reply)
    return b"".join(file.lines)


def record_copilot_cli(cwd: str, turns: Sequence[TypedTurn]) -> bytes:
    events = [("session.start", {"sessionId": "s1", "startTime": _AT, "context": {"cwd": cwd}})]
    for turn in turns:
        events.append(("user.message", {"content": turn.text, "transformedContent": turn.text}))
        events.append(("assistant.message", {"content": turn.reply, "toolRequests": []}))
    return _lines(
        {"type": kind, "data": data, "id": f"e{number}", "timestamp": _AT}
        for number, (kind, data) in enumerate(events)
    )


def record_gemini_cli(cwd: str, turns: Sequence[TypedTurn]) -> bytes:
    del cwd
    messages = [
        {"id": f"g{number}-{kind}", "timestamp": _AT, "type": kind, "content": content}
        for number, turn in enumerate(turns)
        for kind, content in (("user", [{"text": turn.text}]), ("gemini", turn.reply))
    ]
    head = {"sessionId": "s1", "projectHash": "h", "startTime": _AT, "lastUpdated": _AT}
    return _lines([head, *messages])


def record_opencode(cwd: str, turns: Sequence[TypedTurn]) -> bytes:
    time = {"created": 1_780_000_000_000}
    messages = [
        {
            "info": {"id": f"m{number}-{role}", "role": role, "time": time},
            "parts": [{"type": "text", "text": text, "id": f"p{number}-{role}"}],
        }
        for number, turn in enumerate(turns)
        for role, text in (("user", turn.text), ("assistant", turn.reply))
    ]
    info = {"id": "ses_1", "directory": cwd, "title": "t", "version": "1", "time": time}
    return json.dumps({"info": info, "messages": messages}, indent=2).encode()


def record_pi(cwd: str, turns: Sequence[TypedTurn]) -> bytes:
    records: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "s1", "timestamp": _AT, "cwd": cwd}
    ]
    parent = None
    for number, turn in enumerate(turns):
        for role, text in (("user", turn.text), ("assistant", turn.reply)):
            message = {"role": role, "content": [{"type": "text", "text": text}]}
            id = f"{role[0]}{number}"
            records.append(
                {
                    "id": id,
                    "parentId": parent,
                    "timestamp": _AT,
                    "type": "message",
                    "message": message,
                }
            )
            parent = id
    return _lines(records)


_AT = "2026-05-28T20:26:40.000Z"


def _lines(records: Iterable[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(each, ensure_ascii=False).encode() + b"\n" for each in records)


RECORDERS: dict[SessionFormat, Callable[[str, Sequence[TypedTurn]], bytes]] = {
    "claude_code": record_claude_code,
    "codex": record_codex,
    "copilot_cli": record_copilot_cli,
    "gemini_cli": record_gemini_cli,
    "opencode": record_opencode,
    "pi": record_pi,
}
"""The same conversation as each agent records it."""


async def read_import(folder: Path, format: SessionFormat, turns: Sequence[TypedTurn]) -> Held:
    """What stage one makes of a recorded session: what the user states, and what they said."""
    path = folder / ("rollout-s1.jsonl" if format == "codex" else "s1.jsonl")
    path.write_bytes(RECORDERS[format]("/home/dev/shop", turns))
    shop = "/home/dev/shop"
    rollout = Rollout(
        id="s1",
        path=str(path),
        format=format,
        size=path.stat().st_size,
        modified_ns=1,
        updated=9,
        cwd=shop,
        repository=shop,
        branch="main",
    )
    lines = UnpackedUtf8Lines(path)
    task_log = read_task_log_and_turn_sizes(lines).task_log
    memory = build_structural_result(task_log, rollout).memory
    said = [each for task in memory.tasks for each in task.preferences if each.proof == "said"]
    return Held(
        tuple(
            sorted(
                ("everywhere: " if each.scope == "global" else "") + each.text
                for each in said
                if not each.text.startswith("The user ")
            )
        ),
        tuple(
            sorted(
                each.text.removeprefix(SAID_PREFIX).strip("“”")
                for each in said
                if each.text.startswith(SAID_PREFIX)
            )
        ),
    )

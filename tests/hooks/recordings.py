"""Session files as Claude Code and Codex write them, line by line."""

from __future__ import annotations

import json
from typing import Any

FOLDER = "/home/dev/shop"


class ClaudeFile:
    """Lines of a transcript."""

    def __init__(self, session: str = "s1", cwd: str = FOLDER) -> None:
        self.lines: list[bytes] = []
        self._about = {
            "sessionId": session,
            "cwd": cwd,
            "version": "2.1.330",
            "isSidechain": False,
            "userType": "external",
        }
        self._parent: str | None = None
        self._turn = ""

    def add(self, kind: str, **fields: Any) -> str:
        """Any record; gives its uuid."""
        uuid = f"u{len(self.lines) + 1:04}"
        record = {
            "parentUuid": self._parent,
            "type": kind,
            "uuid": uuid,
            "timestamp": f"2026-11-22T10:00:{len(self.lines) % 60:02}.000Z",
            **self._about,
            **fields,
        }
        self.lines.append(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        self._parent = uuid
        return uuid

    def begins_turn(self, number: int) -> None:
        """The ids of the replies from here on are those of this turn."""
        self._turn = f"{number}-"

    def user(self, text: str) -> str:
        """What the person typed."""
        return self.add("user", message={"role": "user", "content": text})

    def says(self, text: str) -> str:
        """A reply."""
        content = [{"type": "text", "text": text}]
        message = {
            "id": f"{self._turn}r{len(self.lines)}",
            "role": "assistant",
            "model": "m",
            "content": content,
            "usage": {"input_tokens": 9},
        }
        return self.add("assistant", message=message)

    def calls(self, command: str, output: str) -> str:
        """A call and its result."""
        name = f"toolu_{len(self.lines)}"
        content: list[dict[str, Any]] = [
            {"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}}
        ]
        self.add(
            "assistant",
            message={
                "id": f"{self._turn}r{len(self.lines)}",
                "role": "assistant",
                "model": "m",
                "content": content,
            },
        )
        content = [{"type": "tool_result", "tool_use_id": name, "content": output}]
        return self.add(
            "user", message={"role": "user", "content": content}, toolUseResult={"stdout": output}
        )

    def replies(self, tool: str, arguments: dict[str, Any], result: str, *, refused: bool) -> None:
        """A call whose result the client writes: what the person answered, or why they refused."""
        name = f"toolu_{len(self.lines)}"
        reply = {"id": f"{self._turn}r{len(self.lines)}", "role": "assistant", "model": "m"}
        call = {"type": "tool_use", "id": name, "name": tool, "input": arguments}
        self.add("assistant", message={**reply, "content": [call]})
        answer = {"type": "tool_result", "tool_use_id": name, "content": result}
        content = [answer | ({"is_error": True} if refused else {})]
        self.add("user", message={"role": "user", "content": content}, toolUseResult=result)

    def injected(self, event: str, text: str) -> str:
        """What a hook had shown, as the agent writes it down."""
        return self.add(
            "attachment",
            attachment={"type": "hook_additional_context", "hookEvent": event, "content": [text]},
        )

    def compacts(self, summary: str) -> str:
        """A compaction."""
        self.add(
            "system",
            subtype="compact_boundary",
            logicalParentUuid=self._parent,
            parentUuid=None,
            compactMetadata={"trigger": "auto"},
        )
        text = (
            f"This session is being continued from a previous conversation that ran out of "
            f"context.\n{summary}"
        )
        return self.add("user", isCompactSummary=True, message={"role": "user", "content": text})

    def forked(self, session: str, *, names_parent: bool) -> ClaudeFile:
        """A session that begins with a copy: `/branch` names the parent, `--fork-session` not."""
        fork = ClaudeFile(session)
        origin = {"forkedFrom": {"sessionId": self._about["sessionId"]}} if names_parent else {}
        fork.lines = [
            json.dumps({**json.loads(line), **origin, "sessionId": session}).encode() + b"\n"
            for line in self.lines
        ]
        fork._parent = self._parent
        return fork

    def back_to(self, uuid: str) -> None:
        """The person goes back to an earlier place; what comes next hangs there."""
        self._parent = uuid


class CodexFile:
    """Lines of a rollout."""

    def __init__(self, session: str = "s1", cwd: str = FOLDER) -> None:
        self.lines: list[bytes] = []
        self.add(
            "session_meta",
            {
                "id": session,
                "cwd": cwd,
                "originator": "codex-tui",
                "cli_version": "0.169.0",
                "source": "cli",
            },
        )
        self.add("turn_context", {"cwd": cwd, "model": "m", "turn_id": "t1"})

    def add(self, kind: str, payload: dict[str, Any]) -> None:
        """Any record."""
        stamp = f"2026-11-22T10:00:{len(self.lines) % 60:02}.000Z"
        self.lines.append(
            json.dumps(
                {"timestamp": stamp, "type": kind, "payload": payload}, ensure_ascii=False
            ).encode()
            + b"\n"
        )

    def _message(self, role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        self.add(
            "response_item",
            {"type": "message", "role": role, "content": [{"type": kind, "text": text}]},
        )

    def begins_turn(self, number: int) -> None:
        """The client names the turn."""
        self.add("event_msg", {"type": "task_started", "turn_id": f"turn-{number}"})

    def user(self, text: str) -> None:
        """What the person typed."""
        self._message("user", text)

    def says(self, text: str) -> None:
        """A reply, and what it took."""
        self._message("assistant", text)
        usage = {
            "input_tokens": len(self.lines),
            "cached_input_tokens": 0,
            "output_tokens": 1,
            "total_tokens": len(self.lines) + 1,
        }
        self.add(
            "event_msg",
            {
                "type": "token_count",
                "info": {"total_token_usage": usage, "last_token_usage": usage},
            },
        )

    def calls(self, command: str, output: str) -> None:
        """A call and its result."""
        name = f"call_{len(self.lines)}"
        arguments = json.dumps({"cmd": command})
        self.add(
            "response_item",
            {
                "type": "function_call",
                "name": "exec_command",
                "call_id": name,
                "arguments": arguments,
            },
        )
        self.add(
            "response_item", {"type": "function_call_output", "call_id": name, "output": output}
        )

    def injected(self, _: str, text: str) -> None:
        """What a hook had shown, as the agent writes it down."""
        self._message("developer", text)

    def compacts(self, summary: str) -> None:
        """A compaction."""
        item = {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": summary}],
        }
        self.add("compacted", {"message": summary, "replacement_history": [item]})

    def forked(self, session: str, **_: bool) -> CodexFile:
        """A session that begins with a copy: its own head names the parent, whose head follows."""
        fork = CodexFile(session)
        head = json.loads(fork.lines[0])
        head["payload"]["forked_from_id"] = json.loads(self.lines[0])["payload"]["id"]
        fork.lines = [json.dumps(head).encode() + b"\n", *self.lines]
        return fork

    def takes_back(self, turns: int) -> None:
        """The person takes turns back."""
        self.add("event_msg", {"type": "thread_rolled_back", "num_turns": turns})


Recording = ClaudeFile | CodexFile


def a_session(file: Recording, turns: int = 4) -> Recording:
    """A session with tools, hooks and a compaction."""
    for turn in range(turns):
        file.injected("UserPromptSubmit", f"[memorist] shown at {turn}")
        file.user(f"Question {turn}?")
        file.calls(f"cat file-{turn}", f"content {turn}\n" * 20)
        file.says(f"Answer {turn}.")
        if turn == turns // 2:
            file.compacts(f"Summary of {turn}.")
    return file

"""What one user of the crowd does, for Locust: an agent's conversations through the proxy,
streamed, with calls of tools. Runs in Locust's own environment, so it imports nothing of memorist.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import re
from collections.abc import Iterable
from typing import Any

from locust import HttpUser, between, task  # type: ignore[import-not-found,unused-ignore]

REQUESTS = int(os.environ["CROWD_REQUESTS"])
"""Of one conversation."""
THINK_SECONDS = float(os.environ["CROWD_THINK_SECONDS"])
"""Mean wait between two requests: a tool runs, or the user reads."""
STOP_EVERY = 40
"""Of so many answers a user stops one at its first words."""
TEXT = "The importer reads a row, checks its date against the holidays, and writes it down. "
NUMBERS = itertools.count()
READ = re.compile(r"changed|unchanged|recovered")
"""What the proxy says of a request that memorist read."""


class AgentUser(HttpUser):  # type: ignore[misc,unused-ignore]
    """A user whose agent asks, runs the tool that the model calls, and asks again."""

    wait_time = between(0, 2 * THINK_SECONDS)

    def on_start(self) -> None:
        """Begin with no conversation."""
        self.number = next(NUMBERS)
        self.random = random.Random(self.number)  # noqa: S311 - load
        self.conversation = 0
        self.messages: list[dict[str, Any]] = []

    @task  # type: ignore[untyped-decorator,unused-ignore]
    def ask(self) -> None:
        """Send the next request of the conversation, and take the whole answer."""
        if len(self.messages) >= 2 * REQUESTS:
            self.messages = []
            self.conversation += 1
        if not self.messages or self.messages[-1]["role"] == "assistant":
            self.messages.append({"role": "user", "content": [self.next_block()]})
        stops = self.random.randrange(STOP_EVERY) == 0
        headers = {
            "anthropic-version": "2023-06-01",
            "x-api-key": "none",
            "x-claude-code-session-id": f"crowd-{self.number}-{self.conversation}",
        }
        with self.client.post(
            "/v1/messages",
            json=self.build_body(),
            headers=headers,
            stream=True,
            catch_response=True,
            name="stopped by its user" if stops else "answered",
        ) as response:
            if stops and response.status_code == 200:
                next(response.iter_lines(), b"")
                response.close()
                response.success()
                return
            block = read_answer(response.iter_lines()) if response.status_code == 200 else None
            if block is None:
                response.failure(f"no whole answer: status {response.status_code}")
            elif not READ.match(response.headers.get("x-memorist", "")):
                response.failure(f"memorist did not read it: {response.headers.get('x-memorist')}")
            else:
                self.messages.append({"role": "assistant", "content": [block]})

    def next_block(self) -> dict[str, Any]:
        """The result of the tool that the model called, or the user's next question."""
        turn = len(self.messages)
        last = self.messages[-1]["content"][0] if self.messages else {}
        sign = f"zqu{self.number}qz"
        if last.get("type") == "tool_use":
            result = f"{turn} {sign} {TEXT * self.random.randint(5, 60)}"
            return {"type": "tool_result", "tool_use_id": last["id"], "content": result}
        return {"type": "text", "text": f"And row {turn} of {sign}? {TEXT}"}

    def build_body(self) -> dict[str, Any]:
        """A request as an agent writes it."""
        return {
            "model": "claude-sonnet-4-5",
            "max_tokens": 1_000,
            "stream": True,
            "system": [{"type": "text", "text": TEXT * 10}],
            "tools": [
                {"name": f"tool_{n}", "description": TEXT, "input_schema": {"type": "object"}}
                for n in range(6)
            ],
            "messages": self.messages,
        }


def read_answer(lines: Iterable[bytes]) -> dict[str, Any] | None:
    """The block that was streamed; None where the stream is not whole."""
    block: dict[str, Any] = {}
    arguments = ""
    for line in lines:
        if not line.startswith(b"data:"):
            continue
        event = json.loads(line[5:])
        kind = event.get("type")
        if kind == "content_block_start":
            block = event["content_block"]
        elif kind == "content_block_delta":
            delta = event["delta"]
            if delta["type"] == "text_delta":
                block["text"] = block.get("text", "") + delta["text"]
            else:
                arguments += delta.get("partial_json", "")
        elif kind == "message_stop":
            return block | ({"input": json.loads(arguments or "{}")} if arguments else {})
    return None

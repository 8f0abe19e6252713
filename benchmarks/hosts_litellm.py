"""A loop of one's own over LiteLLM: alone, with `trim_messages`, and with memorist's callbacks. Run
in its own environment.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import litellm
from litellm.utils import trim_messages

from benchmarks.host_task import TOOL, WINDOW, HostTalk, read_page
from benchmarks.hosts import MODEL, HostWorld
from memorist.adapters.litellm import MemoristLogger
from memorist.core.token_count import estimate_text_tokens

PACKAGES = ("litellm",)
LEFT = WINDOW * 7 // 10
"""Tokens that `trim_messages` leaves, as the server counts them."""
_TOOL = {
    "type": "function",
    "function": {
        "name": TOOL,
        "description": "Read one page of the harbour report.",
        "parameters": {
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
        },
    },
}


class _Talk:
    def __init__(
        self,
        world: HostWorld,
        complete: Callable[..., Any],
        shorten: Callable[[list[dict[str, Any]]], Any] = list,
    ) -> None:
        self._complete = complete
        self._shorten = shorten
        self._url = world.server.openai_url
        self._history: list[dict[str, Any]] = [{"role": "system", "content": "You help."}]

    def say(self, text: str) -> object:
        self._history.append({"role": "user", "content": text})
        while True:
            reply = self._complete(
                model=f"openai/{MODEL}",
                api_base=self._url,
                api_key="none",
                max_retries=0,
                tools=[_TOOL],
                messages=self._shorten(self._history),
            )
            said = reply.choices[0].message
            self._history.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return said.content
            for call in said.tool_calls:
                page = read_page(json.loads(call.function.arguments)["number"])
                self._history.append({"role": "tool", "tool_call_id": call.id, "content": page})

    def close(self) -> None:
        pass


def _alone(world: HostWorld) -> HostTalk:
    return _Talk(world, litellm.completion)


def _trim(world: HostWorld) -> HostTalk:
    page = read_page(1)
    share = litellm.token_counter(model=MODEL, text=page) / estimate_text_tokens(page)
    most = int(LEFT * share)  # it counts with a tokenizer
    return _Talk(
        world,
        litellm.completion,
        lambda messages: trim_messages(list(messages), model=MODEL, max_tokens=most),
    )


def _memorist(world: HostWorld) -> HostTalk:
    plug = MemoristLogger(
        project=world.folder, home=world.folder / "home", settings=world.settings, session="task"
    )
    return _Talk(world, plug.completion)


WAYS: dict[str, Callable[[HostWorld], HostTalk]] = {
    "alone": _alone,
    "`trim_messages`, 16,800 tokens": _trim,
    "memorist": _memorist,
}

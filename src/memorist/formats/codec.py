"""What every wire format must be able to do. One module a format: `anthropic`, `openai_responses`, `openai_chat`.

A codec is a module-level object named `CODEC`; `memorist.formats.registry.codec(name)` finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from memorist.core.messages import JsonObject, Message, Prompt, ToolDefinition
from memorist.ports import Reply


class Codec(Protocol):
    """Reads and writes one wire format. Every method is pure, and never changes what it is given.

    Lossless: `encode_request(decode_request(body)) == body` for every body whose overall shape is that of the format, with unknown
    keys, unknown blocks and unusual but legal forms kept. All decoding raises `FormatError` for what is not of the format at all.
    """

    @property
    def name(self) -> str:
        """The format's name, as in `Request.format`."""
        ...

    def history_key(self) -> str:
        """The key of a request body that holds the growing list: `messages`, or `input` for Responses."""
        ...

    def decode_item(self, item: Any, *, id: str) -> tuple[Message, ...]:  # noqa: ANN401 - an entry as it stands on the wire
        """Read one entry of the history. `id` is used where the wire gives none."""
        ...

    def encode_messages(self, messages: Sequence[Message]) -> list[Any]:
        """Write messages as entries of the history.

        Messages that came from this format are written as they stood. Messages from another format are translated: what this format cannot
        say is left out (extras) or turned to text (unknown blocks), neighbours that it demands merged are merged.
        """
        ...

    def decode_request(self, body: JsonObject) -> Prompt:
        """Read a whole request body."""
        ...

    def encode_request(self, prompt: Prompt) -> JsonObject:
        """Write a whole request body."""
        ...

    def decode_reply(self, body: JsonObject) -> Reply:
        """Read a whole (not streamed) reply; `cost_usd` is left None."""
        ...

    def extend(self, body: JsonObject, reply: JsonObject | None, tail: Sequence[Message]) -> JsonObject:
        """The same request with the reply to it and then `tail` at the end of its history.

        The new body shares every earlier entry and parameter with the old one, so that its bytes are a prefix of the new request's history. The
        tail carries no cache mark. Tool calls that stay open in the reply are the caller's business (`open_tool_results`).
        """
        ...

    def tool_result(self, tool_use_id: str, text: str, *, is_error: bool = False, custom: bool = False) -> Message:
        """A message with one tool answer, as this format writes it."""
        ...

    def user_text(self, text: str, results: Sequence[Message] = ()) -> tuple[Message, ...]:
        """A user message with `text`, with the given tool answers before it, as this format demands (one message in Anthropic's)."""
        ...

    def new_body(
        self, model: str, *, system: str, text: str, tools: Sequence[ToolDefinition] = (), max_output: int, schema: JsonObject | None = None
    ) -> JsonObject:
        """A fresh request with one user message. With `schema`, the answer is asked for as JSON of that schema, in the format's own way."""
        ...

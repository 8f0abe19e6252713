"""The protocol of a wire format. One module per format: `anthropic`, `openai_responses`,
`openai_chat`.

A codec is a module-level object named `CODEC`; `memorist.formats.registry.find_codec(name)` finds
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from memorist.core.messages import JsonObject, Message, Prompt, ToolDefinition
from memorist.ports import Reply


class Codec(Protocol):
    """Reads and writes one wire format. Every method is pure and never changes its arguments.

    Lossless: `encode_request(decode_request(body)) == body` for every body whose overall shape is
    that of the format, with unknown keys, unknown blocks and unusual but legal forms kept. Decoding
    raises `FormatError` for what is not of the format at all.
    """

    @property
    def name(self) -> str:
        """The format's name, as in `Request.format`."""
        ...

    def history_key(self) -> str:
        """The key of a request body that holds the growing list: `messages`, or `input` for
        Responses.
        """
        ...

    def decode_item(self, item: Any, *, id: str) -> tuple[Message, ...]:  # noqa: ANN401 - an entry as it stands on the wire
        """Read one entry of the history. `id` is used when the wire gives none."""
        ...

    def encode_messages(self, messages: Sequence[Message]) -> list[Any]:
        """Write messages as entries of the history.

        Messages of this format are written as they were read. Messages of another format are
        translated: what this format cannot express is left out (extras) or becomes text (unknown
        blocks), and neighbours that must be one entry are merged.
        """
        ...

    def decode_request(self, body: JsonObject) -> Prompt:
        """Read a whole request body."""
        ...

    def encode_request(self, prompt: Prompt) -> JsonObject:
        """Write a whole request body."""
        ...

    def decode_reply(self, body: JsonObject) -> Reply:
        """Read a whole (not streamed) reply; `cost_usd` is None."""
        ...

    def extend(self, body: JsonObject, reply: JsonObject | None, tail: Sequence[Message]) -> JsonObject:
        """The same request with the reply to it and then `tail` at the end of its history.

        The new body shares every earlier entry and parameter with the old one, so that its bytes
        are a prefix of the new request's history. The tail carries no cache mark. Tool calls that
        the reply leaves open are up to the caller (`build_placeholder_results`).
        """
        ...

    def tool_result(self, tool_use_id: str, text: str, *, is_error: bool = False, custom: bool = False) -> Message:
        """Build a message with one tool result in this format."""
        ...

    def user_text(self, text: str, results: Sequence[Message] = ()) -> tuple[Message, ...]:
        """Build a user message with `text`, preceded by the given tool results as this format
        requires (one message in Anthropic's).
        """
        ...

    def new_body(
        self, model: str, *, system: str, text: str, tools: Sequence[ToolDefinition] = (), max_output: int, schema: JsonObject | None = None
    ) -> JsonObject:
        """Build a fresh request with one user message. With `schema`, the answer is requested as
        JSON of that schema, in the format's own way.
        """
        ...

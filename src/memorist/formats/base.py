"""The common part of the three codecs: the frame of a request body, and how a history is extended.
Each codec reads and writes the items.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from memorist.core.messages import JsonObject, Message, Prompt, ToolDefinition, Wire
from memorist.formats.wire import read_tools, require_list, require_object, without_marks


class BaseCodec(ABC):
    """Base class of the codecs; `memorist.formats.codec.Codec` documents the methods."""

    name: str
    key: str
    """Key of the body that holds the history."""
    system_key: str = ""
    """Key of the body that holds the system prompt; empty when the history holds it."""

    def history_key(self) -> str:
        """The key of a request body that holds the growing list."""
        return self.key

    @abstractmethod
    def read_item(self, item: object, name: str) -> Message:
        """Read one entry of the history; `name` is the message id when the wire gives none. Never
        raises.
        """

    @abstractmethod
    def encode_messages(self, messages: Sequence[Message]) -> list[Any]:
        """Write messages as entries of the history."""

    @abstractmethod
    def read_system(self, value: object) -> tuple[Message, ...]:
        """Read the system prompt from its own key of the body; empty for an unknown shape."""

    @abstractmethod
    def write_system(self, messages: Sequence[Message]) -> object:
        """The value of the body's system key."""

    @abstractmethod
    def read_tool(self, raw: JsonObject) -> ToolDefinition:
        """Read a tool definition."""

    @abstractmethod
    def write_tool(self, tool: ToolDefinition) -> JsonObject:
        """Write a tool definition of any format: unchanged if it is of this one, otherwise from its
        fields.
        """

    @abstractmethod
    def reply_entries(self, reply: JsonObject) -> list[Any]:
        """The part of a reply that is added to the history, unchanged. Raises FormatError."""

    def decode_item(self, item: object, *, id: str) -> tuple[Message, ...]:
        """Read one entry of the history: always one message."""
        return (self.read_item(item, id),)

    def history(self, body: JsonObject) -> list[Any]:
        """The entries of the history. Raises FormatError."""
        return require_list(body, self.key, f"The {self.name} request")

    def decode_request(self, body: JsonObject) -> Prompt:
        """Read a whole request body. Messages without an id on the wire are named `m0`, `m1` … by
        position. Raises FormatError.
        """
        require_object(body, f"The {self.name} request")
        messages = [self.read_item(item, f"m{index}") for index, item in enumerate(self.history(body))]
        system = self.read_system(body[self.system_key]) if self.system_key in body else ()
        tools = read_tools(body.get("tools"), self.read_tool)
        taken = {self.key, "tools" if tools else self.key, self.system_key if system else self.key}
        return Prompt(
            system=system,
            tools=tools,
            messages=tuple(messages),
            params={key: value for key, value in body.items() if key not in taken},
            wire=Wire(self.name, "request", isinstance(body[self.key], str)),
        )

    def encode_request(self, prompt: Prompt) -> JsonObject:
        """Write a whole request body. The parameters of a prompt of another format are kept as they
        are: the caller chooses new ones.
        """
        native = prompt.wire.format == self.name
        body = dict(prompt.params)
        if prompt.system and self.system_key:
            body[self.system_key] = self.write_system(prompt.system)
        if prompt.tools:
            body["tools"] = [tool.raw if native else self.write_tool(tool) for tool in prompt.tools]
        lead = () if self.system_key else prompt.system
        body[self.key] = self.encode_messages([*lead, *prompt.messages])
        return body

    def extend(self, body: JsonObject, reply: JsonObject | None, tail: Sequence[Message]) -> JsonObject:
        """The same request with the reply and `tail` appended: every old entry is the identical
        object. Raises FormatError.
        """
        require_object(body, f"The {self.name} request")
        # Old entries are reused by identity: a rebuilt entry could encode to other bytes, and the
        # provider caches by byte prefix.
        replied = [] if reply is None else self.reply_entries(require_object(reply, f"The {self.name} reply"))
        added = [without_marks(entry) for entry in self.encode_messages(tail)]
        return {**body, self.key: [*self.history(body), *replied, *added]}

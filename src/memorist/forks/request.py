"""The requests of a fork: the parent's last request extended by its reply and one user message, or
a fresh request with a summary of the history. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from memorist.core.messages import JsonObject, Message, Text
from memorist.core.pairing import OpenCalls
from memorist.core.template import render
from memorist.forks.spec import EditWay, ForkSpec, ParentCall
from memorist.forks.text_edits import JSON_SCHEMA
from memorist.forks.tools import can_edit
from memorist.formats.codec import Codec
from memorist.formats.wire import is_custom

MARK = "<memorist-fork "
"""Start of the boundary text; it identifies a fork's own history, so that a fork of a fork is
refused (FK-2).
"""


class ForkTexts(Struct, frozen=True, kw_only=True):
    """The prompts of forks (`prompts/forks`)."""

    boundaries: str
    placeholder: str
    tool_edits: str
    text_edits: str
    json_edits: str
    report: str


def model_id(name: str) -> str:
    """The model's name in a request body, from the string it was chosen by:
    `anthropic:NAME@ADDRESS` gives NAME.
    """
    return (name.partition(":")[2] or name).partition("@")[0]


def shares_prefix(name: str, wire_format: str, parent: ParentCall) -> bool:
    """Whether a model (its name and wire format) is the one the parent's request went to, so that
    its cache holds the prefix (FK-7).
    """
    wanted = parent.request.body.get("model")
    return wire_format == parent.request.format and wanted in (None, "", model_id(name))


def is_fork(codec: Codec, body: JsonObject) -> bool:
    """Whether the request already belongs to a fork: a user text in its history begins with the
    boundary text.
    """
    history = body.get(codec.history_key())
    if not isinstance(history, list):
        return False
    needle = MARK.encode()
    for index, entry in enumerate(history):
        # the bytes are looked at first: reading a whole history costs more than searching it
        if needle in msgspec.json.encode(entry) and any(_begins(message) for message in codec.decode_item(entry, id=f"m{index}")):
            return True
    return False


def _begins(message: Message) -> bool:
    return message.role == "user" and any(isinstance(block, Text) and block.text.startswith(MARK) for block in message.blocks)


def choose_way(spec: ForkSpec, codec: Codec) -> EditWay:
    """Resolve `AUTO`: a fork of a parent uses the parent's tools when they can edit; one without a
    parent has no tools.
    """
    if spec.edits is not EditWay.AUTO:
        return spec.edits
    if spec.parent is None:
        return EditWay.TEXT
    return EditWay.TOOLS if can_edit(_tool_names(codec, spec.parent.request.body)) else EditWay.TEXT


def _tool_names(codec: Codec, body: JsonObject) -> Iterator[str]:
    """Names of the tools of a request: those of the body, and those of history items that add tools
    (Codex, clients.md 1).
    """
    shell = {**body, codec.history_key(): []}
    yield from (tool.name for tool in codec.decode_request(shell).tools)
    history = body.get(codec.history_key())
    for entry in history if isinstance(history, list) else ():
        if isinstance(entry, dict) and entry.get("type") == "additional_tools" and isinstance(entry.get("tools"), list):
            names = (tool.get("name") for tool in entry["tools"] if isinstance(tool, dict))
            yield from (name for name in names if isinstance(name, str))


def how_to_edit(way: EditWay, texts: ForkTexts) -> str:
    """The part of the instruction that explains how to change files; empty when the fork changes
    none.
    """
    match way:
        case EditWay.TEXT:
            return texts.text_edits.strip()
        case EditWay.JSON:
            return texts.json_edits.strip()
        case EditWay.TOOLS | EditWay.AUTO:
            return texts.tool_edits.strip()
        case EditWay.ANSWER:
            return ""


def _task(spec: ForkSpec, way: EditWay, texts: ForkTexts) -> str:
    form = how_to_edit(way, texts)
    parts = [spec.instruction.strip(), "" if form in spec.instruction else form]
    return "\n\n".join(part for part in parts if part)


def _boundaries(spec: ForkSpec, texts: ForkTexts) -> str:
    return render(texts.boundaries, {"label": spec.label}, strict=True).strip()


def first_body(spec: ForkSpec, way: EditWay, texts: ForkTexts, *, codec: Codec, model: str) -> JsonObject:
    """Build the first request. `model` is the model id for a fresh request.

    With a parent: its request byte for byte, its reply, then one user message with a constant
    placeholder result for every open tool call, the boundary text and the task, without a cache
    mark of its own (FK-1).
    """
    if spec.parent is None:
        schema = JSON_SCHEMA if way is EditWay.JSON else spec.schema if way is EditWay.ANSWER else None
        text = "\n\n".join(part for part in ((spec.digest or "").strip(), _task(spec, way, texts)) if part)
        return codec.new_body(model, system=_boundaries(spec, texts), text=text, max_output=spec.limits.output, schema=schema)
    # Everything of the parent's request stays byte for byte, and the placeholder results are constant:
    # only then does the provider's cache serve the prefix.
    text = f"{_boundaries(spec, texts)}\n\n{_task(spec, way, texts)}"
    results = open_results(codec, spec.parent.reply, texts.placeholder.strip())
    return codec.extend(spec.parent.request.body, spec.parent.reply, codec.user_text(text, results))


def open_results(codec: Codec, reply: JsonObject | None, text: str) -> list[Message]:
    """One constant placeholder result for each tool call that the reply leaves open. Raises
    FormatError.
    """
    if reply is None:
        return []
    messages = codec.decode_reply(reply).messages
    still_open = OpenCalls()
    for message in messages:
        still_open.add(message)
    custom = {use.id for message in messages for use in message.tool_uses if is_custom(use, message.wire)}
    return [codec.tool_result(use.id, text, custom=use.id in custom) for use in still_open.calls]

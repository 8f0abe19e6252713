"""The requests of a fork: the parent's last request extended by its reply and one user message, or
a fresh request with a summary of the history. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.core.messages import JsonObject, Message, TextBlock, Usage
from memorist.core.prompt_templates import render_template
from memorist.core.token_count import estimate_messages_tokens, estimate_text_tokens
from memorist.core.tool_pairs import OpenToolCalls
from memorist.core.truncation import truncate_middle
from memorist.forks.file_tool_calls import has_partial_edit_tool
from memorist.forks.fork_spec import EditMethod, ForkSpec, ParentCall
from memorist.formats.request_codec import OUTPUT_LIMIT_KEYS, Codec, is_custom_call

FORK_MARK = "<memorist-fork "
"""Start of the boundary text; it identifies a fork's own history, so that a fork of a fork is
refused (FK-2).
"""


class ForkPrompts(Struct, frozen=True, kw_only=True):
    """The prompts of forks (`prompts/forks`)."""

    boundaries: str
    form_boundaries: str
    job: str
    placeholder: str
    tool_edits: str
    text_edits: str
    form_answer: str
    report: str


def parse_name_from_model_string(name: str) -> str:
    """The model's name in a request body, from the string it was chosen by:
    `anthropic:NAME@ADDRESS` gives NAME.
    """
    return (name.partition(":")[2] or name).partition("@")[0]


def is_parent_model(name: str, wire_format: str, parent: ParentCall) -> bool:
    """Whether a model (its name and wire format) is the one the parent's request went to, so that
    its cache holds the prefix (FK-7).
    """
    wanted = parent.request.body.get("model")
    return wire_format == parent.request.format and wanted in (
        None,
        "",
        parse_name_from_model_string(name),
    )


def is_fork_request(codec: Codec, body: JsonObject) -> bool:
    """Whether the request already belongs to a fork: a user text in its history begins with the
    boundary text.
    """
    history = body.get(codec.history_key())
    if not isinstance(history, list):
        return False
    needle = FORK_MARK.encode()
    for index, entry in enumerate(history):
        # the bytes are looked at first: reading a whole history costs more than searching it
        if needle in msgspec.json.encode(entry) and any(
            _starts_with_mark(message) for message in codec.decode_item(entry, id=f"m{index}")
        ):
            return True
    return False


def _starts_with_mark(message: Message) -> bool:
    return message.role == "user" and any(
        isinstance(block, TextBlock) and block.text.startswith(FORK_MARK)
        for block in message.blocks
    )


def choose_edit_method(spec: ForkSpec, codec: Codec) -> EditMethod:
    """Resolve `AUTO`: a form where there is one; otherwise a fork of a parent uses the parent's
    tools when they can edit, and one without a parent has no tools.
    """
    if spec.edit_method is not EditMethod.AUTO:
        return spec.edit_method
    if spec.form is not None:
        return EditMethod.FORM
    if spec.parent is None:
        return EditMethod.TEXT
    if has_partial_edit_tool(_tool_names(codec, spec.parent.request.body)):
        return EditMethod.TOOLS
    return EditMethod.TEXT


def _tool_names(codec: Codec, body: JsonObject) -> Iterator[str]:
    """Names of the tools of a request: those of the body, and those of history items that add tools
    (Codex).
    """
    shell = {**body, codec.history_key(): []}
    yield from (tool.name for tool in codec.decode_request(shell).tools)
    history = body.get(codec.history_key())
    for entry in history if isinstance(history, list) else ():
        if (
            isinstance(entry, dict)
            and entry.get("type") == "additional_tools"
            and isinstance(entry.get("tools"), list)
        ):
            names = (tool.get("name") for tool in entry["tools"] if isinstance(tool, dict))
            yield from (name for name in names if isinstance(name, str))


def render_edit_instructions(method: EditMethod, prompts: ForkPrompts) -> str:
    """The part of the instruction that explains how to change files; empty when the fork changes
    none.
    """
    match method:
        case EditMethod.TEXT:
            return prompts.text_edits.strip()
        case EditMethod.FORM:
            return prompts.form_answer.strip()
        case EditMethod.TOOLS | EditMethod.AUTO:
            return prompts.tool_edits.strip()
        case EditMethod.ANSWER:
            return ""


def _task_text(spec: ForkSpec, way: EditMethod, texts: ForkPrompts) -> str:
    form = render_edit_instructions(way, texts)
    task = spec.form.instruction if way is EditMethod.FORM and spec.form else spec.instruction
    parts = [task.strip(), "" if form in task else form]
    return "\n\n".join(part for part in parts if part)


def _boundary_text(spec: ForkSpec, method: EditMethod, texts: ForkPrompts) -> str:
    text = texts.form_boundaries if method is EditMethod.FORM else texts.boundaries
    return render_template(text, {"label": spec.label}, strict=True).strip()


ANSWER_WINDOW_DIVISOR = 4
"""A fresh request asks for at most one part in so many of the window as output, since servers count
it towards the window.
"""

FILLED_ROOM_SHARE = 0.7
"""Share of the window's room that is filled by estimate: a small model's own tokenizer counts up to
1.4 times as many (SmolLM2 on recorded sessions).
"""

MIN_SUMMARY_TOKENS = 300
"""Tokens that the summary of a history keeps at least. Our choice: less tells nothing."""


def fit_spec_to_window(spec: ForkSpec, window: int) -> ForkSpec:
    """A fork without a parent, as a window of so many tokens holds it: a smaller output limit, and
    the summary of the history cut in its middle, between what is derived and what is newest.
    """
    if spec.parent is not None or not window:
        return spec
    output = min(spec.limits.output, window // ANSWER_WINDOW_DIVISOR)
    task = spec.form.instruction + spec.form.material if spec.form else spec.instruction
    room = int((window - output) * FILLED_ROOM_SHARE) - estimate_text_tokens(task)
    summary = spec.history_summary
    return replace(
        spec,
        limits=replace(spec.limits, output=output),
        history_summary=summary
        and truncate_middle(summary, max(MIN_SUMMARY_TOKENS, room - BOUNDARY_TOKENS)),
    )


def get_parent_usage_and_instruction(
    spec: ForkSpec, body: JsonObject, codec: Codec
) -> tuple[Usage, tuple[Message, ...]]:
    """The size of the parent's call, as the provider counted it or else by estimate, and the fork's
    own first message, which ends `body`.
    """
    own = tuple(codec.decode_item(body[codec.history_key()][-1], id="own"))
    parent = spec.parent
    counted = codec.decode_reply(parent.reply).usage if parent and parent.reply else Usage()
    if counted.context_tokens or parent is None:
        return counted, own
    messages = codec.decode_request(parent.request.body).messages
    return Usage(input=estimate_messages_tokens(messages)), own


MIN_LATER_TURN_OUTPUT_TOKENS = 200
"""Tokens that a later turn needs for its answer: one corrected edit."""


def cap_output_to_remaining_window(
    body: JsonObject, tail: Sequence[Message], usage: Usage, window: int
) -> JsonObject | None:
    """The request of a later turn with an output limit that the window still holds; None where it
    holds no answer any more.

    `usage` is that of the reply before, as the provider counted it, and `tail` what is new since. A
    request that was longer than the window and was answered shows that the window is another one.
    """
    if usage.context_tokens - usage.output > window:
        return body
    used = usage.context_tokens or estimate_text_tokens(str(body))
    room = int(window - used - estimate_messages_tokens(tail) / FILLED_ROOM_SHARE)
    if room < MIN_LATER_TURN_OUTPUT_TOKENS:
        return None
    limits = {key: min(limit, room) for key in OUTPUT_LIMIT_KEYS if (limit := body.get(key))}
    return {**body, **limits}


BOUNDARY_TOKENS = 500
"""Tokens of what stands around the task: the boundaries and the form of edits."""


def build_first_fork_request(
    spec: ForkSpec, method: EditMethod, prompts: ForkPrompts, *, codec: Codec, model: str
) -> JsonObject:
    """Build the first request. `model` is the model id for a fresh request.

    With a parent: its request byte for byte, its reply, then one user message with a constant
    placeholder result for every open tool call, the boundary text and the task, without a cache
    mark of its own (FK-1).
    """
    form = spec.form if method is EditMethod.FORM else None
    task = _task_text(spec, method, prompts)
    if spec.parent is None:
        summary = (spec.history_summary or "").strip()
        system, text = _boundary_text(spec, method, prompts), _join_parts(summary, task)
        if form is not None or spec.material:
            job = render_template(prompts.job, {"label": spec.label}, strict=True).strip()
            system = f"{job}\n\n{task}"
            text = spec.material if form is None else _join_parts(summary, form.material)
        asked = spec.schema if method is EditMethod.ANSWER else None
        return codec.build_request(
            model,
            system=system,
            text=text,
            max_output=spec.limits.output,
            schema=form.schema if form else asked,
        )
    # Everything of the parent's request stays byte for byte, and the placeholder results are
    # constant:
    # only then does the provider's cache serve the prefix.
    text = _join_parts(_boundary_text(spec, method, prompts), task, form.material if form else "")
    results = build_placeholder_results(codec, spec.parent.reply, prompts.placeholder.strip())
    body = codec.append_reply_and_messages(
        spec.parent.request.body, spec.parent.reply, codec.build_user_messages(text, results)
    )
    return _free_answer(body, spec, method, codec)


SURE_OUTPUT_TOKENS = 4_096
"""Output tokens that every served model takes: the least maximum in the providers' lists."""

_OWN_ANSWER_KEYS = frozenset({"stop", "stop_sequences", "n"})
"""Where the host's answer ends, and how many it wants: nothing of the conversation, and in no
provider's cache key.
"""


def compute_fork_output_limit(wire_format: str, given: int, wanted: int) -> int:
    """Output tokens of a fork of a request that asks for `given`: a host that wants short answers
    would cut every fork. No provider caches by the limit. A server of Chat Completions takes any;
    elsewhere a limit above the model's own is an error, so that it grows to a sure one.
    """
    sure = wanted if wire_format == "openai_chat" else min(wanted, SURE_OUTPUT_TOKENS)
    return max(given, sure)


def _free_answer(body: JsonObject, spec: ForkSpec, method: EditMethod, codec: Codec) -> JsonObject:
    """The request without what the host's own answer had to be: its length, where it ends, and,
    where the fork answers in text, a schema or a tool that it is forced to. The last two may cost
    the cache, and without them the fork could not answer at all.
    """
    limits = {
        key: compute_fork_output_limit(codec.name, limit, spec.limits.output)
        for key in OUTPUT_LIMIT_KEYS
        if isinstance(limit := body.get(key), int)
    }
    kept = {key: value for key, value in body.items() if key not in _OWN_ANSWER_KEYS}
    if method is not EditMethod.TOOLS:
        kept = _allow_text(kept)
    form = spec.form if method is EditMethod.FORM and codec.name == "openai_chat" else None
    return {**kept, **limits, **(codec.build_answer_schema_fields(form.schema) if form else {})}


def _allow_text(body: JsonObject) -> JsonObject:
    """The request without what forbids an answer in text: a schema, or a tool that must be called.
    What else stands beside a schema (effort, verbosity) stays.
    """
    kept = {key: body[key] for key in body if key not in ("response_format", "output_format")}
    for key in ("output_config", "text"):
        options = kept.get(key)
        if isinstance(options, dict) and "format" in options:
            kept[key] = {name: options[name] for name in options if name != "format"}
    choice = kept.get("tool_choice")
    kind = choice.get("type") if isinstance(choice, dict) else choice
    if kind not in (None, "auto", "none"):
        del kept["tool_choice"]
    return kept


def _join_parts(*parts: str) -> str:
    return "\n\n".join(filter(None, (part.strip() for part in parts)))


def build_placeholder_results(codec: Codec, reply: JsonObject | None, text: str) -> list[Message]:
    """One constant placeholder result for each tool call that the reply leaves open. Raises
    WireFormatError.
    """
    if reply is None:
        return []
    messages = codec.decode_reply(reply).messages
    still_open = OpenToolCalls()
    for message in messages:
        still_open.add(message)
    custom = {
        use.id
        for message in messages
        for use in message.tool_uses
        if is_custom_call(use, message.wire)
    }
    return [
        codec.build_tool_result_message(use.id, text, custom=use.id in custom)
        for use in still_open.calls
    ]

"""What a model is asked for a summary of the conversation, and asking it, by a fork that shares the
prompt cache; what is too long for its window is shortened and asked again (CP-7). The receipts say
what became of its summary.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.compaction_prompts import CompactionPrompts
from memorist.compaction.compaction_result import CompactionResult, UnchangedHistory
from memorist.compaction.full_compaction import MODEL_SUMMARY_ID, is_restored_message
from memorist.compaction.measured_conversation import MeasuredConversation, find_last_summary
from memorist.compaction.oldest_rounds import drop_oldest_rounds
from memorist.compaction.summary_parser import UnusableSummary, parse_summary
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import (
    ContentPart,
    DocumentBlock,
    ImageBlock,
    JsonObject,
    Message,
    Origin,
    TextBlock,
    map_block_content,
)
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.core.sentences import shorten_to_one_line
from memorist.core.token_count import (
    estimate_message_tokens,
    estimate_text_tokens,
    get_token_factor,
)
from memorist.errors import ContextTooLong
from memorist.forks.fork_request import (
    compute_fork_output_limit,
    is_parent_model,
    parse_name_from_model_string,
)
from memorist.forks.fork_spec import (
    EditMethod,
    ForkOutcome,
    ForkSpec,
    NoToolsPermission,
    ParentCall,
    Receipt,
)
from memorist.formats.codec_registry import find_codec
from memorist.formats.host_markup import detect_origin
from memorist.formats.request_codec import (
    CUT_OFF_REASONS,
    INSTRUCTION_AND_TOOL_KEYS,
    OUTPUT_LIMIT_KEYS,
)
from memorist.models.streaming_model import ErrorRecordingModel
from memorist.ports import Model, Request, discover_window
from memorist.runtime import Runtime
from memorist.safety.secrets import redact
from memorist.settings import CompactionSettings

MAX_CHARS = 4_000
"""Most of them that a request for a summary repeats. Our choice."""
_SECTION = lazy_pattern(
    r"^(?P<level>#{1,6})[ \t]*(?:compact|summary)[ ]instructions[ \t:#]*$\n"
    r"(?P<text>.*?)(?=^(?!(?P=level)#)#{1,6}[ \t]|^</|\Z)",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
"""A section with that heading, up to the next of its level or a higher one or the end of the
file's frame.
"""


def extract_compact_instructions_from_request(request: Request) -> str:
    """The sections "Compact Instructions" of the instruction files that a request shows, as an
    addition to the request for a summary; empty where there are none.

    Only what the host or memorist put in counts, no words of a user, a tool or a model.
    """
    prompt = find_codec(request.format).decode_request(request.body)
    found = dict.fromkeys(
        section["text"].strip()
        for text in (*_list_texts(prompt.system), *_list_injected_texts(prompt.messages))
        for section in _SECTION.finditer(text)
    )
    instructions = "\n\n".join(filter(None, found))[:MAX_CHARS]
    if not instructions:
        return ""
    template = load_prompt("compaction/file_instructions")
    return "\n\n" + render_template(template, {"instructions": instructions}, strict=True).strip()


def _list_texts(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        for block in message.blocks:
            if isinstance(block, TextBlock):
                yield block.text


def _list_injected_texts(messages: Iterable[Message]) -> Iterator[str]:
    for message in messages:
        if message.role in {"system", "developer"}:
            yield from _list_texts([message])
        elif message.role == "user":
            for text in _list_texts([message]):
                if detect_origin(text) is Origin.INJECTED:
                    yield text


COMPACTION_LABEL = "compact"

IMAGE_PLACEHOLDER = "[image]"
DOCUMENT_PLACEHOLDER = "[document]"


MAX_SUMMARY_TOKENS = 20_000
"""Most tokens that an answer may have (Claude Code), in a window that has room for them."""


SUMMARY_WINDOW_DIVISOR = 4
"""The answer gets at most one part in so many of the window, so that a small one still holds a
conversation.
"""


ROOMY_ANSWER_TOKENS = 10_000
"""Tokens from which on an answer has room for the words that the prompts ask for: 4,000, and the
analysis before them.
"""
TOKENS_PER_WORD = 2
"""Tokens of a word of a summary, with its paths and code, rounded up."""
KNOWN_SIZE_FILL_SHARE = 0.95
"""Share of the window's room that is filled after a refusal told the true size of a request."""


class SummaryRequest(Struct, frozen=True):
    """The request for a summary: the history, and the user message after it. A fork sends only the
    text in addition to the parent's request.
    """

    messages: tuple[Message, ...]
    text: str


def build_summary_request(
    conversation: MeasuredConversation,
    texts: CompactionPrompts,
    instructions: str = "",
    *,
    hand_over: bool = False,
) -> SummaryRequest:
    """The history from the last summary on, with placeholders for images and documents, and without
    items that an earlier compaction restored; and the request for a summary or a hand-over.
    """
    start = max(0, find_last_summary(conversation.messages))
    kept = tuple(
        _replace_media(message)
        for message in conversation.messages[start:]
        if not is_restored_message(message)
    )
    added = (
        render_template(
            texts.full_instructions, {"instructions": instructions.strip()}, strict=True
        )
        if instructions.strip()
        else ""
    )
    if hand_over:
        return SummaryRequest(kept, f"{texts.inline}\n\n{added}".strip())
    return SummaryRequest(
        kept,
        render_template(texts.full, {"instructions": f"\n{added}\n" if added else ""}, strict=True),
    )


def _replace_media(message: Message) -> Message:
    blocks = tuple(map_block_content(block, message.id, _name_media) for block in message.blocks)
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _name_media(part: ContentPart, _: str) -> ContentPart:
    match part:
        case ImageBlock():
            return TextBlock(IMAGE_PLACEHOLDER)
        case DocumentBlock():
            return TextBlock(DOCUMENT_PLACEHOLDER)
        case _:
            return part


async def request_summary(
    request: SummaryRequest,
    parent: ParentCall | None,
    runtime: Runtime,
    *,
    marker: str,
    record: Callable[[Receipt], object],
    asked: bool = False,
) -> str | UnusableSummary:
    """The summary, or the hand-over of an inline compaction, or why there is none. `marker` is the
    text put before a cut history. `record` takes the receipt of each request, since only the caller
    learns what becomes of the summary.

    First the parent's request with one more message, so that the provider's cache serves it. Where
    that does not fit, or there is no parent of the same model, the history is sent in a new
    request, without the oldest rounds that the model's window does not hold; after a refusal by
    what it tells of the sizes, three times at most.
    """
    if runtime.model is None:
        return UnusableSummary("No model is set up.", was_model_asked=False)
    model, settings = ErrorRecordingModel(runtime.model), runtime.settings.compaction
    fork = partial(_run_fork, model, runtime, record=record, asked=asked)
    render_room = partial(_render_room, most=runtime.settings.models.max_output)
    if parent is not None and is_parent_model(model.name, model.format, parent):
        found = await fork(request.text + render_room(_parent_limit(parent)), parent)
        if not _is_too_long(found):
            return found
    await discover_window(runtime.model)
    if parent is not None:  # the instruction files stand in its request, not in the history
        text = request.text + extract_compact_instructions_from_request(parent.request)
        request = replace(request, text=text)
    history = _FittedHistory(request, model, parent, marker, settings)
    for _ in range(settings.too_long_retries + 1):
        if not history.shorten():
            break
        fitted = ParentCall(_build_request(model, history.messages, parent))
        found = await fork(request.text + render_room(_answer_limit(model)), fitted)
        if not _is_too_long(found):
            return found
    return UnusableSummary(
        "The conversation does not fit the model's window, even without its oldest rounds."
    )


class _FittedHistory:
    """A history that is cut, from its oldest rounds on, to what the model's window holds."""

    def __init__(
        self,
        request: SummaryRequest,
        model: ErrorRecordingModel,
        parent: ParentCall | None,
        marker: str,
        settings: CompactionSettings,
    ) -> None:
        self._model = model
        self._marker = marker
        self._settings = settings
        factor = get_token_factor(model.name)
        self.messages = request.messages
        self._sizes = tuple(estimate_message_tokens(each, factor) for each in request.messages)
        self._fixed = estimate_text_tokens(request.text, factor)
        if parent is not None and parent.request.format == model.format:
            shell = {**parent.request.body, find_codec(model.format).history_key(): []}
            self._fixed += estimate_text_tokens(msgspec.json.encode(shell).decode(), factor)

    def shorten(self) -> bool:
        """Drop what does not fit, as far as sizes are known; False where no shorter request is
        left to try after a refusal.
        """
        excess = self._excess()
        if excess is not None and excess <= 0:
            return True
        shorter = drop_oldest_rounds(
            self.messages, self._sizes, excess=excess, marker=self._marker, settings=self._settings
        )
        if isinstance(shorter, UnchangedHistory):
            return self._model.error is None
        self.messages, self._sizes = shorter.messages, shorter.sizes
        return True

    def _excess(self) -> int | None:
        """Tokens, as estimated, beyond the window's room; None after a refusal that tells no
        size.
        """
        estimated = sum(self._sizes) + self._fixed
        room = self._model.window - _answer_limit(self._model)
        refused = self._model.error
        if not isinstance(refused, ContextTooLong):
            return estimated - room
        if not refused.tokens:
            return None
        return math.ceil(estimated - room * KNOWN_SIZE_FILL_SHARE * estimated / refused.tokens)


def _parent_limit(parent: ParentCall) -> int:
    """Tokens that a fork of this call may answer with."""
    given = [parent.request.body.get(key) for key in OUTPUT_LIMIT_KEYS]
    limits = [each for each in given if isinstance(each, int)]
    wanted = MAX_SUMMARY_TOKENS
    grown = [compute_fork_output_limit(parent.request.format, each, wanted) for each in limits]
    return min([wanted, *grown])


def _render_room(tokens: int, most: int | None) -> str:
    """What the request says of the length of the answer, where its words alone would ask for more
    than it may have; `most` is `models.max_output`.
    """
    tokens = min(tokens, most or tokens)
    if tokens >= ROOMY_ANSWER_TOKENS:
        return ""
    words = f"{tokens // TOKENS_PER_WORD:,}"
    return render_template(load_prompt("compaction/answer_room"), {"words": words}, strict=True)


def _answer_limit(model: Model) -> int:
    return min(MAX_SUMMARY_TOKENS, model.window // SUMMARY_WINDOW_DIVISOR)


def _is_too_long(found: str | UnusableSummary) -> bool:
    return isinstance(found, UnusableSummary) and found.too_long


def _build_request(
    model: Model, messages: tuple[Message, ...], parent: ParentCall | None
) -> Request:
    """A request to the background model with this history; instructions and tools are the parent's
    where the format is the same, and its parameters where the model is: another one may refuse
    them.
    """
    wire = find_codec(model.format)
    name = parse_name_from_model_string(model.name)
    body: JsonObject = wire.build_request(name, system="", text="", max_output=_answer_limit(model))
    if parent is not None and is_parent_model(model.name, model.format, parent):
        body = {**parent.request.body, "model": name}
    elif parent is not None and parent.request.format == model.format:
        given = parent.request.body
        body |= {key: given[key] for key in INSTRUCTION_AND_TOOL_KEYS if key in given}
    return Request(
        format=model.format,
        body={**body, wire.history_key(): wire.encode_messages(messages)},
        label=COMPACTION_LABEL,
    )


async def _run_fork(
    model: Model,
    runtime: Runtime,
    text: str,
    parent: ParentCall,
    *,
    record: Callable[[Receipt], object],
    asked: bool,
) -> str | UnusableSummary:
    spec = ForkSpec(
        label=COMPACTION_LABEL,
        why="the window is nearly full, or it was asked for",
        instruction=text,
        permission=NoToolsPermission(),
        parent=parent,
        limits=replace(runtime.settings.forks, turns=1),
        edit_method=EditMethod.ANSWER,
        requested_by_user=asked,
    )
    receipt = await runtime.run_fork(spec, model, record)
    if receipt.outcome is ForkOutcome.BLOCKED:
        return UnusableSummary(receipt.said, was_model_asked=False)
    if (
        receipt.outcome is not ForkOutcome.UNCHANGED
        and receipt.outcome is not ForkOutcome.OVER_LIMIT
    ):
        return UnusableSummary(
            receipt.said or "The model gave no summary.",
            too_long=any(sent.error == ContextTooLong.__name__ for sent in receipt.sent),
        )
    stopped = receipt.sent[-1].stop_reason if receipt.sent else ""
    return parse_summary(
        receipt.said,
        # Servers call an answer finished whose end is missing; that it was cut off is true.
        stop_reason=stopped if stopped in CUT_OFF_REASONS else None,
        tool_calls=len(receipt.denied),
    )


# The receipt of a run that wrote a summary: what became of it, in place of the model's answer,
# which stands in the history where it stands at all (FK-8).

MAX_NAMED_LINES = 8
"""Dropped lines that a receipt names; of the others their number."""
MAX_NAMED_CHARACTERS = 160
MAX_REASON_CHARACTERS = 600


class SummaryAcceptance(Struct, frozen=True):
    """What became of a summary."""

    why: str = ""
    """Why it was not used; empty where it stands."""
    tokens: int = 0
    """Tokens of the new history; 0 where that is not known."""
    dropped: tuple[str, ...] = ()
    """Lines that were not believed, each with the reason where there is one."""


def determine_whether_summary_was_used(result: CompactionResult) -> SummaryAcceptance:
    """What became of the summary that a compaction was to be made of."""
    if isinstance(result, UnchangedHistory):
        return SummaryAcceptance(result.why or "It was not used.")
    dropped = tuple(each.why for each in result.removed_items if each.id == MODEL_SUMMARY_ID)
    return SummaryAcceptance("", result.tokens_after, dropped)


def add_acceptance_to_receipts(
    receipts: Sequence[Receipt], use: SummaryAcceptance
) -> list[Receipt]:
    """The receipts of the requests for one summary, of which the last one answered."""
    *failed, last = receipts
    ran = last.outcome in (ForkOutcome.UNCHANGED, ForkOutcome.OVER_LIMIT)
    return [*map(_bound_reason, failed), _describe_use(last, use) if ran else _bound_reason(last)]


def _bound_reason(receipt: Receipt) -> Receipt:
    return replace(
        receipt, said=shorten_to_one_line(redact(receipt.said).text, MAX_REASON_CHARACTERS)
    )


def _describe_use(receipt: Receipt, use: SummaryAcceptance) -> Receipt:
    if use.why:
        return _bound_reason(replace(receipt, said=f"The summary is not used: {use.why}"))
    size = f" in a history of {use.tokens:,} tokens" if use.tokens else ""
    lines = [f"The summary stands{size}."]
    lines += [
        f"(Dropped: {shorten_to_one_line(redact(each).text, MAX_NAMED_CHARACTERS)})"
        for each in use.dropped[:MAX_NAMED_LINES]
    ]
    left = len(use.dropped) - MAX_NAMED_LINES
    lines += [f"({left} more lines were dropped.)"] if left > 0 else []
    return replace(receipt, outcome=ForkOutcome.CHANGED, said="\n".join(lines))

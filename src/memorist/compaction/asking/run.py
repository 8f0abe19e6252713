"""Ask a model for a summary of the conversation, by a fork that shares the prompt cache; shortened
when too long (CP-7).
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.conversation import Conversation
from memorist.compaction.full import full_request
from memorist.compaction.groups import drop_oldest
from memorist.compaction.result import Unchanged
from memorist.compaction.settings import CompactionSettings
from memorist.compaction.summary import Unusable, read_summary
from memorist.compaction.texts import Texts
from memorist.core.messages import JsonObject, Message
from memorist.forks.governed.run import run_governed
from memorist.forks.governor import Governor
from memorist.forks.request import shares_prefix
from memorist.forks.spec import EditWay, ForkLimits, ForkSpec, NoTools, Outcome, ParentCall, Receipt
from memorist.formats.registry import codec
from memorist.ports import Clock, Files, Model, Request

LABEL = "compact"

TOO_LONG = ("too long", "too large", "context window", "context length", "larger than")
"""Phrases in errors (ours and the providers') that mean the request does not fit; it is then
retried, shortened.
"""


class Asking(Struct, frozen=True, kw_only=True):
    """Dependencies of a summary request."""

    model: Model
    files: Files
    clock: Clock
    limits: ForkLimits
    governor: Governor
    record: Callable[[Receipt], None]
    asked: bool = False
    """The user asked for the compaction."""


async def ask(
    held: Conversation, parent: ParentCall | None, asking: Asking, *, texts: Texts, settings: CompactionSettings, instructions: str = ""
) -> str | Unusable:
    """The summary, or why there is none.

    First the parent's request with one more message, so that the provider's cache serves it. Where
    that does not fit, or there is no parent of the same model, the history is sent in a new
    request, and its oldest rounds are dropped until it fits, three times at most.
    """
    request = full_request(held, texts, instructions)
    why: Unusable | None = None
    if parent is not None and shares_prefix(asking.model.name, asking.model.format, parent):
        found = await _once(request.text, parent, asking)
        if not _is_too_long(found):
            return found
        why = found if isinstance(found, Unusable) else None
    messages, sizes = request.messages, held.sizes[-len(request.messages) :]
    for attempt in range(settings.too_long_retries + 1):
        if attempt or why is not None:
            shorter = drop_oldest(messages, sizes, excess=None, marker=texts.cut_marker, share=settings.too_long_share)
            if isinstance(shorter, Unchanged):
                return Unusable(shorter.why)
            messages, sizes = shorter.messages, shorter.sizes
        found = await _once(request.text, ParentCall(_anew(asking.model, messages, parent)), asking)
        if not _is_too_long(found):
            return found
    return Unusable("The conversation does not fit the model's window, even without its oldest rounds.")


def _is_too_long(found: str | Unusable) -> bool:
    return isinstance(found, Unusable) and any(words in found.why.lower() for words in TOO_LONG)


def _anew(model: Model, messages: tuple[Message, ...], parent: ParentCall | None) -> Request:
    """A request to the background model with this history; instructions and tools are the parent's
    where the format is the same.
    """
    wire = codec(model.format)
    name = model.name.partition(":")[2].partition("@")[0] or model.name
    body: JsonObject = wire.new_body(name, system="", text="", max_output=20_000)
    if parent is not None and parent.request.format == model.format:
        body = {**parent.request.body, "model": name}
    return Request(format=model.format, body={**body, wire.history_key(): wire.encode_messages(messages)}, label=LABEL)


async def _once(text: str, parent: ParentCall, asking: Asking) -> str | Unusable:
    spec = ForkSpec(
        label=LABEL,
        why="the window is nearly full, or it was asked for",
        instruction=text,
        permission=NoTools(),
        parent=parent,
        limits=replace(asking.limits, turns=1),
        edits=EditWay.ANSWER,
        asked=asking.asked,
    )
    receipt = await run_governed(
        spec, model=asking.model, files=asking.files, clock=asking.clock, governor=asking.governor, record=asking.record
    )
    if receipt.outcome is Outcome.BLOCKED:
        return Unusable(receipt.said, asked=False)
    if receipt.outcome is not Outcome.UNCHANGED and receipt.outcome is not Outcome.OVER_LIMIT:
        return Unusable(receipt.said or "The model gave no summary.")
    return read_summary(receipt.said, tool_calls=len(receipt.denied))

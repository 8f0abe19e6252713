"""Spans of what happened, as values. Forks are agents by the GenAI semantic conventions; what has
no place there has a name below `memorist.`.

The conventions are in development, and since 2026 in a repository of their own
(`semantic-conventions-genai`); the names here are those of its version of May 2026 for
`invoke_agent` within a process and for `chat`, which the constants of
`opentelemetry-semantic-conventions` 0.66b2 agree with.
"""

from __future__ import annotations

import re

from msgspec import Struct

from memorist.core.messages import Usage
from memorist.core.text_encoding import replace_surrogates
from memorist.errors import ModelNameError
from memorist.events import (
    CompactionFailed,
    ConversationCompacted,
    DreamFailed,
    DreamFinished,
    Event,
    MemoryRecalled,
    TeamFailed,
    TeamSynced,
)
from memorist.forks.fork_spec import ForkOutcome, ForkRequestMeasurements, Receipt
from memorist.models.model_choice import get_model_wire_name
from memorist.safety.secrets import redact
from memorist.settings import TelemetrySettings

FORK_OPERATION = "invoke_agent"
"""`gen_ai.operation.name` of a fork: it sends one or more requests, and has tools of its own."""
REQUEST_OPERATION = "chat"
"""`gen_ai.operation.name` of one request, in any of the three wire formats."""
AGENT_PREFIX = "memorist."
"""Prefix of a fork's label in `gen_ai.agent.name`, which distinguishes it from the host's own
agents.
"""
PROVIDER_NAMES = {"anthropic": "anthropic", "openai": "openai", "openai-chat": "openai"}
"""`gen_ai.provider.name` by the kind of the model string; of other servers with OpenAI's interface
the conventions say `openai` too.
"""
ERROR_OUTCOMES = (
    ForkOutcome.FAILED,
    ForkOutcome.TIMED_OUT,
    ForkOutcome.OVER_LIMIT,
    ForkOutcome.LOOPED,
)
"""Outcomes that are errors. Cancelled, replaced and blocked runs are normal."""
_STOP_WORD = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")
"""Allowed shape of a stop reason: a single word of the provider's, no sentence."""
MAX_TEXT_CHARACTERS = 4_000
"""Longest text in an attribute. Ours: collectors refuse batches above some megabytes."""

AttributeValue = str | int | float | bool | tuple[str, ...]


class Span(Struct, frozen=True, kw_only=True):
    """One span. Times in seconds since the epoch; `error` is its `error.type`, empty for none, and
    `error_text` its description, where content may be shown.
    """

    name: str
    start: float
    end: float
    attributes: dict[str, AttributeValue]
    error: str = ""
    error_text: str = ""
    is_outgoing: bool = False
    """Whether it is a request to another process (span kind `CLIENT`)."""


def build_fork_span(receipt: Receipt, session: str, *, content: bool) -> Span:
    """The span of a fork."""
    error = receipt.outcome.value if receipt.outcome in ERROR_OUTCOMES else ""
    values: dict[str, AttributeValue | None] = {
        "gen_ai.operation.name": FORK_OPERATION,
        "gen_ai.provider.name": _provider_name(receipt.model),
        "gen_ai.request.model": _model_name(receipt.model),
        "gen_ai.agent.name": AGENT_PREFIX + receipt.label,
        "gen_ai.conversation.id": session or None,
        **_usage_attributes(receipt.usage),
        "error.type": error or None,
        "memorist.purpose": receipt.label,
        "memorist.cost_usd": receipt.cost_usd,
        "memorist.fork.outcome": receipt.outcome.value,
        "memorist.fork.requests": receipt.requests,
        "memorist.fork.turns": receipt.turns,
        "memorist.fork.files": len(receipt.files),
        "memorist.fork.denied": len(receipt.denied),
        "memorist.fork.reason": receipt.why if content else None,
        "memorist.fork.said": receipt.said if content else None,
    }
    return Span(
        name=f"{FORK_OPERATION} {AGENT_PREFIX}{receipt.label}",
        start=receipt.started,
        end=receipt.started + receipt.seconds,
        attributes=_clean_attributes(values),
        error=error,
        error_text=_clean_text(receipt.said) if content and error else "",
    )


def build_fork_request_spans(
    receipt: Receipt, session: str, settings: TelemetrySettings
) -> tuple[Span, ...]:
    """The spans of a fork's requests, in order, children of the fork's own; none where the setting
    `telemetry.requests` is off. For an error they contain only its kind.
    """
    if not settings.requests:
        return ()
    return tuple(_build_request_span(each, receipt, session) for each in receipt.sent)


def _build_request_span(sent: ForkRequestMeasurements, receipt: Receipt, session: str) -> Span:
    model = _model_name(receipt.model)
    values: dict[str, AttributeValue | None] = {
        "gen_ai.operation.name": REQUEST_OPERATION,
        "gen_ai.provider.name": _provider_name(receipt.model),
        "gen_ai.request.model": model,
        "gen_ai.agent.name": AGENT_PREFIX + receipt.label,
        "gen_ai.conversation.id": session or None,
        **({} if sent.error else _usage_attributes(sent.usage)),
        "error.type": sent.error or None,
        "memorist.purpose": receipt.label,
        "memorist.cost_usd": sent.cost_usd,
        "memorist.request.attempts": sent.attempts,
    }
    attributes = _clean_attributes(values)
    if _STOP_WORD.match(sent.stop_reason):
        attributes["gen_ai.response.finish_reasons"] = (sent.stop_reason,)
    return Span(
        name=f"{REQUEST_OPERATION} {_clean_text(model)}",
        start=sent.started,
        end=sent.started + sent.seconds,
        attributes=attributes,
        error=sent.error,
        is_outgoing=True,
    )


def _usage_attributes(usage: Usage) -> dict[str, AttributeValue | None]:
    """Token usage by the conventions: input includes cached tokens; in our usage the parts do not
    overlap.
    """
    return {
        "gen_ai.usage.input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
    }


class _EventFacts(Struct, frozen=True):
    """What the span of an event holds under a name of our own."""

    name: str
    values: dict[str, AttributeValue | None]
    error: str = ""
    why: str = ""
    """What went wrong, in words."""


def build_event_span(event: Event, session: str, now: float, *, content: bool) -> Span | None:
    """The span of an event reported at this time; None for events without a span."""
    found = _describe_event(event, content=content)
    if found is None:
        return None
    given = {f"memorist.{found.name}.{key}": value for key, value in found.values.items()}
    given |= {"gen_ai.conversation.id": session or None, "error.type": found.error or None}
    return Span(
        name=f"memorist.{found.name}",
        start=now - getattr(event, "seconds", 0.0),
        end=now,
        attributes=_clean_attributes(given),
        error=found.error,
        error_text=_clean_text(found.why) if content else "",
    )


def _describe_event(event: Event, *, content: bool) -> _EventFacts | None:
    found: _EventFacts | None = None
    values: dict[str, AttributeValue | None]
    match event:
        case CompactionFailed(strategy=strategy, why=why):
            found = _EventFacts("compact", {"strategy": strategy}, "compaction_failed", why)
        case ConversationCompacted():
            values = {
                "strategy": event.strategy,
                "trigger": event.trigger,
                "tokens.before": event.tokens_before,
                "tokens.after": event.tokens_after,
                "cut": event.cut,
                "restored": event.restored,
            }
            found = _EventFacts("compact", values)
        case MemoryRecalled():
            values = {
                "kind": "message" if event.paths else "index",
                "memories": len(event.paths),
                "tokens": event.tokens,
                "paths": ", ".join(event.paths) if content else None,
                "reason": event.why if content else None,
            }
            found = _EventFacts("recall", values)
        case DreamFailed(why=why):
            found = _EventFacts("dream", {}, "dream_failed", why)
        case DreamFinished():
            values = {
                "way": event.way,
                "changed": bool(event.change),
                "waiting": event.waiting,
                "did": event.what if content else None,
            }
            found = _EventFacts("dream", values)
        case TeamFailed(error=error, stopped=stopped):
            found = _EventFacts("team.sync", {"stopped": stopped}, "team_failed", error)
        case TeamSynced():
            values = {
                "taken": len(event.received),
                "sent": len(event.sent),
                "beside": len(event.conflict_copies),
                "waiting": len(event.waiting),
                "remote": event.remote if content else None,
            }
            found = _EventFacts("team.sync", values)
        case _:
            pass
    return found


def _provider_name(model: str) -> str:
    kind = model.partition(":")[0]
    return PROVIDER_NAMES.get(kind, kind)


def _model_name(model: str) -> str:
    try:
        return get_model_wire_name(model)
    except ModelNameError:  # a host's own model object has any name
        return model.partition(":")[2] or model


def _clean_attributes(values: dict[str, AttributeValue | None]) -> dict[str, AttributeValue]:
    return {
        key: _clean_text(value) if isinstance(value, str) else value
        for key, value in values.items()
        if value is not None
    }


def _clean_text(text: str) -> str:
    """A text that every exporter can encode, with known kinds of secrets redacted."""
    return redact(replace_surrogates(text)).text[:MAX_TEXT_CHARACTERS]

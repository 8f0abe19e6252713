"""Spans of what happened, as values. Forks are agents by the GenAI semantic conventions; what has no place there has a name below `memorist.`.

The conventions are in development, and since 2026 in a repository of their own (`semantic-conventions-genai`); the names here are those of its
version of May 2026 for `invoke_agent` within a process and for `chat`, which the constants of `opentelemetry-semantic-conventions` 0.66b2 agree with.
"""

from __future__ import annotations

import re

from msgspec import Struct

from memorist.core.messages import Usage
from memorist.errors import ModelNameError
from memorist.events import CompactionFailed, ConversationCompacted, Dreamed, DreamFailed, Event, MemoryRecalled, TeamFailed, TeamSynced
from memorist.forks.spec import Outcome, Receipt, Sent
from memorist.models.choose import wire_name
from memorist.safety.secrets import redact

OPERATION = "invoke_agent"
"""`gen_ai.operation.name` of a fork: it sends one request or more, and has tools of its own."""
REQUEST = "chat"
"""`gen_ai.operation.name` of one request, whichever of the three wire formats it has."""
AGENT = "memorist."
"""What stands before a fork's label in `gen_ai.agent.name`, so that it is told from the host's own agents."""
PROVIDERS = {"anthropic": "anthropic", "openai": "openai", "openai-chat": "openai"}
"""`gen_ai.provider.name` by the kind of the model string; of other servers with OpenAI's interface the conventions say `openai` too."""
ERRORS = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.OVER_LIMIT, Outcome.LOOPED)
"""Outcomes that are errors. Cancelled, replaced and blocked ones are how it should be."""
_WORD = re.compile(r"[A-Za-z0-9_-]{1,40}\Z")
"""What a reason to stop may look like: a word of the provider's, no sentence."""
TEXT_CHARACTERS = 4_000
"""Longest text in an attribute. Ours: collectors refuse batches above some megabytes."""

Value = str | int | float | bool | tuple[str, ...]


class Span(Struct, frozen=True, kw_only=True):
    """One span. Times in seconds since the epoch; `error` is its `error.type`, empty for none, and `said` its words, where content may be shown."""

    name: str
    start: float
    end: float
    attributes: dict[str, Value]
    error: str = ""
    said: str = ""
    goes_out: bool = False
    """Whether it is a request to another process (span kind `CLIENT`)."""


def of_receipt(receipt: Receipt, session: str, *, content: bool) -> Span:
    """The span of a fork."""
    error = receipt.outcome.value if receipt.outcome in ERRORS else ""
    values: dict[str, Value | None] = {
        "gen_ai.operation.name": OPERATION,
        "gen_ai.provider.name": _provider(receipt.model),
        "gen_ai.request.model": _model(receipt.model),
        "gen_ai.agent.name": AGENT + receipt.label,
        "gen_ai.conversation.id": session or None,
        **_used(receipt.usage),
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
        name=f"{OPERATION} {AGENT}{receipt.label}",
        start=receipt.started,
        end=receipt.started + receipt.seconds,
        attributes=_clean(values),
        error=error,
        said=_text(receipt.said) if content and error else "",
    )


def of_requests(receipt: Receipt, session: str) -> tuple[Span, ...]:
    """The spans of a fork's requests, in order; they belong below the fork's own. Of an error they say the kind alone."""
    return tuple(_of_request(each, receipt, session) for each in receipt.sent)


def _of_request(sent: Sent, receipt: Receipt, session: str) -> Span:
    model = _model(receipt.model)
    values: dict[str, Value | None] = {
        "gen_ai.operation.name": REQUEST,
        "gen_ai.provider.name": _provider(receipt.model),
        "gen_ai.request.model": model,
        "gen_ai.agent.name": AGENT + receipt.label,
        "gen_ai.conversation.id": session or None,
        **({} if sent.error else _used(sent.usage)),
        "error.type": sent.error or None,
        "memorist.purpose": receipt.label,
        "memorist.cost_usd": sent.cost_usd,
        "memorist.request.attempts": sent.attempts,
    }
    attributes = _clean(values)
    if _WORD.match(sent.stop_reason):
        attributes["gen_ai.response.finish_reasons"] = (sent.stop_reason,)
    return Span(
        name=f"{REQUEST} {_text(model)}",
        start=sent.started,
        end=sent.started + sent.seconds,
        attributes=attributes,
        error=sent.error,
        goes_out=True,
    )


def _used(usage: Usage) -> dict[str, Value | None]:
    """Tokens by the conventions: input is all of it, that of the cache too; in our usage the parts do not overlap."""
    return {
        "gen_ai.usage.input_tokens": usage.input + usage.cache_read + usage.cache_write,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
    }


def of_event(event: Event, session: str, at: float, *, content: bool) -> Span | None:
    """The span of an event that was told at this time; None for one that has none."""
    match event:
        case ConversationCompacted() | CompactionFailed():
            return _of_compaction(event, session, at, content=content)
        case MemoryRecalled():
            return _of_recall(event, session, at, content=content)
        case Dreamed() | DreamFailed():
            return _of_dream(event, session, at, content=content)
        case TeamSynced() | TeamFailed():
            return _of_team(event, session, at, content=content)
        case _:
            return None


def _of_compaction(event: ConversationCompacted | CompactionFailed, session: str, at: float, *, content: bool) -> Span:
    if isinstance(event, CompactionFailed):
        told: dict[str, Value | None] = {"strategy": event.strategy}
        return _own("compact", told, session, (at, at), error="compaction_failed", said=event.why if content else "")
    values: dict[str, Value | None] = {
        "strategy": event.strategy,
        "trigger": event.trigger,
        "tokens.before": event.tokens_before,
        "tokens.after": event.tokens_after,
        "cut": event.cut,
        "restored": event.restored,
    }
    return _own("compact", values, session, (at - event.seconds, at))


def _of_recall(event: MemoryRecalled, session: str, at: float, *, content: bool) -> Span:
    values: dict[str, Value | None] = {
        "kind": "message" if event.paths else "index",
        "memories": len(event.paths),
        "tokens": event.tokens,
        "paths": ", ".join(event.paths) if content else None,
        "reason": event.why if content else None,
    }
    return _own("recall", values, session, (at - event.seconds, at))


def _of_dream(event: Dreamed | DreamFailed, session: str, at: float, *, content: bool) -> Span:
    if isinstance(event, DreamFailed):
        return _own("dream", {}, session, (at, at), error="dream_failed", said=event.why if content else "")
    values: dict[str, Value | None] = {
        "way": event.way,
        "changed": bool(event.change),
        "waiting": event.waiting,
        "did": event.what if content else None,
    }
    return _own("dream", values, session, (at - event.seconds, at))


def _of_team(event: TeamSynced | TeamFailed, session: str, at: float, *, content: bool) -> Span:
    if isinstance(event, TeamFailed):
        values: dict[str, Value | None] = {"stopped": event.stopped}
        return _own("team.sync", values, session, (at, at), error="team_failed", said=event.error if content else "")
    values = {
        "taken": len(event.taken),
        "sent": len(event.sent),
        "beside": len(event.beside),
        "waiting": len(event.waiting),
        "remote": event.remote if content else None,
    }
    return _own("team.sync", values, session, (at - event.seconds, at))


def _own(name: str, values: dict[str, Value | None], session: str, times: tuple[float, float], *, error: str = "", said: str = "") -> Span:
    """A span of our own name."""
    given = {f"memorist.{name}.{key}": value for key, value in values.items()}
    given |= {"gen_ai.conversation.id": session or None, "error.type": error or None}
    return Span(name=f"memorist.{name}", start=times[0], end=times[1], attributes=_clean(given), error=error, said=_text(said))


def _provider(model: str) -> str:
    kind = model.partition(":")[0]
    return PROVIDERS.get(kind, kind)


def _model(model: str) -> str:
    try:
        return wire_name(model)
    except ModelNameError:  # a host's own model object has any name
        return model.partition(":")[2] or model


def _clean(values: dict[str, Value | None]) -> dict[str, Value]:
    return {key: _text(value) if isinstance(value, str) else value for key, value in values.items() if value is not None}


def _text(text: str) -> str:
    """A text that every exporter can encode, without the secrets that our rules know."""
    return redact(text.encode("utf-8", "replace").decode("utf-8")).text[:TEXT_CHARACTERS]

"""The failure of one attempt at a model call, as a value: whether to retry, and which exception it
becomes. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.messages import JsonObject
from memorist.core.text_analysis import parse_word_list
from memorist.errors import ContextTooLong, ModelError, ModelRequestRejected, ModelUnavailable
from memorist.models.context_window import RefusedRequestSize, parse_refused_request_size

FailureKind = Literal["status", "connection", "cut", "invalid"]
"""The provider returned an error status; it was not reached; its reply ended early; its reply was
not valid.
"""

RETRIED_STATUSES = frozenset({408, 409, 425, 429})
"""Error statuses that are worth a retry; so is every status from 500 on, 529 (Anthropic's overload)
included.
"""

_STATUS_BY_CODE = {
    "invalid_request_error": 400, "context_length_exceeded": 400, "invalid_prompt": 400,
    "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429,
    "rate_limit_exceeded": 429, "insufficient_quota": 429, "api_error": 500, "server_error": 500,
    "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip
"""Status by error type, for errors that come inside a stream (Anthropic's and OpenAI's error
pages).
"""

_TOO_LONG_CODES = parse_word_list(
    """
         context_length_exceeded exceed_context_size_error request_too_large
    string_above_max_length model_max_prompt_tokens_exceeded
    """
)
_TOO_LONG_WORDS = lazy_pattern(
    r"\b(?:prompt|messages?|requested model|input(?! (?:image|file|audio|json)))\b[\w '()`,]{0,60}"
    r"(?:is|are|contains [^.\n]{0,60}) ?too (?:long|large)\b"
    r"|\b(?:prompt|tokens?|token count|context|input(?! (?:image|file|audio)))\b[\w '()`,+]{0,80}"
    r"exceed(?:s|ed)?\b[\w '()`]{0,40}\b(?:limit|maximum|context|window|length|size)\b"
    r"|exceed(?:s|ed)?\b[\w '()`]{0,40}\b(?:context|input token|token limit)"
    r"|(?:longer|greater) than the[\w ']{0,20} (?:context|model) length"
    r"|maximum (?:context|prompt|input|model) length|context (?:window|length|limit) (?:is |was )?"
    r"exceeded|context the overflows|context size exceeded"
    r"|reduce the length of the (?:messages|input|prompt)|max_(?:new_)?tokens`? must be (?:<=|at "
    r"least 1, got -)|must be less than max_seq_len|range of input length"
    r"|too many (?:input )?tokens(?: in|\.)",
    re.IGNORECASE,
)
"""Phrases by which providers and servers say that a request does not fit: what is too long (prompt,
input, tokens, messages) and what it exceeds. Sources: refusals of Anthropic, OpenAI, Azure,
Bedrock, Gemini, OpenRouter, xAI, Copilot, Cerebras, Text Generation Inference, llama.cpp, LM
Studio, Ollama, vLLM and SGLang, as their users quote them.
"""

_LOADING_WORDS = lazy_pattern(r"\bloading\b|\bwarming up\b|\bnot (yet )?loaded\b", re.IGNORECASE)
"""Words by which a server on the user's machine says that it still loads the model (llama.cpp:
`Loading model` with status 503).
"""

_PERMANENT_CODES = frozenset({"insufficient_quota", "billing_not_active"})
"""Codes that come with status 429 but do not pass by waiting (OpenAI's error codes page)."""


class RemainingRateLimit(Struct, frozen=True, kw_only=True):
    """The state of one rate limit."""

    what: str
    """What it limits, in the provider's word: `requests`, `input-tokens`, `5h` …"""
    left: float
    """Remaining share, 0 to 1."""
    resets_in: float | None = None
    """Seconds until it is fully available again."""


class CallFailure(Struct, frozen=True, kw_only=True):
    """One failed attempt."""

    kind: FailureKind
    message: str
    status: int | None = None
    code: str | None = None
    """The error's type or code as the provider names it."""
    retry_after: float | None = None
    """Seconds the provider asks to wait."""
    retry: bool | None = None
    """The provider's own statement on retrying (`x-should-retry`); None when it made none."""
    allowances: tuple[RemainingRateLimit, ...] = ()
    """The rate limits that the provider reported."""
    size: RefusedRequestSize = RefusedRequestSize()
    """What the provider says of the request's size and its window."""
    has_started: bool = False
    """The provider had begun to answer: it bills what it read."""


def map_error_code_to_http_status(code: str | None) -> int:
    """The HTTP status that corresponds to an error type named inside a stream; 500 for an unknown
    one.
    """
    return _STATUS_BY_CODE.get(code or "", 500)


def build_failure_from_error_object(error: JsonObject) -> CallFailure:
    """The failure described by an error object inside a stream or a reply: `{"type", "code",
    "message"}` in any of the three formats.
    """
    found = error.get("code") or error.get("type")
    code = found if isinstance(found, str) else None
    status = found if isinstance(found, int) else map_error_code_to_http_status(code)
    return CallFailure(
        kind="status",
        status=status,
        code=code,
        message=(said := str(error.get("message") or found or "no reason given")),
        size=parse_refused_request_size(said, error),
    )


def is_context_too_long(fault: CallFailure) -> bool:
    """Whether the provider said that the request exceeds its context window."""
    if fault.status == 413 or fault.code in _TOO_LONG_CODES:
        return True
    return fault.status in {400, 422, 500} and _TOO_LONG_WORDS.search(fault.message) is not None


def is_too_long_response(status: int, data: bytes) -> bool:
    """Whether an error response says that the request does not fit the model's window."""
    try:
        body = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        body = None
    return is_context_too_long(
        build_failure_from_status(status, data[:2_000].decode("utf-8", "replace"), body, {})
    )


def is_model_loading(fault: CallFailure) -> bool:
    """Whether the server is up and still loads the model: waiting helps, and is no failed
    attempt.
    """
    return fault.status == 503 and _LOADING_WORDS.search(fault.message) is not None


def is_retryable(fault: CallFailure) -> bool:
    """Whether another attempt may succeed."""
    if fault.kind != "status" or fault.status is None:
        return True
    if is_context_too_long(fault) or fault.code in _PERMANENT_CODES:
        return False
    if fault.retry is not None:
        return fault.retry
    return fault.status in RETRIED_STATUSES or fault.status >= 500


_ADVICE = {
    401: "check the key",
    402: "check the account's credit",
    403: "check what the key may do",
    404: "check the model's name and the address",
}


def build_model_error(fault: CallFailure, model: str, attempts: int) -> ModelError:
    """The exception to raise when `fault` was the last of `attempts`."""
    said = fault.message.strip().rstrip(".")[:500]
    if is_context_too_long(fault):
        return ContextTooLong(
            f"{model} does not take a request of this size ({said}); send less.",
            tokens=fault.size.tokens,
            window=fault.size.window,
        )
    if not is_retryable(fault):
        advice = _ADVICE.get(fault.status or 0, "correct the request")
        return ModelRequestRejected(
            f"{model} refused the request with status {fault.status} ({said}); {advice}."
        )
    tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
    match fault.kind:
        case "status":
            return ModelUnavailable(
                f"{model} answered with status {fault.status} after {tries} ({said}); try later."
            )
        case "connection":
            return ModelUnavailable(
                f"{model} could not be reached after {tries} ({said}); check the address and "
                f"the network."
            )
        case "cut":
            return ModelUnavailable(
                f"{model} broke off its answer after {tries} ({said}); try later."
            )
        case "invalid":
            return ModelUnavailable(
                f"{model} sent an answer that is not valid after {tries} ({said}); try later."
            )


def build_failure_from_status(
    status: int, message: str, body: object, headers: Mapping[str, str]
) -> CallFailure:
    """The failure behind an SDK exception: HTTP status, its message, the decoded body, the
    response's headers.

    A status below 400 means that the error came inside a stream: its type then determines the
    status.
    """
    outer: Mapping[str, object] = body if isinstance(body, Mapping) else {}
    inner = outer.get("error")
    error: Mapping[str, object] = inner if isinstance(inner, Mapping) else outer
    code = next((name for key in ("code", "type") if isinstance(name := error.get(key), str)), None)
    said = str(error.get("message") or message)
    size = parse_refused_request_size(said, error)
    if 300 <= status < 400:
        location = headers.get("location") or "another address"
        said = (
            f"the server redirects to {location}; name that address itself, no redirect is followed"
        )
        return CallFailure(kind="status", message=said, code=code, status=status, retry=False)
    if status < 400:
        return CallFailure(
            kind="status",
            message=said,
            code=code,
            status=map_error_code_to_http_status(code),
            size=size,
        )
    retry = {"true": True, "false": False}.get(headers.get("x-should-retry") or "")
    return CallFailure(
        kind="status",
        message=said,
        code=code,
        status=status,
        retry_after=_retry_after_seconds(headers),
        retry=retry,
        size=size,
    )


def _retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Seconds of `retry-after-ms` or `retry-after`; None for a date or nonsense."""
    for key, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return float(headers.get(key) or "") * unit
        except ValueError:
            continue
    return None

"""Which failures are worth another attempt, and what the user is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import ContextTooLong, ModelRequestRejected, ModelUnavailable
from memorist.models.call_failure import (
    CallFailure,
    FailureKind,
    build_failure_from_error_object,
    build_model_error,
    is_retryable,
)

LONG = [
    (400, None, "prompt is too long: 210000 tokens > 200000 maximum"),
    (400, None, "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"),
    (413, "request_too_large", "Request exceeds the maximum size"),
    (400, "context_length_exceeded", "anything"),
    (
        400,
        None,
        "This model's maximum context length is 128000 tokens. However, your messages resulted "
        "in 130000 tokens.",
    ),
    (
        400,
        None,
        "Your input exceeds the context window of this model. Please adjust your input and try "
        "again.",
    ),
    (
        400,
        "exceed_context_size_error",
        "the request exceeds the available context size, try increasing it",
    ),
    (500, None, "the request exceeds the available context size"),
    (
        400,
        None,
        "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    (400, "model_max_prompt_tokens_exceeded", "no words for it"),
    *(
        (status, None, message)
        for status, message in (
            (400, "The input (52000 tokens) is longer than the model's context length (32768)."),
            (
                400,
                "The decoder prompt (length 9000) is longer than the maximum model length of 8192",
            ),
            (400, "Trying to keep the first 9000 tokens when context the overflows."),
            (400, "This model's maximum prompt length is 131072 but the request contains 140000."),
            (400, "prompt token count of 95000 exceeds the limit of 90000"),
            (
                400,
                "Current length is 41000 while limit is 40000. Reduce the length of the messages",
            ),
            (
                422,
                "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 3000 `inputs` tokens",
            ),
            (400, "max_tokens must be at least 1, got -100."),
            (400, "Input is too long for requested model."),
            (400, "The total length of all messages is too long."),
            (400, "Your request exceeded model token limit: 131072 (requested: 140000)"),
            (400, "length of prompt_tokens (40000) must be less than max_seq_len (32768)."),
        )
    ),
]


@pytest.mark.covers("CP-2", "SF-5")
@pytest.mark.parametrize(("status", "code", "message"), LONG)
def test_every_providers_words_for_too_long_are_understood(
    status: int, code: str | None, message: str
) -> None:
    """Each provider and server says it differently; it is never tried again."""
    fault = CallFailure(kind="status", status=status, code=code, message=message)

    assert isinstance(build_model_error(fault, "m", 1), ContextTooLong)
    assert not is_retryable(fault)


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize(
    "message",
    [
        "max_tokens: too long a name",
        "messages: the context is missing",
        "rate limit: too many requests",
        "invalid length",
        "max_tokens: 200000 > 64000, the maximum allowed number of output tokens",
        "max_tokens for `m` must be less than or equal to 8000",
        "messages.0.content.1.image: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes",
        "Input image exceeds the maximum size of 8000 pixels",
        "tools.0.name exceeds the maximum length of 64 characters",
        "Invalid 'input[3].id': string too long. Expected a string with maximum length 64",
    ],
)
def test_other_refusals_are_not_taken_for_too_long(message: str) -> None:
    """Words that only look similar stay refusals."""
    assert isinstance(
        build_model_error(CallFailure(kind="status", status=400, message=message), "m", 1),
        ModelRequestRejected,
    )


@pytest.mark.covers("SF-5")
@given(st.integers(300, 599))
def test_each_status_is_either_refused_or_unavailable(status: int) -> None:
    """What passes by itself ends as unavailable, everything else as refused, and never both."""
    fault = CallFailure(kind="status", status=status, message="x")
    error = build_model_error(fault, "m", 4)

    if status >= 500 or status in {408, 409, 425, 429}:
        assert is_retryable(fault)
        assert isinstance(error, ModelUnavailable)
    elif status == 413:
        assert isinstance(error, ContextTooLong)
    else:
        assert not is_retryable(fault)
        assert isinstance(error, ModelRequestRejected)


@pytest.mark.covers("SF-5")
def test_the_providers_own_word_on_retrying_counts() -> None:
    """`x-should-retry` goes before the status; an empty account is not waited for."""
    assert not is_retryable(CallFailure(kind="status", status=500, message="x", retry=False))
    assert is_retryable(CallFailure(kind="status", status=400, message="x", retry=True))
    assert not is_retryable(
        CallFailure(kind="status", status=429, code="insufficient_quota", message="x")
    )


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize(
    ("error", "status"),
    [
        ({"type": "overloaded_error", "message": "x"}, 529),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "x"}, 429),
        ({"code": "server_error", "message": "x"}, 500),
        ({"code": 503, "message": "x"}, 503),
        ({"type": "invalid_request_error", "message": "x"}, 400),
        ({"message": "x"}, 500),
    ],
)
def test_an_error_inside_a_stream_has_a_status(error: dict[str, object], status: int) -> None:
    """A stream begins with status 200; the error's type then says what a status would have said."""
    assert build_failure_from_error_object(error).status == status


@pytest.mark.covers("SF-5")
@pytest.mark.parametrize("kind", ["status", "connection", "cut", "invalid"])
def test_errors_name_the_model_the_reason_and_what_to_do(kind: FailureKind) -> None:
    """One sentence a person can act on."""
    said = str(
        build_model_error(
            CallFailure(kind=kind, status=500, message="the reason."), "openai:gpt-5", 2
        )
    )

    assert said.startswith("openai:gpt-5 ")
    assert "the reason" in said
    assert "2 attempts" in said
    assert said.endswith((".",))

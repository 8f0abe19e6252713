"""A host's error that means a request was too long is known, whatever class the host gives it."""

from __future__ import annotations

import pytest

from memorist.adapters.wire_reply import MAX_ERROR_CAUSES, is_too_long_error


class Refused(Exception):
    """As the SDKs raise it."""

    def __init__(self, message: str, status: int = 400, code: object = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.code = code


@pytest.mark.parametrize(
    "error",
    [
        Refused(
            "Error code: 400 - This model's maximum context length is 8192 tokens, and the "
            "request holds 9000."
        ),
        Refused("prompt is too long: 210000 tokens > 200000 maximum"),
        Refused("no words for it", code="context_length_exceeded"),
        Refused("no words for it", status=413),
        ValueError("input is too long for requested model"),
    ],
)
def test_a_refusal_as_too_long_is_known(error: BaseException) -> None:
    """By its words, its code or its status."""
    assert is_too_long_error(error)


def test_a_wrapped_refusal_is_known() -> None:
    """The host's own error came from the SDK's; a chain without end is left alone."""
    outer = RuntimeError("the model call failed")
    outer.__cause__ = Refused("prompt is too long: 210000 tokens > 200000 maximum")
    assert is_too_long_error(outer)

    deep: BaseException = Refused("prompt is too long: 2 tokens > 1 maximum")
    for _ in range(MAX_ERROR_CAUSES):
        deep, below = RuntimeError("around it"), deep
        deep.__cause__ = below
    assert not is_too_long_error(deep)


@pytest.mark.parametrize(
    "error",
    [
        None,
        Refused("Rate limit reached", 429),
        Refused("maximum context length", 401),
        ValueError("no such tool"),
        Refused("odd", code={"a": 1}),
    ],
)
def test_other_errors_are_the_hosts(error: BaseException | None) -> None:
    """A request is not sent again for them."""
    assert not is_too_long_error(error)

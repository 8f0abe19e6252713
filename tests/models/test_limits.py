"""What providers say of their rate limits, read from headers and passed on by the models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import ModelError
from memorist.formats.codec_registry import find_codec
from memorist.models.call_failure import RemainingRateLimit
from memorist.models.rate_limits import RateLimitReport, read_rate_limits, subscribe_to_rate_limits
from memorist.ports import Model, Request
from memorist.testing import FrozenClock, HttpError, Say, ScriptedServer

Open = Callable[..., Model]
NOW = 1_700_000_000.0
"""2023-11-14 22:13:20 UTC."""


@pytest.mark.covers("SG-1")
def test_anthropics_headers_are_read() -> None:
    """Limit, what is left, and the time of the reset as RFC 3339."""
    headers = {
        "Anthropic-RateLimit-Requests-Limit": "50",
        "Anthropic-RateLimit-Requests-Remaining": "10",
        "Anthropic-RateLimit-Requests-Reset": "2023-11-14T22:13:50Z",
        "anthropic-ratelimit-input-tokens-limit": "80000",
        "anthropic-ratelimit-input-tokens-remaining": "80000",
        "anthropic-ratelimit-input-tokens-reset": "2023-11-14T22:13:19Z",
    }

    assert read_rate_limits(headers, NOW) == (
        RemainingRateLimit(what="input-tokens", left=1.0, resets_in=0.0),
        RemainingRateLimit(what="requests", left=0.2, resets_in=30.0),
    )


@pytest.mark.covers("SG-1")
def test_a_subscriptions_windows_are_read() -> None:
    """They tell the part that is used, and the reset as seconds since the epoch."""
    headers = {
        "anthropic-ratelimit-unified-5h-utilization": "0.75",
        "anthropic-ratelimit-unified-5h-reset": "1700003600",
        "anthropic-ratelimit-unified-status": "allowed",
    }

    assert read_rate_limits(headers, NOW) == (
        RemainingRateLimit(what="5h", left=0.25, resets_in=3_600.0),
    )


@pytest.mark.covers("SG-1")
@pytest.mark.parametrize(
    ("reset", "seconds"),
    [
        ("6m0s", 360.0),
        ("12ms", 0.012),
        ("1h2m3.5s", 3_723.5),
        ("20", 20.0),
        ("1700000100", 100.0),
        ("soon", None),
        ("", None),
    ],
)
def test_openais_headers_are_read(reset: str, seconds: float | None) -> None:
    """Waits are durations as Go writes them; compatible servers send numbers or times."""
    headers = {
        "x-ratelimit-limit-tokens": "1000",
        "x-ratelimit-remaining-tokens": "100",
        "x-ratelimit-reset-tokens": reset,
    }

    (found,) = read_rate_limits(headers, NOW)
    assert (found.what, found.left) == ("tokens", 0.1)
    assert found.resets_in == (None if seconds is None else pytest.approx(seconds))


_NAMES = [
    f"{before}{what}{after}"
    for what in ("requests", "tokens")
    for before, after in (
        ("x-ratelimit-limit-", ""),
        ("x-ratelimit-remaining-", ""),
        ("x-ratelimit-reset-", ""),
        ("anthropic-ratelimit-", "-limit"),
        ("anthropic-ratelimit-", "-remaining"),
        ("anthropic-ratelimit-", "-reset"),
        ("anthropic-ratelimit-unified-5h-utilization", ""),
    )
]


@pytest.mark.covers("SG-1")
@given(
    st.dictionaries(
        st.sampled_from(_NAMES) | st.text(max_size=20),
        st.text(max_size=20) | st.floats().map(str) | st.integers().map(str),
    )
)
def test_no_header_is_an_error(headers: dict[str, str]) -> None:
    """Whatever a server sends: shares lie between 0 and 1, waits are not negative."""
    for found in read_rate_limits(headers, NOW):
        assert 0 <= found.left <= 1
        assert found.resets_in is None or found.resets_in >= 0


async def _ask(model: Model) -> None:
    body = find_codec(model.format).build_request(
        "claude-sonnet-4-5", system="", text="hello", max_output=100
    )
    await model.send(Request(format=model.format, body=body))


@pytest.mark.covers("SG-1")
async def test_the_sdks_give_the_headers_of_an_answer(open_at: Open, kind: str) -> None:
    """Each of the three ways to reach a model tells what is left."""
    told: list[RateLimitReport] = []
    with ScriptedServer([Say(text="ok")]) as server:
        server.headers = {
            "x-ratelimit-limit-requests": "100",
            "x-ratelimit-remaining-requests": "7",
            "x-ratelimit-reset-requests": "9s",
        }
        model = open_at(server)
        subscribe_to_rate_limits(model, told.append)
        await _ask(model)

    assert told == [
        RateLimitReport(
            model=model.name,
            allowances=(RemainingRateLimit(what="requests", left=0.07, resets_in=9.0),),
        )
    ]


@pytest.mark.covers("SG-1")
@pytest.mark.parametrize("code", [429, 529])
async def test_each_refusal_is_told_before_it_is_tried_again(
    open_at: Open, clock: FrozenClock, code: int
) -> None:
    """Two refusals and an answer: two pieces of news, though the call succeeds in the end; the host
    of the model sees none of it.
    """
    told: list[tuple[int | None, float | None, int]] = []
    with ScriptedServer(
        [HttpError(code=code, retry_after="7"), HttpError(code=code), Say(text="ok")]
    ) as server:
        model = open_at(server)
        subscribe_to_rate_limits(
            model, lambda news: told.append((news.status, news.retry_after, len(clock.slept)))
        )
        await _ask(model)

    assert told == [(code, 7.0, 0), (code, None, 1)]


@pytest.mark.covers("SG-1")
@pytest.mark.parametrize("code", [400, 401, 500])
async def test_other_failures_say_nothing_of_limits(open_at: Open, code: int) -> None:
    """A bad key or a server's fault is no reason to hold other work back."""
    told: list[Any] = []
    with ScriptedServer(lambda request: HttpError(code=code)) as server:
        model = open_at(server)
        subscribe_to_rate_limits(model, told.append)
        with pytest.raises(ModelError):
            await _ask(model)

    assert told == []


def test_a_model_that_tells_nothing_is_passed_over() -> None:
    """A host's own model need not listen, and there may be none."""

    class Mute:
        listen = None

    told: list[RateLimitReport] = []
    for model in (Mute, Mute(), object(), None):
        subscribe_to_rate_limits(model, told.append)

    assert told == []

"""Models over the real SDKs, opened against a scripted server on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from memorist.models.model_choice import create_model_from_string
from memorist.models.model_settings import ModelSettings
from memorist.ports import Model
from memorist.testing import FrozenClock, ScriptedServer

KINDS = ("anthropic", "openai", "openai-chat")
MODEL = "claude-sonnet-4-5"

Open = Callable[..., Model]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each of the three ways to reach a model."""
    return str(request.param)


@pytest.fixture
def clock() -> FrozenClock:
    """Time that moves when something sleeps."""
    return FrozenClock()


@pytest.fixture
async def open_at(kind: str, clock: FrozenClock) -> AsyncIterator[Open]:
    """Opens a model of this kind at a server; all are closed after the test."""
    opened: list[Model] = []

    def opener(server: ScriptedServer, **settings: Any) -> Model:
        url = server.url if kind == "anthropic" else server.openai_url
        model = create_model_from_string(
            f"{kind}:{MODEL}@{url}", ModelSettings(**settings), clock=clock, environment={}
        )
        assert model is not None
        opened.append(model)
        return model

    yield opener
    for model in opened:
        await model.close()

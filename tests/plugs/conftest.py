"""The story's claims are told like a test's own."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("plugs.story")


@pytest.fixture(autouse=True)
def no_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    """No host reports to anybody."""
    for name, value in (
        ("LANGSMITH_TRACING", "false"),
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
        ("OPENAI_AGENTS_DISABLE_TRACING", "1"),
    ):
        monkeypatch.setenv(name, value)

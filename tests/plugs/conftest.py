"""The story's claims are told like a test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from plugs.no_disk import no_disk

pytest.register_assert_rewrite("plugs.story")


@pytest.fixture
def unusable_home(tmp_path: Path) -> Iterator[Path]:
    """A home on a machine on which nothing can be written."""
    with no_disk(tmp_path) as home:
        yield home


@pytest.fixture(autouse=True)
def no_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    """No host reports to anybody."""
    for name, value in (
        ("LANGSMITH_TRACING", "false"),
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
        ("OPENAI_AGENTS_DISABLE_TRACING", "1"),
    ):
        monkeypatch.setenv(name, value)

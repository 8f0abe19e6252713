"""What a start costs: nothing that most programs never use is loaded or kept."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

from memorist.auto_memory.memory_file import MemoryKind
from memorist.core.bounded_collections import DEFAULT_CACHE_SIZE
from memorist.engine.engine import Memorist
from memorist.engine.session import Session

HEAVY = (
    "anthropic",
    "dulwich",
    "email",
    "http",
    "jinja2",
    "numpy",
    "onnxruntime",
    "openai",
    "rich",
    "xml",
    "yaml",
    "zipfile",
)
MOST_PATTERNS = 200
"""A start compiled 635 before patterns waited for their first use, and 150 after; some forty are
the standard library's own.
"""


def test_loading_the_engine_loads_no_library_that_it_may_never_need() -> None:
    """Neither those of extras, nor the readers of Git, YAML and HTTP, and few regular expressions
    are compiled.
    """
    code = (
        "import re, re as r, sys; made = []; compile = r._compiler.compile\n"
        "r._compiler.compile = lambda *a: made.append(a) or compile(*a)\n"
        f"import memorist.engine.engine; print([m for m in {HEAVY} if m in sys.modules], "
        f"len(made) <= {MOST_PATTERNS})"
    )

    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert said.stdout.strip() == "[] True"


async def test_a_session_that_was_closed_is_not_kept(tmp_path: Path) -> None:
    """A process that lives for months does not hold every session that it ever had."""
    async with Memorist(model="structural", home=tmp_path) as engine:

        async def seen() -> weakref.ref[Session]:
            session = await engine.open("s")
            await session.close()
            return weakref.ref(session)

        closed = await seen()
        gc.collect()

        assert closed() is None


async def test_of_many_projects_only_so_many_are_kept_in_memory(tmp_path: Path) -> None:
    """Those asked for last; one that was let go of is read again, with all that it holds."""
    async with Memorist(model="structural", home=tmp_path) as engine:
        first = engine.memory("/srv/p0")
        first.add(
            "Deploy with the script.",
            kind=MemoryKind.FEEDBACK,
            name="deploy",
            description="how to deploy",
        )
        for number in range(1, DEFAULT_CACHE_SIZE):
            engine.memory(f"/srv/p{number}")
        assert engine.memory("/srv/p0") is first
        for number in range(1, DEFAULT_CACHE_SIZE + 1):
            engine.memory(f"/srv/p{number}")
        again = engine.memory("/srv/p0")

        assert again is not first
        assert (
            [head.path for head in again.headers()]
            == [head.path for head in first.headers()]
            == ["deploy.md"]
        )

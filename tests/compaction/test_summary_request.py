"""The request by which a summary is asked for where the parent's own cannot be sent on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memorist.compaction.compaction_prompts import load_shipped_compaction_prompts
from memorist.compaction.measured_conversation import measure_conversation
from memorist.compaction.summary_request import build_summary_request, request_summary
from memorist.forks.fork_spec import ParentCall
from memorist.formats.codec_registry import find_codec
from memorist.ports import Request
from memorist.runtime import Runtime
from memorist.settings import Settings
from memorist.store.disk_files import DiskFiles
from memorist.testing import FrozenClock, Say, ScriptedModel

BODY: dict[str, Any] = {
    "model": "model",
    "max_tokens": 64_000,
    "thinking": {"type": "adaptive"},
    "temperature": 1,
    "system": "Be brief.",
    "tools": [{"name": "run", "input_schema": {"type": "object"}}],
    "messages": [{"role": "user", "content": "Build a parser."}],
}


@pytest.mark.covers("CP-7")
@pytest.mark.parametrize("name", ["scripted:model", "scripted:small"])
async def test_another_model_gets_no_parameters_of_the_parents(tmp_path: Path, name: str) -> None:
    """It may refuse them; the instructions and tools that the history speaks of it gets."""
    model = ScriptedModel([Say(text="<summary>\nA parser.\n</summary>")], name=name)
    messages = tuple(find_codec("anthropic").decode_request(BODY).messages)
    await request_summary(
        build_summary_request(measure_conversation(messages), load_shipped_compaction_prompts()),
        ParentCall(Request(format="anthropic", body=BODY, label="parent")),
        Runtime(
            settings=Settings(home=str(tmp_path)),
            files=DiskFiles(),
            clock=FrozenClock(0),
            model=model,
        ),
        marker="",
        record=lambda _: None,
    )
    (sent,) = model.requests

    is_parents = name == "scripted:model"
    assert sent.body["model"] == name.partition(":")[2]
    assert [sent.body[key] for key in ("system", "tools")] == [BODY["system"], BODY["tools"]]
    assert [key in sent.body for key in ("thinking", "temperature")] == [is_parents] * 2

"""What a fork adds to a conversation that the provider has cached."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist.auto_memory.extraction_prompt import (
    ExtractionPrompts,
    ExtractionTask,
    render_extraction_prompt,
)
from memorist.core.markdown import load_prompt
from memorist.core.token_count import estimate_text_tokens
from memorist.forks.fork import load_fork_prompts
from memorist.forks.fork_request import build_first_request
from memorist.forks.fork_spec import EditMethod, ForkSpec, NoTools, ParentCall
from memorist.formats.codec_registry import find_codec
from memorist.magic_docs.document_files import load_magic_doc_prompts
from memorist.magic_docs.document_header import MagicDocHeader, build_update_prompt
from memorist.ports import Request
from memorist.session_memory.notes_prompt import render_update_prompt
from memorist.session_memory.session_notes import load_notes_prompts
from memorist.settings import AutoMemorySettings, SessionMemorySettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout

MAX_TOKENS = 600
"""New tokens of a fork beside the cached conversation and the files that it is shown."""


MAX_TEAM_TOKENS = 220
"""Further tokens of an extraction in a project that has a team."""


def render_notes(layout: Layout) -> str:
    """The task of a notes fork; the notes themselves are data."""
    prompts = load_notes_prompts(DiskFiles(), layout)
    return render_update_prompt("", "/home/dev/notes.md", prompts, SessionMemorySettings())


def render_extraction(layout: Layout, team_readers: str = "") -> str:
    """The task of an extraction in a project without memories."""
    del layout
    task = ExtractionTask(
        folder=Path("/home/dev/.memorist/projects/home-dev-work-webshop-109c8b44/memory"),
        count=8,
        today="2026-01-02",
        team_readers=team_readers,
    )
    prompts = ExtractionPrompts(
        *(load_prompt(f"auto_memory/{name}") for name in ("extract", "asked", "team", "form"))
    )
    return render_extraction_prompt(task, [], prompts, AutoMemorySettings())


def render_magic_doc(layout: Layout) -> str:
    """The task of a fork for one document; its text is data."""
    header = MagicDocHeader(title="Billing", instruction="", frame="")
    return build_update_prompt(
        "", "/home/dev/billing.md", header, load_magic_doc_prompts(DiskFiles(), layout)
    )


@pytest.mark.covers("FK-1")
@pytest.mark.parametrize("method", [EditMethod.TEXT, EditMethod.TOOLS])
@pytest.mark.parametrize("render", [render_notes, render_extraction, render_magic_doc])
def test_a_fork_adds_few_tokens_to_the_cached_conversation(
    tmp_path: Path, method: EditMethod, render: object
) -> None:
    """Boundaries, task and form of edits together, by our own estimate, which counts a few in a
    hundred too many rather than too few.
    """
    assert callable(render)
    parent = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Go on."}]}
    reply = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    spec = ForkSpec(
        label="session_memory",
        why="test",
        instruction=render(Layout(tmp_path)),
        permission=NoTools(),
        parent=ParentCall(Request(format="anthropic", body=parent, label="main"), reply),
    )
    body = build_first_request(
        spec, method, load_fork_prompts(), codec=find_codec("anthropic"), model="m"
    )

    assert body["messages"][:1] == parent["messages"]
    (message,) = body["messages"][2:]
    new = sum(estimate_text_tokens(block["text"]) for block in message["content"])
    assert new <= MAX_TOKENS


@pytest.mark.covers("FK-1", "TM-1")
def test_the_rules_of_a_team_add_few_tokens_and_name_each_kind(tmp_path: Path) -> None:
    """A project with a team pays for them on top; no kind of memory is without its rule."""
    alone = render_extraction(Layout(tmp_path))
    shared = render_extraction(Layout(tmp_path), team_readers="everybody here")
    rules = load_prompt("auto_memory/team")

    assert 0 < estimate_text_tokens(shared) - estimate_text_tokens(alone) <= MAX_TEAM_TOKENS
    assert all(f"{kind}: " in rules for kind in ("User", "Feedback", "Project", "Reference"))

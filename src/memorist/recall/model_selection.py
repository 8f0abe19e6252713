"""Selection of memories by a model: its prompt, its limits, and how its answer is read (RC-2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from memorist.auto_memory.memory_manifest import MemoryHeader, render_manifest
from memorist.core.json_answer import find_json_object_with_any_key, find_largest_json_object
from memorist.core.prompt_templates import render_template
from memorist.core.truncation import truncate_middle
from memorist.forks.fork_spec import (
    EditMethod,
    ForkLimits,
    ForkOutcome,
    ForkSpec,
    NoToolsPermission,
)
from memorist.ports import Model
from memorist.recall.contentless_message import has_no_searchable_content
from memorist.recall.memory_rendering import RecallPrompts
from memorist.runtime import Runtime
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.settings import AutoMemorySettings, RecallSettings

LABEL = "recall"
"""What the receipts of a selection are filed under."""
MAX_ANSWER_TOKENS = 256
"""Longest answer (Claude Code)."""
MAX_QUERY_TOKENS = 2_000
"""Longest part of the user's message that the selection is made from."""


_DATA_TAGS = ("notes", "message")
"""Tags of the data in the prompt, which no text inside may close."""


class ModelSelector:
    """Has a model choose memories, for one session."""

    def __init__(
        self, runtime: Runtime, prompts: RecallPrompts, memory_settings: AutoMemorySettings
    ) -> None:
        self._runtime = runtime
        self._prompts = prompts
        self._memory_settings = memory_settings

    def should_model_select(self, query: str, ranked: int, settings: RecallSettings) -> bool:
        """Whether a model is to choose beside the `ranked` memories that the ranker chose: not for
        a message that names nothing ("yes, go on").
        """
        return (
            settings.selector == "model"
            and ranked < settings.limit
            and not has_no_searchable_content(query)
        )

    async def select_with_model(
        self,
        model: Model,
        headers: Mapping[str, MemoryHeader],
        query: str,
        tools: Sequence[str],
        settings: RecallSettings,
    ) -> tuple[str, ...]:
        """Choose from these memories those that bear on a user's message: their paths, at most
        `recall.limit`; none where the model gave no choice within `recall.seconds`.

        `tools` are those that the agent has just used. Raises MemoristError.
        """
        runtime = self._runtime
        data = render_selection_data(
            self._prompts.select_data,
            list(headers.values()),
            query=query,
            tools=tools,
            settings=self._memory_settings,
        )
        spec = ForkSpec(
            label=LABEL,
            why="a user message arrived",
            instruction=render_template(
                self._prompts.select, {"limit": str(settings.limit)}, strict=True
            ),
            material=data,
            permission=NoToolsPermission(),
            limits=ForkLimits(
                turns=1,
                requests=2,
                seconds=settings.seconds,
                output=MAX_ANSWER_TOKENS,
                tokens=runtime.settings.forks.tokens,
            ),
            edit_method=EditMethod.ANSWER,
        )
        receipt = await runtime.run_fork(spec, model)
        if receipt.outcome not in (ForkOutcome.UNCHANGED, ForkOutcome.OVER_LIMIT):
            return ()
        return parse_selection(receipt.said, headers, settings.limit) or ()


def render_selection_data(
    template: str,
    headers: Sequence[MemoryHeader],
    *,
    query: str,
    tools: Sequence[str],
    settings: AutoMemorySettings,
) -> str:
    """What the model selects from, for its user message; the rules are in the system message."""
    used = f"The assistant has just used these tools: {', '.join(tools)}.\n\n" if tools else ""
    values = {
        "manifest": neutralize_markup(render_manifest(headers, settings), _DATA_TAGS),
        "query": neutralize_markup(truncate_middle(query, MAX_QUERY_TOKENS), _DATA_TAGS),
        "tools": used,
    }
    return render_template(template, values, strict=True)


def parse_selection(answer: str, allowed: Collection[str], limit: int) -> tuple[str, ...] | None:
    """Parse the selected names that are in `allowed`, each once, at most `limit`; empty where the
    model chose none.

    A mark in front of a name, as the manifest's lines have it, is left out. None for an answer that
    is no choice: without such a JSON object, or with names of which none is known.
    """
    found = (
        find_json_object_with_any_key(find_largest_json_object(answer), "selected_memories") or {}
    )
    names = found.get("selected_memories")
    if not isinstance(names, list):
        return None
    bare = [name.rpartition("] ")[2] for name in names if isinstance(name, str)]
    known = [name for name in bare if name in allowed]
    return tuple(dict.fromkeys(known))[:limit] if known or not names else None

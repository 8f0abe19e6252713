"""The index of memories as a model is shown it: without the rules that the agent has already, and
with remarks on what its files say otherwise (RC-1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.client_rules import ClientRule
from memorist.auto_memory.memory_index import parse_pointer_target
from memorist.recall.memory_rendering import (
    EVERYWHERE_HEADING,
    IndexWithoutClientRules,
    RecallPrompts,
    render_client_rule_conflict,
    render_index,
)
from memorist.recall.reachable_memory import compare_memory_with_client_rules


class RenderedMemoryIndex(Struct, frozen=True):
    """The index as a model is shown it, and the memories that it names."""

    text: str
    listed: tuple[str, ...]
    """Paths of the memories that it names."""
    repeated: tuple[str, ...] = ()
    """Paths of the memories that the agent has as a rule of its own, and that are therefore not in
    it.
    """


def build_shown_index(
    memory: AutoMemory,
    prompts: RecallPrompts,
    rules: Sequence[ClientRule] = (),
    known: Collection[str] = (),
) -> RenderedMemoryIndex | None:
    """Read the index as a model is shown it; None where there is no memory. `rules` are those that
    the agent has in its own files; `known` the paths of memories whose content is in the
    conversation, which no earlier session left. Raises StoreError.
    """
    own = _mirror_index(memory, rules, known)
    known_everywhere = {path.removeprefix(EVERYWHERE_PREFIX) for path in known}
    everywhere = _mirror_index(memory.everywhere, rules, known_everywhere)
    has_text = bool(own.text.strip() or everywhere.text.strip())
    if not (has_text or own.repeated or everywhere.repeated):
        return None
    return RenderedMemoryIndex(
        render_index(own, everywhere, prompts) if has_text else "",
        own.listed + _add_prefix(everywhere.listed),
        own.repeated + _add_prefix(everywhere.repeated),
    )


def _mirror_index(
    memory: AutoMemory | None, rules: Sequence[ClientRule], known: Collection[str]
) -> IndexWithoutClientRules:
    if memory is None or not memory.folder.exists:
        return IndexWithoutClientRules(
            folder=str(memory.layout.folder) if memory is not None else ""
        )
    index = memory.visible_index()
    found = compare_memory_with_client_rules(memory, rules)
    repeated = {path for path, each in found.items() if each.is_repeated}
    left_out = repeated.union(known)
    kept = [line for line in index.text.splitlines() if parse_pointer_target(line) not in left_out]
    return IndexWithoutClientRules(
        text="\n".join(kept),
        folder=str(memory.layout.folder),
        listed=tuple(path for path in index.listed if path not in left_out),
        repeated=tuple(sorted(repeated)),
        headers=memory.headers_by_path(),
        remarks={path: render_client_rule_conflict(each) for path, each in found.items()},
    )


def list_memories_in_shown_index(text: str, prompts: RecallPrompts) -> frozenset[str]:
    """The memories that the text of an index names, as a former process showed it; none for any
    other text.
    """
    _, _, index = text.partition(prompts.index.partition("{{")[0].strip())
    own, _, everywhere = (
        [*filter(None, map(parse_pointer_target, part.splitlines()))]
        for part in index.partition(f"\n{EVERYWHERE_HEADING.partition('{')[0]}")
    )
    return frozenset((*own, *_add_prefix(everywhere)))


def _add_prefix(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(EVERYWHERE_PREFIX + path for path in paths)

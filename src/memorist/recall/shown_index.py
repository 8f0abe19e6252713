"""The index of memories as a model is shown it: without the rules that the agent has already, and
with remarks on what its files say otherwise (RC-1).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.client_rules import ClientRule
from memorist.auto_memory.memory_index import parse_pointer_target
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.recall.memory_rendering import (
    EverywhereIndex,
    RecallPrompts,
    render_client_rule_conflict,
    render_index,
)


class ShownIndex(Struct, frozen=True):
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
) -> ShownIndex | None:
    """Read the index as a model is shown it; None where there is no memory. `rules` are those that
    the agent has in its own files; `known` the paths of memories whose content is in the
    conversation, which no earlier session left. Raises StoreError.
    """
    index = _mirror_index(memory, rules, known)
    user = memory.everywhere
    known_everywhere = {path.removeprefix(EVERYWHERE_PREFIX) for path in known}
    user_index = _mirror_index(user, rules, known_everywhere)
    if not any(each.text.strip() or each.repeated for each in (index, user_index)):
        return None
    text = ""
    if index.text.strip() or user_index.text.strip():
        text = render_index(
            index.text,
            index.headers,
            str(memory.layout.folder),
            prompts,
            EverywhereIndex(
                user_index.text, user_index.headers, str(user.layout.folder), user_index.remarks
            )
            if user is not None and user_index.text.strip()
            else None,
            index.remarks,
        )
    return ShownIndex(
        text,
        index.listed + _add_prefix(user_index.listed),
        index.repeated + _add_prefix(user_index.repeated),
    )


class _MirroredIndex(Struct, frozen=True, kw_only=True):
    """An index without the rules that an agent has already, with remarks on what its files say
    otherwise.
    """

    text: str = ""
    listed: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    headers: Mapping[str, MemoryHeader] = {}
    remarks: dict[str, str] = {}


def _mirror_index(
    memory: AutoMemory | None, rules: Sequence[ClientRule], known: Collection[str]
) -> _MirroredIndex:
    if memory is None or not memory.folder.exists:
        return _MirroredIndex()
    index = memory.visible_index()
    found = memory.compare_with_client_rules(rules)
    repeated = {path for path, each in found.items() if each.is_repeated}
    left_out = repeated.union(known)
    kept = [line for line in index.text.splitlines() if parse_pointer_target(line) not in left_out]
    return _MirroredIndex(
        text="\n".join(kept),
        listed=tuple(path for path in index.listed if path not in left_out),
        repeated=tuple(sorted(repeated)),
        headers=memory.headers_by_path(),
        remarks={path: render_client_rule_conflict(each) for path, each in found.items()},
    )


def _add_prefix(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(EVERYWHERE_PREFIX + path for path in paths)

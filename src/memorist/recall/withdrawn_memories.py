"""What the user withdrew in another session of what this one has in its context: two windows on one
project, or two clients. Without a word of it the conversation goes on by what no longer holds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from memorist.auto_memory.memory_file import MemoryFile, parse_memory_file
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_encoding import replace_surrogates
from memorist.recall.memory_rendering import MAX_POINTER_CHARS
from memorist.recall.reachable_memory import ReachableMemory
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup

_ACTORS = frozenset({"user", "said", "inbox", "undo"})
"""Who withdraws a memory in the user's name."""


class WithdrawnMemory(Struct, frozen=True):
    """One line about it, and the memories that came in its place."""

    line: str
    replacements: tuple[str, ...]


def find_withdrawn_memories(
    reachable: ReachableMemory,
    paths: Collection[str],
    headers: Mapping[str, MemoryHeader],
    session: str,
) -> tuple[WithdrawnMemory, ...]:
    """Which of these memories, none of which is there any more, the user withdrew in another
    session. Raises StoreError.
    """
    found = (_find_withdrawal(reachable, path, headers, session) for path in sorted(paths))
    return tuple(each for each in found if each is not None)


def _find_withdrawal(
    reachable: ReachableMemory, path: str, headers: Mapping[str, MemoryHeader], session: str
) -> WithdrawnMemory | None:
    memory, own_path = reachable.find_memory_and_path(path)
    history = memory.folder.history
    for change in history.list_changes(own_path, 1):
        before = history.read_file(own_path, history.find_parent_id(change.id))
        if change.why.session == session or change.why.actor not in _ACTORS or before is None:
            break
        if change.why.move:  # it holds elsewhere now
            break
        prefix = path.removesuffix(own_path)
        changed = [prefix + each for each in change.paths]
        replacements = [
            each for each in changed if each in headers and headers[each].trust in USER_TRUST
        ]
        now = [
            _quote(topic)
            for topic, doubts in map(reachable.read_memory_with_suspicions, replacements)
            if not doubts
        ]
        was = _quote(parse_memory_file(own_path, before))
        return WithdrawnMemory(
            f"- {was}: {'now ' + ', '.join(now) if now else 'withdrawn'}", tuple(replacements)
        )
    return None


def _quote(topic: MemoryFile) -> str:
    text = neutralize_markup(strip_hidden_characters(replace_surrogates(topic.one_line_text)))
    return f"“{shorten_to_one_line(text, MAX_POINTER_CHARS)}”"

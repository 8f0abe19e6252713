"""Forget memories for good: every copy of their words, in every file of the home (AM-10)."""

from __future__ import annotations

from collections.abc import Sequence

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.home_memories import HomeMemories
from memorist.store.memory_uses import purge_memory_traces
from memorist.store.text_removal import TextRemovalResult, mask_texts_in_bytes, remove_text_copies


def purge_memories(
    home: HomeMemories, memory: AutoMemory, paths: Sequence[str]
) -> tuple[int, TextRemovalResult, list[str]]:
    """Remove every copy of these memories. Returns the changes of the history that held them, what
    became of other copies of their words, and the sessions that they came from.

    What is to be forgotten is noted until it is: a command that was killed at any step is finished
    by giving it again.

    Raises InputError for a path that neither the folder nor its history has.
    """
    entries = memory.add_to_purge_journal(paths)
    named = [entry.path for entry in entries]
    words = [text for entry in entries for text in entry.texts]
    folder, journal = memory.layout.folder, memory.purge_journal
    own = {journal.path, *(folder / path for path in named)}
    before = remove_text_copies(
        home.layout, words, among=lambda path: path not in own and not path.is_relative_to(folder)
    )
    # Paths stay in the indexes, which are made anew by them.
    texts = [text for text in words if text not in named]
    removed_elsewhere = remove_text_copies(
        home.layout, texts, among=lambda path: path not in own and path.is_relative_to(folder)
    )

    def mask(data: bytes) -> bytes:
        return mask_texts_in_bytes(data, texts)

    purge_memory_traces(home.database(), str(folder), named, mask)
    changes = memory.purge(named, mask)
    after = remove_text_copies(home.layout, words, among=lambda path: path != journal.path)
    journal.remove(named)
    removal = TextRemovalResult(
        cleaned=before.cleaned + removed_elsewhere.cleaned + after.cleaned,
        deleted=before.deleted + removed_elsewhere.deleted + after.deleted,
        remaining=after.remaining,
    )
    sessions = sorted({session for entry in entries for session in entry.sessions})
    return changes, removal, sessions

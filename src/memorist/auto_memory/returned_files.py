"""Memory files that another program took away and brought back unchanged: a checkout, a restored
backup, a renaming by hand.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice

from memorist.auto_memory.memory_history import FolderHistory

_MAX_CHANGES = 1_000
"""Changes that are looked through for such a file. Our choice."""


def find_returned_files(
    history: FolderHistory, new_files: Mapping[str, str], present: Collection[str]
) -> frozenset[str]:
    """Return those of `new_files` (blob id by path) that are as memorist wrote them, under this
    name or one that is not `present` any more, and that only another program has taken away since:
    what they say of their origin is still true. A file that the user forgot is none of them.
    """
    blobs = frozenset(filter(None, new_files.values()))
    returned: set[str] = set()
    settled = set(present)
    for change in islice(history.iter_changes(), _MAX_CHANGES):
        paths = set(change.paths) - settled
        files = history.list_files(change.id) if paths else {}
        for path in paths:
            blob = files.get(path, "")
            if change.why.actor != "other":
                settled.add(path)
                returned.add(blob)
            elif blob and blob not in blobs:
                settled.add(path)
    return frozenset(path for path, blob in new_files.items() if blob in returned & blobs)

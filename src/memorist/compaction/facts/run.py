"""Gather the content that can be restored after a compaction: the task list, and the newest-read
files with their present content (CP-8).
"""

from __future__ import annotations

from pathlib import Path

from memorist.compaction.restore import Facts, ReadFile
from memorist.compaction.settings import CompactionSettings
from memorist.errors import StoreError
from memorist.ports import Files
from memorist.session_memory.ledger import Ledger

CANDIDATES = 8
"""Newest-read files considered; some are not restored: instruction files, and those in view."""


def facts_of(ledger: Ledger, files: Files, notes: Path, settings: CompactionSettings) -> Facts:
    """Gather the restorable content of a session from its ledger. A file that can no longer be read
    is listed without content.
    """
    newest = sorted((note for note in ledger.work.files.files.values() if note.reads), key=lambda note: note.order)[-CANDIDATES:]
    read = tuple(ReadFile(note.path, _content(Path(ledger.cwd or "/") / note.path, files, settings), note.order) for note in newest)
    tasks = "\n".join(f"- [{task.status}] {task.text}" for task in ledger.work.tasks.values())
    return Facts(files=read, exclude=frozenset({str(notes)}), tasks=tasks)


def _content(path: Path, files: Files, settings: CompactionSettings) -> str | None:
    try:
        return files.read(path, limit=settings.restore_file_tokens * 8).decode("utf-8", "replace")
    except (FileNotFoundError, StoreError):
        return None

"""Moving a memory between one project and every project of the user."""

from __future__ import annotations

from uuid import uuid4

from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange, render_change_headline
from memorist.auto_memory.memory_file import MemoryFile
from memorist.auto_memory.memory_name_lookup import find_memory_folder_and_path
from memorist.auto_memory.team_memory import is_team_path
from memorist.auto_memory.write_result import WriteResult, merge_everywhere_result
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.errors import InputError, NothingToDo


def change_memory_scope(memory: AutoMemory, name: str, *, everywhere: bool) -> WriteResult:
    """Have a memory hold in every project of the user, or in this one alone.

    Raises InputError where it is there already, or none has that name; NothingToDo where the
    settings turn memory of every project off.
    """
    if memory.everywhere is None:
        raise NothingToDo("auto_memory.everywhere is off: nothing reaches beyond its project")
    source, path = find_memory_folder_and_path(memory, name)
    target = memory.everywhere if everywhere else memory
    topic = source.folder.read_memory_file(path)
    if is_team_path(path):
        raise InputError(f"{path} is the team's; only what is yours alone can be moved")
    reason = ChangeReason(
        actor="user",
        what=render_change_headline("move", topic.description or path),
        move=uuid4().hex,
    )
    if source is target:
        left = memory if everywhere else memory.everywhere
        return _finish_interrupted_move(left, target, topic, reason)
    free = target.find_free_path(path.rsplit("/", 1)[-1].removesuffix(".md"))
    text = encode_file_text_as_utf8(topic.text())
    written = target.write([MemoryChange(path=free, before=None, after=text)], reason)
    if not (written.refused or written.proposals):
        source.write([MemoryChange(path=path, before=text, after=None)], reason)
    if everywhere:
        return merge_everywhere_result(WriteResult(), written, EVERYWHERE_PREFIX)
    return written


def _finish_interrupted_move(
    source: AutoMemory, target: AutoMemory, topic: MemoryFile, reason: ChangeReason
) -> WriteResult:
    """Take a memory out of the folder in which a move that was interrupted left it. Raises
    InputError where it is not there.
    """
    path = topic.path
    is_there = path in {head.path for head in source.headers()}
    there = source.folder.read_memory_file(path) if is_there else None
    if there is None or there.body.strip() != topic.body.strip():
        where = "here alone" if source.everywhere is None else "in every project"
        raise InputError(f"{path} already holds {where}")
    former = next((each.why for each in target.folder.history.iter_changes(path)), reason)
    change = MemoryChange(path=path, before=encode_file_text_as_utf8(there.text()), after=None)
    return source.write([change], former if former.move else reason)

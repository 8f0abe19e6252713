"""Which memory is meant by a typed name: a part of it is enough where one memory alone has it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.memory_changes import find_memory_path_problem
from memorist.auto_memory.removed_memories import find_removed_memory_by_name, list_removed_paths
from memorist.errors import InputError

MAX_NAMED_MEMORIES = 8
"""Memories that a message lists by name: our choice, about two lines."""


def find_named_memory(memory: AutoMemory, name: str) -> tuple[AutoMemory, str]:
    """The folder and the path of the memory that is called `name`, or that alone has it in its path
    or its name; of a former one where none of those that are there has.

    A folder alone (`everywhere/`) has an empty path. Raises InputError where several have, and
    where none has, with the names that are near.
    """
    owner, path = memory.find_memory_folder_and_path(name)
    if not path or owner.has_memory(path):
        return owner, path
    removed = find_removed_memory_by_name(owner, path)
    if removed is not None:
        return owner, removed.topic.path
    wanted = name.removesuffix(".md").casefold()
    owners = [memory] if memory.everywhere is None else [memory, memory.everywhere]
    fitting = [
        (each, head.path)
        for each in owners
        for head in each.headers()
        if wanted in head.path.casefold() or wanted in head.name.casefold()
    ] or [
        (each, former)
        for each in owners
        for former in list_removed_paths(each)
        if wanted in former.casefold()
    ]
    if len(fitting) > 1:
        named = ", ".join(path for _, path in fitting[:MAX_NAMED_MEMORIES])
        more = (
            f" and {len(fitting) - MAX_NAMED_MEMORIES} more"
            if len(fitting) > MAX_NAMED_MEMORIES
            else ""
        )
        raise InputError(f"{name!r} is a part of several names: {named}{more}")
    if not fitting and _is_unknown_name(owner, path):
        raise InputError(
            f"no memory is called {name!r}{_suggest_near_names(owners, wanted)}; `memorist memory "
            "list` shows all, `memorist memory log` what was forgotten or replaced"
        )
    return fitting[0] if fitting else (owner, path)


def _is_unknown_name(memory: AutoMemory, path: str) -> bool:
    """Whether a path that could be a memory's is no file either; of the others is said elsewhere
    what keeps them from being a memory.
    """
    problem = find_memory_path_problem(f"{path.removesuffix('.md')}.md")
    return problem is None and memory.folder.read_present_bytes(path) is None


def _suggest_near_names(owners: Sequence[AutoMemory], wanted: str) -> str:
    """The paths whose memories have a path or a name near the wanted one, as a question."""
    paths: dict[str, str] = {}
    for owner in reversed(owners):
        prefix = "" if owner is owners[0] else EVERYWHERE_PREFIX
        for head in owner.headers():
            last = head.path.rsplit("/", 1)[-1]
            for name in (head.path, last, head.name):
                paths[name.removesuffix(".md").casefold()] = prefix + head.path
    near = dict.fromkeys(paths[each] for each in get_close_matches(wanted, paths, cutoff=0.5))
    return f"; near it: {', '.join(near)}" if near else ""

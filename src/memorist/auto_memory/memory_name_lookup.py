"""Which memory is meant by a typed name: a part of it is enough where one memory alone has it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.memory_changes import find_memory_path_problem
from memorist.auto_memory.memory_file import make_file_name
from memorist.auto_memory.removed_memories import find_removed_memory_by_name, list_removed_paths
from memorist.core.plural import join_first
from memorist.errors import InputError

MAX_NAMED_MEMORIES = 8
"""Memories that a message lists by name: our choice, about two lines."""


def find_named_memory(memory: AutoMemory, name: str) -> tuple[AutoMemory, str]:
    """The folder and the path of the memory that is called `name`, or that alone has it in its path
    or its name; of a former one where none of those that are there has.

    A folder alone (`everywhere/`) has an empty path. Raises InputError where several have, and
    where none has, with the names that are near.
    """
    owner, path = find_memory_folder_and_path(memory, name)
    if not path or has_memory(owner, path):
        return owner, path
    removed = find_removed_memory_by_name(owner, path)
    if removed is not None:
        return owner, removed.topic.path
    wanted = name.removesuffix(".md").casefold()
    owners = [*memory.memories_by_prefix.values()]
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
        named = join_first(
            [memory.get_shown_path(each, path) for each, path in fitting], MAX_NAMED_MEMORIES
        )
        raise InputError(f"{name!r} is a part of several names: {named}")
    waiting = next(
        (each for each in memory.list_proposals() if wanted in each.path.casefold()), None
    )
    if not fitting and waiting is not None:
        raise InputError(f"{waiting.path} waits: memorist memory inbox show {waiting.id}")
    if not fitting and _is_unknown_name(owner, path):
        raise InputError(
            f"no memory is called {name!r}{_suggest_near_names(owners, wanted)}; `memorist memory "
            "list` shows all, `memorist memory log` what was forgotten or replaced"
        )
    return fitting[0] if fitting else (owner, path)


def find_memory_folder_and_path(memory: AutoMemory, name: str) -> tuple[AutoMemory, str]:
    """The memory folder that has what a reader calls `name`, the project's before the user's own,
    and its path there. `everywhere/NAME` names only the latter. Raises InputError for such a name
    where nothing holds in every project.
    """
    everywhere = memory.everywhere
    if everywhere is None and name.startswith(EVERYWHERE_PREFIX):
        raise InputError(f"auto_memory.everywhere is off: {name} is not looked for")
    if everywhere is None:
        return memory, _find_path_by_name(memory, name)
    if name.startswith(EVERYWHERE_PREFIX):
        return everywhere, _find_path_by_name(everywhere, name.removeprefix(EVERYWHERE_PREFIX))
    path, there = _find_path_by_name(memory, name), _find_path_by_name(everywhere, name)
    if not has_memory(memory, path) and has_memory(everywhere, there):
        return everywhere, there
    return memory, path


def _find_path_by_name(memory: AutoMemory, name: str) -> str:
    """The path of the memory that a reader calls `name`: its path, with or without `.md`, or the
    name that it was given or the index shows, in any case of letters. The name itself where none or
    several fit.
    """
    heads = memory.headers()
    if any(head.path == name for head in heads):
        return name
    wanted = name.removesuffix(".md").casefold()
    plain = make_file_name(name)
    fitting = {
        head.path
        for head in heads
        if wanted in (head.path.removesuffix(".md").casefold(), head.name.casefold())
        or head.path == plain
    }
    if len(fitting) == 1:
        return fitting.pop()
    return memory.purge_journal.find_unfinished_path(name) or name


def has_memory(memory: AutoMemory, path: str) -> bool:
    """Whether there is a memory at this path, or one that is not wholly forgotten."""
    return any(head.path == path for head in memory.headers()) or any(
        each.path == path for each in memory.purge_journal.load()
    )


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

"""Which memory is meant by a typed name: a part of it is enough where one memory alone has it."""

from __future__ import annotations

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.removed_memories import find_removed_memory_by_name, list_removed_paths
from memorist.errors import InputError

MAX_NAMED = 8
"""Memories that a message lists by name: our choice, about two lines."""


def find_named_memory(memory: AutoMemory, name: str) -> tuple[AutoMemory, str]:
    """The folder and the path of the memory that is called `name`, or that alone has it in its path
    or its name; of a former one where none of those that are there has.

    Raises InputError where several have.
    """
    owner, path = memory.locate(name)
    if not name or owner.has(path) or find_removed_memory_by_name(owner, path) is not None:
        return owner, path
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
        named = ", ".join(path for _, path in fitting[:MAX_NAMED])
        more = f" and {len(fitting) - MAX_NAMED} more" if len(fitting) > MAX_NAMED else ""
        raise InputError(f"{name!r} is a part of several names: {named}{more}")
    return fitting[0] if fitting else (owner, path)

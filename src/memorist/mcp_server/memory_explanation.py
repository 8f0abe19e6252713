"""The tool `why`: where a memory comes from, how it changed and was used, and whether a message
recalls it; and the index as a resource.
"""

from __future__ import annotations

from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.memory_name_lookup import find_memory_folder_and_path
from memorist.auto_memory.team_memory import prefix_index_link
from memorist.mcp_server.opened_project import OpenedProject
from memorist.mcp_server.result_rendering import (
    render_memory_history,
    render_memory_origin,
    render_memory_recall_explanation,
    render_memory_uses,
    to_safe_line,
)
from memorist.mcp_server.tool_arguments import WhyArguments
from memorist.recall.memory_rendering import EVERYWHERE_HEADING, SAID_HEADING, group_index_by_origin
from memorist.recall.memory_selection import select_relevant_memories
from memorist.recall.reachable_memory import ReachableMemory
from memorist.store.memory_uses import list_uses_of_memory


def explain_memory(project: OpenedProject, arguments: WhyArguments) -> str:
    """Where a memory comes from, how it changed and was used; whether a given query recalls it.

    Raises InputError, StoreError.
    """
    memory, path = find_memory_folder_and_path(project.memory, arguments.path)
    memory.headers()
    topic, doubts = memory.read_memory_with_suspicions(path)
    shown_path = f"{'' if memory is project.memory else EVERYWHERE_PREFIX}{topic.path}"
    name = to_safe_line(shown_path)
    lines = [f"[memorist] {name}, as data: where it comes from.", *render_memory_origin(topic)]
    lines += [f"withheld from models: {doubt}" for doubt in doubts]
    lines += [
        "",
        "changes, newest first:",
        *render_memory_history(memory.folder.history.list_changes(topic.path, 10)),
    ]
    lines += [
        "",
        "shown and used, newest first:",
        *render_memory_uses(
            list_uses_of_memory(project.database(), str(memory.layout.folder), topic.path)
        ),
    ]
    if arguments.query.strip():
        heads = ReachableMemory(project.memory).headers()
        matches = project.search.search(arguments.query, 4 * project.settings.recall.limit)
        picks = select_relevant_memories(arguments.query, matches, heads, project.settings.recall)
        lines += [
            "",
            f"recalled for “{to_safe_line(arguments.query)}”: "
            f"{render_memory_recall_explanation(shown_path, matches, picks, doubts)}",
        ]
    return "\n".join(lines)


def render_index_grouped_by_origin(memory: AutoMemory) -> str:
    """The index with what the user said on top, then what holds in every project, whose paths begin
    with `everywhere/`; empty where there is neither.
    """
    groups = [
        group_index_by_origin(memory.visible_index().text, memory.headers_by_path(), SAID_HEADING)
    ]
    everywhere = memory.everywhere
    if everywhere is not None and everywhere.folder.exists:
        text = group_index_by_origin(
            everywhere.visible_index().text,
            everywhere.headers_by_path(),
            EVERYWHERE_HEADING.format(folder=EVERYWHERE_PREFIX),
        )
        groups += [prefix_index_link(line, EVERYWHERE_PREFIX) for line in text.splitlines()]
    return "\n".join(filter(None, groups))

"""The tool `status`: the project, what its memory holds, what waits, which sessions have notes."""

from __future__ import annotations

from memorist import __version__
from memorist.mcp_server.opened_project import OpenedProject
from memorist.mcp_server.project_sessions import RecordedProjectSession
from memorist.mcp_server.result_rendering import to_safe_line

MAX_LISTED_ENTRIES = 10
"""Sessions and waiting changes that the status lists."""


def render_project_status(project: OpenedProject) -> str:
    """The state of a project, as text. Raises StoreError."""
    memory = project.memory
    heads = memory.headers()
    withheld = len(heads) - len(memory.visible_headers())
    kinds = ", ".join(
        f"{count} {kind}"
        for kind in ("user", "feedback", "project", "reference")
        if (count := sum(h.kind == kind for h in heads))
    )
    waiting = memory.list_proposals()
    lines = [
        f"memorist {__version__}",
        f"project: {project.root}",
        f"memory folder: {memory.layout.folder}",
        f"memories: {len(heads)}"
        + (f" ({kinds})" if kinds else "")
        + (f", {withheld} of them withheld from models" if withheld else ""),
        f"writing: {memory.settings.policy}",
        f"waiting for the user: {len(waiting)}" + (" (memorist memory inbox)" if waiting else ""),
    ]
    # Not their names: one may hold a prompt injection.
    lines += [
        f"  {each.id}: {to_safe_line('; '.join(each.reasons))}"
        for each in waiting[-MAX_LISTED_ENTRIES:]
    ]
    with_notes = list_sessions_with_notes(project)
    lines.append(
        "sessions with notes, newest first:" if with_notes else "sessions with notes: none"
    )
    lines += [f"  {to_safe_line(each.id)}" for each in with_notes]
    return "\n".join(lines)


def list_sessions_with_notes(project: OpenedProject) -> list[RecordedProjectSession]:
    """The newest sessions that have notes. Raises StoreError."""
    found: list[RecordedProjectSession] = []
    for each in project.sessions.list_sessions():
        if len(found) == MAX_LISTED_ENTRIES:
            break
        if project.files.lstat(each.layout.notes) is not None:
            found.append(each)
    return found

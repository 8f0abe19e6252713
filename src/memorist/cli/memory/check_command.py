"""`memorist memory check`."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from memorist.auto_memory.anchors import render_anchor_changes
from memorist.auto_memory.auto_memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.memory_lint import load_and_lint_memories
from memorist.auto_memory.memory_name_lookup import find_named_memory
from memorist.auto_memory.moved_projects import (
    describe_memory_of_moved_project,
    find_possible_former_projects,
)
from memorist.auto_memory.stale_memories import (
    MemoryWithChangedAnchors,
    confirm_memories_still_hold,
    find_memories_with_changed_anchors,
)
from memorist.cli import output
from memorist.cli.memory.project_memory_access import open_project_memory
from memorist.errors import InputError
from memorist.store.disk_files import DiskFiles


@click.command("check")
@click.option(
    "--accept",
    "accepted",
    multiple=True,
    metavar="NAME",
    help="This memory still holds as the project is now. Repeatable; all takes every one.",
)
@output.JSON_OPTION
def memory_check_command(accepted: tuple[str, ...], as_json: bool) -> None:
    """Look for what is wrong, and for memories of files and commands that changed since.

    Wrong are broken headers, dead pointers, repeats, secrets, planted orders, unread files. Exit
    status 1 when there is anything. A changed file only means that somebody should look.

    Example: memorist memory check
    """
    with open_project_memory() as (home, memory):
        if accepted:
            _accept_stale(memory, accepted)
        topics, problems = load_and_lint_memories(memory)
        stale = find_memories_with_changed_anchors(memory)
        moved = (
            find_possible_former_projects(DiskFiles(), home.layout, str(Path.cwd()))
            if not topics
            else []
        )
    if as_json:
        output.print_json(
            {
                "folder": str(memory.layout.folder),
                "memories": len(topics),
                "problems": problems,
                "stale": [_render_stale(each) for each in stale],
                "moved": [each.root for each in moved],
            }
        )
    else:
        for problem in problems:
            click.echo(f"{problem.path or memory.layout.folder}: {problem.what}\n  {problem.cure}")
        for old in stale:
            changes = render_anchor_changes(old.changes, old.since)
            click.echo(
                f"{old.path}: {output.make_terminal_safe_line(changes)}\n"
                f"  still true? memorist memory check --accept {shlex.quote(old.path)}; "
                "else edit or forget it"
            )
        for each in moved:
            click.echo(describe_memory_of_moved_project(each, home.layout, str(Path.cwd())))
        if not (problems or stale):
            click.echo(f"{len(topics)} memories in {memory.layout.folder}: nothing is wrong")
    if problems or stale:
        sys.exit(1)


def _accept_stale(memory: AutoMemory, names: Sequence[str]) -> None:
    """Take the anchors of these memories anew. Raises InputError."""
    if "all" in names:
        paths = [each.path for each in find_memories_with_changed_anchors(memory)]
    else:
        paths = [_find_own_memory(memory, name) for name in names]
    confirm_memories_still_hold(memory, paths, time.time())


def _find_own_memory(memory: AutoMemory, name: str) -> str:
    owner, path = find_named_memory(memory, name)
    if owner is not memory:
        raise InputError(
            f"{EVERYWHERE_PREFIX}{path} holds in every project, and is not compared with the files "
            "of this one"
        )
    return path


def _render_stale(stale: MemoryWithChangedAnchors) -> dict[str, object]:
    return {
        "path": stale.path,
        "since": stale.since,
        "changed": stale.changes.changed,
        "gone": stale.changes.missing,
        "moved": dict(stale.changes.moved),
    }

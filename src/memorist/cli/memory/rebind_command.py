"""`memorist memory rebind`: what is known of a project follows it to its new folder."""

from __future__ import annotations

import os
from pathlib import Path

import click

from memorist.auto_memory.memory_location import locate_project_root
from memorist.auto_memory.moved_projects import rebind_memory
from memorist.cli import output
from memorist.cli.memory.project_memory_access import confirm_or_abort, open_project_memory
from memorist.core.plural import pluralize
from memorist.engine.rollout_store import open_rollout_store
from memorist.errors import NothingToDo
from memorist.platforms.user_home import expand_user
from memorist.store.rollout_rows import has_project_rollouts, reassign_rollouts
from memorist.store.session_rows import reassign_sessions
from memorist.system import SystemClock


@click.command("rebind")
@click.argument("old")
@output.YES_OPTION
def memory_rebind_command(old: str, yes: bool) -> None:
    """Give what is known of a project that was at OLD to the one in this folder, after it was moved
    or renamed: its memory and its past sessions. Memories that were made here since stay.

    Example: memorist memory rebind /old/place
    """
    source = str(Path(os.path.normpath(Path.cwd() / expand_user(old))))
    root = str(locate_project_root(Path.cwd()))
    with open_project_memory() as (home, memory):
        if memory.layout.chosen:
            raise NothingToDo(
                "the memory folder is set by auto_memory.directory, and does not depend on "
                "where the repository is"
            )
        confirm_or_abort(f"Take over what is known of {source} for {root}?", yes=yes)
        with open_rollout_store(home.settings) as past:
            past.require_saved_state()
            target = rebind_memory(
                home.layout,
                source,
                root,
                clock=SystemClock(),
                settings=home.settings.auto_memory,
                has_sessions=has_project_rollouts(past.state, source),
            )
            # What another project in that place recorded since stays its own.
            is_free = not Path(source).exists() or Path(source).is_relative_to(root)
            sessions = reassign_rollouts(past.state, source, root) if is_free else 0
        if is_free:
            reassign_sessions(home.database(), source, root)
        memories = len(memory.headers())
    click.echo(
        f"{pluralize(memories, 'memory', 'memories')} and {pluralize(sessions, 'past session')} "
        f"are now known of {root}, in {target.folder}"
    )

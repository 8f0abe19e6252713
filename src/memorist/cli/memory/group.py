"""The group `memorist memory`."""

from __future__ import annotations

import click

from memorist.cli.memory.exchange import export_command, import_command
from memorist.cli.memory.files import (
    add_command,
    check_command,
    edit_command,
    forget_command,
    list_command,
    rebind_command,
    search_command,
    show_command,
)
from memorist.cli.memory.history import blame_command, diff_command, log_command, undo_command, why_command
from memorist.cli.memory.inbox import inbox_group


@click.group("memory")
def memory_group() -> None:
    """The memories of the project in the working folder: plain files that you may read, change, undo and forget."""


for command in (
    list_command,
    show_command,
    search_command,
    add_command,
    edit_command,
    forget_command,
    inbox_group,
    check_command,
    log_command,
    diff_command,
    undo_command,
    blame_command,
    why_command,
    rebind_command,
    import_command,
    export_command,
):
    memory_group.add_command(command)

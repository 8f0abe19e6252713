"""The group `memorist memory`."""

from __future__ import annotations

import click

from memorist.cli.command_group import LazyCommandGroup
from memorist.cli.memory.history_commands import (
    memory_blame_command,
    memory_diff_command,
    memory_log_command,
    memory_undo_command,
    memory_why_command,
)
from memorist.cli.memory.inbox_commands import memory_inbox_group
from memorist.cli.memory.memory_commands import (
    memory_add_command,
    memory_check_command,
    memory_edit_command,
    memory_forget_command,
    memory_list_command,
    memory_move_command,
    memory_mute_command,
    memory_search_command,
    memory_show_command,
)
from memorist.cli.memory.rebind_command import memory_rebind_command
from memorist.cli.memory.transfer_commands import memory_export_command, memory_import_command


@click.group("memory", cls=LazyCommandGroup)
def memory_group() -> None:
    """The memories of the project in the working folder: plain files that you may read, change,
    undo and forget.
    """


for command in (
    memory_list_command,
    memory_show_command,
    memory_search_command,
    memory_add_command,
    memory_edit_command,
    memory_mute_command,
    memory_move_command,
    memory_forget_command,
    memory_inbox_group,
    memory_check_command,
    memory_log_command,
    memory_diff_command,
    memory_undo_command,
    memory_blame_command,
    memory_why_command,
    memory_rebind_command,
    memory_import_command,
    memory_export_command,
):
    memory_group.add_command(command)

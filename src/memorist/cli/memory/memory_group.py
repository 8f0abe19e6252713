"""The group `memorist memory`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import click

from memorist.cli.command_group import LazyCommandGroup


class MemoryCommands(LazyCommandGroup):
    """All commands of `memorist memory`, loaded on demand."""

    command_paths: ClassVar[Mapping[str, str]] = {
        "add": "memorist.cli.memory.memory_commands:memory_add_command",
        "blame": "memorist.cli.memory.history_commands:memory_blame_command",
        "check": "memorist.cli.memory.check_command:memory_check_command",
        "diff": "memorist.cli.memory.history_commands:memory_diff_command",
        "edit": "memorist.cli.memory.memory_commands:memory_edit_command",
        "export": "memorist.cli.memory.transfer_commands:memory_export_command",
        "forget": "memorist.cli.memory.forget_command:memory_forget_command",
        "import": "memorist.cli.memory.transfer_commands:memory_import_command",
        "inbox": "memorist.cli.memory.inbox_commands:memory_inbox_group",
        "list": "memorist.cli.memory.memory_commands:memory_list_command",
        "log": "memorist.cli.memory.history_commands:memory_log_command",
        "move": "memorist.cli.memory.memory_commands:memory_move_command",
        "mute": "memorist.cli.memory.memory_commands:memory_mute_command",
        "rebind": "memorist.cli.memory.rebind_command:memory_rebind_command",
        "search": "memorist.cli.memory.memory_search_command:memory_search_command",
        "show": "memorist.cli.memory.memory_commands:memory_show_command",
        "undo": "memorist.cli.memory.history_commands:memory_undo_command",
        "why": "memorist.cli.memory.why_command:memory_why_command",
    }


@click.group("memory", cls=MemoryCommands)
def memory_group() -> None:
    """The memories of the project in the working folder: plain files that you may read, change,
    undo and forget.
    """

"""A click group that imports its commands on demand, so that no command waits for the imports of
another.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import ClassVar

import click


class Commands(click.Group):
    """Subclasses map each command name to `module:object` in `command_paths`."""

    homes: ClassVar[Mapping[str, str]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All command names, sorted."""
        return sorted({*super().list_commands(ctx), *self.homes})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name; None if there is none."""
        home = self.homes.get(cmd_name)
        if home is None:
            return super().get_command(ctx, cmd_name)
        module, _, name = home.partition(":")
        found = getattr(import_module(module), name)
        return found if isinstance(found, click.Command) else None

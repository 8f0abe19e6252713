"""A group whose commands are loaded when they are asked for: no command waits for what another one needs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import ClassVar

import click


class Commands(click.Group):
    """Subclasses say in `homes` where each command is: its name to `module:object`."""

    homes: ClassVar[Mapping[str, str]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, sorted."""
        return sorted({*super().list_commands(ctx), *self.homes})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, loaded now; None when there is none."""
        home = self.homes.get(cmd_name)
        if home is None:
            return super().get_command(ctx, cmd_name)
        module, _, name = home.partition(":")
        found = getattr(import_module(module), name)
        return found if isinstance(found, click.Command) else None

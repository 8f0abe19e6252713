"""What the commands that start a server share: the type of a port and the extra that they need."""

from __future__ import annotations

import importlib
from types import ModuleType

import click

from memorist.errors import UsageError
from memorist.platforms.extra_installation import build_extra_install_command

PORT_TYPE = click.IntRange(0, 65_535)


def import_module_of_extra(name: str, extra: str) -> ModuleType:
    """Import a module of memorist that needs an extra. Raises UsageError where that is not
    installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("memorist"):
            raise
        raise UsageError(describe_how_to_install_extra(extra)) from error


def describe_how_to_install_extra(extra: str) -> str:
    """What to install for a command that needs an extra."""
    return f"this command needs the extra `{extra}`: {build_extra_install_command(extra)}"

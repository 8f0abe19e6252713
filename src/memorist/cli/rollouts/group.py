"""The group `memorist rollouts`, and what its commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, TypeVar

import click
from msgspec.structs import replace

from memorist.cli.commands import Commands
from memorist.configuration import load_settings
from memorist.engine.past_state import PastState, past_state
from memorist.settings import Settings

T = TypeVar("T")


class RolloutsCommands(Commands):
    """All commands of `memorist rollouts`, loaded on demand."""

    homes: ClassVar[dict[str, str]] = {
        "sync": "memorist.cli.rollouts.sync:sync",
        "status": "memorist.cli.rollouts.state:status",
        "retry": "memorist.cli.rollouts.state:retry_command",
        "reset": "memorist.cli.rollouts.state:reset_command",
        "show": "memorist.cli.rollouts.state:show_command",
        "leave-out": "memorist.cli.rollouts.state:leave_out",
        "note": "memorist.cli.rollouts.note:note",
    }


@click.group(name="rollouts", cls=RolloutsCommands)
def rollouts_group() -> None:
    """Past sessions as memory: what was found, extracted and consolidated, and what was not and why."""


def settings_of(model: str | None = None) -> Settings:
    """The settings, with another model for both stages if one is given."""
    found = load_settings(os.environ, project=Path.cwd()).settings
    if model is None:
        return found
    return replace(found, model=model, rollouts=replace(found.rollouts, model="", consolidation_model=""))


def looked(work: Callable[[PastState], T]) -> T:
    """Run `work` with the state of past sessions, without importing the two stages, which
    is slow.
    """
    with past_state(settings_of()) as past:
        return work(past)

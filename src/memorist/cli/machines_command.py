"""`memorist machines`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_location import list_projects_with_memory, locate_project_root
from memorist.cli.command_group import LazyCommandGroup
from memorist.cli.memory.project_memory_access import open_project_memory
from memorist.core.plural import pluralize
from memorist.errors import UsageError
from memorist.machines.machine_identity import create_machine_identity
from memorist.machines.machine_remote import draw_random_bytes
from memorist.machines.machine_sync import (
    EVERY_PROJECT,
    build_cross_machine_project_key,
    sync_machines,
)
from memorist.machines.snapshot_cipher import KEY_BYTES, encode_machine_key
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout


@click.group("machines", cls=LazyCommandGroup)
def machines_group() -> None:
    """Your own machines: one memory on all of them, by a folder that some program keeps alike or a
    private Git remote. What leaves a machine is encrypted.

    Example: memorist machines init git:git@example.com:me/memory.git
    """


@machines_group.command("init")
@click.argument("location", metavar="LOCATION")
def machines_init_command(location: str) -> None:
    """Begin at LOCATION: a folder, or git:URL of a private remote. Shows the key for the others.

    Example: memorist machines init ~/Sync/memorist
    """
    with open_project_memory() as (home, _):
        own = create_machine_identity(
            home.layout, location, encode_machine_key(draw_random_bytes(KEY_BYTES))
        )
    click.echo(f"key: {own.key}")
    click.echo(f"on each other machine: memorist machines join {location}")
    click.echo("Whoever has the key can read all; without it what is there cannot be read.")


@machines_group.command("join")
@click.argument("location", metavar="LOCATION")
@click.option(
    "--key", default="", help="As `init` showed it. [default: asked, or read from a pipe]"
)
def machines_join_command(location: str, key: str) -> None:
    """Join the machines that share LOCATION, and take in what is there.

    Example: memorist machines join ~/Sync/memorist
    """
    if not key:
        terminal = sys.stdin.isatty()
        key = click.prompt("Key", hide_input=True) if terminal else sys.stdin.readline()
    if not key.strip():
        raise UsageError("no key was given: pass --key, as `memorist machines init` showed it")
    with open_project_memory() as (home, _):
        create_machine_identity(home.layout, location, key.strip(), joins=True)
    _sync()


@machines_group.command("sync")
def machines_sync_command() -> None:
    """Take in what your other machines changed, and give them what was changed here.

    Example: memorist machines sync
    """
    _sync()


def _sync() -> None:
    with open_memories_of_all_projects() as (layout, memories):
        report = sync_machines(layout, memories)
    for name, paths in report.received.items():
        for path in paths:
            click.echo(f"{name}: {path}")
    for trouble in report.troubles:
        click.echo(trouble, err=True)
    projects = pluralize(len(memories.keys() - {EVERY_PROJECT}), "project")
    click.echo(f"{projects} in line with {pluralize(report.machines, 'other machine')}")


@contextmanager
def open_memories_of_all_projects() -> Iterator[tuple[Layout, dict[str, list[AutoMemory]]]]:
    """The memories of this folder's project and of all others that are still in their place, those
    of its clones by what a project is called on every machine.
    """
    own = locate_project_root(Path.cwd())
    with ExitStack() as stack:
        home, memory = stack.enter_context(open_project_memory())
        known = [Path(each.root) for each in list_projects_with_memory(DiskFiles(), home.layout)]
        named: dict[str, list[AutoMemory]] = {}
        for root in dict.fromkeys((own, *filter(Path.is_dir, known))):
            clone = memory if root == own else home.memory(str(root))
            named.setdefault(build_cross_machine_project_key(root), []).append(clone)
        if memory.everywhere is not None:
            named[EVERY_PROJECT] = [memory.everywhere]
        yield home.layout, named

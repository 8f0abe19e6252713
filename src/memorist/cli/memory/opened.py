"""Open the project's memory for one command, and report its changes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from msgspec.structs import replace

from memorist.auto_memory.run import AutoMemory, Written
from memorist.configuration import load_settings
from memorist.engine.memorist import Memorist


@contextmanager
def opened(directory: Path | None = None, project: Path | None = None) -> Iterator[tuple[Memorist, AutoMemory]]:
    """Open the engine and a memory: of a project's folder (by default the working folder), or the
    named memory folder.
    """
    settings = load_settings(os.environ, project=Path.cwd()).settings
    if directory is not None:
        settings = replace(settings, auto_memory=replace(settings.auto_memory, directory=str(directory.expanduser().absolute())))
    engine = Memorist(settings=settings, model="structural")
    try:
        yield engine, engine.memory(str(project or Path.cwd()))
    finally:
        asyncio.run(engine.close())


def told(written: Written, done: str) -> None:
    """Print the result of a change; exit status 1 if all of it was refused."""
    for path in written.paths:
        click.echo(f"{done}: {path}")
    for remark in written.remarks:
        click.echo(f"  {remark}")
    for waiting in written.waiting:
        click.echo(f"waits in the inbox as {waiting.id}: {waiting.path} ({'; '.join(waiting.reasons)})")
    for refused in written.refused:
        click.echo(f"memorist: {refused.path} was refused: {'; '.join(refused.reasons)}", err=True)
    if not written.paths and not written.waiting:
        if not written.refused:
            click.echo("nothing changed")
        else:
            sys.exit(1)


def sure(question: str, *, yes: bool) -> None:
    """Ask on a terminal; elsewhere `--yes` is required. Aborts the command if the answer is no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("this changes memory; say --yes where there is no terminal")
    click.confirm(question, abort=True)

"""`memorist rollouts note`."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from memorist.cli.rollouts.group import settings_of
from memorist.clock import SystemClock
from memorist.rollouts.folder.run import take_note
from memorist.rollouts.handbook import EVERYWHERE
from memorist.rollouts.sources.run import repository
from memorist.store.files import DiskFiles
from memorist.store.layout import Layout


@click.command("note")
@click.argument("text")
@click.option("--here", is_flag=True, help="It holds for this project only. [default: everywhere]")
def note(text: str, here: bool) -> None:
    """Note something for later sessions: shown at once, merged at the next consolidation."""
    if not text.strip():
        raise click.UsageError("the note is empty; say what is to be noted")
    place = repository(str(Path.cwd())) if here else EVERYWHERE
    folder = Layout(Path(settings_of().home).expanduser().absolute()).rollouts
    now = datetime.fromtimestamp(SystemClock().now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    click.echo(f"noted in {take_note(DiskFiles(), folder, text, now=now, place=place)}")

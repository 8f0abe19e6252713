"""`memorist config`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from memorist.cli import show
from memorist.cli.flagged import look
from memorist.configuration import load_settings
from memorist.settings import flat, with_flags
from memorist.store.opening import shown


@click.group()
def config() -> None:
    """The settings: see them and where each value comes from."""


@config.command("show")
@click.option("--source", is_flag=True, help="Say where each value comes from.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def show_settings(source: bool, as_json: bool) -> None:
    """Show every setting and its value, with the flags of the file that `flags.file` names."""
    configured = load_settings(os.environ, project=Path.cwd())
    flags = look(configured.settings)
    resolved = with_flags(configured, flags.values)
    ignored = [*resolved.ignored, *([flags.trouble] if flags.trouble else [])]
    values = flat(resolved.settings) | {"state": shown(resolved.settings.state)}
    sources = {key: resolved.sources.get(key, "default") for key in values}
    if as_json:
        show.json({"settings": values, "sources": sources, "ignored": ignored})
        return
    width = max(map(len, values))
    for key, value in values.items():
        click.echo(f"{key:<{width}}  {value!r}" + (f"  ({sources[key]})" if source else ""))
    for line in ignored:
        click.echo(f"ignored: {line}", err=True)

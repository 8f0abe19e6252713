"""`memorist config`."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import Struct

from memorist.cli import output
from memorist.cli.command_environment import read_environment
from memorist.config import load_settings
from memorist.errors import UsageError
from memorist.flags.flag_file import open_flags_file
from memorist.flags.flag_lookup import Flags
from memorist.flags.flag_overrides import apply_all_flags
from memorist.settings import Settings, flatten_settings
from memorist.store.state_database import redact_password

# Read the feature flags of the flags file, for commands that show settings.


FLAGS_WAIT_SECONDS = 2.0
"""Longest wait for the file, which may be on a disk that does not answer. Our choice."""


class FlagValues(Struct, frozen=True):
    """The flags that were read; `trouble` is one sentence if not all are known, else empty."""

    values: dict[str, object]
    trouble: str = ""


def read_flag_values(settings: Settings) -> FlagValues:
    """Read the flags of the file. Raises SettingsError for a path that cannot be one."""
    flags = Flags(open_flags_file(settings.flags))
    try:
        if not flags.wait(FLAGS_WAIT_SECONDS):
            return FlagValues(
                {},
                f"the flags file {settings.flags.file} did not answer within "
                f"{FLAGS_WAIT_SECONDS:g} seconds",
            )
        return FlagValues(dict(flags.values()), flags.last_error)
    finally:
        flags.close()


@click.group()
def config_group() -> None:
    """The settings: see them and where each value comes from."""


@config_group.command("show")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--source", is_flag=True, help="Say where each value comes from.")
@output.JSON_OPTION
def config_show_command(names: tuple[str, ...], source: bool, as_json: bool) -> None:
    """Show every setting and its value, with the flags of the file that `flags.file` names. NAME
    shows one, or all below it.

    Example: memorist config show session_memory
    """
    configured = load_settings(read_environment(), project=Path.cwd())
    flags = read_flag_values(configured.settings)
    resolved = apply_all_flags(configured, flags.values)
    ignored = [*resolved.ignored, *([flags.trouble] if flags.trouble else [])]
    values = flatten_settings(resolved.settings) | {
        "state": redact_password(resolved.settings.state),
        "shared_sessions": redact_password(resolved.settings.shared_sessions),
    }
    values = _select_settings(values, names)
    sources = {key: resolved.sources.get(key, "default") for key in values}
    if as_json:
        output.print_json(
            {
                "settings": values,
                "sources": sources,
                "ignored": ignored,
                "notes": list(resolved.notes),
            }
        )
        return
    width = max(map(len, values))
    for key, value in values.items():
        click.echo(f"{key:<{width}}  {value!r}" + (f"  ({sources[key]})" if source else ""))
    for line in ignored:
        click.echo(f"ignored: {line}", err=True)
    for line in resolved.notes:
        click.echo(f"note: {line}", err=True)


def _select_settings(values: dict[str, object], names: tuple[str, ...]) -> dict[str, object]:
    """The settings of these names and those below them; all without a name."""
    for name in names:
        if not any(_is_below(key, name) for key in values):
            raise UsageError(f"there is no setting {name!r}; `memorist config show` lists them")
    return {
        key: value
        for key, value in values.items()
        if not names or any(_is_below(key, name) for name in names)
    }


def _is_below(key: str, name: str) -> bool:
    return key == name or key.startswith(f"{name}.")

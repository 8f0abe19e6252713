"""`memorist config`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

import click
from msgspec import Struct

from memorist.cli import output
from memorist.cli.command_environment import read_environment
from memorist.cli.command_group import LazyCommandGroup
from memorist.config import (
    MAX_SETTINGS_BYTES,
    PROJECT_FILE,
    build_user_settings_path,
    find_project_file,
    load_settings,
)
from memorist.errors import InputError, SettingsError, WriteConflict
from memorist.flags.flag_file import create_flag_source_from_settings
from memorist.flags.flag_lookup import Flags
from memorist.flags.flag_overrides import apply_all_flags
from memorist.platforms.regular_files import read_regular_file
from memorist.platforms.storage_errors import describe_storage_error
from memorist.rollouts.session_sources import find_repository_root_or_folder
from memorist.setting_names import describe_unknown_setting
from memorist.settings import (
    ALL_SETTINGS_HINT,
    Settings,
    flatten_settings,
    read_environment_layer,
    resolve_settings,
)
from memorist.settings_file import (
    format_setting_value,
    is_allowed_in_project_file,
    parse_setting,
    remove_setting_from_text,
    require_setting_name,
    set_setting_in_text,
)
from memorist.store.disk_files import DiskFiles
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
    flags = Flags(create_flag_source_from_settings(settings.flags))
    try:
        if not flags.wait_for_lookup(FLAGS_WAIT_SECONDS):
            return FlagValues(
                {},
                f"the flags file {settings.flags.file} did not answer within "
                f"{FLAGS_WAIT_SECONDS:g} seconds",
            )
        return FlagValues(dict(flags.values()), flags.last_error)
    finally:
        flags.close()


_PROJECT_OPTION = click.option(
    "--project", "of_project", is_flag=True, help="In the project's file instead of your own."
)


@click.group("config", cls=LazyCommandGroup)
def config_group() -> None:
    """The settings: see and change them, and where each value comes from."""


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
    sources = {key: _find_source(resolved.sources, key) for key in values}
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
        click.echo(
            f"{key:<{width}}  {format_setting_value(value)}"
            + (f"  ({sources[key]})" if source else "")
        )
    for line in ignored:
        click.echo(f"ignored: {line}", err=True)
    for line in resolved.notes:
        click.echo(f"note: {line}", err=True)


@config_group.command("set", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("value")
@_PROJECT_OPTION
def config_set_command(name: str, value: str, of_project: bool) -> None:
    """Write the setting NAME into your settings file. Comments and other lines stay.

    Example: memorist config set session_memory.growth_tokens 8000
    """
    parsed = parse_setting(name, value)
    path = _settings_path(name, of_project=of_project)
    _edit_file(path, lambda text: set_setting_in_text(text, name, parsed))
    click.echo(f"{name} = {format_setting_value(parsed)} in {path}")
    _report_override(name, path)


@config_group.command("unset")
@click.argument("name")
@_PROJECT_OPTION
def config_unset_command(name: str, of_project: bool) -> None:
    """Take the setting NAME out of your settings file, so that it has its default again.

    Example: memorist config unset session_memory.growth_tokens
    """
    require_setting_name(name)
    path = _settings_path(name, of_project=of_project)
    changed = _edit_file(path, lambda text: remove_setting_from_text(text, name))
    click.echo(f"{name} is taken out of {path}" if changed else f"{path} does not set {name}")
    _report_override(name, path)


def _settings_path(name: str, *, of_project: bool) -> Path:
    """The user's settings file, or with `of_project` that of the project."""
    from_environment = resolve_settings([read_environment_layer(read_environment())]).settings
    own = build_user_settings_path(from_environment.home)
    if not of_project:
        return own
    if not is_allowed_in_project_file(name):
        raise SettingsError(
            f"a project's file may not set {name}: a repository that you cloned must not choose it"
        )
    root = Path(find_repository_root_or_folder(str(Path.cwd())))
    return find_project_file(Path.cwd(), own) or root / PROJECT_FILE


def _edit_file(path: Path, edit: Callable[[str], str]) -> bool:
    """Write the edited text; False if nothing changes. A change that another command wrote
    meanwhile is edited in turn. Raises InputError that names the file, StoreError.
    """
    while True:
        with contextlib.suppress(WriteConflict):
            return _edit_file_once(path, edit)


def _edit_file_once(path: Path, edit: Callable[[str], str]) -> bool:
    path = path.resolve()  # a link to a file among one's other settings stays one
    try:
        before = read_regular_file(path, MAX_SETTINGS_BYTES)
    except FileNotFoundError:
        before = b""
    except OSError as error:
        why = describe_storage_error(error)
        raise InputError(f"the settings file {path} cannot be read: {why}") from error
    try:
        edited = edit(before.decode("utf-8")).encode()
    except (InputError, UnicodeDecodeError) as error:
        raise InputError(f"the settings file {path}: {error}") from error
    if edited == before:
        return False
    files = DiskFiles()
    if before or not files.create(path, edited):
        files.write(path, edited, expect=before)
    return True


def _report_override(name: str, path: Path) -> None:
    """Say which other source the value comes from, where one goes before the file."""
    try:
        resolved = load_settings(read_environment(), project=Path.cwd())
    except SettingsError as error:
        click.echo(f"note: not in force yet: {error}", err=True)
        return
    source = resolved.sources.get(name, "")
    if source and source != str(path):
        value = flatten_settings(resolved.settings)[name]
        click.echo(
            f"note: here it is {format_setting_value(value)}, from {source}, which goes before",
            err=True,
        )


def _find_source(sources: Mapping[str, str], key: str) -> str:
    """Where a value comes from; for a table, such as prices, the source of its first entry."""
    inner = (source for name, source in sources.items() if _is_below(name, key))
    return next(inner, "default")


def _select_settings(values: dict[str, object], names: tuple[str, ...]) -> dict[str, object]:
    """The settings of these names and those below them; all without a name."""
    for name in names:
        if not any(_is_below(key, name) for key in values):
            raise SettingsError(f"{describe_unknown_setting(Settings, name)}; {ALL_SETTINGS_HINT}")
    return {
        key: value
        for key, value in values.items()
        if not names or any(_is_below(key, name) for name in names)
    }


def _is_below(key: str, name: str) -> bool:
    return key == name or key.startswith(f"{name}.")

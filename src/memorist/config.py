"""Loading settings files: the user's in the home folder, the project's in `.memorist/config.toml`.

The project's file is that of the folder itself, otherwise of the nearest folder above it up to the
root of the checkout. The user's own file never counts as a project's, even when the user works in
the home folder.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from memorist.errors import SettingsError
from memorist.models.own_network_servers import is_model_on_own_network
from memorist.platforms.regular_files import read_regular_text_file
from memorist.platforms.storage_errors import describe_storage_error
from memorist.platforms.user_home import expand_user, explain_unknown_home
from memorist.settings import (
    PROJECT_SECTIONS,
    ResolvedSettings,
    Settings,
    SettingsLayer,
    read_environment_layer,
    resolve_settings,
)
from memorist.store.home_layout import Layout

PROJECT_FILE = Path(".memorist") / "config.toml"


MAX_SETTINGS_BYTES = 1_000_000
"""Largest settings file. Our choice: a thousand times what all settings take."""
OFF_VARIABLE = "MEMORIST_OFF"


def is_disabled_by_environment(environment: Mapping[str, str]) -> bool:
    """Whether `MEMORIST_OFF` asks for sessions without memory: any text but `0`."""
    return environment.get(OFF_VARIABLE, "") not in ("", "0")


def resolve_off_folders(settings: Settings) -> tuple[Path, ...]:
    """The folders of `hooks.off_folders`, links resolved."""
    return tuple(Path(expand_user(each)).resolve() for each in settings.hooks.off_folders)


def is_in_off_folder(folder: str | Path, off_folders: Sequence[Path]) -> bool:
    """Whether the user wants no memory of sessions in this folder: it is one of these, or below."""
    if not off_folders:
        return False
    path = Path(folder).resolve()
    return any(path.is_relative_to(each) for each in off_folders)


CI_VARIABLE = "CI"
"""What GitHub Actions, GitLab, CircleCI, Travis and others set in every job."""
CI_DEFAULTS = SettingsLayer(
    "default in a CI job (CI is set)",
    {"hooks": {"idle_seconds": 60.0, "session_idle_seconds": 60.0}},
)
"""A job is over when its last client is: nobody comes back within half an hour. Our choice."""


def is_ci_job(environment: Mapping[str, str]) -> bool:
    """Whether this is a CI job, where nobody continues a session later."""
    return environment.get(CI_VARIABLE, "").casefold() not in ("", "0", "false", "no")


NEAR_MODEL_DEFAULTS = SettingsLayer(
    "default of a model on this machine",
    {"forks": {"seconds": 600.0}, "models": {"timeout_seconds": 600.0}, "rollouts": {"running": 1}},
)
"""A model of 1.5 billion parameters on one core read 3,300 tokens and wrote 600 in four
minutes; two requests at once took more than twice that, as its server answers one at a time.
"""


def load_settings(
    environment: Mapping[str, str],
    *,
    home: Path | None = None,
    project: Path | None = None,
    caller: dict[str, Any] | None = None,
) -> ResolvedSettings:
    """The effective settings: defaults, user's file, project's file, environment, caller; later
    ones win.

    A model on this machine or its network has defaults of its own (`NEAR_MODEL_DEFAULTS`), and once
    it has answered those that suit its speed; so has a CI job (`CI_DEFAULTS`). The home folder
    itself comes from the caller, the environment, or the default. Raises SettingsError for invalid
    TOML, an unknown key or a bad value.
    """
    from_environment = read_environment_layer(environment)
    from_caller = SettingsLayer("caller", dict(caller or {}))
    if home is not None:
        from_caller.values["home"] = str(home)
    where = resolve_settings([from_environment, from_caller]).settings.home
    own = build_user_settings_path(where)
    layers = [_read_layer(own, project=False)]
    if project is not None and (of_project := find_project_file(project, own)) is not None:
        layers.append(_read_layer(of_project, project=True))
    defaults = [CI_DEFAULTS] if is_ci_job(environment) else []
    given = [*defaults, *(layer for layer in layers if layer), from_environment, from_caller]
    resolved = resolve_settings(given)
    if is_model_on_own_network(resolved.settings.rollouts.model or resolved.settings.model):
        return resolve_settings([NEAR_MODEL_DEFAULTS, *_speed_layers(resolved.settings), *given])
    return resolved


def build_user_settings_path(home: str) -> Path:
    """The user's settings file in a home. Raises SettingsError where the user has none, and for a
    name that is blank or no UTF-8, which no database of ours can hold.
    """
    if home.startswith("~") and (why := explain_unknown_home()):
        raise SettingsError(why)
    path = Path(home).expanduser() / "config.toml"
    try:
        str(path).encode()
    except UnicodeEncodeError:
        home = ""
    if not home.strip():
        raise SettingsError(
            f"the home folder {str(path.parent)!a} has a name that is blank or not valid UTF-8; "
            f"set MEMORIST_HOME to another folder"
        )
    return path


def _speed_layers(settings: Settings) -> list[SettingsLayer]:
    """What the measured speed of a model on this machine suggests; none before it has answered."""
    if not is_model_on_own_network(settings.model):
        return []
    # Only here: most starts have no such model, and wait for every module.
    module = import_module("memorist.budget.model_speed")
    speed = module.compute_speed_from_receipts(
        Layout.from_setting(settings.home).database, settings.model
    )
    if speed is None:
        return []
    name = (
        f"measured: the model reads {speed.read:,.0f} and writes {speed.written:,.1f} "
        f"tokens a second"
    )
    return [SettingsLayer(name, module.derive_settings_from_speed(speed))]


def find_project_file(folder: Path, user_file: Path) -> Path | None:
    """The settings file of the project that contains the folder; None when there is none.
    `user_file` is the user's own.
    """
    above = (folder, *folder.parents)
    root = next((at for at, each in enumerate(above) if _file_identity(each / ".git")), 0)
    files = (each / PROJECT_FILE for each in above[: root + 1])
    return next(
        (file for file in files if _file_identity(file) not in (None, _file_identity(user_file))),
        None,
    )


def _file_identity(path: Path) -> tuple[int, int] | None:
    """Device and inode, which identify a file; None when it cannot be read."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def apply_project_settings(
    settings: Settings, environment: Mapping[str, str], project: str
) -> Settings:
    """The settings overlaid with those of the project's file, for a session in that project; a
    relative project path has none.

    Raises SettingsError as `load_settings` does.
    """
    folder = Path(project)
    if not folder.is_absolute():
        return settings
    found = load_settings(environment, home=Path(settings.home), project=folder).settings
    return replace(settings, **{part: getattr(found, part) for part in PROJECT_SECTIONS})


def check_settings_isolate_tenants(settings: Settings) -> Settings:
    """Return settings that all tenants may share. Raises SettingsError for those that would make
    tenants share data.
    """
    if settings.state != "sqlite":
        raise SettingsError(
            'tenants would share past sessions in one state database; set state = "sqlite", or '
            "another one in each tenant's config.toml"
        )
    if settings.auto_memory.directory:
        raise SettingsError(
            "tenants cannot share auto_memory.directory; leave it out, or set another one in "
            "each tenant's config.toml"
        )
    return settings


def overlay_tenant_settings(shared: Settings, home: Path) -> Settings:
    """The settings of one tenant's home: its own file overrides the shared settings.

    The user's folders are looked up inside the home, and no model reads outside of it. Raises
    SettingsError as `load_settings` does.
    """
    own = _read_layer(home / "config.toml", project=False)
    found = (
        shared
        if own is None
        else resolve_settings(
            [SettingsLayer("the shared settings", msgspec.to_builtins(shared)), own]
        ).settings
    )
    memory = replace(found.auto_memory, reads_anywhere=False)
    folders = {
        name: _resolve_in_home(home, getattr(found.context, name))
        for name in ("user_folder", "agents_folder")
    }
    return replace(
        found, home=str(home), auto_memory=memory, context=replace(found.context, **folders)
    )


def _resolve_in_home(home: Path, folder: str) -> str:
    return str(home / folder[2:]) if folder.startswith("~/") else folder


def _read_layer(path: Path, *, project: bool) -> SettingsLayer | None:
    try:
        text = read_regular_text_file(path, MAX_SETTINGS_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        why = describe_storage_error(error)
        raise SettingsError(f"the settings file {path} cannot be read: {why}") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"the settings file {path} cannot be read: {error}") from error
    try:
        return SettingsLayer(str(path), tomllib.loads(text), project)
    except RecursionError as error:
        raise SettingsError(f"the settings file {path} is nested too deeply") from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"the settings file {path} is not valid TOML: {error}") from error

"""The environment of a command: its variables, its working folder, and the settings of both."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from memorist.config import (
    OFF_VARIABLE,
    is_disabled_by_environment,
    is_in_off_folder,
    load_settings,
    resolve_off_folders,
)
from memorist.errors import StoreError
from memorist.settings import Settings
from memorist.store.home_layout import Layout


def read_environment() -> Mapping[str, str]:
    """The variables of the environment."""
    return os.environ


def load_project_settings(model: str | None = None, *, project: Path | None = None) -> Settings:
    """The settings in force in a project, by default that of the working folder, with another
    model if one is given. Raises SettingsError, and StoreError where the home is no folder.
    """
    caller = {"model": model} if model else None
    found = load_settings(os.environ, project=project or Path.cwd(), caller=caller).settings
    return _require_home_folder(found)


def load_user_settings() -> Settings:
    """The settings in force without a project. Raises as `load_project_settings` does."""
    return _require_home_folder(load_settings(os.environ).settings)


def load_home_layout() -> Layout:
    """The home folder that the user's settings name. Raises as `load_project_settings` does."""
    return Layout.from_setting(load_user_settings().home)


def explain_memory_off(settings: Settings) -> tuple[str, ...]:
    """Why nothing at all is kept in the working folder by itself; empty where it is."""
    found = (
        (is_disabled_by_environment(os.environ), f"{OFF_VARIABLE} is set"),
        (not settings.auto_memory.enabled, "auto_memory.enabled is false"),
        (settings.auto_memory.policy == "off", 'auto_memory.policy is "off"'),
        (not settings.hooks.enabled, "hooks.enabled is false: agents with hooks keep nothing"),
        (
            is_in_off_folder(Path.cwd(), resolve_off_folders(settings)),
            "hooks.off_folders names this folder",
        ),
    )
    return tuple(f"memory is off here: {why}" for holds, why in found if holds)


def _require_home_folder(settings: Settings) -> Settings:
    """The settings, unless a file has the home's name; the home need not be there."""
    path = Path(settings.home).expanduser().absolute()
    if path.exists() and not path.is_dir():
        raise StoreError(
            f"{path} is not a folder; move it away, or set MEMORIST_HOME to another folder"
        )
    return settings

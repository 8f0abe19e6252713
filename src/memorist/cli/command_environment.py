"""The environment of a command: its variables, its working folder, and the settings of both."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from memorist.config import load_settings
from memorist.settings import Settings
from memorist.store.home_layout import Layout


def read_environment() -> Mapping[str, str]:
    """The variables of the environment."""
    return os.environ


def load_project_settings(model: str | None = None, *, project: Path | None = None) -> Settings:
    """The settings in force in a project, by default that of the working folder, with another
    model if one is given. Raises SettingsError.
    """
    caller = {"model": model} if model else None
    return load_settings(os.environ, project=project or Path.cwd(), caller=caller).settings


def load_user_settings() -> Settings:
    """The settings in force without a project. Raises SettingsError."""
    return load_settings(os.environ).settings


def load_home_layout() -> Layout:
    """The home folder that the user's settings name. Raises SettingsError."""
    return Layout(Path(load_user_settings().home).expanduser().absolute())

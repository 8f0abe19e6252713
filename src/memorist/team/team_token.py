"""The token by which a team server knows its users: from the environment, or from a file that only
its owner can read.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from memorist.errors import SettingsError
from memorist.platforms.regular_files import is_open_to_other_users, read_regular_text_file
from memorist.platforms.user_home import expand_user
from memorist.settings import TeamSettings

AUTH_VARIABLE = "MEMORIST_TEAM_TOKEN"


def read_team_token(settings: TeamSettings, environment: Mapping[str, str]) -> str:
    """The token; empty where none is set. Raises SettingsError for one that cannot be used."""
    if given := environment.get(AUTH_VARIABLE, "").strip():
        return _clean_token(given)
    if not settings.token_file:
        return ""
    path = Path(expand_user(settings.token_file))
    try:
        if is_open_to_other_users(path):
            raise SettingsError(f"others can read the token in {path}; forbid it: chmod 600 {path}")
        return _clean_token(read_regular_text_file(path).strip())
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the token file {path} cannot be read ({error})") from error


def _clean_token(token: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token:
        raise SettingsError("the token of the team server holds signs that no token has")
    return token

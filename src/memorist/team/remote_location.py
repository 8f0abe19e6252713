"""Which remote a project's team uses: the one chosen for the project (`memorist team init`),
otherwise that of the settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.auto_memory.memory_location import locate_project_root
from memorist.auto_memory.team_memory import MAX_TEAM_LOCATION_BYTES
from memorist.errors import SettingsError
from memorist.platforms.regular_files import is_open_to_other_users, read_regular_text_file
from memorist.platforms.user_home import expand_user
from memorist.ports import FileSystem
from memorist.settings import TeamSettings
from memorist.store.disk_files import read_json_if_valid
from memorist.store.home_layout import TeamStateLayout
from memorist.team.git_remote import GitRemote, TeamBranchConfiguration, find_project_remote
from memorist.team.team_client import ServerAccess, ServerRemote
from memorist.team.team_protocol import derive_space_name_from_remote
from memorist.team.team_remote import TeamRemote

_GIT_PREFIX = "git:"
_ONLY_GIT = re.compile(
    r"(?:ssh|git|file)://\S+|https?://\S+\.git/?|(?:[\w.-]+@)?[\w.-]+:(?!//)\S+|[\w-]+"
)
"""The forms of an address that Git documents, but for a server's page without an ending."""


class RemoteLocation(Struct, frozen=True, kw_only=True):
    """Where a project's team stores its memories."""

    remote: str
    branch: str = ""
    folder: str | None = None
    space: str = ""


def resolve_remote_location(
    files: FileSystem, where: TeamStateLayout, settings: TeamSettings
) -> RemoteLocation | None:
    """Read the project's own location, otherwise that of the settings; None if neither
    names one.
    """
    own = read_json_if_valid(files, where.location, RemoteLocation, limit=MAX_TEAM_LOCATION_BYTES)
    if own is None and settings.remote:
        return RemoteLocation(remote=settings.remote)
    return own


def prefix_git_only_address(address: str) -> str:
    """The address as it is kept: with `git:` in front of all that only Git can read (a folder, the
    name of a remote, `HOST:PATH`, an address that ends in `.git`); anything else as it is.
    """
    if address.startswith(_GIT_PREFIX) and not address.startswith("git://"):
        return address
    path = Path(expand_user(address))
    with suppress(OSError):  # its name is too long for a folder
        if address.strip() and path.is_dir():
            return _GIT_PREFIX + str(path.resolve())
    return _GIT_PREFIX + address if _ONLY_GIT.fullmatch(address) else address


def save_remote_location(
    files: FileSystem, where: TeamStateLayout, location: RemoteLocation
) -> None:
    """Choose a location for a project. Raises StoreError."""
    files.write(where.location, msgspec.json.encode(location))


def open_remote(
    where: TeamStateLayout,
    location: RemoteLocation,
    project: Path,
    settings: TeamSettings,
    environment: Mapping[str, str],
) -> TeamRemote:
    """Open the remote at a location. Raises SettingsError for one that cannot be used."""
    root = locate_project_root(project)
    remote = prefix_git_only_address(location.remote)
    if remote.startswith(_GIT_PREFIX):
        address = remote.removeprefix(_GIT_PREFIX)
        plain = address.replace("-", "").replace("_", "").isalnum()
        branch = TeamBranchConfiguration(
            url=find_project_remote(root, address) if plain else address,
            project=root,
            branch=location.branch or settings.branch,
            folder=settings.folder if location.folder is None else location.folder,
            timeout_seconds=settings.timeout_seconds,
            entry_bytes=settings.entry_bytes,
        )
        return GitRemote(where.mirror, branch, environment)
    if not location.remote.startswith(("https://", "http://")):
        raise SettingsError(
            f"{location.remote!r} is neither a team server (https://HOST) nor a Git repository "
            "(origin, git:URL, or a folder that is there)"
        )
    access = ServerAccess(
        url=location.remote,
        space=location.space or _project_space(root),
        token=read_team_token(settings, environment),
        ca_file=expand_user(settings.ca_file),
        timeout_seconds=settings.timeout_seconds,
        retries=settings.retries,
    )
    return ServerRemote(access)


def _project_space(root: Path) -> str:
    try:
        return derive_space_name_from_remote(find_project_remote(root, "origin"))
    except SettingsError as error:
        raise SettingsError(
            f"{error} to name its team by; name it: memorist team init --space NAME"
        ) from error


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

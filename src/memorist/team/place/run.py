"""Which remote a project's team uses: the one chosen for the project (`memorist team init`),
otherwise that of the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.auto_memory.place.run import project_root
from memorist.errors import SettingsError
from memorist.ports import Files
from memorist.store.layout import TeamLayout
from memorist.team.git.run import Branch, GitRemote, project_remote
from memorist.team.http.run import Access, ServerRemote
from memorist.team.protocol import space_name
from memorist.team.remote import Remote
from memorist.team.settings import TeamSettings

VARIABLE = "MEMORIST_TEAM_TOKEN"
_GIT = "git:"
_SMALL = 4_096


class Place(Struct, frozen=True, kw_only=True):
    """Where a project's team stores its memories."""

    remote: str
    branch: str = ""
    folder: str | None = None
    space: str = ""


def read_place(files: Files, where: TeamLayout, settings: TeamSettings) -> Place | None:
    """Read the project's own location, otherwise that of the settings; None if neither
    names one.
    """
    try:
        return msgspec.json.decode(files.read(where.place, limit=_SMALL), type=Place)
    except (FileNotFoundError, msgspec.DecodeError):
        return Place(remote=settings.remote) if settings.remote else None


def keep_place(files: Files, where: TeamLayout, place: Place) -> None:
    """Choose a location for a project. Raises StoreError."""
    files.write(where.place, msgspec.json.encode(place))


def open_remote(where: TeamLayout, place: Place, project: Path, settings: TeamSettings, environment: Mapping[str, str]) -> Remote:
    """Open the remote at a location. Raises SettingsError for one that cannot be used."""
    root = project_root(project)
    if place.remote.startswith(_GIT):
        address = place.remote.removeprefix(_GIT)
        plain = address.replace("-", "").replace("_", "").isalnum()
        branch = Branch(
            url=project_remote(root, address) if plain else address,
            branch=place.branch or settings.branch,
            folder=settings.folder if place.folder is None else place.folder,
            timeout_seconds=settings.timeout_seconds,
            entry_bytes=settings.entry_bytes,
        )
        return GitRemote(where.mirror, branch, environment)
    if not place.remote.startswith(("https://", "http://")):
        raise SettingsError(f"{place.remote!r} is no place for a team: write https://HOST for a team server, or git:URL")
    access = Access(
        url=place.remote,
        space=place.space or _space(root),
        token=_token(settings, environment),
        ca_file=settings.ca_file and str(Path(settings.ca_file).expanduser()),
        timeout_seconds=settings.timeout_seconds,
        retries=settings.retries,
    )
    return ServerRemote(access)


def _space(root: Path) -> str:
    try:
        return space_name(project_remote(root, "origin"))
    except SettingsError as error:
        raise SettingsError(f"{error} to name its team by; name it: memorist team init --space NAME") from error


def _token(settings: TeamSettings, environment: Mapping[str, str]) -> str:
    if given := environment.get(VARIABLE, "").strip():
        return _plain(given)
    if not settings.token_file:
        return ""
    path = Path(settings.token_file).expanduser()
    try:
        if path.stat().st_mode & 0o077:
            raise SettingsError(f"others can read the token in {path}; forbid it: chmod 600 {path}")
        return _plain(path.read_text("utf-8").strip())
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the token file {path} cannot be read ({error})") from error


def _plain(token: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token:
        raise SettingsError("the token of the team server holds signs that no token has")
    return token

"""Which database the state of past sessions is in, by the setting `state`."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from memorist.errors import SettingsError
from memorist.store.state import SQLITE, State, open_sqlite_state

_ADDRESS = re.compile(r"postgres(ql)?://")
_PASSWORD = re.compile(r"(?<=:)[^:/@]+(?=@)|(?<=password=)[^&\s]+")


def open_state(setting: str, database: Path) -> State:
    """Open it: the file `database` for `sqlite`, a server for `postgresql://…`. Raises SettingsError and StoreError."""
    if not shared(setting):
        return open_sqlite_state(database)
    try:
        module = import_module("memorist.store.postgres")
    except ImportError as error:
        raise SettingsError("the setting `state` needs the extra: pip install 'memorist[postgres]'") from error
    state: State = module.open_postgres_state(setting)
    return state


def shared(setting: str) -> bool:
    """Whether the setting names a server that several machines share. Raises SettingsError for what is neither that nor `sqlite`."""
    if setting == SQLITE:
        return False
    if not _ADDRESS.match(setting):
        raise SettingsError(f"the setting `state` is {SQLITE} or postgresql://host/name")
    return True


def shown(setting: str) -> str:
    """The setting as it may be shown: without a password."""
    return _PASSWORD.sub("…", setting)

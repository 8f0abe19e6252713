"""What a program passes when it opens an engine or a session, checked at once: a mistake is named
where it was made, and a project becomes the path of its folder.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePath, PureWindowsPath
from typing import get_args

from memorist.compaction.compaction_result import CompactionStrategy
from memorist.core.argument_types import check_text
from memorist.errors import UsageError
from memorist.platforms.user_home import expand_user
from memorist.ports import Clock, FileSystem, HostInfo, Model
from memorist.recall.memory_selection import MAX_QUERY_CHARS
from memorist.settings import Settings


def check_settings_type(settings: Settings | None) -> Settings | None:
    """Return the settings. Raises UsageError for what is none."""
    if settings is None or isinstance(settings, Settings):
        return settings
    raise UsageError(
        f"settings is a memorist.Settings, not {type(settings).__name__}: Settings(model=…), or a "
        "config.toml in the home folder"
    )


def check_ports(model: object, clock: object = None, files: object = None) -> None:
    """Raises UsageError for a model, a clock or a store that lacks a part of its protocol."""
    for what, given, port in (
        ("model", None if isinstance(model, str) else model, Model),
        ("clock", clock, Clock),
        ("files", files, FileSystem),
    ):
        parts = [name for name in dir(port) if not name.startswith("_")]
        if given is not None and not all(hasattr(given, name) for name in parts):
            also = "a model string, or " if port is Model else ""
            raise UsageError(
                f"{what} is {also}an object with {', '.join(parts)} (memorist.ports."
                f"{port.__name__}), not {type(given).__name__}; memorist.testing has one for tests"
            )


def check_session_arguments(session: object, project: object, host: HostInfo | None = None) -> str:
    """Return the project as text. Raises UsageError for an argument that is of another type."""
    if not isinstance(session, str):
        raise UsageError(f"a session's id is a text, not {type(session).__name__}: give str(id)")
    if not session:
        raise UsageError("a session needs an id; any text that is not empty will do")
    if not _is_encodable(session):
        raise UsageError(f"the session's id {session!r:.100} is no text that UTF-8 can hold")
    if host is not None:
        _check_host(host)
    return check_project(project, "; leave it out for a session of no project")


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_host(host: object) -> None:
    if not isinstance(host, HostInfo):
        raise UsageError(f"host is a memorist.HostInfo, not {type(host).__name__}")
    window: object = host.window
    if window is not None and (not isinstance(window, int) or window < 1):
        raise UsageError(f"HostInfo.window is a number of tokens, such as 128_000, not {window!r}")
    counted: object = 0 if host.count_tokens is None else host.count_tokens("a word")
    if not isinstance(counted, int) or counted < 0:
        given = counted if isinstance(counted, int) else type(counted).__name__
        raise UsageError(
            f"HostInfo.count_tokens returns the number of tokens of a text, not {given}: "
            "lambda text: len(tokenizer.encode(text))"
        )


def check_session_folder(folder: object) -> Path | None:
    """Return the full path of the folder of a session's files, which a text names as well: it stays
    the same where the program goes to another folder. Raises UsageError for what is no path.
    """
    if folder is None:
        return None
    if not isinstance(folder, str | Path):
        given = type(folder).__name__
    elif not str(folder).strip():
        given = "an empty text"
    elif "\0" in str(folder) or not _is_encodable(str(folder)):
        given = f"{str(folder)!r:.100}"
    else:
        return Path(expand_user(str(folder))).absolute()
    raise UsageError(f"folder is a path, not {given}; leave it out for the home folder")


def check_project(project: object, instead: str = "") -> str:
    """Return the project as text. Raises UsageError for what is neither a path nor a text."""
    if not isinstance(project, str | PurePath):
        raise UsageError(
            f"project is a folder, or a name as text, not {type(project).__name__}{instead}"
        )
    return str(project)


def check_strategy(strategy: object) -> None:
    """Raises UsageError for what is no strategy of compaction."""
    names = get_args(CompactionStrategy)
    if strategy not in names:
        raise UsageError(f"{strategy!r} is no strategy of compaction: {', '.join(names)}")


def check_search(query: object, limit: object) -> str:
    """Return the query as far as it is read. Raises UsageError for what is no text or number."""
    if not isinstance(limit, int) or limit < 0:
        raise UsageError(f"limit is a number of results, such as 10, not {limit!r}")
    return check_text("query", query)[:MAX_QUERY_CHARS]


# Which folder a project is that a program names.

MAX_NAME_BYTES = 255
"""Longest name of a folder in bytes, on all usual file systems."""


def find_working_folder() -> Path:
    """The working folder of the process; the root of all where it was deleted."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return Path("/")


def _is_path(text: str) -> bool:
    """Whether a file system can have such a path."""
    try:
        names = os.fsencode(text).split(b"/")
    except UnicodeEncodeError:
        return False
    return "\0" not in text and max(map(len, names)) <= MAX_NAME_BYTES


def resolve_project(project: str | PurePath, folder: Path) -> str:
    """Return the project as an absolute path, a relative one from `folder`; empty for none. A path
    of Windows stays as it is on other systems, below the root of all. Raises UsageError for what is
    neither a path nor a text.
    """
    text = check_project(project)
    if not _is_path(text):
        raise UsageError(f"{text[:80]!r} is no name of a folder; give the project's root folder")
    if not text or Path(text).is_absolute():
        return text
    of_windows = os.path.sep == "/" and PureWindowsPath(text).drive
    return f"/{text}" if of_windows else os.path.normpath(folder / Path(text).expanduser())

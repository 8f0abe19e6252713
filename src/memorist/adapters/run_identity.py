"""Whose memory a run of a host's agent uses: its user, project and session, each a value or a
function of the run. Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Generic, TypeVar

from msgspec import Struct

from memorist.errors import UsageError

Run = TypeVar("Run")

RunValue = str | Callable[[Run], str | None]
"""A text, or a function that finds it in the host's own object of a run.

What the function raises reaches the host: memory of the wrong user is worse than none.
"""

USER_FIELDS = ("user_id", "langgraph_auth_user_id", "user_api_key_user_id")
"""Fields by which hosts name the user of a run, LangGraph's and LiteLLM's servers among them."""

MAX_ENDED_TURNS = 10_000
"""Conversations without an id whose continuation is recognised. Our choice: some MB."""


class RunOwner(Struct, frozen=True):
    """Whose memory a run uses."""

    user: str
    """Empty for the home's own memory."""
    project: str
    """Root folder or name of the project; empty for no memory across sessions."""


class RunIdentity(Generic[Run]):
    """Finds user and project of each run.

    Args:
        user: the user, or a function of the run; None for what the run itself names, if anything.
        project: root folder of the project, or a function of the run.
        find_user: reads the user from the host's own fields.
    """

    def __init__(
        self,
        user: RunValue[Run] | None,
        project: RunValue[Run] | Path,
        find_user: Callable[[Run], str] = lambda _: "",
    ) -> None:
        self._user = user
        self._project = project
        self._find_user = find_user

    def resolve(self, run: Run) -> RunOwner:
        """Return whose memory a run uses.

        Where a user was to be given and the run has none, nothing is remembered across sessions.
        """
        project = self._project(run) if callable(self._project) else str(self._project)
        if self._user is None:
            return RunOwner(self._find_user(run), project or "")
        user = resolve_run_value(self._user, run)
        return RunOwner(user, project or "") if user else RunOwner("", "")

    def resolve_named(self, user: str, project: str) -> RunOwner:
        """Return whose memory is meant outside of a run, where the host names it.

        Raises UsageError for a user that only a run can name.
        """
        if not user and callable(self._user):
            raise UsageError("the user of this adapter is a function of the run: name the user")
        constant = "" if callable(self._project) else str(self._project)
        return RunOwner(user or str(self._user or ""), project or constant)


def resolve_run_value(value: RunValue[Run], run: Run) -> str:
    """Return the text of a value for a run; empty for None."""
    found = value(run) if callable(value) else value
    return found or ""


def find_user_id(*sources: object) -> str:
    """Return the user that one of the mappings or objects names, the first that does; empty if
    none.
    """
    for source in sources:
        for field in USER_FIELDS:
            found = (
                source.get(field) if isinstance(source, Mapping) else getattr(source, field, None)
            )
            if isinstance(found, str | int) and str(found):
                return str(found)
    return ""


class StatelessSessions:
    """Recognises the conversations of a host that sends the whole history and no id.

    A new history continues the conversation whose last turn ended with its beginning. Only what
    users and the model said counts, as web clients drop tool calls. Where several conversations
    said the same so far, each is continued once: until then they are interchangeable.
    """

    def __init__(self) -> None:
        self._by_run: dict[str, str] = {}
        self._by_history: dict[str, list[str]] = {}

    def find(self, run: str, user: str, said: Iterable[tuple[str, str]]) -> str:
        """Return the session of a run.

        `run` names the run, the same for all of its requests; `said` is role and text of each
        message of its history.
        """
        known = self._by_run.get(run)
        if known is not None:
            return known
        prefixes = _hash_prefixes(user, said)
        session = self._find_continued(prefixes) or run
        _remember(self._by_run, run, session)
        if len(prefixes) > 1:  # the same history again is a retry; a first message is anybody's
            _remember(self._by_history, prefixes[-1], [session])
        return session

    def on_turn_end(self, run: str, user: str, said: Iterable[tuple[str, str]]) -> None:
        """Note the history with which a turn of a known run ended."""
        session = self._by_run.get(run)
        prefixes = [] if session is None else _hash_prefixes(user, said)
        if session is not None and prefixes:
            waiting = self._by_history.get(prefixes[-1], [])
            _remember(self._by_history, prefixes[-1], [*waiting, session])

    def _find_continued(self, prefixes: list[str]) -> str | None:
        for prefix in reversed(prefixes):
            waiting = self._by_history.get(prefix)
            if waiting:
                return waiting.pop(0)
        return None


Remembered = TypeVar("Remembered")


def _remember(known: dict[str, Remembered], key: str, value: Remembered) -> None:
    known.pop(key, None)
    known[key] = value
    if len(known) > MAX_ENDED_TURNS:
        del known[next(iter(known))]


def _hash_prefixes(user: str, said: Iterable[tuple[str, str]]) -> list[str]:
    """A hash of each beginning of a history, the shortest first."""
    running, found = hashlib.sha256(repr(user).encode()), []
    for each in said:
        running.update(repr(each).encode())
        found.append(running.hexdigest())
    return found

"""The sessions of a host that sends whole histories and no id: found by the history's beginning.
Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TypeVar

MAX_ENDED_TURNS = 10_000
"""Conversations without an id whose continuation is recognised. Our choice: some MB."""


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

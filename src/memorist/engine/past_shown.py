"""Rollout memory in a session: shown once at its start and after each compaction, and counted when
the model cites it (RO-7, RO-8).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from memorist.context.assemble import REMINDER
from memorist.context.scaffold import row, wrap
from memorist.context.settings import Family
from memorist.core.messages import PAST, Message, Origin, Text
from memorist.engine.view import View as Window
from memorist.errors import StoreError
from memorist.ports import Clock, Files
from memorist.prompts.load import load
from memorist.rollouts.artefacts import paths
from memorist.rollouts.citations import without_citations
from memorist.rollouts.folder.run import read_folder
from memorist.rollouts.notes import notes_of
from memorist.rollouts.overview import SUMMARY
from memorist.rollouts.places import Here
from memorist.rollouts.settings import RolloutsSettings
from memorist.rollouts.shown import Texts, View, show
from memorist.rollouts.sources.run import Place, find, repository
from memorist.store.layout import Layout
from memorist.store.rollouts import count_uses, keep_threads, kept, threads
from memorist.store.state import State


class PastMeans(Struct, frozen=True, kw_only=True):
    """The dependencies of the extension."""

    session: str
    project: str
    family: Family
    layout: Layout
    files: Files
    clock: Clock
    settings: RolloutsSettings
    state: Callable[[], State]
    """Opens the database of past sessions, when something was cited."""


class PastShown:
    """Shows rollout memory in one session of a home that learns from past sessions."""

    def __init__(self, means: PastMeans) -> None:
        self._means = means
        self._due = True
        self._made_anew = False
        self._count = 0

    def resumed(self, window: Window) -> None:
        """Note whether a former process had shown it: then it is still in the view."""
        self._due = not window.own(PAST)

    def compacted(self) -> None:
        """Note that the conversation was compacted: show it again unless it is still in the view.
        """
        self._due = self._made_anew = True

    def show(self, window: Window) -> None:
        """Show it if it is due and there is any.

        Files that cannot be read stop nothing: the next request tries again.
        """
        first = self._made_anew or not window.begun
        if not self._due or not (first or window.open_for_more):
            return
        if self._made_anew and window.own(PAST):
            # A developer message before the history survives a compaction; it stays in the provider's cache.
            self._due = self._made_anew = False
            return
        with contextlib.suppress(StoreError):
            text = self._text()
            self._due = self._made_anew = False
            if text:
                window.insert_first(self._message(text)) if first else window.insert(self._message(text))

    def opening(self) -> str:
        """Return the text for a host that shows it by itself; empty when it was shown already or
        there is none.

        Raises StoreError, and stays due.
        """
        text = self._text() if self._due else ""
        self._due = self._made_anew = False
        return text

    def stands(self) -> None:
        """Note that a former process showed it and it is still in the context."""
        self._due = False

    def recorded(self, file: Path) -> None:
        """Register the recording of this session, and new ones in the same folder, as rollouts.

        Raises StoreError.
        """
        state = self._means.state()
        keep_threads(state, find([Place(file.parent)], threads(state)).threads)

    def _text(self) -> str:
        means = self._means
        files = read_folder(means.files, means.layout.rollouts).files
        if not files:
            return ""
        view = View(
            here=Here(cwd=means.project, repository=repository(means.project) if means.project else ""),
            folder=str(means.layout.rollouts),
            tokens=means.settings.summary_tokens,
            lean=means.settings.form == "lean",
        )
        texts = Texts(load("rollouts/shown"), load("rollouts/lookup"), load("rollouts/lean"))
        found = show(files.get(SUMMARY, b"").decode("utf-8", "replace"), notes_of(files), view, texts)
        return "" if found is None else found.text

    def _message(self, text: str) -> Message:
        self._count += 1
        native = self._means.family == "file-native"
        return Message(
            id=f"{PAST}{self._means.session[:40]}-{self._count}",
            role="user" if native else "developer",
            blocks=(Text(wrap(row(REMINDER, "file-native"), text) if native else text),),
            origin=Origin.INJECTED,
            timestamp=self._means.clock.now(),
        )

    def replied(self, messages: Sequence[Message]) -> None:
        """Count the citations of a reply as uses. A database error loses a count, nothing else."""
        cited = [without_citations(text)[1] for text in _texts(messages) if "<oai-mem-citation>" in text]
        if not cited:
            return
        with contextlib.suppress(StoreError):
            state = self._means.state()
            named = {path: thread for thread, path in paths([each.extracted for each in kept(state)]).items()}
            count_uses(state, tuple(dict.fromkeys(thread for each in cited for thread in each.used(named))))


def _texts(messages: Iterable[Message]) -> Iterable[str]:
    return (block.text for message in messages for block in message.blocks if isinstance(block, Text))

"""What a session writes and tracks: transcript, events, receipts, notes and compaction.

Shared by live, observed and replayed sessions.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from memorist.compaction.asking.run import Asking
from memorist.compaction.run import CompactionMeans, Compactor
from memorist.compaction.texts import shipped
from memorist.context.rollback import is_turn
from memorist.core.messages import Message
from memorist.engine.remembering import Heard, Named, World, memories_of
from memorist.events import Event, ForkRan, HistoryReplaced, SessionClosed, SessionOpened, TurnsRolledBack
from memorist.forks.spec import ParentCall, Receipt
from memorist.formats.recorded import Boundary, Head, Measured, RolledBack, WorldRecord
from memorist.ports import Model
from memorist.session_memory.follow import Following
from memorist.session_memory.prompt import Texts
from memorist.session_memory.run import Means, SessionMemory
from memorist.session_memory.settings import SessionMemorySettings
from memorist.session_memory.trigger import Due, Host, allowed
from memorist.skills.called import CalledSkills
from memorist.spend.run import SpendGovernor
from memorist.store.events import EventLog
from memorist.store.layout import SessionLayout
from memorist.store.sessions import keep_session
from memorist.store.transcript import TranscriptWriter, recorded
from memorist.telemetry.run import Traces

CLOSE_SECONDS = 60.0
"""Longest wait for background work when a session is closed, in seconds (AM-9's bound for every
drain).
"""

Entry = Head | Message | Boundary | RolledBack | WorldRecord | Measured


class Journal:
    """The log of one session.

    Opening it reads what is on disk; a session has at most one open log.
    """

    def __init__(self, named: Named, host: Host, texts: Texts, *, layout: SessionLayout, world: World) -> None:
        self.named = named
        self.layout = layout
        self.world = world
        self.receipts: list[Receipt] = []
        self.compacts = host.auto_compact and world.settings.compaction.enabled
        self.host = replace(host, auto_compact=self.compacts)
        self.following = Following(self._session_memory)
        self._closed = False
        self._traces = traces = Traces(world.settings.telemetry, named.id, world.clock)
        self.governor = SpendGovernor(world.database, named.id, clock=world.clock, settings=world.settings.spend, told=traces.receipt)
        self._transcript = TranscriptWriter(layout.transcript)
        self._events = EventLog(layout.events, world.clock)
        self.memory = SessionMemory(layout, self.following, texts, self._memory_means())
        texts_of_compaction = shipped()
        self.compactor = Compactor(self.following, self.memory, texts_of_compaction, self._compaction_means())
        self.memories = memories_of(named.id, layout, world, self.governor, Heard(self.tell, self.record_fork))
        self.called = CalledSkills(texts_of_compaction.skill)
        """The skills that the conversation invoked."""
        self.window: list[Message] = []
        """The messages that the model is shown, as far as transcript and compactions tell."""
        self.known = self._take_up()
        if not self.known:
            self.record(Head(session=named.id, format="memorist", cwd=named.project))
        keep_session(world.database, named.id, project=named.project, folder=str(layout.folder), format=named.format, now=world.clock.now())
        self.tell(SessionOpened(named.id, named.format, resumed=bool(self.known), messages=len(self.known)))

    @property
    def keeps_notes(self) -> bool:
        """Whether notes are kept now; a flag may change it while the session runs (SM-1)."""
        return allowed(self.host, self._session_memory())

    def _session_memory(self) -> SessionMemorySettings:
        return self.world.flags.over(self.world.settings.session_memory)

    def _memory_means(self) -> Means:
        world = self.world
        return Means(
            clock=world.clock,
            files=world.files,
            model=world.model,
            settings=self._session_memory,
            limits=world.settings.forks,
            governor=self.governor,
            tell=self.tell,
            keep=self._keep_receipt,
        )

    def _compaction_means(self) -> CompactionMeans:
        world = self.world
        return CompactionMeans(
            clock=world.clock,
            files=world.files,
            asking=self.asking(world.model) if world.model is not None else None,
            settings=world.settings.compaction,
            layout=self.layout,
            tell=self.tell,
        )

    def asking(self, model: Model) -> Asking:
        """Return what a fork of this session needs."""
        world = self.world
        return Asking(
            model=model,
            files=world.files,
            clock=world.clock,
            limits=world.settings.forks,
            governor=self.governor,
            record=self.record_fork,
        )

    def _take_up(self) -> list[str]:
        """Track the transcript on disk again, after a restart; the notes' cursor says which message
        they cover (SM-14).

        Returns the ids of its messages.
        """
        cursor = self.memory.cursor()
        known = []
        for entry in recorded(self.layout.transcript):
            if isinstance(entry, Message):
                known.append(entry.id)
                self.compactor.took(entry)
                self.called.took(entry)
                self.memories.took(entry, again=True)
                self.window.append(entry)
            match entry:
                case Boundary():
                    self._replace(entry, None)
                case RolledBack(turns=turns, kept=True):
                    self._take_back(turns)
                case _:
                    self._follow(entry)
            if cursor is not None and isinstance(entry, Message) and entry.id == cursor.message:
                self.following.updated(self.following.tokens)
        return known

    def take(self, message: Message) -> Due | None:
        """Record a message and track it; returns whether an update of the notes is due."""
        self._transcript.append(message)
        self.compactor.took(message)
        self.called.took(message)
        self.memories.took(message)
        self.window.append(message)
        return self.following.take(message)

    def record(self, entry: Entry) -> Due | None:
        """Record any entry and track it."""
        match entry:
            case Message():
                return self.take(entry)
            case Boundary():
                self.replaced(entry)
                return None
            case _:
                self._transcript.append(entry)
                return self._follow(entry)

    def _follow(self, entry: object) -> Due | None:
        match entry:
            case Message():
                return self.following.take(entry)
            case Measured(context=context):
                return self.following.measured(context)
            case Head():
                self.following.begin(entry)
            case RolledBack():
                self.tell(TurnsRolledBack(entry.turns, entry.messages, entry.line))
        return None

    def _replace(self, boundary: Boundary, kept: Sequence[Message] | None) -> None:
        """Apply the new history: the boundary's replacement, and the messages that stayed.

        Without `kept_messages` those are the newest ones.
        """
        if kept is None:
            kept = self.window[-boundary.kept :] if boundary.kept else ()
        self.window = [*boundary.replacement, *kept]
        self.following.history_replaced(tuple(self.window))

    def replaced(self, boundary: Boundary, kept: Sequence[Message] | None = None) -> None:
        """Record that the host or the recorded agent replaced its history.

        `kept_messages` are those that stayed, where known.
        """
        before = self.following.tokens
        self._transcript.append(boundary)
        self._replace(boundary, kept)
        self.tell(HistoryReplaced(boundary.trigger, boundary.tokens_before or before, self.following.tokens, boundary.line))

    def taken_back(self, turns: int, messages: int) -> None:
        """Record that the user rolled back the last turns, with this many messages: a marker is
        appended, nothing is deleted (CX-7).
        """
        self._transcript.append(RolledBack(turns=turns, messages=messages, line=0, kept=True))
        self._take_back(turns)
        self.tell(TurnsRolledBack(turns, messages))

    def _take_back(self, turns: int) -> None:
        starts = [place for place, message in enumerate(self.window) if is_turn(message)]
        self.window = self.window[: starts[-turns]] if turns <= len(starts) else []
        self.following.history_replaced(tuple(self.window))

    def compacted(self, boundary: Boundary, messages: tuple[Message, ...], *, measured_before: bool = False) -> None:
        """Record that memorist replaced the history by these messages.

        With `measured_before`, as in a replay, later usage still counts what is gone.
        """
        self._transcript.append(boundary)
        self.window = list(messages)
        self.following.history_replaced(messages, measured_before=measured_before)

    def offer(self, due: Due | None, parent: ParentCall | None) -> None:
        """Schedule an update of the notes in the background, if it is due and notes are kept."""
        if due is not None and self.keeps_notes:
            self.memory.offer(due, parent)

    async def update(self, due: Due | None) -> None:
        """Update the notes and wait for it, if it is due and notes are kept."""
        if due is not None and self.keeps_notes:
            await self.memory.update(due, None)

    def flush(self) -> None:
        """Flush the transcript to the operating system."""
        self._transcript.flush()

    def tell(self, event: Event) -> None:
        """Write an event and pass it to the listener."""
        self._events.append(event)
        self._traces.event(event)
        if self.world.listener is not None:
            self.world.listener(event)

    def _keep_receipt(self, receipt: Receipt) -> int:
        self.receipts.append(receipt)
        return self.governor.keep(receipt)

    def record_fork(self, receipt: Receipt) -> None:
        """Keep a fork's receipt and emit its event."""
        number = self._keep_receipt(receipt)
        self.tell(ForkRan(number, receipt.label, receipt.outcome.value, receipt.requests, receipt.cost_usd))

    async def close(self) -> None:
        """Wait for background work, at most a minute, write everything and release the files.

        May be called twice.
        """
        if self._closed:
            return
        self._closed = True
        await self.memory.drain(CLOSE_SECONDS)
        await self.memories.close()
        self.governor.give_up()
        self._transcript.close()
        self.tell(SessionClosed(self.following.messages, self.following.tokens))
        self._events.close()

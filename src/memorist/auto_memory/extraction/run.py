"""Memory extraction of one session: explicit statements at once, a fork's findings at the end of a
turn (AM-5, AM-8, AM-9).

The fork works on files in memory. Its results pass the gate before anything is written, all of them
as one change of the history.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.changes import Change, Why, headline
from memorist.auto_memory.evidence import all_typed, evidence, typed_words
from memorist.auto_memory.extract import Cursor, Task, Texts, counted, prompt, wrote_memory
from memorist.auto_memory.keeping import Dropped, Kept, keep
from memorist.auto_memory.manifest import is_index
from memorist.auto_memory.run import AutoMemory, Written
from memorist.auto_memory.said import Said, said
from memorist.auto_memory.topic import Topic, moment
from memorist.core.messages import Message, Origin
from memorist.errors import InputError, StoreError
from memorist.events import Event, ExtractionFailed, MemoryRefused
from memorist.forks.governed.run import run_on_copy
from memorist.forks.governor import Governor
from memorist.forks.lane import Lane
from memorist.forks.request import shares_prefix
from memorist.forks.spec import FolderAccess, ForkLimits, ForkSpec, Outcome, ParentCall, Receipt, unrun_receipt, untaken
from memorist.ports import Clock, Files, Model
from memorist.prompts.load import load
from memorist.safety.secrets import redact
from memorist.session_memory.digest import digest
from memorist.store.overlay import OverlayFiles

LABEL = "extraction"
MESSAGES_KEPT = 5_000
"""New messages held for a fork. A longer session without an end of turn is extracted from its
newest part.
"""

OUTSIDE_KEPT = 500_000
"""Characters of earlier outside texts that a later extraction is compared with: about one context
window.
"""


class ExtractionMeans(Struct, frozen=True, kw_only=True):
    """The dependencies of extraction."""

    session: str
    cursor: Path
    clock: Clock
    files: Files
    model: Model | None
    limits: ForkLimits
    governor: Governor
    tell: Callable[[Event], None]
    record: Callable[[Receipt], None]
    """Records a receipt and emits its event."""
    ready: Callable[[], Awaitable[object]]
    """Waits until the memory folder has been scanned."""


class Extraction:
    """Extracts the memories of one session as its messages arrive."""

    def __init__(self, memory: AutoMemory, means: ExtractionMeans) -> None:
        self._memory = memory
        self._means = means
        self._new: list[Message] = []
        self._asked: list[Said] = []
        self._late: list[tuple[Said, Message]] = []
        """Statements to be applied once the folder has been scanned."""
        self._read: dict[str, tuple[str, Topic]] = {}
        """Topics by path, each with the mark by which an unchanged file is recognised."""
        self._outside: tuple[str, ...] = ()
        """Outside texts of messages already examined: a later fork still sees them and may obey
        them.
        """
        self._cursor = self._load()
        self._lane = Lane(means.clock, failed=self._broken)
        self._texts = Texts(load("auto_memory/extract"), load("auto_memory/asked"))

    @property
    def memory(self) -> AutoMemory:
        """The project's memory."""
        return self._memory

    def _load(self) -> Cursor:
        try:
            return msgspec.json.decode(self._means.files.read(self._means.cursor), type=Cursor)
        except (FileNotFoundError, msgspec.DecodeError):
            return Cursor()

    def took(self, message: Message, *, again: bool = False, later: bool = False) -> Written | None:
        """Follow one message.

        Explicit statements are applied at once, or, when `deferred`, by the next
        `apply_statements`. `replayed` marks a message that an earlier process already saw.
        """
        self._new.append(message)
        if len(self._new) > MESSAGES_KEPT:
            del self._new[: MESSAGES_KEPT // 10]
        if again and message.id == self._cursor.message:
            self._outside = newest_of(evidence("", self._new).outside)
            self._new.clear()
            self._asked.clear()
        if again or message.origin is not Origin.USER or self._memory.settings.policy == "off":
            return None
        wishes = said(message)
        self._asked += wishes
        self._late += [(wish, message) for wish in wishes]
        return None if later else self.outright()

    @property
    def waits(self) -> bool:
        """Whether statements are waiting to be applied."""
        return bool(self._late)

    def outright(self) -> Written | None:
        """Apply the statements not applied yet, without a model.

        A failing disk is reported and stops nothing.
        """
        written = None
        wishes, self._late = self._late, []
        for wish, message in wishes:
            try:
                written = self._one(wish, message)
            except (StoreError, InputError) as error:
                with contextlib.suppress(StoreError):
                    self._means.tell(MemoryRefused("", (str(error),)))
        return written

    def _one(self, wish: Said, message: Message) -> Written | None:
        topics = self._topics()
        decided = keep(wish, topics, session=self._means.session, at=message.timestamp or self._means.clock.now())
        why = Why(actor="said", what=headline(wish.act, wish.text), session=self._means.session, messages=(message.id,), quote=wish.quote)
        match decided:
            case Kept(change=change):
                return self._memory.write([change], why, all_typed(self._means.session, message), tell=self._means.tell)
            case Dropped(changes=changes, sure=True):
                return self._memory.write(changes, why, all_typed(self._means.session, message), tell=self._means.tell)
            case Dropped(changes=changes):
                return self._memory.ask(changes, why, "the user asked to forget something that may be this", tell=self._means.tell)
            case _:
                return None

    def _topics(self) -> list[Topic]:
        """Return every memory; each is read once, and again when it changed."""
        known, self._read = self._read, {}
        for path, mark in self._memory.folder.marks().items():
            with contextlib.suppress(InputError):
                self._read[path] = known[path] if known.get(path, ("",))[0] == mark else (mark, self._memory.folder.read(path))
        return [topic for _, topic in self._read.values()]

    def turn_ended(self, parent: ParentCall | None) -> None:
        """Start an extraction in the background after a reply without tool calls; does not wait for
        it.
        """
        if self._due():
            last = self._new[-1].id  # later messages are not in this parent's request
            self._lane.offer(lambda: self._extract(parent, last, asked=False), dropped=self._dropped)

    async def extract(self, parent: ParentCall | None) -> None:
        """Extract now and wait for it."""
        if self._due():
            await self._extract(parent, self._new[-1].id, asked=True)

    def _due(self) -> bool:
        settings = self._memory.settings
        if self._means.model is None or settings.policy == "off" or not any(typed_words(message) for message in self._new):
            return False
        if wrote_memory(self._new, self._memory.where.folder):
            self._advance(tuple(self._new))
            return False
        self._cursor = replace(self._cursor, turns=self._cursor.turns + 1)
        return self._cursor.turns >= settings.every_turns

    def _advance(self, seen: Sequence[Message]) -> None:
        """Mark these messages as examined."""
        self._cursor = Cursor(message=seen[-1].id)
        with contextlib.suppress(StoreError):  # at worst the next process examines them again
            self._means.files.write(self._means.cursor, msgspec.json.encode(self._cursor))
        known = {message.id for message in seen}
        self._outside = newest_of((*self._outside, *evidence("", seen).outside))
        self._new = [message for message in self._new if message.id not in known]
        self._asked = [wish for wish in self._asked if wish.message not in known]

    def _upto(self, last: str) -> tuple[Message, ...]:
        """Return the new messages up to `last`; none when they were examined meanwhile."""
        end = next((index for index in range(len(self._new) - 1, -1, -1) if self._new[index].id == last), -1)
        return tuple(self._new[: end + 1])

    async def _extract(self, parent: ParentCall | None, last: str, *, asked: bool) -> None:
        model = self._means.model
        messages = self._upto(last)
        if model is None or not messages:
            return
        await self._means.ready()
        overlay = OverlayFiles(self._means.files)
        means, spec = self._means, replace(self._spec(model, parent, messages), asked=asked)
        receipt = await run_on_copy(spec, model=model, files=overlay, clock=means.clock, governor=means.governor, record=means.record)
        if receipt.outcome is Outcome.BLOCKED:
            return  # the cursor stays, so the next run sees these messages
        if receipt.outcome not in (Outcome.CHANGED, Outcome.UNCHANGED):
            self._means.record(untaken(receipt))
            self._means.tell(ExtractionFailed(receipt.said, receipt.outcome.value))
            return
        try:
            written = self._judged(overlay, messages)
        except (StoreError, InputError) as error:
            self._means.record(replace(receipt, outcome=Outcome.FAILED, files=(), said=str(error)))
            self._means.tell(ExtractionFailed(str(error), Outcome.FAILED.value))
            return
        self._means.record(_honest(receipt, written))
        self._advance(messages)

    def _judged(self, overlay: OverlayFiles, messages: Sequence[Message]) -> Written:
        folder = self._means.files.resolve(self._memory.where.folder)
        changes = []
        for path, (before, after) in sorted(overlay.changed().items()):
            name = path.relative_to(folder).as_posix()
            if not is_index(name):
                changes.append(Change(path=name, before=before, after=after))
        if not changes:
            return Written()
        held = evidence(self._means.session, messages)
        held = replace(held, outside=(*self._outside, *held.outside))
        what = ", ".join(change.path for change in changes[:3]) + (" …" if len(changes) > 3 else "")
        why = Why(
            actor="extraction", what=headline("extract", what), session=self._means.session, messages=tuple(id for id, _ in held.user)[-5:]
        )
        return self._memory.write(changes, why, held, tell=self._means.tell)

    def _spec(self, model: Model, parent: ParentCall | None, messages: Sequence[Message]) -> ForkSpec:
        shares = parent is not None and shares_prefix(model.name, model.format, parent)
        folder = self._memory.where.folder
        task = Task(
            folder=folder,
            count=counted(messages),
            today=moment(self._means.clock.now())[:10],
            asked=tuple(wish.quote for wish in self._asked),
        )
        newest = [
            (str(message.role), message.text) for message in messages if message.origin in (Origin.USER, Origin.MODEL) and message.text
        ]
        return ForkSpec(
            label=LABEL,
            why="a turn ended",
            parent=parent if shares else None,
            digest=None if shares else redact(digest({}, newest)).text,
            instruction=prompt(task, self._memory.shown_heads(), self._texts, self._memory.settings),
            permission=FolderAccess(folder=folder, read_anywhere=self._memory.settings.reads_anywhere),
            limits=replace(self._means.limits, turns=self._memory.settings.turns),
            one_round=True,
        )

    def _dropped(self, outcome: Outcome) -> None:
        model = self._means.model
        if model is not None:
            self._means.record(unrun_receipt(LABEL, "a turn ended", model=model.name, now=self._means.clock.now(), outcome=outcome))

    def _broken(self, error: BaseException) -> None:
        """Report an error of a background extraction; the host goes on."""
        with contextlib.suppress(StoreError):
            self._means.tell(ExtractionFailed(str(error), Outcome.FAILED.value))

    async def drain(self) -> None:
        """Wait for a running extraction, up to the configured time; then cancel it."""
        await self._lane.drain(self._memory.settings.drain_seconds)


def newest_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Select the newest texts that fit into `MAX_OUTSIDE_CHARS`, for later comparisons."""
    kept, size = [], 0
    for text in reversed(texts):
        size += len(text)
        if size > OUTSIDE_KEPT:
            break
        kept.append(text)
    return tuple(reversed(kept))


def _honest(receipt: Receipt, written: Written) -> Receipt:
    """Correct the receipt to what was really written: files that passed the gate (FK-8)."""
    files = tuple(file for file in receipt.files if any(file.path.endswith("/" + path) for path in written.paths))
    said = [receipt.said]
    if written.waiting:
        said.append(f"({len(written.waiting)} of its changes wait in the inbox.)")
    said += [f"({refused.path} was refused: {'; '.join(refused.reasons)})" for refused in written.refused]
    outcome = Outcome.CHANGED if files else Outcome.UNCHANGED
    return replace(receipt, files=files, outcome=outcome, said="\n".join(filter(None, said)))

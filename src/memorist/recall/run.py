"""Recall in one session: the index at the start and after a compaction, and relevant memories for
each user message (RC-1 to RC-5).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import PurePosixPath
from typing import Protocol

from msgspec import Struct

from memorist.auto_memory.manifest import Head
from memorist.auto_memory.run import AutoMemory
from memorist.auto_memory.shown import meet
from memorist.core.messages import RECALLED, Message, Origin, Text
from memorist.core.tokens import estimate_text
from memorist.errors import InputError, MemoristError, StoreError
from memorist.events import Event, MemoryRecalled
from memorist.forks.calls import EditFile, ReadFile, WriteFile
from memorist.forks.governed.run import run_governed
from memorist.forks.governor import Governor
from memorist.forks.spec import EditWay, ForkLimits, ForkSpec, NoTools, Outcome, Receipt
from memorist.forks.tools import recognise
from memorist.ports import Clock, Files, Model
from memorist.prompts.load import load
from memorist.recall.choose import QUERY_CHARACTERS, Match, Pick, certain, worth_asking
from memorist.recall.select import OUTPUT_TOKENS, chosen, question
from memorist.recall.settings import RecallSettings
from memorist.recall.surface import Surfaced, Texts, block, index_block, says_no_more, surface
from memorist.store.uses import Use, What
from memorist.telemetry.run import causes

LABEL = "recall"


class Searcher(Protocol):
    """Finds memories by words and meaning."""

    def search(self, query: str, limit: int) -> Sequence[Match]:
        """Return the best matches, best first. Raises StoreError."""
        ...

    def close(self) -> None:
        """Release its resources. May be called twice."""
        ...


class RecallMeans(Struct, frozen=True, kw_only=True):
    """The dependencies of recall."""

    session: str
    clock: Clock
    files: Files
    model: Model | None
    settings: RecallSettings
    limits: ForkLimits
    governor: Governor
    searcher: Searcher
    tell: Callable[[Event], None]
    record: Callable[[Receipt], None]
    keep: Callable[[Sequence[Use]], None]
    """Adds lines to the usage ledger."""


def load_texts() -> Texts:
    """Load the prompt templates."""
    names = ("index", "recalled", "memory", "caveat", "cut", "select")
    return Texts(**{name: load(f"recall/{name}") for name in names})


class Recall:
    """What one session is shown of the project's memory."""

    def __init__(self, memory: AutoMemory, means: RecallMeans) -> None:
        self._memory = memory
        self._means = means
        self._texts = load_texts()
        self._shown: dict[str, int] = {}
        """Paths of the memories in the context, with their size in bytes."""
        self._known: set[str] = set()
        """Memories that the host's agent read or wrote itself."""
        self._index_due = True
        self._listed: frozenset[str] = frozenset()
        """Memories that the index in the context names."""
        self._count = 0
        self._ready: list[Message] = []
        self._asking: asyncio.Task[None] | None = None
        self._began = 0.0

    @property
    def surfaced(self) -> tuple[str, ...]:
        """Paths of the memories in the context."""
        return tuple(self._shown)

    def _message(self, text: str) -> Message:
        self._count += 1
        id = f"{RECALLED}{self._means.session[:40]}-{self._count}"
        return Message(id=id, role="user", blocks=(Text(text),), origin=Origin.INJECTED, timestamp=self._means.clock.now())

    def still(self) -> AbstractContextManager[None]:
        """Scan the memory folder only once within this context."""
        return self._memory.folder.still()

    @property
    def index_due(self) -> bool:
        """Whether the index is to be shown."""
        return self._index_due

    def opening(self) -> Message | None:
        """Return the index message once at the start and once after each compaction.

        None when it was shown already, or there is no memory. Raises StoreError; the index then
        stays due.
        """
        if not self._index_due:
            return None
        began = self._means.clock.monotonic()
        # Must precede the assignment: when this raises, the index stays due.
        index = self._memory.shown_index() if self._memory.folder.exists else None
        self._index_due = False
        if index is None or not index.text.strip():
            return None
        self._listed = frozenset(index.listed)
        found = index_block(index.text, str(self._memory.where.folder), self._texts)
        with contextlib.suppress(StoreError):
            self._means.tell(MemoryRecalled((), estimate_text(found), "index", self._means.clock.monotonic() - began))
        return self._message(found)

    def compacted(self) -> None:
        """Forget what was shown: the history was compacted, so it may be shown again."""
        self._shown.clear()
        self._known.clear()
        self._listed = frozenset()
        self._index_due = True

    def wrote(self, paths: Sequence[str]) -> None:
        """Mark memories written from this very conversation: their content is in the context
        already (AM-11).
        """
        self._known.update(paths)

    def resumed(self, shown: Sequence[str]) -> None:
        """Restore the state after a restart from the recall messages that are still in the context.
        """
        self._index_due = False
        for text in shown:
            self._count += 1
            for line in text.splitlines():
                if line.startswith("--- ") and " (" in line:
                    self._shown[line[4:].split(" (")[0]] = 0

    def begin_turn(self, query: str, message: str, tools: Sequence[str] = ()) -> None:
        """Look for memories that bear on a user message.

        The ranker selects at once, a model in the background (RC-2).
        """
        self._drop_asking()
        self._ready.clear()
        self._began = self._means.clock.monotonic()
        settings = self._means.settings
        if (
            not settings.enabled
            or not worth_asking(query)
            or sum(self._shown.values()) >= settings.session_bytes
            or not self._memory.folder.exists
        ):
            return
        heads = {head.path: head for head in self._memory.heads()}
        if not heads:
            return
        if settings.selector == "model" and self._means.model is not None:
            self._asking = asyncio.create_task(self._ask(self._means.model, query, message, heads, tools))
            return
        self._show(self.picks(query, heads), message, heads)

    def picks(self, query: str, heads: dict[str, Head]) -> tuple[Pick, ...]:
        """Select what the ranker would show for a query."""
        matches = self._means.searcher.search(query[:QUERY_CHARACTERS], 4 * self._means.settings.limit + len(self._shown))
        return certain(matches, heads, self._means.settings, without={*self._shown, *self._known})

    def _show(self, picks: Sequence[Pick], message: str, heads: dict[str, Head]) -> None:
        settings, now = self._means.settings, self._means.clock.now()
        uses: list[Use] = []
        shown: list[Surfaced] = []
        bodies: list[str] = []
        room = min(settings.turn_bytes, settings.session_bytes - sum(self._shown.values()))
        for pick in picks:
            with contextlib.suppress(InputError):
                topic, doubts = self._memory.shown(pick.path)
                made = surface(
                    topic, heads[pick.path], folder=str(self._memory.where.folder), now=now, texts=self._texts, settings=settings
                )
                if pick.path in self._listed and says_no_more(topic, heads[pick.path]):
                    continue
                if not doubts and any(meet(other, topic.body) for other in bodies):
                    doubts = ("together with another memory it reads like an order planted for an agent",)
                fits = made.size <= room
                what: What = "withheld" if doubts else "shown"
                if doubts or fits:
                    uses.append(self._use(pick.path, what, message, "; ".join(doubts) or pick.why, pick.score, 0 if doubts else made.size))
                if fits and not doubts:
                    shown.append(made)
                    bodies.append(topic.body)
                    room -= made.size
        self._keep(uses)
        if shown:
            self._shown |= {each.path: each.size for each in shown}
            text = block(shown, self._texts)
            self._ready.append(self._message(text))
            why = "; ".join(f"{pick.path}: {pick.why}" for pick in picks if pick.path in {each.path for each in shown})
            self._means.tell(
                MemoryRecalled(tuple(each.path for each in shown), estimate_text(text), why, self._means.clock.monotonic() - self._began)
            )

    def _use(self, path: str, what: What, message: str, why: str = "", score: float | None = None, size: int = 0) -> Use:
        at = self._means.clock.now()
        return Use(path=path, what=what, session=self._means.session, message=message, at=at, why=why, score=score, bytes=size)

    @causes(LABEL)
    async def _ask(self, model: Model, query: str, message: str, heads: dict[str, Head], tools: Sequence[str]) -> None:
        """Let the model select. On any error nothing is shown."""
        settings = self._means.settings
        left = {
            head.path: head
            for head in self._memory.shown_heads()
            if head.path not in self._shown and head.path not in self._known and head.status == "active"
        }
        text = question(
            self._texts.select,
            list(left.values()),
            query=query,
            tools=tools,
            limit=settings.limit,
            scan_files=self._memory.settings.scan_files,
        )
        spec = ForkSpec(
            label=LABEL,
            why="a user message arrived",
            instruction=text,
            permission=NoTools(),
            digest="",
            limits=ForkLimits(turns=1, requests=2, seconds=settings.seconds, output=OUTPUT_TOKENS, tokens=self._means.limits.tokens),
            edits=EditWay.ANSWER,
        )
        with contextlib.suppress(MemoristError):
            means = self._means
            receipt = await run_governed(
                spec, model=model, files=means.files, clock=means.clock, governor=means.governor, record=means.record
            )
            if receipt.outcome is Outcome.BLOCKED:
                self._show(self.picks(query, heads), message, heads)
                return
            names = chosen(receipt.said, left, settings.limit)
            self._show([Pick(name, 1.0, "chosen by the model") for name in names], message, heads)

    async def chosen(self) -> None:
        """Wait for a selection by the model."""
        if self._asking is not None:
            await asyncio.gather(self._asking, return_exceptions=True)

    def ready(self) -> tuple[Message, ...]:
        """Return the messages to show now, each once; empty while a selection is running."""
        found, self._ready = tuple(self._ready), []
        return found

    def took(self, message: Message) -> None:
        """Follow one message: a memory that the model opened or cited was useful (RC-5)."""
        if message.origin is not Origin.MODEL:
            return
        uses = []
        for use in message.tool_uses:
            match recognise(use):
                case ReadFile(path=path) | EditFile(path=path) | WriteFile(path=path):
                    name = self._name(path)
                    if name:
                        self._known.add(name)
                        uses.append(self._use(name, "read", message.id))
                case _:
                    pass
        text = message.text
        uses += [self._use(path, "cited", message.id) for path in self._shown if path.rsplit("/", 1)[-1] in text]
        self._keep(uses)

    def _keep(self, uses: Sequence[Use]) -> None:
        """Record uses in the ledger; a failing database loses these lines and nothing else."""
        if uses:
            with contextlib.suppress(StoreError):
                self._means.keep(uses)

    def _name(self, path: str) -> str:
        folder = self._memory.where.folder
        found = PurePosixPath(path)
        if not found.is_relative_to(folder) or not path.endswith(".md"):
            return ""
        return found.relative_to(folder).as_posix()

    def _drop_asking(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    async def close(self) -> None:
        """Cancel a running selection, and close the index."""
        self._means.searcher.close()
        task = self._asking
        self._drop_asking()
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)

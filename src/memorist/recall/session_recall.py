"""Recall in one session: the index at the start and after a compaction, and relevant memories for
each user message (RC-1 to RC-5).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import PurePosixPath
from typing import Protocol

from msgspec import Struct

from memorist.auto_memory.anchors import read_memory_anchors, render_anchor_changes
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.client_rules import ClientRule
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.auto_memory.visible_memory import USER_TRUST, form_order_together
from memorist.core.messages import RECALL_ID_PREFIX, Message, Origin, TextBlock
from memorist.core.prompt_templates import load_prompt
from memorist.core.token_count import estimate_text_tokens
from memorist.errors import InputError, MemoristError, StoreError
from memorist.events import MemoryRecalled
from memorist.forks.file_tool_calls import (
    EditFileCall,
    ReadFileCall,
    WriteFileCall,
    parse_tool_call,
)
from memorist.ports import Model
from memorist.recall.memory_rendering import (
    RecallPrompts,
    RenderedMemory,
    add_anchor_change_remark,
    is_body_equal_to_description,
    render_memories,
    render_memory,
    render_withdrawn_memories,
)
from memorist.recall.memory_selection import (
    MAX_QUERY_CHARS,
    MemoryMatch,
    SelectedMemory,
    has_enough_search_words,
    mentions_file,
    select_relevant_memories,
)
from memorist.recall.model_selection import LABEL, ModelSelector
from memorist.recall.reachable_memory import ReachableMemory
from memorist.recall.shown_index import build_shown_index, list_memories_in_shown_index
from memorist.recall.withdrawn_memories import WithdrawnMemory, find_withdrawn_memories
from memorist.runtime import SessionContext
from memorist.settings import RecallSettings
from memorist.store.memory_uses import MemoryUse, MemoryUseKind
from memorist.telemetry.tracing import decorate_work_for_tracing

MAX_CALL_FILES = 5
"""Files of one call that memories are looked up for."""


class MemorySearcher(Protocol):
    """Finds memories by words and meaning."""

    def search(self, query: str, limit: int) -> Sequence[MemoryMatch]:
        """Return the best matches, best first. Raises StoreError."""
        ...

    def preload_in_background(self) -> None:
        """Read in the background what the next search would wait for. Raises StoreError."""
        ...


def load_recall_prompt_templates() -> RecallPrompts:
    """Load the prompt templates."""
    names = RecallPrompts.__struct_fields__
    return RecallPrompts(**{name: load_prompt(f"recall/{name}") for name in names})


MAX_RUNNING_SELECTIONS = 2
"""Selections by a model that run at once: that of the turn before may still be on its way."""


class MemoriesReadyToShow(Struct, frozen=True):
    """Memories that were chosen and wait for the next request, and what is recorded once they go
    out with it.
    """

    text: str
    sizes: dict[str, int]
    uses: tuple[MemoryUse, ...]


class SessionMemoryRecall:
    """What one session is shown of the project's memory."""

    def __init__(
        self, memory: AutoMemory, context: SessionContext, searcher: MemorySearcher
    ) -> None:
        self._memory = memory
        self._reachable = ReachableMemory(memory)
        self._session = context.id
        self._runtime = context.runtime
        self._searcher = searcher
        self._prompts = load_recall_prompt_templates()
        self._selector = ModelSelector(context.runtime, self._prompts, memory.settings)
        self._shown_sizes: dict[str, int] = {}
        """Paths of the memories in the context, with their size in bytes."""
        self._known_paths: set[str] = set()
        """Memories that the host's agent read or wrote itself."""
        self._index_due = True
        self._listed_paths: frozenset[str] = frozenset()
        """Memories that the index in the context names."""
        self._unrecorded_listing: list[MemoryUse] = []
        """The record of these, until the answer: two hundred lines, which no prompt waits for."""
        self._message_count = 0
        self._ready: list[MemoriesReadyToShow] = []
        self._selections: list[asyncio.Task[None]] = []
        self._turn_started = 0.0
        self.read_client_rules: Callable[[], Sequence[ClientRule]] = tuple
        """Reads the rules that the agent has in its own files; none unless an observer says so."""

    @property
    def _settings(self) -> RecallSettings:
        """The settings as the flags have them now."""
        return self._runtime.flags.apply_to_section(self._runtime.settings.recall)

    @property
    def _chosen_sizes(self) -> dict[str, int]:
        """Paths and sizes of what is shown, and of what will be with the next request."""
        return self._shown_sizes | {
            path: size for each in self._ready for path, size in each.sizes.items()
        }

    def _build_message(self, text: str) -> Message:
        self._message_count += 1
        id = f"{RECALL_ID_PREFIX}{self._session[:40]}-{self._message_count}"
        return Message(
            id=id,
            role="user",
            blocks=(TextBlock(text),),
            origin=Origin.INJECTED,
            timestamp=self._runtime.clock.now(),
        )

    def scan_once(self, *, at_prompt: bool = False) -> AbstractContextManager[None]:
        """Scan the memory folders only once within this context; `at_prompt` somebody waits."""
        return self._reachable.scan_once(at_prompt=at_prompt)

    @property
    def is_index_due(self) -> bool:
        """Whether the index is to be shown."""
        return self._index_due

    def take_index_message(self) -> Message | None:
        """Return the index message once at the start and once after each compaction.

        None when it was shown already, or there is no memory. Raises StoreError; the index then
        stays due.
        """
        if not self._index_due:
            return None
        began = self._runtime.clock.monotonic()
        # Must precede the assignment: when this raises, the index stays due.
        shown = build_shown_index(
            self._memory, self._prompts, self.read_client_rules(), self._known_paths
        )
        self._index_due = False
        if shown is None:
            return None
        self._known_paths.update(shown.repeated)
        if not shown.text:
            return None
        found = shown.text
        self._listed_paths = frozenset(shown.listed)
        self._unrecorded_listing = [self._build_use(path, "listed", "") for path in shown.listed]
        with contextlib.suppress(StoreError):
            self._runtime.emit(
                MemoryRecalled(
                    (),
                    estimate_text_tokens(found),
                    "index",
                    self._runtime.clock.monotonic() - began,
                )
            )
        return self._build_message(found)

    def on_history_replaced(self) -> None:
        """Forget what was shown: the history was compacted, so it may be shown again."""
        self._shown_sizes.clear()
        self._known_paths.clear()
        self._listed_paths = frozenset()
        self._index_due = True

    def mark_memories_in_context(self, paths: Sequence[str]) -> None:
        """Mark memories written from this very conversation: their content is in the context
        already (AM-11).
        """
        self._known_paths.update(paths)

    def restore_shown_from_texts(self, shown_texts: Sequence[str]) -> None:
        """Restore the state after a restart from the recall messages still in the context."""
        self._index_due = False
        with contextlib.suppress(StoreError):  # at worst the agent is shown what it has
            self._known_paths.update(
                self._reachable.list_memories_in_client_rules(self.read_client_rules())
            )
        for text in shown_texts:
            self._message_count += 1
            self._listed_paths |= list_memories_in_shown_index(text, self._prompts)
            for line in text.splitlines():
                if line.startswith("--- ") and " (" in line:
                    self._shown_sizes[line[4:].split(" (")[0]] = 0

    def start_search_for_message(
        self, query: str, message_id: str, tools: Sequence[str] = ()
    ) -> None:
        """Look for memories that bear on a user message.

        The ranker selects at once; a model adds to that in the background (RC-2). What a model
        chose after the last request of the turn before is kept for the next one.
        """
        self._turn_started = self._runtime.clock.monotonic()
        settings = self._settings
        if not settings.enabled:
            return
        heads = self._reachable.headers()
        self._show_withdrawn_memories(heads, message_id)
        if (
            not heads
            or not has_enough_search_words(query)
            or sum(self._chosen_sizes.values()) >= settings.session_bytes
        ):
            return
        known = {*self._chosen_sizes, *self._known_paths}
        picks = self.select_memories(query, heads)
        if self._reachable.rescan_if_changed(pick.path for pick in picks):
            heads = self._reachable.headers()
            picks = self.select_memories(query, heads)
        self._show_memories(picks, message_id, heads)
        if self._selector.should_model_select(query, len(picks), settings):
            self._begin_selection(query, message_id, tools, known)

    def _show_withdrawn_memories(self, heads: Mapping[str, MemoryHeader], message: str) -> None:
        """Say what the user withdrew in another session of what is in the context, once."""
        missing = {*self._listed_paths, *self._shown_sizes, *self._known_paths}.difference(heads)
        if not missing:
            return
        found: tuple[WithdrawnMemory, ...] = ()
        with contextlib.suppress(MemoristError):  # a damaged history keeps no memory back
            found = find_withdrawn_memories(self._reachable, missing, heads, self._session)
        self._listed_paths -= missing
        self._known_paths -= missing
        self._shown_sizes = {
            path: size for path, size in self._shown_sizes.items() if path not in missing
        }
        if not found:
            return
        text = render_withdrawn_memories([each.line for each in found], self._prompts)
        sizes = {path: len(text) for each in found for path in each.replacements}
        uses = [
            self._build_use(
                path, "shown", message, "it came in place of what was shown", None, size
            )
            for path, size in sizes.items()
        ]
        self._ready.append(MemoriesReadyToShow(text, sizes, tuple(uses)))

    def _begin_selection(
        self, query: str, message_id: str, tools: Sequence[str], known: Collection[str]
    ) -> None:
        """Let the model select in the background, from the memories that are not `known`."""
        if self._runtime.model is None:
            return
        self._selections = [task for task in self._selections if not task.done()]
        while len(self._selections) >= MAX_RUNNING_SELECTIONS:
            self._selections.pop(0).cancel()
        self._selections.append(
            asyncio.create_task(
                self._select_with_model(self._runtime.model, query, message_id, tools, known)
            )
        )

    def select_memories(
        self, query: str, headers: Mapping[str, MemoryHeader]
    ) -> tuple[SelectedMemory, ...]:
        """Select what the ranker would show for a query."""
        matches = self._searcher.search(
            query[:MAX_QUERY_CHARS], 4 * self._settings.limit + len(self._chosen_sizes)
        )
        return select_relevant_memories(
            query,
            matches,
            headers,
            self._settings,
            excluded_paths={*self._chosen_sizes, *self._known_paths},
        )

    def search(self, query: str, limit: int) -> Sequence[MemoryMatch]:
        """Search the memories that hold here, whether shown or not. Raises StoreError."""
        return self._searcher.search(query, limit)

    def preload_in_background(self) -> None:
        """Read in the background what the next search would wait for. Raises StoreError."""
        self._searcher.preload_in_background()

    def recall_for_files(self, paths: Sequence[str], message_id: str) -> str:
        """Return the memories that name one of these files, which is about to be changed; empty
        for nearly every file. Raises StoreError.
        """
        heads = self._reachable.headers() if self._settings.before_tool else {}
        if not heads:
            return ""
        self._turn_started = self._runtime.clock.monotonic()
        picks: dict[str, SelectedMemory] = {}
        for path in paths[:MAX_CALL_FILES]:
            name = PurePosixPath(path).name
            for match in self._searcher.search(name, 2 * self._settings.limit):
                head = heads.get(match.path)
                new = match.path not in self._chosen_sizes and match.path not in self._known_paths
                if head and head.status == "active" and new and self._names_file(match.path, path):
                    picks[match.path] = SelectedMemory(
                        match.path, match.score, f"it names {name}, which is about to be changed"
                    )
        waiting, self._ready = self._ready, []
        self._show_memories(list(picks.values()), message_id, heads)
        shown, self._ready = self.take_ready_messages(), waiting
        return "\n".join(each.text for each in shown)

    def _names_file(self, memory: str, path: str) -> bool:
        with contextlib.suppress(InputError, FileNotFoundError):
            owner, name = self._reachable.find_memory_and_path(memory)
            topic = owner.folder.read_memory_file(name)
            if mentions_file(f"{topic.name}\n{topic.description}\n{topic.body}", path):
                return True
            files = {each.name for each in read_memory_anchors(topic) if each.kind == "file"}
            return owner.project_files.make_relative_to_project(path) in files
        return False

    def _show_memories(
        self, picks: Sequence[SelectedMemory], message: str, heads: Mapping[str, MemoryHeader]
    ) -> None:
        settings, now = self._settings, self._runtime.clock.now()
        uses: list[MemoryUse] = []
        shown: list[RenderedMemory] = []
        bodies: list[tuple[str, bool]] = []
        chosen_sizes = self._chosen_sizes
        room = min(settings.turn_bytes, settings.session_bytes - sum(chosen_sizes.values()))
        for pick in [pick for pick in picks if pick.path not in chosen_sizes]:
            with contextlib.suppress(InputError):
                topic, doubts = self._reachable.read_memory_with_suspicions(pick.path)
                changes = self._memory.project_files.compare(read_memory_anchors(topic))
                rendered = render_memory(
                    topic,
                    heads[pick.path],
                    folder=str(self._reachable.find_memory_and_path(pick.path)[0].layout.folder),
                    now=now,
                    prompts=self._prompts,
                    settings=settings,
                )
                rendered = add_anchor_change_remark(
                    rendered, render_anchor_changes(changes, topic.verified_day), self._prompts
                )
                if changes.is_everything_gone and heads[pick.path].trust not in USER_TRUST:
                    doubts = ("nothing that it names is there any more", *doubts)
                if pick.path in self._listed_paths and is_body_equal_to_description(
                    topic, heads[pick.path]
                ):
                    continue
                # Two texts of the user form no order that somebody planted.
                is_users = heads[pick.path].trust in USER_TRUST
                if not doubts and any(
                    form_order_together(body, topic.body)
                    for body, by_user in bodies
                    if not (by_user and is_users)
                ):
                    doubts = (
                        "together with another memory it reads like an order planted for an agent",
                    )
                fits = rendered.size <= room
                what: MemoryUseKind = "withheld" if doubts else "shown"
                if doubts or fits:
                    uses.append(
                        self._build_use(
                            pick.path,
                            what,
                            message,
                            "; ".join(doubts) or pick.why,
                            pick.score,
                            0 if doubts else rendered.size,
                        )
                    )
                if fits and not doubts:
                    shown.append(rendered)
                    bodies.append((topic.body, is_users))
                    room -= rendered.size
        if withheld := [use for use in uses if use.what != "shown"]:
            self._record_uses(withheld)
        if shown:
            sizes = {each.path: each.size for each in shown}
            text = render_memories(shown, self._prompts)
            self._ready.append(
                MemoriesReadyToShow(text, sizes, tuple(use for use in uses if use.what == "shown"))
            )
            why = "; ".join(f"{pick.path}: {pick.why}" for pick in picks if pick.path in sizes)
            seconds = self._runtime.clock.monotonic() - self._turn_started
            self._runtime.emit(
                MemoryRecalled(tuple(sizes), estimate_text_tokens(text), why, seconds)
            )

    def _build_use(
        self,
        path: str,
        what: MemoryUseKind,
        message: str,
        why: str = "",
        score: float | None = None,
        size: int = 0,
    ) -> MemoryUse:
        at = self._runtime.clock.now()
        return MemoryUse(
            path=path,
            what=what,
            session=self._session,
            message=message,
            at=at,
            why=why,
            score=score,
            bytes=size,
        )

    @decorate_work_for_tracing(LABEL)
    async def _select_with_model(
        self, model: Model, query: str, message: str, tools: Sequence[str], known: Collection[str]
    ) -> None:
        """Show what the model chooses beside the ranker's selection: a model only adds."""
        left = {
            path: head
            for path, head in self._reachable.visible_headers().items()
            if path not in known and head.status == "active"
        }
        if not left:
            return
        with contextlib.suppress(MemoristError):
            names = await self._selector.select_with_model(
                model, left, query, tools, self._settings
            )
            picks = [SelectedMemory(name, 1.0, "chosen by the model") for name in names]
            self._show_memories(picks, message, left)

    async def wait_for_selection(self) -> None:
        """Wait for a selection by the model."""
        await asyncio.gather(*self._selections, return_exceptions=True)

    def take_ready_messages(self) -> tuple[Message, ...]:
        """Return the messages to show now, each once, and record that they are shown; empty while a
        selection is running. What the agent has opened itself since it was chosen is not shown.
        """
        ready, self._ready = self._ready, []
        found = []
        for each in ready:
            if each.sizes and self._known_paths.issuperset(each.sizes):
                continue
            self._shown_sizes |= each.sizes
            self._record_uses(each.uses)
            found.append(self._build_message(each.text))
        return tuple(found)

    def on_message(self, message: Message) -> None:
        """Follow one message: a memory that the model opened or cited was useful (RC-5)."""
        if message.origin is not Origin.MODEL:
            return
        uses = []
        for use in message.tool_uses:
            match parse_tool_call(use):
                case ReadFileCall(path=path) | EditFileCall(path=path) | WriteFileCall(path=path):
                    name = self._find_memory_path(path)
                    if name:
                        self._known_paths.add(name)
                        uses.append(self._build_use(name, "read", message.id))
                case _:
                    pass
        text = message.text
        uses += [
            self._build_use(path, "cited", message.id)
            for path in self._shown_sizes
            if path.rsplit("/", 1)[-1] in text
        ]
        self._record_uses(uses)

    def _record_uses(self, uses: Sequence[MemoryUse]) -> None:
        """Record uses in the ledger; a failing database loses these lines and nothing else."""
        uses = [*self._unrecorded_listing, *uses]
        self._unrecorded_listing = []
        if uses:
            with contextlib.suppress(StoreError):
                self._reachable.record_uses(self._runtime.open_database(), uses)

    def _find_memory_path(self, path: str) -> str:
        """The path of the memory that is kept in this file; empty for any other file."""
        if not path.endswith(".md"):
            return ""
        found = PurePosixPath(path)
        for prefix, memory in self._reachable.list_memories_with_prefix():
            folder = memory.layout.folder
            if found.is_relative_to(folder):
                return prefix + found.relative_to(folder).as_posix()
        return ""

    async def close(self) -> None:
        """Record what is not recorded yet, and cancel a running selection."""
        self._record_uses([])
        for task in self._selections:
            task.cancel()
        await asyncio.gather(*self._selections, return_exceptions=True)

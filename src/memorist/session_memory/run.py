"""Session memory at run time: the files, the fork, and the structural update when there is no model
or it fails.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.core.messages import Message, Text
from memorist.core.tokens import estimate_text
from memorist.errors import SettingsError, StoreError, WriteConflict
from memorist.events import Event, ForkRan, NotesFailed, NotesUpdated, Way
from memorist.forks.governed.run import run_governed
from memorist.forks.governor import Governor
from memorist.forks.lane import Lane
from memorist.forks.request import shares_prefix
from memorist.forks.spec import EditOnly, ForkLimits, ForkSpec, Outcome, ParentCall, Receipt, unrun_receipt
from memorist.ports import Clock, Files, Model
from memorist.prompts.load import load
from memorist.safety.secrets import redact
from memorist.session_memory.digest import digest
from memorist.session_memory.follow import Following
from memorist.session_memory.prompt import Texts, update_prompt
from memorist.session_memory.sections import frames, is_empty, mend, with_derived, written_parts
from memorist.session_memory.settings import Current
from memorist.session_memory.structural import NotesBudget, render
from memorist.session_memory.trigger import Due
from memorist.store.files import present
from memorist.store.layout import Layout, SessionLayout

LABEL = "session_memory"

CONFLICTS = 3
"""Attempts to merge notes that are being edited concurrently."""


class Cursor(Struct, frozen=True, kw_only=True):
    """How far the notes reach; stored beside them."""

    message: str
    """Id of the newest message after which no tool call was open (SM-10)."""
    tokens: int
    updates: int
    at: float
    way: Way


class Means(Struct, frozen=True, kw_only=True):
    """Dependencies of session memory."""

    clock: Clock
    files: Files
    model: Model | None
    settings: Current
    limits: ForkLimits
    governor: Governor
    tell: Callable[[Event], None]
    keep: Callable[[Receipt], int]
    """Records a receipt and returns its number."""


def load_texts(files: Files, layout: Layout) -> Texts:
    """Our prompt and template, or the user's own from the home folder (SM-6). Raises SettingsError
    for a user template without a header.
    """
    template, own_template = _own(files, layout.own_template), True
    if template is None:
        template, own_template = load("session_memory/template"), False
    if own_template and not frames(template):
        raise SettingsError(f"your template {layout.own_template} has no section: a section begins with a line such as '# Current State'")
    prompt = _own(files, layout.own_prompt)
    return Texts(
        template=template,
        prompt=prompt or load("session_memory/update"),
        section_reminder=load("session_memory/reminder_section"),
        total_reminder=load("session_memory/reminder_total"),
        own_prompt=prompt is not None,
    )


def _own(files: Files, path: Path) -> str | None:
    try:
        return files.read(path).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise SettingsError(f"your own text {path} is not UTF-8; save it as UTF-8") from error


class SessionMemory:
    """The notes of one session."""

    def __init__(self, layout: SessionLayout, following: Following, texts: Texts, means: Means) -> None:
        self._layout = layout
        self._following = following
        self._texts = texts
        self._means = means
        self._updates = 0
        self._composed = ""
        """The notes as the last structural update wrote them; while the file is unchanged, its
        written parts need not be parsed again.
        """
        self._written: dict[str, str] = {}
        self.way: Way | None = None
        """How the notes were last updated; None when there are none yet."""
        self._lane = Lane(means.clock, failed=self._failed)

    @property
    def template(self) -> str:
        """The template in use."""
        return self._texts.template

    def notes(self) -> str | None:
        """The notes on disk; None when there are none, or they say nothing beyond the template
        (SM-12).
        """
        text = self._read()
        return None if text is None or is_empty(text, self._texts.template) else _readable(text)

    def _read(self) -> str | None:
        found = present(self._means.files, self._layout.notes)
        return None if found is None else found.decode("utf-8", "surrogateescape")

    def cursor(self) -> Cursor | None:
        """How far the notes reach; None when nothing usable is on disk."""
        try:
            found = msgspec.json.decode(self._means.files.read(self._layout.cursor), type=Cursor)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        self._updates = found.updates
        self.way = found.way
        return found

    def offer(self, due: Due, parent: ParentCall | None) -> None:
        """Update in the background: one run at a time, and of the waiting ones only the newest
        (SM-8).
        """
        # Growth counts from the moment the update was called for, not from its end, or a slow model would be called for again at once.
        self._following.updated(due.tokens)
        self._lane.offer(lambda: self._update(due, parent, asked=False), dropped=lambda outcome: self._dropped(due, outcome))

    def _dropped(self, due: Due, outcome: Outcome) -> None:
        """An update that never ran leaves a receipt too, where it would have used a model (FK-8).
        """
        model = self._means.model
        if model is not None:
            self._record(unrun_receipt(LABEL, due.why, model=model.name, now=self._means.clock.now(), outcome=outcome))

    def _failed(self, error: BaseException) -> None:
        """A background update raised an error, for example because the disk refused. The host goes
        on; the event says why there are no notes.
        """
        with contextlib.suppress(StoreError):  # the same disk may refuse the event
            self._means.tell(NotesFailed(str(error), Outcome.FAILED.value))

    async def settled(self) -> None:
        """Wait for a running update, as a compaction does: at most 15 s, and not at all for one
        that began over a minute ago (SM-9).
        """
        settings = self._means.settings()
        since = self._lane.running_since
        if since is None or self._means.clock.monotonic() - since > settings.stale_seconds:
            return
        await self._lane.wait(settings.wait_seconds)

    async def drain(self, seconds: float) -> None:
        """Wait for all background updates, at most this long; those still running then are
        cancelled.
        """
        await self._lane.drain(seconds)

    async def update(self, due: Due, parent: ParentCall | None) -> None:
        """Update the notes now: by the model, or structurally where there is none or it failed."""
        self._following.updated(due.tokens)
        await self._update(due, parent, asked=True)

    async def _update(self, due: Due, parent: ParentCall | None, *, asked: bool) -> None:
        upto = self._following.safe_message
        before = self._ready()
        if self._means.model is not None:
            receipt = await self._ran(self._means.model, self._spec(self._means.model, before, due, parent, asked=asked))
            if receipt.outcome is not Outcome.BLOCKED and self._accept(before, receipt, due, upto):
                return
            before = self._read() or before
        self._derive(before, due, upto)

    def _ready(self) -> str:
        """The notes, created from the template if missing: exclusively, 0600 in a folder of 0700.
        """
        self._means.files.create(self._layout.notes, self._texts.template.encode())
        return self._read() or self._texts.template

    def _derive(self, before: str, due: Due, upto: str) -> None:
        derived = self._derived()
        for _ in range(CONFLICTS):
            if before != self._composed:
                self._written = written_parts(before, self._texts.template)
            text = _without_secrets(with_derived(self._texts.template, self._written, derived))
            try:
                self._write(text, before)
                break
            except WriteConflict:
                # Somebody edited the notes meanwhile, the user for one; what they wrote is kept.
                before = self._ready()
        else:
            raise WriteConflict(f"{self._layout.notes} keeps changing; the notes are updated the next time")
        self._composed = text
        self._advance(due, upto, "structural", text)

    def _derived(self) -> dict[str, str]:
        settings = self._means.settings()
        return render(self._following.ledger, NotesBudget(total_tokens=settings.structural_tokens, section_tokens=settings.section_tokens))

    def _write(self, text: str, before: str) -> None:
        if text != before:  # not in a thread: one that a close leaves behind would write on for a session that is let go
            self._means.files.write(self._layout.notes, _bytes(text), expect=_bytes(before))

    def _spec(self, model: Model, before: str, due: Due, parent: ParentCall | None, *, asked: bool) -> ForkSpec:
        path = self._layout.notes
        settings = self._means.settings()
        shares = parent is not None and shares_prefix(model.name, model.format, parent)
        return ForkSpec(
            label=LABEL,
            why=due.why,
            asked=asked,
            parent=parent if shares else None,
            digest=None if shares else self._digest(),
            instruction=update_prompt(_readable(before), str(path), self._texts, settings),
            permission=EditOnly(path),
            limits=self._means.limits,
            given=(path,),
            one_round=True,
        )

    async def _ran(self, model: Model, spec: ForkSpec) -> Receipt:
        means = self._means
        return await run_governed(spec, model=model, files=means.files, clock=means.clock, governor=means.governor, record=self._record)

    def _record(self, receipt: Receipt) -> None:
        number = self._means.keep(receipt)
        self._means.tell(ForkRan(number, LABEL, receipt.outcome.value, receipt.requests, receipt.cost_usd))

    def _digest(self) -> str:
        newest = [(message.role, _spoken(message)) for message in self._following.newest]
        return redact(digest(self._derived(), [pair for pair in newest if pair[1]])).text

    def _accept(self, before: str, receipt: Receipt, due: Due, upto: str) -> bool:
        """Check the model's edit; True when it brought the notes up to date."""
        after = self._read() or ""
        checked = mend(before, after, self._texts.template)
        text = _without_secrets(checked.text)
        self._write(text, after)
        if receipt.outcome is not Outcome.CHANGED or checked.rolled_back or text == before:
            why = "; ".join(checked.repairs) or receipt.said or "the model changed nothing"
            self._means.tell(NotesFailed(why, receipt.outcome.value))
            return False
        self._advance(due, upto, "model", text, checked.repairs)
        return True

    def _advance(self, due: Due, upto: str, way: Way, text: str, repairs: tuple[str, ...] = ()) -> None:
        self._updates += 1
        self.way = way
        cursor = Cursor(message=upto, tokens=due.tokens, updates=self._updates, at=self._means.clock.now(), way=way)
        self._means.files.write(self._layout.cursor, msgspec.json.encode(cursor))
        newest = self._following.newest
        line = newest[-1].line if newest else 0
        self._means.tell(NotesUpdated(upto, line, due.tokens, due.why, way, estimate_text(text), repairs))


def _without_secrets(text: str) -> str:
    """The notes with a mark in place of each secret (SF-1). Unchanged sections are cached and not
    scanned again.
    """
    return "\n# ".join(_section_without_secrets(section) for section in text.split("\n# "))


@lru_cache(maxsize=64)
def _section_without_secrets(section: str) -> str:
    return redact(section).text


def _readable(text: str) -> str:
    """The text with a question mark for each byte that was not UTF-8."""
    return text.encode("utf-8", "replace").decode()


def _bytes(text: str) -> bytes:
    """The file's original bytes, including those that were not UTF-8; a lone surrogate from a
    transcript becomes a question mark.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _spoken(message: Message) -> str:
    parts = [block.text for block in message.blocks if isinstance(block, Text)]
    parts += [f"(calls {use.name})" for use in message.tool_uses]
    return "\n".join(parts)

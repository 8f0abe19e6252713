"""Find Magic Docs among the files that a session reads, and update them one after another at the
end of a turn (MD-2).

The fork works on files in memory. Its result is judged, and replaces the file only if that is
unchanged since the fork read it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.evidence import evidence
from memorist.auto_memory.extraction.run import newest_of
from memorist.compaction.asking.run import Asking
from memorist.core.messages import Message
from memorist.errors import StoreError, WriteConflict
from memorist.events import Event, MagicDocForgotten, MagicDocFound, MagicDocLeft, MagicDocUpdated
from memorist.forks.governed.run import run_on_copy
from memorist.forks.lane import Lane
from memorist.forks.request import shares_prefix
from memorist.forks.spec import EditOnly, ForkSpec, Outcome, ParentCall, unrun_receipt, untaken
from memorist.magic_docs.header import is_markdown
from memorist.magic_docs.heard import Heard
from memorist.magic_docs.judge import Document, Fit, Same, Unfit, judge, read_document
from memorist.magic_docs.place.run import Ground, looked, missing, place_of
from memorist.magic_docs.prompt import Texts, update_prompt
from memorist.magic_docs.registered.run import Registered
from memorist.magic_docs.settings import MagicDocsSettings
from memorist.ports import Clock
from memorist.safety.secrets import redact
from memorist.session_memory.digest import digest
from memorist.store.overlay import OverlayFiles

LABEL = "magic_docs"

NO_MODEL = "no model is set up, and without one a document is not changed"

CONFLICT = "somebody else changed it meanwhile; it is tried again after the next turn"


class DocsMeans(Struct, frozen=True, kw_only=True):
    """Dependencies of Magic Docs."""

    session: str
    ground: Ground | None
    """Where its documents may be; None for a session without a project, which has none."""
    clock: Clock
    asking: Asking | None
    """Dependencies of forks; None without a model."""
    settings: MagicDocsSettings
    texts: Texts
    tell: Callable[[Event], None]
    registered: Registered
    """Which documents an earlier process of the session registered."""


class _Kept(Struct, frozen=True):
    """The state of a registered document: the message count at its last update, and why that was
    not written.
    """

    upto: int = -1
    refused: tuple[str, ...] = ()


class Made(Struct, frozen=True):
    """A fork's version of a document; `after` is None if it did not touch it."""

    path: Path
    before: bytes
    document: Document
    after: bytes | None


class MagicDocs:
    """The Magic Docs of one session."""

    def __init__(self, heard: Heard, means: DocsMeans) -> None:
        self._heard = heard
        self._means = means
        self._known: dict[Path, _Kept] = {}
        self._told: set[tuple[str, str]] = set()
        """What was reported about skipped documents, each once."""
        self._turns = 0
        self._lane = Lane(means.clock, failed=self._broken)
        self._asked = dict.fromkeys(means.registered.known())
        for path in self._asked:
            heard.read(path)

    @property
    def registered(self) -> tuple[Path, ...]:
        """The documents that are kept up to date, in the order in which they were found."""
        return tuple(self._known)

    def read(self, path: str) -> None:
        """Note that the host read a file. It is saved, as no transcript tells."""
        self._heard.read(path)
        if self._means.ground is not None and is_markdown(path) and path not in self._asked:
            self._asked[path] = None
            self._means.registered.keep(self._asked)

    def turn_ended(self, parent: ParentCall | None) -> None:
        """Update the documents in the background after a reply without tool calls; not awaited."""
        settings, ground = self._means.settings, self._means.ground
        if not settings.enabled or ground is None or not (self._known or self._heard.waiting):
            return
        self._turns += 1
        if self._turns < settings.every_turns:
            return
        self._turns = 0
        upto = self._heard.count  # what comes while it waits is not in this parent's request
        self._lane.offer(lambda: self._all(ground, parent, upto), dropped=self._dropped if self._known else None)

    def _dropped(self, outcome: Outcome) -> None:
        """Record a receipt for an update that never ran, too (FK-8)."""
        asking = self._means.asking
        if asking is not None:
            asking.record(unrun_receipt(LABEL, "a turn ended", model=asking.model.name, now=asking.clock.now(), outcome=outcome))

    def _broken(self, error: BaseException) -> None:
        """Report an error of a background update as an event; the host goes on."""
        with contextlib.suppress(StoreError):  # the same disk may refuse the event
            self._means.tell(MagicDocLeft("", (str(error),)))

    async def _all(self, ground: Ground, parent: ParentCall | None, upto: int) -> None:
        await self._register(ground)
        for path in self.registered:
            await self._keep(ground, path, parent, upto)
        self._asked = dict.fromkeys(map(str, self._known))
        self._means.registered.keep(self._asked)

    async def update(self) -> None:
        """Update every document now, whatever the settings say, and wait for it."""
        if self._means.ground is not None:
            await self._all(self._means.ground, None, self._heard.count)

    async def drain(self) -> None:
        """Wait for running updates, at most as long as configured; then cancel them, and nothing of
        them is written.
        """
        await self._lane.drain(self._means.settings.drain_seconds)

    async def _register(self, ground: Ground) -> None:
        """Inspect the files read since the last time, in a thread."""
        taken, most = self._heard.taken(), self._means.settings.documents
        for place in await asyncio.to_thread(lambda: [looked(ground, asked) for asked in taken]):
            if place is None or place.path in self._known:
                continue
            if place.why:
                self._left(place.path, (place.why,))
            elif len(self._known) >= most:
                self._left(place.path, (f"this session keeps {most} documents already (magic_docs.documents)",))
            else:
                self._known[place.path] = _Kept()
                self._means.registered.clean(place.path, self._means.clock.now())
                self._means.tell(MagicDocFound(str(place.path), place.title))

    def _left(self, path: Path, reasons: tuple[str, ...]) -> None:
        """Report once why a document was skipped."""
        if (mark := (str(path), "; ".join(reasons))) not in self._told:
            self._told.add(mark)
            self._means.tell(MagicDocLeft(str(path), reasons))

    def _read(self, ground: Ground, path: Path) -> tuple[bytes, Document] | None:
        """Read the document as it is now; None for one that is skipped, or is no longer a Magic Doc
        and is forgotten.
        """
        try:
            gone = place_of(ground, str(path)) != path
            data = b"" if gone else ground.files.read(path, limit=ground.max_bytes + 1)
        except (StoreError, FileNotFoundError):
            gone, data = True, b""
        found = "" if gone else read_document(data, ground.max_bytes)
        if isinstance(found, Document):
            return data, found
        if found:
            self._left(path, (found,))
        else:
            self._known.pop(path, None)
            self._means.tell(MagicDocForgotten(str(path), "it is gone" if gone else "it has no header any more"))
        return None

    async def _keep(self, ground: Ground, path: Path, parent: ParentCall | None, upto: int) -> None:
        """Update one document."""
        kept = self._known.get(path)
        found = None if kept is None or kept.upto >= upto else self._read(ground, path)
        if kept is None or found is None:
            return
        asking, (data, document) = self._means.asking, found
        if asking is None:
            self._left(path, (NO_MODEL,))
            return
        overlay = OverlayFiles(ground.files)
        spec = self._spec(asking, path, document, parent, kept.refused)
        receipt = await run_on_copy(
            spec, model=asking.model, files=overlay, clock=asking.clock, governor=asking.governor, record=asking.record
        )
        if receipt.outcome is Outcome.BLOCKED:
            self._left(path, (receipt.said,))
            return  # what was heard is looked at by the next update
        if receipt.outcome not in (Outcome.CHANGED, Outcome.UNCHANGED):
            asking.record(untaken(receipt))
            self._left(path, (receipt.said,))
            return
        refused = await self._written(ground, Made(path, data, document, overlay.changed().get(path, (None, None))[1]))
        if refused != ():
            receipt = untaken(receipt, "\n".join(filter(None, (receipt.said, *(refused or ())))))
        asking.record(receipt)
        if refused is not None:
            self._known[path] = _Kept(upto, refused)

    async def _written(self, ground: Ground, made: Made) -> tuple[str, ...] | None:
        """Write an acceptable update.

        Return why it was not written; empty if all is well; None if it is to be tried again.
        """
        if made.after is None or made.after == made.before:
            return ()
        said = evidence(self._means.session, self._heard.messages)
        said = replace(said, outside=newest_of(said.outside))
        # Comparing a long document with a long conversation takes a second: beside the host's loop.
        verdict = await asyncio.to_thread(judge, made.document, made.after, said, ground.max_bytes)
        if isinstance(verdict, Fit):
            lost = missing(ground, made.path, made.document.text, verdict.data.decode("utf-8"))
            verdict = Unfit(tuple(f"it would name {name}, which is not there" for name in lost)) if lost else verdict
        match verdict:
            case Unfit(reasons=reasons):
                self._means.tell(MagicDocLeft(str(made.path), reasons))
                return reasons
            case Same():
                return ("it would say the same in another layout",)
            case Fit(data=data):
                return self._exchanged(ground, made, data)

    def _exchanged(self, ground: Ground, made: Made, data: bytes) -> tuple[str, ...] | None:
        path = made.path
        trouble = ""
        try:
            if place_of(ground, str(path)) == path:
                ground.files.write(path, data, expect=made.before)
            else:
                trouble = CONFLICT
        except WriteConflict:
            trouble = CONFLICT
        except StoreError as error:
            trouble = str(error)
        if trouble:
            self._means.tell(MagicDocLeft(str(path), (trouble,)))
            return None
        self._means.tell(MagicDocUpdated(str(path), made.document.header.title, len(made.before), len(data)))
        return ()

    def _spec(self, asking: Asking, path: Path, document: Document, parent: ParentCall | None, refused: tuple[str, ...]) -> ForkSpec:
        model = asking.model
        shares = parent is not None and shares_prefix(model.name, model.format, parent)
        spoken = [] if shares else [(str(each.role), said) for each in self._heard.messages if (said := _said(each))]
        return ForkSpec(
            label=LABEL,
            why=f"{path.name} is to be kept true",
            parent=parent if shares else None,
            digest=None if shares else redact(digest({}, spoken)).text,
            instruction=update_prompt(document.text, str(path), document.header, self._means.texts, refused),
            permission=EditOnly(path),
            limits=asking.limits,
            given=(path,),
            one_round=True,
            asked=asking.asked,
        )


def _said(message: Message) -> str:
    """Return a message's text including tool results, which are evidence."""
    return "\n".join(filter(None, (message.text, *(result.text for result in message.tool_results))))

"""Auto memory of one project: writes through the gate, the inbox, undo, and purging."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Self

import msgspec
from msgspec import Struct

from memorist.auto_memory.changes import Actor, Change, Why, headline
from memorist.auto_memory.evidence import Evidence
from memorist.auto_memory.folder.run import MemoryFolder
from memorist.auto_memory.gate import BY_A_MODEL, Accepted, Case, Doubtful, Refused, judge, unsafe
from memorist.auto_memory.history.run import Recorded
from memorist.auto_memory.inbox.run import Inbox, Proposal, Seals, carried_out, proposal
from memorist.auto_memory.index import Index
from memorist.auto_memory.kinds import Kind, Trust
from memorist.auto_memory.manifest import MAX_FILE, Head, is_index
from memorist.auto_memory.scan.run import Used
from memorist.auto_memory.settings import AutoMemorySettings
from memorist.auto_memory.shared import TEAM, together
from memorist.auto_memory.shown import doubts, presentable, seal
from memorist.auto_memory.topic import Provenance, Topic, encode, file_name, moment, new_topic, parse
from memorist.errors import InputError, NothingToDo, WriteConflict
from memorist.events import Event, MemoryChanged, MemoryRefused, MemoryWaits
from memorist.ports import Clock, Files
from memorist.safety.secrets import redact
from memorist.store.files import present
from memorist.store.layout import MemoryLayout

LOW = (Trust.TEAM, Trust.OUTSIDE, Trust.UNKNOWN)
"""Origins that lend no better trust: a memory copied from one of these counts as from outside."""
LENDING = 500
"""Newest memories of low origin that a new one is compared with."""
NOBODY = Evidence()
"""No session stands behind a change."""


class Written(Struct, frozen=True, kw_only=True):
    """The result of some changes."""

    change: str = ""
    """Id of the change in the history; empty when nothing was written."""
    paths: tuple[str, ...] = ()
    waiting: tuple[Proposal, ...] = ()
    refused: tuple[Refused, ...] = ()
    remarks: tuple[str, ...] = ()
    """What was removed from the written files."""


class AutoMemory:
    """The memory of one project. All writes of this process go through here."""

    def __init__(
        self,
        where: MemoryLayout,
        *,
        files: Files,
        clock: Clock,
        settings: AutoMemorySettings,
        used: Used = dict,
        owner: Callable[[], None] | None = None,
    ) -> None:
        self.where = where
        self.settings = settings
        self.folder = MemoryFolder(where, files=files, clock=clock, settings=settings, used=used, owner=owner)
        self.inbox = Inbox(where, files)
        self._seals = Seals(where, files)
        self._files = files
        self._clock = clock

    def heads(self) -> list[Head]:
        """Return the header of each memory, sorted by path. Raises StoreError."""
        return self.folder.heads()

    def shown_heads(self) -> list[Head]:
        """Return the headers that a model may see, by the last scan's judgement and the user's
        reviews.
        """
        reviewed = self.reviewed()
        return [head for head in self.heads() if not head.doubts or head.seal in reviewed]

    def shown_index(self) -> Index:
        """Return the index as a model sees it, without withheld memories and lines that read like
        orders.
        """
        fit = {head.path for head in self.shown_heads()}
        return presentable(together(self.folder.index(), self.folder.index(below=TEAM)), fit)

    def write(
        self, changes: Sequence[Change], why: Why, said: Evidence | None = None, *, tell: Callable[[Event], None] | None = None
    ) -> Written:
        """Judge the changes; write what passes and put what is doubtful into the inbox.

        Under the policy `review` everything not written by the user waits; under `off` it is
        discarded. Raises WriteConflict when a file changed meanwhile, InputError for a path that
        cannot be a memory's, StoreError.
        """
        by_person = why.actor in ("user", "inbox", "undo")
        if self.settings.policy == "off" and not by_person:
            return Written(refused=tuple(Refused(change.path, ("the policy is off: nothing is written",)) for change in changes))
        case = self.case(why.actor, said or Evidence(session=why.session), {change.path for change in changes})
        verdicts = [judge(change, case) for change in changes]
        waits = [verdict for verdict in verdicts if isinstance(verdict, Doubtful)]
        accepted = [verdict for verdict in verdicts if isinstance(verdict, Accepted)]
        if self.settings.policy == "review" and not by_person:
            waits += [Doubtful(each.change, each.trust, ("the policy is review", *each.remarks)) for each in accepted]
            accepted = []
        if why.actor in ("user", "inbox"):
            self._own(each.change for each in accepted)
        id = self.folder.apply([each.change for each in accepted], why) if accepted else ""
        written = Written(
            change=id,
            paths=tuple(each.change.path for each in accepted) if id else (),
            waiting=self._wait(waits, why),
            refused=tuple(verdict for verdict in verdicts if isinstance(verdict, Refused)),
            remarks=tuple(dict.fromkeys(remark for each in accepted for remark in each.remarks)),
        )
        self._report(written, why, tell)
        return written

    def case(self, actor: Actor, said: Evidence = NOBODY, changed: Collection[str] = ()) -> Case:
        """Return the context in which the gate would judge a change of this actor now.

        `changed_paths` are the paths to be written; they are not counted as outside texts.
        """
        given = Case(actor=actor, said=said, now=moment(self._clock.now()), reviewed=self.reviewed(), shared=self.folder.shared())
        if actor not in BY_A_MODEL:
            return given
        heads = self.heads()
        told = [
            self.folder.read(head.path).body for head in heads if head.trust in LOW and head.size <= MAX_FILE and head.path not in changed
        ]
        said = msgspec.structs.replace(said, outside=(*said.outside, *told))
        return msgspec.structs.replace(given, said=said, present=tuple(head.path for head in heads))

    def _own(self, changes: Iterable[Change]) -> None:
        """Seal what the user wrote or accepted, so that it is shown even where it reads like an
        order.
        """
        for change in changes:
            topic = parse(change.path, change.after or b"")
            if doubts(topic):
                self._seals.keep(seal(topic))

    def ask(self, changes: Sequence[Change], why: Why, reason: str, *, tell: Callable[[Event], None] | None = None) -> Written:
        """Put changes into the inbox for the user's decision, whatever the policy."""
        waits = [Doubtful(change, parse(change.path, change.before or b"").provenance.trust, (reason,)) for change in changes]
        written = Written(waiting=self._wait(waits, why))
        self._report(written, why, tell)
        return written

    def _wait(self, verdicts: Sequence[Doubtful], why: Why) -> tuple[Proposal, ...]:
        now = self._clock.now()
        made = tuple(proposal(each.change, trust=each.trust, reasons=each.reasons, why=why, at=now) for each in verdicts)
        self.inbox.add(made)
        return made

    def _report(self, written: Written, why: Why, tell: Callable[[Event], None] | None) -> None:
        if tell is None:
            return
        if written.change:
            tell(MemoryChanged(written.change, why.actor, why.what, written.paths))
        for waiting in written.waiting:
            tell(MemoryWaits(waiting.id, waiting.path, waiting.reasons))
        for refused in written.refused:
            tell(MemoryRefused(refused.path, refused.reasons))

    def shown(self, path: str) -> tuple[Topic, tuple[str, ...]]:
        """Return a memory and the reasons why a model may not see it (empty when it may).

        Raises InputError, StoreError.
        """
        topic = self.folder.read(path)
        return topic, unsafe(topic, self.reviewed(), Trust.UNKNOWN if self.folder.foreign(path) else None)

    def free_path(self, name: str) -> str:
        """Find an unused path for a new memory of this name, numbered where the plain one exists.
        """
        taken = {head.path.casefold() for head in self.heads()}
        plain = file_name(redact(name).text)
        path, number = plain, 1
        while path.casefold() in taken:
            number += 1
            path = f"{plain.removesuffix('.md')}-{number}.md"
        return path

    def add(self, text: str, *, kind: Kind, name: str, description: str) -> Written:
        """Add a memory written by the user."""
        path = self.free_path(name)
        made = new_topic(
            path,
            kind=kind,
            name=path.removesuffix(".md"),
            description=description,
            body=text,
            provenance=Provenance(quote=text[:300], trust=Trust.REVIEWED),
        )
        why = Why(actor="user", what=headline("add", description), quote=text[:300])
        return self.write([Change(path=path, before=None, after=encode(made.text()))], why)

    def edit(self, path: str, text: str) -> Written:
        """Replace a memory's text on the user's behalf; the same text marks it as reviewed."""
        before = encode(self.folder.read(path).text())
        return self.write([Change(path=path, before=before, after=encode(text))], Why(actor="user", what=f"edit: {path}"))

    def forget(self, paths: Sequence[str], why: Why) -> Written:
        """Delete memories; the history keeps them, and `undo` restores them."""
        changes = [Change(path=path, before=encode(self.folder.read(path).text()), after=None) for path in paths]
        return self.write(changes, why)

    def forget_for_good(self, paths: Sequence[str]) -> int:
        """Remove every copy of these memories: folder, history, inbox and derived files.

        Returns the number of changes that contained them. A path that the folder no longer has is
        looked up in the history. Raises InputError when neither has it.
        """
        known = {head.path for head in self.heads()}.union(*(recorded.paths for recorded in self.folder.history.each()))
        gone = [path for path in paths if path not in known]
        if gone:
            raise InputError(f"neither the folder nor its history has {gone[0]}; `memorist memory list` and `log` show what there is")
        texts = [text for path in paths for text in self._ever(path)]
        self._seals.drop({seal(parse("x.md", encode(text))) for text in texts})
        for waiting in self.inbox.waiting():
            if waiting.path in paths:
                self.inbox.drop(waiting)
        return self.folder.purge(paths)

    def _ever(self, path: str) -> list[str]:
        found = [self.folder.history.data(path, recorded.id) for recorded in self.folder.history.log(path)]
        return [data.decode("utf-8", "surrogateescape") for data in found if data is not None]

    def undo(self, start: str = "", *, dry_run: bool = False) -> Recorded:
        """Undo the newest change that is not undone yet, or the one whose id has this prefix;
        returns it.

        Raises NothingToDo when there is none, WriteConflict when a file was changed again since.
        """
        recorded = self.last(start)
        if dry_run:
            return recorded
        history = self.folder.history
        before = history.before(recorded.id)
        changes = []
        for path in recorded.paths:
            if is_index(path):
                continue
            now, then = self._now(path), history.data(path, recorded.id)
            if now != then:
                raise WriteConflict(f"{path} was changed again since; undo the later change first, or edit the file")
            changes.append(Change(path=path, before=now, after=history.data(path, before) if before else None))
        why = Why(actor="undo", what=headline("undo", recorded.why.what))
        self.folder.apply(changes, why, undoes=recorded.id)
        return recorded

    def last(self, start: str = "") -> Recorded:
        """Return the change that `undo` would revert."""
        self.folder.refresh()
        if start:
            return self.folder.history.change(start)
        undone: set[str] = set()
        for each in self.folder.history.each():
            if each.undoes and each.id not in undone:
                undone.add(each.undoes)
            elif not each.undoes and each.id not in undone and not all(map(is_index, each.paths)):
                return each
        raise NothingToDo("there is no change of memory to take back")

    def _now(self, path: str) -> bytes | None:
        return present(self._files, self.where.folder / path)

    def accept(self, start: str, text: str | None = None) -> Written:
        """Write a proposal, as it is or with another text, and remove it from the inbox.

        Where the memory already is as proposed, nothing is written. Raises WriteConflict when the
        file changed since it was proposed.
        """
        given = self.inbox.find(start)
        now = self._now(given.path)
        change = given.change(now)
        if text is not None:
            change = msgspec.structs.replace(change, after=text.encode("utf-8", "surrogateescape"))
        if carried_out(change, now):
            self.inbox.drop(given)
            return Written()
        if now != change.before and change.before is not None:
            raise WriteConflict(
                f"{change.path} changed since this was proposed; reject {given.id}, or take over what you want of it with "
                f"`memorist memory edit {change.path}`"
            )
        if now is not None and change.before is None:
            change = msgspec.structs.replace(change, path=self.free_path(change.path.rsplit("/", 1)[-1].removesuffix(".md")))
        why = msgspec.structs.replace(given.why, actor="inbox", what=headline("accepted", given.why.what))
        written = self.write([change], why)
        self.inbox.drop(given)
        return written

    def reject(self, start: str) -> Proposal:
        """Discard a proposal."""
        given = self.inbox.find(start)
        self.inbox.drop(given)
        return given

    def reviewed(self) -> tuple[str, ...]:
        """Return the content seals of the memories that the user accepted."""
        return self._seals.all()

    def beside(self) -> Self:
        """Open the same folder for another thread; see `ScannedFolder.clone_for_thread`."""
        uses = self.folder.uses()
        return type(self)(self.where, files=self._files, clock=self._clock, settings=self.settings, used=lambda: uses)

    def close(self) -> None:
        """Close the history's files."""
        self.folder.close()

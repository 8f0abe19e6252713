"""The inbox: changes waiting for the user, one file each, beside the memory folder so that no agent
reads them as memory (AM-10).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.git_objects import compute_blob_id
from memorist.auto_memory.memory_changes import NOT_TYPED, ChangeReason, MemoryChange
from memorist.auto_memory.memory_file import parse_memory_file, with_provenance
from memorist.auto_memory.statements.statement_similarity import compute_rule_key, is_same_rule
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.errors import InputError
from memorist.ports import FileSystem
from memorist.store.disk_files import read_json_if_valid, remove_if_exists
from memorist.store.home_layout import MemoryLayout
from memorist.store.process_lock import hold_lock

MAX_PROPOSALS = 500
"""Waiting proposals at most; beyond them the oldest are removed. A flood must not fill the disk,
and nobody reads 500.
"""


class Proposal(Struct, frozen=True, kw_only=True):
    """A waiting change. `before` and `after` are the file's text, None where it does not exist."""

    id: str
    at: float
    """Seconds since the epoch, UTC."""
    path: str
    before: str | None
    after: str | None
    reasons: tuple[str, ...]
    why: ChangeReason
    made_from: str = ""
    """Blob id of the bytes that the change was made from, since they need not be text; empty where
    there were none.
    """

    @property
    def is_in_users_words(self) -> bool:
        """Whether the user typed the words that it rests on, in a session or as a command."""
        return self.why.actor in ("said", "user") and NOT_TYPED not in self.reasons

    @property
    def digest(self) -> str:
        """Hash of what it would do: of a new memory what it says, whatever its name, letter case
        and punctuation; `C++` is another word than `C`.
        """
        path = "" if self.before is None else self.path
        said = self.one_line_text.replace("**", "")
        words = compute_rule_key(said) or said.casefold().split()
        text = f"{self.is_removal:d}\0{path}\0{' '.join(words)}"
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]

    @property
    def is_removal(self) -> bool:
        """Whether a memory would go."""
        return self.after is None

    @property
    def one_line_text(self) -> str:
        """What it would have a memory say, or no longer say, in one line."""
        text = self.after if self.after is not None else self.before or ""
        topic = parse_memory_file(self.path, encode_file_text_as_utf8(text))
        return topic.body if topic.body.strip() else topic.description

    def to_change(self, present_bytes: bytes | None, text: str | None = None) -> MemoryChange:
        """Return the change as it would be written over the file's present bytes, with `text` in
        place of what was proposed where it is given.
        """
        after = self.after if text is None else text
        same = present_bytes is not None and compute_blob_id(present_bytes) == self.made_from
        before = (
            present_bytes
            if same
            else None
            if self.before is None
            else self.before.encode("utf-8", "surrogateescape")
        )
        return MemoryChange(
            path=self.path,
            before=before,
            after=None if after is None else after.encode("utf-8", "surrogateescape"),
        )


def _decode_text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "replace")


def build_proposal(
    change: MemoryChange, *, reasons: Sequence[str], change_reason: ChangeReason, timestamp: float
) -> Proposal:
    """Create a proposal. The same change has the same id, so that it waits only once."""
    body = b"\0".join(
        (
            change.path.encode("utf-8", "replace"),
            b"-"
            if change.after is None
            else b"+" + _strip_volatile_marks(change.path, change.after),
        )
    )
    id = hashlib.sha256(body).hexdigest()[:8]
    return Proposal(
        id=id,
        at=timestamp,
        path=change.path,
        before=_decode_text(change.before),
        after=_decode_text(change.after),
        reasons=tuple(reasons),
        why=change_reason,
        made_from="" if change.before is None else compute_blob_id(change.before),
    )


def _strip_volatile_marks(path: str, data: bytes) -> bytes:
    """A memory without what differs at every attempt: the times, session and message ids under
    memorist's key.
    """
    topic = parse_memory_file(path, data)
    lasting = replace(topic.provenance, session="", messages=(), created="", verified="")
    return encode_file_text_as_utf8(with_provenance(topic, lasting).text())


def is_already_applied(change: MemoryChange, present_bytes: bytes | None) -> bool:
    """Whether the file already has the proposed content.

    So it is when the process was killed after accepting, before the proposal was removed.
    """
    if change.after is None or present_bytes is None:
        return change.after is present_bytes
    return (
        parse_memory_file(change.path, present_bytes).body == change.memory_after.body
        and change.before != present_bytes
    )


MAX_LISTING_AGE_SECONDS = 3_600.0
"""Age of a listing, or of a prompt, whose numbers still mean what was listed. Our choice."""


class ShownProposalNumbers(Struct, frozen=True):
    """What the user was shown of an inbox: when, in seconds since the epoch, and the ids of the
    proposals in the order of their numbers.
    """

    at: float = 0.0
    ids: tuple[str, ...] = ()


def find_proposal_by_name(
    waiting: Sequence[Proposal], listing: ShownProposalNumbers, name: str
) -> Proposal:
    """Return the proposal with this id or this number, from 1 on, or whose id has this prefix. A
    number means what it did in the listing; what came later has the numbers after it.

    Raises InputError for none or more than one.
    """
    if not waiting:
        raise InputError("nothing waits")
    present = {each.id: each for each in waiting}
    if name in present:
        return present[name]
    ids = [*dict.fromkeys((*listing.ids, *present))]
    if name.isdecimal() and 1 <= int(name) <= len(ids):
        if ids[int(name) - 1] not in present:
            raise InputError(
                f"what was number {name} when you listed it waits no longer; `memorist memory "
                "inbox` lists what does"
            )
        return present[ids[int(name) - 1]]
    found = [each for each in waiting if name and each.id.startswith(name.lower())]
    if len(found) != 1:
        which = (
            f"{len(found)} ids begin with" if found else "nothing that waits has the number or id"
        )
        raise InputError(f"{which} {name!r}; `memorist memory inbox` lists what waits by number")
    return found[0]


class Inbox:
    """The proposals of one memory folder."""

    def __init__(self, layout: MemoryLayout, files: FileSystem) -> None:
        self._layout = layout
        self._files = files
        self.rejected = DecisionDigests(layout.rejected_digests, layout, files)

    def add(self, proposals: Sequence[Proposal]) -> None:
        """Add proposals; one that already waits stays as it is.

        The limit never evicts a proposal of the same call. Raises StoreError.
        """
        if not proposals:
            return
        with hold_lock(self._layout.lock):
            for each in proposals:
                self._files.create(
                    self._layout.inbox / f"{each.id}.json", msgspec.json.encode(each)
                )
            if sum(1 for _ in self._files.walk(self._layout.inbox)) <= MAX_PROPOSALS:
                return
            new = {each.id for each in proposals}
            waiting = self.list_proposals()
            old = [each for each in waiting if each.id not in new]
            for each in old[: max(0, len(waiting) - MAX_PROPOSALS)]:
                self.remove(each)

    def list_proposals(self) -> list[Proposal]:
        """Return all proposals, oldest first; unreadable files are skipped."""
        try:
            paths = self._files.walk(self._layout.inbox)
        except FileNotFoundError:
            return []
        read = (read_json_if_valid(self._files, path, Proposal) for path in paths)
        return sorted(filter(None, read), key=lambda each: (each.at, each.id))

    def record_listing(self, proposals: Sequence[Proposal], now: float) -> None:
        """Note that the user saw these, numbered from 1 on. Raises StoreError."""
        listing = ShownProposalNumbers(now, tuple(each.id for each in proposals))
        self._files.write(self._layout.inbox_listing, msgspec.json.encode(listing))

    def read_listing(self, now: float) -> ShownProposalNumbers:
        """What the user saw last; an empty one where that is too long ago."""
        found = read_json_if_valid(self._files, self._layout.inbox_listing, ShownProposalNumbers)
        found = found or ShownProposalNumbers()
        return found if 0 <= now - found.at <= MAX_LISTING_AGE_SECONDS else ShownProposalNumbers()

    def remove_said_memories(self, said: Sequence[str]) -> None:
        """Remove the new memories that say what the user has said since: nothing is left to ask."""
        for each in self.list_proposals() if said else ():
            is_new = each.before is None and each.after is not None
            if is_new and any(is_same_rule(each.one_line_text, text) for text in said):
                self.remove(each)

    def reject(self, proposal: Proposal) -> None:
        """Remove a proposal, and note that the user rejected it. Raises StoreError."""
        self.rejected.add([proposal.digest])
        self.remove(proposal)

    def remove(self, proposal: Proposal) -> None:
        """Remove a proposal."""
        remove_if_exists(self._files, self._layout.inbox / f"{proposal.id}.json")


MAX_DIGESTS = 5_000
"""Digests that are kept, the newest."""


class DecisionDigests:
    """Digests of what the user decided on, in one file: of the memories that they accepted, which
    need no second review, or of the proposals that they rejected. Changed under the folder's lock,
    which the caller does not hold.
    """

    def __init__(self, path: Path, layout: MemoryLayout, files: FileSystem) -> None:
        self._path, self._lock = path, layout.lock
        self._files = files

    def list_digests(self) -> tuple[str, ...]:
        """Return every digest, oldest first; none where the file is damaged."""
        return read_json_if_valid(self._files, self._path, tuple[str, ...]) or ()

    def add(self, digests: Collection[str]) -> None:
        """Add these digests. Raises StoreError."""
        self._change(digests, digests)

    def remove(self, digests: Collection[str]) -> None:
        """Remove these digests. Raises StoreError."""
        self._change(digests, ())

    def _change(self, removed: Collection[str], added: Iterable[str]) -> None:
        with hold_lock(self._lock):
            known = self.list_digests()
            changed = (*(each for each in known if each not in removed), *added)
            if changed != known:
                self._files.write(self._path, msgspec.json.encode(changed[-MAX_DIGESTS:]))

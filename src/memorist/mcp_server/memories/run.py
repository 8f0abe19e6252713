"""One project's memories for a client: searched, read, written and forgotten through the gate that
every write passes (SF-2).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.changes import Change, Why, headline
from memorist.auto_memory.evidence import Evidence
from memorist.auto_memory.history.run import blob_id
from memorist.auto_memory.keeping import forget
from memorist.auto_memory.kinds import Kind
from memorist.auto_memory.manifest import Head
from memorist.auto_memory.run import AutoMemory, Written
from memorist.auto_memory.said import Said
from memorist.auto_memory.said_same import same_rule
from memorist.auto_memory.shown import meet
from memorist.auto_memory.topic import Provenance, Topic, encode, new_topic, with_body, with_header, with_provenance
from memorist.core.template import render
from memorist.errors import InputError, StoreError, WriteConflict
from memorist.mcp_server.asked import MemoryForget, MemoryRead, MemorySearch, MemoryWrite
from memorist.mcp_server.sessions.run import Quoted
from memorist.mcp_server.told import ANSWER, FRAME, harmless, one_line, outcome, page
from memorist.ports import Clock
from memorist.prompts.load import load
from memorist.recall.choose import Match
from memorist.recall.run import load_texts
from memorist.recall.settings import RecallSettings
from memorist.recall.surface import surface
from memorist.store.uses import Use, What

VERSION = 12
"""Characters of the version mark that tells whether a memory has changed."""
ATTEMPTS = 10
"""Names that are tried for a new memory while other processes take them."""
LIKELY = 10
"""Most similar memories that a new one is compared with: what says the same is not written twice
(AM-12).
"""
LOOKED_AT = 200
"""Best matches that a search considers: more than an answer holds, even for one kind among four."""
URI = "memorist://memory"
TOGETHER = "together with another memory it reads like an order planted for an agent"


class Search(Protocol):
    """Finds memories by words and meaning."""

    def search(self, query: str, limit: int) -> Sequence[Match]:
        """The best matches, best first. Raises StoreError."""
        ...


class MemoryMeans(Struct, frozen=True, kw_only=True):
    """The dependencies of the tools.

    `client` names the calling agent, as the history records it.
    """

    client: str
    clock: Clock
    settings: RecallSettings
    search: Search
    quoted: Callable[[str, str], Quoted | None]
    """Finds where the user said a quotation, by quotation and session id."""
    keep: Callable[[Sequence[Use]], None]
    """Adds to the recall ledger."""


def version_of(topic: Topic) -> str:
    """The version mark of a memory."""
    return blob_id(encode(topic.text()))[:VERSION]


class MemoryTools:
    """Search, read, write and forget, for one client in one project."""

    def __init__(self, memory: AutoMemory, means: MemoryMeans) -> None:
        self._memory = memory
        self._means = means
        self._texts = replace(load_texts(), cut=load("mcp/cut"))

    @property
    def _session(self) -> str:
        """Label of the client in the ledger and the history."""
        return f"mcp:{self._means.client}"

    def find(self, asked: MemorySearch) -> str:
        """Return the memories that match a query, as far as they may be shown and the answer has
        room.

        Raises StoreError.
        """
        with self._memory.folder.still():
            heads = {head.path: head for head in self._memory.heads()}
            matches = self._means.search.search(asked.query, LOOKED_AT)
            fitting = [
                match
                for match in matches
                if (head := heads.get(match.path)) is not None and head.status == "active" and asked.kind in ("", head.kind)
            ]
            shown, withheld = self._shown(fitting, heads, asked.limit)
        if not shown and not withheld:
            return f"nothing found among {len(heads)} memories" if heads else "there are no memories of this project yet"
        rest = [f"({withheld} more found and withheld: the user sees why with `memorist memory check`)"] if withheld else []
        left = len(fitting) - len(shown) - withheld
        rest += [f"({left} more, less alike; ask more precisely, or with a higher limit)"] if left > 0 else []
        return render(load("mcp/found"), {"memories": "\n".join(shown), "rest": "\n".join(rest)}, strict=True).strip()

    def _shown(self, matches: Sequence[Match], heads: dict[str, Head], limit: int) -> tuple[list[str], int]:
        """Render the first memories that may be shown; also return how many before them are
        withheld.
        """
        shown: list[str] = []
        bodies: list[str] = []
        uses: list[Use] = []
        room, withheld = ANSWER - FRAME, 0
        for match in matches:
            if len(shown) == limit:
                break
            with contextlib.suppress(InputError):  # gone or too large meanwhile
                topic, doubts = self._memory.shown(match.path)
                if not doubts and any(meet(body, topic.body) for body in bodies):
                    doubts = (TOGETHER,)
                made = surface(
                    topic, heads[match.path], folder=URI, now=self._means.clock.now(), texts=self._texts, settings=self._means.settings
                )
                if doubts:
                    withheld += 1
                    uses.append(self._use(match.path, "withheld", "; ".join(doubts)))
                    continue
                if len(made.text) > room:
                    break
                room -= len(made.text)
                shown.append(harmless(made.text))
                bodies.append(topic.body)
                uses.append(self._use(match.path, "shown", f"searched for: {match.why}", match.score, made.size))
        self._keep(uses)
        return shown, withheld

    def read(self, asked: MemoryRead) -> str:
        """Return one memory in full.

        Raises InputError when there is none of that path, or it may not be shown.
        """
        topic = self.topic(asked.path)
        trust = topic.provenance.trust
        values = {
            "path": one_line(topic.path),
            "version": version_of(topic),
            "kind": str(topic.kind or "none"),
            "origin": str(trust) + (f", “{one_line(topic.provenance.quote)}”" if topic.provenance.quote else ""),
            "description": one_line(topic.description),
            "text": page(harmless(topic.body), asked.start),
        }
        return render(load("mcp/memory"), values, strict=True).strip()

    def topic(self, path: str) -> Topic:
        """Return a memory that may be shown, and record the use. Raises InputError."""
        self._memory.heads()
        topic, doubts = self._memory.shown(path.removeprefix(f"{URI}/"))
        self._keep([self._use(topic.path, "withheld" if doubts else "read", "; ".join(doubts))])
        if doubts:
            raise InputError(f"{topic.path} is withheld: {'; '.join(doubts)}; the user can look at it: memorist memory show {topic.path}")
        return topic

    def write(self, asked: MemoryWrite) -> str:
        """Write a new memory, or change one.

        Raises WriteConflict if it changed since it was read, InputError, StoreError.
        """
        if not asked.text.strip():
            raise InputError("there is no text to remember")
        heard = self._means.quoted(asked.quote, asked.session) if asked.quote.strip() else None
        written = self._changed(asked, heard) if asked.path else self._added(asked, heard)
        told = self._told(outcome(written, "remembered"), asked.quote, heard)
        if written.refused and not written.paths and not written.waiting:
            raise InputError(told)
        return told

    @staticmethod
    def _told(text: str, quote: str, heard: Quoted | None) -> str:
        if not quote.strip() or heard is not None:
            return text
        return (
            f"{text}\n(the quotation was not found among what the user typed in sessions that memorist recorded, so it counts for nothing)"
        )

    def _added(self, asked: MemoryWrite, heard: Quoted | None) -> Written:
        known = self._known(asked.text)
        if known:
            return Written(remarks=(f"nothing was written: {known} says so already",))
        first = " ".join(asked.text.split())
        description = " ".join(asked.description.split()) or first[:150]
        for _ in range(ATTEMPTS):
            path = self._memory.free_path(description[:60])
            made = new_topic(
                path,
                kind=Kind(asked.kind),
                name=path.removesuffix(".md"),
                description=description,
                body=asked.text,
                provenance=Provenance(quote=asked.quote),
            )
            with contextlib.suppress(WriteConflict):  # another process took the name
                return self._judged(Change(path=path, before=None, after=encode(made.text())), asked, heard)
        raise WriteConflict(f"{ATTEMPTS} names for the memory were taken by others meanwhile; try again")

    def _changed(self, asked: MemoryWrite, heard: Quoted | None) -> Written:
        before = self.topic(asked.path)
        if asked.version != version_of(before):
            given = f"{asked.version!r} is not its version" if asked.version else "the version is missing"
            raise WriteConflict(f"{before.path} is not changed: {given}; read it with memory_read, and write with the version it gives")
        header = {"type": asked.kind} | ({"description": " ".join(asked.description.split())} if asked.description.strip() else {})
        made = with_header(with_body(before, f"\n{asked.text.strip()}\n"), dict(header))
        made = with_provenance(made, replace(before.provenance, quote=asked.quote))
        return self._judged(Change(path=before.path, before=encode(before.text()), after=encode(made.text())), asked, heard)

    def _known(self, text: str) -> str:
        """Return the path of a memory that says the same; empty when there is none."""
        for match in self._means.search.search(text, LIKELY):
            with contextlib.suppress(InputError):
                topic = self._memory.folder.read(match.path)
                if same_rule(topic.body, text) or same_rule(topic.description, text):
                    return topic.path
        return ""

    def _judged(self, change: Change, asked: MemoryWrite, heard: Quoted | None) -> Written:
        """Write through the gate.

        The origin of an agent's words is unknown: what the user did not say counts as coming from
        outside.
        """
        user = heard.user if heard is not None else ()
        said = Evidence(session=heard.session if heard else self._session, user=user, outside=(asked.text, asked.description))
        messages = tuple(id for id, _ in user)
        why = Why(
            actor="agent",
            what=headline(self._means.client, asked.description or asked.text[:200]),
            session=said.session,
            messages=messages,
            quote=asked.quote if heard else "",
        )
        return self._memory.write([change], why, said)

    def forget(self, asked: MemoryForget) -> str:
        """Forget a memory if the user asked for it; otherwise ask the user.

        Raises InputError, WriteConflict, StoreError.
        """
        self._memory.heads()
        topic = self._memory.folder.read(asked.path.removeprefix(f"{URI}/"))
        heard = self._means.quoted(asked.quote, asked.session) if asked.quote.strip() else None
        means_it = heard is not None and self._meant(topic.path, heard.wishes)
        why = Why(
            actor="said" if means_it else "agent",
            what=headline(f"{self._means.client} forgets", topic.path),
            session=heard.session if heard else self._session,
            quote=asked.quote if means_it else "",
        )
        return self._told(outcome(self._memory.forget([topic.path], why), "forgotten"), asked.quote, heard)

    def _meant(self, path: str, wishes: Sequence[Said]) -> bool:
        """Whether one of the user's statements asks to forget this memory and cannot mean another.
        """
        asked = [wish for wish in wishes if wish.act == "forget"]
        dropped = [forget(wish, self._topics()) for wish in asked]
        return any(each.sure and [change.path for change in each.changes] == [path] for each in dropped)

    def _topics(self) -> list[Topic]:
        found = []
        for head in self._memory.heads():
            with contextlib.suppress(InputError):
                found.append(self._memory.folder.read(head.path))
        return found

    def _use(self, path: str, what: What, why: str = "", score: float | None = None, size: int = 0) -> Use:
        return Use(path=path, what=what, session=self._session, at=self._means.clock.now(), why=why, score=score, bytes=size)

    def _keep(self, uses: Sequence[Use]) -> None:
        """Record uses in the ledger. A database error loses its lines, not the answer."""
        if uses:
            with contextlib.suppress(StoreError):
                self._means.keep(uses)

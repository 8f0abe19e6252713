"""What memorist adds to a session's requests: memories, rollout memory and, where the host asks for
it, the whole context.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from memorist.context.host import HostContext
from memorist.context.piece import Piece
from memorist.core.messages import JsonObject, Message, Origin
from memorist.engine.assembly import Assembly
from memorist.engine.dreaming import Beneath, dream_of
from memorist.engine.journal import Journal
from memorist.engine.past_shown import PastShown
from memorist.engine.view import View
from memorist.forks.spec import ParentCall
from memorist.magic_docs.place.run import Ground, docs_texts
from memorist.magic_docs.registered.run import Registered
from memorist.magic_docs.run import DocsMeans, MagicDocs
from memorist.store.layout import Layout


class Beside:
    """The extensions of one session.

    `before_request` is called before each request, after its new messages were recorded.
    """

    def __init__(self, journal: Journal, assembling: Callable[[HostContext], Assembly], past: PastShown | None = None) -> None:
        self._journal = journal
        self._past = past
        self._assembling = assembling
        self._assembly: Assembly | None = None
        self._docs = _magic_docs(journal)
        memory = journal.world.memory
        self._dream = None if memory is None else dream_of(memory, _beneath(journal), session=journal.named.id, host=journal.host)

    @property
    def context(self) -> tuple[Piece, ...]:
        """The first context as the model sees it; empty where the host assembles its own."""
        return () if self._assembly is None else self._assembly.pieces

    def assemble(self, context: HostContext) -> None:
        """Assemble the context for the host, or note that something in it changed."""
        if self._assembly is None:
            self._assembly = self._assembling(context)
        else:
            self._assembly.told(context)

    def take_up(self, view: View) -> None:
        """Restore the state of the extensions at the first request of this process, from the
        messages that are already in the view.
        """
        self._journal.memories.resumed(view)
        if self._past is not None:
            self._past.resumed(view)
        for message in view.messages():
            if message.origin is Origin.INJECTED:
                self._journal.called.took(message)

    async def show(self, view: View, request: JsonObject, messages: Sequence[Message], window: int | None) -> None:
        """Insert what the extensions have to show before a request is sent.

        `messages` are the new ones of this request; `window` is the model's context window in
        tokens, or None when unknown.
        """
        await self._journal.memories.looked()
        if self._assembly is not None:
            await self._assembly.before(view, request, messages, window)
        if self._past is not None:
            self._past.show(view)
        self._journal.memories.show(view, messages)

    def made_anew(self) -> None:
        """Reset the extensions: the conversation was compacted or rewritten by the host, so what
        they had inserted is gone.
        """
        self._journal.memories.compacted()
        if self._past is not None:
            self._past.compacted()
        if self._assembly is not None:
            self._assembly.made_anew()

    def taken_back(self, view: View) -> None:
        """Reset the extensions after the user rolled turns back: what they had inserted in those
        turns is gone.
        """
        self._journal.memories.compacted()
        self._journal.memories.resumed(view)
        if self._past is not None:
            self._past.resumed(view)
        if self._assembly is not None:
            self._journal.flush()
            self._assembly.taken_back(view)

    def dressed(self, request: JsonObject) -> JsonObject:
        """Return the request with memorist's system prompt added."""
        return request if self._assembly is None else self._assembly.dressed(request)

    def read(self, path: str) -> None:
        """Note that a file was read into the conversation."""
        self._docs.read(path)
        if self._assembly is not None:
            self._assembly.read(path)

    def replied(self, messages: Sequence[Message]) -> None:
        """Pass on the model's reply, which may cite the rollout memory that it used."""
        if self._past is not None:
            self._past.replied(messages)

    def turn_ended(self, parent: ParentCall | None) -> None:
        """Pass on the end of a turn: the host now waits for its user."""
        self._journal.memories.turn_ended(parent)
        if not self._journal.following.open_calls.calls:
            self._docs.turn_ended(parent)
        if self._dream is not None:
            self._dream.turn_ended()
        if self._assembly is not None:
            self._assembly.turn_ended()

    async def close(self) -> None:
        """Wait for the background work of the extensions."""
        if self._assembly is not None:
            await self._assembly.close()
        await self._docs.drain()
        if self._dream is not None:
            await self._dream.drain()


def _magic_docs(journal: Journal) -> MagicDocs:
    """Open the Magic Docs extension of a session."""
    world, project = journal.world, journal.named.project
    layout = Layout(Path(world.settings.home).expanduser())
    ground = Ground(files=world.files, project=Path(project), home=layout.home, max_bytes=world.settings.magic_docs.max_bytes)
    means = DocsMeans(
        session=journal.named.id,
        ground=ground if project else None,
        clock=world.clock,
        asking=None if world.model is None else journal.asking(world.model),
        settings=world.settings.magic_docs,
        texts=docs_texts(world.files, layout),
        tell=journal.tell,
        registered=Registered(world.files, journal.layout.magic_docs if project else None),
    )
    return MagicDocs(journal.memories.heard, means)


def _beneath(journal: Journal) -> Beneath:
    world = journal.world
    return Beneath(
        project=journal.named.project,
        database=world.database,
        files=world.files,
        clock=world.clock,
        model=world.model,
        settings=world.settings,
        dream=lambda: world.flags.over(world.settings.dream),
        governor=journal.governor,
        tell=journal.tell,
        record=journal.record_fork,
    )

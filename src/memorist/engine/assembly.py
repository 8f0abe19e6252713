"""The context of a live session whose host has memorist assemble it: a first context before the
conversation, later only the differences, and skills when invoked (CX-1 to CX-3, SK-2).

The first context is saved in `context.json` beside the transcript, so that a new process sends the
very same bytes; what the model was told is in the transcript as world state records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.evidence import typed_words
from memorist.context.allowed import around_of, permissions
from memorist.context.assemble import messages_of
from memorist.context.environment import GitState, Surroundings
from memorist.context.host import HostContext
from memorist.context.in_order import InOrder
from memorist.context.kept.run import keep as keep_shown
from memorist.context.kept.run import load as load_shown
from memorist.context.piece import LeftOut, Piece
from memorist.context.run import Outside, Seen, assembled, look, memory_section
from memorist.context.settings import Family
from memorist.context.told import Told, sections_of, with_gone
from memorist.context.touched import Touched, touched_in
from memorist.context.watched.run import WatchedFiles
from memorist.context.world import NOTHING, WorldState, advance, as_messages, known, rebuild
from memorist.context.world import Section as WorldSection
from memorist.core.messages import SKILL_BODY, JsonObject, Message, Origin
from memorist.engine.view import View
from memorist.formats import memorist_jsonl
from memorist.formats.recorded import WorldRecord
from memorist.ports import Files
from memorist.prompts.load import load
from memorist.skills.injection import injections
from memorist.skills.run import Found, SkillSearch
from memorist.skills.section import catalogue_section
from memorist.skills.settings import SkillsSettings
from memorist.store.layout import SessionLayout
from memorist.store.lines import LineFile

INDEX = "auto memory"
"""Source of the piece that holds the project's memory index."""

CALLS = "$@["
"""A user message without any of these characters cannot invoke a skill."""


class AssemblyMeans(Struct, frozen=True, kw_only=True):
    """The dependencies of a session's context."""

    format: str
    """Wire format of the session's requests."""
    outside: Outside
    files: Files
    layout: SessionLayout
    skills: SkillsSettings
    search: Callable[[str], SkillSearch]
    """Returns the skill search of a working folder; one is shared by all sessions there."""
    index: Callable[[], Message | None]
    """Returns the project's memory index as a message, when it is due."""
    record: Callable[[WorldRecord], object]
    """Writes a world state record to the transcript."""
    open_calls: Callable[[], Sequence[str]]
    """Ids of the tool calls without a result."""
    called: Callable[[Message], None]
    """Called with the message of each skill that is shown."""


class Assembly:
    """Opened for a session whose host asks for it.

    `before_request` is called before each request; `add_system_prompt` adds the system prompt.
    """

    def __init__(self, host: HostContext, means: AssemblyMeans) -> None:
        self._host = host
        self._means = means
        self._family: Family = host.family or means.outside.settings.family
        self.pieces: tuple[Piece, ...] = ()
        """The first context as it is shown."""
        self.left_out: tuple[LeftOut, ...] = ()
        """What was looked up but is not in the context, or only in part."""
        self._state: WorldState = NOTHING
        self._first: WorldState = NOTHING
        """The world state that the first context told."""
        self._told: Told | None = None
        self._sections: tuple[WorldSection, ...] = ()
        self._known: tuple[WorldSection, ...] | None = None
        """The sections as they were last compared."""
        self._begun = self._stale = False
        self._fresh = True
        """Whether this process has shown nothing yet."""
        self._watched = WatchedFiles(means.outside.files)
        self._git: GitState | None = None
        """The repository as it was first looked up: its text stays, and so its place in the
        provider's cache.
        """
        self._in_order = InOrder(means.format, self._family)
        self._touched = Touched()
        self._found = Found()
        self._finding: asyncio.Task[Found] | None = None
        self._shown: set[str] = set()
        """Ids of the skill messages that are in the view."""
        self._switch = load("context/model_switch")

    def told(self, host: HostContext) -> None:
        """Take new information of the host. The family stays."""
        self._host = host
        self._stale = True

    def made_anew(self) -> None:
        """Reset: the conversation was compacted or rewritten by the host, so the first context is
        looked up again.
        """
        self._begun = self._fresh = False
        self._sections = ()
        self._in_order.again()

    def taken_back(self, view: View) -> None:
        """Restore what the model still knows after a rollback, from the transcript on disk."""
        self._in_order.again()
        if self._begun:
            self._state, self._known = self._recorded(), None
            if not self._state.marks and not self._state.unknown:
                # The first context was looked up in a turn that is gone; it still stands before the conversation.
                self._state = self._first
                self._means.record(WorldRecord(full=True, state=self._first.values))
            self._shown = _bodies(view)

    def read(self, path: str) -> None:
        """Note that a file was read or changed: its path rules and the instructions of its folder
        may apply now.
        """
        if self._family == "file-native":
            folder = Path(self._host.folder)
            bears = self._touched.add(folder / path, folder, rules_wait=bool(self._now.instructions.waiting))
            self._stale = self._stale or bears

    async def before(self, view: View, request: JsonObject, messages: Sequence[Message], window: int | None) -> None:
        """Show the first context, what changed since, and invoked skills, before a request with
        these new messages.

        `window` is the model's context window in tokens; it limits the size of the skill catalogue.
        """
        for path in touched_in(messages):
            self.read(path)
        asked = next((message for message in reversed(messages) if message.origin is Origin.USER and not message.tool_results), None)
        model = str(request.get("model", ""))
        if not self._begun:
            await self._begin(view, model, window)
        elif self._stale or (asked is not None and self._may_differ()):
            await self._look(model, window)
        if self._in_order.due(messages, self._means.open_calls()):
            view.mend(self._in_order.mended)
        if not view.open_for_more:
            return
        if asked is not None:
            await self._call(view, typed_words(asked))
        self._tell(view, model, asked)

    def _may_differ(self) -> bool:
        """Whether a watched file changed, or the background search found other skills."""
        if self._finding is not None and self._finding.done():
            found, self._finding = self._finding.result(), None
            if found.skills != self._found.skills:
                self._found = found
                return True
        return self._watched.changed()

    async def _begin(self, view: View, model: str, window: int | None) -> None:
        """Show the first context: as a former process of this session showed it, or looked up now.
        """
        self._shown = _bodies(view)
        if not (self._fresh and self._resumed()):
            await self._look(model, window, git=True)
            self._make()
        else:
            await self._look(model, window)
        self._fresh = False
        view.lead(self._messages())
        self._begun = True

    def _resumed(self) -> bool:
        """Restore what a former process showed; False when there is none, or it cannot be read."""
        saved = load_shown(self._means.files, self._means.layout.context, self._family)
        if saved is None:
            return False
        state = self._recorded()
        if not state.marks and not state.unknown:
            return False
        self.pieces, self._state, self._first = saved, state, state
        if any(piece.source == INDEX for piece in saved):
            self._means.index()
        return True

    def _recorded(self) -> WorldState:
        return rebuild(memorist_jsonl.read(LineFile(self._means.layout.transcript))).state

    def _make(self) -> None:
        """Assemble the first context from what was looked up; its sections are then known to the
        model.
        """
        now = self._now
        given = list(now.given)
        if (index := self._means.index()) is not None:
            given.append(memory_section(index.text, INDEX, self._family))
        seen = Seen(family=self._family, instructions=now.instructions, around=now.around)
        made = assembled(seen, given, status_characters=self._means.outside.settings.status_characters)
        self.pieces, self.left_out = made.pieces, made.left_out
        self._known = None
        self._state = self._first = known({section.id: section.value for section in self._sections})
        keep_shown(self._means.files, self._means.layout.context, self._family, self.pieces)
        self._means.record(WorldRecord(full=True, state=self._state.values))

    @property
    def _now(self) -> Told:
        return self._told or Told(family=self._family, around=Surroundings(places=()))

    async def _look(self, model: str, window: int | None, *, git: bool = False) -> None:
        """Look everything up again, in a thread, and build the sections from it."""
        self._found = await self._skills()
        watched = WatchedFiles(self._means.outside.files)
        outside = replace(self._means.outside, files=watched)
        seen = await asyncio.to_thread(
            look, Path(self._host.folder), self._family, outside, touched=self._touched.files, git=git and self._git is None
        )
        self._watched = watched
        allowed = self._host.allowed
        given = [*permissions(allowed, self._family, self._host.sections), *self._host.sections]
        shown = catalogue_section(self._found.skills, self._family, self._means.skills, window=window)
        if shown is not None:
            given.append(shown)
        self._git = seen.around.git or self._git
        around = around_of(allowed, replace(seen.around, model=model, git=self._git))
        self._told = Told(family=self._family, around=around, instructions=seen.instructions, given=tuple(given), model_switch=self._switch)
        self._compare()
        self._stale = False

    def _compare(self) -> None:
        self._sections = with_gone(sections_of(self._now), self._sections)

    def _tell(self, view: View, model: str, asked: Message | None) -> None:
        """Show what differs from what the model was told, before the user's new message.

        Date and model are compared each time, everything else only when it may have changed.
        """
        around = self._now.around
        today = datetime.fromtimestamp(self._means.outside.clock.now()).astimezone().date().isoformat()
        if (around.date, around.model) != (today, model):
            self._told = replace(self._now, around=replace(around, date=today, model=model))
            self._compare()
        if self._sections is self._known:
            return
        step = advance(self._state, self._sections)
        self._known = self._sections
        if step.record is None:
            return
        place = asked or view.newest
        for message in as_messages(step.changes, self._family, place.id if place is not None else ""):
            view.insert(message, before=asked)
        self._means.record(step.record)
        self._state = step.state

    async def _call(self, view: View, words: str) -> None:
        """Show the skills that the user's words invoke, each once while it is in the view."""
        if not any(sign in words for sign in CALLS):
            return
        before, self._found = self._found, await self._skills()
        self._stale = self._stale or before.skills != self._found.skills
        for message in injections(words, self._found.skills, family=self._family, cwd=self._host.folder, settings=self._means.skills):
            if message.id not in self._shown:
                view.insert(message)
                self._shown.add(message.id)
                self._means.called(message)

    def turn_ended(self) -> None:
        """Search for new or changed skills in the background while the host waits for its user."""
        if self._finding is None:
            self._finding = asyncio.create_task(asyncio.to_thread(self._means.search(self._host.folder).found))

    async def _skills(self) -> Found:
        if self._finding is None:
            self.turn_ended()
        finding, self._finding = self._finding, None
        return self._found if finding is None else await finding

    def dressed(self, request: JsonObject) -> JsonObject:
        """Return the request with memorist's system blocks after the host's own, where the format
        has a place for them.
        """
        ours = [{"type": "text", "text": each.text} for each in self.pieces if self._is_system(each)]
        if not ours:
            return request
        own = request.get("system")
        blocks = [{"type": "text", "text": own}] if isinstance(own, str) and own else list(own) if isinstance(own, list) else []
        return {**request, "system": [*blocks, *ours]}

    def _is_system(self, piece: Piece) -> bool:
        return self._means.format == "anthropic" and piece.role in ("system", "developer")

    def _messages(self) -> tuple[Message, ...]:
        return messages_of([each for each in self.pieces if not self._is_system(each)], self._family)

    async def close(self) -> None:
        """Wait for a running skill search; it reads a bounded number of files."""
        if self._finding is not None:
            await asyncio.wait([self._finding])
            self._finding = None


def _bodies(view: View) -> set[str]:
    return {message.id for message in view.messages() if message.id.startswith(SKILL_BODY)}

"""What was done in a session: calls and their results, recorded as files, commands, tasks and
steps. Pure.
"""

from __future__ import annotations

import re

from msgspec import Struct

from memorist.core.messages import ToolResult, ToolUse
from memorist.session_memory.actions import Action, Asks, Changes, Delegates, Plans, PlansOne, Proposes, Reads, Runs, Task, Uses, action_of
from memorist.session_memory.ledger_commands import CommandBook, Failure
from memorist.session_memory.ledger_files import FileBook
from memorist.session_memory.ledger_seen import in_status, seen_in
from memorist.session_memory.ledger_talk import ANSWERING, Talk
from memorist.session_memory.ledger_texts import COMMENT, COMMIT, PLAN, SAID, SHOWN
from memorist.session_memory.ledger_turns import Deed, TurnBook
from memorist.session_memory.lexicon import names
from memorist.session_memory.outcomes import Outcome, ends_of, outcome_of
from memorist.session_memory.patches import Change
from memorist.session_memory.sentences import shorten
from memorist.session_memory.shell import commit_message, parts_of, restored_by

OPEN_LIMIT = 64
"""Calls waiting for a result; beyond that the oldest, whose result never came, are dropped."""

TOOL_LIMIT = 60
"""Distinct tools counted."""

SEARCH_LIMIT = 30
"""Newest searches kept."""

TASK_LIMIT = 100
"""Tasks kept."""

_ALL = re.compile(r"\sadd\s+(?:-A|--all|\.)(?:\s|$)|\scommit\s+-a")
_SEARCH_WEIGHT = 0.4
_CHANGE_WEIGHT = 0.5
_SIGNED = ("Co-Authored-By", "Signed-off-by", "🤖")


class Open(Struct, frozen=True):
    """A call without a result yet; `kind` is as expected by `outcomes.parse_call_outcome`."""

    action: Action
    kind: str


class Work:
    """The actions of a session. `cwd` is the folder that paths of read files are shown relative to.
    """

    __slots__ = ("_talk", "_turns", "calls", "commands", "cwd", "dirty", "files", "searches", "tasks", "tools")

    def __init__(self, turns: TurnBook, commands: CommandBook, talk: Talk) -> None:
        self._turns = turns
        self._talk = talk
        self.cwd = ""
        self.commands = commands
        self.files = FileBook()
        self.tasks: dict[str, Task] = {}
        self.tools: dict[str, int] = {}
        self.searches: dict[str, None] = {}
        self.dirty: tuple[str, ...] = ()
        """The files in the last `git status`."""
        self.calls: dict[str, Open] = {}

    def call(self, call: ToolUse) -> None:
        """The assistant called a tool."""
        self._talk.called()
        if call.name in self.tools or len(self.tools) < TOOL_LIMIT:
            self.tools[call.name] = self.tools.get(call.name, 0) + 1
        action = action_of(call)
        kind = "file"
        match action:
            case Runs():
                kind = action.kind
                self._commit_words(action)
            case Asks():
                kind = "ask"
            case Proposes(plan=plan):
                kind = "ask"
                self._talk.take(PLAN, plan)
            case Plans() | PlansOne():
                self._planned(action)
            case Reads(what=what) if what:
                self._searched(what)
            case _:
                pass
        self.calls[call.id] = Open(action, kind)
        if len(self.calls) > OPEN_LIMIT:
            del self.calls[next(iter(self.calls))]

    def result(self, result: ToolResult) -> None:
        """A call's result arrived; a result of an unknown call is ignored."""
        call = self.calls.pop(result.tool_use_id, None)
        if call is None:
            return
        ends = ends_of(result)
        outcome = outcome_of(result, call.kind, ends)
        if outcome.rejected:
            self._refused(call.action, outcome)
            return
        match call.action:
            case Runs():
                self._ran(call.action, outcome, ends)
            case Changes(changes=changes):
                self._changed(changes, outcome, ends[0][:200])
            case Reads():
                self._read(call.action, outcome, ends)
            case _:
                self._other(call.action, outcome)

    def stopped(self) -> None:
        """The user interrupted: open calls will get no result."""
        self.calls.clear()

    def _commit_words(self, action: Runs) -> None:
        if action.kind in ("commit", "push") and (words := commit_message(action.command)):
            self._talk.take(COMMIT, "\n".join(line for line in words.split("\n") if not line.startswith(_SIGNED)))

    def _searched(self, what: str) -> None:
        self._talk.pool.count(names(what), _SEARCH_WEIGHT)
        self.searches.pop(what, None)
        self.searches[what] = None
        if len(self.searches) > SEARCH_LIMIT:
            del self.searches[next(iter(self.searches))]

    def _planned(self, action: Plans | PlansOne) -> None:
        if isinstance(action, Plans):
            if action.tasks:
                self.tasks = {str(at): task for at, task in enumerate(action.tasks)}
            if action.why:
                self._talk.take(SAID, action.why)
            return
        key = action.id or str(len(self.tasks) + 1)
        known = self.tasks.get(key)
        text = action.text or (known.text if known else "")
        if text and (known or len(self.tasks) < TASK_LIMIT):
            self.tasks[key] = Task(text[:200], action.status or (known.status if known else "pending"))

    def _refused(self, action: Action, outcome: Outcome) -> None:
        what = subject(action)
        if outcome.said:
            self._talk.asked(outcome.said, f"refusing {what}")
        elif not isinstance(action, Asks):
            self.commands.failed(Failure(what, "", f"refused {what}", "refused", self._turns.now.number))
        self._turns.did(Deed("refused", what, ok=False, line=shorten(outcome.said, 160)))

    def _ran(self, action: Runs, outcome: Outcome, ends: tuple[str, str]) -> None:
        if action.changes:
            self._changed(action.changes, outcome, "")
            return
        if outcome.ok:
            self._looked(action, ends)
            self._settled(action)
        if outcome.ok is None:
            self._turns.did(Deed(action.kind, action.short, ok=None))
            return
        self.commands.ran(action.short, action.kind, outcome, self._turns.now.number)
        self._turns.did(Deed(action.kind, action.short, ok=outcome.ok, line=outcome.line, about=action.about))

    def _settled(self, action: Runs) -> None:
        """A commit makes changes final; a checkout of files undoes their changes."""
        if action.kind == "commit":
            self.files.committed()
            self.dirty = () if _ALL.search(action.command) else self.dirty
        for path in restored_by(action.command) if "git" in action.command else ():
            self.files.restored(path)

    def _looked(self, action: Runs, ends: tuple[str, str]) -> None:
        for path in action.reads:
            self.files.read(path)
        if action.kind != "look":
            return
        if "status" in action.short:
            self.dirty = in_status(ends[0])
        else:
            alone = len(action.reads) == 1 and len(parts_of(action.command)) == 1
            self._showed(ends, action.reads[0] if alone else "")

    def _read(self, action: Reads, outcome: Outcome, ends: tuple[str, str]) -> None:
        path = "" if action.what else next(iter(action.paths), "")
        if outcome.ok:
            if path:
                self.files.read(path)
            self._showed(ends, path)
        self._did("search" if action.what else "read", action.what or path, outcome)

    def _showed(self, ends: tuple[str, str], path: str) -> None:
        """Keep the declarations and comments that a targeted read showed."""
        head, tail = ends
        if tail:
            return
        root = self.cwd.rstrip("/") + "/"
        seen = seen_in(head, path.removeprefix(root))
        for signature in seen.signatures:
            self._talk.pool.note(SHOWN, self._turns.now.number, signature)
        if seen.comments:
            self._talk.take(SHOWN, seen.comments)

    def _changed(self, changes: tuple[Change, ...], outcome: Outcome, answer: str) -> None:
        for change in changes:
            if outcome.ok:
                touched = self.files.change(change, created="creat" in answer)
                self.commands.edited(change.path)
                self._talk.pool.count(touched.names, _CHANGE_WEIGHT)
                if touched.comments:
                    self._talk.take(COMMENT, touched.comments)
            else:
                self.commands.failed(Failure(change.path, outcome.line, f"edit {change.path}", "edit", self._turns.now.number))
            self._turns.did(Deed("edit", change.path, ok=outcome.ok, line=outcome.line))

    def _other(self, action: Action, outcome: Outcome) -> None:
        match action:
            case Asks(questions=questions):
                if outcome.said:
                    self._talk.asked(outcome.said, ANSWERING)
                self._did("ask", " ".join(questions), outcome)
            case Proposes():
                self._did("ask", "plan", outcome)
            case Delegates(what=what):
                self._did("agent", what, outcome)
            case Uses(name=name, detail=detail, paths=paths) if name:
                for path in paths:
                    self.files.read(path)
                self._did("use", f"{name} {detail}".strip(), outcome)
            case _:
                pass

    def _did(self, kind: str, what: str, outcome: Outcome) -> None:
        self._turns.did(Deed(kind, what, ok=outcome.ok, line=outcome.line))


def subject(action: Action) -> str:
    """Describe a call in a few words; used for refusals."""
    what = "a call"
    match action:
        case Runs(short=short):
            what = f"`{shorten(short, 80)}`"
        case Changes(changes=changes) if changes:
            what = f"an edit of {changes[0].path.rsplit('/', 1)[-1]}"
        case Asks():
            what = "a question"
        case Proposes():
            what = "the plan"
        case Uses(name=words) | Delegates(what=words) if words:
            what = shorten(words, 60)
        case _:
            pass
    return what

"""Build the task log of a recorded session in one pass and bounded memory: requests, actions,
failures, fixes, preferences. Pure.

`memorist.rollouts.structural` uses it.
"""

from __future__ import annotations

import re

from msgspec import Struct

from memorist.auto_memory.dates import absolute
from memorist.auto_memory.evidence import typed_words
from memorist.auto_memory.said import Said, said
from memorist.core.messages import Message, Origin, Text, ToolResult, ToolUse
from memorist.formats.recorded import Boundary, Entry
from memorist.rollouts.evidence import pointer
from memorist.rollouts.meaning import Act, act_of
from memorist.rollouts.pollution import pollutes
from memorist.rollouts.raw_memory import Bullet
from memorist.rollouts.rows import OPEN_LIMIT, day
from memorist.rollouts.scope import holds_everywhere
from memorist.rollouts.task_note import CHECKS, ENDING, MOST_WORDS, SHIPPING, Asked, Run, TaskNote
from memorist.session_memory.actions import Action, Asks, Changes, Proposes, Runs, action_of
from memorist.session_memory.ledger_commands import CommandBook, Failure
from memorist.session_memory.ledger_talk import INTERRUPTED
from memorist.session_memory.ledger_work import subject
from memorist.session_memory.outcomes import Outcome, ends_of, outcome_of
from memorist.session_memory.patches import Change
from memorist.session_memory.sentences import shorten
from memorist.session_memory.shell import commit_message

MOST_TASKS = 40
"""Tasks held; at twice the number the least informative ones are dropped."""
MOST_FILES = 60
"""Changed files held per task."""
MOST_COMMANDS = 60
"""Distinct commands held per task."""
ASKED = 600
"""Characters held of one user message."""

JOINED = 4
"""Consecutive user messages that join one task while the agent only replied in text; a further one
begins a task of its own.
"""
_UNDONE = re.compile(r"--(?:abort|quit|dry-run)\b")
_ECHOES = ("Sibling tool call errored", "Cancelled: parallel tool call")
"""What a client reports of calls that never ran because another one failed."""
_LINK = re.compile(r"https?://[^\s<>\"'`)\]]+")
_MARKDOWN = re.compile(r"^[#>*\-\s]+|[*`]{1,3}|^\|.*$", re.MULTILINE)


class _Open(Struct, frozen=True):
    action: Action
    kind: str


class Gathering:
    """Builds the tasks of a session, entry by entry."""

    def __init__(self) -> None:
        self.tasks: list[TaskNote] = []
        self.commands = CommandBook()
        """Its turns are task numbers."""
        self.outside = False
        """Content from the web or from an MCP server came in (RO-9)."""
        self.spoke = False
        """The agent said or did something."""
        self.first_line = self.order = 0
        self._open: dict[str, _Open] = {}
        self._count = 0

    @property
    def now(self) -> TaskNote:
        """The task under way; one without a request if the session begins without."""
        return self.tasks[-1] if self.tasks else self._begin()

    def add(self, entry: Entry) -> None:
        """Process the next entry."""
        if not isinstance(entry, Message) or isinstance(entry, Boundary):
            return
        self.order += 1
        self.outside = self.outside or pollutes(entry)
        if entry.text[:80].lstrip().startswith(INTERRUPTED):
            self.now.interrupted = True
            self._open.clear()
        if entry.origin is Origin.USER:
            self._typed(entry)
        for block in entry.blocks:
            match block:
                case ToolUse():
                    self._call(block)
                case ToolResult():
                    self._answer(block, entry)
                case Text(text=text, origin=None) if entry.origin is Origin.MODEL and text.strip():
                    self._said(text, entry.line)
                case _:
                    pass

    def _begin(self) -> TaskNote:
        self._count += 1
        self.tasks.append(TaskNote(self._count))
        if len(self.tasks) > 2 * MOST_TASKS:
            self._shed()
        return self.tasks[-1]

    def _shed(self) -> None:
        """Drop the least informative tasks; their user preferences move to the task after."""
        newest = self.tasks[-MOST_TASKS // 2 :]
        kept = {id(each) for each in sorted(self.tasks[: -MOST_TASKS // 2], key=lambda each: -each.weight)[: MOST_TASKS // 2]}
        kept |= {id(each) for each in newest}
        carried: list[Bullet] = []
        for task in self.tasks:
            if id(task) not in kept:
                carried += task.preferences
            elif carried:
                task.preferences, carried = [*carried, *task.preferences][-MOST_TASKS:], []
        self.tasks = [task for task in self.tasks if id(task) in kept]

    def _typed(self, message: Message) -> None:
        words = typed_words(message)
        if not words:
            return
        act = act_of(words, first=not any(task.asked for task in self.tasks))
        if act is Act.COMMAND:
            return
        wishes = [wish for wish in said(message) if wish.act != "forget"]
        if act is Act.BEGINS and self.tasks and 2 * sum(len(wish.quote) for wish in wishes) > len(words):
            act = Act.GOES_ON  # a rule for later is no task
        # Where nothing was done since the last request, this one is about the same.
        worked = bool(self.tasks) and (self.now.calls > 0 or len(self.now.asked) >= JOINED)
        task = self._begin() if act is Act.BEGINS and (worked or not self.tasks) else self.now
        self._heard(task, Asked(shorten(words, ASKED), message.line, day(message.timestamp), act))
        task.preferences += [_preference(wish, message) for wish in wishes]
        if act is Act.CORRECTS and not wishes:
            task.corrected.append(_bullet(f"The user put it right: “{shorten(words, 280)}”", message))
        for link in _LINK.findall(words[:20_000])[:8]:
            task.links.setdefault(link[:300].rstrip(".,;:"), message.line)

    def _heard(self, task: TaskNote, asked: Asked) -> None:
        """Record a user message and its effect on the task."""
        task.open_ending = False
        task.date = task.date or asked.date
        if task.asked and asked.text.startswith(task.asked[-1].text.removesuffix(" …")[:60]) and len(task.asked[-1].text) > 20:
            task.asked[-1] = asked  # the same words again, perhaps with more of them
        elif len(task.asked) < MOST_WORDS:
            task.asked.append(asked)
        if asked.act is Act.ACCEPTS:
            task.accept_order = self.order
        elif asked.act is Act.CORRECTS:
            task.complaint_order = self.order

    def _said(self, text: str, line: int) -> None:
        self.spoke = True
        task = self.now
        plain = shorten(_MARKDOWN.sub("", text[: 4 * ENDING]), ENDING)
        if task.open_ending:
            task.endings.pop()
        if len(task.endings) > 1:
            task.endings = [max(task.endings, key=lambda ending: min(len(ending[0]), ENDING // 2))]
        task.endings.append((plain, line))
        task.open_ending = True

    def _call(self, call: ToolUse) -> None:
        self.spoke = True
        task = self.now
        task.calls += 1
        if task.open_ending:
            task.endings.pop()  # it was said on the way
            task.open_ending = False
        action = action_of(call)
        kind = action.kind if isinstance(action, Runs) else "ask" if isinstance(action, Asks | Proposes) else "file"
        self._open[call.id] = _Open(action, kind)
        if len(self._open) > OPEN_LIMIT:
            del self._open[next(iter(self._open))]

    def _answer(self, result: ToolResult, message: Message) -> None:
        call = self._open.pop(result.tool_use_id, None)
        if call is None:
            return
        outcome = outcome_of(result, call.kind, ends_of(result))
        if outcome.said and (outcome.rejected or call.kind == "ask"):
            self._told(call.action, outcome, message)
        elif outcome.rejected:
            self.now.interrupted = True
        elif isinstance(call.action, Runs):
            self._ran(call.action, outcome, message.line)
        elif isinstance(call.action, Changes):
            self._changed(call.action.changes, outcome)

    def _told(self, action: Action, outcome: Outcome, message: Message) -> None:
        """Record the user's answer to a question, or words that refused a call."""
        if outcome.rejected:
            self.now.complaint_order = self.order
            self.now.corrected.append(_bullet(f"The user refused {subject(action)}: “{shorten(outcome.said, 280)}”", message))
        else:
            answers = [line for line in outcome.said.split("\n") if line.strip() and not _ASIDE.search(line)]
            self.now.decided = [*self.now.decided, *(_bullet(f"The user answered {line}", message) for line in answers)][-MOST_WORDS:]

    def _ran(self, action: Runs, outcome: Outcome, line: int) -> None:
        if action.changes:
            self._changed(action.changes, outcome)
            return
        if outcome.ok is None:
            return
        task = self.now
        if outcome.ok is False and outcome.line.startswith(_ECHOES):
            return
        self.commands.ran(action.short, action.kind, outcome, task.number)
        if action.kind == "look":
            return
        run = task.runs.get(action.short)
        if run is None:
            if len(task.runs) >= MOST_COMMANDS:
                del task.runs[next(iter(task.runs))]
            run = task.runs[action.short] = Run(action.kind)
        run.runs += 1
        run.failures += outcome.ok is False
        run.order, run.line, run.last = self.order, line, outcome
        if action.kind in CHECKS or (action.kind in SHIPPING and not _UNDONE.search(action.short)):
            # A merge that meets conflicts has not failed: they are the work that follows.
            if outcome.ok or action.kind != "merge":
                task.checks[action.kind] = (outcome.ok, self.order, action.short)
            words = outcome.line or (commit_message(action.command).partition("\n")[0] if action.kind == "commit" else "")
            if outcome.ok and words and action.kind in SHIPPING and len(task.commits) < MOST_WORDS:
                task.commits.append((words, line))

    def _changed(self, changes: tuple[Change, ...], outcome: Outcome) -> None:
        for change in changes:
            if outcome.ok is False:
                self.commands.failed(Failure(change.path, outcome.line, f"edit {change.path}", "edit", self.now.number))
                continue
            self.commands.edited(change.path)
            self.now.edit_order = self.order
            if change.path in self.now.edited or len(self.now.edited) < MOST_FILES:
                self.now.edited[change.path] = self.now.edited.get(change.path, 0) + 1


_ASIDE = re.compile(
    r"→ (?:next\b|done\b|you decide|skip|continue|move on|that['’]?s all|no(?:pe)?[.,!]?$|.{0,300}\?$)|^“more questions", re.IGNORECASE
)
"""Answers that decide nothing: going on, leaving it to the agent, a question back."""


def _preference(wish: Said, message: Message) -> Bullet:
    """Build a preference from the user's statement, with absolute dates.

    About the user, or about all projects, it holds everywhere (RO-7).
    """
    everywhere = holds_everywhere(wish.quote)
    made = _bullet(absolute(wish.text, message.timestamp), message)
    return Bullet(text=made.text, proof="said", date=made.date, evidence=made.evidence, scope="global" if everywhere else None)


def _bullet(text: str, message: Message) -> Bullet:
    return Bullet(text=text, proof="said", date=day(message.timestamp), evidence=pointer(message.line))

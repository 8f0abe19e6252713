"""The facts a session's transcript proves, collected message by message at constant cost and in
bounded memory (SM-13). Pure.

`TranscriptLedger.add` takes the messages one by one; `render_structural_sections` turns a ledger
into notes on demand. A ledger can be rebuilt from the transcript, so it has no file of its own
(SM-14).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

from memorist.core.apply_patch import FileEdit
from memorist.core.bounded_collections import BoundedDict
from memorist.core.messages import Message, Origin, TextBlock, ThinkingBlock, ToolResult, ToolUse
from memorist.core.sentences import keep_start_and_end, shorten_to_one_line
from memorist.core.text_analysis import find_identifiers
from memorist.formats.host_markup import is_interruption_notice, strip_host_markup
from memorist.safety.secrets import redact
from memorist.transcript_analysis.background_work import (
    UnfinishedBackgroundCalls,
    UnfinishedBackgroundWorkTracker,
    is_plan_path,
)
from memorist.transcript_analysis.call_outcome import (
    CallOutcome,
    get_result_head_and_tail,
    parse_call_outcome,
)
from memorist.transcript_analysis.code_outline import extract_code_outline
from memorist.transcript_analysis.command_lines import (
    find_commit_or_pr_message,
    find_deleted_files,
    find_restored_files,
    split_chained_commands,
)
from memorist.transcript_analysis.command_log import CommandAndFailureLog, RecordedFailure
from memorist.transcript_analysis.note_sentence_pool import (
    COMMENT,
    COMMIT,
    EARLIER,
    PLAN,
    SAID,
    SHOWN,
    THOUGHT,
)
from memorist.transcript_analysis.session_dialogue import ANSWERING, SessionDialogue
from memorist.transcript_analysis.session_file_log import SessionFileLog, list_git_status_files
from memorist.transcript_analysis.tool_actions import (
    AskUserAction,
    ChangeAction,
    CommandAction,
    DelegateAction,
    OtherToolAction,
    ProposePlanAction,
    ReadAction,
    TaskItem,
    TaskListAction,
    TaskUpdateAction,
    ToolAction,
    parse_tool_action,
)
from memorist.transcript_analysis.turn_log import StepAction, TurnLog

# What was done in a session: calls and their results, recorded as files, commands, tasks and
# steps.


MAX_OPEN_CALLS = 64
"""Calls waiting for a result; beyond that the oldest, whose result never came, are dropped."""

MAX_COUNTED_TOOLS = 60
"""Distinct tools counted."""

MAX_SEARCHES = 30
"""Newest searches kept."""

MAX_TASKS = 100
"""Tasks kept."""

_COMMITS_ALL = re.compile(r"\sadd\s+(?:-A|--all|\.)(?:\s|$)|\scommit\s+-a")
_SEARCH_WEIGHT = 0.4
_CHANGE_WEIGHT = 0.5
_SIGNATURE_STARTS = ("Co-Authored-By", "Signed-off-by", "🤖")


class SessionActions:
    """The actions of a session. `cwd` is the folder that paths of read files are shown relative
    to.
    """

    __slots__ = (
        "_followed", "_talk", "_turns", "background", "calls", "commands", "cwd", "dirty",
        "files", "has_unseen_work", "plan", "plan_path", "searches", "tasks", "tools",
    )  # fmt: skip

    def __init__(
        self, turns: TurnLog, commands: CommandAndFailureLog, talk: SessionDialogue
    ) -> None:
        self._turns = turns
        self._talk = talk
        self.cwd = ""
        self.commands = commands
        self.files = SessionFileLog()
        self.tasks: dict[str, TaskItem] = {}
        self.tools: dict[str, int] = {}
        self.searches: dict[str, None] = BoundedDict(MAX_SEARCHES)
        self.dirty: tuple[str, ...] = ()
        """The files in the last `git status`."""
        self.plan = ""
        """The newest plan that the user was shown and did not refuse."""
        self.plan_path = ""
        """The file that holds the newest plan, where one does."""
        self.background = UnfinishedBackgroundWorkTracker()
        self.has_unseen_work = False
        """Whether a sub-agent, a tool of which nothing is known, or an earlier part of the session
        that only a summary tells of, may have changed files.
        """
        self._followed: UnfinishedBackgroundCalls[ToolAction] = UnfinishedBackgroundCalls()
        self.calls: dict[str, ToolAction] = BoundedDict(MAX_OPEN_CALLS)

    @property
    def user_words(self) -> str:
        """What the user said, as far as it is kept."""
        return "\n".join(part.text for ask in self._talk.asks for part in ask.sentences)

    def on_tool_call(self, call: ToolUse) -> None:
        """The assistant called a tool."""
        self._talk.on_tool_call()
        self.background.on_tool_call(call)
        self._followed.on_tool_call(call)
        if call.name in self.tools or len(self.tools) < MAX_COUNTED_TOOLS:
            self.tools[call.name] = self.tools.get(call.name, 0) + 1
        action = parse_tool_action(call)
        match action:
            case CommandAction():
                self._add_commit_message(action)
            case ProposePlanAction(plan=plan):
                self.plan = plan
                self._talk.add_text(PLAN, plan)
            case TaskListAction() | TaskUpdateAction():
                self._update_tasks(action)
            case ReadAction(what=what) if what:
                self._record_search(what)
            case _:
                pass
        self.calls[call.id] = action

    def on_tool_result(self, result: ToolResult) -> None:
        """A call's result arrived; a result of an unknown call is ignored."""
        called = self.calls.pop(result.tool_use_id, None)
        if called is None:
            return
        self.background.on_tool_result(result, describe_tool_action(called))
        action = self._followed.find_answered_call(result, called)
        ends = get_result_head_and_tail(result)
        outcome = parse_call_outcome(result, action, ends)
        if outcome.rejected:
            self._record_refusal(action, outcome)
            return
        match action:
            case CommandAction():
                self._record_command(action, outcome, ends)
            case ChangeAction(changes=changes):
                self._record_changes(changes, outcome, ends[0][:200])
            case ReadAction():
                self._record_read(action, outcome, ends)
            case _:
                self._record_other_action(action, outcome)

    def on_interrupt(self) -> None:
        """The user interrupted: open calls will get no result."""
        self.calls.clear()

    def _add_commit_message(self, action: CommandAction) -> None:
        if action.kind in ("commit", "push") and (
            words := find_commit_or_pr_message(action.command)
        ):
            self._talk.add_text(
                COMMIT,
                "\n".join(
                    line for line in words.split("\n") if not line.startswith(_SIGNATURE_STARTS)
                ),
            )

    def _record_search(self, what: str) -> None:
        self._talk.pool.add_name_weight(find_identifiers(what), _SEARCH_WEIGHT)
        self.searches.pop(what, None)
        self.searches[what] = None

    def _update_tasks(self, action: TaskListAction | TaskUpdateAction) -> None:
        if isinstance(action, TaskListAction):
            if action.tasks:
                self.tasks = {str(at): task for at, task in enumerate(action.tasks)}
            if action.explanation:
                self._talk.add_text(SAID, action.explanation)
            return
        key = action.id or str(len(self.tasks) + 1)
        known = self.tasks.get(key)
        text = action.text or (known.text if known else "")
        if text and (known or len(self.tasks) < MAX_TASKS):
            self.tasks[key] = TaskItem(
                text[:200], action.status or (known.status if known else "pending")
            )

    def _record_refusal(self, action: ToolAction, outcome: CallOutcome) -> None:
        what = describe_tool_action(action)
        if isinstance(action, ProposePlanAction):
            self.plan = self.plan_path = ""
        if outcome.user_text:
            self._talk.record_user_text(outcome.user_text, f"refusing {what}")
        elif not isinstance(action, AskUserAction):
            self.commands.record_failure(
                RecordedFailure(
                    what, "", f"refused {what}", "refused", self._turns.current_turn.number
                )
            )
        self._turns.record_action(
            StepAction("refused", what, ok=False, line=shorten_to_one_line(outcome.user_text, 160))
        )

    def _record_command(
        self, action: CommandAction, outcome: CallOutcome, ends: tuple[str, str]
    ) -> None:
        if action.changes:
            self._record_changes(action.changes, outcome, "")
            return
        if outcome.ok:
            self._record_look(action, ends)
            self._record_commit_or_restore(action)
        if outcome.ok is None:
            if not action.is_output_filtered:
                self._turns.record_action(StepAction(action.kind, action.short_command, ok=None))
            return
        self.commands.record_outcome(
            action.short_command,
            action.kind,
            outcome,
            self._turns.current_turn.number,
            escalated=action.escalated,
        )
        self._turns.record_action(
            StepAction(
                action.kind,
                action.short_command,
                ok=outcome.ok,
                line=outcome.line,
                about=action.description,
            )
        )

    def _record_commit_or_restore(self, action: CommandAction) -> None:
        """A commit makes changes final; a checkout of files undoes their changes, and a deletion
        takes the file away.
        """
        if action.kind == "commit":
            self.files.on_commit()
            self.dirty = () if _COMMITS_ALL.search(action.command) else self.dirty
        for path in find_restored_files(action.command) if "git" in action.command else ():
            self.files.on_restore(path)
        for path in find_deleted_files(action.command):
            self.files.on_delete(path)
            if "/" not in path and self.cwd:
                self.files.on_delete(f"{self.cwd}/{path}")

    def _record_look(self, action: CommandAction, ends: tuple[str, str]) -> None:
        for path in action.reads:
            self.files.record_read(path)
        if action.kind != "look":
            return
        if "status" in action.short_command:
            self.dirty = list_git_status_files(ends[0])
        else:
            alone = len(action.reads) == 1 and len(split_chained_commands(action.command)) == 1
            self._record_shown_code(ends, action.reads[0] if alone else "")

    def _record_read(self, action: ReadAction, outcome: CallOutcome, ends: tuple[str, str]) -> None:
        path = "" if action.what else next(iter(action.paths), "")
        if outcome.ok:
            if path:
                self.files.record_read(path, ends[0])
            self._record_shown_code(ends, path)
        self._record_action("search" if action.what else "read", action.what or path, outcome)

    def _record_shown_code(self, ends: tuple[str, str], path: str) -> None:
        """Keep the declarations and comments that a targeted read showed."""
        head, tail = ends
        if tail:
            return
        root = self.cwd.rstrip("/") + "/"
        seen = extract_code_outline(head, path.removeprefix(root))
        for signature in seen.signatures:
            self._talk.pool.add_text_as_one_sentence(
                SHOWN, self._turns.current_turn.number, signature
            )
        if seen.comments:
            self._talk.add_text(SHOWN, seen.comments)

    def _record_changes(
        self, changes: tuple[FileEdit, ...], outcome: CallOutcome, answer: str
    ) -> None:
        for change in changes:
            if outcome.ok:
                self.plan_path = change.path if is_plan_path(change.path) else self.plan_path
                touched = self.files.record_change(change, created="creat" in answer)
                self.commands.record_edit(change.path)
                self._talk.pool.add_name_weight(touched.names, _CHANGE_WEIGHT)
                if touched.comments:
                    self._talk.add_text(COMMENT, touched.comments)
            else:
                self.commands.record_failure(
                    RecordedFailure(
                        change.path,
                        outcome.line,
                        f"edit {change.path}",
                        "edit",
                        self._turns.current_turn.number,
                    )
                )
            self._turns.record_action(
                StepAction("edit", change.path, ok=outcome.ok, line=outcome.line)
            )

    def _record_other_action(self, action: ToolAction, outcome: CallOutcome) -> None:
        match action:
            case AskUserAction(questions=questions):
                if outcome.user_text:
                    self._talk.record_user_text(outcome.user_text, ANSWERING)
                self._record_action("ask", " ".join(questions), outcome)
            case ProposePlanAction():
                self._record_action("ask", "plan", outcome)
            case DelegateAction(what=what):
                self.has_unseen_work = True
                self._record_action("agent", what, outcome)
            case OtherToolAction(name=name, detail=detail, paths=paths) if name:
                self.has_unseen_work = True
                for path in paths:
                    self.files.record_read(path)
                self._record_action("use", f"{name} {detail}".strip(), outcome)
            case _:
                pass

    def _record_action(self, kind: str, what: str, outcome: CallOutcome) -> None:
        self._turns.record_action(StepAction(kind, what, ok=outcome.ok, line=outcome.line))


def describe_tool_action(action: ToolAction) -> str:
    """Describe a call in a few words; used for refusals."""
    what = "a call"
    match action:
        case CommandAction(short_command=short):
            what = f"`{shorten_to_one_line(short, 80)}`"
        case ChangeAction(changes=changes) if changes:
            what = f"an edit of {changes[0].path.rsplit('/', 1)[-1]}"
        case AskUserAction():
            what = "a question"
        case ProposePlanAction():
            what = "the plan"
        case OtherToolAction(name=words) | DelegateAction(what=words) if words:
            what = shorten_to_one_line(words, 60)
        case _:
            pass
    return what


MAX_THOUGHT_CHARACTERS = 3_000
"""Characters of one piece of reasoning that are examined."""

MAX_UNREAD_MESSAGES = 64
"""Messages that may wait to be processed; the notes are usually updated before there are so many.
"""


class TranscriptLedger:
    """The ledger of one session.

    `cwd` is the folder it ran in, if known: paths below it are shown relative to it. `title` and
    `branch` are what the file says of the session.

    Messages are processed lazily, when the ledger is read (mostly the notes update in the
    background), so that adding one on a host's request path is cheap.
    """

    __slots__ = ("_talk", "_turns", "_unread", "_work", "boundaries", "branch", "messages", "title")

    def __init__(self, cwd: str = "", *, title: str = "", branch: str = "") -> None:
        self.title = title
        self.branch = branch
        self.messages = 0
        self._unread: deque[Message] = deque()
        self._turns = TurnLog()
        commands = CommandAndFailureLog()
        self._talk = SessionDialogue(self._turns, commands)
        self._work = SessionActions(self._turns, commands, self._talk)
        self._work.cwd = cwd

    @property
    def turns(self) -> TurnLog:
        """The turns and their steps."""
        self._process_unread()
        return self._turns

    @property
    def dialogue(self) -> SessionDialogue:
        """What the user and the assistant said."""
        self._process_unread()
        return self._talk

    @property
    def work_record(self) -> SessionActions:
        """What was done: files, commands, tasks."""
        self._process_unread()
        return self._work

    @property
    def cwd(self) -> str:
        """The folder that the session ran in; empty if unknown."""
        return self._work.cwd

    @cwd.setter
    def cwd(self, folder: str) -> None:
        self.work_record.cwd = folder

    def add(self, message: Message) -> None:
        """Add the next message of the conversation."""
        self.messages += 1
        self._unread.append(message)
        if len(self._unread) > MAX_UNREAD_MESSAGES:
            # One and not all of them: a history that is read in at once gives others their turn.
            self._process_message(self._unread.popleft())

    def process_pending(self) -> None:
        """Process the added messages now, at a time when nobody waits."""
        self._process_unread()

    def process_in_steps(self) -> Iterator[None]:
        """Process the messages added since the last time, and pause after each."""
        while self._unread:
            self._process_message(self._unread.popleft())
            yield

    def _process_unread(self) -> None:
        """Process the messages added since the last time."""
        for _ in self.process_in_steps():
            pass

    def _process_message(self, message: Message) -> None:
        for block in message.blocks:
            match block:
                case TextBlock(text=text, origin=origin):
                    # While lines are lines: a password that is a word is known by the line it has.
                    self._process_text(redact(text).text, origin or message.origin)
                case ThinkingBlock(text=text) if text:
                    self._talk.add_text(THOUGHT, keep_start_and_end(text, MAX_THOUGHT_CHARACTERS))
                case ToolUse():
                    self._work.on_tool_call(block)
                case ToolResult():
                    self._work.on_tool_result(block)
                case _:
                    pass

    def on_compaction(self) -> None:
        """The recorded agent compacted its context here."""
        self.turns.current_turn.compacted = True

    def on_rollback(self, removed: Iterable[Message]) -> None:
        """The user rolled back the newest turns, with these messages: what was said in them does
        not hold. What was done in them stays: no file is as it was before.
        """
        typed = (
            block.text
            for message in removed
            for block in message.blocks
            if isinstance(block, TextBlock) and (block.origin or message.origin) is Origin.USER
        )
        self.dialogue.drop_turns(sum(bool(strip_host_markup(text).strip()) for text in typed))

    def _process_text(self, text: str, origin: Origin) -> None:
        if origin is Origin.MODEL:
            self._talk.on_assistant_text(text)
        elif origin is Origin.SUMMARY:
            self._talk.add_text(EARLIER, text)
            if not self._work.tools:
                self._work.has_unseen_work = True
        else:
            if origin is not Origin.USER:
                self._work.background.on_host_text(text)
            if is_interruption_notice(text):
                self._talk.on_interrupt()
                self._work.on_interrupt()
            if origin is Origin.USER:
                self._talk.on_user_text(text)

"""Build the task log of a recorded session in one pass and bounded memory: requests, actions,
failures, fixes, preferences. Pure.

`memorist.rollouts.structural_stage_one` uses it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from memorist.auto_memory.quotation_proof import find_statements_in_user_words
from memorist.auto_memory.relative_dates import make_dates_absolute
from memorist.auto_memory.retractions import takes_back
from memorist.auto_memory.statements.composite_message import is_composite_message
from memorist.auto_memory.statements.every_project_request import asks_for_every_project
from memorist.auto_memory.statements.no_memory_and_pin_requests import message_asks_for_no_memory
from memorist.auto_memory.statements.statement_parser import Statement, has_line_about_other_text
from memorist.auto_memory.statements.statement_scope import applies_to_every_project
from memorist.auto_memory.statements.statement_similarity import is_same_rule
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.auto_memory.statements.user_prose import (
    contains_unattributable_text,
    extract_redacted_user_text,
    names_speaker,
)
from memorist.auto_memory.write_evidence import extract_text_before_others_words
from memorist.core.apply_patch import FileEdit
from memorist.core.bounded_collections import BoundedDict
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin, TextBlock, ToolResult, ToolUse, UnknownBlock
from memorist.core.sentences import shorten_to_one_line
from memorist.core.utc_time import format_utc_day
from memorist.formats.host_markup import is_interruption_notice
from memorist.formats.transcript_format import CompactionBoundary, TranscriptEntry
from memorist.rollouts.evidence_rows import MAX_OPEN_CALLS
from memorist.rollouts.raw_memory import SAID_PREFIX, MemoryBullet
from memorist.rollouts.session_evidence import render_line_number
from memorist.rollouts.user_reactions import (
    MAX_LASTING_CHARACTERS,
    UserReaction,
    classify_user_reaction,
    find_agreed_proposal,
    find_habit_and_decision_sentences,
    may_hold_in_later_sessions,
)
from memorist.safety.redacted_json import redact_message
from memorist.transcript_analysis.background_work import UnfinishedBackgroundCalls
from memorist.transcript_analysis.call_outcome import (
    CallOutcome,
    get_result_head_and_tail,
    parse_call_outcome,
)
from memorist.transcript_analysis.command_lines import CHECK_KINDS, find_commit_or_pr_message
from memorist.transcript_analysis.command_log import CommandRunCounts
from memorist.transcript_analysis.tool_actions import (
    ChangeAction,
    CommandAction,
    ToolAction,
    find_call_kind,
    parse_tool_action,
)
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger, describe_tool_action

# The record of one task of a recorded session during its scan. Values only.


MAX_TASK_REQUESTS = 24
"""User messages held of a task."""
MAX_REPLY_CHARACTERS = 6_000
"""Characters held of the agent's last words, from their end."""

SHIPPING = frozenset({"commit", "push", "merge"})


class TaskUserMessage(Struct, frozen=True):
    """A user message that belongs to a task."""

    text: str
    line: int
    date: str
    reaction: UserReaction
    turn: int = 0
    """Its turn in the ledger."""
    typed_text: str = ""
    """The words that the user typed to the agent: nothing pasted, nothing piped."""


class CommitPushOrMerge(Struct, frozen=True):
    """A commit, push or merge that succeeded: its kind, the telling line of its output, and the
    line of the session's file.
    """

    kind: str
    text: str
    line: int


class OpenedPullRequestOrIssue(Struct):
    """A pull request or an issue that a command opened: its title, branch, address if known, and
    the line of the session's file.
    """

    title: str
    branch: str
    line: int
    address: str = ""


MAX_LOGGED_COMMANDS = 60
"""Distinct commands held per task."""


class TaskRecord(Struct):
    """What is known of one task. Orders count messages of the session."""

    number: int
    requests: list[TaskUserMessage] = field(default_factory=list)
    edited: dict[str, int] = field(default_factory=dict)
    runs: dict[str, CommandRunCounts] = field(
        default_factory=partial(BoundedDict, MAX_LOGGED_COMMANDS)
    )
    shipped: list[CommitPushOrMerge] = field(default_factory=list)
    checks: dict[str, tuple[bool, int, str]] = field(default_factory=dict)
    """The last outcome of each kind of check and of shipping: success, order, and command."""
    edit_order: int = -1
    accept_order: int = -1
    complaint_order: int = -1
    interrupted: bool = False
    calls: int = 0
    first_turn: int = 0
    last_turn: int = 0
    """Turns of the ledger that belong to it, both included."""
    preferences: list[MemoryBullet] = field(default_factory=list)
    decided: list[MemoryBullet] = field(default_factory=list)
    corrected: list[MemoryBullet] = field(default_factory=list)
    opened: list[OpenedPullRequestOrIssue] = field(default_factory=list)
    links: dict[str, int] = field(default_factory=dict)
    """Addresses that the user gave, and the line."""
    date: str = ""

    @property
    def information_weight(self) -> int:
        """How informative it is."""
        talk = len(self.preferences) + len(self.corrected) + len(self.decided)
        return (
            4 * len(self.edited)
            + 4 * len(self.shipped)
            + min(20, self.calls)
            + 10 * talk
            + min(4, len(self.requests))
        )


MAX_LOGGED_TASKS = 40
"""Tasks held; at twice the number the least informative ones are dropped."""


MAX_LOGGED_FILES = 60
"""Changed files held per task."""


MAX_REQUEST_CHARACTERS = 600
"""Characters held of one user message."""


MAX_REPLY_LINES = 400
"""Turns of which the line of the reply is held."""


AGREED_PREFIX = "The user said "
"""Prefix of an entry about a proposal that the user agreed to."""


MAX_AGREED_CHARACTERS = 120
"""Characters of the words that agreed."""


MAX_PROBABLE_CHARACTERS = 600
"""Characters of a message whose probable rules are kept: longer ones are mostly briefings."""


MAX_JOINED_REQUESTS = 4
"""Consecutive user messages that join one task while the agent only replied in text; a further one
begins a task of its own.
"""


_SHIPS_NOTHING = re.compile(r"--(?:abort|quit|dry-run)\b|\bgit\s+(?:-\S+\s+\S+\s+)?pull\b")
"""Work that is called off or brought in ships nothing of one's own."""


_NOT_RUN_ERRORS = ("Sibling tool call errored", "Cancelled: parallel tool call")
"""What a client reports of calls that never ran because another one failed."""


_LINK = re.compile(r"https?://[^\s<>\"'`)\]]+")


_OPENS = lazy_pattern(r"\b(?:gh\s+(?:pr|issue)|glab\s+(?:mr|issue))\s+(?:create|new)\b")


_OPENED_ADDRESS = lazy_pattern(r"https?://[^\s<>\"'`)\]]+/(?:pull|issues|merge_requests)/\d+")


_HEAD_BRANCH = lazy_pattern(r"(?:--head|--source-branch|-H)[= ][\"']?(?:\w+:)?([\w./-]+)")


MAX_OPENED_REQUESTS = 8
"""Pull requests and issues held per task."""


class TaskLogBuilder:
    """Builds the tasks of a session, entry by entry."""

    def __init__(self) -> None:
        self.tasks: list[TaskRecord] = []
        self.ledger = TranscriptLedger()
        """What was said and done, turn by turn; a task names its turns."""
        self.reply_lines: dict[int, int] = BoundedDict(MAX_REPLY_LINES)
        """The line of the agent's last words in each of the newest turns."""
        self.saw_outside_content = False
        """Content from the web or from an MCP server came in (RO-9)."""
        self.agent_acted = False
        """The agent said or did something."""
        self.has_probable_rule = False
        """The user said what probably is to last, though it is not certain enough to be kept."""
        self.is_memory_unwanted = False
        """The user said that nothing of this session is to be remembered."""
        self.order = 0
        self._evidence_before = ""
        """What the entries that the user's last message led to rest on."""
        self._last_reply = ""
        self._open: dict[str, ToolAction] = BoundedDict(MAX_OPEN_CALLS)
        self._followed: UnfinishedBackgroundCalls[ToolAction] = UnfinishedBackgroundCalls()
        self._count = 0

    @property
    def has_exchange(self) -> bool:
        """Whether something was asked and the agent said or did something, in a session that may be
        remembered.
        """
        asked = any(task.requests for task in self.tasks)
        return self.agent_acted and asked and not self.is_memory_unwanted

    @property
    def current_task(self) -> TaskRecord:
        """The task under way; one without a request if the session begins without."""
        return self.tasks[-1] if self.tasks else self._begin_task()

    def add(self, entry: TranscriptEntry) -> None:
        """Process the next entry."""
        if not isinstance(entry, Message) or isinstance(entry, CompactionBoundary):
            return
        entry = redact_message(entry)
        self.order += 1
        self.ledger.add(entry)
        self.saw_outside_content = self.saw_outside_content or message_involves_web_or_mcp(entry)
        if is_interruption_notice(entry.text):
            self.current_task.interrupted = True
            self._open.clear()
        if entry.origin is Origin.USER:
            self._on_user_message(entry)
        for block in entry.blocks:
            match block:
                case ToolUse():
                    self._on_tool_call(block)
                case ToolResult():
                    self._on_tool_result(block, entry)
                case TextBlock(text=text, origin=None) if (
                    entry.origin is Origin.MODEL and text.strip()
                ):
                    self._on_reply_text(text, entry.line)
                case _:
                    pass

    def _begin_task(self) -> TaskRecord:
        self._count += 1
        self.tasks.append(TaskRecord(self._count))
        if len(self.tasks) > 2 * MAX_LOGGED_TASKS:
            self._drop_least_tasks()
        return self.tasks[-1]

    def _drop_least_tasks(self) -> None:
        """Drop the least informative tasks; their user preferences move to the task after."""
        newest = self.tasks[-MAX_LOGGED_TASKS // 2 :]
        kept = {
            id(each)
            for each in sorted(
                self.tasks[: -MAX_LOGGED_TASKS // 2], key=lambda each: -each.information_weight
            )[: MAX_LOGGED_TASKS // 2]
        }
        kept |= {id(each) for each in newest}
        carried: list[MemoryBullet] = []
        for task in self.tasks:
            if id(task) not in kept:
                carried += task.preferences
            elif carried:
                task.preferences, carried = [*carried, *task.preferences][-MAX_LOGGED_TASKS:], []
        self.tasks = [task for task in self.tasks if id(task) in kept]

    def _on_user_message(self, message: Message) -> None:
        words = extract_redacted_user_text(message)
        if not words:
            return
        act = classify_user_reaction(words, first=not any(task.requests for task in self.tasks))
        if act is UserReaction.COMMAND:
            if self.tasks:
                self.current_task.last_turn = self.ledger.turns.count
            return
        self.is_memory_unwanted |= message_asks_for_no_memory(message)
        stated = find_statements_in_user_words(message)
        self._drop_retracted_preferences(stated)
        if asks_for_every_project(message):
            self._widen_newest_preferences()
        self._evidence_before = render_line_number(message.line)
        statements = [statement for statement in stated if statement.act != "forget"]
        own = extract_text_before_others_words(words) if message.is_typed else ""
        probable = _find_probable_rules(message, own, words) if own and not statements else []
        self.has_probable_rule |= bool(probable or find_unconfirmed_statements(message))
        if (
            act is UserReaction.BEGINS
            and self.tasks
            and 2 * sum(len(statement.quote) for statement in statements) > len(words)
        ):
            act = UserReaction.GOES_ON  # a rule for later is no task
        # Where nothing was done since the last request, this one is about the same.
        worked = bool(self.tasks) and (
            self.current_task.calls > 0 or len(self.current_task.requests) >= MAX_JOINED_REQUESTS
        )
        task = (
            self._begin_task()
            if act is UserReaction.BEGINS and (worked or not self.tasks)
            else self.current_task
        )
        self._add_request(
            task,
            TaskUserMessage(
                shorten_to_one_line(words, MAX_REQUEST_CHARACTERS),
                message.line,
                format_utc_day(message.timestamp),
                act,
                self.ledger.turns.count,
                own,
            ),
        )
        task.preferences += [_build_preference(statement, message) for statement in statements]
        task.preferences += [_build_bullet(f"{SAID_PREFIX}“{each}”", message) for each in probable]
        agreed = find_agreed_proposal(own, self._last_reply) if own and not statements else ""
        if agreed:
            task.decided.append(
                _build_bullet(
                    f"{AGREED_PREFIX}“{shorten_to_one_line(words, MAX_AGREED_CHARACTERS)}” "
                    f"to the agent's proposal: {agreed}",
                    message,
                )
            )
        self._last_reply = ""
        for link in _LINK.findall(words[:20_000])[:8]:
            task.links.setdefault(link[:300].rstrip(".,;:"), message.line)

    def _widen_newest_preferences(self) -> None:
        """What the user's last message stated holds in every project."""
        for task in self.tasks:
            task.preferences = [
                replace(each, scope="global") if each.evidence == self._evidence_before else each
                for each in task.preferences
            ]

    def _drop_retracted_preferences(self, stated: Sequence[Statement]) -> None:
        """Drop what the user said before and takes back, or says otherwise or again."""
        for statement in stated:
            for task in self.tasks:
                task.preferences = [
                    each for each in task.preferences if not self._is_replaced(each, statement)
                ]

    def _is_replaced(self, earlier: MemoryBullet, later: Statement) -> bool:
        said = earlier.text.removeprefix(SAID_PREFIX).strip("“”")
        is_next = earlier.evidence != "" and earlier.evidence == self._evidence_before
        same = later.act != "forget" and is_same_rule(later.text, said)
        return same or takes_back(later, said, is_next=is_next)

    def _add_request(self, task: TaskRecord, asked: TaskUserMessage) -> None:
        """Record a user message and its effect on the task."""
        task.last_turn = self.ledger.turns.count
        task.first_turn = task.first_turn or task.last_turn
        task.date = task.date or asked.date
        if (
            task.requests
            and asked.text.startswith(task.requests[-1].text.removesuffix(" …"))
            and len(task.requests[-1].text) > 20
        ):
            task.requests[-1] = asked  # the same words again, perhaps with more of them
        elif len(task.requests) < MAX_TASK_REQUESTS:
            task.requests.append(asked)
        if asked.reaction is UserReaction.ACCEPTS:
            task.accept_order = self.order
        elif asked.reaction is UserReaction.CORRECTS:
            task.complaint_order = self.order

    def _on_reply_text(self, text: str, line: int) -> None:
        self.agent_acted = True
        self._last_reply = text[-MAX_REPLY_CHARACTERS:]
        self.reply_lines.pop(self.current_task.last_turn, None)
        self.reply_lines[self.current_task.last_turn] = line

    def _on_tool_call(self, call: ToolUse) -> None:
        self.agent_acted = True
        task = self.current_task
        task.calls += 1
        self._followed.on_tool_call(call)
        self._open[call.id] = parse_tool_action(call)

    def _on_tool_result(self, result: ToolResult, message: Message) -> None:
        answered = self._open.pop(result.tool_use_id, None)
        if answered is None:
            return
        action = self._followed.find_answered_call(result, answered)
        ends = get_result_head_and_tail(result)
        outcome = parse_call_outcome(result, action, ends)
        if action is answered and isinstance(action, CommandAction) and outcome.ok is not False:
            self._on_opening(action.command, message.line)
        self._name_opened("\n".join(ends))
        if outcome.user_text and (outcome.rejected or find_call_kind(action) == "ask"):
            self._on_user_answer(action, outcome, message)
        elif outcome.rejected:
            self.current_task.interrupted = True
        elif isinstance(action, CommandAction):
            self._on_command(action, outcome, message.line)
        elif isinstance(action, ChangeAction):
            self._on_file_changes(action.changes, outcome)

    def _on_user_answer(self, action: ToolAction, outcome: CallOutcome, message: Message) -> None:
        """Record the user's answer to a question, or words that refused a call."""
        if outcome.rejected:
            self.current_task.complaint_order = self.order
            self.current_task.corrected.append(
                _build_bullet(
                    f"The user refused {describe_tool_action(action)}: "
                    f"“{shorten_to_one_line(outcome.user_text, 280)}”",
                    message,
                )
            )
        else:
            lines = [line.strip() for line in outcome.user_text.split("\n") if line.strip()]
            answers = [line for line in lines if not _NON_DECISION.search(line)]
            self.current_task.decided = [
                *self.current_task.decided,
                *(_build_bullet(f"The user answered {line}", message) for line in answers),
            ][-MAX_TASK_REQUESTS:]

    def _on_command(self, action: CommandAction, outcome: CallOutcome, line: int) -> None:
        if action.changes:
            self._on_file_changes(action.changes, outcome)
            return
        if outcome.ok is None:
            return
        task = self.current_task
        if outcome.ok is False and outcome.line.startswith(_NOT_RUN_ERRORS):
            return
        if action.kind == "look":
            return
        run = task.runs.get(action.short_command)
        if run is None:
            run = CommandRunCounts(action.short_command, action.kind, self.order)
            task.runs[action.short_command] = run
        run.runs += 1
        run.failures += outcome.ok is False
        run.order, run.line, run.last = self.order, line, outcome
        if action.kind in CHECK_KINDS or (
            action.kind in SHIPPING and not _SHIPS_NOTHING.search(action.short_command)
        ):
            # A merge that meets conflicts has not failed: they are the work that follows.
            if outcome.ok or action.kind != "merge":
                task.checks[action.kind] = (outcome.ok, self.order, action.short_command)
            words = outcome.line or (
                find_commit_or_pr_message(action.command).partition("\n")[0]
                if action.kind == "commit"
                else ""
            )
            if (
                outcome.ok
                and words
                and action.kind in SHIPPING
                and len(task.shipped) < MAX_TASK_REQUESTS
            ):
                task.shipped.append(CommitPushOrMerge(action.kind, words, line))

    def _on_opening(self, command: str, line: int) -> None:
        """Record a command that opens a pull request or an issue; its result may come later."""
        title = (
            find_commit_or_pr_message(command).partition("\n")[0] if _OPENS.search(command) else ""
        )
        branch = _HEAD_BRANCH.search(command)
        if title and len(self.current_task.opened) < MAX_OPENED_REQUESTS:
            self.current_task.opened.append(
                OpenedPullRequestOrIssue(title, branch[1] if branch else "", line)
            )

    def _name_opened(self, text: str) -> None:
        """The newest request without an address has the one that is shown next."""
        opened = self.current_task.opened
        if opened and not opened[-1].address and (found := _OPENED_ADDRESS.search(text)):
            opened[-1].address = found[0]

    def _on_file_changes(self, changes: tuple[FileEdit, ...], outcome: CallOutcome) -> None:
        if outcome.ok is False:
            return
        edited = self.current_task.edited
        for change in changes:
            self.current_task.edit_order = self.order
            if change.path in edited or len(edited) < MAX_LOGGED_FILES:
                edited[change.path] = edited.get(change.path, 0) + 1


_MCP_NAME = re.compile(r"mcp__|mcp[-_.:/]", re.IGNORECASE)
_WEB_TOOLS = frozenset(
    {
        "websearch", "webfetch", "web_search", "web_fetch", "web_search_call",
        "web_search_20250305", "web_fetch_20250910", "tool_search",
        "tool_search_call", "tool_search_output", "tool_search_call_output",
        "web_search_tool_result", "web_fetch_tool_result",
        "mcp_call", "mcp_tool_use", "mcp_tool_result", "list_mcp_resources", "read_mcp_resource",
        "listmcpresourcestool",
        "readmcpresourcetool", "google_web_search", "fetch_url", "browser", "open_url",
    }
)  # fmt: skip
"""Names of tools and items of both families, in lower case."""


def message_involves_web_or_mcp(message: Message) -> bool:
    """Tell whether a message requests or carries such content."""
    return any(_is_outside_block(block) for block in message.blocks)


def _is_outside_block(block: object) -> bool:
    match block:
        case ToolUse(name=name, namespace=namespace):
            return _is_outside_tool(name) or _is_outside_tool(namespace or "")
        case UnknownBlock(raw=raw):
            return any(
                isinstance(raw.get(key), str) and _is_outside_tool(raw[key])
                for key in ("type", "name", "namespace")
            )
        case _:
            return False


def _is_outside_tool(name: str) -> bool:
    return name.lower() in _WEB_TOOLS or _MCP_NAME.match(name) is not None


_NON_DECISION = re.compile(
    r"→ (?:next\b|done\b|you decide|skip|continue|move on|that['’]?s all|no(?:pe)?[.,!]?$|"
    r".{0,300}\?$)|^“more questions",
    re.IGNORECASE,
)
"""Answers that decide nothing: going on, leaving it to the agent, a question back."""


_QUOTES_AGENT = lazy_pattern(
    r"\W*you (?:just |also )?(?:wrote|said|say|suggested|proposed|mentioned)\b.{0,30}[:“\"]",
    re.IGNORECASE,
)
"""The agent's words, which the user gives back to ask about them."""


_CUT = lazy_pattern(
    r"\b(?:the|a|an|of|to|from|and|or|in|on|with|for|is|are|that|by|at|as)\W*\Z", re.IGNORECASE
)
"""The end of a line that was wrapped, not of a sentence."""


_FOR_NOW = lazy_pattern(
    r"(?:(?:and|so|but|now|ok),? )*(?:i|we) (?:will |just |also )?need (?:(?:you|it) )?"
    r"(?:to|some)\b(?!.*\b(?:always|every|each|before|never)\b)"
    r"|if you(?:['’]re| are) ready\b|in theory\b|looking at\b"
    r"|[\"'`]?(?:use|run|see|try) .*(?:--help\b|\bfor more (?:information|details)\b)",
    re.IGNORECASE,
)
"""What the user needs in this session, weighs, or pasted of a program's help."""


def _find_probable_rules(message: Message, words: str, typed: str) -> list[str]:
    """The user's sentences that probably are to last, in their words: a later session may weigh
    them, no program takes them for a rule. None of what may be somebody else's words.
    """
    if (
        contains_unattributable_text(typed)
        or is_composite_message(typed)
        or has_line_about_other_text(typed)
    ):
        return []
    waiting = find_unconfirmed_statements(message) if len(words) <= MAX_PROBABLE_CHARACTERS else ()
    quotes = [" ".join(each.quote.split()) for each in waiting if each.quote in words]
    quotes = [
        each
        for each in quotes
        if not any(part.match(each) for part in (_QUOTES_AGENT, _FOR_NOW))
        and not _CUT.search(each)
        and may_hold_in_later_sessions(each)
        and not names_speaker(each)
    ]
    short = [each for each in quotes if len(each) <= MAX_LASTING_CHARACTERS]
    lasting = [
        each
        for each in find_habit_and_decision_sentences(words)
        if not any(quote in each for quote in short)
    ]
    return list(dict.fromkeys((*lasting, *short)))


def _build_preference(statement: Statement, message: Message) -> MemoryBullet:
    """Build a preference from the user's statement, with absolute dates.

    About the user, or about all projects, it holds everywhere (RO-7).
    """
    everywhere = applies_to_every_project(statement.text)
    bullet = _build_bullet(make_dates_absolute(statement.text, message.timestamp), message)
    return MemoryBullet(
        text=bullet.text,
        proof="said",
        date=bullet.date,
        evidence=bullet.evidence,
        scope="global" if everywhere else None,
    )


def _build_bullet(text: str, message: Message) -> MemoryBullet:
    return MemoryBullet(
        text=text,
        proof="said",
        date=format_utc_day(message.timestamp),
        evidence=render_line_number(message.line),
    )

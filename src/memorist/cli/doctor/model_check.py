"""Check the model for background work: its name, its server (`--reach`) and its budget.

`memorist doctor --model`: one tiny task of each form in which memorist asks a model, and which
ways of work the answers are good enough for.

Valid is not yet right: each answer is judged by what it must hold.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from msgspec import Struct

from memorist.auto_memory.memory_file import MemoryKind
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.budget.budget_caps import CAP_SHARES
from memorist.budget.budget_status import BudgetStatus
from memorist.cli.command_environment import read_environment
from memorist.cli.doctor.check_result import CheckResult, DoctorContext
from memorist.cli.doctor.database_check import open_read_only
from memorist.cli.doctor.notes_trial import build_notes_trial_request, find_notes_trial_fault
from memorist.compaction.summary_parser import UnusableSummary, parse_summary
from memorist.compaction.summary_review import MIN_NAME_SHARE, drop_invented_sentences
from memorist.core.messages import (
    JsonObject,
    RedactedThinkingBlock,
    ThinkingBlock,
    ToolDefinition,
    Usage,
)
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.engine.background_status import read_background_budget_status
from memorist.errors import MemoristError, ModelError, ModelTimeout, StoreError
from memorist.forks.file_tool_calls import (
    EditFileCall,
    ForkToolCall,
    WriteFileCall,
    parse_tool_call,
)
from memorist.forks.fork_request import parse_name_from_model_string, render_edit_instructions
from memorist.forks.fork_runner import load_fork_prompts, send_with_uniform_model_errors
from memorist.forks.fork_spec import EditMethod
from memorist.forks.text_edits import (
    ParsedAnswerEdits,
    parse_edit_elements,
    parse_tool_calls_in_text,
)
from memorist.formats.codec_registry import find_codec
from memorist.formats.request_codec import CUT_OFF_REASONS, REPEATED_REASON
from memorist.models.model_choice import (
    AnthropicChoice,
    OpenAIChatChoice,
    OpenAIChoice,
    create_model_from_string,
    parse_model_name,
)
from memorist.ports import ContextWindowSource, Model, Reply, Request
from memorist.recall.model_selection import parse_selection, render_selection_data
from memorist.settings import AutoMemorySettings
from memorist.transcript_analysis.answer_check import AnswerLineChecker
from memorist.transcript_analysis.names_in_text import NameOccurrenceLookup, find_recognizable_names

MAX_OUTPUT_TOKENS = 2_000
"""Output tokens of each task. Our choice: the longest good answer, a summary with its analysis,
has about 1,000; a model in a loop is stopped.
"""

TRIAL_SECONDS = 300.0
"""Longest wait for one answer, unless the model's own limit is shorter. Our choice: a model on a
slow processor writes the longest good answer in less, and no work waits longer for such a one.
"""
SLOW_SECONDS = TRIAL_SECONDS / 2
"""A task whose answer takes longer is asked once: another answer may be over the limit, which ends
the trial before the other forms. Our choice.
"""
MAX_RUNS = 3
"""Times that a task is asked whose first answer is wrong or only just right; most runs decide. Our
choice: one more run than the fewest that can differ.
"""
MIN_REPEATS = 5
"""Times that the end of a cut-off answer stands in it before it is called a loop. Our choice."""
LOOP_CHARS = 24
"""Characters of that end: longer than a path that a good answer names again."""

NOTES_FILE = "/notes/worklog.md"
WANTED = ("pytest", "total.py")
"""What the line in the notes must name: the command that failed, and the mended file."""

_MEMORIES = {
    "money-as-decimal.md": "amounts of money are Decimal, never float",
    "ferry-timetable.md": "where the ferry's timetable is published",
    "release-on-tuesdays.md": "releases go out on Tuesdays",
    "colours-of-the-chart.md": "the chart is drawn in blue and grey",
}
_QUESTION = "Which type should I use for the price column?"
_CHOICE = "money-as-decimal.md"


class TrialVerdict(Struct, frozen=True):
    """The verdict on one answer."""

    why: str = ""
    """Why it is not good; empty where it is."""
    is_barely_enough: bool = False
    """Whether one line or name fewer would not have been enough."""


class TrialTask(Struct, frozen=True):
    """One form of asking: its name, what needs it, how it is asked and judged."""

    name: str
    used_by: str
    advice: str
    """What to do where the answer is not good."""
    build: Callable[[str], JsonObject]
    """Arguments of `Codec.build_request` beside model and limit, from the session's text; without
    `system` the trial's own.
    """
    judge: Callable[[Reply], TrialVerdict]


class TrialRun(Struct, frozen=True, kw_only=True):
    """One answer to a task."""

    verdict: TrialVerdict
    seconds: float
    got_reply: bool = True
    hung: bool = False
    """Whether its time ran out: the other tasks would wait as long."""
    usage: Usage = Usage()


class TrialTaskResult(Struct, frozen=True):
    """The outcome of one task: what most of its runs came to."""

    task: TrialTask
    runs: tuple[TrialRun, ...]

    @property
    def right_runs(self) -> int:
        """How many runs were right."""
        return sum(not run.verdict.why for run in self.runs)

    @property
    def is_right(self) -> bool:
        """Whether most runs were right."""
        return 2 * self.right_runs > len(self.runs)

    @property
    def got_reply(self) -> bool:
        """Whether there is an answer to judge it by."""
        return self.runs[0].got_reply

    @property
    def is_decided(self) -> bool:
        """Whether another run could not change the outcome, or would take too long: after a clear
        success, after two that came to the same, and after a slow one or one without an answer.
        """
        if not self.runs[-1].got_reply or self.runs[-1].seconds > SLOW_SECONDS:
            return True
        if len(self.runs) == 1:
            return not (self.runs[0].verdict.why or self.runs[0].verdict.is_barely_enough)
        return max(self.right_runs, len(self.runs) - self.right_runs) > MAX_RUNS // 2

    @property
    def why(self) -> str:
        """Why it is not good, by the newest run that was not; empty where none was."""
        faults = [run.verdict.why for run in self.runs if run.verdict.why]
        answered = [run.verdict.why for run in self.runs if run.verdict.why and run.got_reply]
        return next(iter((*reversed(answered), *faults)), "")


def check_model_task_quality(context: DoctorContext) -> Iterator[CheckResult]:
    """Ask the model each task, up to three times where one answer does not decide, and say which
    forms it is good enough for.
    """
    try:
        model = create_model_from_string(context.settings.model, context.settings.models)
    except MemoristError as error:
        yield CheckResult("wrong", str(error), 'Or set model = "structural" to work without one.')
        return
    if model is None:
        yield CheckResult(
            "note", "no model is set, so none was asked", "Set `model`, or MEMORIST_MODEL, first."
        )
        return
    results, window = asyncio.run(_try_model(model))
    if window is None and "@" in model.name and context.settings.models.window is None:
        yield CheckResult(
            "note",
            f"the server does not tell the window of {model.name}; {model.window:,} tokens are "
            "assumed",
            "Set models.window to the tokens that it serves.",
        )
    else:
        yield CheckResult("good", f"the window of {model.name} is {model.window:,} tokens")
    for result in results:
        yield _describe(result)
    yield from _check_counts(results, model.window)
    yield _summarize_results(results)


def _describe(result: TrialTaskResult) -> CheckResult:
    task, used = result.task, sum((run.usage for run in result.runs), Usage())
    if not result.got_reply:
        return CheckResult(
            "note",
            f"{task.name}: no answer ({result.why}) after {result.runs[-1].seconds:.1f} s",
            "It is too slow here, still being loaded, or does not end its answers: run this again "
            "when the machine has nothing else to do."
            if result.runs[-1].hung
            else "Fix what the message names, then run this again.",
        )
    count = f" in {result.right_runs} of {len(result.runs)} runs" if len(result.runs) > 1 else ""
    wrong = f"right{count}; " if count else ""
    seconds = sum(run.seconds for run in result.runs)
    cost = (
        f"{seconds:.1f} s, {used.context_tokens - used.output:,} tokens read"
        f"{f' ({used.cache_read:,} from its cache)' if used.cache_read else ''}, "
        f"{used.output:,} written"
    )
    if result.is_right:
        return CheckResult("good", f"{task.name}: right{count} ({cost}); used by {task.used_by}")
    return CheckResult(
        "note", f"{task.name}: {result.why} ({wrong}{cost}); used by {task.used_by}", task.advice
    )


def _check_counts(results: list[TrialTaskResult], window: int) -> Iterator[CheckResult]:
    """Whether the server's counts of tokens can be right: limits and prices rest on them."""
    used = [run.usage for result in results for run in result.runs if run.got_reply]
    fault = ""
    if any(each.input + each.cache_read + each.cache_write <= 0 for each in used):
        fault = "counts no tokens for what it read"
    elif any(each.context_tokens > window or each.output > 2 * MAX_OUTPUT_TOKENS for each in used):
        fault = "counts more tokens than its window or the limit of an answer holds"
    if fault:
        yield CheckResult(
            "note",
            f"the server {fault}: what its work takes, and when its window is full, is not known",
            "Set models.window, and do not rely on limits of tokens or money for this server.",
        )


def _describe_nothing(reply: Reply) -> str:
    """Why there is no answer at all in a reply; empty where there is one."""
    if _reply_text(reply).strip() or any(message.tool_uses for message in reply.messages):
        return ""
    blocks = [block for message in reply.messages for block in message.blocks]
    if any(isinstance(block, ThinkingBlock | RedactedThinkingBlock) for block in blocks):
        return "it only thought, and gave no answer: turn its thinking off on the server"
    return "its answer is empty"


def _summarize_results(results: list[TrialTaskResult]) -> CheckResult:
    right = [result.task.name for result in results if result.is_right]
    if not any(run.got_reply for result in results for run in result.runs):
        return CheckResult(
            "wrong",
            "the model ended no answer in time"
            if results[-1].runs[-1].hung
            else "the model gave no answer",
            'Fix what is named above, or set model = "structural", which costs nothing.',
        )
    untried = len(TASKS) - len(results)
    missing = f" ({untried} forms were not tried)" if untried else ""
    if not right:
        return CheckResult(
            "wrong",
            f"no answer of this model was of use{missing}",
            'Set model = "structural", which costs nothing, or choose a larger model.',
        )
    return CheckResult(
        "good",
        f"{len(right)} of {len(TASKS)} forms are right{missing}; where a model's work does not "
        "stand, what structure holds takes its place",
    )


async def _try_model(model: Model) -> tuple[list[TrialTaskResult], int | None]:
    """The results, and the window where the server tells it. After a form's first answer that does
    not come, or a first one that is refused, nothing more is asked.
    """
    results: list[TrialTaskResult] = []
    try:
        for task in TASKS:
            results.append(await _try_task(model, task))
            if results[-1].runs[0].hung or not results[0].got_reply:
                break
        if isinstance(model, ContextWindowSource):
            return results, await model.discover_window()
        return results, model.window
    finally:
        await model.close()


async def _try_task(model: Model, task: TrialTask) -> TrialTaskResult:
    result = TrialTaskResult(task, (await _run_task(model, task, 1),))
    while not result.is_decided:
        run = await _run_task(model, task, len(result.runs) + 1)
        result = TrialTaskResult(task, (*result.runs, run))
    return result


async def _run_task(model: Model, task: TrialTask, number: int) -> TrialRun:
    codec = find_codec(model.format)
    task_fields: JsonObject = {"system": load_prompt("doctor/system")}
    task_fields |= task.build(load_prompt("doctor/session").strip())
    if number > 1:
        # At temperature 0 the same request would only bring the same answer.
        task_fields["text"] += f"\n\n(Run {number} of {MAX_RUNS}.)"
    body = codec.build_request(
        parse_name_from_model_string(model.name), max_output=MAX_OUTPUT_TOKENS, **task_fields
    )
    began = time.monotonic()
    hung = False
    try:
        async with asyncio.timeout(TRIAL_SECONDS):
            reply = await send_with_uniform_model_errors(
                model, Request(format=model.format, body=body, label="self-test")
            )
    except (ModelError, TimeoutError) as error:
        hung = isinstance(error, ModelTimeout | TimeoutError)
        why = str(error) or f"none within {TRIAL_SECONDS:g} seconds"
        elapsed = time.monotonic() - began
        verdict = TrialVerdict(why)
        return TrialRun(verdict=verdict, seconds=elapsed, got_reply=False, hung=hung)
    nothing = _describe_nothing(reply)
    verdict = TrialVerdict(nothing) if nothing else task.judge(reply)
    if verdict.why and reply.stop_reason in CUT_OFF_REASONS:
        verdict = TrialVerdict(_describe_cut(reply))
    return TrialRun(verdict=verdict, seconds=time.monotonic() - began, usage=reply.usage)


def _describe_cut(reply: Reply) -> str:
    text = _reply_text(reply)
    end = text.strip()[-LOOP_CHARS:]
    if reply.stop_reason == REPEATED_REASON or (end and text.count(end) >= MIN_REPEATS):
        return f"it says the same again and again: {' '.join(end.split())}".rstrip(": ")
    return f"it had not ended after {MAX_OUTPUT_TOKENS:,} tokens"


def _reply_text(reply: Reply) -> str:
    return "\n".join(message.text for message in reply.messages if message.text)


def _render_edit_task(method: EditMethod) -> Callable[[str], str]:
    def render(session: str) -> str:
        task = render_template(load_prompt("doctor/edit"), {"session": session}, strict=True)
        return f"{task}\n\n{render_edit_instructions(method, load_fork_prompts())}"

    return render


def _judge_edits(edits: ParsedAnswerEdits) -> TrialVerdict:
    return TrialVerdict(edits.problems[0] if edits.problems else _judge_calls(edits.calls))


def _judge_calls(calls: tuple[ForkToolCall, ...]) -> str:
    if not calls:
        return "no edit in the answer"
    written = [call for call in calls if isinstance(call, EditFileCall | WriteFileCall)]
    if len(written) != len(calls) or any(call.path != NOTES_FILE for call in written):
        return "it edits another file than it was asked to"
    text = "\n".join(
        call.text
        if isinstance(call, WriteFileCall)
        else "\n".join(each.new for each in call.replacements)
        for call in written
    )
    missing = [word for word in WANTED if not re.search(rf"(?<!\w){re.escape(word)}", text)]
    return f"what it wrote does not name {' and '.join(missing)}" if missing else ""


def _judge_tool_calls(reply: Reply) -> TrialVerdict:
    calls = tuple(parse_tool_call(use) for message in reply.messages for use in message.tool_uses)
    return TrialVerdict(_judge_calls(calls or parse_tool_calls_in_text(_reply_text(reply)).calls))


def _build_summary(session: str) -> JsonObject:
    prompt = render_template(load_prompt("compaction/full"), {"instructions": ""}, strict=True)
    return {"text": f"{session}\n\n{prompt}"}


def _judge_summary(reply: Reply) -> TrialVerdict:
    found = parse_summary(_reply_text(reply), stop_reason=reply.stop_reason)
    if isinstance(found, UnusableSummary):
        return TrialVerdict(found.why)
    session = load_prompt("doctor/session")
    if dropped := drop_invented_sentences(found, AnswerLineChecker(session, "")).dropped:
        return TrialVerdict(f"it names a file that does not exist: {dropped[0].strip()[:80]}")
    wanted, present = find_recognizable_names(session), NameOccurrenceLookup(found)
    present_count, needed = sum(present[name] for name in wanted), len(wanted) * MIN_NAME_SHARE
    if present_count < needed:
        return TrialVerdict(f"it holds {present_count} of {len(wanted)} identifiers")
    return TrialVerdict(is_barely_enough=present_count - 1 < needed)


def _judge_choice(reply: Reply) -> TrialVerdict:
    chosen = parse_selection(_reply_text(reply), _MEMORIES, limit=3)
    if chosen == (_CHOICE,):
        return TrialVerdict()
    names = ", ".join(chosen or ()) or "nothing"
    return TrialVerdict(f"it chose {names} where {_CHOICE} was right")


def _build_choice() -> JsonObject:
    """The choice as recall asks for it: the rules in the system message, the data after it."""
    headers = [
        MemoryHeader(
            path=path,
            name=path.removesuffix(".md"),
            description=text,
            kind=MemoryKind.PROJECT,
            modified=0.0,
            size=len(text),
        )
        for path, text in _MEMORIES.items()
    ]
    rules = render_template(load_prompt("recall/select"), {"limit": "3"}, strict=True)
    data = render_selection_data(
        load_prompt("recall/select_data"),
        headers,
        query=_QUESTION,
        tools=(),
        settings=AutoMemorySettings(),
    )
    return {"system": rules, "text": data}


_EDIT_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "file_path": {"type": "string"},
        "old_string": {"type": "string"},
        "new_string": {"type": "string"},
    },
    "required": ["file_path", "old_string", "new_string"],
}

_STRUCTURE_SERVES = "Nothing: what structure holds serves there."

TASKS = (
    TrialTask(
        "edits as text",
        "notes, extraction and documents of a host without file tools",
        _STRUCTURE_SERVES,
        lambda session: {"text": _render_edit_task(EditMethod.TEXT)(session)},
        lambda reply: _judge_edits(parse_edit_elements(_reply_text(reply))),
    ),
    TrialTask(
        "edits by tool call",
        "notes, extraction and documents of a host with file tools",
        _STRUCTURE_SERVES,
        lambda session: {
            "text": _render_edit_task(EditMethod.TOOLS)(session),
            "tools": (ToolDefinition("Edit", "Replace text in a file.", _EDIT_SCHEMA, {}),),
        },
        _judge_tool_calls,
    ),
    TrialTask(
        "a choice from a list",
        'recall with recall.selector = "model"',
        'Leave recall.selector = "ranker".',
        lambda _: _build_choice(),
        _judge_choice,
    ),
    TrialTask(
        "JSON by a schema",
        "notes and memories of a model on this machine",
        'Where edits as text are right, set models.forms = "never": it writes edits then.',
        lambda _: build_notes_trial_request(),
        lambda reply: TrialVerdict(*find_notes_trial_fault(_reply_text(reply))),
    ),
    TrialTask("a summary", "compaction", _STRUCTURE_SERVES, _build_summary, _judge_summary),
)
"""The forms, in the order in which they are tried: the longest answer last, since none is asked for
after one that does not come.
"""


CONNECT_TIMEOUT_SECONDS = 5.0
"""Longest wait for a connection; a slower server is useless for background work. Our choice."""

_SERVERS = {"ANTHROPIC": "https://api.anthropic.com", "OPENAI": "https://api.openai.com"}


def check_background_model(context: DoctorContext) -> Iterator[CheckResult]:
    """Check whether the model can be used.

    Its server is contacted only on request, and no model request is sent.
    """
    name = context.settings.model
    try:
        model = create_model_from_string(name, context.settings.models)
    except MemoristError as error:
        yield CheckResult("wrong", str(error), 'Or set model = "structural" to work without one.')
        return
    if model is None:
        yield CheckResult(
            "note",
            "no model is set, which costs nothing: notes come from the transcript's structure, and "
            "only what you say outright is remembered. Off without one: notes in a model's words, "
            "memories of what you only implied, summaries by a model, dreams that merge what says "
            "the same in other words",
            "Only if you want them: memorist config set model anthropic:NAME (or openai:NAME, "
            "local); the caps of `spend` hold.",
        )
        return
    yield CheckResult("good", f"the model {name} is set up (it was not called)")
    address = find_model_server_url(name, read_environment())
    if address and context.may_use_network:
        yield _check_reachable(address)


def find_model_server_url(name: str, environment: Mapping[str, str]) -> str:
    """The base URL of a model's server; empty for a model without one."""
    match parse_model_name(name):
        case AnthropicChoice(base_url=url):
            return url or environment.get("ANTHROPIC_BASE_URL") or _SERVERS["ANTHROPIC"]
        case OpenAIChoice(base_url=url) | OpenAIChatChoice(base_url=url):
            return url or environment.get("OPENAI_BASE_URL") or _SERVERS["OPENAI"]
        case _:
            return ""


def _check_reachable(address: str) -> CheckResult:
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443)
    try:
        socket.create_connection((host, port), timeout=CONNECT_TIMEOUT_SECONDS).close()
    except OSError as error:
        what = f"the model's server {host}:{port} cannot be reached ({error.strerror or error})"
        return CheckResult(
            "wrong",
            what,
            "Start it, or correct the address or the network; until then the structural ways take "
            "over.",
        )
    return CheckResult("good", f"the model's server {host}:{port} answers")


def check_paused_background_work(context: DoctorContext) -> Iterator[CheckResult]:
    """Check whether background work with the model is paused.

    The database is only read; other checks report its faults.
    """
    path = context.layout.database
    if context.settings.model == "structural" or not path.exists():
        return
    with contextlib.suppress(sqlite3.Error, StoreError), open_read_only(path) as database:
        yield from _check_paused(
            read_background_budget_status(database, context.settings, context.now)
        )


def _check_paused(found: BudgetStatus) -> Iterator[CheckResult]:
    if len(found.at_rest) == len(CAP_SHARES):
        yield CheckResult(
            "note",
            f"no background work asks a model now: {found.at_rest[-1].why}",
            "memorist status says more.",
        )
    elif found.at_rest:
        kinds = ", ".join(each.kind for each in found.at_rest)
        yield CheckResult(
            "note",
            f"at rest until there is room below the caps: {kinds}",
            "memorist status says why.",
        )

"""Derive the outcome of a call from its result: exit status, the most relevant line, and the user's
words in a refusal. Pure.

Only the start and the end of a long result are examined, so that the cost does not grow with its
size.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec
from msgspec import Struct

from memorist.core.json_decoding import decode_json
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import ToolResult
from memorist.transcript_analysis.command_lines import CHECK_KINDS
from memorist.transcript_analysis.tool_actions import (
    CommandAction,
    ToolAction,
    find_call_kind,
    list_question_ids_and_texts,
)

MAX_HEAD_CHARACTERS = 2_000
"""Characters at the start of a result that are examined."""

MAX_TAIL_CHARACTERS = 2_000
"""Characters at its end."""

MAX_QUOTED_LINE_CHARACTERS = 180
"""Longest quoted line, in characters."""

OUTCOME_CACHE_SIZE = 512
"""Size of the outcome cache: a summary asks for the results of the newest messages again. Two
megabytes at most.
"""

_EXIT_CODE = lazy_pattern(
    r"(?:Process exited with code|Exit code:?|exit code:?|\"exit_code\":|<exit_code>)\s*(-?\d{1,5})"
)
_CODEX_HEAD = lazy_pattern(
    r"\A(?:Script completed|Chunk ID:|Wall time:?|Exit code:|Process exited|Process running|"
    r"Original token count:|Total output lines:)"
)
_SCRIPT_HEAD = "Script "
"""How the result of a script begins, before what it printed."""
_SCRIPT_RESULT = lazy_pattern(r'\{"chunk_id":[^{}]*?"exit_code":(-?\d{1,5})[^{}]*?"output":"')
_RUNNING = lazy_pattern(
    r"Script running with|Process running with session ID|"
    r"running in (?:the )?background|Command running in background"
)
_REJECTED = lazy_pattern(
    r"The user doesn't want to (?:proceed|take this action)|The tool use was rejected|User "
    r"rejected|exec command rejected by user"
    r"|\b[Tt]he user (?:has )?(?:refused|declined|rejected|denied|cancelled|canceled)\b"
    r"|\b(?:refused|declined|rejected|denied|cancelled|canceled) by (?:the )?user\b"
)
_USER_SAID = lazy_pattern(
    r"\s*The user doesn['’]t want to [^\n]{1,400}?the user said:\s*(.+)", re.DOTALL
)
"""The client's own sentence, with which its result begins: elsewhere a tool may have printed it."""
_NOTE_MARK = "user_note: "
"""What Codex puts before a note that was typed beside an option."""
_ANSWERED_QUESTION = lazy_pattern(r"\"([^\"\n]{3,400})\"\s*=\s*\"((?:[^\"\\]|\\.){1,600})\"")
_CLARIFY = "The user wants to clarify these questions"
_REMINDER = lazy_pattern(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_ANSI = lazy_pattern(r"(?:\x1b|\\u001b)\[[0-9;]*[A-Za-z]")
_ERROR_WORD = lazy_pattern(
    r"\b(?:error|fail(?:ed|ure|s)?|fatal|panic|exception|traceback|cannot|can't|could not|not "
    r"found|no such|undefined|denied|invalid|unexpected"
    r"|unrecognized|unknown|missing|unable|refused|conflict|aborted|imported and not used|"
    r"timed out)\b|--- FAIL|✗|×|✖|\bE\s{3}",
    re.IGNORECASE,
)
_STRONG_ERROR = lazy_pattern(
    r"^(?:error|fatal|panic|\S*(?:Error|Exception))\b\s*:?|^E\s{3}|--- FAIL|: error|error TS\d|"
    r"CONFLICT",
    re.IGNORECASE,
)
_HARMLESS = lazy_pattern(
    r"\b0 (?:errors?|fail(?:ed|ures?|s)?|issues|problems)\b|no (?:errors?|issues|problems)|✓|✔|"
    r"\bpass(?:ed)?\b",
    re.IGNORECASE,
)
_CHECK_COUNT = lazy_pattern(
    r"^\s*(?:\d+ (?:pass|fail|passing|failing|skip|todo)(?: \(.*)?$|Ran \d+ tests?\b.*|"
    r"Tests?:?\s+\d+ (?:passed|failed|skipped).*"
    r"|Test Files\s+\d+.*|test result: .*|No issues found.*|Success: no issues.*|All checks "
    r"passed!?"
    r"|=+ .*\b(?:passed|failed|errors?)\b.* =+$|\d+ (?:passed|failed)\b.*|[#ℹ] (?:pass|fail) "
    r"\d+|OK \(\d+ tests?.*|FAILED \(.*"
    r"|\d+ issues?(?:[.:]|$).*|✖ \d+ problems?.*|Found \d+ (?:errors?|warnings?).*|Checked \d+ "
    r"files.*|\d+ files? (?:reformatted|left unchanged).*"
    # RSpec, ExUnit, Minitest; PHPUnit; Maven, Gradle; Xcode; .NET; Deno; CTest; nextest; GoogleTest
    r"|\d+ (?:examples?|tests?|runs), .*\b\d+ (?:failures?|failed|errors?)\b.*|\d+ errors? in .*"
    r"|Tests: \d+, Assertions: .*|(?:\[[A-Z]+\] )?(?:Tests run: \d+, |BUILD (?:FAIL|SUCCESS)).*"
    r"|\d+ tests? (?:collected|completed), .*|Executed \d+ tests?, with .*"
    r"|\*\* (?:BUILD|TEST) [A-Z]+ \*\*"
    r"|(?:Failed|Passed)!\s+- Failed:\s+\d+, .*|(?:ok|FAILED) \| \d+ passed .*"
    r"|\d+% tests passed, .*|Summary \[.*\] +\d+ tests? run: .*"
    r"|\[ +(?:PASSED|FAILED) +\] \d+ tests?.*)"
)
_TRACEBACK = lazy_pattern(r"^\s*Traceback \(most recent call last\)")
_RAISED_EXCEPTION = lazy_pattern(
    r"^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Interrupt|Exit)\b(?:: .+)?$"
)
_UNITTEST_FAILURE = lazy_pattern(r"^(?:FAIL|ERROR): \w+")
_NAMED_FAILURE = lazy_pattern(
    r"^E\s{3}|^\s*--- FAIL: |^FAIL(?:ED)?\s|error TS\d|^error\[E\d|^\(fail\)|^\s*[✗✖×●] |"
    r"^\S+\.\w+:\d+:\d+(?:: | lint/)|^\S+\.\w+ format [━─-]|^[A-Z]{1,4}\d{3,4} (?:\[\*\] )?[`\w]"
    r"|^test \S+ \.\.\. FAILED|^\s*[\w:]*panicked at "
)
_VAGUE_ERROR = lazy_pattern(
    r"failed to push some refs|could not read from remote repository|exited with code \d"
    r"|command failed with exit code|process completed with exit code|ELIFECYCLE|^make: \*\*\*"
    r"|some errors were emitted|script failed \(code|^Found \d+ errors?",
    re.IGNORECASE,
)
"""Says that something failed, not what: another line does."""
_LOGGED_BELOW_ERROR = lazy_pattern(
    r"[\s\[(]{0,3}(?:\d[\w:.+-]{0,40}[\s\])]{1,3}){0,3}(?:\w{1,20} )?[\[<]?"
    r"(?:WARN(?:ING)?|INFO|DEBUG|TRACE|[Ww]arning|warn)\b"
)
"""A line that a program logs as less than an error: what ended it is another one."""
_REJECTED_REF = lazy_pattern(r"^\s*! \[(?:remote )?rejected\]")
_GIT_LINES = 12
_GO_RESULT = lazy_pattern(r"^(?:ok|FAIL)\s+\S+/\S+|^--- FAIL: \S+|^FAIL$")
_GIT_RESULT = lazy_pattern(
    r"^\[\S+(?: \([^)]*\))? [0-9a-f]{7,}\] .+|^\s*\d+ files? changed.*|^https?://\S+/pull/\d+.*"
    r"|^ [*+!]? ?\S+\s+\S+ -> \S+|^Switched to .*|^Merge made by .*"
)
_COMPILER_ERROR = lazy_pattern(
    r"^--- FAIL: |^FAIL\s|: error(?: TS\d+)?: |error TS\d+|^error(?:\[E\d+\])?: |"
    r"^\S+\.\w+:\d+:\d+: (?!warning)\S|^make(?:\[\d+\])?: \*\*\* |^npm (?:ERR!|error) "
)
_FAILED_COUNT = lazy_pattern(
    r"\b[1-9]\d* (?:tests? )?(?:fail|failed|failing|failures?|errors?|issues?|problems?)\b"
    r"(?! \((?:0 errors|\d+ fixed, 0 remaining))|\b(?:Failures|Errors|Failed):\s+[1-9]"
    r"|[#ℹ] fail [1-9]|test result: FAILED|FAILED [(|]|(?:BUILD|TEST) FAIL|\[ +FAILED "
)


class CallOutcome(Struct, frozen=True):
    """The outcome of a call. `ok` is None while it still runs, and for a check of which a filter
    shows nothing that tells: the exit status is that of the filter.
    """

    ok: bool | None
    exit: int | None = None
    line: str = ""
    """The most informative line: an error, test counts, a commit."""
    rejected: bool = False
    user_text: str = ""
    """The user's words in a refusal or an answer."""
    hooks: tuple[str, ...] = ()
    """Commands that the result echoes (`$ …`), such as those of a commit hook."""


def get_result_head_and_tail(result: ToolResult) -> tuple[str, str]:
    """The start and the end of a result without reminders and color codes; the end is empty for a
    short one.
    """
    text = result.text
    if len(text) <= MAX_HEAD_CHARACTERS + MAX_TAIL_CHARACTERS:
        return _clean_answer(text), ""
    return _clean_answer(text[:MAX_HEAD_CHARACTERS]), _clean_answer(text[-MAX_TAIL_CHARACTERS:])


def _clean_answer(text: str) -> str:
    if "<system-reminder>" in text:
        text = _REMINDER.sub("", text)
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if text.startswith('{"output":'):
        text = text.replace("\\n", "\n")
    elif text.startswith(_SCRIPT_HEAD) and (found := _SCRIPT_RESULT.search(text)):
        output = text[found.end() :].replace("\\n", "\n").replace('\\"', '"')
        text = f"Exit code: {found[1]}\nOutput:\n{output}"
    return text


def parse_call_outcome(
    result: ToolResult, action: ToolAction | None, ends: tuple[str, str]
) -> CallOutcome:
    """The outcome of a call, whose action is None where nobody knows it; `ends` is from
    `get_result_head_and_tail`.
    """
    kind = find_call_kind(action)
    filtered = isinstance(action, CommandAction) and action.is_output_filtered
    asked = list_question_ids_and_texts(action)
    return _parse_outcome(*ends, kind, asked, is_error=result.is_error, filtered=filtered)


@lru_cache(OUTCOME_CACHE_SIZE)
def _parse_outcome(
    head: str,
    tail: str,
    kind: str,
    asked: tuple[tuple[str, str], ...],
    *,
    is_error: bool,
    filtered: bool,
) -> CallOutcome:
    if is_error and _REJECTED.search(head[:400]):
        return CallOutcome(ok=False, rejected=True, user_text=_refusal_words(head))
    if kind == "ask":
        return CallOutcome(ok=not is_error, user_text=render_user_answers(head, asked))
    found = _EXIT_CODE.search(head[:300]) or (
        _EXIT_CODE.search(tail[-300:]) if head.startswith('{"output"') else None
    )
    code = int(found[1]) if found else None
    if code is None and not is_error and _RUNNING.search(head[:300]):
        return CallOutcome(ok=None)
    ok = not is_error and not code
    if kind == "look" and code == 1 and not is_error and not _STRONG_ERROR.search(head[:600]):
        ok = True  # no match, or a difference: an answer, not a failure
    if kind in ("file", "look"):
        return CallOutcome(ok=ok, exit=code, line="" if ok else find_error_line(head, tail))
    return _parse_run_outcome(ok, code, kind, _answer_lines(head, tail), filtered=filtered)


def _parse_run_outcome(
    ok: bool, code: int | None, kind: str, lines: list[str], *, filtered: bool
) -> CallOutcome:
    shipping = kind in ("commit", "push", "merge", "branch")
    telling = [
        line
        for line in lines
        if (_GIT_RESULT if shipping else _CHECK_COUNT).match(line)
        or (not shipping and _GO_RESULT.match(line))
    ]
    bad = _find_failed_check(telling, lines) if kind in CHECK_KINDS else ""
    hooks = (
        tuple(line[2:MAX_QUOTED_LINE_CHARACTERS] for line in lines[:40] if line.startswith("$ "))[
            :4
        ]
        if kind == "commit"
        else ()
    )
    if filtered and code in (None, 0, 1) and not bad and not telling:
        return CallOutcome(ok=None, exit=code)
    if not ok or bad:
        return CallOutcome(
            ok=False, exit=code, line=_quote_line(_find_failure_line(bad, lines, kind)), hooks=hooks
        )
    if kind == "merge":
        conflicts = [line for line in lines if line.startswith("CONFLICT")]
        if conflicts:
            return CallOutcome(ok=False, exit=code, line=_quote_line("; ".join(conflicts[:4])))
    return CallOutcome(ok=True, exit=code, line=_quote_line(_join_counts(telling)), hooks=hooks)


def _find_failure_line(bad: str, lines: list[str], kind: str) -> str:
    """The line that explains a failure: for a check with counts, what it names as failed, and the
    count; else the worst line.
    """
    named = next(
        (line for line in lines if _NAMED_FAILURE.search(line) and not _CHECK_COUNT.match(line)), ""
    )
    if not bad:
        near = lines[-_GIT_LINES:] if kind == "commit" else lines
        return _join_next((named if kind == "commit" else "") or _find_worst_line(near), lines)
    named = named or _find_first_failed_test(lines)
    count = bad.strip(" =")
    return f"{named}; {count}" if named and named != bad else _join_next(count, lines)


def _join_next(line: str, lines: list[str]) -> str:
    """A line that ends in a colon, with the next one."""
    after = lines[lines.index(line) + 1 :] if line.endswith(":") and line in lines else []
    return f"{line} {after[0].strip()}" if after else line


def _find_first_failed_test(lines: list[str]) -> str:
    """The first failed test and its exception."""
    test = next((line for line in lines if _UNITTEST_FAILURE.match(line)), "")
    return "; ".join(
        part
        for part in (
            test.partition(" (")[0],
            next((line for line in lines if _RAISED_EXCEPTION.match(line)), ""),
        )
        if part
    )


def _find_failed_check(telling: list[str], lines: list[str]) -> str:
    """The line that proves a check failed although its exit status does not (a pipe hides it); its
    own counts take precedence.
    """
    counts = [line for line in telling if _CHECK_COUNT.match(line)]
    if counts:
        return next((line for line in counts if _FAILED_COUNT.search(line)), "")
    return next((line for line in lines if _COMPILER_ERROR.search(line)), "")


def _join_counts(lines: list[str]) -> str:
    """The counts of a run, joined; passed packages contribute only when there is exactly one."""
    packages = [line for line in lines if line.startswith("ok ")]
    others = list(
        dict.fromkeys(line.strip(" =") for line in lines if not line.startswith(("ok ", "?")))
    )
    if packages and not others:
        return packages[-1] if len(packages) == 1 else ""
    return "; ".join(others[:3])


def _find_worst_line(lines: list[str]) -> str:
    grave = [line for line in lines if not _LOGGED_BELOW_ERROR.match(line)]
    precise = [line for line in grave if not _VAGUE_ERROR.search(line)]
    return (
        next(filter(_REJECTED_REF.match, lines), "")
        or _pick_error_line(precise)
        or _pick_error_line(grave)
        or _pick_error_line(lines)
    )


def _pick_error_line(lines: list[str]) -> str:
    strong = (
        next((line for line in reversed(lines) if _RAISED_EXCEPTION.match(line)), "")
        if any(map(_TRACEBACK.match, lines))
        else ""
    )
    strong = strong or next(
        (line for line in lines if _STRONG_ERROR.search(line) and not _HARMLESS.search(line)), ""
    )
    weak = next(
        (line for line in lines if _ERROR_WORD.search(line) and not _HARMLESS.search(line)), ""
    )
    return strong or weak


def find_error_line(head: str, tail: str = "") -> str:
    """The line that names the error; the last line where none does."""
    lines = _answer_lines(head, tail)
    return _quote_line(_find_worst_line(lines) or (lines[-1] if lines else ""))


def _answer_lines(head: str, tail: str) -> list[str]:
    lines = [line.rstrip() for line in f"{head}\n{tail}".split("\n") if line.strip()]
    while lines and (_CODEX_HEAD.match(lines[0]) or lines[0].startswith(("Output:", "Exit code"))):
        lines.pop(0)
    return lines


def _quote_line(line: str) -> str:
    line = " ".join(line.replace("<tool_use_error>", "").replace("</tool_use_error>", "").split())
    if len(line) <= MAX_QUOTED_LINE_CHARACTERS:
        return line
    cut = line.rfind(" ", MAX_QUOTED_LINE_CHARACTERS // 2, MAX_QUOTED_LINE_CHARACTERS)
    return line[: cut if cut > 0 else MAX_QUOTED_LINE_CHARACTERS] + " …"


def _refusal_words(head: str) -> str:
    said = _USER_SAID.match(head)
    if not said:
        return ""
    words = said[1].strip()
    if words.startswith(_CLARIFY):
        words = words.partition("Questions asked:")[2]
        return render_user_answers(words)
    return words.partition("\n\nNote: The user's next message")[0].strip()


def render_user_answers(text: str, asked: tuple[tuple[str, str], ...] = ()) -> str:
    """The user's answers in the result of a question tool, as `question → answer` lines; empty
    where there are none. Codex names no questions but their ids, in any order: an answer whose id
    is not among `asked` stands alone.
    """
    if text.lstrip().startswith("{"):
        questions = dict(asked)
        return "\n".join(
            f"“{_quote_line(questions[id])}” → {'; '.join(words)}"
            if questions.get(id)
            else "\n".join(words)
            for id, words in parse_codex_answers(text).items()
            if words
        )
    pairs = _ANSWERED_QUESTION.findall(text)
    return "\n".join(
        f"“{_quote_line(question)}” → {answer.strip()}" for question, answer in pairs[:8]
    )


class _AnswerList(Struct):
    answers: list[str] = []


class _AnswersObject(Struct):
    answers: dict[str, _AnswerList] = {}


def parse_codex_answers(text: str) -> dict[str, list[str]]:
    """The answers in Codex's result, `{"answers": {ID: {"answers": [TEXT, …]}}}`, by the id of
    their question; empty for any other text.
    """
    try:
        answers = decode_json(text, as_type=_AnswersObject).answers
    except msgspec.DecodeError:
        return {}
    return {
        id: [words for answer in each.answers if (words := answer.removeprefix(_NOTE_MARK).strip())]
        for id, each in answers.items()
    }

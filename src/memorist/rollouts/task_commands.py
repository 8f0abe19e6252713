"""The commands of a task that a later session may use again: checks that passed, what ran more than
once, the steps by which the work is brought up to date and handed in, and what they opened. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memorist.core.lazy import lazy_pattern
from memorist.rollouts.structural_task_log import TaskRecord
from memorist.transcript_analysis.command_lines import (
    classify_command_purpose,
    drop_printing_and_cd_commands,
    is_check_covered_by,
    split_chained_commands,
    truncate_command,
)
from memorist.transcript_analysis.command_log import ONLY_TELLS, CommandRunCounts


def render_opened_pull_requests_and_issues(task: TaskRecord) -> Iterator[tuple[str, int]]:
    """Yield the pull requests and issues that the task opened, and their lines."""
    for each in task.opened:
        if not each.address:
            continue
        kind = "issue" if "/issues/" in each.address else "pull request"
        number = each.address.rsplit("/", 1)[-1]
        branch = f" from `{each.branch}`" if each.branch else ""
        yield f"Opened {kind} #{number}{branch}: “{each.title}” {each.address}", each.line


STEPS_PREFIX = "Steps that worked: "
MAX_STEPS, MAX_STEP_CHARACTERS = 6, 60
_STEP_KINDS = frozenset({"run", "merge", "push", "commit"})
_NO_STEP = lazy_pattern(
    r"(?:mkdir|rmdir|rm|cp|mv|touch|chmod|cd|export|test|sleep|kill|pkill|set|true|open|tee|xargs"
    r"|sed|git (?:add|init|mv|rm|clean|stash|commit)(?! --)|for|while|if|perl|ssh(?:-\w+)?|source"
    r"|const|locale|uname|whoami|shasum|sha256sum)(?:\s|$)"
    r"|g(?:it|h) [\w-]+$|gh (?:auth|repo clone)\b|api |python[\d.]* -"
    r"|git (?:symbolic-ref|rev-parse|check-ignore)\b|\w+ (?:search|tree)\b"
    r"|(?:do|then|else|done) |.*\s(?:--version|version|--help|-h|-[lLvV]+)\b"
    r"|.*\s--(?:abort|quit|skip|continue)\b|.*(?:/tmp/|/var/folders/)|.*[.] ?[A-Z]"
)
"""What every session does, what only tells, and what is about a temporary file."""
_STEP = lazy_pattern(r"(?:\./)?[a-z][\w./-]*(?: [\w./:@+-]+)+")
_STEP_VALUE = lazy_pattern(r"(?: -{1,2}[\w-]+)?[= ][\"'].*|=[^\s=]{12}.*| -(?:m|am)\b.*")
"""A text or a long value, with the option that it belongs to."""
_AT_FOLDER = lazy_pattern(r"(?<=git) -C \S+")


def find_update_and_submission_steps(task: TaskRecord) -> Iterator[tuple[str, CommandRunCounts]]:
    """Yield what a project's work takes beside its checks: how it is brought up to date, handed in
    and put on record; each as the words by which it is called, without texts and values.
    """
    for text, run in task.runs.items():
        if run.last is None or not run.last.ok or run.kind not in _STEP_KINDS:
            continue
        for part in split_chained_commands(text):
            step = _STEP_VALUE.sub("", _AT_FOLDER.sub("", part)).strip()
            if (
                len(step) <= MAX_STEP_CHARACTERS
                and classify_command_purpose(part) in _STEP_KINDS
                and _STEP.fullmatch(step)
                and not ONLY_TELLS.search(part)
                and not _NO_STEP.match(step)
            ):
                yield step, run


CHECKS_PREFIX = "Checks passed with: "


MAX_CHECKS_OF_KIND = 2
"""Checks of one kind that a session's memory names. Our choice."""


def build_check_entries(checks: Sequence[tuple[str, CommandRunCounts]]) -> list[tuple[str, int]]:
    """The checks of a session with their lines, without those that a wider one covers, and those of
    single files only where there are no others; checks of several kinds are one entry.
    """
    checks = list({_first_span(text): (text, run) for text, run in checks}.values())
    checks = [pair for pair in checks if not _FILE_NAME.search(_first_span(pair[0]))] or checks
    wide = [
        (text, run)
        for text, run in checks
        if not any(
            run.kind == other.kind and other is not run and _covers(wider, text)
            for wider, other in checks
        )
    ]
    kinds: dict[str, list[tuple[str, CommandRunCounts]]] = {}
    for text, run in sorted(wide or checks[:1], key=_checks_most):
        kinds.setdefault(run.kind, []).append((text, run))
    chosen = [pair for same in kinds.values() for pair in same[:MAX_CHECKS_OF_KIND]]
    if len(kinds) < 2:
        return [(text, run.line) for text, run in chosen]
    spans = ", ".join(_first_span(text) for text, _ in chosen)
    return [(f"{CHECKS_PREFIX}{spans}", chosen[0][1].line)]


def names_several_checks(text: str) -> bool:
    """Whether an entry names several checks: what a project asks of every change."""
    return text.startswith(CHECKS_PREFIX) or " && " in _first_span(text)


def _checks_most(check: tuple[str, CommandRunCounts]) -> tuple[int, int]:
    """Sorts first what runs several checks at once, then what ran most."""
    return -_first_span(check[0]).count(" && "), -check[1].runs


def _first_span(text: str) -> str:
    found = _SPAN.search(text)
    return found[0] if found else text


def _covers(wider: str, text: str) -> bool:
    """Whether one entry's command covers that of the other, and not the other way round."""
    wide, narrow = _first_span(wider).strip("`"), _first_span(text).strip("`")
    return (
        wide != narrow
        and is_check_covered_by(wide, narrow)
        and not is_check_covered_by(narrow, wide)
    )


_REUSED_KINDS = frozenset({"test", "lint", "typecheck", "build", "format", "install"})
ONE_OFF = lazy_pattern(
    r"\A(?:\w+=|cd )\S+\Z|\A(?:for|while|if|until) "
    r"|(?:\A|[\s=\"'])/(?:tmp|var/folders|private/tmp)/"
)
"""A command that nobody runs again: an assignment, a move, or one about a temporary file."""
_ONLY_ASKS = lazy_pattern(
    r"\s(?:version|--version|--help|show|index|list|search|info|outdated|freeze|tree)(?:\s|\Z)"
)
"""A run that tells about a tool or a package, and checks or installs nothing."""
_FILE_NAME = lazy_pattern(r"\s[\w./-]+\.\w{1,5}(?=[\s`]|\Z)")
_SPAN = lazy_pattern(r"`[^`]+`")
_WORKED_PHRASES = {
    "test": "Tests ran with", "lint": "Linted with", "typecheck": "Types checked with",
    "build": "Built with", "format": "Formatted with", "install": "Installed with",
}  # fmt: skip
MAX_TASK_COMMANDS = 6
MAX_COMMAND_CHARACTERS = 160
"""Of a command that memory holds: four checks of a project joined by `&&`. Our choice."""


def select_reusable_commands(task: TaskRecord) -> list[tuple[str, CommandRunCounts]]:
    """Return the commands of a task that are worth reusing: checks, builds and installs that
    passed, and what ran more than once.
    """
    found = [
        (drop_printing_and_cd_commands(text), run)
        for text, run in task.runs.items()
        if run.last is not None
        and run.last.ok
        and not ONE_OFF.search(text)
        and not _ONLY_ASKS.search(text)
        and not (run.kind == "format" and len(_FILE_NAME.findall(text)) > 1)
        and (run.kind in _REUSED_KINDS or (run.kind == "run" and run.runs > 1 and len(text) < 110))
    ]
    found.sort(key=lambda pair: (pair[1].kind == "run", -pair[1].runs, pair[1].order))
    return [
        (
            f"{_WORKED_PHRASES.get(run.kind, 'Ran')}: "
            f"`{truncate_command(text, MAX_COMMAND_CHARACTERS)}`{_run_counts(run)}",
            run,
        )
        for text, run in found[:MAX_TASK_COMMANDS]
    ]


def _run_counts(run: CommandRunCounts) -> str:
    failed = f"; failed {run.failures} of {run.runs} times" if run.failures else ""
    telling = f" → {run.last.line}" if run.last and run.last.line else ""
    return f"{telling}{failed}"

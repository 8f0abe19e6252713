"""How programs were called in a session: calls that could not work as they were typed, and what
worked instead. Pure.

Only what structure proves: the call failed, its error names a word of the call itself (a command
that is not found, an option that is unknown), and a like call without it succeeded soon after.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message
from memorist.safety.secrets import redact
from memorist.transcript_analysis.call_outcome import get_result_head_and_tail, parse_call_outcome
from memorist.transcript_analysis.command_lines import (
    classify_command_purpose,
    split_chained_commands,
)
from memorist.transcript_analysis.tool_actions import CommandAction, parse_tool_action

MAX_CALLS_UNTIL_FIX = 15
"""Calls after a failure within which a success may be what fixed it."""
MIN_SHARED_WORD_SHARE = 0.5
"""Share of a failed call's words that the call that fixed it has as well."""
MAX_OPEN_FAILURES = 8
MAX_OPEN_CALLS = 256
"""Calls of a session that wait for their result."""
MAX_JOINED_COMMANDS = 12
"""Joined commands that are read of one command line."""
MAX_NAMED_WORDS = 3
"""Words of a call that an error may name: what is called is at its beginning."""
MAX_COMMAND_WORDS = 12
"""Words kept of one of them."""
_COMMAND_LIMIT = 2_000
_HEREDOC_START = "<<"
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*=")
_WRAPPERS = frozenset({"sudo", "time", "exec", "command", "nohup", "env", "nice", "timeout", "("})
_DURATION = lazy_pattern(r"[\d.]+[smhd]?")
_OPTIONS_WITH_VALUE = frozenset(
    {"sudo -u", "sudo -g", "sudo -D", "sudo -h", "sudo -p", "env -u", "env -C", "timeout -s",
     "timeout -k", "exec -a", "time -f", "time -o"}
)  # fmt: skip
"""Options of such a program whose value is the next word."""
_PREPARATIONS = frozenset({"source", ".", "export", "eval", "conda", "nvm", "fnm", "mise"})
"""Programs that decide which others are found by those that follow in the same line."""
_PREPARED = "prepared"
"""What stands in a program's name for any of them, and for a path that is set."""
_QUOTED = r"[\"'`‘“]?([^\s\"'`’”:;,](?:[^\s\"'`’”;,]{0,198}[^\s\"'`’”:;,])?)"
_UNUSABLE = tuple(
    lazy_pattern(pattern, re.IGNORECASE)
    for pattern in (
        rf"command not found: {_QUOTED}",
        rf"{_QUOTED}[\"'`’]?: (?:command )?not found\b",
        rf"unknown command: {_QUOTED}",
        rf"(?:the term )?{_QUOTED}[\"'`’] is not recognized as",
        r"(?:unknown|unrecognized|unexpected|invalid|illegal|no such|unsupported)"
        r" (?:sub-?)?(?:command|option|argument|flag|parameter|script|task|target|recipe)s?"
        rf"(?: name)?:?(?: --)? {_QUOTED}",
        rf"no module named {_QUOTED}",
        rf"missing script:? {_QUOTED}",
        rf"(?:script|command|task|recipe|target|file or directory) not found:? {_QUOTED}",
        rf"(?:script|command|task|recipe|target) {_QUOTED}[\"'`’]?"
        r" (?:(?:was )?not found|does not exist|is not defined)",
        r"no (?:rule to make target|such command|(?:\w+ )?(?:command|script|target|task) named)"
        rf" {_QUOTED}",
        r"(?:cannot|can't|could not|couldn't) find (?:an? |the )?(?:command|module|script|task)"
        rf"(?: named)? {_QUOTED}",
        rf"don't know how to build task {_QUOTED}",
        rf"{_QUOTED}[\"'`’]? is not an? [\w-]+ command\b",
        rf"unknown lifecycle phase {_QUOTED}",
        rf"does not contain (?:a )?(?:recipe|script|task) (?:named )?{_QUOTED}",
        rf"can't open file {_QUOTED}",
        rf"{_QUOTED}[\"'`’]?: (?:no such file or directory|permission denied)",
        rf"no such file or directory(?: \(os error 2\))?:? {_QUOTED}",
    )
)
"""Errors that say a call cannot work as it is typed, with the word that they name."""


class ProgramInvocation(Struct, frozen=True):
    """One program of a command line with its arguments."""

    program: str
    """As it is typed, after the folder it is called in, whether the line decides first which
    programs are found (`source .venv/bin/activate`), and the names of variables set for it.
    """
    words: tuple[str, ...] = ()
    """Its arguments in order, without quotes."""

    @property
    def parts(self) -> frozenset[str]:
        """The words that say what is called: the program's own name and its arguments."""
        name = _own_name(self.program).rsplit("/", 1)[-1]
        return frozenset((name, *self.words))


class FixedInvocation(Struct, frozen=True, kw_only=True):
    """A call that could not work, and the command that worked instead."""

    program: str
    word: str
    """As returned by `find_word_rejected_by_error`."""
    command: str
    """The call that failed."""
    error: str
    mended_by: str
    at: float
    """When it was fixed, in seconds since the epoch."""


def split_invocations(command: str) -> tuple[ProgramInvocation, ...]:
    """Split a command line into the programs that it calls; what is behind a pipe is left
    out.
    """
    found: list[ProgramInvocation] = []
    folder = prepared = ""
    for part in split_chained_commands(command[:_COMMAND_LIMIT].split(_HEREDOC_START, 1)[0])[
        :MAX_JOINED_COMMANDS
    ]:
        settings, words = _split_leading_settings(_split_words(part))
        if not words:
            continue
        if words[0] == "cd":
            target = words[1] if len(words) > 1 else ""
            folder = "" if target.startswith(("/", "~", "$")) else target
            continue
        first = _PREPARED if "PATH" in settings else prepared
        program = " ".join(filter(None, (folder, first, *settings[:2], words[0])))
        found.append(ProgramInvocation(program, tuple(words[1 : 1 + MAX_COMMAND_WORDS])))
        if words[0] in _PREPARATIONS:
            prepared = _PREPARED
    return tuple(found)


def _split_leading_settings(words: list[str]) -> tuple[list[str], list[str]]:
    """The names of the variables that a command sets for its program, and the command without them
    and without a program that only calls another (`sudo -E`, `timeout 60`).
    """
    settings: list[str] = []
    rest = [words[0].removeprefix("(") or "(", *words[1:]] if words else []
    if rest and rest[-1].count(")") > rest[-1].count("("):  # `(cd web && tox)`
        rest[-1] = rest[-1].removesuffix(")")
    wrapper = ""
    while rest and (
        _ASSIGNMENT.match(rest[0])
        or rest[0] in _WRAPPERS
        or (wrapper and (rest[0].startswith("-") or _DURATION.fullmatch(rest[0])))
    ):
        word = rest.pop(0)
        if word in _WRAPPERS:
            wrapper = word
        elif f"{wrapper} {word}" in _OPTIONS_WITH_VALUE:
            del rest[:1]
        elif _ASSIGNMENT.match(word):
            settings.append(word.partition("=")[0])
    return settings, rest


def _split_words(part: str) -> list[str]:
    head = re.split(r"\s(?:\||\d?>{1,2}|<)", part, maxsplit=1)[0]
    try:
        return shlex.split(head)
    except ValueError:
        return head.split()


def find_word_rejected_by_error(invocation: ProgramInvocation, error: str) -> str:
    """What of a call its error says cannot be used: an option, or the words up to the one that it
    names; the program itself where that is missing. Empty where it names nothing of the call.
    """
    bare, options = _split_arguments(invocation)
    named = {
        match[1].strip("()[]").partition("=")[0]
        for pattern in _UNUSABLE
        for match in pattern.finditer(error)
    } - {""}
    if _own_name(invocation.program) in named:
        return _own_name(invocation.program)
    if found := next((word for word in options if word in named), ""):
        return found
    firsts = enumerate(bare[:MAX_NAMED_WORDS])
    at = next((at for at, word in firsts if any(_names(each, word) for each in named)), -1)
    return " ".join(bare[: at + 1])


def _names(named: str, word: str) -> bool:
    """Whether an error names a word of the call: as it is typed, or a file by its whole path."""
    return named == word or (named.startswith("/") and named.endswith(f"/{word}"))


def uses_rejected_argument(invocation: ProgramInvocation, program: str, word: str) -> bool:
    """Whether a call uses what could not be used with this program."""
    if word == program:
        return word in list_program_names(invocation)
    bare, options = _split_arguments(invocation)
    return invocation.program == program and (
        word == _own_name(program) or word in options or f"{' '.join(bare)} ".startswith(f"{word} ")
    )


def list_program_names(invocation: ProgramInvocation) -> tuple[str, ...]:
    """The names under which failures of a call's program are recorded: as it is called there, and
    by itself. A program that is not found is missing in each folder, unless the line says first
    where programs are.
    """
    own = _own_name(invocation.program)
    is_prepared = _PREPARED in invocation.program.split(" ")
    return (invocation.program,) if is_prepared or "/" in own else (invocation.program, own)


def _own_name(program: str) -> str:
    return program.rsplit(" ", 1)[-1]


def _split_arguments(invocation: ProgramInvocation) -> tuple[list[str], list[str]]:
    """The arguments of a call that are no options, and the options without their values."""
    bare = [word for word in invocation.words if not word.startswith("-")]
    return bare, [word.partition("=")[0] for word in invocation.words if word.startswith("-")]


class _OpenFailure(Struct):
    invocation: ProgramInvocation
    word: str
    command: str
    error: str
    number: int


class InvocationLog:
    """The calls of one session, in order."""

    def __init__(self) -> None:
        self.mended: list[FixedInvocation] = []
        self.worked: dict[ProgramInvocation, float] = {}
        """Calls that succeeded, with the time of the last success."""
        self._open: list[_OpenFailure] = []
        self._number = 0

    def record_command(self, command: str, *, ok: bool, error: str, at: float) -> None:
        """Record the outcome of a command; `error` is the text of a failed one."""
        self._number += 1
        called = split_invocations(command)
        if ok:
            self._mend(command, called, at)
            self.worked |= dict.fromkeys(called, at)
            return
        for invocation in called:
            if classify_command_purpose(_own_name(invocation.program)) == "look":
                continue  # a file that is not there is an answer
            if word := find_word_rejected_by_error(invocation, error):
                last = word.rsplit(" ", 1)[-1]
                line = next((line for line in error.splitlines() if last in line), "")
                self._open.append(
                    _OpenFailure(invocation, word, command, line.strip(), self._number)
                )
                del self._open[:-MAX_OPEN_FAILURES]
                return

    def _mend(self, command: str, called: Sequence[ProgramInvocation], at: float) -> None:
        if classify_command_purpose(command) == "look":
            return
        still = []
        for failure in self._open:
            if self._number - failure.number > MAX_CALLS_UNTIL_FIX:
                continue
            if not any(_is_instead(failure, each) for each in called):
                still.append(failure)
                continue
            self.mended.append(
                FixedInvocation(
                    program=_get_failing_program(failure),
                    word=failure.word,
                    command=failure.command,
                    error=failure.error,
                    mended_by=command,
                    at=at,
                )
            )
        self._open = still


class InvocationLogBuilder:
    """Takes the commands of a session's messages, with their outcome."""

    def __init__(self) -> None:
        self.log = InvocationLog()
        self._open: dict[str, CommandAction] = {}

    def add(self, message: Message) -> Message:
        """Take one message, in order; returns it."""
        for use in message.tool_uses:
            action = parse_tool_action(use)
            if isinstance(action, CommandAction) and len(self._open) < MAX_OPEN_CALLS:
                self._open[use.id] = action
        for result in message.tool_results:
            called = self._open.pop(result.tool_use_id, None)
            if called is not None:
                ends = get_result_head_and_tail(result)
                outcome = parse_call_outcome(result, called, ends)
                if outcome.ok is not None and not outcome.rejected:
                    error = "" if outcome.ok else "\n".join(ends)
                    at = message.timestamp or 0.0
                    self.log.record_command(
                        redact(called.command).text, ok=outcome.ok, error=error, at=at
                    )
        return message


def _get_failing_program(failure: _OpenFailure) -> str:
    """Where the program itself is missing, its name alone."""
    names = list_program_names(failure.invocation)
    return failure.word if failure.word in names else failure.invocation.program


def _is_instead(failure: _OpenFailure, invocation: ProgramInvocation) -> bool:
    if uses_rejected_argument(invocation, _get_failing_program(failure), failure.word):
        return False
    wanted = failure.invocation.parts
    return len(wanted & invocation.parts) >= MIN_SHARED_WORD_SHARE * len(wanted)

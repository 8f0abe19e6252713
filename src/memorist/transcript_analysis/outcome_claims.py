"""What a line says came of the work, held against what the session proves: a check said to pass
whose last run failed, a file said to be changed that was only read, or to be empty of which text
was read, work said to be done in a session that only looked, tests said to pass that nobody ran.
Pure.

Small models turn what was looked at or wished for into work done. Claims in English are judged;
those of other languages stand. A line is dropped only where the session proves the opposite: what
a sub-agent, an unknown tool or the user did is not in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import parse_word_list
from memorist.transcript_analysis.command_lines import split_chained_commands
from memorist.transcript_analysis.command_log import CommandRunCounts
from memorist.transcript_analysis.session_file_log import FileRecord
from memorist.transcript_analysis.transcript_ledger import SessionActions

_CLAUSE_END = lazy_pattern(
    r"[.!?;](?=\s|$)|,? but |,? (?:and )?then |,? although |,? while | – | — "
)
_CODE = lazy_pattern(r"`([^`\n]+)`")
_UNPROVEN = lazy_pattern(
    r"\b(?:should|must|will|would|can|could|may|might|shall|needs?|wants?|wish\w*|plan\w*|propos\w*|"
    r"suggest\w*|todo|next|until|unless|if|when|once|before|after|whether|expect\w*|let me|let's|"
    r"verify\w*|make sure|ensur\w+|confirm\w*|check (?:if|that|whether)|to be|not|never|no longer|"
    r"without|nothing|ask\w*|request\w*|previous\w*|earlier|upstream|locally|pre-?existing|main)\b"
    r"|n't\b|n’t\b|['’]ll\b|\?",
    re.IGNORECASE,
)
"""What makes a clause no claim about this session: a wish, a condition, a denial, a former state.
"""
_GOOD = r"(?:green|clean|fine|good|ok|okay|successful)"
_PASSES = (
    r"(?:pass(?:es|ed|ing)?|succeed(?:s|ed)?|succeeding|completed successfully"
    rf"|(?:is|are|was|were) (?:\w+ly |now |still |all )*{_GOOD}|clean(?:ly)?|green|successfully)\b"
)
_FAILS = r"(?:fail(?:s|ed|ing)?|(?:is|are|was|were) (?:still |now )?(?:red|broken|failing))\b"
_SUBJECTS = {
    "test": r"(?:tests?|test suite|suite|specs?)",
    "build": r"(?:builds?|compiles|compilation)",
    "lint": r"(?:lint|linter|linting)",
    "typecheck": r"(?:type-?checks?|type checks?|typescript|type checking)",
    "check": r"(?:quality )?checks",
}
"""By kind of command how a line names all of it; `check` is every kind."""
_MODIFIER = (
    r"(?:all|both|every|the|full|whole|entire|complete|\d+|unit|of|its|existing|actual|project)"
)
_PART_END = lazy_pattern(r":|,| and ")


def _subject_pattern(subject: str, predicate: str) -> re.Pattern[str]:
    """A whole check as the subject of a clause, with what is said of it. A part of it (`the new
    tests`) is none: it may pass where the last run of all failed.
    """
    return lazy_pattern(
        rf"^\W*(?:{_MODIFIER}\s+)*{subject}\W{{0,4}}\s*(?:\w+\s+){{0,2}}{predicate}", re.IGNORECASE
    )


_CHECK_PASSES = {kind: _subject_pattern(words, _PASSES) for kind, words in _SUBJECTS.items()}
_CHECK_FAILS = {kind: _subject_pattern(words, _FAILS) for kind, words in _SUBJECTS.items()}
_SAYS_PASSES = lazy_pattern(rf"\b{_PASSES}|\bsuccessful(?:ly)?\b|\bworks\b|✅", re.IGNORECASE)
_SAYS_FAILS = lazy_pattern(rf"\b{_FAILS}|\b(?:errors?|failures?)\b|❌", re.IGNORECASE)

_CHANGED = (
    r"(?:updated|changed|edited|modified|fixed|rewrote|rewritten|refactored|extended|corrected|"
    r"replaced|created|deleted|removed|renamed|added|implemented|mended)"
)
_FILE_CHANGED = lazy_pattern(
    r"^\W*(?:(?:the )?(?:agent|assistant|ai|i|we) )?(?:has |have |also |successfully )*"
    rf"{_CHANGED}\b(?!-)"
    r"(?:(?!\b(?:from|per|using|based|according|like|see|via|against|match\w*|with|by|for|as|since"
    r"|because|reflect|mirror)\b)[^«»:]){0,60}«(\d+)»",
    re.IGNORECASE,
)
_FILE_WAS_CHANGED = lazy_pattern(
    rf"«(\d+)»(?: file)? (?:was|were|has been|have been|is now|got) (?:\w+ ){{0,2}}{_CHANGED}\b",
    re.IGNORECASE,
)
_FILE_IS_EMPTY = lazy_pattern(
    r"(?:^|,| and )\W*(?:the )?(?:file |document )?«(\d+)»(?: (?:file|document|page))?"
    r"(?: (?:in|of|from|at|under|inside|within) [^,;:]{1,80}?)?"
    r" (?:is|was|are|were|remains?) (?:\w+ly |still |now )?(?:empty|blank|missing|nonexistent)\W*$",
    re.IGNORECASE,
)
_DONE = (
    r"(?:updated|fixed|implemented|refactored|added|created|removed|corrected|resolved|completed"
    r"|rewritten|migrated|replaced)\b(?!-)"
)
_WORK_DONE = lazy_pattern(
    rf"\b(?:has|have) been (?:\w+ly )?{_DONE}"
    rf"|^\W*(?:the )?[\w ]{{3,40}} (?:was|were|is now|are now) (?:successfully )?{_DONE}"
    rf"|^\W*(?:successfully )?{_DONE}(?! (?:by|in|on|at|with|via)\b)",
    re.IGNORECASE,
)
_ELSEWHERE = lazy_pattern(
    r"«|:\s*$|\b[0-9a-f]{7,}\b|#\d+|\bv?\d+\.\d+|\b(?:PRs?|commits?|releases?)\b", re.IGNORECASE
)
"""What a clause about work done elsewhere names; a clause that names a file is judged by it."""
_NAME = lazy_pattern(r"[~\w@.+-]*(?:/[\w@.+-]+)*\.[A-Za-z]\w{0,9}\b")
_LOOKS = parse_word_list("look test lint typecheck")
"""Kinds of commands of which nobody expects that they change a file."""


class OutcomeClaimCheck:
    """What came of the commands and files of a session. `actions` may be that of one that goes on:
    what is judged is what it holds at that time.
    """

    def __init__(self, actions: SessionActions) -> None:
        self._commands = {_squash(key): each for key, each in actions.commands.commands.items()}
        self._files = list(actions.files.files.values())
        self._checks = {kind: _list_runs(self._commands.values(), kind) for kind in _SUBJECTS}
        failed = (runs for runs in self._checks.values() if runs and _has_failed(runs[-1]))
        self._checks["check"] = next(failed, [])
        self._has_unseen_work = actions.has_unseen_work
        self._user_words = actions.user_words
        self._changing = [each.text for each in self._commands.values() if each.kind not in _LOOKS]
        self._has_others = bool(actions.dirty) or actions.has_unseen_work
        self._only_looked = not (
            self._has_others
            or self._changing
            or any(each.edits or each.fate for each in self._files)
        )

    def find_contradiction(self, line: str) -> str:
        """Return what the session proves against a line; empty where there is nothing."""
        for clause in dict.fromkeys(_split_clauses(line)):  # a model that loops repeats itself
            fault = self._judge_clause(clause)
            if fault:
                return fault
        return ""

    def _judge_clause(self, clause: str) -> str:
        names: list[str] = []

        def mask(match: re.Match[str]) -> str:
            names.append(match[1] if match.re.groups else match[0])
            return f"«{len(names) - 1}»"

        plain = _NAME.sub(mask, _CODE.sub(mask, clause))
        if _UNPROVEN.search(plain):
            return ""
        return (
            self._judge_command(plain, names)
            or self._judge_check(plain)
            or self._judge_file(plain, names)
            or self._judge_work(plain)
        )

    def _judge_command(self, plain: str, names: Iterable[str]) -> str:
        passes, fails = _SAYS_PASSES.search(plain), _SAYS_FAILS.search(plain)
        if bool(passes) is bool(fails):
            return ""
        runs = [run for name in names if (run := self._commands.get(_squash(name)))]
        if len(runs) != 1 or runs[0].last is None:
            return ""
        return _contradict(runs, runs[0].text, says_passes=bool(passes))

    def _judge_check(self, plain: str) -> str:
        parts = (plain, *_PART_END.split(plain))
        for kind, runs in self._checks.items():
            passes, fails = (
                any(map(pattern[kind].search, parts)) for pattern in (_CHECK_PASSES, _CHECK_FAILS)
            )
            if runs and passes is not fails:
                return _contradict(runs, runs[-1].text, says_passes=passes)
            if passes and not fails and self._never_ran(kind):
                return "says that a check passes, which was never run"
        return ""

    def _never_ran(self, kind: str) -> bool:
        """Whether nobody ran a check of this kind. A script, a build or the hooks of a commit may
        include any, and tests build what they run.
        """
        kinds = {each.kind for each in self._commands.values()}
        without = {"look", "lint", "typecheck"} if kind == "test" else {"look"}
        return not self._has_unseen_work and kinds <= without and not self._user_says_passes(kind)

    def _user_says_passes(self, kind: str) -> bool:
        claims = (each for each in _split_clauses(self._user_words) if not _UNPROVEN.search(each))
        return any(
            _CHECK_PASSES[kind].search(part)
            for clause in claims
            for part in (clause, *_PART_END.split(clause))
        )

    def _judge_file(self, plain: str, names: Collection[str]) -> str:
        empty = _FILE_IS_EMPTY.search(plain)
        found = empty or _FILE_CHANGED.search(plain) or _FILE_WAS_CHANGED.search(plain)
        if found is None or (self._has_others and not empty):
            return ""
        name = [*names][int(found[1])]
        records = [each for each in self._files if _is_named(each, name)]
        base = name.rsplit("/", 1)[-1]
        if not records or any(each.edits or each.fate for each in records):
            return ""
        if any(base in command or "*" in command for command in self._changing):
            return ""
        if empty:
            has_text = any(each.has_text for each in records)
            return f"says that {base} is empty, of which text was read" if has_text else ""
        return f"says that {base} was changed, which was only read"

    def _judge_work(self, plain: str) -> str:
        if self._only_looked and _WORK_DONE.search(plain) and not _ELSEWHERE.search(plain):
            return "says that work is done, where nothing was changed"
        return ""


def _list_runs(commands: Iterable[CommandRunCounts], kind: str) -> list[CommandRunCounts]:
    """The commands of a kind of which the outcome is known, in the order of their last run. Where
    one of several joined ones failed, it is not known which.
    """
    known = (
        each
        for each in commands
        if each.kind == kind
        and each.last
        and each.last.ok is not None
        and (each.last.ok or len(split_chained_commands(each.text)) == 1)
    )
    return sorted(known, key=lambda each: each.order)


def _has_failed(command: CommandRunCounts) -> bool:
    return command.last is not None and command.last.ok is False


def _contradict(runs: list[CommandRunCounts], what: str, *, says_passes: bool) -> str:
    """What the runs of a check prove against a claim about it. A failure is disproved only where
    each run counted what passed: a success may be that of a pipe behind it.
    """
    if says_passes and _has_failed(runs[-1]):
        return f"says that it passes, where {what[:60]} failed"
    counted = all(each.last and each.last.ok and each.last.line for each in runs)
    if not says_passes and counted and not any(each.failures for each in runs):
        return f"says that it fails, where {what[:60]} never did"
    return ""


def _split_clauses(line: str) -> list[str]:
    codes: list[str] = []

    def keep(match: re.Match[str]) -> str:
        codes.append(match[0])
        return f"\0{len(codes) - 1}\0"

    clauses = _CLAUSE_END.split(_CODE.sub(keep, line))
    return [
        re.sub(r"\0(\d+)\0", lambda match: codes[int(match[1])], clause)
        for clause in clauses
        if clause.strip()
    ]


def _squash(command: str) -> str:
    return " ".join(command.strip("$ ").split())


def _is_named(record: FileRecord, name: str) -> bool:
    """Whether a file's path ends in the parts that a line names."""
    mine, theirs = record.path.split("/"), name.removeprefix("./").strip("/").split("/")
    return mine[-len(theirs) :] == theirs

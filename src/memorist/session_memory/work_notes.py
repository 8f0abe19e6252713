"""Build the note lines from the work record: files, commands, failures and what resolved them.
Pure.
"""

from __future__ import annotations

import re

from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import shorten_to_one_line
from memorist.transcript_analysis.command_lines import (
    drop_printing_and_cd_commands,
    truncate_command,
)
from memorist.transcript_analysis.command_log import CommandRunCounts, RecordedFailure
from memorist.transcript_analysis.display_paths import join_display_paths, make_display_path
from memorist.transcript_analysis.note_line_selection import NoteLine, build_weighted_note_line
from memorist.transcript_analysis.session_dialogue import ANSWERING, DialogueUserMessage
from memorist.transcript_analysis.session_file_log import FileRecord, render_line_replacement
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger

FILES_SECTION = "Files and Functions"
WORKFLOW_SECTION = "Workflow"
ERRORS_SECTION = "Errors & Corrections"

MENDED = "→ mended"
"""What stands between a failure and its cure."""
_SEPARATE_DELETIONS = 3
_REQUIRED_FAILURES = 5
_REQUIRED_CORRECTIONS = 4
_CORRECTION_LENGTH = 280
"""Characters of the user's words in a correction."""

_CHECKED_SENTENCES = 12
CORRECTION_START = lazy_pattern(
    r"(?:no|nope|nah|wrong|stop|wait|hmm,? no|not (?!sure|only|bad)|never|actually|instead|"
    r"undo|revert|please don['’]?t|don['’]?t|do not"
    r"|you (?:forgot|missed|should|must|shouldn['’]?t|broke|did ?n['’]?t|can['’]?t|cannot|were "
    r"supposed|are not|aren['’]?t)"
    r"|(?:that|this) is (?:not|wrong)|that['’]?s (?:not|wrong)|it (?:still|does ?n['’]?t)|still "
    r"|i (?:said|meant|told|asked|did ?n['’]?t|don['’]?t)|why (?:did|are|do) you)\b",
    re.IGNORECASE,
)
"""Beginning of a message that corrects something."""

_PROHIBITION_START = lazy_pattern(
    r"(?:and |but |also |so |then |again,? )*(?:no |don['’]?t |do not |never |not |only |"
    r"always |from now on|instead|please (?:don['’]?t|do not|never)"
    r"|(?:and |but )?.{0,60}\b(?:must (?:never|not)|should(?: not|n['’]?t)|instead of)\b)",
    re.IGNORECASE,
)
"""Beginning of a later sentence of such a message."""

_PURPOSES = (
    "test", "lint", "typecheck", "build", "format", "install", "commit", "push", "merge",
    "branch", "run",
)  # fmt: skip
_CHECKS = frozenset({"test", "lint", "typecheck", "build", "commit"})


def rank_files_by_changes(ledger: TranscriptLedger) -> list[FileRecord]:
    """The files, most changed first, then newest first."""
    return sorted(
        ledger.work_record.files.files.values(), key=lambda each: (-each.edits, -each.order)
    )


def build_file_lines(ledger: TranscriptLedger, root: str) -> list[NoteLine]:
    """One line for each changed file, and one for those only read."""
    files = rank_files_by_changes(ledger)
    changed = [each for each in files if each.edits]
    lines = _build_changed_lines(changed, root)
    theirs = _find_foreign_changes(ledger, [make_display_path(each.path, root) for each in changed])
    if theirs and changed:
        lines.append(
            build_weighted_note_line(
                FILES_SECTION,
                f"In the working tree by `git status`, though no call here edited them: "
                f"{join_display_paths(theirs, root, 8)}",
                (3, 0),
                1.4,
            )
        )
    back = [each.path for each in files if each.reverted]
    if back:
        lines.append(
            build_weighted_note_line(
                FILES_SECTION,
                f"Changed, then taken back: {join_display_paths(back, root, 8)}",
                (1, 1),
                2.0,
                must=True,
            )
        )
    seen = sorted(
        (each for each in files if not each.edits and each.reads and not each.reverted),
        key=lambda each: (-each.reads, -each.order),
    )
    if seen:
        lines.append(
            build_weighted_note_line(
                FILES_SECTION,
                f"Read only: {join_display_paths([each.path for each in seen], root, 10)}",
                (2, 0),
                2.0,
                must=True,
            )
        )
    return lines


def _build_changed_lines(changed: list[FileRecord], root: str) -> list[NoteLine]:
    """One line for each changed file, many deletions in one, and what was added last."""
    deleted = [each for each in changed if each.fate == "deleted"]
    single = (
        changed
        if len(deleted) <= _SEPARATE_DELETIONS
        else [each for each in changed if each.fate != "deleted"]
    )
    lines = [
        _build_changed_line(each, make_display_path(each.path, root), at)
        for at, each in enumerate(single[:30])
    ]
    if len(deleted) > _SEPARATE_DELETIONS:
        lines.append(
            build_weighted_note_line(
                FILES_SECTION,
                f"Deleted: {join_display_paths([each.path for each in deleted], root, 12)}",
                (1, 0),
                2.0,
                must=True,
            )
        )
    for at, each in enumerate(changed[:8]):
        for position, words in enumerate(each.added):
            lines.append(
                build_weighted_note_line(
                    FILES_SECTION,
                    f"`{make_display_path(each.path, root).rsplit('/', 1)[-1]}` now says: {words}",
                    (1, at, position),
                    0.8,
                )
            )
    return lines


def _find_foreign_changes(ledger: TranscriptLedger, changed: list[str]) -> list[str]:
    """What `git status` lists, except what was edited here, folders with an edit in them, and what
    a changing command names.
    """
    actions = "\n".join(
        note.text
        for note in ledger.work_record.commands.commands.values()
        if note.kind not in ("look", "commit")
    )
    return [
        path
        for path in ledger.work_record.dirty
        if not any(
            each.endswith(path.rstrip("/")) or f"/{path.rstrip('/')}/" in f"/{each}"
            for each in changed
        )
        and path.rstrip("/").rsplit("/", 1)[-1] not in actions
    ]


def _build_changed_line(note: FileRecord, path: str, at: int) -> NoteLine:
    times = f" ×{note.edits}" if note.edits > 1 else ""
    parts = [f"{note.fate or 'updated'}{times}"]
    if note.symbols:
        parts.append(", ".join(f"`{symbol}`" for symbol in note.symbols))
    elif note.touched and not note.pairs:
        parts.append(
            "with "
            + ", ".join(
                f"`{name}`"
                for name in list(note.touched)[:6]
                if "`" not in name and " " not in name
            )
        )
    pairs = [
        shown for new, old in note.pairs.items() if (shown := render_line_replacement(old, new))
    ]
    if pairs:
        parts.append("; ".join(pairs))
    return build_weighted_note_line(
        FILES_SECTION, f"`{path}`: {'; '.join(parts)}", (0, at), 2.0, must=at < 12
    )


def build_workflow_lines(ledger: TranscriptLedger) -> list[NoteLine]:
    """The commands that check, build, commit and ship, by purpose, with their last outcome;
    searches; commands and tools used for reading.
    """
    lines = []
    notes = sorted(ledger.work_record.commands.commands.values(), key=lambda each: -each.order)
    by_kind: dict[str, list[CommandRunCounts]] = {}
    for each in notes:
        by_kind.setdefault(each.kind, []).append(each)
    for at, kind in enumerate(_PURPOSES):
        found = by_kind.get(kind, [])[: 4 if kind == "test" else 3]
        for position, note in enumerate(found):
            weight = 1.6 if kind in _CHECKS else 1.1
            must = position == 0 and kind in _CHECKS
            lines.append(
                build_weighted_note_line(
                    WORKFLOW_SECTION,
                    f"{kind}: {_render_command(note)}",
                    (at, position),
                    weight - 0.2 * position,
                    must=must,
                )
            )
    searches = [
        f"`{shorten_to_one_line(what, 60)}`"
        for what in list(ledger.work_record.searches)[-8:]
        if "`" not in what
    ]
    looks = sorted(
        (each for each in by_kind.get("look", ()) if len(each.text) < 70 and "`" not in each.text),
        key=lambda each: -each.runs,
    )
    tools = sorted(ledger.work_record.tools.items(), key=lambda each: -each[1])[:10]
    lists = (
        ("searched for", searches, 0.9),
        ("looked with", [f"`{each.text}`" for each in looks[:8]], 0.9),
        ("tools used", [f"{name} ×{count}" if count > 1 else name for name, count in tools], 1.2),
    )
    lines.extend(
        build_weighted_note_line(WORKFLOW_SECTION, f"{label}: {', '.join(items)}", (90, at), weight)
        for at, (label, items, weight) in enumerate(lists)
        if items
    )
    return lines


def _render_command(note: CommandRunCounts) -> str:
    runs = f" ×{note.runs}" if note.runs > 1 else ""
    ok, text = (note.last.ok, note.last.line) if note.last else (None, "")
    return (
        f"`{truncate_command(note.text, 120)}`{runs} → "
        f"{describe_command_outcome(ok, text, note.kind)}{_render_hooks(note)}"
    )


def _render_hooks(note: CommandRunCounts) -> str:
    if note.last and note.last.hooks:
        return " (it ran " + ", ".join(f"`{hook}`" for hook in note.last.hooks) + ")"
    return ""


def describe_command_outcome(ok: bool | None, text: str, kind: str) -> str:
    """Describe how a command ended."""
    if ok is None:
        return "running"
    if not ok:
        return f"failed: {text}" if text else "failed"
    good = "passed" if kind in ("test", "lint", "typecheck") else "success"
    return f"{good}: {text}" if text else good


def build_error_lines(ledger: TranscriptLedger, root: str) -> list[NoteLine]:
    """Failures, newer ones weighted higher: the output line, the assistant's diagnosis, what was
    changed, and what then worked.
    """
    failures = [
        each
        for each in ledger.work_record.commands.failures
        if each.kind != "look" or each.diagnosis
    ][-14:]
    error_lines = [
        each
        for each in failures
        if each.kind not in ("look", "edit") and (each.line or each.diagnosis)
    ][-_REQUIRED_FAILURES:]
    lines = [
        build_weighted_note_line(
            ERRORS_SECTION,
            render_failure_line(each, root),
            (each.turn, at),
            1.5 if each.resolved_by else 1.8,
            must=each in error_lines,
        )
        for at, each in enumerate(failures)
    ]
    for ask in ledger.dialogue.asks:
        if ask.correction is None:
            ask.correction = _find_correction(ask, first=ask is ledger.dialogue.asks[0])
    put_right = [
        (at, ask, ask.correction) for at, ask in enumerate(ledger.dialogue.asks) if ask.correction
    ]
    last = len(put_right) - _REQUIRED_CORRECTIONS
    for position, (at, ask, words) in enumerate(put_right):
        who = f"The user, {ask.input_method}" if ask.input_method else "The user"
        lines.append(
            build_weighted_note_line(
                ERRORS_SECTION,
                f"{who}: “{words}”",
                (ask.turn, -100 + at),
                2.0,
                must=position >= last,
            )
        )
    return lines


def _find_correction(ask: DialogueUserMessage, *, first: bool) -> str:
    """The words by which the user corrects or limits the work; empty for other messages and for the
    first one, which is a new request.
    """
    if ask.input_method == ANSWERING:
        return ""
    if ask.input_method:
        return shorten_to_one_line(ask.text, 240)
    if first or not ask.sentences:
        return ""
    hits = [
        at
        for at, each in enumerate(ask.sentences[:_CHECKED_SENTENCES])
        if (CORRECTION_START if at == 0 else _PROHIBITION_START).match(each.text)
    ]
    if not hits:
        return ""
    start = hits[0]
    words = " ".join(each.text for each in ask.sentences[start : start + 4])
    return shorten_to_one_line(
        words
        if len(words) <= _CORRECTION_LENGTH
        else " ".join(ask.sentences[at].text for at in hits[:3]),
        _CORRECTION_LENGTH,
    )


def render_failure_line(failure: RecordedFailure, root: str) -> str:
    """Render a failure as one line: what failed, how often, the output line, the diagnosis, the
    resolution; paths relative to `root`.
    """
    if failure.kind == "refused":
        said = f" — {shorten_to_one_line(failure.diagnosis, 220)}" if failure.diagnosis else ""
        return f"The user refused {make_display_path(failure.what, root)}{said}"
    what = make_display_path(failure.what, root)
    times = f" ×{failure.times}" if failure.times > 1 else ""
    code = f" (exit {failure.exit})" if failure.exit else ""
    verb = "edit failed" if failure.kind == "edit" else "failed"
    text = (
        f"`{truncate_command(what, 100)}` {verb}{times}{code}: {failure.line}"
        if failure.line
        else f"`{truncate_command(what, 100)}` {verb}{times}{code}"
    )
    if failure.diagnosis:
        text += f" — the agent: {shorten_to_one_line(failure.diagnosis, 220)}"
    if failure.resolved_by:
        edits = ", ".join(
            f"`{make_display_path(path, root).rsplit('/', 1)[-1]}`" for path in failure.edits
        )
        after = f" after changing {edits}" if edits else ""
        same = failure.resolved_by == failure.what
        if not after and same and failure.between and not failure.resolved_escalated:
            after = " after " + ", ".join(
                f"`{truncate_command(each, 60)}`" for each in failure.between
            )
        done = (
            "the same command"
            if same
            else f"`{truncate_command(drop_printing_and_cd_commands(failure.resolved_by), 80)}`"
        )
        where = " outside the sandbox" if failure.resolved_escalated else ""
        text += f" {MENDED}{after}: {done} passed{where}"
    elif failure.edits and failure.kind != "look":
        text += " → then changed " + ", ".join(
            f"`{make_display_path(path, root).rsplit('/', 1)[-1]}`" for path in failure.edits
        )
    return text

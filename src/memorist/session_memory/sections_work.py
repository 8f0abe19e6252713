"""Build the note lines from the work record: files, commands, failures and what resolved them.
Pure.
"""

from __future__ import annotations

import re

from memorist.core.later import late_pattern
from memorist.session_memory.ledger import Ledger
from memorist.session_memory.ledger_commands import CommandNote, Failure
from memorist.session_memory.ledger_files import FileNote, replacement
from memorist.session_memory.ledger_talk import ANSWERING, Ask
from memorist.session_memory.paths import relative
from memorist.session_memory.rank import Line, line
from memorist.session_memory.sentences import shorten

FILES, FLOW, ERRORS = "Files and Functions", "Workflow", "Errors & Corrections"

_DELETED_ALONE = 3
_LAST_FAILURES = 5
_LAST_CORRECTIONS = 4
_CORRECTION = 280
"""Characters of the user's words in a correction."""

_ASK_PART = 12
CORRECTS = late_pattern(
    r"(?:no|nope|nah|wrong|stop|wait|hmm,? no|not (?!sure|only|bad)|never|actually|instead|undo|revert|please don['’]?t|don['’]?t|do not"
    r"|you (?:forgot|missed|should|must|shouldn['’]?t|broke|did ?n['’]?t|can['’]?t|cannot|were supposed|are not|aren['’]?t)"
    r"|(?:that|this) is (?:not|wrong)|that['’]?s (?:not|wrong)|it (?:still|does ?n['’]?t)|still "
    r"|i (?:said|meant|told|asked|did ?n['’]?t|don['’]?t)|why (?:did|are|do) you)\b",
    re.IGNORECASE,
)
"""Beginning of a message that corrects something."""

_FORBIDS = late_pattern(
    r"(?:and |but |also |so |then |again,? )*(?:no |don['’]?t |do not |never |not |only |always |from now on|instead|please (?:don['’]?t|do not|never)"
    r"|(?:and |but )?.{0,60}\b(?:must (?:never|not)|should(?: not|n['’]?t)|instead of)\b)",
    re.IGNORECASE,
)
"""Beginning of a later sentence of such a message."""

_PURPOSES = ("test", "lint", "typecheck", "build", "format", "install", "commit", "push", "merge", "branch", "run")
_CHECKS = frozenset({"test", "lint", "typecheck", "build", "commit"})


def changed_first(ledger: Ledger) -> list[FileNote]:
    """The files, most changed first, then newest first."""
    return sorted(ledger.work.files.files.values(), key=lambda each: (-each.edits, -each.order))


def file_lines(ledger: Ledger, root: str) -> list[Line]:
    """One line for each changed file, and one for those only read."""
    files = changed_first(ledger)
    changed = [each for each in files if each.edits]
    gone = [each for each in changed if each.fate == "deleted"]
    single = changed if len(gone) <= _DELETED_ALONE else [each for each in changed if each.fate != "deleted"]
    lines = [_changed_line(each, relative(each.path, root), at) for at, each in enumerate(single[:30])]
    if len(gone) > _DELETED_ALONE:
        lines.append(line(FILES, f"Deleted: {_named([each.path for each in gone], root, 12)}", (1, 0), 2.0, must=True))
    for at, each in enumerate(changed[:8]):
        for place, words in enumerate(each.added):
            lines.append(line(FILES, f"`{relative(each.path, root).rsplit('/', 1)[-1]}` now says: {words}", (1, at, place), 0.8))
    theirs = _untouched(ledger, [relative(each.path, root) for each in changed])
    if theirs and changed:
        lines.append(
            line(FILES, f"In the working tree by `git status`, though no call here edited them: {_named(theirs, root, 8)}", (3, 0), 1.4)
        )
    back = [each.path for each in files if each.taken_back]
    if back:
        lines.append(line(FILES, f"Changed, then taken back: {_named(back, root, 8)}", (1, 1), 2.0, must=True))
    seen = sorted(
        (each for each in files if not each.edits and each.reads and not each.taken_back), key=lambda each: (-each.reads, -each.order)
    )
    if seen:
        lines.append(line(FILES, f"Read only: {_named([each.path for each in seen], root, 10)}", (2, 0), 2.0, must=True))
    return lines


def _untouched(ledger: Ledger, changed: list[str]) -> list[str]:
    """What `git status` lists, except what was edited here, folders with an edit in them, and what
    a changing command names.
    """
    deeds = "\n".join(note.text for note in ledger.work.commands.commands.values() if note.kind not in ("look", "commit"))
    return [
        path
        for path in ledger.work.dirty
        if not any(each.endswith(path.rstrip("/")) or f"/{path.rstrip('/')}/" in f"/{each}" for each in changed)
        and path.rstrip("/").rsplit("/", 1)[-1] not in deeds
    ]


def _named(paths: list[str], root: str, limit: int) -> str:
    more = f" and {len(paths) - limit} more" if len(paths) > limit else ""
    return ", ".join(f"`{relative(path, root)}`" for path in paths[:limit]) + more


def _changed_line(note: FileNote, path: str, at: int) -> Line:
    times = f" ×{note.edits}" if note.edits > 1 else ""
    parts = [f"{note.fate or 'updated'}{times}"]
    if note.symbols:
        parts.append(", ".join(f"`{symbol}`" for symbol in note.symbols))
    elif note.touched and not note.pairs:
        parts.append("with " + ", ".join(f"`{name}`" for name in list(note.touched)[:6] if "`" not in name and " " not in name))
    pairs = [shown for new, old in note.pairs.items() if (shown := replacement(old, new))]
    if pairs:
        parts.append("; ".join(pairs))
    return line(FILES, f"`{path}`: {'; '.join(parts)}", (0, at), 2.0, must=at < 12)


def flow_lines(ledger: Ledger) -> list[Line]:
    """The commands that check, build, commit and ship, by purpose, with their last outcome;
    searches; commands and tools used for reading.
    """
    lines = []
    notes = sorted(ledger.work.commands.commands.values(), key=lambda each: -each.order)
    by_kind: dict[str, list[CommandNote]] = {}
    for each in notes:
        by_kind.setdefault(each.kind, []).append(each)
    for at, kind in enumerate(_PURPOSES):
        found = by_kind.get(kind, [])[: 4 if kind == "test" else 3]
        for place, note in enumerate(found):
            weight = 1.6 if kind in _CHECKS else 1.1
            must = place == 0 and kind in _CHECKS
            lines.append(line(FLOW, f"{kind}: {_command(note)}", (at, place), weight - 0.2 * place, must=must))
    searches = [f"`{shorten(what, 60)}`" for what in list(ledger.work.searches)[-8:] if "`" not in what]
    looks = sorted((each for each in by_kind.get("look", ()) if len(each.text) < 70 and "`" not in each.text), key=lambda each: -each.runs)
    tools = sorted(ledger.work.tools.items(), key=lambda each: -each[1])[:10]
    lists = (
        ("searched for", searches, 0.9),
        ("looked with", [f"`{each.text}`" for each in looks[:8]], 0.9),
        ("tools used", [f"{name} ×{count}" if count > 1 else name for name, count in tools], 1.2),
    )
    lines.extend(line(FLOW, f"{label}: {', '.join(items)}", (90, at), weight) for at, (label, items, weight) in enumerate(lists) if items)
    return lines


def _command(note: CommandNote) -> str:
    runs = f" ×{note.runs}" if note.runs > 1 else ""
    ok, text = (note.last.ok, note.last.line) if note.last else (None, "")
    return f"`{shorten(note.text, 120)}`{runs} → {ending(ok, text, note.kind)}{_hooks(note)}"


def _hooks(note: CommandNote) -> str:
    return " (it ran " + ", ".join(f"`{hook}`" for hook in note.last.hooks) + ")" if note.last and note.last.hooks else ""


def ending(ok: bool | None, text: str, kind: str) -> str:
    """Describe how a command ended."""
    if ok is None:
        return "running"
    if not ok:
        return f"failed: {text}" if text else "failed"
    good = "passed" if kind in ("test", "lint", "typecheck") else "success"
    return f"{good}: {text}" if text else good


def error_lines(ledger: Ledger, root: str) -> list[Line]:
    """Failures, newer ones weighted higher: the output line, the assistant's diagnosis, what was
    changed, and what then worked.
    """
    failures = [each for each in ledger.work.commands.failures if each.kind != "look" or each.diagnosis][-14:]
    told = [each for each in failures if each.kind not in ("look", "edit") and (each.line or each.diagnosis)][-_LAST_FAILURES:]
    lines = [
        line(ERRORS, failure_text(each, root), (each.turn, at), 1.5 if each.mended_by else 1.8, must=each in told)
        for at, each in enumerate(failures)
    ]
    for ask in ledger.talk.asks:
        if ask.correction is None:
            ask.correction = _put_right(ask, first=ask is ledger.talk.asks[0])
    put_right = [(at, ask, ask.correction) for at, ask in enumerate(ledger.talk.asks) if ask.correction]
    last = len(put_right) - _LAST_CORRECTIONS
    for place, (at, ask, words) in enumerate(put_right):
        who = f"The user, {ask.how}" if ask.how else "The user"
        lines.append(line(ERRORS, f"{who}: “{words}”", (ask.turn, -100 + at), 2.0, must=place >= last))
    return lines


def _put_right(ask: Ask, *, first: bool) -> str:
    """The words by which the user corrects or limits the work; empty for other messages and for the
    first one, which is a new request.
    """
    if ask.how == ANSWERING:
        return ""
    if ask.how:
        return shorten(ask.text, 240)
    if first or not ask.sentences:
        return ""
    hits = [at for at, each in enumerate(ask.sentences[:_ASK_PART]) if (CORRECTS if at == 0 else _FORBIDS).match(each.text)]
    if not hits:
        return ""
    start = hits[0]
    words = " ".join(each.text for each in ask.sentences[start : start + 4])
    return shorten(words if len(words) <= _CORRECTION else " ".join(ask.sentences[at].text for at in hits[:3]), _CORRECTION)


def failure_text(failure: Failure, root: str) -> str:
    """Render a failure as one line: what failed, how often, the output line, the diagnosis, the
    resolution; paths relative to `root`.
    """
    if failure.kind == "refused":
        said = f" — {shorten(failure.diagnosis, 220)}" if failure.diagnosis else ""
        return f"The user refused {relative(failure.what, root)}{said}"
    what = relative(failure.what, root)
    times = f" ×{failure.times}" if failure.times > 1 else ""
    code = f" (exit {failure.exit})" if failure.exit else ""
    verb = "edit failed" if failure.kind == "edit" else "failed"
    text = f"`{shorten(what, 100)}` {verb}{times}{code}: {failure.line}" if failure.line else f"`{shorten(what, 100)}` {verb}{times}{code}"
    if failure.diagnosis:
        text += f" — {shorten(failure.diagnosis, 220)}"
    if failure.mended_by:
        edits = ", ".join(f"`{relative(path, root).rsplit('/', 1)[-1]}`" for path in failure.edits)
        after = f" after changing {edits}" if edits else ""
        done = "the same command" if failure.mended_by == failure.what else f"`{shorten(failure.mended_by, 80)}`"
        text += f" → mended{after}: {done} passed"
    elif failure.edits and failure.kind != "look":
        text += " → then changed " + ", ".join(f"`{relative(path, root).rsplit('/', 1)[-1]}`" for path in failure.edits)
    return text

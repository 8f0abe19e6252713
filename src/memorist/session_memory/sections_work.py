"""Notes from what was done: files, commands, failures and what mended them. Pure."""

from __future__ import annotations

from memorist.session_memory.ledger import Ledger
from memorist.session_memory.ledger_commands import CommandNote, Failure
from memorist.session_memory.ledger_files import FileNote
from memorist.session_memory.ledger_talk import ANSWERING
from memorist.session_memory.paths import relative
from memorist.session_memory.rank import Line, line
from memorist.session_memory.sentences import shorten

FILES, FLOW, ERRORS = "Files and Functions", "Workflow", "Errors & Corrections"

_DELETED_ALONE = 3
_PURPOSES = ("test", "lint", "typecheck", "build", "format", "install", "commit", "push", "merge", "branch", "run")
_CHECKS = frozenset({"test", "lint", "typecheck", "build", "commit"})


def changed_first(ledger: Ledger) -> list[FileNote]:
    """Files by what was done to them: most changed first, newest before older."""
    return sorted(ledger.work.files.files.values(), key=lambda each: (-each.edits, -each.order))


def file_lines(ledger: Ledger, root: str) -> list[Line]:
    """One line for each changed file, and one for those that were only read."""
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
    theirs = [path for path in ledger.work.dirty if not any(each.path.endswith(path) for each in changed)]
    if theirs and changed:
        lines.append(
            line(FILES, f"In the working tree but not changed here (unrelated, by `git status`): {_named(theirs, root, 8)}", (3, 0), 1.4)
        )
    seen = sorted((each for each in files if not each.edits and each.reads), key=lambda each: (-each.reads, -each.order))
    if seen:
        lines.append(line(FILES, f"Read only: {_named([each.path for each in seen], root, 10)}", (2, 0), 2.0, must=True))
    return lines


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
    if note.pairs:
        parts.append("; ".join(note.pairs))
    return line(FILES, f"`{path}`: {'; '.join(parts)}", (0, at), 2.0, must=at < 12)


def flow_lines(ledger: Ledger) -> list[Line]:
    """The commands that check, build, commit and ship, by purpose, with their last outcome; what was searched; what was used to look."""
    lines = []
    notes = sorted(ledger.work.commands.commands.values(), key=lambda each: -each.order)
    for at, kind in enumerate(_PURPOSES):
        found = [each for each in notes if each.kind == kind][: 4 if kind == "test" else 3]
        for place, note in enumerate(found):
            weight = 1.6 if kind in _CHECKS else 1.1
            must = place == 0 and kind in _CHECKS
            lines.append(line(FLOW, f"{kind}: {_command(note)}", (at, place), weight - 0.2 * place, must=must))
    searches = [f"`{shorten(what, 60)}`" for what in list(ledger.work.searches)[-8:] if "`" not in what]
    looks = sorted(
        (each for each in notes if each.kind == "look" and len(each.text) < 70 and "`" not in each.text), key=lambda each: -each.runs
    )
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
    """How a command ended, in words."""
    if ok is None:
        return "running"
    if not ok:
        return f"failed: {text}" if text else "failed"
    good = "passed" if kind in ("test", "lint", "typecheck") else "success"
    return f"{good}: {text}" if text else good


def error_lines(ledger: Ledger, root: str) -> list[Line]:
    """What failed, newest first in weight: the line, what the assistant made of it, what was changed, what then worked."""
    failures = [each for each in ledger.work.commands.failures if each.kind != "look" or each.diagnosis][-14:]
    lines = [line(ERRORS, _failure(each, root), (each.turn, at), 1.5 if each.mended_by else 1.8) for at, each in enumerate(failures)]
    for at, ask in enumerate(ledger.talk.asks):
        if ask.how and ask.how != ANSWERING:
            lines.append(
                line(
                    ERRORS,
                    f"The user, {ask.how}: “{shorten(ask.text, 240)}”",
                    (ask.turn, 100 + at),
                    2.0,
                    must=at >= len(ledger.talk.asks) - 4,
                )
            )
    return lines


def _failure(failure: Failure, root: str) -> str:
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
    return text

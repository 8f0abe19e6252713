"""Build the note lines on the course of the work and its present state: the work log and the
current state. Pure.
"""

from __future__ import annotations

import re

from memorist.core.later import late_pattern
from memorist.session_memory.actions import Action, Changes, Delegates, Reads, Runs, Uses
from memorist.session_memory.ledger import Ledger
from memorist.session_memory.ledger_talk import ANSWERING
from memorist.session_memory.ledger_texts import INTENT, SAID, Candidate
from memorist.session_memory.ledger_turns import Deed, Step, Turn
from memorist.session_memory.paths import relative
from memorist.session_memory.rank import Line, line
from memorist.session_memory.sections_talk import STATE
from memorist.session_memory.sections_work import ending
from memorist.session_memory.sentences import shorten

LOG = "Worklog"

NEW_STEPS = 30
"""Newest steps that may appear in the work log."""

OLD_STEPS = 20
"""Older steps that may appear, of those that changed, committed or broke something."""

LOG_TURNS = 40
"""Turns that may appear in it."""

TURN_WEIGHT, STEP_WEIGHT, OLD_STEP_WEIGHT = 1.4, 1.1, 0.95
"""Weights of their lines."""

LAST_STEPS = 3
"""Newest steps that always appear."""

_TAIL = 8
_NO_CHECKS = frozenset({"look", "edit", "run", "merge", "branch", "refused"})
_SHORT = 70
_LEADS = late_pattern(
    r"^(?:(?:ok(?:ay)?|good|great|perfect|clear|now|so|alright|excellent|first|next|then)\b[,.!:]?\s*(?:[—–-]\s*)?)*"
    r"(?:let me|let['’]s|i['’]ll|i will|i['’]m going to)\s+(?:now\s+|also\s+|quickly\s+)?|^now\s+",
    re.IGNORECASE,
)
"""Opening phrase of an announcement; cut off, since every step is one."""


def log_lines(ledger: Ledger, root: str) -> tuple[list[Line], set[int]]:
    """One line per step, and one per turn where there are several. Also returns the order numbers
    of the statements used.
    """
    now = ledger.turns.now.number
    turns = [turn for turn in ledger.turns.turns[-LOG_TURNS:] if turn.request] if len(ledger.turns.turns) > 1 else []
    lines = [line(LOG, _turn_told(turn, root, now), (turn.number, 0), TURN_WEIGHT) for turn in turns]
    used: set[int] = set()
    last = {id(step) for step in ledger.turns.steps[-LAST_STEPS:]}
    for step in _steps(ledger):
        words = _announced(step)
        if words is not None:
            used.add(words.order)
        text = _step_told(step, words.sentence.text if words is not None else "", root)
        if text:
            weight = STEP_WEIGHT if step.turn == now else OLD_STEP_WEIGHT
            lines.append(line(LOG, text, (step.turn, step.order), weight, must=id(step) in last))
    return lines, used


def _turn_told(turn: Turn, root: str, now: int) -> str:
    """The line of a turn; that of a finished turn is rendered once."""
    made_for = (root, turn.number != now)
    if turn.number == now or turn.told[0] != made_for:
        turn.told = (made_for, _turn(turn, root, deeds=turn.number != now))
    return turn.told[1]


def _step_told(step: Step, words: str, root: str) -> str:
    """The line of a step, rendered again only after an action was added to it."""
    made_for = (root, words, len(step.deeds))
    if step.told[0] != made_for:
        step.told = (made_for, _step(step, words, root))
    return step.told[1]


def _announced(step: Step) -> Candidate | None:
    """The statement that introduces a step in the work log: its announcement, or a plain statement
    followed by actions.
    """
    words = step.words
    if words is None or words.source == INTENT:
        return words
    return words if words.source == SAID and not words.cue and step.deeds else None


def _steps(ledger: Ledger) -> list[Step]:
    """The newest steps, and of the older ones those that changed, committed or broke something."""
    steps = ledger.turns.steps
    older = [step for step in steps[:-NEW_STEPS] if step.telling]
    return older[-OLD_STEPS:] + steps[-NEW_STEPS:]


def _turn(turn: Turn, root: str, *, deeds: bool) -> str:
    parts = []
    if not deeds:
        turn = Turn(turn.number, turn.request, interrupted=turn.interrupted, compacted=turn.compacted)
    if turn.edited:
        parts.append("changed " + ", ".join(relative(path, root).rsplit("/", 1)[-1] for path in list(turn.edited)[:6]))
    parts.extend(f"{kind} {'passed' if deed.ok else 'failed'}" for kind, deed in turn.checks.items())
    parts.extend(f"committed {commit}" for commit in turn.commits[-2:])
    if turn.compacted:
        parts.append("context compacted")
    if turn.interrupted:
        parts.append("interrupted by the user")
    done = f" → {'; '.join(parts)}" if parts else ""
    return f"Turn {turn.number}: “{shorten(turn.request, 90)}”{done}"


def _words_of(step: Step) -> str:
    return step.words.sentence.text if step.words is not None else ""


def _step(step: Step, words: str, root: str) -> str:
    trimmed = _LEADS.sub("", words, count=1).rstrip(" .:…")
    trimmed = trimmed[:1].upper() + trimmed[1:]
    deeds = _deeds(step.deeds, root)
    if not trimmed:
        trimmed = "; ".join(dict.fromkeys(deed.about for deed in step.deeds if deed.about))
        trimmed = trimmed if len(trimmed) < 200 else ""
    if not trimmed:
        return deeds[:1].upper() + deeds[1:]
    return f"{trimmed} → {deeds}" if deeds else trimmed


def _deeds(deeds: list[Deed], root: str) -> str:
    edits: dict[str, int] = {}
    parts = []
    for deed in deeds:
        if deed.kind == "edit" and deed.ok:
            name = relative(deed.what, root).rsplit("/", 1)[-1]
            edits[name] = edits.get(name, 0) + 1
        elif deed.kind == "refused":
            parts.append(f"the user refused {deed.what}")
        elif deed.kind == "agent":
            parts.append(f"agent: {shorten(deed.what, 80)}")
        elif deed.kind not in ("look", "read", "search", "ask", "use", "edit"):
            parts.append(f"`{shorten(deed.what, 70)}` {ending(deed.ok, shorten(deed.line, 90), deed.kind)}")
    if edits:
        parts.insert(0, "changed " + ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in edits.items()))
    if parts:
        return "; ".join(parts[:4])
    reads = list(
        dict.fromkeys(shorten(relative(deed.what, root).rsplit("/", 1)[-1], 50) for deed in deeds if deed.kind == "read" and deed.what)
    )
    sought = list(dict.fromkeys(f"`{shorten(deed.what, 50)}`" for deed in deeds if deed.kind == "search" and "`" not in deed.what))
    found = ["read " + ", ".join(reads[:4])] if reads else []
    return "; ".join(found + (["searched " + ", ".join(sought[:3])] if sought else []))


def state_lines(ledger: Ledger, root: str) -> tuple[list[Line], set[int]]:
    """The current state: the last request, the last words, running calls, open failures, the task
    list. Also returns the statements used.
    """
    texts: list[str] = []
    used: set[int] = set()
    if ledger.branch:
        texts.append(f"Branch: `{ledger.branch}`")
    asks = [ask for ask in ledger.talk.asks if ask.how != ANSWERING]
    if asks:
        texts.append(f"Last request: “{shorten(asks[-1].text, 160)}”")
    spoken = [each for each in ledger.talk.tail[:_TAIL] if not each.sentence.table]
    words = spoken[:1] if spoken and len(spoken[0].sentence.text) >= _SHORT else spoken[:2]
    if words:
        used.update(each.order for each in words)
        texts.append(f"Last words of the assistant: {shorten(' '.join(each.sentence.text for each in words), 300)}")
    elif ledger.turns.steps and (text := _step(ledger.turns.steps[-1], _words_of(ledger.turns.steps[-1]), root)):
        texts.append(f"Last step: {shorten(text, 300)}")
    running = [_running(call.action, root) for call in ledger.work.calls.values()]
    if running:
        texts.append("Without an answer yet: " + ", ".join(each for each in running if each))
    broken = [each for each in ledger.work.commands.failures if not each.mended_by and each.kind not in _NO_CHECKS][-2:]
    texts.extend(f"Still failing: `{shorten(each.what, 80)}`: {each.line}" for each in broken)
    texts.extend(_task_texts(ledger))
    return [line(STATE, text, (at,), 3.0, must=True) for at, text in enumerate(texts)], used


def _running(action: Action, root: str) -> str:
    match action:
        case Runs(short=short):
            return f"`{shorten(short, 80)}`"
        case Changes(changes=changes) if changes:
            return f"an edit of `{relative(changes[0].path, root)}`"
        case Reads(paths=paths) if paths:
            return f"reading `{relative(paths[0], root)}`"
        case Delegates(what=what) | Uses(name=what):
            return shorten(what, 60)
        case _:
            return ""


def _task_texts(ledger: Ledger) -> list[str]:
    tasks = list(ledger.work.tasks.values())
    if not tasks:
        return []
    done = sum(task.status in ("completed", "done") for task in tasks)
    texts = [f"Task list: {done} of {len(tasks)} done"]
    for status, label in (("in_progress", "in progress"), ("pending", "pending")):
        named = [task.text for task in tasks if task.status == status]
        if named:
            texts.append(f"Task list, {label}: " + "; ".join(shorten(text, 90) for text in named[:6]))
    return texts

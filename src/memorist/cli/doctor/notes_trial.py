"""The trial of a model's notes: a session with what real ones have (a question, a limit that the
user sets, a file that is only read, a test that still fails), asked, read and judged as the notes
of a live session are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.messages import JsonObject, Message, Origin, TextBlock, ToolResult, ToolUse
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.forks.answer_form import read_edits_from_form_answer
from memorist.forks.file_tool_calls import EditFileCall
from memorist.forks.fork_runner import load_fork_prompts
from memorist.forks.fork_spec import ForkSpec, NoToolsPermission
from memorist.session_memory.conversation_brief import render_conversation_brief
from memorist.session_memory.notes_prompt import build_notes_form
from memorist.session_memory.notes_review import review_notes_and_add_derived
from memorist.session_memory.notes_template import parse_authored_sections
from memorist.session_memory.structural_notes import render_structural_sections
from memorist.transcript_analysis.answer_check import CoveredLineDetector, build_fork_line_check
from memorist.transcript_analysis.outcome_claims import OutcomeClaimCheck
from memorist.transcript_analysis.transcript_ledger import SessionActions, TranscriptLedger

MIN_STANDING_SHARE = 0.5
"""Share of the lines of an answer that stand, from which on a model is good enough for notes. Our
choice: where most are dropped, those that no check finds are as bad.
"""
_LABEL = "session_memory"
_STEP = lazy_pattern(r"^\[(user|agent|reads|runs|edits)\] ", re.MULTILINE)
_FAILED = "FAILED "


class _NotesTrial(Struct, frozen=True):
    """The session of the trial, and what is derived from it without a model."""

    spec: ForkSpec
    derived: dict[str, str]
    actions: SessionActions
    user_words: str


def build_notes_trial_request() -> JsonObject:
    """The request for the notes, without the conversation's own prefix."""
    spec, prompts = _load_trial().spec, load_fork_prompts()
    if spec.form is None:
        return {}
    job = render_template(prompts.job, {"label": _LABEL}, strict=True).strip()
    return {
        "system": f"{job}\n\n{spec.form.instruction}\n\n{prompts.form_answer.strip()}",
        "text": f"{spec.history_summary}\n\n{spec.form.material}",
        "schema": spec.form.schema,
    }


def find_notes_trial_fault(text: str) -> tuple[str, bool]:
    """Why the notes in an answer are not good, and whether they are only just good. The reason is
    empty where at least half of the lines stand, and one says more than is derived without a model.
    """
    trial = _load_trial()
    template = load_prompt("session_memory/template")
    if trial.spec.form is None:
        return "", False
    edits = read_edits_from_form_answer(trial.spec.form, text)
    if edits.problems:
        return edits.problems[0], False
    written = next((call for call in edits.calls if isinstance(call, EditFileCall)), None)
    if written is None:
        return "it adds nothing to what is derived without a model", False
    outcomes = OutcomeClaimCheck(trial.actions)
    asked = f"{load_prompt('session_memory/form')}\n{template}"
    reviewed = review_notes_and_add_derived(
        template,
        written.replacements[0].new,
        template,
        trial.derived,
        build_fork_line_check(trial.spec, [], asked, trial.user_words, outcomes.find_contradiction),
    )
    lines = [
        line
        for body in parse_authored_sections(reviewed.text, template).values()
        for line in body.split("\n")
        if line.strip()
    ]
    count = len(lines) + len(reviewed.dropped)
    if len(lines) < MIN_STANDING_SHARE * count:
        return f"{len(lines)} of its {count} lines stand; {reviewed.remarks[0]}", False
    known = CoveredLineDetector("\n".join(trial.derived.values()))
    if all(map(known.covers_line, lines)):
        return "it adds nothing to what is derived without a model", False
    return "", len(reviewed.dropped) > 0 and len(lines) - 1 < MIN_STANDING_SHARE * count


@cache
def _load_trial() -> _NotesTrial:
    messages = [*_read_messages(load_prompt("doctor/notes_session"))]
    ledger = TranscriptLedger()
    for message in messages:
        ledger.add(message)
    derived = render_structural_sections(ledger, None)
    spoken = [(str(each.role), each.text) for each in messages if each.text]
    template = load_prompt("session_memory/template")
    form = build_notes_form(
        template,
        "/notes/summary.md",
        template,
        load_prompt("session_memory/form"),
        rewritten=(),
        reminders="",
    )
    spec = ForkSpec(
        label=_LABEL,
        why="a trial",
        instruction="",
        permission=NoToolsPermission(),
        history_summary=render_conversation_brief(derived, spoken),
        form=form,
    )
    typed = "\n".join(each.text for each in messages if each.origin is Origin.USER)
    return _NotesTrial(spec, derived, ledger.work_record, typed)


def _read_messages(session: str) -> Iterator[Message]:
    """The messages of a session written as steps: `[user]` and `[agent]` with their words,
    `[reads]`, `[runs]` and `[edits]` with a file or command, and what came of it below; an edit has
    the line before and after it.
    """
    _, *steps = _STEP.split(session.strip())
    for number, (kind, text) in enumerate(zip(steps[::2], steps[1::2], strict=True)):
        if kind == "user":
            block = TextBlock(text.strip())
            yield Message(id=f"u{number}", role="user", blocks=(block,), origin=Origin.USER)
        elif kind == "agent":
            block = TextBlock(text.strip())
            yield Message(id=f"a{number}", role="assistant", blocks=(block,), origin=Origin.MODEL)
        else:
            yield from _read_call(kind, number, *text.strip().partition("\n")[::2])


def _read_call(kind: str, number: int, what: str, output: str) -> Iterator[Message]:
    old, _, new = output.partition("\n")
    name, given = {
        "reads": ("Read", {"file_path": what}),
        "runs": ("Bash", {"command": what}),
        "edits": ("Edit", {"file_path": what, "old_string": old, "new_string": new}),
    }[kind]
    call = ToolUse(f"c{number}", name, given)
    result = ToolResult(
        call.id, (TextBlock(output if kind != "edits" else "updated"),), is_error=_FAILED in output
    )
    yield Message(id=f"c{number}", role="assistant", blocks=(call,), origin=Origin.MODEL)
    yield Message(id=f"r{number}", role="user", blocks=(result,), origin=Origin.TOOL)

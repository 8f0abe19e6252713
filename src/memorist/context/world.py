"""World state: what the model was told about its environment, and what must be sent because it
changed (CX-3). Pure.

The environment is a list of sections, each with an id and a comparable snapshot: folder,
environment, permissions, model, instructions, tools, skills, date. At the start of a turn, and
before every request in it, `diff_state` compares them with what was last sent and returns only the
differences. If nothing changed there is nothing to send and nothing to record, so that the prefix
stays the same (codex.md section 3.3). What was sent is kept in the transcript, in full at first and
then as merge patches; `restore_state` replays them on resume and after a rollback (CX-7).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct

from memorist.context.patches import canonical, difference, patched, plain, plain_object
from memorist.context.rollback import surviving
from memorist.core.messages import WORLD_CHANGE, JsonObject, Message, Origin, Role, Text
from memorist.formats.recorded import Boundary, Entry, WorldRecord

Family = Literal["rollout", "file-native"]
"""The style of a text: tagged developer and user messages, or reminders at the tail (codex.md
section 3.2, claude-code.md section 1.4).
"""


class Before(Struct, frozen=True):
    """What the model was last told of a section: nothing, something no longer known, or
    this value.
    """

    state: Literal["absent", "unknown", "known"] = "absent"
    value: Any = None


Render = Callable[[Any, Before], str]
"""Renders a section's value (None if it is gone) for a model that knows the `PriorValue`; an empty
text sends nothing.
"""


def plainly(title: str) -> Render:
    """Make a renderer for self-explanatory values: the title, and the value or that it is gone."""

    def render(value: object, before: Before) -> str:
        if value is None:
            return f"{title}: no longer in force."
        said = value if isinstance(value, str) else canonical(value).decode()
        return f"{title}: {said}" if before.state == "absent" else f"{title} is now: {said}"

    return render


class Section(Struct, frozen=True):
    """One part of the environment.

    `value` is any JSON value, None if there is none; nulls within objects count as absent.
    """

    id: str
    value: Any
    render: Render
    role: Role = "developer"
    """The message role in the rollout family; in the file-native family it is always a reminder on
    the user's side.
    """


class WorldState(Struct, frozen=True):
    """What the model was told: snapshots by section id, and their bytes for comparison.

    `unknown` means that something was sent, but not what.
    """

    values: JsonObject
    marks: dict[str, bytes]
    unknown: bool = False


class Change(Struct, frozen=True):
    """A section that differs from what was sent, and the text that announces it."""

    id: str
    text: str
    role: Role
    removed: bool = False


class Step(Struct, frozen=True):
    """Result of a comparison: the new state, what to send, and what to record in the transcript.

    Without a change, `record` is None.
    """

    state: WorldState
    changes: tuple[Change, ...] = ()
    record: WorldRecord | None = None


class Rebuilt(Struct, frozen=True):
    """The state at the end of a transcript, and what could not be read, in one clause each."""

    state: WorldState
    problems: tuple[str, ...] = ()


NOTHING = WorldState({}, {})
"""The state of a session to which nothing was sent."""
UNKNOWN = WorldState({}, {}, unknown=True)
"""The state after a snapshot that could not be read: everything is sent again."""


def known(values: JsonObject) -> WorldState:
    """Return the state in which the model was told these values."""
    clean = plain_object(values)
    return WorldState(clean, {key: canonical(value) for key, value in clean.items()})


def digest(text: str) -> str:
    """Hash a long text for a snapshot: 16 hex digits, the same for both kinds of line ends."""
    return hashlib.blake2b(text.replace("\r\n", "\n").encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def advance(state: WorldState, sections: Sequence[Section]) -> Step:
    """Compare the sections with what was last sent.

    A section that was sent and is not among them is gone. Of two with one id the later counts. The
    work depends on the sections alone: it does not grow with the history.
    """
    values: JsonObject = {}
    marks: dict[str, bytes] = {}
    for section in sections:
        if (value := plain(section.value)) is None:
            continue
        values[section.id] = value
        marks[section.id] = canonical(value)
    if marks == state.marks and not state.unknown:
        return Step(state)
    now = WorldState(values, marks)
    latest = {section.id: section for section in sections}
    changes = [
        _changed(section, values.get(section.id), state)
        for section in latest.values()
        if state.marks.get(section.id) != marks.get(section.id) or state.unknown
    ]
    changes += [Change(gone, f"{gone}: no longer in force.", "developer", removed=True) for gone in state.marks if gone not in latest]
    whole = state.unknown or not state.marks
    record = WorldRecord(full=whole, state=values if whole else difference(state.values, values))
    return Step(now, tuple(change for change in changes if change.text), record)


def _changed(section: Section, value: object, state: WorldState) -> Change:
    before = Before("unknown") if state.unknown else Before()
    if section.id in state.values:
        before = Before("known", state.values[section.id])
    silent = value is None and before.state != "known"
    return Change(section.id, "" if silent else section.render(value, before), section.role, removed=value is None)


def trimmed(state: WorldState, sections: Iterable[str]) -> WorldState:
    """Return the state after the texts of these sections left the context (cut, or compacted away):
    they are sent again at the next comparison.
    """
    gone = set(sections)
    kept = {key: value for key, value in state.values.items() if key not in gone}
    return WorldState(kept, {key: state.marks[key] for key in kept}, state.unknown)


def as_messages(changes: Sequence[Change], family: Family, number: str) -> tuple[Message, ...]:
    """Turn the changes into messages for the tail of a history; none if there are none.

    `number` makes their ids.

    Rollout: neighbours of one role share a message, one part each. File-native: one user message
    with one reminder each.
    """
    if family == "file-native":
        blocks = tuple(Text(f"<system-reminder>\n{change.text}\n</system-reminder>") for change in changes)
        return (_message(f"{WORLD_CHANGE}{number}", "user", blocks),) if blocks else ()
    groups: list[tuple[Role, list[Text]]] = []
    for change in changes:
        if not groups or groups[-1][0] != change.role:
            groups.append((change.role, []))
        groups[-1][1].append(Text(change.text))
    return tuple(_message(f"{WORLD_CHANGE}{number}.{place}", role, tuple(texts)) for place, (role, texts) in enumerate(groups))


def _message(name: str, role: Role, blocks: tuple[Text, ...]) -> Message:
    return Message(id=name, role=role, blocks=blocks, origin=Origin.INJECTED)


def rebuild(entries: Iterable[Entry]) -> Rebuilt:
    """Return the state at the end of a transcript of memorist or Codex.

    Records of rolled-back turns do not count. A compaction resets the state; so does a full record.
    A patch without a base is skipped, and a record that cannot be read leaves the state unknown
    until the next full one; both are reported as problems.
    """
    state: JsonObject | None = {}
    problems: list[str] = []
    begun = False
    for entry in surviving(entries):
        if isinstance(entry, Boundary):
            state, begun = {}, False
        if not isinstance(entry, WorldRecord):
            continue
        try:
            if entry.state is None:
                state = None
                problems.append(f"line {entry.line}: the record of the surroundings cannot be read; all is told again")
            elif entry.full:
                state, begun = plain_object(entry.state), True
            elif state is None or not begun:
                problems.append(f"line {entry.line}: a change of the surroundings without the state before it; passed over")
            else:
                state = patched(state, entry.state)
        except RecursionError:
            state = None
            problems.append(f"line {entry.line}: the record of the surroundings is nested too deep; all is told again")
    return Rebuilt(UNKNOWN if state is None else known(state), tuple(problems))

"""World state: what the model was told about its environment, and what must be sent because it
changed (CX-3). Pure.

The environment is a list of sections, each with an id and a comparable snapshot: folder,
environment, permissions, model, instructions, tools, skills, date. At the start of a turn, and
before every request in it, `diff_world_state` compares them with what was last sent and returns
only the differences. If nothing changed there is nothing to send and nothing to record, so that the
prefix stays the same (Codex). What was sent is kept in the transcript, in full at
first and then as merge patches; `restore_world_state` replays them on resume and after a rollback
(CX-7).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from memorist.context.turn_rollback import drop_rolled_back_entries
from memorist.core.messages import (
    WORLD_STATE_ID_PREFIX,
    JsonObject,
    Message,
    Origin,
    Role,
    TextBlock,
)
from memorist.formats.transcript_format import CompactionBoundary, TranscriptEntry, WorldStateRecord
from memorist.settings import Family

_encode = msgspec.json.Encoder(order="deterministic").encode


def drop_unpatchable_values(value: object) -> object:
    """Return the value as a patch can carry it: null removes a key, so keys without a value are
    left out; NaN and infinity are not JSON.
    """
    match value:
        case dict():
            return to_patchable_object(value)
        case list() | tuple():
            return [drop_unpatchable_values(each) for each in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def to_patchable_object(values: Mapping[str, object]) -> JsonObject:
    """Return an object as a patch can carry it."""
    return {
        str(key): inner
        for key, each in values.items()
        if (inner := drop_unpatchable_values(each)) is not None
    }


def encode_canonical_json(value: object) -> bytes:
    """Encode a JSON value to the same bytes whatever the order of its keys. True differs from 1."""
    try:
        return _encode(value)
    except (OverflowError, UnicodeEncodeError):  # an integer of more than 64 bits; a lone surrogate
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def build_merge_patch(before: JsonObject, now: JsonObject) -> JsonObject:
    """Build the patch that turns `before` into `now`; empty if they are equal.

    Neither may hold null as the value of a key.
    """
    patch: JsonObject = {key: None for key in before if key not in now}
    for key, value in now.items():
        old = before.get(key)
        if key in before and encode_canonical_json(old) == encode_canonical_json(value):
            continue
        patch[key] = (
            build_merge_patch(old, value)
            if isinstance(old, dict) and isinstance(value, dict)
            else value
        )
    return patch


def apply_merge_patch(before: JsonObject, patch: JsonObject) -> JsonObject:
    """Return the state after the patch. The arguments are not changed."""
    now = dict(before)
    for key, value in patch.items():
        if value is None:
            now.pop(key, None)
        elif isinstance(value, dict):
            old = now.get(key)
            now[key] = apply_merge_patch(old if isinstance(old, dict) else {}, value)
        else:
            now[key] = value
    return now


class LastSentValue(Struct, frozen=True):
    """What the model was last told of a section: nothing, something no longer known, or
    this value.
    """

    state: Literal["absent", "unknown", "known"] = "absent"
    value: Any = None


SectionRenderer = Callable[[Any, LastSentValue], str]
"""Renders a section's value (None if it is gone) for a model that knows the `LastSentValue`; an
empty text sends nothing.
"""


def make_title_renderer(title: str) -> SectionRenderer:
    """Make a renderer for self-explanatory values: the title, and the value or that it is gone."""

    def render(value: object, before: LastSentValue) -> str:
        if value is None:
            return f"{title}: no longer in force."
        said = value if isinstance(value, str) else encode_canonical_json(value).decode()
        return f"{title}: {said}" if before.state == "absent" else f"{title} is now: {said}"

    return render


class WorldSection(Struct, frozen=True):
    """One part of the environment.

    `value` is any JSON value, None if there is none; nulls within objects count as absent.
    """

    id: str
    value: Any
    render: SectionRenderer
    role: Role = "developer"
    """The message role in the rollout family; in the file-native family it is always a reminder on
    the user's side.
    """


class SentWorldState(Struct, frozen=True):
    """What the model was told: snapshots by section id, and their bytes for comparison.

    `unknown` means that something was sent, but not what.
    """

    values: JsonObject
    marks: dict[str, bytes]
    unknown: bool = False


class WorldChange(Struct, frozen=True):
    """A section that differs from what was sent, and the text that announces it."""

    text: str
    role: Role


class WorldStateUpdate(Struct, frozen=True):
    """Result of a comparison: the new state, what to send, and what to record in the transcript.

    Without a change, `record` is None.
    """

    state: SentWorldState
    changes: tuple[WorldChange, ...] = ()
    record: WorldStateRecord | None = None


EMPTY_WORLD_STATE = SentWorldState({}, {})
"""The state of a session to which nothing was sent."""


UNKNOWN_WORLD_STATE = SentWorldState({}, {}, unknown=True)
"""The state after a snapshot that could not be read: everything is sent again."""


def build_sent_world_state(values: JsonObject) -> SentWorldState:
    """Return the state in which the model was told these values."""
    clean = to_patchable_object(values)
    return SentWorldState(
        clean, {key: encode_canonical_json(value) for key, value in clean.items()}
    )


def hash_text(text: str) -> str:
    """Hash a long text for a snapshot: 16 hex digits, the same for both kinds of line ends."""
    return hashlib.blake2b(
        text.replace("\r\n", "\n").encode("utf-8", "surrogatepass"), digest_size=8
    ).hexdigest()


def diff_world_state(state: SentWorldState, sections: Sequence[WorldSection]) -> WorldStateUpdate:
    """Compare the sections with what was last sent.

    A section that was sent and is not among them is gone. Of two with one id the later counts. The
    work depends on the sections alone: it does not grow with the history.
    """
    values: JsonObject = {}
    marks: dict[str, bytes] = {}
    for section in sections:
        if (value := drop_unpatchable_values(section.value)) is None:
            continue
        values[section.id] = value
        marks[section.id] = encode_canonical_json(value)
    if marks == state.marks and not state.unknown:
        return WorldStateUpdate(state)
    now = SentWorldState(values, marks)
    latest = {section.id: section for section in sections}
    changes = [
        _build_change(section, values.get(section.id), state)
        for section in latest.values()
        if state.marks.get(section.id) != marks.get(section.id) or state.unknown
    ]
    changes += [
        WorldChange(f"{removed}: no longer in force.", "developer")
        for removed in state.marks
        if removed not in latest
    ]
    whole = state.unknown or not state.marks
    record = WorldStateRecord(
        full=whole, state=values if whole else build_merge_patch(state.values, values)
    )
    return WorldStateUpdate(now, tuple(change for change in changes if change.text), record)


def _build_change(section: WorldSection, value: object, state: SentWorldState) -> WorldChange:
    before = LastSentValue("unknown") if state.unknown else LastSentValue()
    if section.id in state.values:
        before = LastSentValue("known", state.values[section.id])
    silent = value is None and before.state != "known"
    return WorldChange("" if silent else section.render(value, before), section.role)


def build_world_change_messages(
    changes: Sequence[WorldChange], family: Family, number: str
) -> tuple[Message, ...]:
    """Turn the changes into messages for the tail of a history; none if there are none.

    `number` makes their ids.

    Rollout: neighbours of one role share a message, one part each. File-native: one user message
    with one reminder each.
    """
    if family == "file-native":
        blocks = tuple(
            TextBlock(f"<system-reminder>\n{change.text}\n</system-reminder>") for change in changes
        )
        return (_message(f"{WORLD_STATE_ID_PREFIX}{number}", "user", blocks),) if blocks else ()
    groups: list[tuple[Role, list[TextBlock]]] = []
    for change in changes:
        if not groups or groups[-1][0] != change.role:
            groups.append((change.role, []))
        groups[-1][1].append(TextBlock(change.text))
    return tuple(
        _message(f"{WORLD_STATE_ID_PREFIX}{number}.{index}", role, tuple(texts))
        for index, (role, texts) in enumerate(groups)
    )


def _message(name: str, role: Role, blocks: tuple[TextBlock, ...]) -> Message:
    return Message(id=name, role=role, blocks=blocks, origin=Origin.INJECTED)


def restore_world_state(entries: Iterable[TranscriptEntry]) -> SentWorldState:
    """Return the state at the end of a transcript of memorist or Codex.

    Records of rolled-back turns do not count. A compaction resets the state; so does a full record.
    A patch without a base is skipped, and a record that cannot be read leaves the state unknown
    until the next full one.
    """
    state: JsonObject | None = {}
    has_snapshot = False
    for entry in drop_rolled_back_entries(entries):
        if isinstance(entry, CompactionBoundary):
            state, has_snapshot = {}, False
        if not isinstance(entry, WorldStateRecord):
            continue
        try:
            if entry.state is None:
                state = None
            elif entry.full:
                state, has_snapshot = to_patchable_object(entry.state), True
            elif state is not None and has_snapshot:
                state = apply_merge_patch(state, entry.state)
        except RecursionError:  # it is nested too deeply
            state = None
    return UNKNOWN_WORLD_STATE if state is None else build_sent_world_state(state)

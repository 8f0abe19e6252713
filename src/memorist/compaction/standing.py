"""The preamble of a conversation survives every compaction: instructions, permissions, instruction
files, environment. Pure.

A system prompt outside the history is never in danger. One inside the history (Responses, Chat
Completions), and what a host injects into the user's first message, both clients show again after a
compaction (docs/context-compared.md). A host behind memorist keeps sending its history as it was,
so nobody would show it again. Here it stays in its position, so that the provider's cache still
covers it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.compaction.conversation import Conversation
from memorist.compaction.full import is_restored
from memorist.compaction.groups import MARKER_ID
from memorist.compaction.result import Outcome, Unchanged
from memorist.core.later import late_pattern
from memorist.core.messages import Message, Origin, Text, ToolResult
from memorist.core.tokens import estimate_message

CONTEXT_ID = "memorist-context"
"""Id of the message that holds the injected blocks of the user's first message."""

SHARE = 4
"""Preamble in user messages takes at most one part in so many of the limit, so that something huge
there does not fill every later window.
"""

_INSTRUCTING = ("system", "developer")

_STATE = late_pattern(
    r"\s*(?:<(model_switch|context_window|personality_spec|skills_instructions|permissions instructions|collaboration_mode|environments_instructions|"
    r"apps_instructions|plugins_instructions|tools|multi_agent_mode|environment_context)>|(# agents\.md instructions))",
    re.IGNORECASE,
)
"""Prefix of a text that describes the environment: a later one replaces an earlier one (codex.md
section 3.3).
"""


class Parted(Struct, frozen=True, kw_only=True):
    """A conversation split into its preamble and the rest."""

    lead: tuple[Message, ...]
    """Instructions, and content injected on the user's side before or beside the first user text.
    """
    states: tuple[Message, ...]
    """Later messages that supersede a part of it, such as a changed working folder: the newest of
    each.
    """
    rest: Conversation
    """The conversation without the preamble."""
    tokens: int
    """Estimated tokens of the whole conversation."""
    limit: int
    """Tokens of the limit that remain for the rest."""


def parted(held: Conversation, limit: int) -> Parted:
    """Split the conversation into its preamble and the rest.

    Instructions always belong to the preamble; injected user content does while it fits its part of
    the limit. What recall or an earlier compaction inserted does not: it is rebuilt.
    """
    room = limit // SHARE
    lead: list[Message] = []
    rest: list[Message] = []
    sizes: list[int] = []
    later: list[Message] = []
    began = False
    for message, size in zip(held.messages, held.sizes, strict=True):
        if began:
            later.append(message)
        told, left = (None, message) if began else _split(message)
        began = began or (told is not message and not is_restored(message))
        cost = 0 if message.role in _INSTRUCTING or told is None else estimate_message(told, held.factor)
        stands = told is not None and cost <= room
        if told is not None and stands:
            lead.append(told)
            room -= cost
        if (shown := left if stands else message) is not None:
            rest.append(shown)
            sizes.append(size if shown is message else estimate_message(shown, held.factor))
    states = _states(later, room, held.factor)
    return Parted(
        lead=tuple(lead),
        states=tuple(states),
        rest=replace(held, messages=tuple(rest), sizes=tuple(sizes)),
        tokens=held.tokens,
        limit=max(1, limit - _size([*lead, *states], held.factor)),
    )


def _split(message: Message) -> tuple[Message | None, Message | None]:
    """The preamble part of a message (the same object where that is all of it), and the remainder.
    """
    if message.role in _INSTRUCTING:
        return message, None
    theirs = message.role == "user" and message.id != MARKER_ID and not is_restored(message)
    told = [block for block in message.blocks if isinstance(block, Text) and (block.origin or message.origin) is Origin.INJECTED]
    if not theirs or not told or any(isinstance(block, ToolResult) for block in message.blocks):
        return None, message
    if len(told) == len(message.blocks):
        return message, None
    beside = Message(id=CONTEXT_ID, role="user", blocks=tuple(Text(block.text) for block in told), origin=Origin.INJECTED)
    wire = None if message.wire is None else replace(message.wire, plain=False)
    return beside, replace(message, blocks=tuple(block for block in message.blocks if block not in told), wire=wire)


def _states(messages: Sequence[Message], room: int, factor: float) -> list[Message]:
    """The newest message for each set of state tags, among those that hold nothing else, in order;
    newest first while they fit.
    """
    found: list[Message] = []
    seen: set[tuple[str, ...]] = set()
    for message in reversed(messages):
        states = [_STATE.match(block.text) for block in message.blocks if isinstance(block, Text)]
        tags = tuple((match[1] or match[2]).lower() for match in states if match)
        if not tags or len(tags) < len(states) or tags in seen or _split(message)[0] is not message:
            continue
        seen.add(tags)
        size = estimate_message(message, factor)
        if size <= room:
            room -= size
            found.append(message)
    return found[::-1]


def stood(outcome: Outcome, before: Parted) -> Outcome:
    """Put the preamble back in front of the result for `split.rest`. `UnchangedHistory` where that
    is not smaller than before.
    """
    if isinstance(outcome, Unchanged):
        return outcome
    shown = {id(message) for message in outcome.messages}
    front = (*before.lead, *(message for message in before.states if id(message) not in shown))
    after = outcome.tokens_after + _size(front, before.rest.factor)
    if after > before.tokens or (after == before.tokens and len(front) > len(before.lead)):
        return Unchanged("The result would not be smaller than what it replaces.")
    back = {message.id for message in front}
    return replace(
        outcome,
        messages=(*front, *outcome.messages),
        lead=len(front),
        tokens_before=before.tokens,
        tokens_after=after,
        cut=tuple(cut for cut in outcome.cut if cut.id not in back),
    )


def _size(messages: Iterable[Message], factor: float) -> int:
    return sum(estimate_message(message, factor) for message in messages)

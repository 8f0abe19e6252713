"""What waits is accepted or rejected by a prompt that the user typed to their agent."""

from __future__ import annotations

from collections.abc import Callable

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.inbox import MAX_LISTING_AGE_SECONDS
from memorist.auto_memory.statements.inbox_requests import InboxRequest
from memorist.auto_memory.superseded_proposals import find_later_words_against_proposals
from memorist.core.messages import Message
from memorist.core.sentences import shorten_to_one_line
from memorist.errors import InputError, StoreError
from memorist.events import Event, MemoryRefused

_BY_HAND = "decide on it in a terminal of yours: memorist memory inbox"


def decide_on_proposals(
    memory: AutoMemory,
    request: InboxRequest,
    message: Message,
    *,
    now: float,
    tell: Callable[[Event], None],
) -> None:
    """Do what a prompt asks of the inbox, all of it or nothing; what keeps it from that is told as
    an event. `now` is the time in seconds since the epoch.
    """
    try:
        problem = _find_problem(memory, request, message, now)
        if not problem:
            for id in dict.fromkeys(memory.find_proposal(each)[1].id for each in request.names):
                _decide(memory, request, id, tell)
    except (InputError, StoreError) as error:
        problem = str(error)
    if problem:
        tell(MemoryRefused("", (problem,)))


def _find_problem(memory: AutoMemory, request: InboxRequest, message: Message, now: float) -> str:
    if not message.is_typed:
        return f"a program may have sent this prompt; {_BY_HAND}"
    if message.timestamp is not None and now - message.timestamp > MAX_LISTING_AGE_SECONDS:
        return f"the prompt is older than what waits; {_BY_HAND}"
    if not request.names:
        return f"the number is missing, as in: memorist memory inbox {request.verb} 1"
    chosen = [memory.find_proposal(name)[1] for name in request.names]
    newer = find_later_words_against_proposals(memory) if request.verb == "accept" else {}
    against = next((newer[each.id] for each in chosen if each.id in newer), "")
    if against:
        return f"you said otherwise since: “{shorten_to_one_line(against, 90)}”; {_BY_HAND}"
    return ""


def _decide(
    memory: AutoMemory, request: InboxRequest, id: str, tell: Callable[[Event], None]
) -> None:
    if request.verb == "reject":
        memory.reject(id, tell=tell)
        return
    written = memory.accept(id, tell=tell)
    if not written.change_id:
        reasons = [reason for each in written.refused for reason in each.reasons]
        tell(MemoryRefused("", tuple(reasons) or ("memory has it already",)))

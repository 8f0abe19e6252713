"""Explain a memory to a client: its origin, its changes, when and why it was shown, and whether a
message would recall it. Pure (RC-5).
"""

from __future__ import annotations

from collections.abc import Sequence

from memorist.auto_memory.history.run import Recorded
from memorist.auto_memory.topic import Topic, moment
from memorist.mcp_server.told import one_line
from memorist.recall.choose import Match, Pick
from memorist.store.uses import Use

NEWEST = 10
"""Newest changes and uses that are listed."""


def origin(topic: Topic) -> list[str]:
    """Render a memory's provenance."""
    found = topic.provenance
    told = {
        "origin": str(found.trust),
        "session": found.session,
        "messages": ", ".join(found.messages[:5]),
        "words of the user": found.quote,
        "made": found.created,
        "last checked": found.verified,
        "status": found.status,
    }
    return [f"{name}: {one_line(value)}" for name, value in told.items() if value]


def history(log: Sequence[Recorded]) -> list[str]:
    """Render the newest changes of a memory."""
    lines = [f"{_when(each.at)}  {each.why.actor}: {one_line(each.why.what)}  ({each.id[:8]})" for each in log[:NEWEST]]
    return lines or ["(the history knows no change of it)"]


def used(uses: Sequence[Use]) -> list[str]:
    """Render the newest uses of a memory."""
    lines = []
    for use in list(reversed(uses))[:NEWEST]:
        why = f"  {one_line(use.why)}" if use.why else ""
        lines.append(f"{_when(use.at)}  {use.what}, session {one_line(use.session, 80)}{why}")
    return lines or ["(never)"]


def recalled(path: str, matches: Sequence[Match], picks: Sequence[Pick], doubts: Sequence[str]) -> str:
    """Explain whether a message would recall the memory, and why."""
    pick = next((each for each in picks if each.path == path), None)
    match = next((each for each in matches if each.path == path), None)
    if doubts:
        return f"no: it is withheld ({'; '.join(doubts)})"
    if pick is not None:
        return f"yes, {picks.index(pick) + 1} of {len(picks)}: {one_line(pick.why)}"
    if match is None:
        return "no: no word of the message stands in it"
    return f"no: too little in common, or others come before it ({one_line(match.why) or 'no word'})"


def _when(at: float) -> str:
    return moment(at)[:16].replace("T", " ") or "(no date)"

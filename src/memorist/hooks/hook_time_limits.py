"""How long each hook event may wait for the daemon. Pure; loaded for every hook event, so it
imports nothing.
"""

from __future__ import annotations

EVENT_SECONDS = {
    "SessionStart": 5.0,
    "UserPromptSubmit": 2.0,
    "PreToolUse": 0.5,
    "PreCompact": 10.0,
}
"""Longest wait for a response, where the settings say nothing else (`hooks` in
docs/settings.md).
"""
DEFAULT_TIME_LIMIT_SECONDS = 1.0
OTHER_EVENTS = "*"
"""Stands for every other event in the limits file."""


def parse_time_limits_file(text: str) -> dict[str, float]:
    """Parse the limits file: seconds by event; invalid lines are skipped."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        event, _, said = line.partition(" ")
        try:
            seconds = float(said)
        except ValueError:
            continue
        if event and 0.0 < seconds < 3_600.0:
            found[event] = seconds
    return found


def resolve_event_time_limit(event: str, limits: dict[str, float]) -> float:
    """The longest wait for an event, in seconds."""
    return (
        limits.get(event)
        or EVENT_SECONDS.get(event)
        or limits.get(OTHER_EVENTS)
        or DEFAULT_TIME_LIMIT_SECONDS
    )

"""The four kinds of memory, and how far each origin is trusted. Pure."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Kind(StrEnum):
    """What a memory is about (claude-code.md section 7.3)."""

    USER = "user"
    FEEDBACK = "feedback"
    PROJECT = "project"
    REFERENCE = "reference"


class Trust(StrEnum):
    """Origin of a memory's content, most trusted first."""

    STATED = "stated"
    """The user said it; the words are quoted."""
    REVIEWED = "reviewed"
    """The user accepted it in the inbox, or wrote it by hand."""
    DERIVED = "derived"
    """A model concluded it from the conversation."""
    IMPORTED = "imported"
    """It came from another system's memory."""
    TEAM = "team"
    """A team mate shared it."""
    OUTSIDE = "outside"
    """It came from a tool, a web page, a file or another agent."""
    UNKNOWN = "unknown"
    """The file does not say; another program wrote it."""


class Shape(Struct, frozen=True):
    """What a kind is for, when to save one, and how its text is structured."""

    purpose: str
    when: str
    shape: str


SHAPES: dict[Kind, Shape] = {
    Kind.USER: Shape(
        purpose="who the person is: role, knowledge, aims, how they like to be spoken with",
        when="the person tells something of themselves that will still hold in a later session",
        shape="the fact, then what it changes in how you work with them; never a judgement of the person",
    ),
    Kind.FEEDBACK: Shape(
        purpose="how to work here: corrections, and unusual choices that the person confirmed",
        when="the person corrects a way of working, or says that an unusual one was right",
        shape="the rule, then `Why:` with the reason, then `How to apply:` with when it counts",
    ),
    Kind.PROJECT: Shape(
        purpose="what goes on around the code: who does what, why, and by when",
        when="a decision, a date or a duty is named that code and history do not show",
        shape="the fact with absolute dates, then `Why:`, then `How to apply:`",
    ),
    Kind.REFERENCE: Shape(
        purpose="where to look outside the repository: trackers, dashboards, channels, documents",
        when="a place outside is named together with what it is good for",
        shape="the place, and what is found there",
    ),
}

ABOUT_THE_PERSON = frozenset({Kind.USER, Kind.FEEDBACK})
"""Kinds that speak for the user: they need the user's own words as evidence (SF-2)."""


def kind_of(text: str) -> Kind | None:
    """Parse a kind's name; None for any other text, which is tolerated (claude-code.md section
    7.3).
    """
    try:
        return Kind(text.strip().lower())
    except ValueError:
        return None


def trust_of(text: str) -> Trust:
    """Parse a trust level's name; `UNKNOWN` for any other text."""
    try:
        return Trust(text.strip().lower())
    except ValueError:
        return Trust.UNKNOWN

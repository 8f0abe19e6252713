"""Numbers with the word that they count."""

from __future__ import annotations

from memorist.core.plural import pluralize


def test_one_thing_is_not_counted_like_many() -> None:
    """One, none and many, with a plural that is not made by an `s`, and thousands set apart."""
    assert pluralize(1, "session") == "1 session"
    assert pluralize(0, "session") == "0 sessions"
    assert pluralize(1200, "memory", "memories") == "1,200 memories"

"""A person does the five tasks of the page by keyboard alone; ten thousand sessions and memories
stay quick.
"""

from __future__ import annotations

import sys
import time

import pytest

from page.conftest import Keyboard

pytestmark = [pytest.mark.page, pytest.mark.timeout(60, func_only=True)]
"""Each task takes less than a minute."""


def test_why_did_it_say_npm(keyboard: Keyboard) -> None:
    """From a message to the memory that answers it, and to the words that made it."""
    keyboard.follow("Why")
    keyboard.go("/", *"install the packages with npm", keyboard.keys.ENTER)
    keyboard.follow("Use npm, never yarn")

    assert "“always use npm here”" in keyboard.text


def test_take_back_last_nights_dream(keyboard: Keyboard) -> None:
    """One key takes the whole dream back."""
    keyboard.follow("Dreams")
    assert "✓ stands" in keyboard.text
    keyboard.go("u")

    assert "taken back" in keyboard.text


def test_what_filled_my_window_at_turn_30(keyboard: Keyboard) -> None:
    """From the list of sessions to one turn's pieces."""
    keyboard.follow("Sessions")
    keyboard.go("/", *"Please module", keyboard.keys.ENTER)
    keyboard.follow("Please look at module 0")
    keyboard.reach("Turn")
    keyboard.go(keyboard.keys.ARROW_LEFT)
    for _ in range(3):
        keyboard.reach("Turn")
        keyboard.go(keyboard.keys.ARROW_LEFT)

    assert "when turn 30 began" in keyboard.text
    assert "What fills the window" in keyboard.text


def test_accept_what_waits_from_codex(keyboard: Keyboard) -> None:
    """One button accepts all of one origin."""
    keyboard.follow("Inbox")
    keyboard.follow("Accept all 3: import from Codex")

    assert "Accepted 3: import from Codex" in keyboard.text


def test_find_where_we_decided_on_postgresql(keyboard: Keyboard) -> None:
    """Search leads to the very message."""
    keyboard.follow("Sessions")
    keyboard.go("/", *"PostgreSQL", keyboard.keys.ENTER)
    keyboard.follow("Which database do we take?")

    assert "I want PostgreSQL, not SQLite" in keyboard.text


def test_ten_thousand_open_at_once(keyboard: Keyboard) -> None:
    """The list of 10,000 sessions and of 10,000 memories are there in a second or two of a busy
    machine; the figure is printed.
    """
    for address in ("sessions", "past", f"memories?project={keyboard.home.many}"):
        keyboard.open(address)
        began = time.monotonic()
        keyboard.open(address)
        sys.stdout.write(f"{address.partition('?')[0]}: {time.monotonic() - began:.2f} s\n")
        assert "Page 1 of 1" in keyboard.text

"""What was dictated is kept without sounds of hesitation, and words that look like them stay."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.speech_fillers import remove_hesitation_sounds
from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.write_evidence import collect_evidence_from_typed_message
from memorist.core.messages import Message, Origin, TextBlock


@pytest.mark.parametrize(
    ("dictated", "kept"),
    [
        ("Always, uh, run the linter before you push", "Always run the linter before you push"),
        ("always use um bun and uh never yarn", "always use bun and never yarn"),
        ("Uh, um, please never merge. Uh, rebase", "Please never merge. Rebase"),
        ("spaces, um, not tabs please", "spaces, not tabs please"),
        ("when you push, uh check the CI", "when you push, check the CI"),
        ("erm. never touch the lock file", "never touch the lock file"),
        ("I want ... uh ... two spaces", "I want two spaces"),
        ("ab jetzt bitte ähm immer bun nehmen", "ab jetzt bitte immer bun nehmen"),
        ("toujours euh lancer les tests", "toujours lancer les tests"),
        ("всегда ээ запускай тесты", "всегда запускай тесты"),
    ],
)
def test_sounds_of_hesitation_are_left_out(dictated: str, kept: str) -> None:
    """In any place of a sentence, with the pauses around them, in five languages."""
    assert remove_hesitation_sounds(dictated) == kept


@pytest.mark.parametrize(
    "typed",
    [
        "um 6 Uhr startet der Build",
        "Nimm immer, um Zeit zu sparen, den Cache",
        "use um gerenciador de pacotes",
        "uh-huh, merge it",
        "deploy to the UH cluster",
        "look at uh.py and /etc/um/conf",
        'the label is "Uh oh"',
        "call `uh` first",
        "    uh = 1",
        "um",
        "uh, ...",
    ],
)
def test_words_that_look_like_them_stay(typed: str) -> None:
    """German and Portuguese words, names, files, code, quotations, and a message of nothing else."""
    assert remove_hesitation_sounds(typed) == typed


def test_a_dictated_rule_is_kept_and_proved_without_them() -> None:
    """The memory's text and its quotation, which the evidence of the message holds."""
    said = "From now on, uh, always use um bun, never, erm, yarn"
    message = Message(
        id="m", role="user", blocks=(TextBlock(said),), origin=Origin.USER, is_typed=True
    )
    (found,) = find_statements(message)
    assert found.text == "always use bun, never yarn"
    ((_, proof),) = collect_evidence_from_typed_message("s", message).user_messages
    assert found.quote in proof

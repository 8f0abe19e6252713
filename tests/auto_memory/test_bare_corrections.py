"""What is said otherwise later, in words that alone would leave nothing, through a whole session."""

from __future__ import annotations

from pathlib import Path

import pytest

from memorist import Memorist
from memorist.auto_memory.statement_preview import preview_message
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("AM-12")

ENDED = [
    ("never use npm, use pnpm here", "we're back to npm now"),
    ("we deploy on fridays", "we no longer deploy on fridays"),
    ("we release every friday", "we don't release on fridays anymore"),
    ("wir deployen freitags", "wir deployen freitags nicht mehr"),
    ("usamos jest", "ya no usamos jest"),
    ("我们用 npm", "我们不再用 npm 了"),
    ("nunca uses npm", "volvimos a npm"),
    ("nunca uses npm", "volvimos a usar npm"),
    ("niemals npm nutzen", "wir sind wieder bei npm"),
    ("n'utilise jamais npm", "on est revenus à npm"),
]
ALLOWED = [
    ("never use emojis", "emojis are fine"),
    ("never push to main", "pushing to main is fine now"),
    ("verwende keine Emojis", "Emojis sind wieder ok"),
    ("schreibe Kommentare immer auf Deutsch", "du darfst Kommentare auch auf Englisch schreiben"),
    ("nunca hagas push a main", "ya puedes hacer push a main"),
    ("our api runs on port 8080", "the port is 9090 now"),
    ("we use redis for the cache", "redis is not caching any more"),
    ("never push to main", "you pushed to main, I can't push to main any more"),
    ("our ci runs on buildkite", "ci on buildkite does not run any more"),
]
DOUBTFUL = [
    ("we use jest", "they no longer use jest"),
    ("we use jest", "they moved from jest to vitest"),
    ("wir nutzen jest", "sie nutzen jest nicht mehr"),
    ("never use npm, use pnpm here", "he went back to npm"),
    ("we deploy on fridays", "the mobile team does not deploy on fridays anymore"),
    ("we deploy on fridays", "we don't deploy this friday anymore"),
    ("we deploy on fridays", "we no longer deploy on fridays, right"),
    ("we deploy on fridays", "so we no longer deploy on fridays then"),
    ("wir deployen freitags", "wir deployen freitags nicht mehr, oder"),
    ("we use jest", "make sure we no longer use jest"),
    ("we use jest", "Note from the changelog: we no longer use jest."),
]
OTHER_MATTERS = [
    ("never use npm, use pnpm here", "now use npm to reproduce it"),
    ("never use emojis", "the tests are fine now"),
    ("we deploy on fridays", "the build no longer fails"),
    ("our api runs on port 8080", "it works now, reply back to him"),
    ("never push to main", "you can see the error in the log"),
]


def _say(home: Path, project: Path, *said: str) -> tuple[list[str], list[str]]:
    """What is kept and what waits, each as one line, after sessions of one message each."""
    with Memorist(home=home) as engine:
        for number, text in enumerate(said):
            with engine.open(f"s{number}", project=str(project)) as session:
                messages = [{"role": "user", "content": text}]
                session.prepare({"model": "m", "max_tokens": 9, "messages": messages})
                session.observe({"role": "assistant", "content": [{"type": "text", "text": "Ok."}]})
                session.end_turn()
        memory = engine.memory(project)
        kept = [each.one_line_text for each in memory.read_memory_files(lambda text: True)]
        return kept, [each.one_line_text for each in memory.list_proposals()]


def _preview(home: Path, project: Path, text: str) -> list[str]:
    message = Message(
        id="m", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
    )
    with Memorist(home=home) as engine:
        memory = engine.memory(project)
        return [each.fate for each in preview_message(memory, message)]


@pytest.mark.parametrize(("known", "said"), ENDED)
def test_what_has_ended_takes_the_memory_with_it(tmp_path: Path, known: str, said: str) -> None:
    """It need not say that it lasts: nobody says of the moment what they do no longer."""
    kept, waits = _say(tmp_path / "home", tmp_path / "shop", known, said)

    assert (kept, waits) == ([said], [])


@pytest.mark.parametrize(("known", "said"), ALLOWED)
def test_what_is_allowed_or_so_now_is_asked_about(tmp_path: Path, known: str, said: str) -> None:
    """It may be meant for the moment: the memory stays, and what was said waits, as `memory why`
    says too.
    """
    kept, waits = _say(tmp_path / "home", tmp_path / "shop", known)
    assert _preview(tmp_path / "home", tmp_path / "shop", said) == ["waits"]

    assert _say(tmp_path / "home", tmp_path / "shop", said) == (kept, [said])
    assert kept == [known]
    assert waits == []


@pytest.mark.parametrize(("known", "said"), DOUBTFUL)
def test_what_others_no_longer_do_or_is_half_asked_replaces_nothing(
    tmp_path: Path, known: str, said: str
) -> None:
    """What is of somebody else, of one day, of a text or asked without a question mark waits."""
    kept, waits = _say(tmp_path / "home", tmp_path / "shop", known, said)

    assert (kept, len(waits)) == ([known], 1)


@pytest.mark.parametrize(("known", "said"), OTHER_MATTERS)
def test_a_change_of_another_matter_leaves_nothing(tmp_path: Path, known: str, said: str) -> None:
    """Nor does a task that goes against a memory."""
    assert _say(tmp_path / "home", tmp_path / "shop", known, said) == ([known], [])


@pytest.mark.parametrize("said", [said for _, said in (*ENDED[:4], *ALLOWED)])
def test_without_such_a_memory_it_states_nothing(tmp_path: Path, said: str) -> None:
    """What is so no longer, or allowed, says by itself nothing for later."""
    assert _say(tmp_path / "home", tmp_path / "shop", said)[0] == []

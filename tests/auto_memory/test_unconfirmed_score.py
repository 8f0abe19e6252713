"""The score that decides what waits for the person's yes."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements import unconfirmed_score
from memorist.auto_memory.statements.user_prose import split_prose_sentences

SENTENCES = (
    "I would rather have short names for the tests, since the long ones are hard to read.",
    "We keep the documentation next to the types and the commits small.",
    "Please stick with the usual terminology in titles, and do not add any comments.",
    "The permissions of each page should be checked on the server, not only in the view.",
    "Everything that talks to the database goes through the store, without exceptions.",
)


@pytest.mark.covers("AM-7")
@pytest.mark.parametrize("typed", SENTENCES)
def test_the_order_of_the_words_does_not_change_the_score(
    typed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words of a sentence are a set, whose order differs from start to start: what waits in one
    process waits in every other.
    """
    (sentence,) = split_prose_sentences(typed)
    features = tuple(unconfirmed_score.list_sentence_features(sentence, typed, ""))
    scores = set[float]()
    for turn in range(len(features)):
        turned = (*features[turn:], *features[:turn])
        monkeypatch.setattr(
            unconfirmed_score, "list_sentence_features", lambda *_, found=turned: found
        )
        scores.add(unconfirmed_score.score_unconfirmed_sentence(sentence, typed, ""))
    assert len(scores) == 1

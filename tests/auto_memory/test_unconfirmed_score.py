"""The score that decides what waits for the person's yes."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements import unconfirmed_score
from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import (
    decide_by_rules,
    find_unconfirmed_statements,
)
from memorist.auto_memory.statements.user_prose import ProseSentence, split_prose_sentences
from memorist.core.messages import Message, Origin, TextBlock

SENTENCES = (
    "I would rather have short names for the tests, since the long ones are hard to read.",
    "Die Dokumentation steht bei uns neben den Typen.",
    "提交信息里不要写作者。",
)


def _only_sentence(typed: str) -> ProseSentence:
    (sentence,) = split_prose_sentences(typed)
    return sentence


@pytest.mark.covers("AM-7")
@pytest.mark.parametrize("typed", SENTENCES)
def test_the_order_of_the_features_does_not_change_the_score(typed: str) -> None:
    """Features are a set, whose order differs from start to start: what waits in one process waits in
    every other.
    """
    features = tuple(
        sorted(unconfirmed_score.list_lasting_feature_names(_only_sentence(typed), typed))
    )
    scores = {
        unconfirmed_score.score_unconfirmed_sentence((*features[turn:], *features[:turn]))
        for turn in range(len(features))
    }
    assert len(scores) == 1


def test_a_sentence_has_its_words_the_first_once_more_their_pairs_and_parts_as_features() -> None:
    """Numbers count alike, and capitals do not count."""
    typed = "Use the port 80"
    found = unconfirmed_score.list_lasting_feature_names(_only_sentence(typed), typed)
    assert {name for name in found if not name.startswith(("cue:", "form:"))} == {
        "script:plain",
        *("word:use", "word:the", "word:port", "word:0"),
        *("early:use", "early:the", "early:port"),
        *("pair:^_use", "pair:use_the", "pair:the_port", "pair:port_0", "pair:0_$"),
        *("part:<u", "part:us", "part:se", "part:e>", "part:<us", "part:use", "part:se>"),
        *("part:<use", "part:use>", "part:<t", "part:th", "part:he", "part:<th", "part:the"),
        *("part:he>", "part:<the", "part:the>", "part:<p", "part:po", "part:or", "part:rt"),
        *("part:t>", "part:<po", "part:por", "part:ort", "part:rt>", "part:<por", "part:port"),
        "part:ort>",
    }


def test_a_sentence_of_a_longer_message_has_other_features() -> None:
    """Each number of sentences that the message reaches is one; so is a cue, and the sentence's form."""
    typed = "Never use tabs. Fix the header. Then run it."
    sentence = next(iter(split_prose_sentences(typed)))
    found = unconfirmed_score.list_lasting_feature_names(sentence, typed)
    assert {"message:2 sentences", "message:3 sentences", "cue:never_always"} <= found
    assert "form:not last" in found
    assert "message:5 sentences" not in found


def test_where_the_rules_decide_the_words_do_not_count() -> None:
    """A part to play, a stop for the moment and a question never wait, a rule always does."""
    waits = {
        text: decide_by_rules(_only_sentence(text), text)
        for text in (
            "Pretend to be a pirate in this chat.",
            "Don't do anything yet.",
            "Please never shorten the variable names.",
            "Could you look at the failing job?",
            "The footer shows the year and the version.",
        )
    }
    assert list(waits.values()) == [False, False, True, False, None]


WISHES = (
    "We switched to yarn",
    "only use bun",
    "Only ever commit on branches.",
    "only commit when the tests pass",
    "our app is a booking site for small hotels",
    "I use fish on arch linux, so bash snippets fail for me",
    "los comentarios en el código deben estar en español",
    "não quero arquivos de teste na pasta src",
    "Bitte immer nur die geänderten Zeilen zeigen.",
    "回答尽量简短，不要使用表格",
    "テストコードにはコメントを書かないでください",
)
ORDINARY = (
    "Add a button that clears the cart.",
    "only use this one",
    "only run the unit tests",
    "only fix the header when you are done with the footer",
    "The second test fails on my laptop since the update.",
    "What does this function return when the list is empty?",
    "agrega un botón para borrar el carrito",
    "apaga o arquivo antigo e roda os testes",
    "ajoute un bouton pour vider le panier",
    "сделай кнопку шире",
    "这个页面为什么打不开？",
    "もう一度ビルドしてください",
)


def _is_noticed(typed: str) -> bool:
    message = Message(
        id="m", role="user", blocks=(TextBlock(typed),), origin=Origin.USER, is_typed=True
    )
    return bool(find_statements(message) or find_unconfirmed_statements(message, "Done."))


def test_wishes_and_facts_are_noticed_and_tasks_reports_and_questions_are_not() -> None:
    """In several languages, also where a rule reads the sentence."""
    assert [each for each in WISHES if not _is_noticed(each)] == []
    assert [each for each in ORDINARY if _is_noticed(each)] == []

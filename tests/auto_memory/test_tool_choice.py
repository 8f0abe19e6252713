"""One tool in place of another, as people type it, and orders that the user quotes of themselves."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.statement_scope import applies_to_every_project
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

CHOICES = """
    nver use yarn, use bun here|dont use yarn use bun|so um never use yarn use bun instead please okay|pls never yarn always bun ok?
    ey niemals yarn nutzen nimm bun|benutz kein yarn sondern bun|bei uns wird bun benutzt nicht yarn|kein yarn hier nur bun bitte 🙏
    utilise pas yarn, prends bun|n'utilise jamais yarn ici on est sur bun|stp pas de yarn utilise bun|no uses yarn usa bun
    porfa no yarn, bun siempre|aqui a gente usa bun e não yarn|não usa yarn, usa bun|не юзай yarn, у нас bun|пожалуйста без yarn только bun
    这里不要用yarn用bun|yarn 不行 要用 bun|yarnじゃなくてbun使ってね|ここではyarn禁止、bunでお願い
    usa bun please, never yarn|bitte use bun nicht yarn|svp use bun, pas yarn|用 bun please, never yarn
"""
FORMER_ORDERS = """
    J'ai dit : utilise bun, jamais yarn|Eu disse: use bun, nunca yarn|Ich sagte doch: nimm bun, nie yarn|Te dije: usa bun, nunca yarn
    Я же сказал: используй bun, никогда yarn|I said: use bun, never yarn|J'ai déjà dit : pas de yarn, utilise bun
"""
OTHERS_ORDERS = """
    Le client a dit : utilise bun, jamais yarn|Meu chefe disse: use bun, nunca yarn|Заказчик сказал: используй bun, никогда yarn
    Mein Chef sagte: nimm bun, nie yarn|The guide said: use bun, never yarn
"""
ANSWERS = """
    not sure, use main|no worries, only tests failed|use the second one, not the first|no, the build fails|keine Ahnung, nimm die zweite
    не знаю, используй второй|pas sûr, prends le premier|the tests pass, right?
"""


def _split(listed: str) -> list[str]:
    return [
        part.strip() for line in listed.splitlines() for part in line.split("|") if part.strip()
    ]


def _is_noticed(text: str) -> bool:
    message = Message(
        id="m", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
    )
    return bool(find_statements(message) or find_unconfirmed_statements(message))


def test_a_tool_in_place_of_another_is_noticed_however_it_is_typed() -> None:
    """Eight languages and mixtures, without punctuation, with slips and signs."""
    assert [each for each in _split(CHOICES) if not _is_noticed(each)] == []


def test_an_order_that_the_user_quotes_of_themselves_is_their_word() -> None:
    """Another's quoted order is not."""
    assert [each for each in _split(FORMER_ORDERS) if not _is_noticed(each)] == []
    assert [each for each in _split(OTHERS_ORDERS) if _is_noticed(each)] == []


def test_one_word_is_enough_behind_a_word_that_says_from_now_on() -> None:
    """Kept, as a whole: the tool alone would say nothing."""
    for text in _split(
        "from now on bun|bun from now on|ab jetzt bun|bitte bun, immer ab jetzt|désormais bun|a partir de ahora bun|отныне только bun|теперь только пробелы"
    ):
        message = Message(
            id="m", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
        )
        (found,) = find_statements(message)
        assert found.text == text


def test_an_answer_with_the_same_words_is_left_alone() -> None:
    """What answers one question is no choice of a tool."""
    assert [each for each in _split(ANSWERS) if _is_noticed(each)] == []


def test_a_language_for_answers_reaches_every_project_and_one_for_texts_does_not() -> None:
    """In Russian, whose languages have two forms."""
    assert applies_to_every_project("Отвечай на немецком")
    assert applies_to_every_project("отвечай мне по-русски")
    assert not applies_to_every_project("Пиши комментарии на немецком")

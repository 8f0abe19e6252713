"""A request to forget that no pattern reads is noticed, and everyday work is none."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.unread_forget_request import (
    drop_words_of_request,
    find_unread_forget_request,
)

_ASKS = """
the deploy rule I gave you, please unlearn it|would you mind erasing what you remember of staging?
all the stuff I said about tabs, just drop it|das mit npm, was ich dir mal gesagt hatte, bitte wegwerfen
la règle que je t'avais donnée pour npm, tu peux l'oublier|la regla que te di, ya la puedes olvidar
aquilo que te falei do npm, pode jogar fora|quello che ti avevo detto di npm, butta via
то, что я говорил тебе про npm, можешь уже забыть|我上次跟你讲的那个npm的事情你就忘了吧
タブのルール、記憶から消しといて|ditch the memory about Redis|больше не надо помнить правило про отступы
"""
_SILENT = """
delete the memory leak test|forget about the styling for now, just do the parser|clear the cache
remove the rule from the CSS|drop the memory table|don't forget the rule about imports|did you forget what I said?
supprime tout ce que le linter a dit|リンターが言ったことを全部消して|remove the comment I told you about|vergiss nicht, was ich dir gesagt habe|n'oublie pas la règle
borra el archivo que te dije|no olvides lo que te dije|não esqueça a regra|non dimenticare la regola
не забудь правило|не забудь, что я говорил|不要忘记我说的规则|你忘了我说的规则|言ったことを忘れずに|удали правило из конфига
The lead said: "forget what you remember of npm".|> forget what you remember of npm, please unlearn it
"""


def _split(table: str) -> list[str]:
    return [each for line in table.strip().splitlines() for each in line.split("|")]


@pytest.mark.parametrize(("table", "asks"), [(_ASKS, True), (_SILENT, False)])
def test_which_sentences_ask_to_forget(table: str, asks: bool) -> None:
    """Any order, in nine languages; never where it is negated, quoted, or about the code."""
    assert [s for s in _split(table) if bool(find_unread_forget_request(s)) is not asks] == []


def test_the_words_that_name_the_memory() -> None:
    """Those of the request itself are in many memories."""
    assert drop_words_of_request("all the stuff I said about tabs, just drop it") == "tabs"
    assert drop_words_of_request("タブのルール、記憶から消しといて").startswith("タブ")

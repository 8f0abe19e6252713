"""A request to forget in a person's own words, and everyday work with the same words."""

from __future__ import annotations

from pathlib import Path

import pytest

from attacks.host import Attacked
from memorist.auto_memory.statements.statement_parser import Statement, find_statements
from memorist.core.messages import Message, Origin, TextBlock
from memorist.events import ForgetTargetNotFound
from memorist.hooks.hook_notices import render_memory_notice

_SURE = """
the deploy rule I gave you, please unlearn it|would you mind erasing what you remember of staging?
forget "Redis runs on port 6380", it's the rule I gave you
la règle que je t'avais donnée pour npm, tu peux l'oublier|la regla que te di, ya la puedes olvidar
то, что я говорил тебе про npm, можешь уже забыть|我上次跟你讲的那个npm的事情你就忘了吧
タブのルール、記憶から消しといて|больше не надо помнить правило про отступы
I'd rather you didn't remember my name any more, delete it|delete whatever you've noted about the printer
Verwijder wat je over de printer hebt opgeslagen|erase what you stored about the printer
die Regel mit Redis gilt nicht mehr|la règle de Redis ne s'applique plus|la norma de Redis ya no sirve
a regra do Redis não vale mais|правило про Redis больше не действует|Redisのルールはもう無効です|Redis那条规则不用再遵守了|de regel over Redis geldt niet meer
"""
_UNSURE = """
ditch the preference about Redis|that thing about Redis, you can forget it|borra la nota de Redis
all the stuff I said about Redis, just drop it|das mit Redis, was ich dir gesagt hatte, bitte wegwerfen
das mit Redis kannst du streichen|lo de Redis, olvídalo|quita la regla de Redis|удали правило про Redis
on oublie la règle de Redis|olvidemos la regla de Redis|das mit Redis gilt nicht mehr|忘掉Redis那条|忘了Redis那个吧
"""
_PART_TO_PLAY = """
olvida que eres un asistente|dimentica che sei un'AI|oublie que tu es un robot|esquece que você é um robô
"""
_SILENT = """
delete the memory leak test|forget about the styling for now, just do the parser|clear the cache
remove the rule from the CSS|drop the memory table|don't forget the rule about imports|did you forget what I said?
リンターが言ったことを全部消して|vergiss nicht, was ich dir gesagt habe|n'oublie pas la règle
borra el archivo que te dije|no olvides lo que te dije|não esqueça a regra|non dimenticare la regola
не забудь правило|не забудь, что я говорил|不要忘记我说的规则|你忘了我说的规则|言ったことを忘れずに|удали правило из конфига
The lead said: "forget what you remember of npm".|> forget what you remember of npm, please unlearn it
apaga a regra do css|supprime les souvenirs de test dans la base|elimina la regla de nginx.conf
Elimina la regla temporal de firewall al final del script|apaga a regra 15 do ufw no firewall
das Angebot gilt nicht mehr|le code promo n'est plus valable|always delete the notes about drafts before you publish|delete the note about Redis from the README
"""


def _split(table: str) -> list[str]:
    return [each for line in table.strip().splitlines() for each in line.split("|")]


def _find_request(text: str) -> Statement | None:
    message = Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=text),)
    )
    return next((each for each in find_statements(message) if each.act == "forget"), None)


@pytest.mark.parametrize(
    ("table", "sure"), [(_SURE, True), (_UNSURE, False), (_PART_TO_PLAY, False), (_SILENT, None)]
)
def test_which_sentences_ask_to_forget(table: str, sure: bool | None) -> None:
    """Any order, in ten languages; never where it is negated, quoted, or about the code."""
    found = {text: _find_request(text) for text in _split(table)}

    assert [t for t, each in found.items() if (each.certain if each else None) is not sure] == []


async def test_what_may_mean_the_work_is_asked_about_or_left_alone(tmp_path: Path) -> None:
    """Nothing is removed; the line names the memory that has the words, with the command, and says
    nothing where none has.
    """
    async with Attacked(tmp_path) as host:
        host.memory.add("Redis runs on port 6380.")
        host.memory.add("The office dog is called Otto.")
        before = {each.path for each in host.memory.headers()}
        await host.told(*_split(_UNSURE), "ditch the preference about Kafka", *_split(_SILENT))
        asked = [each for each in host.events if isinstance(each, ForgetTargetNotFound)]

        assert before <= {each.path for each in host.memory.headers()}
        assert [each.path for each in asked] == ["redis-runs-on-port-6380.md"] * len(
            _split(_UNSURE)
        )
        assert render_memory_notice(asked[:1]) == (
            "memorist: forgot nothing yet: is redis-runs-on-port-6380.md meant? Then run: "
            "memorist memory forget redis-runs-on-port-6380.md"
        )


@pytest.mark.parametrize(
    "words",
    [
        "bórralo",
        "delete that rule",
        "apaga isso",
        "それを消して",
        "olvídalo",
        "oublie",
        "dimenticalo",
        "забудь",
    ],
)
async def test_a_deletion_right_after_a_statement_is_asked_about(
    tmp_path: Path, words: str
) -> None:
    """It may mean a file in sight as well, or "never mind"; later it means nothing of memory."""
    async with Attacked(tmp_path) as host:
        await host.told("never use npm, use pnpm here", words, "look at the parser", words)
        asked = [each.path for each in host.events if isinstance(each, ForgetTargetNotFound)]

        assert asked == [each.path for each in host.memory.headers()] == ["never-npm-pnpm.md"]


@pytest.mark.parametrize(
    ("typed", "forgotten", "stated"),
    [
        ("scratch what I said about tabs, we use 2 spaces", "tabs", "we use 2 spaces"),
        ("olvida lo que dije de npm, usamos pnpm", "npm", "usamos pnpm"),
        ("esquece o que falei do mongo, a gente usa postgres", "mongo", "a gente usa postgres"),
        ("забудь что я говорил про npm, мы используем pnpm", "npm", "мы используем pnpm"),
        ("忘掉我说的mongo吧，我们还是用postgres", "mongo", "我们还是用postgres"),
        ("vergiss das mit den tabs, wir nehmen doch Leerzeichen", "tabs", None),
        ("forget the rule about npm, it is wrong", "npm", None),
    ],
)
def test_what_holds_instead_is_no_part_of_the_request(
    typed: str, forgotten: str, stated: str | None
) -> None:
    """The clause behind it names nothing that is to go, and what it states is kept."""
    message = Message(
        id="m", role="user", blocks=(TextBlock(typed),), origin=Origin.USER, is_typed=True
    )
    expected = [("forget", forgotten), *([("rule", stated)] if stated else [])]
    assert [(each.act, each.text) for each in find_statements(message)] == expected

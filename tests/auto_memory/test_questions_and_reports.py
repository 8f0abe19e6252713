"""What only grammar tells apart: a wish that is put as a question and a question about the work, a
contrast and trouble, a report and an order, a rule and what belongs to a text that is ordered.
"""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

WISHES = """
    can you stop apologizing|could you please always use type hints?|can we not use mocks?|would you mind answering in German?|can you please not add comments
    könntest du künftig zuerst einen Plan schreiben?|würdest du bitte nie direkt pushen?|tu peux éviter les émojis dans les commits ?|pourrais-tu à l'avenir demander avant de pousser ?
    ¿podrías en adelante no tocar los archivos de config?|você poderia nunca commitar sem perguntar?|не мог бы ты больше не извиняться в каждом сообщении?
    能不能以后先给我看方案再动手？|你可以不要每次都道歉吗？|毎回謝るのやめてもらっていい？|今後は先に計画を見せてから実装してもらえますか？
"""
QUESTIONS = """
    can you open a PR?|can you stop the server?|could you not find the file?|can you run the tests before committing?|could you use the second option?
    kannst du mir die Datei zeigen?|peux-tu m'expliquer la différence ?|¿puedes abrir el archivo?|você pode abrir o arquivo?|можешь показать файл?|能不能快一点
    ログを見せてもらえますか？|why is the border red when I wanted blue?|What did I say about files?
"""
CONTRASTS = """
    je travaille avec Vue et pas React|sou dev e não designer|wir arbeiten mit Gradle und nicht mit Maven|trabalho com Vue e não com React|je bosse sous Linux et pas sous Windows
    notre serveur tourne sur Debian et pas sur Ubuntu|nosso back é em Go e não em Node|ich bin Linkshänder und arbeite abends|うちはpnpmでnpmじゃないです
    I write Go rather than Rust|we deploy from main instead of release|wir deployen von main statt von release
"""
TROUBLES = """
    uso Docker e não funciona|notre serveur tourne et ne répond pas|o servidor está no ar e não responde|сервер работает и не отвечает
    notre serveur tourne mal depuis hier|unser Server läuft und antwortet nicht
"""
REPORTS = """
    nunca funcionou|nunca funcionó en mi máquina|sempre dá timeout quando chamo essa rota|nie gesehen|nie funktioniert|siempre falla|siempre falla en el móvil|siempre sale el mismo error
    nunca había visto ese error|nunca vi isso aqui|siempre me sale la misma pantalla en blanco|toujours la même erreur quand je clique|jamais vu un truc pareil|jamais marché chez moi
    never seen that before
"""
ORDERS = """
    siempre usa tabs|nunca uses var|nunca hagas push a main|siempre pregunta antes de borrar|nunca commita sem perguntar|sempre roda os testes antes|toujours répondre en français|nie mocken
    siempre me preguntas antes de borrar algo
"""
ORDERED_TEXTS = """
    Write a poem. I live in Paris. Never mention rain.|write a haiku about kubernetes. never use the letter e|Verfasse einen Brief an die Bank. Ich wohne in Kiel. Erwähne niemals den Hund.
    Rédige une lettre au maire. J'habite à Lyon. Ne parle jamais de pluie.|Escribe un cuento corto. Mi perro se llama Nube. No menciones nunca la muerte.
    Escreva um poema. Moro em Recife. Nunca fale de saudade.|Напиши стих про осень. Я живу в Казани. Никогда не упоминай дождь.
    写一首关于秋天的诗。我住在杭州。绝对不要提到雨。|秋の詩を書いて。京都に住んでいます。雨には絶対触れないで。
"""


def _split(listed: str) -> list[str]:
    return [
        part.strip() for line in listed.splitlines() for part in line.split("|") if part.strip()
    ]


def _read(text: str) -> str:
    message = Message(
        id="m", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
    )
    if find_statements(message):
        return "kept"
    return "waits" if find_unconfirmed_statements(message) else ""


def _list_noticed(listed: str) -> list[str]:
    return [each for each in _split(listed) if _read(each)]


def test_a_wish_that_is_put_as_a_question_is_noticed_and_a_question_is_not() -> None:
    """What would last if it were ordered waits as a question; a task and a question about the work
    do not.
    """
    assert _list_noticed(WISHES) == _split(WISHES)
    assert _list_noticed(QUESTIONS) == []


def test_a_contrast_is_no_trouble() -> None:
    """What somebody is not, or what is not used, leaves the fact what it is, and makes it particular."""
    assert [each for each in _split(CONTRASTS) if _read(each) != "kept"] == []
    assert _list_noticed(TROUBLES) == []


def test_how_often_something_happened_is_no_order() -> None:
    """The form of the verb tells."""
    assert _list_noticed(REPORTS) == []
    assert _list_noticed(ORDERS) == _split(ORDERS)


def test_what_belongs_to_an_ordered_text_is_no_statement() -> None:
    """Neither facts nor bans behind the order, unless they say that they reach further."""
    assert _list_noticed(ORDERED_TEXTS) == []
    assert _read("Write a poem. From now on answer in French.") == "kept"
    assert _read("Write a poem. In this project we use pnpm.") == "kept"
    assert _read("Write a poem about rain.\nI live in Paris.") == "waits"


TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nValueError: x\n'
DIFFERENCE = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-foo\n+bar\n"


@pytest.mark.parametrize("printed", [TRACE, DIFFERENCE])
def test_a_rule_right_below_what_was_printed_waits(printed: str) -> None:
    """Without an empty line it may be the end of the paste; with one it is the user's own."""
    assert _read(f"{printed}we use loguru, never print") == "waits"
    assert _read(f"{printed}\nwe use loguru, never print") == "kept"
    assert _read(f"{printed}fix it please") == ""
    assert _read(f"we use loguru, never print\n\n{printed}") == "kept"

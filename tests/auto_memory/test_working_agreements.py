"""How a team works, said in passing: a choice against another, an order bound to an event that comes
again, one that is said once more, what is never done, what is missing, what changes on a day, what
was decided for a purpose; and what looks like each of them and is a task or a report.
"""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

AGREEMENTS = {
    "choices": """
        tabs not spaces!!!|spaces not tabs please|yarn statt npm bitte|pnpm pas npm|pnpm, no npm|poetry e não pip|табы, а не пробелы|用 pnpm 不用 npm|npmじゃなくてpnpmで
        ruff instead of flake8 please|español, no inglés por favor
    """,
    "recurring events": """
        every time you add an endpoint update the openapi file|if you rename something, grep for usages first|après avoir modifié le schéma préviens l'équipe data
        when you write commit messages, keep the first line under 60 chars|when writing tests use fixtures instead of setup methods|before committing run make lint|after each change run the tests
        wenn du was am schema änderst, sag bescheid|bevor du committest, lass den linter laufen|quand tu écris des tests utilise des fixtures|après chaque modif relance le serveur
        antes de commitear corre los tests|cuando escribas tests usa factories|antes de commitar rode os testes|после каждого изменения прогоняй тесты|写测试的时候用 fixture|コミット前にテストを実行して
    """,
    "said once more": """
        Zum dritten Mal: keine Emojis|quantas vezes já falei sem comentários|сколько раз говорить, без эмодзи|都说了别加注释|三回目だけど絵文字はなしで
        I've told you twice to use tabs|ich hab dir schon dreimal gesagt keine emojis|te dije tres veces sin emojis|ya te dije que no uses var|je t'ai déjà dit pas d'emojis|já te falei sem emojis
    """,
    "never or always": """
        we don't ever force push|bei uns pusht niemand direkt auf main|aqui ninguém mexe na main|мы не пушим в main
        around here we never merge on fridays|on ne touche jamais au dossier legacy|wir fassen den legacy ordner nie an|aquí nunca tocamos legacy|мы никогда не трогаем legacy|うちでは金曜日に絶対デプロイしません
    """,
    "missing": """
        у нас в проекте нет тестов|うちにはQAチームがありません
        wir haben keine staging umgebung|wir haben kein docker auf den build-rechnern|nous n'avons pas de staging|não temos ambiente de staging|у нас нет стейджинга|我们没有测试环境|ステージング環境はありません
        there is no CI on this repo|wir haben keinen zugriff auf die prod datenbank
    """,
    "from a day on": """
        as of next month node 18 is gone|a partir da próxima semana deploy só na quinta|с первого марта переходим на pnpm
        from next week on we deploy on thursdays|starting monday we use the new api|à partir de lundi on déploie le jeudi|ab nächster Woche deployen wir donnerstags|a partir del lunes usamos la nueva api
        a partir de segunda usamos a nova api|со следующей недели деплоим по четвергам|从下周开始我们用 pnpm|来週からpnpmを使います
    """,
    "here": """
        here at work we use gitlab|мы тут используем poetry
        aqui a gente usa yarn|nós aqui usamos yarn|nosotros aquí usamos pnpm|ici on bosse avec vue|us we use bun
    """,
    "decisions": """
        decision: kafka for events|dann machen wir das frontend mit svelte|al final usamos zod para validar|для очереди берём redis
        let's go with redis for the queue then|we'll go with fastapi for the backend|wir nehmen redis für die queue|on part sur redis pour la file|vamos con redis para la cola|vamos de redis pra fila|берём redis для очереди
        缓存就用 redis 吧|キューはredisでいきましょう
    """,
}
OTHERS = {
    "choices": """
        3 not 4|the second not the first|yes not no|not now|tests not passing on ci|module not found|images not visible|die zweite nicht die erste|je comprends pas les logs|pourquoi pas redis|第二个不是第一个
        use the second instead of the first|ça marche pas
    """,
    "one event": """
        when you add a row, nothing happens|every time you click it a new window opens
        before you start read the file|after that run the tests|when you are done, tell me|when this is finished push it|before we continue fix the import|after fixing the bug run the tests|when writing tests it always fails
        wenn du den Button klickst, kommt ein Fehler|bevor du den PR aufmachst, schau dir den Diff an|quand tu as fini lance les tests|cuando corro los tests falla|antes de seguir muestra el diff|когда закончишь, запусти тесты
        改完之后跑一下测试|提交的时候报错了|コミットしたら教えて|このPRを出す前に確認して
    """,
    "said of the work": """
        zum ersten Mal keine Fehler|первый раз такое вижу|por fin sin errores
        I told you it does not work|I told you no, stop|I told you to fix it|ich hab dir doch schon gesagt dass es nicht geht|ich hab nur die Logs|je t'ai déjà dit que ça marche pas|ya te dije que no funciona|já te disse que deu erro
    """,
    "reports": """
        we always get the same error|we always end up here|nunca vimos este error
        мы не видим логов|bei uns weiß niemand warum|personne ne comprend ce bug
        we never got this far before|wir haben das nie getestet|on n'a jamais vu cette erreur|on doit toujours attendre 10 secondes|nunca llegamos a probarlo|sempre temos o mesmo erro|мы никогда такого не видели|aquí siempre sale null
    """,
    "missing now": """
        у нас в таблице нет колонки|うちでは再現しない
        we have no error now|no tenemos el archivo todavía|у нас нет времени|wir haben kein Problem damit|wir haben keinen Fehler gefunden|on n'a pas le choix|on n'a pas de log|não temos essa coluna|我们没有时间|这里没有 import
        エラーはありません|データがありません
    """,
    "a place or the person": """
        from line 40 on it breaks|from monday on I am on vacation|ab Montag bin ich im Urlaub|ab März hatten wir den Fehler|à partir de là on a une erreur|desde el lunes no funciona|с понедельника падает сборка|昨日からエラーが出ます
        来週から休みます
    """,
    "here and now": """
        bei uns läuft es nicht|bei uns ist es gerade rot|chez nous ça marche pas|ici on a une erreur|aquí tenemos el error|a gente viu um erro|我们这边报错了
    """,
    "this task": """
        decision: option 2|dann machen wir das mit Tests|machen wir eine Pause
        let's go with the first one|let's go to the next file|let's use 3 for the timeout|let's use bold text for the heading|wir nehmen die zweite|on part de zéro|vamos con esto para probar|bora com tudo pra terminar|берём первый вариант
        就用第二个吧|変数名はxでいきましょう
    """,
}


ASKED = "Both work. Should we use Redis or RabbitMQ for the queue?"
DECISIONS = """
    ok, redis it is|let's go with redis|wir nehmen redis|on part sur redis|vamos con redis|bora de redis|берём redis|就用 redis 吧|redisでいきましょう
"""


def split(block: str) -> list[str]:
    return [each.strip() for line in block.strip().splitlines() for each in line.split("|")]


def is_noticed(text: str, reply: str = "") -> bool:
    message = Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=text),)
    )
    return bool(find_statements(message) + find_unconfirmed_statements(message, reply))


@pytest.mark.parametrize("group", AGREEMENTS)
def test_how_a_team_works_is_kept_or_waits(group: str) -> None:
    """Each left nothing, however often a team says so."""
    assert [text for text in split(AGREEMENTS[group]) if not is_noticed(text)] == []


@pytest.mark.parametrize("group", OTHERS)
def test_a_task_or_a_report_in_similar_words_leaves_nothing(group: str) -> None:
    """The same words about one thing, one moment or the person's own week are no agreement."""
    assert [text for text in split(OTHERS[group]) if is_noticed(text)] == []


def test_a_decision_for_an_option_that_the_agent_offered_waits_with_the_question() -> None:
    """Only the question says what for: "ok, redis it is" left nothing."""
    assert [text for text in split(DECISIONS) if not is_noticed(text, ASKED)] == []
    others = [
        "let's use red",
        "use it",
        "let's go with the first",
        "ok let's go",
        "let's use kafka",
    ]
    colour = "Should I use Red or Blue for the button?"
    assert [text for text in others if is_noticed(text, ASKED) or is_noticed(text, colour)] == []

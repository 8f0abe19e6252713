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
    können wir Mocks vermeiden?|könnt ihr keine Emojis verwenden?|on peut éviter les mocks ?|peut-on toujours typer les fonctions ?|¿podemos evitar los mocks?|a gente pode evitar mocks?|мы можем не использовать моки?
"""
QUESTIONS = """
    can you open a PR?|can you stop the server?|could you not find the file?|can you run the tests before committing?|could you use the second option?
    kannst du mir die Datei zeigen?|peux-tu m'expliquer la différence ?|¿puedes abrir el archivo?|você pode abrir o arquivo?|можешь показать файл?|能不能快一点
    ログを見せてもらえますか？|why is the border red when I wanted blue?|почему кнопка красная если я просил синюю|podemos no llegar a tiempo|können wir hier weitermachen?|warum ist der Rand rot, obwohl ich blau gesagt habe?|pourquoi le bord est rouge alors que j'ai demandé bleu ?
    por que está vermelho se eu pedi azul?|What did I say about files?
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
    never seen that before|always wanted to try rust|we always get a 500 when we post|I always see a timeout on my machine|toujours d'accord
"""
ORDERS = """
    siempre usa tabs|nunca uses var|nunca hagas push a main|siempre pregunta antes de borrar|nunca commita sem perguntar|sempre roda os testes antes|toujours répondre en français|nie mocken
    siempre me preguntas antes de borrar algo|we always get approval before we merge
"""
ORDERED_TEXTS = """
    Write a poem. I live in Paris. Never mention rain.|write a haiku about kubernetes. never use the letter e|Verfasse einen Brief an die Bank. Ich wohne in Kiel. Erwähne niemals den Hund.
    Rédige une lettre au maire. J'habite à Lyon. Ne parle jamais de pluie.|Escribe un cuento corto. Mi perro se llama Nube. No menciones nunca la muerte.
    Escreva um poema. Moro em Recife. Nunca fale de saudade.|Напиши стих про осень. Я живу в Казани. Никогда не упоминай дождь.
    写一首关于秋天的诗。我住在杭州。绝对不要提到雨。|秋の詩を書いて。京都に住んでいます。雨には絶対触れないで。
"""
ORDERED_CODE = """
    écris une nouvelle fonction de parsing. n'utilise jamais any.|rédige une nouvelle page. utilise toujours des types.
    Schreib einen Artikel-Parser. Nutze nie Regex.|haz una historia de usuario. usa siempre gherkin.
    escribe el mensaje de commit. usa siempre inglés.|составь историю миграций. никогда не используй raw sql.
    写一个邮件发送模块。永远不要用同步IO。|写一个信号处理函数。永远不要用全局变量。
"""
FOR_THE_SPEAKER = """
    manda um comando por vez, eu não sou de infra|answer in short sentences, I'm reading on a phone|use tabs please, the linter of this repo insists|one command at a time please, I'm not an ops person
    antworte kurz, ich lese am Handy|schreib kürzer ich lese das am Handy|réponds court, je suis sur mon téléphone|responde corto que estoy en el celular|estoy en el celular así que responde corto
    пиши короче я с телефона читаю|я бэкендер, во фронте не шарю, объясняй проще|我在手机上看，回答短一点|スマホで見てるので短めに答えて|Explain in plain words. I'm not a developer.
"""
FOR_THE_TASK = """
    restart the server, I changed the config|fix the login, I can't read the error|use my token, I have one|show logs, we have an outage|mach weiter, ich bin gleich zurück|zeig mir die Datei, ich kann sie nicht finden
    fais le commit, je suis d'accord|dame permisos, soy admin|explica de novo, não entendi|usa meu usuário, sou admin|запусти тесты, я на созвоне|给我看日志，我在开会|explain, I don't understand|I have an error, explain please|mach schneller, ich hab keine Zeit|fais vite, je suis pressé|réponds vite, j'ai une réunion|エラーが出るので直して
"""
THROWN_IN = """
    no no así no, nada de jQuery en este repo|não não, nada de any aqui, tipa tudo|нет не так, никаких глобальных переменных|manda tudo em português por favor|A partir de hoje todo PR precisa de teste, combinado?
    Mock nothing in integration tests, always please|hemos decidido quedarnos con Vue 2|年末まではPython 3.10のままで行くことにしました|решили остаться на Python 3.10|my name's Ada btw, I maintain the billing service|moi c'est Camille, je fais le back|佐藤です、インフラ担当してます
    я левша и работаю на маке|документация лежит в Confluence|лучше спроси лишний раз чем сломай|доделай форму и учти что у нас все суммы в копейках|Los mensajes de error para el usuario, siempre en catalán.|迷ったら推測しないで聞いて
"""
NOT_THROWN_IN = """
    no no wait|nein, das ist falsch|não, tá errado|thanks, merge it please|decidimos parar por hoje|мы решили проблему|on a décidé de garder ce bouton|my name's wrong in the footer|moi c'est bon
    担当者の名前を表示して|я готов, продолжай|прод лежит с утра|лучше сейчас чем потом|fix the header and note all tests fail|終わったら教えて
"""
IN_DOUBT_AND_BY_WHOM = """
    la prochaine fois demande avant d'installer un truc|nächstes mal vorher fragen|la próxima vez pregunta antes|da próxima vez pergunta antes de instalar|в следующий раз спрашивай перед установкой|下次装东西之前先问我|次からインストールする前に聞いて
    si t'es pas sûr tu demandes|si no estás seguro pregunta|se não tiver certeza me pergunta|если не уверен, спроси|不确定就问我|不安なら聞いて
    yo me encargo de los deploys, tú no|deixa os deploys comigo|деплой на мне, ты не трогай|部署我来做 你别碰|デプロイは自分がやるので触らないで|je ne touche jamais au js, c'est Marie qui s'en occupe
    la branche principale c'est develop pas main|основная ветка develop, не main|主分支是develop不是main|メインブランチはdevelopです、mainじゃない
    on a laissé tomber webpack pour vite|dejamos webpack y ahora usamos vite|мы ушли с webpack на vite|webpackはやめてviteにしました|die Datenbank läuft auf Postgres 15|die Doku liegt im Confluence
    pls fix the build, also never use --force again|corrige le test, et ne force plus jamais le push|arregla el test y no vuelvas a usar --force nunca|почини тест и больше никогда не используй --force
    okay so for this whole project I'd like you to use metric units|pour tout le projet j'aimerais que tu mettes des types|整个项目都要写类型|tu rajoutes tout le temps des points-virgules|ты вечно ставишь точки с запятой, у нас их нет
    commits ja, pushen nein das mach ich selbst|commit sí, push no, eso lo hago yo|可以commit，但是push我自己来|la personne à contacter pour la prod c'est Karim|本番の担当はカリムさん|pas la peine d'expliquer chaque ligne, je connais python
    não precisa rodar os testes toda hora|quick note we freeze deploys every thursday|gosto de código com pouco comentário|コメント少なめのコードが好き
"""
OF_THE_WORK = """
    la prochaine fois que je lance ça plante|nächstes mal klappt es bestimmt|la próxima vez será|в следующий раз посмотрим|下次再说|次はログインを直して|wenn es nicht geht frag Paul|si no funciona pregunta a Juan|不知道怎么办
    das mache ich|это на мне|我来试试|自分でやります|c'est moi qui ai cassé le build|me gusta el nuevo botón azul|gosto do resultado
    the button is blue not red|the problem is the cache, not the db|o erro é de rede, não de auth|проблема в базе, не в коде|问题是redis不是mysql|エラーはJSではなくPHPです
    search the whole project for TODOs|for this whole project the build takes ages|整个项目都报错|你总是对的|tests yes, build no, lint fails|the contact page shows Karim|fix the loop so it never runs again
    die Tabelle hat 3 Spalten|der Button hat 3 Zustände|das Formular hat 3 Felder|la page est en Symfony|die Seite lädt nicht in Firefox|we see this error every week|we saw this last week as well
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


def test_what_stands_behind_ordered_code_is_kept() -> None:
    """The words of a text may be a part of a name or of another word: the rules beside were lost."""
    assert [text for text in _split(ORDERED_CODE) if _read(text) != "kept"] == []


def test_what_explains_an_order_by_the_person_is_for_later() -> None:
    """Who gives the order and what the project is last longer than the task, in eight languages."""
    assert _list_noticed(FOR_THE_SPEAKER) == _split(FOR_THE_SPEAKER)
    assert _list_noticed(FOR_THE_TASK) == []


def test_what_is_thrown_in_is_noticed_whatever_is_polite_around_it() -> None:
    """A refusal in front, a courtesy or a question for assent behind; decisions, and who somebody is."""
    assert _list_noticed(THROWN_IN) == _split(THROWN_IN)
    assert _list_noticed(NOT_THROWN_IN) == []


def test_rules_for_later_and_reports_of_the_work_are_told_apart() -> None:
    """From the next time on, when in doubt, by whom, what is what: in eight languages."""
    assert _list_noticed(IN_DOUBT_AND_BY_WHOM) == _split(IN_DOUBT_AND_BY_WHOM)
    assert _list_noticed(OF_THE_WORK) == []


TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nValueError: x\n'
DIFFERENCE = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-foo\n+bar\n"


@pytest.mark.parametrize("printed", [TRACE, DIFFERENCE])
def test_a_rule_right_below_what_was_printed_waits(printed: str) -> None:
    """Without an empty line it may be the end of the paste; with one it is the user's own."""
    assert _read(f"{printed}we use loguru, never print") == "waits"
    assert _read(f"{printed}\nwe use loguru, never print") == "kept"
    assert _read(f"{printed}fix it please") == ""
    assert _read(f"we use loguru, never print\n\n{printed}") == "kept"


FACTS_IN_A_LIST = """
    This project uses npm|my timezone is CET|wir sind von npm auf pnpm umgestiegen|the API must stay backwards compatible|Ich arbeite in Kassel|我们从npm换成了pnpm
    always hoist loops
"""


@pytest.mark.parametrize("entry", _split(FACTS_IN_A_LIST))
def test_an_entry_of_a_list_waits_as_a_sentence_does(entry: str) -> None:
    """In a list neither the score nor the reading of plain facts speaks."""
    message = Message(
        id="m",
        role="user",
        blocks=(TextBlock(f"- {entry}\n- Keep functions under 40 lines in every file"),),
        origin=Origin.USER,
        is_typed=True,
    )
    assert entry in {each.text for each in find_unconfirmed_statements(message)}

"""What people say in passing of the circumstances of a project, what they wish in the conditional and
what they praise; and what looks like each of them and is a task or a report.
"""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

CIRCUMSTANCES = {
    "documents elsewhere": """
        the architecture decisions are documented in notion
        the runbook for incidents lives in confluence|unser wiki liegt auf wiki.firma.example|die tickets sind in jira unter projekt PAY
        les maquettes sont sur figma.com/file/abc|o quadro de tarefas fica no trello|设计稿在 figma.com/file/xyz|feature requests can be found in Productboard
        api docs live at docs.example.net/api
    """,
    "deadlines": """
        we freeze code on december 12th|we go live april 1st|wir gehen am 1. märz live|on lance le 3 mars|lanzamos el 3 de marzo
        lançamos dia 3 de maio|выходим в релиз 1 марта|我们3月1日上线
        the deadline for the beta is march 3|launch is on friday|abgabe ist nächsten freitag|la mise en prod est le 15 janvier|el lanzamiento es el viernes
        o prazo da entrega é 10 de maio|截止日期是3月3日|リリースは3月1日です|출시일은 3월 1일입니다|deadline for the beta is march 3
    """,
    "demands": """
        compliance needs audit logs for every write|unser datenschutzbeauftragter erlaubt keine tracker|legal dice que nada de cookies
        el equipo de seguridad exige 2FA
        the client insists on IE11 support|unser kunde will kein dark mode|die rechtsabteilung verbietet google fonts|le client ne veut pas de popups
        заказчик хочет только светлую тему|客户要求支持IE11|クライアントはIE11対応を求めています|Alice, our designer, hates modals|ask Nina about payments stuff
        legal said no analytics cookies before consent
    """,
    "wishes": """
        it would be awesome if you kept answers short|would love it if you wrote tests first|mir wäre lieber wenn du erst fragst
        me gustaría que me preguntes antes de borrar|хотелось бы, чтобы ты всегда спрашивал перед удалением|先に聞いてくれると嬉しいです|먼저 물어봐 주시면 좋겠어요
        it'd be great if you always ran the tests before pushing|would be nice if you never touched the migrations|es wäre schön wenn du immer erst fragst
        it'd be great if you ran the linter before saying done
    """,
    "praise": """
        danke dass du erst gefragt hast|tu as bien fait de demander|hiciste bien en preguntar antes|fez bem em perguntar antes
        хорошо, что ты сначала спросил
        perfect, the single bundled PR was the right call|yes splitting the migration was the right choice|nice, I like that you kept the commits small
        super, erst zu fragen war richtig|parfait, une seule PR c'était le bon choix|perfecto, un solo PR fue la decisión correcta|perfeito, um PR só foi a escolha certa
        很好，先问我是对的|完璧です、PRを一つにまとめたのは正解でした
    """,
}
OTHERS = {
    "documents elsewhere": """
        the decisions are in the reducer
        the log is at /tmp/build.log|the app is at http://localhost:3000|el error está en la línea 40|the tickets are in jira, which ones are open?
        assets are in src/assets|the board is in linear time order|tickets on jira are failing to load|translations are in de.json|das board will booten
    """,
    "deadlines": """
        we launch the app on port 3000|lanzamos el script y falla|on lance le serveur|我们3月1日上线了
        the error started on monday|the release is broken on friday's build|when is the release?|el viernes falla el test|o prazo está errado na tela|der termin ist falsch geparst|релиз упал|日期是错的
        beta 3 is broken|release 2.1 fails on start|release 2 is out|the release on friday broke prod|launch the app on port 3000|release on friday failed
        milestone 3 done|deadline exceeded error in the worker|freeze the 3 columns|entrega 3 está lista|запуск в 3 раза медленнее|релиз 2.0 не собирается
        sortie 3 du script
    """,
    "demands": """
        security needs review|el equipo de diseño quiere ver el botón
        the client wants a response with status 200|security group requires port 22 open|der client will keine verbindung aufbauen|o cliente não quer compilar
        the customer wants to see his orders in the dashboard|the client wants no content back when the list is empty|the client doesn't want to connect
        the client hates this button|product requires a name field|security says no vulnerabilities found|qa said it only fails on safari
        the security team said we need to fix this bug today|our customer said the page never loads|the boss said: never deploy on fridays|my boss wrote: never deploy
        legal said: "no cookies"|the pm wants everything in this ticket done today|ask Nina about the header now|ask for permission before saving the file in the dialog
        der kunde will sich einloggen können|el cliente quiere ver sus pedidos en la tabla|le client veut voir ses commandes|o cliente quer filtrar por data
        заказчик хочет видеть список заказов|客户要求加一个按钮|ask copilot about everything
    """,
    "wishes": """
        me gustaría que cambies el color|gostaria que você corrigisse o header|would love it if you fixed this
        mir wäre lieber wenn der button rot ist|先に直してくれると嬉しいです
        it'd be great if you could fix the header|it would be great if the button always stayed visible|es wäre schön wenn du den bug fixen könntest
        wäre gut wenn der test grün wäre|estaría bien que arregles el menú|было бы хорошо, если бы ты исправил ошибку
        it would be great if you could add a test before merging this|it would help if you explained every line of this function
        would it be great if you always returned null?|it'd be nice if you could make every button blue|ce serait bien que tu ajoutes un test sans casser le build
        sería bueno que agregues un campo en cada fila|seria bom se você adicionasse um botão em cada linha|es wäre gut wenn du jede zeile grün machst
        было бы хорошо, если бы ты добавил кнопку в каждую строку
    """,
    "praise": """
        gut dass du da bist|хорошо, что не упало|thanks for not helping
        perfect, thanks|good call|perfect, now fix the header|perfecto, ahora haz el siguiente|perfeito, pode continuar|很好，继续|完璧です、次お願いします
        the first option was the right choice|i think the old code was the right way to go|the blue one is the best choice|perfect, that was the right call
        good idea to fix the header|good call on the second one, do it|I like that you fixed the header|I like how you wrote the intro|die zweite war richtig
        das war richtig|la primera era la opción correcta|c'était le bon choix|第一个是对的|二つ目が正解です|great idea
    """,
}


def split(block: str) -> list[str]:
    return [each.strip() for line in block.strip().splitlines() for each in line.split("|")]


def is_noticed(text: str) -> bool:
    message = Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=text),)
    )
    return bool(find_statements(message) + find_unconfirmed_statements(message))


@pytest.mark.parametrize("group", CIRCUMSTANCES)
def test_what_lasts_is_kept_or_waits(group: str) -> None:
    """Most of them left nothing: a document elsewhere, a date, a demand, a wish, praise."""
    assert [text for text in split(CIRCUMSTANCES[group]) if not is_noticed(text)] == []


@pytest.mark.parametrize("group", OTHERS)
def test_a_task_or_a_report_beside_them_leaves_nothing(group: str) -> None:
    """A file of the repository, a program's demand, a quotation, a wish for one thing, a choice
    among options.
    """
    assert [text for text in split(OTHERS[group]) if is_noticed(text)] == []

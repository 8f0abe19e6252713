"""What is said of what the agent did, of who does what, and "I said …": it may be meant for good. So
may a reminder that is put as a question, and a ban with its reason.
"""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

REPROACHES = """
    you should have read the changelog first|you shouldn't have pushed that without asking|why did you rebase without asking me?|isn't that just your sandbox being offline?
    you have a tendency to rename things nobody asked about|I said tabs|I asked for postgres, not mysql|you can start those servers yourself|leave tagging to me|you tend to forget the changelog|no feature flags ever|you are jumping to conclusions
    I want to read the plan before you write code|you don't need docker here|there's a target for that: make seed|don't rebase, we merge|less text please|dates as ISO
    说了多少次了 先改源文件|我从来没让你改配置|谁让你删测试的|你怎么又没跑检查就提交|这些脚本你自己跑就行|别老问我，直接做
    先に仕様を読むべきだった|前に言ったよね、タブだって|自分で実行できるでしょ|물어보고 푸시했어야지|누가 설정 바꾸라고 했어|그 정도는 네가 직접 확인해
    du hättest vorher fragen sollen|warum pushst du schon wieder ohne zu fragen?|das kannst du selber starten|ich hab gesagt Tabs
    tu aurais dû me prévenir avant|pourquoi tu pousses encore sans demander ?|tu peux lancer ça toi-même|j'ai dit des tabulations
    deberías haber preguntado antes|por qué commiteas otra vez sin preguntar?|eso lo puedes ejecutar tú mismo|deja de preguntarme, hazlo
    você deveria ter avisado antes|por que você commitou de novo sem avisar?|isso você mesmo pode rodar|chega de perguntar, só faz
    why on earth do you keep renaming things?|didn't you promise to ask first?|how often do I have to say tabs?
    didn't we already decide on tabs?|what part of "ask first" did you miss?|could you stop renaming my variables?|would you please never squash my commits|how many times must I ask for tests?|shouldn't you look at the spec first?
    kannst du bitte aufhören, alles umzubenennen?|wie oft muss ich noch sagen, dass wir Tabs nutzen?|tu peux arrêter de renommer mes variables ?|combien de fois dois-je dire qu'on utilise des tabulations ?
    ¿podrías dejar de renombrar mis variables?|¿cuántas veces tengo que decir que usamos tabs?|você pode parar de renomear minhas variáveis?|quantas vezes tenho que dizer que usamos tabs?
    сколько раз мне говорить, что у нас табы?|能不能不要再改我的变量名了|我不是说过用tab吗|変数名を勝手に変えるのをやめてくれますか|タブだって言ったよね
    not with conda, this project uses poetry|not on staging, our QA runs on Jenkins there|nicht direkt deployen, immer über die Pipeline|pas de push direct, toujours une PR|for anything payment related ask me first|for any schema change, check with me|bei allem, was Geld kostet, frag mich vorher
    no sudo, this is a shared machine|no rebasing, others have it checked out|kein sudo, das ist ein gemeinsamer Server|pas de rebase, on travaille à plusieurs dessus|sin sudo, es una máquina compartida|без sudo, это общая машина
    надо было сначала спросить|почему ты опять пушишь без спроса?|это ты можешь запустить сам|кто тебя просил трогать конфиг
"""
REMARKS = """
    you should have access now|why did you use a map instead of a list?|I asked for a blue button|I said yes|I asked for two columns|isn't that your branch?
    you are always welcome|there is a fix for this in main|run this yourself now|less padding please|names are in the header row|you have a point
    i don't want you to use it now|don't refactor the parser yet|no quiero que lo uses ahora|não quero que você faça isso agora|今はコミットしないで|现在不要改配置
    can you stop the server?|could you not find the file?|how many times does it retry?|which part of the code is slow?|didn't the build pass?|should you be able to log in?|can we stop here?
    not in this file, the other one|not with that option, try again|for everything else see the docs|nicht so, versuch es nochmal|not now, I always test first
    no luck, it is still red|no wait, I found it|no tests, the build is broken|no errors, it works now|no idea, the log is empty|kein Problem, das geht schon|kannst du das Fenster schließen?|tu peux arrêter le serveur ?|¿puedes dejar el archivo abierto?|能不能快一点
    自分でやってみます|我自己来吧|怎么又没生效|为什么又报错了|테스트했어야 하는데 깜빡했어|누가 이 함수 만들었어?
    warum stürzt es schon wieder ab?|kannst du das selbst testen?|pourquoi ça plante encore ?|por qué falla otra vez?|почему опять падает тест?|я сказал нет
"""


def _split(listed: str) -> list[str]:
    return [
        part.strip() for line in listed.splitlines() for part in line.split("|") if part.strip()
    ]


def _read(text: str) -> tuple[bool, bool]:
    """Whether something is kept, and whether something waits."""
    message = Message(
        id="m", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
    )
    return bool(find_statements(message)), bool(find_unconfirmed_statements(message))


def test_a_reproach_and_who_does_what_wait() -> None:
    """In nine languages."""
    assert [each for each in _split(REPROACHES) if True not in _read(each)] == []


def test_remarks_that_resemble_them_are_left_alone() -> None:
    """Access, results, answers and the program's own failures."""
    assert [each for each in _split(REMARKS) if True in _read(each)] == []

"""What people throw in while an agent works, in eight languages: it waits; what tells of the work
does not.
"""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

NOTICED = """
    we usually merge on Fridays|reply in tables|Test command: make check-all|Branch names: feature/TICKET
    they all use Emacs over there|I'm rather a visual thinker|Dora and Emil took over shop-api from Finn.
    emploie camelCase svp|usa ruff por favor|verwende bun bitte|on teste les routes, jamais les vues
    hay que abrirlo desde el menú para que se guarde|pode me chamar de Bia|me trate por Bia
    мне удобнее таблицей|по умолчанию кратко|больше не добавляй эмодзи
    不对，应该用 bun|错了，我们用 ruff|不是这样，我说过不要英文|不是 Mongo，是 Neo4j|不对，我喜欢简短的回答
    输出格式改成先表格后说明|每次改完请顺便更新文档|咱们改用 Kafka 吧，更稳|不对，以后先写测试再写代码
    we're moving from Jest to Vitest|we now have two regions|I said use ruff|to publish, run make release|this is Mercurial
    no, not like that, use snake_case|nein, nicht so, nimm bun|нет, используй ruff|bitte Ordner ohne Leerzeichen anlegen
    notre projet utilise Deno|execute os testes com vitest|o repositório usa bun|siga o Google Style Guide
    the review moved to Monday|the retention was raised to 40 days|запомни навсегда: релизы по четвергам
    勝手に消すな|略語を使うな、英語も使うな|質問が出たら先に聞け
"""
OF_THE_WORK = """
    I tried the other branch and it did not help either.|can you help me with the second chart please
    we still need to count the rows in the new export|the issue is the formatter, not the parser, I think
    Error: cannot open the file|Result: 12 passed|我指的是第二个按钮|不是总价，是单价|それはいいな
    больше не падает|that's not what I meant, sorry|I can't remember whether it was tagged|no, eso no está bien
    non, ce n'est pas correct|それは違います|не запускай сейчас линтер
    это мне не нравится
"""
KEPT = """
    Session cookies expire after 12 hours|Uploads are stored in the eu-west-1 region|All dates are stored in UTC
    Each shop is billed in EUR|Backups are kept for 30 days
"""
NOT_KEPT = """
    Session cookies expire after 12 hours, so users are logged out|Uploads are stored in S3. Fix the path.
    Tokens should expire after 12 hours|make tokens expire after 12 hours|Do tokens expire after 12 hours?
    мы перешли с таблицы на карточки, а внутри всё старое
    Users are logged out after 5 minutes, I want 30|Images are stored in S3 in the design you proposed
    Sessions are stored in Redis in the example|Each request is limited to 10 per minute in the test below
    Cookies live 30 days in Chrome apparently|Errors are stored in Sentry, maybe
    Files are cached for 3 days when I reload|Passwords are hashed in users.py with bcrypt
"""


def split(listed: str) -> list[str]:
    return [
        part.strip() for line in listed.splitlines() for part in line.split("|") if part.strip()
    ]


def typed(text: str) -> Message:
    return Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=text),)
    )


@pytest.mark.parametrize("text", split(NOTICED))
def test_what_is_thrown_in_is_noticed(text: str) -> None:
    """It is kept, or waits for the person's yes."""
    assert find_statements(typed(text)) or find_unconfirmed_statements(typed(text), "Done.")


@pytest.mark.parametrize("text", split(OF_THE_WORK))
def test_what_tells_of_the_work_does_not_even_wait(text: str) -> None:
    """What was done, what is in trouble, and which thing is meant."""
    assert not find_statements(typed(text))
    assert not find_unconfirmed_statements(typed(text), "Done.")


@pytest.mark.parametrize("text", split(KEPT))
def test_what_holds_for_all_of_a_kind_is_kept(text: str) -> None:
    """It is a fact about the project although it speaks of nobody's own."""
    assert [each.text for each in find_statements(typed(text))] == [text]


@pytest.mark.parametrize("text", split(NOT_KEPT))
def test_a_wish_or_trouble_with_such_a_thing_is_not_kept(text: str) -> None:
    """A reason, a case, a place in the code or a task beside it: it may hold for that alone."""
    assert not find_statements(typed(text))

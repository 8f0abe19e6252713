"""Plain facts in passing: what is kept, what waits, and what only sounds like one."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

FACTS = """
    our CI runs on Buildkite|Our API speaks gRPC.|We host everything on Hetzner.|btw, we're on Python 3.12
    The staging server is reachable at stage.example.net.|The nightly export job is owned by Priya.
    Deploys happen on Tuesdays only.|Update: our main database is now CockroachDB.|The ORM we use is Prisma.
    we moved the standup to 9:30|I now work at Acme.|Feature flags are kept in flags.toml.
    The API rate limit was raised to 2000 requests.|Carlos leads the backend team.|CI/CD is handled by Jenkins.
    Our team has 5 developers.|Maria is the CTO.
    Unsere Datenbank ist Postgres 17.|Unser Team sitzt in Leipzig.|Wir deployen mit ArgoCD.
    Wir haben das Review auf Mittwoch verlegt.|Nos tests tournent sur Vercel.|On utilise Symfony 7.
    Nous sommes passés à GitLab.|Nuestro servidor está en Madrid.|Usamos Laravel 11 con MySQL.
    Migramos a Cloudflare.|Nosso backend roda em Elixir.|A gente usa Trello.|Nosso time fica em Recife.
    Наш сервер работает на Debian 12.|Мы перешли на GitLab.|У нас Redis и Kafka.|Наш сайт https://example.org
    我们后端用的是 FastAPI|项目代号改为 Falcon|我们公司的服务器部署在 AWS|本番環境は AWS で動いています。
    うちのチームは Slack を使っています。|No, we're on Postgres 17.|no, la URL correcta es https://new.example.com
    Correction: for this project we choose Neon.|I will only use editors with a Linux build.
"""
RULES = """
    Whenever you add an endpoint, update openapi.yaml too.|Tests must not touch the network.
    In this project we never abbreviate names.|Please keep functions under 40 lines.
    Every time you change a model, update the fixtures.|Functions must have type hints.
"""
OF_THE_MOMENT = """
    Our nightly export fails with error 500.|We should use Redis.|We need to move to Postgres 17.
    The server is slow since the update to 3.2.|Our app crashes on iOS 17.|our tests are red on CI
    The branch is behind main.|we use this in the header|We might use Kafka.|the deploy is done
    our base class is Layout, rename it to Base|By default the server listens on 8080.
    Button manages its own state.|The list was moved to the left.|The limit was changed to 5 in this file.
    Is our staging on Postgres 15?|Why do we use Redis?|If our CI runs on Linux, use bash.
    Unser Build schlägt mit Fehler 3 fehl.|Wir müssen auf Postgres 17 umsteigen.|Nos tests échouent sur Vercel.
    Nous devons passer à Symfony 7.|Nuestro servidor falla con MySQL 8.|Debemos migrar a AWS.
    Nosso backend não roda no Windows.|Precisamos migrar para AWS.|Наш сервер упал на Debian 12.
    Нам нужно перейти на GitLab.|我们的服务器报错 500 了|我们应该用 Redis|本番環境で Redis が落ちています。
    我们用 Postgres 代替 MySQL 吧，性能更好|所有用例都跑完了|faz como sempre
"""


def split(listed: str) -> list[str]:
    return [
        part.strip() for line in listed.splitlines() for part in line.split("|") if part.strip()
    ]


def typed(text: str) -> Message:
    return Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=text),)
    )


def test_a_plain_fact_in_a_message_that_only_informs_is_kept() -> None:
    """In eight languages, without "remember"; so is a rule about everything of a kind."""
    assert [each for each in split(FACTS + RULES) if not find_statements(typed(each))] == []


def test_what_is_in_trouble_planned_or_asked_for_is_not_kept() -> None:
    """It has the same words and is about this moment."""
    assert [each for each in split(OF_THE_MOMENT) if find_statements(typed(each))] == []


@pytest.mark.parametrize(
    "task", ["Why is the consumer lagging?", "Fix the consumer.", "can you speed it up?"]
)
def test_a_fact_beside_a_task_waits(task: str) -> None:
    """It may be told for the task alone, so the person decides."""
    message = typed(f"We use Redis for the queue. {task}")
    assert find_statements(message) == ()
    assert "We use Redis for the queue." in find_unconfirmed_statements(message)[0].text


@pytest.mark.parametrize(
    "said", ["Our company sells tickets.", "Unser Team wird größer.", "私は東京に住んでいます。"]
)
def test_a_fact_with_nothing_particular_waits(said: str) -> None:
    """No name, number, day or address tells it from talk."""
    assert find_statements(typed(said)) == ()
    assert [one.text for one in find_unconfirmed_statements(typed(said))] == [said]


@pytest.mark.parametrize(
    "text",
    [
        "Translate this: Our CI runs on Buildkite.",
        "Dana said our CI runs on Buildkite.",
        "- our CI runs on Buildkite",
        "> our CI runs on Buildkite",
    ],
)
def test_a_fact_of_somebody_else_is_not_kept(text: str) -> None:
    """A text to work on, a report, a list and a quotation are not the person's own word."""
    assert find_statements(typed(text)) == ()


_IN_FRONT = """
We deploy from a Raspberry Pi, so make the image smaller.|We deploy from a Raspberry Pi
since our users are mostly nurses, please use plain words on that page|our users are mostly nurses
I have a laptop with 8 GB, pick a smaller model|I have a laptop with 8 GB
this is a public repo, please remove the key from it|this is a public repo
I don't know Kotlin very well, explain this line|I don't know Kotlin very well
I'm new to Terraform, can you walk me through the plan?|I'm new to Terraform
staging runs on ARM, can we build the image for it?|staging runs on ARM
Wir hosten alles bei Hetzner, bitte pass die URL an|Wir hosten alles bei Hetzner
我们的服务器只有2核4G，优化一下这个查询|我们的服务器只有2核4G
"""
_NO_FACT_IN_FRONT = """
The build is broken, fix it.|I have a bug in the header, can you look?|this is slow, make it faster|We have an error on line 20, please check
I added a file, please review it|Our login test fails, find out why|this is a bug, please fix it|I'm in a rebase, can you continue it?
I don't know why it fails, check the log|this is a mess of a project, clean it up|Der Test ist rot, bitte schau mal|my deadline is 9 hours
"""


def test_a_fact_in_front_of_a_task_waits_without_the_task() -> None:
    """The task is of this turn, and the sentence as a whole a request."""
    lines = [line.split("|") for line in _IN_FRONT.strip().splitlines()]

    assert {said: _list_waiting(said) for said, _ in lines} == {
        said: [fact] for said, fact in lines
    }


def test_a_report_in_front_of_a_task_is_left_alone() -> None:
    """What is in trouble, done or unknown is of the moment."""
    said = [each for line in _NO_FACT_IN_FRONT.strip().splitlines() for each in line.split("|")]

    assert [each for each in said if _list_waiting(each)] == []


def _list_waiting(text: str) -> list[str]:
    message = Message(
        id="m", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
    )
    return [each.text for each in find_unconfirmed_statements(message)]

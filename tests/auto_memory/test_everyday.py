"""What people say in passing and in eight languages: kept or waiting, and taken back again."""

from __future__ import annotations

from pathlib import Path

import pytest

from attacks.host import Attacked
from memorist.auto_memory.statements.statement_parser import find_statements, split_retraction
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")

LASTING = {
    "corrections": """
        nope, the main branch is called trunk|wrong, the port is 8080|actually it's called develop, not dev
        you always forget to run the formatter|why do you keep adding comments?|stop apologising
        how often do I have to tell you to use ruff|isn't that a problem of your own sandbox?
        didn't we agree on tabs?|aren't you supposed to read the docs first?|why are you using npm again?
        that's not how we name branches, it's feature/TICKET-name|quit saying I'm right
    """,
    "orders": """
        no emojis please|less verbose please|be more concise|shorter answers please|too many comments
        don't touch the vendor folder|ask before you delete anything|indent with 4 spaces|write tests first
        you don't need to run the whole suite every time|just give me the code, no explanations
        skip the pleasantries|use kebab-case for filenames|keep functions under 50 lines
        errors should be logged, never swallowed|don't guess, look it up|we squash merge
        call the user model Account, never User|migrations are always written by hand
        When I ask for recipes give me metric units|If I ask about hotels, I'd prefer quiet ones.
    """,
    "facts": """
        you can find the designs in Figma under "Shop"|the staging db is at db.staging.internal
        Jira is where we track bugs|I'm on Windows|I'm using fish shell|my editor is helix
        I know Python well, skip the basics|explain things like I'm five|Dana reviews all the PRs
        our CI takes 40 minutes, so don't push for every change|the team lead is Ana|we're on Postgres 15
        I get motion sickness on boats.|I'm not into superhero films.|I have a phobia of lifts.
        I'm trying to cut down on sugar.|Given my back problems, I need a good chair.
    """,
    "how things are done": """
        we follow trunk based development|the API must stay backwards compatible|line length is 100
        this repo is public, so no internal hostnames anywhere|tabs, not spaces|treat warnings as errors
        no need for docstrings on private functions|each endpoint needs an integration test
        we only support evergreen browsers|in this team we pair on migrations|we got rid of Webpack
        my colleague Priya handles design questions|PR titles start with the ticket number
        please leave the lockfile alone|I read diffs on my phone so keep them small
        what did I say about force pushing?|isn't it obvious that we use UTC everywhere?
        that's the old address, the new one is api.shop.internal|that's outdated, we're on node 22 now
        npm ❌ pnpm ✅|moment ✘, dayjs ✔ please|pnpm 👍 npm 👎
    """,
    "how to speak": """
        Bitte duze mich|Tutoie-moi|Tutéame por favor|Обращайся ко мне на ты|敬語は不要です
        Les messages de commit en anglais|Mensagens de commit em inglês|变量名用英文|変数名は英語で
        Bei uns heißt der Hauptzweig trunk|Ne touche pas au dossier vendor|В этом проекте используем табы
        Neste projeto usamos tabs|这个项目用tab缩进|このプロジェクトではタブを使います|我不喜欢太长的解释
    """,
    "German, French": """
        Frag mich, bevor du etwas löschst|Keine Emojis bitte|Fasse dich kürzer|Ich bin allergisch gegen Nüsse
        Commit-Nachrichten immer auf Englisch|Wir haben npm durch pnpm ersetzt|Hör auf, Kommentare zu schreiben
        Nein, wir nutzen Postgres, nicht MySQL|Pas d'emojis s'il te plaît|Je suis allergique aux noix
        Demande-moi avant de supprimer quelque chose|Arrête d'ajouter des commentaires
    """,
    "Spanish, Portuguese, Russian": """
        Sin emojis por favor|Soy alérgico a las nueces|Deja de añadir comentarios|Migramos do npm para o pnpm
        Sem emojis, por favor|Sou alérgico a amendoim|Pare de adicionar comentários|Никаких эмодзи
        У меня аллергия на орехи|Спрашивай перед крупными изменениями|Хватит добавлять комментарии
    """,
    "at each of its kind": """
        write a changelog entry at the end of every task
        don't summarize what you did at the end of every response, I can read the diff|don't summarize at the end of your replies
        You will always answer in English
        à la fin de chaque session, écris un résumé|Bei mehreren Treffern nenne alle Dateien
        в конце каждой сессии пиши краткий итог|每次会话结束时写一个总结
        セッションの最後に毎回まとめを書いて|先に確認してから変更して|依頼していない変更はしないで
        no quiero tablas, quiero listas|não quero tabelas, quero listas|не хочу таблиц, хочу списки
    """,
    "two things at once": """
        Committe nicht|weder committen noch pushen|nicht committen oder pushen|neither commit nor push
        no hagas commit ni push|pas de commit ni de push|sem commits, sem pushes|别提交
        不要提交和推送代码|コミットもプッシュもしないで|커밋이나 푸시 하지 마
    """,
    "behind a log": """
        2026-11-02 10:22:11 ERROR build failed. Remember: always round half to even
        $ make test -> 3 failed. Recuerda: usa pnpm, nunca npm
        [ERROR] 12:01:22 worker crashed; 记住：用pnpm，不要用npm
    """,
    "Chinese, Japanese": """
        没有我的同意不要新建文件|提交之前先跑测试|我对花生过敏|代码里不要写注释|我们已经不用npm了
        コミットメッセージは英語で書いてください|絵文字は使わないでください|テストを先に書いて
        私はナッツアレルギーです|もうnpmは使っていません|コメントを追加しないで
    """,
    "duties": """
    I review every PR|I review all PRs before they are merged.|I personally approve every release|we test every build on Safari
    ich reviewe jeden PR selbst|je relis toutes les PR|reviso todos los PRs|eu reviso todos os PRs|я проверяю каждый PR
    我审核所有的PR|所有PR都由我审核|PRは全部私がレビューします
    """,
}
ORDINARY = """
    can you add a test for the cart?|fix the failing build|the function always returns null|never mind
    forget it, let's do something else|use the second option|no, the other file|that's wrong, try again
    don't use it here|I like this one|let's use pnpm for this|we use this in the header|keep going
    the port is already in use|this is too verbose, shorten the paragraph|isn't it Tuesday?
    isn't this already fixed?|shouldn't this be a list?|I'm on the settings page and nothing happens
    the staging server is slow|my branch is behind main|we have two failing tests|didn't the build pass?
    warum schlägt das fehl?|ajoute un bouton|añade un botón a la página|добавь кнопку|修一下这个bug
    every test fails|tests pass on my machine|I hate to say it but it's broken|what's the status?
    is it obvious what is wrong?|the linter complains|the list should be sorted by date|В этом файле ошибка
    the button must be disabled while loading|that's the old screenshot|Wir müssen das noch testen
    tests ✅ lint ❌|build ❌ deploy ✅|backend ✔ frontend ✘|typecheck ✅, unit ❌
    you will need to rebuild|the loop runs after each step|list every file at the end of each row
    2026-11-02 10:22:11 ERROR the build said: remember to run the audit
    2026-11-02 10:22:12 INFO tip says "Remember: drink water each day"
    先にテストを実行してからこのバグを直して|no quiero que borres eso|Mach das nicht
    I see every request twice in the log|I checked all the files and found nothing|I test every button and nothing works|ich sehe jeden Request doppelt
    ボタンを追加して|if I want to add a page, how do I do that?|why is it red?|no idea|keine Ahnung
"""


def sentences(text: str) -> list[str]:
    return [each.strip() for line in text.splitlines() for each in line.split("|") if each.strip()]


def is_found(text: str) -> bool:
    message = Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=text),)
    )
    return bool(find_statements(message) or find_unconfirmed_statements(message))


@pytest.mark.parametrize("group", LASTING)
def test_what_people_say_in_passing_is_kept_or_waits(group: str) -> None:
    """None of these says "remember" or "from now on", and all are meant for later as well."""
    assert [each for each in sentences(LASTING[group]) if not is_found(each)] == []


def test_tasks_questions_and_reports_are_left_alone() -> None:
    """They look like the above and are about this moment."""
    assert [each for each in sentences(ORDINARY) if is_found(each)] == []


def test_what_waits_is_read_without_its_neighbours() -> None:
    """A sentence that leans on the one before it waits together with it."""
    text = "Request a review from Dana. Make that standard in your workflow."
    message = Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=text),)
    )

    assert [one.text for one in find_unconfirmed_statements(message)] == [text]


@pytest.mark.parametrize(
    "words",
    ["forget that", "no, scratch that", "vergiss das wieder", "oublie ça", "dimentica questo"],
)
async def test_what_was_just_said_is_taken_back(tmp_path: Path, words: str) -> None:
    """Right after a rule it removes that rule and no other, and `memory undo` brings it back."""
    async with Attacked(tmp_path) as host:
        await host.told("We use Postgres, not MySQL.")
        await host.told("never use npm, use pnpm here", words)
        assert [head.description for head in host.memory.headers()] == [
            "We use Postgres, not MySQL."
        ]

        host.memory.undo()
        assert len(host.memory.headers()) == 2


@pytest.mark.parametrize(
    ("typed", "kept", "waiting"),
    [
        ("scratch that, we use pnpm", ["we use pnpm"], []),
        ("Scratch that. No emojis please.", [], ["No emojis please."]),
        ("forget that - never mock the database", ["never mock the database"], []),
        ("forget that\n- always use tabs\n- never push", [], ["always use tabs", "never push"]),
        ("忘掉这个，以后都用 pnpm", ["都用 pnpm"], []),
        ("それは忘れて、今後は pnpm を使って", ["pnpm を使って"], []),
        ("그거 잊어줘, 앞으로는 pnpm 써", ["pnpm 써"], []),
    ],
)
def test_what_follows_a_retraction_is_read_as_if_it_stood_alone(
    typed: str, kept: list[str], waiting: list[str]
) -> None:
    """Behind "forget that" a rule is kept and a wish waits, as without it."""
    message = Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=typed),)
    )
    found = find_statements(message)

    assert [one.text for one in found if one.act != "forget"] == kept
    assert [one.text for one in find_unconfirmed_statements(message)] == waiting
    assert split_retraction(typed)[0]


@pytest.mark.parametrize(
    "typed", ["forget that -v is supported", "forget that.py", "vergiss das nicht"]
)
def test_what_only_begins_like_a_retraction_is_none(typed: str) -> None:
    """A dash or a point within a word ends no sentence, and "nicht" turns it round."""
    assert split_retraction(typed) == ("", typed)


async def test_a_late_or_idle_retraction_deletes_nothing(tmp_path: Path) -> None:
    """After another message, "forget that" is about that message; what waits leaves the inbox."""
    async with Attacked(tmp_path) as host:
        await host.told("never use npm, use pnpm here", "add a button", "forget that")
        assert len(host.memory.headers()) == 1

        await host.told("ask before you delete anything", "forget that")
        assert host.memory.inbox.list_proposals() == []


@pytest.mark.parametrize(
    "words",
    [
        "scratch that rule about tabs",
        "that rule about tabs no longer applies",
        "Vergiss die Regel mit den Tabs",
        "Olvida la regla de los tabs",
        "Esqueça a regra dos tabs",
    ],
)
async def test_a_rule_is_taken_back_by_what_it_is_about(tmp_path: Path, words: str) -> None:
    """The rule that is named goes, the others stay."""
    async with Attacked(tmp_path) as host:
        await host.told("Always use tabs.", "never use npm, use pnpm here")
        await host.told(words)

        assert [head.description for head in host.memory.headers()] == [
            "never use npm, use pnpm here"
        ]


@pytest.mark.parametrize("command", ["/memorist:sessions", "/memorist:pin", "$memorist-forget"])
def test_the_words_of_a_command_of_memorists_state_nothing_else(command: str) -> None:
    """They are what to look for, to keep in sight or to forget."""
    block = TextBlock(text=f"{command} always use pnpm here")
    message = Message(id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(block,))
    assert find_unconfirmed_statements(message) == ()


@pytest.mark.parametrize(
    "words",
    [
        *("yes exactly, keep doing that", "genau so, mach das immer so weiter", "以后都这样"),
        *("oui, parfait, continue comme ça", "sí, exacto, sigue así", "isso mesmo, continue assim"),
        *("да, именно так, делай так всегда", "完璧です。これからもそうしてください。"),
    ],
)
def test_a_confirmation_stands_for_what_it_confirms(words: str) -> None:
    """By itself it names nothing that could be kept."""
    message = Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=words),)
    )
    confirmed = "I put the findings first and the praise last."
    found = find_unconfirmed_statements(message, f"Done. {confirmed}")

    assert find_statements(message) == ()
    assert [(each.text, each.quote) for each in found] == [(confirmed, words)]


@pytest.mark.parametrize(
    "words", ["ja, mach weiter", "да, продолжай", "好的，继续", "oui, continue"]
)
def test_a_go_ahead_confirms_nothing_for_later(words: str) -> None:
    """It is about the next step."""
    message = Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=words),)
    )
    assert find_unconfirmed_statements(message, "I put the findings first.") == ()


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Remember that our logo is green.", True),
        ("Remember that the danger button is red.", True),
        ("Remember that the build is green.", False),
        ("Remember that the tests are all red.", False),
    ],
)
def test_a_colour_is_a_passing_state_of_builds_and_tests_alone(said: str, *, kept: bool) -> None:
    """What is asked for is kept where a thing has that colour for good."""
    message = Message(
        id="m", role="user", blocks=(TextBlock(said),), origin=Origin.USER, is_typed=True
    )
    assert bool(find_statements(message)) == kept


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("okay so basically from now on use bun", "use bun"),
        ("um yeah basically, always use tabs", "always use tabs"),
        ("you know, never push to main", "never push to main"),
        ("du coup à partir de maintenant utilise pnpm", "utilise pnpm"),
        ("basically the build fails", ""),
        ("honestly never mind", ""),
    ],
)
def test_what_somebody_says_before_coming_to_it_is_left_out(said: str, kept: str) -> None:
    """Dictated words open with fillers; one of them in front of anything else is left as it was."""
    message = Message(
        id="m", role="user", blocks=(TextBlock(said),), origin=Origin.USER, is_typed=True
    )
    assert [each.text for each in find_statements(message)] == ([kept] if kept else [])


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("remember that the footer is grey like in this picture", True),
        ("[Image #1] remember that headings are navy as shown in this screenshot", True),
        ("make the footer grey like in this picture", False),
    ],
)
def test_a_picture_does_not_bind_a_wish_to_the_task(said: str, *, kept: bool) -> None:
    """It only shows how something looks; its mark is no part of what is kept."""
    message = Message(
        id="m", role="user", blocks=(TextBlock(said),), origin=Origin.USER, is_typed=True
    )
    found = find_statements(message)
    assert bool(found) == kept
    assert not any("Image" in each.text for each in found)


@pytest.mark.parametrize(
    ("said", "others"),
    [
        ("hi, Ben here, Anna is away. I prefer tabs.", True),
        ("This is Ben speaking. From now on use tabs.", True),
        ("Hier ist Ben, ab jetzt bitte Tabs nutzen. Nutze immer Tabs.", True),
        ("Hi, I'm Anna. From now on use tabs.", False),
        ("Put it here. From now on use tabs.", False),
        ("This is Django 5. From now on use tabs.", False),
    ],
)
def test_who_says_that_somebody_else_sits_here_is_not_taken_for_the_user(
    said: str, *, others: bool
) -> None:
    """What is said then waits, and replaces nothing that is known of the user."""
    message = Message(
        id="m", role="user", blocks=(TextBlock(said),), origin=Origin.USER, is_typed=True
    )
    assert bool(find_statements(message)) != others
    assert bool(find_unconfirmed_statements(message)) == others

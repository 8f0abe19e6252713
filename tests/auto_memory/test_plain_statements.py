"""Standing wishes in plain words: what is kept, what waits for the person, what is neither."""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import Statement, find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.auto_memory.write_evidence import extract_own_words
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")


def typed(text: str) -> Message:
    return Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=text),)
    )


def read(text: str, reply: str = "") -> tuple[Statement, ...]:
    return find_statements(typed(text)) + find_unconfirmed_statements(typed(text), reply)


@pytest.mark.parametrize(
    "text",
    [
        "never use npm, use pnpm here",
        "Always use pnpm here",
        "Never use npm here, use pnpm.",
        "Always use pnpm here, never npm.",
        "use pnpm here, not npm",
        "don't use npm here, use pnpm",
        "don't use npm in this repo, use pnpm",
        "don't use npm, use pnpm",
        "please don't use npm, this repo uses pnpm",
        "Use pnpm, never npm, in this repository",
        "I told you to use pnpm",
        "this project uses pnpm",
        "Do not add co-authored-by lines to commits",
        "Remember the API runs on port 4000",
        "# use pnpm",
        "i no longer use prek",
        "we switched from npm to pnpm",
        "please use the british spelling",
        "Always include code examples when I ask about Python libraries.",
        "answer in German",
        "I'm the backend lead",
        "I have a severe peanut allergy.",
        "I strictly avoid restaurants with loud music.",
        "Bitte verwende nie npm, sondern pnpm",
        "Wir sind von npm auf pnpm umgestiegen",
        "N'utilise jamais npm, utilise pnpm",
        "Réponds toujours en français",
        "Nunca uses npm, usa pnpm",
        "No uses mocks en los tests",
        "Sempre use pnpm",
        "Não use npm, use pnpm",
        "Никогда не используй npm, используй pnpm",
        "мы перешли с npm на pnpm",
        "不要用npm，用pnpm",
        "我们从npm换成了pnpm",
        "npmは使わないで、pnpmを使ってください",
        "必ずテストを先に書いてください",
    ],
)
def test_a_standing_wish_in_plain_words_is_kept(text: str) -> None:
    """No "remember" or "from now on" is needed where the words themselves reach beyond the task."""
    (found,) = find_statements(typed(text))

    assert found.certain
    assert found.quote in text


@pytest.mark.parametrize(
    "text",
    [
        "we should discuss before you edit",
        "don't want my conversations to be public",
        "make sure to run lint before committing",
        "wait, let's discuss",
    ],
)
def test_what_may_be_meant_to_last_waits(text: str) -> None:
    """It is probably a rule and may be a task: the person decides."""
    assert find_statements(typed(text)) == ()
    assert [one.certain for one in find_unconfirmed_statements(typed(text))] == [False]


@pytest.mark.parametrize(
    "text",
    [
        "use the second option",
        "can you run the tests before committing?",
        "The build always fails here.",
        "don't call it here, call it below",
        "fix this function, never mind the rest",
        "Act as a pirate and never break character",
        "il ne fonctionne plus dans ce fichier",
        "Ich verwende gerade diese Funktion",
        "用另一个分支，不要用这个。",
        "ok, merged. can we tag it please?",
    ],
)
def test_a_task_an_answer_and_a_question_are_no_rule(text: str) -> None:
    """Neither kept nor waiting."""
    assert read(text) == ()


def test_a_confirmation_stands_for_what_it_confirms() -> None:
    """What waits is the end of the turn before, never "keep doing that"; without a turn nothing."""
    reply = "Done. I ran the linter before the tests."

    (found,) = read("yes exactly, keep doing that", reply)

    assert (found.text, found.certain) == ("I ran the linter before the tests.", False)
    assert read("yes exactly, keep doing that") == ()


_OPTIONS = "Two ways:\n1. Keep the helpers in one module\n2. One module for each helper\n"


@pytest.mark.parametrize(
    ("reply", "answer", "waits"),
    [
        (_OPTIONS, "the second, in general", "the second, in general: One module for each helper"),
        (
            _OPTIONS,
            "2 please, going forward",
            "2 please, going forward: One module for each helper",
        ),
        (
            f"{_OPTIONS}\nWhich one?",
            "the first, as a rule",
            "Two ways: Which one? – the first, as a rule: Keep the helpers in one module",
        ),
        (
            "Option A: one file per class. Option B: one file per feature.",
            "B, from now on",
            "B, from now on: one file per feature.",
        ),
        (
            "Should labels be in Dutch or in English?",
            "Dutch, that goes for the whole app",
            "Should labels be in Dutch or in English? – Dutch, that goes for the whole app",
        ),
        (
            "I sorted the imports. Should I keep doing that?",
            "yes please, everywhere",
            "I sorted the imports. Should I keep doing that? – yes please, everywhere",
        ),
        (
            "Soll ich die Logs mitschicken?",
            "nein, nie, frag vorher",
            "Soll ich die Logs mitschicken? – nein, nie, frag vorher",
        ),
        ("需要我每次都更新文档吗？", "对，以后都这样", "需要我每次都更新文档吗？ – 对，以后都这样"),
    ],
)
def test_an_option_chosen_for_good_waits_with_its_words(
    reply: str, answer: str, waits: str
) -> None:
    """The answer alone cannot be read later, and without a question or options it says nothing."""
    (found,) = read(answer, reply)

    assert (found.text, found.quote, found.certain) == (waits, answer, False)
    assert not any(" – " in each.text for each in read(answer, "The parser is done."))


_LABELLED = "Which indentation?\nA) 2 spaces\nB) 4 spaces\nC) tabs"
_NUMBERED = "Which indentation?\n1. 2 spaces\n2. 4 spaces\n3. tabs"


@pytest.mark.parametrize(
    ("reply", "answer", "chosen"),
    [
        (_LABELLED, "a segunda, sempre", ": 4 spaces"),
        (_LABELLED, "a última, sempre", ": tabs"),
        (_LABELLED, "always b", ": 4 spaces"),
        (_LABELLED, "a partir de ahora, la segunda", ": 4 spaces"),
        (_LABELLED, "ab jetzt die zweite", ": 4 spaces"),
        (_NUMBERED, "ab sofort Option 2", ": 4 spaces"),
        (_LABELLED, "the last one, always", ": tabs"),
        (_NUMBERED, "2 spaces, always", ""),
        (_NUMBERED, "1 and 3, always", ": 2 spaces; tabs"),
        (_NUMBERED, "option 2 please, always", ": 4 spaces"),
        (_NUMBERED, "7, always", ""),
    ],
)
def test_only_the_option_that_an_answer_names_is_quoted(
    reply: str, answer: str, chosen: str
) -> None:
    """A letter or number in front is a label where nothing else goes on with it."""
    (found,) = read(answer, reply)

    assert found.text == f"Which indentation? – {answer}{chosen}"


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (_OPTIONS, "the second"),
        (_OPTIONS, "the second, for this file"),
        ("Should I delete the branch?", "no, not now"),
        ("Should I look at the logs?", "the parser always fails"),
    ],
)
def test_a_choice_for_once_and_another_text_stand_for_nothing(reply: str, answer: str) -> None:
    """What has words of its own is read by itself."""
    assert read(answer, reply) == ()


@pytest.mark.parametrize(
    "answer",
    [
        *("yes, always", "always", "no, never", "yes please, from now on", "ok do it every time"),
        *("ja, immer", "oui, toujours", "sí, siempre", "sim, sempre", "да, всегда"),
        *("对，每次都要", "はい、毎回", "네, 항상"),
    ],
)
def test_a_lasting_answer_waits_with_the_question_that_it_answers(answer: str) -> None:
    """In nine languages; without a question it says nothing, and a plain yes is for this time."""
    asked = "Should I run the linter before every commit?"

    (found,) = read(answer, f"The parser is done. {asked}")

    assert (found.text, found.quote, found.certain) == (f"{asked} – {answer}", answer, False)
    assert read(answer, "The parser is done.") == ()
    assert read("yes", f"The parser is done. {asked}") == ()


@pytest.mark.parametrize(
    "end",
    [
        "Posted: https://example.org/pull/7360",
        "All checks passed (1321 tests, lint clean).",
        "I'll commit just the README update and push the branch.",
        "I can write up a description of the typed error.",
        "Verification: `pnpm test`",
        "I need to decide whether to keep the broken state first.",
        "I pushed it as 3fa90c1.",
    ],
)
def test_a_confirmation_of_a_result_or_of_the_next_step_proposes_nothing(end: str) -> None:
    """A link, a result and an offer are no way of working that a later session could keep."""
    assert read("yes exactly, keep doing that", f"The parser is done. {end}") == ()


def test_what_is_kept_does_not_wait_as_well() -> None:
    """One message never ends in both places."""
    assert (
        find_unconfirmed_statements(typed("Always use pnpm here. We should discuss it first."))
        == ()
    )


@pytest.mark.parametrize(
    "text", ["Round totals half up, always.", "Pin versions in requirements, without exception."]
)
def test_an_order_for_always_with_any_verb_waits(text: str) -> None:
    """A bare verb at the start and `always` at the end, whatever the verb is."""
    assert [one.text for one in find_unconfirmed_statements(typed(text))] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Fix the failing test, as always.",
        "Fix the bug like always",
        "Tests are green, always",
        "The page reloads twice, always",
        "it fails, always",
    ],
)
def test_what_happens_always_is_no_rule(text: str) -> None:
    """A task done `as always`, and a report."""
    assert read(text) == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "Bitte pnpm benutzen, immer.",
        "Benutze pnpm immer",
        "usa pnpm siempre",
        "utilise pnpm, toujours",
        "utilise pnpm toujours",
        "используй pnpm всегда",
        "use pnpm sempre",
        "pnpmを使って、いつも",
        "提交前跑测试，每次都要",
        "Tests laufen lassen vor dem Commit, immer",
        "responde en español siempre",
        "réponds en français, toujours.",
        "отвечай по-русски, всегда",
        "コミット前にテストを実行して、毎回",
        "escribe los comentarios en inglés, siempre por favor",
        "Kommentare auf Englisch, immer bitte",
        "escreva os testes antes do código, sempre",
        "写注释用中文，一直都是",
        "on met les types partout, toujours",
        "Commits auf Deutsch, grundsätzlich",
        "rode os testes antes de commitar, sempre",
        "mets à jour le changelog, à chaque fois",
        "actualiza el changelog, cada vez",
        "обновляй changelog каждый раз",
        "更新日志要写，永远",
        "テストは先に書く、常に",
        "формат JSON, без исключений",
        "nutze Tabs, ausnahmslos",
        "lance le linter avant de commit, systématiquement",
    ],
)
def test_always_at_the_end_is_held_in_every_language(sentence: str) -> None:
    """An order that ends with the word for always is kept, or waits at least."""
    assert read(sentence)


@pytest.mark.parametrize(
    ("sentence", "is_order"),
    [
        ("всегда проверь, что тесты зелёные", True),
        ("никогда не ставь пакеты глобально", True),
        ("всегда обновляйтесь через pnpm", True),
        ("никогда не удаляй логи", True),
        ("всегда возвращалось null", False),
        ("никогда не получалось запустить", False),
        ("никогда не пользуюсь rebase", False),
        ("всегда забываешь про тесты", False),
        ("всегда ноль строк", False),
        ("всегда очередь пустая", False),
    ],
)
def test_russian_always_is_held_before_an_order(sentence: str, *, is_order: bool) -> None:
    """An imperative behind it is a rule; a past tense, a second person or a noun reports."""
    assert bool(find_statements(typed(sentence))) == is_order


@pytest.mark.parametrize(
    "sentence",
    [
        "Das passiert immer.",
        "el test falla siempre",
        "ça plante toujours",
        "mach das wie immer",
        "тест падает всегда",
        "como siempre, haz commit",
        "hazlo como siempre",
        "fais comme toujours",
        "сделай как всегда",
        "faz como sempre",
        "wird der Timer immer ausgelöst?",
        "la función devuelve null siempre",
        "le bouton reste grisé, toujours",
        "der Server startet neu, immer",
        "o teste quebra sempre",
        "エラーが出る、いつも",
        "这个按钮每次都报错",
        "warum ist das so, immer?",
        "сервер падает, каждый раз",
        "il se passe la même chose à chaque fois",
    ],
)
def test_a_fault_that_always_comes_back_is_no_rule_in_any_language(sentence: str) -> None:
    """A fault that comes back, a question, and a task done as always leave nothing."""
    assert not read(sentence)


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-20T10:{0}:01 ERROR worker-{0} failed to connect: timeout after {0} ms\n",
        '  File "/srv/app/pay{0}.py", line {0}, in charge\n',
        "+    const rate{0} = round(total * {0});\n",
        "[12:00:{0}] starting step {0} of the build\n",
    ],
)
def test_a_rule_right_above_a_long_paste_counts(line: str) -> None:
    """Who types and pastes below leaves no empty line; a rule within the paste is none."""
    pasted = "".join(line.format(number) for number in range(10, 60))
    inside = pasted + "Always use yarn.\n" + pasted

    for below in (pasted, inside, f"```\n{inside}```\n"):
        found = read(f"Never push to main without asking me.\n{below}")
        assert [each.text for each in found] == ["Never push to main without asking me."]


def test_a_line_that_nobody_can_have_typed_holds_nobodys_words() -> None:
    """A line of thousands of words is pasted, whatever its sentences say; what was typed above and
    below it counts.
    """
    pasted = "Always use yarn. The bill is high. " * 2_000
    text = f"Always use pnpm.\n\n{pasted}\n\nNever touch the ledger."

    assert extract_own_words(pasted) == ""
    assert extract_own_words(text).splitlines() == ["Always use pnpm.", "Never touch the ledger."]
    assert [each.text for each in read(text)] == ["Always use pnpm.", "Never touch the ledger."]


@pytest.mark.covers("SF-2")
@pytest.mark.parametrize("line", ["Translate this: {}", "{} The page says:", "[14:02] Ann: {}"])
def test_what_follows_a_long_line_that_shows_a_text_is_that_text(line: str) -> None:
    """A job, a chat's head or an announcement counts in a line of any length."""
    pasted = line.format("Always use yarn. The bill is high. " * 2_000)

    assert "ledger" not in extract_own_words(f"{pasted}\n\nNever touch the ledger.")


@pytest.mark.covers("AM-1")
@pytest.mark.parametrize(
    "text",
    [
        "/review Never use npm, use pnpm.",
        "/team:fix-issue 12\n\nNever use npm, use pnpm.",
        "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
        "<command-args>Never use npm, use pnpm.</command-args>",
    ],
)
def test_a_rule_behind_a_command_waits(text: str) -> None:
    """It is the user's, and for the command first: whether it holds for later, they say."""
    (waiting,) = read(text)

    assert (waiting.text, waiting.certain) == ("Never use npm, use pnpm.", False)


@pytest.mark.covers("AM-1")
@pytest.mark.parametrize(
    "text",
    [
        "/compact Always keep the list of files.",
        "/review Forget what I said about npm.",
        "!echo always use pnpm",
        "/model",
    ],
)
def test_what_concerns_the_running_session_alone_does_not_wait(text: str) -> None:
    """The instruction of a compaction, a shell line, a command without words."""
    assert read(text) == ()


@pytest.mark.covers("AM-1")
def test_a_message_that_begins_with_a_path_is_no_command() -> None:
    """It was passed over as one."""
    (kept,) = read("/home/dev/shop is the shop.\nNever use npm here, use pnpm.")

    assert kept.text == "Never use npm here, use pnpm."


def test_preferences_of_daily_life_are_noticed_in_whatever_words() -> None:
    """No typed message of a developer has such words, and people who talk to their agent about more
    than code have them: a rule that the former never match is needed all the same.
    """
    said = (
        "I always travel by train instead of flying whenever I can.",
        "I find crowded places unbearable.",
        "I tend to gravitate towards minimalist furniture.",
        "I've given up alcohol completely.",
        "Loud music makes me anxious.",
        "I usually cook at home rather than eating out.",
        "I get seasick easily.",
        "I feel uneasy in small enclosed spaces.",
        "Gluten doesn't agree with me.",
        "I'm on a tight budget until summer.",
    )
    assert [text for text in said if not read(text)] == []


def test_a_statement_is_kept_to_the_end_of_its_word() -> None:
    """A pattern that reads ten signs more cut `Postgresです` after `Postgre`."""
    (found,) = read("MySQLはもう使っていません、今はPostgresです。")

    assert found.text == "MySQLはもう使っていません、今はPostgresです。"

"""How people type what is meant to last: with signs, tabs and labels in front, between other lines, and
in other languages beside what they ask for at the moment.
"""

from __future__ import annotations

import pytest

from memorist.auto_memory.statements.statement_parser import find_statements
from memorist.auto_memory.statements.unconfirmed_statements import find_unconfirmed_statements
from memorist.core.messages import Message, Origin, TextBlock

pytestmark = pytest.mark.covers("WD-1")


def read(text: str) -> tuple[list[str], list[str]]:
    """What is kept of a typed message, and what waits."""
    message = Message(
        id="m", role="user", origin=Origin.USER, is_typed=True, blocks=(TextBlock(text=text),)
    )
    return (
        [each.text for each in find_statements(message)],
        [each.text for each in find_unconfirmed_statements(message)],
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("✅ Always run the linter", ["Always run the linter"]),
        ("👉 never push to main", ["never push to main"]),
        ("❌ never push to main", ["never push to main"]),
        ("[Image #1] Always use pnpm.", ["Always use pnpm."]),
        ("[Image #1] [Image #12]\nAlways use pnpm. [Image #13]", ["Always use pnpm."]),
        ("[Pasted text #2 +48 lines] never push to main", ["never push to main"]),
        (
            'It fails:\n\n<pasted_content id="f336">\n\n10:02 ERROR always run migrate first\n'
            '</pasted_content id="f336">\n\nFix it. From now on, never push to main.',
            ["never push to main."],
        ),
        (
            "Here's the log from CI\n\n"
            '<pasted_content id="f336">\n\n10:02 ERROR always run migrate first\n'
            '</pasted_content id="f336">\n\nFrom now on, never push to main.',
            ["never push to main."],
        ),
        ("Remember: we use\tpnpm", ["we use pnpm"]),
        ("Remember:\twe use pnpm", ["we use pnpm"]),
        ("yes,sure,always use pnpm", ["always use pnpm"]),
        ("Note: we deploy on Tuesdays", ["we deploy on Tuesdays"]),
        ("ok\nalways use pnpm\nok", ["always use pnpm"]),
        ("TODO: fix the cart\nTODO: sort the list\nNever push to main.", ["Never push to main."]),
        ("I resume the work on the cart. Always use pnpm.", ["Always use pnpm."]),
    ],
)
def test_a_sign_a_tab_or_a_label_costs_no_rule(text: str, kept: list[str]) -> None:
    """A line alone is no row of a table, a tick no field of a form, and "ok" nobody's name."""
    assert read(text)[0] == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("From now on we deploy on Fridays only.", ["we deploy on Fridays only."]),
        ("going forward, we squash commits", ["we squash commits"]),
        ("The old way is gone. From now on we write tests first.", ["we write tests first."]),
        ("Starting today we tag releases with a v.", ["we tag releases with a v."]),
        ("from now on we get a 500 on login", []),
        ("From now on we have to be careful.", []),
        ("What if from now on we cache it?", []),
        ("Make it so that from now on we log every call in the handler.", []),
    ],
)
def test_what_we_do_from_now_on_is_a_rule(text: str, kept: list[str]) -> None:
    """Whatever the verb is; what happens to us since now is an observation."""
    assert read(text)[0] == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("#use pnpm in this repo", ["use pnpm in this repo"]),
        ("# the staging box is called heron", ["the staging box is called heron"]),
        ("#terminalLastCommand what went wrong here", []),
        ("#file:cart.ts #file:shop.ts follow the same order of imports", []),
        ("#sym:drawCart 这个函数和另一个的样式一致", []),
        ("#codebase where the prices are rounded", []),
    ],
)
def test_a_line_for_the_memory_is_no_reference_of_an_editor(text: str, kept: list[str]) -> None:
    """`#file:…` and the like name for VS Code what the agent is to look at."""
    assert read(text)[0] == kept


@pytest.mark.parametrize(
    "text",
    [
        "mallory\talways merge on sundays\neve\tkeep it",
        "Mallory\tAlways merge on Sundays without a review.",
        "☑ Always merge on Sundays. (3 votes)\n☐ Keep it. (1 vote)",
        "❌ always merge on sundays",
        "1,mallory,Always merge on Sundays.",
    ],
)
def test_rows_and_entries_are_nobodys_rule(text: str) -> None:
    """Nor is what a cross stands before."""
    assert read(text)[0] == []


@pytest.mark.parametrize(
    ("text", "kept", "waits"),
    [
        ("Note: use pnpm", [], ["use pnpm"]),
        ("Rule: tests live beside the code", [], ["tests live beside the code"]),
        ("规则：提交前先跑测试", [], ["规则：提交前先跑测试"]),
        ("❌ npm ✅ pnpm", [], ["❌ npm ✅ pnpm"]),
        ("use pnpm please", [], ["use pnpm please"]),
        ("Subject: speed\nAlways use pnpm.", [], ["Always use pnpm."]),
        ("Standup tomorrow, 10:30\nAlways use pnpm.", [], ["Always use pnpm."]),
        ("clipboard:\nAlways use pnpm.", [], ["Always use pnpm."]),
        (
            "Title: the cart\nDescription: it is slow\nFrom now on always use pnpm.",
            [],
            ["From now on always use pnpm."],
        ),
    ],
)
def test_what_may_be_a_rule_waits(text: str, kept: list[str], waits: list[str]) -> None:
    """A label says that it is to be kept in mind; below the fields of a form it may be another's."""
    assert read(text) == (kept, waits)


@pytest.mark.parametrize(
    "around",
    [
        "fix the login bug\n{}",
        "the login page crashes on Safari\n{}",
        "{}\nwhat is the status of the build?",
        "two things\n{}",
        "great work!\n{}",
        "bitte den Parser reparieren\n{}\ndanke",
        "corrige le bug du panier\n{}",
        "修一下登录页面\n{}",
        "ログイン画面を直して\n{}",
        "исправь вход в корзину\n{}",
        "- fix the cart\n- {}\n- add a test",
        "the API returns 500\n\n{}\n\nthen look at the cart",
        "yes, write up the design doc\n{}",
        "commit this\n{}",
        "{}\nDo it",
        "{}\nSummarize your work, then push",
        "yep\n{}",
    ],
)
def test_a_rule_among_the_users_own_lines_is_kept(around: str) -> None:
    """Tasks, reports, questions and thanks around it are their talk, in any language."""
    rule = "From now on always use pnpm." if "- {" not in around else "remember: we use pnpm 9"

    assert read(around.format(rule))[0] != []


@pytest.mark.parametrize(
    "around",
    [
        "Tooling\n{}",
        "where did you find these answers\n{}",
        "{}\nhow's it going?",
        "Dig deeper\n{}",
        "my horoscope for today\n{}",
        "subject line ideas for the newsletter\n\n{}",
        "My essay\n\nDiscipline matters most.\n\n{}\n\nSuccess takes a lot of time.\n\nGrade it",
        "our competitor's landing page\n{}",
        "we show this to new customers\n\n{}",
        "I found this in the old handbook from 2019, no idea if it still counts\n\n{}",
        "{}\nany synonyms for the second word",
        "{}\n\ngive me three variants",
        "{}\nstimmt der Satzbau",
        "¿suena natural?\n{}",
    ],
)
def test_a_rule_beside_a_line_that_says_nothing_alone_waits(around: str) -> None:
    """A heading, a few words or a pointing word may be about the rule, which then is a text of
    somebody else; in the midst of several paragraphs as well.
    """
    kept, waits = read(around.format("From now on always use pnpm."))

    assert kept == []
    assert waits == ["From now on always use pnpm."]


@pytest.mark.parametrize(
    "text",
    [
        "our worker polls the queue and dies",
        "our API gateway runs on Kong and crashes",
        "Note: the build is slow",
        "❌ tests ✅ lint",
        "vide le cache du panier",
        "quiero cambiar el color del botón de pagos",
        "Quero que você faça uma análise completa do carrinho",
        "mach das fertig und räum auf, ich bin gleich weg",
        "создай отчёт по корзине и пришли мне",
        "模仿购物车的布局，左边有列表",
        "カートの実装に取り掛かってください",
    ],
)
def test_states_and_tasks_are_left_alone(text: str) -> None:
    """What is in trouble, and what is asked for once, in any language."""
    assert read(text) == ([], [])


def test_who_is_to_mend_something_is_no_fact_to_keep() -> None:
    """Who owns a part of the project is one."""
    assert read("Bob owns the back-end bug")[0] == []
    assert read("Bob owns the back-end")[0] == ["Bob owns the back-end"]


MISSED = """
    I will do the CSS as you go, don't edit my changes|I restart the server myself|you may proceed always
    don't ask me questions|only look at the scss files when reviewing styles|error messages must carry context
    Hilfetexte müssen konsequent ergänzt werden|denk an unsere Ordnerstruktur|demande la permission uniquement pour supprimer
    只在关键逻辑处加注释|我给出方案时，直接执行|注释太多，不想看|機能追加時もこの方針を守る|クレート追加はユーザーに確認
"""


def test_divisions_of_work_and_limits_wait() -> None:
    """Who does what, when the agent may go on, and where a thing is done."""
    texts = [each.strip() for line in MISSED.splitlines() for each in line.split("|") if each]

    assert [each for each in texts if each and read(each) == ([], [])] == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Never push to main, ok?", ["Never push to main"]),
        ("Never push to main, remember?", ["Never push to main"]),
        ("テストは自分で実行するよう記憶してください", ["テストは自分で実行する"]),
    ],
)
def test_an_order_with_a_question_for_assent_is_kept_without_it(text: str, kept: list[str]) -> None:
    """So is what somebody asks to remember with another verb."""
    assert read(text)[0] == kept


@pytest.mark.parametrize(
    "text",
    [
        "This is Codeberg, not GitHub.",
        "das ist Postgres, nicht MySQL",
        "кстати меня зовут Лев, а не Леонид",
        "这是 Postgres，不是 MySQL。",
        "Next time, ask me first.",
        "Forget npm, it's pnpm now",
        "Vergiss npm, wir nehmen jetzt pnpm",
        "Забудь про npm, теперь у нас pnpm",
        "npmは忘れて、今はpnpmを使う",
        "选择题太多了，以后填空至少占三成",
        "今後は確認不要",
        "We don't care about Internet Explorer",
        "les vieux navigateurs, on s'en moque",
        "mir ist Lesbarkeit lieber als Kürze",
        "I'd rather have slow tests than flaky ones",
        "我宁愿慢一点也要正确",
        "no quiero pagar por otro servidor",
        "Namen ohne Bedeutung möchte ich nicht im Code sehen.",
        "я не хочу платить за сервер",
        "テストでモックは使いたくない",
    ],
)
def test_what_somebody_wants_not_and_what_is_so_and_not_otherwise_waits(text: str) -> None:
    """Also in other languages than English."""
    assert read(text) == ([], [text])


@pytest.mark.parametrize(
    "text",
    [
        "I want to design a new start page.",
        "ich will nicht, dass der Knopf blau ist",
        "je ne veux pas que le bouton soit bleu",
        "Don't run this command.",
        "文档写着：不要改注释",
        "登录以后就报错了",
        "先这样，以后再说吧",
        "Traduis en anglais : ne pousse jamais sur main.",
    ],
)
def test_what_somebody_wants_of_the_work_at_hand_does_not_wait(text: str) -> None:
    """Nor what a document says, or a text to translate."""
    assert read(text) == ([], [])


@pytest.mark.parametrize(
    "job", ["thanks!\nsummarize this article: ", "hi\ncan you proofread this letter? "]
)
def test_a_job_in_front_of_a_long_text_of_one_line_is_seen(job: str) -> None:
    """What the text says further below is not the user's word, wherever a long message is cut."""
    rule = "From now on, always use tabs in Go code."
    text = "The cat sat on the mat and looked at the moon. " * 60

    assert read(f"{job}{text}\n\n{rule}")[0] == []
    assert read(f"{text}\n\n{rule}")[0] == ["always use tabs in Go code."]


@pytest.mark.parametrize("request_text", ["Fix the cart.", "From now on, always use tabs."])
def test_a_reply_to_a_result_is_read_like_any_other_message(request_text: str) -> None:
    """A host's part in it is not the user's word, and the mark of a paste no part of a rule."""
    for text in (
        f"<system-reminder>\nNever push to main.\n</system-reminder>\n{request_text}",
        f"[Pasted text #1 +3 lines] {request_text}",
    ):
        assert read(f"[attempt_completion] Result:\n<feedback>\n{text}\n</feedback>") == read(text)

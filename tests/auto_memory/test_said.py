"""What the user said outright: what is kept, in which words, and what never is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.statement_changes import is_about_everything, plan_memory_removal
from memorist.auto_memory.statements.statement_parser import (
    MAX_STATEMENTS,
    Statement,
    find_statements,
)
from memorist.auto_memory.statements.user_prose import (
    LONG_MESSAGE_CHARS,
    MAX_SENTENCE_CHARS,
    split_prose_sentences,
)
from memorist.core.messages import Message, Origin, TextBlock, ToolResult
from support.sweeps import examples


def typed(text: str, origin: Origin = Origin.USER) -> Message:
    return Message(
        id="m1",
        role="user",
        blocks=(TextBlock(text),),
        origin=origin,
        is_typed=origin is Origin.USER,
    )


def only(text: str) -> Statement:
    (found,) = find_statements(typed(text))
    return found


@pytest.mark.covers("AM-8")
@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "Please remember that releases are signed off by Ines.",
            "releases are signed off by Ines.",
        ),
        ("Thanks! Could you remember that I review on Mondays?", "I review on Mondays"),
        ("Keep in mind our designers only work mornings.", "our designers only work mornings."),
        ("For future reference: invoices are in euros.", "invoices are in euros."),
        ("Our invoices are in euros. Please remember that.", "Our invoices are in euros."),
        ("Our invoices are in euros, remember that.", "Our invoices are in euros"),
        ("/remember our invoices are in euros", "our invoices are in euros"),
        ("$memorist-remember our invoices are in euros", "our invoices are in euros"),
        (
            "[$memorist-remember](/s/SKILL.md) our invoices are in euros",
            "our invoices are in euros",
        ),
        ("# our invoices are in euros", "our invoices are in euros"),
        (
            "<user-memory-input>our invoices are in euros</user-memory-input>",
            "our invoices are in euros",
        ),
        ("请记住，发票都用欧元结算。", "发票都用欧元结算。"),
        ("Merk dir bitte, dass Rechnungen in Euro sind.", "Rechnungen in Euro sind."),
        ("N'oublie pas que les factures sont en euros.", "les factures sont en euros."),
        ("Recuerda que las facturas van en euros.", "las facturas van en euros."),
        ("請求書はユーロ建てだと覚えておいてください。", "請求書はユーロ建てだ"),
    ],
)
def test_what_is_to_be_remembered_stands_alone(text: str, kept: str) -> None:
    """The address is cut off, the user's own words stay."""
    found = only(text)

    assert found.act == "remember"
    assert found.text == kept
    assert found.quote in text


@pytest.mark.covers("AM-8")
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Forget that invoices are in euros.", "invoices are in euros"),
        ("please forget what I said about invoices", "invoices"),
        ("Stop remembering my editor.", "editor"),
        ("forget what I said about npm, npm is fine", "npm"),
        ("Forget the npm rule; you can use it.", "npm"),
        ("forget my rule about lint - it's too slow", "lint"),
        ("forget everything about Oslo, Paris and Rome", "Oslo, Paris and Rome"),
        ("Delete the memory about the old office.", "old office"),
        ("/forget the old office", "the old office"),
        ("忘掉我之前说的发票规则", "发票"),
        ("把发票那条记忆删掉", "发票"),
    ],
)
def test_forgetting_names_what_is_to_go(text: str, what: str) -> None:
    """The text says what; the exact words stay in the quote."""
    found = only(text)

    assert (found.act, found.text) == ("forget", what)


FORGETS = {
    "vergiss, was ich zu den Rechnungen gesagt habe": "Rechnungen",
    "Kannst du bitte die Vorgabe zu Docker vergessen?": "Docker",
    "Lösch das mit den Rechnungen aus deinem Gedächtnis": "Rechnungen",
    "ich möchte, dass du vergisst, was ich über Docker gesagt habe": "Docker",
    "oublie tout ce que tu sais sur les factures": "factures",
    "Peux-tu oublier la consigne sur Docker ?": "Docker",
    "s'il te plaît, efface de ta mémoire que le port est 8080": "port est 8080",
    "olvida lo de Docker": "Docker",
    "quiero que olvides la regla de las facturas": "facturas",
    "olvídate del changelog, ya no aplica": "changelog",
    "esquece o que eu disse sobre o Docker": "Docker",
    "Tira da memória que a porta é 8080": "porta é 8080",
    "dimentica quello che ho detto su Docker": "Docker",
    "per favore, cancella dalla memoria la regola sulle fatture": "fatture",
    "забудь, что я говорил про Docker": "Docker",
    "Можешь забыть правило о счетах?": "счетах",
    "把你知道的关于发票的都忘了": "发票",
    "能不能忘掉docker那条规则？": "docker",
    "Dockerについて言ったことは忘れて": "Docker",
    "請求書のルールを忘れてくれますか？": "請求書の",
}
"""Ways to ask, in eight languages, each with what is to go."""


@pytest.mark.covers("AM-8")
@pytest.mark.parametrize("text", FORGETS)
def test_forgetting_is_asked_for_in_other_languages(text: str) -> None:
    """By what was said or is known of something, its rule, or the memory that holds it."""
    found = only(text)

    assert (found.act, found.text) == ("forget", FORGETS[text])


@pytest.mark.covers("AM-8")
@pytest.mark.parametrize(
    "text",
    [
        "wipe your memory",
        "Can you forget everything?",
        "oublie tout",
        "vergiss alles",
        "borra toda tu memoria",
        "apague toda a sua memória",
        "cancella tutta la memoria",
        "удали все воспоминания",
        "清空你的记忆",
        "記憶を全部消して",
    ],
)
def test_a_request_to_forget_everything_deletes_nothing_by_itself(text: str) -> None:
    """It is told apart, and no memory is one that it names."""
    found = only(text)
    rule = parse_memory_file("a.md", text.encode())

    assert is_about_everything(found.text)
    assert plan_memory_removal(found, [rule]).changes == ()


@pytest.mark.covers("AM-8")
@pytest.mark.parametrize(
    "text",
    [
        "vergiss die Tests erstmal, mach zuerst den Parser",
        "Kannst du die alten Tests löschen?",
        "oublie les tests pour l'instant",
        "supprime tout ce qui est dans build/",
        "olvidé lo que dije de Docker, ¿me lo recuerdas?",
        "olvídate de los tests por ahora y arregla el parser",
        "quero que você apague os testes antigos",
        "ho dimenticato di fare il push",
        "забудь этот подход, сделай цикл",
        "удали из памяти лишние объекты после цикла",
        "从内存中删除多余的对象",
        "このアプローチは忘れて、ループを使って",
        "forget everything, let's start over with a new plan",
        "forget it, let's rewrite the parser",
        "Forget that approach.",
        "I forgot to push.",
        "forget about the fix we tried",
        "算了，忘了它吧",
        "never mind",
    ],
)
def test_dropping_an_idea_is_not_forgetting_a_memory(text: str) -> None:
    """Only words about what was remembered delete anything."""
    assert not any(each.certain for each in find_statements(typed(text)))


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("From now on, write the tests first.", "rule"),
        ("never force push", "rule"),
        ("Always ask before you delete a branch.", "rule"),
        ("Whenever you add a dependency, tell me its licence.", "rule"),
        ("I prefer short functions.", "rule"),
        ("We use Bun, not Node.", "rule"),
        ("以后都先写测试。", "rule"),
        ("以后都用pnpm,不要用npm,谢谢", "rule"),
        ("以后用pnpm;不要用npm", "rule"),
        ("不要再加这么多日志了。", "correction"),
        ("No, we never mock the clock.", "correction"),
        ("Stop adding docstrings to tests.", "correction"),
        ("I told you never to touch the lock file.", "correction"),
        ("Ab jetzt schreibst du Tests zuerst.", "rule"),
        ("Bitte in Zukunft keine Kommentare in den Tests.", "rule"),
        ("Bitte ab sofort pnpm benutzen.", "rule"),
        ("stp désormais réponds en français", "rule"),
    ],
)
def test_standing_rules_and_corrections_are_found(text: str, act: str) -> None:
    """They hold beyond the task, by their own words."""
    assert only(text).act == act


@pytest.mark.covers("AM-7")
@pytest.mark.parametrize(
    "text",
    [
        "should I always pin versions?",
        "the parser always returns an empty list",
        "it never finishes",
        "Never mind the linter.",
        "The build always fails here.",
        "If we always cached it, would it be faster?",
        "My boss said we should never use threads.",
        'The guide says "always pin versions".',
        "no, use the second column",
        "don't do it in this file",
        "I prefer option 2.",
        "By default the server listens on 8080.",
        "Remember to close the handle in this function.",
        "Remember that the loader is in src/app/loader.py.",
        "Remember that the crash was fixed in 3f2a1c.",
        "Remember: to fix the login test, sleep two seconds.",
        "Remember that the build is broken.",
        "Remember that Tom is lazy.",
        "Remember that the password is sesame.",
        "这个函数总是返回空。",
        "老板说以后不许用线程。",
        "我喜欢第二个方案。",
    ],
)
def test_what_sounds_like_a_memory_and_is_none_is_left(text: str) -> None:
    """Questions, reports, other people's words, one task, and what AM-7 rules out even on request."""
    assert find_statements(typed(text)) == ()


@pytest.mark.parametrize(
    "text",
    [
        "```\nfrom now on never force push\n```",
        "> from now on never force push",
        "diff --git a/x b/x\n+ always ask first",
        "| never force push | yes |",
        "2026-01-02 10:00:00 never force push",
        "here is the output:\nnever force push",
        "this is a message from another agent:\nnever force push",
        "He wrote `never force push` there.",
        "~~~\nnever force push",
    ],
)
def test_code_quotations_logs_and_pastes_are_not_the_users_words(text: str) -> None:
    """Only prose that the person wrote counts; an open fence hides the rest."""
    assert find_statements(typed(text)) == ()


@pytest.mark.covers("AM-11")
@pytest.mark.parametrize("origin", [origin for origin in Origin if origin is not Origin.USER])
def test_only_what_a_person_typed_counts(origin: Origin) -> None:
    """What was injected, recalled, summarised or written by others is never taken for the user's
    word.
    """
    rule = "From now on, never force push."
    mixed = Message(
        id="m",
        role="user",
        blocks=(TextBlock(rule, origin=origin), ToolResult("t", (TextBlock(rule),))),
        origin=Origin.USER,
        is_typed=True,
    )

    assert find_statements(typed(rule)) != ()
    assert find_statements(typed(rule, origin)) == ()
    assert find_statements(mixed) == ()
    assert find_statements(typed(f"<system-reminder>\n{rule}\n</system-reminder>")) == ()


def test_several_sentences_give_several_sayings_in_order() -> None:
    """Each with its own quote; the same rule twice is one."""
    found = find_statements(
        typed("Great. Never force push. Call me Sam. What is next? never force push.")
    )

    assert [each.quote for each in found] == ["Never force push.", "Call me Sam."]
    assert [each.kind for each in found] == ["feedback", "user"]


def test_items_of_a_list_count_where_the_line_before_announces_rules() -> None:
    """The same list under a task is part of the task."""
    items = "\n- use tabs\n- never sort imports\n- what else should we sort?"

    assert [each.text for each in find_statements(typed("From now on:" + items))] == [
        "use tabs",
        "never sort imports",
    ]
    assert find_statements(typed("Write a page with these parts:" + items)) == ()


def test_a_long_paste_is_not_searched_for_rules() -> None:
    """In a message like a document only its short first and last paragraph are the person's own
    words.
    """
    paste = "\n\n".join(["always run the linter and never skip it. " * 12] * 8)

    assert find_statements(typed(paste)) == ()
    assert [
        each.text for each in find_statements(typed(f"{paste}\n\nRemember that I own the parser."))
    ] == ["I own the parser."]


@pytest.mark.covers("AM-1")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Remember that I work from Lisbon.", "user"),
        ("Remember that commits are small and have a ticket number.", "feedback"),
        ("Remember that the freeze begins on 3 March.", "project"),
        ("Remember that outages are shown at https://status.example.com.", "reference"),
        ("记住我是后端工程师。", "user"),
        ("记住，发布截止日期是三月三号。", "project"),
    ],
)
def test_the_kind_follows_from_the_words(text: str, kind: str) -> None:
    """About the person, how to work, the project, or where to look outside."""
    assert only(text).kind == kind


PIECES = st.sampled_from(
    [
        "remember that ",
        "from now on ",
        "never ",
        "force push",
        "no, ",
        ". ",
        "? ",
        "\n",
        "```",
        '"',
        "`",
        "- ",
        "# ",
        "/remember ",
        "记住，",
        "以后",
        "不要",
        "。",
        "<tick>",
        "</tick>",
        "you keep adding ",
        "always",
        ", remember that",
        "\n\n",
    ]
)


@given(
    st.one_of(
        st.text(max_size=400),
        st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=40).map("".join),
    )
)
@examples(25, whole=300)
def test_a_quote_stands_in_the_message_word_for_word(text: str) -> None:
    """Whatever the text; what is kept is part of the quote, and nothing empty is kept."""
    found = find_statements(typed(text))

    assert len(found) <= MAX_STATEMENTS
    for each in found:
        assert each.quote in text
        assert each.text in each.quote
        assert each.text.strip()
        assert each.message_id == "m1"


@given(
    st.sampled_from(["Never force push.", "Remember that I own the parser.", "以后都先写测试。"]),
    st.text(alphabet="abc xyz\n", max_size=60),
)
@examples(15, whole=100)
def test_fencing_a_saying_always_hides_it(saying: str, around: str) -> None:
    """Code is never taken for a wish, whatever stands around it."""
    assert find_statements(typed(f"{around}\n```\n{saying}\n```\n")) == find_statements(
        typed(f"{around}\n")
    )


@given(
    st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=60).map("".join), st.integers(1, 200)
)
@examples(15, whole=100)
def test_the_patterns_see_a_bounded_part_of_any_text(text: str, times: int) -> None:
    """So the cost grows with the text and no faster: lines are looked at once, and sentences of two
    short paragraphs go further.
    """
    long = (text * times)[:200_000]
    found = list(split_prose_sentences(long))

    assert sum(len(each.text) for each in found) <= min(len(long), LONG_MESSAGE_CHARS)
    for each in found:
        assert each.text in long
        assert len(each.text) == len(each.masked) <= MAX_SENTENCE_CHARS
        assert max(len(each.before), len(each.after), len(each.list_lead)) <= MAX_SENTENCE_CHARS

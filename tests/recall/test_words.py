"""What a text is found by."""

from __future__ import annotations

import sqlite3
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.language_detection import stem_in_language
from memorist.core.search_words import MAX_WORD_CHARS, extract_words_with_keys
from memorist.core.word_stems import MAX_STEM_LETTERS, stem_word
from memorist.recall.lexical_score import SearchEntry
from memorist.recall.ranker import Ranker
from memorist.recall.search_query import is_one_letter_off
from support.sweeps import examples

ENGLISH = (
    "caresses ponies ties caress cats feed agreed plastered bled motoring sing conflated "
    "troubled sized hopping tanned falling hissing fizzed"
    " failing filing happy sky relational conditional rational valency hesitancy digitizer "
    "conformably radically differently vilely analogously"
    " vietnamization predication operator feudalism decisiveness hopefulness callousness "
    "formality sensitivity sensibility triplicate formative"
    " formalize electricity electrical hopeful goodness revival allowance inference airliner "
    "gyroscopic adjustable defensible irritant replacement"
    " adjustment dependent adoption communism activate angularity homologous effective "
    "bowdlerize probate rate cease controlling rolling toy say"
    " yield yellow generalizations oscillators counselling camping camped destress archaeology "
    "apology being"
)


def found(text: str) -> list[str]:
    return [word for word, _ in extract_words_with_keys(text)]


def sqlite_stems(plain: list[str]) -> list[str]:
    database = sqlite3.connect(":memory:")
    database.execute("create virtual table t using fts5(word, tokenize = 'porter ascii')")
    database.execute("create virtual table v using fts5vocab(t, 'instance')")
    database.executemany("insert into t(rowid, word) values (?, ?)", list(enumerate(plain)))
    stems = dict(database.execute("select doc, term from v").fetchall())
    return [stems[at] for at in range(len(plain))]


@pytest.mark.covers("RC-3")
def test_stems_are_those_of_sqlites_porter_tokeniser() -> None:
    """The words of Porter's own examples, and some more."""
    plain = ENGLISH.split()

    assert [stem_word(word) for word in plain] == sqlite_stems(plain)


FIRST = "hop rely crystal gener commun form care adapt control feed happi tri sky plan oper yell"
LAST = (
    "s es sses ies ed ing eed y ational ization ousness iviti ful ness ment ement ion tion "
    "able er ly ally ative ical ism e ll"
)
BEGINNINGS, ENDINGS = st.sampled_from(FIRST.split()), st.sampled_from(LAST.split())


@examples(15, whole=50)
@given(st.lists(st.tuples(BEGINNINGS, ENDINGS, ENDINGS), min_size=20, max_size=60))
def test_stems_agree_for_endings_in_any_order(parts: list[tuple[str, str, str]]) -> None:
    """Also where no such word exists."""
    plain = [word for word in map("".join, parts) if len(word) <= MAX_STEM_LETTERS]

    assert [stem_word(word) for word in plain] == sqlite_stems(plain)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("readAll", {"read", "all", "readall"}),
        ("read_all", {"read", "all", "readall"}),
        (
            "src/core/fork_lane.py",
            {"src", "core", "fork", "lane", "forklane", "py", "srccoreforklanepy"},
        ),
        ("parseHTTPResponse", {"pars", "http", "respons", "parsehttpresponse"}),
        ("v2.1.88", {"v2", "1", "88", "v2188"}),
        ("Größe Café", {"gross", "cafe"}),
        ("she went with the kids", {"she", "go", "with", "the", "child"}),
        ("记忆引擎", {"记", "忆", "引", "擎", "记忆", "忆引", "引擎"}),
        ("用SQLite存", {"用", "存", "sqlite", "sq", "lite"}),
        ("ＡＢＣ", {"abc"}),
        ("डेटाबेस का पासवर्ड", {"डेटाबेस", "क", "पासवर्ड"}),
        ("ডেটাবেসের ব্যাকআপ", {"ডেটাবেসের", "ব্যাকআপ"}),
        ("پشتیبان\u200cگیری", {"پشتیبانگیری"}),
        ("สวัสดี", {"สวัส", "วัสดี"}),
        ('"quoted" NEAR(a b) x* ^y', {"quot", "near", "a", "b", "x", "y"}),
        ("... -- !?", set()),
    ],
)
def test_a_text_is_found_by(text: str, expected: set[str]) -> None:
    """Identifiers whole and in parts, pairs of characters without spaces, accents and irregular
    forms folded, no query syntax.
    """
    assert set(found(text)) == expected


@given(st.text(max_size=300))
def test_any_text_has_words_of_bounded_size(text: str) -> None:
    """No word is longer than the bound, empty, or holds a space."""
    for word, _ in extract_words_with_keys(text):
        assert word
        assert len(word) <= MAX_WORD_CHARS
        assert not word.isspace()
        assert " " not in word


@given(st.text("abcXYZ_./", max_size=60))
def test_a_text_is_found_by_the_same_words_each_time(text: str) -> None:
    """What was asked for before has no influence."""
    assert found(text) == found(text)


LANGUAGES = (
    ("Rechnungen werden pro Zeile gerundet, nie auf der Summe", "Wie runden wir eine Rechnung?"),
    ("Die Datenbanken liegen auf dem zweiten Rechner", "auf welchem Rechner ist die Datenbank"),
    ("Les factures sont arrondies par ligne et pas sur le total", "comment arrondir une facture"),
    ("Las facturas se redondean por línea", "cómo redondeamos la factura de un cliente"),
    ("Os testes rodam com o banco de dados de verdade, não use mocks", "devo usar mock no teste?"),
    ("Коммиты пишем на английском, сборка запускается командой make", "как писать коммит?"),
    ("提交信息用英文写", "提交的语言"),
    ("コミットメッセージは英語で書く", "コミットの言語は"),
    ("커밋 메시지는 영어로 쓴다", "커밋 언어는 무엇"),
    ("Migracje bazy danych uruchamiamy tylko w nocy", "kiedy uruchamia się migracja bazy?"),
    ("Tietokannan varmuuskopiot otetaan sunnuntaisin", "milloin tietokannasta otetaan kopio?"),
    ("Palvelimen salasanat ovat tiimin holvissa", "missä salasana on?"),
    ("फ़्रंटएंड के टेस्ट विटेस्ट से चलाए जाते हैं", "टेस्ट कैसे चलाए जाते हैं?"),
    ("ฐานข้อมูลหลักสำรองทุกวันอาทิตย์", "สำรองฐานข้อมูลเมื่อไหร่"),
    ("Never use npm, use pnpm", "run npm install"),
    ("Deploy to k8s from CI only", "why does ci not reach kubernetes"),
    ("The Terraform state of the accounts is frozen", "can I change the teraform files"),
    ("Keep the Dockerfile small", "where is the dockerfiel"),
)


@pytest.mark.covers("PS-1")
def test_other_languages_short_names_and_typing_errors_are_found(tmp_path: Path) -> None:
    """Each query finds its text first among all, though no form of a word need be the same."""
    with Ranker(tmp_path / "index") as ranker:
        ranker.sync([SearchEntry(id=str(at), body=text) for at, (text, _) in enumerate(LANGUAGES)])
        for at, (_, query) in enumerate(LANGUAGES):
            assert [each.id for each in ranker.search(query, 1)] == [str(at)], query


@pytest.mark.parametrize(
    ("word", "other", "near"),
    [
        ("migraton", "migration", True),
        ("credentails", "credentials", True),
        ("kuberntes", "kubernetes", True),
        ("settings", "setting", True),
        ("table", "tale", True),
        ("table", "label", False),
        ("staging", "string", False),
        ("same", "same", True),
    ],
)
def test_one_letter_off(word: str, other: str, near: bool) -> None:
    """Left out, added, changed, or swapped with the next; in either direction."""
    assert is_one_letter_off(word, other) is near
    assert is_one_letter_off(other, word) is near


@pytest.mark.covers("RC-3")
def test_threads_that_stem_at_once_get_the_stems_of_one() -> None:
    """A stemmer of Snowball works on one word at a time, and a wrong stem would be remembered."""
    words = [
        (word, "russian") for word in ("программирования", "коммиты", "настройками", "проверил")
    ]
    words += [
        (word, "german") for word in ("Häuser", "verzeichnisse", "einstellungen", "prüfungen")
    ]
    uncached = stem_in_language.__wrapped__
    alone = [uncached(*word) for word in words]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            rounds = list(pool.map(lambda _: [uncached(*word) for word in words], range(200)))
    finally:
        sys.setswitchinterval(interval)

    assert all(found == alone for found in rounds)

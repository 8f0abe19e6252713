"""Whether a match is more than chance: what is shown at a prompt, and what is not."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.auto_memory.memory_file import MemoryKind
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.models.embedder import get_shared_embedder, is_embedder_installed
from memorist.recall.lexical_score import SearchEntry
from memorist.recall.memory_selection import (
    MemoryMatch,
    explain_memory_omission,
    has_enough_search_words,
    is_relevant_match,
    list_relevant_memory_paths,
    select_relevant_memories,
)
from memorist.recall.project_question import is_question_without_request
from memorist.recall.ranker import Ranker
from memorist.recall.word_chance import (
    CHANCE_DEVIATIONS,
    MAX_CHANCE,
    OTHERS_OF_TOPIC,
    PRIOR_ENTRIES,
    EntryEvidenceScorer,
    compute_word_chance,
    measure_evidence_above_chance,
)
from memorist.settings import RecallSettings


def shown(folder: Path, query: str, *texts: str, meaning: bool = False) -> list[str]:
    """The texts that would be shown for a query."""
    entries = [SearchEntry(id=text, description=text, body=text) for text in texts]
    headers = {
        text: MemoryHeader(
            path=text, name=text, description=text, kind=MemoryKind.FEEDBACK, size=1, modified=0
        )
        for text in texts
    }
    with Ranker(folder / "i", embedder=get_shared_embedder() if meaning else None) as ranker:
        ranker.sync(entries)
        ranker.embed_missing_vectors(entries)
        matches = [
            MemoryMatch(
                path=each.id,
                score=each.score,
                words=each.matched,
                evidence=each.evidence,
                nearness=each.nearness,
            )
            for each in ranker.search(query)
        ]
    return [
        pick.path for pick in select_relevant_memories(query, matches, headers, RecallSettings())
    ]


PNPM = "Use pnpm, never npm, in this repository"


@pytest.mark.covers("PS-1")
@pytest.mark.parametrize("query", ["how do we install dependencies", "run npm install"])
def test_the_example_of_the_readme_is_found(tmp_path: Path, query: str) -> None:
    """No word in common, and one short name in common."""
    if not is_embedder_installed():
        pytest.skip("the extra `embed` is not installed")
    assert shown(tmp_path, query, PNPM, meaning=True) == [PNPM]


@pytest.mark.covers("PS-1")
def test_a_short_name_counts_and_common_words_do_not(tmp_path: Path) -> None:
    """`npm` alone says more than `use`, `in` and `this` together."""
    assert shown(tmp_path, "run npm install", PNPM) == [PNPM]
    assert shown(tmp_path, "use this in the new file", PNPM) == []


@given(
    holders=st.dictionaries(
        st.sampled_from(["the", "branch", "git", "npm", "kubernetes", "deploy", "7", "zebra"]),
        st.integers(0, 40),
        min_size=1,
    ),
    entries=st.lists(st.tuples(st.integers(0, 90), st.integers(0, 255)), min_size=1, max_size=5),
)
def test_evidence_is_what_the_words_say_one_by_one(
    holders: dict[str, int], entries: list[tuple[int, int]]
) -> None:
    """What is summed once for a length, or for all, is what each word says by itself."""
    words = sorted(holders)
    measure = EntryEvidenceScorer(
        words, holders=holders, entries=40, longest=max(length for length, _ in entries)
    ).measure_evidence_for_entry
    for length, chosen in entries:
        matched = {word for at, word in enumerate(words) if chosen >> at & 1 and holders[word]}
        chances = {
            word: max(
                compute_word_chance(word, length),
                min(
                    (holders[word] - (word in matched) - OTHERS_OF_TOPIC) / (40 + PRIOR_ENTRIES),
                    MAX_CHANCE,
                ),
            )
            for word in words
        }
        found = sum(-math.log(chances[word]) for word in matched)
        mean = sum(-each * math.log(each) for each in chances.values())
        variance = sum(each * (1 - each) * math.log(each) ** 2 for each in chances.values())
        assert measure(matched, length) == pytest.approx(
            found - mean - CHANCE_DEVIATIONS * math.sqrt(variance)
        )


def test_a_long_message_needs_more() -> None:
    """The same match is less than chance where a message has many other words."""
    matched = ["branch"]
    few = measure_evidence_above_chance(["branch"], matched, 20)
    many = measure_evidence_above_chance(
        ["branch", "commit", "test", "run", "file", "fix"], matched, 20
    )

    assert few > many
    assert compute_word_chance("the", 20) > compute_word_chance("kubernetes", 20)


def test_a_small_number_says_nothing(tmp_path: Path) -> None:
    """A version and a pasted list share digits with every other text; a port is a name."""
    rule = "Go stays at 1.26 in the module file."

    assert shown(tmp_path, "tag v1 of 26 packages", rule) == []
    assert shown(tmp_path, "listens on 8443", "The proxy has port 8443.") == [
        "The proxy has port 8443."
    ]


def test_a_long_text_shares_words_with_everything(tmp_path: Path) -> None:
    """The word that a short message is about is one of many in a pasted page."""
    rules = ("The orchard page is drawn by hand.", "Invoices are rounded per line.")
    pasted = (
        "We read of gardens, rivers, bridges, castles, markets, an orchard and meadows, of a gate, "
        "a tower, a stall and a hedge; then commit, test, run, fix and push the branch, add a line "
        "to the file, read the error, merge, review, update and ask the user again, and look "
        "whether the plan has more issues, sessions, answers, documents or tokens."
    )

    assert shown(tmp_path, "about the orchard", *rules) == [rules[0]]
    assert shown(tmp_path, pasted, *rules) == []


def test_the_language_of_a_project_says_little_for_one_memory(tmp_path: Path) -> None:
    """A word that most memories of a project hold does not choose between them; one that two hold
    does, since both may be about it.
    """
    parts = ("grid", "tide", "lamp", "wharf", "crane", "buoy", "anchor", "ferry")
    rules = [f"The harbour {part} is painted twice." for part in parts]
    two = ["Quokka jobs start at night.", "A quokka job may be repeated."]

    assert shown(tmp_path, "a message about some harbour", *rules) == []
    assert set(shown(tmp_path, "a message about some quokka", *rules, *two)) == set(two)


def test_the_best_of_many_needs_more() -> None:
    """Among a thousand memories one is near by chance."""
    match = MemoryMatch(path="a", score=1.0, nearness=3.0)

    assert is_relevant_match(match, 1, "word " * 10)
    assert not is_relevant_match(match, 1_000, "word " * 10)


def test_what_all_memories_of_a_project_are_near_to_chooses_none() -> None:
    """To "run git status" every memory of a project about git is near, and none is about it; where
    one stands out, or a few that may be about one thing, they are shown.
    """

    def relevant(*nearness: float) -> list[float]:
        matches = [MemoryMatch(path=f"{at}", score=1.0, nearness=at) for at in nearness]
        found = list_relevant_memory_paths("run git status", matches, len(matches))
        return [at for at in nearness if f"{at}" in found]

    assert relevant(4.9, 4.8, 4.7, 4.6, 4.5, 4.4, 4.3) == []
    assert relevant(4.9, 1.2, 1.1, 1.0, 0.9, 0.8) == [4.9]
    assert relevant(4.9, 4.8, 4.7, 0.9, 0.8, 0.7) == [4.9, 4.8, 4.7]
    assert relevant(4.9, 4.8, 4.7) == [4.9, 4.8, 4.7]


def test_a_long_message_has_to_be_nearer_than_a_short_one() -> None:
    """Some part of it is near to any memory by chance; beyond thirty words no more is asked."""
    match = MemoryMatch(path="a", score=1.0, nearness=2.8)

    assert is_relevant_match(match, 1, "word " * 8)
    assert not is_relevant_match(match, 1, "word " * 30)
    assert is_relevant_match(MemoryMatch(path="a", score=1.0, nearness=3.6), 1, "word " * 1_000)


def test_a_question_is_shown_the_nearest_memory_sooner_than_a_request() -> None:
    """Who asks how something is wants an answer; who asks for work wants it done. The others beside
    the nearest need what they need anyway.
    """
    near = MemoryMatch(path="near", score=1.0, nearness=1.8)
    next_one = MemoryMatch(path="next", score=1.0, nearness=1.7)

    assert list_relevant_memory_paths("where do the files end up?", [near, next_one], 2) == {"near"}
    assert list_relevant_memory_paths("can you move the files?", [near, next_one], 2) == frozenset()
    assert list_relevant_memory_paths("move the files", [near, next_one], 2) == frozenset()


@pytest.mark.parametrize(
    ("message", "asks"),
    [
        ("which ORM are we on", True),
        ("ok, so why do we sign releases?", True),
        ("is the staging database shared?", True),
        ("how should I structure the repository layer?", True),
        ("Wo liegen die Migrationen?", True),
        ("Pourquoi les tests sont-ils lents ?", True),
        ("¿Cómo se despliega?", True),
        ("Onde ficam os logs?", True),
        ("Почему сборка идёт дважды?", True),
        ("我们用什么数据库", True),
        ("テストはどこにありますか", True),
        ("What did you find in the billing logs?", True),
        ("Was hast du in den Logs gefunden?", True),
        ("Did you push them?", False),
        ("what can you do", False),
        ("can you rename it?", False),
        ("can we put up a PR?", False),
        ("ok, should we document this?", False),
        ("Kannst du das umbenennen?", False),
        ("Peux-tu renommer le fichier ?", False),
        ("你能改名吗?", False),
        ("why did this fail https://example.org/run/1", False),
        ("so the build is fine now?", False),
        ("rename it", False),
        ("when it is done, push", False),
        (
            "how many words may a question have until it is a whole story of what I did here today",
            False,
        ),
    ],
)
def test_a_question_about_the_project_is_told_by_its_form(message: str, asks: bool) -> None:
    """In the languages that are read; not a request, and not one about what the message shows."""
    assert is_question_without_request(message) is asks


@pytest.mark.parametrize(
    ("query", "searchable"), [("k8s?", True), ("GHA", True), ("continue", False), ("ok", False)]
)
def test_a_name_alone_is_searched_for(query: str, searchable: bool) -> None:
    """A name says what a message is about; a word of assent does not."""
    assert has_enough_search_words(query) is searchable


@pytest.mark.covers("PS-1")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("where do I keep a new password?", "Secrets live in Vault."),
        ("where do we keep the database password?", "Secrets live in Vault."),
        ("password beside the barometer", "Weather data comes from the barometer."),
    ],
)
def test_a_word_typed_every_day_does_not_decide(tmp_path: Path, query: str, found: str) -> None:
    """A word that one memory of many has, and that persons type every day, does not put that memory
    before one that is near in meaning; a word that hardly anybody types does.
    """
    if not is_embedder_installed():
        pytest.skip("the extra `embed` is not installed")
    rules = (
        "Secrets live in Vault.",
        "Keep release notes short.",
        "New pages need an owner.",
        "Weather data comes from the barometer.",
        *(f"Room {at} is painted grey." for at in range(60)),
    )
    entries = [SearchEntry(id=each, title=each, description=each, body=each) for each in rules]
    with Ranker(tmp_path / "i", embedder=get_shared_embedder()) as ranker:
        ranker.sync(entries)
        ranker.embed_missing_vectors(entries)

        assert ranker.search(query, 1)[0].id == found


@pytest.mark.covers("PS-1")
@pytest.mark.parametrize(
    ("rules", "asked", "about_something_else"),
    [
        (
            (
                "Las contraseñas se guardan con argon2id.",
                "Desplegamos los martes por la mañana.",
                "Los informes salen en PDF.",
            ),
            "¿cómo guardamos la contraseña?",
            "pon el botón a la derecha del título",
        ),
        (
            ("Счета округляются по строкам.", "Отчёты выходят в PDF.", "Выкладываем по вторникам."),
            "как округлить счёт?",
            "поставь кнопку справа от заголовка",
        ),
        (
            ("密码用 argon2id 保存。", "每周二上午发布。", "报告用 PDF 格式。"),
            "密码怎么保存？",
            "把按钮放在标题右边",
        ),
    ],
)
def test_a_language_that_the_model_does_not_read_is_ranked_by_words(
    tmp_path: Path, rules: tuple[str, ...], asked: str, about_something_else: str
) -> None:
    """To such a model all texts of another language are alike: nothing is shown for that."""
    if not is_embedder_installed():
        pytest.skip("the extra `embed` is not installed")

    assert shown(tmp_path, asked, *rules, meaning=True) == [rules[0]]
    assert shown(tmp_path, about_something_else, *rules, meaning=True) == []


def test_an_omission_is_told_in_the_unit_that_was_measured() -> None:
    """Deviations where the meaning is known, else nats; one that is near enough was outdone."""
    near = MemoryMatch(path="a", score=1.0, nearness=1.2, words=("branch",))

    assert explain_memory_omission("move it there", near, [near], 1) == (
        "too little in common (branch): 1.2 deviations above chance, 2.5 needed"
    )
    by_words = MemoryMatch(path="a", score=1.0, evidence=-1.0)
    assert explain_memory_omission("where is it", by_words, [by_words], 1) == (
        "too little in common (no word): 0.0 nats above chance, 4.0 needed"
    )
    nearer = MemoryMatch(path="a", score=1.0, nearness=3.0)
    assert (
        explain_memory_omission("where is it", nearer, [nearer], 1)
        == "others come before it (no word)"
    )

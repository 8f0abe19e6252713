"""The ranker over its file: what it finds, that it follows its entries, and what breaks nothing."""

from __future__ import annotations

import sqlite3
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorist.errors import DamagedIndex, ModelRequestRejected, StoreError
from memorist.recall import lexical_score
from memorist.recall.entry_vectors import InMemoryEntryVectors
from memorist.recall.lexical_score import EntryPositionInGroup, SearchEntry, render_embedding_text
from memorist.recall.ranker import Ranker
from memorist.recall.score_fusion import EntryRank, merge_rankings_across_conversations
from memorist.recall.word_index import IndexRow, WordIndex
from support.sweeps import examples

MEMORIES = [
    SearchEntry(
        id="deploy.md",
        title="Deploying",
        description="How releases reach the servers",
        body="Run the pipeline, then watch the canary.",
    ),
    SearchEntry(
        id="tests.md",
        title="Testing",
        description="What to run before a commit",
        body="Use pytest with two workers; the database is mocked.",
    ),
    SearchEntry(
        id="style.md",
        title="Writing style",
        description="The user's taste",
        body="Short sentences. No releases notes in commit messages.",
    ),
    SearchEntry(
        id="zh.md",
        title="部署说明",
        description="数据库迁移",
        body="先备份数据库，然后运行迁移脚本。",
    ),
    SearchEntry(
        id="code.md",
        title="readAll",
        body="The function read_all in src/core/fork_lane.py drops the last line.",
    ),
]

TALK = [
    "Where did you spend the summer?",
    "In a small village by the lake, with my sister.",
    "How lovely.",
    "My dog is called Rex.",
    "Mine is called Rex, too! I got her last May.",
    "Which breed is she?",
    "A beagle, and she is never tired.",
]


def talk() -> list[SearchEntry]:
    return [
        SearchEntry(id=f"t{at}", body=text, position=EntryPositionInGroup("one", at))
        for at, text in enumerate(TALK)
    ]


def ids(ranker: Ranker, query: str, limit: int = 10) -> list[str]:
    return [found.id for found in ranker.search(query, limit)]


@pytest.fixture
def ranker(tmp_path: Path) -> Ranker:
    made = Ranker(tmp_path / "recall.sqlite")
    made.sync(MEMORIES)
    return made


@pytest.mark.covers("RC-3")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("how do I deploy a release?", "deploy.md"),
        ("which workers does pytest need", "tests.md"),
        ("数据库怎么迁移", "zh.md"),
        ("fork_lane", "code.md"),
        ("ForkLane is broken", "code.md"),
        ("src/core/fork_lane.py", "code.md"),
    ],
)
def test_the_memory_that_is_about_it_comes_first(ranker: Ranker, query: str, expected: str) -> None:
    """By words in other forms, identifiers however they are written, and Chinese."""
    assert ids(ranker, query)[0] == expected


def test_an_answer_says_what_matched(ranker: Ranker) -> None:
    """The question's own words, the rarest first, their share, and a line for people."""
    (first, *_) = ranker.search("Tell me how the canary releases work")

    assert first.id == "deploy.md"
    assert first.matched == ("canary", "releases")
    assert first.why == "has canary, releases"
    assert first.dense is None


@pytest.mark.covers("RC-3")
def test_what_stands_nowhere_finds_nothing(ranker: Ranker) -> None:
    """No memory is shown for the sake of showing one."""
    assert ranker.search("zebra xylophone") == ()
    assert ranker.search("") == ()
    assert ranker.search("?!") == ()


def test_a_title_counts_more_than_a_body(tmp_path: Path) -> None:
    """The name of a file is written to find it by."""
    with Ranker(tmp_path / "i") as ranker:
        ranker.sync(
            [
                SearchEntry(id="a", title="other things", body="cache words"),
                SearchEntry(id="b", title="cache words", body="other things"),
            ]
        )

        assert ids(ranker, "cache") == ["b", "a"]


def test_what_is_left_out_takes_no_place(ranker: Ranker) -> None:
    """The one place is for the next best."""
    (found,) = ranker.rank_without_reasons("deploy releases", 1, excluding=["deploy.md"])

    assert found.id == "style.md"


def test_equal_scores_are_ordered_by_id(tmp_path: Path) -> None:
    """Whatever the order they came in."""
    with Ranker(tmp_path / "i") as ranker:
        ranker.sync([SearchEntry(id=name, body="the same words here") for name in "dbeca"])

        assert ids(ranker, "same words") == list("abcde")
        assert ids(ranker, "same words", 2) == list("ab")


@pytest.mark.covers("RC-3")
def test_neighbours_lend_weight_and_an_answer_follows_its_question(tmp_path: Path) -> None:
    """The turn that answers has no word of the question, and comes before the turn that asked."""
    with Ranker(tmp_path / "i") as ranker:
        ranker.sync(talk())

        assert ids(ranker, "Where was the summer spent?")[0] == "t1"
        assert "t1" not in ids(_without_places(tmp_path), "Where was the summer spent?")


def _without_places(folder: Path) -> Ranker:
    ranker = Ranker(folder / "plain")
    ranker.sync([msgspec.structs.replace(entry, position=None) for entry in talk()])
    return ranker


def test_a_question_about_time_prefers_what_tells_one(tmp_path: Path) -> None:
    """`last May` is a time."""
    with Ranker(tmp_path / "i") as ranker:
        ranker.sync(talk())

        assert ids(ranker, "When did Rex come?")[0] == "t4"


def written_by(ranker: Ranker, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids of the rows that are written from here on."""
    written: list[str] = []
    write = ranker._index.write

    def record(rows: Sequence[IndexRow]) -> None:
        written.extend(row.id for row in rows)
        write(rows)

    monkeypatch.setattr(ranker._index, "write", record)
    return written


def test_a_second_sync_writes_only_what_changed(
    ranker: Ranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By fingerprint."""
    changed = [*MEMORIES[1:], SearchEntry(id="new.md", body="fresh")]
    changed[0] = SearchEntry(id="tests.md", body="nothing of it is left")
    written = written_by(ranker, monkeypatch)

    ranker.sync(changed)

    assert sorted(written) == ["new.md", "tests.md"]
    assert ids(ranker, "canary") == []
    assert ids(ranker, "pytest") == []
    assert ids(ranker, "fresh") == ["new.md"]
    ranker.sync(changed)
    assert len(written) == 2


def test_an_entry_with_an_old_fingerprint_is_not_read(tmp_path: Path) -> None:
    """The caller knows best whether a file changed."""
    with Ranker(tmp_path / "i") as ranker:
        ranker.sync([SearchEntry(id="a", body="first", fingerprint="1")])
        ranker.sync([SearchEntry(id="a", body="second", fingerprint="1")])
        assert ids(ranker, "first") == ["a"]
        ranker.sync([SearchEntry(id="a", body="second", fingerprint="2")])
        assert ids(ranker, "second") == ["a"]


WORDS = st.sampled_from(
    ["alpha", "beta", "gamma", "delta", "read_all", "readAll", "数据库", "a.b/c", "?", "Ana"]
)
ENTRIES = st.lists(
    st.builds(
        lambda id, title, body, place: SearchEntry(
            id=id,
            title=" ".join(title),
            body=" ".join(body),
            position=EntryPositionInGroup(*place) if place else None,
        ),
        st.sampled_from("abcdefgh"),
        st.lists(WORDS, max_size=3),
        st.lists(WORDS, max_size=8),
        st.none() | st.tuples(st.sampled_from(["g", "h", ""]), st.integers(0, 9)),
    ),
    max_size=12,
)


@settings(max_examples=20, deadline=None)
@given(st.lists(ENTRIES, min_size=1, max_size=4), st.lists(WORDS, min_size=1, max_size=4))
def test_syncing_step_by_step_gives_what_one_sync_gives(
    steps: list[list[SearchEntry]], query: list[str]
) -> None:
    """The index is a function of the entries, whatever it held before: same answers, scores and
    reasons.
    """
    with (
        TemporaryDirectory() as folder,
        Ranker(Path(folder) / "steps") as grown,
        Ranker(Path(folder) / "once") as fresh,
    ):
        for step in steps:
            grown.sync(step)
        fresh.sync(steps[-1])

        found, expected = (ranker.search(" ".join(query), 20) for ranker in (grown, fresh))
        assert [each.id for each in found] == [each.id for each in expected]
        for mine, theirs in zip(found, expected, strict=True):
            assert (mine.matched, mine.why) == (theirs.matched, theirs.why)
            assert mine.score == pytest.approx(theirs.score)


@settings(max_examples=20, deadline=None)
@given(st.lists(ENTRIES, min_size=1, max_size=4), st.lists(WORDS, min_size=1, max_size=4))
def test_an_update_of_what_changed_gives_what_a_sync_gives(
    steps: list[list[SearchEntry]], query: list[str]
) -> None:
    """Who knows what changed need not name all entries, with the same answers and reasons."""
    with (
        TemporaryDirectory() as folder,
        Ranker(Path(folder) / "steps") as grown,
        Ranker(Path(folder) / "once") as fresh,
    ):
        known: dict[str, SearchEntry] = {}
        for step in steps:
            wanted = {each.id: msgspec.structs.replace(each, position=None) for each in step}
            grown.search("alpha")
            grown.update_entries(
                [each for id, each in wanted.items() if known.get(id) != each],
                [id for id in known if id not in wanted],
            )
            known = wanted
        fresh.sync([*known.values()])

        found, expected = (ranker.search(" ".join(query), 20) for ranker in (grown, fresh))
        assert [(each.id, each.why) for each in found] == [(each.id, each.why) for each in expected]
        assert [each.score for each in found] == pytest.approx([each.score for each in expected])


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Ranker:
    """One ranker that many questions are put to."""
    made = Ranker(tmp_path_factory.mktemp("asked") / "recall.sqlite")
    made.sync([*MEMORIES, *talk()])
    return made


@examples(15, whole=150)
@given(
    query=st.text(max_size=200)
    | st.sampled_from(
        [
            '"',
            "a OR",
            "NEAR(",
            "x*",
            "title:",
            "'; drop table words; --",
            "\0",
            "\ud800",
            "数",
            "(" * 500,
        ]
    )
)
def test_no_question_is_an_error(asked: Ranker, query: str) -> None:
    """Every text is only words to look for."""
    assert len(asked.search(query, 3)) <= 3
    assert asked.search("canary", 1)[0].id == "deploy.md"


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=20), st.text(max_size=60), st.text(max_size=8)), max_size=6)
)
def test_no_entry_is_an_error(rows: list[tuple[str, str, str]]) -> None:
    """Ids, texts and groups of any characters, half surrogate pairs and zero bytes among them."""
    with TemporaryDirectory() as folder, Ranker(Path(folder) / "i") as ranker:
        entries = [
            SearchEntry(id=id, title=text, body=text, position=EntryPositionInGroup(group, 1))
            for id, text, group in rows
        ]
        ranker.sync([*entries, SearchEntry(id="\ud800\0", body="lone half")])

        assert ids(ranker, "lone half")
        before = ranker.read_fingerprints()
        ranker.sync(entries)
        assert ranker.read_fingerprints().items() < before.items()


def test_a_question_of_a_megabyte_is_answered(ranker: Ranker) -> None:
    """A pasted log is a question like any other: what it says first counts."""
    assert "tests.md" in ids(ranker, "pytest workers " + "noise12 log line! " * 60_000)


@pytest.mark.covers("RC-6")
def test_common_words_only_order_what_rare_words_found(tmp_path: Path) -> None:
    """A question's time is bounded by the words that tell: the entry with the rare word leads
    though thousands have the others.
    """
    filler = [
        SearchEntry(id=f"m{at:04d}", body=f"common words everywhere number{at}")
        for at in range(4_000)
    ]
    with Ranker(tmp_path / "i") as ranker:
        ranker.sync([*filler, SearchEntry(id="rare", body="needle with common words")])

        first, *_ = ranker.search("needle among common words everywhere", 3)
        assert first.id == "rare"
        assert first.matched[0] == "needle"
        assert set(first.matched) == {"needle", "common", "words"}


def test_how_many_entries_hold_a_word_is_read_once(
    ranker: Ranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the index changes; also of words that none holds."""
    read: list[str] = []
    count = WordIndex.count_entries_by_word

    def count_entries(index: WordIndex, words: Iterable[str]) -> dict[str, int]:
        read.extend(words)
        return count(index, words)

    monkeypatch.setattr(WordIndex, "count_entries_by_word", count_entries)
    for query in ("watch the canary", "the canary sings", "watch canary"):
        assert [each.id for each in ranker.search(query)] == ["deploy.md"]
    ranker.sync([*MEMORIES, SearchEntry(id="bird.md", title="Sings", body="It sings.")])

    assert sorted(read) == ["canari", "sing", "watch"]
    assert {each.id for each in ranker.search("the canary sings")} == {"deploy.md", "bird.md"}


@pytest.mark.parametrize("lookup_cost", [0, 1_000])
def test_common_words_are_looked_up_as_they_are_scanned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lookup_cost: int
) -> None:
    """By runs of entries beside each other or in the whole list, in either way as all are."""
    talk = [
        SearchEntry(
            id=f"{number}",
            body=f"{'alpha' if number % 7 == 0 else 'filler'} beta {'gamma' if number % 3 else ''}",
            position=EntryPositionInGroup("talk", number),
        )
        for number in range(60)
    ]
    with Ranker(tmp_path / "index") as index:
        index.sync(talk)
        whole = index.search("alpha beta gamma", 5)
        monkeypatch.setattr(lexical_score, "MAX_SCANNED_POSTINGS", 60)
        monkeypatch.setattr(lexical_score, "LOOKUP_COST", lookup_cost)
        bounded = index.search("alpha beta gamma", 5)

    assert [(each.id, round(each.lexical, 9)) for each in bounded] == [
        (each.id, round(each.lexical, 9)) for each in whole
    ]


@pytest.mark.covers("RC-1", "SF-5")
def test_an_index_that_takes_no_writing_is_searched_from_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home that is mounted read-only, or whose disk is full, opens: the first change failed, and
    nothing was found.
    """
    path = tmp_path / "recall.sqlite"
    with Ranker(path) as ranker:
        ranker.sync(MEMORIES[:2])
    before = path.read_bytes()
    newer = [*MEMORIES[:2], MEMORIES[3]]

    with monkeypatch.context() as patched:
        patched.setattr("memorist.store.index_database.os.access", lambda *_: False)
        with Ranker(path) as ranker:
            ranker.sync(newer)
            assert ranker.search("pipeline")
            assert ranker.search("数据库")
    with Ranker(path) as ranker:
        ranker._index._database.execute("pragma query_only = on")
        ranker.sync(newer)
        assert ranker.search("数据库")

    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"text, and no database at all" * 300, b"SQLite format 3\x00" + b"\xff" * 5_000]
)
def test_a_damaged_file_is_started_anew(tmp_path: Path, content: bytes) -> None:
    """It is moved aside."""
    path = tmp_path / "recall.sqlite"
    path.write_bytes(content)
    with Ranker(path) as ranker:
        ranker.sync(MEMORIES)

        assert len(ranker.read_fingerprints()) == len(MEMORIES)
        assert ids(ranker, "canary") == ["deploy.md"]
    assert (tmp_path / "recall.sqlite.damaged").read_bytes() == content


def test_another_programs_database_is_left_whole(tmp_path: Path) -> None:
    """Moved aside with all it held."""
    path = tmp_path / "recall.sqlite"
    foreign = sqlite3.connect(path)
    foreign.execute("create table precious (x)")
    foreign.execute("insert into precious values (7)")
    foreign.commit()
    foreign.close()
    with Ranker(path) as ranker:
        ranker.sync(MEMORIES)

    assert sqlite3.connect(tmp_path / "recall.sqlite.damaged").execute(
        "select x from precious"
    ).fetchall() == [(7,)]


def test_damage_that_shows_later_is_told_and_mended(ranker: Ranker, tmp_path: Path) -> None:
    """A search says what is wrong; the next sync makes the index anew."""
    outside = sqlite3.connect(tmp_path / "recall.sqlite")
    outside.execute("update words set entries = x'010203'")
    outside.commit()

    with pytest.raises(DamagedIndex, match="next sync"):
        ranker.search("canary")
    ranker.close()
    (tmp_path / "recall.sqlite").unlink()
    with Ranker(tmp_path / "recall.sqlite") as again:
        again.sync(MEMORIES)
        assert ids(again, "canary") == ["deploy.md"]


@pytest.mark.parametrize("lost", ["damaged", "deleted"])
def test_a_sync_over_damage_begins_anew(ranker: Ranker, tmp_path: Path, lost: str) -> None:
    """With the texts of all entries, of which only the new one's was needed before: the others were
    written without a word, and found no more.
    """
    path = tmp_path / "recall.sqlite"
    marked = [msgspec.structs.replace(each, fingerprint=each.id) for each in MEMORIES]
    ranker.sync(marked[:3])
    if lost == "deleted":
        path.unlink()
    else:
        with closing(sqlite3.connect(path)) as outside:
            outside.execute("update words set entries = x'010203'")
            outside.commit()

    ranker.sync_missing(
        lambda known: [
            SearchEntry(id=each.id, fingerprint=each.id) if each.id in known else each
            for each in marked
        ]
    )

    assert ids(ranker, "canary") == ["deploy.md"]
    assert ids(ranker, "read_all")[0] == "code.md"


def test_an_index_of_another_version_is_made_anew(ranker: Ranker, tmp_path: Path) -> None:
    """How words are made may change from version to version."""
    ranker.close()
    outside = sqlite3.connect(tmp_path / "recall.sqlite")
    outside.execute("pragma user_version = 99")
    outside.close()
    with Ranker(tmp_path / "recall.sqlite") as again:
        assert not again.read_fingerprints()
        again.sync(MEMORIES)

        assert ids(again, "canary") == ["deploy.md"]


def test_the_file_is_private(ranker: Ranker, tmp_path: Path) -> None:
    """It holds the words of memories."""
    assert stat.S_IMODE((tmp_path / "recall.sqlite").stat().st_mode) == 0o600


def test_a_folder_in_its_place_is_a_clear_error(tmp_path: Path) -> None:
    """The disk refuses."""
    (tmp_path / "i").mkdir()

    with pytest.raises(StoreError, match="cannot be opened"):
        Ranker(tmp_path / "i")


def test_another_process_sees_what_was_written(ranker: Ranker, tmp_path: Path) -> None:
    """Both keep the file open; each search is of the newest state."""
    with Ranker(tmp_path / "recall.sqlite") as other:
        assert ids(other, "canary") == ["deploy.md"]
        ranker.sync([SearchEntry(id="new.md", body="canary again")])

        assert ids(other, "canary") == ["new.md"]


KILLED = """
import os, sys
from pathlib import Path
from memorist.recall.lexical_score import SearchEntry
from memorist.recall import ranker, word_index

written = word_index.WordIndex._insert_entries
def put(self, rows, old):
    written(self, rows, old)
    if rows[-1].id >= "m0700":
        os._exit(9)
word_index.WordIndex._insert_entries = put
entries = [SearchEntry(id=f"m{at:04d}", body=f"common word{at}") for at in range(1_000)]
ranker.Ranker(Path(sys.argv[1])).sync(entries)
"""


def test_a_killed_sync_leaves_a_whole_index_that_the_next_one_finishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed inside the second transaction: the first stands, nothing of the second does."""
    path = tmp_path / "i"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, timeout=60)
    entries = [SearchEntry(id=f"m{at:04d}", body=f"common word{at}") for at in range(1_000)]
    with Ranker(path) as ranker:
        assert ended.returncode == 9
        assert ids(ranker, "word499") == ["m0499"]
        assert ids(ranker, "word500") == []
        written = written_by(ranker, monkeypatch)
        ranker.sync(entries)

        assert len(written) == 500
        assert ids(ranker, "word999") == ["m0999"]


class Toy:
    """An embedder of three meanings."""

    name = "toy:1"

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.broken = False

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        if self.broken:
            raise ModelRequestRejected("the toy is broken")
        self.texts += texts
        return [struct.pack("<3f", *self._meaning(text)) for text in texts]

    def _meaning(self, text: str) -> tuple[float, float, float]:
        told = [
            any(word in text.lower() for word in kind)
            for kind in (("deploy", "ship"), ("test", "check"), ("style", "taste"))
        ]
        size = sum(told) ** 0.5 or 1.0
        return told[0] / size, told[1] / size, told[2] / size


def test_what_is_left_out_takes_no_place_by_meaning(tmp_path: Path) -> None:
    """A hundred entries are compared by meaning, of which none is to be one that is left out."""
    own = [SearchEntry(id=f"own{at}", body=f"deploy number {at}") for at in range(150)]
    entries = [*own, SearchEntry(id="other", body="a release that shipped, in good taste")]
    with Ranker(tmp_path / "i", embedder=Toy()) as ranker:
        ranker.sync(entries)
        ranker.embed_missing_vectors(entries)

        found = ranker.rank_without_reasons("shipped", 5, excluding=[each.id for each in own])

    assert [each.id for each in found] == ["other"]


@pytest.mark.parametrize(
    ("lexical", "nearness", "first"),
    [(20.0, 4.0, "large"), (1.0, 4.0, "large"), (2.0, 0.5, "small")],
)
def test_two_projects_are_ranked_by_one_scale(lexical: float, nearness: float, first: str) -> None:
    """Where the turns of the one were ordered by meaning, as it is large and words match by chance,
    and those of the other by words, each score was several times that of the other.
    """
    large = EntryRank("large", 0.05 * lexical + nearness, lexical, nearness)
    small = EntryRank("small", 6.1, 6.0, 0.4)

    found = merge_rankings_across_conversations([[small], [large]], 12, 5_000)

    assert found[0].id == first


@pytest.mark.covers("RC-3")
def test_meaning_finds_what_words_do_not(tmp_path: Path) -> None:
    """With an embedder, a question with other words for it finds the memory; vectors are made once
    an entry.
    """
    pytest.importorskip("numpy")
    toy = Toy()
    with Ranker(tmp_path / "i", embedder=toy) as ranker:
        ranker.sync(MEMORIES)
        assert ranker.search("ship it") == ()
        assert ranker.embed_missing_vectors(MEMORIES, at_most=2) == 3
        assert ranker.embed_missing_vectors(MEMORIES) == 0
        first, *_ = ranker.search("ship it")

        assert first.id == "deploy.md"
        assert first.dense == pytest.approx(1.0, abs=0.02)
        assert first.why == "meaning 1.00"
        toy.texts.clear()
        ranker.sync(MEMORIES)
        ranker.embed_missing_vectors(MEMORIES)
        assert toy.texts == []


def test_the_first_search_by_meaning_imports_no_more_of_numpy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Masked arrays, which some functions of numpy import when they are called, take 50 ms, and a
    prompt would wait for them.
    """
    numpy = pytest.importorskip("numpy")
    for name in [name for name in sys.modules if name.startswith("numpy.ma")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(vars(numpy), "ma", raising=False)
    with Ranker(tmp_path / "i", embedder=Toy()) as ranker:
        ranker.sync(MEMORIES)
        ranker.embed_missing_vectors(MEMORIES)
        assert ranker.rank_without_reasons("ship it", 5, excluding={"tests.md"})

    assert "numpy.ma" not in sys.modules


@pytest.mark.covers("RC-6")
def test_words_are_searched_while_vectors_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search by words, which nearly every prompt is, waits for no vector; one by meaning then has
    all of them.
    """
    pytest.importorskip("numpy")
    entries = [SearchEntry(id="tests", body="the tests run in four processes")]
    with Ranker(tmp_path / "i", embedder=Toy()) as filled:
        filled.sync(entries)
        filled.embed_missing_vectors(entries)
    with Ranker(tmp_path / "i") as ranker:
        meanwhile: list[str] = []

        def search() -> None:
            meanwhile.extend(
                each.id for each in ranker.rank_without_reasons("tests", 5, by_meaning=False)
            )

        def read_vectors(*parts: Any) -> InMemoryEntryVectors:
            thread = threading.Thread(target=search, daemon=True)
            thread.start()
            thread.join(60)
            return InMemoryEntryVectors(*parts)

        monkeypatch.setattr("memorist.recall.ranker.InMemoryEntryVectors", read_vectors)
        ranker.enable_embeddings(Toy())
        assert meanwhile == ["tests"]

        monkeypatch.setattr("memorist.recall.ranker.InMemoryEntryVectors", None)
        assert ranker.search("tests")[0].dense is not None


def test_a_broken_embedder_leaves_the_words(tmp_path: Path) -> None:
    """The answer is the lexical one."""
    pytest.importorskip("numpy")
    toy = Toy()
    with Ranker(tmp_path / "i", embedder=toy) as ranker:
        ranker.sync(MEMORIES)
        ranker.embed_missing_vectors(MEMORIES)
        toy.broken = True

        assert ids(ranker, "canary") == ["deploy.md"]


def test_vectors_of_entries_that_are_gone_are_forgotten(tmp_path: Path) -> None:
    """The file does not grow with what no longer is."""
    pytest.importorskip("numpy")
    with Ranker(tmp_path / "i", embedder=Toy()) as ranker:
        ranker.sync(MEMORIES)
        ranker.embed_missing_vectors(MEMORIES)
        ranker.sync(MEMORIES[:2])

    assert (
        sqlite3.connect(tmp_path / "i").execute("select count(*) from vectors").fetchone()[0] == 2
    )


def test_an_update_forgets_and_learns_meanings(tmp_path: Path) -> None:
    """A changed entry is found by its new meaning alone, and none by what it once meant."""
    pytest.importorskip("numpy")
    with Ranker(tmp_path / "i", embedder=Toy()) as ranker:
        ranker.sync(MEMORIES)
        ranker.embed_missing_vectors(MEMORIES)
        (former,) = [each for each in ranker.search("ship it", 9) if each.id == "deploy.md"]
        changed = SearchEntry(id="deploy.md", body="About nothing.")
        ranker.update_entries([changed])
        unknown = [each.dense for each in ranker.search("deploy nothing", 9)]
        ranker.embed_missing_vectors([changed])
        (now,) = [each for each in ranker.search("nothing", 9) if each.id == "deploy.md"]

    assert former.dense is not None
    assert None in unknown
    assert now.dense is not None


def test_vectors_of_an_earlier_arithmetic_are_forgotten(tmp_path: Path) -> None:
    """An embedder of another name computes otherwise; nothing reads what the former one left."""
    pytest.importorskip("numpy")
    former, now = Toy(), Toy()
    now.name = "toy, in whole numbers"
    for toy in (former, now):
        with Ranker(tmp_path / "i", embedder=toy) as ranker:
            ranker.sync(MEMORIES)
            ranker.embed_missing_vectors(MEMORIES)

    names = sqlite3.connect(tmp_path / "i").execute("select embedder from vectors").fetchall()
    assert names == [(now.name,)] * len(MEMORIES)


@pytest.mark.covers("PS-1")
def test_the_mixture_keeps_what_meaning_alone_puts_first(tmp_path: Path) -> None:
    """A memory near in meaning is not buried below one that shares a common word by chance."""
    pytest.importorskip("numpy")
    entries = [
        SearchEntry(id="deploy.md", body="Always deploy on Tuesdays."),
        SearchEntry(id="noise.md", body="The note of the weather."),
        *(SearchEntry(id=f"m{at}.md", body=f"The note number {at}.") for at in range(20)),
    ]
    with Ranker(tmp_path / "i", embedder=Toy()) as ranker:
        ranker.sync(entries)
        ranker.embed_missing_vectors(entries)

        assert ids(ranker, "ship the note")[0] == "deploy.md"


def test_text_that_repeats_the_title_is_embedded_once() -> None:
    """A memory of one sentence has it as name, description and body; that is one sentence."""
    entry = SearchEntry(
        id="a", title="use-pnpm-here", description="Use pnpm here.", body="Use pnpm here"
    )

    assert render_embedding_text(entry) == "Use pnpm here"

"""A prompt over a folder of many memories, which is not looked at file by file while it waits."""

from __future__ import annotations

import os
import threading
import time
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from memorist.auto_memory import folder_mtimes
from memorist.auto_memory.memory_file import MemoryKind
from memorist.auto_memory.visible_memory import drop_planted_order_lines
from memorist.engine.engine import Memorist
from memorist.engine.observed_session import ObservedSession
from memorist.ports import FileInfo
from memorist.recall import entry_vectors, memory_search, ranker
from memorist.recall.lexical_score import EntryColumns, build_entry_columns
from memorist.recall.recall_explanation import explain_recall
from memorist.recall.word_index import StoredIndexRow
from memorist.settings import RecallSettings, Settings
from memorist.store.disk_files import DiskFiles


@pytest.fixture
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three files count as many, and each prompt is followed by a look at each of them."""
    monkeypatch.setattr(folder_mtimes, "MIN_DETECTOR_FILES", 3)
    monkeypatch.setattr(folder_mtimes, "RELIST_SECONDS", 0.0)


def open_engine(folder: Path) -> Memorist:
    settings = Settings(home=str(folder / "home"), recall=RecallSettings(embeddings=False))
    engine = Memorist(settings=settings)
    engine.starts_workers = False
    return engine


LEDGER = "The invoices of the warehouse come from the ledger."
"""What one of the memories says: as its description it is still the user's word."""


def add_memories(engine: Memorist, project: Path) -> Path:
    """Keep four memories; returns their folder."""
    memory = engine.memory(str(project))
    for name in ("invoices", "colours", "branches", "mails"):
        memory.add(
            f"The {name} of the warehouse come from the ledger.",
            kind=MemoryKind.PROJECT,
            name=name,
            description=f"Where {name} come from",
        )
    return memory.layout.folder


def rewrite_in_place(path: Path, old: str, new: str) -> None:
    """Change a file as an editor may: its folder's time stays."""
    before = path.parent.stat()
    text = path.read_text(encoding="utf-8").replace(old, new)
    path.write_text(text, encoding="utf-8")
    os.utime(path.parent, ns=(before.st_atime_ns, before.st_mtime_ns))


def note_listings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Returns a list that grows by each folder that is listed."""
    listed: list[Path] = []
    scan = DiskFiles.scan

    def scan_counted(files: DiskFiles, folder: Path) -> Iterable[tuple[str, FileInfo]]:
        listed.append(folder)
        return scan(files, folder)

    monkeypatch.setattr(DiskFiles, "scan", scan_counted)
    return listed


async def ask(session: ObservedSession, prompt: str) -> str:
    return "\n".join(await session.recall_for_prompt(prompt))


@pytest.mark.covers("RC-6")
@pytest.mark.usefixtures("few_files")
async def test_what_changes_in_a_large_folder_is_shown_as_it_is(tmp_path: Path) -> None:
    """A memory that was changed in place is shown as it is now; one that was added by another
    program is found by the next prompt; one that another program changed in place, and that the
    prompt before did not concern, by the second after.
    """
    engine = open_engine(tmp_path)
    folder = add_memories(engine, tmp_path)
    session = engine.observe_session("s", project=str(tmp_path))
    assert "ledger" in await ask(session, "where do the colours of the warehouse come from")

    rewrite_in_place(folder / "invoices.md", "ledger", "archive")
    shown = await ask(session, "where do the invoices of the warehouse come from")
    assert "archive" in shown
    assert "ledger" not in shown.split("invoices.md")[1]

    text = (folder / "mails.md").read_text(encoding="utf-8")
    (folder / "parcels.md").write_text(text.replace("mails", "parcels"), encoding="utf-8")
    assert "parcels.md" in await ask(session, "which parcels come from the ledger")

    rewrite_in_place(folder / "branches.md", "branches of the warehouse", "zeppelin hangar")
    await ask(session, "say something about the weather of tomorrow")
    await ask(session, "and something about the food of yesterday")
    assert "branches.md" in await ask(session, "where is the zeppelin hangar")
    await session.close()
    await engine.close()


@pytest.mark.covers("RC-6", "RC-1")
async def test_a_session_begins_with_one_look_at_each_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index it is shown is that of the files as they are, also where one was changed in place
    a moment ago.
    """
    monkeypatch.setattr(folder_mtimes, "MIN_DETECTOR_FILES", 3)
    listed = note_listings(monkeypatch)
    engine = open_engine(tmp_path)
    folder = add_memories(engine, tmp_path)
    shown, counts = [], []
    for id in ("one", "two", "three"):
        listed.clear()
        session = engine.observe_session(id, project=str(tmp_path))
        shown.append("\n".join(await session.take_opening_texts()))
        counts.append(listed.count(folder))
        await ask(session, "where do the colours of the warehouse come from")
        await session.close()
        if id == "two":
            rewrite_in_place(folder / "invoices.md", "Where invoices come from", LEDGER)

    assert counts[1] == 1
    assert "Where invoices come from" in shown[1]
    assert LEDGER in shown[2]
    await engine.close()


@pytest.mark.covers("AM-1")
@pytest.mark.usefixtures("few_files")
async def test_a_rule_replaces_one_that_was_edited_a_moment_ago(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the user says is not lost because a file that it replaces is not as it was last seen."""
    monkeypatch.setattr(folder_mtimes, "RELIST_SECONDS", 1_000.0)
    engine = open_engine(tmp_path)
    folder = add_memories(engine, tmp_path)
    session = await engine.open("s", project=str(tmp_path))
    said: list[dict[str, str]] = []

    async def say(text: str) -> None:
        said.append({"role": "user", "content": text})
        await session.prepare({"model": "m", "max_tokens": 9, "messages": said})
        reply = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
        await session.observe(reply | {"usage": {"input_tokens": 9, "output_tokens": 9}})
        said.append({"role": "assistant", "content": "Done."})

    await say("Always use npm to install packages.")
    await say("Never commit to the main branch.")
    await say("Always write tests with pytest.")
    (rule,) = [path for path in folder.glob("*.md") if "npm" in path.read_text()
               and path.name != "MEMORY.md"]  # fmt: skip
    rewrite_in_place(rule, "packages", "all packages")
    await say("Never use npm to install packages, use pnpm.")
    await session.close()
    memories = {each.name: each.read_text() for each in folder.glob("*.md")}
    await engine.close()

    assert any("pnpm" in text for name, text in memories.items() if name != "MEMORY.md"), memories
    assert not any("Always use npm" in text for text in memories.values())


@pytest.mark.covers("AM-10")
async def test_a_write_lists_the_files_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also a moment after the last one; what another program changed in place since is known."""
    monkeypatch.setattr(folder_mtimes, "MIN_DETECTOR_FILES", 3)
    engine = open_engine(tmp_path)
    folder = add_memories(engine, tmp_path)
    memory = engine.memory(str(tmp_path))
    listed = note_listings(monkeypatch)

    memory.add("The parcels of the warehouse come from the harbour.", name="parcels")
    after_add = listed.count(folder)
    memory.edit("parcels.md", (folder / "parcels.md").read_text() + "And from the station.\n")
    after_edit = listed.count(folder)
    rewrite_in_place(folder / "mails.md", "ledger", "archive")
    memory.forget(["mails.md"])
    why = [each.why.actor for each in memory.folder.history.list_changes("mails.md")]
    memory.undo()

    assert (after_add, after_edit) == (1, 2)
    assert why == ["user", "other", "user"]
    assert "archive" in (folder / "mails.md").read_text()
    await engine.close()


@pytest.mark.covers("AM-10")
@pytest.mark.usefixtures("few_files")
async def test_a_write_at_a_prompt_records_what_was_changed_in_place_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the times of folders are trusted, undoing the write gives back the other program's
    words, not those before them. Within one scan another one changes nothing.
    """
    monkeypatch.setattr(folder_mtimes, "RELIST_SECONDS", 1_000.0)
    engine = open_engine(tmp_path)
    folder = add_memories(engine, tmp_path)
    memory = engine.memory(str(tmp_path))
    memory.headers()
    listed = note_listings(monkeypatch)

    with memory.scan_once(at_prompt=True):
        memory.edit("colours.md", (folder / "colours.md").read_text() + "All of them.\n")
        with memory.scan_once():
            memory.headers()
        memory.headers()
        before = listed.count(folder)
        rewrite_in_place(folder / "mails.md", "ledger", "archive")
        memory.edit("mails.md", (folder / "mails.md").read_text() + "All of them.\n")
    why = [each.why.actor for each in memory.folder.history.list_changes("mails.md")]
    memory.undo()

    assert before == 0
    assert why == ["user", "other", "user"]
    said = (folder / "mails.md").read_text()
    assert "archive" in said
    assert "All of them" not in said
    await engine.close()


@pytest.mark.covers("RC-6")
async def test_sessions_of_a_project_share_the_search_in_its_memories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is read once for all sessions, also after some are closed. Where its file was
    removed meanwhile, as by `memory forget --hard`, it is made anew.
    """
    reads: list[int] = []

    def count(rows: Iterable[StoredIndexRow]) -> EntryColumns:
        reads.append(1)
        return build_entry_columns(rows)

    monkeypatch.setattr(ranker, "build_entry_columns", count)
    engine = open_engine(tmp_path)
    folder = add_memories(engine, tmp_path)
    shown, made = [], []
    for name, subject in (("a", "colours"), ("b", "invoices"), ("c", "mails")):
        if name == "c":
            for file in folder.parent.rglob("recall.sqlite*"):
                file.unlink()
        reads.clear()
        session = engine.observe_session(name, project=str(tmp_path))
        shown.append(await ask(session, f"where do the {subject} of the warehouse come from"))
        made.append(len(reads))
        await session.close()
    index_is_there = any(folder.parent.rglob("recall.sqlite"))
    await engine.close()

    assert all("ledger" in text for text in shown), shown
    assert made[1] == 0
    assert made[2] > 0
    assert index_is_there


class CountingEmbedder:
    """Counts what is embedded, slowly."""

    name = "counting"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        self.texts += texts
        time.sleep(0.01)
        return [array("f", [1.0] + [0.0] * 7).tobytes() for _ in texts]


@pytest.mark.covers("RC-6")
def test_sessions_that_begin_at_once_embed_each_memory_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight searches of one folder, as of eight sessions of a server, share the work: the second
    finds done what the first did.
    """
    pytest.importorskip("numpy")
    model = CountingEmbedder()
    monkeypatch.setattr(memory_search, "is_embedder_installed", lambda: True)
    monkeypatch.setattr(memory_search, "get_shared_embedder", lambda: model)
    monkeypatch.setattr(entry_vectors, "COHORT_MESSAGES", ("a message",))
    monkeypatch.setattr(entry_vectors, "COHORT_MEMORIES", ("a memory",))
    monkeypatch.setattr(memory_search, "EMBEDDING_BATCH", 1)
    engine = open_engine(tmp_path)
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    add_memories(engine, project)
    searches = [
        memory_search.MemoryFolderSearch(engine.memory(str(project)).folder, RecallSettings())
        for _ in range(8)
    ]

    for each in searches:
        each.sync_index()
    threads = [each for each in threading.enumerate() if each.name == "memorist-embed"]
    for thread in threads:
        thread.join()
    for each in searches:
        each.close()

    assert len(threads) > 1
    assert len([text for text in model.texts if "warehouse" in text]) == 4


def test_an_index_in_sync_is_read_without_an_entry_for_each_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first prompt of a process beside ten thousand memories made and checked as many."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    engine = open_engine(tmp_path)
    add_memories(engine, project)
    folder, settings = engine.memory(str(project)).folder, RecallSettings(embeddings=False)
    former = memory_search.MemoryFolderSearch(folder, settings)
    former.sync_index()
    former.close()

    made: list[object] = []
    monkeypatch.setattr(memory_search, "SearchEntry", lambda **fields: made.append(fields))
    again = memory_search.MemoryFolderSearch(folder, settings)
    found = again.search("where do the invoices come from?", 4)
    again.close()

    assert found[0].path == "invoices.md"
    assert not made


def test_an_explanation_says_that_meaning_is_missing_and_it_is_computed_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page waited twenty seconds for the vectors of two thousand new memories, and what was
    left of them then was computed at the next question only.
    """
    pytest.importorskip("numpy")
    model, may_embed = CountingEmbedder(), threading.Event()
    monkeypatch.setattr(memory_search, "is_embedder_installed", lambda: True)
    monkeypatch.setattr(memory_search, "get_shared_embedder", lambda: may_embed.wait() and model)
    monkeypatch.setattr(entry_vectors, "COHORT_MESSAGES", ("a message",))
    monkeypatch.setattr(entry_vectors, "COHORT_MEMORIES", ("a memory",))
    monkeypatch.setattr(memory_search, "EMBEDDING_BATCH", 1)
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    memory = (engine := open_engine(tmp_path)).memory(str(project))
    add_memories(engine, project)
    question = "where do the invoices of the warehouse come from?"

    first = explain_recall(memory, RecallSettings(), question, 5, embedding_wait=0.05)
    may_embed.set()
    for thread in threading.enumerate():
        if thread.name == "memorist-embed":
            thread.join()
    embedded = len([text for text in model.texts if "warehouse" in text])
    second = explain_recall(memory, RecallSettings(), question, 5)

    assert (first.is_by_words_alone, embedded, second.is_by_words_alone) == (True, 4, False)


@pytest.mark.usefixtures("few_files")
async def test_a_correction_of_what_was_just_changed_in_place_comes_with_the_answer(
    tmp_path: Path,
) -> None:
    """A thread looks at each file beside the prompt, and has by the answer."""
    engine = open_engine(tmp_path)
    folder = add_memories(engine, tmp_path)
    memory = engine.memory(str(tmp_path))
    memory.add("The linter stops at 30 lines.", kind=MemoryKind.PROJECT, name="lines")
    session = await engine.open("s", project=str(tmp_path))
    messages: list[dict[str, object]] = [{"role": "user", "content": "hello, what is new?"}]
    await session.prepare({"model": "m", "max_tokens": 10, "messages": messages})
    rewrite_in_place(folder / "lines.md", "The linter stops at 30", "Keep functions under 40")

    said = "Make that 60 lines per function, 40 was too strict."
    messages += [{"role": "assistant", "content": "Done."}, {"role": "user", "content": said}]
    await session.prepare({"model": "m", "max_tokens": 10, "messages": messages})
    await session.observe({"role": "assistant", "content": [{"type": "text", "text": "Done."}]})

    assert said in [each.description for each in memory.headers()]
    await session.close()


async def test_the_index_is_judged_when_the_turn_that_changed_it_ends(tmp_path: Path) -> None:
    """The next session is shown the new line, and does not judge two hundred lines while it
    waits.
    """
    drop_planted_order_lines.cache_clear()
    async with open_engine(tmp_path) as engine:
        add_memories(engine, tmp_path)
        request = {"model": "m", "messages": [{"role": "user", "content": "Always use pnpm here."}]}
        first = await engine.open("first", project=str(tmp_path))
        await first.prepare(request)
        await first.observe({"role": "assistant", "content": [{"type": "text", "text": "Yes."}]})
        await first.end_turn()
        for thread in threading.enumerate():
            if thread.name == "memorist-judge-index":
                thread.join()
        judged = drop_planted_order_lines.cache_info().misses

        second = await engine.open("second", project=str(tmp_path))
        prepared = await second.prepare(
            {"model": "m", "messages": [{"role": "user", "content": "Where do mails come from?"}]}
        )

    assert "pnpm" in str(prepared)
    assert drop_planted_order_lines.cache_info().misses == judged

"""The same made-up conversation given to memorist without a model, to mem0 and to LangMem, and the
same questions asked of all three. Runs in an environment of its own (`make bench NAME=peers`).

The model of the two others is a script on loopback, in their favour: it answers a request to
extract facts with the user's statement word for word, and one for chatter with nothing. It always
adds; a real model may replace. All three rank with the same embedding model, all-MiniLM-L6-v2;
memorist is also measured without it.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from struct import unpack
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from benchmarks.report import BenchResult, BenchRow
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_name_lookup import find_memory_folder_and_path
from memorist.core.messages import JsonObject
from memorist.core.token_count import estimate_text_tokens
from memorist.engine.blocking_engine import BlockingMemorist, BlockingSession
from memorist.engine.engine import Memorist
from memorist.models.embedder import MiniLmEmbedder, is_embedder_installed
from memorist.ports import Request
from memorist.settings import RecallSettings, Settings
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import CallTool, HttpError, Say, Step

STATEMENTS = Path(__file__).parent / "labels" / "peers.jsonl"
FIRST = 3
"""Results of a search that count."""
USER = "dev"


class PeerStatement(Struct, frozen=True):
    """One message of the user. `mark` stands in a result that has its fact, and is empty for
    chatter; `corrected` stands in one that has the correction.
    """

    said: str
    mark: str = ""
    question: str = ""
    correction: str = ""
    corrected: str = ""


class PeerMemory(Protocol):
    """A memory that takes in messages and answers questions."""

    def add(self, said: str) -> None:
        """Take in one message of the user."""

    def search(self, question: str) -> Sequence[str]:
        """The texts of the first results."""


class StatementScript:
    """The model of the others: its answer to whatever is asked is the fact `fact`, in the form of
    the asker; nothing where it is empty.
    """

    def __init__(self) -> None:
        self.fact = ""
        self.down = False

    def __call__(self, request: Request) -> Step:
        """Answer one request."""
        if self.down:
            return HttpError(code=401, message="the account is closed")
        if "tools" in request.body:
            fact: JsonObject = {"content": self.fact}
            return CallTool(name="Memory", input=fact) if self.fact else Say(text="Nothing new.")
        facts = [{"id": "0", "text": self.fact, "attributed_to": "user"}] if self.fact else []
        return Say(text=json.dumps({"memory": facts}))


class MemoristPeer:
    """memorist without a model: what is said goes through a session, and what is asked through
    `Session.search_project` of a later one.
    """

    def __init__(self, engine: BlockingMemorist, memory: AutoMemory, project: Path) -> None:
        self._engine = engine
        self.memory = memory
        """The memory of the project."""
        self._project = str(project)
        self._messages: list[JsonObject] = []
        self._session: BlockingSession = engine.open("said", project=self._project)
        self._later: BlockingSession | None = None

    def add(self, said: str) -> None:
        """One turn of a host."""
        self._messages.append({"role": "user", "content": said})
        self._session.prepare({"model": "m", "max_tokens": 100, "messages": self._messages})
        reply: JsonObject = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
        self._session.observe(reply)
        self._messages.append(reply)
        self._session.end_turn()

    def search(self, question: str) -> Sequence[str]:
        """The memories found, whole."""
        if self._later is None:
            self._session.close()
            self._later = self._engine.open("later", project=self._project)
        found = self._later.search_project(question, FIRST).memories[:FIRST]
        located = [find_memory_folder_and_path(self.memory, match.path) for match in found]
        return [owner.read_memory_with_suspicions(path)[0].body for owner, path in located]

    def show(self, number: int, question: str) -> str:
        """The request of a new session that begins with the question, as it goes out."""
        with self._engine.open(f"asked-{number}", project=self._project) as session:
            asked: JsonObject = {"role": "user", "content": question}
            request = session.prepare({"model": "m", "max_tokens": 100, "messages": [asked]})
        return json.dumps(request)


class Mem0Peer:
    """mem0 with its vector store on disk."""

    def __init__(self, base_url: str, folder: Path, embeddings: object) -> None:
        from mem0 import Memory  # noqa: PLC0415 - only in the environment of this measurement

        model = {"model": "m", "api_key": "any", "openai_base_url": base_url}
        store = {"path": str(folder / "vectors"), "embedding_model_dims": 384}
        self._memory = Memory.from_config(
            {
                "llm": {"provider": "openai", "config": model},
                "embedder": {"provider": "langchain", "config": {"model": embeddings}},
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": str(folder / "history.db"),
            }
        )

    def add(self, said: str) -> None:
        """Have the model extract from one message."""
        self._memory.add([{"role": "user", "content": said}], user_id=USER)

    def search(self, question: str) -> Sequence[str]:
        """The memories found."""
        found = self._memory.search(question, filters={"user_id": USER}, top_k=FIRST)
        return [each["memory"] for each in found["results"]]


class LangMemPeer:
    """LangMem's store manager over LangGraph's store in memory."""

    def __init__(self, base_url: str, embeddings: object) -> None:
        from langchain_openai import ChatOpenAI  # noqa: PLC0415 - as above
        from langgraph.store.memory import InMemoryStore  # noqa: PLC0415
        from langmem import create_memory_store_manager  # noqa: PLC0415

        account: Any = "any"
        index: Any = {"dims": 384, "embed": embeddings}
        model = ChatOpenAI(model="m", api_key=account, base_url=base_url, max_retries=0)
        store = InMemoryStore(index=index)
        self._manager = create_memory_store_manager(
            model, namespace=("memories", USER), store=store
        )

    def add(self, said: str) -> None:
        """Have the model extract from one message."""
        self._manager.invoke({"messages": [{"role": "user", "content": said}]})

    def search(self, question: str) -> Sequence[str]:
        """The memories found."""
        found = self._manager.search(query=question, limit=FIRST)
        return [each.value.content for each in found]


def measure(data: Path) -> BenchResult:
    """One run of all; needs no data, and asks nothing of the network."""
    del data
    if not (find_spec("mem0") and find_spec("langmem") and is_embedder_installed()):
        return BenchResult("peers", absent="run `make bench NAME=peers`, which installs them")
    os.environ |= {"MEM0_TELEMETRY": "False", "LANGSMITH_TRACING": "false"}
    statements = _read_statements()
    rows: list[BenchRow] = []
    for embeddings in (False, True):
        rows += _memorist_rows(statements, embeddings=embeddings)
    embedding = _build_langchain_embedding()
    with _scripted_peer(lambda url, folder: Mem0Peer(url, folder, embedding)) as peer:
        rows += _peer_rows(f"mem0 {version('mem0ai')}", statements, *peer)
    with _scripted_peer(lambda url, _: LangMemPeer(url, embedding)) as peer:
        rows += _peer_rows(f"LangMem {version('langmem')}", statements, *peer)
    return BenchResult("peers", tuple(rows))


def _read_statements() -> list[PeerStatement]:
    return msgspec.json.Decoder(PeerStatement).decode_lines(STATEMENTS.read_bytes())


@contextmanager
def _scripted_peer(
    build: Callable[[str, Path], PeerMemory],
) -> Iterator[tuple[PeerMemory, StatementScript, ScriptedServer]]:
    script = StatementScript()
    with tempfile.TemporaryDirectory() as folder, ScriptedServer(script, strict=False) as server:
        os.environ["MEM0_DIR"] = folder
        yield build(server.openai_url, Path(folder)), script, server


def _build_langchain_embedding() -> object:
    from langchain_core.embeddings import Embeddings  # noqa: PLC0415 - as above

    model = MiniLmEmbedder()

    class MiniLmEmbedding(Embeddings):  # type: ignore[misc, unused-ignore]
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [list(unpack("<384f", vector)) for vector in model.embed(texts)]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    return MiniLmEmbedding()


def _memorist_rows(statements: Sequence[PeerStatement], *, embeddings: bool) -> Iterator[BenchRow]:
    name = "memorist, words and meaning" if embeddings else "memorist, words"
    settings = Settings(recall=RecallSettings(embeddings=embeddings))
    with tempfile.TemporaryDirectory() as folder:
        engine = Memorist(model="structural", home=folder, settings=settings)
        engine.starts_workers = False  # a process that would outlive the folder
        project = Path(folder) / "shop"
        with engine as blocking:
            peer = MemoristPeer(blocking, engine.memory(str(project)), project)
            yield from _memorist_figures(name, statements, peer)


def _memorist_figures(
    name: str, statements: Sequence[PeerStatement], peer: MemoristPeer
) -> Iterator[BenchRow]:
    yield from _measure_answers(name, statements, peer, lambda _: None)
    waiting = len(peer.memory.inbox.list_proposals())
    yield BenchRow(f"{name}: statements that wait in the inbox for the user's word", waiting)
    yield BenchRow(f"{name}: model calls", 0)
    yield BenchRow(f"{name}: tokens sent to a model", 0)
    asked = [each for each in statements if each.mark]
    shown = [peer.show(number, each.question) for number, each in enumerate(asked)]
    pairs = [(each, (text,)) for each, text in zip(asked, shown, strict=True)]
    had = sum(has_fact(*pair) for pair in pairs)
    outdated = sum(has_outdated(*pair) for pair in pairs if pair[0].corrected)
    yield BenchRow(f"{name}: facts in the request of a new session", had, f"of {len(asked)}")
    yield BenchRow(f"{name}: outdated facts in it", outdated)


def _peer_rows(
    name: str,
    statements: Sequence[PeerStatement],
    peer: PeerMemory,
    script: StatementScript,
    server: ScriptedServer,
) -> Iterator[BenchRow]:
    def answer_with(fact: str) -> None:
        script.fact = fact

    yield from _measure_answers(name, statements, peer, answer_with)
    sent = sum(estimate_text_tokens(each.raw.decode()) for each in server.received)
    yield BenchRow(f"{name}: model calls", len(server.received))
    yield BenchRow(f"{name}: tokens sent to a model", sent)
    script.down = True
    lost = sum(not _is_taken_in(peer, f"Never deploy part {number}.") for number in range(5))
    yield BenchRow(f"{name}: messages refused while the model is down", lost, "of 5")


def _is_taken_in(peer: PeerMemory, said: str) -> bool:
    try:
        peer.add(said)
    except Exception:  # noqa: BLE001 - each has its own; that it raises is what is counted
        return False
    return any(said in text for text in peer.search(said))


def _measure_answers(
    name: str,
    statements: Sequence[PeerStatement],
    peer: PeerMemory,
    answer_with: Callable[[str], Any],
) -> Iterator[BenchRow]:
    begin = time.perf_counter()
    for said, is_fact in list_messages(statements):
        answer_with(said if is_fact else "")
        peer.add(said)
    added = time.perf_counter()
    asked = [each for each in statements if each.mark]
    results = [peer.search(each.question) for each in asked]
    searched = time.perf_counter()
    corrected = [
        (each, texts) for each, texts in zip(asked, results, strict=True) if each.corrected
    ]
    found = sum(has_fact(each, texts) for each, texts in zip(asked, results, strict=True))
    outdated = sum(has_outdated(each, texts) for each, texts in corrected)
    yield BenchRow(f"{name}: facts in the first three results", found, f"of {len(asked)}")
    yield BenchRow(f"{name}: outdated facts among them", outdated, f"of {len(corrected)} corrected")
    yield BenchRow(f"{name}: taking in all messages (elapsed)", added - begin, "s")
    yield BenchRow(f"{name}: a question (elapsed)", 1000 * (searched - added) / len(asked), "ms")


def list_messages(statements: Sequence[PeerStatement]) -> list[tuple[str, bool]]:
    """All messages in order, the corrections last, each with whether it states a fact."""
    said = [(each.said, bool(each.mark)) for each in statements]
    return said + [(each.correction, True) for each in statements if each.correction]


def current_mark(statement: PeerStatement) -> str:
    """What stands in a result that holds the fact as it is now."""
    return statement.corrected or statement.mark


def has_fact(statement: PeerStatement, results: Sequence[str]) -> bool:
    """Whether a result holds the fact as it is now."""
    return any(current_mark(statement) in text for text in results)


def has_outdated(statement: PeerStatement, results: Sequence[str]) -> bool:
    """Whether a result holds what was corrected, and not the correction."""
    return any(statement.mark in text and statement.corrected not in text for text in results)

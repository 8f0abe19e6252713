"""What a user gets on public sets, through the product: decisions of past chats at the prompt
(sde-bench), and which memories a message is shown (PrecisionMemBench). FTS5 and the embedding alone
stand beside.

Neither set is part of memorist. The thresholds were chosen on these halves of the sets; the other
halves are kept for judging.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from benchmarks.datasets import BenchConversation, BenchTurn, locomo_file, read_locomo
from benchmarks.recall import ByMeaning, FullText
from benchmarks.report import BenchResult, BenchRow
from memorist.engine.engine import Memorist
from memorist.models.embedder import get_shared_embedder, is_embedder_installed
from memorist.ports import Embedder
from memorist.recall.calibration_texts import COHORT_MESSAGES
from memorist.recall.lexical_score import SearchEntry
from memorist.recall.memory_selection import (
    MemoryMatch,
    has_enough_search_words,
    list_relevant_memory_paths,
)
from memorist.recall.ranker import Ranker
from memorist.recall.session_index import SessionIndex
from memorist.rollouts.session_sources import SourceFolder, scan_for_changed_rollouts
from memorist.settings import Settings
from memorist.store.home_layout import Layout
from memorist.store.rollout_rows import save_rollouts
from memorist.store.state_database import open_state_database

Json = Mapping[str, Any]


def measure(data: Path) -> BenchResult:
    """Run both halves; nothing where they are not there."""
    rows: list[BenchRow] = []
    chats = data / "public" / "sde-bench"
    if chats.is_dir():
        rows += asyncio.run(_measure_decisions(chats))
    if locomo_file(data).exists():
        rows += _measure_conversations(
            data, get_shared_embedder() if is_embedder_installed() else None
        )
    beliefs = data / "public" / "precisionmembench"
    if beliefs.is_dir():
        rows += _measure_beliefs(beliefs, None, "words")
        if is_embedder_installed():
            rows += _measure_beliefs(beliefs, get_shared_embedder(), "words and meaning")
    return BenchResult("public", tuple(rows), "" if rows else f"no public sets below {data}")


def _read(path: Path) -> list[Json]:
    found: list[Json] = msgspec.json.decode(path.read_bytes())
    return found


def _turns_of(chat: Sequence[Any]) -> list[Json]:
    """The turns of a chat, or of several that follow each other."""
    return [turn for part in chat for turn in (part if isinstance(part, list) else [part])]


def write_chat(folder: Path, id: str, turns: Sequence[Json], project: str) -> None:
    """Write a chat as Claude Code records it."""
    lines = []
    before = None
    for number, turn in enumerate(turns):
        text = turn["text"]
        uuid = f"{id}-{number}"
        lines.append(
            {
                "type": turn["role"],
                "uuid": uuid,
                "parentUuid": before,
                "sessionId": id,
                "cwd": project,
                "timestamp": f"2026-11-01T10:{number % 60:02d}:00Z",
                "message": {
                    "id": uuid,
                    "role": turn["role"],
                    "content": text if turn["role"] == "user" else [{"type": "text", "text": text}],
                },
            }
        )
        before = uuid
    (folder / f"{id}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


TUNED_CONVERSATIONS = 4
"""LoCoMo's first conversations, which the ranker's weights were chosen on."""


FoundTurns = tuple[list[frozenset[str]], frozenset[str]]
"""For a question the turns of each found passage, best first, and the turns that answer it."""


def _measure_conversations(data: Path, embedder: Embedder | None) -> list[BenchRow]:
    """LoCoMo as past sessions: one speaker is the user, the other the agent, each conversation a
    project; a turn counts as found where the passage it stands in is.
    """
    whole = read_locomo(locomo_file(data))
    answered = [_search_conversation(each, embedder) for each in whole]
    rows = []
    for part, name in (
        (answered[:TUNED_CONVERSATIONS], "tuned on"),
        (answered[TUNED_CONVERSATIONS:], "held back"),
    ):
        for way in part[0] if part else ():
            for count in (5, 10):
                shares = [[_share_found(found, count) for found in each[way]] for each in part]
                head = f"LoCoMo as past sessions, {name}, {way}: turns in {count} passages"
                rows.append(BenchRow(head, fmean(share for each in shares for share in each)))
                rows.append(BenchRow(f"{head}, worst conversation", min(map(fmean, shares))))
    return rows


def _share_found(found: FoundTurns, count: int) -> float:
    passages, evidence = found
    return len(evidence & set().union(*passages[:count])) / len(evidence)


def _search_conversation(
    conversation: BenchConversation, embedder: Embedder | None
) -> dict[str, list[FoundTurns]]:
    """What memorist finds for each question, and beside it FTS5 and the embedding alone over the
    same passages, by the way.
    """
    with tempfile.TemporaryDirectory() as place:
        spoken = _record_conversation(conversation, Path(place, "recorded"))
        sessions = scan_for_changed_rollouts(
            [SourceFolder(Path(place, "recorded"), is_named=True)]
        ).threads
        with (
            closing(SessionIndex(Path(place, "index"))) as index,
            closing(SessionIndex(Path(place, "meaning"), embedder=embedder)) as meaning,
        ):
            index.sync(sessions)
            spans: dict[str, frozenset[str]] = {}
            passages = []
            for session, said in spoken.items():
                parts = index.read_passages_from(session, 0, 10_000)[1]
                ends = [each.line for each in parts[1:]] + [1 << 30]
                for part, end in zip(parts, ends, strict=True):
                    id = f"{session}#{part.line}"
                    spans[id] = frozenset(turn for line, turn in said if part.line <= line < end)
                    passages.append(BenchTurn(id, "", f"{part.said}\n{part.answered}", session, ""))
            texts = BenchConversation(conversation.name, tuple(passages), ())
            ways: dict[str, Callable[[str], list[str]]] = {
                "FTS5 porter": partial(FullText(texts, "porter unicode61").find, limit=10),
                "words": partial(_find_passages, index, place),
            }
            if embedder is not None:
                meaning.sync(sessions)
                meaning.embed_missing_passages(place)
                ways["the embedding alone"] = partial(ByMeaning(texts, embedder).find, limit=10)
                ways["words and meaning"] = partial(_find_passages, meaning, place)
            return {
                way: [
                    ([spans[id] for id in find(question.text)], question.evidence)
                    for question in conversation.questions
                ]
                for way, find in ways.items()
            }


def _find_passages(index: SessionIndex, project: str, question: str) -> list[str]:
    found = index.search(question, 10, project=project)
    return [f"{each.session}#{each.passage.line}" for each in found]


def _record_conversation(
    conversation: BenchConversation, folder: Path
) -> dict[str, list[tuple[int, str]]]:
    """Write a conversation as recorded sessions; returns each turn's line and id by session."""
    folder.mkdir()
    turns = defaultdict[str, list[BenchTurn]](list)
    for turn in conversation.turns:
        turns[turn.session].append(turn)
    user = conversation.turns[0].speaker
    for session, said in turns.items():
        texts = [
            {"role": "user" if each.speaker == user else "assistant", "text": each.text}
            for each in said
        ]
        write_chat(folder, session, texts, str(folder.parent))
    return {
        session: [(at, each.id) for at, each in enumerate(said, 1)]
        for session, said in turns.items()
    }


async def _measure_decisions(folder: Path) -> list[BenchRow]:
    tasks, decoys = _read(folder / "tasks.json"), _read(folder / "decoys.json")
    chats = {
        **{f"task-{at:03d}": _turns_of(each["conversations"]) for at, each in enumerate(tasks)},
        **{f"chat-{at:03d}": _turns_of(each["turns"]) for at, each in enumerate(decoys)},
    }
    with tempfile.TemporaryDirectory() as place:
        project, recorded = Path(place, "project"), Path(place, "recorded")
        for each in (project, recorded):
            each.mkdir()
        for id, turns in chats.items():
            write_chat(recorded, id, turns, str(project))
        settings = Settings(home=str(Path(place, "home")))
        layout = Layout(Path(settings.home))
        state = open_state_database(settings.state, layout.database)
        found = scan_for_changed_rollouts([SourceFolder(recorded, is_named=True)]).threads
        save_rollouts(state, found)
        state.close()
        with closing(SessionIndex(layout.session_index)) as index:
            index.sync(found)
        engine = Memorist(settings=settings)
        engine.starts_workers = False

        async def shown(number: int, prompt: str) -> str:
            session = engine.observe_session(f"now-{number}", project=str(project))
            texts = await session.recall_for_prompt(prompt)
            await session.close()
            return "\n".join(texts)

        hits = [
            f"session task-{at:03d}" in await shown(at, each["bug_report"])
            for at, each in enumerate(tasks)
        ]
        disturbed = [bool(await shown(1_000 + at, each)) for at, each in enumerate(COHORT_MESSAGES)]
        await engine.close()
    whole = BenchConversation(
        "sde-bench",
        tuple(
            BenchTurn(id, "", "\n".join(turn["text"] for turn in turns), id, "")
            for id, turns in chats.items()
        ),
        (),
    )
    plain = FullText(whole, "porter unicode61")
    beside = [
        f"task-{at:03d}" in plain.find(each["bug_report"], 3) for at, each in enumerate(tasks)
    ]
    return [
        BenchRow("sde-bench, half: decision shown at the prompt", 100 * fmean(hits), "%"),
        BenchRow(
            "sde-bench, half: prompts about something else disturbed", 100 * fmean(disturbed), "%"
        ),
        BenchRow("sde-bench, half: FTS5 porter, in the first three", 100 * fmean(beside), "%"),
    ]


def _measure_beliefs(folder: Path, embedder: Embedder | None, way: str) -> list[BenchRow]:
    cases = _read(folder / "retrieval.cases.json")
    beliefs = _read(folder / "beliefs.seed.json")
    passed, active, precision = [], [], []
    for case in cases:
        wanted = case["expect"].get("relevantBeliefs", {}).get("shouldOnlyInclude")
        if wanted is None:
            continue
        got = _shown_beliefs(case, beliefs, embedder)
        passed.append(got == set(wanted))
        if wanted:
            active.append(got == set(wanted))
            precision.append(len(got & set(wanted)) / max(1, len(got)))
    head = f"PrecisionMemBench, half, {way}"
    return [
        BenchRow(f"{head}: cases passed of {len(passed)}", sum(passed)),
        BenchRow(f"{head}: active ones of {len(active)}", sum(active)),
        BenchRow(f"{head}: mean precision of active ones", fmean(precision)),
    ]


def _shown_beliefs(case: Json, beliefs: Sequence[Json], embedder: Embedder | None) -> set[str]:
    """Ids of the beliefs shown for a case; pinned ones and open questions are scored elsewhere."""
    user = case.get("userId", "test-user")
    mine = [
        each
        for each in beliefs
        if each["user_id"] == user
        and set(each["scope"]) & set(case["scope"])
        and not each.get("superseded_by")  # such a memory's status is not active
    ]
    entries = [
        SearchEntry(
            id=each["_id"],
            title=each["canonical_name"],
            description=", ".join(each["aliases"]),
            body=each["content"],
        )
        for each in mine
    ]
    if not has_enough_search_words(case["query"]):
        return set()
    with (
        tempfile.TemporaryDirectory() as place,
        Ranker(Path(place, "index"), embedder=embedder) as ranker,
    ):
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
            for each in ranker.search(case["query"], 20)
        ]
    relevant = list_relevant_memory_paths(case["query"], matches, len(mine))
    shown = [each.path for each in matches if each.path in relevant][:5]
    elsewhere = {
        each["_id"] for each in beliefs if each["pinned"] or each["type"] == "open_question"
    }
    return set(shown) - elsewhere

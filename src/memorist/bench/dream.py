"""What a dream settles of five hundred made memories, by rule and by a model's fork, and what it settles wrongly (DR-5)."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
import tempfile
import time
from pathlib import Path

import msgspec

from memorist.auto_memory.changes import Change, Why
from memorist.auto_memory.dates import absolute
from memorist.auto_memory.kinds import Kind, Trust
from memorist.auto_memory.run import AutoMemory
from memorist.auto_memory.settings import AutoMemorySettings
from memorist.auto_memory.topic import Provenance, encode, new_topic
from memorist.bench.dream_corpus import Case, Corpus, corpus
from memorist.bench.result import Result, Row
from memorist.context.settings import ContextSettings
from memorist.dream.journal import Dreamt
from memorist.dream.run import Dream, DreamMeans
from memorist.dream.settings import DreamSettings
from memorist.dream.writing.run import Place
from memorist.forks.governor import Ungoverned
from memorist.forks.spec import ForkLimits
from memorist.ports import Model, Request
from memorist.store.files import DiskFiles
from memorist.store.layout import Layout
from memorist.testing.clock import FrozenClock
from memorist.testing.scripted import ScriptedModel
from memorist.testing.steps import Say, Step

DAY = 86_400.0
START = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC).timestamp()
"""A Monday."""
SETTINGS = DreamSettings(questions=500)


def measure(data: Path) -> Result:
    """Make the folder, dream once by rule, and once more with a scripted model. Recorded sessions are not needed."""
    del data
    with tempfile.TemporaryDirectory() as home:
        rows = asyncio.run(_rows(Path(home)))
    return Result("dream", tuple(rows))


async def _rows(home: Path) -> list[Row]:
    made = corpus()
    clock = FrozenClock(START)
    memory = written(made, home, clock)
    before = texts(memory)
    began = time.process_time()
    dreamt = await dream_of(memory, clock, None).dream("bench", ())
    seconds = time.process_time() - began
    rows = [*settled(made, before, texts(memory), dreamt), Row("CPU time of the dream by rule", seconds, "s")]
    memory.undo(dreamt.change)
    same = sum(body == before.get(path) for path, body in texts(memory).items())
    rows.append(Row("memories as they were after one undo", float(same), f"of {len(before)}", f"{len(before)}", same == len(before)))
    rows += await _by_model(home / "model", made)
    memory.close()
    return rows


def written(made: Corpus, home: Path, clock: FrozenClock) -> AutoMemory:
    """The corpus as a folder with its history, one change a day and writer."""
    memory = AutoMemory(Layout(home).memory("/bench"), files=DiskFiles(durable=False), clock=clock, settings=AutoMemorySettings())
    first = clock.now()
    gone = [
        Change(path=path, before=None, after=_data(Case(path=path, body=f"Told in {path}.", kind="reference", day=0))) for path in made.gone
    ]
    memory.folder.apply(gone, Why(actor="extraction", what="gone"))
    memory.folder.apply([Change(path=each.path, before=each.after, after=None) for each in gone], Why(actor="user", what="forget"))
    for day in sorted({case.day for case in made.cases}):
        clock.advance(first + day * DAY - clock.now())
        for actor in ("extraction", "import"):
            cases = [case for case in made.cases if case.day == day and case.actor == actor]
            why = Why(actor="extraction" if actor == "extraction" else "import", what=f"day {day}")
            memory.folder.apply([Change(path=case.path, before=None, after=_data(case)) for case in cases], why)
    clock.advance(30 * DAY)
    return memory


def _data(case: Case) -> bytes:
    name = case.path.removesuffix(".md")
    topic = new_topic(
        case.path, kind=Kind(case.kind), name=name, description=case.body, body=case.body, provenance=Provenance(trust=Trust.DERIVED)
    )
    return encode(topic.text())


def texts(memory: AutoMemory) -> dict[str, str]:
    """The text of each memory."""
    return {head.path: memory.folder.read(head.path).body for head in memory.heads()}


def dream_of(memory: AutoMemory, clock: FrozenClock, model: Model | None) -> Dream:
    """The dreams of a folder that belongs to no session."""
    place = Place(
        where=memory.where,
        project="",
        files=DiskFiles(durable=False),
        clock=clock,
        memory=memory.settings,
        dream=SETTINGS,
        context=ContextSettings(),
    )
    return Dream(
        DreamMeans(
            place=place,
            settings=lambda: SETTINGS,
            model=model,
            limits=ForkLimits(),
            governor=Ungoverned(),
            past=list,
            uses=dict,
            tell=_nothing,
            record=_nothing,
        )
    )


def _nothing(told: object) -> None:
    del told


def settled(made: Corpus, before: dict[str, str], after: dict[str, str], dreamt: Dreamt) -> list[Row]:
    """What was settled of each kind, and what was done that may not be."""
    merged = sum(len(pair & after.keys()) == 1 for pair in made.same)
    wrong = sum(len(pair & after.keys()) < 2 for pair in (*made.alike, *made.contrary))
    wrong += sum(not pair & after.keys() for pair in made.same)
    dead = sum("[[" not in after.get(path, "[[") for path in made.dead)
    broken = sum(after.get(path) != before[path] for path in made.living)
    days = {case.path: case.day for case in made.cases}
    dated = sum(after.get(path) == absolute(before[path], START + days[path] * DAY) for path in made.dated)
    misdated = sum(after.get(path) != before[path] for path in made.undated)
    asked = {path for _, path, _ in dreamt.waiting}
    contrary = sum(bool(pair & asked) for pair in made.contrary)
    touched = {path for pair in (*made.same, *made.alike, *made.contrary) for path in pair}
    others = before.keys() - touched - {*made.dead, *made.dated}
    harmed = sum(after.get(path) != before[path] for path in others)
    return [
        _all("pairs that say the same, made one", merged, len(made.same)),
        _none("pairs that only look the same or contradict, made one", wrong, len(made.alike) + len(made.contrary)),
        _all("links to memories that are gone, taken out", dead, len(made.dead)),
        _none("links that live, touched", broken, len(made.living)),
        _all("dates of a proven day, made absolute", dated, len(made.dated)),
        _none("words for days of no proven day, touched", misdated, len(made.undated)),
        _all("contradictions put to the person", contrary, len(made.contrary)),
        _none("other memories, touched", harmed, len(others)),
    ]


def _all(what: str, found: int, of: int) -> Row:
    return Row(what, float(found), f"of {of}", str(of), found == of)


def _none(what: str, found: int, of: int) -> Row:
    return Row(what, float(found), f"of {of}", "0", found == 0)


def scripted(request: Request) -> Step:
    """A model that takes out the older of three contradicting ports, and rewrites nothing."""
    names = [name for name in _named(request) if re.search(r"/third[-_][a-z]+[-_]\d+\.md", name)][:3]
    edits = [f'<write path="{name}">\nretired: the other one says it as it is now\n</write>' for name in names]
    return Say(text="\n\n".join([*edits, "Took out three."]))


def everything(request: Request) -> Step:
    """A model that takes out all that it is shown."""
    return Say(text="\n\n".join(f'<write path="{name}">\nretired: gone\n</write>' for name in _named(request)))


def _named(request: Request) -> list[str]:
    """The memories that a request shows."""
    return sorted(set(re.findall(r'<memory path="([^"]+)"', msgspec.json.encode(request.body).decode().replace('\\"', '"'))))


async def _by_model(home: Path, made: Corpus) -> list[Row]:
    """The same folder with a model: one that works, and one that takes everything out."""
    clock = FrozenClock(START)
    memory = written(made, home, clock)
    dreamt = await dream_of(memory, clock, ScriptedModel(scripted, format="anthropic")).dream("bench", ())
    retired = sum(act.did == "retired" for act in dreamt.acts)
    merged = sum(act.did == "merged" for act in dreamt.acts)
    clock.advance(DAY)
    count = len(memory.heads())
    hostile = await dream_of(memory, clock, ScriptedModel(everything, format="anthropic")).dream("bench", ())
    left = len(memory.heads())
    rows = [
        Row("with a model: memories that it took out, of three", float(retired), "", "3", retired == 3),
        Row("with a model: pairs that rules made one before it", float(merged), "", str(len(made.same)), merged == len(made.same)),
        Row(
            "a model that takes everything out: memories gone",
            float(count - left),
            f"of {count}",
            "0",
            count == left and bool(hostile.refused),
        ),
    ]
    memory.close()
    return rows

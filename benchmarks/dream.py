"""What a dream settles of five hundred made memories, by rule and by a model's fork, and what it
settles wrongly (DR-5).
"""

from __future__ import annotations

import asyncio
import datetime as dt
import re
import tempfile
import time
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.report import BenchResult, BenchRow
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.auto_memory.memory_file import MemoryKind, Provenance, Trust, create_memory_file
from memorist.auto_memory.relative_dates import make_dates_absolute
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.dream.dream import DreamExtension
from memorist.dream.dream_journal import DreamReport
from memorist.ports import Model, Request
from memorist.runtime import Runtime, SessionContext
from memorist.settings import AutoMemorySettings, DreamSettings, Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.testing.frozen_clock import FrozenClock
from memorist.testing.models import ScriptedModel
from memorist.testing.steps import Say, Step

# Five hundred made memories in which it is known what is the same, what only looks so, what
# contradicts, what points nowhere, and what was dated.


SUBJECTS = (
    "billing", "checkout", "search", "login", "catalogue", "shipping", "returns", "pricing", "reviews", "stock",
    "mail", "exports", "imports", "reports", "audit", "gateway", "cache", "queue", "mobile", "admin",
)  # fmt: skip
VARIANTS = (
    (
        "Run the {0} suite {1} with the recorded answers.",
        "run the {0} suite {1} with the recorded answers",
    ),
    ("Don't deploy {0} {1} without a second look.", "do not deploy {0} {1} without a second look."),
    ("- Keep the {0} fixtures {1} in `tests/data`.", "* keep the {0} fixtures {1} in `tests/data`"),
    (
        "Please ask the {0} owner about release {1} first.",
        "Ask the {0} owner about release {1} first",
    ),
)
"""Two ways to say the same, by rule."""
LOOKALIKES = (
    ("The {0} server {1} fails at night.", "The {0} servers {1} fail at night."),
    ("Deploy {0} {1} after the tests.", "Deploy {0} {1} before the tests."),
    ("The {0} limit {1} has 10 rows.", "The {0} limit {1} has 100 rows."),
    ("Use the {0} client {1} for reads.", "Use a {0} client {1} for reads."),
    ("Ask Ann, Bob and Carl about {0} {1}.", "Ask Carl, Bob and Ann about {0} {1}."),
    ("Copy {0} {1} from staging to production.", "Copy {0} {1} from production to staging."),
)
"""Two that differ in one thing, and may not become one."""
POLAR = ("Use the shared pool for {0} {1}", "Do not use the shared pool for {0} {1}")
VALUES = ("The port of {0} {1} is 8{2:03}", "The port of {0} {1} is 9{2:03}")


class DreamCase(Struct, frozen=True, kw_only=True):
    """A memory of the corpus."""

    path: str
    body: str
    kind: str
    day: int
    """Day on which it was written, from 0."""
    actor: str = "extraction"


class DreamCorpus(Struct, frozen=True, kw_only=True):
    """The memories, and what is known of them."""

    cases: tuple[DreamCase, ...]
    gone: tuple[str, ...]
    """Paths that were there once."""
    same: tuple[frozenset[str], ...]
    """Pairs that say the same."""
    alike: tuple[frozenset[str], ...]
    """Pairs that only look so."""
    contrary: tuple[frozenset[str], ...]
    dead: tuple[str, ...]
    """Memories with a link to one that is gone."""
    living: tuple[str, ...]
    """Memories with a link that stays: to one that is there, to one that was never written, in
    code, to a file of the repository.
    """
    dated: tuple[str, ...]
    """Memories with a date of a proven day."""
    undated: tuple[str, ...]
    """Memories whose words for days stay: rules, and texts of an unknown day."""


LIVING = (
    "Part {0} is told in [[{same_target}]].",
    "Part {0} deserves [[a-memory-not-yet-written-{0}]].",
    "Part {0} is written as `[[gone-1]]` in the template.",
    "Part {0} is told in [the guide](docs/guide-{0}.md) of the repository.",
)
DAYS = ("tomorrow", "next Friday", "in two weeks", "yesterday")


class _Making:
    """Adds cases and remembers them."""

    def __init__(self) -> None:
        self.cases: list[DreamCase] = []

    def add(
        self,
        name: str,
        body: str,
        *,
        kind: str = "project",
        day: int = 0,
        actor: str = "extraction",
    ) -> str:
        self.cases.append(DreamCase(path=f"{name}.md", body=body, kind=kind, day=day, actor=actor))
        return f"{name}.md"

    def pairs(
        self, name: str, forms: tuple[tuple[str, str], ...], count: int, kind: str
    ) -> tuple[frozenset[str], ...]:
        found = []
        for number in range(count):
            subject, form = SUBJECTS[number % len(SUBJECTS)], forms[number % len(forms)]
            both = [form[side].format(f"{name} {subject}", number, number) for side in (0, 1)]
            # Names that say no more than the text does: which of them is kept makes no difference.
            names = (f"{name}-{subject}-{number}", f"{name}_{subject}_{number}")
            found.append(
                frozenset(self.add(names[side], both[side], kind=kind, day=side) for side in (0, 1))
            )
        return tuple(found)

    def named(self) -> tuple[frozenset[str], ...]:
        """Pairs of the same text that are about two things, or two days."""
        found = [
            frozenset(
                self.add(
                    f"{place}-window-{number}",
                    f"It opens at {number} in the morning.",
                    kind="reference",
                )
                for place in ("berlin", "tokyo")
            )
            for number in range(10)
        ]
        found += [
            frozenset(
                self.add(
                    f"demo-{day}-{number}",
                    f"The demo {number} is tomorrow.",
                    kind="reference",
                    day=day,
                )
                for day in (3, 9)
            )
            for number in range(5)
        ]
        return tuple(found)

    def linked(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Memories with dead links, and with living ones."""
        there = self.cases[0].path.removesuffix(".md")
        dead = [
            self.add(
                f"dead-{number}",
                f"The plan of {SUBJECTS[number % 20]} stands in [[gone-{number % 8}]] since "
                f"round {number}.",
            )
            for number in range(40)
        ]
        living = [
            self.add(
                f"living-{number}-{form}", text.format(f"{form} of {number}", same_target=there)
            )
            for number in range(5)
            for form, text in enumerate(LIVING)
        ]
        return tuple(dead), tuple(living)

    def with_days(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Memories with a date of a proven day, and with words for days that stay."""
        dated = [
            self.add(
                f"dated-{number}",
                f"The {SUBJECTS[number % 20]} freeze number {number} begins "
                f"{DAYS[number % len(DAYS)]}.",
                day=number % 20,
            )
            for number in range(40)
        ]
        undated = [
            self.add(
                f"rule-{number}",
                f"Always note today's date in ledger {number} of {SUBJECTS[number]}.",
            )
            for number in range(10)
        ]
        undated += [
            self.add(
                f"found-{number}",
                f"Batch {number} of {SUBJECTS[number]} arrives tomorrow.",
                actor="import",
            )
            for number in range(10)
        ]
        return tuple(dated), tuple(undated)


def corpus(size: int = 500) -> DreamCorpus:
    """The corpus, the same each time."""
    making = _Making()
    same = making.pairs("first", VARIANTS, 60, "feedback")
    alike = (*making.pairs("second", LOOKALIKES, 60, "feedback"), *making.named())
    contrary = making.pairs("third", (POLAR, VALUES), 40, "project")
    dead, living = making.linked()
    dated, undated = making.with_days()
    for number in range(size - len(making.cases)):
        text = (
            f"Team {number} looks after {SUBJECTS[number % 20]} part {number}, and reports "
            f"to desk {number * 7}."
        )
        making.add(f"fact-{number}", text, kind="reference", day=number % 20)
    return DreamCorpus(
        cases=tuple(making.cases),
        gone=tuple(f"gone-{number}.md" for number in range(8)),
        same=same,
        alike=alike,
        contrary=contrary,
        dead=dead,
        living=living,
        dated=dated,
        undated=undated,
    )


DAY = 86_400.0
START = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC).timestamp()
"""A Monday."""
SETTINGS = DreamSettings(questions=500)


def measure(data: Path) -> BenchResult:
    """Make the folder, dream once by rule, and once more with a scripted model. Recorded sessions
    are not needed.
    """
    del data
    with tempfile.TemporaryDirectory() as home:
        rows = asyncio.run(_rows(Path(home)))
    return BenchResult("dream", tuple(rows))


async def _rows(home: Path) -> list[BenchRow]:
    made = corpus()
    clock = FrozenClock(START)
    memory = write_corpus(made, home, clock)
    before = read_memory_texts(memory)
    began = time.process_time()
    dreamt = await build_bench_dream(memory, clock, None).dream_now("bench", ())
    seconds = time.process_time() - began
    rows = [
        *judge_cases(made, before, read_memory_texts(memory), dreamt),
        BenchRow("CPU time of the dream by rule", seconds, "s"),
    ]
    memory.undo(dreamt.change)
    same = sum(body == before.get(path) for path, body in read_memory_texts(memory).items())
    rows.append(
        BenchRow(
            "memories as they were after one undo",
            float(same),
            f"of {len(before)}",
            f"{len(before)}",
            same == len(before),
        )
    )
    rows += await _by_model(home / "model", made)
    memory.close()
    return rows


def write_corpus(made: DreamCorpus, home: Path, clock: FrozenClock) -> AutoMemory:
    """The corpus as a folder with its history, one change a day and writer."""
    memory = AutoMemory(
        Layout(home).memory_layout("/bench"),
        files=DiskFiles(durable=False),
        clock=clock,
        settings=AutoMemorySettings(),
    )
    first = clock.now()
    gone = [
        MemoryChange(
            path=path,
            before=None,
            after=_data(DreamCase(path=path, body=f"Told in {path}.", kind="reference", day=0)),
        )
        for path in made.gone
    ]
    memory.folder.apply_changes(gone, ChangeReason(actor="extraction", what="gone"))
    memory.folder.apply_changes(
        [MemoryChange(path=each.path, before=each.after, after=None) for each in gone],
        ChangeReason(actor="user", what="forget"),
    )
    for day in sorted({case.day for case in made.cases}):
        clock.advance(first + day * DAY - clock.now())
        for actor in ("extraction", "import"):
            cases = [case for case in made.cases if case.day == day and case.actor == actor]
            why = ChangeReason(
                actor="extraction" if actor == "extraction" else "import", what=f"day {day}"
            )
            memory.folder.apply_changes(
                [MemoryChange(path=case.path, before=None, after=_data(case)) for case in cases],
                why,
            )
    clock.advance(30 * DAY)
    return memory


def _data(case: DreamCase) -> bytes:
    name = case.path.removesuffix(".md")
    topic = create_memory_file(
        case.path,
        kind=MemoryKind(case.kind),
        name=name,
        description=case.body,
        body=case.body,
        provenance=Provenance(trust=Trust.DERIVED),
    )
    return encode_file_text_as_utf8(topic.text())


def read_memory_texts(memory: AutoMemory) -> dict[str, str]:
    """The text of each memory."""
    return {head.path: memory.folder.read_memory_file(head.path).body for head in memory.headers()}


def build_bench_dream(
    memory: AutoMemory, clock: FrozenClock, model: Model | None
) -> DreamExtension:
    """The dreams of a folder that belongs to no session."""
    runtime = Runtime(
        settings=Settings(auto_memory=memory.settings, dream=SETTINGS),
        clock=clock,
        files=DiskFiles(durable=False),
        model=model,
    )
    return DreamExtension(SessionContext(runtime=runtime), memory.layout, past_sessions=list)


def judge_cases(
    made: DreamCorpus, before: dict[str, str], after: dict[str, str], dreamt: DreamReport
) -> list[BenchRow]:
    """What was settled of each kind, and what was done that may not be."""
    merged = sum(len(pair & after.keys()) == 1 for pair in made.same)
    wrong = sum(len(pair & after.keys()) < 2 for pair in (*made.alike, *made.contrary))
    wrong += sum(not pair & after.keys() for pair in made.same)
    dead = sum("[[" not in after.get(path, "[[") for path in made.dead)
    broken = sum(after.get(path) != before[path] for path in made.living)
    days = {case.path: case.day for case in made.cases}
    dated = sum(
        after.get(path) == make_dates_absolute(before[path], START + days[path] * DAY)
        for path in made.dated
    )
    misdated = sum(after.get(path) != before[path] for path in made.undated)
    asked = {path for _, path, _ in dreamt.waiting}
    contrary = sum(bool(pair & asked) for pair in made.contrary)
    touched = {path for pair in (*made.same, *made.alike, *made.contrary) for path in pair}
    others = before.keys() - touched - {*made.dead, *made.dated}
    harmed = sum(after.get(path) != before[path] for path in others)
    return [
        _all("pairs that say the same, made one", merged, len(made.same)),
        _none(
            "pairs that only look the same or contradict, made one",
            wrong,
            len(made.alike) + len(made.contrary),
        ),
        _all("links to memories that are gone, taken out", dead, len(made.dead)),
        _none("links that live, touched", broken, len(made.living)),
        _all("dates of a proven day, made absolute", dated, len(made.dated)),
        _none("words for days of no proven day, touched", misdated, len(made.undated)),
        _all("contradictions put to the person", contrary, len(made.contrary)),
        _none("other memories, touched", harmed, len(others)),
    ]


def _all(what: str, found: int, of: int) -> BenchRow:
    return BenchRow(what, float(found), f"of {of}", str(of), found == of)


def _none(what: str, found: int, of: int) -> BenchRow:
    return BenchRow(what, float(found), f"of {of}", "0", found == 0)


def scripted(request: Request) -> Step:
    """A model that takes out the older of three contradicting ports, and rewrites nothing."""
    names = [name for name in _named(request) if re.search(r"/third[-_][a-z]+[-_]\d+\.md", name)][
        :3
    ]
    edits = [
        f'<write path="{name}">\nretired: the other one says it as it is now\n</write>'
        for name in names
    ]
    return Say(text="\n\n".join([*edits, "Took out three."]))


def everything(request: Request) -> Step:
    """A model that takes out all that it is shown."""
    return Say(
        text="\n\n".join(
            f'<write path="{name}">\nretired: gone\n</write>' for name in _named(request)
        )
    )


def _named(request: Request) -> list[str]:
    """The memories that a request shows."""
    return sorted(
        set(
            re.findall(
                r'<memory path="([^"]+)"',
                msgspec.json.encode(request.body).decode().replace('\\"', '"'),
            )
        )
    )


async def _by_model(home: Path, made: DreamCorpus) -> list[BenchRow]:
    """The same folder with a model: one that works, and one that takes everything out."""
    clock = FrozenClock(START)
    memory = write_corpus(made, home, clock)
    dreamt = await build_bench_dream(
        memory, clock, ScriptedModel(scripted, format="anthropic")
    ).dream_now("bench", ())
    retired = sum(act.did == "retired" for act in dreamt.acts)
    asked = sum(path.startswith("third-") for _, path, _ in dreamt.waiting)
    merged = sum(act.did == "merged" for act in dreamt.acts)
    clock.advance(DAY)
    count = len(memory.headers())
    hostile = await build_bench_dream(
        memory, clock, ScriptedModel(everything, format="anthropic")
    ).dream_now("bench", ())
    left = len(memory.headers())
    rows = [
        BenchRow(
            "with a model: contradicted memories that it took out without asking, of three",
            float(retired),
            f"{asked} are put to the person",
            "0",
            retired == 0 and asked >= 3,
        ),
        BenchRow(
            "with a model: pairs that rules made one before it",
            float(merged),
            "",
            str(len(made.same)),
            merged == len(made.same),
        ),
        BenchRow(
            "a model that takes everything out: memories gone",
            float(count - left),
            f"of {count}",
            "0",
            count == left and bool(hostile.refused),
        ),
    ]
    memory.close()
    return rows

"""`make test-model`: a real model does all the work that memorist gives to a model, over small
recorded sessions, by the commands that a user has.

Each way must end as *accepted* (what the model wrote stands), or *structural* (what structure holds
serves, and the receipt says why). Quality is measured on the same input for both: the share of the
identifiers and content words of all that the user and the agent said (see `benchmarks.notes`).
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Literal

import click
import msgspec
from msgspec import Struct

from benchmarks.live_turn import play_live_turn
from benchmarks.notes import measure_notes_recall
from memorist.compaction.summary_review import MIN_EXTRACT_TOKENS
from memorist.config import load_settings
from memorist.core.messages import JsonObject, Message, Origin, Usage
from memorist.engine.engine import Memorist
from memorist.forks.fork_spec import ForkOutcome
from memorist.formats.format_detection import read_session
from memorist.models.local_model import find_model_file
from memorist.recall.contentless_message import has_no_searchable_content
from memorist.settings import AutoMemorySettings, RecallSettings
from memorist.store.transcript_reader import UnpackedUtf8Lines

WINDOW = 4_096
"""Context of the packaged model: small, so that sessions outgrow it and one run takes minutes."""

SESSIONS = ("agent-loop-log-rotation.jsonl", "codex-invoice-rounding.jsonl")
LINES = 40
"""Lines taken of each session of `examples/sessions`: a beginning is a session too."""

BUDGET = "2000"
"""Tokens of a compacted conversation: so few that the past has to be summarised."""

LIMITS = {
    "MEMORIST_MODELS__MAX_OUTPUT": "600",
    "MEMORIST_MODELS__TIMEOUT_SECONDS": "600",
    "MEMORIST_FORKS__SECONDS": "600",
    "MEMORIST_FORKS__TURNS": "2",
}
"""Settings of a run beside the defaults: a slow machine is waited for, a model in a loop is cut."""

MEMORIES = {
    "money-as-decimal": ("amounts of money", "Amounts are Decimal, two places, rounded half up."),
    "release-day": ("when a release goes out", "A release goes out on Tuesday, never on Friday."),
    "ferry-timetable": ("where the timetable is", "The timetable is at docs/ferry.md, by season."),
    "chart-colours": ("the look of the chart", "The chart is blue and grey, legend at the bottom."),
    "test-command": ("how tests are run", "Tests run by `pytest -q -x`, from the folder backend."),
    "log-rotation": ("rotation of logs", "Logs rotate at midnight; the newest twelve are kept."),
}
REPEATED = ("release-day", "release-day-again")
"""A memory, and the name of a copy written by hand: the one true repeat that a dream may merge."""

HOST_MODEL = "claude-opus-4-6"

QUESTIONS: tuple[tuple[str, str], ...] = (
    ("Which type do amounts of money get, and how are they rounded?", "money-as-decimal"),
    ("On which day may the release go out?", "release-day"),
    ("How do I run the tests of the backend?", "test-command"),
    ("How many rotated logs are kept?", "log-rotation"),
    ("Thanks, that is all for today.", ""),
)

MAGIC_DOC = "# MAGIC DOC: Rotation\n\n## How it works\n\nNothing is known yet.\n"


class ModelRun(Struct, frozen=True, kw_only=True):
    """One way over one input: what came of it, what it took, and its quality beside structure."""

    way: str
    source: str = ""
    outcome: str
    """`accepted`, `repaired` or `structural`."""
    why: str = ""
    requests: int = 0
    new: int = 0
    cached: int = 0
    written: int = 0
    refused: int = 0
    """Requests that were refused for their length."""
    quality: tuple[float, float] | None = None
    """Identifiers and words of the model's way."""
    structure: tuple[float, float] | None = None
    fault: str = ""
    """What breaks a requirement; empty where none is broken."""
    seconds: float = 0.0


class CommandLine(Struct, frozen=True):
    """memorist's own commands in a home of their own, with a model."""

    home: Path
    project: Path
    model: str

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; its exit status is the caller's to judge."""
        return subprocess.run(
            [sys.executable, "-m", "memorist", *arguments],
            cwd=self.project,
            env={**LIMITS, **os.environ, "MEMORIST_HOME": str(self.home), "HOME": str(self.home)},
            capture_output=True,
            text=True,
            check=False,
        )

    def receipts(self, label: str = "", home: Path | None = None) -> list[sqlite3.Row]:
        """The receipts of a label, oldest first; all without one."""
        file = (home or self.home) / "state.sqlite"
        if not file.exists():
            return []
        with closing(sqlite3.connect(file)) as database:
            database.row_factory = sqlite3.Row
            rows = database.execute("select * from receipts order by number").fetchall()
        return [row for row in rows if not label or row["label"] == label]


def _judge(way: str, rows: Sequence[sqlite3.Row], *, stands: bool, **more: Any) -> ModelRun:  # noqa: ANN401
    """A run from its receipts. One that ended without what the model wrote must say why."""
    sent = [each for row in rows for each in json.loads(row["sent"])]
    last = rows[-1] if rows else None
    why = " ".join(str(last["said"]).split())[:160] if last is not None else "it was not asked"
    if last is not None:
        why = why or f"the run ended as {last['outcome']}, and gave no reason"
    given = str(more.pop("why", "")) or why
    refused = sum(each.get("error") == "ContextTooLong" for each in sent)
    fault = str(more.pop("fault", "")) or (
        f"{refused} requests were refused for their length" if refused > 1 else ""
    )
    return msgspec.convert(
        {
            "way": way,
            "outcome": "accepted" if stands else "structural",
            "why": "" if stands else given,
            "requests": sum(row["requests"] for row in rows),
            "new": sum(row["input"] + row["cache_write"] for row in rows),
            "cached": sum(row["cache_read"] for row in rows),
            "written": sum(row["output"] for row in rows),
            "seconds": sum(row["seconds"] for row in rows),
            "refused": refused,
            "fault": fault,
            **more,
        },
        ModelRun,
    )


def _spoken(session: Path) -> list[str]:
    """What the user and the agent said, each message as one text."""
    messages = [
        each for each in read_session(UnpackedUtf8Lines(session)) if isinstance(each, Message)
    ]
    return [
        each.text
        for each in messages
        if each.text and (each.origin is Origin.USER or each.role == "assistant")
    ]


def _all_text(messages: Sequence[JsonObject]) -> str:
    return "\n".join(text for each in messages for text in _texts(each.get("content")))


def _texts(content: object) -> list[str]:
    """The texts of a message's content, without calls and their results."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    parts = [part for part in content if isinstance(part, dict)]
    return [str(part["text"]) for part in parts if isinstance(part.get("text"), str)]


def _quality(text: str, reference: str) -> tuple[float, float]:
    found = measure_notes_recall(text, reference, 0)
    return round(found.identifiers, 2), round(found.words, 2)


def _worse(model: tuple[float, float], structure: tuple[float, float]) -> str:
    lower = any(mine < theirs for mine, theirs in zip(model, structure, strict=True))
    return "accepted, but worse than structure" if lower else ""


def try_notes(line: CommandLine, session: Path) -> Iterator[ModelRun]:
    """Session memory and extraction by a replay, beside the replay by structure."""
    texts = {}
    for model in (line.model, "structural"):
        out = line.home / f"replay-{session.stem}-{'model' if model == line.model else 'none'}"
        line.run("replay", str(session), "--out", str(out), "--model", model)
        texts[model] = (out / session.stem / "session-memory" / "summary.md").read_text()
        if model == line.model:
            engine = out / "engine"
    reference = "\n".join(_spoken(session))
    rows = line.receipts("session_memory", engine)
    stands = any(row["outcome"] == "changed" for row in rows)
    ours, theirs = (_quality(texts[each], reference) for each in ("structural", line.model))
    yield _judge(
        "notes", rows, stands=stands, source=session.name, quality=theirs, structure=ours,
        fault=_worse(theirs, ours) if stands else "",
    )  # fmt: skip
    rows = line.receipts("extraction", engine)
    stands = any(row["outcome"] == "changed" for row in rows)
    yield _judge("extraction", rows, stands=stands, source=session.name)
    document = line.project / "ROTATION.md"
    document.write_text(MAGIC_DOC)
    before = len(line.receipts())
    done = line.run("docs", "update", document.name, "--session", str(out / session.stem),
                    "--model", line.model, "--json")  # fmt: skip
    stands = document.read_text() != MAGIC_DOC
    yield _judge(
        "Magic Docs", line.receipts()[before:], stands=stands, source=session.name,
        why="" if done.stdout.strip() else done.stderr.strip()[:160],
    )  # fmt: skip


MAX_FORK_TOKENS = 600
"""New tokens of a fork beside the conversation that the server has cached (FK-1)."""


def try_fork(
    line: CommandLine, session: Path, *, with_document: bool = False
) -> Iterator[ModelRun]:
    """The forks of a live turn: what they send beside what the server has cached of it."""
    way = "fork with a Magic Doc" if with_document else "fork"
    home = line.home / f"{way.replace(' ', '-')}-{session.stem}"
    environment = {**LIMITS, **os.environ, "MEMORIST_HOME": str(home)}
    settings = load_settings(environment, home=home).settings
    document = line.project / "LIVE.md" if with_document else None
    if document is not None:
        document.write_text(MAGIC_DOC)
    receipts = asyncio.run(
        play_live_turn(line.model, settings, session, home, line.project, document)
    )
    usage = sum((each.usage for each in receipts), Usage())
    new = usage.input + usage.cache_write
    changed = [each.label for each in receipts if each.outcome is ForkOutcome.CHANGED]
    yield ModelRun(
        way=f"{way} of a live turn",
        source=session.name,
        outcome="accepted" if changed else "structural",
        why="; ".join(f"{each.label}: {each.said[:80]}" for each in receipts),
        requests=sum(each.requests for each in receipts),
        new=new,
        cached=usage.cache_read,
        written=usage.output,
        seconds=sum(each.seconds for each in receipts),
        fault=f"{new} new tokens" if new > MAX_FORK_TOKENS else "",
    )


def try_compaction(line: CommandLine, session: Path, strategy: str) -> Iterator[ModelRun]:
    """A compaction by the model, beside an extract of the size of what it wrote."""
    compact = ("compact", str(session), "--json", "--budget")
    before = len(line.receipts())
    done = line.run(*compact, BUDGET, "--strategy", strategy, "--model", line.model)
    found, rows = json.loads(done.stdout), line.receipts()[before:]
    stands = found["strategy"] == strategy
    size = max(MIN_EXTRACT_TOKENS, sum(row["output"] for row in rows)) if stands else int(BUDGET)
    plain = line.run(*compact, str(size), "--strategy", "structural", "--model", "structural")
    mine, theirs = (
        _quality(_all_text(each["messages"]), "\n".join(_spoken(session)))
        for each in (found, json.loads(plain.stdout))
    )
    yield _judge(
        f"{strategy} compaction", rows, stands=stands, source=session.name,
        quality=mine, structure=theirs, why=done.stderr.strip().removeprefix("memorist: ")[:200],
        fault=_worse(mine, theirs) if stands else "",
    )  # fmt: skip


def _extracts(home: Path) -> dict[str, tuple[str, str, str]]:
    """Of each session the way, the memory with its summary, and why structure served."""
    with closing(sqlite3.connect(home / "state.sqlite")) as database:
        rows = database.execute(
            "select path, way, raw_memory, rollout_summary, problem from extracts"
        )
        return {Path(path).name: (way, f"{raw}\n{told}", why) for path, way, raw, told, why in rows}


def _entries(raw: str) -> set[str]:
    return {line.strip("- ").strip() for line in raw.splitlines() if line.startswith("- ")}


def try_stages(line: CommandLine, sessions: Path) -> Iterator[ModelRun]:
    """Stage one and two by an import; every entry that structure proves must still stand."""
    plain = CommandLine(line.home / "structure", line.project, "structural")
    for each in (plain, line):
        each.run("import", str(sessions), "--yes", "--json", "--model", each.model)
    known = _extracts(plain.home)
    rows = line.receipts("rollouts")
    for name, (way, raw, problem) in _extracts(line.home).items():
        # A session of which structure keeps nothing has no row there.
        proved = known.get(name, ("", "", ""))[1]
        lost = _entries(proved) - _entries(raw)
        reference = "\n".join(_spoken(sessions / name))
        yield _judge(
            "stage one",
            rows,
            stands=way == "model",
            source=name,
            why=problem,
            quality=_quality(raw, reference),
            structure=_quality(proved, reference),
            fault=f"lost {len(lost)} proved entries: {min(lost)[:80]}" if lost else "",
        )
        rows = []  # the receipts are of all sessions together: told once
    if rows:
        yield _judge("stage one", rows, stands=False)
    rows = line.receipts("consolidation")
    yield _judge("stage two", rows, stands=any(row["outcome"] == "changed" for row in rows))


def fill_memory(line: CommandLine) -> None:
    """Write the memories that recall and the dream work on."""
    for name, (description, text) in MEMORIES.items():
        line.run("memory", "add", text, "--name", name, "--description", description,
                 "--kind", "project")  # fmt: skip
    one, again = (_memory_folder(line) / f"{name}.md" for name in REPEATED)
    again.write_text(one.read_text().replace(f"name: {one.stem}", f"name: {again.stem}"))


def _memory_folder(line: CommandLine) -> Path:
    return next(line.home.glob("projects/*/memory"))


def try_dream(line: CommandLine) -> Iterator[ModelRun]:
    """A dream over memories of which two are one; the others must keep what they say."""
    done = line.run("dream", "--now", "--json", "--model", line.model)
    texts = "\n".join(file.read_text() for file in _memory_folder(line).rglob("*.md"))
    lost = [name for name, (_, text) in MEMORIES.items() if text not in texts]
    found = json.loads(done.stdout or "{}")
    rows = line.receipts("dream")
    yield _judge(
        "dream", rows, stands=any(row["outcome"] == "changed" for row in rows),
        why=found.get("failed") or found.get("said") or "" if rows else found.get("why", ""),
        fault=f"the content of {', '.join(lost)} is gone" if lost else "",
    )  # fmt: skip


async def _shown(
    line: CommandLine, selector: Literal["ranker", "model"], question: str
) -> set[str]:
    """Names of the memories whose text a new session is shown after a question."""
    settings = msgspec.structs.replace(
        load_settings(
            {**LIMITS, **os.environ, "MEMORIST_HOME": str(line.home)}, home=line.home
        ).settings,
        recall=RecallSettings(selector=selector, seconds=600.0),
        auto_memory=AutoMemorySettings(every_turns=99),
    )
    call = {"type": "tool_use", "id": "b1", "name": "Bash", "input": {"command": "ls"}}
    result = {"type": "tool_result", "tool_use_id": "b1", "content": "docs"}
    messages: list[JsonObject] = [{"role": "user", "content": question}]
    before = len(line.receipts("recall"))
    async with Memorist(model=line.model, home=line.home, settings=settings) as engine:
        session = await engine.open(f"ask-{before}-{selector}", project=str(line.project))
        await session.prepare({"model": HOST_MODEL, "max_tokens": 100, "messages": messages})
        messages += [
            {"role": "assistant", "content": [call]},
            {"role": "user", "content": [result]},
        ]
        is_asked = selector == "model" and not has_no_searchable_content(question)
        while is_asked and len(line.receipts("recall")) == before:  # noqa: ASYNC110
            await asyncio.sleep(0.2)
        sent = await session.prepare({"model": HOST_MODEL, "max_tokens": 100, "messages": messages})
        text = json.dumps(sent)
    return {name for name, (_, memory) in MEMORIES.items() if memory in text}


def try_recall(line: CommandLine) -> Iterator[ModelRun]:
    """Recall by a side query for each question, beside the ranker: right and wrong ones shown."""
    scores = {}
    for selector in ("ranker", "model"):
        shown = [(asyncio.run(_shown(line, selector, text)), right) for text, right in QUESTIONS]
        scores[selector] = (
            sum(right in found for found, right in shown if right),
            sum(len(found - {right}) for found, right in shown),
        )
    (right, wrong), (by_ranker, _) = scores["model"], scores["ranker"]
    run = _judge(
        "recall",
        line.receipts("recall"),
        stands=any('"selected_memories"' in row["said"] for row in line.receipts("recall")),
        fault=f"{right} right by the model, {by_ranker} by the ranker" if right < by_ranker else "",
    )
    shown_counts = (
        f"{right} right and {wrong} wrong shown, by the ranker {by_ranker} and "
        f"{scores['ranker'][1]}"
    )
    yield msgspec.structs.replace(run, why="; ".join(filter(None, (run.why, shown_counts))))


@contextmanager
def serve_small_model(window: int) -> Iterator[str]:
    """Serve the model file that MEMORIST_LOCAL_MODEL names, or the packaged one, by llama.cpp's own
    server on loopback; gives the model's string.

    One thread: with more, a machine that does something else as well is many times slower.
    """
    xllamacpp = importlib.import_module("xllamacpp")
    parameters = xllamacpp.CommonParams()
    file = find_model_file(None, os.environ)
    parameters.model.path = str(file)
    parameters.n_ctx, parameters.n_parallel = window, 1
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.ui = parameters.warmup = False
    parameters.verbosity = -1
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    server = xllamacpp.Server(parameters)
    yield f"openai-chat:{file.stem}@{server.listening_address}/v1"
    del server


def _cut(sessions: Sequence[Path], folder: Path, lines: int) -> list[Path]:
    """Copies of the sessions, each of its first lines only; whole where `lines` is 0."""
    folder.mkdir()
    made = []
    for path in sessions:
        kept = path.read_text().splitlines(keepends=True)
        made.append(folder / path.name)
        made[-1].write_text("".join(kept[: lines or None]))
    return made


WAYS = ("fork", "document", "full", "inline", "notes", "stages", "dream", "recall")
"""What a run can be limited to; `notes` are notes, extraction and Magic Docs, `document` is `fork`
with a Magic Doc.
"""


def play(
    model: str, sessions: Sequence[Path], lines: int, ways: Sequence[str]
) -> Iterator[ModelRun]:
    """The ways over the sessions, in a home that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        line = CommandLine(Path(folder) / "home", Path(folder) / "project", model)
        line.home.mkdir()
        line.project.mkdir()
        files = _cut(sessions, Path(folder) / "sessions", lines)
        for session in files:
            for way in [each for each in ("fork", "document") if each in ways]:
                yield from try_fork(line, session, with_document=way == "document")
            for strategy in ("full", "inline"):
                if strategy in ways:
                    yield from try_compaction(line, session, strategy)
            if "notes" in ways:
                yield from try_notes(line, session)
        if "stages" in ways:
            yield from try_stages(line, files[0].parent)
        fill_memory(line)
        if "dream" in ways:
            yield from try_dream(line)
        if "recall" in ways:
            yield from try_recall(line)


def render_row(run: ModelRun) -> str:
    """A row of the table."""
    beside = (
        f"{run.quality[0]:.2f} / {run.quality[1]:.2f} beside "
        f"{run.structure[0]:.2f} / {run.structure[1]:.2f}"
        if run.quality and run.structure
        else "–"
    )
    outcome = f"{run.outcome}: {run.why}" if run.why else run.outcome
    name = f"{run.way}, {run.source}" if run.source else run.way
    tokens = f"{run.new:,} + {run.cached:,} / {run.written:,}"
    cells = (name, outcome.replace("|", "/"), str(run.requests), tokens, f"{run.seconds:.0f}",
             beside, run.fault or "none")  # fmt: skip
    return f"| {' | '.join(cells)} |"


HEAD = (
    "| way | outcome | requests | tokens: new + cached / written | s | identifiers / words, beside "
    "structure | fault |\n|---|---|---|---|---|---|---|"
)


@click.command()
@click.option("--model", default="", help="A model string. [default: the packaged one]")
@click.option("--lines", default=LINES, show_default=True, help="Lines of each session; 0 for all.")
@click.option("--window", default=WINDOW, show_default=True, help="Context of the packaged model.")
@click.option("--way", "ways", multiple=True, type=click.Choice(WAYS), help="[default: all]")
@click.argument("sessions", nargs=-1, type=click.Path(path_type=Path, exists=True))
def real_model_command(
    model: str, lines: int, window: int, ways: tuple[str, ...], sessions: tuple[Path, ...]
) -> None:
    """Play all work of a model over SESSIONS and print a table; status 1 where a requirement
    breaks.
    """
    chosen = sessions or tuple(Path("examples/sessions") / name for name in SESSIONS)
    click.echo(HEAD)
    faults = 0
    with nullcontext(model) if model else serve_small_model(window) as name:
        for run in play(name, chosen, lines, ways or WAYS):
            click.echo(render_row(run))
            faults += bool(run.fault)
    sys.exit(bool(faults))


if __name__ == "__main__":
    real_model_command()

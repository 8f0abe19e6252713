"""`make bench NAME=…`: the measurements that docs/benchmarks.md quotes."""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import click

from benchmarks.questions import QuestionsRun, measure_with
from benchmarks.report import BenchResult
from memorist.cli import output
from memorist.models.embedder import MiniLmEmbedder, is_embedder_installed
from memorist.models.model_choice import create_model_from_string

ANSWERS = Path("build/answers.jsonl")

BENCHES = {
    "reading": "reading",
    "replaying": "replaying",
    "live": "live",
    "notes": "notes",
    "forks": "forking",
    "carryover": "carryover",
    "again": "compacting_again",
    "request-size": "request_sizes",
    "cache": "cache",
    "prepare": "preparing",
    "proxy": "proxy",
    "load": "load",
    "recall": "recall",
    "public": "public",
    "before-tool": "before_tool",
    "attacks": "attacks",
    "scale": "scale",
    "extract": "extract",
    "secrets": "secrets",
    "context": "context",
    "manifest": "manifest",
    "spend": "spending",
    "hook": "hook",
    "team": "team",
    "dream": "dream",
    "rollouts-stage-one": "rollouts_stage_one",
    "rollouts": "rollouts",
    "sessions": "sessions",
    "workers": "workers",
    "peers": "peers",
    "crowd": "crowd",
    "hosts": "hosts",
}
"""Name of a measurement to its module in this package. Loaded when asked for: some need what others
do not.
"""

BY_NAME_ONLY = frozenset({"workers", "peers", "crowd", "hosts"})
"""Run only by their own names: they take long, or need the packages of others."""


@click.command()
@click.argument("name", type=click.Choice([*BENCHES, "questions", "all"]))
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    default=Path("../shared/data"),
    show_default=True,
    help="Folder of recorded sessions.",
)
@click.option(
    "--model",
    default=None,
    help="Model that answers `questions`, such as anthropic:NAME; it costs money. Not part of all.",
)
@click.option(
    "--answers",
    type=click.Path(path_type=Path),
    default=None,
    help="Where answers are kept, to go on later. [default: build/answers.jsonl]",
)
@click.option(
    "--at-most",
    type=click.IntRange(min=1),
    default=None,
    help="Stop after this many new questions.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def bench_command(
    name: str,
    data: Path,
    model: str | None,
    answers: Path | None,
    at_most: int | None,
    as_json: bool,
) -> None:
    """Run a measurement: speed, memory and quality, beside what one would take instead."""
    if name == "questions":
        result = _run_questions(data, model, answers or ANSWERS, at_most)
        output.print_json({"results": [result]}) if as_json else _print_result(result)
        return
    names = [each for each in BENCHES if each not in BY_NAME_ONLY] if name == "all" else [name]
    results = []
    for each in names:
        if sys.stderr.isatty():
            click.echo(f"measuring {each} …", err=True)
        result = _load_benchmark(each)(data)
        results.append(result)
        if not as_json:
            _print_result(result)
    if as_json:
        output.print_json({"results": results})


def _run_questions(data: Path, name: str | None, answers: Path, at_most: int | None) -> BenchResult:
    model = create_model_from_string(name) if name else None
    if model is None:
        raise click.UsageError(
            "questions are answered by a model; name one with --model, such as anthropic:NAME"
        )
    embedder = MiniLmEmbedder() if is_embedder_installed() else None
    run = QuestionsRun(
        model=model,
        kept=answers,
        embedder=embedder,
        at_most=at_most,
        said=lambda line: click.echo(line, err=True),
    )
    return asyncio.run(measure_with(data, run))


def _load_benchmark(name: str) -> Callable[[Path], BenchResult]:
    found: Callable[[Path], BenchResult] = importlib.import_module(
        f"benchmarks.{BENCHES[name]}"
    ).measure
    return found


def _print_result(result: BenchResult) -> None:
    click.echo(f"\n{result.name}")
    if result.absent:
        click.echo(f"  not measured: {result.absent}")
        return
    width = max(len(row.what) for row in result.rows)
    for row in result.rows:
        goal = f"   goal: {row.goal}, {'met' if row.met else 'MISSED'}" if row.goal else ""
        click.echo(f"  {row.what:<{width}}  {row.figure:>10,.2f} {row.unit}{goal}")


if __name__ == "__main__":
    bench_command()

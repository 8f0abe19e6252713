"""`memorist rollouts sync`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from memorist.cli import show
from memorist.cli.rollouts.group import settings_of
from memorist.engine.past_sessions import PastSessions, Plan, past_sessions
from memorist.rollouts.synced import Synced
from memorist.rollouts.working import Done, Told

T = TypeVar("T")
SHOWN = 5
"""Files or sessions of one kind that are named; the rest is counted."""

sessions_option = click.option(
    "--sessions",
    "named",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    metavar="DIR",
    help="Search this folder for sessions, by content and of any age. Repeatable. [default: where Claude Code, Codex and memorist keep theirs]",
)


@click.command()
@sessions_option
@click.option(
    "--max-age-days",
    type=click.IntRange(0),
    default=None,
    help="Leave out older sessions. [default: rollouts.max_age_days; with --sessions none]",
)
@click.option("--model", metavar="M", default=None, help="Model of both stages, such as anthropic:NAME, or structural. [default: as set]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def sync(named: Sequence[Path], max_age_days: int | None, model: str | None, as_json: bool) -> None:
    """Extract the finished sessions that are new or have grown, and consolidate what they gave.

    Sessions are read in place and never changed. Without a model the structure of the sessions is taken alone. What failed is tried again later; see
    `memorist rollouts status`.
    """

    async def work(past: PastSessions) -> Synced:
        return await run_sync(past, past.plan(named, max_age_days))

    done = opened(work, model=model)
    report(done, as_json=as_json)


def opened(work: Callable[[PastSessions], Awaitable[T]], *, model: str | None = None) -> T:
    """Run `work` with the past sessions of the home, and close them afterwards."""

    async def run() -> T:
        async with past_sessions(settings_of(model)) as past:
            return await work(past)

    return asyncio.run(run())


async def run_sync(past: PastSessions, plan: Plan) -> Synced:
    """Carry out the plan, with a progress bar on a terminal."""
    if not plan.eligible or not on_a_terminal():
        return await past.sync(plan)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("sessions", total=len(plan.eligible))
        return await past.sync(plan, _stepping(lambda: progress.advance(bar)))


def on_a_terminal() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr.isatty()


def _stepping(step: Callable[[], None]) -> Callable[[Told], None]:
    def told(what: Told) -> None:
        if isinstance(what, Done) and what.kind == "extract":
            step()

    return told


def report(done: Synced, *, as_json: bool) -> None:
    """Print the result; exit status 1 if sessions failed and none was processed."""
    if as_json:
        show.json(as_object(done))
    else:
        click.echo("\n".join(lines(done)))
    if done.failed and not done.extracted and not done.no_op:
        sys.exit(1)


def as_object(done: Synced) -> dict[str, object]:
    """The result as `--json` prints it."""
    return {
        "found": done.found,
        "eligible": done.eligible,
        "claimed": done.claimed,
        "extracted": done.extracted,
        "no_op": done.no_op,
        "failed": [{"thread": each.thread, "why": show.readable(each.why)} for each in done.failed],
        "consolidated": done.consolidated,
        "seconds": done.seconds,
        "way": done.way,
        "waits": [{"thread": each.thread, "why": show.readable(each.why)} for each in done.waits],
        "left_out": [{"path": show.readable(each.path), "why": show.readable(each.why)} for each in done.passed],
        "remarks": [show.readable(each) for each in done.remarks],
    }


def lines(done: Synced) -> list[str]:
    """The result as text."""
    found = [
        f"{done.found:,} sessions, {done.eligible:,} of them finished and new to memory",
        f"{done.extracted:,} extracted, {done.no_op:,} held nothing worth keeping, {len(done.failed):,} failed ({done.seconds:.1f} s)",
    ]
    if done.consolidated:
        by = "by structure alone" if done.way == "structural" else "with a model"
        found.append(
            f"consolidated: {done.consolidated:,} sessions, {by}; see `memorist rollouts show` and the folder memories below the home folder"
        )
    found += _some("failed", [f"{each.thread}: {each.why}" for each in done.failed])
    found += _some("waiting", [f"{each.thread}: {each.why}" for each in done.waits])
    found += _some("left out", [f"{each.path}: {each.why}" for each in done.passed])
    return found + [f"remark: {show.readable(each)}" for each in done.remarks]


def _some(what: str, each: Sequence[str]) -> list[str]:
    shown = [f"{what}: {show.readable(one)}" for one in each[:SHOWN]]
    return shown + ([f"{what}: {len(each) - SHOWN:,} more; --json lists them"] if len(each) > SHOWN else [])

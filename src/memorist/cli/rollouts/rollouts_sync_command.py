"""`memorist rollouts sync`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from memorist.cli import output
from memorist.cli.rollouts.rollouts_group import load_rollout_settings
from memorist.core.plural import pluralize
from memorist.core.text_encoding import replace_surrogates
from memorist.engine.rollout_pipeline import RolloutPipeline, RolloutSyncPlan, open_rollout_pipeline
from memorist.rollouts.job_worker import FinishedJob, JobEvent
from memorist.rollouts.rollout_sync_report import RolloutSyncReport
from memorist.store.job_claim_rules import GLOBAL_KEY

T = TypeVar("T")
MAX_NAMED_PER_KIND = 5
"""Files or sessions of one kind that are named; the rest is counted."""

sessions_option = click.option(
    "--sessions",
    "named",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    metavar="DIR",
    help="Search this folder for sessions, by content and of any age. Repeatable. [default: "
    "where the agents keep theirs]",
)


@click.command()
@sessions_option
@click.option(
    "--max-age-days",
    type=click.IntRange(0),
    default=None,
    help="Leave out older sessions. [default: rollouts.max_age_days; with --sessions none]",
)
@click.option(
    "--model",
    default=None,
    help="Model of both stages, such as anthropic:NAME, or structural. [default: as set]",
)
@output.JSON_OPTION
def rollouts_sync_command(
    named: Sequence[Path], max_age_days: int | None, model: str | None, as_json: bool
) -> None:
    """Extract the finished sessions that are new or have grown, and consolidate what they gave.

    Sessions are read in place and never changed. Without a model the structure of the sessions is
    taken alone. What failed is tried again later; see `memorist rollouts status`.

    Example: memorist rollouts sync
    """

    async def work(past: RolloutPipeline) -> RolloutSyncReport:
        return await sync_with_progress(past, past.plan_sync(named, max_age_days, is_mine=None))

    done = run_with_rollout_pipeline(work, model=model)
    print_sync_report(done, as_json=as_json)


def run_with_rollout_pipeline(
    work: Callable[[RolloutPipeline], Awaitable[T]], *, model: str | None = None
) -> T:
    """Run `work` with the past sessions of the home, and close them afterwards."""

    async def run() -> T:
        async with open_rollout_pipeline(load_rollout_settings(model)) as past:
            return await work(past)

    return asyncio.run(run())


async def sync_with_progress(past: RolloutPipeline, plan: RolloutSyncPlan) -> RolloutSyncReport:
    """Carry out the plan, with a progress bar on a terminal."""
    if not plan.eligible or not is_stderr_terminal():
        return await past.sync(plan)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=output.make_console(stderr=True), transient=True) as progress:
        bar = progress.add_task("sessions", total=len(plan.eligible))
        return await past.sync(plan, _advance_on_extract(lambda: progress.advance(bar)))


def is_stderr_terminal() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr.isatty()


def _advance_on_extract(step: Callable[[], None]) -> Callable[[JobEvent], None]:
    def on_event(what: JobEvent) -> None:
        if isinstance(what, FinishedJob) and what.kind == "extract":
            step()

    return on_event


def print_sync_report(done: RolloutSyncReport, *, as_json: bool) -> None:
    """Print the result; exit status 1 if sessions failed and none was processed, or what they gave
    did not become memory.
    """
    if as_json:
        output.print_json(build_sync_report_json(done))
    else:
        click.echo("\n".join(format_sync_report(done)))
    is_kept = done.extracted or done.no_op
    if any(each.thread == GLOBAL_KEY or not is_kept for each in done.failed):
        sys.exit(1)


def build_sync_report_json(done: RolloutSyncReport) -> dict[str, object]:
    """The result as `--json` prints it."""
    return {
        "found": done.found,
        "eligible": done.eligible,
        "claimed": done.claimed,
        "extracted": done.extracted,
        "no_op": done.no_op,
        "too_old": done.too_old,
        "failed": [{"thread": each.thread, "why": each.why} for each in done.failed],
        "consolidated": done.consolidated,
        "seconds": done.seconds,
        "way": done.way,
        "waits": [{"thread": each.thread, "why": each.why} for each in done.waits],
        "left_out": [{"path": each.path, "why": each.why} for each in done.skipped_files],
        "remarks": done.remarks,
    }


def format_sync_report(done: RolloutSyncReport) -> list[str]:
    """The result as text."""
    found = [
        f"{pluralize(done.found, 'session')}, {done.eligible:,} of them finished and new to memory",
        f"{done.extracted:,} extracted, {done.no_op:,} held nothing worth keeping, "
        f"{len(done.failed):,} failed ({done.seconds:.1f} s)",
    ]
    if done.too_old:
        found.insert(
            1,
            f"{done.too_old:,} of them too old for `rollouts.max_age_days`; "
            "`memorist import` takes them as well",
        )
    if done.consolidated:
        by = "by structure alone" if done.way == "structural" else "with a model"
        found.append(
            f"consolidated: {pluralize(done.consolidated, 'session')}, {by}; see "
            f"`memorist rollouts show` and the folder memories below the home folder"
        )
    found += format_list_with_omitted_count(
        "failed", [f"{each.thread}: {each.why}" for each in done.failed]
    )
    found += format_list_with_omitted_count(
        "waiting", [f"{each.thread}: {each.why}" for each in done.waits]
    )
    if any(each.thread != GLOBAL_KEY for each in done.waits):
        found.append("what waits is done later: by itself, or by giving the command again")
    found += format_list_with_omitted_count(
        "left out", [f"{each.path}: {each.why}" for each in done.skipped_files]
    )
    return found + [f"remark: {replace_surrogates(each)}" for each in done.remarks]


def format_list_with_omitted_count(what: str, each: Sequence[str]) -> list[str]:
    """The first lines of a list, each after `what`, and how many more there are."""
    shown = [f"{what}: {replace_surrogates(one)}" for one in each[:MAX_NAMED_PER_KIND]]
    return shown + (
        [f"{what}: {len(each) - MAX_NAMED_PER_KIND:,} more; --json lists them"]
        if len(each) > MAX_NAMED_PER_KIND
        else []
    )

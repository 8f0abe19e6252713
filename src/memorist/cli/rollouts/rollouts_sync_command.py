"""`memorist rollouts sync`."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from memorist.cli import output
from memorist.cli.project_overview import print_project_facts
from memorist.cli.rollouts.rollouts_group import load_rollout_settings
from memorist.core.token_count import BYTES_PER_TOKEN
from memorist.engine.rollout_pipeline import (
    ANY_AGE_DAYS,
    RolloutPipeline,
    RolloutSyncPlan,
    open_rollout_pipeline,
)
from memorist.formats.transcript_format import FORMAT_TITLES
from memorist.models.model_pricing import MILLION, lookup_price, merge_prices, shipped_prices
from memorist.rollouts.job_worker import JobEvent, JobFinished, RolloutSyncReport
from memorist.rollouts.session_evidence import evidence_budget
from memorist.rollouts.session_sources import AGENTS
from memorist.store.job_claims import GLOBAL_KEY
from memorist.store.rollout_rows import Rollout

T = TypeVar("T")
MAX_NAMED = 5
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
        return await sync_with_progress(past, past.plan_sync(named, max_age_days))

    done = with_past_sessions(work, model=model)
    print_sync_report(done, as_json=as_json)


def with_past_sessions(
    work: Callable[[RolloutPipeline], Awaitable[T]], *, model: str | None = None
) -> T:
    """Run `work` with the past sessions of the home, and close them afterwards."""

    async def run() -> T:
        async with open_rollout_pipeline(load_rollout_settings(model)) as past:
            return await work(past)

    return asyncio.run(run())


async def sync_with_progress(past: RolloutPipeline, plan: RolloutSyncPlan) -> RolloutSyncReport:
    """Carry out the plan, with a progress bar on a terminal."""
    if not plan.eligible or not is_interactive():
        return await past.sync(plan)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("sessions", total=len(plan.eligible))
        return await past.sync(plan, _advance_on_extract(lambda: progress.advance(bar)))


def is_interactive() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr.isatty()


def _advance_on_extract(step: Callable[[], None]) -> Callable[[JobEvent], None]:
    def on_event(what: JobEvent) -> None:
        if isinstance(what, JobFinished) and what.kind == "extract":
            step()

    return on_event


def print_sync_report(done: RolloutSyncReport, *, as_json: bool) -> None:
    """Print the result; exit status 1 if sessions failed and none was processed."""
    if as_json:
        output.print_json(sync_report_object(done))
    else:
        click.echo("\n".join(format_sync_report(done)))
    if done.failed and not done.extracted and not done.no_op:
        sys.exit(1)


def sync_report_object(done: RolloutSyncReport) -> dict[str, object]:
    """The result as `--json` prints it."""
    return {
        "found": done.found,
        "eligible": done.eligible,
        "claimed": done.claimed,
        "extracted": done.extracted,
        "no_op": done.no_op,
        "too_old": done.too_old,
        "failed": [
            {"thread": each.thread, "why": output.make_readable(each.why)} for each in done.failed
        ],
        "consolidated": done.consolidated,
        "seconds": done.seconds,
        "way": done.way,
        "waits": [
            {"thread": each.thread, "why": output.make_readable(each.why)} for each in done.waits
        ],
        "left_out": [
            {
                "path": output.make_readable(each.path),
                "why": output.make_readable(each.why),
            }
            for each in done.passed
        ],
        "remarks": [output.make_readable(each) for each in done.remarks],
    }


def format_sync_report(done: RolloutSyncReport) -> list[str]:
    """The result as text."""
    found = [
        f"{done.found:,} sessions, {done.eligible:,} of them finished and new to memory",
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
            f"consolidated: {done.consolidated:,} sessions, {by}; see `memorist rollouts show` "
            f"and the folder memories below the home folder"
        )
    found += _format_some("failed", [f"{each.thread}: {each.why}" for each in done.failed])
    found += _format_some("waiting", [f"{each.thread}: {each.why}" for each in done.waits])
    if any(each.thread != GLOBAL_KEY for each in done.waits):
        found.append("what waits is done later: by itself, or by giving the command again")
    found += _format_some("left out", [f"{each.path}: {each.why}" for each in done.passed])
    return found + [f"remark: {output.make_readable(each)}" for each in done.remarks]


def _format_some(what: str, each: Sequence[str]) -> list[str]:
    shown = [f"{what}: {output.make_readable(one)}" for one in each[:MAX_NAMED]]
    return shown + (
        [f"{what}: {len(each) - MAX_NAMED:,} more; --json lists them"]
        if len(each) > MAX_NAMED
        else []
    )


# `memorist import`.


DEFAULT_WINDOW = 200_000
"""Context window in tokens that is assumed where the price table does not know the model."""

ANSWER_TOKENS = 2_000
"""Approximate tokens of one answer of stage one: a summary and a raw memory of some tasks."""


@click.command("import")
@sessions_option
@click.option(
    "--from",
    "agents",
    multiple=True,
    type=click.Choice(AGENTS),
    help="Take the sessions of this agent alone. Repeatable. [default: all but cursor]",
)
@click.option(
    "--max-age-days",
    type=click.IntRange(0),
    default=None,
    help="Leave out older sessions. [default: take all]",
)
@click.option(
    "--model",
    default=None,
    help="Model of both stages, such as anthropic:NAME, or structural. [default: as set]",
)
@output.YES_OPTION
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of text; needs --yes."
)
def import_sessions_command(
    named: Sequence[Path],
    agents: Sequence[str],
    max_age_days: int | None,
    model: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Find your own sessions of other agents and remember them.

    Of Claude Code, Codex, Copilot CLI, Gemini CLI, opencode and pi, and of Cursor when named. Shows
    what was found and what it would cost with the model, and asks. Sessions are never changed; they
    are read in place, and those in a database are copied.

    Example: memorist import --from opencode --from gemini --yes
    """
    if as_json and not yes:
        raise click.UsageError("--json needs --yes: a script cannot be asked")

    async def work(past: RolloutPipeline) -> RolloutSyncReport | None:
        chosen = [*named, *(each for name in agents for each in past.list_agent_folders(name))]
        plan = past.plan_sync(chosen, ANY_AGE_DAYS if max_age_days is None else max_age_days)
        if not as_json:
            click.echo("\n".join(describe_import(plan, past)))
        if not plan.eligible and not as_json:
            left_out = [f"{each.path}: {each.why}" for each in plan.found.skipped if chosen]
            for line in _format_some("left out", left_out):
                click.echo(line)
            return None
        if not yes:
            click.confirm("Remember them?", abort=True)
        return await sync_with_progress(past, plan)

    done = with_past_sessions(work, model=model)
    if done is not None:
        print_sync_report(done, as_json=as_json)
    if not as_json:
        print_project_facts()


def describe_import(plan: RolloutSyncPlan, past: RolloutPipeline) -> list[str]:
    """Describe what was found and what it would cost."""
    of = Counter(FORMAT_TITLES[thread.format] for thread in plan.eligible)
    sizes = sum(thread.size for thread in plan.eligible)
    listed = ", ".join(f"{count:,} of {name}" for name, count in sorted(of.items()))
    found = [f"{plan.sessions:,} sessions known, {len(plan.found.skipped):,} files left out"]
    found.append(
        f"to remember: {listed} ({sizes / 1e6:,.1f} MB)"
        if plan.eligible
        else "nothing in them is finished and new to memory"
    )
    return [*found, *estimate_cost(plan.eligible, past)]


def estimate_cost(threads: Sequence[Rollout], past: RolloutPipeline) -> list[str]:
    """The highest cost that a model would have for these sessions; empty if there are none."""
    name = past.settings.rollouts.model or past.settings.model
    if not threads:
        return []
    if name == "structural":
        return [
            "no model is set: their structure alone is taken, which costs nothing (--model "
            "names one)"
        ]
    price = lookup_price(
        name.partition(":")[2], merge_prices(shipped_prices(), past.settings.models.prices)
    )
    room = evidence_budget(
        (price.window if price is not None else None) or DEFAULT_WINDOW, reserved=ANSWER_TOKENS
    )
    tokens = sum(min(thread.size // BYTES_PER_TOKEN, room) for thread in threads)
    said = (
        f"with {name}: {len(threads):,} requests or a few more, at most about {tokens:,} "
        f"tokens of input"
    )
    if price is None or price.input is None or price.output is None:
        return [f"{said}; the price of this model is not known"]
    dollars = (tokens * price.input + len(threads) * ANSWER_TOKENS * price.output) / MILLION
    return [
        f"{said}, about ${dollars:,.2f}; the caps of `spend` hold "
        f"({past.settings.spend.day_requests:,} requests a day), and what is over them waits"
    ]

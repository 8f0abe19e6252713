"""`memorist worker`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from importlib import import_module

import click
import msgspec

from memorist.cli.command_environment import load_user_settings
from memorist.core.json_decoding import decode_json
from memorist.core.utc_time import format_utc_minute
from memorist.engine.rollout_pipeline import RolloutPipeline, open_rollout_pipeline
from memorist.errors import UsageError
from memorist.platforms import processes
from memorist.rollouts.job_worker import (
    FinishedJob,
    JobEvent,
    MultiMachineWorkerIntervals,
    run_worker_loop,
)
from memorist.settings import Settings
from memorist.store.job_claim_rules import build_lease_policy
from memorist.store.job_claims import list_exhausted_jobs
from memorist.store.state_database import is_server_database_setting, list_recorded_damage


@click.command()
@click.option(
    "--once",
    is_flag=True,
    help="End when no job can be started any more. [default: work until stopped]",
)
@click.option(
    "--at-once",
    type=click.IntRange(1, 128),
    default=None,
    help="Jobs at the same time in this process. [default: rollouts.running]",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object for each job that ends or has to wait.",
)
@click.option(
    "--settings-from-stdin",
    "piped",
    is_flag=True,
    hidden=True,
    help="Take the settings as JSON, from the engine that starts it.",
)
def worker_command(once: bool, at_once: int | None, as_json: bool, piped: bool) -> None:
    """Turn finished sessions into memory, until stopped.

    One machine, or many that share a database: see the setting `state`. With several workers no
    more sessions are extracted at once than `rollouts.running` says. Stopped with Ctrl-C or
    SIGTERM, it gives back what it is at.

    Example: memorist worker --once
    """
    settings = _read_piped_settings() if piped else load_user_settings()
    failed: list[FinishedJob] = []

    def on_event(what: JobEvent) -> None:
        if isinstance(what, FinishedJob) and what.outcome == "failed":
            failed.append(what)
        click.echo(msgspec.json.encode(what).decode() if as_json else _format_event(what))

    asyncio.run(_run_worker(settings, on_event, once=once, at_once=at_once))
    if once and failed:
        sys.exit(1)


def _read_piped_settings() -> Settings:
    try:
        return decode_json(sys.stdin.buffer.read(), as_type=Settings)
    except msgspec.MsgspecError as error:
        raise UsageError(f"standard input holds no settings: {error}") from None


async def _run_worker(
    settings: Settings, on_event: Callable[[JobEvent], None], *, once: bool, at_once: int | None
) -> None:
    async with open_rollout_pipeline(settings) as past:
        past.open_models()
        for remark in list_recorded_damage(past.state):
            click.echo(
                f"memorist: {remark}; `memorist rollouts sync` takes up what the files hold",
                err=True,
            )
        await _work_until_stopped(past, on_event, once=once, at_once=at_once)
        for job in list_exhausted_jobs(past.state):
            click.echo(
                f"not tried again: {job.key}, {job.attempts} attempts, the last: {job.last_error}",
                err=True,
            )


async def _work_until_stopped(
    past: RolloutPipeline, on_event: Callable[[JobEvent], None], *, once: bool, at_once: int | None
) -> None:
    stop, pace = asyncio.Event(), MultiMachineWorkerIntervals()
    processes.call_on_termination_signals(asyncio.get_running_loop(), stop.set)
    rollouts, many = past.settings.rollouts, is_server_database_setting(past.settings.state)
    dependencies = past.build_worker_dependencies(
        rollouts, on_event, terms=build_lease_policy(rollouts, lease=pace.lease if many else None)
    )
    number_at_once = at_once or rollouts.running
    if many:
        # Loaded only here: it needs the extra `postgres`.
        together = import_module("memorist.rollouts.multi_machine_worker").run_multi_machine_worker
        await together(
            dependencies, past.settings.state, stop, pace=pace, at_once=number_at_once, once=once
        )
    else:
        await run_worker_loop(dependencies, stop, at_once=number_at_once, once=once)


def _format_event(what: JobEvent) -> str:
    if isinstance(what, FinishedJob):
        return f"{what.outcome:<12} {what.kind:<11} {what.key}  {what.seconds:.1f} s" + (
            f"  ({what.reason})" if what.reason else ""
        )
    refused = what.refused
    until = "" if refused.until is None else f", until {format_utc_minute(refused.until)} UTC"
    return f"{refused.why:<12} {what.kind:<11} {refused.key}{until}" + (
        f"  ({refused.reason})" if refused.reason else ""
    )

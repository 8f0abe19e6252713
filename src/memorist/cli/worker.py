"""`memorist worker`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module

import click
import msgspec

from memorist.configuration import load_settings
from memorist.engine.past_sessions import PastSessions, past_sessions
from memorist.rollouts.work.run import work
from memorist.rollouts.working import Done, Pace, Told, terms_of
from memorist.settings import Settings
from memorist.store.jobs import exhausted
from memorist.store.opening import shared
from memorist.store.state import remarks


@click.command()
@click.option("--once", is_flag=True, help="End when nothing can be begun any more. [default: work until stopped]")
@click.option(
    "--at-once", type=click.IntRange(1, 128), default=None, help="Jobs at the same time in this process. [default: rollouts.running]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each job that ends or has to wait.")
@click.option(
    "--settings-from-stdin", "piped", is_flag=True, hidden=True, help="Take the settings as JSON, from the engine that starts it."
)
def worker(once: bool, at_once: int | None, as_json: bool, piped: bool) -> None:
    """Turn finished sessions into memory, until stopped.

    One machine, or many that share a database: see the setting `state`. With several workers no more sessions are extracted at once than
    `rollouts.running` says. Stopped with Ctrl-C or SIGTERM, it gives back what it is at.
    """
    settings = msgspec.json.decode(sys.stdin.buffer.read(), type=Settings) if piped else load_settings(os.environ).settings
    failed: list[Done] = []

    def told(what: Told) -> None:
        if isinstance(what, Done) and what.outcome == "failed":
            failed.append(what)
        click.echo(msgspec.json.encode(what).decode() if as_json else _line(what))

    asyncio.run(_run(settings, told, once=once, at_once=at_once))
    if once and failed:
        sys.exit(1)


async def _run(settings: Settings, told: Callable[[Told], None], *, once: bool, at_once: int | None) -> None:
    async with past_sessions(settings) as past:
        past.need_models()
        for remark in remarks(past.state):
            click.echo(f"memorist: {remark}; `memorist rollouts sync` takes up what the files hold", err=True)
        await _work(past, told, once=once, at_once=at_once)
        for job in exhausted(past.state):
            click.echo(f"not tried again: {job.key}, {job.attempts} attempts, the last: {job.last_error}", err=True)


async def _work(past: PastSessions, told: Callable[[Told], None], *, once: bool, at_once: int | None) -> None:
    stop, pace = asyncio.Event(), Pace()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    rollouts, many = past.settings.rollouts, shared(past.settings.state)
    means = past.means(rollouts, told, terms=terms_of(rollouts, lease=pace.lease if many else None))
    number_at_once = at_once or rollouts.running
    if many:
        # Loaded only here: it needs the extra `postgres`.
        together = import_module("memorist.rollouts.many.run").work_together
        await together(means, past.settings.state, stop, pace=pace, at_once=number_at_once, once=once)
    else:
        await work(means, stop, at_once=number_at_once, once=once)


def _line(what: Told) -> str:
    if isinstance(what, Done):
        return f"{what.outcome:<12} {what.kind:<11} {what.key}  {what.seconds:.1f} s" + (f"  ({what.reason})" if what.reason else "")
    refused = what.refused
    until = f", until {datetime.fromtimestamp(refused.until, UTC):%Y-%m-%d %H:%M} UTC" if refused.until is not None else ""
    return f"{refused.why:<12} {what.kind:<11} {refused.key}{until}" + (f"  ({refused.reason})" if refused.reason else "")

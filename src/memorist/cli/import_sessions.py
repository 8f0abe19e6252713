"""`memorist import`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from memorist.cli.rollouts.sync import opened, report, run_sync, sessions_option
from memorist.core.tokens import BYTES_PER_TOKEN
from memorist.engine.past_sessions import ALL_AGES, PastSessions, Plan
from memorist.models.prices import MILLION, lookup, merged, shipped
from memorist.rollouts.evidence import budget
from memorist.rollouts.synced import Synced
from memorist.store.thread import Thread

WINDOW = 200_000
"""Context window in tokens that is assumed where the price table does not know the model."""

ANSWER = 2_000
"""Approximate tokens of one answer of stage one: a summary and a raw memory of some tasks."""

NAMES = {"claude_code": "Claude Code", "codex": "Codex", "memorist": "memorist"}


@click.command("import")
@sessions_option
@click.option("--max-age-days", type=click.IntRange(0), default=None, help="Leave out older sessions. [default: take all]")
@click.option("--model", metavar="M", default=None, help="Model of both stages, such as anthropic:NAME, or structural. [default: as set]")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text; needs --yes.")
def import_command(named: Sequence[Path], max_age_days: int | None, model: str | None, yes: bool, as_json: bool) -> None:
    """Find your own Claude Code and Codex sessions and remember them.

    Shows what was found and what it would cost with the model, and asks. Sessions are read in place and never changed.
    """
    if as_json and not yes:
        raise click.UsageError("--json needs --yes: a script cannot be asked")

    async def work(past: PastSessions) -> Synced | None:
        plan = past.plan(named, ALL_AGES if max_age_days is None else max_age_days)
        if not as_json:
            click.echo("\n".join(offer(plan, past)))
        if not plan.eligible and not as_json:
            return None
        if not yes:
            click.confirm("Remember them?", abort=True)
        return await run_sync(past, plan)

    done = opened(work, model=model)
    if done is None:
        return
    report(done, as_json=as_json)


def offer(plan: Plan, past: PastSessions) -> list[str]:
    """Describe what was found and what it would cost."""
    of = Counter(NAMES[thread.format] for thread in plan.eligible)
    sizes = sum(thread.size for thread in plan.eligible)
    listed = ", ".join(f"{count:,} of {name}" for name, count in sorted(of.items()))
    found = [f"{plan.sessions:,} sessions known, {len(plan.found.passed):,} files left out"]
    found.append(f"to remember: {listed} ({sizes / 1e6:,.1f} MB)" if plan.eligible else "nothing in them is finished and new to memory")
    return [*found, *cost(plan.eligible, past)]


def cost(threads: Sequence[Thread], past: PastSessions) -> list[str]:
    """The highest cost that a model would have for these sessions; empty if there are none."""
    name = past.settings.rollouts.model or past.settings.model
    if not threads:
        return []
    if name == "structural":
        return ["no model is set: their structure alone is taken, which costs nothing (--model names one)"]
    price = lookup(name.partition(":")[2], merged(shipped(), past.settings.models.prices))
    room = budget((price.window if price is not None else None) or WINDOW, reserved=ANSWER)
    tokens = sum(min(thread.size // BYTES_PER_TOKEN, room) for thread in threads)
    said = f"with {name}: {len(threads):,} requests or a few more, at most about {tokens:,} tokens of input"
    if price is None or price.input is None or price.output is None:
        return [f"{said}; the price of this model is not known"]
    dollars = (tokens * price.input + len(threads) * ANSWER * price.output) / MILLION
    return [
        f"{said}, about ${dollars:,.2f}; the caps of `spend` hold ({past.settings.spend.day_requests:,} requests a day), and what is over them waits"
    ]

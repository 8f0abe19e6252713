"""`memorist import`: take in the user's own past sessions of other agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from memorist.cli import output
from memorist.cli.project_overview import print_project_facts
from memorist.cli.rollouts.rollouts_sync_command import (
    format_some,
    print_sync_report,
    sessions_option,
    sync_with_progress,
    with_past_sessions,
)
from memorist.core.token_count import BYTES_PER_TOKEN
from memorist.engine.rollout_pipeline import ANY_AGE_DAYS, RolloutPipeline, RolloutSyncPlan
from memorist.formats.transcript_format import FORMAT_TITLES
from memorist.models.model_pricing import MILLION, lookup_price, merge_prices, shipped_prices
from memorist.rollouts.session_evidence import evidence_token_budget
from memorist.rollouts.session_sources import AGENTS
from memorist.rollouts.sync_outcome import RolloutSyncReport
from memorist.store.rollout_rows import Rollout

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
            for line in format_some("left out", left_out):
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
    room = evidence_token_budget(
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

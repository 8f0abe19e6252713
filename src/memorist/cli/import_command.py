"""`memorist import`: take in the user's own past sessions of other agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from memorist.cli import output
from memorist.cli.project_overview import print_project_facts
from memorist.cli.rollouts.rollouts_sync_command import (
    format_list_with_omitted_count,
    print_sync_report,
    run_with_rollout_pipeline,
    sync_with_progress,
)
from memorist.core.plural import pluralize
from memorist.engine.rollout_pipeline import ANY_AGE_DAYS, RolloutPipeline, RolloutSyncPlan
from memorist.formats.transcript_format import FORMAT_TITLES
from memorist.rollouts.extraction_cost import describe_extraction_cost
from memorist.rollouts.rollout_sync_report import RolloutSyncReport
from memorist.rollouts.session_sources import AGENTS
from memorist.store.rollout_rows import OTHERS_SOURCE

_IS_MINE = "memorist.import.mine"


def _keep_is_mine(context: click.Context, _option: click.Parameter, is_mine: bool | None) -> None:
    context.meta[_IS_MINE] = is_mine


@click.command("import")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True))
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
@click.option(
    "--mine/--not-mine",
    "is_mine",
    default=None,
    callback=_keep_is_mine,
    expose_value=False,
    help="Whether you typed what is in PATHS. [default: by the home folder they were made in]",
)
@output.YES_OPTION
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of text; needs --yes."
)
def import_sessions_command(
    paths: Sequence[Path],
    agents: Sequence[str],
    max_age_days: int | None,
    model: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Find your own sessions of other agents and remember them; PATHS are folders of sessions, or
    single ones.

    Of Claude Code, Codex, Copilot CLI, Gemini CLI, opencode and pi, and of Cursor when named. Shows
    what was found and what it would cost with the model, and asks. Sessions are never changed; they
    are read in place, and those in a database are copied. Of a session in PATHS that is not shown
    to be yours, nothing counts as your word.

    Example: memorist import --from opencode --from gemini --yes
    """
    if as_json and not yes:
        raise click.UsageError("--json needs --yes: a script cannot be asked")

    async def work(past: RolloutPipeline) -> RolloutSyncReport | None:
        said = click.get_current_context().meta
        chosen = [
            *paths,
            *(each for name in agents for each in past.copy_and_list_session_folders(name)),
        ]
        age = ANY_AGE_DAYS if max_age_days is None else max_age_days
        plan = past.plan_sync(chosen, age, is_mine=said[_IS_MINE])
        if not as_json:
            click.echo("\n".join(describe_session_import_plan(plan, past)))
        if not plan.has_work and not as_json:
            left_out = [
                f"{each.path}: {each.why}"
                for each in plan.found.skipped
                if chosen or not each.modified_ns
            ]
            for line in format_list_with_omitted_count("left out", left_out):
                click.echo(line)
            return None
        if plan.eligible and not yes:
            click.confirm("Remember them?", abort=True)
        return await sync_with_progress(past, plan)

    done = run_with_rollout_pipeline(work, model=model)
    if done is not None:
        print_sync_report(done, as_json=as_json)
    if not as_json:
        print_project_facts(is_kept=True)


def describe_session_import_plan(plan: RolloutSyncPlan, past: RolloutPipeline) -> list[str]:
    """Describe what was found and what it would cost."""
    of = Counter(FORMAT_TITLES[thread.format] for thread in plan.eligible)
    sizes = sum(thread.size for thread in plan.eligible)
    listed = ", ".join(f"{count:,} of {name}" for name, count in sorted(of.items()))
    found = [
        f"{pluralize(plan.sessions, 'session')} known, "
        f"{pluralize(len(plan.found.skipped), 'file')} left out"
    ]
    if plan.eligible:
        found.append(f"to remember: {listed} ({sizes / 1e6:,.1f} MB)")
    elif plan.has_unconsolidated:
        found.append("an earlier import was interrupted; what it had read becomes memory now")
    else:
        found.append("nothing new to remember")
    if plan.too_young:
        hours = past.settings.rollouts.min_idle_hours
        found.append(
            f"{pluralize(plan.too_young, 'session')} may still be going on, and "
            f"{'waits' if plan.too_young == 1 else 'wait'} until unchanged for {hours} h"
        )
    foreign = [each for each in plan.eligible if each.source == OTHERS_SOURCE]
    if foreign:
        made_in = ", ".join(sorted({each.cwd or "an unknown folder" for each in foreign})[:3])
        found.append(
            f"{pluralize(len(foreign), 'session')} not shown to be yours, made in {made_in}: what "
            "is typed there does not count as your word; --mine if it is yours"
        )
    if plan.assumed_mine:
        made_in = ", ".join(sorted({each.cwd for each in plan.assumed_mine})[:3])
        found.append(
            f"{pluralize(len(plan.assumed_mine), 'session')} taken for yours, made in {made_in}: "
            "what is typed there counts as your word; --not-mine if it is somebody else's"
        )
    return [*found, *describe_extraction_cost(plan.eligible, past.settings)]

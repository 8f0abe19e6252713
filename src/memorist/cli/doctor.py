"""`memorist doctor`: find what is wrong with this installation, and how to fix it."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec.structs import replace

from memorist.cli import show
from memorist.cli.checks.clocks import check_clocks
from memorist.cli.checks.database import check_database
from memorist.cli.checks.finding import Check, Finding, Place
from memorist.cli.checks.home import check_documents, check_home
from memorist.cli.checks.hooks import check_hooks
from memorist.cli.checks.installation import check_extras, check_flags, check_settings
from memorist.cli.checks.jobs import check_jobs, check_rollouts
from memorist.cli.checks.locks import check_locks
from memorist.cli.checks.memory import check_memories
from memorist.cli.checks.models import check_budgets, check_model, check_own_texts
from memorist.cli.checks.team import check_team
from memorist.configuration import load_settings
from memorist.errors import MemoristError
from memorist.store.layout import Layout

CHECKS: tuple[tuple[str, Check], ...] = (
    ("settings", check_settings),
    ("home", check_home),
    ("locks", check_locks),
    ("database", check_database),
    ("jobs", check_jobs),
    ("rollouts", check_rollouts),
    ("clock", check_clocks),
    ("memory", check_memories),
    ("team", check_team),
    ("documents", check_documents),
    ("texts", check_own_texts),
    ("model", check_model),
    ("budgets", check_budgets),
    ("hooks", check_hooks),
    ("flags", check_flags),
    ("extras", check_extras),
)
"""The areas and their checks, in the order they run.

Home and locks come first, because later repairs need them. Each subsystem adds its own check.
"""

MARKS = {"good": "ok    ", "note": "note  ", "wrong": "WRONG ", "mended": "MENDED"}


@click.command()
@click.option("--fix", is_flag=True, help="Mend what can be mended from the files; what is in the way is moved aside, nothing is deleted.")
@click.option("--reach", is_flag=True, help="Also connect to the model's server. No request is sent.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def doctor(fix: bool, reach: bool, as_json: bool) -> None:
    """Look for what is wrong with this installation, and say how to mend it. Changes nothing without --fix. Exit status 1 when anything stays wrong."""
    findings = list(_findings(fix=fix, reach=reach))
    if as_json:
        show.json({"findings": findings})
    for finding in () if as_json else findings:
        click.echo(f"{MARKS[finding.state]} {finding.what}")
        if finding.mend:
            click.echo(f"       {finding.mend}")
    if any(finding.state == "wrong" for finding in findings):
        sys.exit(1)


def _findings(*, fix: bool, reach: bool) -> Iterator[Finding]:
    try:
        resolved = load_settings(os.environ, project=Path.cwd())
    except MemoristError as error:
        yield Finding("wrong", str(error), "Correct or remove the setting; the rest is checked after that.", "settings")
        return
    layout = Layout(Path(resolved.settings.home).expanduser().absolute())
    place = Place(resolved=resolved, layout=layout, now=time.time(), fix=fix, reach=reach)
    for area, check in CHECKS:
        try:
            for finding in check(place):
                yield replace(finding, area=area)
        except (MemoristError, OSError) as error:
            yield Finding("wrong", f"this could not be checked: {error}", "Fix what the message names, then run it again.", area)

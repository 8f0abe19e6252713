"""`memorist doctor`: find what is wrong with this installation, and how to fix it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from msgspec.structs import replace

from memorist.cli import output
from memorist.cli.command_environment import read_environment
from memorist.cli.doctor.check_result import Check, CheckResult, DoctorContext
from memorist.cli.doctor.clock_check import check_system_clock
from memorist.cli.doctor.database_check import check_database
from memorist.cli.doctor.home_check import check_document_leftovers, check_home
from memorist.cli.doctor.hook_check import check_hooks
from memorist.cli.doctor.installation_check import (
    check_custom_texts,
    check_extras,
    check_flags,
    check_settings,
)
from memorist.cli.doctor.lock_check import check_locks
from memorist.cli.doctor.memory_check import check_memories
from memorist.cli.doctor.model_check import (
    check_background_model,
    check_model_task_quality,
    check_paused_background_work,
)
from memorist.cli.doctor.rollout_check import (
    check_database_knows_sessions,
    check_jobs,
    check_session_files,
)
from memorist.cli.doctor.team_check import check_team
from memorist.config import load_settings
from memorist.errors import MemoristError
from memorist.platforms.storage_errors import describe_storage_error
from memorist.store.home_layout import Layout

CHECKS: tuple[tuple[str, Check], ...] = (
    ("settings", check_settings),
    ("home", check_home),
    ("locks", check_locks),
    ("database", check_database),
    ("jobs", check_jobs),
    ("rollouts", check_database_knows_sessions),
    ("sessions", check_session_files),
    ("clock", check_system_clock),
    ("memory", check_memories),
    ("team", check_team),
    ("documents", check_document_leftovers),
    ("texts", check_custom_texts),
    ("model", check_background_model),
    ("budgets", check_paused_background_work),
    ("hooks", check_hooks),
    ("flags", check_flags),
    ("extras", check_extras),
)
"""The areas and their checks, in the order they run.

Home and locks come first, because later repairs need them. Each subsystem adds its own check.
"""

MODEL_CHECKS: tuple[tuple[str, Check], ...] = (("model", check_model_task_quality),)

STATE_MARKS = {"wrong": "WRONG ", "fixed": "FIXED ", "note": "note  ", "good": "ok    "}
"""Marks of the findings, those that matter most first."""


@click.command()
@click.option(
    "--fix",
    is_flag=True,
    help="Fix what can be fixed from the files; what is in the way is moved aside, nothing "
    "is deleted.",
)
@click.option(
    "--reach", is_flag=True, help="Also connect to the model's server. No request is sent."
)
@click.option(
    "--model",
    "tries_model",
    is_flag=True,
    help="Instead, ask the model one tiny task of each form, and say what it is good enough for.",
)
@output.JSON_OPTION
def doctor_command(fix: bool, reach: bool, tries_model: bool, as_json: bool) -> None:
    """Look for what is wrong with this installation, and say how to fix it. Changes nothing
    without --fix. What is wrong comes first. Exit status 1 when anything stays wrong.

    Example: memorist doctor --fix
    """
    checks = MODEL_CHECKS if tries_model else CHECKS
    found = run_doctor_checks(checks, fix=fix, reach=reach)
    # A trial of the model reads as it went; what else is wrong comes first.
    findings = (
        list(found)
        if tries_model
        else sorted(found, key=lambda each: list(STATE_MARKS).index(each.state))
    )
    if as_json:
        output.print_json({"findings": findings})
    for finding in () if as_json else findings:
        click.echo(f"{STATE_MARKS[finding.state]} {finding.what}")
        if finding.remedy:
            click.echo(f"       {finding.remedy}")
    if any(finding.state == "wrong" for finding in findings):
        sys.exit(1)


def run_doctor_checks(
    checks: Sequence[tuple[str, Check]], *, fix: bool = False, reach: bool = False
) -> Iterator[CheckResult]:
    """Run the checks on the settings of the working folder; a check that fails is a finding."""
    try:
        resolved = load_settings(read_environment(), project=Path.cwd())
    except MemoristError as error:
        yield CheckResult(
            "wrong",
            str(error),
            "Correct or remove the setting; the rest is checked after that.",
            "settings",
        )
        return
    layout = Layout.from_setting(resolved.settings.home)
    context = DoctorContext(
        resolved=resolved, layout=layout, now=time.time(), may_repair=fix, may_use_network=reach
    )
    for area, check in checks:
        try:
            for finding in check(context):
                yield replace(finding, area=area)
        except (MemoristError, OSError) as error:
            why = str(error)
            if isinstance(error, OSError):
                why = f"{error.filename or layout.home}: {describe_storage_error(error)}"
            yield CheckResult(
                "wrong",
                f"this could not be checked: {why}",
                "Fix what the message names, then run it again.",
                area,
            )

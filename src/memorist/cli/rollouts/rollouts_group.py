"""The group `memorist rollouts`, and what its commands share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import click
from msgspec.structs import replace

from memorist.cli import output
from memorist.cli.command_environment import load_project_settings
from memorist.cli.command_group import CommandGroup, words_argument
from memorist.engine.rollout_store import RolloutStore, open_rollout_store
from memorist.errors import NothingToDo
from memorist.rollouts.handbook import EVERYWHERE
from memorist.rollouts.rollout_folder import write_note
from memorist.rollouts.session_eligibility import judge_threads
from memorist.rollouts.session_sources import find_repository_root
from memorist.settings import Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.extract_rows import delete_all_extracts, list_extracts
from memorist.store.home_layout import Layout
from memorist.store.job_claim_rules import GLOBAL_KEY, Job, is_ahead
from memorist.store.job_claims import list_exhausted_jobs, list_failures, list_jobs, retry_jobs
from memorist.store.memory_mode import set_memory_mode
from memorist.store.rollout_rows import (
    Rollout,
    find_extraction_progress,
    list_extraction_progress,
    list_rollouts,
)
from memorist.store.state_database import list_damage_remarks
from memorist.system import SystemClock

T = TypeVar("T")


class RolloutsCommands(CommandGroup):
    """All commands of `memorist rollouts`, loaded on demand."""

    command_paths: ClassVar[dict[str, str]] = {
        "sync": "memorist.cli.rollouts.rollouts_sync_command:rollouts_sync_command",
        "status": "memorist.cli.rollouts.rollouts_group:rollouts_status_command",
        "retry": "memorist.cli.rollouts.rollouts_group:rollouts_retry_command",
        "reset": "memorist.cli.rollouts.rollouts_group:rollouts_reset_command",
        "show": "memorist.cli.rollouts.rollouts_group:rollouts_show_command",
        "leave-out": "memorist.cli.rollouts.rollouts_group:rollouts_leave_out_command",
        "note": "memorist.cli.rollouts.rollouts_group:rollouts_note_command",
    }


@click.group(name="rollouts", cls=RolloutsCommands)
def rollouts_group() -> None:
    """Past sessions as memory: what was found, extracted and consolidated, and what was not and
    why.
    """


def load_rollout_settings(model: str | None = None) -> Settings:
    """The settings, with another model for both stages if one is given."""
    found = load_project_settings(model)
    if model is None:
        return found
    return replace(found, rollouts=replace(found.rollouts, model="", consolidation_model=""))


def with_past_state(work: Callable[[RolloutStore], T]) -> T:
    """Run `work` with the state of past sessions, without importing the two stages, which
    is slow.
    """
    with open_rollout_store(load_rollout_settings()) as past:
        return work(past)


# `memorist rollouts status, retry, reset, show, leave-out`.


@click.command()
@output.JSON_OPTION
def rollouts_status_command(as_json: bool) -> None:
    """Show what is known of past sessions, what waits and why, and what failed.

    Example: memorist rollouts status
    """
    found = with_past_state(_collect_status)
    if as_json:
        output.print_json(found)
    else:
        _print_status(found)


def _collect_status(past: RolloutStore) -> dict[str, Any]:
    verdicts = judge_threads(
        list_extraction_progress(past.state), past.settings.rollouts, now=past.state.now()
    )
    extracts = list_extracts(past.state)
    consolidation = next((job for job in list_jobs(past.state) if job.kind == "consolidate"), None)
    return {
        "sessions": len(verdicts),
        "due": sum(verdict.eligible for verdict in verdicts),
        "waiting": dict(
            sorted(
                Counter(
                    verdict.reason for verdict in verdicts if verdict.reason is not None
                ).items()
            )
        ),
        "extracts": sum(not each.extracted.is_empty for each in extracts),
        "no_op": sum(each.extracted.is_empty for each in extracts),
        "consolidated": sum(each.selected for each in extracts),
        "last_consolidation": _format_time(consolidation.succeeded)
        if consolidation is not None
        else None,
        "consolidation_failed": consolidation.last_error if consolidation is not None else None,
        "not_tried_again": [
            {"thread": job.key, "attempts": job.attempts, "why": job.last_error or ""}
            for job in list_exhausted_jobs(past.state)
        ],
        "put_off": [
            {"thread": job.key, "until": _format_time(job.retry_at), "why": job.last_error or ""}
            for job in _deferred_jobs(past)
        ],
        "failures": [
            {"thread": each.key, "at": _format_time(each.at), "why": each.reason}
            for each in list_failures(past.state)[-20:]
        ],
        "without_model": [
            {"thread": each.extracted.thread, "why": each.extracted.problem}
            for each in extracts
            if each.extracted.problem
        ],
        "remarks": list_damage_remarks(past.state),
    }


def _deferred_jobs(past: RolloutStore) -> list[Job]:
    """Jobs that neither succeeded nor failed and wait for a retry."""
    now = past.state.now()
    return [
        job
        for job in list_jobs(past.state)
        if job.status == "pending" and is_ahead(job.retry_at, now, past.claim_terms.retry_seconds)
    ]


def _format_time(seconds: int | None) -> str | None:
    return (
        None
        if seconds is None
        else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    )


def _print_status(found: dict[str, Any]) -> None:
    click.echo(
        f"{found['sessions']:,} sessions known, {found['due']:,} due; {found['extracts']:,} "
        f"extracts, {found['no_op']:,} held nothing"
    )
    for reason, count in found["waiting"].items():
        click.echo(f"  {count:>7,}  {reason}")
    click.echo(
        f"consolidated: {found['consolidated']:,} sessions, last "
        f"{found['last_consolidation'] or 'never'}"
    )
    if found["consolidation_failed"]:
        click.echo(
            f"the last consolidation failed: {output.make_readable(found['consolidation_failed'])}"
        )
    if found["put_off"]:
        first = found["put_off"][0]
        click.echo(
            f"put off: {len(found['put_off']):,}, the first until {first['until']}: "
            f"{output.make_readable(first['why'])}"
        )
    for each in found["not_tried_again"]:
        click.echo(
            f"not tried again ({each['attempts']} attempts): {each['thread']}: "
            f"{output.make_readable(each['why'])}; see `memorist rollouts retry`"
        )
    for each in found["failures"][-5:]:
        click.echo(f"failed {each['at']}: {each['thread']}: {output.make_readable(each['why'])}")
    if found["without_model"]:
        first = found["without_model"][0]
        click.echo(
            f"{len(found['without_model']):,} extracts were made without the model; the first "
            f"because {output.make_readable(first['why'])}"
        )
    for each in found["remarks"]:
        click.echo(f"remark: {output.make_readable(each)}")


@click.command("retry")
@click.argument("names", nargs=-1, metavar="[SESSION]...")
def rollouts_retry_command(names: tuple[str, ...]) -> None:
    """Try again what failed or has to wait after a failure: these sessions, by the start of their
    ids, or all of them and the consolidation (`global`).

    Example: memorist rollouts retry 1a2b3c4d
    """

    def work(past: RolloutStore) -> int:
        return retry_jobs(
            past.state,
            past.claim_terms,
            [GLOBAL_KEY if each == GLOBAL_KEY else _find_thread(past, each).id for each in names]
            or None,
        )

    count = with_past_state(work)
    click.echo(
        f"{count:,} jobs may run again; `memorist rollouts sync` or `memorist worker --once` "
        f"runs them"
    )


@click.command("reset")
@output.YES_OPTION
def rollouts_reset_command(yes: bool) -> None:
    """Forget every extract, job and failure, so that all sessions are extracted again. Sessions and
    the folder of memories stay.

    Example: memorist rollouts reset --yes
    """
    if not yes:
        click.confirm(
            "Forget what was extracted of all past sessions? The next sync extracts everything "
            "again.",
            abort=True,
        )
    count = with_past_state(lambda past: delete_all_extracts(past.state))
    click.echo(f"{count:,} extracts forgotten")


@click.command("show")
@click.argument("thread", metavar="[SESSION]", required=False)
@output.JSON_OPTION
def rollouts_show_command(thread: str | None, as_json: bool) -> None:
    """Show what stage one made of a session, by the start of its id; without one the summary
    that sessions are shown.

    Example: memorist rollouts show 1a2b3c4d
    """
    found = with_past_state(
        lambda past: _describe_thread(past, thread) if thread else _read_summary(past)
    )
    if as_json:
        output.print_json(found)
    else:
        click.echo(output.make_readable(found["text"]).rstrip("\n"))


def _read_summary(past: RolloutStore) -> dict[str, Any]:
    path = past.layout.rollouts / "memory_summary.md"
    if not path.exists():
        raise NothingToDo("nothing was consolidated yet; `memorist rollouts sync` does it")
    return {"path": str(path), "text": DiskFiles().read(path).decode("utf-8", "replace")}


def _find_thread(past: RolloutStore, start: str) -> Rollout:
    """The session with this id, or the only one whose id starts with it. Raises NothingToDo."""
    found = [each for each in list_rollouts(past.state) if each.id.startswith(start)]
    exact = [each for each in found if each.id == start]
    if len(exact or found) != 1:
        raise NothingToDo(
            f"{len(found):,} sessions begin with {start!r}; the names of files in "
            f"memories/rollout_summaries and `--json` tell ids"
        )
    return (exact or found)[0]


def _describe_thread(past: RolloutStore, start: str) -> dict[str, Any]:
    thread = _find_thread(past, start)
    row = next(
        (each for each in list_extracts(past.state) if each.extracted.thread == thread.id), None
    )
    standing = find_extraction_progress(past.state, thread.id)
    text = (
        ""
        if row is None
        else f"{row.extracted.rollout_summary.rstrip()}\n\n{row.extracted.raw_memory}"
    )
    verdict = (
        judge_threads([standing], past.settings.rollouts, now=past.state.now())[0]
        if standing is not None
        else None
    )
    return {
        "thread": thread.id,
        "path": thread.path,
        "mode": thread.mode,
        "way": None if row is None else row.extracted.way,
        "uses": 0 if row is None else row.uses,
        "why_not": "" if verdict is None else verdict.text,
        "text": text.strip()
        or f"Nothing was extracted of "
        f"it{f': {verdict.text}' if verdict is not None and verdict.text else ''}.",
    }


@click.command("leave-out")
@click.argument("thread", metavar="SESSION")
@click.option("--take-in", is_flag=True, help="Let it become memory again.")
def rollouts_leave_out_command(thread: str, take_in: bool) -> None:
    """Keep a session out of memory: what was made of it goes, and the next consolidation forgets
    what rests on it alone. SESSION is the start of its id.

    Example: memorist rollouts leave-out 1a2b3c4d
    """

    def work(past: RolloutStore) -> bool:
        return set_memory_mode(
            past.state,
            _find_thread(past, thread).id,
            "enabled" if take_in else "disabled",
            past.claim_terms,
        )

    forgets = with_past_state(work)
    click.echo(
        "it may become memory again"
        if take_in
        else f"it is left out{'; the next consolidation forgets it' if forgets else ''}"
    )


# `memorist rollouts note`.


@click.command("note")
@words_argument("text")
@click.option("--here", is_flag=True, help="It holds for this project only. [default: everywhere]")
def rollouts_note_command(text: str, here: bool) -> None:
    """Note something for later sessions: shown at once, merged at the next consolidation.

    Example: memorist rollouts note "The staging database is reset on Mondays"
    """
    if not text.strip():
        raise click.UsageError("the note is empty; say what is to be noted")
    applies = find_repository_root(str(Path.cwd())) if here else EVERYWHERE
    folder = Layout(Path(load_rollout_settings().home).expanduser().absolute()).rollouts
    now = datetime.fromtimestamp(SystemClock().now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    click.echo(f"noted in {write_note(DiskFiles(), folder, text, now=now, group_title=applies)}")

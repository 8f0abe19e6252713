"""The group `memorist rollouts`, and what its commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, TypeVar

import click
from msgspec.structs import replace

from memorist.cli import output
from memorist.cli.agent_shell import require_person
from memorist.cli.command_environment import load_home_layout, load_project_settings
from memorist.cli.command_group import LazyCommandGroup, words_argument
from memorist.cli.memory.project_memory_access import (
    confirm_or_abort,
    open_project_memory,
    read_given_text,
)
from memorist.core.plural import pluralize
from memorist.core.text_encoding import replace_surrogates
from memorist.core.utc_time import format_utc_timestamp
from memorist.engine.rollout_status import (
    MemorySummaryText,
    PastSessionOutcome,
    RolloutStatus,
    find_rollout,
    read_past_sessions_summary,
    read_rollout_status,
    report_session_extract,
)
from memorist.engine.rollout_store import RolloutStore, open_rollout_store
from memorist.errors import UsageError
from memorist.rollouts.handbook import EVERYWHERE
from memorist.rollouts.rollout_folder import write_user_note
from memorist.rollouts.session_sources import find_repository_root_or_folder
from memorist.settings import Settings
from memorist.store.disk_files import DiskFiles
from memorist.store.extract_rows import delete_all_extraction_state
from memorist.store.home_layout import Layout
from memorist.store.job_claim_rules import GLOBAL_KEY
from memorist.store.job_claims import retry_jobs
from memorist.store.rollout_rows import Rollout
from memorist.store.session_memory_mode import (
    disable_memory_and_erase_first_words,
    persist_session_memory_mode,
)
from memorist.store.session_removal import remove_session_copies
from memorist.system import SystemClock

T = TypeVar("T")


class RolloutsCommands(LazyCommandGroup):
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


def run_with_rollout_store(work: Callable[[RolloutStore], T], *, is_change: bool = False) -> T:
    """Run `work` with the state of past sessions, without importing the two stages, which
    is slow. Raises StoreError where it is a change that would be lost.
    """
    with open_rollout_store(load_rollout_settings()) as past:
        if is_change:
            past.require_saved_state()
        return work(past)


# `memorist rollouts status, retry, reset, show, leave-out`.


@click.command()
@output.JSON_OPTION
def rollouts_status_command(as_json: bool) -> None:
    """Show what is known of past sessions, what waits and why, and what failed.

    Example: memorist rollouts status
    """
    found = run_with_rollout_store(read_rollout_status)
    if as_json:
        output.print_json(found)
    else:
        _print_status(found)


def _print_status(found: RolloutStatus) -> None:
    click.echo(
        f"{pluralize(found.sessions, 'session')} known, {found.due:,} due; "
        f"{pluralize(found.extracts, 'extract')}, {found.no_op:,} held nothing"
    )
    for reason, count in found.waiting.items():
        click.echo(f"  {count:>7,}  {reason}")
    click.echo(
        f"consolidated: {pluralize(found.consolidated, 'session')}, "
        f"last {found.last_consolidation or 'never'}"
    )
    if found.consolidation_failed:
        failure = replace_surrogates(found.consolidation_failed)
        click.echo(f"the last consolidation failed: {failure}")
    if found.put_off:
        first = found.put_off[0]
        click.echo(
            f"put off: {len(found.put_off):,}, the first until {first.until}: "
            f"{replace_surrogates(first.why)}"
        )
    for each in found.not_tried_again:
        click.echo(
            f"not tried again ({each.attempts} attempts): {each.thread}: "
            f"{replace_surrogates(each.why)}; see `memorist rollouts retry`"
        )
    for each in found.failures[-5:]:
        click.echo(f"failed {each.at}: {each.thread}: {replace_surrogates(each.why)}")
    if found.without_model:
        click.echo(
            f"{len(found.without_model):,} extracts were made without the model; the first "
            f"because {replace_surrogates(found.without_model[0].why)}"
        )
    for remark in found.remarks:
        click.echo(f"remark: {replace_surrogates(remark)}")


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
            [GLOBAL_KEY if each == GLOBAL_KEY else find_rollout(past, each).id for each in names]
            or None,
        )

    count = run_with_rollout_store(work, is_change=True)
    click.echo(
        f"{pluralize(count, 'job')} may run again, by `memorist rollouts sync` or "
        f"`memorist worker --once`"
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
    count = run_with_rollout_store(
        lambda past: delete_all_extraction_state(past.state), is_change=True
    )
    click.echo(f"{count:,} extracts forgotten")


@click.command("show")
@click.argument("thread", metavar="[SESSION]", required=False)
@output.JSON_OPTION
def rollouts_show_command(thread: str | None, as_json: bool) -> None:
    """Show what stage one made of a session, by the start of its id; without one the summary
    that sessions are shown.

    Example: memorist rollouts show 1a2b3c4d
    """
    found: PastSessionOutcome | MemorySummaryText = run_with_rollout_store(
        lambda past: (
            report_session_extract(past, thread) if thread else read_past_sessions_summary(past)
        )
    )
    if as_json:
        output.print_json(found)
    else:
        click.echo(replace_surrogates(found.text).rstrip("\n"))


@click.command("leave-out")
@click.argument("thread", metavar="SESSION")
@click.option("--take-in", is_flag=True, help="Let it become memory again.")
@click.option(
    "--hard",
    is_flag=True,
    help="Also delete memorist's own copies: transcript, notes and index. Cannot be undone.",
)
@output.YES_OPTION
def rollouts_leave_out_command(thread: str, take_in: bool, hard: bool, yes: bool) -> None:
    """Keep a session out of memory: what was made of it goes, and the next consolidation forgets
    what rests on it alone. SESSION is the start of its id.

    Example: memorist rollouts leave-out 1a2b3c4d
    """
    if hard and take_in:
        raise UsageError("--hard and --take-in exclude each other")
    if hard:
        _remove_session(thread, yes=yes)
        return

    def work(past: RolloutStore) -> bool:
        return persist_session_memory_mode(
            past.state,
            DiskFiles(),
            past.layout,
            find_rollout(past, thread).id,
            "enabled" if take_in else "disabled",
            past.claim_terms,
        )

    forgets = run_with_rollout_store(work, is_change=True)
    click.echo(
        "it may become memory again"
        if take_in
        else f"it is left out{'; the next consolidation forgets it' if forgets else ''}"
    )


def _remove_session(thread: str, *, yes: bool) -> None:
    """Leave a session out and delete every copy of it that is memorist's own."""
    with open_project_memory() as (memories, _):
        require_person(memories, "deleting what is kept of a session")

    def work(past: RolloutStore) -> Rollout:
        found = find_rollout(past, thread)
        confirm_or_abort(f"Delete all that memorist keeps of session {found.id}?", yes=yes)
        disable_memory_and_erase_first_words(
            past.state, DiskFiles(), past.layout, found.id, past.claim_terms
        )
        return found

    found = run_with_rollout_store(work, is_change=True)
    home = load_home_layout()
    deleted = remove_session_copies(home, found.id)
    click.echo(f"session {found.id} is left out for good")
    for path in deleted:
        click.echo(f"  deleted: {path.relative_to(home.home)}")
    if Path(found.path).exists():  # the record of some sessions is memorist's own
        click.echo(f"  the client's own record is not memorist's and stays: {found.path}")
    click.echo(
        "  memories that it led to stay: `memorist memory log` names them, `memorist memory "
        "forget --hard` removes one; `memorist rollouts sync` takes it out of the summaries"
    )


# `memorist rollouts note`.


@click.command("note")
@words_argument("text")
@click.option("--here", is_flag=True, help="It holds for this project only. [default: everywhere]")
def rollouts_note_command(text: str, here: bool) -> None:
    """Note something for later sessions: shown at once, merged at the next consolidation; `-` reads
    it from standard input.

    Example: memorist rollouts note "The staging database is reset on Mondays"
    """
    text = read_given_text(text).strip()
    if not text:
        raise click.UsageError("the note is empty; say what is to be noted")
    applies = find_repository_root_or_folder(str(Path.cwd())) if here else EVERYWHERE
    folder = Layout.from_setting(load_rollout_settings().home).rollouts
    now = format_utc_timestamp(SystemClock().now())
    click.echo(
        f"noted in {write_user_note(DiskFiles(), folder, text, now=now, group_title=applies)}"
    )

"""`memorist dream`."""

from __future__ import annotations

import asyncio
import hashlib
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import msgspec

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.home_memories import ProjectMemoryOpener
from memorist.auto_memory.memory_location import list_projects_with_memory
from memorist.auto_memory.memory_manifest import INDEX_NAME
from memorist.cli import output
from memorist.cli.command_environment import explain_memory_off, load_project_settings
from memorist.cli.command_group import LazyCommandGroup, words_argument
from memorist.cli.install_command import find_launch_command
from memorist.cli.memory.project_memory_access import confirm_or_abort, read_given_text
from memorist.core.text_encoding import replace_surrogates
from memorist.dream.daily_log import DailyLogs
from memorist.dream.dream import DreamExtension
from memorist.dream.dream_gates import DreamGateClosed, DreamGatesOpen
from memorist.dream.dream_journal import (
    DreamReport,
    get_journal_path,
    list_memories_removed_by_dreams,
    read_dream_journal,
    render_report_lines,
)
from memorist.dream.project_dream import build_dream_extension, find_newest_undoable_dream
from memorist.engine.background_runtime import open_background_runtime
from memorist.errors import MemoristError, NothingToDo
from memorist.models.model_choice import create_model_from_string
from memorist.runtime import SessionContext
from memorist.store.disk_files import DiskFiles
from memorist.system import SystemClock

MODEL = click.option(
    "--model", default=None, help="Another model than the settings name; `structural` for none."
)


@contextmanager
def open_project_dreams(
    model: str | None = None, projects: Callable[[ProjectMemoryOpener], list[str]] | None = None
) -> Iterator[list[tuple[str, AutoMemory, DreamExtension]]]:
    """Open the dreams of the working folder's project, or of those that `projects` returns, and
    close everything at the end.
    """
    settings = load_project_settings(model)
    home = ProjectMemoryOpener(settings)
    opened_model = create_model_from_string(model or settings.model, settings.models)
    try:
        with open_background_runtime(settings, home.database(), opened_model) as runtime:
            found = []
            for project in projects(home) if projects is not None else [str(Path.cwd())]:
                memory = home.memory(project)
                context = SessionContext(runtime=runtime, project=project)
                found.append((project, memory, build_dream_extension(memory, context)))
            yield found
    finally:
        home.close()


async def _dream_now(dream: DreamExtension, *, dry_run: bool) -> DreamReport:
    try:
        return await dream.dream_now("asked for", asked=True, dry_run=dry_run)
    finally:
        await dream.close()


@click.group("dream", cls=LazyCommandGroup, invoke_without_command=True)
@click.option("--now", is_flag=True, help="Dream at once, whatever the gates say.")
@click.option(
    "--dry-run", is_flag=True, help="Show what a dream would do now, as a diff, and write nothing."
)
@MODEL
@output.JSON_OPTION
@click.pass_context
def dream_group(
    context: click.Context, now: bool, dry_run: bool, model: str | None, as_json: bool
) -> None:
    """Consolidate this project's memory; without --now or --dry-run: say whether it is time, and
    why or why not.
    """
    if context.invoked_subcommand is not None:
        return
    with open_project_dreams(model) as ((_, _, dream),):
        if not now and not dry_run:
            off = explain_memory_off(load_project_settings(model))
            verdict = DreamGateClosed("on", off[0]) if off else asyncio.run(dream.check_gates())
            _print_verdict(verdict, as_json=as_json)
            return
        done = asyncio.run(_dream_now(dream, dry_run=dry_run))
    _print_dream(done, as_json=as_json)
    if done.failed or not done.ran:
        context.exit(1)


def _print_verdict(verdict: DreamGatesOpen | DreamGateClosed, *, as_json: bool) -> None:
    if as_json:
        gate = verdict.gate if isinstance(verdict, DreamGateClosed) else ""
        until = verdict.until if isinstance(verdict, DreamGateClosed) else None
        output.print_json(
            {
                "open": isinstance(verdict, DreamGatesOpen),
                "gate": gate,
                "why": verdict.why,
                "until": until,
            }
        )
    elif isinstance(verdict, DreamGatesOpen):
        click.echo(
            f"it is time: {verdict.why}; the next end of a turn begins a dream, and `memorist "
            f"dream --now` does it at once"
        )
    else:
        click.echo(f"not yet (gate: {verdict.gate}): {verdict.why}")


def _print_dream(done: DreamReport, *, as_json: bool) -> None:
    if as_json:
        output.print_json(done)
        return
    if not done.ran:
        click.echo(f"no dream: {done.why}")
        return
    if done.diff:
        click.echo(done.diff.rstrip("\n") + "\n")
    for line in render_report_lines(done):
        click.echo(replace_surrogates(line))
    if done.said:
        click.echo(f"\n{replace_surrogates(done.said)}")
    if done.change:
        click.echo(f"\n`memorist dream undo` takes it back (change {done.change[:8]})")


@dream_group.command("undo")
@output.YES_OPTION
@output.JSON_OPTION
def dream_undo_command(yes: bool, as_json: bool) -> None:
    """Take back the newest dream that is not taken back yet, all of it.

    Example: memorist dream undo
    """
    with open_project_dreams("structural") as ((_, memory, _),):
        found = find_newest_undoable_dream(memory)
        if found is None:
            raise NothingToDo("there is no dream to take back")
        paths = [path for path in found.paths if path != INDEX_NAME]
        confirm_or_abort(f"Take back “{found.why.what}” ({', '.join(paths)})?", yes=yes)
        memory.undo(found.id)
    if as_json:
        output.print_json({"change": found.id, "what": found.why.what, "paths": paths})
    else:
        click.echo(f"taken back: {found.why.what} ({', '.join(paths)})")


@dream_group.command("journal")
@output.JSON_OPTION
def dream_journal_command(as_json: bool) -> None:
    """Show what dreams did to this project's memory, oldest first.

    Example: memorist dream journal
    """
    with open_project_dreams("structural") as ((_, memory, _),):
        path, text = get_journal_path(memory.layout), read_dream_journal(memory.layout)
    if as_json:
        output.print_json({"path": str(path), "journal": text})
    else:
        click.echo(text.rstrip("\n") or "no dream has changed anything yet")


@dream_group.command("archive")
@output.JSON_OPTION
def dream_archive_command(as_json: bool) -> None:
    """List the memories that dreams took out and that are still gone; `memorist memory undo CHANGE`
    brings them back.

    Example: memorist dream archive
    """
    with open_project_dreams("structural") as ((_, memory, _),):
        archived = list_memories_removed_by_dreams(memory)
    if as_json:
        output.print_json({"archive": msgspec.to_builtins(archived)})
        return
    for each in archived:
        click.echo(f"{each.change[:8]}  {each.path}")
    if not archived:
        click.echo("dreams took nothing out")


@dream_group.command("log")
@words_argument("text")
@output.JSON_OPTION
def dream_log_add_command(text: str, as_json: bool) -> None:
    """Add TEXT to today's log of this project: one line, with the time. The next dream of a model
    reads it. `-` reads TEXT from standard input.

    Example: memorist dream log "Switched to pnpm"
    """
    text = read_given_text(text)
    with open_project_dreams("structural") as ((_, memory, _),):
        line = DailyLogs(memory.layout, DiskFiles()).add_line(text, SystemClock().now())
    output.print_json({"line": line}) if as_json else click.echo(line)


@dream_group.command("nightly")
@click.option(
    "--cron",
    is_flag=True,
    help="Print a line for crontab that does this every night, and do nothing else.",
)
@MODEL
@output.JSON_OPTION
@click.pass_context
def dream_nightly_command(
    context: click.Context, cron: bool, model: str | None, as_json: bool
) -> None:
    """Dream for every project of this home that has something new since its last dream; meant for a
    nightly job.

    Example: memorist dream nightly
    """
    if cron:
        line = _cron_line(load_project_settings().home)
        output.print_json({"cron": line}) if as_json else click.echo(line)
        return
    with open_project_dreams(model, _list_project_roots) as found:
        rows = asyncio.run(_dream_nightly([(project, dream) for project, _, dream in found]))
    if as_json:
        output.print_json(
            {"projects": [{"project": project, "dream": done} for project, done in rows]}
        )
    for project, done in rows if not as_json else ():
        click.echo(
            f"{project}: "
            f"{'; '.join(line[2:] for line in render_report_lines(done)) if done.ran else done.why}"
        )
    if any(done.failed for _, done in rows):
        context.exit(1)
    if not rows and not as_json:
        click.echo("no project of this home has a memory yet")


async def _dream_nightly(found: list[tuple[str, DreamExtension]]) -> list[tuple[str, DreamReport]]:
    """Dream for one project after another; an error in one does not stop the others."""
    rows = []
    for project, dream in found:
        try:
            verdict = await dream.check_gates()
            # At night a day's one session is reason enough, or a line in its log.
            due = isinstance(verdict, DreamGatesOpen) or (
                verdict.gate == "sessions" and await dream.has_new_material()
            )
            done = (
                await dream.dream_now("nightly run")
                if due
                else DreamReport(ran=False, why=verdict.why)
            )
        except MemoristError as error:
            done = DreamReport(ran=False, why=str(error), failed=str(error))
        rows.append((project, done))
    for _, dream in found[:1]:
        await dream.close()
    return rows


def _list_project_roots(home: ProjectMemoryOpener) -> list[str]:
    return [each.root for each in list_projects_with_memory(DiskFiles(), home.layout)]


def _cron_line(home: str) -> str:
    """A crontab line at a minute between midnight and five that is fixed for each home
    (Claude Code).
    The program is named by its path, and a non-default home by a variable: cron has neither the
    shell's PATH nor its variables.
    """
    drawn = int.from_bytes(hashlib.sha256(home.encode()).digest()[:4]) % 300
    program = find_launch_command(Path(home).expanduser().absolute())
    named = f"MEMORIST_HOME={shlex.quote(program.home)} " if program.home else ""
    command = f"{named}{shlex.join((*program.arguments, 'dream', 'nightly'))}"
    return f"{drawn % 60} {drawn // 60} * * * " + command.replace(
        "%", r"\%"
    )  # cron takes a bare one for the end of the line

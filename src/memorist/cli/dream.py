"""`memorist dream`."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from memorist.auto_memory.manifest import INDEX_NAME
from memorist.auto_memory.place.run import read_project
from memorist.auto_memory.run import AutoMemory
from memorist.cli import show
from memorist.cli.install import this_program
from memorist.cli.memory.opened import sure
from memorist.clock import SystemClock
from memorist.configuration import load_settings
from memorist.dream.gates import Open, Shut
from memorist.dream.journal import Dreamt, lines
from memorist.dream.logs.run import DailyLogs
from memorist.dream.run import Dream
from memorist.dream.writing.run import journal_of
from memorist.engine.dreaming import Beneath, dream_of
from memorist.engine.memorist import Memorist
from memorist.errors import MemoristError, NothingToDo
from memorist.models.choose import open_model
from memorist.spend.run import SpendGovernor
from memorist.store.files import DiskFiles
from memorist.store.layout import MemoryLayout
from memorist.telemetry.run import Traces

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
MODEL = click.option("--model", default=None, help="Another model than the settings name; `structural` for none.")


@contextmanager
def dreams(
    model: str | None = None, projects: Callable[[Memorist], list[str]] | None = None
) -> Iterator[list[tuple[str, AutoMemory, Dream]]]:
    """Open the dreams of the working folder's project, or of those that `projects` returns, and
    close everything at the end.
    """
    settings = load_settings(os.environ, project=Path.cwd()).settings
    engine = Memorist(settings=settings, model="structural")
    clock, files = SystemClock(), DiskFiles()
    means = open_model(model or settings.model, settings.models, clock=clock)
    try:
        traces = Traces(settings.telemetry, "", clock)
        governor = SpendGovernor(engine.database(), "", clock=clock, settings=settings.spend, told=traces.receipt)
        found = []
        for project in projects(engine) if projects is not None else [str(Path.cwd())]:
            beneath = Beneath(
                project=project,
                database=engine.database(),
                files=files,
                clock=clock,
                model=means,
                settings=settings,
                dream=lambda: settings.dream,
                governor=governor,
                tell=traces.event,
                record=governor.keep,
            )
            memory = engine.memory(project)
            found.append((project, memory, dream_of(memory, beneath)))
        yield found
        governor.give_up()
    finally:
        asyncio.run(engine.close())


async def _asked(dream: Dream, *, dry_run: bool) -> Dreamt:
    try:
        return await dream.dream("asked for", asked=True, dry_run=dry_run)
    finally:
        await dream.close()


@click.group("dream", invoke_without_command=True)
@click.option("--now", is_flag=True, help="Dream at once, whatever the gates say.")
@click.option("--dry-run", is_flag=True, help="Show what a dream would do now, as a diff, and write nothing.")
@MODEL
@JSON
@click.pass_context
def dream_command(context: click.Context, now: bool, dry_run: bool, model: str | None, as_json: bool) -> None:
    """Consolidate this project's memory; without --now or --dry-run: say whether it is time, and why or why not."""
    if context.invoked_subcommand is not None:
        return
    with dreams(model) as ((_, _, dream),):
        if not now and not dry_run:
            _explained(asyncio.run(dream.gates()), as_json=as_json)
            return
        done = asyncio.run(_asked(dream, dry_run=dry_run))
    _told(done, as_json=as_json)
    if done.failed or not done.ran:
        context.exit(1)


def _explained(verdict: Open | Shut, *, as_json: bool) -> None:
    if as_json:
        gate = verdict.gate if isinstance(verdict, Shut) else ""
        until = verdict.until if isinstance(verdict, Shut) else None
        show.json({"open": isinstance(verdict, Open), "gate": gate, "why": verdict.why, "until": until})
    elif isinstance(verdict, Open):
        click.echo(f"it is time: {verdict.why}; the next end of a turn begins a dream, and `memorist dream --now` does it at once")
    else:
        click.echo(f"not yet (gate: {verdict.gate}): {verdict.why}")


def _told(done: Dreamt, *, as_json: bool) -> None:
    if as_json:
        show.json(done)
        return
    if not done.ran:
        click.echo(f"no dream: {done.why}")
        return
    if done.diff:
        click.echo(done.diff.rstrip("\n") + "\n")
    for line in lines(done):
        click.echo(show.readable(line))
    if done.said:
        click.echo(f"\n{show.readable(done.said)}")
    if done.change:
        click.echo(f"\n`memorist dream undo` takes it back (change {done.change[:8]})")


@dream_command.command("undo")
@click.option("--yes", is_flag=True, help="Do not ask.")
@JSON
def undo_command(yes: bool, as_json: bool) -> None:
    """Take back the newest dream that is not taken back yet, all of it."""
    with dreams("structural") as ((_, memory, _),):
        memory.heads()
        log = memory.folder.history.log()
        undone = {each.undoes for each in log if each.undoes}
        found = next((each for each in log if each.why.actor == "dream" and each.id not in undone), None)
        if found is None:
            raise NothingToDo("there is no dream to take back")
        paths = [path for path in found.paths if path != INDEX_NAME]
        sure(f"Take back “{found.why.what}” ({', '.join(paths)})?", yes=yes)
        memory.undo(found.id)
    if as_json:
        show.json({"change": found.id, "what": found.why.what, "paths": paths})
    else:
        click.echo(f"taken back: {found.why.what} ({', '.join(paths)})")


@dream_command.command("journal")
@JSON
def journal_command(as_json: bool) -> None:
    """Show what dreams did to this project's memory, oldest first."""
    with dreams("structural") as ((_, memory, _),):
        path = journal_of(memory.where)
    text = path.read_text("utf-8", "replace") if path.exists() else ""
    if as_json:
        show.json({"path": str(path), "journal": text})
    else:
        click.echo(text.rstrip("\n") or "no dream yet")


@dream_command.command("archive")
@JSON
def archive_command(as_json: bool) -> None:
    """List the memories that dreams took out and that are still gone; `memorist memory undo CHANGE` brings them back."""
    with dreams("structural") as ((_, memory, _),):
        present = {head.path for head in memory.heads()}
        history = memory.folder.history
        rows: dict[str, dict[str, object]] = {}
        for each in history.log():
            for path in each.paths:
                gone = each.why.actor == "dream" and path not in present and path not in rows and path != INDEX_NAME
                if gone and history.data(path, each.id) is None:
                    data = history.data(path, history.before(each.id)) or b""
                    rows[path] = {"path": path, "change": each.id, "at": each.at, "text": data.decode("utf-8", "replace")}
    if as_json:
        show.json({"archive": list(rows.values())})
        return
    for row in rows.values():
        click.echo(f"{str(row['change'])[:8]}  {row['path']}")
    if not rows:
        click.echo("dreams took nothing out")


@dream_command.command("log")
@click.argument("text")
@JSON
def log_command(text: str, as_json: bool) -> None:
    """Add TEXT to today's log of this project: one line, with the time. The next dream of a model reads it."""
    with dreams("structural") as ((_, memory, _),):
        line = DailyLogs(memory.where, DiskFiles()).add(text, SystemClock().now())
    show.json({"line": line}) if as_json else click.echo(line)


@dream_command.command("nightly")
@click.option("--cron", is_flag=True, help="Print a line for crontab that does this every night, and do nothing else.")
@MODEL
@JSON
@click.pass_context
def nightly_command(context: click.Context, cron: bool, model: str | None, as_json: bool) -> None:
    """Dream for every project of this home that has something new since its last dream; meant for a nightly job."""
    if cron:
        line = _cron(load_settings(os.environ, project=Path.cwd()).settings.home)
        show.json({"cron": line}) if as_json else click.echo(line)
        return
    with dreams(model, _projects) as found:
        rows = asyncio.run(_night([(project, dream) for project, _, dream in found]))
    if as_json:
        show.json({"projects": [{"project": project, "dream": done} for project, done in rows]})
    for project, done in rows if not as_json else ():
        click.echo(f"{project}: {'; '.join(line[2:] for line in lines(done)) if done.ran else done.why}")
    if any(done.failed for _, done in rows):
        context.exit(1)
    if not rows and not as_json:
        click.echo("no project of this home has a memory yet")


async def _night(found: list[tuple[str, Dream]]) -> list[tuple[str, Dreamt]]:
    """Dream for one project after another; an error in one does not stop the others."""
    rows = []
    for project, dream in found:
        try:
            verdict = await dream.gates()
            # At night a day's one session is reason enough, or a line in its log.
            due = isinstance(verdict, Open) or (verdict.gate == "sessions" and await dream.news())
            done = await dream.dream("nightly run") if due else Dreamt(ran=False, why=verdict.why)
        except MemoristError as error:
            done = Dreamt(ran=False, why=str(error), failed=str(error))
        rows.append((project, done))
    for _, dream in found[:1]:
        await dream.close()
    return rows


def _projects(engine: Memorist) -> list[str]:
    """The roots of all projects of the home that have a memory, as recorded beside it."""
    if not engine.layout.projects.is_dir():
        return []
    found = []
    for folder in sorted(engine.layout.projects.iterdir()):
        known = read_project(DiskFiles(), MemoryLayout(folder / "memory", folder / "memory-state"))
        if known is not None:
            found.append(known.root)
    return found


def _cron(home: str) -> str:
    """A crontab line at a minute between midnight and five that is fixed for each home
    (claude-code.md section 9.5).

    The program is named by its path, and a non-default home by a variable: cron has neither the
    shell's PATH nor its variables.
    """
    drawn = int.from_bytes(hashlib.sha256(home.encode()).digest()[:4]) % 300
    program = this_program(Path(home).expanduser().absolute())
    named = f"MEMORIST_HOME={shlex.quote(program.home)} " if program.home else ""
    command = f"{named}{shlex.join((*program.words, 'dream', 'nightly'))}"
    return f"{drawn % 60} {drawn // 60} * * * " + command.replace("%", r"\%")  # cron takes a bare one for the end of the line

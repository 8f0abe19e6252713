"""`memorist docs list|update|check`."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import Struct

from memorist.cli import show
from memorist.cli.notes import find_session
from memorist.clock import SystemClock
from memorist.compaction.asking.run import Asking
from memorist.configuration import load_settings
from memorist.core.messages import Message
from memorist.errors import InputError, NothingToDo
from memorist.events import Event, MagicDocFound, MagicDocLeft, MagicDocUpdated
from memorist.forks.spec import Receipt
from memorist.formats import memorist_jsonl
from memorist.magic_docs.check import problems_of
from memorist.magic_docs.header import find_header
from memorist.magic_docs.heard import Heard
from memorist.magic_docs.judge import read_document
from memorist.magic_docs.place.run import Ground, docs_texts, found_in, looked, missing
from memorist.magic_docs.registered.run import Registered
from memorist.magic_docs.run import NO_MODEL, DocsMeans, MagicDocs
from memorist.models.choose import open_model
from memorist.ports import Model
from memorist.settings import Settings
from memorist.spend.run import SpendGovernor
from memorist.store.database import open_database
from memorist.store.files import DiskFiles
from memorist.store.layout import Layout
from memorist.store.lines import LineFile
from memorist.telemetry.run import Traces

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
PROJECT = click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=None,
    help="Its root folder. [default: the working folder]",
)
FILES = click.Path(path_type=Path, dir_okay=False)


class Shown(Struct, frozen=True, kw_only=True):
    """A Magic Doc for display.

    `problems` say why it is not maintained, or what is wrong with it.
    """

    path: str
    title: str = ""
    instruction: str = ""
    bytes: int = 0
    problems: tuple[str, ...] = ()


class Done(Struct, frozen=True, kw_only=True):
    """The result of an update: changed documents, and the reasons for those left alone."""

    changed: tuple[str, ...] = ()
    left: dict[str, tuple[str, ...]]
    unchanged: tuple[str, ...] = ()
    cost_usd: float | None = 0.0


@click.group("docs")
def docs_group() -> None:
    """The Magic Docs of a project: documents with a line `# MAGIC DOC: title`, which a model keeps true while you work."""


@docs_group.command("list")
@PROJECT
@JSON
def list_command(project: Path | None, as_json: bool) -> None:
    """List the Magic Docs of a project, and say why one is not kept."""
    ground = _ground(project)
    rows = [_shown(ground, place.path, (place.why,) if place.why else ()) for place in found_in(ground)]
    if as_json:
        show.json({"documents": rows})
        return
    for row in rows:
        click.echo(f"{row.path}  {row.title}" + (f"  ({row.instruction})" if row.instruction else ""))
        for problem in row.problems:
            click.echo(f"  it is not kept: {problem}")
    if not rows:
        click.echo("There is no Magic Doc here. A Markdown file becomes one by a line: # MAGIC DOC: title")


@docs_group.command("check")
@click.argument("files", type=FILES, nargs=-1)
@PROJECT
@JSON
def check_command(files: Sequence[Path], project: Path | None, as_json: bool) -> None:
    """Say what is wrong with FILES, or with all Magic Docs of a project: why one is not kept, secrets, planted orders, paths that lead nowhere.

    Exit status 1 when anything is.
    """
    ground = _ground(project)
    rows = []
    for path in [path.absolute() for path in files] or [place.path for place in found_in(ground)]:
        place = looked(ground, str(path))
        rows.append(_shown(ground, path, (place.why,) if place is not None and place.why else (), judged=True))
    if as_json:
        show.json({"documents": rows})
    for row in () if as_json else rows:
        click.echo(f"{'WRONG' if row.problems else 'ok   '}  {row.path}  {row.title}".rstrip())
        for problem in row.problems:
            click.echo(f"       {problem}")
    if any(row.problems for row in rows):
        sys.exit(1)


@docs_group.command("update")
@click.argument("files", type=FILES, nargs=-1, required=True)
@click.option("--session", required=True, help="What is new is taken from this session: its id, the start of its id, or its folder.")
@click.option("--model", default=None, help="Model to ask, such as anthropic:NAME. [default: the setting]")
@PROJECT
@JSON
def update_command(files: Sequence[Path], session: str, model: str | None, project: Path | None, as_json: bool) -> None:
    """Bring FILES up to date with what a session has shown. Without a model nothing is written."""
    settings = load_settings(os.environ, project=Path.cwd()).settings
    name, layout = find_session(session)
    heard = _heard(layout.transcript)
    asked = open_model(model or settings.model, settings.models)
    if asked is None:
        raise NothingToDo(f"{NO_MODEL}; name one with --model, or set it in the config.toml of your home folder")
    ground = _ground(project)
    for path in files:
        place = looked(ground, str(path.absolute()))
        if place is None or place.why:
            raise InputError(
                f"{path} is not kept: {place.why if place is not None else 'it cannot be read, or has no line `# MAGIC DOC: title`'}"
            )
        heard.read(str(place.path))
    done = asyncio.run(_updated(name, heard, ground, settings, asked))
    if as_json:
        show.json(done)
    else:
        _tell(done)
    if done.left:
        sys.exit(1)


def _tell(done: Done) -> None:
    for path in done.changed:
        click.echo(f"changed: {path}")
    for path in done.unchanged:
        click.echo(f"nothing new: {path}")
    for path, reasons in done.left.items():
        click.echo(f"memorist: {path} is left as it was: {'; '.join(reasons)}", err=True)
    if done.cost_usd:
        click.echo(f"cost: {done.cost_usd:.4f} dollars")


def _ground(project: Path | None) -> Ground:
    settings = load_settings(os.environ, project=Path.cwd()).settings
    home = Path(settings.home).expanduser()
    return Ground(files=DiskFiles(), project=(project or Path.cwd()).absolute(), home=home, max_bytes=settings.magic_docs.max_bytes)


def _shown(ground: Ground, path: Path, problems: tuple[str, ...], *, judged: bool = False) -> Shown:
    try:
        data = ground.files.read(path)
    except FileNotFoundError:
        return Shown(path=str(path), problems=("it is not there",))
    text = data.decode("utf-8", "replace")
    header = find_header(text)
    if judged:
        lost = missing(ground, path, "", text)
        problems += (*problems_of(data, ground.max_bytes), *(f"it names {name}, which is not there" for name in lost))
    elif isinstance(unreadable := read_document(data, ground.max_bytes), str):
        problems += (unreadable,) if unreadable else ()
    title, instruction = ("", "") if header is None else (header.title, header.instruction)
    return Shown(path=str(path), title=title, instruction=instruction, bytes=len(data), problems=problems)


def _heard(transcript: Path) -> Heard:
    """Read the conversation without the files it read: only the named files are updated."""
    if not transcript.exists():
        raise NothingToDo(f"{transcript.parent} holds no transcript, so there is nothing to learn from")
    heard = Heard()
    for entry in memorist_jsonl.read(LineFile(transcript)):
        if isinstance(entry, Message):
            heard.took(entry)
    heard.taken()
    return heard


async def _updated(session: str, heard: Heard, ground: Ground, settings: Settings, model: Model) -> Done:
    clock, events, receipts = SystemClock(), list[Event](), list[Receipt]()
    layout = Layout(ground.home)
    database = open_database(layout.database)
    told = Traces(settings.telemetry, session, clock).receipt
    governor = SpendGovernor(database, session, clock=clock, settings=settings.spend, told=told)

    def record(receipt: Receipt) -> None:
        governor.keep(receipt)
        receipts.append(receipt)

    asking = Asking(model=model, files=ground.files, clock=clock, limits=settings.forks, governor=governor, record=record, asked=True)
    means = DocsMeans(
        session=session,
        ground=ground,
        clock=clock,
        asking=asking,
        settings=settings.magic_docs,
        texts=docs_texts(ground.files, layout),
        tell=events.append,
        registered=Registered(ground.files, None),
    )
    try:
        await MagicDocs(heard, means).update()
    finally:
        governor.give_up()
        await model.close()
        database.close()
    changed = tuple(event.path for event in events if isinstance(event, MagicDocUpdated))
    left = {event.path: event.reasons for event in events if isinstance(event, MagicDocLeft)}
    found = [event.path for event in events if isinstance(event, MagicDocFound)]
    costs = [receipt.cost_usd for receipt in receipts]
    cost = None if None in costs else sum(cost for cost in costs if cost is not None)
    return Done(changed=changed, left=left, unchanged=tuple(path for path in found if path not in (*changed, *left)), cost_usd=cost)

"""`memorist docs list|update|check`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from msgspec import Struct
from msgspec.structs import replace

from memorist.cli import output
from memorist.cli.command_environment import load_project_settings
from memorist.cli.recorded_sessions import find_recorded_session
from memorist.core.messages import Message
from memorist.engine.background_runtime import open_background_runtime
from memorist.errors import InputError, NothingToDo
from memorist.events import Event, MagicDocFound, MagicDocUnchanged, MagicDocUpdated
from memorist.forks.fork_spec import Receipt
from memorist.formats.format_detection import read_session
from memorist.magic_docs.document_check import read_document
from memorist.magic_docs.document_files import (
    DocumentRegistry,
    DocumentScope,
    find_documents,
    inspect_document,
)
from memorist.magic_docs.document_header import find_header
from memorist.magic_docs.document_mentions import ConversationReader
from memorist.magic_docs.document_problems import find_document_problems, find_missing_paths
from memorist.magic_docs.magic_docs import NO_MODEL_REASON, MagicDocs
from memorist.models.model_choice import open_model
from memorist.ports import Model
from memorist.runtime import SessionContext
from memorist.settings import Settings
from memorist.store.database import open_database
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import Layout
from memorist.store.transcript_reader import LineFile

PROJECT = click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=None,
    help="Its root folder. [default: the working folder]",
)
FILES = click.Path(path_type=Path, dir_okay=False)


class MagicDocRow(Struct, frozen=True, kw_only=True):
    """A Magic Doc for display.

    `problems` say why it is not maintained, or what is wrong with it.
    """

    path: str
    title: str = ""
    instruction: str = ""
    bytes: int = 0
    problems: tuple[str, ...] = ()


class MagicDocsResult(Struct, frozen=True, kw_only=True):
    """The result of an update: changed documents, and the reasons for those left alone."""

    changed: tuple[str, ...] = ()
    left: dict[str, tuple[str, ...]]
    unchanged: tuple[str, ...] = ()
    cost_usd: float | None = 0.0


@click.group("docs")
def docs_group() -> None:
    """The Magic Docs of a project: documents with a line `# MAGIC DOC: title`, which a model keeps
    true while you work.
    """


@docs_group.command("list")
@PROJECT
@output.JSON_OPTION
def docs_list_command(project: Path | None, as_json: bool) -> None:
    """List the Magic Docs of a project, and say why one is not kept.

    Example: memorist docs list
    """
    scope = _docs_dependencies(project)
    rows = [
        _describe_doc(scope, document.path, (document.why,) if document.why else ())
        for document in find_documents(scope)
    ]
    if as_json:
        output.print_json({"documents": rows})
        return
    for row in rows:
        click.echo(
            f"{row.path}  {row.title}" + (f"  ({row.instruction})" if row.instruction else "")
        )
        for problem in row.problems:
            click.echo(f"  it is not kept: {problem}")
    if not rows:
        click.echo(
            "There is no Magic Doc here. A Markdown file becomes one by a line: # MAGIC DOC: title"
        )


@docs_group.command("check")
@click.argument("files", type=FILES, nargs=-1)
@PROJECT
@output.JSON_OPTION
def docs_check_command(files: Sequence[Path], project: Path | None, as_json: bool) -> None:
    """Say what is wrong with FILES, or with all Magic Docs of a project: why one is not kept,
    secrets, planted orders, paths that lead nowhere.

    Exit status 1 when anything is.

    Example: memorist docs check
    """
    scope = _docs_dependencies(project)
    rows = []
    for path in [path.absolute() for path in files] or [
        document.path for document in find_documents(scope)
    ]:
        document = inspect_document(scope, str(path))
        rows.append(
            _describe_doc(
                scope,
                path,
                (document.why,) if document is not None and document.why else (),
                judged=True,
            )
        )
    if as_json:
        output.print_json({"documents": rows})
    for row in () if as_json else rows:
        click.echo(f"{'WRONG' if row.problems else 'ok   '}  {row.path}  {row.title}".rstrip())
        for problem in row.problems:
            click.echo(f"       {problem}")
    if any(row.problems for row in rows):
        sys.exit(1)


@docs_group.command("update")
@click.argument("files", type=FILES, nargs=-1, required=True)
@click.option(
    "--session",
    required=True,
    help="What is new is taken from this session: its id, the start of its id, or its folder.",
)
@click.option(
    "--model", default=None, help="Model to ask, such as anthropic:NAME. [default: the setting]"
)
@PROJECT
@output.JSON_OPTION
def docs_update_command(
    files: Sequence[Path], session: str, model: str | None, project: Path | None, as_json: bool
) -> None:
    """Bring FILES up to date with what a session has shown. Without a model nothing is written.

    Example: memorist docs update docs/architecture.md
    """
    settings = load_project_settings(model)
    found = find_recorded_session(session)
    conversation = _read_conversation(found.path)
    asked = open_model(model or settings.model, settings.models)
    if asked is None:
        raise NothingToDo(
            f"{NO_MODEL_REASON}; name one with --model, or set it in the config.toml of your "
            f"home folder"
        )
    scope = _docs_dependencies(project)
    for path in files:
        document = inspect_document(scope, str(path.absolute()))
        if document is None or document.why:
            unknown = "it cannot be read, or has no line `# MAGIC DOC: title`"
            raise InputError(f"{path} is not kept: {unknown if document is None else document.why}")
        conversation.on_file_read(str(document.path))
    done = asyncio.run(_update_docs(found.name, conversation, scope, settings, asked))
    if as_json:
        output.print_json(done)
    else:
        _print_result(done)
    if done.left:
        sys.exit(1)


def _print_result(done: MagicDocsResult) -> None:
    for path in done.changed:
        click.echo(f"changed: {path}")
    for path in done.unchanged:
        click.echo(f"nothing new: {path}")
    for path, reasons in done.left.items():
        click.echo(f"memorist: {path} is left as it was: {'; '.join(reasons)}", err=True)
    if done.cost_usd:
        click.echo(f"cost: {done.cost_usd:.4f} dollars")


def _docs_dependencies(project: Path | None) -> DocumentScope:
    settings = load_project_settings()
    home = Path(settings.home).expanduser()
    return DocumentScope(
        files=DiskFiles(),
        project=(project or Path.cwd()).absolute(),
        home=home,
        max_bytes=settings.magic_docs.max_bytes,
    )


def _describe_doc(
    scope: DocumentScope, path: Path, problems: tuple[str, ...], *, judged: bool = False
) -> MagicDocRow:
    try:
        data = scope.files.read(path)
    except FileNotFoundError:
        return MagicDocRow(path=str(path), problems=("it is not there",))
    text = data.decode("utf-8", "replace")
    header = find_header(text)
    if judged:
        lost = find_missing_paths(scope, path, "", text)
        problems += (
            *find_document_problems(data, scope.max_bytes),
            *(f"it names {name}, which is not there" for name in lost),
        )
    elif isinstance(unreadable := read_document(data, scope.max_bytes), str):
        problems += (unreadable,) if unreadable else ()
    title, instruction = ("", "") if header is None else (header.title, header.instruction)
    return MagicDocRow(
        path=str(path), title=title, instruction=instruction, bytes=len(data), problems=problems
    )


def _read_conversation(transcript: Path) -> ConversationReader:
    """Read the conversation without the files it read: only the named files are updated."""
    conversation = ConversationReader()
    for entry in read_session(LineFile(transcript)):
        if isinstance(entry, Message):
            conversation.on_message(entry)
    conversation.take_read_files()
    return conversation


async def _update_docs(
    session: str,
    conversation: ConversationReader,
    scope: DocumentScope,
    settings: Settings,
    model: Model,
) -> MagicDocsResult:
    events, receipts = list[Event](), list[Receipt]()
    database = open_database(Layout(scope.home).database)
    registry = DocumentRegistry(scope.files, None)  # nothing is saved
    try:
        with open_background_runtime(
            settings, database, model, session=session, files=scope.files
        ) as opened:
            keep = opened.record_receipt

            def record(receipt: Receipt) -> None:
                receipts.append(receipt)
                keep(receipt)

            runtime = replace(opened, emit=events.append, record_receipt=record)
            context = SessionContext(runtime=runtime, id=session, project=str(scope.project))
            await MagicDocs(context, conversation=conversation, registry=registry).update_all()
    finally:
        await model.close()
        database.close()
    changed = tuple(event.path for event in events if isinstance(event, MagicDocUpdated))
    left = {event.path: event.reasons for event in events if isinstance(event, MagicDocUnchanged)}
    found = [event.path for event in events if isinstance(event, MagicDocFound)]
    costs = [receipt.cost_usd for receipt in receipts]
    cost = None if None in costs else sum(cost for cost in costs if cost is not None)
    return MagicDocsResult(
        changed=changed,
        left=left,
        unchanged=tuple(path for path in found if path not in (*changed, *left)),
        cost_usd=cost,
    )

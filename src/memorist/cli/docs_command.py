"""`memorist docs list|update|check`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from memorist.cli import output
from memorist.cli.command_environment import load_home_layout, load_project_settings
from memorist.cli.command_group import LazyCommandGroup
from memorist.engine.magic_docs_update import MagicDocsUpdateResult, update_magic_docs
from memorist.engine.recorded_session import find_recorded_session
from memorist.errors import NothingToDo
from memorist.magic_docs.document_files import DocumentLocationRules
from memorist.magic_docs.document_problems import check_magic_docs, list_magic_docs
from memorist.magic_docs.magic_docs import NO_MODEL_REASON
from memorist.models.model_choice import create_model_from_string
from memorist.store.disk_files import DiskFiles

PROJECT = click.option(
    "--project",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=None,
    help="Its root folder. [default: the working folder]",
)
FILES = click.Path(path_type=Path, dir_okay=False)


@click.group("docs", cls=LazyCommandGroup)
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
    rows = list_magic_docs(_open_scope(project))
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
    rows = check_magic_docs(_open_scope(project), [path.absolute() for path in files])
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
    found = find_recorded_session(load_home_layout(), session)
    asked = create_model_from_string(model or settings.model, settings.models)
    if asked is None:
        raise NothingToDo(
            f"{NO_MODEL_REASON}; name one with --model, or set it in the config.toml of your "
            f"home folder"
        )

    async def update() -> MagicDocsUpdateResult:
        try:
            return await update_magic_docs(
                _open_scope(project),
                files,
                found.path,
                session=found.id,
                settings=settings,
                model=asked,
            )
        finally:
            await asked.close()

    done = asyncio.run(update())
    if as_json:
        output.print_json(done)
    else:
        _print_result(done)
    if done.left:
        sys.exit(1)


def _print_result(done: MagicDocsUpdateResult) -> None:
    for path in done.changed:
        click.echo(f"changed: {path}")
    for path in done.unchanged:
        click.echo(f"nothing new: {path}")
    for path, reasons in done.left.items():
        click.echo(f"memorist: {path} is left as it was: {'; '.join(reasons)}", err=True)
    if done.cost_usd:
        click.echo(f"cost: {done.cost_usd:.4f} dollars")


def _open_scope(project: Path | None) -> DocumentLocationRules:
    settings = load_project_settings()
    home = Path(settings.home).expanduser()
    return DocumentLocationRules(
        files=DiskFiles(),
        project=(project or Path.cwd()).absolute(),
        home=home,
        max_bytes=settings.magic_docs.max_bytes,
    )

"""`memorist memory import|export`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from memorist.auto_memory.interop.dialect import ExportLoss
from memorist.auto_memory.interop.import_plan import ImportPlan, PlannedMemoryImport
from memorist.auto_memory.interop.memory_transfer import (
    DIALECTS,
    ExportPlan,
    apply_import,
    plan_export,
    plan_import_into_memory,
    read_import_source,
    separate_exportable_memories,
    write_export,
)
from memorist.auto_memory.memory_file import MemoryKind
from memorist.auto_memory.memory_location import locate_project_root
from memorist.auto_memory.write_result import WriteResult
from memorist.cli import output
from memorist.cli.memory.project_memory_access import (
    KIND_CHOICE,
    confirm_or_abort,
    open_project_memory,
    print_write_outcome,
)
from memorist.core.plural import pluralize
from memorist.core.text_encoding import replace_surrogates
from memorist.platforms.user_home import expand_user
from memorist.store.disk_files import DiskFiles

DIALECT_CHOICE = click.Choice(sorted(DIALECTS))
DRY_RUN_OPTION = click.option(
    "--dry-run", is_flag=True, help="Show what would be done, and do nothing."
)


@click.command("import")
@click.argument("source", metavar="FROM", type=click.Path(path_type=Path))
@click.option(
    "--dialect",
    type=DIALECT_CHOICE,
    default=None,
    help="The layout that FROM is in. [default: recognised by its content]",
)
@click.option(
    "--all-projects",
    is_flag=True,
    help="Also take what holds for the folders of other projects only.",
)
@DRY_RUN_OPTION
@output.JSON_OPTION
@output.YES_OPTION
@click.pass_context
def memory_import_command(
    context: click.Context, /, source: Path, dialect: str | None, **flags: bool
) -> None:
    """Take over another agent's memories from FROM, a folder or a file.

    All of it passes the same checks as any memory: secrets are taken out, what looks like a planted
    order waits in the inbox, and what is known already is left out. One import is one change:
    `memorist memory undo` takes it back.

    Example: memorist memory import ~/.gemini/GEMINI.md --dry-run
    """
    doing = not flags["dry_run"]
    if flags["as_json"] and doing and not flags["yes"]:
        raise click.UsageError("--json cannot ask; say --yes, or --dry-run to look first")
    with open_project_memory() as (_, memory):
        found = read_import_source(
            DiskFiles(), Path(expand_user(str(source))).absolute(), dialect or ""
        )
        root = (
            ""
            if flags["all_projects"] or memory.layout.chosen
            else str(locate_project_root(Path.cwd()))
        )
        plan = plan_import_into_memory(memory, found, root=root)
        if not flags["as_json"]:
            _print_import(plan)
        written = WriteResult()
        if doing and plan.items:
            confirm_or_abort(
                f"Import {pluralize(len(plan.items), 'memory', 'memories')}?", yes=flags["yes"]
            )
            written = apply_import(memory, plan)
    if flags["as_json"]:
        output.print_json(_import_object(plan, written, dry_run=flags["dry_run"]))
    elif doing and plan.items:
        print_write_outcome(written, "imported")
    context.exit(1 if doing and plan.items and not written.paths and not written.proposals else 0)


def _item_action(item: PlannedMemoryImport) -> str:
    return "wait" if item.review_reasons else "change" if item.change.before is not None else "add"


def _print_import(plan: ImportPlan) -> None:
    count = pluralize(len(plan.items), "memory", "memories")
    click.echo(
        f"{DIALECTS[plan.dialect].title} ({plan.dialect}): {count} to import from {plan.source}"
    )
    for item in plan.items:
        click.echo(
            replace_surrogates(
                f"  {_item_action(item):<6}  {item.change.path}  [{item.kind or '-'}]  "
                f"{output.format_description(item.description)}"
            )
        )
        for reason in (*item.review_reasons, *item.remarks):
            click.echo(f"          {reason}")
    for each in plan.skipped:
        click.echo(replace_surrogates(f"  skip    {each.where}: {each.why}"))
    for each in plan.ignored:
        click.echo(replace_surrogates(f"  left    {each.where}: {each.why}"))


def _import_object(plan: ImportPlan, written: WriteResult, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dialect": plan.dialect,
        "dry_run": dry_run,
        "memories": [
            {
                "path": item.change.path,
                "what": _item_action(item),
                "kind": item.kind,
                "name": item.name,
                "description": item.description,
                "reasons": [*item.review_reasons, *item.remarks],
            }
            for item in plan.items
        ],
        "skipped": [{"where": each.where, "why": each.why} for each in plan.skipped],
        "left": [{"where": each.where, "why": each.why} for each in plan.ignored],
        "change": written.change_id,
        "imported": list(written.paths),
        "waiting": [each.id for each in written.proposals],
    }


@click.command("export")
@click.argument("target", metavar="TO", type=click.Path(path_type=Path))
@click.option("--dialect", type=DIALECT_CHOICE, required=True, help="The layout to write.")
@click.option(
    "--kind",
    "kinds",
    type=KIND_CHOICE,
    multiple=True,
    help="Only memories of this kind; may be said more than once. [default: all]",
)
@click.option("--force", is_flag=True, help="Also change files that are there with other content.")
@DRY_RUN_OPTION
@output.JSON_OPTION
def memory_export_command(
    target: Path, dialect: str, kinds: tuple[str, ...], **flags: bool
) -> None:
    """Write this project's memories to the folder TO in another agent's layout, and say what that
    layout cannot hold.

    Example: memorist memory export memories --dialect hermes
    """
    files = DiskFiles()
    with open_project_memory() as (_, memory):
        topics, kept = separate_exportable_memories(memory, [MemoryKind(kind) for kind in kinds])
    plan = plan_export(files, topics, Path(expand_user(str(target))).absolute(), dialect)
    if not flags["dry_run"]:
        write_export(files, plan, force=flags["force"])
    if flags["as_json"]:
        output.print_json(_export_object(plan, kept, dry_run=flags["dry_run"]))
    else:
        _print_export(plan, kept, dry_run=flags["dry_run"])


def _print_export(plan: ExportPlan, kept: Sequence[ExportLoss], *, dry_run: bool) -> None:
    for path in sorted(plan.files):
        verb = "would write" if dry_run else "wrote"
        differs = dry_run and path in plan.existing
        remark = " (it is there with other content)" if differs else ""
        click.echo(f"{verb} {plan.folder / path}{remark}")
    for path in plan.unchanged:
        click.echo(f"{plan.folder / path} holds it already")
    for each in (*kept, *plan.losses):
        what = (
            "; ".join(each.lost_parts)
            if each.is_nothing_written
            else f"without {', '.join(each.lost_parts)}"
        )
        click.echo(
            replace_surrogates(
                f"  {each.path}: {'not exported: ' if each.is_nothing_written else ''}{what}"
            )
        )
    if not plan.files and not plan.unchanged:
        click.echo("nothing to export")


def _export_object(
    plan: ExportPlan, kept: Sequence[ExportLoss], *, dry_run: bool
) -> dict[str, Any]:
    return {
        "dialect": plan.dialect,
        "dry_run": dry_run,
        "folder": str(plan.folder),
        "files": sorted(plan.files),
        "differing": sorted(plan.existing),
        "same": list(plan.unchanged),
        "lost": [*kept, *plan.losses],
    }

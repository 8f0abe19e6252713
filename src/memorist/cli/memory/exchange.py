"""`memorist memory import|export`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from memorist.auto_memory.dialects.registry import DIALECTS
from memorist.auto_memory.dialects.values import Lost
from memorist.auto_memory.exchange.plan import ImportPlan, Item
from memorist.auto_memory.exchange.run import ExportPlan, carry_out, exportable, foresee, plan_export, read_source, write_export
from memorist.auto_memory.kinds import Kind
from memorist.auto_memory.place.run import project_root
from memorist.auto_memory.run import Written
from memorist.cli import show
from memorist.cli.memory.files import JSON, KINDS, YES
from memorist.cli.memory.opened import opened, sure, told
from memorist.store.files import DiskFiles

NAMES = click.Choice(sorted(DIALECTS))
DRY_RUN = click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")


@click.command("import")
@click.argument("source", metavar="FROM", type=click.Path(path_type=Path))
@click.option("--dialect", type=NAMES, default=None, help="The layout that FROM is in. [default: recognised by its content]")
@click.option("--all-projects", is_flag=True, help="Also take what holds for the folders of other projects only.")
@DRY_RUN
@JSON
@YES
@click.pass_context
def import_command(context: click.Context, /, source: Path, dialect: str | None, **flags: bool) -> None:
    """Take over another agent's memories from FROM, a folder or a file.

    All of it passes the same checks as any memory: secrets are taken out, what looks like a planted order waits in the inbox, and what is known
    already is left out. One import is one change: `memorist memory undo` takes it back.
    """
    doing = not flags["dry_run"]
    if flags["as_json"] and doing and not flags["yes"]:
        raise click.UsageError("--json cannot ask; say --yes, or --dry-run to look first")
    with opened() as (_, memory):
        found = read_source(DiskFiles(), source.expanduser().absolute(), dialect or "")
        root = "" if flags["all_projects"] or memory.where.chosen else str(project_root(Path.cwd()))
        plan = foresee(memory, found, root=root)
        if not flags["as_json"]:
            _show_import(plan)
        written = Written()
        if doing and plan.items:
            sure(f"Import {_memories(len(plan.items))}?", yes=flags["yes"])
            written = carry_out(memory, plan)
    if flags["as_json"]:
        show.json(_import_object(plan, written, dry_run=flags["dry_run"]))
    elif doing and plan.items:
        told(written, "imported")
    context.exit(1 if doing and plan.items and not written.paths and not written.waiting else 0)


def _memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"


def _what(item: Item) -> str:
    return "wait" if item.waits else "change" if item.change.before is not None else "add"


def _show_import(plan: ImportPlan) -> None:
    click.echo(f"{DIALECTS[plan.dialect].title} ({plan.dialect}): {_memories(len(plan.items))} to import from {plan.source}")
    for item in plan.items:
        click.echo(show.readable(f"  {_what(item):<6}  {item.change.path}  [{item.kind or '-'}]  {item.description}"))
        for reason in (*item.waits, *item.remarks):
            click.echo(f"          {reason}")
    for each in plan.skipped:
        click.echo(show.readable(f"  skip    {each.where}: {each.why}"))
    for each in plan.left:
        click.echo(show.readable(f"  left    {each.where}: {each.why}"))


def _import_object(plan: ImportPlan, written: Written, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dialect": plan.dialect,
        "dry_run": dry_run,
        "memories": [
            {
                "path": show.readable(item.change.path),
                "what": _what(item),
                "kind": item.kind,
                "name": show.readable(item.name),
                "description": show.readable(item.description),
                "reasons": [*item.waits, *item.remarks],
            }
            for item in plan.items
        ],
        "skipped": [{"where": show.readable(each.where), "why": show.readable(each.why)} for each in plan.skipped],
        "left": [{"where": show.readable(each.where), "why": show.readable(each.why)} for each in plan.left],
        "change": written.change,
        "imported": list(written.paths),
        "waiting": [each.id for each in written.waiting],
    }


@click.command("export")
@click.argument("target", metavar="TO", type=click.Path(path_type=Path))
@click.option("--dialect", type=NAMES, required=True, help="The layout to write.")
@click.option("--kind", "kinds", type=KINDS, multiple=True, help="Only memories of this kind; may be said more than once. [default: all]")
@click.option("--force", is_flag=True, help="Also change files that are there with other content.")
@DRY_RUN
@JSON
def export_command(target: Path, dialect: str, kinds: tuple[str, ...], **flags: bool) -> None:
    """Write this project's memories to the folder TO in another agent's layout, and say what that layout cannot hold."""
    files = DiskFiles()
    with opened() as (_, memory):
        topics, kept = exportable(memory, [Kind(kind) for kind in kinds])
    plan = plan_export(files, topics, target.expanduser().absolute(), dialect)
    if not flags["dry_run"]:
        write_export(files, plan, force=flags["force"])
    if flags["as_json"]:
        show.json(_export_object(plan, kept, dry_run=flags["dry_run"]))
    else:
        _show_export(plan, kept, dry_run=flags["dry_run"])


def _show_export(plan: ExportPlan, kept: Sequence[Lost], *, dry_run: bool) -> None:
    for path in sorted(plan.files):
        verb = "would write" if dry_run else "wrote"
        click.echo(f"{verb} {plan.folder / path}{' (it is there with other content)' if dry_run and path in plan.before else ''}")
    for path in plan.same:
        click.echo(f"{plan.folder / path} holds it already")
    for each in (*kept, *plan.lost):
        what = "; ".join(each.what) if each.whole else f"without {', '.join(each.what)}"
        click.echo(show.readable(f"  {each.path}: {'not exported: ' if each.whole else ''}{what}"))
    if not plan.files and not plan.same:
        click.echo("nothing to export")


def _export_object(plan: ExportPlan, kept: Sequence[Lost], *, dry_run: bool) -> dict[str, Any]:
    return {
        "dialect": plan.dialect,
        "dry_run": dry_run,
        "folder": str(plan.folder),
        "files": sorted(plan.files),
        "differing": sorted(plan.before),
        "same": list(plan.same),
        "lost": [{"path": each.path, "whole": each.whole, "what": list(each.what)} for each in (*kept, *plan.lost)],
    }

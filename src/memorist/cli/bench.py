"""`memorist bench`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import click

from memorist.bench.result import Result
from memorist.cli import show

BENCHES = {
    "reading": "reading",
    "replaying": "replaying",
    "live": "live",
    "notes": "notes_table",
    "forks": "forking",
    "carryover": "carryover",
    "cache": "cache",
    "prepare": "preparing",
    "extract": "extract",
    "secrets": "secrets",
}
"""Name of a measurement to its module in `memorist.bench`. Loaded when asked for: some need what others do not."""


@click.command()
@click.argument("name", type=click.Choice([*BENCHES, "all"]))
@click.option(
    "--data", type=click.Path(path_type=Path), default=Path("../shared/data"), show_default=True, help="Folder of recorded sessions."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def bench(name: str, data: Path, as_json: bool) -> None:
    """Run a measurement: speed, memory and quality, beside what one would take instead."""
    names = list(BENCHES) if name == "all" else [name]
    results = []
    for each in names:
        if sys.stderr.isatty():
            click.echo(f"measuring {each} …", err=True)
        result = _measure(each)(data)
        results.append(result)
        if not as_json:
            _table(result)
    if as_json:
        show.json({"results": results})


def _measure(name: str) -> Callable[[Path], Result]:
    found: Callable[[Path], Result] = importlib.import_module(f"memorist.bench.{BENCHES[name]}").measure
    return found


def _table(result: Result) -> None:
    click.echo(f"\n{result.name}")
    if result.absent:
        click.echo(f"  not measured: {result.absent}")
        return
    width = max(len(row.what) for row in result.rows)
    for row in result.rows:
        goal = f"   goal: {row.goal}, {'met' if row.met else 'MISSED'}" if row.goal else ""
        click.echo(f"  {row.what:<{width}}  {row.figure:>10,.2f} {row.unit}{goal}")

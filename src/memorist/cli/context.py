"""`memorist context`."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any, cast

import click
from msgspec import Struct

from memorist.cli import show
from memorist.cli.memory.opened import opened
from memorist.clock import SystemClock
from memorist.compaction.recorded import recorded_at
from memorist.configuration import load_settings
from memorist.context.piece import LeftOut, Piece, Section, counted_for
from memorist.context.recorded import CONVERSATION, family_of, model_of, place_of_turn, recorded_pieces
from memorist.context.rows import TABLE
from memorist.context.run import first_context, memory_section
from memorist.context.settings import Family
from memorist.core.tokens import family_factor
from memorist.errors import UsageError
from memorist.formats.recognise import read
from memorist.recall.run import load_texts
from memorist.recall.surface import index_block
from memorist.settings import Settings
from memorist.store.files import DiskFiles
from memorist.store.lines import LineFile

_AFTERWARDS = {"recommended_plugins", "local-command-caveat"}
"""The first row of each family that is the user's side, or comes later."""
_PLURALS = {"reply": "replies", "thinking": "thoughts", "tool_use": "calls", "tool_result": "results", "media": "pictures"}


@click.command()
@click.argument("place", type=click.Path(path_type=Path), metavar="FILE|FOLDER")
@click.option(
    "--family",
    type=click.Choice(["rollout", "file-native"]),
    default=None,
    help="Which shape. [default: that of the recorded session; for a folder the setting context.family]",
)
@click.option("--turn", type=click.IntRange(min=1), default=None, help="As the model saw it when this turn began. [default: the end]")
@click.option(
    "--model", default="", metavar="NAME", help="Count tokens as this model's family does. [default: the model that the recording names]"
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def context(place: Path, family: str | None, turn: int | None, model: str, as_json: bool) -> None:
    """Show what the model is shown, piece by piece, with tokens, source and reason.

    For a folder, such as `.`: the first context that memorist would assemble there. For a recorded session: what stands in its context.
    Tokens are estimated: bytes / 4, times a factor of the model's family where the model is known.
    """
    settings = load_settings(os.environ, project=Path.cwd()).settings
    wanted = cast("Family | None", family)
    if place.is_dir():
        if turn is not None:
            raise UsageError("--turn is of a recorded session; a folder has only its first context")
        found = _of_folder(place, wanted or settings.context.family, settings, model)
    else:
        found = _of_file(place, wanted, turn, settings.context.family, model)
    if as_json:
        show.json(_json(found))
    else:
        _print(place, found)


class _Found(Struct, frozen=True, kw_only=True):
    family: Family
    turn: int
    model: str
    """Whose tokens are counted; empty where no model is known."""
    pieces: Sequence[Piece]
    left_out: Sequence[LeftOut] = ()


def _of_folder(folder: Path, family: Family, settings: Settings, model: str) -> _Found:
    whole = folder.absolute() if folder != Path() else Path.cwd()
    assembled = first_context(
        whole, family, files=DiskFiles(), clock=SystemClock(), settings=settings.context, given=list(_memory(whole, family, settings))
    )
    return _Found(family=family, turn=1, model=model, pieces=counted_for(assembled.pieces, model), left_out=assembled.left_out)


def _memory(folder: Path, family: Family, settings: Settings) -> Iterator[Section]:
    """The index of the folder's memory, where there is one and it would be shown."""
    if not (settings.auto_memory.enabled and settings.recall.enabled):
        return
    with opened(project=folder) as (_, memory):
        if not memory.folder.exists:
            return
        memory.folder.refresh()
        index = memory.folder.index().text
        if index.strip():
            yield memory_section(index_block(index, str(memory.where.folder), load_texts()), str(memory.where.index), family)


def _of_file(file: Path, family: Family | None, turn: int | None, otherwise: Family, model: str) -> _Found:
    lines = LineFile(file)
    number, at = place_of_turn(read(lines), turn)
    recorded = recorded_at(read(lines), at)
    chosen = family or family_of(recorded.head, otherwise)
    counts = model or model_of(recorded)
    return _Found(family=chosen, turn=number, model=counts, pieces=counted_for(recorded_pieces(recorded, chosen), counts))


def _json(found: _Found) -> dict[str, Any]:
    return {
        "family": found.family,
        "turn": found.turn,
        "model": found.model or None,
        "factor": _factor(found.model),
        "items": [
            {
                "role": each.role,
                "tag": each.tag,
                "tokens": each.tokens,
                "source": each.source,
                "why": each.why,
                "text": show.readable(each.text),
            }
            for each in found.pieces
        ],
        "tokens": sum(each.tokens for each in found.pieces),
        "left_out": [{"source": each.source, "why": each.why} for each in found.left_out],
    }


def _factor(model: str) -> float:
    return family_factor(model) if model else 1.0


def _print(place: Path, found: _Found) -> None:
    pieces = found.pieces
    what = "What memorist would say first in this folder" if place.is_dir() else f"The context at turn {found.turn}"
    counted = (
        f"counted for {show.readable(found.model)}: bytes / 4 × {_factor(found.model):g}"
        if found.model
        else "bytes / 4; --model counts for a model"
    )
    click.echo(f"{what}, {found.family} family: about {sum(each.tokens for each in pieces):,} tokens ({counted})\n")
    width = max([len(each.tag) for each in pieces if each.tag not in CONVERSATION], default=0)
    for said, run in groupby(pieces, key=lambda each: each.tag in CONVERSATION):
        rows = list(run)
        if said:
            click.echo(f"{sum(each.tokens for each in rows):>9,}  {'·':<9}  {_summed(rows)}")
        for each in () if said else rows:
            click.echo(f"{each.tokens:>9,}  {each.role:<9}  {each.tag:<{width}}  {_short(each.source)}")
            click.echo(f"{'':>22}{'':<{width}}  {show.readable(each.why)}")
    if found.left_out:
        click.echo("\nnot in it:")
        for missed in found.left_out:
            click.echo(f"  {_short(missed.source)}\n      {_short(missed.why)}")
    if place.is_dir():
        absent = f"A host adds its own, where it has them, each in its place: {', '.join(_absent(found.family, pieces))}."
        click.echo("\n" + textwrap.fill(absent, 100, break_on_hyphens=False))
    click.echo("\n--json shows the texts.")


def _absent(family: Family, pieces: Sequence[Piece]) -> list[str]:
    """What the first context has a place for and nobody gave."""
    there = {each.tag for each in pieces}
    rows = takewhile(lambda kind: kind.tag not in _AFTERWARDS, (kind for kind in TABLE if kind.family == family))
    return [kind.tag for kind in rows if kind.tag not in there and kind.tag != "boundary"]


def _summed(rows: Iterable[Piece]) -> str:
    counts = Counter(each.tag for each in rows)
    parts = [f"{count:,} {tag if count == 1 else _PLURALS.get(tag, f'{tag}s')}" for tag, count in counts.items()]
    return "conversation: " + ", ".join(parts)


def _short(text: str) -> str:
    """Paths as people write them."""
    here, home = f"{Path.cwd()}/", f"{Path.home()}/"
    return show.readable(text).replace(here, "").replace(home, "~/")

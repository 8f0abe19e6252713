"""`memorist context`."""

from __future__ import annotations

import os
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct, structs

from memorist.cli import show
from memorist.cli.live import as_shown
from memorist.cli.memory.opened import opened
from memorist.clock import SystemClock
from memorist.compaction.recorded import recorded_at
from memorist.configuration import load_settings
from memorist.context.allowed import APPROVALS, SANDBOXES, USUAL, Allowed
from memorist.context.attachments import Attachments
from memorist.context.changes import Changed, changes
from memorist.context.environment import Network
from memorist.context.kept.run import load as load_shown
from memorist.context.piece import LeftOut, Piece, Section, counted_for
from memorist.context.recorded import CONVERSATION, family_of, model_of, place_of_turn, recorded_pieces
from memorist.context.rows import TABLE
from memorist.context.run import Outside, first_context, memory_section
from memorist.context.settings import Family
from memorist.core.tokens import family_factor
from memorist.engine.model_limits import DEFAULT_WINDOW, price_for
from memorist.errors import UsageError
from memorist.formats.recognise import read
from memorist.formats.recorded import Entry
from memorist.models.prices import Price
from memorist.recall.run import load_texts
from memorist.recall.surface import index_block
from memorist.settings import Settings
from memorist.skills.listing import catalogue
from memorist.skills.run import discover, places_of
from memorist.skills.section import section_of, skills_left_out
from memorist.skills.texts import shipped
from memorist.store.files import DiskFiles
from memorist.store.lines import LineFile

_AFTERWARDS = {"recommended_plugins", "local-command-caveat"}
"""The first tag of each family that belongs to the user's side or comes later."""
_MARKS = {"added": "+", "gone": "-", "same": " "}
_COUNTED = {
    "reply": ("reply", "replies"),
    "thinking": ("thought", "thoughts"),
    "tool_use": ("call", "calls"),
    "tool_result": ("result", "results"),
    "media": ("picture or document", "pictures and documents"),
    "unknown": ("unknown item", "unknown items"),
    "injected": ("injected text", "injected texts"),
}


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
@click.option("--diff", is_flag=True, help="Mark what was added and what is gone since the turn before.")
@click.option(
    "--approval", default=None, help=f"What the rollout family is told of approval: {', '.join(APPROVALS)}. [default: {USUAL.approval}]"
)
@click.option("--sandbox", default=None, help=f"What it is told of the sandbox: {', '.join(SANDBOXES)}. [default: {USUAL.sandbox}]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def context(**options: object) -> None:
    """Show what the model is shown, piece by piece, with tokens, source and reason.

    For a folder, such as `.`: the first context that memorist would assemble there. For a recorded session: what stands in its context.
    Tokens are estimated: bytes / 4, times a factor of the model's family where the model is known.
    """
    call = msgspec.convert(options, _Call)
    where = call.place if call.place.is_dir() else Path()
    settings = load_settings(os.environ, project=where.resolve()).settings
    found = _of_folder(call, settings) if call.place.is_dir() else _of_file(call, settings.context.family)
    show.json(_json(found)) if call.as_json else _print(call.place, found)


class _Call(Struct, frozen=True, kw_only=True):
    """The options of the command."""

    place: Path
    family: Family | None
    turn: int | None
    model: str
    diff: bool
    approval: str | None
    sandbox: str | None
    as_json: bool


class _Found(Struct, frozen=True, kw_only=True):
    """The pieces to list. `before` holds those of the turn before, if the two are compared."""

    family: Family
    turn: int
    model: str
    """The model whose tokens are counted; empty if unknown."""
    pieces: Sequence[Piece]
    left_out: Sequence[LeftOut] = ()
    before: Sequence[Piece] | None = None

    @property
    def changed(self) -> tuple[Changed, ...]:
        """Each piece and whether it was added, removed or stayed; all stay if nothing is
        compared.
        """
        return changes(self.pieces if self.before is None else self.before, self.pieces)


def _of_folder(call: _Call, settings: Settings) -> _Found:
    if call.turn is not None:
        raise UsageError("--turn is of a recorded session; a folder has only its first context")
    if call.diff:
        raise UsageError("--diff compares two turns of a recorded session; a folder has only its first context, and nothing before it")
    family = call.family or settings.context.family
    if family != "rollout" and (call.approval, call.sandbox) != (None, None):
        raise UsageError("--approval and --sandbox are told in the rollout family only; add --family rollout")
    folder = call.place.absolute() if call.place != Path() else Path.cwd()
    skills, missed = _skills(folder, family, call.model, settings)
    outside = Outside(files=DiskFiles(), clock=SystemClock(), settings=settings.context)
    made = first_context(folder, family, outside, given=(*_memory(folder, family, settings), *skills), allowed=_allowed(call))
    return _Found(family=family, turn=1, model=call.model, pieces=counted_for(made.pieces, call.model), left_out=(*made.left_out, *missed))


def _allowed(call: _Call) -> Allowed:
    """The usual permissions, with the options' values in their place."""
    if call.approval is None and call.sandbox is None:
        return USUAL
    network = Network(enabled=True) if call.sandbox == "danger-full-access" else USUAL.network
    why = "as --approval and --sandbox say, the rest as is usual"
    return structs.replace(USUAL, approval=call.approval or USUAL.approval, sandbox=call.sandbox or USUAL.sandbox, network=network, why=why)


def _skills(folder: Path, family: Family, model: str, settings: Settings) -> tuple[tuple[Section, ...], tuple[LeftOut, ...]]:
    """The skill catalogue of the folder, within its share of the model's window, and the skills
    left out of it.
    """
    found = discover(places_of(folder, os.environ, settings.home), settings.skills)
    known = price_for({"model": model}, settings) or Price()
    window = min(settings.compaction.window or sys.maxsize, known.window or DEFAULT_WINDOW)
    made = catalogue(found.skills, family, shipped(), settings.skills, window=window, factor=_factor(model))
    limit = f"{settings.skills.share:.0%} of a window of {window:,} tokens"
    section = section_of(made, family, limit)
    return () if section is None else (section,), skills_left_out(found.skills, made, found.problems, limit)


def _memory(folder: Path, family: Family, settings: Settings) -> Iterator[Section]:
    """The memory index of the folder, if there is one and it would be shown."""
    if not (settings.remembers and settings.recall.enabled):
        return
    with opened(project=folder) as (_, memory):
        if not memory.folder.exists:
            return
        memory.folder.refresh()
        index = memory.folder.index().text
        if index.strip():
            yield memory_section(index_block(index, str(memory.where.folder), load_texts()), str(memory.where.index), family)


FIRST = "context.json"
"""The first context beside a transcript of memorist's own, if memorist assembled it."""


def _of_file(call: _Call, otherwise: Family) -> _Found:
    if (call.approval, call.sandbox) != (None, None):
        raise UsageError("--approval and --sandbox are for the first context of a folder; a recorded session has its own")
    entries = as_shown(read(LineFile(call.place)), call.place)
    number, at = place_of_turn(Attachments().among(entries), call.turn)
    attachments = Attachments()
    recorded = recorded_at(attachments.among(entries), at)
    family = call.family or family_of(recorded.head, otherwise)
    model = call.model or model_of(recorded)
    first = load_shown(DiskFiles(), call.place.with_name(FIRST), family) or ()
    pieces = counted_for((*first, *recorded_pieces(recorded, family)), model)
    turn = number if at else number + 1
    before = counted_for((*(first if turn > 1 else ()), *_turn_before(entries, turn, family)), model) if call.diff else None
    return _Found(family=family, turn=number, model=model, pieces=pieces, left_out=attachments.left_out(), before=before)


def _turn_before(entries: Sequence[Entry], turn: int, family: Family) -> tuple[Piece, ...]:
    """The context when the previous turn began; empty for the first turn."""
    if turn <= 1:
        return ()
    at = place_of_turn(Attachments().among(entries), turn - 1)[1]
    return recorded_pieces(recorded_at(Attachments().among(entries), at), family)


def _json(found: _Found) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "family": found.family,
        "turn": found.turn,
        "model": found.model or None,
        "factor": _factor(found.model),
        "items": [_item(each) | ({} if found.before is None else {"change": each.change}) for each in found.changed],
        "tokens": sum(each.tokens for each in found.pieces),
        "left_out": [{"source": each.source, "why": each.why} for each in found.left_out],
    }
    return whole if found.before is None else whole | _sums(found)


def _factor(model: str) -> float:
    return family_factor(model) if model else 1.0


def _sums(found: _Found) -> dict[str, int]:
    """Tokens that were added, and that were removed."""
    return {name: sum(each.piece.tokens for each in found.changed if each.change == name) for name in ("added", "gone")}


def _item(each: Changed) -> dict[str, Any]:
    piece = each.piece
    names = ("role", "tag", "tokens", "source", "why")
    return {name: getattr(piece, name) for name in names} | {"text": show.readable(piece.text)}


def _print(place: Path, found: _Found) -> None:
    what = "What memorist would say first in this folder" if place.is_dir() else f"The context at turn {found.turn}"
    counted = (
        f"counted for {show.readable(found.model)}: bytes / 4 × {_factor(found.model):g}"
        if found.model
        else "bytes / 4; --model counts for a model"
    )
    click.echo(f"{what}, {found.family} family: about {sum(each.tokens for each in found.pieces):,} tokens ({counted})")
    if found.before is not None:
        sums = _sums(found)
        click.echo(f"since the turn before: {sums['added']:,} tokens added (+), {sums['gone']:,} gone (-)")
    click.echo()
    width = max([len(each.tag) for each in found.pieces if each.tag not in CONVERSATION], default=0)
    comparing = found.before is not None
    for (change, brief), run in groupby(found.changed, key=lambda each: (each.change, _is_brief(each, comparing=comparing))):
        rows = [each.piece for each in run]
        mark = _MARKS[change] if comparing else ""
        if brief:
            click.echo(f"{mark}{sum(each.tokens for each in rows):>9,}  {'·':<9}  {_summed(rows)}")
            continue
        for each in rows:
            click.echo(f"{mark}{each.tokens:>9,}  {each.role:<9}  {each.tag:<{width}}  {_short(each.source)}")
            click.echo(f"{'':>22}{'':<{width + len(mark)}}  {show.readable(each.why)}")
    _print_rest(place, found)


def _is_brief(each: Changed, *, comparing: bool) -> bool:
    """Whether a piece is only counted: conversation and, when comparing, unchanged pieces."""
    return each.piece.tag in CONVERSATION or (comparing and each.change == "same")


def _print_rest(place: Path, found: _Found) -> None:
    if found.left_out:
        click.echo("\nnot in it:")
        for missed in found.left_out:
            click.echo(f"  {_short(missed.source)}\n      {_short(missed.why)}")
    if place.is_dir():
        absent = f"A host adds its own, where it has them, each in its place: {', '.join(_absent(found.family, found.pieces))}."
        click.echo("\n" + textwrap.fill(absent, 100, break_on_hyphens=False))
    click.echo("\n--json shows the texts.")


def _absent(family: Family, pieces: Sequence[Piece]) -> list[str]:
    """Tags of the first context that nobody provided."""
    there = {each.tag for each in pieces}
    rows = takewhile(lambda kind: kind.tag not in _AFTERWARDS, (kind for kind in TABLE if kind.family == family))
    return [kind.tag for kind in rows if kind.tag not in there and kind.tag != "boundary"]


def _summed(pieces: Sequence[Piece]) -> str:
    counts = Counter(each.tag for each in pieces)
    parts = [f"{count:,} {_COUNTED.get(tag, (tag, f'{tag}s'))[count != 1]}" for tag, count in counts.items()]
    kind = "conversation" if all(each.tag in CONVERSATION for each in pieces) else "conversation and more"
    return f"{kind}: " + ", ".join(parts)


def _short(text: str) -> str:
    """Replace the working folder and the home in paths."""
    here, home = f"{Path.cwd()}/", f"{Path.home()}/"
    return show.readable(text).replace(here, "").replace(home, "~/")

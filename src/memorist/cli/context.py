"""`memorist context`."""

from __future__ import annotations

import os
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
from memorist.cli.memory.opened import opened
from memorist.clock import SystemClock
from memorist.compaction.recorded import recorded_at
from memorist.configuration import load_settings
from memorist.context.attachments import Attachments
from memorist.context.changes import Changed, changes
from memorist.context.environment import Network
from memorist.context.host import APPROVALS, SANDBOXES, USUAL, Host
from memorist.context.piece import LeftOut, Piece, Section
from memorist.context.recorded import CONVERSATION, family_of, place_of_turn, recorded_pieces
from memorist.context.rows import TABLE
from memorist.context.run import first_context, memory_section
from memorist.context.settings import Family
from memorist.errors import UsageError
from memorist.formats.recognise import read
from memorist.model_limits import DEFAULT_WINDOW
from memorist.recall.run import load_texts
from memorist.recall.surface import index_block
from memorist.settings import Settings
from memorist.skills.listing import catalogue
from memorist.skills.run import discover, places_of
from memorist.skills.section import catalogue_section, skills_left_out
from memorist.skills.texts import shipped
from memorist.store.files import DiskFiles
from memorist.store.lines import LineFile

_AFTERWARDS = {"recommended_plugins", "local-command-caveat"}
"""The first row of each family that is the user's side, or comes later."""
_MARKS = {"added": "+", "gone": "-", "same": " "}
_PLURALS = {
    "reply": "replies",
    "thinking": "thoughts",
    "tool_use": "calls",
    "tool_result": "results",
    "media": "pictures",
    "injected": "injected texts",
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
@click.option("--diff", is_flag=True, help="Mark what was added and what is gone since the turn before.")
@click.option(
    "--approval", default=None, help=f"What the rollout family is told of approval: {', '.join(APPROVALS)}. [default: {USUAL.approval}]"
)
@click.option("--sandbox", default=None, help=f"What it is told of the sandbox: {', '.join(SANDBOXES)}. [default: {USUAL.sandbox}]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def context(**options: object) -> None:
    """Show what the model is shown, piece by piece, with tokens, source and reason.

    For a folder, such as `.`: the first context that memorist would assemble there. For a recorded session: what stands in its context.
    """
    call = msgspec.convert(options, _Call)
    settings = load_settings(os.environ, project=Path.cwd()).settings
    found = _of_folder(call, settings) if call.place.is_dir() else _of_file(call, settings.context.family)
    show.json(_json(found)) if call.as_json else _print(call.place, found)


class _Call(Struct, frozen=True, kw_only=True):
    """The options."""

    place: Path
    family: Family | None
    turn: int | None
    diff: bool
    approval: str | None
    sandbox: str | None
    as_json: bool


class _Found(Struct, frozen=True, kw_only=True):
    """What is shown. `before` holds the turn before where the two are compared."""

    family: Family
    turn: int
    pieces: Sequence[Piece]
    left_out: Sequence[LeftOut] = ()
    before: Sequence[Piece] | None = None

    @property
    def changed(self) -> tuple[Changed, ...]:
        """Each piece with what became of it; all count as the same where nothing is compared."""
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
    skills, missed = _skills(folder, family, settings)
    host = _host(call, (*_memory(folder, family, settings), *skills))
    assembled = first_context(folder, family, files=DiskFiles(), clock=SystemClock(), settings=settings.context, host=host)
    return _Found(family=family, turn=1, pieces=assembled.pieces, left_out=(*assembled.left_out, *missed))


def _host(call: _Call, sections: tuple[Section, ...]) -> Host:
    """The usual host, with what the options say instead."""
    host = structs.replace(USUAL, sections=sections)
    if call.approval is None and call.sandbox is None:
        return host
    open_network = Network(enabled=True) if call.sandbox == "danger-full-access" else USUAL.network
    why = "as --approval and --sandbox say, the rest as is usual"
    return structs.replace(
        host, approval=call.approval or host.approval, sandbox=call.sandbox or host.sandbox, network=open_network, why=why
    )


def _skills(folder: Path, family: Family, settings: Settings) -> tuple[tuple[Section, ...], tuple[LeftOut, ...]]:
    """The catalogue of the skills of the folder, and what of them is not in it."""
    found = discover(places_of(folder, os.environ, settings.home), settings.skills)
    window = min(settings.compaction.window or DEFAULT_WINDOW, DEFAULT_WINDOW)
    made = catalogue(found.skills, family, shipped(), settings.skills, window=window)
    limit = f"{settings.skills.share:.0%} of a window of {window:,} tokens"
    return catalogue_section(made, family, limit), skills_left_out(found.skills, made, found.problems, limit)


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


def _of_file(call: _Call, otherwise: Family) -> _Found:
    if (call.approval, call.sandbox) != (None, None):
        raise UsageError("--approval and --sandbox are for the first context of a folder; a recorded session has its own")
    lines = LineFile(call.place)
    number, at = place_of_turn(Attachments().among(read(lines)), call.turn)
    attachments = Attachments()
    recorded = recorded_at(attachments.among(read(lines)), at)
    family = call.family or family_of(recorded.head, otherwise)
    pieces = recorded_pieces(recorded, family)
    before = _turn_before(lines, number if at else number + 1, family) if call.diff else None
    return _Found(family=family, turn=number, pieces=pieces, left_out=attachments.left_out(), before=before)


def _turn_before(lines: LineFile, turn: int, family: Family) -> tuple[Piece, ...]:
    """The context as it was when the turn before this one began; nothing before the first."""
    if turn <= 1:
        return ()
    at = place_of_turn(Attachments().among(read(lines)), turn - 1)[1]
    return recorded_pieces(recorded_at(Attachments().among(read(lines)), at), family)


def _json(found: _Found) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "family": found.family,
        "turn": found.turn,
        "items": [_item(each) | ({} if found.before is None else {"change": each.change}) for each in found.changed],
        "tokens": sum(each.tokens for each in found.pieces),
        "left_out": [{"source": each.source, "why": each.why} for each in found.left_out],
    }
    return whole if found.before is None else whole | _sums(found)


def _sums(found: _Found) -> dict[str, int]:
    """Tokens that were added, and that are gone."""
    return {name: sum(each.piece.tokens for each in found.changed if each.change == name) for name in ("added", "gone")}


def _item(each: Changed) -> dict[str, Any]:
    piece = each.piece
    names = ("role", "tag", "tokens", "source", "why")
    return {name: getattr(piece, name) for name in names} | {"text": show.readable(piece.text)}


def _print(place: Path, found: _Found) -> None:
    what = "What memorist would say first in this folder" if place.is_dir() else f"The context at turn {found.turn}"
    click.echo(f"{what}, {found.family} family: about {sum(each.tokens for each in found.pieces):,} tokens")
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
    """Whether a piece is only counted: what was said, and beside changes what stayed."""
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
    """What the first context has a place for and nobody gave."""
    there = {each.tag for each in pieces}
    rows = takewhile(lambda kind: kind.tag not in _AFTERWARDS, (kind for kind in TABLE if kind.family == family))
    return [kind.tag for kind in rows if kind.tag not in there and kind.tag != "boundary"]


def _summed(pieces: Sequence[Piece]) -> str:
    counts = Counter(each.tag for each in pieces)
    parts = [f"{count:,} {tag if count == 1 else _PLURALS.get(tag, f'{tag}s')}" for tag, count in counts.items()]
    kind = "conversation" if all(each.tag in CONVERSATION for each in pieces) else "conversation and more"
    return f"{kind}: " + ", ".join(parts)


def _short(text: str) -> str:
    """Paths as people write them."""
    here, home = f"{Path.cwd()}/", f"{Path.home()}/"
    return show.readable(text).replace(here, "").replace(home, "~/")

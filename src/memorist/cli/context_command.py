"""`memorist context`."""

from __future__ import annotations

import asyncio
import textwrap
from collections import Counter
from collections.abc import Sequence
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any

import click
from msgspec import Struct, structs

from memorist.cli import output
from memorist.cli.command_environment import load_home_layout, load_project_settings
from memorist.context.context_pieces import ContextPiece, PieceWithStatus
from memorist.context.context_tags import SCAFFOLD_TABLE
from memorist.context.environment import CommandNetworkAccess
from memorist.context.host_permissions import (
    APPROVAL_POLICIES,
    DEFAULT_PERMISSIONS,
    SANDBOX_MODES,
    HostPermissions,
)
from memorist.context.recorded_context import CONVERSATION_PARTS
from memorist.core.json_decoding import convert_value
from memorist.core.text_encoding import replace_surrogates
from memorist.engine.context_listing import (
    ContextListing,
    list_first_context,
    list_recorded_context_at_turn,
)
from memorist.engine.engine import Memorist
from memorist.engine.recorded_session import find_recorded_session
from memorist.errors import UsageError
from memorist.platforms.user_home import expand_user
from memorist.settings import Family

_LATER_TAGS = {"recommended_plugins", "local-command-caveat"}
"""The first tag of each family that belongs to the user's side or comes later."""
_MARKS = {"added": "+", "gone": "-", "same": " "}
_PIECE_NOUNS = {
    "reply": ("reply", "replies"),
    "thinking": ("thought", "thoughts"),
    "tool_use": ("call", "calls"),
    "tool_result": ("result", "results"),
    "media": ("picture or document", "pictures and documents"),
    "unknown": ("unknown item", "unknown items"),
    "injected": ("injected text", "injected texts"),
}


@click.command()
@click.argument("path", type=click.Path(path_type=Path), metavar="SESSION|FOLDER")
@click.option(
    "--family",
    type=click.Choice(["rollout", "file-native"]),
    default=None,
    help="Which shape. [default: that of the recorded session; for a folder the setting "
    "context.family]",
)
@click.option(
    "--turn",
    type=click.IntRange(min=1),
    default=None,
    help="As the model saw it when this turn began. [default: the end]",
)
@click.option(
    "--model",
    default="",
    help="Count tokens as this model's family does. [default: the model that the recording names]",
)
@click.option(
    "--diff", is_flag=True, help="Mark what was added and what is gone since the turn before."
)
@click.option(
    "--approval",
    default=None,
    help=f"Approval policy of the rollout family: {', '.join(APPROVAL_POLICIES)}. "
    f"[default: {DEFAULT_PERMISSIONS.approval}]",
)
@click.option(
    "--sandbox",
    default=None,
    help=f"Its sandbox: {', '.join(SANDBOX_MODES)}. [default: {DEFAULT_PERMISSIONS.sandbox}]",
)
@output.JSON_OPTION
def context_command(**options: object) -> None:
    """Show what the model is shown, piece by piece, with tokens, source and reason.

    For a folder, such as `.`: the first context that memorist would assemble there. For a recorded
    session, by its file or its id (`memorist sessions`): what stands in its context. Tokens are
    estimated: bytes / 4, times a factor of the model's family where the model is known.

    Example: memorist context .
    """
    call = convert_value(options, ContextOptions)
    found = _list_folder(call) if call.path.is_dir() else _list_session(call)
    output.print_json(_listing_object(found)) if call.as_json else _print_listing(call.path, found)


class ContextOptions(Struct, frozen=True, kw_only=True):
    """The options of the command."""

    path: Path
    family: Family | None = None
    turn: int | None = None
    model: str = ""
    diff: bool = False
    approval: str | None = None
    sandbox: str | None = None
    as_json: bool = False


def _list_folder(call: ContextOptions) -> ContextListing:
    if call.turn is not None:
        raise UsageError("--turn is of a recorded session; a folder has only its first context")
    if call.diff:
        raise UsageError(
            "--diff compares two turns of a recorded session; a folder has only its first "
            "context, and nothing before it"
        )
    folder = call.path.absolute() if call.path != Path() else Path.cwd()
    settings = load_project_settings(project=folder)
    family = call.family or settings.context.family
    if family != "rollout" and (call.approval, call.sandbox) != (None, None):
        raise UsageError(
            "--approval and --sandbox apply to the rollout family only; add --family rollout"
        )
    engine = Memorist(settings=settings, model="structural")
    try:
        return list_first_context(
            engine, folder, family=family, model=call.model, permissions=_host_permissions(call)
        )
    finally:
        asyncio.run(engine.close())


def _list_session(call: ContextOptions) -> ContextListing:
    if (call.approval, call.sandbox) != (None, None):
        raise UsageError(
            "--approval and --sandbox are for the first context of a folder; a recorded "
            "session has its own"
        )
    return list_recorded_context_at_turn(
        find_recorded_session(load_home_layout(), str(call.path)).path,
        default_family=load_project_settings().context.family,
        family=call.family,
        turn=call.turn,
        model=call.model,
        compares=call.diff,
    )


def _host_permissions(call: ContextOptions) -> HostPermissions:
    """The usual permissions, with the options' values in their place."""
    if call.approval is None and call.sandbox is None:
        return DEFAULT_PERMISSIONS
    network = (
        CommandNetworkAccess(enabled=True)
        if call.sandbox == "danger-full-access"
        else DEFAULT_PERMISSIONS.network
    )
    why = "as --approval and --sandbox say, the rest as is usual"
    return structs.replace(
        DEFAULT_PERMISSIONS,
        approval=call.approval or DEFAULT_PERMISSIONS.approval,
        sandbox=call.sandbox or DEFAULT_PERMISSIONS.sandbox,
        network=network,
        why=why,
    )


def _listing_object(found: ContextListing) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "family": found.family,
        "turn": found.turn,
        "model": found.model or None,
        "factor": found.token_factor,
        "items": [
            _piece_object(each) | ({} if found.before is None else {"change": each.change})
            for each in found.pieces_with_status
        ],
        "tokens": found.tokens,
        "left_out": found.left_out,
    }
    return whole if found.before is None else whole | _changed_tokens(found)


def _changed_tokens(found: ContextListing) -> dict[str, int]:
    return {
        "added": found.count_tokens_by_status("added"),
        "gone": found.count_tokens_by_status("gone"),
    }


def _piece_object(each: PieceWithStatus) -> dict[str, Any]:
    piece = each.piece
    names = ("role", "tag", "tokens", "source", "why")
    return {name: getattr(piece, name) for name in (*names, "text")}


def _print_listing(folder: Path, found: ContextListing) -> None:
    what = (
        "What memorist would say first in this folder"
        if folder.is_dir()
        else f"The context at turn {found.turn}"
    )
    counted = (
        f"counted for {replace_surrogates(found.model)}: bytes / 4 × {found.token_factor:g}"
        if found.model
        else "bytes / 4; --model counts for a model"
    )
    click.echo(f"{what}, {found.family} family: about {found.tokens:,} tokens ({counted})")
    if found.before is not None:
        sums = _changed_tokens(found)
        click.echo(
            f"since the turn before: {sums['added']:,} tokens added (+), {sums['gone']:,} gone (-)"
        )
    click.echo()
    width = max(
        [len(each.tag) for each in found.pieces if each.tag not in CONVERSATION_PARTS], default=0
    )
    comparing = found.before is not None
    for (change, brief), run in groupby(
        found.pieces_with_status,
        key=lambda each: (each.change, _is_brief(each, comparing=comparing)),
    ):
        rows = [each.piece for each in run]
        mark = _MARKS[change] if comparing else ""
        if brief:
            click.echo(
                f"{mark}{sum(each.tokens for each in rows):>9,}  {'·':<9}  "
                f"{_summarize_pieces(rows)}"
            )
            continue
        for each in rows:
            click.echo(
                f"{mark}{each.tokens:>9,}  {each.role:<9}  "
                f"{each.tag:<{width}}  {_shorten_paths(each.source)}"
            )
            click.echo(f"{'':>22}{'':<{width + len(mark)}}  {replace_surrogates(each.why)}")
    _print_rest(folder, found)


def _is_brief(each: PieceWithStatus, *, comparing: bool) -> bool:
    """Whether a piece is only counted: conversation and, when comparing, unchanged pieces."""
    return each.piece.tag in CONVERSATION_PARTS or (comparing and each.change == "same")


def _print_rest(folder: Path, found: ContextListing) -> None:
    if found.left_out:
        click.echo("\nnot in it:")
        for missed in found.left_out:
            click.echo(f"  {_shorten_paths(missed.source)}\n      {_shorten_paths(missed.why)}")
    if folder.is_dir():
        absent = (
            f"A host adds its own, where it has them, each in its place: "
            f"{', '.join(_missing_tags(found.family, found.pieces))}."
        )
        click.echo("\n" + textwrap.fill(absent, 100, break_on_hyphens=False))
    click.echo("\n--json shows the texts.")


def _missing_tags(family: Family, pieces: Sequence[ContextPiece]) -> list[str]:
    """Tags of the first context that nobody provided."""
    there = {each.tag for each in pieces}
    rows = takewhile(
        lambda kind: kind.tag not in _LATER_TAGS,
        (kind for kind in SCAFFOLD_TABLE if kind.family == family),
    )
    return [kind.tag for kind in rows if kind.tag not in there and kind.tag != "boundary"]


def _summarize_pieces(pieces: Sequence[ContextPiece]) -> str:
    counts = Counter(each.tag for each in pieces)
    parts = [
        f"{count:,} {_PIECE_NOUNS.get(tag, (tag, f'{tag}s'))[count != 1]}"
        for tag, count in counts.items()
    ]
    kind = (
        "conversation"
        if all(each.tag in CONVERSATION_PARTS for each in pieces)
        else "conversation and more"
    )
    return f"{kind}: " + ", ".join(parts)


def _shorten_paths(text: str) -> str:
    """Replace the working folder and the home in paths."""
    here, home = f"{Path.cwd()}/", f"{expand_user()}/"
    return replace_surrogates(text).replace(here, "").replace(home, "~/")

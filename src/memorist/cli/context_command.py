"""`memorist context`."""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct, structs

from memorist.cli import output
from memorist.cli.command_environment import read_environment
from memorist.cli.memory.memory_commands import open_project_memory
from memorist.compaction.window_at_message import read_recorded_window
from memorist.config import load_settings
from memorist.context.assembly import assemble_first_context, build_memory_section
from memorist.context.context_comparison import PieceChange, compare_pieces
from memorist.context.context_pieces import (
    ContextPiece,
    ContextSection,
    OmittedSource,
    recount_tokens,
)
from memorist.context.context_snapshot import load_first_context
from memorist.context.context_tags import SCAFFOLD_TABLE
from memorist.context.environment import NetworkAccess
from memorist.context.host_permissions import (
    APPROVAL_POLICIES,
    DEFAULT_PERMISSIONS,
    SANDBOX_MODES,
    HostPermissions,
)
from memorist.context.recorded_attachments import AttachmentReader
from memorist.context.recorded_context import (
    CONVERSATION_PARTS,
    build_recorded_pieces,
    detect_family,
    find_last_model,
    find_turn,
)
from memorist.context.rollback import drop_rolled_back
from memorist.core.messages import REINJECTED_ID_PREFIXES, Message
from memorist.core.token_count import token_factor
from memorist.engine.request_view import InjectedMessage, SavedEntry
from memorist.errors import StoreError, UsageError
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import CompactionBoundary, TranscriptEntry
from memorist.models.context_window import DEFAULT_WINDOW
from memorist.models.model_pricing import ModelPrice, find_price
from memorist.recall.recall import load_recall_prompts
from memorist.recall.shown_index import read_shown_index
from memorist.rollouts.rollout_memory import render_rollout_memory
from memorist.rollouts.summary_composition import SUMMARY_FILE
from memorist.runtime import Runtime
from memorist.settings import Family, Settings
from memorist.skills.skill import load_skill_prompts
from memorist.skills.skill_catalogue import build_catalogue, list_left_out_skills, wrap_catalogue
from memorist.skills.skill_discovery import discover_skills, find_skill_locations
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import SessionLayout
from memorist.store.transcript_reader import LineFile

# Restore a recording to what its model saw.


def add_shown_messages(entries: Iterable[TranscriptEntry], path: Path) -> list[TranscriptEntry]:
    """The entries of the recording at `path`, without rolled-back turns; for memorist's own
    transcripts, with injected messages.

    What was injected before a compaction is no longer known; unreadable files add nothing.
    """
    layout = SessionLayout(path.parent)
    left = drop_rolled_back(entries)
    return (
        list(_interleave(left, _shown_messages(layout)))
        if path.name == layout.transcript.name
        else left
    )


def _shown_messages(layout: SessionLayout) -> dict[str, list[Message]]:
    """Injected messages, by the id of the message they follow."""
    found: dict[str, list[Message]] = {}
    anchors: dict[str, str] = {}
    for each in _read_shown(layout):
        anchor = anchors.get(each.after, each.after)
        anchors[each.message.id] = anchor
        found.setdefault(anchor, []).append(each.message)
    return found


def _read_shown(layout: SessionLayout) -> Iterator[InjectedMessage]:
    """Injected messages of the saved window, then the later ones."""
    last = ""
    with contextlib.suppress(FileNotFoundError, StoreError, msgspec.DecodeError):
        for kept in msgspec.json.decode(DiskFiles().read(layout.window), type=list[SavedEntry]):
            if kept.own is not None and kept.own.id.startswith(REINJECTED_ID_PREFIXES):
                yield InjectedMessage(last, kept.own)
            last = kept.id
    with contextlib.suppress(FileNotFoundError, StoreError):
        for line in DiskFiles().read(layout.injected_messages).splitlines():
            with contextlib.suppress(msgspec.DecodeError):  # a torn last line
                yield msgspec.json.decode(line, type=InjectedMessage)


def _interleave(
    entries: list[TranscriptEntry], added: dict[str, list[Message]]
) -> Iterator[TranscriptEntry]:
    """The entries with the injected messages after each, from the last compaction on.

    A compaction counts messages without injected ones, so none are added before it.
    """
    turn_start = max(
        (at for at, entry in enumerate(entries) if isinstance(entry, CompactionBoundary)),
        default=-1,
    )
    for at, entry in enumerate(entries):
        yield entry
        if isinstance(entry, Message) and at > turn_start:
            yield from added.pop(entry.id, ())


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
@click.argument("path", type=click.Path(path_type=Path), metavar="FILE|FOLDER")
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
    session: what stands in its context. Tokens are estimated: bytes / 4, times a factor of the
    model's family where the model is known.

    Example: memorist context .
    """
    call = msgspec.convert(options, ContextOptions)
    where = call.path if call.path.is_dir() else Path()
    settings = load_settings(read_environment(), project=where.resolve()).settings
    found = (
        _folder_listing(call, settings)
        if call.path.is_dir()
        else list_session_context(call, settings.context.family)
    )
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


class ContextListing(Struct, frozen=True, kw_only=True):
    """The pieces to list. `before` holds those of the turn before, if the two are compared."""

    family: Family
    turn: int
    model: str
    """The model whose tokens are counted; empty if unknown."""
    pieces: Sequence[ContextPiece]
    left_out: Sequence[OmittedSource] = ()
    before: Sequence[ContextPiece] | None = None

    @property
    def changed(self) -> tuple[PieceChange, ...]:
        """Each piece and whether it was added, removed or stayed; all stay if nothing is
        compared.
        """
        return compare_pieces(self.pieces if self.before is None else self.before, self.pieces)


def _folder_listing(call: ContextOptions, settings: Settings) -> ContextListing:
    if call.turn is not None:
        raise UsageError("--turn is of a recorded session; a folder has only its first context")
    if call.diff:
        raise UsageError(
            "--diff compares two turns of a recorded session; a folder has only its first "
            "context, and nothing before it"
        )
    family = call.family or settings.context.family
    if family != "rollout" and (call.approval, call.sandbox) != (None, None):
        raise UsageError(
            "--approval and --sandbox apply to the rollout family only; add --family rollout"
        )
    folder = call.path.absolute() if call.path != Path() else Path.cwd()
    skills, missed = _skill_sections(folder, family, call.model, settings)
    context = assemble_first_context(
        folder,
        family,
        Runtime(settings=settings),
        host_sections=(*_memory_sections(folder, family, settings), *skills),
        permissions=_host_permissions(call),
    )
    return ContextListing(
        family=family,
        turn=1,
        model=call.model,
        pieces=recount_tokens(context.pieces, call.model),
        left_out=(*context.left_out, *missed),
    )


def _host_permissions(call: ContextOptions) -> HostPermissions:
    """The usual permissions, with the options' values in their place."""
    if call.approval is None and call.sandbox is None:
        return DEFAULT_PERMISSIONS
    network = (
        NetworkAccess(enabled=True)
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


def _skill_sections(
    folder: Path, family: Family, model: str, settings: Settings
) -> tuple[tuple[ContextSection, ...], tuple[OmittedSource, ...]]:
    """The skill catalogue of the folder, within its share of the model's window, and the skills
    left out of it.
    """
    found = discover_skills(
        find_skill_locations(folder, read_environment(), settings.home), settings.skills
    )
    known = find_price({"model": model}, settings.models.prices) or ModelPrice()
    window = min(settings.compaction.window or sys.maxsize, known.window or DEFAULT_WINDOW)
    catalogue = build_catalogue(
        found.skills,
        family,
        load_skill_prompts(),
        settings.skills,
        window=window,
        factor=_factor(model),
    )
    limit = f"{settings.skills.share:.0%} of a window of {window:,} tokens"
    section = wrap_catalogue(catalogue, family, limit)
    return () if section is None else (section,), list_left_out_skills(
        found.skills, catalogue, found.problems, limit
    )


def _memory_sections(folder: Path, family: Family, settings: Settings) -> Iterator[ContextSection]:
    """The memory of past sessions and the memory index, as far as a session in the folder would be
    shown them.
    """
    with open_project_memory(project=folder) as (engine, memory):
        if settings.uses_rollouts and (text := render_rollout_memory(engine.runtime, str(folder))):
            source = str(engine.layout.rollouts / SUMMARY_FILE)
            section = build_memory_section(text, source, family)
            yield structs.replace(section, why="memory of past sessions")
        if settings.uses_auto_memory and settings.recall.enabled:
            shown = read_shown_index(memory, load_recall_prompts())
            if shown is not None:
                yield build_memory_section(shown.text, str(memory.layout.index), family)


FIRST_CONTEXT_FILE = "context.json"
"""The first context beside a transcript of memorist's own, if memorist assembled it."""


def list_session_context(call: ContextOptions, otherwise: Family) -> ContextListing:
    """What a recorded session's model was shown when a turn began, with the turn before if asked.

    Raises InputError for a turn that the session has not, UsageError for options of a folder.
    """
    if (call.approval, call.sandbox) != (None, None):
        raise UsageError(
            "--approval and --sandbox are for the first context of a folder; a recorded "
            "session has its own"
        )
    entries = add_shown_messages(read_session(LineFile(call.path)), call.path)
    number, at = find_turn(AttachmentReader().insert_attachments(entries), call.turn)
    attachments = AttachmentReader()
    recorded = read_recorded_window(attachments.insert_attachments(entries), at)
    family = call.family or detect_family(recorded.head, otherwise)
    model = call.model or find_last_model(recorded)
    first = load_first_context(DiskFiles(), call.path.with_name(FIRST_CONTEXT_FILE), family) or ()
    pieces = recount_tokens((*first, *build_recorded_pieces(recorded, family)), model)
    turn = number if at else number + 1
    before = (
        recount_tokens((*(first if turn > 1 else ()), *_turn_before(entries, turn, family)), model)
        if call.diff
        else None
    )
    return ContextListing(
        family=family,
        turn=number,
        model=model,
        pieces=pieces,
        left_out=attachments.left_out(),
        before=before,
    )


def _turn_before(
    entries: Sequence[TranscriptEntry], turn: int, family: Family
) -> tuple[ContextPiece, ...]:
    """The context when the previous turn began; empty for the first turn."""
    if turn <= 1:
        return ()
    at = find_turn(AttachmentReader().insert_attachments(entries), turn - 1)[1]
    return build_recorded_pieces(
        read_recorded_window(AttachmentReader().insert_attachments(entries), at), family
    )


def _listing_object(found: ContextListing) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "family": found.family,
        "turn": found.turn,
        "model": found.model or None,
        "factor": _factor(found.model),
        "items": [
            _piece_object(each) | ({} if found.before is None else {"change": each.change})
            for each in found.changed
        ],
        "tokens": sum(each.tokens for each in found.pieces),
        "left_out": [{"source": each.source, "why": each.why} for each in found.left_out],
    }
    return whole if found.before is None else whole | _changed_tokens(found)


def _factor(model: str) -> float:
    return token_factor(model) if model else 1.0


def _changed_tokens(found: ContextListing) -> dict[str, int]:
    """Tokens that were added, and that were removed."""
    return {
        name: sum(each.piece.tokens for each in found.changed if each.change == name)
        for name in ("added", "gone")
    }


def _piece_object(each: PieceChange) -> dict[str, Any]:
    piece = each.piece
    names = ("role", "tag", "tokens", "source", "why")
    return {name: getattr(piece, name) for name in names} | {
        "text": output.make_readable(piece.text)
    }


def _print_listing(folder: Path, found: ContextListing) -> None:
    what = (
        "What memorist would say first in this folder"
        if folder.is_dir()
        else f"The context at turn {found.turn}"
    )
    counted = (
        f"counted for {output.make_readable(found.model)}: bytes / 4 × {_factor(found.model):g}"
        if found.model
        else "bytes / 4; --model counts for a model"
    )
    click.echo(
        f"{what}, {found.family} family: about {sum(each.tokens for each in found.pieces):,} "
        f"tokens ({counted})"
    )
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
        found.changed, key=lambda each: (each.change, _is_brief(each, comparing=comparing))
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
            click.echo(f"{'':>22}{'':<{width + len(mark)}}  {output.make_readable(each.why)}")
    _print_rest(folder, found)


def _is_brief(each: PieceChange, *, comparing: bool) -> bool:
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
    here, home = f"{Path.cwd()}/", f"{Path.home()}/"
    return output.make_readable(text).replace(here, "").replace(home, "~/")

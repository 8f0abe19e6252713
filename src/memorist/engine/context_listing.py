"""What a model is shown, piece by piece, each with its tokens, its source and the reason: the first
context that memorist assembles in a folder, and the context of a recorded session (CX-9).
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct, structs

from memorist.compaction.window_at_message import rebuild_recorded_window
from memorist.context.claude_code_attachments import AttachmentInserter
from memorist.context.context_pieces import (
    ContextPiece,
    ContextSection,
    OmittedSource,
    PieceStatus,
    PieceWithStatus,
    apply_model_token_factor,
    diff_context_pieces,
)
from memorist.context.context_snapshot import load_first_context
from memorist.context.first_context_assembly import (
    assemble_first_context,
    build_memory_index_section,
)
from memorist.context.host_permissions import DEFAULT_PERMISSIONS, HostPermissions
from memorist.context.recorded_context import (
    build_recorded_pieces,
    find_client_family,
    find_last_model,
    find_turn_by_number,
)
from memorist.context.turn_rollback import drop_rolled_back_entries
from memorist.core.messages import REINJECTED_ID_PREFIXES, Message
from memorist.core.token_count import get_token_factor
from memorist.engine.engine import Memorist
from memorist.engine.request_view import InjectedMessage, read_injected_messages, read_saved_view
from memorist.errors import StoreError
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import CompactionBoundary, TranscriptEntry
from memorist.models.context_window import DEFAULT_WINDOW
from memorist.models.model_pricing import ModelPrice, find_request_model_price
from memorist.recall.session_recall import load_recall_prompt_templates
from memorist.recall.shown_index import build_shown_index
from memorist.rollouts.rollout_memory import load_rollout_memory_view
from memorist.rollouts.summary_composition import SUMMARY_FILE
from memorist.settings import Family
from memorist.skills.skill_catalogue import (
    build_skill_catalogue,
    list_skills_outside_catalogue,
    wrap_catalogue_in_section,
)
from memorist.skills.skill_file import load_skill_prompts
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import SessionLayout
from memorist.store.transcript_reader import UnpackedUtf8Lines


class ContextListing(Struct, frozen=True, kw_only=True):
    """The pieces of a context, in the order in which the model is shown them."""

    family: Family
    turn: int
    """The turn at whose beginning they are shown, counted from 1."""
    model: str
    """The model whose tokens are counted; empty if unknown."""
    pieces: Sequence[ContextPiece]
    left_out: Sequence[OmittedSource] = ()
    before: Sequence[ContextPiece] | None = None
    """The pieces of the turn before, where the two are compared."""

    @property
    def pieces_with_status(self) -> tuple[PieceWithStatus, ...]:
        """Each piece and whether it was added, removed or stayed; all stay if nothing is
        compared.
        """
        return diff_context_pieces(self.pieces if self.before is None else self.before, self.pieces)

    @property
    def tokens(self) -> int:
        """Tokens of all pieces, estimated."""
        return sum(each.tokens for each in self.pieces)

    @property
    def token_factor(self) -> float:
        """Tokens of the model per four bytes of text; 1 for an unknown model."""
        return get_token_factor(self.model)

    def count_tokens_by_status(self, status: PieceStatus) -> int:
        """Tokens of the pieces that were added, that are gone, or that stayed."""
        return sum(each.piece.tokens for each in self.pieces_with_status if each.change == status)


def list_first_context(
    engine: Memorist,
    folder: Path,
    *,
    family: Family | None = None,
    model: str = "",
    permissions: HostPermissions = DEFAULT_PERMISSIONS,
) -> ContextListing:
    """List what memorist would show first to a session in this absolute folder.

    The family is by default that of the settings; with `model`, tokens are counted as its family
    does, and the catalogue of skills is cut to its window. Raises StoreError.
    """
    family = family or engine.settings.context.family
    skills, missed = _list_skills(engine, folder, family, model)
    context = assemble_first_context(
        folder,
        family,
        engine.runtime,
        host_sections=(*_list_memories(engine, folder, family), *skills),
        permissions=permissions,
    )
    return ContextListing(
        family=family,
        turn=1,
        model=model,
        pieces=apply_model_token_factor(context.pieces, model),
        left_out=(*context.left_out, *missed),
    )


def _list_skills(
    engine: Memorist, folder: Path, family: Family, model: str
) -> tuple[tuple[ContextSection, ...], tuple[OmittedSource, ...]]:
    """The skill catalogue of the folder, within its share of the model's window, and the skills
    left out of it.
    """
    settings = engine.settings
    found = engine.get_skill_discovery(str(folder)).find_skills()
    known = find_request_model_price({"model": model}, settings.models.prices) or ModelPrice()
    window = min(settings.compaction.window or sys.maxsize, known.window or DEFAULT_WINDOW)
    catalogue = build_skill_catalogue(
        found.skills, family, load_skill_prompts(), settings.skills, window=window, model=model
    )
    limit = f"{settings.skills.share:.0%} of a window of {window:,} tokens"
    section = wrap_catalogue_in_section(catalogue, family, limit)
    return () if section is None else (section,), list_skills_outside_catalogue(
        found.skills, catalogue, found.problems, limit
    )


def _list_memories(engine: Memorist, folder: Path, family: Family) -> Iterator[ContextSection]:
    """The memory of past sessions and the memory index, as far as a session in the folder would be
    shown them.
    """
    settings = engine.settings
    if settings.uses_rollouts and (text := load_rollout_memory_view(engine.runtime, str(folder))):
        source = str(engine.layout.rollouts / SUMMARY_FILE)
        section = build_memory_index_section(text, source, family)
        yield structs.replace(section, why="memory of past sessions")
    if settings.uses_auto_memory and settings.recall.enabled:
        memory = engine.memory(str(folder))
        shown = build_shown_index(memory, load_recall_prompt_templates())
        if shown is not None:
            yield build_memory_index_section(shown.text, str(memory.layout.index), family)


def list_recorded_context_at_turn(
    path: Path,
    *,
    default_family: Family,
    family: Family | None = None,
    turn: int | None = None,
    model: str = "",
    compares: bool = False,
) -> ContextListing:
    """List what the model of a recorded session was shown when a turn began; without a turn, at the
    end of the session.

    The family is by default that of the client that wrote the file, else `default_family`; the
    model is by default the one that the recording names. With `compares` the pieces of the turn
    before are given too. Raises InputError for a turn that the session has not, and StoreError.
    """
    entries = read_entries_shown_to_model(path)
    number, at = find_turn_by_number(AttachmentInserter().insert_attachments(entries), turn)
    attachments = AttachmentInserter()
    recorded = rebuild_recorded_window(attachments.insert_attachments(entries), at)
    family = family or find_client_family(recorded.head, default_family)
    model = model or find_last_model(recorded)
    snapshot = SessionLayout(path.parent).context_snapshot
    first = load_first_context(DiskFiles(), snapshot, family) or ()
    current = number if at else number + 1
    before = (*(first if current > 1 else ()), *_turn_before(entries, current, family))
    return ContextListing(
        family=family,
        turn=number,
        model=model,
        pieces=apply_model_token_factor((*first, *build_recorded_pieces(recorded, family)), model),
        left_out=attachments.list_omitted_attachments(),
        before=apply_model_token_factor(before, model) if compares else None,
    )


def _turn_before(
    entries: Sequence[TranscriptEntry], turn: int, family: Family
) -> tuple[ContextPiece, ...]:
    """The context when the previous turn began; empty for the first turn."""
    if turn <= 1:
        return ()
    at = find_turn_by_number(AttachmentInserter().insert_attachments(entries), turn - 1)[1]
    return build_recorded_pieces(
        rebuild_recorded_window(AttachmentInserter().insert_attachments(entries), at), family
    )


def read_entries_shown_to_model(path: Path) -> list[TranscriptEntry]:
    """The entries of a recording without rolled-back turns; for memorist's own transcripts, with
    the messages that memorist injected.

    What was injected before a compaction is no longer known. Raises StoreError.
    """
    layout = SessionLayout(path.parent)
    left = drop_rolled_back_entries(read_session(UnpackedUtf8Lines(path)))
    if path.name == layout.transcript.name:
        return list(_interleave(left, _group_injected(layout)))
    return left


def _group_injected(layout: SessionLayout) -> dict[str, list[Message]]:
    """Injected messages, by the id of the message they follow."""
    found: dict[str, list[Message]] = {}
    anchors: dict[str, str] = {}
    for each in _read_injected(layout):
        anchor = anchors.get(each.after, each.after)
        anchors[each.message.id] = anchor
        found.setdefault(anchor, []).append(each.message)
    return found


def _read_injected(layout: SessionLayout) -> Iterator[InjectedMessage]:
    """Injected messages of the saved window, then the later ones; none of an unreadable file."""
    last = ""
    with contextlib.suppress(StoreError):
        for kept in read_saved_view(DiskFiles(), layout):
            if kept.own is not None and kept.own.id.startswith(REINJECTED_ID_PREFIXES):
                yield InjectedMessage(last, kept.own)
            last = kept.id
    with contextlib.suppress(StoreError):
        yield from read_injected_messages(DiskFiles(), layout)


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

"""A draft of the folder of past sessions, made from the selected sessions by structure alone, which
keeps the user's own changes (RO-5, RO-6). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.front_matter import split_front_matter
from memorist.rollouts.forgotten_claims import ForgottenIn, blank_forgotten_claims
from memorist.rollouts.hand_edits import (
    USER_PROFILE_MARK,
    MarkedHandEdits,
    ParsedHandbookAndSummary,
    add_user_entries_from_summary,
    mark_hand_edits,
)
from memorist.rollouts.handbook import HANDBOOK_FILE, Handbook, render_handbook
from memorist.rollouts.handbook_parser import parse_handbook
from memorist.rollouts.rollout_summaries import (
    RAW_MEMORIES_FILE,
    SUMMARIES_FOLDER,
    build_extract_files,
    map_summary_paths,
    parse_extract_files,
)
from memorist.rollouts.session_claims import MAX_LIST_ENTRIES, extract_claims_per_session
from memorist.rollouts.skill_procedures import (
    DRAFT_KEY,
    SKILLS_FOLDER,
    draft_skills,
    keep_proven_skills,
)
from memorist.rollouts.structural_handbook import (
    ConsolidatedHandbook,
    ConsolidationCounts,
    ConsolidationInput,
    UserNoteEntry,
    consolidate_handbook,
)
from memorist.rollouts.summary_composition import (
    SUMMARY_FILE,
    MemorySummary,
    find_summary_problem,
    fit_summary_to_tokens_and_bytes,
    parse_memory_summary,
    render_memory_summary,
    update_summary_from_handbook,
)
from memorist.rollouts.user_notes import UserNote, mark_note_merged, parse_user_notes
from memorist.store.extract_rows import RolloutExtract, StoredExtract


class FolderDraftInput(Struct, frozen=True, kw_only=True):
    """The input of a draft."""

    selected_extracts: tuple[StoredExtract, ...]
    """The selected sessions."""
    present_files: Mapping[str, bytes]
    """The folder as it is."""
    accepted_files: Mapping[str, bytes]
    """The folder as it was last accepted; empty if it never was."""
    removed_digests: frozenset[str] = frozenset()
    """Fingerprints of what the user removed earlier."""
    today: str = ""
    lean_bytes: int | None = None
    """Bytes of the summary in the lean form; None in the full one."""
    max_list_entries: int = MAX_LIST_ENTRIES
    """Entries of one list of a group; more where a model chooses what falls."""

    @property
    def lean(self) -> bool:
        """Whether the folder has the lean form: a summary alone."""
        return self.lean_bytes is not None


class FolderDraft(Struct, frozen=True, kw_only=True):
    """The folder as it is to be."""

    files: dict[str, bytes]
    """Every file of the folder."""
    values: ParsedHandbookAndSummary
    changed_titles: frozenset[str]
    """Titles of the changed groups."""
    fresh_threads: frozenset[str]
    """New or changed sessions."""
    report: ConsolidationCounts
    dropped: frozenset[str]
    remarks: tuple[str, ...] = ()


def _find_changed_threads(
    draft_input: FolderDraftInput,
    rows: Sequence[RolloutExtract],
    before: Mapping[str, RolloutExtract],
) -> frozenset[str]:
    """The sessions whose extract differs from what was consolidated before."""
    return frozenset(
        row.thread
        for row in rows
        if row.thread in before
        and _is_different_extract(row, before[row.thread], lean=draft_input.lean)
    )


def _compose_draft_summary(
    draft_input: FolderDraftInput, found: ConsolidatedHandbook, kept: MemorySummary
) -> MemorySummary:
    """The summary of the new handbook."""
    return fit_summary_to_tokens_and_bytes(
        update_summary_from_handbook(found.handbook, kept, found.changed_titles),
        draft_input.lean_bytes,
    )


def _compose_draft_files(
    draft_input: FolderDraftInput, generated: Mapping[str, bytes], notes: Sequence[UserNote]
) -> dict[str, bytes]:
    """All files of the folder but the handbook and its summary: generated ones, merged notes, and
    the user's own skills, which nothing generated replaces.
    """
    present = draft_input.present_files
    files = {path: data for path, data in present.items() if not _is_generated(path, data)}
    files |= generated
    files |= {
        note.path: mark_note_merged(present[note.path], draft_input.today)
        for note in notes
        if not note.orders and not note.merged
    }
    files |= {
        path: data for path, data in present.items() if _is_user_skill(path, data, draft_input)
    }
    return files


def _draft_skills(
    draft_input: FolderDraftInput, rows: Sequence[RolloutExtract], named: Mapping[str, str]
) -> dict[str, bytes]:
    """The drafts of skills: those that structure finds, and those that a model wrote before."""
    return draft_skills(rows, named) | keep_proven_skills(draft_input.present_files, rows)


def build_folder_draft(draft_input: FolderDraftInput) -> FolderDraft:
    """Build the draft. Deterministic; a result fed back changes nothing."""
    lost = _find_lost_files(draft_input)
    draft_input = replace(draft_input, present_files={**draft_input.present_files, **lost})
    rows = [row.extracted for row in draft_input.selected_extracts]
    named = map_summary_paths(rows)
    artifacts = build_extract_files(rows, raw=not draft_input.lean)
    edits = _find_hand_edits(draft_input)
    present = edits.files
    dropped = draft_input.removed_digests | edits.removed_digests
    notes = parse_user_notes(draft_input.present_files)
    fit = tuple(
        UserNoteEntry(note.group, note.as_handbook_entry) for note in notes if not note.orders
    )
    start = add_user_entries_from_summary(
        present.summary, Handbook() if draft_input.lean else present.handbook, dropped
    )
    before = {row.thread: row for row in parse_extract_files(draft_input.accepted_files)}
    changed = _find_changed_threads(draft_input, rows, before)
    sources = (
        source
        for group in start.groups
        for work in group.works
        for source in work.sources
        if source.thread not in changed
    )
    counted = {(source.thread, source.updated) for source in sources}
    learnt = extract_claims_per_session(draft_input.selected_extracts, named, counted)
    found = consolidate_handbook(
        start,
        ConsolidationInput(
            session_claims=learnt,
            notes=fit,
            removed_digests=dropped,
            changed_threads=changed,
            today=draft_input.today,
            max_list_entries=draft_input.max_list_entries,
        ),
    )
    own = present.summary.profile.endswith(USER_PROFILE_MARK)
    removed = before.keys() - {row.thread for row in rows}
    kept = present.summary if own or not removed else replace(present.summary, profile="")
    summary = _compose_draft_summary(draft_input, found, kept)
    fresh = frozenset(
        row.thread for row in rows if row.thread not in before or row.thread in changed
    )
    report = replace(found.report, removed=len(removed), sessions=len(fresh))
    files = artifacts | ({} if draft_input.lean else _draft_skills(draft_input, rows, named))
    draft = FolderDraft(
        files=_compose_draft_files(draft_input, files, notes),
        values=ParsedHandbookAndSummary(found.handbook, summary),
        changed_titles=found.changed_titles,
        fresh_threads=fresh,
        report=report,
        dropped=dropped,
        remarks=tuple(
            _build_remarks(
                draft_input, edits.added, [note.path for note in notes if note.orders], lost
            )
        ),
    )
    return copy_draft_with_new_handbook(draft, draft.values, lean=draft_input.lean)


def _find_hand_edits(given: FolderDraftInput) -> MarkedHandEdits:
    """What the user changed since the files were accepted; nothing where they never were."""
    present = _parse_handbook_files(given.present_files)
    if SUMMARY_FILE not in given.accepted_files:
        return MarkedHandEdits(files=present)
    base = _parse_handbook_files(given.accepted_files)
    if find_summary_problem(_decode_text(given.present_files[SUMMARY_FILE])):
        present = replace(present, summary=_complete_summary(present.summary, base.summary))
    return mark_hand_edits(base, present)


def _is_different_extract(row: RolloutExtract, before: RolloutExtract, *, lean: bool) -> bool:
    """Tell whether stage one says something else about a session than what was accepted."""
    raw = lean or row.raw_memory.strip().replace("\r\n", "\n") == before.raw_memory
    return not raw or (row.updated, row.rollout_summary.strip().replace("\r\n", "\n")) != (
        before.updated,
        before.rollout_summary,
    )


def is_handbook_settled(draft_input: FolderDraftInput) -> bool:
    """Tell whether nothing needs doing: the folder is as accepted, its inputs match the sessions,
    and the outputs are present.
    """
    inputs = {path: data for path, data in draft_input.present_files.items() if _is_input(path)}
    whole = (
        draft_input.lean or HANDBOOK_FILE in draft_input.present_files
    ) and not find_summary_problem(_decode_text(draft_input.present_files.get(SUMMARY_FILE, b"")))
    return (
        whole
        and draft_input.present_files == draft_input.accepted_files
        and inputs
        == build_extract_files(
            [row.extracted for row in draft_input.selected_extracts], raw=not draft_input.lean
        )
    )


def copy_draft_with_new_handbook(
    draft: FolderDraft, values: ParsedHandbookAndSummary, *, lean: bool = False
) -> FolderDraft:
    """Return the draft with another handbook and summary."""
    files = dict(draft.files)
    if not lean:
        files[HANDBOOK_FILE] = render_handbook(values.handbook).encode("utf-8", "replace")
    files[SUMMARY_FILE] = render_memory_summary(values.summary).encode("utf-8", "replace")
    return replace(draft, files=files, values=values)


def drop_forgotten_claims_from_draft(
    draft: FolderDraft, find: ForgottenIn, *, lean: bool = False
) -> FolderDraft:
    """Return the draft without what the user had taken out of memory."""
    texts = {
        path: _decode_text(draft.files[path])
        for path in (HANDBOOK_FILE, SUMMARY_FILE)
        if path in draft.files
    }
    kept = {path: blank_forgotten_claims(text, find) for path, text in texts.items()}
    if kept == texts:
        return draft
    values = _parse_handbook_files({path: text.encode() for path, text in kept.items()})
    before = {group.raw for group in draft.values.handbook.groups}
    groups = tuple(
        group if group.raw in before else replace(group, raw="") for group in values.handbook.groups
    )
    handbook = replace(values.handbook, groups=groups)
    return copy_draft_with_new_handbook(draft, replace(values, handbook=handbook), lean=lean)


def _parse_handbook_files(files: Mapping[str, bytes]) -> ParsedHandbookAndSummary:
    return ParsedHandbookAndSummary(
        parse_handbook(_decode_text(files.get(HANDBOOK_FILE, b""))),
        parse_memory_summary(_decode_text(files.get(SUMMARY_FILE, b""))),
    )


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")


def _find_lost_files(given: FolderDraftInput) -> dict[str, bytes]:
    """The handbook and its summary with what they had when they were accepted, where they are
    missing, hold nothing, or end too soon, as after a power cut or on a full disk: that is no
    request to forget, and takes nothing that the user wrote.
    """
    return {
        path: whole
        for path, data in given.accepted_files.items()
        if path in (HANDBOOK_FILE, SUMMARY_FILE)
        and (whole := _complete_cut_file(given.present_files.get(path, b""), data)) is not None
    }


def _complete_cut_file(present: bytes, accepted: bytes) -> bytes | None:
    """A file with the end that it lost; None where it was not cut off.

    It was where its last line is the beginning of an accepted one, where it ends as a block of the
    disk does, and where groups are gone together with the end of the one before them.
    """
    left = present.rstrip(b"\0")
    if not left.strip(b"\0 \t\r\n"):
        return accepted
    *before, last = left.split(b"\n")
    known = accepted.split(b"\n")
    if last and last not in known:
        cut = [at for at, line in enumerate(known) if line.startswith(last)]
        # Of several such lines, the one behind the same lines.
        at = max(cut, key=lambda at: len(_common_end(before, known[:at])), default=None)
        return None if at is None else b"\n".join([*before, *known[at:]])
    rest = accepted[len(left) :] if accepted.startswith(left) else b""
    is_cut = left != present or len(left) % _DISK_BLOCK_BYTES == 0
    is_cut |= not rest.lstrip().startswith(_GROUP) and b"\n" + _GROUP in rest
    return accepted if rest and is_cut else None


_DISK_BLOCK_BYTES = 512
_GROUP = b"# Task Group:"


def _common_end(some: Sequence[bytes], others: Sequence[bytes]) -> list[bytes]:
    """The lines in which two texts end alike."""
    pairs = zip(reversed(some), reversed(others), strict=False)
    return [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]


def _complete_summary(broken: MemorySummary, base: MemorySummary) -> MemorySummary:
    """A summary that lost some of its sections, with all that it had when it was accepted: what is
    not in it was not taken out.
    """
    lists = {
        name: (*getattr(broken, name), *getattr(base, name))
        for name in ("preferences", "tips", "topics")
    }
    return replace(
        broken, profile=broken.profile or base.profile, other=broken.other or base.other, **lists
    )


def _is_generated(path: str, data: bytes) -> bool:
    """Tell whether a file is regenerated at each consolidation."""
    return (
        _is_input(path)
        or path in (HANDBOOK_FILE, SUMMARY_FILE)
        or (path.startswith(SKILLS_FOLDER) and _is_draft(data))
    )


def _is_input(path: str) -> bool:
    return path == RAW_MEMORIES_FILE or (path.startswith(SUMMARIES_FOLDER) and path.endswith(".md"))


def _is_draft(data: bytes) -> bool:
    front = split_front_matter(_decode_text(data)).front
    return front is not None and front.text_value(DRAFT_KEY).lower() == "true"


def _is_user_skill(path: str, data: bytes, given: FolderDraftInput) -> bool:
    """Tell whether a skill is the user's: written by them, or a draft that they changed."""
    return path.startswith(SKILLS_FOLDER) and (
        not _is_draft(data)
        or (bool(given.accepted_files) and given.accepted_files.get(path) != data)
    )


def _build_remarks(
    given: FolderDraftInput, added: int, withheld: list[str], lost: Iterable[str]
) -> list[str]:
    found = (
        [f"{added} entries that you wrote or changed by hand are kept as yours"] if added else []
    )
    found += [
        f"{path} was missing, empty or cut off; what it lost was put back as it was accepted last"
        for path in sorted(lost)
    ]
    found += [
        f"{path} reads like an order planted for an agent; it was neither shown nor merged"
        for path in withheld
    ]
    inputs = [
        path
        for path in given.accepted_files
        if path.startswith((SUMMARIES_FOLDER, RAW_MEMORIES_FILE))
        and given.present_files.get(path, given.accepted_files[path]) != given.accepted_files[path]
    ]
    found += [
        f"{path} was changed by hand; it is made from the database and was rebuilt"
        for path in sorted(inputs)
    ]
    return found

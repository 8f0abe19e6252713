"""Draft the folder from the selected sessions by structure alone, keeping the user's own changes
(RO-5, RO-6). Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.front_matter import split
from memorist.rollouts.artefacts import RAW, SUMMARIES, artefacts, paths, read_back
from memorist.rollouts.compose import compose
from memorist.rollouts.consolidate import Given as Sessions
from memorist.rollouts.consolidate import Noted, Report, consolidate
from memorist.rollouts.hand_edits import OWN_PROFILE, Files, hand_edits, own_entries
from memorist.rollouts.handbook import HANDBOOK, Handbook
from memorist.rollouts.handbook import render as render_handbook
from memorist.rollouts.handbook_reading import parse as parse_handbook
from memorist.rollouts.learn import learn
from memorist.rollouts.notes import marked_merged, notes_of
from memorist.rollouts.overview import SUMMARY, fitted, invalid
from memorist.rollouts.overview import parse as parse_summary
from memorist.rollouts.overview import render as render_summary
from memorist.rollouts.procedures import DRAFT, SKILLS, procedures
from memorist.store.thread import Extracted, Kept


class Given(Struct, frozen=True, kw_only=True):
    """The input of a draft."""

    rows: tuple[Kept, ...]
    """The selected sessions."""
    present: Mapping[str, bytes]
    """The folder as it is."""
    base: Mapping[str, bytes]
    """The folder as it was last accepted; empty if it never was."""
    dropped: frozenset[str] = frozenset()
    """Fingerprints of what the user removed earlier."""
    today: str = ""
    lean: bool = False
    lean_bytes: int = 10_000


class Draft(Struct, frozen=True, kw_only=True):
    """The folder as it is to be."""

    files: dict[str, bytes]
    """Every file of the folder."""
    values: Files
    touched: frozenset[str]
    """Titles of the changed groups."""
    fresh: frozenset[str]
    """New or changed sessions."""
    report: Report
    dropped: frozenset[str]
    remarks: tuple[str, ...] = ()


def draft_of(given: Given) -> Draft:
    """Build the draft. Deterministic; a result fed back changes nothing."""
    rows = [row.extracted for row in given.rows]
    named = paths(rows)
    made = artefacts(rows, raw=not given.lean)
    edits = hand_edits(_values(given.base), _values(given.present)) if _comparable(given) else None
    present = edits.files if edits else _values(given.present)
    dropped = given.dropped | (edits.dropped if edits else frozenset())
    notes = notes_of(given.present)
    fit = tuple(Noted(note.place, note.entry) for note in notes if not note.orders)
    start = own_entries(present.summary, Handbook() if given.lean else present.handbook, dropped)
    before = {row.thread: row for row in read_back(given.base)}
    changed = frozenset(row.thread for row in rows if row.thread in before and _differs(row, before[row.thread], lean=given.lean))
    sources = (source for group in start.groups for work in group.works for source in work.sources if source.thread not in changed)
    learnt = learn(given.rows, named, {(source.thread, source.updated) for source in sources})
    found = consolidate(start, Sessions(learnt=learnt, notes=fit, dropped=dropped, changed=changed, today=given.today))
    own = present.summary.profile.endswith(OWN_PROFILE)
    gone = before.keys() - {row.thread for row in rows}
    kept = present.summary if own or not gone else replace(present.summary, profile="")
    summary = compose(found.handbook, kept, found.touched)
    if given.lean:
        summary = fitted(summary, given.lean_bytes - 1, lambda text: len(text.encode("utf-8", "replace")))
    fresh = frozenset(row.thread for row in rows if row.thread not in before or row.thread in changed)
    report = replace(found.report, gone=len(gone), sessions=len(fresh))
    files = {path: data for path, data in given.present.items() if not _ours(path, data)}
    files |= made | (procedures(rows, named) if not given.lean else {})
    files |= {note.path: marked_merged(given.present[note.path], given.today) for note in notes if not note.orders and not note.merged}
    draft = Draft(
        files={**files, **{path: data for path, data in given.present.items() if _kept_skill(path, data, given)}},
        values=Files(found.handbook, summary),
        touched=found.touched,
        fresh=fresh,
        report=report,
        dropped=dropped,
        remarks=tuple(_remarks(given, edits.added if edits else 0, [note.path for note in notes if note.orders])),
    )
    return with_files(draft, draft.values, lean=given.lean)


def _differs(row: Extracted, before: Extracted, *, lean: bool) -> bool:
    """Tell whether stage one says something else about a session than what was accepted."""
    raw = lean or row.raw_memory.strip().replace("\r\n", "\n") == before.raw_memory
    return not raw or (row.updated, row.rollout_summary.strip().replace("\r\n", "\n")) != (before.updated, before.rollout_summary)


def settled(given: Given) -> bool:
    """Tell whether nothing needs doing: the folder is as accepted, its inputs match the sessions,
    and the outputs are present.
    """
    inputs = {path: data for path, data in given.present.items() if _is_input(path)}
    whole = (given.lean or HANDBOOK in given.present) and not invalid(_text(given.present.get(SUMMARY, b"")))
    return whole and given.present == given.base and inputs == artefacts([row.extracted for row in given.rows], raw=not given.lean)


def with_files(draft: Draft, values: Files, *, lean: bool = False) -> Draft:
    """Return the draft with another handbook and summary."""
    files = dict(draft.files)
    if not lean:
        files[HANDBOOK] = render_handbook(values.handbook).encode("utf-8", "replace")
    files[SUMMARY] = render_summary(values.summary).encode("utf-8", "replace")
    return replace(draft, files=files, values=values)


def _values(files: Mapping[str, bytes]) -> Files:
    return Files(parse_handbook(_text(files.get(HANDBOOK, b""))), parse_summary(_text(files.get(SUMMARY, b""))))


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")


def _comparable(given: Given) -> bool:
    """Tell whether the user's changes can be determined: the accepted files all exist.

    A missing file is not a request to forget.
    """
    names = {path for path in (HANDBOOK, SUMMARY) if path in given.base}
    return bool(names) and all(path in given.present for path in names)


def _ours(path: str, data: bytes) -> bool:
    """Tell whether a file is regenerated at each consolidation."""
    return _is_input(path) or path in (HANDBOOK, SUMMARY) or (path.startswith(SKILLS) and _is_draft(data))


def _is_input(path: str) -> bool:
    return path == RAW or (path.startswith(SUMMARIES) and path.endswith(".md"))


def _is_draft(data: bytes) -> bool:
    front = split(_text(data)).front
    return front is not None and front.text(DRAFT).lower() == "true"


def _kept_skill(path: str, data: bytes, given: Given) -> bool:
    """Tell whether a skill is the user's: written by them, or a draft that they changed."""
    return path.startswith(SKILLS) and (not _is_draft(data) or (bool(given.base) and given.base.get(path) != data))


def _remarks(given: Given, added: int, withheld: list[str]) -> list[str]:
    found = [f"{added} entries that you wrote or changed by hand are kept as yours"] if added else []
    found += [f"{path} reads like an order planted for an agent; it was neither shown nor merged" for path in withheld]
    inputs = [
        path for path in given.base if path.startswith((SUMMARIES, RAW)) and given.present.get(path, given.base[path]) != given.base[path]
    ]
    found += [f"{path} was changed by hand; it is made from the database and was made anew" for path in sorted(inputs)]
    return found

"""The plan of an import: add a memory, change one imported before, ask the user, or
skip it. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.interop.dialect import (
    DialectImport,
    IgnoredImportEntry,
    map_next_path_numbers,
    reserve_free_path,
)
from memorist.auto_memory.memory_changes import MemoryChange, build_memory_change
from memorist.auto_memory.memory_file import MemoryFile, MemoryKind, parse_memory_file
from memorist.auto_memory.memory_manifest import describe_excess_memory_file_size
from memorist.auto_memory.statements.statement_similarity import compute_rule_key
from memorist.auto_memory.write_gate import (
    NeedsReview,
    RefusedChange,
    WriteGateContext,
    compute_body_digest,
    judge_memory_change,
)

MAX_COMPARED_CHARS = 1_000
"""Characters of the longest text compared by rule; longer texts are the same only when equal."""


class ImportTargetState(Struct, frozen=True, kw_only=True):
    """The memory that is imported into."""

    topics: Sequence[MemoryFile] = ()
    proposed: Sequence[MemoryFile] = ()
    """Memories as the inbox's proposals would make them."""
    imported_paths: Collection[str] = ()
    """Paths last written by an import: nobody has changed them since, so a newer import may."""
    root: str = ""
    """The project's root; empty accepts what applies to any folder."""
    policy: str = "auto"


class PlannedMemoryImport(Struct, frozen=True, kw_only=True):
    """A memory to be imported."""

    change: MemoryChange
    name: str
    kind: MemoryKind | None
    description: str
    review_reasons: tuple[str, ...] = ()
    """Why it would go to the inbox; empty when it would be written."""
    remarks: tuple[str, ...] = ()
    """What would be removed from it."""


class ImportPlan(Struct, frozen=True, kw_only=True):
    """A complete import, before it is carried out."""

    dialect: str
    source: str
    items: tuple[PlannedMemoryImport, ...] = ()
    skipped: tuple[IgnoredImportEntry, ...] = ()
    """Memories that are not imported, and why."""
    ignored: tuple[IgnoredImportEntry, ...] = ()
    """Files and entries that are not memories, and why."""


class _KnownTexts:
    """Index of existing texts that finds an equivalent one in constant time."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._rules: dict[tuple[str, ...], str] = {}

    def add(self, where: str, text: str) -> None:
        """Add a text and its location."""
        self._marks.setdefault(compute_body_digest(text), where)
        if len(text) <= MAX_COMPARED_CHARS:
            self._rules.setdefault(compute_rule_key(text), where)

    def find(self, text: str) -> str:
        """Return the location of an equivalent text; empty for none."""
        exact = self._marks.get(compute_body_digest(text), "")
        rule = compute_rule_key(text) if not exact and len(text) <= MAX_COMPARED_CHARS else ()
        return exact or (self._rules.get(rule, "") if rule else "")


def plan_import(
    read: DialectImport,
    target: ImportTargetState,
    context: WriteGateContext,
    *,
    dialect: str,
    source: str,
) -> ImportPlan:
    """Decide what becomes of each memory that was read."""
    known = _KnownTexts()
    for topic in target.topics:
        known.add(topic.path, topic.body)
    for topic in target.proposed:
        known.add("a proposal in the inbox", topic.body)
    present = {topic.path: topic for topic in target.topics}
    used_paths = map_next_path_numbers(present)
    items: list[PlannedMemoryImport] = []
    skipped: list[IgnoredImportEntry] = []
    for topic in read.topics:
        found = _why_elsewhere(topic, read.folders, target.root) or _plan_item(
            topic, present, target, context, known
        )
        if isinstance(found, str):
            skipped.append(IgnoredImportEntry(topic.path, found))
            continue
        item = found if found.change.before is not None else _assign_free_path(found, used_paths)
        known.add(item.change.path, item.change.memory_after.body)
        items.append(item)
    return ImportPlan(
        dialect=dialect,
        source=source,
        items=tuple(items),
        skipped=tuple(skipped),
        ignored=read.ignored,
    )


def _why_elsewhere(topic: MemoryFile, folders: Mapping[str, tuple[str, ...]], root: str) -> str:
    """Explain why a memory limited to some folders does not apply to this project; empty when it
    may.
    """
    named = folders.get(topic.path, ())
    if not root or not named or any(_is_related_folder(each, root) for each in named):
        return ""
    return f"it holds for {', '.join(named)}, and not for this project"


def _is_related_folder(folder: str, root: str) -> bool:
    mine, theirs = PurePosixPath(root), PurePosixPath(folder)
    return mine.is_relative_to(theirs) or theirs.is_relative_to(mine)


def _plan_item(
    topic: MemoryFile,
    present: Mapping[str, MemoryFile],
    here: ImportTargetState,
    case: WriteGateContext,
    known: _KnownTexts,
) -> PlannedMemoryImport | str:
    """Return the memory as the gate would accept it, or why it is not imported."""
    before = present.get(topic.path)
    newer = before is not None and topic.path in here.imported_paths and before.body != topic.body
    change = build_memory_change(before if newer else None, topic)
    verdict = judge_memory_change(change, case)
    if isinstance(verdict, RefusedChange):
        return "; ".join(verdict.reasons)
    data = verdict.change.after or b""
    if size := describe_excess_memory_file_size(len(data)):
        return f"it would have {size}"
    planned = parse_memory_file(topic.path, data)
    where = known.find(planned.body)
    if where:
        return f"{where} says it already"
    waits = verdict.reasons if isinstance(verdict, NeedsReview) else ()
    if not waits and here.policy == "review":
        waits = ("the policy is review",)
    remarks = () if isinstance(verdict, NeedsReview) else verdict.remarks
    return PlannedMemoryImport(
        change=change,
        name=planned.name,
        kind=planned.kind,
        description=planned.description,
        review_reasons=waits,
        remarks=remarks,
    )


def _assign_free_path(item: PlannedMemoryImport, used_paths: dict[str, int]) -> PlannedMemoryImport:
    """Move the memory to an unused path."""
    change = item.change
    return replace(item, change=replace(change, path=reserve_free_path(change.path, used_paths)))

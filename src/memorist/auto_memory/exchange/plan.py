"""Plan an import: add a memory, change one imported before, ask the user, or skip it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.changes import Change
from memorist.auto_memory.dialects.values import Left, Read, free_path, in_use
from memorist.auto_memory.gate import Case, Doubtful, Refused, fingerprint, judge
from memorist.auto_memory.kinds import Kind
from memorist.auto_memory.manifest import too_large
from memorist.auto_memory.said_same import rule_key
from memorist.auto_memory.topic import Topic, encode, parse

SAYING = 1_000
"""Characters of the longest text compared by rule; longer texts are the same only when equal."""


class Here(Struct, frozen=True, kw_only=True):
    """The memory that is imported into."""

    topics: Sequence[Topic] = ()
    waiting: Sequence[Topic] = ()
    """Memories as the inbox's proposals would make them."""
    imported: Collection[str] = ()
    """Paths last written by an import: nobody has changed them since, so a newer import may."""
    root: str = ""
    """The project's root; empty accepts what applies to any folder."""
    policy: str = "auto"


class Item(Struct, frozen=True, kw_only=True):
    """A memory to be imported."""

    change: Change
    name: str
    kind: Kind | None
    description: str
    waits: tuple[str, ...] = ()
    """Why it would go to the inbox; empty when it would be written."""
    remarks: tuple[str, ...] = ()
    """What would be removed from it."""


class ImportPlan(Struct, frozen=True, kw_only=True):
    """A complete import, before it is carried out."""

    dialect: str
    source: str
    items: tuple[Item, ...] = ()
    skipped: tuple[Left, ...] = ()
    """Memories that are not imported, and why."""
    left: tuple[Left, ...] = ()
    """Files and entries that are not memories, and why."""


class _Known:
    """Index of existing texts that finds an equivalent one in constant time."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._rules: dict[tuple[str, ...], str] = {}

    def add(self, where: str, text: str) -> None:
        """Add a text and its location."""
        self._marks.setdefault(fingerprint(text), where)
        if len(text) <= SAYING:
            self._rules.setdefault(rule_key(text), where)

    def find(self, text: str) -> str:
        """Return the location of an equivalent text; empty for none."""
        exact = self._marks.get(fingerprint(text), "")
        rule = rule_key(text) if not exact and len(text) <= SAYING else ()
        return exact or (self._rules.get(rule, "") if rule else "")


def plan_import(read: Read, here: Here, case: Case, *, dialect: str, source: str) -> ImportPlan:
    """Decide what becomes of each memory that was read."""
    known = _Known()
    for topic in here.topics:
        known.add(topic.path, topic.body)
    for topic in here.waiting:
        known.add("a proposal in the inbox", topic.body)
    present = {topic.path: topic for topic in here.topics}
    taken = in_use(present)
    items: list[Item] = []
    skipped: list[Left] = []
    for topic in read.topics:
        found = _elsewhere(topic, read.folders, here.root) or _planned(topic, present, here, case, known)
        if isinstance(found, str):
            skipped.append(Left(topic.path, found))
            continue
        item = found if found.change.before is not None else _placed(found, taken)
        known.add(item.change.path, parse(item.change.path, item.change.after or b"").body)
        items.append(item)
    return ImportPlan(dialect=dialect, source=source, items=tuple(items), skipped=tuple(skipped), left=read.left)


def _elsewhere(topic: Topic, folders: Mapping[str, tuple[str, ...]], root: str) -> str:
    """Explain why a memory limited to some folders does not apply to this project; empty when it
    may.
    """
    named = folders.get(topic.path, ())
    if not root or not named or any(_related(each, root) for each in named):
        return ""
    return f"it holds for {', '.join(named)}, and not for this project"


def _related(folder: str, root: str) -> bool:
    mine, theirs = PurePosixPath(root), PurePosixPath(folder)
    return mine.is_relative_to(theirs) or theirs.is_relative_to(mine)


def _planned(topic: Topic, present: Mapping[str, Topic], here: Here, case: Case, known: _Known) -> Item | str:
    """Return the memory as the gate would accept it, or why it is not imported."""
    before = present.get(topic.path)
    newer = before is not None and topic.path in here.imported and before.body != topic.body
    change = Change(path=topic.path, before=encode(before.text()) if before is not None and newer else None, after=encode(topic.text()))
    verdict = judge(change, case)
    if isinstance(verdict, Refused):
        return "; ".join(verdict.reasons)
    data = verdict.change.after or b""
    if size := too_large(len(data)):
        return f"it would have {size}"
    made = parse(topic.path, data)
    where = known.find(made.body)
    if where:
        return f"{where} says it already"
    waits = verdict.reasons if isinstance(verdict, Doubtful) else ()
    if not waits and here.policy == "review":
        waits = ("the policy is review",)
    remarks = () if isinstance(verdict, Doubtful) else verdict.remarks
    return Item(change=change, name=made.name, kind=made.kind, description=made.description, waits=waits, remarks=remarks)


def _placed(item: Item, taken: dict[str, int]) -> Item:
    """Move the memory to an unused path."""
    change = item.change
    return replace(item, change=replace(change, path=free_path(change.path, taken)))

"""Import of other agents' memories and export into their layouts (AM-13), with bounded reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.changes import Why
from memorist.auto_memory.dialects.registry import DIALECTS, recognise
from memorist.auto_memory.dialects.values import Dialect, Left, Lost, Read
from memorist.auto_memory.exchange.plan import Here, ImportPlan, plan_import
from memorist.auto_memory.kinds import Kind
from memorist.auto_memory.run import AutoMemory, Written
from memorist.auto_memory.topic import Topic, encode, parse
from memorist.errors import InputError, WriteConflict
from memorist.ports import FileFacts, Files
from memorist.safety.secrets import find_secrets

MAX_FILES = 5_000
"""Files below an imported folder; a memory has hundreds, and a folder with more is not one."""
MAX_SIZE = 4_000_000
"""Bytes of one file; the largest handbook seen in public had one million."""
MAX_TOTAL = 64_000_000
"""Bytes of all files together."""


class Source(Struct, frozen=True):
    """What was read at a path, and in which dialect."""

    place: Path
    dialect: str
    read: Read


def read_source(files: Files, place: Path, dialect: str = "") -> Source:
    """Read a folder or file in the given dialect, or in the recognised one.

    Raises InputError when nothing is there, when it is too large, or when no dialect is recognised;
    StoreError.
    """
    real = files.resolve(place)
    facts = files.facts(real)
    if facts is None:
        raise InputError(f"there is nothing at {place}; name the folder or file that holds the memories")
    found, left = _folder(files, real) if facts.is_folder else _single(files, real, facts)
    name = dialect or recognise(found)
    if name is None:
        raise InputError(f"{place} is not recognised as any agent's memory; say which it is with --dialect ({', '.join(sorted(DIALECTS))})")
    read = _dialect(name).read(found)
    return Source(place, name, Read(topics=read.topics, left=(*read.left, *left), folders=read.folders))


def _dialect(name: str) -> Dialect:
    if name not in DIALECTS:
        raise InputError(f"there is no dialect {name}; there are {', '.join(sorted(DIALECTS))}")
    return DIALECTS[name]


def _single(files: Files, place: Path, facts: FileFacts) -> tuple[dict[str, bytes], list[Left]]:
    if not facts.is_file or facts.size > MAX_SIZE:
        raise InputError(f"{place} is no file of at most {MAX_SIZE:,} bytes")
    return {place.name: files.read(place, limit=MAX_SIZE)}, []


def _folder(files: Files, folder: Path) -> tuple[dict[str, bytes], list[Left]]:
    """Read the Markdown files below a folder, and report what was not read; links are not followed.
    """
    entries = files.scan(folder, limit=MAX_FILES + 1)
    if len(entries) > MAX_FILES:
        raise InputError(f"{folder} holds more than {MAX_FILES:,} files; name the folder that holds the memories and nothing else")
    found: dict[str, bytes] = {}
    left: list[Left] = []
    others = total = 0
    for path, facts in entries:
        if facts.is_link:
            left.append(Left(path, "a link, which is not followed"))
        elif not path.endswith(".md"):
            others += 1
        elif facts.size > MAX_SIZE or total + facts.size > MAX_TOTAL:
            left.append(Left(path, f"it has {facts.size:,} bytes, more than is read"))
        else:
            found[path] = files.read(folder / path, limit=MAX_SIZE)
            total += len(found[path])
    return found, [*left, Left(str(folder), f"{others} files that are no Markdown")] if others else left


def foresee(memory: AutoMemory, source: Source, *, root: str = "") -> ImportPlan:
    """Plan what an import would do.

    With a project's `root`, memories limited to other folders are skipped. Raises StoreError.
    """
    topics = []
    for head in memory.heads():
        try:
            topics.append(memory.folder.read(head.path))
        except InputError:
            # Too large or gone. It cannot be compared; the write checks again before it replaces it.
            continue
    imported = _last_by_import(memory, [topic.path for topic in topics], [topic.path for topic in source.read.topics])
    waiting = [parse(each.path, encode(each.after)) for each in memory.inbox.waiting() if each.after is not None]
    here = Here(topics=topics, waiting=waiting, imported=imported, root=root, policy=memory.settings.policy)
    return plan_import(source.read, here, memory.case("import"), dialect=source.dialect, source=source.place.name)


def _last_by_import(memory: AutoMemory, present: Sequence[str], wanted: Sequence[str]) -> Collection[str]:
    both = set(present).intersection(wanted)
    return {path for path in both if any(each.why.actor == "import" for each in memory.folder.history.log(path, 1))}


def carry_out(memory: AutoMemory, plan: ImportPlan) -> Written:
    """Carry out an import as one change of the history. Raises WriteConflict, StoreError."""
    count = sum(1 for item in plan.items if not item.waits) or len(plan.items)
    why = Why(
        actor="import",
        what=f"import: {count} {'memory' if count == 1 else 'memories'} of {DIALECTS[plan.dialect].title} from {plan.source}",
    )
    return memory.write([item.change for item in plan.items], why)


class ExportPlan(Struct, frozen=True, kw_only=True):
    """A complete export, before it is carried out."""

    dialect: str
    folder: Path
    files: Mapping[str, bytes]
    """Files to be written, by path below the folder, except those that already have these bytes."""
    before: Mapping[str, bytes]
    """The existing bytes of those files."""
    same: tuple[str, ...] = ()
    lost: tuple[Lost, ...] = ()


def exportable(memory: AutoMemory, kinds: Collection[Kind] = ()) -> tuple[list[Topic], tuple[Lost, ...]]:
    """Select the memories of these kinds (none: all), most valuable first, and those that must not
    leave.

    A memory with a secret or a planted order is not exported.
    """
    memory.heads()
    index = memory.folder.index()
    ranked = [*index.listed, *index.left_out]
    topics: list[Topic] = []
    kept: list[Lost] = []
    for path in [*ranked, *sorted({head.path for head in memory.heads()} - set(ranked))]:
        try:
            topic, doubts = memory.shown(path)
        except InputError as error:
            kept.append(Lost(path, (str(error),), whole=True))
            continue
        if kinds and topic.kind not in kinds:
            continue
        rules = sorted({finding.rule for finding in find_secrets(topic.text())})
        why = (*doubts, *([f"it holds what looks like a secret ({', '.join(rules)})"] if rules else []))
        if why:
            kept.append(Lost(path, why, whole=True))
        else:
            topics.append(topic)
    return topics, tuple(kept)


def plan_export(files: Files, topics: Sequence[Topic], target: Path, dialect: str) -> ExportPlan:
    """Plan what an export to a folder would write.

    For a dialect with a single file, `target` may be that file. Raises InputError, StoreError.
    """
    chosen = _dialect(dialect)
    facts = files.facts(files.resolve(target))
    alone = bool(chosen.file) and target.suffix == ".md" and (facts is None or not facts.is_folder)
    if facts is not None and not facts.is_folder and not alone:
        raise InputError(f"{target} is a file, and {chosen.title} takes a folder; name one")
    folder = files.resolve(target.parent if alone else target)
    names = {chosen.file: target.name} if alone else {}
    wrote = chosen.write(topics, _present(files, folder, chosen, names))
    made = {names.get(path, path): data for path, data in wrote.files.items()}
    before = {path: data for path in made if (data := _standing(files, folder, path)) is not None}
    same = tuple(path for path, data in made.items() if before.get(path) == data)
    return ExportPlan(
        dialect=dialect,
        folder=folder,
        files={path: data for path, data in made.items() if path not in same},
        before={path: data for path, data in before.items() if path not in same},
        same=same,
        lost=wrote.lost,
    )


def _present(files: Files, folder: Path, dialect: Dialect, names: Mapping[str, str]) -> dict[str, bytes]:
    """Read the target's files that the dialect inspects."""
    found: dict[str, bytes] = {}
    for place in dialect.looks_at:
        if place and not place.endswith("/"):
            data = _standing(files, folder, names.get(place, place))
            found |= {place: data} if data is not None else {}
            continue
        facts = files.facts(folder / place)
        if facts is not None and facts.is_folder:
            inside, _ = _folder(files, folder / place)
            found |= {place + path: data for path, data in inside.items()}
    return found


def _standing(files: Files, folder: Path, path: str) -> bytes | None:
    """Return a target file's bytes; None when it does not exist.

    Raises InputError where it is a link, a folder or too large.
    """
    place = folder / path
    if files.resolve(place) != place:
        raise InputError(f"{place} leads elsewhere through a link; remove the link or name another folder")
    facts = files.facts(place)
    if facts is None:
        return None
    if not facts.is_file or facts.size > MAX_SIZE:
        raise InputError(f"{place} is no file of at most {MAX_SIZE:,} bytes; name another folder")
    return files.read(place, limit=MAX_SIZE)


def write_export(files: Files, plan: ExportPlan, *, force: bool = False) -> None:
    """Write an export's files, each atomically.

    Raises WriteConflict when one exists with other bytes, unless forced; StoreError.
    """
    if plan.before and not force:
        named = ", ".join(sorted(plan.before)[:3])
        more = f" and {len(plan.before) - 3} more" if len(plan.before) > 3 else ""
        raise WriteConflict(f"{named}{more} in {plan.folder} would be changed; say --force to do it, or name another folder.")
    for path, data in plan.files.items():
        place = plan.folder / path
        if path in plan.before:
            files.write(place, data, expect=plan.before[path])
        elif not files.create(place, data):
            raise WriteConflict(f"{place} was made by somebody else meanwhile; repeat the export.")

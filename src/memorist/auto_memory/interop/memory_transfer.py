"""Import of other agents' memories and export into their layouts (AM-13), with bounded reads."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.interop.claude_code_memory import CLAUDE_CODE
from memorist.auto_memory.interop.codex_memory import CODEX
from memorist.auto_memory.interop.dialect import (
    DialectImport,
    ExportLoss,
    IgnoredImportEntry,
    MemoryDialect,
)
from memorist.auto_memory.interop.gemini_memory import GEMINI
from memorist.auto_memory.interop.hermes_memory import HERMES
from memorist.auto_memory.interop.import_plan import ImportPlan, ImportTargetState, plan_import
from memorist.auto_memory.interop.instruction_files import INSTRUCTION_FILE_ENDINGS, INSTRUCTIONS
from memorist.auto_memory.memory_changes import ChangeReason
from memorist.auto_memory.memory_file import MemoryFile, MemoryKind, parse_memory_file
from memorist.auto_memory.write_result import WriteResult
from memorist.core.plural import join_first
from memorist.core.text_encoding import (
    count_undecoded_bytes,
    decode_file_text_losslessly,
    encode_file_text_as_utf8,
)
from memorist.errors import InputError, WriteConflict
from memorist.ports import FileInfo, FileSystem
from memorist.safety.secrets import find_secrets, redact

MAX_IMPORT_FILES = 5_000
"""Files below an imported folder; a memory has hundreds, and a folder with more is not one."""


MAX_IMPORT_FILE_BYTES = 4_000_000
"""Bytes of one file; the largest handbook seen in public had one million."""


UNKNOWN_ENCODING = "not in UTF-8: save it in UTF-8 with your editor, and import it again"


MAX_IMPORT_TOTAL_BYTES = 64_000_000
"""Bytes of all files together."""


class ParsedImportSource(Struct, frozen=True):
    """What was read at a path, and in which dialect."""

    path: Path
    dialect: str
    read: DialectImport


def read_import_source(files: FileSystem, path: Path, dialect: str = "") -> ParsedImportSource:
    """Read a folder or file in the given dialect, or in the recognised one.

    Raises InputError when nothing is there, when it is too large, or when no dialect is recognised;
    StoreError.
    """
    real = files.resolve(path)
    facts = files.lstat(real)
    if facts is None:
        raise InputError(
            f"there is nothing at {path}; name the folder or file that holds the memories"
        )
    found, left = (
        _read_folder(files, real) if facts.is_folder else _read_single_file(files, real, facts)
    )
    name = dialect or recognise_memory_dialect(found)
    if name is None:
        raise InputError(
            f"{path} is not recognised as any agent's memory; say which it is with --dialect "
            f"({', '.join(sorted(DIALECTS))})"
        )
    read = _get_dialect(name).read(found)
    return ParsedImportSource(
        path,
        name,
        DialectImport(topics=read.topics, ignored=(*read.ignored, *left), folders=read.folders),
    )


def _get_dialect(name: str) -> MemoryDialect:
    if name not in DIALECTS:
        raise InputError(f"there is no dialect {name}; there are {', '.join(sorted(DIALECTS))}")
    return DIALECTS[name]


def _read_single_file(
    files: FileSystem, folder: Path, facts: FileInfo
) -> tuple[dict[str, bytes], list[IgnoredImportEntry]]:
    if not facts.is_file or facts.size > MAX_IMPORT_FILE_BYTES:
        raise InputError(f"{folder} is no file of at most {MAX_IMPORT_FILE_BYTES:,} bytes")
    data = _read_as_utf8(files, folder)
    if data is None:
        raise InputError(f"{folder} is {UNKNOWN_ENCODING}")
    return {folder.name: data}, []


def _read_as_utf8(files: FileSystem, path: Path) -> bytes | None:
    """A file's text in UTF-8, where it is in that or UTF-16; None for another encoding, whose
    letters nobody could tell apart later.
    """
    text = decode_file_text_losslessly(files.read(path, limit=MAX_IMPORT_FILE_BYTES))
    return None if count_undecoded_bytes(text) else encode_file_text_as_utf8(text)


def _read_folder(
    files: FileSystem, folder: Path
) -> tuple[dict[str, bytes], list[IgnoredImportEntry]]:
    """Read the Markdown files below a folder, and report what was not read; links are not
    followed.
    """
    entries = files.scan(folder, limit=MAX_IMPORT_FILES + 1)
    if len(entries) > MAX_IMPORT_FILES:
        raise InputError(
            f"{folder} holds more than {MAX_IMPORT_FILES:,} files; name the folder that holds the "
            f"memories and nothing else"
        )
    found: dict[str, bytes] = {}
    left: list[IgnoredImportEntry] = []
    others = total = 0
    for path, facts in entries:
        if facts.is_link:
            left.append(IgnoredImportEntry(path, "a link, which is not followed"))
        elif not path.endswith((".md", *INSTRUCTION_FILE_ENDINGS)):
            others += 1
        elif facts.size > MAX_IMPORT_FILE_BYTES or total + facts.size > MAX_IMPORT_TOTAL_BYTES:
            left.append(IgnoredImportEntry(path, f"it has {facts.size:,} bytes, more than is read"))
        elif (data := _read_as_utf8(files, folder / path)) is None:
            left.append(IgnoredImportEntry(path, UNKNOWN_ENCODING))
        else:
            found[path] = data
            total += len(data)
    return found, [
        *left,
        IgnoredImportEntry(str(folder), f"{others} files that are no Markdown"),
    ] if others else left


def plan_import_into_memory(
    memory: AutoMemory, source: ParsedImportSource, *, root: str = ""
) -> ImportPlan:
    """Plan what an import would do.

    With a project's `root`, memories limited to other folders are skipped. Raises StoreError.
    """
    topics = []
    for head in memory.headers():
        try:
            topics.append(memory.folder.read_memory_file(head.path))
        except InputError:
            # Too large or gone. It cannot be compared; the write checks again before it replaces
            # it.
            continue
    imported = _find_imported_paths(
        memory,
        [topic.path for topic in topics],
        [topic.path for topic in source.read.topics],
        _describe_source(source.dialect, source.path.name),
    )
    waiting = [
        parse_memory_file(each.path, encode_file_text_as_utf8(each.after))
        for each in memory.inbox.list_proposals()
        if each.after is not None
    ]
    here = ImportTargetState(
        topics=topics,
        proposed=waiting,
        imported_paths=imported,
        root=root,
        policy=memory.settings.policy,
    )
    return plan_import(
        source.read,
        here,
        memory.build_gate_context("import"),
        dialect=source.dialect,
        source=source.path.name,
    )


def _find_imported_paths(
    memory: AutoMemory, present: Sequence[str], wanted: Sequence[str], source: str
) -> Collection[str]:
    """The paths that an import of the same source wrote last: a memory of that name from another
    one is another memory.
    """
    both = set(present).intersection(wanted)
    return {
        path
        for path in both
        if any(
            each.why.actor == "import" and each.why.what.endswith(source)
            for each in memory.folder.history.list_changes(path, 1)
        )
    }


def _describe_source(dialect: str, name: str) -> str:
    return f"of {_get_dialect(dialect).title} from {redact(name).text}"


def apply_import(memory: AutoMemory, plan: ImportPlan) -> WriteResult:
    """Carry out an import as one change of the history. Raises WriteConflict, StoreError."""
    count = sum(1 for item in plan.items if not item.review_reasons) or len(plan.items)
    why = ChangeReason(
        actor="import",
        what=f"import: {count} {'memory' if count == 1 else 'memories'} "
        f"{_describe_source(plan.dialect, plan.source)}",
    )
    return memory.write([item.change for item in plan.items], why)


class ExportPlan(Struct, frozen=True, kw_only=True):
    """A complete export, before it is carried out."""

    dialect: str
    folder: Path
    files: Mapping[str, bytes]
    """Files to be written, by path below the folder, except those that already have these bytes."""
    existing: Mapping[str, bytes]
    """The existing bytes of those files."""
    unchanged: tuple[str, ...] = ()
    losses: tuple[ExportLoss, ...] = ()


def separate_exportable_memories(
    memory: AutoMemory, kinds: Collection[MemoryKind] = ()
) -> tuple[list[MemoryFile], tuple[ExportLoss, ...]]:
    """Select the memories of these kinds (none: all), most valuable first, and those that must not
    leave.

    A memory with a secret or a planted order is not exported.
    """
    memory.headers()
    ranked = memory.folder.indexes.list_paths_most_valuable_first()
    topics: list[MemoryFile] = []
    kept: list[ExportLoss] = []
    for path in [*ranked, *sorted({head.path for head in memory.headers()} - set(ranked))]:
        try:
            topic, doubts = memory.read_memory_with_suspicions(path)
        except InputError as error:
            kept.append(ExportLoss(path, (str(error),), is_nothing_written=True))
            continue
        if kinds and topic.kind not in kinds:
            continue
        rules = sorted({finding.rule for finding in find_secrets(topic.text())})
        why = (
            *doubts,
            *([f"it holds what looks like a secret ({', '.join(rules)})"] if rules else []),
        )
        if why:
            kept.append(ExportLoss(path, why, is_nothing_written=True))
        else:
            topics.append(topic)
    return topics, tuple(kept)


def plan_export(
    files: FileSystem, topics: Sequence[MemoryFile], target: Path, dialect: str
) -> ExportPlan:
    """Plan what an export to a folder would write.

    For a dialect with a single file, `target` may be that file. Raises InputError, StoreError.
    """
    chosen = _get_dialect(dialect)
    facts = files.lstat(files.resolve(target))
    alone = (
        bool(chosen.single_file)
        and target.suffix == ".md"
        and (facts is None or not facts.is_folder)
    )
    if facts is not None and not facts.is_folder and not alone:
        raise InputError(f"{target} is a file, and {chosen.title} takes a folder; name one")
    folder = files.resolve(target.parent if alone else target)
    names = {chosen.single_file: target.name} if alone else {}
    wrote = chosen.write(topics, _read_inspected_files(files, folder, chosen, names))
    planned = {names.get(path, path): data for path, data in wrote.files.items()}
    before = {
        path: data
        for path in planned
        if (data := _read_target_file(files, folder, path)) is not None
    }
    same = tuple(path for path, data in planned.items() if before.get(path) == data)
    return ExportPlan(
        dialect=dialect,
        folder=folder,
        files={path: data for path, data in planned.items() if path not in same},
        existing={path: data for path, data in before.items() if path not in same},
        unchanged=same,
        losses=wrote.losses,
    )


def _read_inspected_files(
    files: FileSystem, folder: Path, dialect: MemoryDialect, names: Mapping[str, str]
) -> dict[str, bytes]:
    """Read the target's files that the dialect inspects."""
    found: dict[str, bytes] = {}
    for inspected in dialect.inspected_paths:
        if inspected and not inspected.endswith("/"):
            data = _read_target_file(files, folder, names.get(inspected, inspected))
            found |= {inspected: data} if data is not None else {}
            continue
        facts = files.lstat(folder / inspected)
        if facts is not None and facts.is_folder:
            inside, _ = _read_folder(files, folder / inspected)
            found |= {inspected + path: data for path, data in inside.items()}
    return found


def _read_target_file(files: FileSystem, folder: Path, path: str) -> bytes | None:
    """Return a target file's bytes; None when it does not exist.

    Raises InputError where it is a link, a folder or too large.
    """
    target = folder / path
    if files.resolve(target) != target:
        raise InputError(
            f"{target} leads elsewhere through a link; remove the link or name another folder"
        )
    facts = files.lstat(target)
    if facts is None:
        return None
    if not facts.is_file or facts.size > MAX_IMPORT_FILE_BYTES:
        raise InputError(
            f"{target} is no file of at most {MAX_IMPORT_FILE_BYTES:,} bytes; name another folder"
        )
    return files.read(target, limit=MAX_IMPORT_FILE_BYTES)


def write_export(files: FileSystem, plan: ExportPlan, *, force: bool = False) -> None:
    """Write an export's files, each atomically.

    Raises WriteConflict when one exists with other bytes, unless forced; StoreError.
    """
    if plan.existing and not force:
        raise WriteConflict(
            f"{join_first(sorted(plan.existing), 3)} in {plan.folder} would be changed; say "
            "--force to do it, or name another folder."
        )
    for path, data in plan.files.items():
        target = plan.folder / path
        if path in plan.existing:
            files.write(target, data, expect=plan.existing[path])
        elif not files.create(target, data):
            raise WriteConflict(f"{target} was made by somebody else meanwhile; repeat the export.")


DIALECTS: dict[str, MemoryDialect] = {
    each.name: each for each in (CODEX, HERMES, GEMINI, CLAUDE_CODE, INSTRUCTIONS)
}
"""Most specific first: a version line or a section sign is unique, while an instruction file may
lie beside anything.
"""


def recognise_memory_dialect(files: Mapping[str, bytes]) -> str | None:
    """Return the name of the first dialect that recognises these files (by relative path), or
    None.
    """
    return next((name for name, dialect in DIALECTS.items() if dialect.recognise(files)), None)

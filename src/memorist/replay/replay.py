"""Replay recorded sessions through the engine, and write the results.

Each session is built in a hidden folder that is renamed when it is complete, so that a killed run
leaves nothing half-written; the next run removes its remains.
"""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist import __version__
from memorist.compaction.compaction_thresholds import (
    DEFAULT_OUTPUT_TOKENS,
    CompactionThresholds,
    compute_request_thresholds,
    compute_thresholds,
)
from memorist.core.messages import Message, Usage
from memorist.engine.engine import Memorist
from memorist.engine.replayed_session import ReplayedSession
from memorist.errors import NothingToDo, StoreError, UnreadableSession, UsageError
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import (
    RepairedLine,
    SessionHead,
    SideRecord,
    SkippedLine,
    UsageReport,
)
from memorist.models.model_pricing import find_request_model_price
from memorist.platforms.user_home import expand_user
from memorist.ports import Model
from memorist.replay.replay_results import ReceiptTotals, ReplayedSessionRecord, ReplayRunSessions
from memorist.replay.replay_tables import render_report
from memorist.replay.session_recorder import (
    SessionRecorder,
    list_failures_with_fixes,
    make_path_relative,
    rank_used_commands,
    rank_used_files,
)
from memorist.settings import Settings
from memorist.store.disk_files import DiskFiles, make_folders, raise_os_errors_as_store_errors
from memorist.store.transcript_reader import UnpackedUtf8Lines
from memorist.store.write_back_files import WriteBackFiles

# The folder that a replay writes: what is in it, and what may be replaced there. Anybody may name
# a folder that holds files of theirs; those stay.

PARTIAL_PREFIX = ".partial-"
_OLD_PREFIX = ".old-"
ENGINE_FOLDER = "engine"
"""Folder below `out` that serves as the home of the engine."""
REPORT_FILE = "report.html"
_MARK = ".memorist-replay"
"""File in the engine's folder by which a later replay knows it."""
_OWN_FILES = frozenset(
    {_MARK, "state.sqlite", "transcript.jsonl", "transcript.jsonl.lock", "events.jsonl"}
)
"""One of these is in every folder that a replay makes, also a killed one."""


def prepare_replay_folder(out: Path, names: Iterable[str]) -> Path:
    """Make the folder, remove what killed runs left, and return an empty home for the engine, so
    that a replay shows what these sessions alone would have left.

    Raises UsageError, before anything is removed, for the root of a disk and the user's home, and
    where something that no replay made has the name of what would be written (`names` are those of
    the sessions); StoreError.
    """
    whole = out.resolve()
    if whole in (Path(whole.anchor), Path(expand_user()).resolve()):
        raise UsageError(f"{out} holds more than replays; name a folder of its own with --out")
    make_folders(out)
    home = out / ENGINE_FOLDER
    for path in (home, out / REPORT_FILE, *(out / name for name in names)):
        if path.exists() and not _is_own(path):
            raise UsageError(
                f"{path} is there and no replay made it; name a folder of its own with --out"
            )
    _clear_partial(out)
    shutil.rmtree(home, ignore_errors=True)
    DiskFiles(durable=False).write(home / _MARK, b"")
    return home


def _is_own(path: Path) -> bool:
    if path.is_dir():
        found = {each.name for each in path.iterdir()}
        return not found or not found.isdisjoint(_OWN_FILES)
    return path.name == REPORT_FILE and b"memorist" in path.read_bytes()


def is_file_written_by_replay(path: Path) -> bool:
    """Whether a replay wrote the file into the folder of a session: that session was replayed."""
    return path.name in _OWN_FILES and (path.parent.parent / ENGINE_FOLDER / _MARK).exists()


def _clear_partial(out: Path) -> None:
    """Remove what killed runs left; restore a session that was being replaced."""
    for left in filter(_is_own, out.glob(f"{PARTIAL_PREFIX}*")):
        shutil.rmtree(left, ignore_errors=True)
    for left in filter(_is_own, out.glob(f"{_OLD_PREFIX}*")):
        target = out / left.name.removeprefix(_OLD_PREFIX)
        if target.exists():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.rename(target)


def move_replayed_session_into_place(partial: Path, folder: Path, loss: StoreError | None) -> None:
    """Move a finished folder into its final location; not one that misses what the disk refused,
    whose `loss` is raised.

    An existing folder is renamed first; if the process is killed in between, the next run repairs
    that.
    """
    if loss is not None:
        raise loss
    old = folder.with_name(f"{_OLD_PREFIX}{folder.name}")
    with raise_os_errors_as_store_errors("write", folder):
        if not folder.exists():
            partial.replace(folder)
            return
        folder.rename(old)
        partial.replace(folder)
        shutil.rmtree(old, ignore_errors=True)


GC_THRESHOLDS = (50_000, 20, 100)
"""Thresholds of Python's garbage collector during a replay: messages stay until their session ends,
and make no cycles. Our choice.
"""

ReplayProgress = Callable[[Path, int], None]
"""Called now and then with the file and the number of the line being read."""


class ReplayOptions(Struct, frozen=True, kw_only=True):
    """Options of a replay."""

    out: Path
    settings: Settings
    model: Model | str | None = None
    window: int | None = None
    """The model's context window in tokens, if the file does not name it or another is to be
    assumed.
    """
    progress: ReplayProgress | None = None


class UnreplayableFile(Struct, frozen=True):
    """A file that could not be replayed, and why."""

    source: str
    why: str


class ReplayResult(Struct, frozen=True):
    """The result of a replay."""

    record: ReplayRunSessions
    unread: tuple[UnreplayableFile, ...]
    report: Path

    def __repr__(self) -> str:
        """Its report alone: `asyncio.run` writes out what it returns, to throw the text away."""
        return f"ReplayResult({self.report})"


async def replay_files_to_report(paths: list[Path], options: ReplayOptions) -> ReplayResult:
    """Replay files one after another.

    A file that is not a session, or names a project that is no folder, is reported and skipped.
    Raises StoreError when `out` cannot be written, UsageError when it holds something else that
    would be replaced.
    """
    with _rare_garbage_collection():
        return await _replay_all(paths, options)


@contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


async def _replay_all(paths: list[Path], options: ReplayOptions) -> ReplayResult:
    sessions, unread, names = [], [], _choose_names(paths)
    files = WriteBackFiles(
        DiskFiles(durable=False)
    )  # no fsync: an interrupted session is simply replayed again
    async with Memorist(
        model=options.model,
        home=prepare_replay_folder(options.out, names),
        settings=_rank_by_words(options.settings),
        files=files,
    ) as engine:
        for path, name in zip(paths, names, strict=True):
            try:
                sessions.append(await _replay_one(engine, files, path, name, options))
            except (UnreadableSession, UsageError) as error:
                said = str(error)
                unread.append(
                    UnreplayableFile(str(path), said if path.name in said else f"{path}: {said}")
                )
        start_tokens = engine.flags.apply_to_section(options.settings.session_memory).start_tokens
    record = ReplayRunSessions(
        version=__version__, model=_model_name(options), sessions=tuple(sessions)
    )
    page = options.out / REPORT_FILE
    DiskFiles().write(page, render_report(record, start_tokens).encode("utf-8", "replace"))
    return ReplayResult(record, tuple(unread), page)


def _rank_by_words(settings: Settings) -> Settings:
    """Recall by words alone: vectors are made beside a session while its user types, and in a
    replay it would be chance which messages they come in time for.
    """
    return replace(settings, recall=replace(settings.recall, embeddings=False))


def _model_name(options: ReplayOptions) -> str:
    if options.model is None:
        return options.settings.model
    return options.model if isinstance(options.model, str) else options.model.name


def _choose_names(paths: Iterable[Path]) -> list[str]:
    """For each file the name of its session's folder, which no other has."""
    names: list[str] = []
    for path in paths:
        stem = (
            path.name.removesuffix(".zst").removesuffix(".jsonl").removesuffix(".json").lstrip(".")
            or "session"
        )
        name, number = stem, 1
        while name in (*names, ENGINE_FOLDER, REPORT_FILE):
            number += 1
            name = f"{stem}-{number}"
        names.append(name)
    return names


async def _replay_one(
    engine: Memorist, files: WriteBackFiles, path: Path, name: str, options: ReplayOptions
) -> ReplayedSessionRecord:
    began = time.perf_counter()
    lines = UnpackedUtf8Lines(path)
    entries = read_session(lines)
    head = next(entries)
    if not isinstance(head, SessionHead):
        raise UnreadableSession(
            f"{path} does not begin with a session; is it one of Claude Code, Codex or memorist?"
        )
    head = replace(head, window=options.window or head.window)
    partial = options.out / f"{PARTIAL_PREFIX}{name}"
    gathering = SessionRecorder()
    session = engine.replay_session(
        name, project=head.cwd, folder=partial, listener=gathering.on_event
    )
    session.limits = _thresholds_for(head, options)
    session.price = find_request_model_price({"model": head.model}, options.settings.models.prices)
    try:
        await session.add_record(head)
        for entry in entries:
            match entry:
                case Message():
                    await session.add_record(entry)
                    gathering.on_message(entry, session.tracker.tokens)
                    for given in session.take_recalled_texts():
                        gathering.on_recall(given.message, given.text)
                    if options.progress is not None and gathering.messages % 64 == 0:
                        options.progress(path, entry.line)
                case SideRecord():
                    gathering.on_side_record(entry)
                case SkippedLine():
                    gathering.on_line_skipped(entry)
                case RepairedLine():
                    gathering.on_line_repaired(entry)
                case UsageReport():
                    gathering.records += 1
                    await session.add_record(entry)
                case _:
                    gathering.records += 1
                    gathering.prefix.on_entry(entry)
                    await session.add_record(entry)
        gathering.mark_next_notes_final()
        notes = await _final_notes(session)
    finally:
        await session.close()
        files.flush()
    record = _build_record(path, head, gathering, session, notes)
    target = options.out / name
    move_replayed_session_into_place(partial, target, session.save_error)
    shown = str(target / session.layout.notes.relative_to(partial)) if notes else ""
    return replace(record, notes_path=shown, seconds=time.perf_counter() - began)


def _thresholds_for(head: SessionHead, options: ReplayOptions) -> CompactionThresholds:
    """The compaction thresholds, for the window that was requested, that the file names, or that
    the price table lists.
    """
    limits = compute_request_thresholds({"model": head.model}, options.settings)
    window = options.window or head.window
    if window is None:
        return limits
    return compute_thresholds(window, DEFAULT_OUTPUT_TOKENS, options.settings.compaction)


async def _final_notes(session: ReplayedSession) -> str:
    """The notes at the end of the recording, which include its last messages."""
    try:
        return await session.finish_and_update_notes()
    except NothingToDo:
        return ""


def _build_record(
    path: Path, head: SessionHead, gathering: SessionRecorder, session: ReplayedSession, notes: str
) -> ReplayedSessionRecord:
    following = session.tracker
    receipts = session.receipts()
    costs = [receipt.cost_usd for receipt in receipts]
    usage = sum((receipt.usage for receipt in receipts), Usage())
    total = None if None in costs else sum((cost for cost in costs if cost is not None), 0.0)
    return ReplayedSessionRecord(
        source=str(path),
        head=head,
        records=gathering.records,
        skipped=tuple(gathering.skipped),
        mended=tuple(gathering.mended),
        asides=dict(gathering.asides.most_common()),
        messages=following.messages,
        turns=following.turns,
        tokens_peak=following.peak_tokens,
        points=tuple(gathering.points),
        updates=tuple(gathering.updates),
        final=gathering.final,
        requests=gathering.prefix.requests,
        prefix_breaks=tuple(gathering.prefix.breaks),
        compactions=tuple(gathering.compactions),
        memory_steps=tuple(gathering.memory_steps),
        memory_given=tuple(gathering.memory_given),
        kinds=dict(gathering.kinds.most_common()),
        files=rank_used_files(following.ledger),
        commands=rank_used_commands(following.ledger),
        troubles=list_failures_with_fixes(following.ledger),
        notes=notes,
        notes_path=make_path_relative(str(session.layout.notes), ""),
        receipts=ReceiptTotals(
            requests=sum(receipt.requests for receipt in receipts), usage=usage, cost_usd=total
        ),
        seconds=0.0,
    )

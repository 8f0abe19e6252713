"""Replay recorded sessions through the engine, and write the results.

Each session is built in a hidden folder that is renamed when it is complete, so that a killed run
leaves nothing half-written; the next run removes its remains.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist import __version__
from memorist.compaction.thresholds import Thresholds, thresholds
from memorist.core.messages import Message, Usage
from memorist.engine.memorist import Memorist
from memorist.engine.model_limits import DEFAULT_OUTPUT, limits_of, price_for
from memorist.engine.playback import Playback
from memorist.errors import NothingToDo, UnreadableSession
from memorist.formats.recognise import read
from memorist.formats.recorded import Aside, Head, Measured, Mend, Skip
from memorist.ports import Model
from memorist.replay.gather import Gathering, commands_of, files_of, relative, troubles_of
from memorist.replay.record import Receipts, ReplayRecord, SessionRecord
from memorist.replay.report import report
from memorist.settings import Settings
from memorist.store.files import DiskFiles, make_folders, refusal
from memorist.store.held import HeldFiles
from memorist.store.lines import LineFile

PARTIAL = ".partial-"
ENGINE = "engine"
"""Folder below `out` that serves as the home of the engine."""

Progress = Callable[[Path, int], None]
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
    progress: Progress | None = None


class Unread(Struct, frozen=True):
    """A file that could not be replayed, and why."""

    source: str
    why: str


class Replayed(Struct, frozen=True):
    """The result of a replay."""

    record: ReplayRecord
    unread: tuple[Unread, ...]
    report: Path


async def replay(paths: list[Path], options: ReplayOptions) -> Replayed:
    """Replay files one after another.

    A file that is not a session is reported and skipped. Raises StoreError when `out` cannot be
    written.
    """
    make_folders(options.out)
    _clear(options.out)
    sessions, unread, names = [], [], set[str]()
    files = HeldFiles(DiskFiles(durable=False))  # no fsync: an interrupted session is simply replayed again
    async with Memorist(model=options.model, home=_engine_home(options.out), settings=options.settings, files=files) as engine:
        for path in paths:
            name = _name(path, names)
            try:
                sessions.append(await _replay_one(engine, files, path, name, options))
            except UnreadableSession as error:
                said = str(error)
                unread.append(Unread(str(path), said if path.name in said else f"{path}: {said}"))
        start_tokens = engine.flags.over(options.settings.session_memory).start_tokens
    record = ReplayRecord(version=__version__, model=_model_name(options), sessions=tuple(sessions))
    page = options.out / "report.html"
    DiskFiles().write(page, report(record, start_tokens).encode("utf-8", "replace"))
    return Replayed(record, tuple(unread), page)


def _model_name(options: ReplayOptions) -> str:
    if options.model is None:
        return options.settings.model
    return options.model if isinstance(options.model, str) else options.model.name


def _name(path: Path, taken: set[str]) -> str:
    stem = path.name.removesuffix(".zst").removesuffix(".jsonl").removesuffix(".json").lstrip(".") or "session"
    name, number = stem, 1
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    taken.add(name)
    return name


def _engine_home(out: Path) -> Path:
    """An empty home for the engine, so that a replay shows what these sessions alone would have
    left.
    """
    home = out / ENGINE
    shutil.rmtree(home, ignore_errors=True)
    return home


def _clear(out: Path) -> None:
    """Remove what killed runs left; restore a session that was being replaced."""
    for left in out.glob(f"{PARTIAL}*"):
        shutil.rmtree(left, ignore_errors=True)
    for left in out.glob(".old-*"):
        place = out / left.name.removeprefix(".old-")
        if place.exists():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.rename(place)


async def _replay_one(engine: Memorist, files: HeldFiles, path: Path, name: str, options: ReplayOptions) -> SessionRecord:
    began = time.perf_counter()
    lines = LineFile(path)
    entries = read(lines)
    head = next(entries)
    if not isinstance(head, Head):
        raise UnreadableSession(f"{path} does not begin with a session; is it one of Claude Code, Codex or memorist?")
    head = replace(head, window=options.window or head.window)
    partial = options.out / f"{PARTIAL}{name}"
    gathering = Gathering()
    session = engine.play(name, project=head.cwd, folder=partial, listener=gathering.told)
    session.limits = _limits(head, options)
    session.price = price_for({"model": head.model}, options.settings)
    try:
        await session.follow(head)
        for entry in entries:
            match entry:
                case Message():
                    await session.follow(entry)
                    gathering.message(entry, session.following.tokens)
                    for given in session.taken():
                        gathering.given(given.message, given.text)
                    if options.progress is not None and gathering.messages % 64 == 0:
                        options.progress(path, entry.line)
                case Aside():
                    gathering.aside(entry)
                case Skip():
                    gathering.skip(entry)
                case Mend():
                    gathering.mend(entry)
                case Measured():
                    gathering.records += 1
                    await session.follow(entry)
                case _:
                    gathering.records += 1
                    gathering.prefix.follow(entry)
                    await session.follow(entry)
        gathering.ending()
        notes = await _final_notes(session)
    finally:
        await session.close()
        files.settle()
    record = _record(path, head, gathering, session, notes)
    place = options.out / name
    _put(partial, place)
    shown = str(place / session.layout.notes.relative_to(partial)) if notes else ""
    return replace(record, notes_path=shown, seconds=time.perf_counter() - began)


def _limits(head: Head, options: ReplayOptions) -> Thresholds:
    """The compaction thresholds, for the window that was requested, that the file names, or that
    the price table lists.
    """
    limits = limits_of({"model": head.model}, options.settings)
    window = options.window or head.window
    return limits if window is None else thresholds(window, DEFAULT_OUTPUT, options.settings.compaction)


async def _final_notes(session: Playback) -> str:
    """The notes at the end of the recording, which include its last messages."""
    try:
        return await session.summarise()
    except NothingToDo:
        return ""


def _put(partial: Path, place: Path) -> None:
    """Move a finished folder into its final location.

    An existing folder is renamed first; if the process is killed in between, the next run repairs
    that.
    """
    old = place.with_name(f".old-{place.name}")
    try:
        if place.exists():
            place.rename(old)
        partial.replace(place)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise refusal("write", place, error) from error


def _record(path: Path, head: Head, gathering: Gathering, session: Playback, notes: str) -> SessionRecord:
    following = session.following
    receipts = session.receipts()
    costs = [receipt.cost_usd for receipt in receipts]
    usage = sum((receipt.usage for receipt in receipts), Usage())
    total = None if None in costs else sum((cost for cost in costs if cost is not None), 0.0)
    return SessionRecord(
        source=str(path),
        head=head,
        records=gathering.records,
        skipped=tuple(gathering.skipped),
        mended=tuple(gathering.mended),
        asides=dict(gathering.asides.most_common()),
        messages=following.messages,
        turns=following.turns,
        tokens_peak=following.tokens_peak,
        points=tuple(gathering.points),
        updates=tuple(gathering.updates),
        final=gathering.final,
        requests=gathering.prefix.requests,
        prefix_breaks=tuple(gathering.prefix.breaks),
        compactions=tuple(gathering.compactions),
        memory_steps=tuple(gathering.memory_steps),
        memory_given=tuple(gathering.memory_given),
        kinds=dict(gathering.kinds.most_common()),
        files=files_of(following.ledger),
        commands=commands_of(following.ledger),
        troubles=troubles_of(following.ledger),
        notes=notes,
        notes_path=relative(str(session.layout.notes), ""),
        receipts=Receipts(requests=sum(receipt.requests for receipt in receipts), usage=usage, cost_usd=total),
        seconds=0.0,
    )

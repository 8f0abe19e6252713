"""`memorist replay` and `memorist demo`."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from msgspec.structs import replace as changed
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from memorist import replay
from memorist.cli import output
from memorist.cli.command_environment import (
    load_home_layout,
    load_project_settings,
    read_environment,
)
from memorist.core.plural import pluralize
from memorist.engine.recorded_session import find_recorded_session
from memorist.errors import InputError, UnreadableSession
from memorist.replay.replay import (
    ReplayOptions,
    ReplayResult,
    is_file_written_by_replay,
    replay_files_to_report,
)
from memorist.replay.replay_results import NotesUpdateRecord, ReplayedSessionRecord
from memorist.rollouts.session_sources import list_agent_session_folders
from memorist.store.home_layout import REPLAY_FOLDER, Layout

_SESSION_FILES = {
    "claude-code": ("*/*.jsonl",),
    "codex": ("**/rollout-*.jsonl", "**/rollout-*.jsonl.zst"),
}
"""Patterns of the files that may be demonstrated, by client."""
MAX_PREFIX_BREAKS = 3
"""Prefix breaks that a session's line names; `--json` has all."""


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path(REPLAY_FOLDER),
    show_default=True,
    help="Folder to write to.",
)
@click.option(
    "--model",
    default=None,
    help="Model for the notes, such as anthropic:NAME. [default: the setting, structural at first]",
)
@click.option(
    "--context-window",
    type=click.IntRange(min=1),
    default=None,
    help="Context window in tokens to assume.",
)
@output.JSON_OPTION
def replay_command(
    files: tuple[str, ...], out: Path, model: str | None, context_window: int | None, as_json: bool
) -> None:
    """Run recorded sessions through the engine as if they were live.

    FILES are sessions of Claude Code, Codex or memorist itself (JSONL, also .zst), or their ids as
    `memorist sessions` lists them; a folder stands for all sessions in it. Writes each session's
    notes, transcript and events below --out, and one report.html.

    Example: memorist replay session.jsonl --out replayed
    """
    replayed = _run_replay(_find_files(files), out, model, context_window)
    if as_json:
        output.print_json(
            {"sessions": [_session_object(record) for record in replayed.record.sessions]}
        )
    elif replayed.record.sessions:
        _print_summary(replayed)
    for unread in replayed.unread:
        click.echo(f"memorist: {unread.why}", err=True)
    if replayed.unread:
        sys.exit(1)


@click.command()
@click.option(
    "--samples",
    type=click.Path(path_type=Path),
    default=None,
    help="Folder of sample sessions, used when you have none of your own.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path(REPLAY_FOLDER),
    show_default=True,
    help="Folder to write to.",
)
def demo_command(samples: Path | None, out: Path) -> None:
    """Replay your newest own session (Claude Code or Codex), or the samples when you have none, and
    show the notes.

    Example: memorist demo --out replayed
    """
    own = _find_newest_client_session(load_home_layout(), read_environment())
    files = [own] if own else _find_samples(samples or Path("examples/sessions"))
    if not files:
        raise UnreadableSession(
            "there is no session of Claude Code or Codex in your home folder, and no sample; "
            "name one: memorist replay FILE"
        )
    kind = (
        "your newest own session, nothing leaves this machine"
        if own
        else "sample sessions; you have none of Claude Code or Codex yet"
    )
    click.echo(f"Replaying {', '.join(path.name for path in files)} ({kind}).\n")
    replayed = _run_replay(files, out, "structural", None)
    for record in replayed.record.sessions[:1]:
        output.print_session_notes(record.notes)
    click.echo("")
    _print_summary(replayed)


def _find_samples(folder: Path) -> list[Path]:
    """The sample sessions of a folder, or else the one that an installed package brings."""
    return sorted(folder.glob("*.jsonl")) or sorted(Path(replay.__file__).parent.glob("*.jsonl"))


def _find_newest_client_session(layout: Layout, environment: Mapping[str, str]) -> Path | None:
    """The session of Claude Code or Codex that was written last, without side chains; None where
    neither has one.
    """
    found: list[tuple[float, Path]] = []
    for client, patterns in _SESSION_FILES.items():
        for source in list_agent_session_folders(client, layout, environment):
            for path in (path for pattern in patterns for path in source.folder.glob(pattern)):
                with contextlib.suppress(OSError):  # it went meanwhile, or is a link to nothing
                    facts = path.stat()
                    is_session = path.is_file() and not path.name.startswith("agent-")
                    if facts.st_size and is_session:
                        found.append((facts.st_mtime, path))
    return max(found)[1] if found else None


def _find_files(names: tuple[str, ...]) -> list[Path]:
    found: list[Path] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            inside = sorted(
                each
                for each in path.rglob("*")
                if each.name.endswith((".jsonl", ".jsonl.zst"))
                and not is_file_written_by_replay(each)
            )
            if not inside:
                raise InputError(
                    f"the folder {path} holds no session (*.jsonl); name a file or another folder"
                )
            found += inside
        else:
            found.append(find_recorded_session(load_home_layout(), name).path)
    return found


def _run_replay(
    files: list[Path], out: Path, model: str | None, window: int | None
) -> ReplayResult:
    settings = load_project_settings(model)
    with _progress(files) as tell:
        options = ReplayOptions(
            out=out.absolute(),
            settings=changed(settings, model=model or settings.model),
            window=window,
            progress=tell,
        )
        return asyncio.run(replay_files_to_report(files, options))


@contextlib.contextmanager
def _progress(files: list[Path]) -> Iterator[Any]:
    """A progress line on a terminal; nothing in a pipe."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total} files"),
        TimeElapsedColumn(),
    )
    with Progress(
        *columns,
        console=output.make_console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as bar:
        task = bar.add_task("reading", total=len(files))

        def tell(path: Path, line: int) -> None:
            name = output.make_terminal_safe_line(path.name[:40])
            bar.update(task, description=f"{name} line {line:,}", completed=files.index(path))

        yield tell


def _session_object(record: ReplayedSessionRecord) -> dict[str, Any]:
    usage = record.receipts.usage
    return {
        "source": record.source,
        "format": record.head.format,
        "records": record.records,
        "skipped": record.skipped,
        "mended": record.mended,
        "messages": record.messages,
        "turns": record.turns,
        "tokens_peak": record.tokens_peak,
        "session_memory": {
            "path": record.notes_path or None,
            "updates": [_update_object(each) for each in record.updates],
            "final": None if record.final is None else _update_object(record.final),
        },
        "prefix": {"requests": record.requests, "breaks": record.prefix_breaks},
        "memory": {
            "steps": [
                {"message": step.index, "what": step.what, "paths": step.paths, "why": step.why}
                for step in record.memory_steps
            ],
            "given": [
                {"message": given.message, "text": given.text} for given in record.memory_given
            ],
        },
        "receipts": {
            "requests": record.receipts.requests,
            "input": usage.input,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "output": usage.output,
            "cost_usd": record.receipts.cost_usd,
        },
        "seconds": round(record.seconds, 3),
    }


def _update_object(update: NotesUpdateRecord) -> dict[str, Any]:
    return {"message": update.message, "tokens": update.tokens, "why": update.why}


def _print_summary(replayed: ReplayResult) -> None:
    for record in replayed.record.sessions:
        skipped = f", {pluralize(len(record.skipped), 'line')} skipped" if record.skipped else ""
        click.echo(
            f"{Path(record.source).name}: {record.head.format}, "
            f"{pluralize(record.messages, 'message')} in {pluralize(record.turns, 'turn')},"
            f" context up to {record.tokens_peak:,} tokens, notes updated "
            f"{pluralize(len(record.updates), 'time')} and at the end{skipped}"
        )
        click.echo(f"  notes: {record.notes_path or 'none, the session holds no message'}")
        click.echo(f"  prefix: {_describe_prefix(record)}")
        for step in record.memory_steps:
            click.echo(f"  memory {step.what}: {', '.join(step.paths)} ({step.why})")
    click.echo(f"report: {replayed.report}")


def _describe_prefix(record: ReplayedSessionRecord) -> str:
    """Whether each request extended the last, or where and why not."""
    said = f"over {pluralize(record.requests, 'request')} it only grew"
    if not record.prefix_breaks:
        return said
    parts = [
        f"at request {each.request:,}{f' (line {each.line:,})' if each.line else ''} for "
        f"{each.why}, {each.what}"
        for each in record.prefix_breaks
    ]
    shown = "; ".join(parts[:MAX_PREFIX_BREAKS])
    more = f"; and {len(parts) - MAX_PREFIX_BREAKS} more" if len(parts) > MAX_PREFIX_BREAKS else ""
    return f"{said}, but {shown}{more}"

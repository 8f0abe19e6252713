"""`memorist handoff`: another agent takes up the work of a session."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args
from uuid import uuid4

import click

from memorist.cli import output
from memorist.cli.command_environment import find_home
from memorist.cli.recorded_sessions import SessionFile, find_recorded_session
from memorist.compaction.handoff import HandoffSource, render_handoff
from memorist.compaction.window_at_message import read_recorded_window
from memorist.core.prompt_templates import load_prompt
from memorist.core.token_count import estimate_text_tokens
from memorist.errors import InputError
from memorist.formats.format_detection import read_session
from memorist.formats.resumable_session import (
    MAX_FOLDER_NAME,
    ResumableClient,
    render_resumable_session,
)
from memorist.formats.transcript_format import FORMAT_TITLES
from memorist.session_memory.notes_template import find_written_sections
from memorist.store.disk_files import DiskFiles, read_if_exists
from memorist.store.home_layout import SessionLayout, folder_name
from memorist.store.transcript_reader import LineFile
from memorist.system import SystemClock

CLIENT_PROGRAMS = {"claude-code": "claude", "codex": "codex"}
"""Program of each client that takes its first prompt as an argument."""

ARGUMENT_BYTES = 100_000
"""Bytes up to which a hand-over is the client's argument; a longer one, and every one on Windows,
where a batch file takes no lines, is read from its file. Linux allows 131,072 bytes. Our choice.
"""


@click.command("handoff")
@click.argument("session")
@click.option(
    "--to",
    "target",
    default="claude-code",
    show_default=True,
    help="claude-code, codex, or a new file for the hand-over.",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1_000),
    default=12_000,
    show_default=True,
    help="Tokens that the hand-over may have.",
)
@click.option(
    "--resumable",
    is_flag=True,
    help="Write a session file that the client resumes, instead of a first prompt.",
)
@click.option("--open", "opens", is_flag=True, help="Open the client with it, in this folder.")
@output.JSON_OPTION
def handoff_command(
    session: str, target: str, budget: int, resumable: bool, opens: bool, as_json: bool
) -> None:
    """Let another agent take up the work of SESSION, running or finished.

    SESSION is a session file, an id or the start of one (`memorist sessions` lists them), or a
    session's folder. The hand-over holds what was asked last and whether it was answered, the
    user's words, plan, open tasks, running work, what failed, changed files, notes, extracts and
    the newest messages. Nothing of the session is changed.

    Example: memorist handoff 01a20126 --to codex --open
    """
    client = CLIENT_PROGRAMS.get(target)
    if client is None and (opens or resumable):
        option = "--open" if opens else "--resumable"
        raise InputError(f"{option} needs one of {', '.join(CLIENT_PROGRAMS)} behind --to")
    found = find_recorded_session(session)
    text = _render_session(found, budget)
    if resumable:
        path, arguments = _write_resumable(text, target)
    else:
        path = _write_handoff(text, found.name, Path(target) if client is None else None)
        arguments = (f"Read {path} and take up the work that it hands over.",)
    command = "" if client is None else shlex.join((client, *arguments))
    if as_json:
        output.print_json(
            {
                "session": found.name,
                "path": str(path),
                "tokens": estimate_text_tokens(text),
                "command": command,
            }
        )
    else:
        click.echo(f"{path}: {estimate_text_tokens(text):,} tokens")
        if command and not opens:
            again = "to undo, delete that file" if resumable else "or once more with --open"
            click.echo(f"open it with: {command}   ({again})")
    if opens and client is not None:
        direct = not resumable and os.name != "nt" and len(text.encode()) <= ARGUMENT_BYTES
        _open_client(client, (text,) if direct else arguments)


def _render_session(found: SessionFile, budget: int) -> str:
    recorded = read_recorded_window(read_session(LineFile(found.path)))
    kind = recorded.head.format if recorded.head else "memorist"
    return render_handoff(
        HandoffSource(
            recorded=recorded,
            agent=f"a session of {FORMAT_TITLES.get(kind, kind)}",
            transcript=str(found.path),
            notes=_read_written_notes(found.layout),
        ),
        load_prompt("compaction/handoff"),
        budget,
    )


def _read_written_notes(layout: SessionLayout | None) -> str:
    """What a model wrote into the notes; what structure gives is made anew."""
    raw = (read_if_exists(DiskFiles(), layout.notes) if layout else None) or b""
    bodies = find_written_sections(
        raw.decode("utf-8", "replace"), load_prompt("session_memory/template")
    )
    return "\n".join(f"### {title}\n{body}" for title, body in bodies.items() if body)


def _write_handoff(text: str, name: str, chosen: Path | None) -> Path:
    """Write the hand-over to the chosen new file, or to memorist's home."""
    if chosen is None:
        home = find_home()
        path = home.handoff(folder_name(name))
        DiskFiles().write(path, text.encode())
        return path
    if not DiskFiles().create(chosen.absolute(), text.encode()):
        raise InputError(f"{chosen} exists already; name a new file")
    return chosen.absolute()


def _write_resumable(text: str, target: str) -> tuple[Path, tuple[str, ...]]:
    """Write a new session file for this folder among the client's own; where it is, and the
    arguments by which the client resumes it.
    """
    clients: tuple[ResumableClient, ...] = get_args(ResumableClient)
    client = next(each for each in clients if each == target)
    cwd = os.path.realpath(Path.cwd())
    if client == "claude-code" and len(cwd) > MAX_FOLDER_NAME:
        raise InputError(
            "the path of this folder is too long for Claude Code to find a session by it; "
            "hand over without --resumable"
        )
    home = Path(os.environ.get("HOME") or "~").expanduser()
    folders = {
        "claude-code": os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude",
        "codex": os.environ.get("CODEX_HOME") or home / ".codex",
    }
    moment = datetime.fromtimestamp(SystemClock().now(), UTC)
    written = render_resumable_session(client, text, id=uuid4(), cwd=cwd, at=moment)
    path = Path(folders[client], written.path).absolute()
    if not DiskFiles().create(path, written.data):
        raise InputError(f"{path} exists already")
    return path, written.arguments


def _open_client(program: str, arguments: Sequence[str]) -> None:
    found = shutil.which(program)
    if found is None:
        raise InputError(f"{program} is not installed, or not on the PATH")
    raise SystemExit(subprocess.run([found, *arguments], check=False).returncode)

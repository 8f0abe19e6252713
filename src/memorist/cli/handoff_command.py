"""`memorist handoff`: another agent takes up the work of a session."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import get_args

import click

from memorist.cli import output
from memorist.cli.command_environment import load_home_layout, read_environment
from memorist.core.token_count import estimate_text_tokens
from memorist.engine.recorded_session import find_recorded_session
from memorist.engine.session_handoff import render_session_handoff, write_handoff_session
from memorist.errors import InputError
from memorist.formats.resumable_session import ResumableClient
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import make_folder_name
from memorist.system import SystemClock

CLIENT_PROGRAMS = {"claude-code": "claude", "codex": "codex"}
"""Program of each client that takes its first prompt as an argument."""

MAX_ARGUMENT_BYTES = 100_000
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
    help="claude-code, codex, a new file for the hand-over, or `-` for standard output.",
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
    if client is None and target != "-" and not (Path(target).suffix or {"/", os.sep} & {*target}):
        raise InputError(
            f"{target!r} is none of {', '.join(CLIENT_PROGRAMS)}, and no file: the name of one has "
            "an ending or a folder, such as handoff.md"
        )
    found = find_recorded_session(load_home_layout(), session)
    text = render_session_handoff(found, budget)
    if target == "-" and not as_json:
        click.echo(text, nl=False)
        return
    if resumable:
        written = write_handoff_session(
            text,
            next(each for each in get_args(ResumableClient) if each == target),
            folder=Path.cwd(),
            environment=read_environment(),
            at=datetime.fromtimestamp(SystemClock().now(), UTC),
        )
        path, arguments = written.path, written.arguments
    else:
        path = _write_handoff(text, found.id, Path(target) if client is None else None)
        arguments = (f"Read {path} and take up the work that it hands over.",)
    command = "" if client is None else shlex.join((client, *arguments))
    if as_json:
        output.print_json(
            {
                "session": found.id,
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
        direct = not resumable and os.name != "nt" and len(text.encode()) <= MAX_ARGUMENT_BYTES
        _open_client(client, (text,) if direct else arguments)


def _write_handoff(text: str, name: str, chosen: Path | None) -> Path:
    """Write the hand-over to the chosen new file, or to the next free one in memorist's home: an
    earlier one may still have to be read.
    """
    if chosen is None:
        home = load_home_layout()
        paths = (home.handoff_file(make_folder_name(name), number) for number in count(1))
        return next(path for path in paths if DiskFiles().create(path, text.encode()))
    if not DiskFiles().create(chosen.absolute(), text.encode()):
        raise InputError(f"{chosen} exists already; name a new file")
    return chosen.absolute()


def _open_client(program: str, arguments: Sequence[str]) -> None:
    found = shutil.which(program)
    if found is None:
        raise InputError(f"{program} is not installed, or not on the PATH")
    raise SystemExit(subprocess.run([found, *arguments], check=False).returncode)

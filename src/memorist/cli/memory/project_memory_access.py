"""Open the project's memory for one command, and report its changes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.home_memories import ProjectMemoryOpener
from memorist.auto_memory.memory_file import MemoryKind
from memorist.auto_memory.memory_manifest import MAX_FILE_BYTES
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.auto_memory.write_result import WriteResult
from memorist.cli.agent_shell import require_person
from memorist.cli.command_environment import load_project_settings
from memorist.core.text_encoding import (
    count_undecoded_bytes,
    decode_file_text_losslessly,
    replace_surrogates,
)
from memorist.errors import UsageError

KIND_CHOICE = click.Choice([kind.value for kind in MemoryKind])


@contextmanager
def open_project_memory(
    project: Path | None = None,
) -> Iterator[tuple[ProjectMemoryOpener, AutoMemory]]:
    """Open the home folder and the memory of a project's folder (by default the working folder),
    with the settings of the project.
    """
    home = ProjectMemoryOpener(load_project_settings(project=project))
    try:
        yield home, home.memory(str(project or Path.cwd()))
    finally:
        home.close()


def ask_to_accept_unreviewed_memory(
    home: ProjectMemoryOpener, memory: AutoMemory, path: str, question: str, *, yes: bool
) -> None:
    """Show a memory that the user neither said nor accepted, and ask before it counts as read by
    the user. Raises InputError.
    """
    topic, doubts = memory.read_memory_with_suspicions(path)
    if memory.folder.determine_trust(topic) in USER_TRUST and not doubts:
        return
    require_person(home, "accepting a memory")
    click.echo(replace_surrogates(topic.text()).rstrip("\n"))
    for doubt in doubts:
        click.echo(f"memorist: it is not shown to a model: {doubt}", err=True)
    confirm_or_abort(question, yes=yes)


def print_write_outcome(written: WriteResult, done: str) -> None:
    """Print the result of a change; exit status 1 if all of it was refused."""
    for path in written.paths:
        click.echo(f"{done}: {path}")
    for remark in written.remarks:
        click.echo(f"  {remark}")
    for waiting in written.proposals:
        click.echo(
            f"waits in the inbox as {waiting.id}: {waiting.path} ({'; '.join(waiting.reasons)})"
        )
    for refused in written.refused:
        click.echo(f"memorist: {refused.path} was refused: {'; '.join(refused.reasons)}", err=True)
    if not written.paths and not written.proposals:
        if not written.refused:
            click.echo("nothing changed")
        else:
            sys.exit(1)


def edit_text(before: str) -> str | None:
    """The text as it is saved in the user's editor; None where nothing was. Raises UsageError where
    an editor could only be one of a terminal, and there is none.
    """
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not chosen and not sys.stdin.isatty():
        raise click.UsageError("there is no terminal for an editor; give the new text by --text")
    return click.edit(before, extension=".md")


def read_given_text(text: str) -> str:
    """The text of an argument, or for `-` that of standard input. Raises UsageError as
    `check_encoding` does, and for more than a memory may have.
    """
    given = text
    if text == "-":
        data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        if len(data) > MAX_FILE_BYTES:
            raise UsageError(f"the text has more than {MAX_FILE_BYTES:,} bytes; split it")
        given = decode_file_text_losslessly(data).replace("\r\n", "\n")
    check_encoding(given)
    return given


def check_encoding(given: str) -> None:
    """Raises UsageError for bytes that no encoding explains, which would be lost."""
    if count_undecoded_bytes(given):
        raise UsageError("the text is not in UTF-8; convert it, as with `iconv -f latin1 -t utf-8`")


def confirm_or_abort(question: str, *, yes: bool) -> None:
    """Ask on a terminal; elsewhere `--yes` is required. Aborts the command if the answer is no."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("this changes memory; say --yes where there is no terminal")
    click.confirm(question, abort=True)

"""The command `memorist`."""

from __future__ import annotations

import os
import sys

import click

from memorist import __version__
from memorist.cli.bench import bench
from memorist.cli.compact import compact_command
from memorist.cli.config import config
from memorist.cli.doctor import doctor
from memorist.cli.memory.group import memory_group
from memorist.cli.notes import notes
from memorist.cli.recall import recall
from memorist.cli.replay import demo, replay
from memorist.errors import MemoristError, UsageError

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(context_settings=CONTEXT)
@click.version_option(__version__, prog_name="memorist")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def commands(debug: bool) -> None:
    """A memory and context engine for LLM agents: notes of the running session, memories across sessions, all in plain files."""
    click.get_current_context().obj = debug


for command in (replay, demo, notes, compact_command, memory_group, recall, config, doctor, bench):
    commands.add_command(command)


def main() -> None:
    """Run the command line. One clear sentence on standard error for what goes wrong; a traceback only with `--debug`."""
    debug = "--debug" in sys.argv[1:]
    try:
        commands(standalone_mode=True)
    except MemoristError as error:
        if debug:
            raise
        click.echo(f"memorist: {error}", err=True)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except BrokenPipeError:
        # The reader of a pipe (head, less) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)

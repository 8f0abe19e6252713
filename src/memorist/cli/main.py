"""The `memorist` command."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import ClassVar

import click

from memorist import __version__
from memorist.cli.commands import Commands
from memorist.errors import MemoristError, UsageError

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class MemoristCommands(Commands):
    """All commands of `memorist`, loaded on demand."""

    homes: ClassVar[Mapping[str, str]] = {
        "bench": "memorist.cli.bench:bench",
        "compact": "memorist.cli.compact:compact_command",
        "config": "memorist.cli.config:config",
        "context": "memorist.cli.context:context",
        "daemon": "memorist.cli.hook:daemon",
        "demo": "memorist.cli.replay:demo",
        "docs": "memorist.cli.docs:docs_group",
        "dream": "memorist.cli.dream:dream_command",
        "doctor": "memorist.cli.doctor:doctor",
        "hook": "memorist.cli.hook:hook_command",
        "import": "memorist.cli.import_sessions:import_command",
        "install": "memorist.cli.install:install",
        "mcp": "memorist.cli.mcp:mcp_command",
        "memory": "memorist.cli.memory.group:memory_group",
        "notes": "memorist.cli.notes:notes",
        "proxy": "memorist.cli.proxy:proxy_command",
        "recall": "memorist.cli.recall:recall",
        "replay": "memorist.cli.replay:replay",
        "rollouts": "memorist.cli.rollouts.group:rollouts_group",
        "skills": "memorist.cli.skills:skills_group",
        "status": "memorist.cli.status:status_command",
        "team": "memorist.cli.team:team_group",
        "uninstall": "memorist.cli.install:uninstall",
        "worker": "memorist.cli.worker:worker",
    }


@click.group(cls=MemoristCommands, context_settings=CONTEXT)
@click.version_option(__version__, prog_name="memorist")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def commands(debug: bool) -> None:
    """A memory and context engine for LLM agents: notes of the running session, memories across sessions, all in plain files."""
    click.get_current_context().obj = debug


def main() -> None:
    """Run the command line.

    An error becomes one sentence on standard error; a traceback is shown only with `--debug`. Exit
    status 2 for wrong usage, 1 for other errors.
    """
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

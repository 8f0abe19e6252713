"""The `memorist` command."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import click
from click.shell_completion import get_completion_class

from memorist import __version__
from memorist.cli.command_group import (
    SYNONYMS,
    LazyCommandGroup,
    check_option_spelling,
    has_undecoded_bytes,
)
from memorist.cli.terminal_stream import protect_terminal
from memorist.errors import MemoristError, UsageError

INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 and the number of the signal, as shells have it."""
SHOWN_NAME_CHARS = 60
"""Characters of a name that is too long for a file, in the message that says so."""
CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

OTHER_WORDS = {
    "accept": "memorist memory inbox accept",
    "cost": "memorist status",
    "reject": "memorist memory inbox reject",
    "settings": "memorist config show",
    "spend": "memorist status",
    "version": "memorist --version",
}
"""What users type at first, and what does it here."""


class MemoristCommands(LazyCommandGroup):
    """All commands of `memorist`, loaded on demand."""

    command_paths: ClassVar[Mapping[str, str]] = {
        "compact": "memorist.cli.compact_command:compact_command",
        "completion": "memorist.cli.main:completion_command",
        "config": "memorist.cli.config_command:config_group",
        "context": "memorist.cli.context_command:context_command",
        "daemon": "memorist.cli.hook_commands:daemon_command",
        "demo": "memorist.cli.replay_command:demo_command",
        "docs": "memorist.cli.docs_command:docs_group",
        "dream": "memorist.cli.dream_command:dream_group",
        "doctor": "memorist.cli.doctor.doctor_command:doctor_command",
        "handoff": "memorist.cli.handoff_command:handoff_command",
        "hook": "memorist.cli.hook_commands:hook_command",
        "import": "memorist.cli.import_command:import_sessions_command",
        "install": "memorist.cli.install_command:install_command",
        "machines": "memorist.cli.machines_command:machines_group",
        "mcp": "memorist.cli.mcp_command:mcp_command",
        "memory": "memorist.cli.memory.memory_group:memory_group",
        "notes": "memorist.cli.notes_command:notes_command",
        "proxy": "memorist.cli.proxy_command:proxy_command",
        "recall": "memorist.cli.recall_command:recall_command",
        "replay": "memorist.cli.replay_command:replay_command",
        "rollouts": "memorist.cli.rollouts.rollouts_group:rollouts_group",
        "sessions": "memorist.cli.sessions_command:sessions_command",
        "setup": "memorist.cli.setup_command:setup_command",
        "search": "memorist.cli.search_command:search_command",
        "skills": "memorist.cli.skills_command:skills_group",
        "status": "memorist.cli.status_command:status_command",
        "team": "memorist.cli.team_command:team_group",
        "ui": "memorist.cli.ui_command:ui_command",
        "uninstall": "memorist.cli.install_command:uninstall_command",
        "worker": "memorist.cli.worker_command:worker_command",
    }
    summaries: ClassVar[Mapping[str, str]] = {
        "compact": "Show what a compaction of a recorded session would keep, cut and say.",
        "completion": (
            "Print the lines that complete memorist's commands and options in your shell."
        ),
        "config": "The settings: see and change them, and where each value comes from.",
        "context": "Show what the model is shown, piece by piece, with tokens, source and reason.",
        "daemon": "Be the process behind the hooks, until nothing comes any more.",
        "demo": (
            "Replay your newest own session (Claude Code or Codex), or the samples when you "
            "have none, and show the notes."
        ),
        "docs": (
            "The Magic Docs of a project: documents with a line `# MAGIC DOC: title`, which a "
            "model keeps true while you work."
        ),
        "doctor": "Look for what is wrong with this installation, and say how to fix it.",
        "dream": (
            "Consolidate this project's memory; without --now or --dry-run: say whether it is "
            "time, and why or why not."
        ),
        "handoff": "Let another agent take up the work of SESSION, running or finished.",
        "hook": "Answer an event of a coding agent: what it writes comes on standard input.",
        "import": (
            "Find your own sessions of other agents and remember them; PATHS are folders of "
            "sessions, or single ones."
        ),
        "install": (
            "Put memorist into the settings of a coding agent: claude-code, codex, cursor, "
            "gemini-cli, opencode or qwen-code."
        ),
        "machines": (
            "Your own machines: one memory on all of them, by a folder that some program "
            "keeps alike or a private Git remote."
        ),
        "mcp": (
            "Serve memory to an agent that speaks MCP: tools to search, read, write and "
            "forget, notes of sessions, what was cut, and why."
        ),
        "memory": (
            "The memories of the project in the working folder: plain files that you may "
            "read, change, undo and forget."
        ),
        "notes": "Show the notes of a session; without SESSION of the newest one of this folder.",
        "proxy": (
            "Stand between agents and their model providers, so that their conversations are "
            "compacted and remembered."
        ),
        "recall": "Show what an agent would be reminded of by the message QUERY.",
        "replay": "Run recorded sessions through the engine as if they were live.",
        "rollouts": (
            "Past sessions as memory: what was found, extracted and consolidated, and what "
            "was not and why."
        ),
        "search": "Search what was remembered, and what was said and done in past sessions.",
        "sessions": (
            "List the sessions of this project, newest first, with what each was about; of "
            "SESSION, an id or the start of one, also how it is opened again."
        ),
        "setup": (
            "Join the coding agents of this machine and show what is known about this project."
        ),
        "skills": (
            "Skills: procedures in files that an agent is shown by name and loads when it "
            "needs them."
        ),
        "status": (
            "Show what is remembered here, by origin, what waits and what was shown last; "
            "then what ran in the background, what it cost, what is left of the caps, what is "
            "due, on hold and blocked, and why."
        ),
        "team": (
            "The memories that a team shares: the folder `team/` of this project's memory, "
            "and the remote that keeps it alike for everybody."
        ),
        "ui": (
            "Open a page on this machine that shows what the model saw, what is remembered "
            "and why, and lets you take it back."
        ),
        "uninstall": (
            "Take memorist out of the settings of coding agents; without AGENT of all that "
            "are joined."
        ),
        "worker": "Turn finished sessions into memory, until stopped.",
    }

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the own options; a word that misspells one of any command is refused first."""
        check_option_spelling(ctx, args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. A reader of its output that has seen enough (`head`, `less`) is no
        failure of it.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)

    def suggest(self, ctx: click.Context, word: str) -> list[str]:
        """Also the commands of groups: `memorist add` is typed before one knows them."""
        if word in OTHER_WORDS:
            return [OTHER_WORDS[word]]
        names = (word, *SYNONYMS.get(word, ()))
        if not {*names} & {*self.command_paths}:
            for own in ("memory", "team", "machines"):
                group = self.get_command(ctx, own)
                for name in names:
                    if isinstance(group, click.Group) and name in group.list_commands(ctx):
                        return [f"memorist {own} {name}"]
        return super().suggest(ctx, word)


WORKING_FOLDER_GONE = "the working folder was removed; go to one that is there (cd)"
_STAYING_COMMANDS = ("daemon", "hook", "mcp", "proxy", "ui", "worker")
"""Those that wait for a locked database in ways of their own."""


@click.group(cls=MemoristCommands, context_settings=CONTEXT_SETTINGS, invoke_without_command=True)
@click.version_option(__version__, "-v", "-V", "--version", prog_name="memorist")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def memorist_group(debug: bool) -> None:
    """A memory and context engine for LLM agents: notes of the running session, memories across
    sessions, all in plain files. Alone it says where things stand.

    Begin with: memorist setup
    """
    context = click.get_current_context()
    context.obj = debug
    if context.invoked_subcommand is None:
        import_module("memorist.cli.project_overview").print_project_overview()


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the lines that complete memorist's commands and options in your shell.

    Example: memorist completion bash >> ~/.bashrc
    """
    found = get_completion_class(shell)
    if found is None:
        raise UsageError(f"there is no completion for {shell}")
    root = click.get_current_context().find_root().command
    click.echo(found(root, {}, "memorist", "_MEMORIST_COMPLETE").source())


def _choose_waiting() -> AbstractContextManager[None]:
    command = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    if command in _STAYING_COMMANDS:
        return nullcontext()
    waiting: AbstractContextManager[None] = import_module(
        "memorist.store.sqlite_database"
    ).share_lock_circuit_breaker()
    return waiting


def _prepare_streams() -> None:
    """Have a sign written as its code that the terminal cannot show or would obey, and an input
    that the caller closed read as empty.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    protect_terminal()
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(), "utf-8")


def main() -> None:
    """Run the command line.

    An error becomes one sentence on standard error; a traceback is shown only with `--debug`. Exit
    status 2 for wrong usage, 130 after Ctrl-C, 1 for other errors.
    """
    debug = "--debug" in sys.argv[1:]
    _prepare_streams()
    try:
        with _choose_waiting():
            sys.exit(memorist_group(standalone_mode=False))
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (MemoristError, OSError, UnicodeEncodeError) as error:
        said = _explain_error(error)
        if debug or not said:
            raise
        click.echo(f"memorist: {said}", err=True)
        _discard_output()
        sys.exit(2 if isinstance(error, UsageError | UnicodeEncodeError) else 1)
    except (Exception, KeyboardInterrupt) as error:
        interrupted = _is_interrupted(error)
        if not interrupted and not isinstance(error, click.Abort):
            raise
        click.echo("Aborted!", err=True)
        sys.exit(INTERRUPTED if interrupted else 1)


def _is_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C was typed, also at a question, which click ends as a refusal does, and in the
    middle of an import, after which what was half loaded fails in ways of its own.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _explain_error(error: MemoristError | OSError | UnicodeEncodeError) -> str:
    """One sentence; empty for what only a mistake in the program raises."""
    if isinstance(error, MemoristError):
        return str(error)
    if isinstance(error, UnicodeEncodeError):
        wrong = (word for word in sys.argv[1:] if has_undecoded_bytes(word))
        return next((f"the argument {word!a} is not valid UTF-8" for word in wrong), "")
    if isinstance(error, FileNotFoundError):
        return "" if _has_working_folder() else WORKING_FOLDER_GONE
    explain = import_module("memorist.platforms.storage_errors").describe_storage_error
    if error.errno == errno.ENAMETOOLONG and error.filename is not None:
        return f"{str(error.filename)[:SHOWN_NAME_CHARS]}…: {explain(error)}"
    if error.filename is not None or error.errno is None:
        return ""
    return f"the output cannot be written: {explain(error)}"


def _discard_output() -> None:
    """Have what is still to be printed go nowhere: its destination refuses it, and would once more
    when the program ends.
    """
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _has_working_folder() -> bool:
    """Whether the working folder is there: a removed worktree may be a terminal's own."""
    try:
        return bool(Path.cwd())
    except FileNotFoundError:
        return False

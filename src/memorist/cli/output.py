"""Print the output of commands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from memorist.cli.terminal_stream import EscapingTerminalStream, escape_control_characters
from memorist.core.lazy import lazy_module
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_encoding import replace_surrogates
from memorist.platforms.user_home import expand_user
from memorist.session_memory.notes_template import STRUCTURAL_MARK

if TYPE_CHECKING:
    from rich import console, markdown
else:
    console, markdown = (lazy_module(f"rich.{name}") for name in ("console", "markdown"))

JSON_OPTION = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead of text."
)
"""For a command that prints text or, with this, JSON."""
DESCRIPTION_CHARACTERS = 300
"""Characters of a description in a table; memorist's own have 150. Our choice: three lines."""
YES_OPTION = click.option("--yes", is_flag=True, help="Do it without asking.")


def make_console(*, stderr: bool = False) -> console.Console:
    """A console for readers. In a pipe it writes plain text without colours, at a fixed width. What
    a stranger wrote is given to it with `escape_control_characters`.
    """
    stream, original = (sys.stderr, sys.__stderr__) if stderr else (sys.stdout, sys.__stdout__)
    return console.Console(
        file=original if isinstance(stream, EscapingTerminalStream) else stream,
        highlight=False,
        soft_wrap=False,
        width=None if stream.isatty() else 100,
    )


def print_json(value: object) -> None:
    """Print one JSON object on standard output, in UTF-8 whatever the terminal is in. Bytes that
    are not valid UTF-8, as in the name of a file, are question marks.
    """
    plain = _replace_invalid_texts(msgspec.to_builtins(value))
    click.echo(msgspec.json.format(msgspec.json.encode(plain), indent=2))


def _replace_invalid_texts(value: object) -> object:
    if isinstance(value, str):
        return replace_surrogates(value)
    if isinstance(value, dict):
        return {replace_surrogates(str(key)): _replace_invalid_texts(value[key]) for key in value}
    return [*map(_replace_invalid_texts, value)] if isinstance(value, list | tuple) else value


def make_terminal_safe_line(text: str) -> str:
    """An untrusted name in one line, without characters that move a terminal's cursor."""
    return " ".join(
        "".join(sign if sign.isprintable() else " " for sign in replace_surrogates(text)).split()
    )


def format_path(path: str) -> str:
    """A path for a person: below the home folder it begins with `~`, which a shell reads again."""
    home = expand_user()
    inside = path.startswith(f"{home}/") and home.strip("/") != ""
    return replace_surrogates(f"~{path[len(home) :]}" if inside else path)


def format_description(description: str) -> str:
    """A memory's description for a table: one line, not longer than what memorist writes by far."""
    return make_terminal_safe_line(shorten_to_one_line(description, DESCRIPTION_CHARACTERS))


def print_session_notes(text: str) -> None:
    """Print notes: rendered on a terminal, unchanged in a pipe."""
    text = text.replace(STRUCTURAL_MARK + "\n", "")
    if sys.stdout.isatty():
        safe = escape_control_characters(text)
        make_console().print(markdown.Markdown(safe, hyperlinks=False))
    else:
        click.echo(text.rstrip("\n"))

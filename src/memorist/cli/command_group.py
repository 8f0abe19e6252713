"""Command groups that import their commands on demand, and name the right one for a wrong word."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

SYNONYMS = {
    "backup": "export",
    "cat": "show",
    "create": "add",
    "delete": "forget",
    "find": "search",
    "get": "show",
    "history": "log",
    "ls": "list",
    "new": "add",
    "remember": "add",
    "remove": "forget",
    "revert": "undo",
    "rm": "forget",
}
"""What users of other command lines type, and our word for it."""


class LazyCommandGroup(click.Group):
    """Subclasses map each command name to `module:object` in `command_paths`, so that no command
    waits for the imports of another.
    """

    command_paths: ClassVar[Mapping[str, str]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All command names, sorted."""
        return sorted({*super().list_commands(ctx), *self.command_paths})

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a name that is none fails with the commands that may be meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            meant = self.suggest(ctx, args[0])
            if not meant:
                raise
            said = f"{error.message} Did you mean {', '.join(map(repr, meant))}?"
            raise click.UsageError(said, error.ctx) from None

    def suggest(self, ctx: click.Context, word: str) -> list[str]:
        """The commands that a user may mean by a word that is none."""
        own = self.list_commands(ctx)
        if SYNONYMS.get(word) in own:
            return [SYNONYMS[word]]
        return get_close_matches(word, own, n=3)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name; None if there is none."""
        path = self.command_paths.get(cmd_name)
        if path is None:
            return super().get_command(ctx, cmd_name)
        module, _, name = path.partition(":")
        found = getattr(import_module(module), name)
        return found if isinstance(found, click.Command) else None


def words_argument(name: str) -> Callable[[Decorated], Decorated]:
    """An argument of one or more words, joined by blanks: a sentence needs no quotes."""
    return click.argument(name, nargs=-1, required=True, metavar=name.upper(), callback=_join_words)


def _join_words(
    _context: click.Context, _parameter: click.Parameter, words: tuple[str, ...]
) -> str:
    return " ".join(words)

"""Command groups that import their commands on demand, and name the right one for a wrong word."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import click
from click.shell_completion import CompletionItem

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "ask": ("search",),
    "backup": ("export",),
    "cat": ("show",),
    "clear": ("forget",),
    "create": ("add",),
    "dashboard": ("ui",),
    "delete": ("forget",),
    "dump": ("export",),
    "find": ("search",),
    "get": ("show",),
    "history": ("log",),
    "info": ("status",),
    "init": ("setup",),
    "list": ("show",),
    "ls": ("list", "show"),
    "new": ("add",),
    "open": ("ui",),
    "purge": ("forget",),
    "query": ("search",),
    "remember": ("add",),
    "remove": ("forget",),
    "restore": ("undo",),
    "revert": ("undo",),
    "rm": ("forget",),
    "save": ("add",),
    "store": ("add",),
    "view": ("show",),
    "web": ("ui",),
    "wipe": ("forget",),
}
"""What users of other command lines type, and our words for it, the nearest first."""
LISTING_WORDS = ("list", "ls", "show", "status")
"""What a group shows that does something by itself."""
TYPING_ERROR_CUTOFF = 0.85
"""From which likeness on a name is a mistyped one of ours. Our choice."""
HELP_WORDS = ("-?", "/?", "/help")
_OTHER_DASHES = re.compile(r"[-\u2010-\u2015\u2212]*[\u2010-\u2015\u2212]-*(\w[\w-]*)(?:=.*)?")
"""A word that begins as an option does, but with a dash that an editor or a chat put for hyphens:
Unicode's block of dashes, and the minus sign.
"""


class LazyCommandGroup(click.Group):
    """Subclasses map each command name to `module:object` in `command_paths`, so that no command
    waits for the imports of another.
    """

    command_paths: ClassVar[Mapping[str, str]] = {}
    summaries: ClassVar[Mapping[str, str]] = {}
    """What the list of commands says of each, so that showing it imports none of them."""

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
            word, *rest = args
            if word == ctx.command_path:  # a line with the program's name, typed behind it
                meant = [" ".join(args)]
            elif word == "help":
                meant = [" ".join((ctx.command_path, *rest, "--help"))]
            elif ctx.parent and self.invoke_without_command and word in LISTING_WORDS:
                meant = [ctx.command_path]
            else:
                meant = self.suggest(ctx, word)
            if not meant:
                raise
            said = f"No such command {word!r}. Did you mean {', '.join(map(repr, meant))}?"
            raise click.UsageError(said, error.ctx) from None

    def suggest(self, ctx: click.Context, word: str) -> list[str]:
        """The commands that a user may mean by a word that is none."""
        own = self.list_commands(ctx)
        same = [each for each in SYNONYMS.get(word, ()) if each in own]
        return (
            same[:1]
            or get_close_matches(word, own, n=3, cutoff=TYPING_ERROR_CUTOFF)
            or self._find_in_groups(ctx, word)
            or get_close_matches(word, own, n=3)
        )

    def _find_in_groups(self, ctx: click.Context, word: str) -> list[str]:
        """The command of that name in one of this group's own groups: `memory accept` is typed
        where `memory inbox accept` is meant.
        """
        return [
            f"{ctx.command_path} {name} {word}"
            for name in self.list_commands(ctx)
            if isinstance(group := self.get_command(ctx, name), click.Group)
            and word in group.list_commands(ctx)
        ][:1]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name; None if there is none."""
        path = self.command_paths.get(cmd_name)
        if path is None:
            return super().get_command(ctx, cmd_name)
        module, _, name = path.partition(":")
        found = getattr(import_module(module), name)
        return found if isinstance(found, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, each with its summary."""
        if not self.summaries:
            super().format_commands(ctx, formatter)
            return
        click.Group(commands=self._list_unloaded_commands()).format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command, or an option."""
        if not self.summaries:
            return super().shell_complete(ctx, incomplete)
        names = [
            CompletionItem(each.name, help=each.get_short_help_str())
            for each in self._list_unloaded_commands()
            if each.name and each.name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def _list_unloaded_commands(self) -> list[click.Command]:
        return [click.Command(name, help=text) for name, text in self.summaries.items()]


def check_option_spelling(ctx: click.Context, args: Sequence[str]) -> None:
    """Raises UsageError for a word that is an option of the named command but for its dashes, and
    for a way of asking for help that is none of ours. Without it a sentence swallows the option.
    """
    command = ctx.command
    for word in args:
        if word == "--":
            return
        is_group = isinstance(command, click.Group)
        if word == "-help" or (is_group and word in HELP_WORDS):
            raise click.UsageError(f"No such option {word!r}. Did you mean '--help'?", ctx)
        if isinstance(command, click.Group):
            command = command.get_command(ctx, word) or command
        if found := _OTHER_DASHES.fullmatch(word):
            meant = {f"--{found[1]}", f"-{found[1]}"} & {*_list_options(ctx, command)}
            if meant:
                raise click.UsageError(
                    f"{word!r} begins with another dash than options do. "
                    f"Did you mean {meant.pop()!r}?",
                    ctx,
                )


def _list_options(ctx: click.Context, command: click.Command) -> Iterator[str]:
    yield from ctx.help_option_names
    for each in command.params:
        if isinstance(each, click.Option):
            yield from (*each.opts, *each.secondary_opts)


def words_argument(name: str) -> Callable[[Decorated], Decorated]:
    """An argument of one or more words, joined by blanks: a sentence needs no quotes."""
    return click.argument(name, nargs=-1, required=True, metavar=name.upper(), callback=_join_words)


def _join_words(
    _context: click.Context, _parameter: click.Parameter, words: tuple[str, ...]
) -> str:
    for word in words:
        if has_undecoded_bytes(word):
            raise click.UsageError(f"{word!a} is not in UTF-8")
    text = " ".join(words)
    if not text.strip():
        raise click.BadParameter("it is empty")
    return text


def has_undecoded_bytes(word: str) -> bool:
    """Whether an argument has bytes that are not valid UTF-8, which Python keeps as surrogates."""
    return any("\ud800" <= sign <= "\udfff" for sign in word)

"""The files that a command line writes, as far as its words tell: by a redirect, by `tee`, and in
place by `sed -i` and `perl -pi`. Pure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from memorist.core.lazy import lazy_pattern

MAX_COMMAND_CHARS = 4_000
"""Characters of a command that are read."""

_HEREDOC_BODY = lazy_pattern(r"(<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n).*?(?:\n\s*\2\b|\Z)", re.DOTALL)
_REDIRECTS = frozenset({">", ">>", ">|", "&>", "&>>"})
_OPERATORS = re.compile(r"[|&;()<>]+")
_QUOTES = "'\""
_IN_PLACE = {"sed": re.compile(r"-[a-zA-Z]*i.*|--in-place.*"), "perl": re.compile(r"-\w*i.*")}
"""Options by which a program writes back what it read."""
_SCRIPT_OPTION = re.compile(r"-[a-zA-Z0-9]*[ef]|--(?:expression|file)")
"""Options whose script is the next word."""


def list_files_written_by_command(command: str) -> tuple[str, ...]:
    """The files that a command writes, each once, as it names them; empty where its quotation marks
    do not close.
    """
    text = _HEREDOC_BODY.sub(r"\1", command[:MAX_COMMAND_CHARS]).replace("\n", " ; ")
    # The other kind takes an operator in quotation marks for one.
    lexer = shlex.shlex(text, posix=False, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = [*lexer, ";"]
    except ValueError:
        return ()
    found: dict[str, None] = {}
    arguments: list[str] = []
    left = iter(words)
    for word in left:
        if word in _REDIRECTS:
            target = next(left, "").strip(_QUOTES)
            if target and not target.startswith("/dev/"):
                found[target] = None
        elif _OPERATORS.fullmatch(word):
            found.update(dict.fromkeys(_list_written(arguments)))
            arguments = []
        else:
            arguments.append(word.strip(_QUOTES))
    return tuple(found)


def _list_written(arguments: Sequence[str]) -> Iterator[str]:
    """The files that one program writes by itself."""
    rest = list(arguments)
    while rest and ("=" in rest[0] or rest[0] in ("sudo", "rtk", "command")):
        del rest[0]
    if rest and rest[0] == "tee":
        yield from (each for each in rest[1:] if not each.startswith("-"))
    elif rest and (in_place := _IN_PLACE.get(rest[0])) is not None:
        yield from _list_edited(rest[1:], in_place)


def _list_edited(arguments: Sequence[str], in_place: re.Pattern[str]) -> Iterator[str]:
    """The files that a program edits in place; none where it is not told to."""
    files: list[str] = []
    edits = has_script = False
    words = iter(arguments)
    for word in words:
        if not word.startswith("-"):
            files += [word] if word else []  # the Mac's `sed -i ''` has no file there
            continue
        edits = edits or in_place.fullmatch(word) is not None
        if _SCRIPT_OPTION.fullmatch(word):
            has_script = True
            next(words, "")
    yield from (files if has_script else files[1:]) if edits else ()

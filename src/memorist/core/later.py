"""What is made when it is first used, and not when a program starts: regular expressions, and modules of others.

Half of what a start of memorist took was the compiling of patterns that most programs never use.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import cast

_METHODS = (
    "findall",
    "finditer",
    "flags",
    "fullmatch",
    "groupindex",
    "groups",
    "match",
    "pattern",
    "scanner",
    "search",
    "split",
    "sub",
    "subn",
)


class _Pattern:
    """A pattern that is not compiled yet. Its first use fills the slots with what the compiled one has, so that each further one costs nothing more."""

    __slots__ = ("_flags", "_text", *_METHODS)

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self._text, self._flags)
        for each in _METHODS:
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


def late_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """`re.compile`, at the first use. What is made of it has all that a pattern has, but is not of its class: do not give it to functions of `re`."""
    return cast("re.Pattern[str]", _Pattern(text, flags))


class _Module:
    """A module that is not loaded yet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found


def late_module(name: str) -> object:
    """A module that is loaded when something of it is first asked for. For what is costly to load and often not needed; never for one of ours."""
    return _Module(name)

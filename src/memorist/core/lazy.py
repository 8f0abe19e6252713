"""Objects built at first use instead of at start-up: compiled regular expressions and third-party
modules.

Compiling patterns that most programs never use took half of memorist's start-up time.
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


class _LazyPattern:
    """A pattern compiled on first use. The first use copies the compiled pattern's methods into the
    slots, so that later calls cost no extra lookup.
    """

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


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a stand-in for `re.compile(text, flags)` that compiles on first use.

    It has every attribute of a pattern but is no instance of `re.Pattern`: do not pass it to
    functions of `re`.
    """
    return cast("re.Pattern[str]", _LazyPattern(text, flags))


class _LazyModule:
    """A module that is imported on the first attribute access."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        found = getattr(import_module(self._name), name)
        setattr(self, name, found)
        return found


def lazy_module(name: str) -> object:
    """Return a stand-in for a module that is imported on first use.

    For third-party modules that are slow to import and often not needed; never for modules of
    memorist.
    """
    return _LazyModule(name)

"""Objects built at first use instead of at start-up: compiled regular expressions and third-party
modules.

Compiling patterns that most programs never use took half of memorist's start-up time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import cast
from weakref import WeakSet

_METHODS = (
    "findall", "finditer", "flags", "fullmatch", "groupindex", "groups", "match", "pattern",
    "scanner", "search", "split", "sub", "subn",
)  # fmt: skip


class _LazyPattern:
    """A pattern compiled on first use. The first use copies the compiled pattern's methods into the
    slots, so that later calls cost no extra lookup.
    """

    __slots__ = ("__weakref__", "_flags", *_METHODS)

    def __init__(self, text: str | bytes, flags: int) -> None:
        self.pattern = text  # one may be a part of another, which compiles neither
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        if name not in _METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._flags)
        for each in _METHODS:
            setattr(self, each, getattr(compiled, each))
        return getattr(compiled, name)


_PATTERNS: WeakSet[_LazyPattern] = WeakSet()
"""All that there are."""


def precompile_patterns_stepwise() -> Iterator[None]:
    """Compile every pattern of the modules that are imported, one at each step: about a third of a
    second in all, for a process that will need most of them while somebody waits.
    """
    for each in tuple(_PATTERNS):
        _ = each.search
        yield


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a stand-in for `re.compile(text, flags)` that compiles on first use.

    It has every attribute of a pattern but is no instance of `re.Pattern`: do not pass it to
    functions of `re`.
    """
    pattern = _LazyPattern(text, flags)
    _PATTERNS.add(pattern)
    return cast("re.Pattern[str]", pattern)


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

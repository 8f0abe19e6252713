"""Tokens drawn from the rules of the installed Betterleaks, for measuring only: nothing of its file
is kept.

Its shared library carries its configuration as text; the patterns are read from there when the
measurement runs.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from string import ascii_letters, digits
from typing import Any

END = r"""(?:\\?['"\x60]|[\s;]|\\[nr]|$)"""
BETWEEN = r"""(?:[ \t\w.-]{0,20})[\s'"]{0,3}"""
SIGN = r"""(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=]{0,5}"""


def read_rules(library: Path) -> list[tuple[str, str]]:
    """Name and pattern of each rule that reports."""
    data = library.read_bytes()
    places = [m.start() for m in re.finditer(rb"\[\[rules\]\]", data)]
    text = data[places[0] : places[-1] + 4000].decode("utf8", "replace")
    found = []
    for part in text.split("[[rules]]")[1:]:
        name, pattern = (
            re.search(r'^id = "(.*)"', part, re.MULTILINE),
            re.search(r"^regex = '''(.*?)'''", part, re.MULTILINE | re.DOTALL),
        )
        if (
            name
            and pattern
            and "skipReport = true" not in part
            and not re.search(r"^path =", part, re.MULTILINE)
        ):
            found.append((name[1], pattern[1]))
    return found


def split_named_pattern(pattern: str) -> tuple[str, str] | None:
    """A rule that needs a name: the name's pattern and the value's; None for one that does not."""
    if SIGN not in pattern:
        return None
    before, _, after = pattern.partition(SIGN)
    before = before.replace(BETWEEN + ")", "").replace(BETWEEN, "").replace(r"[\w.-]{0,50}?", "")
    if before.count("(") > before.count(")"):
        before = before.removeprefix("(?i:")
    before = before.removeprefix("(?i)").replace("(?-i:", "(?:").replace("(?i:", "(?:")
    return before, after.replace(END, "")


def translate_pattern(pattern: str) -> str:
    """Without what Python does not read."""
    pattern = (
        pattern.replace(END, "")
        .replace("[[:alnum:]]", "[A-Za-z0-9]")
        .replace("(?i)", "")
        .replace("(?-i:", "(?:")
        .replace("(?i:", "(?:")
        .replace(r"\z", r"\Z")
    )
    return pattern.replace("(?s:", "(?:").replace(r"\b", "")


_SRE: Any = importlib.import_module("re._parser")
"""The standard library's own reader of patterns."""
_MORE = 12
"""Repetitions drawn at most beyond the least number."""


class PatternDrawer:
    """Draws strings that a pattern matches."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.first = ""

    def draw(self, pattern: str) -> str:
        """A string of the pattern; `first` then holds its first group, if it has one."""
        self.first = ""
        return self._draw_all(_SRE.parse(pattern))

    def _draw_all(self, items: Any) -> str:
        return "".join(self._draw_one(str(op), argument) for op, argument in items)

    def _draw_one(self, name: str, argument: Any) -> str:
        match name:
            case "LITERAL":
                return chr(argument)
            case "IN":
                return self.random.choice(_list_characters(argument))
            case "ANY" | "NOT_LITERAL":
                return self.random.choice("_ ")
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                low, high, inner = argument
                count = self.random.randint(low, min(int(high), low + _MORE))
                return "".join(self._draw_all(inner) for _ in range(count))
            case "BRANCH":
                return self._draw_all(self.random.choice(argument[1]))
            case "SUBPATTERN":
                text = self._draw_all(argument[3])
                self.first = text if argument[0] == 1 else self.first
            case _:
                text = ""
        return text


_CATEGORIES = {
    "CATEGORY_DIGIT": digits,
    "CATEGORY_SPACE": " ",
    "CATEGORY_WORD": ascii_letters + digits,
}


def _list_characters(items: Any) -> list[str]:
    found: set[str] = set()
    negated = False
    for op, argument in items:
        match str(op):
            case "NEGATE":
                negated = True
            case "LITERAL":
                found.add(chr(argument))
            case "RANGE":
                found |= set(map(chr, range(argument[0], argument[1] + 1)))
            case "CATEGORY":
                found |= set(_CATEGORIES.get(str(argument), "ab"))
    return sorted(set(map(chr, range(33, 127))) - found if negated else found)


TOKEN_LINES = (
    'client = Client("{}")',
    "export X={}",
    "{}",
    '{{"value": "{}"}}',
    "use {} for staging",
    "set it to '{}' please",
    "  - {}",
    "x: {}  # rotate",
)
NAMED_LINES = (
    '{name}_key = "{value}"',
    "{NAME}_TOKEN={value}",
    '"{name}Secret": "{value}"',
    "{name}_api_key: {value}",
    "export {NAME}_KEY='{value}'",
    "{name}.secret={value}",
    "{name}-token: '{value}'",
    'const {name}ApiKey = "{value}";',
)


def _draw_line(drawer: PatternDrawer, name: str, pattern: str) -> tuple[str, str, str, str]:
    parts = split_named_pattern(pattern)
    if parts is None:
        token = drawer.draw(translate_pattern(pattern))
        line = drawer.random.choice(TOKEN_LINES).format(token)
        return "format", name, line, drawer.first or token
    who = drawer.draw(translate_pattern(parts[0])).strip()
    secret = drawer.draw(translate_pattern(parts[1]))
    line = drawer.random.choice(NAMED_LINES)
    return "named", name, line.format(name=who.lower(), NAME=who.upper(), value=secret), secret


def draw_from_rules(
    library: Path, seed: int = 1, each: int = 2
) -> Iterator[tuple[str, str, str, str]]:
    """Set (`format` or `named`), rule, line and secret."""
    drawer = PatternDrawer(seed)
    for name, pattern in read_rules(library):
        for _ in range(each):
            try:
                yield _draw_line(drawer, name, pattern)
            except (re.error, ValueError):
                continue  # not a pattern of Python's

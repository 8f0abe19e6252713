"""Find settings by their names, and say what is wrong with a name or a value that a user gave.

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Literal, get_args, get_origin

import msgspec

from memorist.core.lazy import lazy_pattern

_UNKNOWN_FIELD = lazy_pattern(r"Object contains unknown field `(?P<name>[^`]+)`")
_WHERE = lazy_pattern(r" - at `\$\.(?P<path>[\w.]+)`$")
"""Where msgspec says that a wrong value stands; a place within a list or a table of values is named
by its own brackets, and left as it is.
"""

_TYPE_WORDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "nothing",
    "object": "a section",
    "str": "a text",
}
"""What users call the types of TOML."""


def find_setting_type(tree: type, path: Sequence[str]) -> object:
    """The type of the setting that section and key, or a key alone, name; None for no setting."""
    kind: object = tree
    for part in path:
        kind = _fields_of(kind).get(part)
    return None if kind is None or _fields_of(kind) else kind


def list_setting_names(tree: type) -> Iterator[str]:
    """Every setting as `section.key`."""
    for name, kind in _fields_of(tree).items():
        if isinstance(kind, type) and _fields_of(kind):
            yield from (f"{name}.{inner}" for inner in list_setting_names(kind))
        else:
            yield name


def describe_unknown_setting(tree: type, name: str) -> str:
    """That there is no such setting, and which are near."""
    near = ", ".join(get_close_matches(name, list_setting_names(tree)))
    return f"there is no setting {name!r}{f'; near it: {near}' if near else ''}"


def explain_invalid_setting(tree: type, error: str) -> str:
    """In terms of the settings: what msgspec found wrong."""
    where = _WHERE.search(error)
    path = where["path"].split(".") if where else []
    if unknown := _UNKNOWN_FIELD.match(error):
        return describe_unknown_setting(tree, ".".join((*path, unknown["name"])))
    if where is None:
        return _in_plain_words(error)
    kind = find_setting_type(tree, path)
    allowed: tuple[str, ...] = ("true", "false") if kind is bool else ()
    if get_origin(kind) is Literal:
        allowed = tuple(f'"{each}"' for each in get_args(kind))
    if not allowed:
        return f"{where['path']}: {_in_plain_words(error[: where.start()])}"
    return f"{where['path']} must be {', '.join(allowed[:-1])} or {allowed[-1]}"


def _in_plain_words(error: str) -> str:
    def name_types(found: re.Match[str]) -> str:
        return " or ".join(_TYPE_WORDS.get(each, each) for each in found[1].split(" | "))

    return re.sub(r"`([a-z]+(?: \| [a-z]+)*)`", name_types, error)


def _fields_of(kind: object) -> dict[str, object]:
    """The fields of a section of settings by their names; none of a setting itself."""
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return {}
    return {field.name: field.type for field in msgspec.structs.fields(kind)}

"""Change one setting in the text of a `config.toml`: comments and all other lines stay as they are.

Pure.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from memorist.core.toml_edit import (
    append_toml_table,
    find_toml_tables,
    parse_toml,
    quote_toml_string,
    split_toml_lines,
    split_toml_statements,
)
from memorist.errors import InputError, SettingsError
from memorist.setting_names import describe_unknown_setting, find_setting_type
from memorist.settings import ALL_SETTINGS_HINT, PROJECT_SECTIONS, Settings, build_settings

BYTE_ORDER_MARK = "\ufeff"
_SWITCH_WORDS: Mapping[str, object] = {"on": True, "yes": True, "off": False, "no": False}


def parse_setting(name: str, text: str) -> object:
    """The value of the setting `name` (`section.key`) that a user wrote as `text`: plain, as in a
    variable of the environment, or in TOML for lists and tables.

    Raises SettingsError for an unknown name and a value that the setting cannot have.
    """
    require_setting_name(name)
    try:
        return _convert(name, text)
    except SettingsError:
        value = _SWITCH_WORDS.get(text.lower())
        if value is None:
            with contextlib.suppress(InputError):
                value = _parse(f"value = {text}")["value"]
        if value is None:
            raise
        return _convert(name, value)


def require_setting_name(name: str) -> None:
    """Raises SettingsError for a name that no setting has, with those that are near."""
    if find_setting_type(Settings, name.split(".")) is None:
        raise SettingsError(f"{describe_unknown_setting(Settings, name)}; {ALL_SETTINGS_HINT}")


def _convert(name: str, value: object) -> object:
    """The value in the setting's own type."""
    *section, key = name.split(".")
    tree = {key: value}
    for part in reversed(section):
        tree = {part: tree}
    # as JSON, which has lists as TOML does: a tuple is not what the edited file is read as
    found: Any = msgspec.json.decode(msgspec.json.encode(build_settings("not set", tree)))
    for part in name.split("."):
        found = found[part]
    if found is None:
        raise SettingsError(f"{name}: to have its default again, remove it: memorist config unset")
    return found


def set_setting_in_text(text: str, name: str, value: object) -> str:
    """The settings file `text` with `name` set to `value`, in its line where it has one.

    Raises InputError for invalid TOML, and where the file's form cannot be changed line by line.
    """
    *section, key = name.split(".")
    line = f"{key} = {format_setting_value(value)}"
    wanted = _with_value(_parse(text), section, key, value)
    return _put_checked_line(text, name, line, wanted)


def remove_setting_from_text(text: str, name: str) -> str:
    """The settings file `text` without `name`; as it was where it does not set it.

    Raises InputError as `set_setting_in_text` does.
    """
    return _put_checked_line(text, name, "", _without(_parse(text), name))


def is_allowed_in_project_file(name: str) -> bool:
    """Whether a project's own file may set it."""
    return name.split(".", maxsplit=1)[0] in PROJECT_SECTIONS


def _put_line(text: str, section: Sequence[str], key: str, line: str) -> str:
    """Replace the key's statement by the line, or add the line; without a line, remove it."""
    lines = split_toml_lines(text)
    end = "\r\n" if "\r\n" in text else "\n"
    tables = find_toml_tables(lines, ())
    start, stop = 0, tables[0].start if tables else len(lines)
    if section:
        own = [table for table in tables if table.path == tuple(section)]
        if not own:
            block = f"[{'.'.join(section)}]\n{line}\n"
            return append_toml_table(text, block) if line else text
        start, stop = own[0].start + 1, own[0].end
    statements = split_toml_statements(lines[start:stop])
    for at, statement in enumerate(statements):
        if key in parse_toml(statement):
            statements[at] = f"{line}{_read_comment(statement)}{end}" if line else ""
            break
    else:
        statements.insert(0, f"{line}{end}" if line else "")
    return "".join([*lines[:start], *statements, *lines[stop:]])


def _read_comment(statement: str) -> str:
    """The comment at the end of a statement of one line, with the blanks before it."""
    said = statement.rstrip()
    at = said.find("#")
    while at >= 0 and "\n" not in said:
        try:
            if parse_toml(said[:at]) == parse_toml(said):
                return said[len(said[:at].rstrip()) :]
        except InputError:
            pass
        at = said.find("#", at + 1)
    return ""


def _with_value(
    tree: dict[str, Any], section: Sequence[str], key: str, value: object
) -> dict[str, Any]:
    if not section:
        return {**tree, key: value}
    inner = tree.get(section[0], {})
    if not isinstance(inner, dict):
        raise InputError(f"{section[0]} is no table there")
    return {**tree, section[0]: _with_value(inner, section[1:], key, value)}


def _without(tree: dict[str, Any], name: str) -> dict[str, Any]:
    first, _, rest = name.partition(".")
    if not rest:
        return {key: value for key, value in tree.items() if key != first}
    inner = tree.get(first)
    return {**tree, first: _without(inner, rest)} if isinstance(inner, dict) else tree


def _parse(text: str) -> dict[str, Any]:
    return parse_toml(text, parse_float=float)


def _put_checked_line(text: str, name: str, line: str, wanted: Mapping[str, object]) -> str:
    """The text with the setting's line, if it says what it should then. Raises InputError."""
    *section, key = name.split(".")
    body = text.removeprefix(BYTE_ORDER_MARK)  # which stands before a new first line, too
    edited = _put_line(body, section, key, line)
    try:
        if _parse(edited) == wanted:
            return text[: len(text) - len(body)] + edited
    except InputError:
        pass
    raise InputError(
        f"the form in which the file has {name} cannot be changed line by line; change it there"
    )


def format_setting_value(value: object) -> str:
    """A value as it is written in a settings file; `not set` for None, which TOML cannot say."""
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote_toml_string(value)
    if isinstance(value, Mapping):
        pairs = (
            f"{quote_toml_string(key)} = {format_setting_value(each)}"
            for key, each in value.items()
        )
        return f"{{ {', '.join(pairs)} }}" if value else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(map(format_setting_value, value))}]"
    return json.dumps(value)

"""YAML read and written, by a library that is loaded when the first text needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorist.core.later import late_module

if TYPE_CHECKING:
    import yaml
else:
    yaml = late_module("yaml")


def read_yaml(text: str) -> object:
    """The value of a text, with every scalar as the text that stands there: no date, number or `yes` is guessed. By the C reader where there is one.

    Raises ValueError, with what the library says, for a text that is no YAML or too deep.
    """
    try:
        return getattr(yaml, "CBaseLoader", yaml.BaseLoader)(text).get_single_data()
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error)) from error


def write_yaml(value: object) -> str:
    """The value in block style, its keys in their order, each on one line."""
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000, default_flow_style=False)
    return text

"""Reading and writing YAML; the library is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorist.core.later import late_module

if TYPE_CHECKING:
    import yaml
else:
    yaml = late_module("yaml")


def read_yaml(text: str) -> object:
    """Parse a text with every scalar kept as text: no date, number or `yes` is converted. Uses the
    C parser when there is one.

    Raises ValueError, with the library's message, for invalid or too deeply nested YAML.
    """
    try:
        return getattr(yaml, "CBaseLoader", yaml.BaseLoader)(text).get_single_data()
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error)) from error


def write_yaml(value: object) -> str:
    """Dump the value in block style, keys in their order, each on one line."""
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=10_000, default_flow_style=False)
    return text

"""Templates with `{{name}}` placeholders, filled in one pass, and the prompts that ship with
memorist.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from memorist.errors import SettingsError, UsageError

_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def find_placeholders(template: str) -> frozenset[str]:
    """The names of a template's placeholders."""
    return frozenset(_PLACEHOLDER.findall(template))


def render_template(template: str, values: Mapping[str, str], *, strict: bool) -> str:
    """Replace each `{{name}}` by its value, in one pass: a value that itself holds `{{x}}` or `$`
    is inserted unchanged.

    With `strict`, for memorist's own prompts, a name without a value raises SettingsError. Without
    it, for a user's template, the placeholder stays (SM-6).
    """

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in values:
            return values[name]
        if strict:
            raise SettingsError(f"the template asks for {{{{{name}}}}}, which has no value")
        return match.group(0)

    return _PLACEHOLDER.sub(value, template)


@cache
def load_prompt(name: str) -> str:
    """The text of a prompt, by its path below this folder without `.md`:
    `load_prompt("forks/boundaries")`. Unmodified.

    Raises UsageError when there is no such prompt.
    """
    path = Path(__file__).parents[1].joinpath("prompts", *f"{name}.md".split("/"))
    try:
        return path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise UsageError(
            f"memorist has no prompt {name!r}; look below its folder `prompts`."
        ) from error

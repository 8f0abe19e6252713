"""Templates with `{{name}}` placeholders, filled in one pass."""

from __future__ import annotations

import re
from collections.abc import Mapping

from memorist.errors import SettingsError

_NAME = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def names(template: str) -> frozenset[str]:
    """The names of a template's placeholders."""
    return frozenset(_NAME.findall(template))


def render(template: str, values: Mapping[str, str], *, strict: bool) -> str:
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

    return _NAME.sub(value, template)

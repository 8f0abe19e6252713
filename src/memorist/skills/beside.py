"""Parse `agents/openai.yaml` beside a SKILL.md: how a client shows the skill, its tools, who may
invoke it.

Pure (SK-1). Source: codex.md section 4.1. `policy.allow_implicit_invocation` decides whether a
model may choose the skill by itself; the rest is kept for hosts.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from memorist.core.yaml_text import read_yaml
from memorist.safety.hidden import visible

FILE_NAME = "agents/openai.yaml"
"""Relative to the skill's folder."""

FILE_BYTES = 65_536
"""Largest such file that is read; our choice, real ones have under 1,000."""

NAME_LIMIT = 64
TEXT_LIMIT = 1_024
"""Characters kept of a kind, transport or display name, and of any other text (codex.md section
4.1).
"""

TOOLS_LIMIT = 32
REST_LIMIT = 200
DEPTH_LIMIT = 6
"""Tools, values and nesting levels that are kept; our choice."""

_SHORT = frozenset({"type", "transport", "display_name"})
_FALSE = frozenset({"false", "no", "off", "0"})


class Beside(Struct, frozen=True, kw_only=True):
    """The file's content.

    Fields are empty where it says nothing; `problem` is set where it is unusable.
    """

    interface: dict[str, str] = {}
    """How a client shows the skill: `display_name`, `short_description`, `default_prompt`, icons
    and colour, unchanged.
    """
    tools: tuple[dict[str, str], ...] = ()
    """Tools that the skill depends on, each with `type` and `value`, and optionally `description`,
    `transport`, `command`, `url`.
    """
    implicit: bool = True
    """False keeps it out of the catalogue: it is invoked by name only."""
    rest: dict[str, Any] = {}
    """All other keys, such as `policy.products`, cut to 200 values and six levels."""
    problem: str = ""


def parse_beside(text: str) -> Beside:
    """Parse the file. Never raises: text that is no YAML mapping is a `problem`."""
    try:
        found = read_yaml(text)
    except ValueError as error:
        return Beside(problem=f"it is no valid YAML: {(str(error).splitlines() or [''])[0][:160]}")
    if found is None:
        return Beside()
    if not isinstance(found, dict):
        return Beside(problem="it is no list of keys")
    policy = _mapping(found.get("policy"))
    allowed = policy.get("allow_implicit_invocation")
    dependencies = _mapping(found.get("dependencies"))
    tools = dependencies.get("tools")
    rest = {key: value for key, value in found.items() if key not in {"interface", "dependencies", "policy"}}
    rest |= {"policy": {key: value for key, value in policy.items() if key != "allow_implicit_invocation"}}
    rest |= {"dependencies": {key: value for key, value in dependencies.items() if key != "tools"}}
    return Beside(
        interface=_texts(found.get("interface")),
        tools=tuple(_texts(tool) for tool in (tools if isinstance(tools, list) else [])[:TOOLS_LIMIT] if isinstance(tool, dict)),
        implicit=not (isinstance(allowed, str) and allowed.strip().lower() in _FALSE),
        rest=_Kept().of({key: value for key, value in rest.items() if value}),
    )


def _mapping(value: object) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: object) -> dict[str, str]:
    pairs = [(key, each) for key, each in _mapping(value).items() if isinstance(key, str) and isinstance(each, str)]
    return {_cut(key, NAME_LIMIT): _cut(each, NAME_LIMIT if key in _SHORT else TEXT_LIMIT) for key, each in pairs[:TOOLS_LIMIT]}


def _cut(text: str, limit: int) -> str:
    return " ".join(visible(text.encode("utf-8", "replace").decode()).split())[:limit]


class _Kept:
    """Copies a mapping within the limits, since a few lines of YAML can expand to billions of
    values.
    """

    def __init__(self) -> None:
        self._left = REST_LIMIT

    def of(self, value: dict[Any, Any], depth: int = 0) -> dict[str, Any]:
        found = {}
        for key, each in value.items():
            if isinstance(key, str) and (kept := self._one(each, depth + 1)) not in (None, {}, []):
                found[_cut(key, NAME_LIMIT)] = kept
        return found

    def _one(self, value: object, depth: int) -> object:
        self._left -= 1
        if self._left < 0 or depth > DEPTH_LIMIT:
            return None
        if isinstance(value, dict):
            return self.of(value, depth)
        if isinstance(value, list):
            return [kept for each in value[:REST_LIMIT] if (kept := self._one(each, depth + 1)) not in (None, {}, [])]
        return _cut(value, TEXT_LIMIT) if isinstance(value, str) else None

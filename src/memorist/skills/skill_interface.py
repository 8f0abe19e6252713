"""The file `agents/openai.yaml` beside a SKILL.md: how a client shows the skill, its tools, who may
call it. Pure.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from memorist.core.text_encoding import replace_surrogates
from memorist.core.yaml_text import parse_yaml_scalars_as_text
from memorist.safety.hidden_characters import strip_hidden_characters

INTERFACE_FILE = "agents/openai.yaml"
"""Relative to the skill's folder."""


MAX_INTERFACE_BYTES = 65_536
"""Largest such file that is read; our choice, real ones have under 1,000."""


MAX_SHORT_TEXT_CHARS = 64


MAX_TEXT_CHARS = 1_024
"""Characters kept of a kind, transport or display name, and of any other text (Codex).
"""


MAX_TOOLS = 32


MAX_EXTRA_VALUES = 200


MAX_EXTRA_DEPTH = 6
"""Tools, values and nesting levels that are kept; our choice."""


FALSE_VALUES = frozenset({"false", "no", "off", "0"})
_SHORT_TEXT_KEYS = frozenset({"type", "transport", "display_name"})


class SkillInterface(Struct, frozen=True, kw_only=True):
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
    extra: dict[str, Any] = {}
    """All other keys, such as `policy.products`, cut to 200 values and six levels."""
    problem: str = ""


def parse_skill_interface(text: str) -> SkillInterface:
    """Parse the file. Never raises: text that is no YAML mapping is a `problem`."""
    try:
        found = parse_yaml_scalars_as_text(text)
    except ValueError as error:
        return SkillInterface(
            problem=f"it is no valid YAML: {(str(error).splitlines() or [''])[0][:160]}"
        )
    if found is None:
        return SkillInterface()
    if not isinstance(found, dict):
        return SkillInterface(problem="it is no list of keys")
    policy = _as_mapping(found.get("policy"))
    allowed = policy.get("allow_implicit_invocation")
    dependencies = _as_mapping(found.get("dependencies"))
    tools = dependencies.get("tools")
    rest = {
        key: value
        for key, value in found.items()
        if key not in {"interface", "dependencies", "policy"}
    }
    rest |= {
        "policy": {
            key: value for key, value in policy.items() if key != "allow_implicit_invocation"
        }
    }
    rest |= {"dependencies": {key: value for key, value in dependencies.items() if key != "tools"}}
    return SkillInterface(
        interface=_read_text_fields(found.get("interface")),
        tools=tuple(
            _read_text_fields(tool)
            for tool in (tools if isinstance(tools, list) else [])[:MAX_TOOLS]
            if isinstance(tool, dict)
        ),
        implicit=not (isinstance(allowed, str) and allowed.strip().lower() in FALSE_VALUES),
        extra=_LimitedCopy().copy_mapping({key: value for key, value in rest.items() if value}),
    )


def _as_mapping(value: object) -> dict[Any, Any]:
    return value if isinstance(value, dict) else {}


def _read_text_fields(value: object) -> dict[str, str]:
    pairs = [
        (key, each)
        for key, each in _as_mapping(value).items()
        if isinstance(key, str) and isinstance(each, str)
    ]
    return {
        _cut_text(key, MAX_SHORT_TEXT_CHARS): _cut_text(
            each, MAX_SHORT_TEXT_CHARS if key in _SHORT_TEXT_KEYS else MAX_TEXT_CHARS
        )
        for key, each in pairs[:MAX_TOOLS]
    }


def _cut_text(text: str, limit: int) -> str:
    return " ".join(strip_hidden_characters(replace_surrogates(text)).split())[:limit]


class _LimitedCopy:
    """Copies a mapping within the limits, since a few lines of YAML can expand to billions of
    values.
    """

    def __init__(self) -> None:
        self._left = MAX_EXTRA_VALUES

    def copy_mapping(self, value: dict[Any, Any], depth: int = 0) -> dict[str, Any]:
        found = {}
        for key, each in value.items():
            if isinstance(key, str) and (kept := self._copy_value(each, depth + 1)) not in (
                None,
                {},
                [],
            ):
                found[_cut_text(key, MAX_SHORT_TEXT_CHARS)] = kept
        return found

    def _copy_value(self, value: object, depth: int) -> object:
        self._left -= 1
        if self._left < 0 or depth > MAX_EXTRA_DEPTH:
            return None
        if isinstance(value, dict):
            return self.copy_mapping(value, depth)
        if isinstance(value, list):
            return [
                kept
                for each in value[:MAX_EXTRA_VALUES]
                if (kept := self._copy_value(each, depth + 1)) not in (None, {}, [])
            ]
        return _cut_text(value, MAX_TEXT_CHARS) if isinstance(value, str) else None

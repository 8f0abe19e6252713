"""Parse a SKILL.md: name, description, other header keys, and the body. Pure (SK-1).

The format is that of the open Agent Skills specification; the further keys are those of
claude-code.md section 11.4. An unusable file gives a `SkillProblem`, never an exception: one broken
skill does not hide the others.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Struct

from memorist.core.markdown import FrontMatter, load_prompt, parse_yaml, split_front_matter
from memorist.core.text_analysis import replace_surrogates
from memorist.safety.hidden_characters import strip_hidden_characters

# Parse `agents/openai.yaml` beside a SKILL.md: how a client shows the skill, its tools, who may
# invoke it.


INTERFACE_FILE = "agents/openai.yaml"
"""Relative to the skill's folder."""

MAX_INTERFACE_BYTES = 65_536
"""Largest such file that is read; our choice, real ones have under 1,000."""

MAX_SHORT_TEXT_CHARS = 64
MAX_TEXT_CHARS = 1_024
"""Characters kept of a kind, transport or display name, and of any other text (codex.md section
4.1).
"""

MAX_TOOLS = 32
MAX_EXTRA_VALUES = 200
MAX_EXTRA_DEPTH = 6
"""Tools, values and nesting levels that are kept; our choice."""

_SHORT_TEXT_KEYS = frozenset({"type", "transport", "display_name"})
_YAML_FALSE = frozenset({"false", "no", "off", "0"})


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
        found = parse_yaml(text)
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
        implicit=not (isinstance(allowed, str) and allowed.strip().lower() in _YAML_FALSE),
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


SKILL_FILE = "SKILL.md"

SkillScope = Literal["project", "user", "system"]
SKILL_SCOPES: tuple[SkillScope, ...] = ("project", "user", "system")
"""In the order in which skills are listed to users (codex.md section 4.1; its admin scope counts as
system).
"""

MAX_NAME_CHARS = 64
"""Characters of a name (codex.md section 4.1, and the open specification)."""

MAX_QUALIFIED_CHARS = 128
"""Characters of a name with its plugin prefix (codex.md section 4.1)."""

MAX_COMPATIBILITY_CHARS = 500
"""Characters kept of `compatibility` (the open specification)."""

MAX_METADATA_ENTRIES = 32
"""Entries kept of `metadata` and of `allowed-tools`; our choice. Real skills have a handful."""

_MAX_VALUE_CHARS = 1_024
_ADVISED_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TRUE_VALUES = frozenset({"true", "yes", "on", "1"})
_FALSE_VALUES = frozenset({"false", "no", "off", "0"})
_ALLOWED_TOOL = re.compile(r"[^\s,()]+(?:\([^()]*\))?")


class Skill(Struct, frozen=True, kw_only=True):
    """One usable skill."""

    name: str
    """`PLUGIN:NAME` for a plugin's skill."""
    description: str
    path: str
    """Real path of its SKILL.md."""
    scope: SkillScope
    body: str
    """The text after the header."""
    root: str = ""
    """The root in whose search it was found."""
    plugin: str = ""
    """The plugin that it belongs to."""
    interface: SkillInterface = SkillInterface()
    """The content of `agents/openai.yaml`."""
    when_to_use: str = ""
    argument_hint: str = ""
    license: str = ""
    compatibility: str = ""
    allowed_tools: tuple[str, ...] = ()
    metadata: dict[str, str] = {}
    listed: bool = True
    """The model may choose it by itself, so it is in the catalogue (neither header nor
    `agents/openai.yaml` forbids it).
    """
    mentionable: bool = True
    """The user may invoke it by name (`user-invocable` is not false)."""
    remarks: tuple[str, ...] = ()
    """Deviations from the specification that do not make it unusable."""

    @property
    def folder(self) -> str:
        """The folder that holds it and its scripts, references and assets."""
        return self.path.rpartition("/")[0] or "/"


class SkillProblem(Struct, frozen=True):
    """A file or folder that could not be used, and why."""

    path: str
    scope: SkillScope
    reason: str


def parse_skill(
    text: str,
    path: str,
    scope: SkillScope,
    root: str = "",
    plugin: str = "",
    interface: SkillInterface | None = None,
) -> Skill | SkillProblem:
    """Parse a SKILL.md.

    The name defaults to that of its folder; a plugin's name is prefixed.
    """
    document = split_front_matter(text)
    if document.front is None:
        return SkillProblem(path, scope, "it does not begin with a header between two lines of ---")
    front = document.front
    name = _header_line(front, "name") or strip_hidden_characters(_folder_name(path))
    description = _header_line(front, "description")
    if not description:
        return SkillProblem(path, scope, front.problem or "its header has no description")
    if not name or len(name) > MAX_NAME_CHARS:
        return SkillProblem(
            path,
            scope,
            f"its name has {len(name)} characters, {MAX_NAME_CHARS} are the most"
            if name
            else "it has no name",
        )
    qualified = f"{plugin}:{name}" if plugin else name
    if len(qualified) > MAX_QUALIFIED_CHARS:
        return SkillProblem(
            path,
            scope,
            f"its name with that of its plugin has {len(qualified)} characters, "
            f"{MAX_QUALIFIED_CHARS} are the most",
        )
    near = interface or SkillInterface()
    return Skill(
        name=qualified,
        description=description,
        path=path,
        scope=scope,
        body=document.body.strip("\n"),
        root=root,
        plugin=plugin,
        interface=near,
        when_to_use=_header_line(front, "when_to_use") or _header_line(front, "when-to-use"),
        argument_hint=_header_line(front, "argument-hint")[:_MAX_VALUE_CHARS],
        license=_header_line(front, "license")[:_MAX_VALUE_CHARS],
        compatibility=_header_line(front, "compatibility")[:MAX_COMPATIBILITY_CHARS],
        allowed_tools=_parse_tools(front.values.get("allowed-tools")),
        metadata=_parse_metadata(front.mapping_value("metadata")),
        listed=near.implicit
        and _header_line(front, "disable-model-invocation").lower() not in _TRUE_VALUES,
        mentionable=_header_line(front, "user-invocable").lower() not in _FALSE_VALUES,
        remarks=_collect_remarks(front, name, path),
    )


def is_same_skill(one: Skill, other: Skill) -> bool:
    """Whether two skills are copies, so that it does not matter which one is meant."""
    return (one.name, one.description, one.body) == (other.name, other.description, other.body)


def _folder_name(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2]


def _header_line(front: FrontMatter, key: str) -> str:
    if key not in front.values:
        return ""
    text = front.text_value(key)
    if text.isascii() and text.isprintable():
        return text
    return " ".join(strip_hidden_characters(replace_surrogates(text)).split())


def _parse_tools(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        found = _ALLOWED_TOOL.findall(value[:_MAX_VALUE_CHARS])
    else:
        found = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    return tuple(
        " ".join(strip_hidden_characters(replace_surrogates(each)).split())[:_MAX_VALUE_CHARS]
        for each in found[:MAX_METADATA_ENTRIES]
    )


def _parse_metadata(given: dict[str, Any]) -> dict[str, str]:
    pairs = [(key, value) for key, value in given.items() if isinstance(value, str)]
    return {
        strip_hidden_characters(replace_surrogates(key))[
            :_MAX_VALUE_CHARS
        ]: strip_hidden_characters(replace_surrogates(value))[:_MAX_VALUE_CHARS]
        for key, value in pairs[:MAX_METADATA_ENTRIES]
    }


def _collect_remarks(front: FrontMatter, name: str, path: str) -> tuple[str, ...]:
    folder = _folder_name(path)
    found = []
    if front.problem:
        found.append(f"{front.problem}; read line by line")
    if not _ADVISED_NAME.fullmatch(name):
        found.append("the name should be lowercase letters, digits and single hyphens")
    elif name != folder:
        found.append(f"the name should be that of its folder, {folder}")
    return tuple(found)


# Prompt templates for skills, read from `prompts/skills`.


class SkillPrompts(Struct, frozen=True, kw_only=True):
    """Prompts and wrappers. A name in double braces is filled in where the template is used."""

    rollout: str
    """The catalogue as a section of the rollout family's developer message, around {{roots}},
    {{lines}} and {{left_out}}.
    """
    file_native: str
    """The same as a reminder of the file-native family."""
    left_out: str
    """Number of skills that did not fit into the catalogue."""
    body_rollout: str
    """An invoked skill, around {{name}}, {{path}} and {{contents}}."""
    body_file_native: str
    """The same, around {{folder}} and {{contents}}."""
    cut: str
    """Remark after a body that was cut."""
    ambiguous: str
    """Remark on a name shared by several skills."""
    interview: str
    """The prompt that makes a skill from a session, around {{notes}}, {{messages}}, {{skeleton}}
    and {{description}}.
    """


def load_skill_prompts() -> SkillPrompts:
    """Load the templates that come with memorist, without blank lines at their ends."""
    return SkillPrompts(
        **{
            name: load_prompt(f"skills/{name}").strip("\n")
            for name in SkillPrompts.__struct_fields__
        }
    )

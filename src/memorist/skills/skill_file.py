"""Parse a SKILL.md: name, description, other header keys, and the body. Pure (SK-1).

The format is that of the open Agent Skills specification; the further keys are those of
Claude Code. An unusable file gives a `UnusableSkillFile`, never an exception: one broken
skill does not hide the others.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Struct

from memorist.core.front_matter import FrontMatter, split_front_matter
from memorist.core.prompt_templates import load_prompt
from memorist.core.text_encoding import replace_surrogates
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.skills.skill_interface import FALSE_VALUES, SkillInterface

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


SKILL_FILE = "SKILL.md"


SkillScope = Literal["project", "user", "system"]


SKILL_SCOPES: tuple[SkillScope, ...] = ("project", "user", "system")
"""In the order in which skills are listed to users (Codex; its admin scope counts as
system).
"""


MAX_NAME_CHARS = 64
"""Characters of a name (Codex, and the open specification)."""


MAX_QUALIFIED_CHARS = 128
"""Characters of a name with its plugin prefix (Codex)."""


MAX_COMPATIBILITY_CHARS = 500
"""Characters kept of `compatibility` (the open specification)."""


MAX_METADATA_ENTRIES = 32
"""Entries kept of `metadata` and of `allowed-tools`; our choice. Real skills have a handful."""


_MAX_VALUE_CHARS = 1_024


_ADVISED_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


_TRUE_VALUES = frozenset({"true", "yes", "on", "1"})


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


class UnusableSkillFile(Struct, frozen=True):
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
) -> Skill | UnusableSkillFile:
    """Parse a SKILL.md.

    The name defaults to that of its folder; a plugin's name is prefixed.
    """
    document = split_front_matter(text)
    if document.front is None:
        return UnusableSkillFile(
            path, scope, "it does not begin with a header between two lines of ---"
        )
    front = document.front
    name = _header_line(front, "name") or strip_hidden_characters(_folder_name(path))
    description = _header_line(front, "description")
    if not description:
        return UnusableSkillFile(path, scope, front.problem or "its header has no description")
    if not name or len(name) > MAX_NAME_CHARS:
        return UnusableSkillFile(
            path,
            scope,
            f"its name has {len(name)} characters, {MAX_NAME_CHARS} are the most"
            if name
            else "it has no name",
        )
    qualified = f"{plugin}:{name}" if plugin else name
    if len(qualified) > MAX_QUALIFIED_CHARS:
        return UnusableSkillFile(
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
        mentionable=_header_line(front, "user-invocable").lower() not in FALSE_VALUES,
        remarks=_collect_remarks(front, name, path),
    )


def are_equal_skills(one: Skill, other: Skill) -> bool:
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

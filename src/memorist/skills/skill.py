"""Parse a SKILL.md: name, description, other header keys, and the body. Pure (SK-1).

The format is that of the open Agent Skills specification; the further keys are those of
claude-code.md section 11.4. An unusable file gives a `SkillProblem`, never an exception: one broken
skill does not hide the others.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from msgspec import Struct

from memorist.core.front_matter import FrontMatter, split
from memorist.safety.hidden import visible
from memorist.skills.beside import Beside

FILE_NAME = "SKILL.md"

Scope = Literal["project", "user", "system"]
SCOPES: tuple[Scope, ...] = ("project", "user", "system")
"""In the order in which skills are listed to users (codex.md section 4.1; its admin scope counts as
system).
"""

NAME_LIMIT = 64
"""Characters of a name (codex.md section 4.1, and the open specification)."""

QUALIFIED_LIMIT = 128
"""Characters of a name with its plugin prefix (codex.md section 4.1)."""

COMPATIBILITY_LIMIT = 500
"""Characters kept of `compatibility` (the open specification)."""

METADATA_LIMIT = 32
"""Entries kept of `metadata` and of `allowed-tools`; our choice. Real skills have a handful."""

_VALUE_LIMIT = 1_024
_ADVISED_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
_TOOL = re.compile(r"[^\s,()]+(?:\([^()]*\))?")


class Skill(Struct, frozen=True, kw_only=True):
    """One usable skill."""

    name: str
    """`PLUGIN:NAME` for a plugin's skill."""
    description: str
    path: str
    """Real path of its SKILL.md."""
    scope: Scope
    body: str
    """The text after the header."""
    root: str = ""
    """The root in whose search it was found."""
    plugin: str = ""
    """The plugin that it belongs to."""
    beside: Beside = Beside()
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


class Problem(Struct, frozen=True):
    """A file or folder that could not be used, and why."""

    path: str
    scope: Scope
    reason: str


def parse(text: str, path: str, scope: Scope, root: str = "", plugin: str = "", beside: Beside | None = None) -> Skill | Problem:
    """Parse a SKILL.md.

    The name defaults to that of its folder; a plugin's name is prefixed.
    """
    document = split(text)
    if document.front is None:
        return Problem(path, scope, "it does not begin with a header between two lines of ---")
    front = document.front
    name = _line(front, "name") or visible(_folder_name(path))
    description = _line(front, "description")
    if not description:
        return Problem(path, scope, front.problem or "its header has no description")
    if not name or len(name) > NAME_LIMIT:
        return Problem(path, scope, f"its name has {len(name)} characters, {NAME_LIMIT} are the most" if name else "it has no name")
    qualified = f"{plugin}:{name}" if plugin else name
    if len(qualified) > QUALIFIED_LIMIT:
        return Problem(path, scope, f"its name with that of its plugin has {len(qualified)} characters, {QUALIFIED_LIMIT} are the most")
    near = beside or Beside()
    return Skill(
        name=qualified,
        description=description,
        path=path,
        scope=scope,
        body=document.body.strip("\n"),
        root=root,
        plugin=plugin,
        beside=near,
        when_to_use=_line(front, "when_to_use") or _line(front, "when-to-use"),
        argument_hint=_line(front, "argument-hint")[:_VALUE_LIMIT],
        license=_line(front, "license")[:_VALUE_LIMIT],
        compatibility=_line(front, "compatibility")[:COMPATIBILITY_LIMIT],
        allowed_tools=_tools(front.values.get("allowed-tools")),
        metadata=_metadata(front.mapping("metadata")),
        listed=near.implicit and _line(front, "disable-model-invocation").lower() not in _TRUE,
        mentionable=_line(front, "user-invocable").lower() not in _FALSE,
        remarks=_remarks(front, name, path),
    )


def same(one: Skill, other: Skill) -> bool:
    """Whether two skills are copies, so that it does not matter which one is meant."""
    return (one.name, one.description, one.body) == (other.name, other.description, other.body)


def _folder_name(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2]


def _line(front: FrontMatter, key: str) -> str:
    if key not in front.values:
        return ""
    text = front.text(key)
    if text.isascii() and text.isprintable():
        return text
    return " ".join(visible(_encodable(text)).split())


def _encodable(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded."""
    return text.encode("utf-8", "replace").decode()


def _tools(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        found = _TOOL.findall(value[:_VALUE_LIMIT])
    else:
        found = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    return tuple(" ".join(visible(_encodable(each)).split())[:_VALUE_LIMIT] for each in found[:METADATA_LIMIT])


def _metadata(given: dict[str, Any]) -> dict[str, str]:
    pairs = [(key, value) for key, value in given.items() if isinstance(value, str)]
    return {visible(_encodable(key))[:_VALUE_LIMIT]: visible(_encodable(value))[:_VALUE_LIMIT] for key, value in pairs[:METADATA_LIMIT]}


def _remarks(front: FrontMatter, name: str, path: str) -> tuple[str, ...]:
    folder = _folder_name(path)
    found = []
    if front.problem:
        found.append(f"{front.problem}; read line by line")
    if not _ADVISED_NAME.fullmatch(name):
        found.append("the name should be lowercase letters, digits and single hyphens")
    elif name != folder:
        found.append(f"the name should be that of its folder, {folder}")
    return tuple(found)

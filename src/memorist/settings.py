"""The typed tree of settings and how its values are resolved: defaults, the user's file, the
project's file, the environment, the caller.

Resolving is pure: `load_settings` reads the files. Unknown keys and bad values are errors that name
their source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from memorist.auto_memory.settings import AutoMemorySettings
from memorist.compaction.settings import CompactionSettings
from memorist.context.settings import ContextSettings
from memorist.dream.settings import DreamSettings
from memorist.errors import SettingsError
from memorist.flags.settings import FlagsSettings
from memorist.flags.values import SECTIONS, in_force, overridden, remarks
from memorist.forks.spec import ForkLimits
from memorist.hook_settings import HooksSettings
from memorist.magic_docs.settings import MagicDocsSettings
from memorist.models.settings import ModelSettings
from memorist.proxy_settings import ProxySettings
from memorist.recall.settings import RecallSettings
from memorist.rollouts.settings import RolloutsSettings
from memorist.session_memory.settings import SessionMemorySettings
from memorist.skills.settings import SkillsSettings
from memorist.spend.settings import SpendSettings
from memorist.team.settings import TeamSettings
from memorist.telemetry.settings import TelemetrySettings

ENVIRONMENT_PREFIX = "MEMORIST_"
"""`MEMORIST_MODEL` sets `model`; `MEMORIST_SESSION_MEMORY__START_TOKENS` sets
`session_memory.start_tokens`.
"""

NOT_SETTINGS = frozenset({"MEMORIST_API_KEY", "MEMORIST_LOCAL_MODEL", "MEMORIST_MCP_TOKEN", "MEMORIST_PROXY_TOKEN", "MEMORIST_TEAM_TOKEN"})
"""Variables with the prefix that are read elsewhere: keys, and the path of a model file on this
machine.
"""

FLAG = "flag"
"""Source name of a value that a feature flag overrides."""

PROJECT_MAY_SET = frozenset({"session_memory", "compaction"})
"""Sections that a project's own file may set. Others are ignored there and reported: a cloned
repository must not choose which server receives the conversation, or where files are written.
"""


LongTerm = Literal["auto_memory", "rollouts", "both", "none"]


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings, one section per subsystem."""

    home: str = "~/.memorist"
    """Folder of all data."""
    model: str = "structural"
    """The model for background work: `anthropic:NAME`, `openai:NAME`, `openai-chat:NAME@BASE_URL`,
    `local`, or `structural` for none.
    """
    state: str = "sqlite"
    """Where past sessions and jobs on them are recorded: `sqlite` (in the home folder) or
    `postgresql://host/name` (for several machines).
    """
    long_term: LongTerm = "auto_memory"
    """What is remembered across sessions automatically: `auto_memory` (topic files of each
    project), `rollouts` (past sessions, in two stages), `both`, or `none`. Commands work in any
    case.
    """
    session_memory: SessionMemorySettings = SessionMemorySettings()
    models: ModelSettings = ModelSettings()
    forks: ForkLimits = ForkLimits()
    compaction: CompactionSettings = CompactionSettings()
    auto_memory: AutoMemorySettings = AutoMemorySettings()
    recall: RecallSettings = RecallSettings()
    context: ContextSettings = ContextSettings()
    skills: SkillsSettings = SkillsSettings()
    rollouts: RolloutsSettings = RolloutsSettings()
    spend: SpendSettings = SpendSettings()
    dream: DreamSettings = DreamSettings()
    team: TeamSettings = TeamSettings()
    magic_docs: MagicDocsSettings = MagicDocsSettings()
    hooks: HooksSettings = HooksSettings()
    flags: FlagsSettings = FlagsSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    proxy: ProxySettings = ProxySettings()

    @property
    def remembers(self) -> bool:
        """Whether auto memory is kept and shown."""
        return self.auto_memory.enabled and self.long_term in ("auto_memory", "both")

    @property
    def learns_from_rollouts(self) -> bool:
        """Whether past sessions are turned into memory automatically, and a session is shown the
        result.
        """
        return self.long_term in ("rollouts", "both")


class Layer(Struct, frozen=True):
    """Values from one source, as a tree of plain objects. `name` is shown by `config show
    --source`.
    """

    name: str
    values: dict[str, Any]
    project: bool = False


class Resolved(Struct, frozen=True):
    """The effective settings, the source of each value that is not a default (`section.key` to
    name), and what was ignored.
    """

    settings: Settings
    sources: dict[str, str]
    ignored: tuple[str, ...] = ()


def environment_layer(environment: Mapping[str, str]) -> Layer:
    """Read settings from environment variables; two underscores separate section and key.

    Raises SettingsError for a variable with the prefix that names no setting.
    """
    values: dict[str, Any] = {}
    for name in sorted(environment):
        if not name.startswith(ENVIRONMENT_PREFIX) or name in NOT_SETTINGS:
            continue
        path = name[len(ENVIRONMENT_PREFIX) :].lower().split("__")
        if not _known(path):
            raise SettingsError(f"the environment variable {name} names no setting; `memorist config show` lists them")
        inner = values
        for part in path[:-1]:
            inner = inner.setdefault(part, {})
        inner[path[-1]] = environment[name]
    return Layer("environment", values)


def _known(path: Sequence[str]) -> bool:
    kind: Any = Settings
    for part in path:
        fields = {field.name: field.type for field in msgspec.structs.fields(kind)} if _is_struct(kind) else {}
        if part not in fields:
            return False
        kind = fields[part]
    return not _is_struct(kind)


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def resolve(layers: Sequence[Layer]) -> Resolved:
    """Merge the layers, later ones over earlier ones, and validate the result. Raises
    SettingsError.
    """
    merged: dict[str, Any] = {}
    sources: dict[str, str] = {}
    ignored: list[str] = []
    for layer in layers:
        values = layer.values
        if layer.project:
            ignored += [f"{key} ({layer.name}: a project's file may not set this)" for key in sorted(set(values) - PROJECT_MAY_SET)]
            values = {key: value for key, value in values.items() if key in PROJECT_MAY_SET}
        _check(layer.name, values)
        _merge(merged, values, layer.name, sources, ())
    return Resolved(msgspec.convert(merged, Settings, strict=False), sources, tuple(ignored))


def with_flags(resolved: Resolved, flags: Mapping[str, object]) -> Resolved:
    """Apply feature flags over every other source; problems with a flag are added to what was
    ignored.
    """
    sections = {section: overridden(getattr(resolved.settings, section), flags) for section in SECTIONS}
    return Resolved(
        msgspec.structs.replace(resolved.settings, **sections),
        resolved.sources | dict.fromkeys(in_force(flags), FLAG),
        (*resolved.ignored, *(f"{remark} (flag)" for remark in remarks(flags))),
    )


def _check(name: str, values: dict[str, Any]) -> None:
    try:
        found = msgspec.convert(values, Settings, strict=False)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        # The second: a variable of the environment whose bytes are no UTF-8, where a number is asked for.
        raise SettingsError(f"{name}: {error}; `memorist config show` lists the settings and their values") from error
    wrong = next(_out_of_range(msgspec.to_builtins(found), ()), None)
    if wrong is not None:
        raise SettingsError(f"{name}: {wrong}; no setting is a number below 0")


def _out_of_range(value: object, path: tuple[str, ...]) -> Iterator[str]:
    """Find numbers that no setting can have: all are counts, sizes, times, shares or prices."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _out_of_range(inner, (*path, str(key)))
    elif isinstance(value, int | float) and not value >= 0:  # also what is no number at all
        yield f"{'.'.join(path)} is {value}"


def _merge(into: dict[str, Any], values: Mapping[str, Any], name: str, sources: dict[str, str], path: tuple[str, ...]) -> None:
    for key, value in values.items():
        here = (*path, key)
        if isinstance(value, dict) and isinstance(into.setdefault(key, {}), dict):
            _merge(into[key], value, name, sources, here)
        else:
            into[key] = value
            sources[".".join(here)] = name


def flat(settings: Settings) -> dict[str, Any]:
    """Every setting as `section.key` to its value, in the order of the tree."""
    values: dict[str, Any] = {}

    def visit(tree: Mapping[str, Any], path: tuple[str, ...]) -> None:
        for key, value in tree.items():
            if isinstance(value, dict) and value and not path:
                visit(value, (*path, key))
            else:
                values[".".join((*path, key))] = value

    visit(msgspec.to_builtins(settings), ())
    return values

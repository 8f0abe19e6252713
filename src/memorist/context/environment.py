"""What the model is told of the machine, the folder and the day: detected, and rendered for both
families.
"""

from __future__ import annotations

import contextlib
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from memorist.context.git_state import GitState, read_git_state
from memorist.core.xml_escaping import escape_text, quote_attribute
from memorist.ports import Clock
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup


class CommandNetworkAccess(Struct, frozen=True, kw_only=True):
    """Whether commands may reach the network, and which hosts are allowed and denied."""

    enabled: bool = False
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


class CommandExecutionEnvironment(Struct, frozen=True, kw_only=True):
    """One environment in which commands run."""

    folder: str
    shell: str = ""
    name: str = ""
    """Required if there are several environments."""
    status: str = ""
    """For example `unavailable` for one that is gone; empty for one that works."""


class SessionEnvironment(Struct, frozen=True, kw_only=True):
    """Everything either family tells the model about its environment. Empty values are omitted."""

    environments: tuple[CommandExecutionEnvironment, ...]
    """The first is the primary one."""
    approval: str = ""
    """When commands need approval: `untrusted`, `on-request`, `never` …"""
    sandbox: str = ""
    """`read-only`, `workspace-write`, `danger-full-access`."""
    network: CommandNetworkAccess | None = None
    writable: tuple[str, ...] = ()
    """Writable folders."""
    date: str = ""
    """Local date in ISO form."""
    timezone: str = ""
    """Name of the time zone, for example `Europe/Berlin`."""
    platform: str = ""
    system: str = ""
    """Name and version of the operating system."""
    model: str = ""
    is_repository: bool = False
    git: GitState | None = None
    agents: tuple[str, ...] = ()
    """Subagents that are running."""


def render_codex_environment_fields(environment: SessionEnvironment) -> dict[str, str]:
    """Render the fields inside `<environment_context>`, each as its own lines (Codex).

    Values are escaped; empty ones are omitted.
    """
    found = {"environments": "\n".join(_environment_lines(environment.environments))}
    named = {
        "approval_policy": environment.approval,
        "sandbox_mode": environment.sandbox,
        "current_date": environment.date,
        "timezone": environment.timezone,
    }
    found |= {name: "\n".join(_element_lines((name, value))) for name, value in named.items()}
    found["network"] = "\n".join(_network_lines(environment.network))
    found["filesystem"] = "\n".join(
        _list_lines("filesystem", "writable_root", environment.writable)
    )
    found["subagents"] = "\n".join(_list_lines("subagents", "agent", environment.agents))
    return {name: lines for name, lines in found.items() if lines}


def render_codex_environment_body(environment: SessionEnvironment) -> str:
    """Render the inside of `<environment_context>`, without the tag itself."""
    return "\n".join(render_codex_environment_fields(environment).values())


def _environment_lines(environments: Sequence[CommandExecutionEnvironment]) -> list[str]:
    if len(environments) <= 1:
        return [
            line for environment in environments for line in _one_environment(environment, "  ")
        ]
    lines = ["  <environments>"]
    for number, environment in enumerate(environments):
        primary = ' primary="true"' if number == 0 else ""
        lines.append(
            f"    <environment id={quote_attribute(environment.name or str(number + 1))}{primary}>"
        )
        lines += [*_one_environment(environment, "      "), "    </environment>"]
    return [*lines, "  </environments>"]


def _one_environment(environment: CommandExecutionEnvironment, indent: str) -> list[str]:
    return _element_lines(
        ("cwd", environment.folder),
        ("status", environment.status),
        ("shell", environment.shell),
        indent=indent,
    )


def _element_lines(*pairs: tuple[str, str], indent: str = "  ") -> list[str]:
    return [f"{indent}<{name}>{_escape_xml(value)}</{name}>" for name, value in pairs if value]


def _escape_xml(value: str) -> str:
    return escape_text(" ".join(strip_hidden_characters(value).split()))


def _network_lines(network: CommandNetworkAccess | None) -> list[str]:
    if network is None:
        return []
    inner = [f"    <allowed>{_escape_xml(domain)}</allowed>" for domain in network.allowed]
    inner += [f"    <denied>{_escape_xml(domain)}</denied>" for domain in network.denied]
    opening = f'  <network enabled="{str(network.enabled).lower()}"'
    return [f"{opening}>", *inner, "  </network>"] if inner else [f"{opening} />"]


def _list_lines(name: str, item_name: str, values: Sequence[str]) -> list[str]:
    if values:
        return [
            f"  <{name}>",
            *_element_lines(*((item_name, value) for value in values), indent="    "),
            f"  </{name}>",
        ]
    return []


def render_claude_env_fields(environment: SessionEnvironment) -> dict[str, str]:
    """Render the lines of `<env>` by name (Claude Code); empty ones are omitted."""
    first = (
        environment.environments[0]
        if environment.environments
        else CommandExecutionEnvironment(folder="")
    )
    found = {
        "Working folder": first.folder,
        "Git repository": "yes" if environment.is_repository else "no",
        "Further folders": ", ".join(each.folder for each in environment.environments[1:]),
        "Platform": environment.platform,
        "Shell": first.shell,
        "System": environment.system,
        "Model": environment.model,
    }
    return {name: f"{name}: {_single_line(value)}" for name, value in found.items() if value}


def render_claude_env_block(environment: SessionEnvironment) -> str:
    """Render the inside of `<env>`, one `name: value` a line."""
    return "\n".join(render_claude_env_fields(environment).values())


def _single_line(value: str) -> str:
    return neutralize_markup(" ".join(strip_hidden_characters(value).split()), ("env",))


_ZONEINFO_FOLDER = "zoneinfo/"


def detect_environment(
    folder: Path, clock: Clock, *, git: bool = True, environment: Mapping[str, str] | None = None
) -> SessionEnvironment:
    """Detect the environment of a session that begins now in the folder."""
    known = os.environ if environment is None else environment
    now = datetime.fromtimestamp(clock.now()).astimezone()
    inside = any((above / ".git").exists() for above in (folder, *folder.parents))
    return SessionEnvironment(
        environments=(
            CommandExecutionEnvironment(
                folder=str(folder), shell=Path(known.get("SHELL", "")).name
            ),
        ),
        date=now.date().isoformat(),
        timezone=_detect_timezone(known, now),
        platform=sys.platform,
        system=f"{platform.system()} {platform.release()}",
        is_repository=inside,
        git=read_git_state(folder, known) if inside and git else None,
    )


def _detect_timezone(environment: Mapping[str, str], now: datetime) -> str:
    named = environment.get("TZ", "").removeprefix(":")
    if not named:
        with contextlib.suppress(OSError):
            _, mark, named = os.path.realpath("/etc/localtime").rpartition(_ZONEINFO_FOLDER)
            named = named if mark else ""
    return named or now.tzname() or ""

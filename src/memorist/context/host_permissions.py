"""What a host permits in a session (approval, sandbox, network, folders, subagents), and the
section that states it (CX-1). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.context_pieces import ContextSection
from memorist.context.environment import (
    CommandExecutionEnvironment,
    CommandNetworkAccess,
    SessionEnvironment,
)
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.settings import Family

APPROVAL_POLICIES = ("untrusted", "on-failure", "on-request", "never")
"""Codex CLI's approval policies, strictest first. A host may use others."""

SANDBOX_MODES = ("read-only", "workspace-write", "danger-full-access")
"""Codex CLI's sandbox modes: what commands may change."""

PERMISSIONS_TAG = "permissions instructions"


class HostPermissions(Struct, frozen=True, kw_only=True):
    """What a host lets commands do, and where they run. Empty values are not mentioned."""

    approval: str = ""
    """One of `APPROVAL_POLICIES`, or the host's own name for its policy."""
    sandbox: str = ""
    """One of `SANDBOX_MODES`, or the host's own."""
    network: CommandNetworkAccess | None = None
    writable: tuple[str, ...] = ()
    """Writable folders besides the working folder."""
    agents: tuple[str, ...] = ()
    """Subagents that are running."""
    environments: tuple[CommandExecutionEnvironment, ...] = ()
    """Further environments, after the working folder."""
    why: str = ""
    """Where approval and sandbox come from, shown as the piece's reason; empty uses the table's
    reason.
    """


UNSPECIFIED_PERMISSIONS = HostPermissions()

DEFAULT_PERMISSIONS = HostPermissions(
    approval="on-request",
    sandbox="workspace-write",
    network=CommandNetworkAccess(enabled=False),
    why="the usual of the rollout family in a project: no host has said otherwise",
)
"""Codex CLI's defaults in a project under version control."""


def add_permissions_to_environment(
    permissions: HostPermissions, environment: SessionEnvironment
) -> SessionEnvironment:
    """Return the environment with the host's permissions filled in."""
    return replace(
        environment,
        environments=(*environment.environments, *permissions.environments),
        approval=permissions.approval or environment.approval,
        sandbox=permissions.sandbox or environment.sandbox,
        network=permissions.network or environment.network,
        writable=permissions.writable or environment.writable,
        agents=permissions.agents or environment.agents,
    )


def build_permissions_sections(
    permissions: HostPermissions, family: Family, host_sections: Sequence[ContextSection] = ()
) -> tuple[ContextSection, ...]:
    """Build the section that states what needs approval and what the sandbox allows.

    Returns nothing in the file-native family (which has no such section), when the host states no
    permissions, or when `host_sections` already contain the section.
    """
    if (
        family != "rollout"
        or any(section.tag == PERMISSIONS_TAG for section in host_sections)
        or not (permissions.approval or permissions.sandbox)
    ):
        return ()
    return (
        ContextSection(
            tag=PERMISSIONS_TAG,
            text=render_permissions(permissions),
            source="the host",
            why=permissions.why,
        ),
    )


def render_permissions(permissions: HostPermissions) -> str:
    """Render the inside of `<permissions instructions>`: sandbox, writable folders, network and
    approval, one line each; empty values get no line.
    """
    values = {
        "sandbox": _policy_line("sandbox", permissions.sandbox, SANDBOX_MODES),
        "writable": _template_line(
            "writable", folders=", ".join(map(_plain_value, permissions.writable))
        )
        if permissions.writable
        else "",
        "network": _network_line(permissions.network),
        "approval": _policy_line("approval", permissions.approval, APPROVAL_POLICIES),
    }
    text = render_template(load_prompt("context/permissions"), values, strict=True)
    return "\n".join(line for line in text.splitlines() if line.strip())


def _policy_line(what: str, value: str, known: tuple[str, ...]) -> str:
    if not value:
        return ""
    if value in known:
        return _template_line(f"{what}_{value.replace('-', '_')}")
    return _template_line(f"{what}_other", **{what: _plain_value(value)})


def _network_line(network: CommandNetworkAccess | None) -> str:
    if network is None:
        return ""
    if not network.enabled:
        return _template_line("network_off")
    rules = [f"only {', '.join(map(_plain_value, network.allowed))}"] if network.allowed else []
    rules += [f"never {', '.join(map(_plain_value, network.denied))}"] if network.denied else []
    return _template_line("network_on", domains="".join(f"; {each}" for each in rules))


def _template_line(name: str, **values: str) -> str:
    return render_template(load_prompt(f"context/{name}"), values, strict=True).strip("\n") + "\n"


def _plain_value(value: str) -> str:
    return neutralize_markup(" ".join(strip_hidden_characters(value).split()))

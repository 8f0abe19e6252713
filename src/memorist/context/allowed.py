"""Host permissions (approval, sandbox, network, folders, subagents) and the section that states
them. Pure (CX-1).

Source: codex.md section 3.2 for where these values appear (`<permissions instructions>`,
`<environment_context>`); the wording is our own.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.environment import Network, Place, Surroundings
from memorist.context.piece import Section
from memorist.context.settings import Family
from memorist.core.template import render
from memorist.prompts.load import load
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible

APPROVALS = ("untrusted", "on-failure", "on-request", "never")
"""Codex CLI's approval policies, strictest first. A host may use others."""

SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
"""Codex CLI's sandbox modes: what commands may change."""

TAG = "permissions instructions"


class Allowed(Struct, frozen=True, kw_only=True):
    """What a host lets commands do, and where they run. Empty values are not mentioned."""

    approval: str = ""
    """One of `APPROVAL_POLICIES`, or the host's own name for its policy."""
    sandbox: str = ""
    """One of `SANDBOX_MODES`, or the host's own."""
    network: Network | None = None
    writable: tuple[str, ...] = ()
    """Writable folders besides the working folder."""
    agents: tuple[str, ...] = ()
    """Subagents that are running."""
    places: tuple[Place, ...] = ()
    """Further environments, after the working folder."""
    why: str = ""
    """Where approval and sandbox come from, shown as the piece's reason; empty uses the table's
    reason.
    """


NOTHING_SAID = Allowed()

USUAL = Allowed(
    approval="on-request",
    sandbox="workspace-write",
    network=Network(enabled=False),
    why="the usual of the rollout family in a project: no host has said otherwise",
)
"""Codex CLI's defaults in a project under version control."""


def around_of(allowed: Allowed, around: Surroundings) -> Surroundings:
    """Return the environment with the host's permissions filled in."""
    return replace(
        around,
        places=(*around.places, *allowed.places),
        approval=allowed.approval or around.approval,
        sandbox=allowed.sandbox or around.sandbox,
        network=allowed.network or around.network,
        writable=allowed.writable or around.writable,
        agents=allowed.agents or around.agents,
    )


def permissions(allowed: Allowed, family: Family, given: Sequence[Section] = ()) -> tuple[Section, ...]:
    """Build the section that states what needs approval and what the sandbox allows.

    Returns nothing in the file-native family (which has no such section), when the host states no
    permissions, or when `host_sections` already contain the section.
    """
    if family != "rollout" or any(section.tag == TAG for section in given) or not (allowed.approval or allowed.sandbox):
        return ()
    return (Section(tag=TAG, text=permissions_text(allowed), source="the host", why=allowed.why),)


def permissions_text(allowed: Allowed) -> str:
    """Render the inside of `<permissions instructions>`: sandbox, writable folders, network and
    approval, one line each; empty values get no line.
    """
    values = {
        "sandbox": _choice("sandbox", allowed.sandbox, SANDBOXES),
        "writable": _line("writable", folders=", ".join(map(_plain, allowed.writable))) if allowed.writable else "",
        "network": _network(allowed.network),
        "approval": _choice("approval", allowed.approval, APPROVALS),
    }
    text = render(load("context/permissions"), values, strict=True)
    return "\n".join(line for line in text.splitlines() if line.strip())


def _choice(what: str, value: str, known: tuple[str, ...]) -> str:
    if not value:
        return ""
    return _line(f"{what}_{value.replace('-', '_')}") if value in known else _line(f"{what}_other", **{what: _plain(value)})


def _network(network: Network | None) -> str:
    if network is None:
        return ""
    if not network.enabled:
        return _line("network_off")
    told = [f"only {', '.join(map(_plain, network.allowed))}"] if network.allowed else []
    told += [f"never {', '.join(map(_plain, network.denied))}"] if network.denied else []
    return _line("network_on", domains="".join(f"; {each}" for each in told))


def _line(name: str, **values: str) -> str:
    return render(load(f"context/{name}"), values, strict=True).strip("\n") + "\n"


def _plain(value: str) -> str:
    return neutralise(" ".join(visible(value).split()))

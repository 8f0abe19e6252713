"""What a host allows and adds: approval, sandbox, network, folders, subagents, sections of its own; and the section that says so. Pure (CX-1).

Source: codex.md section 3.2 for the places of these values (`<permissions instructions>`, `<environment_context>`); the words are ours.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from memorist.context.environment import Network, Place, Surroundings
from memorist.context.piece import Section
from memorist.core.template import render
from memorist.prompts.load import load
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible

APPROVALS = ("untrusted", "on-failure", "on-request", "never")
"""When commands need the user's approval, the strictest first, as Codex CLI names them. A host may have others."""

SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
"""What commands may change, as Codex CLI names it."""

TAG = "permissions instructions"


class Host(Struct, frozen=True, kw_only=True):
    """What a host brings to a first context. What is empty is not told."""

    approval: str = ""
    """One of `APPROVALS`, or the host's own name for its policy."""
    sandbox: str = ""
    """One of `SANDBOXES`, or the host's own."""
    network: Network | None = None
    writable: tuple[str, ...] = ()
    """Folders that may be written to besides the working folder."""
    agents: tuple[str, ...] = ()
    """Subagents that are at work."""
    places: tuple[Place, ...] = ()
    """Further environments, after the working folder."""
    model: str = ""
    sections: tuple[Section, ...] = ()
    """Sections of its own, such as memory or skills; one of `permissions instructions` takes the place of ours."""
    why: str = ""
    """Where approval and sandbox come from, for the reason that is shown; empty for the table's."""


USUAL = Host(
    approval="on-request",
    sandbox="workspace-write",
    network=Network(enabled=False),
    why="the usual of the rollout family in a project: no host has said otherwise",
)
"""What Codex CLI does in a project under version control where nothing is set."""


def around_of(host: Host, around: Surroundings) -> Surroundings:
    """The surroundings with what the host says of them."""
    return replace(
        around,
        places=(*around.places, *host.places),
        approval=host.approval or around.approval,
        sandbox=host.sandbox or around.sandbox,
        network=host.network or around.network,
        writable=host.writable or around.writable,
        agents=host.agents or around.agents,
        model=host.model or around.model,
    )


def permissions(host: Host) -> tuple[Section, ...]:
    """The section on what needs approval and what the sandbox allows; none where the host says nothing of it, or brings the section itself."""
    if any(section.tag == TAG for section in host.sections) or not (host.approval or host.sandbox):
        return ()
    return (Section(tag=TAG, text=permissions_text(host), source="the host", why=host.why),)


def permissions_text(host: Host) -> str:
    """The inside of `<permissions instructions>`: sandbox, writable folders, network, approval, one line each; what is empty has no line."""
    values = {
        "sandbox": _choice("sandbox", host.sandbox, SANDBOXES),
        "writable": _line("writable", folders=", ".join(map(_plain, host.writable))) if host.writable else "",
        "network": _network(host.network),
        "approval": _choice("approval", host.approval, APPROVALS),
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

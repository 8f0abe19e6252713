"""The environment section of both families: values in, text out. Pure.

`memorist.context.look` detects the values.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from memorist.core.markup import escaped, quoted
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible


class GitState(Struct, frozen=True, kw_only=True):
    """The state of a repository when the session began."""

    branch: str = ""
    main: str = ""
    status: str = ""
    """`git status --short`; empty for a clean tree."""
    commits: tuple[str, ...] = ()
    """The newest commits, one line each."""
    user: str = ""


class Network(Struct, frozen=True, kw_only=True):
    """Network access of commands."""

    enabled: bool = False
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


class Place(Struct, frozen=True, kw_only=True):
    """One environment in which commands run."""

    folder: str
    shell: str = ""
    name: str = ""
    """Required if there are several environments."""
    status: str = ""
    """For example `unavailable` for one that is gone; empty for one that works."""


class Surroundings(Struct, frozen=True, kw_only=True):
    """Everything either family tells the model about its environment. Empty values are omitted."""

    places: tuple[Place, ...]
    """The first is the primary one."""
    approval: str = ""
    """When commands need approval: `untrusted`, `on-request`, `never` …"""
    sandbox: str = ""
    """`read-only`, `workspace-write`, `danger-full-access`."""
    network: Network | None = None
    writable: tuple[str, ...] = ()
    """Writable folders."""
    date: str = ""
    """Local date in ISO form."""
    zone: str = ""
    """Name of the time zone, for example `Europe/Berlin`."""
    platform: str = ""
    system: str = ""
    """Name and version of the operating system."""
    model: str = ""
    repository: bool = False
    git: GitState | None = None
    agents: tuple[str, ...] = ()
    """Subagents that are running."""


def environment_fields(around: Surroundings) -> dict[str, str]:
    """Render the fields inside `<environment_context>`, each as its own lines (codex.md section
    3.2).

    Values are escaped; empty ones are omitted.
    """
    found = {"environments": "\n".join(_places(around.places))}
    named = {
        "approval_policy": around.approval,
        "sandbox_mode": around.sandbox,
        "current_date": around.date,
        "timezone": around.zone,
    }
    found |= {name: "\n".join(_values((name, value))) for name, value in named.items()}
    found["network"] = "\n".join(_network(around.network))
    found["filesystem"] = "\n".join(_list("filesystem", "writable_root", around.writable))
    found["subagents"] = "\n".join(_list("subagents", "agent", around.agents))
    return {name: lines for name, lines in found.items() if lines}


def environment_context(around: Surroundings) -> str:
    """Render the inside of `<environment_context>`, without the tag itself."""
    return "\n".join(environment_fields(around).values())


def _places(places: Sequence[Place]) -> list[str]:
    if len(places) <= 1:
        return [line for place in places for line in _place(place, "  ")]
    lines = ["  <environments>"]
    for number, place in enumerate(places):
        primary = ' primary="true"' if number == 0 else ""
        lines.append(f"    <environment id={quoted(place.name or str(number + 1))}{primary}>")
        lines += [*_place(place, "      "), "    </environment>"]
    return [*lines, "  </environments>"]


def _place(place: Place, indent: str) -> list[str]:
    return _values(("cwd", place.folder), ("status", place.status), ("shell", place.shell), indent=indent)


def _values(*pairs: tuple[str, str], indent: str = "  ") -> list[str]:
    return [f"{indent}<{name}>{_escaped(value)}</{name}>" for name, value in pairs if value]


def _escaped(value: str) -> str:
    return escaped(" ".join(visible(value).split()))


def _network(network: Network | None) -> list[str]:
    if network is None:
        return []
    inner = [f"    <allowed>{_escaped(domain)}</allowed>" for domain in network.allowed]
    inner += [f"    <denied>{_escaped(domain)}</denied>" for domain in network.denied]
    opening = f'  <network enabled="{str(network.enabled).lower()}"'
    return [f"{opening}>", *inner, "  </network>"] if inner else [f"{opening} />"]


def _list(name: str, each: str, values: Sequence[str]) -> list[str]:
    return [f"  <{name}>", *_values(*((each, value) for value in values), indent="    "), f"  </{name}>"] if values else []


def env_fields(around: Surroundings) -> dict[str, str]:
    """Render the lines of `<env>` by name (claude-code.md section 1.1); empty ones are omitted."""
    first = around.places[0] if around.places else Place(folder="")
    found = {
        "Working folder": first.folder,
        "Git repository": "yes" if around.repository else "no",
        "Further folders": ", ".join(place.folder for place in around.places[1:]),
        "Platform": around.platform,
        "Shell": first.shell,
        "System": around.system,
        "Model": around.model,
    }
    return {name: f"{name}: {_plain(value)}" for name, value in found.items() if value}


def env_block(around: Surroundings) -> str:
    """Render the inside of `<env>`, one `name: value` a line."""
    return "\n".join(env_fields(around).values())


def _plain(value: str) -> str:
    return neutralise(" ".join(visible(value).split()), ("env",))


def git_text(git: GitState, limit: int = 2_000) -> str:
    """Render the snapshot of a repository.

    `limit` is in characters of the status (claude-code.md section 1.2).
    """
    status = git.status.rstrip()
    if len(status) > limit:
        cut = status[:limit].rpartition("\n")[0] or status[:limit]
        status = f"{cut}\n[{len(status) - len(cut):,} characters more; `git status` shows all]"
    lines = ["[memorist] The repository when this session began; it is not brought up to date."]
    lines += [f"{name}: {value}" for name, value in (("Branch", git.branch), ("Main branch", git.main), ("User", git.user)) if value]
    lines += ["Status:", status or "(clean)"]
    if git.commits:
        lines += ["Newest commits:", *git.commits]
    return neutralise(visible("\n".join(lines))).removeprefix("(data) ")

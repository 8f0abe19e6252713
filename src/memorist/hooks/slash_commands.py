"""The commands that memorist brings the user inside an agent: `/memorist:remember` in Claude Code,
`$memorist-remember` in Codex.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from memorist.core.front_matter import split_front_matter
from memorist.core.prompt_templates import load_prompt
from memorist.core.yaml_text import dump_yaml
from memorist.hooks.agent_programs import AGENTS, AgentName, find_user_folder, has_memorist_plugin
from memorist.hooks.hook_install import COMMAND_PURPOSE, InstallTarget
from memorist.hooks.install_scope import LaunchCommand, SettingsScope

COMMAND_NAMES = ("remember", "forget", "pin", "off", "summary", "dream", "sessions", "notes")
"""Their texts are prompts, and the plugin ships the same."""
_CODEX_COMMANDS = tuple(name for name in COMMAND_NAMES if name != "notes")
"""Codex runs no program inside a skill, which `notes` needs; `summary` shows the notes as well."""
_PROGRAM = re.compile(r"(?:(?<=[Rr]un `)|(?<=!`)|(?<=Bash\())memorist(?= )")
"""The program where an agent is to run it; what the user is told to type stays."""
_ONLY_WHEN_NAMED = "policy:\n  allow_implicit_invocation: false\n"
"""Codex lists such a skill to the user and not to the model: it costs no context until named."""


def find_slash_command_targets(
    name: AgentName, scope: SettingsScope, program: LaunchCommand
) -> list[InstallTarget]:
    """The files of the commands: in folders and under names of memorist's own, for all projects.
    What they run is the given program: an agent's shell may have another search path.

    None for a single project, where others would get them, for an agent that runs the plugin, which
    brings its own, and for an agent without such files.
    """
    if not _has_commands(name, scope):
        return []
    folder = find_user_folder(AGENTS[name], scope)
    words = program.build_shell_prefix()
    texts = _render_skills(folder) if name == "codex" else _render_commands(folder)
    return [
        InstallTarget(
            path,
            COMMAND_PURPOSE,
            partial(_replace_text, _PROGRAM.sub(lambda _: words, text)),
            _empty,
            "",
        )
        for path, text in texts.items()
    ]


def find_retired_slash_command_targets(
    name: AgentName, scope: SettingsScope
) -> list[InstallTarget]:
    """Command files of former versions that are still there: Codex reads no custom prompts since
    0.117.
    """
    if name != "codex" or scope.project is not None:
        return []
    folder = find_user_folder(AGENTS[name], scope) / "prompts"
    paths = [folder / f"memorist-{each}.md" for each in _CODEX_COMMANDS]
    return [
        InstallTarget(path, COMMAND_PURPOSE, _keep, _empty, "") for path in paths if path.is_file()
    ]


def _has_commands(name: AgentName, scope: SettingsScope) -> bool:
    agent = AGENTS[name]
    return (
        scope.project is None and agent.client is not None and not has_memorist_plugin(agent, scope)
    )


def _render_commands(folder: Path) -> Mapping[Path, str]:
    return {
        folder / "commands" / "memorist" / f"{each}.md": load_prompt(f"commands/{each}")
        for each in COMMAND_NAMES
    }


def _render_skills(folder: Path) -> Mapping[Path, str]:
    texts = {}
    for each in _CODEX_COMMANDS:
        skill = folder / "skills" / f"memorist-{each}"
        texts[skill / "SKILL.md"] = _render_skill(each)
        texts[skill / "agents" / "openai.yaml"] = _ONLY_WHEN_NAMED
    return texts


def _render_skill(command: str) -> str:
    """A command's text as a skill, which is not given the words behind its name."""
    document = split_front_matter(load_prompt(f"commands/{command}"))
    description = "" if document.front is None else document.front.text_value("description")
    name = f"memorist-{command}"
    head = dump_yaml({"name": name, "description": description}).strip()
    words = f"what stands behind `${name}` in the message above"
    return f"---\n{head}\n---\n{document.body.replace('$ARGUMENTS', words)}"


def _replace_text(text: str, _: str) -> str:
    return text


def _keep(text: str) -> str:
    return text


def _empty(_: str, __: Sequence[str]) -> str:
    return ""

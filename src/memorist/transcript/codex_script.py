"""The shell commands and the patch inside a JavaScript call of Codex's `exec` tool. Pure.

Newer Codex clients give the model one tool that runs a script, in which the known tools are
functions: `tools.exec_command({"cmd": …})`, `tools.apply_patch(patch)`. Only what is there as a
literal is read; nothing is evaluated.
"""

from __future__ import annotations

import json

from memorist.core.lazy import lazy_pattern

SCRIPT_TOOL = "exec"
"""Name of the tool."""
MAX_SCRIPT_COMMANDS = 8
"""Commands of one script that are read."""
_COMMAND = lazy_pattern(
    r"tools\.exec_command\(\s*\{(?:[^{}\"]|\"(?:[^\"\\]|\\.)*\"\s*:(?!\s*\{))*?"
    r"[\"']?cmd[\"']?\s*:\s*(\"(?:[^\"\\]|\\.)*\")"
)
_ESCALATED = ("with_escalated_permissions", "require_escalated")
_PATCH = lazy_pattern(r"\"\*\*\* Begin Patch(?:[^\"\\]|\\.)*\"|`(\*\*\* Begin Patch[^`]*)`")


def find_script_commands(script: str) -> list[str]:
    """Return the commands that a script runs, in order."""
    found = _COMMAND.findall(script)[:MAX_SCRIPT_COMMANDS]
    return [text for literal in found if (text := _decode_literal(literal))]


def find_script_patch(script: str) -> str:
    """Return the patch that a script applies; empty if it applies none."""
    found = _PATCH.search(script) if "apply_patch" in script else None
    if found is None:
        return ""
    return found[1] if found[1] is not None else _decode_literal(found[0])


def is_escalated(arguments: str) -> bool:
    """Tell whether a call, script or not, asks to run outside the sandbox."""
    return any(word in arguments for word in _ESCALATED)


def _decode_literal(literal: str) -> str:
    try:
        text = json.loads(literal)
    except ValueError:
        return ""
    return text if isinstance(text, str) else ""

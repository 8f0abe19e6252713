"""Claude Code's settings: where its hooks and MCP servers stand, and whether it runs the plugin."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

from memorist.hooks.install_scope import SettingsScope
from memorist.hooks.mcp_entries import is_own_plugin
from memorist.platforms.regular_files import read_regular_text_file

MANAGED_SETTINGS = Path(
    "/Library/Application Support/ClaudeCode/managed-settings.json"
    if sys.platform == "darwin"
    else "C:/Program Files/ClaudeCode/managed-settings.json"
    if sys.platform == "win32"
    else "/etc/claude-code/managed-settings.json"
)
"""What the administrator of a machine sets (Claude Code's settings page)."""


def find_user_claude_folder(scope: SettingsScope) -> Path:
    """The folder of the user's own settings."""
    named = scope.environment.get("CLAUDE_CONFIG_DIR", "")
    return Path(named) if named else scope.home / ".claude"


def find_claude_hook_file(scope: SettingsScope) -> Path:
    """The file that holds the hooks. They name a program of this machine, so in a project it is the
    file that is not shared.
    """
    if scope.project is None:
        return find_user_claude_folder(scope) / "settings.json"
    return scope.project / ".claude" / "settings.local.json"


def find_claude_server_file(scope: SettingsScope) -> Path:
    """The file that holds the MCP servers: beside the user's folder, or the project's own."""
    if scope.project is not None:
        return scope.project / ".mcp.json"
    named = scope.environment.get("CLAUDE_CONFIG_DIR", "")
    return (Path(named) if named else scope.home) / ".claude.json"


def find_setting_that_disables_hooks(
    scope: SettingsScope, project: Path
) -> tuple[Path, str] | None:
    """The first settings file that turns the user's hooks off, and by which key; None for none.
    Looked at: the machine's managed file, the user's, and the two of the project in which Claude
    Code is started.
    """
    files = {
        MANAGED_SETTINGS: ("disableAllHooks", "allowManagedHooksOnly"),
        find_user_claude_folder(scope) / "settings.json": ("disableAllHooks",),
        project / ".claude" / "settings.json": ("disableAllHooks",),
        project / ".claude" / "settings.local.json": ("disableAllHooks",),
    }
    for path, keys in files.items():
        with contextlib.suppress(OSError, ValueError, AttributeError, RecursionError):
            settings = json.loads(read_regular_text_file(path).removeprefix("\ufeff"))
            for key in keys:
                if settings.get(key) is True:
                    return path, key
    return None


def has_claude_plugin(scope: SettingsScope) -> bool:
    """Whether the user's settings turn memorist's plugin on."""
    with contextlib.suppress(OSError, ValueError, AttributeError, RecursionError):
        text = read_regular_text_file(find_user_claude_folder(scope) / "settings.json")
        plugins = json.loads(text).get("enabledPlugins", {})
        return any(on is True for name, on in plugins.items() if is_own_plugin(name))
    return False

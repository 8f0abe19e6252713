"""What is installed, and where: how memorist is started, and whose settings hold it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from memorist.hooks.hook_event import Client

HOME_VARIABLE = "MEMORIST_HOME"
"""The environment variable that tells the server its home."""


class LaunchCommand(Struct, frozen=True, kw_only=True):
    """How memorist is started, and for which home; empty for the default one."""

    arguments: tuple[str, ...]
    home: str = ""

    def build_shell_prefix(self) -> str:
        """The shell words in front of a command of memorist's."""
        home = ("env", f"{HOME_VARIABLE}={self.home}") if self.home else ()
        return shlex.join((*home, *self.arguments))

    def build_hook_shell_command(self, event: str, client: Client) -> str:
        """The shell command of a hook.

        It always succeeds, even if the program is gone: a failed hook could stop a turn.
        """
        words = (
            *self.arguments,
            "hook",
            event,
            "--client",
            client,
            *(("--home", self.home) if self.home else ()),
        )
        return f"{shlex.join(words)} || true"


class SettingsScope(Struct, frozen=True, kw_only=True):
    """Whose settings: the user's, or those of one project."""

    home: Path
    """The user's home folder."""
    environment: Mapping[str, str]
    project: Path | None = None

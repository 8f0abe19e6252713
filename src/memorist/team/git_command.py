"""Running the user's own `git` on a remote: without hooks, prompts or the environment of another
repository, and within a time limit.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from memorist.errors import RemoteUnavailable, SettingsError
from memorist.platforms import processes

_PROTOCOLS = "file:git:http:https:ssh"
_PASSED_VARIABLES = (
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_SSL_CAINFO",
)
"""Git variables that say how a remote is reached and who commits; those that name another
repository, as set in a hook, are left out.
"""
_MAX_REMOTE_LINES = 2
"""Lines of the remote's own words that an error holds."""


def check_git_url(url: str) -> None:
    """Raise SettingsError for what is no address of a remote, such as an option of Git."""
    if not url or url.startswith("-") or "::" in url or any(ord(sign) < 32 for sign in url):
        raise SettingsError("the address of a Git remote is a URL or a path")


def strip_url_credentials_in_text(url: str) -> str:
    """Remove user name and password from addresses in a text."""
    return re.sub(r"(\w+://)[^/@\s]*@", r"\1", url)


def find_git_failure_reason(output: str) -> str:
    """Return the line that gives the reason, behind the first words of the remote itself; at most
    300 characters.
    """
    lines = [" ".join(line.split()) for line in output.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("Done", "To "))]
    remote = [line for line in lines if line.startswith("remote: ")][:_MAX_REMOTE_LINES]
    wanted = next(
        (line for line in lines if line.startswith(("fatal:", "error:", "!"))),
        lines[0] if lines else "it says nothing",
    )
    return strip_url_credentials_in_text("; ".join(dict.fromkeys((*remote, wanted))))[:300]


def run_git(
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    git_dir: Path | None,
    given: bytes = b"",
    seconds: float,
    remote: str,
) -> subprocess.CompletedProcess[bytes]:
    """Run Git, in a repository of ours where one is given. Raises SettingsError where there is no
    Git, and RemoteUnavailable, with what the remote is called, where it takes too long.
    """
    command = [
        "git",
        *(() if git_dir is None else ("--git-dir", str(git_dir))),
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "protocol.ext.allow=never",
        "-c",
        "gc.auto=0",
        *words,
    ]
    passed = {
        name: value
        for name, value in environment.items()
        if not name.startswith("GIT_") or name in _PASSED_VARIABLES
    }
    passed |= {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": _PROTOCOLS, "LC_ALL": "C"}
    try:
        running = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=passed,
            start_new_session=True,
        )
    except OSError as error:
        raise SettingsError(
            f"git cannot be run ({error.strerror}); install it, or choose another way to share "
            f"than a Git remote"
        ) from error
    try:
        out, errors = running.communicate(given, timeout=seconds)
    except subprocess.TimeoutExpired:
        processes.kill_process_group(running.pid)
        running.communicate()
        raise RemoteUnavailable(
            f"{remote} took longer than {seconds:g} seconds; try again"
        ) from None
    return subprocess.CompletedProcess(command, running.returncode, out, errors)

"""Whether a recorded session is shown to be the user's own: a recording names no person, only the
folder that it was made in, and mostly that tells whose home it was.
"""

from __future__ import annotations

import re
from pathlib import Path

from memorist.platforms.regular_files import is_reachable_folder
from memorist.platforms.user_home import expand_user

_RECORDED_HOME = re.compile(
    r"(?:/(?:var/)?home/|/(?:Volumes/[^/]+/)?Users/|/mnt/[a-z]/Users/|[A-Za-z]:[\\/]Users[\\/])"
    r"([^\\/]+)"
)
_SHARED_NAMES = frozenset(
    {"admin", "app", "codespace", "coder", "dev", "developer", "ec2-user", "node", "root", "runner",
     "ubuntu", "user", "vscode", "work"}
)  # fmt: skip
"""Names of users that many machines and containers have. Our choice."""


def is_working_folder_of_user(folder: str) -> bool:
    """Whether the folder that a session was made in (empty where it is not recorded) shows that it
    is the user's: it lies in a home of the same name, or is there on this machine and in no home.
    """
    home = Path(expand_user())
    if not folder:
        return False
    recorded = _RECORDED_HOME.match(folder)
    if recorded is not None and recorded[1].casefold() != home.name.casefold():
        return False
    is_shared = recorded is not None and home.name.casefold() in _SHARED_NAMES
    return (recorded is not None and not is_shared) or is_reachable_folder(folder)

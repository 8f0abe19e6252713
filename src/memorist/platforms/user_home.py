"""Whether the system knows the user's home folder, below which `~` leads."""

from __future__ import annotations

import os


def explain_unknown_home() -> str:
    """Say why there is no home folder, and what to do; empty where there is one. HOME may be empty
    or no full path, and without it the user of a container may be unknown.
    """
    named = os.environ.get("HOME")
    if named != "" and os.path.isabs(os.path.expanduser("~")):
        return ""
    what = "is not set" if named is None else f"is {named!r}"
    return (
        f"your home folder is not known: HOME {what}; set it to the full path, or MEMORIST_HOME to "
        f"a folder for memorist"
    )


def describe_foreign_home() -> str:
    """Say that the administrator works in another user's home folder, as `sudo` with its HOME does:
    what is made there belongs to root, and the user's own agents cannot write it. Empty otherwise.
    """
    home = expand_user()
    try:
        owner = os.stat(home).st_uid
    except OSError:
        return ""
    if not hasattr(os, "geteuid") or os.geteuid() or not owner:
        return ""
    return (
        f"you are root, and {home} belongs to user {owner}, who cannot write the files that are "
        f"made now; run it without sudo, or afterwards: chown -R {owner} {home}/.memorist, and the "
        f"agents' settings"
    )


def expand_user(path: str = "~") -> str:
    """The path with the home folder for `~`; as it is where that is not known, where `pathlib`
    raises.
    """
    return os.path.expanduser(path)

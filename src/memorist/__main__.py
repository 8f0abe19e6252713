"""`python -m memorist` and `memorist`: the command line. A hook goes its own way, before anything
else is loaded: an agent waits for it.
"""

from __future__ import annotations

import os
import sys

from memorist.hooks.hook_client import run_hook


def restart_in_utf8() -> None:
    """Start again with UTF-8 for file names, which a Latin-1 or ASCII terminal would have read as
    other names than the rest of the time; the terminal is written to in its own encoding.
    """
    if sys.stdout is not None:
        os.environ.setdefault("PYTHONIOENCODING", f"{sys.stdout.encoding}:backslashreplace")
    words = [word.encode("utf-8", "surrogateescape") for word in sys.orig_argv[1:]]
    program = os.fsencode(sys.executable)
    os.execv(program, [program, b"-X", b"utf8", *words])  # noqa: S606 - this very program


def main() -> None:
    """Run what the arguments say."""
    if sys.getfilesystemencoding() != "utf-8":
        restart_in_utf8()
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        run_hook(sys.argv[2:])
    __import__("memorist.cli.main", fromlist=["main"]).main()


if __name__ == "__main__":
    main()

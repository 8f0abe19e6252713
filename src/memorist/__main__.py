"""`python -m memorist` and `memorist`: the command line. A hook goes its own way, before anything
else is loaded: an agent waits for it.
"""

from __future__ import annotations

import sys

from memorist.hooks.hook_client import run_hook
from memorist.platforms.spawning import restart_in_utf8


def _import_own_packages_first() -> None:
    """Look for modules in this Python's own folders first, in those of `PYTHONPATH` afterwards: the
    shell of a project names that project's modules there, or other versions of the packages that
    memorist is installed with.
    """
    own = (sys.prefix, sys.base_prefix)
    sys.path.sort(key=lambda folder: not folder.startswith(own))


def main() -> None:
    """Run what the arguments say."""
    _import_own_packages_first()
    if sys.getfilesystemencoding() != "utf-8":
        restart_in_utf8()
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv):
        run_hook(sys.argv[2:])
    try:
        run = __import__("memorist.cli.main", fromlist=["main"]).main
    except KeyboardInterrupt:  # Ctrl-C before there is anything to abort
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()

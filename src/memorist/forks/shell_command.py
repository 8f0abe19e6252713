"""Run a command: its own process group, a minimal environment, a time limit, and a limit on
its output.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from memorist.platforms import processes

COMMAND_TIMEOUT_SECONDS = 20.0
"""Time limit of one command: reading files takes less; a command that takes longer follows a pipe
or walks the whole disk.
"""


MAX_OUTPUT_BYTES = 30_000
"""Bytes read of a command's output, as in the hosts' own shell tools."""


_PIPE_DRAIN_SECONDS = 2.0


_GIT_SETTINGS = (
    ("safe.bareRepository", "explicit"),  # files that look like a repository could name programs
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("protocol.allow", "never"),
)


def build_command_environment() -> dict[str, str]:
    """The whole environment of a command: where programs are, a locale, and settings that keep git
    from writing and from starting programs.
    """
    settings: dict[str, str] = {}
    for number, (key, value) in enumerate(_GIT_SETTINGS):
        settings |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {
        "PATH": "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_COUNT": str(len(_GIT_SETTINGS)),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        **settings,
    }


class CommandResult(Struct, frozen=True):
    """The result of a command. `status` is None when it was stopped by the time limit or the output
    limit.
    """

    status: int | None
    output: str
    stop_reason: str = ""


async def run_limited_program(
    argv: list[str],
    *,
    cwd: Path,
    stdin: bytes = b"",
    seconds: float = COMMAND_TIMEOUT_SECONDS,
    limit: int = MAX_OUTPUT_BYTES,
) -> CommandResult:
    """Run a program with these arguments; standard error is merged into the output.

    Cancellation kills it. Raises OSError when it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=build_command_environment(),
        start_new_session=True,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    feeding = asyncio.create_task(_write_input(process, stdin))
    got = bytearray()
    stopped = ""
    try:
        async with asyncio.timeout(seconds):
            stopped = await _read_output(process, got, limit)
            if not stopped:
                await process.wait()
    except TimeoutError:
        stopped = f"stopped after {seconds:g} seconds"
    finally:
        feeding.cancel()
        await _kill_group(process)
        await asyncio.gather(feeding, return_exceptions=True)
    return CommandResult(
        None if stopped else process.returncode, got[:limit].decode("utf-8", "replace"), stopped
    )


async def _read_output(process: asyncio.subprocess.Process, got: bytearray, limit: int) -> str:
    if process.stdout is None:
        return ""
    while chunk := await process.stdout.read(65_536):
        got += chunk
        if len(got) > limit:
            return f"output cut after {limit} bytes"
    return ""


async def _write_input(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is None:
        return
    try:
        process.stdin.write(data)
        await process.stdin.drain()
    except ConnectionError:
        return  # the program did not want all of it
    finally:
        process.stdin.close()


async def _kill_group(process: asyncio.subprocess.Process) -> None:
    """Kill the rest of the process group and wait for the process, so that nothing outlives the
    call.
    """
    processes.kill_process_group(process.pid)
    await process.wait()
    # an unread pipe would stay open until it is collected
    with suppress(TimeoutError):
        async with asyncio.timeout(_PIPE_DRAIN_SECONDS):
            while process.stdout is not None and await process.stdout.read(65_536):
                pass

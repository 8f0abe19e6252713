"""Prove that an agent reaches memorist: run what is in its settings as the agent would, and
wait for a real answer.
"""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Mapping, Sequence

import msgspec

from memorist import __version__
from memorist.hooks.hook_protocol import CHECK_EVENT

PROBE_ATTEMPTS = 3
"""The first hook of a home starts the process behind the hooks, which takes longer than a hook
waits on a slow machine. Our choice.
"""
ANSWER_TIMEOUT_SECONDS = 30.0
"""Longest wait for one answer. Our choice."""
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "memorist-setup", "version": __version__},
    },
}


def probe_hook(command: str, cwd: str) -> bool:
    """Whether the installed shell command of a hook brings an answer of this version."""
    event = msgspec.json.encode({"session_id": "check", "cwd": cwd, "hook_event_name": CHECK_EVENT})
    wanted = f"memorist {__version__} answers".encode()
    for _ in range(PROBE_ATTEMPTS):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run(
                ["sh", "-c", command],
                input=event,
                capture_output=True,
                cwd=cwd,
                timeout=ANSWER_TIMEOUT_SECONDS,
                check=False,
            )
            if done.stdout == wanted:
                return True
    return False


def probe_mcp_server(words: Sequence[str], environment: Mapping[str, str], cwd: str) -> bool:
    """Whether the MCP server that these words start answers a client's first request."""
    try:
        server = subprocess.Popen(
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env=dict(environment),
        )
    except OSError:
        return False
    with server:
        late = threading.Timer(ANSWER_TIMEOUT_SECONDS, server.kill)
        late.start()
        try:
            answer = _ask(server, msgspec.json.encode(_INITIALIZE) + b"\n")
        finally:
            late.cancel()
            server.kill()
    return answer


def _ask(server: subprocess.Popen[bytes], request: bytes) -> bool:
    if server.stdin is None or server.stdout is None:
        return False
    with contextlib.suppress(OSError, msgspec.DecodeError, AttributeError):
        server.stdin.write(request)
        server.stdin.flush()
        said = msgspec.json.decode(server.stdout.readline())
        return bool(said.get("result", {}).get("serverInfo", {}).get("name") == "memorist")
    return False

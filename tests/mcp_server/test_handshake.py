"""A client's first requests are answered before the SDK is loaded, as the SDK would answer them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("mcp")

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "one",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
FIRST: list[dict[str, Any]] = [
    INITIALIZE,
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    {"jsonrpc": "2.0", "id": 3, "method": "ping"},
]
SDK_ALONE = (
    "from pathlib import Path; from memorist.mcp_server.stdio_server import serve_stdio; "
    "serve_stdio(None, Path.cwd())"
)


def ask(words: list[str], requests: list[dict[str, Any]]) -> dict[Any, Any]:
    """The answers by id, each waited for before the next request is sent."""
    found = {}
    with subprocess.Popen(
        [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for request in requests:
            server.stdin.write(json.dumps(request) + "\n")
            server.stdin.flush()
            if "id" in request:
                said = json.loads(server.stdout.readline())
                found[said["id"]] = said["result"]
        server.stdin.close()
        assert server.stdout.read() == ""
        assert server.wait(60) == 0
    return found


@pytest.mark.covers("GO-1")
def test_the_early_answers_are_the_sdks() -> None:
    """Nobody can tell them apart, and nothing is answered twice; a later request, which needs the
    SDK, goes on with the same connection. Half a character in a request is replaced; whole
    characters and backslashes stay as they are, and the next request is answered too.
    """
    later = [*FIRST, {"jsonrpc": "2.0", "id": 4, "method": "prompts/list"}, FIRST[2] | {"id": 5}]
    name = "half \ud83d, whole \U0001f600, other half \udc00, \\ud800"
    lost = {"name": "memory_read", "arguments": {"path": name}}
    call = {"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": lost}
    answers = ask(["-m", "memorist", "mcp"], [*later, call, call | {"id": 7}])
    (content,) = answers.pop(6)["content"]
    repeated = answers.pop(7)

    assert answers == ask(["-c", SDK_ALONE], later)
    assert list(answers) == ["one", 2, 3, 4, 5]
    assert {prompt["name"] for prompt in answers[4]["prompts"]} == {"compact", "skillify"}
    assert answers[5] == answers[2]
    assert "half \ufffd, whole \U0001f600, other half \ufffd, \\\\ud800" in content["text"]
    assert repeated["content"] == [content]


def test_a_version_of_later_days_is_left_to_the_sdk() -> None:
    """What is not known is not promised."""
    params = INITIALIZE["params"]
    assert isinstance(params, dict)
    request = INITIALIZE | {"params": params | {"protocolVersion": "2099-01-01"}}

    assert ask(["-m", "memorist", "mcp"], [request]) == ask(["-c", SDK_ALONE], [request])


def test_requests_that_a_script_pipes_in_are_answered() -> None:
    """Its input ends right behind the last of them, which has no line end; one that was withdrawn
    is not waited for.
    """
    status = {"name": "status", "arguments": {}}
    asked: list[dict[str, Any]] = [
        *FIRST,
        {"jsonrpc": "2.0", "id": "two", "method": "tools/call", "params": status},
        {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": status},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}},
        {"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": status},
    ]
    served = subprocess.run(
        [sys.executable, "-m", "memorist", "mcp", "--project", "."],
        input="\n".join(map(json.dumps, asked)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answers = {each["id"]: each for each in map(json.loads, served.stdout.splitlines())}

    assert {"one", 2, 3, "two", 6} <= {*answers}
    assert "memories:" in answers["two"]["result"]["content"][0]["text"]
    assert "memories:" in answers[6]["result"]["content"][0]["text"]

"""`memorist proxy`."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from memorist.cli.main import memorist_group
from memorist.errors import SettingsError, StoreError, UsageError
from memorist.testing import Say, ScriptedServer


@pytest.mark.covers("IN-3", "SF-6")
def test_it_says_where_it_is_serves_and_ends_when_told(tmp_path: Path) -> None:
    """From the command to an answer, and to an end with status 0 that leaves the transcript whole;
    the log names the session and no key.
    """
    key = "sk-" + "made-up-key"
    with ScriptedServer([Say(text="Hello.")]) as server:
        command = [
            sys.executable,
            "-m",
            "memorist",
            "proxy",
            "--port",
            "0",
            "--upstream",
            f"anthropic={server.url}",
            "--upstream",
            "x=http://127.0.0.1:9/v1",
        ]
        environment = {**os.environ, "MEMORIST_HOME": str(tmp_path)}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            first = running.stdout.readline()
            named = [running.stdout.readline().strip() for _ in range(3)]
            connection = http.client.HTTPConnection(
                "127.0.0.1", int(first.rpartition(":")[2]), timeout=30
            )
            body = json.dumps(
                {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi."}]}
            )
            connection.request(
                "POST", "/v1/messages", body, {"x-api-key": key, "x-memorist-session": "s"}
            )
            answer = connection.getresponse()
            answer.read()
            connection.close()
            running.send_signal(signal.SIGTERM)
            log = running.stderr.read()
            status = running.wait(30)

    assert first.startswith("memorist proxy at http://127.0.0.1:")
    assert named == [
        f"anthropic: {server.url}",
        "openai: https://api.openai.com",
        "x: http://127.0.0.1:9/v1",
    ]
    assert (answer.status, answer.headers["x-memorist-session"], status) == (200, "s", 0)
    assert "POST anthropic /v1/messages 200 unchanged" in log
    assert key not in log
    assert "Hi." in next(tmp_path.rglob("transcript.jsonl")).read_text("utf-8")


@pytest.mark.covers("IN-3", "SF-6")
def test_many_users_are_served_from_a_file_of_tokens_below_the_home_folder(tmp_path: Path) -> None:
    """The start says how many there are; each has a home in `tenants/`; the file's faults are told
    before anything listens.
    """
    token = "made-up-" + "token-of-alice"
    file = tmp_path / "tenants.toml"
    file.write_text(f'[tenants]\nalice = "{token}"\n')
    file.chmod(0o600)
    home = tmp_path / "home"
    with ScriptedServer([Say(text="Hello.")]) as server:
        command = [
            sys.executable,
            "-m",
            "memorist",
            "proxy",
            "--port",
            "0",
            "--upstream",
            f"anthropic={server.url}",
            "--tenants",
            str(file),
        ]
        environment = {**os.environ, "MEMORIST_HOME": str(home)}
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as running:
            assert running.stdout is not None
            lines = [running.stdout.readline().strip() for _ in range(4)]
            body = json.dumps(
                {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "Hi."}]}
            )
            statuses = []
            for headers in (
                {"x-memorist-token": token, "x-memorist-session": "s"},
                {"x-memorist-token": "another"},
            ):
                connection = http.client.HTTPConnection(
                    "127.0.0.1", int(lines[0].rpartition(":")[2]), timeout=30
                )
                connection.request("POST", "/v1/messages", body, headers)
                statuses.append(connection.getresponse().status)
                connection.close()
            running.send_signal(signal.SIGTERM)
            ended = running.wait(60)
    file.chmod(0o644)
    open_to_all = CliRunner().invoke(
        memorist_group, ["proxy", "--port", "0", "--tenants", str(file)]
    )

    assert (statuses, ended, lines[3]) == ([200, 401], 0, "1 tenants, known by their tokens")
    assert "Hi." in next((home / "tenants" / "alice").rglob("transcript.jsonl")).read_text("utf-8")
    assert isinstance(open_to_all.exception, SettingsError)
    assert "chmod 600" in str(open_to_all.exception)


@pytest.mark.parametrize(
    "given",
    [
        "openrouter",
        "=https://a.example",
        "a=ftp://a.example",
        "a=https://",
        "a b=https://a.example",
        "a=https://a.example?key=1",
    ],
)
def test_an_upstream_that_is_none_is_told(given: str) -> None:
    """A name and an address are needed; a query would end up in the log."""
    found = CliRunner().invoke(memorist_group, ["proxy", "--upstream", given])

    assert isinstance(found.exception, UsageError)
    assert "write NAME=URL" in str(found.exception)


@pytest.mark.covers("SF-6")
def test_a_host_beyond_this_machine_needs_a_token_and_a_taken_port_is_told() -> None:
    """Both say what to do, and nothing listens."""
    beyond = CliRunner().invoke(memorist_group, ["proxy", "--port", "0", "--host", "192.0.2.1"])
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = CliRunner().invoke(memorist_group, ["proxy", "--port", str(taken.getsockname()[1])])

    assert isinstance(beyond.exception, UsageError)
    assert "MEMORIST_PROXY_TOKEN" in str(beyond.exception)
    assert isinstance(port.exception, StoreError)
    assert "choose another --port" in str(port.exception)


def test_without_its_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The core needs no HTTP library."""
    for name in [name for name in sys.modules if name.startswith("memorist.proxy.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "aiohttp", None)

    found = CliRunner().invoke(memorist_group, ["proxy"])

    assert isinstance(found.exception, UsageError)
    assert "memorist[proxy]" in str(found.exception)

"""`memorist mcp` as a client starts it: a process of its own, two at once, killed, left by its
client.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from mcp_server.conftest import Asker, Connect
from support.sweeps import sampled

SECONDS = 300.0
KILLED = textwrap.dedent("""
    import os, signal, sys
    steps = 0
    def counted(plain):
        def wrapped(*given, **named):
            global steps
            steps += 1
            if steps == int(sys.argv[1]):
                os.kill(os.getpid(), signal.SIGKILL)
            return plain(*given, **named)
        return wrapped
    os.link, os.fsync, os.unlink = counted(os.link), counted(os.fsync), counted(os.unlink)
    from memorist.cli.main import memorist_group
    memorist_group(["mcp"])
""")
"""Each durable write is two or three of these steps: the bytes, the name, the end of what was
temporary.
"""

_CLIENT = "import subprocess, sys; subprocess.run([sys.argv[1], '-c', sys.argv[2]])"
_QUICKLY = textwrap.dedent("""
    from memorist.platforms import processes
    processes.PARENT_CHECK_SECONDS = 0.05
    from memorist.cli.main import memorist_group
    memorist_group(["mcp"])
""")


def program(
    shop: Path, *, command: Sequence[str] = ("-m", "memorist", "mcp")
) -> StdioServerParameters:
    """How a client starts the server in a project."""
    environment = {name: os.environ[name] for name in ("MEMORIST_HOME", "HOME", "PATH")}
    return StdioServerParameters(
        command=sys.executable, args=list(command), env=environment, cwd=shop
    )


def memories() -> dict[str, str]:
    found = Path(os.environ["MEMORIST_HOME"]).glob("projects/*/memory/*.md")
    return {path.name: path.read_text("utf-8") for path in found if path.name != "MEMORY.md"}


def spoken(tool: str, **arguments: str) -> str:
    """What a client says to call a tool, as lines, and then nothing more."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    said = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        },
    ]
    return "".join(json.dumps(each) + "\n" for each in said)


def answers(shop: Path, step: int, words: str) -> list[int]:
    """The ids of what a server answers that is killed at a step of its first write. Its client does
    not hang up.
    """
    command = [sys.executable, "-c", KILLED, str(step)]
    with subprocess.Popen(
        command,
        cwd=shop,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(words)
        process.stdin.flush()
        found: list[int] = []
        while 2 not in found and (line := process.stdout.readline()):
            found.append(json.loads(line)["id"])
    return found


@pytest.mark.covers("IN-2")
@pytest.mark.parametrize("mode", sampled(["auto", "legacy"], {"auto"}))
async def test_a_client_starts_it_and_is_served(shop: Path, mode: str) -> None:
    """The program on its own: the project of its working folder, the instructions, a write and a
    search.
    """
    async with Client(program(shop), mode=mode, read_timeout_seconds=SECONDS) as client:
        asker = Asker(client)
        await asker.ask(
            "memory_write", text="The door is green.", kind="project", description="The door"
        )
        found = await asker.ask("memory_search", query="which colour has the door?")
        status = await asker.ask("status")
        instructions = client.instructions or ""

    assert "The door is green." in found
    assert f"project: {shop}" in status
    assert "memory_search" in instructions


@pytest.mark.covers("SF-4")
@pytest.mark.parametrize("count", sampled([3, 8], {3}))
async def test_two_servers_on_one_project_lose_nothing(shop: Path, count: int) -> None:
    """Both write at once, under the same names too: every memory is there, each as one change of
    the history, and both find all of them.
    """

    async def write(client: Client, who: str) -> None:
        for number in range(count):
            text = f"{who} saw bird number {number} on the lake."
            await Asker(client).ask(
                "memory_write", text=text, kind="project", description=f"Bird {number} on the lake"
            )

    async with (
        Client(program(shop), read_timeout_seconds=SECONDS) as one,
        Client(program(shop), read_timeout_seconds=SECONDS) as two,
    ):
        await asyncio.gather(write(one, "Ann"), write(two, "Ben"))
        statuses = [await Asker(client).ask("status") for client in (one, two)]
        whys = [await Asker(one).ask("why", path=name) for name in memories()]

    bodies = "\n".join(memories().values())
    assert all(
        f"{who} saw bird number {number} on" in bodies
        for who in ("Ann", "Ben")
        for number in range(count)
    )
    assert all(f"memories: {2 * count} " in status for status in statuses)
    assert all(why.count("  agent: ") == 1 for why in whys)


@pytest.mark.covers("SF-5", "SF-4")
@pytest.mark.parametrize("step", sampled([1, 3, 5, 7], {3}))
async def test_a_server_that_is_killed_in_a_write_leaves_all_or_nothing(
    connect: Connect, shop: Path, step: int
) -> None:
    """What was told as written stays; the one under way is whole or not there, and asked again it
    stands once, as one change of the history.
    """
    birds = {"text": "The heron eats fish.", "kind": "project", "description": "The heron"}
    async with connect() as asker:
        await asker.ask(
            "memory_write", text="The door is green.", kind="project", description="The door"
        )
    assert await asyncio.to_thread(answers, shop, step, spoken("memory_write", **birds)) == [1]
    assert all(text.endswith("\n") for text in memories().values())

    async with connect() as asker:
        again = await asker.ask("memory_write", **birds)
        why = await asker.ask("why", path="the-heron.md")

    assert again == "remembered: the-heron.md" or "the-heron.md says so already" in again
    assert sorted(memories()) == ["the-door.md", "the-heron.md"]
    assert why.count("  agent: ") == 1


@pytest.mark.parametrize("whole", sampled([False, True], {False}))
def test_a_client_that_hangs_up_ends_it(shop: Path, *, whole: bool) -> None:
    """In the middle of a line, of a request, without a greeting, after nonsense, or when it has
    asked: the process ends by itself, quietly on its standard output.
    """
    told = spoken("memory_write", text="The door is green.", kind="project", description="The door")
    done = subprocess.run(
        [sys.executable, "-m", "memorist", "mcp"],
        cwd=shop,
        input=told if whole else f"{{nonsense\n\x00\n{told[:300]}",
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in done.stdout.splitlines())
    assert all("The door is green." in text for text in memories().values())


@pytest.mark.covers("IN-2")
def test_a_message_that_is_no_request_is_answered(shop: Path) -> None:
    """With an error of JSON-RPC; who had sent it waited for ever. What names no request, or answers
    one of the server's, is answered by none.
    """
    hello, opened, _ = spoken("status").splitlines()
    given = [
        {"jsonrpc": "2.0", "id": 3},
        {"jsonrpc": "2.0", "id": "4", "method": 5},
        {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": []},
        {"id": 6, "method": "tools/list"},
        [{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}],
        {"jsonrpc": "2.0", "id": 8, "result": 1},
        {"jsonrpc": "2.0", "id": 9, "error": "no"},
        {"jsonrpc": "2.0", "id": 9, "error": {"code": "x"}},
        "no request",
        {"jsonrpc": "2.0", "method": 9},
    ]
    deep = '{"jsonrpc":"2.0","id":10,"method":' + "[" * 3_000 + "]" * 3_000 + "}"
    lines = [hello, opened, *map(json.dumps, given), "", deep, "{", json.dumps(given[0])]
    done = subprocess.run(
        [sys.executable, "-m", "memorist", "mcp"], input="\n".join(lines), cwd=shop,
        capture_output=True, text=True, timeout=SECONDS, check=True,
    )  # fmt: skip

    said = [json.loads(line) for line in done.stdout.splitlines()]
    told = [(each["id"], each["error"]["code"]) for each in said if "error" in each]
    wrong, unread = -32600, (None, -32700)
    asked = [(id, wrong) for id in (3, "4", 5, 6, None, None)]
    assert told == [*asked, unread, unread, (3, wrong)]


def test_little_is_loaded_before_the_first_call() -> None:
    """Neither memory nor recall nor any model's SDK before the protocol is up; and the engine
    never.
    """
    serve = "memorist.mcp_server.stdio_server"
    code = f"import sys, {serve}\nfrom importlib import import_module\n"
    code += (
        "def loaded(*names): return sorted(name for name in sys.modules if "
        "name.startswith(names))\n"
    )
    code += (
        "print(loaded('memorist.auto_memory', 'memorist.recall', 'memorist.store', "
        "'anthropic', 'openai'))\n"
    )
    code += "import_module('memorist.mcp_server.call_dispatch')\n"
    code += (
        "print(loaded('memorist.engine.engine', 'memorist.transcript_analysis.transcript_ledger', "
        "'memorist.rollouts.stage_one', 'anthropic', 'openai', 'numpy'))"
    )

    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=SECONDS
    )

    assert said.stdout.split("\n")[:2] == ["[]", "[]"]


@pytest.mark.skipif(os.name == "nt", reason="a process of Windows keeps its parent's number")
def test_a_server_ends_after_the_client_that_started_it(tmp_path: Path) -> None:
    """Another process may hold its pipe open when the client is killed: servers stayed for days."""
    held, kept = os.pipe()
    client = subprocess.Popen(
        [sys.executable, "-c", _CLIENT, sys.executable, _QUICKLY], stdin=held,
        stdout=subprocess.PIPE, cwd=tmp_path,
    )  # fmt: skip
    os.close(held)
    os.write(kept, spoken("status").splitlines(keepends=True)[0].encode())
    assert client.stdout is not None
    assert b'"serverInfo"' in client.stdout.readline()
    client.kill()
    client.wait()

    with client.stdout as output:
        assert output.read() == b""  # read to its end: nobody has it open
    os.close(kept)

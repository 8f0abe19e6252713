"""Secrets that come in by every door of one home stand nowhere afterwards: no file, name, database
page, object of Git in the home, the team's repository or what another machine is given.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from attacks.host import Attacked, writes
from benchmarks.secrets import SHAPES, Chance, fill
from hooks.recordings import FOLDER, ClaudeFile
from memorist.cli.main import memorist_group
from memorist.core.messages import JsonObject
from memorist.engine.engine import Memorist
from memorist.engine.tenants import Tenants
from memorist.machines.machine_identity import load_machine_identity
from memorist.machines.snapshot_cipher import decrypt_snapshot
from memorist.store.home_layout import Layout
from memorist.testing.steps import CallTool, Say
from rollouts.conftest import codex

pytestmark = pytest.mark.covers("SF-1")

_TOKEN = re.compile(r"[A-Za-z0-9_-]{20,150}")
_DATABASE_PART = re.compile(r"\.sqlite(-wal|-shm)?$")


class PlantedSecrets:
    """One secret for each door, each of another kind that is known by its form alone."""

    def __init__(self) -> None:
        chance = Chance(11)
        drawn = [fill(shapes[0], chance)[0] for shapes in SHAPES.values()]
        self._left = [each for each in drawn if _TOKEN.fullmatch(each)]
        self.doors: dict[str, str] = {}

    def __getitem__(self, door: str) -> str:
        if door not in self.doors:
            self.doors[door] = self._left.pop()
        return self.doors[door]

    def find(self, *folders: Path, texts: tuple[bytes, ...] = ()) -> list[str]:
        """The doors whose secret stands somewhere, and where; letters of either case count, since
        an index keeps small ones.
        """
        held = [(place, data.lower()) for folder in folders for place, data in _contents(folder)]
        held += [("given", text.lower()) for text in texts]
        return [
            f"{door}: {place}"
            for door, secret in self.doors.items()
            for place, data in held
            if secret.lower().encode() in data
        ]


def _contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of everything below a folder; objects of Git are unpacked."""
    for path in folder.rglob("*"):
        place = str(path.relative_to(folder))
        yield place, path.name.encode()
        if path.is_file():
            data = path.read_bytes()
            yield place, data
            if "objects" in path.parts and len(path.parent.name) == 2:
                yield place, zlib.decompress(data)
        elif (path / "objects" / "pack").is_dir():
            words = ["git", "cat-file", "--batch-all-objects", "--batch"]
            done = subprocess.run(words, cwd=path, capture_output=True, check=True)
            yield f"{place} (objects)", done.stdout


def _memorist(*words: str) -> str:
    done = CliRunner().invoke(memorist_group, list(words))
    return f"{done.output}{done.exception}"


async def _talk(host: Attacked, planted: PlantedSecrets) -> None:
    """A session with messages, calls, results, documents, a fork, a compaction and a recall."""
    session = await host.open()
    await host.turn(session, f"Never push. My key is {planted['message']}.")
    await host.turn(session, f"Remember that the importer pulls with {planted['wish']}.")
    header = f"description: the importer build {planted['header']}\nowner: {planted['header key']}"
    host.obeys = (
        writes(
            host.folder,
            {
                "body.md": f"---\ntype: reference\n{header}\n---\nUses {planted['body']}\n",
                f"k-{planted['file name']}.md": "---\ntype: project\n---\nRuns on Tuesdays.\n",
            },
        )
        + f" with {planted['answer of a fork']}"
    )
    arguments = {
        "command": f"curl -H {planted['command']}",
        "list": [planted["list"]],
        planted["name of an argument"]: 1,
    }
    call = CallTool(name="Bash", input=arguments, id=planted["id of a call"])
    await host.turn(session, "Look at the importer.", call)
    log = "a line of the log\n" * 5_000
    content: list[JsonObject] = [{"type": "text", "text": log + planted["large result"] + log}]
    result = {"type": "tool_result", "tool_use_id": planted["id of a call"], "content": content}
    await host.turn(session, [result])
    reading = CallTool(name="Read", input={"file_path": f"/x/{planted['path']}.txt"}, id="t2")
    await host.turn(session, "Go on with the importer.", reading)
    source = {"type": "text", "media_type": "text/plain", "data": planted["document"]}
    document = {"type": "document", "source": source, "title": planted["title"]}
    await host.turn(session, [{"type": "tool_result", "tool_use_id": "t2", "content": [document]}])
    session.pin(f"keep {planted['pin']}")
    await host.turn(session, "Once more.", Say(text=f"The key is {planted['reply']}."))
    host.answer = Say(text=f"<summary>Pulls with {planted['summary']}</summary>")
    await session.compact()
    await host.turn(session, "And after it?")
    await session.close()
    named = await host.engine.open(f"run-{planted['id of a session']}", project=str(host.project))
    await named.prepare(_body("Remember that invoices go to the folder ledger."))
    await named.close()
    await host.shown_later("What does the importer pull with?")


def _body(text: str) -> JsonObject:
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}


async def _record(planted: PlantedSecrets, user: Path) -> None:
    """A host of another format, a tenant, and sessions that clients recorded."""
    async with Memorist(model="structural", home=user / "home") as engine:
        session = await engine.open("s-r", project=str(user / "shop"), format="openai_responses")
        call, spoken = planted["id of another call"], json.dumps({"cmd": planted["arguments"]})
        text = [{"type": "input_text", "text": "go"}]
        await session.prepare(
            {
                "model": "m",
                "instructions": planted["instructions"],
                "input": [
                    {"type": "function_call", "call_id": call, "name": "sh", "arguments": spoken},
                    {"type": "function_call_output", "call_id": call, "output": planted["output"]},
                    {"type": "message", "role": "user", "content": text},
                ],
            }
        )
        await session.end_turn()
        await session.close()
    async with Tenants(user / "home" / "users", model="structural") as tenants:
        theirs = await tenants.open(planted["name of a user"], "s1")
        await theirs.prepare(_body("Remember that invoices go to the folder ledger."))
        await theirs.close()
    file = ClaudeFile(cwd=FOLDER)
    file.add("summary", summary=planted["client's summary"])
    file.user(f"Always deploy with {planted['recorded message']} from here.")
    file.calls(f"deploy {planted['recorded command']}", f"Exit code 1\n{planted['failure']}")
    file.calls("deploy --ok", "done")
    file.says("Done.")
    path = user / ".claude" / "projects" / "shop" / "c1.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(file.lines))
    rollout = user / ".codex" / "sessions" / "2026" / "rollout-b.jsonl"
    codex(rollout, [f"Never use the token {planted['recorded rollout']} in tests.", "Thanks."])


def _use_the_command_line(planted: PlantedSecrets, user: Path) -> list[str]:
    """Import, notes by hand, search, a team push and a sync of machines; returns refusals."""
    _memorist("import", "--yes")
    _memorist("memory", "add", "--name", planted["name"], f"the key {planted['added memory']}")
    _memorist("memory", "add", "--kind", "project", "--name", "release", "Release on Tuesdays")
    _memorist("search", planted["query"])
    _memorist("handoff", "s1", "--to", str(user / "home" / "handed.md"))
    folder = next(path.parent for path in (user / "home").glob("projects/*/memory/release.md"))
    by_hand = "---\nname: {0}\ntype: project\ndescription: {0} {1}\n---\nWe ship with {2}\n"
    (folder / "by-hand.md").write_text(
        by_hand.format("by hand", planted["description by hand"], planted["by hand"])
    )
    _memorist("recall", "what do we ship with")
    (user / "team.git").mkdir()
    subprocess.run(["git", "init", "-q", "--bare", "."], cwd=user / "team.git", check=True)
    _memorist("team", "init", f"git:file://{user}/team.git")
    _memorist("team", "share", "release.md")
    refused = [_memorist("team", "share", "by-hand.md", "--yes")]
    (folder / "team" / "raw.md").write_text(by_hand.format("raw", "how", planted["team by hand"]))
    refused.append(_memorist("team", "push"))
    (user / "place").mkdir()
    _memorist("machines", "init", str(user / "place"))
    _memorist("dream", "--now")
    (folder / "by-hand.md").unlink()
    (folder / "team" / "raw.md").unlink()
    _memorist("team", "push")
    _memorist("machines", "sync")
    return refused


def _given_to_machines(user: Path) -> tuple[bytes, ...]:
    """What another machine of the user reads, decrypted."""
    own = load_machine_identity(Layout(user / "home"))
    return tuple(
        repr(decrypt_snapshot(own.key, path.stem, path.read_bytes())).encode()
        for path in (user / "place").iterdir()
    )


async def test_secrets_of_every_door_stand_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages, calls, names of files and arguments, ids, documents, what a fork wrote, a summary,
    recorded sessions, memories added or written by hand, a team and machines: a secret of another
    kind each, none found, not in databases nor in packed or loose objects either. What a
    person writes into a memory file by hand is in that file alone, and is gone with it.
    """
    pytest.importorskip("cryptography")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    planted = PlantedSecrets()
    async with Attacked(tmp_path) as host:
        await _talk(host, planted)
    await _record(planted, tmp_path)
    monkeypatch.chdir(tmp_path / "shop")
    # The command line has event loops of its own.
    refused = await asyncio.to_thread(_use_the_command_line, planted, tmp_path)

    assert len(planted.doors) >= 27
    assert all("it holds a secret" in each for each in refused)
    places = (tmp_path / "home", tmp_path / "team.git", tmp_path / "place")
    assert planted.find(*places, texts=_given_to_machines(tmp_path)) == []
    assert any(_DATABASE_PART.search(path.name) for path in (tmp_path / "home").rglob("*"))

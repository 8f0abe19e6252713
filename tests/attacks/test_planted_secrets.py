"""Secrets that pass through a session stand nowhere in the home."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from attacks.host import Attacked, writes
from benchmarks.secrets import secrets
from hooks.recordings import ClaudeFile
from memorist.cli.main import memorist_group
from memorist.core.messages import JsonObject
from memorist.engine.engine import Memorist
from memorist.safety.redacted_json import encode_redacted, redact_json
from memorist.settings import Settings
from memorist.testing.steps import CallTool, Say

pytestmark = pytest.mark.covers("SF-1")

SAMPLES = tuple({sample.rule: sample for sample in secrets(rounds=1, seed=7)}.values())
LOG = "line of the build log, which is long\n" * 4_000


def leaks(folder: Path, planted: list[str]) -> list[str]:
    """Which of the secrets stand in which file below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    held = [(path, path.read_bytes()) for path in files]
    return [
        f"{secret[:8]}… in {path.relative_to(folder)}"
        for secret in planted
        for path, data in held
        if secret.encode() in data or secret in path.name
    ]


async def test_no_planted_secret_stands_anywhere_in_the_home(tmp_path: Path) -> None:
    """Said by the user, printed by a tool, stored as a large result, written by a model, used as a
    tool's argument, repeated by the assistant, compacted, recalled: the model is sent the host's
    own bytes each time, and no file of the home, log or temporary file holds one.
    """
    assert len(SAMPLES) >= 27
    texts = [sample.text for sample in SAMPLES]
    planted = [sample.secret for sample in SAMPLES if len(sample.secret) >= 8]
    async with Attacked(tmp_path) as host:
        session = await host.open()
        await host.turn(session, "Never push without review.\n" + "\n".join(texts[::3]))
        for number, text in enumerate(texts[1::3]):
            await host.turn(session, f"Remember that the importer uses {text} number {number}.")
        host.obeys = writes(
            host.folder, {"keys.md": "---\ntype: reference\n---\n" + "\n".join(texts)}
        )
        await host.turn(
            session,
            "Look at the log of the importer.",
            CallTool(name="Bash", input={"command": texts[5], "password": "kT9#vQ2!mZ7p"}, id="t1"),
        )
        result = LOG + "\n".join(texts[2::3]) + LOG
        await host.turn(
            session,
            [{"type": "tool_result", "tool_use_id": "t1", "content": result}],
            Say(text="The keys are:\n" + "\n".join(texts[::4])),
        )
        await session.compact()
        await host.turn(session, "What does the importer use, and who reviews?")
        sent = str(host._sent[0])
        await session.close()
        await host.shown_later("What does the importer use for its keys?")

    assert all(part in sent.replace("\\n", "\n") for part in planted[:1])
    assert leaks(tmp_path / "home", [*planted, "kT9#vQ2!mZ7p"]) == []


KNOWN_BY_THEIR_LINE = {
    "Falter33": "openssl rsa -in key.pem -passin pass:{} -out plain.pem",
    "Libelle22": "ALTER ROLE app WITH LOGIN PASSWORD '{}';",
    "jangada#55": "a senha do admin é {}",
    "Ah0rn-blatt": "[corp]\nusername = build\npassword = {}",
    "fjord88": "web1 ansible_host=10.0.0.5 ansible_user=ops ansible_ssh_pass={}",
    "Q-elle19": "spring.datasource.password={}\nspring.datasource.username=app",
    "Kastanie8": "7z x backup.7z -p{}",
    "hummel7flug": "docker login registry.corp.internal -u ci -p {}",
}


@pytest.mark.parametrize("kept", [True, False], ids=["closed", "killed"])
async def test_what_is_made_of_a_message_holds_no_secret_that_only_its_line_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, kept: bool
) -> None:
    """Notes, the index of past sessions, stage one's extracts and a hand-over shorten a message,
    put it on one line or take it apart into words; it has been redacted before.
    """
    texts = [line.format(secret) for secret, line in KNOWN_BY_THEIR_LINE.items()]
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    file = ClaudeFile("5e55", str(tmp_path))
    for text in texts:
        file.user(f"Remember: {text}")
        file.calls(text, text)
        file.says(text)
    recorded = tmp_path / ".claude" / "projects" / "p" / "5e55.jsonl"
    recorded.parent.mkdir(parents=True)
    recorded.write_bytes(b"".join(file.lines))
    os.utime(recorded, (1_790_000_000, 1_790_000_000))
    async with Attacked(tmp_path) as host:
        session = await host.open()
        for text in texts:
            await host.turn(session, f"Remember: {text}", Say(text=f"Kept: {text}"))
            await session.update_notes()
        if not kept:  # what is there now is what a killed process leaves
            shutil.copytree(tmp_path / "home", tmp_path / "left")
        await session.close()

    for words in (
        ("import", "--yes", "--model", "structural"),
        ("search", "docker login"),
        ("handoff", str(recorded), "--to", "codex"),
    ):
        done = await asyncio.to_thread(CliRunner().invoke, memorist_group, words)
        assert done.exit_code == 0, done.output
    assert (tmp_path / "home" / "session-index.sqlite").exists()
    assert leaks(tmp_path / ("home" if kept else "left"), list(KNOWN_BY_THEIR_LINE)) == []


async def test_a_resumed_session_sends_the_hosts_own_bytes(tmp_path: Path) -> None:
    """The transcript has marks, the request of the next process does not: what the host sends is
    recognised and goes out unchanged, and what is written is the same each time.
    """
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    secret = SAMPLES[0].secret
    body: JsonObject = {"model": "m", "max_tokens": 10}
    reply = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
    first: list[JsonObject] = [
        {"role": "user", "content": f"Use {SAMPLES[0].text} for the importer."}
    ]
    later = [*first, reply, {"role": "user", "content": "Go on."}]
    sizes = []
    for messages in (first, later, later):
        async with Memorist(model="structural", home=tmp_path / "home") as engine:
            session = await engine.open("s1", project=str(tmp_path / "shop"))
            sent = await session.prepare({**body, "messages": messages})
            await session.close()
        assert secret in str(sent)
        assert sent["messages"][: len(messages)] == messages
        (path,) = (tmp_path / "home").rglob("transcript.jsonl")
        assert secret.encode() not in path.read_bytes()
        sizes.append(path.stat().st_size)
    assert sizes[1] == sizes[2]


async def test_raw_transcripts_can_be_asked_for(tmp_path: Path) -> None:
    """The setting keeps the words as they were, and then what is fetched back is whole."""
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    settings = Settings(home=str(tmp_path / "home"), raw_transcripts=True)
    secret = SAMPLES[0].secret
    async with Memorist(model="structural", settings=settings) as engine:
        session = await engine.open("s1", project=str(tmp_path / "shop"))
        content = f"Use {SAMPLES[0].text} here."
        await session.prepare(
            {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]}
        )
        await session.close()

    (path,) = (tmp_path / "home").rglob("transcript.jsonl")
    assert secret.encode() in path.read_bytes()


def test_a_value_without_secrets_is_written_as_it_is() -> None:
    """The same object, the same bytes; identifiers, pictures and signatures are not looked at; the
    name of an argument counts as a key's.
    """
    secret = SAMPLES[0].secret
    plain = {"a": ["use pnpm", 1, None], "data": secret, "input": {"n": 1}}
    named: JsonObject = {
        "type": "tool_use",
        "id": "t1",
        "input": {"password": "kT9#vQ2!mZ7p", "path": "a.py"},
    }

    assert redact_json(plain) is plain
    assert encode_redacted(plain) == encode_redacted(dict(plain))
    assert redact_json(named)["input"]["password"].startswith("[redacted: ")
    assert redact_json(named)["input"]["path"] == "a.py"
    text = SAMPLES[0].text
    assert redact_json({"input": {"data": text}})["input"]["data"] != text

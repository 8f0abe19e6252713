"""The sessions of other agents are found, remembered, searched, shown and handed over."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from memorist.cli.main import memorist_group
from memorist.core.messages import Message
from memorist.formats.format_detection import read_session
from memorist.formats.transcript_format import RawTranscriptLine
from support.other_agents import (
    ANSWERED,
    ASKED,
    copilot_session,
    gemini_document,
    gemini_session,
    opencode_export,
    pi_session,
    write_cursor_databases,
    write_opencode_database,
)

AGENTS = {
    "copilot": "Copilot CLI",
    "cursor": "Cursor",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
    "pi": "pi",
}


def memorist(*arguments: str, **more: Any) -> Result:
    ran = CliRunner().invoke(memorist_group, arguments, **more)
    assert "Traceback" not in ran.output
    return ran


def copies() -> list[Path]:
    """The copies of sessions in memorist's home."""
    listed = json.loads(memorist("sessions", "--json").stdout)["sessions"]
    return [Path(each["file"]) for each in listed if each["agent"] == "opencode"]


def put(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (1_780_000_000, 1_780_000_000))
    return path


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user of five other agents, each with one session in the folder they work in."""
    shop = tmp_path / "shop"
    shop.mkdir()
    monkeypatch.chdir(shop)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "COPILOT_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("APPDATA", str(tmp_path / ".config"))
    put(tmp_path / ".pi/agent/sessions/--shop--/p.jsonl", pi_session(str(shop)))
    put(tmp_path / ".copilot/session-state/cop-1/events.jsonl", copilot_session(str(shop)))
    put(tmp_path / ".gemini/tmp/shop/chats/session-1.jsonl", gemini_session(str(shop)))
    (tmp_path / ".gemini/tmp/shop/.project_root").write_text(str(shop))
    write_opencode_database(
        tmp_path / ".local/share/opencode/opencode.db", opencode_export(str(shop))
    )
    mac = "Library/Application Support/Cursor/User"
    write_cursor_databases(
        tmp_path / (mac if sys.platform == "darwin" else ".config/Cursor/User"), shop
    )
    return tmp_path


@pytest.mark.covers("RO-1")
@pytest.mark.usefixtures("user")
@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_the_sessions_of_an_agent_are_of_use_after_one_import(agent: str) -> None:
    """After `import --from` its session is in the list of this folder, found by what was answered,
    and handed over with what was asked.
    """
    done = memorist("import", "--from", agent, "--yes")
    listed = json.loads(memorist("sessions", "--json").stdout)["sessions"]
    found = json.loads(memorist("search", "marmot ledger", "--json").stdout)["passages"]
    target = f"{agent}.md"
    handed = memorist("handoff", listed[0]["id"], "--to", target)

    assert f"to remember: 1 of {AGENTS[agent]}" in done.stdout
    ours = [each for each in listed if each["agent"] == AGENTS[agent]]
    assert len(ours) == 1
    assert any(each["file"] == ours[0]["file"] and ANSWERED in each["answered"] for each in found)
    assert handed.exit_code == 0
    assert ASKED in Path(target).read_text()


@pytest.mark.covers("RO-1")
@pytest.mark.usefixtures("user")
def test_an_import_finds_every_agent_by_itself_but_cursor() -> None:
    """Nobody has to know where the agents keep their sessions; Cursor's database, which it does not
    document, is opened only when named.
    """
    done = memorist("import", "--yes")

    assert "to remember: 1 of Copilot CLI, 1 of Gemini CLI, 1 of opencode, 1 of pi" in done.stdout


def test_a_session_in_a_database_is_copied_again_when_it_grows(user: Path) -> None:
    """What was said since the last import is found after the next; a session that did not change is
    not copied again.
    """
    memorist("import", "--from", "opencode", "--yes")
    (copy,) = copies()
    before = copy.stat()
    memorist("import", "--from", "opencode", "--yes")
    assert copy.stat().st_ino == before.st_ino
    grown = opencode_export(str(user / "shop"))
    grown["messages"][-1]["parts"][0]["text"] = "The heron report is done."
    write_opencode_database(
        user / ".local/share/opencode/opencode.db", grown, updated=1_780_000_900_000
    )
    memorist("import", "--from", "opencode", "--yes")

    assert "heron" in memorist("search", "heron report", "--json").stdout


@pytest.mark.covers("WD-3")
def test_a_headless_session_of_opencode_holds_nothing_that_was_typed(user: Path) -> None:
    """Its database says that nobody could be asked, and the copy does so too."""
    export = opencode_export(str(user / "shop"))
    export["info"]["permission"] = [{"permission": "question", "pattern": "*", "action": "deny"}]
    write_opencode_database(
        user / ".local/share/opencode/opencode.db", export, updated=1_780_000_900_000
    )
    memorist("import", "--from", "opencode", "--yes")
    (copy,) = copies()

    lines = enumerate(copy.read_bytes().splitlines(keepends=True), 1)
    entries = read_session([RawTranscriptLine(*each) for each in lines])
    asked = next(each for each in entries if isinstance(each, Message))
    assert not asked.is_typed


def test_secrets_do_not_enter_the_copies(user: Path) -> None:
    """A key that was typed into opencode is not written into memorist's home."""
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    export = opencode_export(str(user / "shop"))
    export["messages"][0]["parts"][0]["text"] = f"Use {key} to push."
    write_opencode_database(user / ".local/share/opencode/opencode.db", export)
    memorist("import", "--from", "opencode", "--yes")
    (copy,) = copies()

    assert key not in copy.read_text()


@pytest.mark.parametrize("agent", ["opencode", "cursor"])
def test_a_damaged_database_is_named_and_nothing_is_lost(user: Path, agent: str) -> None:
    """A database that cannot be read is told with its path; the sessions copied before stay."""
    memorist("import", "--from", agent, "--yes")
    names = {"opencode": "opencode.db", "cursor": "globalStorage/state.vscdb"}
    (path,) = (each for each in user.rglob("*") if str(each).endswith(names[agent]))
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
    done = memorist("import", "--from", agent, "--yes")
    listed = json.loads(memorist("sessions", "--json").stdout)["sessions"]

    assert str(path) in done.output
    assert "cannot be read" in done.output
    assert [each["agent"] for each in listed if each["agent"] == AGENTS[agent]]


def test_a_workspace_on_another_host_keeps_no_chat_from_being_copied(user: Path) -> None:
    """Cursor names the folder of a workspace by an address; one that Python takes for no address,
    as over SSH to IPv6, is of no chat here.
    """
    (storage,) = user.rglob("workspaceStorage")
    put(storage / "a0/workspace.json", b'{"folder": "vscode-remote://ssh-remote+[fe80::1]/shop"}')
    done = memorist("import", "--from", "cursor", "--yes")

    assert "to remember: 1 of Cursor" in done.stdout


def test_an_agent_without_sessions_is_said_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who imports from an agent that was never used here is told where was looked."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    done = memorist("import", "--from", "gemini", "--yes")

    assert done.exit_code == 1
    assert str(tmp_path / ".gemini") in str(done.exception) + done.output


def test_a_chat_of_gemini_before_its_slugs_is_put_into_its_project(user: Path) -> None:
    """Where the folder is named by the digest of the project's path, the list of projects tells
    which it is; a sub-agent's chat is left out.
    """
    shop = str(user / "shop")
    folder = user / ".gemini/tmp" / hashlib.sha256(shop.encode()).hexdigest() / "chats"
    put(folder / "session-0.json", gemini_document(shop).replace(b"gem-1", b"gem-2"))
    sub = gemini_session(shop).replace(b"gem-1", b"gem-3")
    put(folder / "gem-2" / "session-s.jsonl", sub + b'{"$set": {"kind": "subagent"}}\n')
    (user / ".gemini/projects.json").write_text(json.dumps({"projects": {shop: "shop"}}))
    done = memorist("import", "--from", "gemini", "--yes")
    listed = json.loads(memorist("sessions", "--json").stdout)["sessions"]

    gemini = {each["id"] for each in listed if each["agent"] == AGENTS["gemini"]}
    assert gemini == {"gem-1", "gem-2"}
    assert "sub-agent" in done.output


@pytest.mark.covers("RO-1")
def test_a_long_session_in_one_document_is_remembered(user: Path) -> None:
    """Gemini CLI's first files are one indented document, which is whole at its last line alone."""
    document = json.loads(gemini_document(str(user / "shop")))
    document["messages"] += [
        {"id": f"m{each}", "timestamp": "2026-05-28T10:00:00Z", "type": "gemini", "content": "ok"}
        for each in range(200)
    ]
    path = user / ".gemini/tmp/shop/chats/session-1.json"
    put(path, json.dumps(document, indent=2).encode())
    path.with_suffix(".jsonl").unlink()
    done = memorist("import", "--from", "gemini", "--yes")

    assert "1 of Gemini CLI" in done.stdout
    assert ASKED in memorist("rollouts", "show", "gem-1").stdout
    assert ANSWERED in memorist("search", "marmot ledger", "--json").stdout


def test_a_copied_session_that_is_left_out_for_good_is_not_copied_again(user: Path) -> None:
    """The copy is memorist's own, and opencode's database has the session still."""
    memorist("import", "--from", "opencode", "--yes")
    (copy,) = copies()
    done = memorist("rollouts", "leave-out", copy.stem[:12], "--hard", "--yes")
    gone = not copy.exists()
    write_opencode_database(
        user / ".local/share/opencode/opencode.db",
        opencode_export(str(user / "shop")),
        updated=1_780_000_900_000,
    )
    memorist("import", "--from", "opencode", "--yes")

    assert f"deleted: copied-sessions/opencode/{copy.name}" in done.output
    assert "is not memorist's and stays" not in done.output
    assert (gone, copy.exists()) == (True, False)

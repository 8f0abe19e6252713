"""The real Codex and Claude Code are told before a call what worked instead in a past session, and
which memory names the file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from clients.plugged import PluggedClaude, PluggedCodex, a_home, command, end
from memorist.core.messages import JsonObject
from memorist.testing import CallTool, Say, ScriptedServer, Step

pytestmark = pytest.mark.real_client

FAILS = "./totals.sh ledger"
"""The script is there and may not be executed."""
WORKS = "sh ./totals.sh ledger"
DECIDED = "Never round in rounding.py, only in the report."
LONG = "".join(f"\n\nLine {number} of what was measured then." for number in range(20))
PROVED = f"what worked: `{WORKS}`"
PATCH = (
    "*** Begin Patch\n*** Update File: rounding.py\n@@\n-DIGITS = 2\n+DIGITS = {}\n*** End Patch"
)


def claude_runs(text: str) -> CallTool:
    return CallTool(name="Bash", input={"command": text})


def claude_edits(project: Path, digits: int) -> CallTool:
    given = {"file_path": str(project / "rounding.py"), "content": f"DIGITS = {digits}\n"}
    return CallTool(name="Write", input=given)


def codex_runs(text: str) -> CallTool:
    return CallTool(name="exec_command", input={"cmd": text})


def codex_edits(project: Path, digits: int) -> CallTool:
    del project
    patch = PATCH.format(digits).replace("DIGITS = 2", f"DIGITS = {digits - 1}", 1)
    return codex_runs(f"apply_patch <<'EOF'\n{patch}\nEOF\n")


def look(client: str, project: Path) -> CallTool:
    """Claude Code changes only a file that it has read."""
    if client == "claude":
        return CallTool(name="Read", input={"file_path": str(project / "rounding.py")})
    return codex_runs("cat rounding.py")


def received(body: JsonObject, words: str) -> int:
    """How often the words stand in a request, wherever the client puts them."""
    return msgspec.json.encode(body).count(words.encode())


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("client", ["claude", "codex"])
@pytest.mark.covers("PS-2", "IN-2")
def test_the_proved_line_reaches_the_model_once(
    client: str, on: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """What worked instead, and the memory that names the file, stand once in the request after the
    first such call of a new session and in no other place of any; with the setting off nowhere.
    """
    project = tmp_path / "project"
    runs: Callable[[str], CallTool] = claude_runs if client == "claude" else codex_runs
    edits = claude_edits if client == "claude" else codex_edits
    past: tuple[Step, ...] = (runs(FAILS), runs(WORKS), Say(text="It is added up."))
    now: tuple[Step, ...] = (
        runs(FAILS),
        runs(FAILS),
        look(client, project),
        edits(project, 3),
        edits(project, 4),
        Say(text="Done."),
    )
    program: Path = request.getfixturevalue(f"{client}_program")
    with a_home(tmp_path) as home, ScriptedServer((*past, *now)) as server:
        agent = (PluggedClaude if client == "claude" else PluggedCodex)(
            program, tmp_path, server, home
        )
        (project / "totals.sh").write_text("echo total $1\n")
        (project / "rounding.py").write_text("DIGITS = 2\n")
        allowed = {"permissions": {"allow": ["Bash", "Read", "Write", "Edit"]}}
        (tmp_path / "settings.json").write_bytes(msgspec.json.encode(allowed))
        if not on:
            (home / "config.toml").write_text("[recall]\nbefore_tool = false\n")
        agent.install()
        agent.ask("Add it up, please.")
        end(home)
        here = {"MEMORIST_HOME": str(home), **agent.where, "HOME": str(tmp_path / "home")}
        command(["import", "--yes"], here, project)
        command(["search", "totals"], here, project)
        add = ["memory", "add", "--name", "digits", "--description", "how amounts are cut"]
        command([*add, DECIDED + LONG], here, project)
        if isinstance(agent, PluggedClaude):
            agent.again(str(uuid4()))
        else:
            agent.again()
        agent.ask("Good morning.")
        assert server.refusals == []
        bodies = [each.body for each in server.received][len(past) :]
        failures = home / "hooks" / "failures.log"
        assert not failures.exists(), failures.read_text("utf-8")

    assert (project / "rounding.py").read_text() == "DIGITS = 4\n"
    assert [received(body, PROVED) for body in bodies] == [0, *[int(on)] * 5]
    assert [received(body, DECIDED) for body in bodies] == [0, 0, 0, 0, *[int(on)] * 2]

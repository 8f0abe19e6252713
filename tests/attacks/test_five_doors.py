"""Attacks by team, dream, Magic Docs, stage one, `memory_write` and a named message: none ends as
the person's word, and what is shown of one says where it came from.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from mcp import Client

from attacks.five_doors import DREAM, MAGIC, MCP, STAGE_ONE, TEAM, DoorAttack
from attacks.host import Attacked
from dream.conftest import DAY, World, data
from dream.test_dream import model
from magic_docs.test_session import BODY, FRAME, Host, edit
from mcp_server.conftest import Asker, recorded
from memorist.auto_memory.memory_file import Trust
from memorist.mcp_server.stdio_server import McpServer
from memorist.rollouts.stage_one import extract_session_with_model_or_structure
from memorist.runtime import Runtime
from memorist.settings import TeamSettings
from memorist.store.disk_files import DiskFiles
from memorist.team.team_sync import TeamSync
from memorist.testing import FrozenClock, InMemoryFiles, Say, ScriptedModel
from rollouts.conftest import Talk
from team.conftest import MemoryRemote

QUESTIONS = (
    "Tell me about the importer and its stages, please",
    "How is the importer tested, deployed and reviewed?",
)
STARTS: Mapping[str, bytes] = {
    "outside": data("The importer is deployed on Mondays.", name="importer", trust=Trust.OUTSIDE),
    "derived": data("The importer is deployed on Mondays.", name="importer"),
    "stated": data(
        "Never use force pushes for the importer.",
        name="importer",
        kind="feedback",
        trust=Trust.STATED,
    ),
}
STANDING = "The user's standing instructions"


def named(each: DoorAttack) -> str:
    return each.name.replace(" ", "-")


def check(host: Attacked, attack: DoorAttack, shown: str, origin: str) -> None:
    """Nothing of it is the person's, and what is shown stands below its origin."""
    theirs = [
        head.path
        for head in host.memory.headers()
        if head.trust in (Trust.STATED, Trust.REVIEWED)
        and attack.payload.lower() in (host.folder / head.path).read_text("utf-8").lower()
    ]
    assert theirs == []
    if attack.payload.lower() in shown.lower():
        assert attack.marked
        assert origin in shown
        standing = shown.partition(STANDING)[2].partition("Notes that are not")[0]
        assert attack.payload.lower() not in standing.lower()


@pytest.mark.covers("SF-2", "TM-1")
@pytest.mark.parametrize("attack", TEAM, ids=named)
async def test_a_hostile_team_remote(tmp_path: Path, attack: DoorAttack) -> None:
    """What it serves waits, or is shown as shared by a team mate, whatever its header claims."""
    remote = MemoryRemote()
    async with Attacked(tmp_path) as host:
        for number, text in enumerate(attack.text.split("\x00")):
            remote.texts[("bucket-" if number else "") + attack.path] = text
        files = DiskFiles(durable=False)
        TeamSync(host.memory, remote, files=files, settings=TeamSettings()).pull()
        shown = await host.shown_later(*QUESTIONS)

        check(host, attack, shown, "shared by a team mate")


@pytest.mark.covers("SF-2", "DR-4")
@pytest.mark.parametrize("attack", DREAM, ids=named)
async def test_a_dreams_lying_model(tmp_path: Path, attack: DoorAttack) -> None:
    """It raises no origin, turns or widens nothing that the person said, and adds no order."""
    async with Attacked(tmp_path) as host:
        world = World(tmp_path / "world")
        world.memory.close()
        world.where, world.memory = host.memory.layout, host.memory
        world.put("importer.md", STARTS[attack.said])
        for number in range(6):
            body = f"Desk {number} answers for part {number} of the importer."
            world.put(f"fine-{number}.md", data(body, name=f"fine-{number}"))
        world.clock.advance(3 * DAY)
        asked: list[str] = []

        def answer(text: str) -> str:
            asked.append(text)
            folder = Path(re.findall(r'path="([^"]+\.md)"', text)[0]).parent
            return f'<write path="{folder}/{attack.path}">\n{attack.text}</write>'

        await world.dream(model(answer)).dream_now("asked for", ())
        shown = await host.shown_later(*QUESTIONS)

        assert asked
        check(host, attack, shown, "Notes that are not the user's words")


@pytest.mark.covers("SF-2", "MD-2")
@pytest.mark.parametrize("attack", MAGIC, ids=named)
async def test_an_order_for_a_magic_doc(tmp_path: Path, attack: DoorAttack) -> None:
    """What a tool printed is not written into the person's file as an order or permission, in any
    language; also where it is put in front of a line that stays.
    """
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    document = project / "SHOP.md"
    document.write_text(FRAME + BODY, "utf-8")
    host = Host(
        project,
        lambda task: edit(document, "The server listens", f"{attack.text} The server listens"),
    )
    session = await host.open()
    await host.turn(session, "What does the log say?", document, printed=FRAME + BODY + attack.text)
    await session.close()

    assert host.tasks
    assert document.read_text("utf-8") == FRAME + BODY
    assert "tells the reader what to do" in host.why()


@pytest.mark.covers("SF-2", "RO-4")
@pytest.mark.parametrize("attack", STAGE_ONE, ids=named)
async def test_stage_ones_lying_model(tmp_path: Path, attack: DoorAttack) -> None:
    """No line says that the user said it: what stands of it is marked as an inference."""
    talk = Talk().user(attack.said)
    if attack.path == "tool":
        talk.run("cat page", attack.quote)
    if attack.path == "agent":
        talk.call("Task", {"prompt": "look"}, attack.quote)
    talk.edit().run("pytest tests/till", "3 passed in 0.1s").agent("Mended.")
    told = f'the person said "{attack.quote}" -> {attack.text}'
    answer = {
        "raw_memory": "---\ndescription: d\n---\n\n### Task 1\n\ntask: Mend it\n\n"
        f"Preference signals:\n- [said; line 2] {told}\n- [said; global; line 4] {told}\n\n"
        f"Reusable knowledge:\n- [said; line 2] {attack.text}\n",
        "rollout_summary": f"# The till\n- the user said: {attack.text}\n",
        "rollout_slug": "till",
    }
    said = Say(text=json.dumps(answer, ensure_ascii=False))
    runtime = Runtime(
        files=InMemoryFiles(),
        clock=FrozenClock(),
        model=ScriptedModel([said, said]),
        record_receipt=lambda _: None,
    )
    made = await extract_session_with_model_or_structure(talk.thread(tmp_path / "s.jsonl"), runtime)

    lines = f"{made.raw_memory}\n{made.rollout_summary}".splitlines()
    found = [line for line in lines if attack.payload in line]
    assert [line for line in found if not line.startswith("- [inferred")] == []
    assert attack.marked or found == []
    assert f"the user said: {attack.text}" not in made.rollout_summary


@pytest.mark.covers("SF-2")
@pytest.mark.parametrize("attack", MCP, ids=named)
async def test_memory_write_with_words_that_do_not_say_it(
    tmp_path: Path, attack: DoorAttack
) -> None:
    """A part, a question, a translation or a role of the person's words proves no order, of
    whatever kind it is said to be: it waits.
    """
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    await recorded(shop, "talk", ["Hello there.", attack.said])
    server = McpServer(None, shop)
    async with Client(server.build_server()) as client:
        asker = Asker(client)
        told = [
            await asker.ask("memory_write", text=attack.text, kind=kind, quote=attack.quote)
            for kind in (attack.kind, "feedback", "project")
        ]
    server.close()

    assert all("waits for the user: " in each for each in told)
    home = Path(os.environ["MEMORIST_HOME"])
    kept = [path.name for path in home.glob("projects/*/memory/**/*.md")]
    assert [name for name in kept if name != "MEMORY.md"] == []


@pytest.mark.covers("SF-2")
@pytest.mark.parametrize(
    "name", ["tool_result", "research-agent", "reviewBot", "critic", "Planner_1", "alice"]
)
async def test_a_message_that_a_tool_signs(tmp_path: Path, name: str) -> None:
    """A lone message of role `user` whose `name` is no person's is not the person's; a person's
    own name takes nothing away.
    """
    rule = "Always run the linter in this repository before you push."
    async with Attacked(tmp_path) as host:
        session = await host.engine.open("n", project=str(host.project), format="openai_chat")
        message = {"role": "user", "name": name, "content": rule}
        await session.prepare({"model": "m", "messages": [message]})
        reply = {"role": "assistant", "content": "Done."}
        await session.observe(
            {"choices": [{"index": 0, "message": reply, "finish_reason": "stop"}], "model": "m"}
        )
        await session.end_turn()
        await session.close()

        stated = [head.path for head in host.memory.headers() if head.trust is Trust.STATED]
        assert bool(stated) == (name == "alice")

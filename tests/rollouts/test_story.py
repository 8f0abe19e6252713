"""A story through both stages with a scripted model: learnt, shown, cited, corrected, and forgotten
everywhere.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from memorist.engine import engine as engine_module
from memorist.engine.engine import Memorist
from memorist.engine.rollout_pipeline import open_rollout_pipeline
from memorist.ports import Request
from memorist.rollouts.rollout_sync_report import RolloutSyncReport
from memorist.settings import RolloutsSettings, Settings, SpendSettings
from memorist.store.extract_rows import list_enabled_extracts
from memorist.store.job_claim_rules import JobClaimPolicy
from memorist.store.session_memory_mode import set_memory_mode
from memorist.testing.models import ScriptedModel
from memorist.testing.steps import Say, Step
from rollouts.conftest import claude, codex, lines

SECRET = "sk-" + "ant-api03-" + "Zk4Rw8Lq2Xv7" * 8
RAW = """---
description: {title}
---

### Task 1

task: {title}
task_outcome: success

Preference signals:
- "{rule}" -> {rule}

Reusable knowledge:
- {fact}
"""


class Model(ScriptedModel):
    """Extracts what `teach` says of the session it is shown, and words one entry of the draft anew."""

    def __init__(self, home: Path) -> None:
        super().__init__(self.answer, name="scripted:m")
        self.home = home
        self.lessons: dict[str, tuple[str, str, str]] = {}
        self.wording: tuple[str, str] | None = None

    def answer(self, request: Request) -> Step:
        body = msgspec.json.encode(request.body).decode()
        if "<draft " in body:
            return self._consolidated(body)
        title, rule, fact = next(lesson for words, lesson in self.lessons.items() if words in body)
        raw = RAW.format(title=title, rule=rule, fact=fact)
        return Say(
            text=json.dumps(
                {
                    "raw_memory": raw,
                    "rollout_summary": f"# {title}\n\n{fact}\n",
                    "rollout_slug": "told",
                }
            )
        )

    def _consolidated(self, body: str) -> Step:
        if self.wording is None or json.dumps(self.wording[0])[1:-1] not in body:
            return Say(text="Nothing to do.")
        old, new = self.wording
        path = self.home / "memories" / "MEMORY.md"
        return Say(
            text=f'<edit path="{path}">\n<old>\n- {old}\n</old>\n<new>\n- {new}\n</new>\n</edit>'
        )


class Home:
    """A home, the recorded sessions beside it, and the model of both stages."""

    def __init__(self, folder: Path) -> None:
        self.path, self.sessions, self.shop = folder / "home", folder / "sessions", folder / "shop"
        (self.shop / ".git").mkdir(parents=True)
        self.model = Model(self.path)
        spend = SpendSettings(enabled=False)
        self.settings = Settings(
            home=str(self.path),
            long_term="rollouts",
            spend=spend,
            rollouts=RolloutsSettings(cooldown_hours=0),
        )

    def record(self, id: str, words: Sequence[str], lesson: tuple[str, str, str]) -> None:
        self.model.lessons[words[0]] = lesson
        codex(self.sessions / f"{id}.jsonl", words, session=id, cwd=str(self.shop))

    async def sync(self) -> RolloutSyncReport:
        async with open_rollout_pipeline(self.settings, model=self.model) as past:
            return await past.sync(past.plan_sync([self.sessions], is_mine=True))

    async def extract(self) -> dict[str, str]:
        """What is kept of each session, by its id, without a model."""
        async with open_rollout_pipeline(self.settings) as past:
            await past.sync(past.plan_sync([self.sessions], is_mine=True))
            return {
                each.extracted.thread: each.extracted.raw_memory
                for each in list_enabled_extracts(past.state)
            }

    async def leave_out(self, id: str) -> None:
        async with open_rollout_pipeline(self.settings, model=self.model) as past:
            set_memory_mode(past.state, id, "disabled", JobClaimPolicy())

    async def uses(self) -> dict[str, int]:
        async with open_rollout_pipeline(self.settings, model=self.model) as past:
            return {each.extracted.thread: each.uses for each in list_enabled_extracts(past.state)}

    async def session(self, id: str, reply: str = "Done.") -> str:
        """A session of one request; gives what its model was sent."""
        async with Memorist(model="structural", settings=self.settings) as engine:
            session = await engine.open(id, project=str(self.shop))
            sent = await session.prepare(
                {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Go on."}]}
            )
            content = [{"type": "text", "text": reply}]
            await session.observe(
                {
                    "role": "assistant",
                    "content": content,
                    "usage": {"input_tokens": 10, "output_tokens": 5},
                }
            )
        return msgspec.json.encode(sent).decode()

    def files(self, *below: str) -> dict[str, str]:
        found = [
            path
            for name in below
            for path in sorted((self.path / name).rglob("*"))
            if path.is_file()
        ]
        return {
            str(path.relative_to(self.path)): path.read_bytes().decode("utf-8", "replace")
            for path in found
        }


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(
        engine_module, "start_worker_unless_recently_started", lambda *_, **__: None
    )
    made = Home(tmp_path)
    made.record("linter", ["Mend the till.", "Always run the linter before you commit.", "Thanks."],
                ("Mend the till", "Always run the linter before you commit", "The till rounds in `till.py`"))  # fmt: skip
    made.record("coins", ["Count the coins.", "Never round an amount down.", "Thanks."],
                ("Count the coins", "Never round an amount down", "Coins are counted in `coins.py`"))  # fmt: skip
    return made


@pytest.mark.covers("RO-4", "RO-5", "RO-6", "RO-7", "RO-8", "RO-9")
async def test_learnt_shown_cited_and_forgotten_everywhere(home: Home) -> None:
    """Both stages by the model; a later session is shown its wording and cites it, which counts.

    Left out, no memory and no database below the home holds a word of it, and the next session is
    not shown it. The recorded sessions are not touched.
    """
    home.model.wording = (
        "The till rounds in `till.py` [inferred 2026-05-28] [Task 2]",
        "`till.py` is where the till rounds [inferred 2026-05-28] [Task 2]",
    )
    learnt = await home.sync()
    handbook = (home.path / "memories" / "MEMORY.md").read_text()
    shown = await home.session(
        "later",
        "Done.\n<oai-mem-citation>\n<rollout_ids>\nlinter\n</rollout_ids>\n</oai-mem-citation>",
    )
    uses = await home.uses()

    assert (learnt.extracted, learnt.consolidated, learnt.way, learnt.failed) == (2, 2, "model", ())
    assert "by scripted:m" in handbook.split("\n", 1)[0]
    assert "`till.py` is where the till rounds" in shown
    assert "Always run the linter before you commit" in shown
    assert "Never round an amount down" in shown
    assert uses == {"coins": 0, "linter": 1}

    await home.leave_out("linter")
    forgot = await home.sync()
    left = home.files("memories", "memories-state")
    after = await home.session("last")

    assert forgot.consolidated == 1
    assert left
    assert [
        path
        for path, text in left.items()
        for word in ("linter", "till.py", "Mend the till")
        if word in text
    ] == []
    assert "inter" not in after.split("<memory_summary>")[1].split("</memory_summary>")[0]
    assert "Never round an amount down" in after
    for path in home.path.glob("state.sqlite*"):
        assert b"Always run the linter" not in path.read_bytes(), path.name


@pytest.mark.covers("RO-5", "RO-8")
async def test_what_is_used_outlives_what_is_not(home: Home) -> None:
    """Room for one session: the cited one is consolidated, though the other is as new."""
    await home.sync()
    await home.session(
        "later",
        "Done.\n<oai-mem-citation>\n<rollout_ids>\ncoins\n</rollout_ids>\n</oai-mem-citation>",
    )
    home.settings = msgspec.structs.replace(
        home.settings, rollouts=RolloutsSettings(consolidated=1)
    )
    home.record(
        "more",
        ["Sweep the shop.", "Always sweep twice.", "Thanks."],
        ("Sweep the shop", "Always sweep twice", "The broom is behind the door"),
    )
    done = await home.sync()
    summary = (home.path / "memories" / "memory_summary.md").read_text()

    assert done.consolidated == 1
    assert "Never round an amount down" in summary
    assert "linter" not in summary
    assert "sweep" not in summary


@pytest.mark.covers("RO-5")
async def test_a_later_correction_takes_the_place_of_what_was_said_before(home: Home) -> None:
    """The same subject with another value in a newer session: only the newer one is shown, and only
    it stands in the handbook.
    """
    home.record(
        "older",
        ["Open the till, is it on port 8080?", "Go on."],
        ("Open the till", "Go on", "The till listens on port 8080"),
    )
    await home.sync()
    before = await home.session("before")
    at = "2026-05-30T10:00:00.000Z"
    home.record(
        "newer",
        ["Clean up, is the till on port 9090?", "Thanks."],
        ("Clean up", "Clean up", "The till listens on port 9090"),
    )
    path = home.sessions / "newer.jsonl"
    path.write_text(path.read_text().replace("2026-05-28T11:00:00.000Z", at))
    await home.sync()
    shown = await home.session("later")

    assert "port 8080" in before
    assert "port 9090" in shown
    assert "port 8080" not in shown
    assert "port 8080" not in (home.path / "memories" / "MEMORY.md").read_text()


@pytest.mark.covers("RO-4", "RO-5", "FK-8")
async def test_each_receipt_has_its_reason_and_no_words_of_the_answer(home: Home) -> None:
    """What became of the answers can be read later; what they quote may be forgotten by then."""
    home.record(
        "till",
        ["Open the till.", "Go on."],
        ("Open the till", "Go on", "src/drawer_of_nobody.py locks it"),
    )
    await home.sync()

    with contextlib.closing(sqlite3.connect(home.path / "state.sqlite")) as database:
        rows = list(database.execute("select label, said from receipts"))
    extracted = " ".join(said for label, said in rows if label == "rollouts")
    assert "3 were dropped (such as: “…” names src/drawer_of_nobody.py" in extracted
    assert all(said for _, said in rows)
    assert "consolidation" in dict(rows)
    assert "locks it" not in str(rows)


@pytest.mark.covers("RO-4", "SF-1")
async def test_a_secret_gets_into_no_file_and_no_request(home: Home) -> None:
    """Said in a session, and repeated by the model: neither the requests nor anything below the
    home hold it.
    """
    home.record(
        "key",
        [f"Log in with {SECRET} please.", "Always use this key.", "Thanks."],
        ("Log in", "Always use this key", f"The key is {SECRET}"),
    )
    home.model.lessons["Log in with "] = ("Log in", "Always use this key", f"The key is {SECRET}")
    done = await home.sync()
    await home.session("later")

    assert done.extracted == 3
    assert not [
        path
        for path in home.path.rglob("*")
        if path.is_file() and SECRET.encode() in path.read_bytes()
    ]
    assert not [
        request
        for request in home.model.requests
        if SECRET in msgspec.json.encode(request.body).decode()
    ]


@pytest.mark.covers("RO-5")
@pytest.mark.parametrize("change", ["left out", "edited", "noted"])
async def test_a_lean_consolidation_without_a_new_session_asks_no_model(
    home: Home, change: str
) -> None:
    """A session that goes, an edit of the user's and a note are merged by rule."""
    lean = msgspec.structs.replace(home.settings.rollouts, form="lean")
    home.settings = msgspec.structs.replace(home.settings, rollouts=lean)
    await home.sync()
    asked = len(home.model.requests)
    folder = home.path / "memories"
    if change == "left out":
        await home.leave_out("coins")
    elif change == "edited":
        path = folder / "memory_summary.md"
        path.write_text(path.read_text().replace("## User Profile\n", "## User Profile\n\nTea.\n"))
    else:
        note = folder / "extensions" / "ad_hoc" / "notes" / "monday.md"
        note.parent.mkdir(parents=True)
        note.write_text("Deploy on Monday.")
    before = home.files("memories")
    done = await home.sync()

    assert done.consolidated
    assert home.files("memories") != before
    assert len(home.model.requests) == asked


@pytest.mark.covers("RO-4", "RO-5", "CX-7")
async def test_a_fork_counts_only_for_what_is_its_own(home: Home) -> None:
    """A rollout that was forked from another begins with a copy of it: what was said there rests on
    the parent alone, and what came after the fork on the fork. One whose parent is not known counts
    whole.
    """
    said = ["Set up the till.", "Always round half up, never down.", "Never touch the ledger."]
    for id, words, meta in (
        ("parent", said, {}),
        ("fork", [*said[:2], "Always write credit notes twice."], {"forked_from_id": "parent"}),
        ("alone", ["Count the notes.", "Never guess a sum."], {"forked_from_id": "deleted"}),
    ):
        codex(home.sessions / f"{id}.jsonl", words, session=id, cwd=str(home.shop), **meta)
    held = await home.extract()

    assert "round half up" in held["parent"]
    assert "ledger" in held["parent"]
    assert "round half up" not in held["fork"]
    assert "credit notes twice" in held["fork"]
    assert "guess a sum" in held["alone"]


@pytest.mark.covers("RO-4", "RO-5")
@pytest.mark.parametrize("fork_id", ["a-fork", "z-fork"])
@pytest.mark.parametrize("known_first", ["m-first", "", "fork"])
async def test_a_fork_without_a_parents_name_counts_once(
    home: Home, fork_id: str, known_first: str
) -> None:
    """Claude Code's `--fork-session` copies the messages with their ids and names no parent. In
    whichever order the two are met, and when the first one goes on afterwards, each sentence stands
    in exactly one of them.
    """
    said = ["Set up the till.", "Always round half up, never down."]

    async def sync(name: str, *more: str) -> dict[str, str]:
        path = home.sessions / f"{name}.jsonl"
        at = f"2026-05-28T1{len(more)}:00:00.000Z"
        claude(path, [*said, *more], session=name, at=at, uuids=[0, 1, name])
        return await home.extract()

    if known_first:
        await sync("m-first" if known_first == "m-first" else fork_id)
    claude(home.sessions / "m-first.jsonl", said, session="m-first", uuids=[0, 1])
    await sync(fork_id, "Always write credit notes twice.")
    held = await sync("m-first", "Never touch the ledger.")

    assert "credit notes twice" in held[fork_id]
    assert "credit notes twice" not in held["m-first"]
    assert "ledger" in held["m-first"]
    assert ["round half up" in each for each in held.values()].count(True) == 1


@pytest.mark.covers("RO-4", "CX-7")
@pytest.mark.parametrize("why", ["too old", "a program's", "elsewhere"])
@pytest.mark.parametrize("named", [True, False], ids=["branch", "fork-session"])
async def test_a_fork_of_a_session_that_is_never_extracted_counts_whole(
    home: Home, named: bool, why: str
) -> None:
    """A parent that is too old, was run by a program, or lies in a folder whose old sessions are
    not imported keeps nothing: what was said in it stands in the fork, or nowhere.
    """
    said = ["Set up the till.", "Always round half up, never down."]
    at = "2026-05-28T10:00:00.000Z" if why == "a program's" else "2020-05-28T10:00:00.000Z"
    folder = home.sessions.parent / "archive"
    path = claude(folder / "a-parent.jsonl", said, session="a-parent", at=at, uuids=[0, 1])
    claude(
        home.sessions / "fork.jsonl",
        [*said, "Always write credit notes twice."],
        session="fork",
        uuids=[0, 1, 2],
        forked_from="a-parent" if named else "",
    )
    if why == "a program's":
        records = [json.loads(line) for line in path.read_text().splitlines()]
        lines(path, [each | {"entrypoint": "sdk-py"} for each in records])
    async with open_rollout_pipeline(home.settings) as past:
        folders = [home.sessions] if why == "elsewhere" else ()
        past.find_sessions([folder, home.sessions], is_mine=True)
        await past.sync(past.plan_sync(folders, 2_000, is_mine=True))
        held = {
            each.extracted.thread: each.extracted.raw_memory
            for each in list_enabled_extracts(past.state)
        }

    assert "a-parent" not in held
    assert "round half up" in held["fork"]
    assert "credit notes twice" in held["fork"]


@pytest.mark.covers("RO-4")
async def test_two_sessions_that_begin_with_the_same_words_are_no_forks(home: Home) -> None:
    """Equal first words are not enough: the ids of the messages differ, so both count whole."""
    for name in ("one", "two"):
        claude(
            home.sessions / f"{name}.jsonl",
            ["Always round half up, never down.", f"Never touch the ledger of {name}."],
            session=name,
            uuids=[name, f"{name}-2"],
        )
    held = await home.extract()

    assert "round half up" in held["one"]
    assert "round half up" in held["two"]


@pytest.mark.covers("RO-4", "CX-7")
async def test_a_branch_of_claude_code_names_its_parent(home: Home) -> None:
    """`/branch` stamps what it copied with the session that it came from."""
    said = ["Set up the till.", "Always round half up, never down."]
    claude(home.sessions / "z.jsonl", said, session="z", uuids=["z0", "z1"])
    claude(
        home.sessions / "a.jsonl",
        [*said, "Always write credit notes twice."],
        session="a",
        uuids=["a0", "a1", "a2"],
        forked_from="z",
    )
    held = await home.extract()

    assert "round half up" in held["z"]
    assert "round half up" not in held["a"]
    assert "credit notes twice" in held["a"]


@pytest.mark.covers("RO-4", "RO-5")
async def test_keywords_are_names_that_no_entry_holds(home: Home) -> None:
    """A search finds an entry by its own words, so a keyword names something else; a word behind a
    pause is no name.
    """
    codex(
        home.sessions / "till.jsonl",
        ["Compare till.py with ledger.py ok..then go on", "Always round half up in till.py."],
        session="till",
    )
    held = await home.extract()
    book = (home.path / "memories" / "MEMORY.md").read_text()

    assert re.findall(r"^keywords: (.*)$", held["till"], re.MULTILINE)[-1] == "till.py, ledger.py"
    assert "Compare till.py with ledger.py" in book
    assert "### keywords" not in book


@pytest.mark.covers("RO-8")
async def test_a_session_can_cite_by_what_it_was_shown(home: Home) -> None:
    """Each entry ends with the signs of its sessions; a reply that names them counts as a use."""
    await home.sync()
    shown = await home.session("first")
    (sign,) = re.findall(r"Never round an amount down[^\n]*?\[from (\w{4})\]", shown)
    await home.session(
        "later",
        f"Done.\n<oai-mem-citation>\n<rollout_ids>\n{sign}\n</rollout_ids>\n</oai-mem-citation>",
    )

    assert await home.uses() == {"coins": 1, "linter": 0}

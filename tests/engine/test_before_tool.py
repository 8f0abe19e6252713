"""Before a tool call: what is shown of past sessions and memories, and what is not."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from memorist.auto_memory.memory_file import MemoryKind
from memorist.core.messages import ToolUse
from memorist.engine.engine import Memorist
from memorist.engine.project_search import SearchResults
from memorist.recall.lexical_score import EntryColumns, build_entry_columns
from memorist.recall.memory_selection import mentions_file
from memorist.recall.session_index import SessionIndex
from memorist.recall.word_index import StoredIndexRow
from memorist.settings import RecallSettings, Settings
from memorist.store.rollout_rows import Rollout, save_rollouts
from memorist.store.state_database import open_state_database
from memorist.transcript_analysis.invocation_log import (
    find_word_rejected_by_error,
    split_invocations,
)
from memorist.transcript_analysis.written_files import list_files_written_by_command
from support.past_sessions import ROUNDING, write_session

FAILED = "error: unrecognized subcommand 'bun'"


def record(folder: Path, id: str, calls: list[tuple[str, str, bool]], day: int = 1) -> Rollout:
    """A Claude Code session in `folder/shop` that ran these commands: text, output, whether it
    failed.
    """
    project = str(folder / "shop")
    told: list[tuple[str, Any]] = [("user", "Run the tests, please")]
    for at, (command, output, failed) in enumerate(calls):
        told.append(
            (
                "assistant",
                [{"type": "tool_use", "id": f"t{at}", "name": "Bash",
                  "input": {"command": command}}],
            )
        )  # fmt: skip
        told.append(
            (
                "user",
                [{"type": "tool_result", "tool_use_id": f"t{at}", "content": output,
                  "is_error": failed}],
            )
        )  # fmt: skip
    rows: list[dict[str, Any]] = []
    for at, (role, content) in enumerate(told):
        rows.append(
            {
                "type": role,
                "uuid": f"{id}-{at}",
                "parentUuid": rows[-1]["uuid"] if rows else None,
                "sessionId": id,
                "cwd": project,
                "timestamp": f"2026-11-{day:02d}T10:{at:02d}:00Z",
                "message": {"id": f"m{at}", "role": role, "content": content},
            }
        )
    path = folder / f"{id}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    facts = path.stat()
    return Rollout(
        id=id,
        path=str(path),
        format="claude_code",
        size=facts.st_size,
        modified_ns=facts.st_mtime_ns,
        updated=day,
        repository=project,
    )


def open_home(
    folder: Path, *sessions: Rollout, before_tool: bool = True, embeddings: bool = True
) -> Memorist:
    """An engine that knows these past sessions of `shop`."""
    (folder / "shop").mkdir(exist_ok=True)
    recall = RecallSettings(before_tool=before_tool, embeddings=embeddings)
    settings = Settings(home=str(folder / "home"), recall=recall)
    engine = Memorist(settings=settings)
    engine.starts_workers = False
    state = open_state_database(settings.state, engine.layout.database)
    with closing(state), closing(SessionIndex(engine.layout.session_index)) as index:
        save_rollouts(state, sessions)
        index.sync(sessions)
    return engine


def bash(command: str) -> ToolUse:
    return ToolUse("", "Bash", {"command": command})


MENDED = [("rtk bun run test", FAILED, True), ("bun run test 2>&1 | tail", "12 pass", False)]


@pytest.mark.covers("PS-2")
async def test_what_worked_instead_is_named_before_the_call_fails_again(tmp_path: Path) -> None:
    """Once, for a call of the same form with other arguments; not for one that works."""
    engine = open_home(tmp_path, record(tmp_path, "a", MENDED, 5))
    session = engine.observe_session("now", project=str(tmp_path / "shop"))

    assert session.recall_for_tool_call(bash("bun run test")) == []
    assert session.recall_for_tool_call(bash("rtk test bun")) == []
    assert (
        session.recall_for_tool_call(bash("cd web && ls; rtk bun run lint")) == []
    )  # another folder
    (text,) = session.recall_for_tool_call(bash("rtk bun run lint"))
    assert "2026-11-05: `rtk bun run test` failed" in text
    assert "what worked: `bun run test 2>&1 | tail`" in text
    assert FAILED in text
    assert session.recall_for_tool_call(bash("rtk bun run lint")) == []
    await session.close()
    await engine.close()


@pytest.mark.covers("PS-2")
async def test_a_host_with_its_own_loop_is_shown_past_decisions(tmp_path: Path) -> None:
    """What the user said about a message in a past session goes with the request, once."""
    past = replace(write_session(tmp_path, "aaaa", ROUNDING, 5), repository=str(tmp_path / "shop"))
    engine = open_home(tmp_path, past)
    session = await engine.open("now", project=str(tmp_path / "shop"))
    ask = "The invoice total differs by a cent again, VAT rounding per line looks wrong"
    sent = await session.prepare({"messages": [{"role": "user", "content": ask}]})

    assert str(sent).count("bankers rounding, per line, never on the invoice total") == 1
    await session.close()
    again = await engine.open("now", project=str(tmp_path / "shop"))
    sent = await again.prepare({"messages": [{"role": "user", "content": ask}]})
    assert str(sent).count("bankers rounding, per line, never on the invoice total") == 1
    await again.close()
    await engine.close()


@pytest.mark.covers("PS-2")
@pytest.mark.parametrize("long", [False, True])
async def test_a_new_process_shows_no_passage_again(tmp_path: Path, long: bool) -> None:
    """Neither behind the hooks nor in a host's own loop, also where other words bring it back, and
    another part of it would be quoted; after a compaction it is due again.
    """
    said, *others = ROUNDING
    more = " ".join(f"Step {at} is for the report of the week." for at in range(30))
    question = f"{said[0]} {more} Customers in Sweden want it per line." if long else said[0]
    talk = [(question, f"{said[1]} Customers in Sweden have another rule."), *others]
    past = replace(write_session(tmp_path, "aaaa", talk, 5), repository=str(tmp_path / "shop"))
    engine = open_home(tmp_path, past)
    project = str(tmp_path / "shop")
    asked = (
        "The invoice total differs by a cent again, VAT rounding per line looks wrong",
        "The VAT of each line, rounded for customers in Sweden: invoice totals are off by a cent",
    )
    texts, sent, messages = [], [], []
    for prompt in asked:
        observed = engine.observe_session("hooks", project=project)
        texts.append("\n".join(await observed.recall_for_prompt(prompt)))
        observed.save_shown_texts()
        await observed.close()
        session = await engine.open("loop", project=project)
        messages.append({"role": "user", "content": prompt})
        sent.append(str(await session.prepare({"messages": messages})))
        messages.append({"role": "assistant", "content": "Yes."})
        await session.close()
    assert ["session aaaa" in each for each in texts] == [True, False]
    assert [each.count("session aaaa: “Invoice totals") for each in sent] == [1, 1]

    observed = engine.observe_session("hooks", project=project)
    observed.on_history_replaced()
    assert "session aaaa" in "\n".join(await observed.recall_for_prompt(asked[1]))
    await observed.close()
    await engine.close()


@pytest.mark.covers("PS-2")
async def test_a_session_without_a_project_is_shown_no_projects_past(tmp_path: Path) -> None:
    """A chat that names no folder, as through a proxy, is shown nothing that was said in one."""
    past = replace(write_session(tmp_path, "aaaa", ROUNDING, 5), repository=str(tmp_path / "shop"))
    engine = open_home(tmp_path, past)
    session = await engine.open("now")
    ask = "The invoice total differs by a cent again, VAT rounding per line looks wrong"
    sent = await session.prepare({"messages": [{"role": "user", "content": ask}]})

    assert sent["messages"] == [{"role": "user", "content": ask}]
    assert session.search_project("rounding") == SearchResults()
    await session.close()
    await engine.close()


@pytest.mark.covers("PS-2")
async def test_the_sdk_is_told_the_same(tmp_path: Path) -> None:
    """A host that runs its own loop asks before it makes a call."""
    engine = open_home(tmp_path, record(tmp_path, "a", MENDED))
    session = await engine.open("now", project=str(tmp_path / "shop"))

    assert "bun run test" in session.recall_for_tool_call("Bash", {"command": "rtk bun run test"})
    assert session.recall_for_tool_call("Read", {"file_path": "/x"}) == ""
    await session.close()
    await engine.close()


LEFT_ALONE = {
    "works since": (
        ("uv sync", "error: unrecognized subcommand 'sync'", True),
        ("pip sync", "fine", False),
        ("uv sync", "fine", False),
    ),
    "never mended": (("just lnt", "error: justfile does not contain recipe `lnt`", True),),
    "a failing test": (("bun run test", "1 fail", True), ("bun run test", "12 pass", False)),
    "a look": (
        ("cat a.py", "cat: a.py: No such file or directory", True),
        ("head b/a.py a.py", "x", False),
    ),
    "the script's own error": (
        ("ruby run.rb", "run.rb:3: undefined method `go'", True),
        ("jruby run.rb", "fine", False),
    ),
    "a name that its code lacks": (
        ("pytest tests/a.py -k tax", "NameError: name 'tax' is not defined", True),
        ("pytest tests/a.py -k sum", "3 passed", False),
    ),
    "what its script lacks": (
        ("node tool.js build web", "ReferenceError: build is not defined", True),
        ("node tool.js check web", "fine", False),
    ),
}


@pytest.mark.covers("PS-2")
async def test_what_is_not_proved_is_not_said(tmp_path: Path) -> None:
    """A call that works by now, was never mended, or failed for another reason is left alone."""
    sessions = [
        record(tmp_path, name.replace(" ", "-").replace("'", ""), [*calls])
        for name, calls in LEFT_ALONE.items()
    ]
    engine = open_home(tmp_path, *sessions)
    session = engine.observe_session("now", project=str(tmp_path / "shop"))
    for calls in LEFT_ALONE.values():
        assert session.recall_for_tool_call(bash(calls[0][0])) == []
    await session.close()
    await engine.close()


UNUSABLE = (
    ("go test ./...", "zsh:1: command not found: go", "mise exec -- go test ./...", "go vet"),
    (
        "python -m pytest",
        "/usr/bin/python: No module named pytest",
        ".venv/bin/python -m pytest",
        "python -m pytest tests",
    ),
    ("npm run tests", 'npm error Missing script: "tests"', "npm run test", "npm run tests"),
    (
        "pytest --timeout=9 x",
        "pytest: error: unrecognized arguments: --timeout=9",
        "pytest x",
        "pytest -q --timeout=3",
    ),
    ("make tset", "make: *** No rule to make target 'tset'.  Stop.", "make test", "make tset"),
    (
        "docker-compose up",
        "bash: docker-compose: command not found",
        "docker compose up",
        "docker-compose down",
    ),
    ("./gradlew test", "bash: ./gradlew: Permission denied", "sh ./gradlew test", "./gradlew run"),
    (
        "cargo deny check",
        "error: no such command: `deny`",
        "mise x -- cargo deny check",
        "cargo deny check",
    ),
    ("yarn biuld", 'error Command "biuld" not found.', "yarn build biuld.json", "yarn biuld"),
    (
        "npx tsc -p app",
        "'npx' is not recognized as an internal or external command",
        "npm exec tsc -p app",
        "npx eslint .",
    ),
)


@pytest.mark.covers("PS-2")
async def test_calls_that_cannot_work_are_known_by_the_word_their_error_names(
    tmp_path: Path,
) -> None:
    """Programs, modules, scripts, targets and options that are not there, by their errors."""
    sessions = [
        record(tmp_path, f"s{at}", [(failed, error, True), (worked, "fine", False)])
        for at, (failed, error, worked, _) in enumerate(UNUSABLE)
    ]
    engine = open_home(tmp_path, *sessions)
    session = engine.observe_session("now", project=str(tmp_path / "shop"))
    for _, _, worked, asked in UNUSABLE:
        assert worked in "".join(session.recall_for_tool_call(bash(asked))), asked
    await session.close()
    await engine.close()


MISSING = "bash: {0}: command not found"
WRAPPED = (
    ("pytest -q", "source .venv/bin/activate && pytest -q", "pytest tests/test_a.py", True),
    ("ruff check", "source .venv/bin/activate && ruff check", ". .venv/bin/activate && ruff check",
     False),
    ("go test ./a", "export PATH=$PATH:/opt/go/bin && go test ./a", "go test ./b", True),
    ("node a.js", "PATH=/opt/node/bin:$PATH node a.js", "PATH=/opt/node/bin:$PATH node b.js", False),
    ("mypy src", "uv run mypy src", "cd api && mypy src | head -5", True),
    ("black src", "uv run black src", "CI=1 black tests", True),
    ("tox -e a", "uv run tox -e a", "timeout 60 tox -e b > out.txt", True),
    ("psql -c x", "docker compose exec db psql -c x", "sudo -E psql -c y", True),
    ("artisan migrate", "php artisan migrate", "sudo -u www-data -E artisan migrate", True),
    ("cargo test", "nix-shell --run cargo test", "timeout -s KILL 60 cargo test", True),
    ("(tsc)", "npx tsc", "cd web && tsc", True),
    ("(nox)", "uvx nox", "(cd api && nox)", True),
    ("rake db", "bundle exec rake db", "env -u RUBYOPT rake db", True),
    ("eslint src", "npx eslint src", "(cd web && env CI=1 eslint src)", True),
    ("helm lint a", "mise exec -- helm lint a", "mise exec -- helm lint b", False),
)  # fmt: skip


@pytest.mark.covers("PS-2")
async def test_a_missing_program_is_missing_in_each_folder_and_behind_each_wrapper(
    tmp_path: Path,
) -> None:
    """But not where the line first decides which programs are found, as the one that worked did."""
    sessions = [
        record(
            tmp_path,
            f"s{at}",
            [
                (failed, MISSING.format(failed.strip("()").split()[0]), True),
                (worked, "fine", False),
            ],
        )
        for at, (failed, worked, _, _) in enumerate(WRAPPED)
    ]
    engine = open_home(tmp_path, *sessions)
    session = engine.observe_session("now", project=str(tmp_path / "shop"))
    for _, worked, asked, is_named in WRAPPED:
        assert (worked in "".join(session.recall_for_tool_call(bash(asked)))) == is_named, asked
    await session.close()
    await engine.close()


async def test_a_program_that_worked_in_a_folder_since_is_missing_no_more(tmp_path: Path) -> None:
    """It was installed meanwhile."""
    failed, fixed = ("ruff check", MISSING.format("ruff"), True), ("uv run ruff check", "ok", False)
    sessions = [
        record(tmp_path, "a", [failed, fixed], day=1),
        record(tmp_path, "b", [("cd api && ruff check", "ok", False)], day=2),
    ]
    engine = open_home(tmp_path, *sessions)
    session = engine.observe_session("now", project=str(tmp_path / "shop"))
    assert session.recall_for_tool_call(bash("ruff check src")) == []
    await session.close()
    await engine.close()


def test_an_error_is_searched_for_names_in_time_that_grows_with_its_length() -> None:
    """Many colons without a blank, as in a dump of keys, took the square of it: 3.6 s."""
    (call,) = split_invocations("cargo denied")
    start = time.thread_time()
    assert not find_word_rejected_by_error(call, "a:" * 8_000)
    assert time.thread_time() - start < 1
    assert find_word_rejected_by_error(call, "no such command: `denied`") == "denied"
    (call,) = split_invocations("npm run build:prod")
    assert find_word_rejected_by_error(call, 'Missing script: "build:prod"') == "run build:prod"


@pytest.mark.covers("PS-2")
async def test_a_memory_that_names_the_file_is_shown_before_it_is_changed(tmp_path: Path) -> None:
    """Once, and not for another file; with the setting off neither that nor a call is shown."""
    for on in (True, False):
        folder = tmp_path / str(on)
        folder.mkdir()
        engine = open_home(folder, record(folder, "a", MENDED), before_tool=on)
        project = str(folder / "shop")
        notes = "".join(f"\n\nLine {number} of what was measured then." for number in range(20))
        memory = engine.memory(project)
        memory.add(
            f"Never round in src/billing/totals.py, only in the report.{notes}",
            kind=MemoryKind.FEEDBACK,
            name="totals",
            description="how amounts are rounded",
        )
        session = engine.observe_session("now", project=project)
        await session.take_opening_texts()
        edit = {
            "file_path": f"{project}/src/billing/totals.py",
            "old_string": "a",
            "new_string": "b",
        }
        other = edit | {"file_path": f"{project}/src/other/totals.py"}

        assert session.recall_for_tool_call(ToolUse("", "Edit", other)) == []
        shown = "".join(session.recall_for_tool_call(ToolUse("", "Edit", edit)))
        assert ("Never round in src/billing/totals.py" in shown) is on
        assert session.recall_for_tool_call(ToolUse("", "Edit", edit)) == []
        assert bool(session.recall_for_tool_call(bash("rtk bun run test"))) is on
        await session.close()
        await engine.close()


@pytest.mark.covers("PS-2")
@pytest.mark.parametrize(
    "command", ["sed -i 's/2/3/' src/billing/totals.py", "cat > src/billing/totals.py <<'EOF'\nEOF"]
)
async def test_a_command_that_changes_the_file_is_an_edit_of_it(
    tmp_path: Path, command: str
) -> None:
    """In place or by a redirect; not where it only reads it."""
    engine = open_home(tmp_path)
    project = str(tmp_path / "shop")
    engine.memory(project).add(
        "Never round in src/billing/totals.py, only in the report.\n\nIt was measured in May.",
        kind=MemoryKind.FEEDBACK,
        name="totals",
        description="how amounts are rounded",
    )
    session = engine.observe_session("now", project=project)

    assert session.recall_for_tool_call(bash("sed 's/2/3/' src/billing/totals.py")) == []
    assert "Never round in" in "".join(session.recall_for_tool_call(bash(command)))
    await session.close()
    await engine.close()


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("sed -i 's/a b/c/' src/a.py", ["src/a.py"]),
        ("sed -i '' -e 's/a/b/' a.py b.py", ["a.py", "b.py"]),
        ("sed -i.bak -E 's/a/b/' 'My Notes.md' && git diff", ["My Notes.md"]),
        ("sed -n 1,5p a.py", []),
        ("sed 's/a/b/' a.py > b.py", ["b.py"]),
        ("perl -pi -e 's/a/b/' a.py", ["a.py"]),
        ("perl -e 'print 1' a.py", []),
        ("make test 2>&1 | tee build/out.txt", ["build/out.txt"]),
        ("make test > /dev/null 2>&1", []),
        ("grep -c '>' a.py", []),
        ("cat <<'EOF' > a.py\nx > y.py\nEOF\necho z >> c.py", ["a.py", "c.py"]),
        ("LANG=C sudo sed --in-place s/a/b/ /etc/x.conf", ["/etc/x.conf"]),
        ("echo 'it", []),
    ],
)
def test_the_files_that_a_command_writes(command: str, files: list[str]) -> None:
    """By a redirect, by `tee`, and in place; not those that it reads."""
    assert list(list_files_written_by_command(command)) == files


@pytest.mark.covers("PS-2")
async def test_a_file_of_a_common_name_is_the_one_that_the_memory_was_written_about(
    tmp_path: Path,
) -> None:
    """Each package has a `package.json`; what names it without a folder is about the root's."""
    engine = open_home(tmp_path)
    project = tmp_path / "shop"
    for folder in (project, project / "web"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
    notes = "".join(f"\n\nLine {number} of what was measured then." for number in range(20))
    engine.memory(str(project)).add(
        f"Dependencies in package.json are pinned exactly.{notes}",
        kind=MemoryKind.PROJECT,
        name="pins",
        description="which versions are allowed",
    )
    session = engine.observe_session("now", project=str(project))
    await session.take_opening_texts()
    edits = [
        {"file_path": str(folder / "package.json"), "old_string": "a", "new_string": "b"}
        for folder in (project / "web", project)
    ]
    other, own = (session.recall_for_tool_call(ToolUse("", "Edit", edit)) for edit in edits)
    await session.close()
    await engine.close()

    assert other == []
    assert "pinned exactly" in "".join(own)


@pytest.mark.covers("PS-2", "IN-2")
async def test_a_patch_that_codex_tells_its_hooks_of_names_its_file(tmp_path: Path) -> None:
    """Codex gives a hook the text of a patch as `command`, and the model as `input`."""
    for key in ("command", "input"):
        folder = tmp_path / key
        folder.mkdir()
        engine = open_home(folder)
        project = str(folder / "shop")
        notes = "".join(f"\n\nLine {number} of what was measured then." for number in range(20))
        engine.memory(project).add(
            f"Never round in totals.py.{notes}",
            kind=MemoryKind.FEEDBACK,
            name="digits",
            description="how amounts are cut",
        )
        session = engine.observe_session("now", project=project)
        await session.take_opening_texts()
        patch = "*** Begin Patch\n*** Update File: totals.py\n@@\n-a\n+b\n*** End Patch"

        shown = session.recall_for_tool_call(ToolUse("", "apply_patch", {key: patch}))
        assert "Never round in totals.py" in "".join(shown), key
        await session.close()
        await engine.close()


@pytest.mark.parametrize(
    ("text", "path", "named"),
    [
        ("Keep totals.py pure", "/p/src/totals.py", True),
        ("Keep `src/totals.py` pure.", "/p/src/totals.py", True),
        ("Keep lib/totals.py pure", "/p/src/totals.py", False),
        ("Keep totals.py.bak", "/p/src/totals.py", False),
        ("see index.ts", "/p/src/index.ts", False),
        ("see src/index.ts", "/p/src/index.ts", True),
        ("subtotals.py", "/p/src/totals.py", False),
    ],
)
def test_a_file_is_named_by_its_name_and_no_other_folder(text: str, path: str, named: bool) -> None:
    """A name that many folders have needs its folder."""
    assert mentions_file(text, path) is named


@pytest.mark.covers("PS-2")
async def test_the_index_of_past_sessions_is_read_once_for_all_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later session of the same process asks what the first has in memory, and finds as much."""
    read: list[int] = []

    def count_entries(rows: Iterable[StoredIndexRow]) -> EntryColumns:
        built = build_entry_columns(rows)
        read.append(built.entry_count)
        return built

    monkeypatch.setattr("memorist.recall.ranker.build_entry_columns", count_entries)
    past = replace(write_session(tmp_path, "old", ROUNDING), repository=str(tmp_path / "shop"))
    shown, counts = [], []
    async with open_home(tmp_path, past, embeddings=False) as engine:
        for id in ("one", "two", "three"):
            session = engine.observe_session(id, project=str(tmp_path / "shop"))
            shown.append(await session.recall_for_prompt("The VAT rounding per line looks wrong"))
            await session.close()
            counts.append(sum(read))

    assert "bankers rounding" in "".join(shown[0])
    assert shown[0] == shown[1] == shown[2]
    assert 0 < counts[0] == counts[1] == counts[2]


@pytest.mark.covers("PS-2")
async def test_an_index_whose_thread_is_about_to_start_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reads ahead for the first question waits for it, and does not fail."""
    start, about_to = threading.Thread.start, threading.Event()

    def start_late(thread: threading.Thread) -> None:
        if thread.name == "memorist-session-index":
            about_to.set()
            time.sleep(0.2)
        start(thread)

    async with open_home(tmp_path, write_session(tmp_path, "old", ROUNDING)) as engine:
        session = engine.observe_session("one", project="/p")
        recall = session._session_recall
        assert recall is not None
        await asyncio.to_thread(recall.wait_for_index)
        monkeypatch.setattr(threading.Thread, "start", start_late)
        starting = asyncio.create_task(asyncio.to_thread(recall.sync_index_in_thread))
        await asyncio.to_thread(about_to.wait, 60)
        await asyncio.to_thread(recall.wait_for_index)
        await starting
        await session.close()

"""The one line that the user sees in the client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from auto_memory.test_location import git
from hooks.conftest import Hooks
from hooks.recordings import FOLDER, ClaudeFile, CodexFile, Recording
from memorist.auto_memory.memory_file import MemoryKind
from memorist.engine.engine import Memorist
from memorist.engine.rollout_pipeline import open_rollout_pipeline
from memorist.events import MemoryChanged, MemoryNeedsReview, MemoryRefused
from memorist.hooks.hook_event import Client, HookEvent
from memorist.hooks.hook_notices import MAX_NOTICE_CHARS, render_memory_notice
from memorist.hooks.hook_response import render_hook_output
from memorist.hooks.hook_session import HookSessionPool
from memorist.settings import HooksSettings, Settings
from memorist.store.home_layout import Layout
from rollouts.conftest import claude

AGENTS: list[tuple[Client, type[Recording]]] = [("claude-code", ClaudeFile), ("codex", CodexFile)]


async def turns(
    home: Path, client: Client, file: Recording, *prompts: str, notices: bool = True
) -> list[str]:
    """The notices of sessions with one prompt each, as the client would print them."""
    settings = Settings(home=str(home), hooks=HooksSettings(notices=notices))
    found = []
    async with Memorist(model="structural", settings=settings) as engine:
        engine.starts_workers = False
        pool = HookSessionPool(engine, lambda event, client, error: pytest.fail(str(error)))
        path = home.parent / f"rollout-{client}.jsonl"
        event = HookEvent(session_id="s1", transcript_path=str(path), cwd=FOLDER)
        for prompt in prompts:
            for name in ("UserPromptSubmit", "Stop"):
                if name == "Stop":
                    file.user(prompt)
                    file.says("Done.")
                path.write_bytes(b"".join(file.lines))
                given = replace(event, hook_event_name=name, prompt=prompt)
                answer = await pool.render_output_for_event(client, given, "", 20.0)
                await pool.wait_until_idle()
                printed = render_hook_output(given, client, answer.text, answer.notice)
                found.append(json.loads(printed or b"{}").get("systemMessage", ""))
        await pool.close()
    return found


@pytest.mark.covers("IN-2", "AM-10")
@pytest.mark.parametrize(("client", "kind"), AGENTS)
async def test_a_user_sees_at_once_what_was_remembered_changed_and_forgotten(
    client: Client, kind: type[Recording], tmp_path: Path
) -> None:
    """At the end of the very turn: the words and the way back; nothing where nothing changed."""
    shown = await turns(
        tmp_path / "home",
        client,
        kind(),
        "Never use npm, use pnpm here.",
        "Look at the parser.",
        "Always use npm.",
        "no emojis please",
        "Forget that we always use npm.",
        "Remember: we deploy on Fridays at noon",
        "never deploy on Fridays",
        "memorist inbox",
    )

    assert shown[1] == "memorist: remembered “Never use npm, use pnpm here.” · memorist memory undo"
    assert shown[2:4] == ["", ""]
    assert shown[5].startswith("memorist: changed to “Always use npm.” (was never-npm-pnpm)")
    assert shown[7] == (
        "memorist: waits for your yes: “no emojis please” · type: memorist memory inbox"
    )
    assert shown[9].startswith("memorist: forgot “")
    assert "waits for your yes to forget “we deploy on Fridays at noon”" in shown[13]
    assert "“forget: we deploy on Fridays at noon”" in shown[14]


@pytest.mark.covers("IN-2", "AM-10")
async def test_the_start_of_a_session_says_what_waits_for_the_user(tmp_path: Path) -> None:
    """Also after a resume; not where the client only compacts, and not once it is decided."""
    home = tmp_path / "home"
    await turns(home, "claude-code", ClaudeFile(), "no emojis please")
    said = {source: await started(home, source) for source in ("startup", "resume", "compact")}
    for file in home.rglob("inbox/*.json"):
        file.unlink()

    waits = "memorist: 1 memory waits for your yes or no · type: memorist memory inbox"
    assert said == {"startup": waits, "resume": waits, "compact": ""}
    assert await started(home, "startup") == ""


@pytest.mark.covers("AM-4", "IN-2")
async def test_the_start_of_a_session_in_a_renamed_folder_names_its_memory(tmp_path: Path) -> None:
    """With the command that takes it over; once the project has a memory, no more."""
    project, home = tmp_path / "shop", tmp_path / "home"
    project.mkdir()
    git("init", cwd=project)
    git("commit", "--allow-empty", "-m", "a", cwd=project)

    async def remember(folder: Path) -> None:
        async with Memorist(model="structural", settings=Settings(home=str(home))) as engine:
            memory = engine.memory(str(folder))
            memory.add("x", kind=MemoryKind.PROJECT, name="x", description="x")

    await remember(project)
    assert await started(home, "startup", str(project)) == ""
    project.rename(moved := tmp_path / "my store")
    said = await started(home, "startup", str(moved))
    await remember(moved)

    assert said.startswith(f"memorist: the memory of {project} may belong here; ")
    assert said.endswith(f"memorist memory rebind {project}")
    assert await started(home, "startup", str(moved)) == ""


async def started(home: Path, source: str, folder: str = FOLDER) -> str:
    """The notice at the start of another session of the same project."""
    async with Memorist(model="structural", settings=Settings(home=str(home))) as engine:
        engine.starts_workers = False
        pool = HookSessionPool(engine, lambda event, client, error: pytest.fail(str(error)))
        event = HookEvent(
            session_id="s2", cwd=folder, hook_event_name="SessionStart", source=source
        )
        answer = await pool.render_output_for_event("claude-code", event, "", 20.0)
        await pool.close()
    return answer.notice


async def test_notices_can_be_switched_off(tmp_path: Path) -> None:
    """The setting `hooks.notices` makes the client silent; the memory is kept all the same."""
    shown = await turns(
        tmp_path / "home", "claude-code", ClaudeFile(), "Never use npm.", notices=False
    )

    assert shown == ["", ""]
    assert list((tmp_path / "home").glob("projects/*/memory/*npm*.md"))


def test_a_notice_is_one_short_line_whatever_happened() -> None:
    """Many long changes stay within two lines of a terminal, without a character that moves it."""
    events = [
        MemoryChanged(f"c{number}", "said", f"rule: line\none \x1b[31m {'word ' * 40}", ("a.md",))
        for number in range(9)
    ]
    said = render_memory_notice([*events, MemoryNeedsReview("p", "b.md", ("why",))])

    assert len(said) <= MAX_NOTICE_CHARS
    assert "\n" not in said
    assert "\x1b" not in said
    assert said.endswith("memorist memory log · type: memorist memory inbox")


@pytest.mark.slow
def test_a_session_without_memory_and_broken_settings_say_so_once(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start of a session tells why memory is off; every other event stays silent."""
    given = json.dumps({"session_id": "s1", "cwd": "/home/dev/shop"}).encode()
    (hooks.home / "config.toml").write_text("[hooks]\nno_such_setting = 1\n")

    broken = json.loads(hooks.raw("SessionStart", given).stdout)
    silent = hooks.raw("UserPromptSubmit", given).stdout
    monkeypatch.setenv("MEMORIST_OFF", "1")
    off = json.loads(hooks.raw("SessionStart", given).stdout)

    assert "memory is off" in broken["systemMessage"]
    assert "no_such_setting" in broken["systemMessage"]
    assert silent == b""
    assert "MEMORIST_OFF" in off["systemMessage"]
    assert hooks.raw("Stop", given).stdout == b""


async def test_nothing_is_learned_later_of_a_session_without_memory(
    hooks: Hooks, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Its client records it all the same; past sessions leave that recording out, by the id that
    the start of the session told. Anything but an id is not noted.
    """
    monkeypatch.setenv("MEMORIST_OFF", "1")
    for id in ("c1", "../../etc/passwd", "x" * 300, ""):
        given = json.dumps({"session_id": id, "cwd": "/home/dev/shop"}).encode()
        assert hooks.raw("SessionStart", given).returncode == 0
    claude(tmp_path / "sessions" / "c1.jsonl", ["Always run the linter before you commit."])
    claude(tmp_path / "sessions" / "c2.jsonl", ["Always count the till at closing."], session="c2")
    async with open_rollout_pipeline(Settings(home=str(hooks.home))) as past:
        found = past.find_sessions([tmp_path / "sessions"])

    assert Layout(hooks.home).memory_off_sessions.read_text() == "c1\n"
    assert [thread.id for thread in found.threads] == ["c2"]


async def test_a_folder_can_be_kept_out_of_memory(tmp_path: Path) -> None:
    """In it and below it nothing is shown or kept, also by a link to it, and the start of a session
    says so; past sessions leave its recording out. The folder beside it is as always.
    """
    client, beside = tmp_path / "client", tmp_path / "client-site"
    for folder in (client / "api", beside):
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(client)
    settings = Settings(
        home=str(tmp_path / "home"), hooks=HooksSettings(off_folders=(str(client),))
    )
    said = {}
    async with Memorist(model="structural", settings=settings) as engine:
        engine.starts_workers = False
        pool = HookSessionPool(engine, lambda event, client, error: pytest.fail(str(error)))
        for id, cwd in (("c1", client / "api"), ("c2", tmp_path / "link"), ("c3", beside)):
            event = HookEvent(session_id=id, transcript_path="", cwd=str(cwd))
            for name in ("SessionStart", "UserPromptSubmit", "Stop"):
                given = replace(event, hook_event_name=name, prompt="Always use tabs.")
                answer = await pool.render_output_for_event("claude-code", given, "", 20.0)
                await pool.wait_until_idle()
                said[id, name] = answer.notice
        await pool.close()
    claude(tmp_path / "sessions" / "c1.jsonl", ["Always use tabs."])
    async with open_rollout_pipeline(settings) as past:
        found = past.find_sessions([tmp_path / "sessions"])

    assert {key for key, notice in said.items() if "off in this folder" in notice} == {
        ("c1", "SessionStart"),
        ("c2", "SessionStart"),
    }
    assert [each.parent.name for each in (tmp_path / "home").rglob("transcript.jsonl")] == ["c3"]
    assert found.threads == ()


SECRET_REQUESTS = [
    "Remember the database password is hunter2-XK9",
    "/remember the api key is: 93kd-22ls-qq1",
    "# the deploy token is 93kd-22ls-qq1-ss82",
    "Please remember that the staging password: correct-horse",
    "记住：数据库密码是 hunter2-XK9",
]
NO_SECRET_REQUESTS = [
    "Is the database password in the vault?",
    "The login fails: password is wrong, fix it.",
    "Remember to rotate the token in the tests.",
    "Remember: our password policy is at least 12 characters",
]


@pytest.mark.covers("IN-2")
@pytest.mark.parametrize("prompt", SECRET_REQUESTS)
async def test_a_request_to_remember_a_secret_is_answered(prompt: str, tmp_path: Path) -> None:
    """It was dropped without a word, and the user relied on it. The line names no word of it."""
    prompted, ended = await turns(tmp_path / "home", "claude-code", ClaudeFile(), prompt)

    line = prompted + ended
    assert "nothing changed: what you asked to remember reads as a secret" in line
    kept = [path.read_text() for path in (tmp_path / "home").rglob("memory/*.md")]
    assert not any(part in text for part in ("hunter2", "93kd", "horse") for text in (line, *kept))


@pytest.mark.covers("IN-2")
@pytest.mark.parametrize("prompt", NO_SECRET_REQUESTS)
async def test_talk_of_passwords_is_no_request_to_keep_one(prompt: str, tmp_path: Path) -> None:
    """Work on a login, and rules for passwords, are answered by no refusal."""
    assert "secret" not in "".join(
        await turns(tmp_path / "home", "claude-code", ClaudeFile(), prompt)
    )


async def test_a_rule_about_passwords_is_kept(tmp_path: Path) -> None:
    """What holds for passwords, tokens or keys is none."""
    rules = (
        "Remember: our password policy is at least 12 characters",
        "Remember that the token limit is 4096",
        "Always use the API key format: uuid4",
    )
    notices = await turns(tmp_path / "home", "claude-code", ClaudeFile(), *rules)
    assert sum("remembered" in each for each in notices) >= 2, notices


def test_a_memory_that_the_disk_refused_is_told() -> None:
    """What was said and could not be written is not lost in silence; what the gate refused of a
    model's finding is no news.
    """
    full = "Cannot write pending.json: the disk is full; free space and try again."

    told = render_memory_notice([MemoryRefused("", (full,)), MemoryRefused("a.md", ("odd",))])

    assert told == f"memorist: nothing changed: {full}"


def test_a_failure_that_no_log_could_take_is_told_at_the_next_event(
    hooks: Hooks, tmp_path: Path
) -> None:
    """On a full disk the log is not written either: the next line that the user sees says it."""
    path = tmp_path / "rollout-1.jsonl"
    hooks.call("SessionStart", transcript_path=str(path), source="startup")
    (hooks.home / "hooks" / "failures.log").unlink(missing_ok=True)
    (hooks.home / "hooks" / "failures.log").mkdir()
    hooks.raw("UserPromptSubmit", b"no event")

    told = hooks.notice("UserPromptSubmit", transcript_path=str(path), prompt="Go on.")
    again = hooks.notice("UserPromptSubmit", transcript_path=str(path), prompt="Go on.")

    assert told.startswith("memorist: what the agent wrote is not a JSON object")
    assert again == ""

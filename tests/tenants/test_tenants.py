"""Many users in one process: what is kept apart, who waits for whom, what is closed and comes back
whole.
"""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.engine import tenants as tenants_module
from memorist.engine.session import Session
from memorist.engine.tenants import Tenants
from memorist.errors import SettingsError, StoreError, UsageError
from memorist.models.model_pricing import ModelPrice
from memorist.models.model_settings import ModelSettings
from memorist.models.rate_limits import RateLimitReport
from memorist.models.shared_model import SharedModelPool
from memorist.ports import HostInfo, discover_window
from memorist.settings import CompactionSettings, Settings
from memorist.store.home_layout import make_folder_name, make_portable_folder_name
from memorist.system import SystemClock
from memorist.testing.models import ScriptedModel
from memorist.testing.provider_server import ScriptedServer
from memorist.testing.steps import Say
from support.waiting import wait_until


class Paced(SystemClock):
    """A monotonic time that stands still until a test moves it."""

    def __init__(self) -> None:
        self._at = 0.0
        self._moved = asyncio.Event()

    def monotonic(self) -> float:
        return self._at

    def move(self, at: float) -> None:
        self._at = at
        self._moved.set()
        self._moved = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        until = self._at + seconds
        while self._at < until:
            await self._moved.wait()


def body(*said: str) -> dict[str, Any]:
    roles = ("user", "assistant")
    return {
        "model": "m",
        "max_tokens": 100,
        "messages": [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)],
    }


def words(session: Session) -> str:
    return session.layout.transcript.read_text("utf-8")


NAMES = st.one_of(
    st.text(min_size=1, max_size=200),
    st.text(alphabet="aA./\\-_0 \x00~éⅠıK", min_size=1, max_size=12),
    st.sampled_from(
        [
            "..",
            ".",
            "/",
            "../bob",
            "/etc",
            "con",
            "NUL",
            "config.toml",
            "bob",
            "Bob",
            "BOB",
            "b\u043eb",
            "bo\u0301b",
            "b\xf3b",
            "~",
            "x" * 5_000,
        ]
    ),
)


@given(NAMES, NAMES)
@example("Bob", "bob")
@example("b\u043eb", "bob")
@example("\ud800", "\ud801")
@example("a/b", make_portable_folder_name("a/b"))
@example("caf\u00e9", "cafe\u0301")
def test_tenants_of_any_name_never_meet_and_never_leave_the_root(one: str, other: str) -> None:
    """Each name is one plain folder below the root, and two names have two folders also where case
    and accents do not count.
    """
    tenants = Tenants("/srv/memorist", settings=Settings())
    home = tenants.home(one)

    assert home.parent == Path("/srv/memorist")
    assert home.name.isascii()
    assert home.name == home.name.lower()
    assert len(home.name) <= 100
    assert os.path.normpath(home) == str(home)
    assert (home == tenants.home(other)) == (one == other)


@given(NAMES, NAMES)
@example("a/b", make_folder_name("a/b"))
@example("memory", "memory-state")
def test_a_session_never_has_the_folder_of_another_or_of_the_memory(one: str, other: str) -> None:
    """Neither an id that is made like the name of another's folder, nor one that is called like the
    folders beside the sessions.
    """
    assert (make_folder_name(one) == make_folder_name(other)) == (one == other)
    assert make_folder_name(one).lower() not in ("memory", "memory-state")


async def test_a_tenant_without_a_name_is_refused(tmp_path: Path) -> None:
    """An empty name is a fault of the caller, not a tenant."""
    async with Tenants(tmp_path, settings=Settings()) as tenants:
        with pytest.raises(UsageError, match="needs a name"):
            async with tenants.session("", "s"):
                pass


async def test_a_session_belongs_to_one_task_at_a_time_and_the_others_wait_in_order(
    tmp_path: Path,
) -> None:
    """Twenty tasks want one session: each has it alone, first come first served."""
    seen: list[str] = []

    async def turn(tenants: Tenants, number: int) -> None:
        async with tenants.session("alice", "s") as session:
            seen.append(f"{number} in")
            await session.prepare(body(*(f"m{at}" for at in range(2 * number + 1))))
            await asyncio.sleep(0)
            seen.append(f"{number} out")

    async with Tenants(tmp_path, settings=Settings()) as tenants:
        await asyncio.gather(*(turn(tenants, number) for number in range(20)))

    assert seen == [f"{number} {what}" for number in range(20) for what in ("in", "out")]


async def test_a_task_that_is_cancelled_while_it_waits_leaves_the_session_to_the_next(
    tmp_path: Path,
) -> None:
    """Nobody waits for ever for one who went away."""
    async with Tenants(tmp_path, settings=Settings()) as tenants:

        async def wait() -> str:
            async with tenants.session("alice", "s") as session:
                return session.id

        async with tenants.session("alice", "s"):
            first, second = asyncio.create_task(wait()), asyncio.create_task(wait())
            await asyncio.sleep(0)
            first.cancel()

        assert await second == "s"
        assert tenants.open_sessions == 1


async def test_of_many_sessions_only_so_many_stay_open_and_those_used_last(tmp_path: Path) -> None:
    """Thirty are used, four stay open; a closed one comes back with all that it had, by the same
    id.
    """
    async with Tenants(tmp_path, settings=Settings(), most_open=4) as tenants:
        for number in range(30):
            async with tenants.session(f"t{number % 7}", f"s{number}") as session:
                await session.prepare(body(f"This is number {number}."))
        await wait_until(lambda: tenants.open_sessions == 4)

        async with tenants.session("t3", "s3") as session:
            await session.prepare(body("This is number 3.", "Yes.", "Go on."))
            await session.end_turn()
            text = words(session)
        assert text.count("This is number 3.") == 1
        assert "Go on." in text
        await wait_until(lambda: tenants.open_engines <= 4)


async def test_what_rests_is_closed_after_a_while_and_its_engine_with_it(tmp_path: Path) -> None:
    """Files and memory are let go of; one that was used meanwhile stays; an engine rests as long
    after its last session, or after it was asked for.
    """
    clock = Paced()
    async with Tenants(tmp_path, settings=Settings(), idle_seconds=100, clock=clock) as tenants:
        async with tenants.session("alice", "s"):
            pass
        engine = await tenants.engine("carol")
        clock.move(90)
        async with tenants.session("bob", "s"):
            pass
        assert await tenants.engine("carol") is engine
        clock.move(105)
        await wait_until(lambda: tenants.open_sessions == 1)
        assert await tenants.engine("carol") is engine
        clock.move(195)
        await wait_until(lambda: tenants.open_sessions == 0)
        clock.move(310)
        await wait_until(lambda: tenants.open_engines == 0)

        assert tenants.open_sessions == 0
        assert await tenants.engine("carol") is not engine


async def test_an_engine_stays_open_as_long_as_somebody_holds_a_session_that_was_opened_on_it(
    tmp_path: Path,
) -> None:
    """However long it was not asked for; afterwards it rests as any other, and is closed."""
    clock = Paced()
    async with Tenants(tmp_path, settings=Settings(), idle_seconds=100, clock=clock) as tenants:
        async with tenants.session("alice", "lent"):
            pass
        held = await (await tenants.engine("alice")).open("held")
        for at in (105, 215, 325):
            clock.move(at)
            await wait_until(lambda: tenants.open_sessions == 0)
            for _ in range(100):  # turns of the loop, in which it would be closed
                await asyncio.sleep(0)
            await held.prepare(body("Still here."))
        await held.close()
        clock.move(600)
        await wait_until(lambda: tenants.open_engines == 0)

    assert "Still here." in words(held)


async def test_a_session_in_use_is_never_closed_however_long_it_takes(tmp_path: Path) -> None:
    """Neither age nor want of room takes a session from who has it."""
    clock = Paced()
    async with (
        Tenants(
            tmp_path, settings=Settings(), most_open=1, idle_seconds=10, clock=clock
        ) as tenants,
        tenants.session("alice", "s") as mine,
    ):
        for number in range(5):
            async with tenants.session("bob", f"s{number}"):
                pass
        clock.move(1_000)
        await wait_until(lambda: tenants.open_sessions == 1)
        await mine.prepare(body("Still here."))
        await mine.end_turn()

        assert "Still here." in words(mine)


async def test_a_session_that_is_asked_for_in_another_way_is_opened_anew(tmp_path: Path) -> None:
    """Another wire format, or another word of the host, goes on with the same conversation."""
    async with Tenants(tmp_path, settings=Settings()) as tenants:
        async with tenants.session("alice", "s") as first:
            await first.prepare(body("Fix the importer."))
        async with tenants.session(
            "alice", "s", format="openai_chat", host=HostInfo(auto_compact=False)
        ) as second:
            assert second is not first
            await second.prepare(
                {"model": "m", "messages": [{"role": "user", "content": "Fix the importer."}]}
            )
            await second.end_turn()

        assert words(second).count("Fix the importer.") == 1
        assert tenants.open_sessions == 1


async def test_closing_waits_for_who_has_a_session_and_then_nobody_gets_one(tmp_path: Path) -> None:
    """What is under way is finished and on disk; those who wait, and who come later, are told."""
    tenants = Tenants(tmp_path, settings=Settings())
    begun = asyncio.Event()

    async def work() -> Session:
        async with tenants.session("alice", "s") as session:
            begun.set()
            await asyncio.sleep(0.01)
            await session.prepare(body("The last words."))
            return session

    async def wait() -> None:
        async with tenants.session("alice", "s"):
            raise AssertionError("it was given out after the end")

    working = asyncio.create_task(work())
    await begun.wait()
    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    await tenants.close()
    await tenants.close()

    assert "The last words." in words(await working)
    with pytest.raises(UsageError, match="closed"):
        await waiting
    with pytest.raises(UsageError, match="closed"):
        await tenants.engine("alice")
    assert tenants.open_sessions == 0


async def test_a_tenant_has_settings_of_its_own(tmp_path: Path) -> None:
    """What its file says goes before what all share, and reaches nobody else; a home that it names
    is not gone to.
    """
    (tmp_path / "config.toml").write_text('model = "structural"\n[spend]\nday_requests = 7\n')
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice" / "config.toml").write_text(
        f'home = "{tmp_path}/bob"\n[spend]\nday_requests = 3\n'
    )
    async with Tenants(tmp_path) as tenants:
        alice, bob = await tenants.engine("alice"), await tenants.engine("bob")

        assert (alice.settings.spend.day_requests, bob.settings.spend.day_requests) == (3, 7)
        assert alice.layout.home == tmp_path / "alice"
        assert alice.settings.context.user_folder == str(tmp_path / "alice" / ".claude")
        assert alice.environment["HOME"] == str(tmp_path / "alice")
        assert alice.layout.database != bob.layout.database


async def test_a_faulty_file_of_one_tenant_is_no_fault_of_the_others(tmp_path: Path) -> None:
    """The one is told what is wrong, the others work."""
    (tmp_path / "alice").mkdir()
    (tmp_path / "alice" / "config.toml").write_text("spend = 3")
    async with Tenants(tmp_path, settings=Settings()) as tenants:
        with pytest.raises(SettingsError, match=r"config\.toml"):
            await tenants.engine("alice")
        async with tenants.session("bob", "s") as session:
            await session.prepare(body("Hello."))

        assert tenants.open_engines == 1


@pytest.mark.parametrize(
    "shared", ['state = "postgresql://db/memorist"', '[auto_memory]\ndirectory = "/srv/notes"']
)
def test_settings_that_would_mix_tenants_are_refused(tmp_path: Path, shared: str) -> None:
    """One database of past sessions, or one memory folder, for all would show one tenant what
    another said.
    """
    (tmp_path / "config.toml").write_text(shared)

    with pytest.raises(SettingsError, match="tenant"):
        Tenants(tmp_path)


async def test_projects_that_are_only_names_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the process runs in a repository, whose memory they would share if a name were a
    folder of it.
    """
    (tmp_path / "code" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "code")
    async with Tenants(tmp_path / "code" / "data", settings=Settings()) as tenants:
        folders = set()
        for project in ("shop", "blog", "../shop", "~/shop", "/srv/shop"):
            async with tenants.session("alice", "s", project=project) as session:
                folders.add(session.layout.folder.parent)

        assert len(folders) == 5
        assert all(
            folder.parent == tmp_path / "code" / "data" / "alice" / "projects" for folder in folders
        )


@pytest.mark.parametrize(
    "project", ["{root}/bob", "{root}", "/", "{root}/../homes/bob/x", "/srv/\x00", "/srv/\ud800"]
)
async def test_a_project_cannot_reach_into_the_homes(tmp_path: Path, project: str) -> None:
    """Neither one that lies among them, nor one that holds them, nor one that is no folder's name."""
    async with Tenants(tmp_path / "homes", settings=Settings()) as tenants:
        with pytest.raises(UsageError, match=r"project|folder"):
            async with tenants.session(
                "alice", "s", project=project.format(root=tmp_path / "homes")
            ):
                pass

        assert tenants.open_engines == 0


async def test_what_a_provider_says_of_its_limits_reaches_all_who_use_its_client(
    tmp_path: Path,
) -> None:
    """The limits are those of the key: all hold back. The client given is not closed with the
    tenants.
    """
    model = ScriptedModel([Say(text="Yes.")])
    async with Tenants(tmp_path, settings=Settings(), model=model) as tenants:
        for name in ("alice", "bob"):
            async with tenants.session(name, "s"):
                pass
        model.announce_rate_limits(RateLimitReport(model=model.name, status=429, retry_after=60))
        held = [
            (await tenants.engine(name))
            .database()
            .execute("select count(*) from holds")
            .fetchone()[0]
            for name in ("alice", "bob")
        ]

        assert held == [1, 1]
    assert not model.closed


async def test_a_client_is_shared_by_those_with_one_key_and_closed_with_the_last(
    tmp_path: Path,
) -> None:
    """Two tenants with the process's key have one client, one with a key of its own has another; a
    client ends with who used it last.
    """
    opened: list[ScriptedModel] = []

    def opening() -> ScriptedModel:
        opened.append(ScriptedModel([]))
        return opened[-1]

    models = SharedModelPool()
    first, second, other = (models.acquire(key, opening) for key in ("one", "one", "other"))
    assert first is not None
    assert second is not None
    assert other is not None
    await first.close()
    await first.close()

    assert [model.closed for model in opened] == [False, False]
    await second.close()
    assert [model.closed for model in opened] == [True, False]
    await other.close()
    third = models.acquire("one", opening)
    assert third is not None
    assert len(opened) == 3
    await third.close()


async def test_a_tenant_pays_with_its_own_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the variable that its settings name, or one that the host gives it; without any, the
    tenant is told and the others work.
    """
    keys: list[tuple[str, object]] = []

    def noted(
        name: str, settings: object, *, clock: object, environment: Mapping[str, str]
    ) -> None:
        del settings, clock
        keys.append((name, environment.get("OPENAI_API_KEY")))

    monkeypatch.setattr(tenants_module, "create_model_from_string", noted)
    monkeypatch.setenv("OPENAI_API_KEY", "the house")
    async with Tenants(tmp_path, settings=Settings(), model="openai:m") as tenants:
        tenants.variables = lambda name: {"OPENAI_API_KEY": "her own"} if name == "alice" else {}
        await tenants.engine("alice")
        await tenants.engine("bob")

    assert keys == [("openai:m", "her own"), ("openai:m", "the house")]


async def test_a_tenants_conversation_goes_to_its_own_server_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the model that worked so far, with a larger window, writes the hand-over to the
    next one: it is asked where the tenant's variables say, and not where the process's do.
    """
    pages = [f"Page {number}. " + "The importer drops its row. " * 500 for number in range(9)]
    history = [
        {"role": role, "content": page}
        for page, role in zip(pages, ["user", "assistant"] * 5, strict=False)
    ]
    settings = Settings(
        model="anthropic:small-1",
        compaction=CompactionSettings(family="rollout"),
        models=ModelSettings(
            prices={"big-1": ModelPrice(window=200_000), "small-1": ModelPrice(window=30_000)},
            attempts=1,
        ),
    )
    with ScriptedServer([Say(text="Short.")] * 9) as theirs, ScriptedServer([]) as others:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "the house")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", others.url)
        async with Tenants(tmp_path, settings=settings) as tenants:
            tenants.variables = lambda _: {
                "ANTHROPIC_API_KEY": "her own",
                "ANTHROPIC_BASE_URL": theirs.url,
            }
            async with tenants.session("alice", "s") as session:
                await session.prepare({"model": "big-1", "max_tokens": 900, "messages": history})
                history.append({"role": "assistant", "content": "Read."})
                history.append({"role": "user", "content": "Go on."})
                await session.prepare({"model": "small-1", "max_tokens": 900, "messages": history})

        assert "big-1" in {each.body.get("model") for each in theirs.received}
        assert not others.received


async def _say(tenants: Tenants, tenant: str, text: str) -> None:
    async with tenants.session(tenant, "c1", project="shop") as session:
        said = [{"role": "user", "content": text}]
        await session.prepare({"model": "m", "max_tokens": 9, "messages": said})
        await session.end_turn()


async def test_memory_and_search_of_a_tenant_know_a_project_by_its_name(tmp_path: Path) -> None:
    """The same name as of the session: what was said there is found, and nobody else's."""
    async with Tenants(tmp_path) as tenants:
        await _say(tenants, "alice", "From now on use wombat for linting.")
        await _say(tenants, "bob", "From now on use bandicoot for linting.")
        memory = await tenants.memory("bob", project="shop")
        found = await tenants.search("bob", "which linting?", project="shop")
        other = await tenants.memory("bob", project="bank")

        assert [each.description for each in memory.headers()] == ["use bandicoot for linting."]
        assert [each.path for each in found.memories] == ["bandicoot-linting.md"]
        assert other.headers() == []


async def test_a_removal_that_was_killed_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was not deleted yet is no tenant's home, and goes with the next call."""
    async with Tenants(tmp_path) as tenants:
        await _say(tenants, "alice", "From now on use wombat for linting.")
        with monkeypatch.context() as patched:
            patched.setattr(tenants_module, "_remove_folder", _fail_on_tree)
            with pytest.raises(StoreError, match="remove"):
                await tenants.remove("alice")
        assert not tenants.home("alice").exists()
        await tenants.remove("alice")

        assert not [each for each in tmp_path.rglob("*") if each.is_file()]


def _fail_on_tree(folder: Path) -> None:
    if folder.exists():
        raise OSError(errno.EIO, os.strerror(errno.EIO))


async def test_a_session_that_waits_for_a_removal_begins_afresh(tmp_path: Path) -> None:
    """A task that asks for a session of the tenant meanwhile keeps what it writes."""
    async with Tenants(tmp_path) as tenants:
        async with tenants.session("alice", "thread", project="shop") as session:
            removing = asyncio.ensure_future(tenants.remove("alice"))
            await asyncio.sleep(0)
            later = asyncio.ensure_future(_say(tenants, "alice", "Use bandicoot for linting."))
            await asyncio.sleep(0)
            await session.prepare(body("From now on use wombat for linting."))
        await asyncio.gather(removing, later)
        await _say(tenants, "alice", "Is that right?")
        said = b"".join(each.read_bytes() for each in tmp_path.rglob("transcript.jsonl"))

    assert b"wombat" not in said
    assert b"Is that right?" in said


async def test_a_tenant_can_be_removed_while_others_are_served(tmp_path: Path) -> None:
    """Also one whose session is open; nothing of it stays on the disk, and it begins afresh."""
    async with Tenants(tmp_path) as tenants:
        await _say(tenants, "alice", "From now on use wombat for linting.")
        await _say(tenants, "bob", "From now on use bandicoot for linting.")
        await tenants.remove("alice")
        await tenants.remove("nobody")
        left = [each for each in tmp_path.rglob("*") if each.is_file()]

        assert not [each for each in left if b"wombat" in each.read_bytes()]
        await _say(tenants, "alice", "Hello again.")
        assert (await tenants.memory("alice", project="shop")).headers() == []
        assert len((await tenants.memory("bob", project="shop")).headers()) == 1


async def test_a_shared_model_asks_its_server_for_the_window() -> None:
    """The first request of a user must fit the server's window, not the assumed one."""

    class Small(ScriptedModel):
        asked = 0

        async def discover_window(self) -> int:
            self.asked += 1
            return 8_192

    small = Small([Say(text="ok")])
    handle = SharedModelPool().acquire("small", lambda: small)
    assert handle is not None
    await discover_window(handle)

    assert small.asked == 1

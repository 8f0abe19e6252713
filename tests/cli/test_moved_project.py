"""`memorist memory rebind`: what is known of a project follows it to its new folder."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from auto_memory.test_location import git
from memorist import Memorist
from memorist.cli.main import memorist_group
from support.past_sessions import ROUNDING, write_session


def memorist(*arguments: str) -> Result:
    return CliRunner().invoke(memorist_group, arguments)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository without a remote, with a memory and a past session of Claude Code."""
    project = tmp_path / "shop"
    project.mkdir()
    git("init", cwd=project)
    git("commit", "--allow-empty", "-m", "a", cwd=project)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    recorded = tmp_path / ".claude" / "projects" / "shop"
    recorded.mkdir(parents=True)
    write_session(recorded, "aaaa", ROUNDING, 5)
    path = recorded / "aaaa.jsonl"
    path.write_text(path.read_text().replace('"/p"', json.dumps(str(project))))
    memorist("memory", "add", "Use pnpm, never npm.")
    memorist("import", "--yes")
    return project


def found_here() -> tuple[list[str], list[str]]:
    """Descriptions of the memories, and the past sessions that a search finds, by their id."""
    listed = json.loads(memorist("memory", "list", "--json").stdout)
    found = json.loads(memorist("search", "VAT rounding", "--json").stdout)
    return [each["description"] for each in listed["memories"]], sorted(
        {each["session"] for each in found["passages"]}
    )


@pytest.mark.covers("AM-4", "PS-1")
def test_memory_and_past_sessions_follow_a_renamed_folder(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lists and the status name the memory that may belong here, with the command that takes it
    over; memory, search and the list of sessions are then as before, also after a later sync.
    """
    before = found_here()
    shop.rename(moved := shop.with_name("my store"))
    monkeypatch.chdir(moved)

    for command in (["memory", "list"], ["sessions"], ["status"]):
        assert f"memorist memory rebind {shop}" in memorist(*command).stdout, command
    assert found_here() == ([], [])
    done = memorist("memory", "rebind", str(shop), "--yes")

    assert done.exit_code == 0, done.output
    assert "1 memory and 1 past session are now known of" in done.stdout
    assert found_here() == before == (["Use pnpm, never npm."], ["aaaa"])
    memorist("import", "--yes")
    assert found_here() == before
    assert "aaaa" in memorist("sessions").stdout
    assert "rebind" not in memorist("memory", "list").stdout


@pytest.mark.covers("AM-4")
def test_sessions_follow_where_there_is_no_memory(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project of which only past sessions are known is taken over too, by the folder's name; one
    of which nothing is known is not.
    """
    memorist("memory", "forget", "use-pnpm-never-npm.md", "--yes")
    shop.rename(moved := shop.with_name("store"))
    monkeypatch.chdir(moved)

    done = memorist("memory", "rebind", "../shop", "--yes")
    assert "0 memories and 1 past session are" in done.stdout, done.output
    assert found_here() == ([], ["aaaa"])
    assert memorist("memory", "rebind", "../shopping", "--yes").exit_code == 1


@pytest.mark.parametrize("place", ["home/ann", "Users/ann"])
def test_a_home_copied_to_another_user_names_what_it_has_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Also of a folder without Git, and where there are memories for every project: the list and
    the overview said that nothing is known. A folder that was no home is not taken for one.
    """
    ann, bob = tmp_path / place, tmp_path / "home" / "bob"
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "memorist"))
    monkeypatch.setenv("HOME", str(bob))
    for folder in (ann / "shop", tmp_path / "backup" / "2026" / "shop"):
        folder.mkdir(parents=True)
        monkeypatch.chdir(folder)
        memorist("memory", "add", "Use pnpm, never npm.")
    memorist("memory", "add", "--everywhere", "Always answer in French.")
    (shop := bob / "shop").mkdir(parents=True)
    monkeypatch.chdir(shop)
    assert "rebind" not in memorist("memory", "list").stdout

    shutil.rmtree(ann)
    shutil.rmtree(tmp_path / "backup")

    for said in (memorist("memory", "list").stdout, memorist().stdout):
        assert f"memorist memory rebind {ann / 'shop'}" in said
        assert "backup" not in said
    done = memorist("memory", "rebind", str(ann / "shop"), "--yes")
    assert done.exit_code == 0, done.output
    assert "Use pnpm, never npm." in memorist("memory", "list").stdout


@pytest.mark.covers("AM-4")
def test_the_users_word_and_what_waits_follow_into_a_place_that_has_memories(
    shop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What the user stated there stays their word, what they stated in both places stands once, and
    what waited for their yes waits here.
    """
    memorist("memory", "add", "Never push to main.")
    (state,) = (tmp_path / "home").glob("projects/*shop*/memory-state")
    (state / "inbox").mkdir(exist_ok=True)
    (state / "inbox" / "p.json").write_text("{}")
    shop.rename(moved := shop.with_name("store"))
    monkeypatch.chdir(moved)
    memorist("memory", "add", "Run ruff before each commit.")
    memorist("memory", "add", "Never push to main.")

    assert memorist("memory", "rebind", str(shop), "--yes").exit_code == 0
    listed = json.loads(memorist("memory", "list", "--json").stdout)["memories"]

    assert sorted((each["description"], each["trust"]) for each in listed) == [
        ("Never push to main.", "reviewed"),
        ("Run ruff before each commit.", "reviewed"),
        ("Use pnpm, never npm.", "reviewed"),
    ]
    (now,) = (tmp_path / "home").glob("projects/*store*/memory-state")
    assert (now / "inbox" / "p.json").read_text() == "{}"


@pytest.mark.covers("AM-4")
def test_a_submodule_names_the_memory_of_its_superproject(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it has none of its own, with the setting by which both share one."""
    library = shop.with_name("library")
    library.mkdir()
    git("init", cwd=library)
    git("commit", "--allow-empty", "-m", "a", cwd=library)
    git("-c", "protocol.file.allow=always", "submodule", "add", str(library), "lib", cwd=shop)
    monkeypatch.chdir(shop / "lib")

    said = memorist("memory", "list").stdout
    assert f"{shop}, whose submodule this is, has a memory of its own" in said
    name, _, folder = said.splitlines()[-1].rpartition(" ")[2].partition("=")
    monkeypatch.setenv(name, folder)
    assert "Use pnpm, never npm" in memorist("memory", "list").stdout
    monkeypatch.delenv(name)
    memorist("memory", "add", "The library has no dependencies.")
    assert "whose submodule" not in memorist("memory", "list").stdout
    monkeypatch.chdir(library)
    assert "whose submodule" not in memorist("memory", "list").stdout


@pytest.mark.parametrize("name", ["my shop", 'jo\'s "shop"', "two\nlines", "$(id)"])
def test_the_command_that_takes_a_memory_over_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whatever the folder is called: the shell takes it for one argument."""
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    project = tmp_path / name
    project.mkdir()
    monkeypatch.chdir(project)
    memorist("memory", "add", "Use pnpm, never npm.")
    project.rename(moved := tmp_path / "moved")
    monkeypatch.chdir(moved)

    found = json.loads(memorist("doctor", "--json").stdout)["findings"]
    (shown,) = (each["remedy"] for each in found if "which is gone" in each["what"])
    _, *words = shlex.split(shown[shown.index("memorist ") :])
    done = memorist(*words, "--yes")

    assert done.exit_code == 0, done.output
    assert found_here()[0] == ["Use pnpm, never npm."]


def test_a_home_can_be_copied_while_a_session_is_open(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy has all memories with their history, and nothing in it is damaged."""
    home = Path(os.environ["MEMORIST_HOME"])
    with Memorist(model="structural", home=home) as engine, engine.open("s1", project=shop) as live:
        said = [{"role": "user", "content": "From now on run make lint before each commit."}]
        live.prepare({"model": "m", "max_tokens": 9, "messages": said})
        shutil.copytree(home, copied := home.with_name("copied"))
    before = json.loads(memorist("memory", "log", "--json").stdout)
    monkeypatch.setenv("MEMORIST_HOME", str(copied))
    memorist("doctor", "--fix")
    report = json.loads(memorist("doctor", "--json").stdout)

    assert json.loads(memorist("memory", "log", "--json").stdout) == before
    assert found_here() == (["run make lint before each commit.", "Use pnpm, never npm."], ["aaaa"])
    assert not [each for each in report["findings"] if each["state"] == "wrong"], report
    assert memorist("memory", "undo", "--yes").exit_code == 0


@pytest.mark.covers("AM-4")
@pytest.mark.parametrize("remotes", [("shop", "site"), ("shop",), ()])
def test_projects_that_change_places_keep_their_own_memory(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remotes: tuple[str, ...]
) -> None:
    """Another repository at the place of one had its memory, and wrote into it. Each takes its own
    over, there and back, whether they have remotes or not; one that only has another address, or
    was cloned anew from the same, or began a new reflog, is the same.
    """
    site = tmp_path / "site"
    for folder, name in ((shop, "shop"), (site, "site")):
        folder.mkdir(exist_ok=True)
        git("init", cwd=folder)
        git("commit", "--allow-empty", "-m", name, cwd=folder)
        if name in remotes:
            git("remote", "add", "origin", f"git@example.com:team/{name}.git", cwd=folder)
        monkeypatch.chdir(folder)
        memorist("memory", "add", f"Only of the {name}.")

    def described() -> str:
        return memorist("memory", "list").stdout

    for _ in range(2):
        shop.rename(tmp_path / "aside")
        site.rename(shop)
        (tmp_path / "aside").rename(site)
        for folder, former in ((site, shop), (shop, site)):
            monkeypatch.chdir(folder)
            assert "Only of the" not in described()
            memorist("memory", "rebind", str(former), "--yes")
        shop, site = site, shop
        for folder, name in ((shop, "shop"), (site, "site")):
            monkeypatch.chdir(folder)
            assert f"Only of the {name}" in described()
            assert described().count("Only of the") == 1

    shop.rename(tmp_path / "aside")  # and one goes on from there, which has no memory at the place
    site.rename(shop)
    moved = shop.rename(tmp_path / "moved")
    monkeypatch.chdir(moved)
    memorist("memory", "rebind", str(shop), "--yes")
    assert "Only of the" not in described()
    moved.rename(site)
    shop = (tmp_path / "aside").rename(shop)

    monkeypatch.chdir(shop)
    if remotes:
        git("remote", "set-url", "origin", "https://example.org/other/store.git", cwd=shop)
        assert "Only of the shop" in described()
        git("remote", "set-url", "origin", "https://example.org/other/shop", cwd=shop)
    (shop / ".git" / "logs" / "HEAD").write_text("cloned anew\n")
    assert "Only of the shop" in described()

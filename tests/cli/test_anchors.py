"""A memory knows what it names in the project, and says when that changed."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from memorist import Memorist, Settings
from memorist.auto_memory.anchors import find_path_candidates
from memorist.cli.main import memorist_group
from memorist.dream import dream_workspace
from memorist.errors import WriteConflict


def memorist(*arguments: str) -> Result:
    ran = CliRunner().invoke(memorist_group, arguments)
    assert "Traceback" not in ran.output
    return ran


def check() -> dict[str, Any]:
    found = json.loads(memorist("memory", "check", "--json").stdout)
    assert isinstance(found, dict)
    return found


def git(*arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a few files and a repository."""
    shop = tmp_path / "shop"
    (shop / "src").mkdir(parents=True)
    (shop / "src" / "ledger.py").write_text("ROUND = 2\n")
    (shop / "src" / "till.py").write_text("OPEN = 9\n")
    (shop / "uv.lock").write_text("one\n")
    (shop / "Makefile").write_text("check:\n\truff .\n\nserve:\n\t./serve\n")
    (shop / "package.json").write_text('{"scripts": {"seed": "node seed.js"}}')
    monkeypatch.chdir(shop)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "a")
    return shop


@pytest.mark.usefixtures("shop")
def test_a_memory_of_a_file_that_changed_is_shown_as_such(shop: Path) -> None:
    """`memory show` and `memory check` name the file and the day; until then they are
    silent, and nothing is removed.
    """
    memorist("memory", "add", "Amounts are rounded in ledger.py, half up.", "--name", "rounding")
    quiet = memorist("memory", "show", "rounding").output
    before = check()
    (shop / "src" / "ledger.py").write_text("ROUND = 3\n")
    shown = memorist("memory", "show", "rounding").output
    checked = memorist("memory", "check")

    assert "still true?" not in quiet
    assert before["stale"] == []
    assert "src/ledger.py changed since 20" in shown
    assert checked.exit_code == 1
    assert "src/ledger.py changed since 20" in checked.stdout
    assert "Amounts are rounded" in shown


def test_what_still_holds_is_accepted(shop: Path) -> None:
    """`memory check --accept` takes the file as it is now; the next change is told again, and undo
    takes the acceptance back.
    """
    memorist("memory", "add", "Amounts are rounded in src/ledger.py.", "--name", "rounding")
    (shop / "src" / "ledger.py").write_text("ROUND = 3\n")
    accepted = memorist("memory", "check", "--accept", "rounding")
    after = check()["stale"]
    memorist("memory", "undo", "--yes")
    undone = check()["stale"]
    memorist("memory", "check", "--accept", "all")
    (shop / "src" / "ledger.py").write_text("ROUND = 4\n")

    assert accepted.exit_code == 0
    assert after == []
    assert [each["changed"] for each in undone] == [["src/ledger.py"]]
    assert [each["changed"] for each in check()["stale"]] == [["src/ledger.py"]]


def test_a_command_is_an_anchor_by_what_it_is_defined_as(shop: Path) -> None:
    """A target of the Makefile and a script of the package; another target's change is none."""
    memorist("memory", "add", "Run `make check` before `npm run seed`.", "--name", "order")
    (shop / "Makefile").write_text("check:\n\truff .\n\nserve:\n\t./serve --fast\n")
    calm = check()["stale"]
    (shop / "Makefile").write_text("check:\n\tmypy\n")
    (shop / "package.json").write_text('{"scripts": {}}')

    assert calm == []
    (stale,) = check()["stale"]
    assert (stale["changed"], stale["gone"]) == (["make check"], ["npm run seed"])


def test_what_changes_by_itself_is_no_anchor(shop: Path) -> None:
    """Lock files, built files, links, versions and names of nothing here raise no question."""
    text = "See uv.lock, dist/app.js, node_modules/x/y.js, https://a.example/b.py, v1.2.3, no.py."
    memorist("memory", "add", text, "--name", "noise")
    (shop / "uv.lock").write_text("two\n")

    assert json.loads(memorist("memory", "show", "noise", "--json").stdout)["anchors"] == []
    assert check()["stale"] == []


def test_a_renamed_file_is_followed(shop: Path) -> None:
    """A file that Git knows by its content at another place is not gone."""
    memorist("memory", "add", "The till opens by src/till.py.", "--name", "till")
    git("mv", "src/till.py", "src/opening.py")

    assert check()["stale"] == []


def test_a_file_that_was_renamed_and_edited_has_changed(shop: Path) -> None:
    """It is known by the lines that Git recorded of it; with few of them, or where several files
    have them, it is gone.
    """
    lines = [f"RATE_{at} = {at}\n" for at in range(20)]
    (shop / "src" / "rates.py").write_text("".join(lines))
    git("add", ".")
    git("commit", "-qm", "b")
    memorist("memory", "add", "The rates in rates.py are the bank's.", "--name", "rates")
    git("mv", "src/rates.py", "src/bank_rates.py")
    seen = []
    for kept in (15, 8):
        (shop / "src" / "bank_rates.py").write_text("".join([*lines[:kept], "OTHER = 1\n"]))
        git("add", ".")
        seen.append(check()["stale"][0])
    (shop / "src" / "bank_rates.py").write_text("".join(lines[:15]))
    (shop / "src" / "old_rates.py").write_text("".join(lines[:16]))
    git("add", ".")
    seen.append(check()["stale"][0])

    assert [each["changed"] for each in seen] == [["src/rates.py (now src/bank_rates.py)"], [], []]
    assert [each["gone"] for each in seen] == [[], ["src/rates.py"], ["src/rates.py"]]


def test_a_file_that_git_leaves_out_here_is_not_gone(shop: Path, tmp_path: Path) -> None:
    """In a clone whose submodules were not fetched, and beyond a sparse checkout, each memory of a
    file there was reported as stale; one that is deleted in the submodule itself still is.
    """
    parts = tmp_path / "parts"
    (parts / "lib").mkdir(parents=True)
    (parts / "lib" / "core.c").write_text("int a;\n")
    git("init", "-q", str(parts))
    git("-C", str(parts), "add", ".")
    git("-C", str(parts), "commit", "-qm", "a")
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(parts), "vendor")
    git("commit", "-qm", "b")
    memorist("memory", "add", "vendor/lib/core.c has our patch.", "--name", "patch")
    memorist("memory", "add", "The till opens by src/till.py.", "--name", "till")

    git("submodule", "deinit", "-q", "-f", "vendor")
    git("sparse-checkout", "set", "--no-cone", "/*", "!/src/till.py")
    assert not (shop / "src" / "till.py").exists()
    assert check()["stale"] == []

    git("sparse-checkout", "disable")
    git("-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init")
    (shop / "vendor" / "lib" / "core.c").unlink()
    (stale,) = check()["stale"]
    assert stale["gone"] == ["vendor/lib/core.c"]


def test_old_memories_without_anchors_are_as_they_were(shop: Path) -> None:
    """A memory that was written without anchors raises no question, whatever changes."""
    memorist("memory", "add", "Be brief.", "--name", "brief")
    folder = Path(check()["folder"])
    (folder / "old.md").write_text("---\nname: old\ndescription: d\n---\nsrc/till.py opens.\n")
    memorist("status")
    (shop / "src" / "till.py").unlink()

    assert check()["stale"] == []


LONG = (
    "The marmot rate is set in src/till.py.\n\nIt is read once a day, from the table of rates, and "
    "every marmot pays it. Whoever changes it tells the marmots.\n"
)
ASKED = "where is the marmot rate set, and who reads the table of marmot rates?"


def insert(shop: Path, home: Path, session: str) -> str:
    """What a new session of this project is sent for the question."""
    with Memorist(settings=Settings(home=str(home))) as engine:
        opened = engine.open(session, project=str(shop))
        body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": ASKED}]}
        return str(opened.prepare(body))


def test_an_insert_says_what_changed_and_leaves_out_what_has_no_ground(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed file is named beside the memory. When everything that it names is gone, what a
    model concluded is not shown; the user's own word is, with what is gone.
    """
    home = tmp_path / "home"
    monkeypatch.setenv("MEMORIST_HOME", str(home))
    memorist("memory", "add", LONG, "--name", "marmot-rate", "--description", "the marmot rate")
    path = Path(check()["folder"]) / "marmot-rate.md"
    before = insert(shop, home, "before")
    (shop / "src" / "till.py").write_text("OPEN = 10\n")
    changed = insert(shop, home, "changed")
    (shop / "src" / "till.py").unlink()
    gone = insert(shop, home, "gone")
    path.write_text(path.read_text().replace("trust: reviewed", "trust: derived"))
    concluded = insert(shop, home, "concluded")

    assert "read once a day" in before
    assert "look before you rely" not in before
    assert "src/till.py changed since 20" in changed
    assert "src/till.py gone since 20" in gone
    assert "read once a day" in gone
    assert "read once a day" not in concluded


@pytest.mark.parametrize("is_disturbed", [False, True])
def test_a_dream_asks_once_about_a_memory_whose_ground_moved(
    shop: Path, is_disturbed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dream's report names it, a dry run's too, and the next one does not; a memory of nothing
    that is left waits in the inbox as a question. No dream alters it. One that another writer makes
    start over names it all the same.
    """
    disturbances = [WriteConflict("another wrote meanwhile")] if is_disturbed else []
    propose = dream_workspace._DreamWriter._propose

    def propose_at_last(writer: Any, questions: Any) -> list[Any]:
        if disturbances:
            raise disturbances.pop()
        return list(propose(writer, questions))

    monkeypatch.setattr(dream_workspace._DreamWriter, "_propose", propose_at_last)
    memorist("memory", "add", "Amounts are rounded in src/ledger.py.", "--name", "rounding")
    memorist("memory", "add", "The till opens by src/till.py.", "--name", "till")
    (shop / "src" / "ledger.py").write_text("ROUND = 3\n")
    (shop / "src" / "till.py").unlink()
    git("rm", "-q", "--cached", "src/till.py")
    would = memorist("dream", "--dry-run").output
    first = memorist("dream", "--now").output
    second = memorist("dream", "--now").output
    waiting = memorist("memory", "inbox").output

    assert "src/ledger.py changed since" in would
    assert "src/till.py gone since" in would.partition("would wait in the inbox")[2]
    assert "src/ledger.py changed since" in first
    assert "src/ledger.py changed since" not in second
    assert "till.md" in waiting
    assert [each["path"] for each in check()["stale"]] == ["rounding.md", "till.md"]


def test_names_of_files_are_told_from_other_words() -> None:
    """Paths and names with an ending; not addresses, versions of nothing, or sentences."""
    found = find_path_candidates(
        "In src/a.py and ./b/c.ts, see `d.toml`. Use e.g. it; and/or that (f.go)."
    )

    assert {"src/a.py", "b/c.ts", "d.toml", "f.go"} <= set(found)
    assert not {"this", "https", "See", "Use"} & set(found)


def test_names_of_files_with_spaces_are_found_where_something_ends_them() -> None:
    """In code, in quotation marks, and from a slash on to the ending."""
    found = find_path_candidates(
        'The plan is `docs/Release Plan.md`, "My Notes.md" the rest; docs/api/Rate Limits v2.md too.'
    )

    assert {"docs/Release Plan.md", "My Notes.md", "docs/api/Rate Limits v2.md"} <= set(found)
    assert not find_path_candidates("and/or we do this and that, as he said.")[1:]

"""What a fork may do on a real disk, and what it is told when it may not."""

from __future__ import annotations

import asyncio
import os
import tempfile
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memorist.forks.calls import (
    ApplyPatch,
    Call,
    EditFile,
    InsertText,
    ListFiles,
    ReadFile,
    Replacement,
    Search,
    Shell,
    UnknownCall,
    WriteFile,
)
from memorist.forks.hands.run import Answer, Hands
from memorist.forks.patch import AddText, DeleteText, Hunk, UpdateText
from memorist.forks.permissions import path_problem, same_name
from memorist.forks.spec import EditOnly, FileChange, FolderAccess, NoTools
from memorist.store.files import DiskFiles
from memorist.testing import MemoryFiles

SECRET = "nobody's business\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A memory folder beside things that are not to be touched, with ways that lead from one to the other."""
    return furnish(tmp_path)


def furnish(root: Path) -> Path:
    """Make `mem` (notes, a subfolder) and `out` (a secret), with links of every kind between them."""
    root = root.resolve()
    mem, out = root / "mem", root / "out"
    (mem / "sub").mkdir(parents=True)
    out.mkdir()
    (mem / "notes.md").write_text("one\ntwo\n")
    (mem / "café.md").write_text("coffee\n")
    (out / "secret").write_text(SECRET)
    (out / "plain").write_text(SECRET)
    (root / "memory").mkdir()
    (root / "memory" / "near").write_text(SECRET)
    (mem / "to-file").symlink_to(out / "secret")
    (mem / "to-plain").symlink_to(out / "plain")
    (mem / "to-folder").symlink_to(out)
    (mem / "dangling").symlink_to(out / "new")
    (mem / "sub" / "up").symlink_to(Path("..") / "..")
    (mem / "round").symlink_to(mem / "round")
    os.link(out / "secret", mem / "hard")
    os.mkfifo(mem / "pipe")
    return root


def names_below(root: Path) -> list[str]:
    """Everything below a folder, links not followed."""
    return sorted(str(found) for found in root.rglob("*"))


async def do(hands: Hands, *calls: Call) -> list[Answer]:
    return [await hands.do(call) for call in calls]


@pytest.mark.covers("FK-3")
async def test_only_an_edit_of_the_one_file_is_allowed(home: Path) -> None:
    """With `EditOnly`, the edit is made and everything else is denied with a reason that names the file."""
    path = home / "mem" / "notes.md"
    hands = Hands(EditOnly(path), DiskFiles(), [path])

    made, *others = await do(
        hands,
        EditFile(str(path), (Replacement("one", "1"),)),
        EditFile(str(home / "mem" / "café.md"), (Replacement("coffee", "tea"),)),
        WriteFile(str(path), "all new"),
        ReadFile(path=str(path)),
        Search(pattern="x"),
        ListFiles(),
        Shell("ls"),
        ApplyPatch((DeleteText(str(path)),)),
        UnknownCall("WebFetch"),
    )

    assert made == Answer(text=f"Changed: {path}", changed=True)
    assert path.read_text() == "1\ntwo\n"
    assert all(answer.is_error and "Only an edit of" in answer.text and str(path) in answer.text for answer in others)
    assert len(hands.denied) == len(others)


@pytest.mark.covers("FK-3")
async def test_a_folder_may_be_read_searched_and_written(home: Path) -> None:
    """With `FolderAccess`, what the memory jobs need works: read, list, search, a command, edit, insert, patch, a new file."""
    mem = home / "mem"
    hands = Hands(FolderAccess(folder=mem), DiskFiles())

    read, listed, lines, counts, command = await do(
        hands,
        ReadFile(path="notes.md", numbered=True),
        ListFiles(pattern="*.md"),
        Search(pattern=r"t\wo", show="lines"),
        Search(pattern="o", show="count"),
        Shell("grep -c o notes.md"),
    )
    edited, inserted, patched, written = await do(
        hands,
        EditFile("notes.md", (Replacement("one\n", "1\n"),)),
        InsertText("notes.md", 1, "1.5"),
        ApplyPatch((UpdateText("notes.md", (Hunk(("two",), ("2",)),)), AddText("sub/b.md", "b\n"))),
        WriteFile("new.md", "n\n"),
    )

    assert read.text == "     1\tone\n     2\ttwo"
    assert listed.text.split("\n") == [str(mem / "café.md"), str(mem / "notes.md")]
    assert lines.text == f"{mem}/notes.md:2:two"
    assert counts.text.split("\n") == [f"{mem}/café.md:1", f"{mem}/hard:1", f"{mem}/notes.md:2"]
    assert command.text == "2"
    assert all(answer.changed for answer in (edited, inserted, patched, written))
    assert (mem / "notes.md").read_text() == "1\n1.5\n2\n"
    assert {(Path(change.path).name, change.before, change.after) for change in hands.changes()} == {
        ("notes.md", 8, 8),
        ("b.md", None, 2),
        ("new.md", None, 2),
    }


@pytest.mark.covers("FK-3", "FK-4")
@pytest.mark.parametrize(
    "path",
    [
        "{root}/out/secret",
        "{root}/out/new",
        "{root}/memory/near",
        "../out/secret",
        "sub/../../out/secret",
        "sub/up/out/secret",
        "to-file",
        "to-plain",
        "to-folder/secret",
        "to-folder/plain",
        "to-folder/new",
        "dangling",
        "hard",
        "pipe",
        "round",
        ".",
        "sub",
        "..",
        "",
        "~/x.md",
        "~root/x.md",
        "..\\out\\secret",
        "．．/out/secret",
        "ｎotes.md",
        "sub／x.md",
        "ﬁle.md",
        "notes.md\x00.txt",
        "notes.md ",
        "notes.md.",
        "a\u200b.md",
        "a\u202e.md",
        "sub./x.md",
        ".git/hooks/post-commit",
        ".GIT/config",
        "sub/.bashrc",
        "notes.md/x",
        "/dev/null",
        "/proc/self/mem",
        "x" * 300,
    ],
)
async def test_no_way_of_naming_a_path_leads_a_write_outside(home: Path, path: str) -> None:
    """Links, `..`, look-alikes, hard links, devices, hidden files: a write, an edit and a patch are refused, and every file stays as it was."""
    mem = home / "mem"
    asked = path.format(root=home)
    hands = Hands(FolderAccess(folder=mem), DiskFiles(), [home / "out" / "plain", home / "memory" / "near", mem / "hard"])
    before = names_below(home)

    answers = await do(
        hands,
        WriteFile(asked, "taken"),
        EditFile(asked, (Replacement("nobody", "somebody"),)),
        EditFile(asked, (Replacement("", "taken"),)),
        InsertText(asked, 0, "taken"),
        ApplyPatch((AddText(asked, "taken"),)),
        ApplyPatch((UpdateText(asked, (Hunk((), ("taken",)),)),)),
        ApplyPatch((AddText("fine.md", "fine"), AddText(asked, "taken"))),
    )

    assert all(answer.is_error and answer.text for answer in answers)
    assert hands.changes() == ()
    assert (home / "out" / "secret").read_text() == (home / "memory" / "near").read_text() == SECRET
    assert names_below(home) == before


_PARTS = st.sampled_from(
    [
        "..", ".", "sub", "up", "to-file", "to-plain", "to-folder", "dangling", "hard",
        "out", "mem", "MEM", "Mem", "secret", "new.md", "notes.md", "NOTES.MD",
        "café.md", unicodedata.normalize("NFD", "café.md"), "ｎotes.md", "．．", "..．", "mem ", "mem.", "", "round", "memory", "near", ".git",
        "\u2024\u2024", "a\u2215b", "..\u2215out",
    ]
)  # fmt: skip


@pytest.mark.covers("FK-3", "FK-4")
@settings(max_examples=60, deadline=None)
@given(asked=st.lists(st.tuples(st.booleans(), st.lists(_PARTS, min_size=1, max_size=7)), min_size=1, max_size=12))
@example(asked=[(False, ["to-folder", "secret"]), (False, ["sub", "up", "out", "new.md"]), (True, ["mem", "..", "out", "new.md"])])
def test_no_path_put_together_from_tricks_escapes(asked: list[tuple[bool, list[str]]]) -> None:
    """Whatever the parts, relative or absolute, through every kind of call: nothing outside is changed or made, and the one file stays the only one."""
    with tempfile.TemporaryDirectory() as name:
        root = furnish(Path(name))
        mem = root / "mem"
        paths = ["/".join(parts) if not absolute else f"{root}/{'/'.join(parts)}" for absolute, parts in asked]
        folder = Hands(FolderAccess(folder=mem), DiskFiles(), [root / "out" / "plain", root / "memory" / "near", mem / "notes.md"])
        single = Hands(EditOnly(mem / "café.md"), DiskFiles(), [mem / "café.md", root / "out" / "secret"])

        async def play() -> None:
            for path in paths:
                await folder.do(WriteFile(path, "taken\n"))
                await folder.do(ApplyPatch((AddText(path, "taken\n"),)))
                await folder.do(EditFile(path, (Replacement("o", "0", every=True),)))
                await single.do(EditFile(path, (Replacement("e", "3", every=True),)))
                await single.do(EditFile(path, (Replacement("", "taken"),)))

        asyncio.run(play())

        outside = {
            str(path.relative_to(root)): path.read_text() for path in root.rglob("*") if path.is_file() and not path.is_relative_to(mem)
        }
        assert outside == {"out/secret": SECRET, "out/plain": SECRET, "memory/near": SECRET}
        assert sorted(path.name for path in root.iterdir()) == ["mem", "memory", "out"]
        assert not any(part.startswith(".") for path in mem.rglob("*") for part in path.relative_to(mem).parts)
        assert {change.path for change in single.changes()} <= {str(mem / "café.md")}
        assert (mem / "hard").read_text() == SECRET


@pytest.mark.covers("FK-4")
async def test_a_link_put_in_the_place_of_the_one_file_moves_nothing(home: Path) -> None:
    """The permission is for the path, not for wherever a link there points."""
    target = home / "mem" / "to-plain"
    hands = Hands(EditOnly(target), DiskFiles(), [target])

    (answer,) = await do(hands, EditFile(str(target), (Replacement("nobody", "somebody"),)))

    assert answer.is_error
    assert (home / "out" / "plain").read_text() == SECRET


@pytest.mark.covers("FK-4")
async def test_the_one_file_in_another_spelling_is_another_file(home: Path) -> None:
    """Another case or Unicode form of the name is denied, and the reason says so; the exact name is fine through `..` and links."""
    path = home / "mem" / "café.md"
    hands = Hands(EditOnly(path), DiskFiles(), [path])

    wrong = await do(
        hands,
        EditFile(str(path).replace("café", "CAFÉ"), (Replacement("coffee", "tea"),)),
        EditFile(unicodedata.normalize("NFD", str(path)), (Replacement("coffee", "tea"),)),
    )
    (right,) = await do(hands, EditFile(f"{home}/mem/sub/../café.md", (Replacement("coffee", "tea"),)))

    assert all("spelled differently" in answer.text for answer in wrong)
    assert right.changed


@pytest.mark.covers("FK-3")
async def test_reading_can_be_boxed_in_too(home: Path) -> None:
    """With `read_anywhere` off, reading and searching outside are denied, also through links, and so are commands."""
    hands = Hands(FolderAccess(folder=home / "mem", read_anywhere=False), DiskFiles())

    denied = await do(
        hands,
        ReadFile(path=str(home / "out" / "secret")),
        ReadFile(path=str(home / "memory" / "near")),
        ReadFile(path="to-file"),
        Search(pattern="nobody", path=str(home / "out")),
        ListFiles(path="to-folder"),
        Shell("cat notes.md"),
    )
    (found,) = await do(hands, Search(pattern="nobody", glob="to-*"))

    assert all(answer.is_error and answer.text.startswith("Denied.") for answer in denied)
    assert found.text == "No file matches."


@pytest.mark.covers("FK-3")
async def test_reading_only_and_no_tools_refuse_writes(home: Path) -> None:
    """Without `write` nothing is changed; with `NoTools` nothing is done at all."""
    reader = Hands(FolderAccess(folder=home / "mem", write=False), DiskFiles())
    nothing = Hands(NoTools(), DiskFiles())

    assert (await reader.do(ReadFile(path="notes.md"))).text == "one\ntwo"
    assert (await reader.do(WriteFile("new.md", "x"))).is_error
    assert (await nothing.do(ReadFile(path=str(home / "mem" / "notes.md")))).text.startswith("Denied.")
    assert (await nothing.do(Shell("ls"))).text.startswith("Denied.")


@pytest.mark.covers("FK-2")
async def test_a_file_must_be_read_before_it_is_changed(home: Path) -> None:
    """Each run has its own record of what was read: another run's reading does not count, and a whole write needs the newest text."""
    files = DiskFiles()
    permission = FolderAccess(folder=home / "mem")
    first, second = Hands(permission, files), Hands(permission, files)
    await first.do(ReadFile(path="notes.md"))

    unread = await second.do(EditFile("notes.md", (Replacement("one", "1"),)))
    edited = await first.do(EditFile("notes.md", (Replacement("one", "1"),)))
    (home / "mem" / "notes.md").write_text("by the user\n")
    stale = await first.do(WriteFile("notes.md", "mine\n"))

    assert "Read the file" in unread.text
    assert edited.changed
    assert "changed since" in stale.text
    assert (home / "mem" / "notes.md").read_text() == "by the user\n"


@pytest.mark.covers("FK-2", "SF-4")
@pytest.mark.parametrize(
    ("replacement", "why"),
    [
        (Replacement("nowhere", "x"), "does not stand in the file"),
        (Replacement("o", "x"), "2 times (lines 1, 2)"),
        (Replacement("", "x"), "The file exists"),
        (Replacement("one", "one"), "are the same"),
        (Replacement("one", "\ud800"), "half a character"),
    ],
)
async def test_an_edit_that_does_not_fit_once_changes_nothing(replacement: Replacement, why: str) -> None:
    """The reason goes back, and with several replacements none is made."""
    path = Path("/mem/notes.md")
    files = MemoryFiles()
    files.write(path, b"one\ntwo\n")
    hands = Hands(EditOnly(path), files, [path])

    answer = await hands.do(EditFile(str(path), (Replacement("two", "2o"), replacement)))

    assert answer.is_error
    assert why in answer.text
    assert files.read(path) == b"one\ntwo\n"
    assert hands.changes() == ()


@pytest.mark.covers("SF-4")
async def test_a_patch_that_names_a_file_twice_is_refused_whole(home: Path) -> None:
    """Its second change would be worked out from a text that the first one replaced; neither is made."""
    hands = Hands(FolderAccess(folder=home / "mem"), DiskFiles(), [home / "mem" / "notes.md"])
    files = (UpdateText("notes.md", (Hunk(("one",), ("1",)),)), UpdateText("./notes.md", (Hunk(("two",), ("2",)),)))

    answer = await hands.do(ApplyPatch(files))

    assert "named twice" in answer.text
    assert hands.changes() == ()


@pytest.mark.covers("FK-8")
async def test_a_file_that_ends_as_it_began_is_not_changed() -> None:
    """Changes are told from the bytes at the end, not from the calls."""
    path = Path("/mem/notes.md")
    files = MemoryFiles()
    files.write(path, b"one\n")
    hands = Hands(EditOnly(path), files, [path])

    await do(hands, EditFile(str(path), (Replacement("one", "two"),)))
    there = hands.changes()
    await do(hands, EditFile(str(path), (Replacement("two", "one"),)))

    assert there == (FileChange(str(path), 4, 4),)
    assert hands.changes() == ()


@pytest.mark.covers("FK-5")
async def test_a_pattern_that_runs_away_is_an_answer(home: Path) -> None:
    """A pattern with exponential time ends by a limit of grep or of time; a broken one is named as such."""
    (home / "mem" / "long.md").write_text("a" * 40 + "b\n")
    hands = Hands(FolderAccess(folder=home / "mem"), DiskFiles())

    runaway, broken = await do(hands, Search(pattern="(a+)+$"), Search(pattern="(("))

    assert runaway.text
    assert "cannot be used" in broken.text


@pytest.mark.covers("FK-3")
async def test_a_command_is_run_only_in_its_own_folder(home: Path) -> None:
    """Another working folder is refused with advice; no path of the user's environment is seen."""
    hands = Hands(FolderAccess(folder=home / "mem"), DiskFiles())

    here, there, writes = await do(hands, Shell("pwd", str(home / "mem")), Shell("pwd", str(home)), Shell("touch x"))

    assert here.text == str(home / "mem")
    assert there.is_error
    assert writes.text.startswith("Denied. Only read-only commands")
    assert len(hands.denied) == 1


@pytest.mark.covers("FK-4")
@settings(max_examples=60, deadline=None)
@given(name=st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_names_that_pass_the_text_check_look_like_what_they_are(name: str) -> None:
    """What passes holds nothing unseen, no backslash, and reads the same in the compatibility form; so a look-alike of `..` or `/` never passes."""
    if path_problem(name) is None:
        plain = unicodedata.normalize("NFKC", name)
        assert plain.count("/") == name.count("/")
        assert (plain in (".", "..")) == (name in (".", ".."))
        assert not plain.startswith("~")
        assert "\x00" not in plain


@pytest.mark.covers("FK-4")
def test_names_are_the_same_when_a_file_system_could_think_so() -> None:
    """Case and Unicode form do not tell names apart."""
    assert same_name("CAFÉ", unicodedata.normalize("NFD", "café"))
    assert not same_name("a", "b")

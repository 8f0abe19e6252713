"""What a fork may do on a real disk, and what it is told when it may not."""

from __future__ import annotations

import asyncio
import os
import tempfile
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.core.apply_patch import AddFilePatch, DeleteFilePatch, PatchHunk, UpdateFilePatch
from memorist.forks.file_tool_calls import (
    ApplyPatchCall,
    EditFileCall,
    ForkToolCall,
    InsertTextCall,
    ListFilesCall,
    ReadFileCall,
    SearchCall,
    ShellCall,
    TextReplacement,
    UnknownToolCall,
    WriteFileCall,
)
from memorist.forks.fork_permissions import find_path_text_problem, may_be_same_file_name
from memorist.forks.fork_spec import FileSizeChange, FolderAccess, NoToolsPermission, SingleFileEdit
from memorist.forks.tool_executor import ForkToolResult, ToolExecutor
from memorist.store.disk_files import DiskFiles
from memorist.testing import InMemoryFiles

SECRET = "nobody's business\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A memory folder beside things that are not to be touched, with ways that lead from one to the
    other.
    """
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


async def do(hands: ToolExecutor, *calls: ForkToolCall) -> list[ForkToolResult]:
    return [await hands.execute(call) for call in calls]


@pytest.mark.covers("FK-3")
async def test_only_an_edit_of_the_one_file_is_allowed(home: Path) -> None:
    """With `EditOnly`, the edit is made and everything else is denied with a reason that names the
    file.
    """
    path = home / "mem" / "notes.md"
    hands = ToolExecutor(SingleFileEdit(path), DiskFiles(), [path])

    made, *others = await do(
        hands,
        EditFileCall(str(path), (TextReplacement("one", "1"),)),
        EditFileCall(str(home / "mem" / "café.md"), (TextReplacement("coffee", "tea"),)),
        WriteFileCall(str(path), "all new"),
        ReadFileCall(path=str(path)),
        SearchCall(pattern="x"),
        ListFilesCall(),
        ShellCall("ls"),
        ApplyPatchCall((DeleteFilePatch(str(path)),)),
        UnknownToolCall("WebFetch"),
    )

    assert made == ForkToolResult(text=f"Changed: {path}", wrote_file=True)
    assert path.read_text() == "1\ntwo\n"
    assert all(
        answer.is_error and "Only an edit of" in answer.text and str(path) in answer.text
        for answer in others
    )
    assert len(hands.denied) == len(others)


@pytest.mark.covers("FK-3")
async def test_a_folder_may_be_read_searched_and_written(home: Path) -> None:
    """With `FolderAccess`, what the memory jobs need works: read, list, search, a command, edit,
    insert, patch, a new file.
    """
    mem = home / "mem"
    hands = ToolExecutor(FolderAccess(folder=mem), DiskFiles())

    read, listed, lines, counts, command = await do(
        hands,
        ReadFileCall(path="notes.md", numbered=True),
        ListFilesCall(pattern="*.md"),
        SearchCall(pattern=r"t\wo", show="lines"),
        SearchCall(pattern="o", show="count"),
        ShellCall("grep -c o notes.md"),
    )
    edited, inserted, patched, written = await do(
        hands,
        EditFileCall("notes.md", (TextReplacement("one\n", "1\n"),)),
        InsertTextCall("notes.md", 1, "1.5"),
        ApplyPatchCall(
            (
                UpdateFilePatch("notes.md", (PatchHunk(("two",), ("2",)),)),
                AddFilePatch("sub/b.md", "b\n"),
            )
        ),
        WriteFileCall("new.md", "n\n"),
    )

    assert read.text == "     1\tone\n     2\ttwo"
    assert listed.text.split("\n") == [str(mem / "café.md"), str(mem / "notes.md")]
    assert lines.text == f"{mem}/notes.md:2:two"
    assert counts.text.split("\n") == [f"{mem}/café.md:1", f"{mem}/hard:1", f"{mem}/notes.md:2"]
    assert command.text == "2"
    assert all(answer.wrote_file for answer in (edited, inserted, patched, written))
    assert (mem / "notes.md").read_text() == "1\n1.5\n2\n"
    assert {
        (Path(change.path).name, change.before, change.after)
        for change in hands.list_file_changes()
    } == {("notes.md", 8, 8), ("b.md", None, 2), ("new.md", None, 2)}


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
    """Links, `..`, look-alikes, hard links, devices, hidden files: a write, an edit and a patch are
    refused, and every file stays as it was.
    """
    mem = home / "mem"
    asked = path.format(root=home)
    hands = ToolExecutor(
        FolderAccess(folder=mem),
        DiskFiles(),
        [home / "out" / "plain", home / "memory" / "near", mem / "hard"],
    )
    before = names_below(home)

    answers = await do(
        hands,
        WriteFileCall(asked, "taken"),
        EditFileCall(asked, (TextReplacement("nobody", "somebody"),)),
        EditFileCall(asked, (TextReplacement("", "taken"),)),
        InsertTextCall(asked, 0, "taken"),
        ApplyPatchCall((AddFilePatch(asked, "taken"),)),
        ApplyPatchCall((UpdateFilePatch(asked, (PatchHunk((), ("taken",)),)),)),
        ApplyPatchCall((AddFilePatch("fine.md", "fine"), AddFilePatch(asked, "taken"))),
    )

    assert all(answer.is_error and answer.text for answer in answers)
    assert hands.list_file_changes() == ()
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
@given(
    asked=st.lists(
        st.tuples(st.booleans(), st.lists(_PARTS, min_size=1, max_size=7)), min_size=1, max_size=12
    )
)
@example(
    asked=[
        (False, ["to-folder", "secret"]),
        (False, ["sub", "up", "out", "new.md"]),
        (True, ["mem", "..", "out", "new.md"]),
    ]
)
def test_no_path_put_together_from_tricks_escapes(asked: list[tuple[bool, list[str]]]) -> None:
    """Whatever the parts, relative or absolute, through every kind of call: nothing outside is
    changed or made, and the one file stays the only one.
    """
    with tempfile.TemporaryDirectory() as name:
        root = furnish(Path(name))
        mem = root / "mem"
        paths = [
            "/".join(parts) if not absolute else f"{root}/{'/'.join(parts)}"
            for absolute, parts in asked
        ]
        folder = ToolExecutor(
            FolderAccess(folder=mem),
            DiskFiles(),
            [root / "out" / "plain", root / "memory" / "near", mem / "notes.md"],
        )
        single = ToolExecutor(
            SingleFileEdit(mem / "café.md"), DiskFiles(), [mem / "café.md", root / "out" / "secret"]
        )

        async def play() -> None:
            for path in paths:
                await folder.execute(WriteFileCall(path, "taken\n"))
                await folder.execute(ApplyPatchCall((AddFilePatch(path, "taken\n"),)))
                await folder.execute(
                    EditFileCall(path, (TextReplacement("o", "0", replace_all=True),))
                )
                await single.execute(
                    EditFileCall(path, (TextReplacement("e", "3", replace_all=True),))
                )
                await single.execute(EditFileCall(path, (TextReplacement("", "taken"),)))

        asyncio.run(play())

        outside = {
            str(path.relative_to(root)): path.read_text()
            for path in root.rglob("*")
            if path.is_file() and not path.is_relative_to(mem)
        }
        assert outside == {"out/secret": SECRET, "out/plain": SECRET, "memory/near": SECRET}
        assert sorted(path.name for path in root.iterdir()) == ["mem", "memory", "out"]
        assert not any(
            part.startswith(".") for path in mem.rglob("*") for part in path.relative_to(mem).parts
        )
        assert {change.path for change in single.list_file_changes()} <= {str(mem / "café.md")}
        assert (mem / "hard").read_text() == SECRET


@pytest.mark.covers("FK-4")
async def test_a_link_put_in_the_place_of_the_one_file_moves_nothing(home: Path) -> None:
    """The permission is for the path, not for wherever a link there points."""
    target = home / "mem" / "to-plain"
    hands = ToolExecutor(SingleFileEdit(target), DiskFiles(), [target])

    (answer,) = await do(hands, EditFileCall(str(target), (TextReplacement("nobody", "somebody"),)))

    assert answer.is_error
    assert (home / "out" / "plain").read_text() == SECRET


@pytest.mark.covers("FK-4")
async def test_the_one_file_in_another_spelling_is_another_file(home: Path) -> None:
    """Another case or Unicode form of the name is denied, and the reason says so; the exact name is
    fine through `..` and links.
    """
    path = home / "mem" / "café.md"
    hands = ToolExecutor(SingleFileEdit(path), DiskFiles(), [path])

    wrong = await do(
        hands,
        EditFileCall(str(path).replace("café", "CAFÉ"), (TextReplacement("coffee", "tea"),)),
        EditFileCall(unicodedata.normalize("NFD", str(path)), (TextReplacement("coffee", "tea"),)),
    )
    (right,) = await do(
        hands, EditFileCall(f"{home}/mem/sub/../café.md", (TextReplacement("coffee", "tea"),))
    )

    assert all("spelled differently" in answer.text for answer in wrong)
    assert right.wrote_file


@pytest.mark.covers("FK-3")
@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("*.md", ["notes.md", "sub/deep/rules.md"]),
        ("*.{py,{md,txt}}", ["notes.md", "sub/a.py", "sub/deep/rules.md"]),
        ("sub/*", ["sub/a.py"]),
        ("./sub/**/*.md", ["sub/deep/rules.md"]),
        ("sub/", ["sub/a.py", "sub/deep/rules.md"]),
    ],
)
async def test_files_are_listed_by_a_glob(tmp_path: Path, pattern: str, names: list[str]) -> None:
    """A glob without a slash means any folder; braces, also in braces, a folder by its slash."""
    for name in ("notes.md", "sub/a.py", "sub/deep/rules.md", ".git/HEAD.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    hands = ToolExecutor(FolderAccess(folder=tmp_path), DiskFiles())

    (listed,) = await do(hands, ListFilesCall(pattern=pattern))

    assert listed.text.split("\n") == [str(tmp_path / name) for name in names]


@pytest.mark.covers("FK-3")
async def test_reading_can_be_boxed_in_too(home: Path) -> None:
    """With `read_anywhere` off, reading and searching outside are denied, also through links, and
    so are commands.
    """
    hands = ToolExecutor(FolderAccess(folder=home / "mem", may_read_anywhere=False), DiskFiles())

    denied = await do(
        hands,
        ReadFileCall(path=str(home / "out" / "secret")),
        ReadFileCall(path=str(home / "memory" / "near")),
        ReadFileCall(path="to-file"),
        SearchCall(pattern="nobody", path=str(home / "out")),
        ListFilesCall(path="to-folder"),
        ShellCall("cat notes.md"),
    )
    (found,) = await do(hands, SearchCall(pattern="nobody", glob="to-*"))

    assert all(answer.is_error and answer.text.startswith("Denied.") for answer in denied)
    assert found.text == "No file matches."


@pytest.mark.covers("FK-3")
async def test_without_tools_nothing_is_done(home: Path) -> None:
    """With `NoToolsPermission` nothing is read, changed or run."""
    nothing = ToolExecutor(NoToolsPermission(), DiskFiles())

    assert (await nothing.execute(WriteFileCall("new.md", "x"))).text.startswith("Denied.")
    assert (
        await nothing.execute(ReadFileCall(path=str(home / "mem" / "notes.md")))
    ).text.startswith("Denied.")
    assert (await nothing.execute(ShellCall("ls"))).text.startswith("Denied.")


@pytest.mark.covers("FK-2")
async def test_a_file_must_be_read_before_it_is_changed(home: Path) -> None:
    """Each run has its own record of what was read: another run's reading does not count, and a
    whole write needs the newest text.
    """
    files = DiskFiles()
    permission = FolderAccess(folder=home / "mem")
    first, second = ToolExecutor(permission, files), ToolExecutor(permission, files)
    await first.execute(ReadFileCall(path="notes.md"))

    unread = await second.execute(EditFileCall("notes.md", (TextReplacement("one", "1"),)))
    edited = await first.execute(EditFileCall("notes.md", (TextReplacement("one", "1"),)))
    (home / "mem" / "notes.md").write_text("by the user\n")
    stale = await first.execute(WriteFileCall("notes.md", "mine\n"))

    assert "Read the file" in unread.text
    assert edited.wrote_file
    assert "changed since" in stale.text
    assert (home / "mem" / "notes.md").read_text() == "by the user\n"


@pytest.mark.covers("FK-2", "SF-4")
@pytest.mark.parametrize(
    ("replacement", "why"),
    [
        (TextReplacement("nowhere", "x"), "does not stand in the file"),
        (TextReplacement("o", "x"), "2 times (lines 1, 2)"),
        (TextReplacement("", "x"), "The file exists"),
        (TextReplacement("one", "one"), "are the same"),
        (TextReplacement("one", "\ud800"), "half a character"),
    ],
)
async def test_an_edit_that_does_not_fit_once_changes_nothing(
    replacement: TextReplacement, why: str
) -> None:
    """The reason goes back, and with several replacements none is made."""
    path = Path("/mem/notes.md")
    files = InMemoryFiles()
    files.write(path, b"one\ntwo\n")
    hands = ToolExecutor(SingleFileEdit(path), files, [path])

    answer = await hands.execute(
        EditFileCall(str(path), (TextReplacement("two", "2o"), replacement))
    )

    assert answer.is_error
    assert why in answer.text
    assert files.read(path) == b"one\ntwo\n"
    assert hands.list_file_changes() == ()


@pytest.mark.covers("SF-4")
async def test_a_patch_that_names_a_file_twice_is_refused_whole(home: Path) -> None:
    """Its second change would be worked out from a text that the first one replaced; neither is
    made.
    """
    hands = ToolExecutor(
        FolderAccess(folder=home / "mem"), DiskFiles(), [home / "mem" / "notes.md"]
    )
    files = (
        UpdateFilePatch("notes.md", (PatchHunk(("one",), ("1",)),)),
        UpdateFilePatch("./notes.md", (PatchHunk(("two",), ("2",)),)),
    )

    answer = await hands.execute(ApplyPatchCall(files))

    assert "named twice" in answer.text
    assert hands.list_file_changes() == ()


@pytest.mark.covers("FK-8")
async def test_a_file_that_ends_as_it_began_is_not_changed() -> None:
    """Changes are told from the bytes at the end, not from the calls."""
    path = Path("/mem/notes.md")
    files = InMemoryFiles()
    files.write(path, b"one\n")
    hands = ToolExecutor(SingleFileEdit(path), files, [path])

    await do(hands, EditFileCall(str(path), (TextReplacement("one", "two"),)))
    there = hands.list_file_changes()
    await do(hands, EditFileCall(str(path), (TextReplacement("two", "one"),)))

    assert there == (FileSizeChange(str(path), 4, 4),)
    assert hands.list_file_changes() == ()


@pytest.mark.covers("FK-5")
async def test_a_pattern_that_runs_away_is_an_answer(home: Path) -> None:
    """A pattern with exponential time ends by a limit of grep or of time; a broken one is named as
    such.
    """
    (home / "mem" / "long.md").write_text("a" * 40 + "b\n")
    hands = ToolExecutor(FolderAccess(folder=home / "mem"), DiskFiles())

    runaway, broken = await do(hands, SearchCall(pattern="(a+)+$"), SearchCall(pattern="(("))

    assert runaway.text
    assert "cannot be used" in broken.text


@pytest.mark.covers("FK-3")
async def test_a_command_is_run_only_in_its_own_folder(home: Path) -> None:
    """Another working folder is refused with advice; no path of the user's environment is seen."""
    hands = ToolExecutor(FolderAccess(folder=home / "mem"), DiskFiles())

    here, there, writes = await do(
        hands,
        ShellCall("pwd", str(home / "mem")),
        ShellCall("pwd", str(home)),
        ShellCall("touch x"),
    )

    assert here.text == str(home / "mem")
    assert there.is_error
    assert writes.text.startswith("Denied. Only read-only commands")
    assert len(hands.denied) == 1


@pytest.mark.covers("FK-4")
@given(name=st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_names_that_pass_the_text_check_look_like_what_they_are(name: str) -> None:
    """What passes holds nothing unseen, no backslash, and reads the same in the compatibility form;
    so a look-alike of `..` or `/` never passes.
    """
    if find_path_text_problem(name) is None:
        plain = unicodedata.normalize("NFKC", name)
        assert plain.count("/") == name.count("/")
        assert (plain in (".", "..")) == (name in (".", ".."))
        assert not plain.startswith("~")
        assert "\x00" not in plain


@pytest.mark.covers("FK-4")
def test_names_are_the_same_when_a_file_system_could_think_so() -> None:
    """Case and Unicode form do not tell names apart."""
    assert may_be_same_file_name("CAFÉ", unicodedata.normalize("NFD", "café"))
    assert not may_be_same_file_name("a", "b")


@pytest.mark.parametrize("mark", ["\u2028", "\x0c", "\x85", "\r", "\x1c"])
async def test_lines_are_counted_as_they_are_shown(mark: str) -> None:
    """A line is what ends with a line feed, whatever else in it a program may take for an end:
    what is put behind line 1 stands behind what was shown as line 1.
    """
    files, path = InMemoryFiles(), Path("/n/a.md")
    files.write(path, f"one{mark}half\ntwo\n".encode())
    executor = ToolExecutor(FolderAccess(folder=Path("/n")), files)
    shown = await executor.execute(ReadFileCall(path="a.md", numbered=True))
    found = await executor.execute(SearchCall(pattern="two", show="lines"))

    await executor.execute(InsertTextCall("a.md", 1, "new"))

    assert shown.text.split("\n")[1].strip() == "2\ttwo"
    assert found.text.endswith(":2:two")
    assert files.read(path) == f"one{mark}half\nnew\ntwo\n".encode()

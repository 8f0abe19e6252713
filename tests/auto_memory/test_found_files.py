"""Memory files as other programs leave them: in UTF-16, as editors and shells of Windows write, and
with merge conflicts of Git, as in a memory folder that two machines share.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from memorist.auto_memory.merge_conflict import parse_merge_conflicts
from memorist.cli.main import memorist_group
from memorist.engine.engine import Memorist

RULE = "Write tests with pytest"
FILE = f"---\r\nname: tests\r\ndescription: {RULE}\r\ntype: feedback\r\n---\r\n\r\n{RULE}\r\n"
CONFLICT = "<<<<<<< HEAD\nUse yarn\n=======\nUse bun\n>>>>>>> laptop\n"


def run(*words: str) -> str:
    return CliRunner().invoke(memorist_group, list(words)).output


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The memory folder of a project in which the user wrote a rule."""
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    run("memory", "add", "--kind", "feedback", "Always use pnpm")
    return next((tmp_path / "home").glob("projects/*/memory"))


def visible() -> str:
    """What a model is shown of the index."""
    with Memorist() as engine:
        return engine.memory(str(Path.cwd())).visible_index().text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-8-sig"])
def test_a_memory_saved_by_windows_is_read_as_it_was_meant(folder: Path, encoding: str) -> None:
    """Header and text are those that were written, and the file ends up in UTF-8 with the same
    words and line ends: as bytes between zeros it was listed without a name and could not be found.
    """
    mark = "\ufeff".encode(encoding) if encoding == "utf-16-be" else b""
    (folder / "tests.md").write_bytes(mark + FILE.encode(encoding))

    assert f"tests.md  [feedback, unknown, 0 d]  {RULE}" in run("memory", "list")
    assert (folder / "tests.md").read_bytes().decode("utf-8-sig") == FILE
    assert RULE in visible()
    assert "tests.md" in run("recall", "which tests do we write?")
    assert "tests.md" not in run("memory", "check")


@pytest.mark.parametrize("mark", [b"", b"\xff\xfe"])
def test_what_powershell_appended_is_read(folder: Path, mark: bytes) -> None:
    """`>>` of PowerShell 5 appends UTF-16 to a file in UTF-8, also in other scripts, and a shell
    of Linux goes on in UTF-8: each part is read as it was written, and the file ends up in UTF-8.
    """
    appended = "Größe: 12 Äpfel, 中文 naïve.\r\nÜber all.\r\n"
    data = FILE.encode() + mark + appended.encode("utf-16-le") + b"And more by echo, ja \xc3\xa4.\n"
    (folder / "tests.md").write_bytes(data)

    assert RULE in run("memory", "list")
    text = (folder / "tests.md").read_bytes().decode()
    assert text == FILE + appended + "And more by echo, ja ä.\n"
    assert "tests.md" not in run("memory", "check")


def test_bytes_in_no_known_encoding_are_named_and_stay(folder: Path) -> None:
    """What can be read is shown and found; the rest is named with its remedy, and nothing is
    lost on the disk, also beside a part in UTF-16.
    """
    for part in (b"", "Plover.\r\n".encode("utf-16-le")):
        data = FILE.replace("---\r\n", "---\r\ntitle: Größe\r\n", 1).encode("cp1252") + part
        (folder / "tests.md").write_bytes(data)

        assert RULE in run("memory", "list")
        problems = run("memory", "check")
        assert "2 bytes of it cannot be read: it is not in UTF-8" in problems
        assert "YAML" not in problems
        assert "not in UTF-8" in run("doctor")
        assert (folder / "tests.md").read_bytes() == data


def test_a_header_that_does_not_end_is_named(folder: Path) -> None:
    """It was listed as `---`."""
    (folder / "queue.md").write_text("---\nname: queue\n\nThe queue is called heron.\n")

    assert "queue.md  [-, unknown, 0 d]  name: queue" in run("memory", "list")
    assert "queue.md: its header does not end" in run("memory", "check")


def test_a_damaged_file_in_utf_16_stays_as_it_is(folder: Path) -> None:
    """What can be read of it is shown; the bytes on the disk are the only copy."""
    data = FILE.encode("utf-16") + b"x"
    (folder / "tests.md").write_bytes(data)

    assert RULE in run("memory", "list")
    assert (folder / "tests.md").read_bytes() == data


def test_the_index_saved_in_utf_16_keeps_the_users_lines(folder: Path) -> None:
    """PowerShell's `Out-File` writes so."""
    own = "# House rules\r\n" + (folder / "MEMORY.md").read_text()
    (folder / "MEMORY.md").write_bytes(own.encode("utf-16"))
    run("memory", "list")

    assert (folder / "MEMORY.md").read_text().startswith("# House rules\n- [always-use-pnpm]")


def test_neither_version_of_a_memory_in_conflict_is_shown(folder: Path) -> None:
    """Both stood among the rules of the project. The file stays as Git left it, `doctor` and
    `memory check` name it with the way out, and once one version is chosen it counts again.
    """
    text = f"---\nname: tools\ndescription: Which tool\ntype: feedback\n---\n\n{CONFLICT}"
    (folder / "tools.md").write_text(text)

    assert "tools" not in visible()
    assert "always-use-pnpm" in visible()
    assert "tools.md holds a merge conflict of Git: neither version is shown" in run("doctor")
    assert "tools.md: it holds a merge conflict of Git" in run("memory", "check")
    assert (folder / "tools.md").read_text() == text

    (folder / "tools.md").write_text(text.replace(CONFLICT, "Use yarn\n"))

    assert "tools" in visible()
    assert "merge conflict" not in run("doctor") + run("memory", "check")


def test_a_header_in_conflict_is_a_conflict_too(folder: Path) -> None:
    """Not only a header that is no YAML, of which what could be read is used."""
    (folder / "tools.md").write_text(
        f"---\nname: tools\n{CONFLICT}type: feedback\n---\n\nUse one.\n"
    )

    assert "tools" not in visible()
    assert "tools.md holds a merge conflict" in run("doctor")


def test_the_users_own_lines_of_an_index_in_conflict_are_kept_and_not_shown(folder: Path) -> None:
    """They stay in the file with their marks until the user chose; the lines that point to memories
    are derived anew.
    """
    index = (folder / "MEMORY.md").read_text()
    (folder / "MEMORY.md").write_text("# Rules\n" + CONFLICT + index)
    run("memory", "list")

    assert (folder / "MEMORY.md").read_text() == "# Rules\n" + CONFLICT + index
    assert visible() == "# Rules\n" + index
    assert "MEMORY.md: it holds a merge conflict of Git" in run("memory", "check")
    assert "MEMORY.md holds a merge conflict of Git" in run("doctor")


def test_marks_around_derived_lines_alone_go(folder: Path) -> None:
    """Two machines each wrote a memory: both files are there, and so nothing is in conflict."""
    index = (folder / "MEMORY.md").read_text()
    (folder / "MEMORY.md").write_text(
        f"<<<<<<< HEAD\n{index}||||||| base\n=======\n- [a](a.md) — a\n>>>>>>> laptop\n"
    )
    run("memory", "list")

    assert (folder / "MEMORY.md").read_text() == index
    assert "merge conflict" not in run("doctor") + run("memory", "check")


@pytest.mark.parametrize(
    "name",
    [
        "always-use-pnpm (Ann's conflicted copy 2026-11-20).md",
        "always-use-pnpm (conflicted copy 2026-11-20 101010).md",
        "always-use-pnpm.sync-conflict-20261120-101010-ABCDEFG.md",
        "always-use-pnpm_conflict-20261120-101010.md",
    ],
)
def test_a_second_version_that_a_sync_of_files_left_is_not_shown(folder: Path, name: str) -> None:
    """Dropbox and its like keep both versions as files, and both stood in the index; the first one
    is shown, and the other is named.
    """
    first = (folder / "always-use-pnpm.md").read_text()
    (folder / name).write_text(first.replace("pnpm", "yarn"))

    assert "yarn" not in visible()
    assert "always-use-pnpm" in visible()
    assert f"{name}: it is a second version of a memory" in run("memory", "check")
    assert f"{name} is a second version of a memory" in run("doctor")


def test_a_memory_about_conflicts_is_none(folder: Path) -> None:
    """Its name is its title."""
    run("memory", "add", "Resolve conflicts with rebase")

    assert "resolve-conflicts" in visible()


@pytest.mark.parametrize(
    "text",
    [
        "=======\nA heading\n=======",
        "<<<<<<< only the beginning\n=======",
        "=======\n>>>>>>> only the end",
        "<<<<<<<< eight\n========\n>>>>>>>> eight",
        "a <<<<<<< within a line\n=======\n>>>>>>> b",
    ],
)
def test_what_only_resembles_a_conflict_is_none(text: str) -> None:
    """A conflict has its three marks, each at the start of a line."""
    assert parse_merge_conflicts(text.splitlines()) == ()

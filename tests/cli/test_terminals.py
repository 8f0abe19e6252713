"""Terminals and pipes as users have them: in Latin-1 or ASCII, as Windows gives a program whose
output goes to a file, with bytes that are no UTF-8, and without an input.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memorist.cli.main import WORKING_FOLDER_GONE
from support.program import run_program

RULE = "Use „pnpm“ → never npm, as in 日本語 🙂"
_IN_REMOVED_FOLDER = (
    "import os, sys; os.chdir(sys.argv[1]); os.rmdir(sys.argv.pop(1)); "
    "from memorist.__main__ import main; main()"
)
NO_UTF8 = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
"""Names of files are in ASCII, where the system leaves that to the locale."""


def run(
    *arguments: str, cwd: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the program in a process: the encodings are those of a process."""
    return subprocess.run(
        [sys.executable, "-m", "memorist", *arguments],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one memory, whose file name and text are in no encoding but UTF-8."""
    done = run_program("memory", "add", "--kind", "feedback", RULE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_what_a_terminal_cannot_show_is_written_as_its_code(project: Path, encoding: str) -> None:
    """Nothing that can be shown is lost, and no command fails."""
    for command in (["memory", "list"], ["recall", "pnpm or npm"], ["memory", "log"], []):
        done = run_program(*command, cwd=project, encoding=encoding)

        assert done.returncode == 0, done.stderr
        assert "pnpm" in done.stdout
        assert "\\u65e5" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere all names of files are Unicode")
def test_a_folder_whose_name_is_no_utf_8_is_named_with_the_way_out(tmp_path: Path) -> None:
    """No command ends in a traceback, or writes half of its files: one line says what to do."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")) / "sub"
    folder.mkdir(parents=True)

    for command in (
        ["memory", "add", "Use tabs"],
        ["search", "tabs"],
        ["install", "claude-code", "--project"],
        [],
    ):
        done = run_program(*command, cwd=folder)

        assert done.returncode == 1
        assert done.stderr.startswith("memorist: the name of")
        assert done.stderr.endswith("rename the folder\n")


def test_json_is_json_on_every_terminal(project: Path) -> None:
    """It is in UTF-8, as JSON is."""
    done = run("memory", "list", "--json", cwd=project, environment={"PYTHONIOENCODING": "latin-1"})

    assert done.returncode == 0, done.stderr
    assert RULE in json.dumps(json.loads(done.stdout), ensure_ascii=False)


def test_a_command_in_another_encoding_changes_no_memory(project: Path) -> None:
    """It reads the same files: a rule of the user's was taken for removed and one of unknown origin
    for added, each time.
    """
    before = run("memory", "log", cwd=project).stdout

    listed = run("memory", "list", cwd=project, environment=NO_UTF8)
    added = run("memory", "add", "Grüße go out on Fridays", cwd=project, environment=NO_UTF8)

    assert b"[feedback, reviewed, 0 d]" in listed.stdout
    assert added.returncode == 0, added.stderr
    assert run("memory", "log", cwd=project).stdout.endswith(before)
    assert "Grüße go out on Fridays" in run("memory", "list", cwd=project).stdout.decode()


def test_a_reader_that_has_seen_enough_is_no_failure(project: Path) -> None:
    """`memorist memory list | head -1` is done, also for a script with `pipefail`."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "memorist", "memory", "list"],
        cwd=project,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [["memory", "list"], ["--help"], ["memory", "list", "--json"]])
def test_an_output_that_cannot_be_written_is_named_in_one_line(
    project: Path, words: list[str]
) -> None:
    """A file on a full disk: it was a traceback."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "memorist", *words],
            cwd=project,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )

    assert done.returncode == 1
    assert done.stderr.decode().startswith("memorist: the output cannot be written: ")
    assert done.stderr.count(b"\n") == 1


def test_without_an_input_it_says_what_is_missing(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a job starts it that closed its input."""
    monkeypatch.setattr(sys, "stdin", None)

    done = run_program("memory", "undo", cwd=project)

    assert done.returncode == 2
    assert "say --yes where there is no terminal" in done.stderr


def test_modules_of_the_project_are_not_taken_for_those_of_memorist(tmp_path: Path) -> None:
    """The shell of a project may name its folder, or one with other versions of packages: commands
    and hooks ended in a traceback of theirs.
    """
    for name in ("json", "typing", "click", "msgspec", "asyncio", "sqlite3"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(7)", encoding="utf-8")
    environment = {"PYTHONPATH": str(tmp_path)}

    listed = run("memory", "list", cwd=tmp_path, environment=environment)
    hook = run("hook", "Stop", "--client", "codex", cwd=tmp_path, environment=environment)

    assert (listed.returncode, hook.returncode) == (0, 0), listed.stderr
    assert b"Traceback" not in listed.stderr + hook.stderr


@pytest.mark.skipif(os.name == "nt", reason="Windows removes no folder that a process works in")
@pytest.mark.parametrize("command", [(), ("memory", "list"), ("sessions",), ("mcp",)])
def test_a_removed_working_folder_is_named_in_one_line(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    """A terminal stays in the worktree that was removed."""
    folder = tmp_path / "removed"
    folder.mkdir()
    words = [sys.executable, "-c", _IN_REMOVED_FOLDER, str(folder), *command]
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr == f"memorist: {WORKING_FOLDER_GONE}\n"

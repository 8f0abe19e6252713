"""Files that a stranger put where memorist reads: each command ends soon, says what is wrong with
which file, and does the rest.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from click.testing import CliRunner, Result

from memorist.cli.main import memorist_group
from memorist.errors import MemoristError

SECONDS = 40
"""A door that takes longer waits for ever."""

Maker = Callable[[Path], object]
HOSTILE: dict[str, Maker] = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
    "link to itself": lambda path: path.symlink_to(path.name),
    "deep": lambda path: path.write_text("x = " + "[" * 40_000),
    "huge": lambda path: path.write_bytes(b"#" * 70_000_000),
    "utf-16": lambda path: path.write_bytes('home = "x"\n'.encode("utf-16")),
    "binary": lambda path: path.write_bytes(bytes(range(256))),
    "torn": lambda path: path.write_text('[recall]\nlimit = "'),
}
DOORS = {
    "status": ["status"],
    "doctor": ["doctor"],
    "memory list": ["memory", "list"],
    "memory check": ["memory", "check"],
    "memory export": ["memory", "export", "out", "--dialect", "codex"],
    "recall": ["recall", "install it with pnpm please"],
    "context": ["context", ".", "--json"],
    "config": ["config", "show"],
}


@contextmanager
def ends_soon() -> Iterator[None]:
    """Fail what hangs, whatever it waits for."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise AssertionError("it waits for ever")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def run(*words: str) -> Result:
    """One command, as a person types it."""
    with ends_soon():
        return CliRunner().invoke(memorist_group, words)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a memory."""
    folder = tmp_path / "shop"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert run("memory", "add", "Use pnpm, never npm").exit_code == 0
    return folder


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes by name")
@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("own", [True, False], ids=["home", "project"])
def test_a_hostile_settings_file_is_one_clear_error(project: Path, kind: str, own: bool) -> None:
    """Every command says which settings file cannot be used, as an error of memorist's own; nothing
    is lost, and without the file all is as before.
    """
    place = Path(os.environ["MEMORIST_HOME"]) if own else project / ".memorist"
    place.mkdir(exist_ok=True)
    file = place / "config.toml"
    if kind == "link to itself" and not own:
        pytest.skip("a link that leads nowhere is no file of the project")
    HOSTILE[kind](file)

    for name, words in DOORS.items():
        found = run(*words)
        assert found.exit_code in (1, 2), (name, found.output)
        assert isinstance(found.exception, SystemExit | MemoristError), (name, found.exception)
        assert "config.toml" in f"{found.output}{found.exception}", (name, found.output)

    file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()
    assert "use-pnpm-never-npm.md" in run("memory", "list").output


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes by name")
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_beside_the_memories_is_named_and_the_rest_is_used(
    project: Path, kind: str
) -> None:
    """It is listed by no command and shown to no model; `memory check` names it; every other memory
    is listed, recalled and exported.
    """
    (place,) = Path(os.environ["MEMORIST_HOME"]).glob("projects/*/memory")
    HOSTILE[kind](place / "odd.md")

    for name in ("memory list", "recall", "context"):
        found = run(*DOORS[name])
        assert found.exit_code == 0, (name, found.output)
        assert "pnpm" in found.output, name
    exported = run(*DOORS["memory export"])
    assert exported.exit_code == 0, exported.output
    assert "pnpm" in "".join(
        path.read_text("utf-8", "replace")
        for path in (project / "out").rglob("*")
        if path.is_file()
    )
    checked = run("memory", "check")
    if kind == "folder":  # an empty folder hides nothing
        return
    assert checked.exit_code == 1
    assert "odd.md" in checked.output, checked.output


HEADERS = {
    "a repeated key": "name: a\nname: b\ndescription: d",
    "an alias bomb": "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
    "deep": "name: " + "[" * 40_000,
    "tabs": "name:\tx\n\tdescription: y",
    "no end": "name: x",
    "a key of 100 kB": f"{'k' * 100_000}: x",
    "a word of 60 kB behind an open quotation": f'name: "x\n{"k" * 60_000}',
}


@pytest.mark.parametrize("kind", HEADERS)
def test_a_hostile_header_is_named_and_its_text_is_not_lost(project: Path, kind: str) -> None:
    """The memory is listed and named by `memory check` with what is wrong with its header."""
    (place,) = Path(os.environ["MEMORIST_HOME"]).glob("projects/*/memory")
    end = "" if kind == "no end" else "---\n"
    (place / "odd.md").write_text(f"---\n{HEADERS[kind]}\n{end}\nDeploys go out on Thursdays.\n")

    assert "odd.md" in run("memory", "list").output
    checked = run("memory", "check")
    assert checked.exit_code == 1
    assert "odd.md" in checked.output
    assert "Thursdays" in run("memory", "show", "odd.md").output


def test_a_tag_in_a_header_makes_nothing(project: Path) -> None:
    """A value that asks a YAML reader to build an object stays text."""
    (place,) = Path(os.environ["MEMORIST_HOME"]).glob("projects/*/memory")
    mark = project / "made"
    header = f"name: x\ndescription: !!python/object/apply:os.system ['touch {mark}']"
    (place / "odd.md").write_text(f"---\n{header}\n---\nDeploys go out on Thursdays.\n")

    assert "odd.md" in run("memory", "list").output
    assert not mark.exists()

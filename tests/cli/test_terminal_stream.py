"""Nothing that a command prints on a terminal is obeyed by it."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.cli.terminal_stream import EscapingTerminalStream, escape_control_characters
from support.program import run_program
from support.sweeps import sampled

HOSTILE = "\x1b]0;OWNED\x07\x1b]52;c;b3duZWQ=\x07\x1b[2J\x1b[1A\x9b31m\u202elive\u2066\rdone"
OBEYED = re.compile("\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.mark.covers("SF-2")
@given(st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(HOSTILE)))
def test_a_terminal_is_shown_text_alone(text: str) -> None:
    """What is left moves nothing; what can be shown is all there, and done twice it is the same."""
    shown = escape_control_characters(text)

    assert not OBEYED.search(shown)
    assert escape_control_characters(shown) == shown
    if not OBEYED.search(text):
        assert shown == text


def test_a_stream_writes_the_codes() -> None:
    """Its length is that of the text that was given."""
    buffer = io.BytesIO()
    stream = EscapingTerminalStream(buffer, encoding="utf-8", newline="\n", write_through=True)

    assert stream.write("a\x1b[2J\r\nb\tc\n") == 11
    assert buffer.getvalue() == b"a\\x1b[2J\r\nb\tc\n"


@pytest.mark.covers("SF-2")
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize(
    "command",
    sampled(
        [
            ["memory", "list"],
            ["memory", "show", "a"],
            ["memory", "search", "importer"],
            ["memory", "blame", "a"],
            ["memory", "diff"],
            ["memory", "show", f"no{HOSTILE}"],
            [f"no{HOSTILE}"],
        ],
        [["memory", "list"], ["memory", "diff"], ["memory", "show", f"no{HOSTILE}"]],
    ),
    ids=lambda command: re.sub(r"[^a-z]+", " ", " ".join(command)),
)
def test_a_memory_of_a_stranger_moves_no_cursor(tmp_path: Path, command: list[str]) -> None:
    """Also where it is an argument that an error repeats."""
    assert (
        run_program("memory", "add", "The importer is written in Rust", cwd=tmp_path).returncode
        == 0
    )
    (folder,) = Path.home().glob(".memorist/projects/*/memory")
    header = r'description: "importer \e]0;OWNED\a \e[2J \u202Elive"'
    text = f"---\nname: a\n{header}\ntype: project\n---\n\nThe importer {HOSTILE}.\n"
    (folder / "a.md").write_text(text, "utf-8", newline="")

    shown = on_terminal(command, tmp_path)

    assert shown
    assert not OBEYED.search(shown)


def on_terminal(command: list[str], folder: Path) -> str:
    """What the program writes to a terminal."""
    terminal, programs_side = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "memorist", *command],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=programs_side,
        stderr=programs_side,
    ):
        os.close(programs_side)
        written = b""
        with contextlib.suppress(OSError):  # Linux's way to say that the program has ended
            while piece := os.read(terminal, 65_536):
                written += piece
    os.close(terminal)
    return written.decode("utf-8").replace("\r\n", "\n")

"""Run the `console` blocks of the documents as a newcomer would, and put below each command what it
prints.

Each document begins in an empty home, in a small Git project that Codex has recorded one session
of. What differs from run to run (paths, times, ids, durations) is written as a placeholder. A block
after a line `<!-- not run: WHY -->` stays as it is. Besides `memorist`, with variables in front of
it, `echo '…' > FILE` is understood, and `$MODEL_SERVER` is a server on loopback that answers every
request with one sentence. `make docs` writes the outputs anew; a test
compares them.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from click.testing import CliRunner

from memorist.cli.hook_commands import stop_daemon
from memorist.cli.main import memorist_group
from memorist.testing import Say, ScriptedServer

ROOT = Path(__file__).parents[1]
SESSION = ROOT / "examples" / "sessions" / "codex-invoice-rounding.jsonl"
BLOCK = re.compile(r"(<!-- not run: [^\n]*-->\n+)?^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
WIDTH = 100
"""Columns of the terminal."""
MAX_LINES = 14
"""Longest output that is shown; the rest is a line with an ellipsis."""
MAX_COLUMNS = 150
PLACEHOLDERS = (
    (re.compile(r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d(:\d\d)?(\.\d+)?Z?"), r"2026-11-22\g<1>09:00"),
    (re.compile(r"20\d\d-\d\d-\d\d"), "2026-11-22"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b"), "0f0e0d0c-…"),
    (re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{8}\b"), "1a2b3c4d"),
    (re.compile(r"(?<=UTC, )in \d+ (?:s|min|h)\b"), "in 9 h"),
    (re.compile(r"\b\d+(\.\d+)? (ms|s)\b"), r"1 \2"),
    (re.compile(r"\bprocess \d+|hooks, \d+,"), "process 4711"),
    (re.compile(r"^  \d\d?\.\d\d  ", re.MULTILINE), "  2.83  "),
    (re.compile(r"\b\d+\.\d deviations"), "2.8 deviations"),
    (re.compile(r"\bin \d+ minutes\b"), "in 9 h"),
    (re.compile(r"^key: [\w-]{43}$", re.MULTILINE), "key: 7Vq0…"),
    (re.compile(r"(\.(?:md|jsonl): \d+,)\d{3} tokens"), r"\g<1>678 tokens"),  # it names paths
)


HOME_CHARS = 76
"""Characters of the path of the example's home; as many as a temporary folder of macOS has."""


def list_documents() -> list[Path]:
    """The documents that hold commands."""
    return [
        path
        for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
        if "```console" in path.read_text("utf-8")
    ]


@contextlib.contextmanager
def enter_example() -> Iterator[Path]:
    """An empty home and the example project, which becomes the working folder; yields the home."""
    with TemporaryDirectory() as folder:
        # The sizes that commands print count the paths in the session: all have one length.
        parent = Path(folder).resolve()
        home = parent / "p".ljust(HOME_CHARS - len(f"{parent}//home"), "p") / "home"
        project = home / "invoices"
        recorded = home / ".codex" / "sessions" / "2026" / "11" / "22"
        for each in (project, recorded, home / ".claude"):
            each.mkdir(parents=True)
        text = SESSION.read_text("utf-8").replace("/home/dev/invoices", str(project))
        text = text.replace('"source":"exec"', '"source":"cli"')
        (recorded / "rollout-2026-11-22T09-00-00-0f0e0d0c.jsonl").write_text(text, "utf-8")
        (project / "session.jsonl").write_text(text, "utf-8")
        shared = home / "invoices.git"
        for words in (
            ["git", "init", "-q", "--bare", str(shared)],
            ["git", "init", "-q", str(project)],
            ["git", "-C", str(project), "remote", "add", "origin", str(shared)],
        ):
            subprocess.run(words, check=True, capture_output=True)
        kept = {name: os.environ[name] for name in ("PYTHONPATH", "LANG") if name in os.environ}
        variables = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TZ": "UTC", **kept}
        with patch.dict(os.environ, variables, clear=True), contextlib.chdir(project):
            try:
                yield home
            finally:
                stop_daemon(home / ".memorist")


def run_command(line: str, home: Path) -> list[str]:
    """What a command line prints in the example, with placeholders."""
    with contextlib.ExitStack() as resources:
        if "$MODEL_SERVER" in line:
            server = resources.enter_context(
                ScriptedServer(lambda _: Say(text="Totals are cents."))
            )
            line = line.replace("$MODEL_SERVER", f"{server.url}/v1")
            said = _run_words(shlex.split(line.partition("  #")[0]), home)
            return [each.replace(f"{server.url}/v1", "$MODEL_SERVER") for each in said]
        return _run_words(shlex.split(line.partition("  #")[0]), home)


def _run_words(words: list[str], home: Path) -> list[str]:
    if words[0] == "echo":
        Path(words[3].replace("~/", f"{home}/", 1)).write_text(f"{words[1]}\n", "utf-8")
        return []
    first = next(number for number, word in enumerate(words) if "=" not in word)
    variables = dict(word.split("=", 1) for word in words[:first])
    words = words[first + 1 :]
    words = [word.replace("~/", f"{home}/", 1) if word.startswith("~/") else word for word in words]
    words = [
        each
        for word in words
        for each in (
            sorted(map(str, Path("/").glob(word[1:]))) if "*" in word and word[0] == "/" else [word]
        )
    ]
    done = CliRunner().invoke(
        memorist_group, words, terminal_width=WIDTH, env={"COLUMNS": "100", **variables}
    )
    said = done.output
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        said += f"memorist: {done.exception}\n"
    return replace_what_differs(said, home).splitlines()


def replace_what_differs(said: str, home: Path) -> str:
    """Put placeholders where two runs differ."""
    program = str(Path(sys.executable).parent / "memorist")
    said = (
        said.replace(program, "~/.local/bin/memorist")
        .replace(str(home), "~")
        .replace(re.sub(r"\W|_", "-", str(home)).strip("-"), "home")
    )
    said = re.sub(r"\b[\w.-]*home-invoices-\w+", "home-invoices-1a2b3c4d", said)
    for pattern, placeholder in PLACEHOLDERS:
        said = pattern.sub(placeholder, said)
    return said


def fill_blocks(text: str) -> str:
    """The document with the outputs of its commands as they are now."""
    with enter_example() as home:

        def fill(match: re.Match[str]) -> str:
            if match[1]:
                return match[0]
            lines = []
            for line in match[2].splitlines():
                if line.startswith("$ "):
                    lines += [line, *shorten_output(run_command(line[2:], home))]
            return "```console\n" + "\n".join(lines) + "\n```"

        return BLOCK.sub(fill, text)


def shorten_output(lines: list[str]) -> list[str]:
    """At most MAX_LINES, without blank lines at the end and blanks at the end of a line."""
    wide = [line if len(line) <= MAX_COLUMNS else f"{line[: MAX_COLUMNS - 1]}…" for line in lines]
    lines = "\n".join(line.rstrip() for line in wide).strip("\n").splitlines()
    return lines if len(lines) <= MAX_LINES else [*lines[: MAX_LINES - 1], "…"]


def write_outputs() -> None:
    """Write the outputs into all documents."""
    for path in list_documents():
        text = path.read_text("utf-8")
        path.write_text(fill_blocks(text), "utf-8")


if __name__ == "__main__":
    write_outputs()

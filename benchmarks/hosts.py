"""One long task with each host alone, with the host's own facility, and with memorist's plug and no
model: what is still shown to the model, calls made again, requests, tokens, prefix kept.

Each host runs in its own environment (`make bench NAME=hosts` makes them all), as a process that
prints its figures as JSON: `build/plugs/HOST/bin/python -m benchmarks.hosts HOST`. The task and the
scripted model are in `host_task`; a host's ways are in `hosts_HOST`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from benchmarks.host_task import (
    TURNS,
    WINDOW,
    HostFigures,
    HostTalk,
    TaskModel,
    TaskServer,
    run_task,
)
from benchmarks.report import BenchResult, BenchRow
from memorist.models.model_settings import ModelSettings
from memorist.settings import Settings

HOSTS = (
    "langchain",
    "pydantic-ai",
    "openai-agents",
    "google-adk",
    "agent-framework",
    "litellm",
    "hermes",
)
"""The hosts with a facility of their own that runs against a server on loopback, by the names of
their environments.
"""
ENVIRONMENTS = Path("build/plugs")
LOGS = Path("build/hosts")
"""What each host says while it fails, in a file of its name."""
TABLE = LOGS / "table.md"
"""The table that the document shows."""
ENVIRONMENT = {"PYTHONPATH": ".:tests", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""What a host's process is given; else LiteLLM asks the network for a list of prices."""
WINDOWS = {"hermes": 66_000}
"""Tokens that the server enforces where it is not `WINDOW`: Hermes wants 64,000 at least."""
MODEL = "made-up-model"
SECONDS = 900
"""A host that takes longer is stopped and named."""


class HostWorld(Struct, frozen=True):
    """What a run takes place in."""

    server: TaskServer
    folder: Path
    """Empty, for the project and memorist's home."""
    window: int

    @property
    def settings(self) -> Settings:
        """The settings of memorist: the window, which no price table knows for this model."""
        return Settings(models=ModelSettings(window=self.window))


class HostWays(Protocol):
    """A module `hosts_HOST`."""

    PACKAGES: Sequence[str]
    """Distributions whose releases are named."""
    WAYS: Mapping[str, Callable[[HostWorld], HostTalk]]
    """How each conversation is begun, by the name of the way."""


class HostReport(Struct, frozen=True):
    """What one host's process found."""

    host: str
    versions: dict[str, str]
    figures: list[HostFigures]


def measure(data: Path) -> BenchResult:
    """Needs no data; takes some minutes."""
    del data
    reports, absent = [], []
    LOGS.mkdir(parents=True, exist_ok=True)
    for host in HOSTS:
        python = ENVIRONMENTS / host / "bin" / "python"
        if not python.exists():
            absent.append(f"{host} (`make build/plugs/{host}/made`)")
            continue
        reports.append(run_host(host, python))
    if not reports:
        return BenchResult("hosts", absent=f"no host's environment is here: {', '.join(absent)}")
    TABLE.write_text("\n".join([*write_table(reports), *map("absent: {}".format, absent), ""]))
    return BenchResult("hosts", tuple(row for report in reports for row in _rows(report)))


def run_host(host: str, python: Path) -> HostReport:
    """All ways of one host, in a process of its environment."""
    with (LOGS / f"{host}.log").open("w") as log:
        done = subprocess.run(
            [str(python), "-m", "benchmarks.hosts", host],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            timeout=SECONDS,
            check=True,
            env={**os.environ, **ENVIRONMENT},
        )
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=HostReport)


def run_ways(host: str, only: Sequence[str] = ()) -> HostReport:
    """All ways of one host in this process, or some."""
    ways: Any = importlib.import_module(f"benchmarks.hosts_{host.replace('-', '_')}")
    versions = {name: importlib.metadata.version(name) for name in ways.PACKAGES}
    window = WINDOWS.get(host, WINDOW)
    figures = [
        run_way(way, begin, window) for way, begin in ways.WAYS.items() if not only or way in only
    ]
    return HostReport(host, versions, figures)


def run_way(way: str, begin: Callable[[HostWorld], HostTalk], window: int) -> HostFigures:
    """The whole task one way."""
    model = TaskModel()
    with (
        tempfile.TemporaryDirectory(prefix="memorist-hosts-") as folder,
        TaskServer(model, window=window) as server,
    ):
        return run_task(way, server, model, begin(HostWorld(server, Path(folder), window)))


def _rows(report: HostReport) -> Iterator[BenchRow]:
    for each in report.figures:
        name = f"{report.host}, {each.way}"
        yield BenchRow(f"{name}: turns answered", each.answered, f"of {TURNS}")
        yield BenchRow(f"{name}: requests refused as too long", each.too_long)
        yield BenchRow(f"{name}: requests refused as invalid", each.invalid)
        yield BenchRow(f"{name}: the user's notes in the last request", each.marks, f"of {TURNS}")
        facts = each.said_facts + each.read_facts
        yield BenchRow(f"{name}: early facts in the last request", facts, "of 6")
        yield BenchRow(f"{name}: pages read again", each.repeated)
        yield BenchRow(f"{name}: turns whose order was not shown", each.orders_lost)
        yield BenchRow(f"{name}: requests of the agent", each.requests)
        yield BenchRow(f"{name}: requests for a summary", each.summaries)
        yield BenchRow(f"{name}: input tokens", each.tokens / 1_000, "thousand")
        yield BenchRow(f"{name}: of them in no cache", each.uncached / 1_000, "thousand")
        yield BenchRow(f"{name}: requests that extend the one before", 100 * each.extending, "%")


def write_table(reports: Sequence[HostReport]) -> Iterator[str]:
    """The table as Markdown, a line for each way."""
    yield (
        "| host | way | turns answered | notes of the user in the last request | early facts: said"
        " / read | pages read again | requests (summaries) | input tokens, thousands (in no cache)"
        " | extend the one before | refused: too long / invalid |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for report in reports:
        named = ", ".join(f"{name} {version}" for name, version in report.versions.items())
        for each in report.figures:
            cells = [
                named,
                each.way,
                f"{each.answered}",
                f"{each.marks}",
                f"{each.said_facts} / {each.read_facts}",
                f"{each.repeated}",
                f"{each.requests} ({each.summaries})",
                f"{each.tokens / 1_000:.0f} ({each.uncached / 1_000:.0f})",
                f"{100 * each.extending:.0f} %",
                f"{each.too_long} / {each.invalid}",
            ]
            lost = f"; {each.orders_lost} turns without their order" if each.orders_lost else ""
            yield f"| {' | '.join(cells)}{lost} |"


if __name__ == "__main__":
    print(msgspec.json.encode(run_ways(sys.argv[1], sys.argv[2:])).decode())  # noqa: T201 - for `run_host`

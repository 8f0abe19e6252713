"""What every test shares: a home of its own, no keys, no network but loopback, one time zone, no
timed examples (a busy machine is no fault), known requirement ids.
"""

from __future__ import annotations

import gc
import os
import socket
import ssl
import time
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from support.sweeps import sampled

# The same examples in each run, so that what passed once passes again; `make fuzz` looks for new
# ones, and `make test-slow` draws all of each sweep.
settings.register_profile("same", deadline=None, derandomize=True, max_examples=6)
settings.register_profile("fuzz", deadline=None)
settings.register_profile("whole", settings.get_profile("same"), max_examples=25)
settings.load_profile("same")

LEDGER = tomllib.loads((Path(__file__).parent / "requirements.toml").read_text("utf-8"))
KNOWN = {f"{area}-{number}" for area, row in LEDGER.items() for number in row["requirements"]}
CONNECT = socket.socket.connect
DATA = Path(__file__).parents[2] / "shared" / "data"


def pytest_collection() -> None:
    """While the tests are collected everything stays, so the collector would search in vain: it
    takes a fifth of that time.
    """
    gc.disable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test may only claim requirements that exist."""
    for item in items:
        for mark in item.iter_markers("covers"):
            unknown = set(mark.args) - KNOWN
            if unknown:
                raise pytest.UsageError(
                    f"{item.nodeid} claims {sorted(unknown)}, which tests/requirements.toml "
                    f"does not list"
                )


def pytest_collection_finish() -> None:
    """What was loaded by now stays, and the little that could go (127,000 objects) is not worth the
    second of a search in each worker: the collector need not go through it again for each test,
    nor each time that a test has made a few hundred objects more.
    """
    gc.enable()
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.fixture(scope="session")
def few_authorities(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of one certificate authority. Each client of an SDK reads all 140 that are trusted,
    which takes longer than most tests, and no test connects to a server that they vouch for.
    """
    path = tmp_path_factory.mktemp("trust") / "authorities.pem"
    end = "-----END CERTIFICATE-----\n"
    found = find_spec("certifi")  # some hosts bring it, others read the system's
    trusted = Path(ssl.get_default_verify_paths().openssl_cafile)
    if found is not None and found.origin is not None:
        trusted = Path(found.origin).with_name("cacert.pem")
    path.write_text(trusted.read_text("utf-8").partition(end)[0] + end)
    return path


@pytest.fixture(scope="session")
def empty_homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Folders that do not exist yet. `mktemp` looks through all former ones for each new one."""
    parent = tmp_path_factory.mktemp("homes")
    return (parent / f"home{number}" for number in count())


def connect_to_loopback(self: socket.socket, address: Any) -> None:
    """`connect` that fails a test which reaches outside the machine."""
    if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in (
        "127.0.0.1",
        "::1",
        "localhost",
    ):
        raise AssertionError(f"a test tried to reach {address[0]}")
    CONNECT(self, address)


@pytest.fixture(scope="session", autouse=True)
def closed_world(few_authorities: Path) -> Iterator[None]:
    """No test has keys, settings from outside, or a network but loopback. Patched once: for each
    test again it takes longer than most tests.
    """
    from memorist.cli.agent_shell import AGENT_MARKS

    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if (
                name.startswith(("MEMORIST_", "ANTHROPIC_", "OPENAI_"))
                or name in AGENT_MARKS
                or name.lower().endswith("_proxy")
            ):
                patch.delenv(name)
        patch.setenv("SSL_CERT_FILE", str(few_authorities))
        # "Tomorrow" is that of the machine's zone, and tests write down one day.
        patch.setenv("TZ", "UTC")
        if hasattr(time, "tzset"):
            time.tzset()
        # By words alone unless a test is about meaning: the model takes a second of each process.
        patch.setenv("MEMORIST_RECALL__EMBEDDINGS", "false")
        # What a machine that loses power would lose is not tested, and the disk takes long.
        patch.setattr(os, "fsync", lambda _: None)
        # A session starts a worker for past sessions, as a process that outlives the test.
        patch.setattr(
            "memorist.engine.engine.start_worker_unless_recently_started", lambda *_, **__: None
        )
        patch.setattr(socket.socket, "connect", connect_to_loopback)
        yield


@pytest.fixture(autouse=True)
def own_home(empty_homes: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test has an empty home."""
    home = next(empty_homes)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MEMORIST_HOME", str(home / ".memorist"))


@pytest.fixture
def recorded_sessions() -> list[Path]:
    """Real recorded sessions, where they are at hand; they are no part of the project."""
    found = sorted(DATA.glob("sessions/*/*.jsonl"))
    if not found:
        pytest.skip("the recorded sessions (../shared/data) are not here; this test needs them")
    return found


@pytest.fixture(params=sampled([1, 5], {5}), ids="one in {}".format)
def sampled_sessions(recorded_sessions: list[Path], request: pytest.FixtureRequest) -> list[Path]:
    """Each of so many of them, the first among them."""
    return recorded_sessions[:: request.param]

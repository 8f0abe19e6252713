"""A pytest plugin that runs the tests in forks of the process that collected them: `--forks 4`.

To load and collect all tests takes some 14 seconds of a core. Processes that begin anew each pay
that; forks have what the first one loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from tempfile import TemporaryFile
from typing import Any, Final, NoReturn

import pytest

# How many tests a worker takes at a time: neighbours share the fixtures of their module, and what
# is left at the end is spread over all workers.
_TAKEN_AT_ONCE: Final = 8
_INDEX_BYTES: Final = 4


@dataclass
class _Worker:
    """A fork: its process id, what it sends, and the test that it runs (an index of all)."""

    pid: int
    events: Connection
    running: int | None = None


class _ReportSender:
    """Sends a fork's reports to the process that shows and counts them."""

    def __init__(self, config: pytest.Config, events: Connection) -> None:
        self._config = config
        self._events = events

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._events.send(data)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, help="run the tests in so many forks")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Run the collected tests in forks, where `--forks` asks for them and all were collected."""
    forks = session.config.getoption("--forks")
    if not forks or session.config.option.collectonly or session.testsfailed:
        return None
    left: Sequence[int] = range(len(session.items))
    while left:  # a second time where a fork ended before it had run what it took
        finished = _run_in_forks(session, left, forks)
        if not finished:
            raise RuntimeError(f"no fork runs any of the {len(left)} tests that are left")
        left = [index for index in left if index not in finished]
    return True


def _run_in_forks(session: pytest.Session, tests: Sequence[int], forks: int) -> set[int]:
    """Run these tests until all forks have ended; returns those that have a result."""
    queue = _queue_of(len(tests))
    workers = {}
    for number in range(min(forks, len(tests))):
        receiving, sending = Pipe(duplex=False)
        pid = os.fork()
        if pid == 0:
            _run_as_worker(session, _take(queue, tests), number, sending)
        sending.close()
        workers[receiving] = _Worker(pid, receiving)
    os.close(queue)
    try:
        return _follow(session, workers)
    finally:
        for worker in workers.values():
            worker.events.close()  # whoever still runs ends at its next report
            os.waitpid(worker.pid, 0)


def _queue_of(length: int) -> int:
    """A pipe with the position of each group of tests. Whoever reads the next few bytes has it: the
    kernel gives them to one reader.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # more than a pipe holds is an error and no standstill
    with os.fdopen(writing, "wb") as pipe:
        for start in range(0, length, _TAKEN_AT_ONCE):
            pipe.write(start.to_bytes(_INDEX_BYTES, "big"))
    return reading


def _take(queue: int, tests: Sequence[int]) -> Iterator[int]:
    while taken := os.read(queue, _INDEX_BYTES):
        start = int.from_bytes(taken, "big")
        yield from tests[start : start + _TAKEN_AT_ONCE]


def _run_as_worker(
    session: pytest.Session, tests: Iterator[int], number: int, events: Connection
) -> NoReturn:
    """Run tests until none is left, and end without what the first process does at its end."""
    config: Any = session.config
    try:
        config.pluginmanager.unregister(name="terminalreporter")
        config.pluginmanager.register(_ReportSender(config, events))
        folders = config._tmp_path_factory
        folders._basetemp = folders.mktemp(f"fork{number}-")
        _capture_into_own_files(config)
        taken = ((index, session.items[index]) for index in tests)
        for (index, item), following in pairwise(chain(taken, [(-1, None)])):
            events.send(index)
            config.hook.pytest_runtest_protocol(item=item, nextitem=following[1])
            events.send(None)
    finally:
        os._exit(0)


def _capture_into_own_files(config: pytest.Config) -> None:
    """What tests print goes to a file whose position the forks would share. The object stays, since
    modules that were loaded while tests were collected may hold it as `sys.stderr`.
    """
    capturing = config.pluginmanager.getplugin("capturemanager")._global_capturing
    for captured in (capturing.out, capturing.err):
        if captured is not None:
            with TemporaryFile(buffering=0) as own:
                os.dup2(own.fileno(), captured.tmpfile.fileno())


def _follow(session: pytest.Session, workers: dict[Connection, _Worker]) -> set[int]:
    """Show and count what the forks send, until all have ended. A test in which one ended failed."""
    finished = set()
    while workers_left := [events for events in workers if not events.closed]:
        for events in wait(workers_left):
            assert isinstance(events, Connection)
            worker = workers[events]
            try:
                event = events.recv()
            except EOFError:
                events.close()
                if worker.running is not None:
                    _report_a_crash(session, session.items[worker.running])
                    finished.add(worker.running)
                continue
            if event is None and worker.running is not None:
                finished.add(worker.running)
            _show(session, worker, event)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
    return finished


def _show(session: pytest.Session, worker: _Worker, event: Any) -> None:
    """An index begins a test, None ends it, and anything else is a report of it."""
    hook = session.config.hook
    if isinstance(event, int):
        worker.running = event
        item = session.items[event]
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    elif event is None:
        worker.running = None
    else:
        report = hook.pytest_report_from_serializable(config=session.config, data=event)
        hook.pytest_runtest_logreport(report=report)


def _report_a_crash(session: pytest.Session, item: pytest.Item) -> None:
    text = f"the process that ran {item.nodeid} ended"
    report = pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")
    session.config.hook.pytest_runtest_logreport(report=report)

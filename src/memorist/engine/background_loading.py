"""Load in a thread what a prompt will need (patterns, models, indexes), and pause while a prompt is
answered: threads share the interpreter's lock, and the prompt would wait for it after each file.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from itertools import chain, combinations
from weakref import WeakSet

from memorist.auto_memory.memory_file import parse_memory_file
from memorist.auto_memory.statement_comparison import compare_statements
from memorist.auto_memory.statements.pattern_alternatives import compile_opening_patterns_stepwise
from memorist.auto_memory.statements.statement_parser import (
    compile_statement_patterns_stepwise,
    find_statements,
)
from memorist.auto_memory.statements.unconfirmed_statements import (
    compile_unconfirmed_patterns_stepwise,
    find_unconfirmed_statements,
)
from memorist.auto_memory.value_correction import corrects_value
from memorist.core.language_detection import list_non_english_common_words
from memorist.core.lazy import precompile_patterns_stepwise
from memorist.core.messages import Message, Origin, TextBlock
from memorist.platforms.background_thread import (
    MAX_PROMPT_WAIT_SECONDS,
    MIN_WORK_SECONDS,
    PROMPT_IN_PROGRESS,
    start_thread_awaited_at_exit,
)

STEP_PAUSE_SECONDS = 0.001
"""Seconds between steps, in which the host's own threads run, after `MIN_WORK_SECONDS` of work:
most patterns are compiled in a third of a millisecond.
"""
MAX_STEP_SECONDS = 1.0
"""Longest wait for the end of a step: most take some milliseconds."""

SAMPLE_MESSAGES = (
    "Please add a test for the parser, then run it.",
    "Why does the build fail?",
    "It is not working any more: the page shows an error when I click the button.",
    "No, don't add comments. From now on always run the linter before you commit.",
    "We use pnpm here, not npm.",
)
"""What users often say: a task, a question, a report, a correction, a fact."""

SAMPLE_STATEMENTS = (
    "We moved from npm to pnpm",
    "Use pnpm, never npm",
    "The API is on port 8080 now, not 8000",
    "The API runs on port 8000",
)
"""A change, a rule, a value, and what they correct."""


class BackgroundSteps:
    """Steps in a background thread, each once no prompt is being answered. They stop when none of
    those who started them needs them any more, and go on when they are started again.
    """

    def __init__(self, begin: Callable[[], Iterator[None]], name: str) -> None:
        self._begin = begin
        self._name = name
        self._steps: Iterator[None] | None = None
        self._is_done = False
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._owners: WeakSet[object] = WeakSet()

    def start(self, owner: object) -> None:
        """Do them for `owner`, once in a process."""
        with self._lock:
            self._owners.add(owner)
            self._stopping.clear()
            if self._is_done or (self._thread is not None and self._thread.is_alive()):
                return
            if self._steps is None or self._thread is not None:  # in a child of fork: from the top
                self._steps = self._begin()
            self._thread = start_thread_awaited_at_exit(
                self._run, self._steps, name=self._name, stopping=self._stopping
            )

    def stop(self, owner: object) -> None:
        """`owner` needs them no more; waits for the step that was begun if nobody else does."""
        with self._lock:
            self._owners.discard(owner)
            if self._owners:
                return
            self._stopping.set()
            thread = self._thread
        if thread is not None:
            thread.join(MAX_STEP_SECONDS)

    def _run(self, steps: Iterator[None]) -> None:
        began = time.monotonic()
        for _ in steps:
            is_pause_due = time.monotonic() - began >= MIN_WORK_SECONDS
            if self._stopping.wait(STEP_PAUSE_SECONDS if is_pause_due else 0) and self._has_ended():
                return
            PROMPT_IN_PROGRESS.wait_until_idle(MAX_PROMPT_WAIT_SECONDS)
            if is_pause_due:
                began = time.monotonic()
        self._is_done = True

    def _has_ended(self) -> bool:
        """Whether to end the thread: it was not started again meanwhile."""
        with self._lock:
            if self._stopping.is_set():
                self._thread = None
            return self._thread is None


def _load_patterns() -> Iterator[None]:
    return chain(
        _stem_common_words(),
        _read_samples(),
        _read_sample_memory(),
        _compare_samples(),
        compile_statement_patterns_stepwise(),
        compile_unconfirmed_patterns_stepwise(),
        compile_opening_patterns_stepwise(),
        precompile_patterns_stepwise(),
    )


PATTERN_LOADING = BackgroundSteps(_load_patterns, "memorist-patterns")
"""Compiles the patterns that messages are read with, and stems the common words of other languages:
a second and a half, which the first prompts had to wait for.
"""


def _stem_common_words() -> Iterator[None]:
    list_non_english_common_words()
    yield


def _read_samples() -> Iterator[None]:
    """Read messages as users write them, one at each step: what most messages need comes first."""
    for text in SAMPLE_MESSAGES:
        sample = Message(
            id="sample", role="user", blocks=(TextBlock(text),), origin=Origin.USER, is_typed=True
        )
        find_statements(sample)
        find_unconfirmed_statements(sample)
        yield


def _read_sample_memory() -> Iterator[None]:
    """Load what a memory's header is parsed with: the first that is shown waited for it."""
    parse_memory_file("sample.md", b"---\nname: sample\n---\nText.\n")
    yield


def _compare_samples() -> Iterator[None]:
    """Compare statements of the kinds that users make, as each new one is with what is known."""
    for said, known in combinations(SAMPLE_STATEMENTS, 2):
        compare_statements(said, known)
        corrects_value(said, known)
        yield

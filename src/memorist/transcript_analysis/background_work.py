"""Plans and work in the background, as a session's tool calls prove them: what a compaction has
to bring back. Pure.

Sources of the wordings: recorded sessions of Claude Code 2.0 to 2.1 and Codex 0.47 to 0.145.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Generic, TypeVar

from memorist.core.bounded_collections import BoundedDict
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import JsonObject, ToolResult, ToolUse

CallT = TypeVar("CallT")
"""What is known of a call that was made."""

MAX_FOLLOWED_WORK = 30
"""Pieces of work that are followed; beyond that the oldest are dropped."""

MAX_DESCRIPTION_CHARACTERS = 200
"""Characters by which a piece of work is described."""

_STARTED = lazy_pattern(
    r"(?:running in (?:the )?background with ID:|Process running with session ID|"
    r"Script running with cell ID|"
    r"Async agent launched[\s\S]{0,300}?agentId:)\s*([\w-]+)"
)
_NOTIFIED = lazy_pattern(
    r"<task-id>([\w-]+)</task-id>[\s\S]{0,2000}?<status>(\w+)</status>", re.IGNORECASE
)
_ENDED = lazy_pattern(
    r"<status>(?:completed|failed|killed|stopped|cancelled)</status>|Process exited with code|"
    r"\AScript (?:completed|failed|terminated)|"
    r"Successfully (?:killed|stopped)|No (?:shell|task) found|Unknown process",
    re.IGNORECASE,
)
_STILL_RUNNING = lazy_pattern(
    r"<status>(?:running|pending)</status>|<retrieval_status>(?:timeout|not_ready)</", re.IGNORECASE
)
_HEAD = 2_000
"""Characters of a result in which a client says what goes on."""
_ID_KEYS = ("task_id", "bash_id", "shell_id", "agentId", "session_id", "cell_id", "id")
_FOLLOWING_TOOLS = frozenset({
    "taskoutput", "bashoutput", "agentoutput", "write_stdin", "wait", "killshell", "killbash",
    "taskstop",
})  # fmt: skip
_ENDING_TOOLS = frozenset({"killshell", "killbash", "taskstop"})
_INTERRUPT = "\x03"
"""What Control-C types."""
_PLAN_PATH = lazy_pattern(r"(?:^|[/\\])\.claude[/\\]plans[/\\][^/\\]+\.md$")
_RUNNING = frozenset({"running", "pending", "started"})


def is_plan_path(path: str) -> bool:
    """Whether Claude Code keeps a plan in this file."""
    return _PLAN_PATH.search(path) is not None


class UnfinishedBackgroundWorkTracker:
    """Work that was started and of whose end nothing was shown yet, by the client's id."""

    __slots__ = ("_asked", "running")

    def __init__(self) -> None:
        self.running: dict[str, str] = BoundedDict(MAX_FOLLOWED_WORK)
        """What each piece of work is, oldest first."""
        self._asked: dict[str, str] = {}
        """Ids of the work that open calls ask about, by call."""

    def on_tool_call(self, call: ToolUse) -> None:
        """A call may ask for the output of such work, or end it."""
        if self.running and call.name.lower() in _FOLLOWING_TOOLS:
            self._asked[call.id] = next(_iterate_ids(call.input), "")

    def on_tool_result(self, result: ToolResult, started_by: str) -> None:
        """The result of a call that `started_by` describes: it may tell of a start or an end."""
        head = result.text[:_HEAD]
        asked = self._asked.pop(result.tool_use_id, None)
        if asked is not None:
            if _ENDED.search(head):
                self.running.pop(asked, None)
            return
        started = _STARTED.search(head)
        if started is not None:
            self.running[started[1]] = started_by[:MAX_DESCRIPTION_CHARACTERS]

    def on_host_text(self, text: str) -> None:
        """A host tells of the end of work."""
        for id, status in _NOTIFIED.findall(text) if self.running else ():
            if status.lower() not in _RUNNING:
                self.running.pop(id, None)


class UnfinishedBackgroundCalls(Generic[CallT]):
    """Calls that go on in the background, by the client's id: their outcome is in the result of a
    later call that asks for it. A client puts every command there that takes longer than some
    seconds, which are the tests and builds.
    """

    __slots__ = ("_asked", "_started")

    def __init__(self) -> None:
        self._started: dict[str, CallT] = BoundedDict(MAX_FOLLOWED_WORK)
        self._asked: dict[str, str] = {}

    def on_tool_call(self, call: ToolUse) -> None:
        """A call may ask for the result of one that goes on; what it ends is followed no more."""
        name = call.name.lower()
        if not self._started or name not in _FOLLOWING_TOOLS:
            return
        id = next(_iterate_ids(call.input), "")
        if name in _ENDING_TOOLS or _INTERRUPT in str(call.input.get("chars", "")):
            self._started.pop(id, None)
        elif id in self._started:
            self._asked[call.id] = id

    def find_answered_call(self, result: ToolResult, call: CallT) -> CallT:
        """The call whose result this is: the one it answers, or the one that it asked about."""
        asked = self._asked.pop(result.tool_use_id, "")
        first = self._started.pop(asked, None)
        started = _STARTED.search(result.text[:_HEAD])
        if started is not None:
            self._started[started[1]] = first or call
            return call
        if first is not None and _STILL_RUNNING.search(result.text[:_HEAD]):
            self._started[asked] = first
            return call
        return first or call


def _iterate_ids(given: JsonObject) -> Iterator[str]:
    return (str(given[key]) for key in _ID_KEYS if given.get(key) not in (None, ""))

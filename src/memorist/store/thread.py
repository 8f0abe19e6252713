"""What the two stages of rollout memory pass on: a recorded session as it was found, and what stage one made of it. Values only."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Mode = Literal["enabled", "disabled", "polluted"]
"""Whether a session may become memory: `disabled` by the user, `polluted` by content from outside (RO-9); neither is lifted by itself."""


class Thread(Struct, frozen=True, kw_only=True):
    """One recorded session, read in place."""

    id: str
    """The session's own id; where the file names none, one made of its path."""
    path: str
    format: Literal["claude_code", "codex", "memorist"]
    size: int
    """Bytes of the file when it was looked at."""
    modified_ns: int
    """Modification time of the file then: an unchanged file is not opened again."""
    updated: int
    """Seconds since the epoch of the newest thing in it: the watermark that stage one is claimed by (codex.md section 1.6)."""
    cwd: str = ""
    repository: str = ""
    """Root of the canonical repository of `cwd`, or `cwd` itself: what project the session belongs to."""
    branch: str = ""
    source: str = ""
    """Who ran it, as the file says: `cli`, `vscode`, `exec`, `subagent` …; empty where it does not say."""
    first_words: str = ""
    """Begin of what the person said first; empty where nobody spoke."""
    mode: Mode = "enabled"


class Extracted(Struct, frozen=True, kw_only=True):
    """What stage one made of a thread. Raw memory and summary both empty: there is nothing worth keeping, which is remembered (RO-4)."""

    thread: str
    updated: int
    """The thread's watermark when it was read: a later one makes this out of date."""
    raw_memory: str = ""
    rollout_summary: str = ""
    slug: str = ""
    way: Literal["model", "structural"] = "structural"
    generated: int
    """Seconds since the epoch."""
    problem: str = ""
    """Why a model that was to be asked did not make it; empty where it did, or none was to be."""
    outside: bool = False
    """The session took in content from the web or from an MCP server (RO-9)."""
    path: str = ""
    cwd: str = ""
    repository: str = ""
    branch: str = ""

    @property
    def empty(self) -> bool:
        """Whether it is a no-op."""
        return not (self.raw_memory.strip() or self.rollout_summary.strip())


class Kept(Struct, frozen=True, kw_only=True):
    """An extract as the store has it, with its use."""

    extracted: Extracted
    uses: int = 0
    """How often it was cited."""
    last_use: int | None = None
    selected: bool = False
    """It is part of what was consolidated last."""


class Standing(Struct, frozen=True, kw_only=True):
    """A thread and how far stage one has got with it."""

    thread: Thread
    done: int | None = None
    """The newest watermark that stage one is through with; None when it never was."""

    @property
    def up_to_date(self) -> bool:
        """Whether there is nothing in the thread that stage one has not seen."""
        return self.done is not None and self.done >= self.thread.updated

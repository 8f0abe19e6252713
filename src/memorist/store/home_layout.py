"""Paths below the home folder (spec: "Data on disk"). Pure path arithmetic."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from memorist.core.argument_types import check_text
from memorist.core.lazy import lazy_pattern
from memorist.errors import UsageError
from memorist.safety.secrets import redact

REPLAY_FOLDER = "memorist-replay"
"""Name of the folder below the working folder in which a replay keeps what it made."""

_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")
_NAME_LENGTH = 60
"""Longest readable part of a folder name; the hash behind it keeps different paths apart."""

_HASHED_NAME = re.compile(r".*-[0-9a-f]{8}")
_RESERVED_NAMES = ("memory", "memory-state")
"""Folders that are beside those of a project's sessions."""


def make_folder_name(text: str) -> str:
    """A safe, readable folder name for any text; texts that differ get different names.

    A text that is safe already stays as it is, so that session ids can be found by hand; not one
    that looks like the name of another, or of a folder of ours.
    """
    plain = _UNSAFE_CHARACTERS.sub("-", text).strip(".-")
    if (
        plain == text
        and 0 < len(plain) <= _NAME_LENGTH
        and plain.lower() not in _RESERVED_NAMES
        and not _HASHED_NAME.fullmatch(plain)
    ):
        return plain
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain[-_NAME_LENGTH:].strip('.-') or 'unnamed'}-{digest}"


_PLAIN_HOME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,58}[a-z0-9])?")
_HASHED_HOME = re.compile(r".*-[0-9a-f]{32}", re.DOTALL)
_DEVICE_NAMES = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])")


def make_portable_folder_name(text: str) -> str:
    """A folder name for somebody's home that no other text gives, on any file system: letters of
    one case, digits, `-` and `_`.

    A text that is such a name already stays as it is; any other, one that looks like the name of
    another, and one that holds a secret, which the name does not show, ends in 128 bits of its
    hash. Raises UsageError for an empty text, and for what is none, such as a number.
    """
    if not check_text("a tenant's name", text):
        raise UsageError("a tenant needs a name; any text that is not empty will do")
    clean = redact(text).text
    if (
        clean is text
        and _PLAIN_HOME.fullmatch(text)
        and not _HASHED_HOME.fullmatch(text)
        and not _DEVICE_NAMES.fullmatch(text)
    ):
        return text
    plain = re.sub(r"[^a-z0-9]+", "-", clean.lower().encode("ascii", "ignore").decode())[
        :_NAME_LENGTH
    ].strip("-")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"{plain or 'unnamed'}-{digest}"


UNNAMED_SESSION_PREFIXES = ("proxy-", "sdk-")
"""How the ids of conversations begin that nobody named: those of the proxy, and of the plugs for
SDKs. Behind it are random hexadecimal digits.
"""
_UNNAMED_SESSION = lazy_pattern(rf"(?:{'|'.join(UNNAMED_SESSION_PREFIXES)})[0-9a-f]{{16,32}}")
BESIDE_HOOKS = "-proxy"
"""Ends the name of the session in which the proxy compacts what the hooks keep."""


class Layout:
    """The paths below one home folder."""

    def __init__(self, home: Path) -> None:
        self.home = home

    @classmethod
    def from_setting(cls, home: str) -> Layout:
        """The paths below the folder that the setting `home` names."""
        return cls(Path(home).expanduser().absolute())

    @property
    def database(self) -> Path:
        """Sessions and receipts; can be deleted without losing notes or transcripts."""
        return self.home / "state.sqlite"

    @property
    def user_template(self) -> Path:
        """The user's own template of the notes."""
        return self.home / "session-memory" / "config" / "template.md"

    @property
    def user_prompt(self) -> Path:
        """The user's own update prompt."""
        return self.home / "session-memory" / "config" / "prompt.md"

    @property
    def user_docs_prompt(self) -> Path:
        """The user's own prompt for Magic Docs."""
        return self.home / "magic-docs" / "config" / "prompt.md"

    @property
    def rollouts(self) -> Path:
        """The consolidated memory of past sessions: files for users and agents to read."""
        return self.home / "memories"

    @property
    def rollouts_state(self) -> Path:
        """What memorist needs beside that folder: its last accepted state, the diff in progress,
        the lock.
        """
        return self.home / "memories-state"

    @property
    def session_index(self) -> Path:
        """The words of past sessions; can be deleted, and is rebuilt."""
        return self.home / "session-index.sqlite"

    def list_session_index_files(self) -> list[Path]:
        """The files of that index which are there, and those of its words in each project."""
        index = self.session_index
        return [*self.home.glob(f"{index.name}*"), *self.home.glob(f"{index.stem}-words/*")]

    @property
    def copied_sessions(self) -> Path:
        """Sessions of agents that keep them in a database, as transcripts; one folder an agent."""
        return self.home / "copied-sessions"

    @property
    def memory_off_sessions(self) -> Path:
        """Ids of sessions that ran without memory, one a line: nothing is learned from their
        recordings.
        """
        return self.home / "hooks" / "off-sessions"

    @property
    def left_out_sessions(self) -> Path:
        """Ids of past sessions that the user left out of memory, one a line."""
        return self.rollouts_state / "left-out"

    @property
    def known_conversations(self) -> Path:
        """What the proxy recognizes its conversations by after a restart; without it they count as
        new.
        """
        return self.home / "proxy" / "conversations.jsonl"

    def handoff_file(self, name: str, number: int = 1) -> Path:
        """A hand-over of a session, by a name that is safe for files, and its number."""
        return self.home / "handoffs" / (f"{name}.md" if number == 1 else f"{name}-{number}.md")

    @property
    def projects(self) -> Path:
        """The folder that holds one folder for each project."""
        return self.home / "projects"

    @property
    def machines(self) -> Path:
        """What concerns the user's own machines: the key, and a copy of the shared branch."""
        return self.home / "machines"

    def session_layout(self, project: str, session: str) -> SessionLayout:
        """The folder of one session of a project, which is identified by its root path."""
        return SessionLayout(
            self.projects / make_folder_name(project or "no-project") / make_folder_name(session)
        )

    @property
    def user_memory_layout(self) -> MemoryLayout:
        """What the user said about themselves for all of their projects."""
        return MemoryLayout(self.home / "user" / "memory", self.home / "user" / "memory-state")

    def memory_layout(self, root: str) -> MemoryLayout:
        """The memory of one project, which is identified by its repository's root."""
        folder = self.projects / make_folder_name(root or "no-project")
        return MemoryLayout(folder / "memory", folder / "memory-state")

    def memory_layout_at(self, chosen: Path) -> MemoryLayout:
        """A memory folder that the user chose; what memorist needs beside it stays below the home
        folder. That of a project keeps its own history, as where a container names the host's.
        """
        if chosen.name == "memory" and chosen.parent.parent == self.projects:
            return MemoryLayout(chosen, chosen.parent / "memory-state", chosen=True)
        return MemoryLayout(
            chosen, self.projects / make_folder_name(str(chosen)) / "memory-state", chosen=True
        )


def is_unnamed_session(id: str) -> bool:
    """Whether an id was made for a conversation that nobody named; not one like `sdk-review`."""
    return _UNNAMED_SESSION.fullmatch(id) is not None


def is_session_folder(layout: Layout, folder: Path) -> bool:
    """Whether a folder has the place of a session's, as `Layout.session_layout` gives it."""
    return folder.parent.parent == layout.projects and folder.name not in _RESERVED_NAMES


class MemoryLayout:
    """The paths of one project's auto memory: the folder that users and agents read, and beside it
    our own state.
    """

    def __init__(self, folder: Path, state: Path, *, chosen: bool = False) -> None:
        self.folder = folder
        self.state = state
        self.chosen = chosen
        """The user chose the folder: it may serve several projects."""

    @property
    def index(self) -> Path:
        """`MEMORY.md`."""
        return self.folder / "MEMORY.md"

    @property
    def history(self) -> Path:
        """The folder's history, a bare Git repository."""
        return self.state / "history"

    @property
    def lock(self) -> Path:
        """Held while anything in the folder is written."""
        return self.state / "lock"

    @property
    def purge_lock(self) -> Path:
        """Lock held while the history is rewritten."""
        return self.state / "purge.lock"

    @property
    def purge_journal(self) -> Path:
        """What is being forgotten for good, until it is."""
        return self.state / "purge.json"

    @property
    def scan_state(self) -> Path:
        """The result of the last scan; derived."""
        return self.state / "scan.json"

    @property
    def scan_changes(self) -> Path:
        """What changed since the whole scan was written; see `memorist.auto_memory.scan_cache`."""
        return self.state / "scan-changes.json"

    @property
    def pending_change(self) -> Path:
        """A change in progress, so that a killed one keeps its reason."""
        return self.state / "pending.json"

    @property
    def reviewed_digests(self) -> Path:
        """Hashes of texts that the user has accepted."""
        return self.state / "reviewed.json"

    @property
    def rejected_digests(self) -> Path:
        """Hashes of the proposals that the user rejected."""
        return self.state / "rejected.json"

    @property
    def project_record(self) -> Path:
        """Which project the memory belongs to."""
        return self.state / "project.json"

    @property
    def synced_checksums(self) -> Path:
        """What the folder had when it was last in line with the user's other machines."""
        return self.state / "synced.json"

    @property
    def team_layout(self) -> TeamStateLayout:
        """State kept beside the memory for its team."""
        return TeamStateLayout(self.state / "team")

    @property
    def inbox(self) -> Path:
        """Proposals that wait for the user."""
        return self.state / "inbox"

    @property
    def inbox_listing(self) -> Path:
        """By what numbers they were listed last."""
        return self.state / "inbox-listing.json"

    @property
    def dream_state(self) -> Path:
        """State of dreams beside the folder: lock, journal, daily logs, and which questions were
        asked.
        """
        return self.state / "dream"

    @property
    def recall_index(self) -> Path:
        """The index for recall; derived."""
        return self.state / "recall.sqlite"


class TeamStateLayout:
    """The paths of a project's team state, beside the memory folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def location(self) -> Path:
        """The remote of the project's team."""
        return self.folder / "place.json"

    @property
    def sync_state(self) -> Path:
        """The state of both sides at the last sync."""
        return self.folder / "synced.json"

    @property
    def lock(self) -> Path:
        """Held while the folder is synced with the remote."""
        return self.folder / "lock"

    @property
    def base_texts(self) -> Path:
        """Texts common to both sides, by checksum."""
        return self.folder / "base"

    @property
    def authors(self) -> Path:
        """Last author of each change, as reported by the remote; derived."""
        return self.folder / "authors.json"

    @property
    def mirror(self) -> Path:
        """A bare repository with the branch of a Git remote."""
        return self.folder / "mirror.git"


class SessionLayout:
    """The paths of one session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def notes(self) -> Path:
        """Session memory."""
        return self.folder / "session-memory" / "summary.md"

    @property
    def notes_cursor(self) -> Path:
        """How far the notes reach, so that a new process can continue from there (SM-14)."""
        return self.folder / "session-memory" / "cursor.json"

    @property
    def memory_cursor(self) -> Path:
        """How far memories were extracted."""
        return self.folder / "memory-cursor.json"

    @property
    def magic_docs(self) -> Path:
        """The Magic Docs that the session maintains."""
        return self.folder / "magic-docs.json"

    @property
    def tool_results(self) -> Path:
        """Tool results that were too large for the conversation, one file each."""
        return self.folder / "tool-results"

    @property
    def shown_messages(self) -> Path:
        """The messages shown to the model after a compaction, so that a new process shows the
        same.
        """
        return self.folder / "window.json"

    @property
    def context_snapshot(self) -> Path:
        """The first context as shown, where the host has memorist assemble it."""
        return self.folder / "context.json"

    @property
    def injected_messages(self) -> Path:
        """What memorist inserted beside the host's messages since then, one line each."""
        return self.folder / "inserts.jsonl"

    @property
    def pins(self) -> Path:
        """Texts that the user wants kept in sight for this session."""
        return self.folder / "pins.json"

    @property
    def hook_context(self) -> Path:
        """What hooks showed since the last compaction, where the client manages its own context."""
        return self.folder / "shown.json"

    @property
    def transcript(self) -> Path:
        """The canonical transcript."""
        return self.folder / "transcript.jsonl"

    @property
    def events(self) -> Path:
        """The event log."""
        return self.folder / "events.jsonl"

"""The protocol between the hook client and the hook daemon.

Pure, and imports nothing but Python's own modules: it is loaded for every hook event.

request    one line `memorist TAB 1 TAB version TAB event TAB client TAB project TAB length`,
           then `length` bytes, exactly as the client sent them
response   one line `word TAB length`, then `length` bytes, to be printed unchanged
"""

from __future__ import annotations

OFF_SESSIONS = "off-sessions"
"""Ids of sessions without memory, one a line; past sessions leave them out."""

FOLDER = "hooks"
"""Folder in the home that holds the files of the hooks."""
SOCKET, LOCK, WAITING, STARTING, FAILURES, LIMITS, OUTPUT = (
    "socket",
    "lock",
    "waiting",
    "starting",
    "failures.log",
    "limits",
    "output.log",
)
"""File names in that folder.

The socket is addressed relative to the folder, because every system rejects socket paths longer
than about 100 bytes.
"""

CHECK_EVENT = "MemoristCheck"
"""An event of memorist's own: the process behind the hooks answers with its version and opens no
session, which proves the whole way from an agent's settings.
"""
KNOWN_EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreCompact",
    "PostCompact",
    "PreToolUse",
    "PostToolUse",
    "Stop",
    "SubagentStop",
    "SessionEnd",
    CHECK_EVENT,
)
"""Events that memorist answers or does work for; any other event gets an empty response."""
CLIENT_NAMES = ("claude-code", "codex")

PROTOCOL = "1"
MAX_EVENT_BYTES = 64 * 1024 * 1024
"""Largest event that is accepted; the same as the longest line of a session file."""
MAX_HEADER_BYTES = 16 * 1024
"""Longest header line."""

PING = b"\n"
"""An empty request: a working daemon closes the connection without a response."""

DONE, MOVED = "done", "moved"
"""Response words. `moved` means that the daemon is of another version and is shutting down."""

MAX_FAILURES_BYTES = 256 * 1024
"""Size at which the failures log is rotated; one previous log is kept."""


def encode_hook_header(version: str, event: str, client: str, project: str, length: int) -> bytes:
    """Encode the header line of a request.

    A value with a tab or line end, which no real one has, is sent empty.
    """
    values = ("memorist", PROTOCOL, version, event, client, project, str(length))
    return (
        "\t".join("" if "\t" in value or "\n" in value else value for value in values) + "\n"
    ).encode("utf-8", "surrogateescape")


def parse_hook_header(line: bytes) -> tuple[str, str, str, str, int] | None:
    """Version, event, client, project and length of a request; None if the line is not a valid
    header.
    """
    parts = line.decode("utf-8", "surrogateescape").rstrip("\n").split("\t")
    if (
        len(parts) != 7
        or parts[0] != "memorist"
        or parts[1] != PROTOCOL
        or not (parts[6].isascii() and parts[6].isdigit())
    ):
        return None
    length = int(parts[6][:20])
    return (parts[2], parts[3], parts[4], parts[5], length) if length <= MAX_EVENT_BYTES else None


def is_other_protocol_version(line: bytes) -> bool:
    """Whether an invalid header line is memorist's own with another protocol number."""
    name, _, rest = line.partition(b"\t")
    return name == b"memorist" and rest.partition(b"\t")[0] != PROTOCOL.encode()


def encode_daemon_response(word: str, data: bytes = b"") -> bytes:
    """A response in wire form: `word` says what it is, `data` is what the hook prints."""
    return f"{word}\t{len(data)}\n".encode() + data


def parse_daemon_response(response: bytes) -> tuple[str, bytes] | None:
    """The word and the bytes of a response; None if it is incomplete."""
    first, found, data = response.partition(b"\n")
    word, _, length = first.decode("ascii", "replace").partition("\t")
    if (
        not found
        or not (length.isascii() and length.isdigit())
        or len(length) > 20
        or int(length) != len(data)
    ):
        return None
    return word, data

"""What passes between the program that an agent calls and the process behind it. Pure, and nothing but Python's own: it is loaded for every event.

question   one line `memorist TAB 1 TAB version TAB event TAB client TAB project TAB length`, then so many bytes, as the agent gave them
answer     one line `word TAB length`, then so many bytes, to be printed as they are
"""

from __future__ import annotations

FOLDER = "hooks"
"""Folder below the home folder that holds all of it."""
SOCKET, LOCK, STARTING, FAILURES, LIMITS, OUTPUT = "socket", "lock", "starting", "failures.log", "limits", "output.log"
"""Names in that folder. The socket is named from within, since a longer name than some 100 bytes is refused by every system."""

PROTOCOL = "1"
MOST_BYTES = 64 * 1024 * 1024
"""Longest input that is taken; the same as the longest line of a recorded session."""
HEADER_BYTES = 16 * 1024
"""Longest first line."""

NOTHING = b"\n"
"""Asks nothing: the line is closed without an answer, by a process that does its work."""

DONE, MOVED = "done", "moved"
"""Words of an answer. `moved` says that this process is of another version and makes room."""

SECONDS = {"SessionStart": 5.0, "UserPromptSubmit": 2.0, "PreCompact": 10.0}
"""Longest wait for an answer, where the settings say nothing else (`hooks` in docs/settings.md)."""
OTHER_SECONDS = 1.0
OTHER = "*"
"""Stands for every other event in the file of limits."""

FAILURES_BYTES = 256 * 1024
"""The file of failures begins anew above this size; the one before is kept."""


def header(version: str, event: str, client: str, project: str, length: int) -> bytes:
    """The first line of a question. A value with a tab or a line end is left empty: none of them has one in earnest."""
    values = ("memorist", PROTOCOL, version, event, client, project, str(length))
    return ("\t".join("" if "\t" in value or "\n" in value else value for value in values) + "\n").encode("utf-8", "surrogateescape")


def read_header(line: bytes) -> tuple[str, str, str, str, int] | None:
    """Version, event, client, project and length of a question; None for a line that is none."""
    parts = line.decode("utf-8", "surrogateescape").rstrip("\n").split("\t")
    if len(parts) != 7 or parts[0] != "memorist" or parts[1] != PROTOCOL or not (parts[6].isascii() and parts[6].isdigit()):
        return None
    length = int(parts[6][:20])
    return (parts[2], parts[3], parts[4], parts[5], length) if length <= MOST_BYTES else None


def of_another_version(line: bytes) -> bool:
    """Whether a line that is no question of this protocol may be one of a later: memorist's own, and numbered otherwise."""
    name, _, rest = line.partition(b"\t")
    return name == b"memorist" and rest.partition(b"\t")[0] != PROTOCOL.encode()


def answer(word: str, data: bytes = b"") -> bytes:
    """A whole answer."""
    return f"{word}\t{len(data)}\n".encode() + data


def read_answer(said: bytes) -> tuple[str, bytes] | None:
    """The word and the bytes of an answer; None for one that is not whole."""
    first, found, data = said.partition(b"\n")
    word, _, length = first.decode("ascii", "replace").partition("\t")
    if not found or not (length.isascii() and length.isdigit()) or len(length) > 20 or int(length) != len(data):
        return None
    return word, data


def limits(text: str) -> dict[str, float]:
    """The longest waits in seconds, by event, from the file of limits; what cannot be read there is left out."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        event, _, said = line.partition(" ")
        try:
            seconds = float(said)
        except ValueError:
            continue
        if event and 0.0 < seconds < 3_600.0:
            found[event] = seconds
    return found


def limit_of(event: str, told: dict[str, float]) -> float:
    """The longest wait for an event."""
    return told.get(event) or SECONDS.get(event) or told.get(OTHER) or OTHER_SECONDS

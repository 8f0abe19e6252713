"""Long sessions made from recorded ones: copies of a session strung into one chain, each with ids of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_CHAIN = re.compile(rb'("(?:uuid|parentUuid|logicalParentUuid|leafUuid|messageId|sourceToolAssistantUUID)"\s*:\s*")[0-9a-fA-F]{8}')
_REPLY = re.compile(rb'("id"\s*:\s*"(?:msg|toolu)_|"tool_use_id"\s*:\s*"toolu_)')
_ROOT = re.compile(rb'"parentUuid"\s*:\s*null')
_UUID = re.compile(rb'"uuid"\s*:\s*"([0-9a-fA-F-]{36})"')
_CHAINED = re.compile(rb'"type"\s*:\s*"(?:user|assistant|attachment|system)"')


def long_session(sources: list[Path], size: int) -> Iterator[bytes]:
    """Lines of one Claude Code session of about `size` bytes, made by stringing copies of the sources together."""
    written, copy, last = 0, 0, b""
    contents = [[line for line in path.read_bytes().splitlines() if b'"isSidechain":true' not in line] for path in sources]
    while written < size:
        for lines in contents:
            copy += 1
            for line in lines:
                made = _renamed(line, copy)
                if last and _ROOT.search(made):
                    made = _ROOT.sub(b'"parentUuid":"' + last + b'"', made, count=1)
                found = _UUID.search(made)
                if found and _CHAINED.search(made):
                    last = found.group(1)
                written += len(made) + 1
                yield made
            if written >= size:
                return


def _renamed(line: bytes, copy: int) -> bytes:
    return _REPLY.sub(rb"\g<1>%x" % copy, _CHAIN.sub(rb"\g<1>%08x" % copy, line))


def write_long_session(path: Path, sources: list[Path], size: int) -> int:
    """Write such a session; gives its size in bytes."""
    with path.open("wb") as file:
        for line in long_session(sources, size):
            file.write(line + b"\n")
        return file.tell()


def claude_sessions(data: Path) -> list[Path]:
    """The recorded Claude Code sessions, largest first."""
    return sorted((data / "sessions" / "claude-code").glob("*.jsonl"), key=lambda path: path.stat().st_size, reverse=True)


def all_sessions(data: Path) -> list[Path]:
    """All recorded sessions, by name."""
    return sorted((data / "sessions").glob("*/*.jsonl"))

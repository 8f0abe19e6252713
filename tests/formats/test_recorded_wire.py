"""Items and messages of real recorded sessions go through the codecs unchanged."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memorist.formats.codec_registry import find_codec

SESSIONS = Path(__file__).parents[3] / "shared" / "data" / "sessions"
LIMIT = 400
"""Entries taken of one file, so that the test stays short."""


def entries(folder: Path, path: Path) -> Iterator[Any]:
    """Wire entries that the recorded file holds."""
    for line in path.read_bytes().splitlines()[: LIMIT * 4]:
        try:
            record = msgspec.json.decode(line)
        except msgspec.DecodeError:
            continue
        if folder.name == "codex" and record.get("type") == "response_item":
            yield record["payload"]
        elif folder.name == "claude-code" and isinstance(record.get("message"), dict):
            yield {key: record["message"].get(key) for key in ("role", "content")}


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize(
    ("folder", "name", "other"),
    [("codex", "openai_responses", "anthropic"), ("claude-code", "anthropic", "openai_chat")],
)
def test_recorded_entries_survive(folder: str, name: str, other: str) -> None:
    """Every entry is known, is written back as it was, and can be put into another format and read
    there.
    """
    paths = sorted((SESSIONS / folder).glob("*.jsonl"))
    if not paths:
        pytest.skip("the recorded sessions are not on this machine")
    seen = 0
    for path in paths:
        found = list(entries(SESSIONS / folder, path))[:LIMIT]
        messages = [
            message for entry in found for message in find_codec(name).decode_item(entry, id="m")
        ]
        assert find_codec(name).encode_messages(messages) == found
        assert not [
            message
            for message in messages
            if message.wire is not None and message.wire.kind == "unknown"
        ]
        find_codec(other).decode_request({"messages": find_codec(other).encode_messages(messages)})
        seen += len(found)
    assert seen > 100

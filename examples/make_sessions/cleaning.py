"""Make a recorded session fit to be shared: no path of this machine, no text that the agent's
vendor wrote. All else stays as it was.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, cast

LEFT_OUT = "[instructions of the agent, left out]"
SHOWN_HOME = "/home/dev"

_LONG = 200
_TAG = re.compile(r"<([a-z_]+(?: [a-z_]+)*)>")


def places(scratch: Path) -> dict[str, str]:
    """What stands for the folders of this machine, longest first: the scratch folder, Python's own,
    the user's home.
    """
    found = {
        str(scratch.resolve()): SHOWN_HOME,
        str(scratch): SHOWN_HOME,
        sys.base_prefix: "/usr",
        str(Path.home()): "/home/someone",
    }
    return {place: found[place] for place in sorted(found, key=len, reverse=True) if len(place) > 1}


def with_places(text: str, shown: dict[str, str]) -> str:
    """The text with the folders renamed."""
    for place, name in shown.items():
        text = re.sub(rf"(?<![<\w]){re.escape(place)}(?!\w)", name, text)
    return text


def clean_rollout(rollout: Path, scratch: Path) -> str:
    """A Codex rollout, cleaned: records, types, ids and token counts stay; instructions become a
    mark inside their own tag.
    """
    shown = places(scratch)
    lines: list[str] = []
    for line in rollout.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        _clean_record(record)
        lines.append(
            with_places(json.dumps(record, ensure_ascii=False, separators=(",", ":")), shown)
        )
    return "\n".join(lines) + "\n"


def _clean_record(record: dict[str, Any]) -> None:
    payload = record["payload"]
    match record["type"]:
        case "session_meta":
            payload.pop("base_instructions", None)
        case "world_state":
            payload["state"] = _without_prose(payload.get("state"))
        case "response_item" if payload.get("type") == "message" and not _spoken(payload):
            for part in payload["content"]:
                if "text" in part:
                    part["text"] = _marked(part["text"])
        case _:
            pass


def _spoken(message: dict[str, Any]) -> bool:
    """Whether the person or the model said it, by the record's own provenance."""
    if message["role"] == "assistant":
        return True
    passed: dict[str, Any] = message.get("internal_chat_message_metadata_passthrough") or {}
    return message["role"] == "user" and set(passed.get("content_item_kinds") or ()) == {
        "user.text"
    }


def _marked(text: str) -> str:
    tag = _TAG.match(text)
    return LEFT_OUT if tag is None else f"<{tag[1]}>{LEFT_OUT}</{tag[1]}>"


def _without_prose(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: _without_prose(inner) for key, inner in fields.items()}
    if isinstance(value, list):
        return [_without_prose(inner) for inner in cast("list[Any]", value)]
    if isinstance(value, str) and len(value) > _LONG and not value.startswith("<filesystem>"):
        return LEFT_OUT
    return value

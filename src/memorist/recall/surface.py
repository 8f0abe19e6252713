"""Render memories for a model: cut to their limits, with age and a caveat, labelled as data.

Pure (RC-4, SF-3). The rendered bytes are frozen: they are repeated in every later request, so that
the prompt prefix stays stable.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from memorist.auto_memory.evidence import plain
from memorist.auto_memory.kinds import Trust
from memorist.auto_memory.manifest import Head
from memorist.auto_memory.topic import Topic
from memorist.core.template import render
from memorist.recall.settings import RecallSettings
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible

_HEADING = re.compile(r"^[ \t]*---[ \t]+(?=\S)", re.MULTILINE)
"""A line in the form of a memory's heading; within a memory it would pass for the next one."""


class Texts(Struct, frozen=True, kw_only=True):
    """The prompt templates."""

    index: str
    recalled: str
    memory: str
    caveat: str
    cut: str
    select: str


class Surfaced(Struct, frozen=True):
    """One memory as it is shown."""

    path: str
    text: str
    cut: bool

    @property
    def size(self) -> int:
        """Size in bytes."""
        return len(self.text.encode("utf-8", "replace"))


def age_words(days: int) -> str:
    """Format an age as `today`, `yesterday` or `N days ago`."""
    return "today" if days <= 0 else "yesterday" if days == 1 else f"{days} days ago"


def surface(topic: Topic, head: Head, *, folder: str, now: float, texts: Texts, settings: RecallSettings) -> Surfaced:
    """Render one memory, cut to its limits.

    `folder` is the memory folder's path, `now` is in seconds since the epoch.
    """
    body, cut = _limited(_HEADING.sub(r"(data) \g<0>", neutralise(visible(_readable(topic.body)))), settings)
    days = head.age_days(now)
    age = age_words(days)
    values = {
        "path": neutralise(topic.path),
        "kind": f"{topic.kind}, " if topic.kind else "",
        "age": age,
        "trust": _trust(head.trust),
        "caveat": render(texts.caveat, {"age": age}, strict=True).rstrip("\n") if days > 1 else "",
        "text": body,
        "cut": "\n" + render(texts.cut, {"path": f"{folder}/{topic.path}"}, strict=True).strip() if cut else "",
    }
    return Surfaced(topic.path, render(texts.memory, values, strict=True).rstrip("\n"), cut)


def _trust(trust: Trust) -> str:
    told = {Trust.OUTSIDE: ", not from the user but from outside", Trust.TEAM: ", shared by a team mate", Trust.UNKNOWN: ", origin unknown"}
    return told.get(trust, "")


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _limited(text: str, settings: RecallSettings) -> tuple[str, bool]:
    lines = text.strip("\n").split("\n")
    kept = "\n".join(lines[: settings.file_lines])
    raw = kept.encode()
    if len(raw) > settings.file_bytes:
        kept = raw[: settings.file_bytes].decode("utf-8", "ignore")
        kept = kept[: kept.rfind("\n")] if kept.rfind("\n") > len(kept) // 2 else kept
    return kept, len(kept) < len(text.strip("\n"))


def says_no_more(topic: Topic, head: Head) -> bool:
    """Whether a memory's text says no more than its line in the index."""
    return plain(topic.body).rstrip(".。") == plain(head.description).rstrip(".。")


def block(shown: Sequence[Surfaced], texts: Texts) -> str:
    """Render the memories as the text of one message."""
    return render(texts.recalled, {"memories": "\n".join(each.text for each in shown)}, strict=True).strip()


def index_block(index: str, folder: str, texts: Texts) -> str:
    """Render the index as the text of one message."""
    return render(texts.index, {"folder": folder, "index": neutralise(visible(_readable(index))).strip()}, strict=True).strip()

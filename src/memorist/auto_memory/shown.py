"""What a model may see: memories judged by all that is shown of them, the index without lines that
read like orders (SF-2).

Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator

from msgspec.structs import replace

from memorist.auto_memory.index import Index, points_to
from memorist.auto_memory.kinds import Trust
from memorist.auto_memory.topic import OWN_KEY, Provenance, Topic, encode, with_provenance
from memorist.safety.granting import grants
from memorist.safety.orders import signs_of_orders

BY_PERSON = (Trust.STATED, Trust.REVIEWED)
_SHOWN = ("name", "description", "type", "pinned", OWN_KEY)
_REMARK = re.compile(r"(?:^|[ \t])#(.*)$", re.MULTILINE)
SEAM = 400
"""Characters on both sides of the seam between two memories that are checked together."""


def seal(topic: Topic) -> str:
    """Hash all that a memory says, header included and memorist's own marks excluded.

    A memory the user accepted is recognised by it.
    """
    text = with_provenance(topic, Provenance()).text()
    return hashlib.sha256(" ".join(encode(text).decode("utf-8", "replace").split()).encode("utf-8", "replace")).hexdigest()[:32]


def told(topic: Topic) -> str:
    """Render everything that a reader of the memory sees: name, description, text, other header
    values and comments.
    """
    front = topic.document.front
    if front is None:
        return f"{topic.name}\n{topic.description}\n{topic.body}"
    beside = {key: value for key, value in front.values.items() if key not in _SHOWN}
    beside |= {OWN_KEY: {key: value for key, value in front.mapping(OWN_KEY).items() if key not in Provenance.__struct_fields__}}
    remarks = [remark for entry in front.entries for remark in _REMARK.findall(entry.raw)]
    return "\n".join([topic.name, topic.description, topic.body, *(text for text in _texts(beside) if text != OWN_KEY), *remarks])


def orders(topic: Topic) -> tuple[str, ...]:
    """Find signs of a planted order in the file, its parsed header values, and its name."""
    rules = signs_of_orders(topic.text()) | signs_of_orders(_name(topic.path))
    for value in _texts(topic.document.front.values if topic.document.front else {}):
        rules |= signs_of_orders(value)
    return tuple(f"it reads like an order planted for an agent ({rule})" for rule in sorted(rules))


def _name(path: str) -> str:
    return path.removesuffix(".md").replace("/", " ").replace("-", " ").replace("_", " ")


def _texts(value: object) -> Iterator[str]:
    """Yield every string of a header's values."""
    pending = [value]
    while pending:
        found = pending.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict):
            pending += [each for pair in found.items() for each in pair]
        elif isinstance(found, list):
            pending += found


def unbacked_grant(topic: Topic, trust: Trust) -> tuple[str, ...]:
    """Report a permission granted in a user's name that no quoted words of the user give."""
    if not grants(told(topic)) or (trust in BY_PERSON and grants(topic.provenance.quote)):
        return ()
    return ("it grants a permission in the user's name, and no quoted words of the user give it",)


def doubts(topic: Topic, trust: Trust | None = None) -> tuple[str, ...]:
    """Find out why a memory on disk is not shown to a model; empty when it may be.

    `trust` overrides the file's own claim where that is not to be believed.
    """
    return (*orders(topic), *unbacked_grant(topic, topic.provenance.trust if trust is None else trust))


def meet(first: str, second: str) -> bool:
    """Whether two harmless texts form an order where they meet, in either order."""
    seams = (f"{first[-SEAM:]}\n{second[:SEAM]}", f"{second[-SEAM:]}\n{first[:SEAM]}")
    alone = signs_of_orders(first) | signs_of_orders(second)
    return any(signs_of_orders(seam) - alone for seam in seams)


def presentable(index: Index, fit: Collection[str]) -> Index:
    """Filter the index: only lines of the visible memories, and no lines that read like orders,
    alone or together.
    """
    lines = [line for line in index.text.splitlines() if points_to(line) in ("", *fit)] if index.text else []
    if any(map(_bad, ("\n".join(lines), "\n".join(line for line in lines if not points_to(line))))) or any(map(grants, lines)):
        lines = _apart(lines)
    text = "\n".join(lines) + "\n" if lines else ""
    listed = tuple(path for path in index.listed if path in fit)
    return replace(index, text=text, lines=len(lines), size=len(text.encode("utf-8", "replace")), listed=listed)


def _bad(text: str) -> bool:
    return bool(signs_of_orders(text)) or grants(text)


def _apart(lines: list[str]) -> list[str]:
    """Drop lines that form an order alone or with the three lines before them.

    Where the user's own lines form one only together, all of them are dropped.
    """
    own = "\n".join(line for line in lines if not points_to(line) and not _bad(line))
    without_own = _bad(own)
    kept: list[str] = []
    for line in lines:
        if _bad(line) or (without_own and not points_to(line)) or _bad("\n".join([*kept[-3:], line])):
            continue
        kept.append(line)
    return kept

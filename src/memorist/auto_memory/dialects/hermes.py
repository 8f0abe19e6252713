"""Hermes Agent: `MEMORY.md` (the agent's notes) and `USER.md` (about the user), entries separated
by a section sign on its own line.

Pure. Source of the sign and of the limits in characters of a whole file: NousResearch/hermes-agent,
tools/memory_tool.py, as of 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memorist.auto_memory.dialects.values import Dialect, Left, Lost, Read, Wrote, entry, losses, lost, outdated, text_of
from memorist.auto_memory.index import pointed_at
from memorist.auto_memory.kinds import ABOUT_THE_PERSON, Kind
from memorist.auto_memory.topic import Topic, encode

PARTED = "\n§\n"
LIMITS = {"MEMORY.md": 2_200, "USER.md": 1_375}
"""Characters; beyond them Hermes accepts no further entry and reports the file."""
_KINDS = {"MEMORY.md": Kind.PROJECT, "USER.md": Kind.USER}
_HOLDS = frozenset({"lines", "links"})
_SIGN = re.compile(r"^§$", re.MULTILINE)


def _store(path: str) -> str:
    """Return `MEMORY.md` or `USER.md` for a file of either; empty for any other.

    Files may stand in the memory folder or in `memories` below Hermes's home.
    """
    name = path.removeprefix("memories/")
    return name if name in LIMITS else ""


def recognise(files: Mapping[str, bytes]) -> bool:
    """Whether a file has separated entries, or a `USER.md` without header stands beside a
    `MEMORY.md` that is no index.
    """
    found = {_store(path): text_of(data) for path, data in files.items() if _store(path)}
    if any(PARTED in text for text in found.values()):
        return True
    return not found.get("USER.md", "---").startswith("---") and not pointed_at(found.get("MEMORY.md", ""))


def entries(text: str) -> list[str]:
    """Split a file into entries, each once."""
    return list(dict.fromkeys(filter(None, (each.strip() for each in text.split(PARTED)))))


def read(files: Mapping[str, bytes]) -> Read:
    """Read every entry: those of `USER.md` are about the user, the others about the project."""
    topics: list[Topic] = []
    left: list[Left] = []
    taken: dict[str, int] = {}
    for path, data in sorted(files.items()):
        store = _store(path)
        if store:
            topics += [entry(each, _KINDS[store], taken) for each in entries(text_of(data))]
        else:
            left.append(Left(path, "neither MEMORY.md nor USER.md"))
    return Read(topics=tuple(topics), left=tuple(left))


def write(topics: Sequence[Topic], present: Mapping[str, bytes]) -> Wrote:
    """Add the memories that the files do not contain yet, as far as the limits allow."""
    active, missing = outdated(topics)
    stores = {name: entries(text_of(present.get(name, b""))) for name in LIMITS}
    known = {name: len(each) for name, each in stores.items()}
    told: list[Lost] = [*missing]
    for topic in active:
        name = "USER.md" if topic.kind in ABOUT_THE_PERSON else "MEMORY.md"
        text = _SIGN.sub("", topic.body.replace("\r\n", "\n")).strip()
        if text in stores[name]:
            continue
        why = _refused(text, name, stores[name])
        if why:
            told.append(Lost(topic.path, (why,), whole=True))
            continue
        stores[name].append(text)
        kind = () if topic.kind in (None, _KINDS[name]) else ("kind",)
        sign = ("a section sign on a line of its own",) if _SIGN.search(topic.body) else ()
        told += lost(topic, (*kind, *(each for each in losses(topic, _HOLDS) if each != "kind"), *sign))
    added = {name: each for name, each in stores.items() if len(each) > known[name]}
    kept = {name: data for name, data in present.items() if name in LIMITS and name not in added}
    return Wrote(files={**kept, **{name: encode(PARTED.join(each)) for name, each in added.items()}}, lost=tuple(told))


def _refused(text: str, name: str, there: Sequence[str]) -> str:
    """Explain why a text does not fit into a file; empty when it does."""
    if not text:
        return "nothing of it is left without signs that part entries"
    size = len(PARTED.join([*there, text]))
    return f"{name} has room for {LIMITS[name]:,} characters, and with it there would be {size:,}" if size > LIMITS[name] else ""


HERMES = Dialect(
    name="hermes", title="Hermes Agent", holds=_HOLDS, looks_at=tuple(LIMITS), file="", recognise=recognise, read=read, write=write
)

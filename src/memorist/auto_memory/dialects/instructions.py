"""Plain instruction files (`AGENTS.md`, `CLAUDE.md` and the like): list entries, in memorist's own
section where it wrote them.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memorist.auto_memory.dialects.bullets import bullet, bullets, one_line, sections, span, with_entries
from memorist.auto_memory.dialects.values import Dialect, Left, Lost, Read, Wrote, listed, losses, lost, outdated, text_of
from memorist.auto_memory.kinds import Kind
from memorist.auto_memory.topic import Topic, encode

NAMES = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md", "AGENTS.override.md")
FILE = "AGENTS.md"
HEADING = "## Memories"
_HOLDS = frozenset({"lines", "links"})


def recognise(files: Mapping[str, bytes]) -> bool:
    """Whether there is a file with one of the known names."""
    return any(path.rsplit("/", 1)[-1] in NAMES for path in files)


def read(files: Mapping[str, bytes]) -> Read:
    """Read the entries of the section `Memories`, or every list entry where there is no such
    section.

    They say how to work: kind `feedback`.
    """
    topics: list[Topic] = []
    left: list[Left] = []
    taken: dict[str, int] = {}
    for path, data in sorted(files.items()):
        text = text_of(data)
        start, end = span(text, HEADING)
        if start >= 0:
            found, others = listed(text[start:end].split("\n")[1:], f"{path}: {HEADING}", Kind.FEEDBACK, taken)
            topics, left = topics + found, left + others
            left += [Left(path, "instructions outside the section of memories")] if (text[:start] + text[end:]).strip() else []
            continue
        for part in sections(text):
            found, others = listed(part.lines, f"{path}: {part.title or 'its beginning'}", Kind.FEEDBACK, taken)
            topics, left = topics + found, left + others
    return Read(topics=tuple(topics), left=tuple(left))


def write(topics: Sequence[Topic], present: Mapping[str, bytes]) -> Wrote:
    """Add the memories that the section does not contain yet; all else in the file stays."""
    active, missing = outdated(topics)
    text = present.get(FILE, b"").decode("utf-8", "surrogateescape")
    start, end = span(text, HEADING)
    there = bullets(text[start:end].replace("\r\n", "\n").split("\n")[1:])[0] if start >= 0 else []
    known = {one_line(each) for each in there}
    told: list[Lost] = [*missing]
    added: list[str] = []
    for topic in active:
        kind = () if topic.kind in (None, Kind.FEEDBACK) else ("kind",)
        told += lost(topic, (*kind, *(each for each in losses(topic, _HOLDS) if each != "kind")))
        if one_line(topic.body) not in known:
            known.add(one_line(topic.body))
            added.append(bullet(topic.body))
    return Wrote(files={FILE: encode(with_entries(text, HEADING, added))} if text or added else {}, lost=tuple(told))


INSTRUCTIONS = Dialect(
    name="instructions", title="Instruction file", holds=_HOLDS, looks_at=(FILE,), file=FILE, recognise=recognise, read=read, write=write
)

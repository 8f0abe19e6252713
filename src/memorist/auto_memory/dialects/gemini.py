"""Gemini CLI: `GEMINI.md` with a section of added memories, one line each; a project's own are the
list in its `MEMORY.md`.

Pure. Source of the heading, of the end of the section (the next level-2 heading) and of what a line
may contain (no line ends, no angle brackets, no leading dash): google-gemini/gemini-cli,
packages/core/src/tools/memoryTool.ts, as of 2026.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memorist.auto_memory.dialects.bullets import bullet, bullets, one_line, sections, span, with_entries
from memorist.auto_memory.dialects.values import Dialect, Left, Lost, Read, Wrote, listed, losses, lost, outdated, text_of
from memorist.auto_memory.kinds import Kind
from memorist.auto_memory.manifest import INDEX_NAME
from memorist.auto_memory.topic import Topic, encode

FILE = "GEMINI.md"
HEADING = "## Gemini Added Memories"
_HOLDS: frozenset[str] = frozenset({"links"})
_BRACKETS = str.maketrans("<>", "  ")


def recognise(files: Mapping[str, bytes]) -> bool:
    """Whether there is a `GEMINI.md`, or the heading in any file."""
    return any(path.rsplit("/", 1)[-1] == FILE or span(text_of(data), HEADING)[0] >= 0 for path, data in files.items())


def read(files: Mapping[str, bytes]) -> Read:
    """Read each line of the section.

    The layout does not say the kind; a list in a project's `MEMORY.md` is about the project.
    """
    topics: list[Topic] = []
    left: list[Left] = []
    taken: dict[str, int] = {}
    for path, data in sorted(files.items()):
        text = text_of(data)
        start, end = span(text, HEADING)
        if start >= 0:
            found, others = listed(text[start:end].split("\n")[1:], f"{path}: {HEADING}", None, taken)
            topics, left = topics + found, left + others
            text = text[:start] + text[end:]
        if path.rsplit("/", 1)[-1] == INDEX_NAME:
            found, others = listed([line for each in sections(text) for line in each.lines], path, Kind.PROJECT, taken)
            topics, left = topics + found, left + others
        elif text.strip():
            own = path.rsplit("/", 1)[-1] == FILE or start >= 0
            left.append(
                Left(path, "instructions outside the section of added memories" if own else "no file that Gemini CLI adds memories to")
            )
    return Read(topics=tuple(topics), left=tuple(left))


def line_of(text: str) -> str:
    """Render a text as the single line that Gemini CLI would make of it."""
    return one_line(text.translate(_BRACKETS)).lstrip("- ")


def write(topics: Sequence[Topic], present: Mapping[str, bytes]) -> Wrote:
    """Add the memories that the section does not contain yet; all else in the file stays."""
    active, missing = outdated(topics)
    text = present.get(FILE, b"").decode("utf-8", "surrogateescape")
    start, end = span(text, HEADING)
    known = {one_line(each) for each in bullets(text[start:end].split("\n")[1:])[0]} if start >= 0 else set()
    told: list[Lost] = [*missing]
    added: list[str] = []
    for topic in active:
        line = line_of(topic.body)
        if not line:
            told.append(Lost(topic.path, ("nothing of it is left on one line without signs",), whole=True))
            continue
        brackets = ("angle brackets",) if "<" in topic.body or ">" in topic.body else ()
        told += lost(topic, (*losses(topic, _HOLDS), *brackets))
        if line not in known:
            known.add(line)
            added.append(bullet(line))
    return Wrote(files={FILE: encode(with_entries(text, HEADING, added))} if text or added else {}, lost=tuple(told))


GEMINI = Dialect(name="gemini", title="Gemini CLI", holds=_HOLDS, looks_at=(FILE,), file=FILE, recognise=recognise, read=read, write=write)

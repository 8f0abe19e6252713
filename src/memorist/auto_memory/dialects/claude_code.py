"""Claude Code: a folder with one file per memory, and the index `MEMORY.md` (claude-code.md
sections 7.3 and 7.4).

Pure. The layout is memorist's own, so files are copied byte for byte; Claude Code ignores
memorist's header key. Both header forms are read: `type`, and `metadata.type` with a short name and
`[[links]]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from memorist.auto_memory.changes import bad_path
from memorist.auto_memory.dialects.values import HELD, Dialect, Left, Lost, Read, Wrote, free_path, in_use, text_of
from memorist.auto_memory.index import Index, IndexLimits, build, pointed_at
from memorist.auto_memory.manifest import INDEX_NAME, Head, head_from, is_memory
from memorist.auto_memory.topic import Topic, encode, file_name, parse

_LOG = re.compile(r"logs/\d{4}/")
_REMARK = "<!-- memorist:"


def recognise(files: Mapping[str, bytes]) -> bool:
    """Whether there is an index that points to files, or a file with a name, description or type.
    """
    if pointed_at(text_of(files.get(INDEX_NAME, b""))):
        return True
    return any(_has_header(path, data) for path, data in files.items() if is_memory(path))


def _has_header(path: str, data: bytes) -> bool:
    topic = parse(path, data)
    front = topic.document.front
    return front is not None and (topic.kind is not None or bool(front.text("name") and front.text("description")))


def read(files: Mapping[str, bytes]) -> Read:
    """Read every Markdown file but the index, bytes unchanged."""
    topics: list[Topic] = []
    left: list[Left] = []
    taken = in_use(files)
    for path, data in sorted(files.items()):
        why = _no_memory(path, data)
        if why:
            left.append(Left(path, why))
        else:
            topics.append(parse(_usable(path, taken), data))
    own = _own_lines(text_of(files.get(INDEX_NAME, b"")))
    if own:
        left.append(Left(INDEX_NAME, f"{own} lines of the index point to no file; a memory has a file of its own"))
    return Read(topics=tuple(topics), left=tuple(each for each in left if each.why.strip()))


def _no_memory(path: str, data: bytes) -> str:
    checks = (
        (path == INDEX_NAME, " "),
        (path.rsplit("/", 1)[-1] == INDEX_NAME, "an index, made from the files beside it"),
        (not is_memory(path), "no Markdown file, or hidden"),
        (path.startswith("team/"), "shared by a team; import the folder team by itself if it is to be yours"),
        (_LOG.match(path) is not None, "a daily log, from which memories are still to be made"),
        (not parse(path, data).body.strip(), "it has no text"),
    )
    return next((why for found, why in checks if found), "")


def _usable(path: str, taken: dict[str, int]) -> str:
    """Return the path, or another one where a memory folder does not accept it."""
    if bad_path(path) is None and path.encode("utf-8", "replace").decode() == path:
        return path
    return free_path(file_name(path.rsplit("/", 1)[-1].removesuffix(".md")), taken)


def _own_lines(index: str) -> int:
    """Count the index's lines of text that are not pointers, headings or remarks."""
    lines = [line.strip() for line in index.split("\n") if line.strip()]
    said = [line for line in lines if not line.startswith(("#", "<!--"))]
    return sum(1 for line in said if not pointed_at(line))


def write(topics: Sequence[Topic], present: Mapping[str, bytes]) -> Wrote:
    """Write every memory as its file, and add their lines to the index; foreign files and lines
    stay.
    """
    files = {topic.path: encode(topic.text()) for topic in topics}
    index = present.get(INDEX_NAME, b"").decode("utf-8", "surrogateescape")
    others = [parse(path, data) for path, data in present.items() if is_memory(path) and path not in files]
    built = _index([*topics, *others], index)
    lost = [Lost(path, ("its line does not fit into the index; the file is there",)) for path in built.left_out if path in files]
    if built.listed or index:
        files[INDEX_NAME] = present[INDEX_NAME] if _same(index, built) else encode(built.text)
    return Wrote(files=files, lost=tuple(lost))


def _index(topics: Sequence[Topic], present: str) -> Index:
    heads: list[Head] = [head_from(topic, modified=0.0, size=0) for topic in topics]
    return build(heads, present, uses={}, now=0.0, limits=IndexLimits())


def _same(index: str, built: Index) -> bool:
    """Whether the existing index names the same files; it is then left as its author wrote it."""
    return bool(index) and set(pointed_at(index)) == set(built.listed) and _REMARK not in index and not built.over


CLAUDE_CODE = Dialect(
    name="claude-code",
    title="Claude Code",
    holds=frozenset(HELD),
    looks_at=("",),
    file="",
    recognise=recognise,
    read=read,
    write=write,
)

"""A memory file as an agent's memory tool sees it: its path under `/memories`, its text without
memorist's own front matter key, its lines. Pure.

Names and forms follow Anthropic's memory tool `memory_20250818`: the root, line numbers from 1 in
six columns and a tab, sizes before paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memorist.auto_memory.changes import bad_path
from memorist.auto_memory.manifest import INDEX_NAME
from memorist.auto_memory.topic import OWN_KEY, Topic, encode, parse, with_header
from memorist.core.front_matter import Document, join
from memorist.errors import InputError

ROOT = "/memories"
LEVELS = 2
"""Depth of folders in a folder view."""
NUMBER_WIDTH = 6
"""Columns of a line number."""
AROUND = 2
"""Lines shown before and after a change."""
VIEWED = 100_000
"""Longest view in characters. Our choice: a larger file is read in ranges."""

_ESCAPED = re.compile(r"%(?:2e|2f|5c|00|25)", re.IGNORECASE)
"""Percent-encoded dots, separators, nulls and percent signs: some reader may decode them."""


def below(path: object) -> str:
    """Return the path below the root without leading or trailing slash; empty for the root itself.

    Raises InputError for any other path.
    """
    if not isinstance(path, str):
        raise InputError(f"a path is a text that begins with {ROOT}")
    inner = path.removeprefix(ROOT)
    if not path.startswith(ROOT) or (inner and not inner.startswith("/")):
        raise InputError(f"{path!r} is not below {ROOT}")
    inner = inner[1:].removesuffix("/")
    if not inner:
        return ""
    problem = "The path holds an escaped sign." if _ESCAPED.search(inner) else bad_path(f"{inner}/x.md")
    if problem:
        raise InputError(f"{path!r} names nothing in memory. {problem}")
    return inner


def file_of(path: object) -> str:
    """Return the path of a memory file; `.md` is added to names without it.

    Raises InputError for a path that cannot be a memory's.
    """
    inner = below(path)
    name = inner if inner.endswith(".md") else f"{inner}.md"
    problem = bad_path(name) if inner else f"It is the folder {ROOT} itself."
    if problem:
        raise InputError(f"{path!r} cannot be a memory's. {problem}")
    return name


def shown_text(topic: Topic) -> str:
    """Return the text that the tool works on: the file without the key under which memorist keeps
    its provenance.
    """
    document = with_header(topic, {OWN_KEY: None}).document if topic.document.front is not None else topic.document
    if document.front is not None and not document.front.entries:
        document = Document(None, document.body)
    return join(document).encode("utf-8", "replace").decode()


def kept_text(path: str, text: str, before: Topic | None) -> bytes:
    """Return the file for this text, with what memorist had stored under its own key before."""
    topic = parse(path, encode(text))
    own = before.document.front.mapping(OWN_KEY) if before is not None and before.document.front is not None else {}
    return encode((with_header(topic, {OWN_KEY: own}) if own else topic).text())


def lines_of(text: str) -> list[str]:
    """Split a text into lines, without the empty one after the last newline."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def numbered(lines: Sequence[str], first: int = 1) -> str:
    """Render lines with their numbers."""
    return "\n".join(f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def viewed(text: str, view: object) -> str:
    """Render the lines of a range `[first, last]`, or all; a last of -1 is the end.

    Raises InputError for an invalid range.
    """
    lines = lines_of(text)
    first, last = _range(view, len(lines))
    shown = numbered(lines[first - 1 : last], first)
    if len(shown) <= VIEWED:
        return shown
    cut = shown[:VIEWED].rpartition("\n")[0] or shown[:VIEWED]
    return f"{cut}\n({len(lines):,} lines in all; view the rest with view_range)"


def _range(view: object, count: int) -> tuple[int, int]:
    if view is None:
        return 1, count
    if not isinstance(view, list | tuple) or len(view) != 2 or not all(type(each) is int for each in view):
        raise InputError("view_range is a pair of line numbers, such as [1, 20]")
    first, last = max(1, view[0]), count if view[1] == -1 else view[1]
    if first > max(1, count) or last < first:
        raise InputError(f"view_range {list(view)} lies outside the file, which has {count} lines")
    return first, min(last, count)


def replaced(text: str, old: object, new: object) -> tuple[str, int]:
    """Replace the single occurrence of `old`; return the text and the line number of the change.

    Raises InputError unless it occurs exactly once.
    """
    if not isinstance(old, str) or not old or not isinstance(new, str):
        raise InputError("old_str is the text to replace and new_str the one to put there")
    count = text.count(old)
    if count != 1:
        where = "nowhere" if not count else f"{count} times (lines {', '.join(map(str, _lines_with(text, old)))})"
        raise InputError(f"nothing was replaced: old_str stands in the file {where}, and has to stand there once")
    start = text.index(old)
    return text[:start] + new + text[start + len(old) :], text[:start].count("\n") + 1


def _lines_with(text: str, old: str) -> list[int]:
    found: list[int] = []
    start = text.find(old)
    while start >= 0 and len(found) < 20:
        found.append(text[:start].count("\n") + 1)
        start = text.find(old, start + 1)
    return found


def inserted(text: str, line: object, new: object) -> str:
    """Insert `new` after that many lines. Raises InputError for a position outside the text."""
    lines = lines_of(text)
    if type(line) is not int or not 0 <= line <= len(lines):
        raise InputError(f"insert_line is a number from 0 to {len(lines)}")
    if not isinstance(new, str):
        raise InputError("insert_text is the text to insert")
    lines.insert(line, new.removesuffix("\n"))
    return "\n".join(lines) + "\n"


def around(text: str, line: int) -> str:
    """Render the lines around a changed one."""
    lines = lines_of(text)
    first = max(1, line - AROUND)
    return numbered(lines[first - 1 : line + AROUND], first)


def listing(folder: str, files: Iterable[tuple[str, int]]) -> str:
    """Render a folder's content, `LEVELS` deep: size, tab and path in each line; folders end with a
    slash and have the size of all they hold.

    `files` are paths below the root with sizes in bytes. Raises InputError for a folder that does
    not exist.
    """
    start = f"{folder}/" if folder else ""
    held = [(path.removeprefix(start), size) for path, size in files if path.startswith(start)]
    if folder and not held:
        raise InputError(f"there is no {ROOT}/{folder}")
    sizes: dict[str, int] = {}
    for path, size in held:
        parts = path.split("/")
        for depth in range(1, min(len(parts), LEVELS + 1)):
            place = "/".join(parts[:depth]) + "/"
            sizes[place] = sizes.get(place, 0) + size
        if len(parts) <= LEVELS:
            sizes[path] = size
    top = ROOT if not folder else f"{ROOT}/{folder}"
    rows = [(sum(size for _, size in held), top), *((size, f"{top}/{path}") for path, size in sorted(sizes.items()))]
    return "\n".join(f"{sized(size)}\t{path}" for size, path in rows)


def sized(size: int) -> str:
    """Format a number of bytes as the tool does: `312B`, `1.5K`, `2M`."""
    value, unit = float(size), "B"
    for larger in ("K", "M", "G"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f}{unit}" if value == int(value) else f"{value:.1f}{unit}"


def is_made(path: str) -> bool:
    """Whether memorist generates a file, so that it cannot be written."""
    return path.rsplit("/", 1)[-1].casefold() == INDEX_NAME.casefold()

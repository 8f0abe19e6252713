"""The index `MEMORY.md`: one line per memory, built from the files and cut to its limits by value
and recency (AM-3).

Pure. Lines that point to a file (`- [Title](file.md) — hook`) are derived: lines of deleted files
are dropped, new files get a line, and a title or hook that another writer chose for a file is kept.
All other lines (headings, the user's remarks) stay at the top.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.memory_file import (
    MEMORIST_KEY,
    USER_KINDS,
    MemoryKind,
    Provenance,
    Topic,
    Trust,
    parse_topic,
    with_provenance,
)
from memorist.auto_memory.statements.statement_similarity import (
    SIMILAR_SHARE,
    count_negations,
    extract_content_words,
    is_same_rule,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import encode_text, replace_surrogates
from memorist.forks.fork_permissions import has_invisible_characters
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.prompt_injection import (
    find_injection_rules,
    grants_permission,
    is_planted_order,
)

# The manifest: the header of each memory file, newest first (AM-6). Pure.


INDEX_NAME = "MEMORY.md"
"""The index of a folder; not a memory itself."""
HEAD_BYTES = 16_384
"""Bytes of a file read for its header: 30 lines (claude-code.md section 7.6) of up to 500
characters.
"""
MAX_FILE_BYTES = 1_000_000
"""Bytes of the largest file that is recorded and searched; a memory has a few hundred. Larger files
are listed and reported.
"""
DAY_SECONDS = 86_400.0
_BREAKING_CATEGORIES = ("Cc", "Cs", "Zl", "Zp")
"""Unicode categories of characters that end a line, control a terminal, or stand for invalid UTF-8.
"""


class MemoryHeader(Struct, frozen=True, kw_only=True):
    """One file of the manifest."""

    path: str
    """Relative to the memory folder, with slashes."""
    name: str
    description: str
    saying: str = ""
    """What it says in one line, where that is another than its description."""
    kind: MemoryKind | None
    modified: float
    """Seconds since the epoch, UTC."""
    size: int
    """Bytes."""
    trust: Trust = Trust.UNKNOWN
    status: str = "active"
    pinned: bool = False
    doubts: tuple[str, ...] = ()
    """Why a model is not shown it, unless the user accepted it; judged on the whole file."""
    seal: str = ""
    """Content seal, see `compute_content_seal`; empty without doubts."""
    problem: str = ""
    """Why its header could not be read; empty when it could."""

    def age_days(self, now: float) -> int:
        """Return the whole days since the last change; a time in the future counts as today."""
        return max(0, int((now - self.modified) // DAY_SECONDS))


def read_memory_header(
    path: str, start: bytes, *, lines: int, modified: float, size: int
) -> MemoryHeader:
    """Read the header from a file's first bytes.

    `modified` is in seconds since the epoch, `size` the whole file's bytes.
    """
    first = b"".join(start.splitlines(keepends=True)[:lines])
    topic = parse_topic(
        path, first if b"\n---" in first[3:] or not first.startswith(b"---") else start
    )
    return build_memory_header(topic, modified=modified, size=size)


def build_memory_header(topic: Topic, *, modified: float, size: int) -> MemoryHeader:
    """Build the header of a parsed memory."""
    provenance = topic.provenance
    description = _printable_line(topic.description)
    saying = _printable_line(topic.saying)
    return MemoryHeader(
        path=topic.path,
        name=_printable_line(topic.name),
        description=description,
        saying="" if saying == description else saying,
        kind=topic.kind,
        modified=modified,
        size=size,
        trust=provenance.trust,
        status=provenance.status,
        pinned=topic.pinned,
        problem=topic.header_problem,
    )


def _printable_line(text: str) -> str:
    """Put text on one encodable line; invalid UTF-8 becomes question marks."""
    return " ".join(replace_surrogates(text).split())[:500]


def is_index_file(path: str) -> bool:
    """Whether a file is an index, generated from the files beside it."""
    return path.rsplit("/", 1)[-1] == INDEX_NAME


def is_memory_file(path: str) -> bool:
    """Whether a file of the folder is a memory: Markdown, not an index, not in a hidden folder."""
    parts = path.split("/")
    return (
        parts[-1].endswith(".md")
        and parts[-1] != INDEX_NAME
        and not any(part.startswith(".") for part in parts)
    )


def has_unreadable_name(path: str) -> bool:
    """Whether a name contains a line break or an invisible character.

    In a list such a name could pass for another one, or for several lines.
    """
    return has_invisible_characters(path)


def is_single_line(path: str) -> bool:
    """Whether a name can be in a line of text (index, prompt, JSON).

    A file with any other name is reported by `memory check` and not read.
    """
    return (path.isascii() and path.isprintable()) or not any(
        unicodedata.category(letter) in _BREAKING_CATEGORIES for letter in path
    )


def describe_excess_size(size: int) -> str:
    """Describe an excessive size as the end of a sentence; empty for an acceptable one."""
    return (
        f"{size:,} bytes, more than a memory may have ({MAX_FILE_BYTES:,})"
        if size > MAX_FILE_BYTES
        else ""
    )


def sort_newest_first(
    headers: Iterable[MemoryHeader], limit: int | None = None
) -> list[MemoryHeader]:
    """Sort headers newest first, ties by path."""
    return sorted(headers, key=lambda head: (-head.modified, head.path))[:limit]


def render_manifest_line(header: MemoryHeader) -> str:
    """Render `- [type] path (time): description`, omitting missing parts."""
    kind = f"[{header.kind}] " if header.kind else ""
    when = dt.datetime.fromtimestamp(
        max(0.0, min(header.modified, 253_402_300_799.0)), dt.UTC
    ).strftime("%Y-%m-%dT%H:%M:%SZ")
    said = f": {header.description}" if header.description else ""
    return neutralize_markup(strip_hidden_characters(f"- {kind}{header.path} ({when}){said}"))


def render_manifest(headers: Sequence[MemoryHeader], *, limit: int) -> str:
    """Render the manifest for a prompt: one line per file, newest first, and the number of omitted
    files.
    """
    shown = sort_newest_first((head for head in headers if head.status == "active"), limit)
    more = len(headers) - len(shown)
    lines = [render_manifest_line(head) for head in shown]
    if more > 0:
        lines.append(f"({more} more, older or superseded, are not listed)")
    return "\n".join(lines)


_POINTER = lazy_pattern(
    r"\s*[-*]\s+\[(?P<title>[^\]]*)\]\((?P<path><[^<>]+\.md>|.+?\.md|[^)\s]+)\)\s*(?:(?:—|–|-|"
    r":)\s*(?P<hook>.*))?$"
)
_BRACKETED = lazy_pattern(r"[\s()]")
_REMARK_PREFIX = "<!-- memorist:"
_HALF_LIFE_DAYS = 30.0
"""Recency halves in this time, so that a memory used last month still outranks one never used."""
_MIN_HOOK_CHARS = 70
"""Characters that a hook gets at least, however long title and path are: memories are selected by
it.
"""


class MemoryUsage(Struct, frozen=True):
    """How often a memory was shown, cited or read, and when last (seconds since the epoch; 0 for
    never).
    """

    count: int = 0
    last: float = 0.0


class IndexLimits(Struct, frozen=True, kw_only=True):
    """The index's limits. Source of the defaults: claude-code.md section 7.4."""

    max_lines: int = 200
    max_bytes: int = 25_000
    """Bytes."""
    pointer_chars: int = 150
    """Approximate characters of one pointer line."""


class MemoryIndex(Struct, frozen=True, kw_only=True):
    """A built index with its report."""

    text: str
    lines: int
    size: int
    listed: tuple[str, ...]
    """Paths of the memories it names, in its order."""
    left_out: tuple[str, ...]
    """Paths of the memories that did not fit, most valuable first."""
    exceeded_limit: str = ""
    """The limit that was reached, `lines` or `bytes`; empty when none was."""


def rate_memory(header: MemoryHeader, usage: MemoryUsage, now: float) -> float:
    """Rate how much a memory deserves a line: pinned first, then user facts, usage, and recency."""
    latest = max(header.modified, usage.last)
    recency = math.exp2((latest - now) / DAY_SECONDS / _HALF_LIFE_DAYS) if latest < now else 1.0
    person = 1.0 if header.kind in USER_KINDS else 0.0
    trusted = 0.5 if header.trust in (Trust.STATED, Trust.REVIEWED) else 0.0
    used = min(3.0, math.sqrt(usage.count))
    return (100.0 if header.pinned else 0.0) + person + trusted + used * 0.5 + 3.0 * recency


def build_index(
    headers: Sequence[MemoryHeader],
    present_text: str,
    *,
    usage: Mapping[str, MemoryUsage],
    now: float,
    limits: IndexLimits,
) -> MemoryIndex:
    """Build the index from the files; `present_text` is the index on disk.

    Superseded memories get no line.
    """
    kept, own = _split_index(present_text)
    unused = MemoryUsage()
    rated = [
        (-rate_memory(head, usage.get(head.path, unused), now), head.path, head)
        for head in headers
        if head.status == "active"
    ]
    rated.sort(key=itemgetter(0, 1))
    ranked = [head for _, _, head in rated]
    top = _fit_own_lines(kept, limits)
    chosen = _choose_pointers(
        ranked,
        lambda head: _pointer_line(head, own.get(head.path), limits.pointer_chars),
        top,
        limits,
        cut=len(top) < len(kept),
    )
    left_out = [head.path for head in ranked if head.path not in chosen]
    lines = [*top, *chosen.values()]
    full = len(lines) + 1 >= limits.max_lines
    over = "" if not left_out and len(top) == len(kept) else "lines" if full else "bytes"
    if over:
        lines.append(_overflow_remark(len(left_out), len(kept) - len(top), over))
    text = "\n".join(lines) + "\n" if lines else ""
    return MemoryIndex(
        text=text,
        lines=len(lines),
        size=len(text.encode("utf-8", "replace")),
        listed=tuple(head.path for head in ranked if head.path in chosen),
        left_out=tuple(left_out),
        exceeded_limit=over,
    )


def _split_index(present: str) -> tuple[list[str], dict[str, str]]:
    """Split an index into other lines (kept verbatim) and pointer lines by path."""
    kept: list[str] = []
    own: dict[str, str] = {}
    for line in present.splitlines():
        match = _POINTER.match(line)
        if match and (path := match["path"].strip("<>")).endswith(".md"):
            own.setdefault(path.removeprefix("./"), line.strip())
        elif not line.startswith(_REMARK_PREFIX):
            kept.append(line.rstrip())
    while kept and not kept[-1]:
        kept.pop()
    while kept and not kept[0]:
        kept.pop(0)
    return kept, own


def _fit_own_lines(kept: list[str], limits: IndexLimits) -> list[str]:
    """Return the user's own lines, limited to half of the index so that memories have room."""
    found, size = [], 0
    for line in kept[: limits.max_lines // 2]:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > limits.max_bytes // 2:
            break
        found.append(line)
    return found


def _pointer_line(head: MemoryHeader, present: str | None, width: int) -> str:
    match = _POINTER.match(present) if present else None
    ours = render_pointer(head.name, head.path, head.description, width)
    if match is None or present is None:
        return ours
    # A foreign title and hook are kept unless the line is excessively long.
    return (
        present
        if len(present) <= 2 * width
        else render_pointer(match["title"], head.path, match["hook"] or "", width)
    )


def render_pointer(title: str, path: str, hook: str, width: int) -> str:
    """Render the line of an index that points to a file, of about `width` characters."""
    title = _cut_line(title.translate({ord("["): "(", ord("]"): ")"}), width // 3)
    room = max(_MIN_HOOK_CHARS, width - len(title) - len(path) - 8)
    hook = _cut_line(hook, room)
    # Markdown requires angle brackets around a path with spaces or brackets.
    return f"- [{title}]({f'<{path}>' if _BRACKETED.search(path) else path})" + (
        f" — {hook}" if hook and hook != title else ""
    )


def _cut_line(text: str, room: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= room else text[: max(1, room - 1)].rstrip() + "…"


MAX_MISSES = 50
"""Lines in a row that do not fit, after which no further one is tried. Our choice: of ten thousand
memories nearly all are beyond the limit.
"""


def _choose_pointers(
    ranked: Sequence[MemoryHeader],
    render: Callable[[MemoryHeader], str],
    top: list[str],
    limits: IndexLimits,
    *,
    cut: bool,
) -> dict[str, str]:
    """Choose the lines that fit beside the own lines, in order of value, by path.

    A line that is too long leaves its room to the next. With `cut`, room for a closing remark is
    reserved.
    """
    size = sum(_line_bytes(line) for line in top)
    whole = (
        not cut
        and len(top) + len(ranked) <= limits.max_lines
        and size + sum(_line_bytes(render(head)) for head in ranked) <= limits.max_bytes
    )
    rows = limits.max_lines - len(top) - (0 if whole else 1)
    room = (
        limits.max_bytes
        - size
        - (0 if whole else _line_bytes(_overflow_remark(99_999, 99_999, "lines")))
    )
    chosen: dict[str, str] = {}
    misses = 0
    for head in ranked:
        if len(chosen) >= rows or misses >= MAX_MISSES:
            break
        line = render(head)
        fits = _line_bytes(line) <= room
        misses = 0 if fits else misses + 1
        if fits:
            chosen[head.path] = line
            room -= _line_bytes(line)
    return chosen


def _line_bytes(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1


def _overflow_remark(memories: int, lines: int, over: str) -> str:
    own = f" and {lines} lines of yours" if lines > 0 else ""
    return (
        f"{_REMARK_PREFIX} {memories} memories{own} do not fit here (limit of {over}); "
        f"`memorist memory list` shows all -->"
    )


def parse_pointer_target(line: str) -> str:
    """Return the file that an index line points to; empty for any other line."""
    match = _POINTER.match(line)
    return match["path"].removeprefix("./") if match else ""


def list_pointer_targets(text: str) -> tuple[str, ...]:
    """List the files that an index points to, in its order, each once."""
    return tuple(_split_index(text)[1])


# Team memory: the folder `team/`, the sharing scope of each kind, and contradictions with the
# team (TM-1).


TEAM_PREFIX = "team/"
"""Where a team's memories are, below the memory folder (claude-code.md section 10.1)."""
TEAM_INDEX_PATH = TEAM_PREFIX + INDEX_NAME
TEAM_INDEX_HEADING = "Shared by the team:"

SharingScope = Literal["private", "either", "team"]
"""Who reads a memory of a kind by default: the user alone; the user, unless it is a project
convention; everybody.
"""
SHARING_SCOPES: dict[MemoryKind, SharingScope] = {
    MemoryKind.USER: "private",
    MemoryKind.FEEDBACK: "either",
    MemoryKind.PROJECT: "team",
    MemoryKind.REFERENCE: "team",
}
"""Source: claude-code.md section 10.1."""
_SENTENCE_BREAK = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_MARKDOWN_MARKS = re.compile(r"^(?:[>#*+-]+\s+|\*\*)+")
_MAX_SENTENCES = 20
"""Sentences of one memory that are compared: a memory is one fact."""
OPPOSITE_SHARE = 0.75
"""Share of common words above which a `not` in one of two sentences makes them opposites rather
than one a refinement of the other.
"""


class TeamMemory(Struct, frozen=True):
    """One memory of the team: its path and its text below the header."""

    path: str
    text: str


def is_shared(path: str) -> bool:
    """Whether a path of the memory folder is the team's."""
    return path.startswith(TEAM_PREFIX)


def get_sharing_scope(kind: MemoryKind | None) -> SharingScope:
    """Return the scope of a kind; a memory without one is private."""
    return "private" if kind is None else SHARING_SCOPES[kind]


def find_kind_sharing_problem(kind: MemoryKind | None) -> str:
    """Explain why a memory of this kind is never shared; empty where it may be."""
    return "a memory about a person stays private" if kind is MemoryKind.USER else ""


def find_contradiction(text: str, team: Iterable[TeamMemory]) -> str:
    """Return the path of the first team memory that a private text contradicts; empty for none.

    Judged by words alone. Two sentences contradict when they share at least half of their words and
    each has a word of its own, or when they are nearly equal and only one is negated. A sentence
    that only adds to another does not contradict it.
    """
    mine = _split_sentences(text)
    return next(
        (
            each.path
            for each in team
            if any(
                _contradicts(one, other) for one in mine for other in _split_sentences(each.text)
            )
        ),
        "",
    )


def _split_sentences(text: str) -> list[str]:
    found = (_MARKDOWN_MARKS.sub("", part.strip()) for part in _SENTENCE_BREAK.split(text))
    return [part for part in found if part][:_MAX_SENTENCES]


def _contradicts(one: str, other: str) -> bool:
    if is_same_rule(one, other):
        return False
    mine, theirs = extract_content_words(one), extract_content_words(other)
    share = len(mine & theirs) / max(1, len(mine | theirs))
    if mine <= theirs or theirs <= mine:
        return share >= OPPOSITE_SHARE and count_negations(one) != count_negations(other)
    return share >= SIMILAR_SHARE


def select_headers(headers: Iterable[MemoryHeader], prefix: str) -> list[MemoryHeader]:
    """Select the headers that an index lists, with paths relative to it.

    `prefix` is `team/` for the team's index, else empty.
    """
    if not prefix:
        return [head for head in headers if not head.path.startswith(TEAM_PREFIX)]
    return [
        replace(head, path=head.path.removeprefix(prefix))
        for head in headers
        if head.path.startswith(TEAM_PREFIX)
    ]


def merge_indexes(private: MemoryIndex, team: MemoryIndex) -> MemoryIndex:
    """Merge both indexes as a model sees them: the team's after the user's, paths from the memory
    folder.
    """
    lines = [add_path_prefix(line, TEAM_PREFIX) for line in team.text.splitlines()]
    if not lines:
        return private
    text = (
        "\n".join(filter(None, (private.text.rstrip("\n"), "", TEAM_INDEX_HEADING, *lines))) + "\n"
    )
    listed = (*private.listed, *(TEAM_PREFIX + path for path in team.listed))
    return replace(private, text=text, listed=listed)


def add_path_prefix(line: str, prefix: str) -> str:
    """The line of an index with `prefix` before the path that it points to."""
    path = parse_pointer_target(line)
    return (
        line.replace(f"]({path})", f"]({prefix}{path})", 1).replace(
            f"](<{path}>)", f"](<{prefix}{path}>)", 1
        )
        if path
        else line
    )


# What a model may see: memories judged by all that is shown of them, the index without lines
# that read like orders (SF-2).


USER_TRUST = (Trust.STATED, Trust.REVIEWED)
_KNOWN_HEADER_KEYS = ("name", "description", "type", "pinned", MEMORIST_KEY)
_YAML_COMMENT = re.compile(r"(?:^|[ \t])#(.*)$", re.MULTILINE)
SEAM_CHARS = 400
"""Characters on both sides of the seam between two memories that are checked together."""


def compute_content_seal(topic: Topic) -> str:
    """Hash all that a memory says, header included and memorist's own marks excluded.

    A memory the user accepted is recognised by it.
    """
    text = with_provenance(topic, Provenance()).text()
    return hashlib.sha256(
        " ".join(encode_text(text).decode("utf-8", "replace").split()).encode("utf-8", "replace")
    ).hexdigest()[:32]


def render_for_reader(topic: Topic) -> str:
    """Render everything that a reader of the memory sees: name, description, text, other header
    values and comments.
    """
    front = topic.document.front
    if front is None:
        return f"{topic.name}\n{topic.description}\n{topic.body}"
    extra_values = {
        key: value for key, value in front.values.items() if key not in _KNOWN_HEADER_KEYS
    }
    extra_values |= {
        MEMORIST_KEY: {
            key: value
            for key, value in front.mapping_value(MEMORIST_KEY).items()
            if key not in Provenance.__struct_fields__
        }
    }
    remarks = [remark for entry in front.entries for remark in _YAML_COMMENT.findall(entry.raw)]
    return "\n".join(
        [
            topic.name,
            topic.description,
            topic.body,
            *(text for text in _header_texts(extra_values) if text != MEMORIST_KEY),
            *remarks,
        ]
    )


def find_planted_orders(topic: Topic) -> tuple[str, ...]:
    """Find signs of a planted order in the file, its parsed header values, and its name."""
    rules = find_injection_rules(topic.text()) | find_injection_rules(_words_of_path(topic.path))
    for value in _header_texts(topic.document.front.values if topic.document.front else {}):
        rules |= find_injection_rules(value)
    return tuple(f"it reads like an order planted for an agent ({rule})" for rule in sorted(rules))


def _words_of_path(path: str) -> str:
    return path.removesuffix(".md").replace("/", " ").replace("-", " ").replace("_", " ")


def _header_texts(value: object) -> Iterator[str]:
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


def find_unbacked_grant(topic: Topic, trust: Trust) -> tuple[str, ...]:
    """Report a permission granted in a user's name that no quoted words of the user give."""
    if not grants_permission(render_for_reader(topic)) or (
        trust in USER_TRUST and grants_permission(topic.provenance.quote)
    ):
        return ()
    return ("it grants a permission in the user's name, and no quoted words of the user give it",)


def find_suspicions(topic: Topic, trust: Trust | None = None) -> tuple[str, ...]:
    """Find out why a memory on disk is not shown to a model; empty when it may be.

    `trust` overrides the file's own claim where that is not to be believed.
    """
    return (
        *find_planted_orders(topic),
        *find_unbacked_grant(topic, topic.provenance.trust if trust is None else trust),
    )


def is_order_when_joined(first: str, second: str) -> bool:
    """Whether two harmless texts form an order where they meet, in either order."""
    seams = (
        f"{first[-SEAM_CHARS:]}\n{second[:SEAM_CHARS]}",
        f"{second[-SEAM_CHARS:]}\n{first[:SEAM_CHARS]}",
    )
    joined = frozenset[str]().union(*map(find_injection_rules, seams))
    return bool(joined and joined - find_injection_rules(first) - find_injection_rules(second))


def filter_visible_index(index: MemoryIndex, visible_paths: Collection[str]) -> MemoryIndex:
    """Filter the index: only lines of the visible memories, and no lines that read like orders,
    alone or together.
    """
    lines = _drop_suspicious_lines(
        tuple(
            line
            for line in index.text.splitlines()
            if not (target := parse_pointer_target(line)) or target in visible_paths
        )
    )
    text = "\n".join(lines) + "\n" if lines else ""
    listed = tuple(path for path in index.listed if path in visible_paths)
    return replace(
        index, text=text, lines=len(lines), size=len(text.encode("utf-8", "replace")), listed=listed
    )


@lru_cache(maxsize=8)
def _drop_suspicious_lines(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Drop lines that form an order alone or with the three lines before them.

    Where the user's own lines form one only together, all of them are dropped.
    """
    own = "\n".join(line for line in lines if not parse_pointer_target(line))
    if not (
        is_planted_order("\n".join(lines))
        or is_planted_order(own)
        or any(map(grants_permission, lines))
    ):
        return lines
    own = "\n".join(
        line for line in lines if not parse_pointer_target(line) and not is_planted_order(line)
    )
    without_own = is_planted_order(own)
    kept: list[str] = []
    for line in lines:
        if (
            is_planted_order(line)
            or (without_own and not parse_pointer_target(line))
            or is_planted_order("\n".join([*kept[-3:], line]))
        ):
            continue
        kept.append(line)
    return tuple(kept)

"""First pass over a Claude Code session file: a compact index of its tree, without the content
(claude-code.md sections 12.2 to 12.7).

About a hundred bytes per record: flat arrays, and one dictionary from the hash of a uuid to the
record's number.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import msgspec

from memorist.formats.claude_code_records import NO_RAW, Kind, Link, Record, Segment, Session, System, Titles
from memorist.formats.jsonl import FAILURES, mended, seconds
from memorist.formats.recorded import Head, Line

USER, ASSISTANT, BRIDGED, SIDE, META, BOUNDARY, RESULT, OTHER = (1 << bit for bit in range(8))
"""Flags of a record. BRIDGED records (progress, snipped ones) only connect others; OTHER ones are
attachments and system records.
"""

ROOT, MISSING = -1, -2
"""Parents that are no record: none named, or one that is not in the file."""

BLANK, PROBLEM = 0, 1
"""Codes of lines that are no records; further codes are those of `SessionTreeIndex.kinds`."""

_KINDS = ("", " ", "user", "assistant", "attachment", "system", "progress", "custom-title", "ai-title", "summary")
"""The kinds by their code. The first two entries stand for blank lines and problems."""
_FLAGS = (0, 0, USER, ASSISTANT, OTHER, OTHER, BRIDGED)
_SYSTEM, _LAST_CHAIN, _LAST_TITLE = 5, 6, 9
_MOST_KINDS = 250
_CONTENT_START = 4096
"""Bytes of a user record that are searched for a tool result when the record has no structured copy
of it.
"""

KEPT_BYTES = 16 * 1024 * 1024
"""Bytes of lines whose content is cached by the first pass, so that files up to about this size are
decoded once.
"""

_link = msgspec.json.Decoder(Link).decode
_record = msgspec.json.Decoder(Record).decode
_kind = msgspec.json.Decoder(Kind).decode
_system = msgspec.json.Decoder(System).decode
_titles = msgspec.json.Decoder(Titles).decode
_session = msgspec.json.Decoder(Session).decode


class Index:
    """The tree of one file. Records are numbered from 0 in file order."""

    def __init__(self) -> None:
        self.codes = bytearray(1)
        """A code for each line, from line 1."""
        self.kinds: dict[str, int] = {kind: code for code, kind in enumerate(_KINDS)}
        """The code of each kind of record."""
        self.at = array("I")
        """The line of each record."""
        self.parent = array("i")
        self.flags = array("B")
        self.reply = array("q")
        """A hash of the reply's id; 0 when there is none."""
        self.found: dict[int, int] = {}
        self.waiting: dict[int, int] = {}
        """Hashes of parents that had not been read when the child was."""
        self.logical: dict[int, int] = {}
        """Hash of the record before a boundary."""
        self.segments: list[tuple[int, Segment]] = []
        self.kept: dict[int, Record] = {}
        """The content of the first records."""
        self.room = KEPT_BYTES
        self.snipped: set[int] = set()
        self.shuffled = False
        """Whether some parent comes after its child."""
        self.times = array("d")
        """The time of each record, in a file out of order; 0 when it is not recorded."""
        self.titles = Titles()
        self.first: Session | None = None
        self.last: Session | None = None
        self.model = ""

    @property
    def records(self) -> int:
        """Number of records in the tree."""
        return len(self.at)

    def number(self, uuid: str) -> int:
        """The number of the record with a uuid, or MISSING."""
        return self.found.get(hash(uuid), MISSING)

    def head(self) -> Head:
        """The session as a whole, from its first and last records; the newest title of the
        strongest kind.
        """
        first, last, titles = self.first or Session(), self.last or Session(), self.titles
        return Head(
            session=last.session_id or first.session_id or "",
            format="claude_code",
            cwd=first.cwd or "",
            model=self.model,
            version=last.version or "",
            branch="" if last.git_branch in (None, "HEAD") else last.git_branch,
            title=titles.custom_title or titles.ai_title or titles.summary or "",
            started=seconds(first.timestamp),
        )


def _add_times(index: Index, lines: Iterable[Line]) -> None:
    """One more pass, for the times that a file out of order needs."""
    wanted = iter(index.at)
    due = next(wanted, 0)
    for number, data, _ in lines:
        if number == due:
            session = _session_of(data)
            index.times.append((seconds(session.timestamp) if session else None) or 0.0)
            due = next(wanted, 0)
    index.times.extend([0.0] * (index.records - len(index.times)))


class _Edge:
    """Records that describe the session: the first and last of the main line, and the first of a
    side chain.
    """

    first = last = side = b""


def build(lines: Iterable[Line]) -> Index:
    """Read every line once and index it."""
    index = Index()
    add_code, kinds, found = index.codes.append, index.kinds, index.found
    edge = _Edge()
    for _, line, problem in lines:
        data = line
        link: Link | Record | None = None
        if problem or not line or line.isspace():
            add_code(PROBLEM if problem else BLANK)
            continue
        try:
            link = _record(data) if len(data) < index.room else _link(data)
        except FAILURES:
            data, link = _second_look(data)
        if link is None:
            add_code(PROBLEM)
            continue
        code = kinds.get(link.type or "unknown", 0)
        if code <= PROBLEM:
            code = _new_kind(index, link.type or "unknown")
        add_code(code)
        if code <= _LAST_CHAIN:
            if link.uuid and hash(link.uuid) not in found:
                _add(index, link, data, edge)
        elif code <= _LAST_TITLE:
            _keep_title(index.titles, data)
    _finish(index, edge)
    if index.shuffled:
        _add_times(index, lines)
    return index


def _second_look(data: bytes) -> tuple[bytes, Link | None]:
    """The line after repair, if that makes it a record; of a record whose fields have other types
    only the kind is kept.
    """
    sound = data
    try:
        kind = _kind(data)
    except FAILURES:
        repaired = mended(data)
        if repaired is None:
            return data, None
        sound = repaired
    try:
        return sound, _link(sound)
    except FAILURES:
        pass
    try:
        kind = _kind(sound)
    except FAILURES:
        return sound, None
    return sound, None if kind.type in _KINDS[: _LAST_CHAIN + 1] else Link(type=kind.type)


def _new_kind(index: Index, kind: str) -> int:
    """A code for a kind seen for the first time; kinds beyond the maximum share one."""
    return index.kinds.setdefault(kind if len(index.kinds) < _MOST_KINDS and kind.strip() else "unknown", len(index.kinds))


def _keep_title(kept: Titles, data: bytes) -> None:
    try:
        named = _titles(data)
    except FAILURES:
        return
    kept.custom_title = kept.custom_title if named.custom_title is None else named.custom_title
    kept.ai_title = named.ai_title or kept.ai_title
    kept.summary = named.summary or kept.summary


def _add(index: Index, link: Link | Record, data: bytes, edge: _Edge) -> None:
    """Add a record to the tree."""
    number = len(index.at)
    code = index.codes[-1]
    flags = _FLAGS[code]
    if link.is_sidechain or link.team_name:
        flags |= SIDE
        edge.side = edge.side or data
    elif flags & (USER | ASSISTANT):
        edge.first = edge.first or data
        edge.last = data
    if link.is_meta:
        flags |= META
    if flags & USER:
        if link.tool_use_result is not NO_RAW or b"tool_result" in data[:_CONTENT_START]:
            flags |= RESULT
    elif code == _SYSTEM:
        flags |= _note_system(index, number, data)
    if flags & (USER | ASSISTANT) and isinstance(link, Record):
        index.kept[number] = link
        index.room -= len(data)
    index.found[hash(link.uuid)] = number
    index.at.append(len(index.codes) - 1)
    index.flags.append(flags)
    index.reply.append(_note_reply(index, link) if flags & ASSISTANT else 0)
    parent = ROOT
    if link.parent_uuid is not None:
        parent = index.found.get(hash(link.parent_uuid), MISSING)
        if parent == MISSING:
            index.waiting[number] = hash(link.parent_uuid)
    index.parent.append(parent)


def _note_reply(index: Index, link: Link | Record) -> int:
    """The hash of the reply's id; also records the newest real model (`<synthetic>` marks what the
    client wrote itself).
    """
    if link.message is None:
        return 0
    if link.message.model and not link.message.model.startswith("<"):
        index.model = link.message.model
    return hash(link.message.id) if link.message.id else 0


def _note_system(index: Index, number: int, data: bytes) -> int:
    """Record what a compaction or a snip says about the tree."""
    try:
        record = _system(data)
    except FAILURES:
        return 0
    if record.snip_metadata:
        index.snipped.update(map(hash, record.snip_metadata.removed_uuids))
    if record.subtype != "compact_boundary":
        return 0
    if record.logical_parent_uuid:
        index.logical[number] = hash(record.logical_parent_uuid)
    if record.compact_metadata and record.compact_metadata.preserved_segment:
        index.segments.append((number, record.compact_metadata.preserved_segment))
    return BOUNDARY


def _finish(index: Index, edge: _Edge) -> None:
    """Resolve parents that were read after their children, and bridge progress and snipped records:
    their children are attached to the nearest other ancestor.
    """
    # Parents first: bridging walks the parent links and must see them resolved.
    for child, parent in index.waiting.items():
        index.parent[child] = index.found.get(parent, MISSING)
        index.shuffled = index.shuffled or index.parent[child] >= 0
    index.waiting.clear()
    parents, flags = index.parent, index.flags
    for removed in index.snipped:
        if removed in index.found:
            flags[index.found[removed]] |= BRIDGED
    for number, parent in enumerate(parents):
        if parent >= 0 and flags[parent] & BRIDGED:
            parents[number] = _bridge(index, number)
    index.first, index.last = _session_of(edge.first or edge.side), _session_of(edge.last or edge.side)


def _bridge(index: Index, number: int) -> int:
    """The nearest ancestor that is not bridged; ROOT for a cycle. The whole path is shortened, so
    that no run is walked twice.
    """
    parents, flags = index.parent, index.flags
    path = []
    parent = parents[number]
    while parent >= 0 and flags[parent] & BRIDGED:
        path.append(parent)
        parent = parents[parent]
        if len(path) > len(parents):
            parent = ROOT
    for passed in path:
        parents[passed] = parent
    return parent


def _session_of(data: bytes) -> Session | None:
    try:
        return _session(data) if data else None
    except FAILURES:
        return None

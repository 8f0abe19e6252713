"""Finding the live conversation in a Claude Code session file, and its order.

A file is a tree: rewinds leave dead branches, parallel tool calls fork it, a compaction starts a
new root. The live conversation is the path from the newest leaf to the first root, continued across
compactions through the records before them, with the results of parallel calls put back in.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import pairwise

from msgspec import Struct

from memorist.core.json_decoding import build_json_decoder
from memorist.formats.claude_code_records import (
    NO_RAW,
    KindOnlyRecord,
    PreservedSegment,
    SessionFields,
    SessionTitles,
    SystemRecord,
    TreeFields,
)
from memorist.formats.transcript_format import (
    FAILURES,
    RawTranscriptLine,
    SessionHead,
    parse_iso_timestamp,
    repair_transcript_line,
)

# First pass over a Claude Code session file: a compact index of its tree, without the content.

USER, ASSISTANT, BRIDGED, SIDE, META, BOUNDARY, RESULT, OTHER = (1 << bit for bit in range(8))
"""Flags of a record. BRIDGED records (progress, snipped ones) only connect others; OTHER ones are
attachments and system records.
"""

ROOT, MISSING = -1, -2
"""Parents that are no record: none named, or one that is not in the file."""

BLANK, PROBLEM = 0, 1
"""Codes of lines that are no records; further codes are those of `SessionTreeIndex.kinds`."""

_KNOWN_KINDS = (
    "", " ", "user", "assistant", "attachment", "system", "progress", "custom-title", "ai-title",
    "summary",
)  # fmt: skip
"""The kinds by their code. The first two entries stand for blank lines and problems."""
_KIND_FLAGS = (0, 0, USER, ASSISTANT, OTHER, OTHER, BRIDGED)
_SYSTEM, _LAST_CHAIN, _LAST_TITLE = 5, 6, 9
_MAX_KINDS = 250
_RESULT_SCAN_LENGTH = 4096
"""Bytes of a user record that are searched for a tool result when the record has no structured copy
of it.
"""

_link = build_json_decoder(TreeFields)
_kind = build_json_decoder(KindOnlyRecord)
_system = build_json_decoder(SystemRecord)
_titles = build_json_decoder(SessionTitles)
_session = build_json_decoder(SessionFields)


class SessionTreeIndex:
    """The tree of one file. Records are numbered from 0 in file order."""

    def __init__(self) -> None:
        self.codes = bytearray(1)
        """A code for each line, from line 1."""
        self.kinds: dict[str, int] = {kind: code for code, kind in enumerate(_KNOWN_KINDS)}
        """The code of each kind of record."""
        self.line_numbers = array("I")
        """The line of each record."""
        self.parent = array("i")
        self.flags = array("B")
        self.reply_hashes = array("q")
        """A hash of the reply's id; 0 when there is none."""
        self.numbers_by_uuid: dict[int, int] = {}
        self.unresolved_parents: dict[int, int] = {}
        """Hashes of parents that had not been read when the child was."""
        self.logical_parents: dict[int, int] = {}
        """Hash of the record before a boundary."""
        self.segments: list[tuple[int, PreservedSegment]] = []
        self.snipped_hashes: set[int] = set()
        self.is_out_of_order = False
        """Whether some parent comes after its child."""
        self.times = array("d")
        """The time of each record, in a file out of order; 0 when it is not recorded."""
        self.titles = SessionTitles()
        self.first: SessionFields | None = None
        self.last: SessionFields | None = None
        self.model = ""

    @property
    def record_count(self) -> int:
        """Number of records in the tree."""
        return len(self.line_numbers)

    def find_record_number(self, uuid: str) -> int:
        """The number of the record with a uuid, or MISSING."""
        return self.numbers_by_uuid.get(hash(uuid), MISSING)

    def build_session_head(self) -> SessionHead:
        """The session as a whole, from its first and last records; the newest title of the
        strongest kind.
        """
        first = self.first or SessionFields()
        last = self.last or SessionFields()
        titles = self.titles
        return SessionHead(
            session=last.session_id or first.session_id or "",
            format="claude_code",
            cwd=first.cwd or "",
            model=self.model,
            version=last.version or "",
            branch="" if last.git_branch in (None, "HEAD") else last.git_branch,
            title=titles.custom_title or titles.ai_title or titles.summary or "",
            started=parse_iso_timestamp(first.timestamp),
            forked_from=(first.forked_from and first.forked_from.session_id) or "",
        )


def _index_times(index: SessionTreeIndex, lines: Iterable[RawTranscriptLine]) -> None:
    """One more pass, for the times that a file out of order needs."""
    wanted = iter(index.line_numbers)
    due = next(wanted, 0)
    for number, data, _ in lines:
        if number == due:
            session = _read_session_fields(data)
            index.times.append((parse_iso_timestamp(session.timestamp) if session else None) or 0.0)
            due = next(wanted, 0)
    index.times.extend([0.0] * (index.record_count - len(index.times)))


class _EdgeRecords:
    """Records that describe the session: the first and last of the main line, and the first of a
    side chain.
    """

    first = last = side = b""


def build_tree_index(lines: Iterable[RawTranscriptLine]) -> SessionTreeIndex:
    """Read every line once and index it."""
    index = SessionTreeIndex()
    add_code, kinds, found = index.codes.append, index.kinds, index.numbers_by_uuid
    edge = _EdgeRecords()
    for _, line, problem in lines:
        data = line
        link: TreeFields | None = None
        if problem or not line or line.isspace():
            add_code(PROBLEM if problem else BLANK)
            continue
        try:
            link = _link(data)
        except FAILURES:
            data, link = _repair_record(data)
        if link is None:
            add_code(PROBLEM)
            continue
        code = kinds.get(link.type or "unknown", 0)
        if code <= PROBLEM:
            code = _new_kind(index, link.type or "unknown")
        add_code(code)
        if code <= _LAST_CHAIN:
            if link.uuid and hash(link.uuid) not in found:
                _add_record(index, link, data, edge)
        elif code <= _LAST_TITLE:
            _keep_title(index.titles, data)
    _resolve_parents(index, edge)
    if index.is_out_of_order:
        _index_times(index, lines)
    return index


def _repair_record(data: bytes) -> tuple[bytes, TreeFields | None]:
    """The line after repair, if that makes it a record; of a record whose fields have other types
    only the kind is kept.
    """
    sound = data
    try:
        kind = _kind(data)
    except FAILURES:
        repaired = repair_transcript_line(data)
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
    return sound, None if kind.type in _KNOWN_KINDS[: _LAST_CHAIN + 1] else TreeFields(
        type=kind.type
    )


def _new_kind(index: SessionTreeIndex, kind: str) -> int:
    """A code for a kind seen for the first time; kinds beyond the maximum share one."""
    return index.kinds.setdefault(
        kind if len(index.kinds) < _MAX_KINDS and kind.strip() else "unknown", len(index.kinds)
    )


def _keep_title(kept: SessionTitles, data: bytes) -> None:
    try:
        named = _titles(data)
    except FAILURES:
        return
    kept.custom_title = kept.custom_title if named.custom_title is None else named.custom_title
    kept.ai_title = named.ai_title or kept.ai_title
    kept.summary = named.summary or kept.summary


def _add_record(index: SessionTreeIndex, link: TreeFields, data: bytes, edge: _EdgeRecords) -> None:
    """Add a record to the tree."""
    number = len(index.line_numbers)
    code = index.codes[-1]
    flags = _KIND_FLAGS[code]
    if link.is_sidechain or link.team_name:
        flags |= SIDE
        edge.side = edge.side or data
    elif flags & (USER | ASSISTANT):
        edge.first = edge.first or data
        edge.last = data
    if link.is_meta:
        flags |= META
    if flags & USER:
        if link.tool_use_result is not NO_RAW or b"tool_result" in data[:_RESULT_SCAN_LENGTH]:
            flags |= RESULT
    elif code == _SYSTEM:
        flags |= _note_system(index, number, data)
    index.numbers_by_uuid[hash(link.uuid)] = number
    index.line_numbers.append(len(index.codes) - 1)
    index.flags.append(flags)
    index.reply_hashes.append(_note_reply(index, link) if flags & ASSISTANT else 0)
    parent = ROOT
    if link.parent_uuid is not None:
        parent = index.numbers_by_uuid.get(hash(link.parent_uuid), MISSING)
        if parent == MISSING:
            index.unresolved_parents[number] = hash(link.parent_uuid)
    index.parent.append(parent)


def _note_reply(index: SessionTreeIndex, link: TreeFields) -> int:
    """The hash of the reply's id; also records the newest real model (`<synthetic>` marks what the
    client wrote itself).
    """
    if link.message is None:
        return 0
    if link.message.model and not link.message.model.startswith("<"):
        index.model = link.message.model
    return hash(link.message.id) if link.message.id else 0


def _note_system(index: SessionTreeIndex, number: int, data: bytes) -> int:
    """Record what a compaction or a snip says about the tree."""
    try:
        record = _system(data)
    except FAILURES:
        return 0
    if record.snip_metadata:
        index.snipped_hashes.update(map(hash, record.snip_metadata.removed_uuids))
    if record.subtype != "compact_boundary":
        return 0
    if record.logical_parent_uuid:
        index.logical_parents[number] = hash(record.logical_parent_uuid)
    if record.compact_metadata and record.compact_metadata.preserved_segment:
        index.segments.append((number, record.compact_metadata.preserved_segment))
    return BOUNDARY


def _resolve_parents(index: SessionTreeIndex, edge: _EdgeRecords) -> None:
    """Resolve parents that were read after their children, and bridge progress and snipped records:
    their children are attached to the nearest other ancestor.
    """
    # Parents first: bridging walks the parent links and must see them resolved.
    for child, parent in index.unresolved_parents.items():
        index.parent[child] = index.numbers_by_uuid.get(parent, MISSING)
        index.is_out_of_order = index.is_out_of_order or index.parent[child] >= 0
    index.unresolved_parents.clear()
    parents, flags = index.parent, index.flags
    for removed in index.snipped_hashes:
        if removed in index.numbers_by_uuid:
            flags[index.numbers_by_uuid[removed]] |= BRIDGED
    for number, parent in enumerate(parents):
        if parent >= 0 and flags[parent] & BRIDGED:
            parents[number] = _unbridged_ancestor(index, number)
    index.first, index.last = (
        _read_session_fields(edge.first or edge.side),
        _read_session_fields(edge.last or edge.side),
    )


def _unbridged_ancestor(index: SessionTreeIndex, number: int) -> int:
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


def _read_session_fields(data: bytes) -> SessionFields | None:
    try:
        return _session(data) if data else None
    except FAILURES:
        return None


_MESSAGE_FLAGS = USER | ASSISTANT
_TIP_SEARCH = 256
"""Records at the end of the file that are searched for one that belongs after the leaf."""


class LiveConversation(Struct, frozen=True):
    """The live conversation: record numbers, oldest first."""

    order: array[int]
    recovered: frozenset[int]
    """Records that were off the path and were put back in."""
    kept_messages: dict[int, int]
    """For a boundary with a preserved segment: the number of messages before it that were kept."""


class _RecordTree:
    """Navigation towards the root over one index."""

    def __init__(self, index: SessionTreeIndex) -> None:
        self.index = index
        self.excluded_flags = SIDE | BRIDGED
        spoken = [flags for flags in index.flags if flags & _MESSAGE_FLAGS]
        if spoken and all(flags & SIDE for flags in spoken):
            self.excluded_flags = BRIDGED  # the file of a subagent: its side chain is what there is
        self._before: array[int] | None = None
        self.tails: dict[int, tuple[int, int]] = {}
        """For the tail of a preserved segment: its boundary, and the record to continue from."""
        self.kept_messages: dict[int, int] = {}
        for boundary, segment in index.segments:
            self._add_segment(
                boundary,
                *(
                    index.find_record_number(uuid)
                    for uuid in (segment.head_uuid, segment.anchor_uuid, segment.tail_uuid)
                ),
            )

    def parent_of(self, number: int) -> int:
        """The parent; the nearest earlier message when the parent is missing or on a side chain;
        ROOT at the top.
        """
        parent = self.index.parent[number]
        if parent == ROOT:
            return ROOT
        if parent >= 0 and not self.index.flags[parent] & self.excluded_flags:
            return parent
        return self.message_earlier_in_file(number)

    def message_earlier_in_file(self, number: int) -> int:
        """The nearest message or boundary of the main line that comes before a record in the file,
        or ROOT.
        """
        if self._before is None:
            self._before = array("i")
            latest = ROOT
            for here, flags in enumerate(self.index.flags):
                self._before.append(latest)
                if flags & (_MESSAGE_FLAGS | BOUNDARY) and not flags & self.excluded_flags:
                    latest = here
        return self._before[number]

    def is_message(self, number: int, *, meta: bool) -> bool:
        """Whether the record is a message of the main line; with `meta` also one that the user did
        not type.
        """
        flags = self.index.flags[number]
        return bool(flags & _MESSAGE_FLAGS) and not flags & (
            self.excluded_flags | (0 if meta else META)
        )

    def before_compaction(self, boundary: int) -> int:
        """The record before a compaction: its logical parent, otherwise the tail it kept, otherwise
        the nearest earlier message.
        """
        found = self.index.numbers_by_uuid.get(self.index.logical_parents.get(boundary, 0), MISSING)
        if found < 0 or found == boundary or self.index.flags[found] & SIDE & self.excluded_flags:
            found = next(
                (tail for tail, (owner, _) in self.tails.items() if owner == boundary), MISSING
            )
        if found >= 0 and self.index.flags[found] & BRIDGED:
            return self.parent_of(found)
        return found if found >= 0 else self.message_earlier_in_file(boundary)

    def _add_segment(self, boundary: int, head: int, anchor: int, tail: int) -> None:
        """Register a preserved segment if its tail leads to its head; a broken one is ignored."""
        if head < 0 or tail < 0:
            return
        number, kept = tail, 0
        for _ in range(self.index.record_count):
            kept += self.is_message(number, meta=True)
            if number == head:
                self.kept_messages[boundary] = kept
                self.tails[tail] = (boundary, anchor if anchor >= 0 else boundary)
                return
            number = self.index.parent[number]
            if number < 0:
                return


def find_live_conversation(index: SessionTreeIndex) -> LiveConversation:
    """Find the live conversation of a file; empty when the file holds no message."""
    tree = _RecordTree(index)
    leaf = _find_newest_leaf(tree)
    if leaf < 0:
        return LiveConversation(array("I"), frozenset(), {})
    order, seen = _walk_to_root(tree, _find_tip(tree, leaf))
    lost = _find_detached(tree, order, seen)
    recovered = frozenset(number for group in lost.values() for number in group)
    if lost:
        order = _reinsert_detached(index, order, lost)
    return LiveConversation(order, recovered, tree.kept_messages)


def _find_newest_leaf(tree: _RecordTree) -> int:
    """The last message; in a file out of order, the newest message without a message below it."""
    for meta in (False, True):
        last = next(
            (
                number
                for number in reversed(range(tree.index.record_count))
                if tree.is_message(number, meta=meta)
            ),
            ROOT,
        )
        if last < 0 or not tree.index.is_out_of_order:
            if last >= 0:
                return last
            continue
        return _find_leaf_by_time(tree, meta=meta)
    return ROOT


def _find_leaf_by_time(tree: _RecordTree, *, meta: bool) -> int:
    """The newest message by time that has none below it.

    A message that no leaf leads to is part of a cycle: it counts as well.
    """
    times = tree.index.times
    known: dict[int, int] = {}
    above = array(
        "i",
        (
            _nearest_message(tree, number, known, meta=meta)
            for number in range(tree.index.record_count)
        ),
    )
    messages = [
        number for number in range(tree.index.record_count) if tree.is_message(number, meta=meta)
    ]
    below = {above[number] for number in messages}
    leaves = [number for number in messages if number not in below]
    reached: set[int] = set()
    for leaf in leaves:
        number = leaf
        while number >= 0 and number not in reached:
            reached.add(number)
            number = above[number]
    return max(
        (number for number in messages if number not in below or number not in reached),
        key=lambda number: (times[number], number),
    )


def _nearest_message(tree: _RecordTree, number: int, known: dict[int, int], *, meta: bool) -> int:
    """The nearest message above a record, or ROOT. `known` holds what was found before with the
    same `meta`, so that no run of records is walked twice.
    """
    path: list[int] = []
    here = number
    while here not in known:
        known[here] = ROOT  # what a cycle leads to
        path.append(here)
        above = tree.index.parent[here]
        if above < 0 or tree.is_message(above, meta=meta):
            break
        here = above
    else:
        above = known[here]
    known.update(dict.fromkeys(path, above))
    return above


def _find_tip(tree: _RecordTree, leaf: int) -> int:
    """The last record below the leaf without a typed message between them (hook output, a queued
    prompt); otherwise the leaf.
    """
    last = tree.index.record_count - 1
    known: dict[int, int] = {}
    for number in range(
        last, max(last - _TIP_SEARCH, -1 if tree.index.is_out_of_order else leaf), -1
    ):
        if (
            number != leaf
            and not tree.index.flags[number] & tree.excluded_flags
            and _nearest_message(tree, number, known, meta=False) == leaf
        ):
            return number
    return leaf


def _walk_to_root(tree: _RecordTree, tip: int) -> tuple[array[int], bytearray]:
    """The path from the tip to the root, in forward order, and a flag for each record on it. A
    cycle ends the walk; the records found so far are kept.
    """
    flags = tree.index.flags
    seen = bytearray(tree.index.record_count)
    order = array("I")
    number = tip
    while number >= 0 and not seen[number]:
        seen[number] = 1
        order.append(number)
        parent = tree.parent_of(number)
        if parent in tree.tails and not seen[tree.tails[parent][0]]:
            boundary, anchor = tree.tails[parent]
            number = boundary if seen[anchor] else anchor
        elif flags[number] & BOUNDARY and parent == ROOT:
            number = tree.before_compaction(number)
        else:
            number = parent
    order.reverse()
    return order, seen


def _find_detached(tree: _RecordTree, order: array[int], seen: bytearray) -> dict[int, list[int]]:
    """Records of replies on the path, and results of their calls, that are not on the path
    themselves; by the reply's hash.
    """
    index = tree.index
    live = {index.reply_hashes[number] for number in order if index.reply_hashes[number]}
    lost: dict[int, list[int]] = {}
    home: dict[int, int] = {}
    every = (
        [*range(index.record_count)] * 2 if index.is_out_of_order else range(index.record_count)
    )  # out of order: a result may come before its call
    for number in every:
        if seen[number] or number in home or index.flags[number] & tree.excluded_flags:
            continue
        if index.reply_hashes[number] in live:
            reply = index.reply_hashes[number]
            above = tree.parent_of(number)
            if above < 0 or not (seen[above] or above in home):
                continue  # the reply's id, but in a dead branch
        elif index.flags[number] & RESULT and (parent := index.parent[number]) >= 0:
            reply = index.reply_hashes[parent] or home.get(parent, 0)
            if reply not in live:
                continue
        else:
            continue
        home[number] = reply
        lost.setdefault(reply, []).append(number)
    return lost


def _reinsert_detached(
    index: SessionTreeIndex, order: array[int], lost: dict[int, list[int]]
) -> array[int]:
    """The path with the detached records inserted into their reply's round: its own records and the
    results that follow, in the order of the file.
    """
    whole = array("I")
    at = 0
    while at < len(order):
        reply = index.reply_hashes[order[at]]
        if reply not in lost:
            whole.append(order[at])
            at += 1
            continue
        end = _find_round_end(index, order, at)
        own = order[at:end]
        ordered = not index.is_out_of_order and all(
            earlier < later for earlier, later in pairwise(own)
        )
        found = lost.pop(reply)
        whole.extend(sorted([*own, *found]) if ordered else _order_without_file(index, own, found))
        at = end
    return whole


def _find_round_end(index: SessionTreeIndex, order: array[int], start: int) -> int:
    """Where the records of a reply and the results of its calls end."""
    reply = index.reply_hashes[order[start]]
    end = start + 1
    for at in range(start + 1, len(order)):
        flags = index.flags[order[at]]
        if (flags & ASSISTANT and index.reply_hashes[order[at]] == reply) or flags & RESULT:
            end = at + 1
        elif flags & (_MESSAGE_FLAGS | BOUNDARY):
            break
    return end


def _order_without_file(index: SessionTreeIndex, own: Iterable[int], found: list[int]) -> list[int]:
    """Records of the reply first, then results, when the file's order says nothing."""
    every = [*own, *found]
    return [number for number in every if index.flags[number] & ASSISTANT] + [
        number for number in every if not index.flags[number] & ASSISTANT
    ]

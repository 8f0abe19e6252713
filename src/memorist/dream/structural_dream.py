"""The dream without a model: what rules prove, and no more (DR-5). Pure.

Memories that say the same are merged, dead links are removed, dates of a proven day become
absolute. Contradictions are reported, not settled. Idempotent: the plan of a folder to which a plan
was applied is empty.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.memory_changes import Actor, MemoryChange
from memorist.auto_memory.memory_file import (
    MEMORIST_KEY,
    USER_KINDS,
    MemoryKind,
    Topic,
    Trust,
    format_utc_timestamp,
    with_body,
    with_header,
)
from memorist.auto_memory.memory_index import find_suspicions
from memorist.auto_memory.relative_dates import make_dates_absolute
from memorist.auto_memory.statements.statement_similarity import rule_key
from memorist.auto_memory.write_evidence import normalize_for_comparison, split_script_words
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import encode_text

# Find contradictions among memories, and with the instruction files, by rule; the user decides
# (DR-5). Pure.


MAX_STATEMENT_CHARACTERS = 300
"""Longest statement in characters that is compared; longer ones say more than one thing."""
_NEGATIONS = frozenset(
    {"not", "no", "never", "without", "avoid", "don't", "不", "别", "勿", "不要"}
)
_FILLER_WORDS = frozenset(
    {"do", "does", "did", "always", "ever", "should", "must", "will", "shall", "to", "any", "请"}
)
_VALUE = re.compile(
    r"(?P<head>.{4,150}?)\s*(?:\s(?:is|are|equals)\s|=|:|：|是)\s*(?P<value>.{1,100})"
)
_DISTINCT_VALUE = re.compile(r"[\d`/@]|^[A-Z][\w-]*$")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+|^\s*>\s*|^#+\s+")
_TRUST_ORDER = {trust: place for place, trust in enumerate(Trust)}


class DreamQuestion(Struct, frozen=True, kw_only=True):
    """A memory that perhaps should be removed, and why; the user decides."""

    path: str
    why: str
    other_path: str = ""
    """The other memory involved; empty for an instruction file."""
    mark: str
    """Identifies the two texts: the same question is asked once, until one of them changes."""


class DreamRemark(Struct, frozen=True):
    """Information for the user that is not a change of memory."""

    path: str
    what: str


class DatedMemory(Struct, frozen=True):
    """A memory and when it last changed, in seconds since the epoch, UTC."""

    topic: Topic
    at: float


class InstructionSource(Struct, frozen=True, kw_only=True):
    """One instruction file: its displayed path, its text, and when it changed, in seconds since the
    epoch, UTC.
    """

    path: str
    text: str
    at: float


class _MemoryStatement(Struct, frozen=True):
    text: str
    rule: tuple[str, ...]
    bare: tuple[str, ...]
    negative: bool
    head: tuple[str, ...]
    value: tuple[str, ...]


def _parse_statement(text: str) -> _MemoryStatement | None:
    text = _BULLET.sub("", text.strip()).strip()
    rule = rule_key(text) if 0 < len(text) <= MAX_STATEMENT_CHARACTERS else ()
    if len(rule) < 2:
        return None
    words = [word.casefold() for word in rule]
    bare = tuple(
        word
        for word in words
        if (word not in _NEGATIONS | _FILLER_WORDS and word.isalnum())
        or _DISTINCT_VALUE.search(word)
    )
    negative = sum(word in _NEGATIONS for word in words) % 2 == 1
    match = _VALUE.fullmatch(text.rstrip(".。 "))
    telling = (
        match is not None
        and _DISTINCT_VALUE.search(match["value"]) is not None
        and len(match["value"].split()) <= 4
    )
    head, value = (
        (rule_key(match["head"]), rule_key(match["value"]))
        if match is not None and telling
        else ((), ())
    )
    return _MemoryStatement(text, rule, bare, negative, head, value)


def _first_statement(topic: Topic) -> _MemoryStatement | None:
    """Return the statement that a memory makes: its first line.

    A memory of several paragraphs gives the rule first, then its reason.
    """
    return _parse_statement(next((line for line in topic.body.splitlines() if line.strip()), ""))


def _compare_statements(one: _MemoryStatement, other: _MemoryStatement) -> str:
    """Compare two statements: `contradicts`, `says the same as`, or nothing."""
    if one.rule == other.rule:
        return "says the same as"
    if one.bare == other.bare and one.negative != other.negative:
        return "contradicts"
    if one.head and one.head == other.head and one.value != other.value:
        return "contradicts"
    return ""


def find_conflicts(memories: Sequence[DatedMemory]) -> Iterator[DreamQuestion]:
    """Yield pairs of memories that contradict each other, or may say the same, with the one
    proposed for removal.
    """
    groups: dict[tuple[object, ...], list[tuple[DatedMemory, _MemoryStatement]]] = {}
    seen: set[frozenset[str]] = set()
    for each in memories:
        statement = _first_statement(each.topic)
        if statement is None:
            continue
        for position in (("rule", *statement.bare), ("head", *statement.head)):
            if len(position) == 1:
                continue
            for other, theirs in groups.setdefault(position, []):
                pair = frozenset({each.topic.path, other.topic.path})
                how = _compare_statements(statement, theirs)
                if (
                    not how
                    or pair in seen
                    or (how != "contradicts" and not _is_single_statement(each, other))
                ):
                    continue
                seen.add(pair)
                yield _build_question(each, other, how)
            groups[position].append((each, statement))


def _is_single_statement(one: DatedMemory, other: DatedMemory) -> bool:
    """Tell whether both consist of their statement alone: with more text behind it, two memories
    may begin alike.
    """
    return all(
        len([line for line in each.topic.body.splitlines() if line.strip()]) == 1
        for each in (one, other)
    )


def _build_question(one: DatedMemory, other: DatedMemory, how: str) -> DreamQuestion:
    loser, winner = sorted(
        (one, other),
        key=lambda each: (
            each.topic.pinned,
            -_TRUST_ORDER[each.topic.provenance.trust],
            each.at,
            each.topic.path,
        ),
    )
    better = "newer" if winner.at > loser.at else "better founded"
    if _TRUST_ORDER[winner.topic.provenance.trust] < _TRUST_ORDER[loser.topic.provenance.trust]:
        better = "better founded"
    if winner.topic.pinned and not loser.topic.pinned:
        better = "pinned"
    why = (
        f"it {how if how == 'contradicts' else 'seems to say the same as'} "
        f"{winner.topic.path} ({format_utc_timestamp(winner.at)[:10]}), which is {better}"
    )
    return DreamQuestion(
        path=loser.topic.path,
        why=why,
        other_path=winner.topic.path,
        mark=_question_mark(loser.topic, encode_text(winner.topic.text())),
    )


def _question_mark(topic: Topic, other: bytes) -> str:
    return hashlib.sha256(
        b"\0".join(sorted((topic.path.encode("utf-8", "replace") + encode_text(topic.body), other)))
    ).hexdigest()[:16]


def compare_with_instructions(
    memories: Sequence[DatedMemory], instructions: Sequence[InstructionSource]
) -> Iterator[DreamQuestion | DreamRemark]:
    """Compare memories with the lines of the instruction files: what is already stated there, and
    which of two contradicting texts is stale.
    """
    lines: dict[tuple[object, ...], list[tuple[InstructionSource, int, _MemoryStatement]]] = {}
    for file in instructions:
        for number, line in enumerate(file.text.splitlines(), 1):
            statement = _parse_statement(line)
            if statement is not None:
                for position in {("rule", *statement.bare), ("head", *statement.head)} - {
                    ("head",),
                    ("rule",),
                }:
                    lines.setdefault(position, []).append((file, number, statement))
    for each in memories:
        mine = _first_statement(each.topic)
        if mine is not None:
            found = (
                row
                for position in (("rule", *mine.bare), ("head", *mine.head))
                for row in lines.get(position, ())
            )
            answer = next(
                (
                    question
                    for row in found
                    if (question := _compare_line(each, mine, row)) is not None
                ),
                None,
            )
            if answer is not None:
                yield answer


def _compare_line(
    each: DatedMemory, mine: _MemoryStatement, row: tuple[InstructionSource, int, _MemoryStatement]
) -> DreamQuestion | DreamRemark | None:
    file, number, theirs = row
    how = _compare_statements(mine, theirs)
    where = f"{file.path}:{number}"
    mark = _question_mark(each.topic, theirs.text.encode("utf-8", "replace"))
    if how == "contradicts" and file.at > each.at:
        return DreamQuestion(
            path=each.topic.path,
            why=f"it contradicts {where} and is the stale one: that file changed later",
            mark=mark,
        )
    if how == "contradicts":
        return DreamRemark(
            where,
            f"seems stale: {each.topic.path} of {format_utc_timestamp(each.at)[:10]} says "
            f"otherwise, and is newer",
        )
    if how and len([line for line in each.topic.body.splitlines() if line.strip()]) == 1:
        return DreamQuestion(path=each.topic.path, why=f"{where} says it already", mark=mark)
    return None


# Split the lines of a memory into prose and code: rules about words apply to prose only. Pure.


_FENCE = re.compile(r"\s*(?:```|~~~)")


def split_prose(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line with its end, and whether it is prose.

    Fenced and indented code is not; an unclosed fence reaches to the end.
    """
    fenced = False
    for line in text.splitlines(keepends=True):
        fence = _FENCE.match(line) is not None
        yield line, not (fenced or fence or line.startswith(("    ", "\t")))
        fenced = fenced != fence


# Decide when two memories provably say the same: nothing is merged that any word, number, name
# or order distinguishes (DR-5). Pure.


_INLINE_CODE = lazy_pattern(r"(`[^`]*`)")
_LIST_MARK = lazy_pattern(r"^[-*+]\s+")
_PLEASE = lazy_pattern(r"^(?:[Pp]lease|[Pp]ls|[Kk]indly),?\s+(?=[a-z])")
_CONTRACTION = lazy_pattern(
    r"\b(do|does|did|is|are|was|were|should|would|could|must|has|have|had)n't\b", re.IGNORECASE
)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
_NUMBERED = re.compile(r"(?P<base>.+)-(?:[2-9]|[1-9]\d{1,2})\.md")
_OWN_HEADER_KEYS = frozenset(
    {"name", "description", "type", "metadata", "modified", "pinned", MEMORIST_KEY}
)
_DAY_RELATIVE = lazy_pattern(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|now|soon|currently|recently|lately|"
    r"tonight|this (?:morning|afternoon|evening|time)|at the moment"
    r"|these days|so far|yet|still|already|just)\b|现在|目前|最近|刚",
    re.IGNORECASE,
)
"""Words that mean another time on each day of writing.

In a rule ("no deploys on Friday") they always mean the same.
"""


def meaning_key(text: str) -> tuple[str, ...]:
    """Reduce a text to what can carry meaning; equal for texts that say the same.

    Empty for a text without words.
    """
    found = [
        _fold_prose(line) if prose else line.rstrip()
        for line, prose in split_prose(unicodedata.normalize("NFC", text))
    ]
    return tuple(line for line in found if line.strip())


def _fold_prose(line: str) -> str:
    """Fold a line of prose; text in backticks stays verbatim."""
    parts = _INLINE_CODE.split(_LIST_MARK.sub("- ", line.strip()))
    parts[::2] = [
        _CONTRACTION.sub(r"\1 not", re.sub(r"\s+", " ", part.translate(_QUOTES)))
        for part in parts[::2]
    ]
    plain_line = "".join(parts)
    if parts[-1].endswith((".", "。")) and not parts[-1].endswith(".."):
        plain_line = plain_line[:-1]
    mark, rest = ("- ", plain_line[2:]) if plain_line.startswith("- ") else ("", plain_line)
    rest = _PLEASE.sub("", rest)
    return mark + (rest[0].lower() + rest[1:] if rest.split(" ", 1)[0].istitle() else rest)


def merge_key(topic: Topic) -> tuple[object, ...] | None:
    """Return a key that is equal for memories that say the same.

    None for one that is never merged: without text, with a broken header, superseded, or relative
    to its day.
    """
    body = meaning_key(topic.body)
    if (
        not body
        or topic.header_problem
        or topic.provenance.status != "active"
        or _is_day_relative(topic)
    ):
        return None
    return (
        body,
        topic.kind,
        _label_words(topic),
        _extra_description(topic, body),
        _other_header_fields(topic),
    )


def unnumbered_path(topic: Topic) -> str:
    """Return the path to whose name memorist appended a number because it was taken; empty for any
    other memory.

    Only what the user said outright in a session is named by its text alone; a number in any other
    name may mean something.
    """
    found = _NUMBERED.fullmatch(topic.path)
    named_by_text = topic.provenance.trust is Trust.STATED and bool(topic.provenance.session)
    return (
        f"{found['base']}.md"
        if found and named_by_text and topic.name in (topic.path.removesuffix(".md"), found["base"])
        else ""
    )


def is_equal(one: Topic, other: Topic) -> bool:
    """Tell whether two memories are equal to the letter except for name and origin: text, kind,
    description, rest of the header.
    """
    return (one.body, one.kind, one.description, _other_header_fields(one)) == (
        other.body,
        other.kind,
        other.description,
        _other_header_fields(other),
    )


def _is_day_relative(topic: Topic) -> bool:
    text = f"{topic.description}\n{topic.body}"
    return make_dates_absolute(text, 0.0) != text or (
        topic.kind not in USER_KINDS and _DAY_RELATIVE.search(text) is not None
    )


def _label_words(topic: Topic) -> tuple[tuple[str, ...], ...]:
    """Return what the names say beyond the text: a memory's name and its file's, unless each
    consists of words of the text in order. A number counts as a word.
    """
    said = _plain_words(topic.body)
    names = {tuple(_plain_words(name)) for name in (topic.name, topic.path.removesuffix(".md"))}
    return tuple(sorted(name for name in names if not _is_subsequence(name, said)))


def _is_subsequence(few: Sequence[str], many: Sequence[str]) -> bool:
    left = iter(many)
    return all(word in left for word in few)


def _plain_words(text: str) -> list[str]:
    return split_script_words(normalize_for_comparison(text.replace("_", " ").replace("-", " ")))


def _extra_description(topic: Topic, body: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the description adds; empty if it is the beginning of the text, as generated ones
    are.
    """
    found = meaning_key(topic.description)
    start, whole = "".join(found), " ".join(body)
    cut = start.removesuffix("…").rstrip()
    if whole.startswith(cut) and (cut != start or not whole[len(cut) : len(cut) + 1].isalnum()):
        return ()
    return found


def _other_header_fields(topic: Topic) -> str:
    """Return everything else written into the header."""
    front = topic.document.front
    if front is None:
        return ""
    own = [
        (name, str(value)) for name, value in front.values.items() if name not in _OWN_HEADER_KEYS
    ]
    metadata = [
        (str(name), str(value))
        for name, value in front.mapping_value("metadata").items()
        if name != "type"
    ]
    return repr((sorted(own), sorted(metadata)))


# Make relative dates absolute where the history proves the day on which they were written
# (DR-5).


DATED_ACTORS: frozenset[Actor] = frozenset({"said", "extraction", "agent", "user"})
"""Actors whose words are as old as their change.

What was imported, accepted later, restored by an undo or found in the folder is older.
"""
_RECURRING = re.compile(
    r"\b(?:always|never|every|each|daily|weekly|monthly|whenever|when|before|after|until|if|"
    r"must|should|usually|often)\b|每|总是|从不|如果",
    re.IGNORECASE,
)


def can_be_dated(topic: Topic) -> bool:
    """Tell cheaply whether a date in it could be made absolute, before its lines' times are looked
    up.
    """
    if topic.kind is not MemoryKind.PROJECT or topic.provenance.status != "active":
        return False
    return date_lines(topic.body, dict.fromkeys(topic.body.splitlines(), 0.0)) != topic.body


def date_description(description: str, text: str, times: Mapping[str, float]) -> str:
    """Make the description's dates absolute if it is the beginning of a line of the text and then
    means the same days.
    """
    for line in text.splitlines():
        if line in times and description and line.strip().startswith(description):
            dated = make_dates_absolute(description, times[line])
            return dated if _date_line(line, times).strip().startswith(dated) else description
    return description


def date_lines(text: str, times: Mapping[str, float]) -> str:
    """Make the dates of each line absolute by when it was written (seconds since the epoch, UTC);
    lines without a time stay.
    """
    return "".join(_date_line(line, times) if prose else line for line, prose in split_prose(text))


def _date_line(line: str, times: Mapping[str, float]) -> str:
    plain = line.rstrip("\r\n")
    if plain not in times or _RECURRING.search(plain):
        return line
    return make_dates_absolute(plain, times[plain]) + line[len(plain) :]


def prove_line_times(
    lines: Sequence[tuple[str, str]], changes: Mapping[str, tuple[Actor, float]]
) -> dict[str, float]:
    """Return the time of each line of a memory, as far as it is proven.

    `lines` are text and id of the originating change; `changes` the actor and time of each change.
    A line that occurs twice, from two days, has no proven time.
    """
    found: dict[str, set[float | None]] = {}
    for text, change in lines:
        actor, at = changes.get(change, ("other", 0.0))
        found.setdefault(text, set()).add(at if actor in DATED_ACTORS and at > 0 else None)
    return {
        text: at
        for text, times in found.items()
        for at in times
        if len(times) == 1 and at is not None
    }


# Repair links between memories whose target is gone (DR-5). Pure.


_LINK = lazy_pattern(
    r"(?<![!\\])(?:\[\[(?P<name>[^\[\]|\n]{1,200})(?:\|(?P<label>[^\[\]\n]{1,200}))?\]\]"
    r"|\[(?P<text>[^\[\]\n]{1,200})\]\((?P<path>[^()\s]{1,200}\.md)\))"
)
_CODE_SPAN = lazy_pattern(r"`[^`\n]*`")
_ONLY_LINKS = lazy_pattern(
    r"\s*(?:[-*+]\s+)?(?:see(?:\s+also)?:?\s+)?\0(?:(?:\s*,\s*|\s+and\s+)\0)*[.;]?\s*",
    re.IGNORECASE,
)


class LinkTargets(Struct, frozen=True, kw_only=True):
    """Valid link targets. Paths are relative to the memory folder."""

    present: Collection[str]
    names: Mapping[str, str] = {}
    """Header names to the paths of their memories."""
    known_paths: Collection[str] = ()
    """Paths that the history knows."""
    moved: Mapping[str, str] = {}
    """Paths that this dream removes, to the memory that says the same."""


def repair_links(path: str, text: str, links: LinkTargets) -> str:
    """Return the text of the memory at `path` with links retargeted to what moved, and without
    provably dead links.

    A line that holds nothing else is removed with its link; elsewhere the link's words stay.
    """
    return "".join(
        _repair_line(path, line, links) if prose and "[" in line else line
        for line, prose in split_prose(text)
    )


def _repair_line(path: str, line: str, links: LinkTargets) -> str:
    code = [match.span() for match in _CODE_SPAN.finditer(line)]
    dead = 0

    def put(match: re.Match[str], replace_with: Callable[[str], str]) -> str:
        nonlocal dead
        if any(start <= match.start() < end for start, end in code):
            return match[0]
        target = _link_target(path, match, links)
        if target in links.moved:
            return _retarget_link(path, match, links.moved[target])
        if target in links.present or target not in links.known_paths:
            return match[0]
        dead += 1
        return replace_with(match["label"] or match["text"] or match["name"])

    bare = _LINK.sub(lambda match: put(match, lambda _: "\0"), line)
    if dead and _ONLY_LINKS.fullmatch(bare):
        return ""
    return _LINK.sub(lambda match: put(match, str), line) if dead or bare != line else line


def _link_target(path: str, match: re.Match[str], links: LinkTargets) -> str:
    if match["path"]:
        return posixpath.normpath(posixpath.join(posixpath.dirname(path), match["path"]))
    name = match["name"].strip()
    file = name if name.endswith(".md") else f"{name}.md"
    return file if file in links.moved or file in links.present else links.names.get(name, file)


def _retarget_link(path: str, match: re.Match[str], to: str) -> str:
    if match["path"]:
        return f"[{match['text']}]({posixpath.relpath(to, posixpath.dirname(path) or '.')})"
    return f"[[{to.removesuffix('.md')}{'|' + match['label'] if match['label'] else ''}]]"


_TRUST_RANK = {trust: place for place, trust in enumerate(Trust)}


class MemorySnapshot(Struct, frozen=True, kw_only=True):
    """The folder as a dream begins with it."""

    topics: tuple[Topic, ...]
    data: Mapping[str, bytes]
    """The bytes of each memory."""
    changed: Mapping[str, float] = {}
    """When each last changed, in seconds since the epoch, UTC."""
    foreign: Collection[str] = ()
    """Paths of files put there by another writer.

    They are left as they are: a file that the dream wrote would be trusted in what it claims.
    """
    kept: Collection[str] = ()
    """Paths that an undo of a dream restored: the user wants them so."""
    ever: Collection[str] = ()
    """Paths that the history knows."""
    times: Mapping[str, Mapping[str, float]] = {}
    """By path, the proven time of each line, for memories with a date to be made absolute."""
    instructions: tuple[InstructionSource, ...] = ()
    asked: Collection[str] = ()
    """Marks of questions that were asked before."""
    waiting: Collection[str] = ()
    """Paths that the user is already asked about: the inbox has one question for each, and further
    ones wait until it is settled.
    """


class DreamAct(Struct, frozen=True, kw_only=True):
    """One thing that a dream did, for its journal."""

    path: str
    did: str
    """`merged`, `date_lines`, `unlinked`, `retired`, `changed` or `added`."""
    why: str


class DreamPlan(Struct, frozen=True, kw_only=True):
    """The planned changes."""

    changes: tuple[MemoryChange, ...] = ()
    """Removals come last: a dream that is killed half-way has lost nothing."""
    acts: tuple[DreamAct, ...] = ()
    questions: tuple[DreamQuestion, ...] = ()
    remarks: tuple[DreamRemark, ...] = ()


def paths_needing_times(topics: Sequence[Topic]) -> tuple[str, ...]:
    """Return paths of the memories in which a date could be made absolute if its lines' times were
    known.
    """
    return tuple(topic.path for topic in topics if can_be_dated(topic))


def plan_dream(snapshot: MemorySnapshot, *, max_questions: int) -> DreamPlan:
    """Plan what rules prove of this folder, and at most `max_questions` questions that it
    raises.
    """
    acts: list[DreamAct] = []
    now = {topic.path: topic for topic in snapshot.topics}
    for path, times in snapshot.times.items():
        if path not in (*snapshot.foreign, *snapshot.kept):
            topic = now[path]
            edited = _edit_topic(
                topic,
                date_lines(topic.body, times),
                date_description(_header_description(topic), topic.body, times),
            )
            _replace_topic(
                now,
                acts,
                edited,
                "dated",
                "relative dates made absolute by the day on which they were written",
            )
    moved = _repair_and_merge(now, acts, snapshot)
    changes = [
        MemoryChange(path=path, before=snapshot.data[path], after=encode_text(topic.text()))
        for path, topic in now.items()
    ]
    real = [change for change in changes if change.before != change.after]
    removals = [MemoryChange(path=path, before=snapshot.data[path], after=None) for path in moved]
    known = [
        DatedMemory(topic, snapshot.changed.get(path, 0.0))
        for path, topic in sorted(now.items())
        if topic.provenance.status == "active"
    ]
    found = [*compare_with_instructions(known, snapshot.instructions), *find_conflicts(known)]
    asked: dict[str, DreamQuestion] = {}
    for each in found:
        if (
            isinstance(each, DreamQuestion)
            and each.mark not in snapshot.asked
            and not {each.path, each.other_path} & set(snapshot.waiting)
        ):
            asked.setdefault(each.path, each)
    return DreamPlan(
        changes=(*real, *removals),
        acts=tuple(dict.fromkeys(act for act in acts if act.did == "merged" or act.path in now)),
        questions=tuple(asked.values())[:max_questions],
        remarks=tuple(each for each in found if isinstance(each, DreamRemark)),
    )


def _repair_and_merge(
    now: dict[str, Topic], acts: list[DreamAct], snapshot: MemorySnapshot
) -> dict[str, str]:
    """Repair links and merge duplicates until neither finds anything: memories may say the same
    once their links do. Return where each merged one went.
    """
    names: dict[str, str] = {}
    for topic in snapshot.topics:
        names.setdefault(topic.name, topic.path)
    moved: dict[str, str] = {}
    while True:
        links = LinkTargets(
            present=frozenset(now), names=names, known_paths=snapshot.ever, moved=moved
        )
        for path in sorted(now.keys() - frozenset(snapshot.foreign) - frozenset(snapshot.kept)):
            topic = now[path]
            edited = _edit_topic(
                topic,
                repair_links(path, topic.body, links),
                repair_links(path, _header_description(topic), links),
            )
            _replace_topic(
                now,
                acts,
                edited,
                "unlinked",
                "links to memories that are gone or merged were mended",
            )
        merged = _merge_duplicates(now, acts, snapshot)
        if not merged:
            return moved
        moved = {path: merged.get(to, to) for path, to in moved.items()} | merged


def _header_description(topic: Topic) -> str:
    """Return the description in the header; empty if there is none."""
    front = topic.document.front
    return "" if front is None else front.text_value("description")


def _edit_topic(topic: Topic, body: str, description: str) -> Topic:
    """Return the memory with another text and description. Neither is ever emptied."""
    edited = (
        with_body(topic, f"\n{body.strip()}\n") if body != topic.body and body.strip() else topic
    )
    new = " ".join(description.split())
    return (
        with_header(edited, {"description": new})
        if new and description != _header_description(topic)
        else edited
    )


def _replace_topic(
    now: dict[str, Topic], acts: list[DreamAct], replacement: Topic, did: str, why: str
) -> None:
    """Replace a memory by its edited version if they differ."""
    if replacement != now[replacement.path]:
        now[replacement.path] = replacement
        acts.append(DreamAct(path=replacement.path, did=did, why=why))


def _unnumbered_original(topic: Topic, now: Mapping[str, Topic], snapshot: MemorySnapshot) -> Topic:
    """Return the memory itself; or the one whose name it has but for a number appended by memorist,
    if both are fully equal.
    """
    base = (
        None
        if topic.path in snapshot.foreign or merge_key(topic) is None
        else now.get(unnumbered_path(topic))
    )
    return (
        base
        if base is not None and base.path not in snapshot.kept and is_equal(base, topic)
        else topic
    )


def _merge_duplicates(
    now: dict[str, Topic], acts: list[DreamAct], snapshot: MemorySnapshot
) -> dict[str, str]:
    """Remove all but one of the memories that say the same; return where each went."""
    groups: dict[tuple[object, ...], list[Topic]] = {}
    for topic in now.values():
        found = (
            None
            if topic.path in snapshot.kept
            else merge_key(_unnumbered_original(topic, now, snapshot))
        )
        if found is not None:
            groups.setdefault(found, []).append(topic)
    moved: dict[str, str] = {}
    for group in groups.values():
        # What is withheld from models stays for the user to look at, and does not speak for one
        # that is shown.
        shown = [topic for topic in group if not find_suspicions(topic)] if len(group) > 1 else []
        if len(shown) < 2:
            continue
        kept, *others = sorted(
            shown,
            key=lambda topic: (
                topic.path in snapshot.foreign,
                not topic.pinned,
                _TRUST_RANK[topic.provenance.trust],
                bool(unnumbered_path(topic)),
                topic.provenance.created,
                topic.path,
            ),
        )
        for other in others:
            moved[other.path] = kept.path
            del now[other.path]
            acts.append(DreamAct(path=other.path, did="merged", why=f"{kept.path} says the same"))
    return moved

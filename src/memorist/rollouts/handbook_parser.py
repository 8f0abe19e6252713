"""Parse the handbook from the text of `MEMORY.md`, whoever wrote it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from memorist.auto_memory.interop.codex_memory import (
    FAILURES,
    KNOWLEDGE,
    PREFERENCES,
    CodexTaskGroup,
    parse_handbook_groups,
)
from memorist.auto_memory.interop.dialect import (
    HeadedSection,
    render_bullet,
    split_bullets_from_other_lines,
)
from memorist.core.json_decoding import decode_json
from memorist.rollouts.handbook import (
    CONSOLIDATED_PREFIX,
    ENTRY_LISTS,
    KEYWORDS_HEADING,
    LEFT_OUT_FIELD,
    SUMMARY_FILES_HEADING,
    USER_TAG,
    EntryList,
    Handbook,
    HandbookClaim,
    HandbookGroup,
    HandbookSessionReference,
    HandbookTask,
)
from memorist.rollouts.raw_memory import TASK_OUTCOMES, ClaimProof
from memorist.rollouts.rollout_summaries import compute_short_rollout_digest

_BY_HEADING: dict[str, EntryList] = {
    PREFERENCES: "preferences",
    KNOWLEDGE: "knowledge",
    FAILURES: "failures",
}
_TASK = re.compile(r"Task (\d{1,6})\s*:?\s*(.*)", re.DOTALL)
_TAG = re.compile(r"\s*\[([^\[\]\n]+)\]\s*\Z")
_PROOF = re.compile(r"(said|proved|inferred)(?: (\d{4}-\d\d-\d\d))?")
_DIGITS = 7
_SUPPORT = re.compile(r"Tasks? \d")
_FROM = re.compile(r"from(?: [0-9A-Za-z]{4})+")
_NOTE = re.compile(r"ad-hoc note(?: (\S+))?")
_PAIR = re.compile(r"\b(cwd|rollout_path|updated_at|thread_id)=(\"(?:[^\"\\]|\\.)*\"|[^,;()\"]*)")


def parse_handbook(text: str) -> Handbook:
    """Parse a text with plain line ends.

    Never fails: what the layout does not name is kept verbatim.
    """
    before, found = parse_handbook_groups(text)
    lines = "\n".join(part.text for part in before).split("\n")
    titles = (CONSOLIDATED_PREFIX, CONSOLIDATED_PREFIX.removeprefix("# "))
    title_line = next((line for line in lines if line.startswith(titles)), "")
    preamble = "\n".join(line for line in lines if line != title_line or not title_line).strip("\n")
    return Handbook(
        date_line=title_line,
        preamble=preamble,
        groups=tuple(_parse_group(block) for block in found),
    )


def _parse_group(block: CodexTaskGroup) -> HandbookGroup:
    lines = [line for line in block.head.lines if line.strip()]
    head = tuple(
        line
        for line in lines
        if not line.strip().startswith(("scope:", "applies_to:", LEFT_OUT_FIELD))
    )
    left = next(
        (line.partition(":")[2] for line in lines if line.strip().startswith(LEFT_OUT_FIELD)), ""
    )
    number = re.search(r"\d{1,9}", left)
    group = HandbookGroup(
        title=block.title,
        scope=block.scope,
        applies=block.applies_to,
        folders=block.folders,
        left_out=int(number[0]) if number else 0,
        head=head,
        raw=block.text.strip("\n"),
    )
    return _fill_group(group, block.sections)


def _fill_group(group: HandbookGroup, parts: Sequence[HeadedSection]) -> HandbookGroup:
    works: list[HandbookTask] = []
    listed: dict[EntryList, list[str]] = {name: [] for name in ENTRY_LISTS}
    other: list[list[str]] = []
    inside: Literal["work", "other", ""] = ""
    for part in parts:
        task = _TASK.fullmatch(part.title) if part.level == 2 else None
        name = _BY_HEADING.get(part.title.casefold()) if part.level == 2 else None
        if task:
            works.append(_parse_task(int(task[1]), task[2].strip(), part))
            inside = "work"
        elif name:
            entries, loose = split_bullets_from_other_lines(part.lines)
            listed[name] += [*entries, *(line.strip() for line in loose)]
            inside = ""
        elif part.level > 2 and inside == "work":
            works[-1] = _add_section(works[-1], part)
        elif part.level > 2 and inside == "other":
            other[-1].append(part.text)
        else:
            other.append([part.text])
            inside = "other"
    filled = replace(
        group,
        works=_inherit_sources(works),
        other=tuple("\n".join(each).strip("\n") for each in other),
    )
    return replace(
        filled,
        **{
            name: tuple(parse_handbook_entry(text, filled.works) for text in texts)
            for name, texts in listed.items()
        },
    )


def _inherit_sources(works: Sequence[HandbookTask]) -> tuple[HandbookTask, ...]:
    """Give a task that names no session, and says nothing else, those of the task above it."""
    found: list[HandbookTask] = []
    for work in works:
        bare = found and not work.sources and not work.other
        found.append(replace(work, sources=found[-1].sources) if bare else work)
    return tuple(found)


def _parse_task(number: int, title: str, part: HeadedSection) -> HandbookTask:
    name, comma, last = title.rpartition(", ")
    outcome = next((each for each in TASK_OUTCOMES if comma and each == last), None)
    below = "\n".join(part.lines).strip("\n")
    return HandbookTask(
        number=number,
        title=name if outcome else title,
        outcome=outcome,
        other=(below,) if below else (),
    )


def _add_section(work: HandbookTask, part: HeadedSection) -> HandbookTask:
    name = part.title.casefold()
    entries, loose = split_bullets_from_other_lines(part.lines)
    if name == SUMMARY_FILES_HEADING:
        lines = [line for each in (*entries, *loose) for line in each.split("\n") if line.strip()]
        found = {line: _parse_source(line) for line in lines}
        rest = tuple(render_bullet(line) for line, source in found.items() if source is None)
        return replace(
            work, sources=(*work.sources, *filter(None, found.values())), other=(*work.other, *rest)
        )
    if name == KEYWORDS_HEADING:
        words = (word.strip() for line in (*entries, *loose) for word in line.split(","))
        return replace(work, keywords=tuple(dict.fromkeys(filter(None, words))))
    return replace(work, other=(*work.other, part.text.strip("\n")))


def _parse_source(text: str) -> HandbookSessionReference | None:
    found = {match[1]: _unquote(match[2].strip()) for match in _PAIR.finditer(text)}
    if not found.get("thread_id"):
        return None
    path = text.split(" (", 1)[0].strip("` ")
    location = found.get("cwd", ""), found.get("rollout_path", "")
    return HandbookSessionReference(
        path=path,
        thread=found["thread_id"],
        updated=found.get("updated_at", ""),
        cwd=location[0],
        rollout=location[1],
    )


def _unquote(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return decode_json(text, as_type=str)
    except msgspec.DecodeError:
        return text.strip('"')


def parse_handbook_entry(text: str, works: Iterable[HandbookTask]) -> HandbookClaim:
    """Parse an entry and the tags at its end; its support is looked up in the tasks of its
    group.
    """
    entry = HandbookClaim(text=text.strip())
    support: set[str] = set()
    tasks: set[int] = set()
    while tag := _TAG.search(entry.text):
        proven, note = _PROOF.fullmatch(tag[1]), _NOTE.fullmatch(tag[1])
        rest = entry.text[: tag.start()]
        if not rest.strip():
            break
        if proven:
            entry = replace(entry, proof=_parse_proof(proven[1]), date=proven[2] or "")
        elif note:
            entry = replace(entry, by="note", note=note[1] or "")
        elif tag[1] == USER_TAG:
            entry = replace(entry, by="user")
        elif _FROM.fullmatch(tag[1]):
            pass  # the summary names sessions by their signs, for citations
        elif _SUPPORT.match(tag[1]):
            for number, threads in _tagged_tasks(tag[1], works):
                tasks.add(number)
                support |= threads
        else:
            break
        entry = replace(entry, text=rest.rstrip())
    return replace(entry, support=tuple(sorted(support)), works=tuple(sorted(tasks)))


def _parse_proof(text: str) -> ClaimProof:
    return "said" if text == "said" else "proved" if text == "proved" else "inferred"


def _tagged_tasks(tag: str, works: Iterable[HandbookTask]) -> Iterator[tuple[int, set[str]]]:
    """Yield the tasks and sessions that a tag such as `[Task 1, Task 3 3fQ2]` names: all of task 1,
    and one session of task 3.
    """
    known = {work.number: work for work in works}
    for each in re.sub(r"Tasks?", "", tag).split(","):
        number, *marks = each.split() or [""]
        work = known.get(int(number)) if number.isdecimal() and len(number) < _DIGITS else None
        if work is not None:
            yield (
                work.number,
                {
                    source.thread
                    for source in work.sources
                    if not marks or compute_short_rollout_digest(source.thread) in marks
                },
            )

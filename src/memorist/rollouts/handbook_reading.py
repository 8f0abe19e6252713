"""Parse the handbook from the text of `MEMORY.md`, whoever wrote it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from memorist.auto_memory.dialects.bullets import Section, bullet, bullets
from memorist.auto_memory.dialects.codex_handbook import FAILURES, KNOWLEDGE, PREFERENCES, Block, blocks
from memorist.rollouts.artefacts import short_mark
from memorist.rollouts.handbook import FILES, KEYWORDS, LEFT_OUT, LISTS, MADE, USER, Entry, Group, Handbook, List, Source, Work
from memorist.rollouts.raw_memory import OUTCOMES, Proof

_BY_HEADING: dict[str, List] = {PREFERENCES: "preferences", KNOWLEDGE: "knowledge", FAILURES: "failures"}
_TASK = re.compile(r"Task (\d{1,6})\s*:?\s*(.*)", re.DOTALL)
_TAG = re.compile(r"\s*\[([^\[\]\n]+)\]\s*\Z")
_PROVEN = re.compile(r"(said|proved|inferred)(?: (\d{4}-\d\d-\d\d))?")
_DIGITS = 7
_RESTS = re.compile(r"Tasks? \d")
_NOTE = re.compile(r"ad-hoc note(?: (\S+))?")
_PAIR = re.compile(r"\b(cwd|rollout_path|updated_at|thread_id)=(\"(?:[^\"\\]|\\.)*\"|[^,;()\"]*)")


def parse(text: str) -> Handbook:
    """Parse a text with plain line ends.

    Never fails: what the layout does not name is kept verbatim.
    """
    before, found = blocks(text)
    lines = "\n".join(part.text for part in before).split("\n")
    made = next((line for line in lines if line.startswith(MADE)), "")
    preamble = "\n".join(line for line in lines if line != made or not made).strip("\n")
    return Handbook(made=made, preamble=preamble, groups=tuple(_group(block) for block in found))


def _group(block: Block) -> Group:
    lines = [line for line in block.head.lines if line.strip()]
    head = tuple(line for line in lines if not line.strip().startswith(("scope:", "applies_to:", LEFT_OUT)))
    left = next((line.partition(":")[2] for line in lines if line.strip().startswith(LEFT_OUT)), "")
    number = re.search(r"\d{1,9}", left)
    group = Group(
        title=block.title,
        scope=block.scope,
        applies=block.applies,
        folders=block.folders,
        left_out=int(number[0]) if number else 0,
        head=head,
        raw=block.text.strip("\n"),
    )
    return _filled(group, block.parts)


def _filled(group: Group, parts: Sequence[Section]) -> Group:
    works: list[Work] = []
    listed: dict[List, list[str]] = {name: [] for name in LISTS}
    other: list[list[str]] = []
    inside: Literal["work", "other", ""] = ""
    for part in parts:
        task = _TASK.fullmatch(part.title) if part.level == 2 else None
        name = _BY_HEADING.get(part.title.casefold()) if part.level == 2 else None
        if task:
            works.append(_work(int(task[1]), task[2].strip(), part))
            inside = "work"
        elif name:
            entries, loose = bullets(part.lines)
            listed[name] += [*entries, *(line.strip() for line in loose)]
            inside = ""
        elif part.level > 2 and inside == "work":
            works[-1] = _with_section(works[-1], part)
        elif part.level > 2 and inside == "other":
            other[-1].append(part.text)
        else:
            other.append([part.text])
            inside = "other"
    made = replace(group, works=tuple(works), other=tuple("\n".join(each).strip("\n") for each in other))
    return replace(made, **{name: tuple(read_entry(text, works) for text in texts) for name, texts in listed.items()})


def _work(number: int, title: str, part: Section) -> Work:
    name, comma, last = title.rpartition(", ")
    outcome = next((each for each in OUTCOMES if comma and each == last), None)
    below = "\n".join(part.lines).strip("\n")
    return Work(number=number, title=name if outcome else title, outcome=outcome, other=(below,) if below else ())


def _with_section(work: Work, part: Section) -> Work:
    name = part.title.casefold()
    entries, loose = bullets(part.lines)
    if name == FILES:
        lines = [line for each in (*entries, *loose) for line in each.split("\n") if line.strip()]
        found = {line: _source(line) for line in lines}
        rest = tuple(bullet(line) for line, source in found.items() if source is None)
        return replace(work, sources=(*work.sources, *filter(None, found.values())), other=(*work.other, *rest))
    if name == KEYWORDS:
        words = (word.strip() for line in (*entries, *loose) for word in line.split(","))
        return replace(work, keywords=tuple(dict.fromkeys(filter(None, words))))
    return replace(work, other=(*work.other, part.text.strip("\n")))


def _source(text: str) -> Source | None:
    found = {match[1]: _unquoted(match[2].strip()) for match in _PAIR.finditer(text)}
    if not found.get("thread_id"):
        return None
    path = text.split(" (", 1)[0].strip("` ")
    place = found.get("cwd", ""), found.get("rollout_path", "")
    return Source(path=path, thread=found["thread_id"], updated=found.get("updated_at", ""), cwd=place[0], rollout=place[1])


def _unquoted(text: str) -> str:
    if not text.startswith('"'):
        return text
    try:
        return msgspec.json.decode(text, type=str)
    except msgspec.DecodeError:
        return text.strip('"')


def read_entry(text: str, works: Iterable[Work]) -> Entry:
    """Parse an entry and the tags at its end; its support is looked up in the tasks of its
    group.
    """
    made = Entry(text=text.strip())
    support: set[str] = set()
    tasks: set[int] = set()
    while tag := _TAG.search(made.text):
        proven, note = _PROVEN.fullmatch(tag[1]), _NOTE.fullmatch(tag[1])
        rest = made.text[: tag.start()]
        if not rest.strip():
            break
        if proven:
            made = replace(made, proof=_proof(proven[1]), date=proven[2] or "")
        elif note:
            made = replace(made, by="note", note=note[1] or "")
        elif tag[1] == USER:
            made = replace(made, by="user")
        elif _RESTS.match(tag[1]):
            for number, threads in _named(tag[1], works):
                tasks.add(number)
                support |= threads
        else:
            break
        made = replace(made, text=rest.rstrip())
    return replace(made, support=tuple(sorted(support)), works=tuple(sorted(tasks)))


def _proof(text: str) -> Proof:
    return "said" if text == "said" else "proved" if text == "proved" else "inferred"


def _named(tag: str, works: Iterable[Work]) -> Iterator[tuple[int, set[str]]]:
    """Yield the tasks and sessions that a tag such as `[Task 1, Task 3 3fQ2]` names: all of task 1,
    and one session of task 3.
    """
    known = {work.number: work for work in works}
    for each in re.sub(r"Tasks?", "", tag).split(","):
        number, *marks = each.split() or [""]
        work = known.get(int(number)) if number.isdecimal() and len(number) < _DIGITS else None
        if work is not None:
            yield work.number, {source.thread for source in work.sources if not marks or short_mark(source.thread) in marks}

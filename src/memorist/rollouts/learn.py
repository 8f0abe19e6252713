"""Extract the claims of the selected sessions: from raw memories to handbook entries (RO-5, RO-7).

Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from memorist.auto_memory.dates import absolute
from memorist.rollouts.artefacts import moment
from memorist.rollouts.handbook import LISTS, Entry, List, Source
from memorist.rollouts.handbook_reading import read_entry
from memorist.rollouts.places import place
from memorist.rollouts.raw_memory import Bullet, Outcome, Task, parse
from memorist.safety.data import neutralise
from memorist.safety.granting import grants
from memorist.safety.hidden import visible
from memorist.safety.orders import signs_of_orders
from memorist.safety.secrets import redact
from memorist.store.thread import Extracted, Kept

KEYWORDS_KEPT = 12
"""Keywords of a task that fit one line."""
_TITLE = 120
_HEADING = re.compile(r"#{1,6}\s+")


class Fact(Struct, frozen=True, kw_only=True):
    """One claim of one session, and where it belongs."""

    place: str
    into: List
    title: str
    """Title of the task that it comes from."""
    entry: Entry


class Done(Struct, frozen=True, kw_only=True):
    """One task of a session, in one place."""

    place: str
    title: str
    outcome: Outcome | None
    source: Source
    keywords: tuple[str, ...] = ()


class Learnt(Struct, frozen=True, kw_only=True):
    """All claims of one session."""

    thread: str
    updated: str
    uses: int
    works: tuple[Done, ...] = ()
    facts: tuple[Fact, ...] = ()
    withheld: int = 0
    """Claims left out because they read like orders planted for an agent, or grant permission in
    the user's name without the user's words (SF-2).
    """


def learn(rows: Iterable[Kept], files: Mapping[str, str], known: Collection[tuple[str, str]] = ()) -> tuple[Learnt, ...]:
    """Extract the claims of each session; `files` maps session ids to their summaries.

    Of those that are `known`, by id and time, only their presence is recorded.
    """
    return tuple(_known(row) if (row.extracted.thread, moment(row.extracted.updated)) in known else _learnt(row, files) for row in rows)


def _known(row: Kept) -> Learnt:
    return Learnt(thread=row.extracted.thread, updated=moment(row.extracted.updated), uses=row.uses)


def _learnt(row: Kept, files: Mapping[str, str]) -> Learnt:
    extracted = row.extracted
    path = files.get(extracted.thread, "")
    raw = parse(extracted.raw_memory)
    source = Source(path=path, thread=extracted.thread, updated=moment(extracted.updated), cwd=extracted.cwd, rollout=extracted.path)
    works: dict[tuple[str, str], Done] = {}
    facts: list[Fact] = []
    withheld = 0
    for task in raw.tasks or (Task(name=raw.description or _first(extracted.rollout_summary), keywords=raw.keywords),):
        title = _clean(task.name or raw.description or _first(extracted.rollout_summary))[:_TITLE].rstrip() or "A session"
        withheld += _ordering(title)
        title = "A session" if _ordering(title) else title
        found, left = _facts(task, extracted, title)
        withheld += left
        home = place(extracted, task.scope, task.cwd)
        for where in dict.fromkeys([home, *(fact.place for fact in found)]):
            words = tuple(dict.fromkeys(filter(None, (_clean(word) for word in task.keywords if not _ordering(word)))))[:KEYWORDS_KEPT]
            outcome = task.outcome if raw.tasks else None
            works.setdefault((where, title), Done(place=where, title=title, outcome=outcome, source=source, keywords=words))
        facts += found
    done = tuple(works.values())
    return Learnt(thread=extracted.thread, updated=source.updated, uses=row.uses, works=done, facts=tuple(facts), withheld=withheld)


def _facts(task: Task, row: Extracted, title: str) -> tuple[list[Fact], int]:
    facts, withheld = [], 0
    for name in LISTS:
        for each in _bullets(task, name):
            if _ordering(each.text) or (each.proof != "said" and grants(each.text)):
                withheld += 1
                continue
            text = _clean(absolute(each.text, float(row.updated)))
            if text:
                entry = Entry(text=text, proof=each.proof, date=each.date, support=(row.thread,))
                facts.append(Fact(place=place(row, each.scope or task.scope, task.cwd), into=name, title=title, entry=entry))
    return facts, withheld


def _bullets(task: Task, name: List) -> Sequence[Bullet]:
    found: tuple[Bullet, ...] = getattr(task, name)
    return found


def _ordering(text: str) -> bool:
    return bool(signs_of_orders(text))


def _clean(text: str) -> str:
    """Remove secrets, scaffold, invisible characters, and tags at the end that only memorist may
    set.
    """
    plain = redact(neutralise(visible(" ".join(text.split())))).text
    return read_entry(plain, ()).text


def _first(text: str) -> str:
    """Return the first line with content, without heading marks."""
    return next((_HEADING.sub("", line).strip() for line in text.split("\n") if line.strip()), "")

"""The single gate that every write to memory passes (SF-1, SF-2).

Pure: change and context in, verdict out. Secrets and invisible characters are removed. The origin
is derived from the session and recorded here, whatever the writer claims. A memory that speaks for
the user needs the user's own words; an instruction from outside never becomes one of the user's.
Doubtful changes are not lost: they go to the inbox with their reasons.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.changes import Actor, Change, bad_path
from memorist.auto_memory.evidence import MIN_QUOTE, Evidence, bears_on, borrowed, comes_from_outside, plain, quoted_in
from memorist.auto_memory.kinds import ABOUT_THE_PERSON, Trust
from memorist.auto_memory.manifest import too_large
from memorist.auto_memory.shared import Shared, contradicted, is_shared, not_for_a_team
from memorist.auto_memory.shown import BY_PERSON, doubts, orders, seal, told, unbacked_grant
from memorist.auto_memory.topic import Provenance, Topic, encode, parse, with_header, with_provenance
from memorist.safety.folding import fold
from memorist.safety.granting import waives
from memorist.safety.hidden import hidden, visible
from memorist.safety.instructing import instructs
from memorist.safety.secrets import redact

BY_A_PERSON: frozenset[Actor] = frozenset({"user", "inbox", "undo"})
"""Actors that are the user: no further evidence is required."""
BY_A_MODEL: frozenset[Actor] = frozenset({"extraction", "agent", "dream"})
"""Actors that may follow instructions in the last text they read."""
UNASKED: frozenset[Actor] = frozenset({"said", "extraction", "agent", "dream", "import"})
"""Actors that the user has not asked to share anything with the team."""


class Accepted(Struct, frozen=True):
    """The change may be written as it stands here; `remarks` says what was removed."""

    change: Change
    trust: Trust
    remarks: tuple[str, ...] = ()


class Doubtful(Struct, frozen=True):
    """The change waits in the inbox for the user's decision."""

    change: Change
    trust: Trust
    reasons: tuple[str, ...]


class Refused(Struct, frozen=True):
    """The change is neither made nor kept."""

    path: str
    reasons: tuple[str, ...]


Verdict = Accepted | Doubtful | Refused


class Case(Struct, frozen=True, kw_only=True):
    """The context in which a change is judged."""

    actor: Actor
    said: Evidence = Evidence()
    now: str = ""
    """ISO 8601, UTC."""
    reviewed: Collection[str] = ()
    """Content seals of memories that the user has accepted."""
    present: Collection[str] = ()
    """Existing paths, for writes by a model: a name that looks like one of them is refused."""
    shared: Sequence[Shared] = ()
    """The team's memories, which a private memory may not silently contradict (TM-1)."""


def fingerprint(text: str) -> str:
    """Hash a memory's text below its header; equal up to white space."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()[:32]


def judge(change: Change, case: Case) -> Verdict:
    """Judge one change."""
    problem = _unwritable(change, case)
    if problem:
        return Refused(change.path, (problem,))
    if change.after is None:
        return _removal(change, case)
    topic = parse(change.path, change.after)
    shown, remarks = _cleaned(topic)
    problem = "" if shown.body.strip() else "it would be empty"
    if case.actor == "team":
        problem = problem or not_for_a_team(shown.kind)
    if problem:
        return Refused(change.path, (problem,))
    shown, remarks = _unpinned(shown, change, case, remarks)
    trust, provenance = _origin(shown, change, case)
    # From here on only the cleaned text with the proven origin counts; `topic` is still the raw
    # text, in which hidden orders can be seen.
    made = with_provenance(shown, provenance)
    cleaned = Change(path=change.path, before=change.before, after=encode(made.text()))
    clash = _against_the_team(made, change, case)
    if case.actor in BY_A_PERSON:
        return Accepted(cleaned, trust, (*remarks, *clash))
    proven = change.path in case.said.proven
    reasons = (*(() if proven else clash), *_published(change, case))
    reasons += () if proven or case.actor == "team" else _overwrites(made, change, trust)
    if seal(made) not in case.reviewed:
        reasons = (*orders(topic), *reasons, *(() if proven else _unbacked(made, change, trust, case)))
    return Doubtful(cleaned, trust, (*reasons, *remarks)) if reasons else Accepted(cleaned, trust, remarks)


def _unwritable(change: Change, case: Case) -> str:
    """Find out why a model's change can never become a memory.

    Such a change is refused alone and does not affect the others of the same answer.
    """
    if case.actor not in BY_A_MODEL:
        return ""
    problem = bad_path(change.path, frozenset(case.present))
    if problem:
        return problem
    if size := too_large(len(change.after or b"")):
        return f"it would have {size}"
    mine = fold(change.path).text
    twin = next((path for path in case.present if path != change.path and fold(path).text == mine), "")
    return f"there is {twin}, and the two names look alike" if twin else ""


def _unpinned(topic: Topic, change: Change, case: Case, remarks: tuple[str, ...]) -> tuple[Topic, tuple[str, ...]]:
    """Remove a pin set by a model: only the user pins."""
    if case.actor not in BY_A_MODEL or not topic.pinned or (change.before is not None and parse(change.path, change.before).pinned):
        return topic, remarks
    return with_header(topic, {"pinned": None}), (*remarks, "its pin was taken out")


def _removal(change: Change, case: Case) -> Verdict:
    before = parse(change.path, change.before or b"").provenance.trust
    published = _published(change, case)
    if published:
        return Doubtful(change, before, published)
    if case.actor in BY_A_PERSON or case.actor in ("said", "import", "team") or change.path in case.said.proven:
        return Accepted(change, before)
    if case.actor == "dream" and before not in BY_PERSON:
        return Accepted(change, before)
    return Doubtful(change, before, ("it would delete a memory, and the user did not ask for it",))


def _cleaned(topic: Topic) -> tuple[Topic, tuple[str, ...]]:
    """Remove secrets and invisible characters from header and text."""
    text = topic.text()
    remarks = []
    if hidden(text):
        text = visible(text)
        remarks.append("characters that cannot be seen were taken out")
    redacted = redact(text)
    if redacted.rules:
        remarks.append("taken out as secret: " + ", ".join(sorted(set(redacted.rules))))
        text = redacted.text
    return (parse(topic.path, encode(text)) if remarks else topic), tuple(remarks)


def _origin(topic: Topic, change: Change, case: Case) -> tuple[Trust, Provenance]:
    """Determine the text's origin as far as the session proves it; the writer's claims are ignored.
    """
    claimed = topic.provenance
    before = parse(change.path, change.before).provenance if change.before is not None else Provenance()
    # Code quotes from the message itself, so any length will do; a model's quote must be long
    # enough to prove something.
    shortest = 1 if case.actor == "said" else MIN_QUOTE
    # The previous version's quote is no evidence for what is new in this one.
    new_words = bool(claimed.quote) and plain(claimed.quote) != plain(before.quote)
    messages = quoted_in(claimed.quote, case.said, shortest=shortest) if new_words else ()
    if messages and case.actor != "said" and not bears_on(claimed.quote, told(topic)):
        messages = ()
    same = change.before is not None and told(parse(change.path, change.before)) == told(topic)
    trust: Trust
    if case.actor in BY_A_PERSON:
        trust, quote = (before.trust if same and before.trust is not Trust.UNKNOWN else Trust.REVIEWED), claimed.quote
    elif messages:
        trust, quote = Trust.STATED, claimed.quote
    elif same or (change.path in case.said.proven and change.before is not None):
        trust, quote, messages = before.trust, before.quote, before.messages
    else:
        trust, quote = _unquoted(topic, case), ""
        if trust is Trust.DERIVED and before.trust in (Trust.OUTSIDE, Trust.UNKNOWN) and change.before is not None:
            trust = before.trust  # rewording does not improve the origin
    provenance = replace(
        before,
        session=case.said.session or before.session or (claimed.session if case.actor in BY_A_PERSON else ""),
        messages=messages or (claimed.messages if case.actor in BY_A_PERSON else before.messages),
        quote=quote,
        created=before.created or case.now,
        verified=case.now,
        status=claimed.status if claimed.status in ("active", "superseded") else "active",
        trust=trust,
    )
    return trust, provenance


def _published(change: Change, case: Case) -> tuple[str, ...]:
    return (
        ("others of the team would read it, and the user did not ask to share it",)
        if case.actor in UNASKED and is_shared(change.path)
        else ()
    )


def _against_the_team(topic: Topic, change: Change, case: Case) -> tuple[str, ...]:
    """Report a conflict with a team memory, unless the content did not change."""
    if is_shared(change.path) or (change.before is not None and _same(parse(change.path, change.before), topic)):
        return ()
    path = contradicted(topic.body, case.shared)
    return (f"the team's memory {path} says otherwise",) if path else ()


def _unquoted(topic: Topic, case: Case) -> Trust:
    if case.actor == "import":
        return Trust.IMPORTED
    if case.actor == "team":
        return Trust.TEAM
    return Trust.OUTSIDE if comes_from_outside(topic.body, case.said) or comes_from_outside(told(topic), case.said) else Trust.DERIVED


def _overwrites(topic: Topic, change: Change, trust: Trust) -> tuple[str, ...]:
    before = parse(change.path, change.before) if change.before is not None else None
    if before is None or before.provenance.trust not in BY_PERSON:
        return ()
    new_words = trust is Trust.STATED and plain(topic.provenance.quote) != plain(before.provenance.quote)
    if new_words or _same(before, topic):
        return ()
    return ("it would change what the user stated, without new words of the user",)


def _unbacked(topic: Topic, change: Change, trust: Trust, case: Case) -> tuple[str, ...]:
    reasons = []
    before = parse(change.path, change.before) if change.before is not None else None
    unchanged = before is not None and _same(before, topic)
    if topic.kind in ABOUT_THE_PERSON and trust in (Trust.DERIVED, Trust.OUTSIDE, Trust.UNKNOWN) and not unchanged:
        reasons.append(f"a memory of kind {topic.kind} speaks for the person, and no words of the person are quoted that say it")
    elif not unchanged and _told_from_outside(topic, before, trust, case):
        reasons.append("it tells the reader what to do, and it came from a tool, a web page, another agent or a team mate")
    return (*reasons, *(() if unchanged else unbacked_grant(topic, trust)))


def _told_from_outside(topic: Topic, before: Topic | None, trust: Trust, case: Case) -> bool:
    """Whether any part that came from outside tells the reader what to do."""
    text = told(topic)
    known = plain(told(before)) if before is not None else ""
    taken = (sentence for sentence in borrowed(text, case.said) if plain(sentence) not in known)
    if trust is Trust.TEAM and waives(text):
        return True
    return (trust is Trust.OUTSIDE and _binds(text)) or any(map(_binds, taken))


def _binds(text: str) -> bool:
    return instructs(text) or waives(text)


def _same(one: Topic, other: Topic) -> bool:
    """Whether two states of a memory agree in everything that decides what it says and whether it
    is shown.
    """
    return (told(one), one.kind, one.provenance.status, one.pinned) == (told(other), other.kind, other.provenance.status, other.pinned)


def unsafe(topic: Topic, reviewed: Collection[str], trust: Trust | None = None) -> tuple[str, ...]:
    """Find out why a memory on disk is not shown to a model; empty when it may be.

    Checked at load, since files can be changed without passing the gate. `trust` overrides the
    file's own claim where that is not to be believed.
    """
    found = doubts(topic, trust)
    return () if found and seal(topic) in reviewed else found


def merged_reasons(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Collect the reasons of all verdicts that are not acceptance, each once, in order."""
    found = [reason for verdict in verdicts if not isinstance(verdict, Accepted) for reason in verdict.reasons]
    return tuple(dict.fromkeys(found))

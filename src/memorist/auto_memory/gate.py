"""The one gate that every write to memory passes (SF-1, SF-2). Pure: a change and what stands behind it in, a verdict out.

Secrets are taken out, what cannot be seen is taken out, the origin is proved from the session and written down by us whatever the writer says of
itself. What speaks for the person needs the person's own words; an order that came from elsewhere never becomes one of ours. What is doubtful is not
lost: it goes to the inbox with the reasons.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.changes import Actor, Change
from memorist.auto_memory.evidence import MIN_QUOTE, Evidence, comes_from_outside, plain, quoted_in
from memorist.auto_memory.kinds import ABOUT_THE_PERSON, Trust
from memorist.auto_memory.topic import Provenance, Topic, encode, parse, with_provenance
from memorist.safety.hidden import hidden, visible
from memorist.safety.instructing import instructs
from memorist.safety.orders import planted
from memorist.safety.secrets import redact

BY_A_PERSON: frozenset[Actor] = frozenset({"user", "inbox", "undo"})
"""Writers that are the person: their word needs no second one."""


class Accepted(Struct, frozen=True):
    """The change may be written as it stands here; `remarks` say what was taken out."""

    change: Change
    trust: Trust
    remarks: tuple[str, ...] = ()


class Doubtful(Struct, frozen=True):
    """The change waits for the person."""

    change: Change
    trust: Trust
    reasons: tuple[str, ...]


class Refused(Struct, frozen=True):
    """The change is not made and not kept."""

    path: str
    reasons: tuple[str, ...]


Verdict = Accepted | Doubtful | Refused


class Case(Struct, frozen=True, kw_only=True):
    """What a change is judged by."""

    actor: Actor
    said: Evidence = Evidence()
    now: str = ""
    """ISO 8601, UTC."""
    reviewed: Collection[str] = ()
    """Fingerprints of texts that the person accepted before."""


def fingerprint(text: str) -> str:
    """A name for a memory's text below its header, by which an accepted one is known again."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()[:32]


def judge(change: Change, case: Case) -> Verdict:
    """Judge one change."""
    if change.after is None:
        return _removal(change, case)
    topic = parse(change.path, change.after)
    shown, remarks = _cleaned(topic)
    if not shown.body.strip():
        return Refused(change.path, ("it would be empty",))
    trust, provenance = _origin(shown, change, case)
    made = with_provenance(shown, provenance)
    cleaned = Change(path=change.path, before=change.before, after=encode(made.text()))
    if case.actor in BY_A_PERSON or fingerprint(made.body) in case.reviewed:
        return Accepted(cleaned, trust, remarks)
    reasons = (*_orders(topic), *_unbacked(made, change, trust, case.actor))
    return Doubtful(cleaned, trust, (*reasons, *remarks)) if reasons else Accepted(cleaned, trust, remarks)


def _removal(change: Change, case: Case) -> Verdict:
    before = parse(change.path, change.before or b"").provenance.trust
    if case.actor in BY_A_PERSON or case.actor in ("said", "dream", "import"):
        return Accepted(change, before)
    return Doubtful(change, before, ("it would delete a memory, and the person did not ask for it",))


def _cleaned(topic: Topic) -> tuple[Topic, tuple[str, ...]]:
    """The memory without secrets and without what cannot be seen, header and text."""
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
    """Where the text comes from, as far as the session proves it; what the writer claims in our key is not believed."""
    claimed = topic.provenance
    before = parse(change.path, change.before).provenance if change.before is not None else Provenance()
    # What was found by code stands in the message, however short it is; a model's quote must be long enough to prove something.
    shortest = 1 if case.actor == "said" else MIN_QUOTE
    # The quote of the memory as it was proves nothing for what is new in it.
    new_words = bool(claimed.quote) and plain(claimed.quote) != plain(before.quote)
    messages = quoted_in(claimed.quote, case.said, shortest=shortest) if new_words else ()
    same = change.before is not None and parse(change.path, change.before).body == topic.body
    trust: Trust
    if case.actor in BY_A_PERSON:
        trust, quote = (before.trust if same and before.trust is not Trust.UNKNOWN else Trust.REVIEWED), claimed.quote
    elif messages:
        trust, quote = Trust.STATED, claimed.quote
    elif same:
        trust, quote, messages = before.trust, before.quote, before.messages
    else:
        trust, quote = _unquoted(topic, case), ""
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


def _unquoted(topic: Topic, case: Case) -> Trust:
    if case.actor == "import":
        return Trust.IMPORTED
    if case.actor == "dream":
        return Trust.DERIVED
    return Trust.OUTSIDE if comes_from_outside(topic.body, case.said) else Trust.DERIVED


def _orders(topic: Topic) -> tuple[str, ...]:
    """Signs of a planted order; looked for in the text as it came, since what hides it is a sign itself."""
    found = planted(topic.text())
    return tuple(f"it reads like an order planted for an agent ({rule})" for rule in sorted({finding.rule for finding in found}))


def _unbacked(topic: Topic, change: Change, trust: Trust, actor: Actor) -> tuple[str, ...]:
    reasons = []
    before = parse(change.path, change.before) if change.before is not None else None
    stated = before is not None and before.provenance.trust in (Trust.STATED, Trust.REVIEWED)
    if before is not None and stated and before.body != topic.body and trust is not Trust.STATED and actor != "dream":
        reasons.append("it would change what the person stated, without new words of the person")
    if (
        topic.kind in ABOUT_THE_PERSON
        and trust in (Trust.DERIVED, Trust.OUTSIDE)
        and not (before is not None and before.body == topic.body)
    ):
        reasons.append(f"a memory of kind {topic.kind} speaks for the person, and no words of the person are quoted that say it")
    elif trust is Trust.OUTSIDE and instructs(topic.body):
        reasons.append("it tells the reader what to do, and it came from a tool, a web page or another agent")
    return tuple(reasons)


def unsafe(topic: Topic, reviewed: Collection[str]) -> tuple[str, ...]:
    """Why a memory on disk is not shown to a model; empty when it may be. The check at load: files can be changed past the gate."""
    if fingerprint(topic.body) in reviewed:
        return ()
    return _orders(topic)


def merged_reasons(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """All reasons of the verdicts that are not acceptance, each once, in order."""
    found = [reason for verdict in verdicts if not isinstance(verdict, Accepted) for reason in verdict.reasons]
    return tuple(dict.fromkeys(found))

"""Decide what of a model's consolidation may stand. Pure (RO-5, SF-2).

The model may word, join and order what the sessions prove; it may neither add claims nor lose any.
Claims it left out although their sessions are present are restored. A forbidden change rejects its
whole work: the structural consolidation is then used, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.said_same import ALIKE, nearest
from memorist.rollouts.compose import compose
from memorist.rollouts.hand_edits import OWN_PROFILE, Files
from memorist.rollouts.handbook import HANDBOOK, LISTS, Entry, Group, Handbook, List, Work
from memorist.rollouts.handbook_reading import parse as parse_handbook
from memorist.rollouts.merging import ENTRIES, fitting, key_of
from memorist.rollouts.overview import PROFILE_WORDS, SUMMARY, Summary, invalid
from memorist.rollouts.overview import parse as parse_summary
from memorist.safety.granting import grants
from memorist.safety.hidden import visible
from memorist.safety.orders import signs_of_orders
from memorist.safety.secrets import redact

LOSS = 0.5
"""Share of the claims that a model may leave out before its work is rejected.

Our choice: joining near duplicates is its task, emptying the file is not.
"""
_FEW = 4
"""So few claims that any share may be left out, and is restored."""
GROWTH = 20_000
"""Bytes by which a file may exceed twice the draft's size: a summary grows by words, not by floods.
"""
_RELATED = 0.3
"""Share of common words, given a common session, above which a claim counts as reworded.

Lower than `said_same.ALIKE`, since a loss is restored.
"""
_LINE = 2_000


class Void(Struct, frozen=True):
    """The model's work is rejected."""

    why: str


class Accepted(Struct, frozen=True, kw_only=True):
    """The files as they are to be written."""

    files: Files
    put_back: int = 0
    """Claims that the model had left out."""
    unsupported: int = 0
    """Claims of the model without a session; they were removed."""
    ignored: tuple[str, ...] = ()
    """Other files that it wrote."""


def accept(draft: Files, made: Mapping[str, bytes | None]) -> Accepted | Void:
    """Judge what a model made of the draft.

    `model_files` holds the files it changed, by path in the folder; None for one it deleted.
    """
    ignored = tuple(sorted(path for path in made if path not in (HANDBOOK, SUMMARY)))
    texts: dict[str, str] = {}
    for path, data in made.items():
        if path not in ignored:
            text, why = _read(path, data)
            if why:
                return Void(why)
            texts[path] = text
    summary = _summary(draft.summary, texts.get(SUMMARY, ""))
    if isinstance(summary, Void):
        return summary
    merging = _Merging(draft.handbook)
    handbook = merging.merged(parse_handbook(texts[HANDBOOK])) if HANDBOOK in texts else draft.handbook
    if merging.void:
        return Void(merging.void)
    whole = Files(handbook, compose(handbook, summary, ()))
    return Accepted(files=whole, put_back=merging.put_back, unsupported=merging.unsupported, ignored=ignored)


def _read(path: str, data: bytes | None) -> tuple[str, str]:
    """Return a file's text, and why it is unacceptable as a whole."""
    if data is None or not data.strip():
        return "", f"it left {path} empty"
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        return "", f"{path} is no UTF-8"
    found = redact(text).rules
    if found:
        return "", f"there is a secret in {path} ({found[0]})"
    return visible(text), ""


def too_large(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return why a file is too large to be examined, in one sentence; empty if it is not."""
    most = 2 * len(before or b"") + GROWTH
    return f"{path} has {len(after or b''):,} bytes, more than a consolidation can come to ({most:,})" if len(after or b"") > most else ""


def _summary(draft: Summary, text: str) -> Summary | Void:
    """Return the draft with the model's profile and its wording of topics."""
    if not text:
        return draft
    problem = invalid(text)
    if problem:
        return Void(f"{SUMMARY} is not valid: {problem}")
    made = parse_summary(text)
    known = {topic.text for topic in draft.topics}
    if made.profile != draft.profile and (_ordering(made.profile) or len(made.profile.split()) > PROFILE_WORDS):
        return Void("its profile of the user is too long or reads like an order")
    new = [topic for topic in made.topics if topic.text not in known]
    if any(_ordering(topic.text) or len(topic.text) > _LINE for topic in new):
        return Void("a topic in the summary reads like an order planted for an agent, or is too long")
    profile = draft.profile if draft.profile.endswith(OWN_PROFILE) else made.profile.removesuffix(OWN_PROFILE).strip()
    return replace(draft, profile=profile, topics=made.topics)


def _ordering(text: str) -> bool:
    return bool(signs_of_orders(text)) or grants(text)


class _Merging:
    """Compares the model's handbook with the draft, group by group."""

    def __init__(self, draft: Handbook) -> None:
        self._draft = draft
        self.put_back = 0
        self.unsupported = 0
        self.void = ""

    def merged(self, made: Handbook) -> Handbook:
        """Return the acceptable handbook; `rejection` says why none of it is acceptable."""
        titles = [group.title for group in made.groups]
        drafted = {group.title: group for group in self._draft.groups}
        strange = next((title for title in titles if title not in drafted), None)
        if strange is not None or len(set(titles)) < len(titles):
            self.void = f"it made a task group that no session is from ({strange or titles[0]})"
            return self._draft
        groups = {group.title: self._group(drafted[group.title], group) for group in made.groups}
        claims = sum(entry.by == "sessions" for group in self._draft.groups for name in LISTS for entry in group.entries(name))
        self.put_back += sum(len(group.entries(name)) for title, group in drafted.items() if title not in groups for name in LISTS)
        if not self.void and (self.put_back > max(_FEW, LOSS * claims) or self.put_back == claims > 1):
            self.void = f"it left out {self.put_back} of {claims} claims whose sessions are there"
        return replace(self._draft, groups=tuple(groups.get(group.title, group) for group in self._draft.groups))

    def _group(self, draft: Group, made: Group) -> Group:
        if made.raw == (draft.raw or None) or _same(draft, made):
            return draft
        known = {name: draft.entries(name) for name in LISTS}
        if any(len(made.entries(name)) > 2 * max(ENTRIES, len(known[name])) for name in LISTS):
            self.void = f"it lists more claims in {draft.title} than a list may hold"
            return draft
        lists = {name: [*self._claims(draft, made, name)] for name in LISTS}
        everything = [entry for entries in lists.values() for entry in entries]
        for name in LISTS:
            missing = [entry for entry in known[name] if not _covered(entry, everything)]
            self.put_back += sum(entry.by == "sessions" for entry in missing)
            lists[name] += missing
        kept = {name: fitting(_own_first(lists[name]), max(ENTRIES, len(known[name]))) for name in LISTS}
        works = {work.number: work for work in made.works}
        worded = tuple(self._work(work, works.get(work.number)) for work in draft.works)
        scope = made.scope if made.scope and not _ordering(made.scope) else draft.scope
        return replace(draft, scope=" ".join(scope.split())[:_LINE], works=worded, raw="", **kept)

    def _work(self, draft: Work, made: Work | None) -> Work:
        """Return a task in the model's words, with its true sessions and outcome."""
        if made is None or not made.title.strip() or len(made.title) > 300:
            return draft
        if made.title != draft.title and _ordering(made.title):
            self.void = "the name of a task reads like an order planted for an agent"
        words = tuple(word for word in made.keywords if word in draft.keywords or (len(word) <= 80 and not _ordering(word)))
        return replace(draft, title=made.title, keywords=words[:40] or draft.keywords)

    def _claims(self, draft: Group, made: Group, name: List) -> Sequence[Entry]:
        everything = [entry for each in LISTS for entry in draft.entries(each)]
        by_key = {key_of(entry.text): entry for entry in everything}
        found: dict[tuple[str, ...], Entry] = {}
        for entry in made.entries(name):
            key = key_of(entry.text)
            known = by_key.get(key)
            claim = self._claim(entry, known, draft, everything)
            if claim is not None and key not in found:
                found[key] = claim
        return list(found.values())

    def _claim(self, entry: Entry, known: Entry | None, draft: Group, everything: Sequence[Entry]) -> Entry | None:
        """Return one claim of the model with the proof that the sessions give it; None if it has
        none.
        """
        if known is not None and known.by != "sessions":
            return known
        if known is not None:
            support = tuple(sorted({*known.support, *(thread for thread in entry.support if thread in draft.threads)}))
            return replace(known, text=entry.text if len(entry.text) <= _LINE else known.text, support=support)
        support = tuple(thread for thread in entry.support if thread in draft.threads)
        if not support or len(entry.text) > _LINE:
            self.unsupported += 1
            return None
        if _ordering(entry.text):
            self.void = "a claim reads like an order planted for an agent"
        near = [each for each in everything if set(each.support) & set(support)]
        alike = nearest(entry.text, [each.text for each in near], least=ALIKE)
        if alike is None:
            return Entry(text=entry.text, proof="inferred", support=support, works=entry.works)
        return Entry(text=entry.text, proof=near[alike.index].proof, date=near[alike.index].date, support=support, works=entry.works)


def _same(draft: Group, made: Group) -> bool:
    return replace(draft, raw="") == replace(made, raw="")


def _covered(entry: Entry, made: Sequence[Entry]) -> bool:
    """Tell whether a claim of the draft is among the model's: in its own words, or reworded on the
    same sessions.
    """
    key = key_of(entry.text)
    same = [each for each in made if key_of(each.text) == key]
    if same or entry.by != "sessions":
        return any(each.by == entry.by for each in same)
    near = [each.text for each in made if each.by == "sessions" and (set(each.support) & set(entry.support) or not entry.support)]
    return nearest(entry.text, near, least=_RELATED) is not None


def _own_first(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.by == "sessions"))

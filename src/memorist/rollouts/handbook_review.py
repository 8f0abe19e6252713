"""Decide what of a model's consolidation may stand. Pure (RO-5, SF-2).

The model may word, join and order what the sessions prove; it may neither add claims nor lose any.
Claims it left out although their sessions are present are restored. A line that may not stand goes
and the draft's stands in its place; the rest of the work is used. Where nothing of it is left, or a
line orders agents about, which shows that a session took the model over, the structural
consolidation is used, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.quotation_proof import split_sentences_by_line
from memorist.auto_memory.statements.statement_similarity import (
    MIN_EXAMINED_JACCARD,
    find_most_similar_text,
)
from memorist.rollouts.hand_edits import USER_PROFILE_MARK, ParsedHandbookAndSummary
from memorist.rollouts.handbook import (
    ENTRY_LISTS,
    HANDBOOK_FILE,
    EntryList,
    Handbook,
    HandbookClaim,
    HandbookGroup,
    HandbookTask,
)
from memorist.rollouts.handbook_line_check import ModelWrittenLineReview
from memorist.rollouts.handbook_parser import parse_handbook
from memorist.rollouts.session_claims import (
    MAX_LIST_ENTRIES,
    MAX_MERGED_KEYWORDS,
    limit_entries_keeping_user_notes,
)
from memorist.rollouts.skill_procedures import SKILLS_FOLDER, keep_model_skill_if_proven
from memorist.rollouts.summary_composition import (
    MAX_PROFILE_WORDS,
    SUMMARY_FILE,
    MemorySummary,
    SummaryTopic,
    find_summary_problem,
    parse_memory_summary,
    update_summary_from_handbook,
)
from memorist.rollouts.superseded_claims import build_claim_comparison_key
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.secrets import redact
from memorist.store.extract_rows import RolloutExtract

MAX_LOSS_SHARE = 0.5
"""Share of the claims that a model may leave out before its work is rejected.

Our choice: joining near duplicates is its task, emptying the file is not.
"""
_FEW_CLAIMS = 4
"""So few claims that any share may be left out, and is restored."""
MAX_GROWTH_BYTES = 20_000
"""Bytes by which a file may exceed twice the draft's size: a summary grows by words, not by floods.
"""
_MIN_SHARED_WORDS = 0.3
"""Share of common words, given a common session, above which a claim counts as reworded.

Lower than `statement_similarity.MIN_EXAMINED_JACCARD`, since a loss is restored.
"""
_MAX_LINE_CHARACTERS = 2_000
_DESCRIPTION = "desc:"
"""What a topic is about, so that it may say the request again."""


class HandbookEditsRejection(Struct, frozen=True):
    """Nothing of the model's work may stand."""

    why: str


class AcceptedHandbookEdits(Struct, frozen=True, kw_only=True):
    """The files as they are to be written."""

    files: ParsedHandbookAndSummary
    restored_claim_count: int = 0
    """Claims that the model had left out."""
    unsupported: int = 0
    """Claims of the model without a session; they were removed."""
    ignored: tuple[str, ...] = ()
    """Other files that it wrote."""
    skills: Mapping[str, bytes] = {}
    """Drafts of skills, by path."""
    dropped: tuple[str, ...] = ()
    """What may not stand of the rest of its work, one clause each."""


def review_model_handbook_edits(
    draft: ParsedHandbookAndSummary,
    model_files: Mapping[str, bytes | None],
    rows: Sequence[RolloutExtract] = (),
) -> AcceptedHandbookEdits | HandbookEditsRejection:
    """Judge what a model made of the draft.

    `model_files` holds the files it changed, by path in the folder; None for one it deleted. `rows`
    are the sessions that may prove what a skill says.
    """
    skills = {
        path: skill
        for path, data in sorted(model_files.items())
        if path.startswith(SKILLS_FOLDER)
        and (skill := keep_model_skill_if_proven(path, data, rows))
    }
    files = (HANDBOOK_FILE, SUMMARY_FILE)
    ignored = tuple(sorted(path for path in model_files if path not in (*files, *skills)))
    dropped: list[str] = []
    texts = {
        path: _read_file(path, data, dropped) for path, data in model_files.items() if path in files
    }
    lines = ModelWrittenLineReview(draft, rows, dropped)
    summary = _review_summary(draft.summary, texts.get(SUMMARY_FILE, ""), lines)
    merging = _HandbookReview(draft.handbook, lines)
    handbook = (
        merging.review(parse_handbook(texts[HANDBOOK_FILE]))
        if texts.get(HANDBOOK_FILE)
        else draft.handbook
    )
    if lines.planted:
        return HandbookEditsRejection(lines.planted)
    if dropped and not skills and summary == draft.summary and _say_same(handbook, draft.handbook):
        return HandbookEditsRejection(dropped[0])
    handbook = replace(handbook, groups=tuple(map(_limit_lists, handbook.groups)))
    whole = ParsedHandbookAndSummary(handbook, update_summary_from_handbook(handbook, summary, ()))
    return AcceptedHandbookEdits(
        files=whole,
        restored_claim_count=merging.restored,
        unsupported=merging.unsupported,
        ignored=ignored,
        skills=skills,
        dropped=tuple(dict.fromkeys(dropped)),
    )


def _say_same(handbook: Handbook, draft: Handbook) -> bool:
    """Whether two handbooks hold the same tasks and claims, in whatever order."""
    return all(
        group.works == drafted.works
        and all(
            set(group.entries_in_list(name)) == set(drafted.entries_in_list(name))
            for name in ENTRY_LISTS
        )
        for group, drafted in zip(handbook.groups, draft.groups, strict=True)
    )


def _read_file(path: str, data: bytes | None, dropped: list[str]) -> str:
    """A file's text without the lines that hold a secret; empty where none of it may stand."""
    if data is None or not data.strip():
        dropped.append(f"it left {path} empty")
        return ""
    try:
        text = strip_hidden_characters(data.decode("utf-8").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        dropped.append(f"{path} is no UTF-8")
        return ""
    if found := redact(text).rules:
        dropped.append(f"there is a secret in {path} ({found[0]})")
        text = "\n".join(line for line in text.split("\n") if not redact(line).rules)
    return "" if redact(text).rules else text


def find_excessive_growth_problem(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return why a file is too large to be examined, in one sentence; empty if it is not."""
    most = 2 * len(before or b"") + MAX_GROWTH_BYTES
    if len(after or b"") > most:
        return (
            f"{path} has {len(after or b''):,} bytes, "
            f"more than a consolidation can come to ({most:,})"
        )
    return ""


def _review_summary(
    draft: MemorySummary, text: str, lines: ModelWrittenLineReview
) -> MemorySummary:
    """Return the draft with the model's profile and its wording of topics, as far as they may
    stand.
    """
    if not text:
        return draft
    problem = find_summary_problem(text)
    if problem:
        lines.dropped.append(f"{SUMMARY_FILE} is not valid: {problem}")
        return draft
    summary = parse_memory_summary(text)
    profile = summary.profile.removesuffix(USER_PROFILE_MARK).strip()
    if draft.profile.endswith(USER_PROFILE_MARK):
        profile = draft.profile
    elif len(profile.split()) > MAX_PROFILE_WORDS:
        lines.dropped.append("its profile of the user is too long")
        profile = draft.profile
    else:
        profile = lines.drop_refused_sentences(profile, draft.profile, "its profile of the user")
    drafted = {_topic_title(topic): topic for topic in draft.topics}
    topics = []
    for topic in summary.topics:
        known = drafted.get(_topic_title(topic))
        if topic in (known, *draft.topics) or _is_good_topic(topic, known, lines):
            topics.append(topic)
        elif known is not None:
            topics.append(known)
    return replace(draft, profile=profile, topics=tuple(topics))


def _is_good_topic(
    topic: SummaryTopic, known: SummaryTopic | None, lines: ModelWrittenLineReview
) -> bool:
    """Whether each sentence of a topic may stand that the draft's does not hold."""
    if len(topic.text) > _MAX_LINE_CHARACTERS:
        lines.dropped.append("a topic in the summary is too long")
        return False
    present = known.text if known else ""
    fresh = [
        each.strip()
        for line in topic.text.split("\n")
        for each in split_sentences_by_line(line)
        if each.strip() and each.strip() not in present
    ]
    is_good = True
    for each in fresh:
        accept = (
            lines.is_line_acceptable
            if each.startswith(_DESCRIPTION)
            else lines.is_statement_acceptable
        )
        is_good &= accept(each, "a topic in the summary")
    return is_good


def _topic_title(topic: SummaryTopic) -> tuple[str, str]:
    return topic.group, topic.text.partition("\n")[0].strip()


class _HandbookReview:
    """Compares the model's handbook with the draft, group by group."""

    def __init__(self, draft: Handbook, lines: ModelWrittenLineReview) -> None:
        self._draft = draft
        self._lines = lines
        self._dropped = lines.dropped
        self.restored = 0
        self.unsupported = 0

    def review(self, reworded: Handbook) -> Handbook:
        """Return the draft with what may stand of the model's handbook."""
        drafted = {group.title: group for group in self._draft.groups}
        groups: dict[str, HandbookGroup] = {}
        for group in reworded.groups:
            title = self._find_title(group)
            if title and title not in groups:
                groups[title] = self._group(drafted[title], group)
        claims = sum(
            entry.by == "sessions" for group in self._draft.groups for entry in group.all_entries
        )
        self.restored += sum(
            len(group.all_entries) for title, group in drafted.items() if title not in groups
        )
        if self.restored > max(_FEW_CLAIMS, MAX_LOSS_SHARE * claims) or (
            self.restored == claims > 1
        ):
            self._dropped.append(
                f"it left out {self.restored} of {claims} claims whose sessions are there"
            )
            self.restored = 0
            return self._draft
        return replace(
            self._draft,
            groups=tuple(groups.get(group.title, group) for group in self._draft.groups),
        )

    def _find_title(self, reworded: HandbookGroup) -> str:
        """The title of the draft's group that a group is, by the sessions that it lists where the
        model named it otherwise; empty for none.
        """
        if self._draft.find_group(reworded.title) is not None:
            return reworded.title
        self._dropped.append(f"it made a task group that no session is from ({reworded.title})")
        threads = reworded.threads
        homes = [each.title for each in self._draft.groups if threads and threads <= each.threads]
        return homes[0] if len(homes) == 1 else ""

    def _group(self, draft: HandbookGroup, reworded: HandbookGroup) -> HandbookGroup:
        if reworded.raw == (draft.raw or None) or replace(draft, raw="") == replace(
            reworded, raw=""
        ):
            return draft
        known = {name: draft.entries_in_list(name) for name in ENTRY_LISTS}
        if any(
            len(reworded.entries_in_list(name)) > 2 * max(MAX_LIST_ENTRIES, len(known[name]))
            for name in ENTRY_LISTS
        ):
            self._dropped.append(f"it lists more claims in {draft.title} than a list may hold")
            return draft
        lists = {name: [*self._claims(draft, reworded, name)] for name in ENTRY_LISTS}
        everything = [entry for entries in lists.values() for entry in entries]
        for name in ENTRY_LISTS:
            missing = [entry for entry in known[name] if not _is_covered(entry, everything)]
            self.restored += sum(entry.by == "sessions" for entry in missing)
            lists[name] += missing
        kept = {name: _user_entries_first(lists[name]) for name in ENTRY_LISTS}
        works = {work.number: work for work in reworded.works}
        joined = _find_joined_tasks(draft.works, reworded.works)
        worded = tuple(
            self._work(_with_sessions(work, draft.works, joined), works.get(work.number))
            for work in draft.works
            if work.number not in joined
        )
        kept = {name: _renumber_tasks(entries, joined) for name, entries in kept.items()}
        scope = draft.scope
        if reworded.scope not in ("", scope) and self._lines.is_line_acceptable(
            reworded.scope, "a scope"
        ):
            scope = reworded.scope
        return replace(
            draft,
            scope=" ".join(scope.split())[:_MAX_LINE_CHARACTERS],
            works=worded,
            raw="",
            **kept,
        )

    def _work(self, draft: HandbookTask, reworded: HandbookTask | None) -> HandbookTask:
        """Return a task in the model's words, with its true sessions and outcome."""
        if reworded is None or not reworded.title.strip() or len(reworded.title) > 300:
            return draft
        if reworded.title != draft.title and not self._lines.is_line_acceptable(
            reworded.title, "the name of a task"
        ):
            return draft
        words = tuple(
            word
            for word in reworded.keywords
            if word in draft.keywords
            or (len(word) <= 80 and self._lines.is_line_acceptable(word, "a keyword"))
        )
        return replace(draft, title=reworded.title, keywords=words[:40] or draft.keywords)

    def _claims(
        self, draft: HandbookGroup, reworded: HandbookGroup, name: EntryList
    ) -> Sequence[HandbookClaim]:
        everything = draft.all_entries
        by_key = {build_claim_comparison_key(entry.text): entry for entry in everything}
        found: dict[tuple[str, ...], HandbookClaim] = {}
        for entry in reworded.entries_in_list(name):
            known = by_key.get(build_claim_comparison_key(entry.text))
            claim = self._claim(entry, known, draft, everything)
            if claim is not None:
                found.setdefault(build_claim_comparison_key(claim.text), claim)
        return list(found.values())

    def _claim(
        self,
        entry: HandbookClaim,
        known: HandbookClaim | None,
        draft: HandbookGroup,
        everything: Sequence[HandbookClaim],
    ) -> HandbookClaim | None:
        """Return one claim of the model with the proof that the sessions give it; None if it has
        none.
        """
        if known is not None and known.by != "sessions":
            return known
        support = tuple(thread for thread in entry.support if thread in draft.threads)
        if known is None and (not support or len(entry.text) > _MAX_LINE_CHARACTERS):
            self.unsupported += 1
            return None
        near = [each for each in everything if set(each.support) & set(support)]
        alike = find_most_similar_text(
            entry.text, [each.text for each in near], min_share=MIN_EXAMINED_JACCARD
        )
        if known is None and alike is not None:
            known = near[alike.index]
            if known.by != "sessions":
                return known
        if not self._lines.is_statement_acceptable(
            entry.text, "a claim", known.text if known else ""
        ):
            return known
        if known is None:
            return HandbookClaim(
                text=entry.text, proof="inferred", support=support, works=entry.works
            )
        return replace(
            known,
            text=self._lines.choose_model_or_claim_wording(entry.text, known),
            support=tuple(sorted({*known.support, *support})),
            works=tuple(sorted({*known.works, *entry.works})) if known.works else (),
        )


def _limit_lists(group: HandbookGroup) -> HandbookGroup:
    """The group with the first entries of each list that fit: the order is the model's, so it
    chose what falls.
    """
    lists = {
        name: limit_entries_keeping_user_notes(group.entries_in_list(name)) for name in ENTRY_LISTS
    }
    fallen = sum(len(group.entries_in_list(name)) - len(lists[name]) for name in ENTRY_LISTS)
    return replace(group, left_out=group.left_out + fallen, raw="", **lists) if fallen else group


def _find_joined_tasks(
    draft: Sequence[HandbookTask], reworded: Sequence[HandbookTask]
) -> dict[int, int]:
    """The tasks that a model joined to another one, by number: it took the task away and lists all
    of its sessions below the other. A task whose sessions are missing anywhere stays as it was.
    """
    stands = {work.number for work in reworded}
    known = {work.number for work in draft}
    joined: dict[int, int] = {}
    for work in draft:
        threads = {source.thread for source in work.sources}
        homes = [
            other.number
            for other in reworded
            if other.number in known and threads <= {source.thread for source in other.sources}
        ]
        if work.number not in stands and threads and homes:
            joined[work.number] = homes[0]
    return joined


def _with_sessions(
    work: HandbookTask, draft: Sequence[HandbookTask], joined: Mapping[int, int]
) -> HandbookTask:
    """The task with the sessions of those that were joined to it, newest first."""
    parts = [other for other in draft if joined.get(other.number) == work.number]
    sources = {source.thread: source for each in (work, *parts) for source in each.sources}
    ordered = sorted(sources.values(), key=lambda each: (each.updated, each.thread), reverse=True)
    words = dict.fromkeys(word for each in (work, *parts) for word in each.keywords)
    if parts:
        return replace(work, sources=tuple(ordered), keywords=tuple(words)[:MAX_MERGED_KEYWORDS])
    return work


def _renumber_tasks(
    entries: Sequence[HandbookClaim], joined: Mapping[int, int]
) -> tuple[HandbookClaim, ...]:
    return tuple(
        replace(entry, works=tuple(sorted({joined.get(number, number) for number in entry.works})))
        for entry in entries
    )


def _is_covered(entry: HandbookClaim, reworded: Sequence[HandbookClaim]) -> bool:
    """Tell whether a claim of the draft is among the model's: in its own words, or reworded on the
    same sessions.
    """
    key = build_claim_comparison_key(entry.text)
    same = [each for each in reworded if build_claim_comparison_key(each.text) == key]
    if same or entry.by != "sessions":
        return any(each.by == entry.by for each in same)
    near = [
        each.text
        for each in reworded
        if each.by == "sessions" and (set(each.support) & set(entry.support) or not entry.support)
    ]
    return find_most_similar_text(entry.text, near, min_share=_MIN_SHARED_WORDS) is not None


def _user_entries_first(entries: Sequence[HandbookClaim]) -> tuple[HandbookClaim, ...]:
    return tuple(sorted(entries, key=lambda entry: entry.by == "sessions"))

"""Stage two as a form that a model fills in: numbered claims to join or to word better, topics to
tell what was learnt, a profile. Pure (RO-5).

A small model neither copies a file nor keeps its marks; it can name numbers. Each line of its
answer is judged by itself: good ones stand, the others leave the draft as it is and are named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.statements.statement_similarity import (
    MIN_EXAMINED_JACCARD,
    find_most_similar_text,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import JsonObject
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_analysis import analyze_text
from memorist.core.text_encoding import to_printable_line
from memorist.core.token_count import estimate_text_tokens
from memorist.forks.answer_form import (
    FormTask,
    build_object_list_schema,
    build_object_schema,
    coerce_to_object_list,
    coerce_to_text_list,
    read_numbers_up_to,
)
from memorist.forks.file_tool_calls import EditFileCall, TextReplacement
from memorist.forks.text_edits import ParsedAnswerEdits
from memorist.rollouts.hand_edits import USER_PROFILE_MARK, ParsedHandbookAndSummary
from memorist.rollouts.handbook import (
    ENTRY_LISTS,
    HANDBOOK_FILE,
    EntryList,
    HandbookClaim,
    HandbookGroup,
    render_handbook,
)
from memorist.rollouts.handbook_line_check import (
    PLANTED,
    REQUEST_REPEATED,
    HandbookLineChecker,
    RepeatedRequestDetector,
    find_claim_content_lost,
    is_order_to_agent,
)
from memorist.rollouts.stage_two_prompt import StageTwoInput
from memorist.rollouts.summary_composition import (
    MAX_PROFILE_WORDS,
    SUMMARY_FILE,
    SummaryTopic,
    render_memory_summary,
)
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.secrets import redact
from memorist.transcript_analysis.answer_check import CoveredLineDetector

MAX_FORM_TOKENS = 6_000
"""Tokens of the claims and topics that one form shows: a quarter of a window of 32,000, and some
minutes of reading on a machine without a graphics card. The newest claims of the others come with
the next consolidation. Our choice.
"""
FORM_WINDOW_DIVISOR = 4
"""The claims take at most one part in so many of the window; the topics come beside them."""
MAX_CLAIM_CHANGES = 30
MAX_TOPIC_CHANGES = 12
MAX_PROFILE_SENTENCES = 6
MIN_PROFILE_CLAIMS = 2
"""Claims that have a word of a sentence about the user: so the prompt asks for it."""
_USER_WORDS = "user works uses prefers likes"
"""What only says that a sentence is about the user."""
MAX_CLAIM_WORDS = 80
MAX_LEARNINGS_WORDS = 50
"""Bounds of an answer: they end a model in a loop. Words with some room above what the prompt asks.
"""
MAX_LINE_CHARACTERS = 4_000
"""Characters that are read of a line: more than any that may stand."""
_SHOWN_LISTS: dict[EntryList, str] = {
    "preferences": "wish",
    "knowledge": "known",
    "failures": "failure",
}
_LEARNINGS = lazy_pattern(r"(?m)^(\s*- learnings:).*$")
_MARKS = lazy_pattern(r"\A(?:[-*•#>]+|\d+[.)])\s+")


class _Claim(Struct, frozen=True):
    """A claim that the form shows, and where it stands."""

    group: str
    list: EntryList
    entry: HandbookClaim


def build_handbook_form(
    task: StageTwoInput, instruction: str, *, on_refused: Callable[[str], object] = lambda _: None
) -> FormTask:
    """The form for the drafts of a task. Its edits are of the two files in the task's folder.

    An answer that orders agents about makes none, nor does one without a good line: `on_refused` is
    told why. It is not asked again, since a small model says the same once more.
    """
    claims, topics = _select_claims(task), _select_topics(task)
    material = _render_material(task, claims, topics)
    reading = _FormReading(task.draft, claims, topics, HandbookLineChecker(material, instruction))

    def read(answer: JsonObject) -> ParsedAnswerEdits:
        changed, dropped = reading.read(answer)
        if reading.planted:
            changed, dropped = task.draft, (reading.planted,)
        calls = tuple(
            EditFileCall(f"{task.folder}/{name}", (TextReplacement(before, after),))
            for name, before, after in _changed_files(task, changed)
        )
        if dropped and not calls:
            on_refused(dropped[0])
        return ParsedAnswerEdits(calls, dropped=dropped)

    return FormTask(
        instruction=instruction.strip(), material=material, schema=_build_schema(), read=read
    )


def _changed_files(
    task: StageTwoInput, changed: ParsedHandbookAndSummary
) -> Iterator[tuple[str, str, str]]:
    """Name, draft and new text of each file that differs."""
    draft = task.draft
    texts = [
        (HANDBOOK_FILE, render_handbook(draft.handbook), render_handbook(changed.handbook)),
        (
            SUMMARY_FILE,
            render_memory_summary(draft.summary),
            render_memory_summary(changed.summary),
        ),
    ]
    return (each for each in texts if each[1] != each[2])


def _build_schema() -> JsonObject:
    text: JsonObject = {"type": "string"}
    number: JsonObject = {"type": "integer"}

    properties: JsonObject = {
        "claims": build_object_list_schema(
            MAX_CLAIM_CHANGES,
            {"numbers": {"type": "array", "maxItems": 8, "items": number}, "text": text},
        ),
        "topics": build_object_list_schema(
            MAX_TOPIC_CHANGES, {"number": number, "learnings": text}
        ),
        "profile": {"type": "array", "maxItems": MAX_PROFILE_SENTENCES, "items": text},
    }
    return build_object_schema(properties)


def _select_claims(task: StageTwoInput) -> list[_Claim]:
    """The claims of the changed groups that the sessions made, as many as fit. A longer one than
    may stand could not be changed, and a small model copies it until its answer is cut off.
    """
    if task.lean:
        return []
    found: list[_Claim] = []
    left = min(MAX_FORM_TOKENS, task.window // FORM_WINDOW_DIVISOR)
    for group in task.draft.handbook.groups:
        for name in ENTRY_LISTS if group.title in task.changed_titles else ():
            for entry in group.entries_in_list(name):
                if entry.by != "sessions" or len(entry.text.split()) > MAX_CLAIM_WORDS:
                    continue
                left -= estimate_text_tokens(entry.text)
                if left >= 0:
                    found.append(_Claim(group.title, name, entry))
    return found


def _select_topics(task: StageTwoInput) -> list[SummaryTopic]:
    """The topics of the changed groups, in order."""
    topics = task.draft.summary.topics
    shown = [each for each in topics if task.lean or each.group in task.changed_titles]
    return [each for each in shown if _LEARNINGS.search(each.text)][:MAX_TOPIC_CHANGES]


def _render_material(
    task: StageTwoInput, claims: Sequence[_Claim], topics: Sequence[SummaryTopic]
) -> str:
    lines: list[str] = []
    group = ""
    for number, claim in enumerate(claims, 1):
        if claim.group != group:
            group = claim.group
            lines += ["", f"Claims of {group}:"]
        lines.append(f"{number}. ({_SHOWN_LISTS[claim.list]}) {_one_line(claim.entry.text)}")
    if topics:
        lines += ["", "Topics:"]
        lines += [f"{number}. {_one_line(each.text)}" for number, each in enumerate(topics, 1)]
    profile = task.draft.summary.profile.strip()
    lines += ["", f"The profile so far: {profile}"] if profile else []
    return redact(neutralize_markup("\n".join(lines).strip())).text


class _FormReading:
    """Reads the answers to one form."""

    def __init__(
        self,
        draft: ParsedHandbookAndSummary,
        claims: Sequence[_Claim],
        topics: Sequence[SummaryTopic],
        check: HandbookLineChecker,
    ) -> None:
        self._draft, self._claims, self._topics = draft, claims, topics
        self._check = check
        self._requests = RepeatedRequestDetector(
            (each.text.partition("\n")[0] for each in topics), (each.entry.text for each in claims)
        )
        self._lines = [CoveredLineDetector(each.entry.text) for each in claims]
        shown = [each.entry.text for each in claims] or [each.text for each in topics]
        self._stems = [analyze_text(each).stems for each in shown]
        self.planted = ""
        """Why nothing of the answer may stand; empty where it may."""

    def read(self, answer: JsonObject) -> tuple[ParsedHandbookAndSummary, tuple[str, ...]]:
        """The drafts with the good lines of an answer, and a sentence for each other line."""
        self.planted = ""
        dropped: list[str] = []
        handbook, summary = self._draft.handbook, self._draft.summary
        changes, used = dict[_Claim, HandbookClaim | None](), set[int]()
        for given in coerce_to_object_list(answer.get("claims"))[:MAX_CLAIM_CHANGES]:
            numbers = read_numbers_up_to(given.get("numbers"), len(self._claims))
            text = _clean_line(given.get("text"))
            fault = self._find_claim_fault(numbers, text, used)
            if fault:
                dropped.append(f"“{shorten_to_one_line(text, 80)}” {fault}")
                continue
            used.update(numbers)
            first, *others = [self._claims[number - 1] for number in numbers]
            changes[first] = _join_entries([first, *others], text)
            changes.update(dict.fromkeys(others))
        groups = tuple(_change_group(group, changes) for group in handbook.groups)
        summary = replace(
            summary,
            topics=self._read_topics(answer.get("topics"), dropped),
            profile=self._read_profile(answer.get("profile"), dropped),
        )
        files = ParsedHandbookAndSummary(
            replace(handbook, groups=groups) if changes else handbook, summary
        )
        return files, tuple(dict.fromkeys(dropped))

    def _find_claim_fault(self, numbers: Sequence[int], text: str, used: set[int]) -> str:
        """Why a claim may not take the place of these; empty where it may."""
        self._note_planted(text, [self._claims[number - 1].entry.text for number in numbers])
        if not numbers:
            return "names no claim that there is"
        if used & set(numbers):
            return "is a second change of a claim"
        given = [self._claims[number - 1] for number in numbers]
        if len({claim.group for claim in given}) > 1:
            return "joins claims of two places"
        texts = [claim.entry.text for claim in given]
        if any(claim.entry.proof == "said" for claim in given) and text not in texts:
            return "words anew what the user said"
        return (
            self._check.find_line_fault(text, MAX_CLAIM_WORDS)
            or next(filter(None, (find_claim_content_lost(each, text) for each in texts)), "")
            or ("joins claims that do not say the same" if not _is_alike(texts) else "")
        )

    def _note_planted(self, line: str, known: Sequence[str] = ()) -> None:
        """Note a line that orders agents about where none of the claims that it is about does."""
        if is_order_to_agent(line) and not any(map(is_order_to_agent, known)):
            self.planted = self.planted or f"“{shorten_to_one_line(line, 80)}” {PLANTED}"

    def _find_free_fault(self, line: str, most_words: int) -> str:
        """Why a sentence that the model words by itself may not stand."""
        self._note_planted(line)
        if _is_cut_off(line):
            return "is cut off"
        if self._requests.only_repeats_request(line):
            return REQUEST_REPEATED
        return self._check.find_free_wording_fault(line, most_words)

    def _read_topics(self, given: object, dropped: list[str]) -> tuple[SummaryTopic, ...]:
        changes = dict[SummaryTopic, SummaryTopic]()
        for each in coerce_to_object_list(given)[:MAX_TOPIC_CHANGES]:
            numbers = read_numbers_up_to(each.get("number"), len(self._topics))
            text = _clean_line(each.get("learnings"))
            fault = self._find_topic_fault(numbers, text)
            if fault:
                dropped.append(f"“{shorten_to_one_line(text, 80)}” {fault}")
                continue
            topic = self._topics[numbers[0] - 1]
            line = f" {text}".replace("\\", "\\\\")
            changes[topic] = replace(topic, text=_LEARNINGS.sub(rf"\g<1>{line}", topic.text))
        return tuple(changes.get(each, each) for each in self._draft.summary.topics)

    def _find_topic_fault(self, numbers: Sequence[int], text: str) -> str:
        """Why a line may not stand as what was learnt of a topic; empty where it may."""
        if len(numbers) != 1:
            return "names no topic that there is"
        if fault := self._find_free_fault(text, MAX_LEARNINGS_WORDS):
            return fault
        present = _LEARNINGS.search(self._topics[numbers[0] - 1].text)
        known = present[0].partition(":")[2].strip(" …") if present else ""
        is_copy = (
            known and text.startswith(known) and any(each.covers_line(text) for each in self._lines)
        )
        return "stands there already" if is_copy else ""

    def _read_profile(self, given: object, dropped: list[str]) -> str:
        present = self._draft.summary.profile
        if present.endswith(USER_PROFILE_MARK):
            return present
        sentences: list[str] = []
        for sentence in map(_clean_line, coerce_to_text_list(given)[:MAX_PROFILE_SENTENCES]):
            fault = self._find_free_fault(sentence, MAX_PROFILE_WORDS // MAX_PROFILE_SENTENCES)
            if not fault and sentence not in present and self._rests_on_one_claim(sentence):
                fault = "rests on one claim alone"
            if fault:
                dropped.append(f"“{shorten_to_one_line(sentence, 80)}” {fault}")
            else:
                sentences.append(sentence)
        return " ".join(dict.fromkeys(sentences)) or present

    def _rests_on_one_claim(self, sentence: str) -> bool:
        """Whether one claim says what a sentence says of the user, or no other one has a word of
        it: what was done once is no habit.
        """
        stems = analyze_text(sentence).stems - analyze_text(_USER_WORDS).stems
        count = sum(not stems.isdisjoint(each) for each in self._stems)
        return count < MIN_PROFILE_CLAIMS or any(each.covers_line(sentence) for each in self._lines)


def _one_line(text: str) -> str:
    return to_printable_line(text, MAX_LINE_CHARACTERS)


def _clean_line(given: object) -> str:
    return _MARKS.sub("", _one_line(given)) if isinstance(given, str) else ""


def _is_cut_off(line: str) -> bool:
    """Whether a sentence ends in its middle: in a quotation, before a list, with an ellipsis."""
    opened = line.count("“") > line.count("”") or line.count('"') % 2 or line.count("`") % 2
    return bool(opened) or line.rstrip("*_ ").endswith((":", ",", ";", "…", "..."))


def _is_alike(texts: Sequence[str]) -> bool:
    """Whether each of several claims is near to the first."""
    first, *others = texts
    return all(
        find_most_similar_text(each, [first], min_share=MIN_EXAMINED_JACCARD) is not None
        for each in others
    )


def _join_entries(claims: Sequence[_Claim], text: str) -> HandbookClaim:
    entries = [claim.entry for claim in claims]
    proofs = {entry.proof for entry in entries}
    return replace(
        entries[0],
        text=text,
        proof=entries[0].proof if len(proofs) == 1 else "inferred",
        date=max(entry.date for entry in entries),
        support=tuple(dict.fromkeys(each for entry in entries for each in entry.support)),
        works=tuple(sorted({each for entry in entries for each in entry.works})),
    )


def _change_group(
    group: HandbookGroup, changes: dict[_Claim, HandbookClaim | None]
) -> HandbookGroup:
    lists: dict[EntryList, tuple[HandbookClaim, ...]] = {}
    for name in ENTRY_LISTS:
        entries = [
            changes.get(_Claim(group.title, name, entry), entry)
            for entry in group.entries_in_list(name)
        ]
        lists[name] = tuple(entry for entry in entries if entry is not None)
    same = all(lists[name] == group.entries_in_list(name) for name in ENTRY_LISTS)
    return group if same else replace(group, raw="", **lists)

"""The single gate that every write to memory passes (SF-1, SF-2).

Pure: change and context in, verdict out. Secrets and invisible characters are removed. The origin
is derived from the session and recorded here, whatever the writer claims. A memory that speaks for
the user needs the user's own words; an instruction from outside never becomes one of the user's.
Doubtful changes are not lost: they go to the inbox with their reasons.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.changes import Actor, MemoryChange, find_path_problem
from memorist.auto_memory.index import (
    USER_TRUST,
    TeamMemory,
    compute_content_seal,
    describe_excess_size,
    find_contradiction,
    find_kind_sharing_problem,
    find_planted_orders,
    find_suspicions,
    find_unbacked_grant,
    is_shared,
    render_for_reader,
)
from memorist.auto_memory.statements.filters import is_reported_speech
from memorist.auto_memory.statements.prose import (
    extract_prose_lines,
    find_quotations,
    find_sentence_ends,
    mask_quotations,
)
from memorist.auto_memory.topic import (
    USER_KINDS,
    Provenance,
    Topic,
    Trust,
    encode_topic_text,
    parse_topic,
    with_header,
    with_provenance,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin, TextBlock
from memorist.formats.host_markup import strip_host_markup
from memorist.safety.prompt_injection import is_instruction, waives_confirmation
from memorist.safety.secrets import redact
from memorist.safety.unicode import find_hidden_characters, fold_text, strip_hidden_characters

# The user's own words in a typed message, without quotations, pasted text and reported speech
# (SF-2).


LONG_QUOTATION_COLUMNS = 20
"""Columns (two per Chinese character) above which a quotation is a sentence rather than a name or
term.
"""


def extract_own_words(text: str) -> str:
    """Extract the user's own words from a typed message.

    Whatever follows "the page says" in a line counts as the page's words; pasted text is dropped.
    """
    text = text.strip()
    if "\n" not in text:
        return _own_words_of_line(text)
    return "\n".join(filter(None, map(_own_words_of_line, extract_prose_lines(text))))


def _own_words_of_line(line: str) -> str:
    masked, start = mask_quotations(line), 0
    for end in find_sentence_ends(masked):
        if is_reported_speech(masked[start:end]):
            break
        start = end
    kept, done = [], 0
    for begin, end in find_quotations(line[:start]):
        if (
            sum(2 if letter > "\u2e80" else 1 for letter in line[begin:end])
            > LONG_QUOTATION_COLUMNS
        ):
            kept.append(line[done:begin])
            done = end
    return " … ".join([*kept, line[done:start]]).strip()


# Evidence for a memory: the user's own words, and what came from outside. Pure (SF-2).


RUN_WORDS = 6
"""Consecutive words that a text must share with a source to count as taken from it."""
BORROWED_SHARE = 0.5
"""Fraction of a text's word runs that must occur in a source for the text to come from there."""
MIN_QUOTE_WORDS = 3
"""Words of the shortest quote that proves anything; each Chinese character counts as a word."""

MIN_SHARED_WORDS = 2
"""Content words that a quote must share with the memory that rests on it."""
MIN_SENTENCE_WORDS = 3
"""Words of the shortest sentence whose origin can be determined."""

_EVIDENCE_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the that this it about of to for i you we my our your is are be was as on in at "
        "and or please me could would can will do does"
        " what how why when with from by if not no so have has look 的 了 是 我 你 在 请 吗 这 那 和 一 不 "
        "有 要 帮 看 下 个",
    )
)
"""Words without content of their own."""
_SENTENCE_END = lazy_pattern(r"[.!?;](?=\s|$)|[。！？；\n]")
_ADDRESS = lazy_pattern(
    r"(?<![\w-])(?<![\w-]\.)(?:https?://)?(?:[\w-]+\.)+[a-z]{2,}\b(?:/[\w./-]*)?|(?<![\w.+-])"
    r"[\w.+-]+@[\w-]+\.\w+",
    re.IGNORECASE,
)
"""Matched at the start of a run only; trying every letter of a run would be quadratic."""
_FILE_NAME = lazy_pattern(
    r"[\w-]+\.(?:md|py|js|ts|go|rs|toml|ya?ml|json|txt|sh|cfg|ini|sql|html|css|lock)", re.IGNORECASE
)
_OUTSIDE_ORIGINS = frozenset({Origin.TOOL, Origin.AGENT, Origin.NOTIFICATION})


class WriteEvidence(Struct, frozen=True, kw_only=True):
    """What was said in a session.

    `user_messages` are pairs of message id and the user's own words; `outside_texts` are tool
    results, other agents' messages, notifications, and what the user quoted.
    """

    session: str = ""
    user_messages: tuple[tuple[str, str], ...] = ()
    outside_texts: tuple[str, ...] = ()
    proven_paths: tuple[str, ...] = ()
    """Paths whose change follows by rule from the memories themselves (DR-5). Such a change adds
    nothing new, so the memory's earlier evidence still holds.
    """


def collect_write_evidence(session: str, messages: Iterable[Message]) -> WriteEvidence:
    """Sort the messages' texts by who said them.

    Text injected by a client or by memorist's own recall counts for neither side (AM-11).
    """
    user: list[tuple[str, str]] = []
    outside: list[str] = []
    for message in messages:
        outside += [result.text for result in message.tool_results]
        if message.origin in _OUTSIDE_ORIGINS:
            outside.append(message.text)
        elif message.origin is Origin.USER:
            typed = extract_user_text(message)
            own = extract_own_words(typed)
            if own:
                user.append((message.id, own))
            if normalize_for_comparison(own) != normalize_for_comparison(typed):
                outside.append(typed)
    return WriteEvidence(session=session, user_messages=tuple(user), outside_texts=tuple(outside))


def extract_user_text(message: Message) -> str:
    """Return what the user typed in a message; empty for a message that is not the user's."""
    if message.origin is not Origin.USER:
        return ""
    parts = [
        strip_host_markup(block.text)
        for block in message.blocks
        if isinstance(block, TextBlock) and block.origin in (None, Origin.USER)
    ]
    return "\n".join(part.strip() for part in parts if part.strip())


def collect_typed_evidence(session: str, message: Message) -> WriteEvidence:
    """Collect the evidence for statements found by code in one message.

    All typed text counts: the code that found them has already told quotations apart.
    """
    return WriteEvidence(session=session, user_messages=((message.id, extract_user_text(message)),))


def normalize_for_comparison(text: str) -> str:
    """Normalise text for comparison: NFKC, case folded, single spaces, no quotation marks."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(
        "".join(" " if letter in "\"'`“”„‘’«»「」『』*_" else letter for letter in folded).split()
    )


def find_quoted_messages(
    quote: str, evidence: WriteEvidence, *, min_words: int = MIN_QUOTE_WORDS
) -> tuple[str, ...]:
    """Return the ids of the user's messages that contain the quote; empty for too short a quote."""
    wanted = normalize_for_comparison(quote)
    if len(split_script_words(wanted)) < min_words:
        return ()
    return tuple(
        id for id, text in evidence.user_messages if wanted in normalize_for_comparison(text)
    )


def split_script_words(text: str) -> list[str]:
    """Split normalised text into words; each character of an unspaced script is a word."""
    found: list[str] = []
    word = ""
    for letter in text:
        alone = (
            "\u3040" <= letter <= "\u9fff"
            or "\uac00" <= letter <= "\ud7af"
            or "\U00020000" <= letter <= "\U0003ffff"
        )
        if letter.isalnum() and not alone:
            word += letter
            continue
        if word:
            found.append(word)
            word = ""
        if alone:
            found.append(letter)
    return [*found, word] if word else found


def split_word_runs(text: str) -> set[tuple[str, ...]]:
    """Return every run of `RUN_WORDS` words; for a shorter text, the one run of all its words."""
    found = split_script_words(normalize_for_comparison(text))
    if len(found) <= RUN_WORDS:
        return {tuple(found)} if found else set()
    return {tuple(found[start : start + RUN_WORDS]) for start in range(len(found) - RUN_WORDS + 1)}


def is_from_outside(text: str, evidence: WriteEvidence) -> bool:
    """Whether at least `BORROWED_SHARE` of the word runs occur in outside texts and not in the
    user's words.
    """
    mine = split_word_runs(text)
    if not mine or not evidence.outside_texts:
        return False
    theirs: set[tuple[str, ...]] = set()
    for _, typed in evidence.user_messages:
        theirs |= _find_runs(mine, typed)
    left = mine - theirs
    found: set[tuple[str, ...]] = set()
    for source in evidence.outside_texts:
        found |= _find_runs(left - found, source)
    return len(found) >= max(1.0, BORROWED_SHARE * len(mine))


def _find_runs(wanted: set[tuple[str, ...]], source: str) -> set[tuple[str, ...]]:
    if not wanted:
        return set()
    stream = (
        _cached_padded_words(source) if len(source) <= _MAX_CACHED_CHARS else _padded_words(source)
    )
    return {run for run in wanted if f" {' '.join(run)} " in stream}


def _padded_words(source: str) -> str:
    """Join a source's words with spaces, including one at each end."""
    return " " + " ".join(split_script_words(normalize_for_comparison(source))) + " "


_MAX_CACHED_CHARS = 12_000
"""Characters of the longest source whose words are cached. One evidence is queried for every entry
of an answer, and normalising it takes the most time.
"""
_cached_padded_words = lru_cache(maxsize=1024)(_padded_words)


def is_quote_relevant(quote: str, text: str) -> bool:
    """Whether a quote is about what a memory says: a genuine quote supports nothing else.

    Between an unspaced script and a spaced one words cannot be compared; the answer is then yes.
    """
    mine, theirs = _content_stems(quote), _content_stems(text)
    if any(map(_is_unspaced_script, mine)) != any(map(_is_unspaced_script, theirs)):
        return True
    return len(mine & theirs) >= min(MIN_SHARED_WORDS, len(mine))


def _content_stems(text: str) -> frozenset[str]:
    return frozenset(
        word[:5]
        for word in split_script_words(normalize_for_comparison(text))
        if word not in _EVIDENCE_STOP_WORDS
    )


def _is_unspaced_script(word: str) -> bool:
    return "\u3040" <= word[0] <= "\uffff"


def find_borrowed_sentences(text: str, evidence: WriteEvidence) -> tuple[str, ...]:
    """Return the sentences of a text that come from outside.

    A sentence counts when it is word for word from there, or contains an address (site, mail) that
    occurs only there.
    """
    if not evidence.outside_texts:
        return ()
    typed = " ".join(text.casefold() for _, text in evidence.user_messages)
    sources = " ".join(evidence.outside_texts).casefold()
    found = []
    for sentence in _SENTENCE_END.split(text):
        if len(
            split_script_words(normalize_for_comparison(sentence))
        ) >= MIN_SENTENCE_WORDS and is_from_outside(sentence, evidence):
            found.append(sentence)
            continue
        named = [
            name for name in _ADDRESS.findall(sentence.casefold()) if not _FILE_NAME.fullmatch(name)
        ]
        if any(name in sources and name not in typed for name in named):
            found.append(sentence)
    return tuple(found)


USER_ACTORS: frozenset[Actor] = frozenset({"user", "inbox", "undo"})
"""Actors that are the user: no further evidence is required."""
MODEL_ACTORS: frozenset[Actor] = frozenset({"extraction", "agent", "dream"})
"""Actors that may follow instructions in the last text they read."""
ACTORS_WITHOUT_SHARING: frozenset[Actor] = frozenset(
    {"said", "extraction", "agent", "dream", "import"}
)
"""Actors that the user has not asked to share anything with the team."""


class AcceptedChange(Struct, frozen=True):
    """The change may be written as it stands here; `remarks` says what was removed."""

    change: MemoryChange
    trust: Trust
    remarks: tuple[str, ...] = ()


class NeedsReview(Struct, frozen=True):
    """The change waits in the inbox for the user's decision."""

    change: MemoryChange
    trust: Trust
    reasons: tuple[str, ...]


class RefusedChange(Struct, frozen=True):
    """The change is neither made nor kept."""

    path: str
    reasons: tuple[str, ...]


GateVerdict = AcceptedChange | NeedsReview | RefusedChange


class GateContext(Struct, frozen=True, kw_only=True):
    """The context in which a change is judged."""

    actor: Actor
    evidence: WriteEvidence = WriteEvidence()
    now: str = ""
    """ISO 8601, UTC."""
    reviewed_seals: Collection[str] = ()
    """Content seals of memories that the user has accepted."""
    existing_paths: Collection[str] = ()
    """Existing paths, for writes by a model: a name that looks like one of them is refused."""
    team_memories: Sequence[TeamMemory] = ()
    """The team's memories, which a private memory may not silently contradict (TM-1)."""


def compute_text_fingerprint(text: str) -> str:
    """Hash a memory's text below its header; equal up to white space."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()[:32]


def judge_change(change: MemoryChange, context: GateContext) -> GateVerdict:
    """Judge one change."""
    problem = _find_write_problem(change, context)
    if problem:
        return RefusedChange(change.path, (problem,))
    if change.after is None:
        return _judge_removal(change, context)
    topic = parse_topic(change.path, change.after)
    shown, remarks = _clean_topic(topic)
    problem = "" if shown.body.strip() else "it would be empty"
    if context.actor == "team":
        problem = problem or find_kind_sharing_problem(shown.kind)
    if problem:
        return RefusedChange(change.path, (problem,))
    shown, remarks = _drop_model_pin(shown, change, context, remarks)
    trust, provenance = _determine_origin(shown, change, context)
    # From here on only the cleaned text with the proven origin counts; `topic` is still the raw
    # text, in which hidden orders can be seen.
    made = with_provenance(shown, provenance)
    cleaned = MemoryChange(
        path=change.path, before=change.before, after=encode_topic_text(made.text())
    )
    clash = _team_conflict_reasons(made, change, context)
    if context.actor in USER_ACTORS:
        return AcceptedChange(cleaned, trust, (*remarks, *clash))
    proven = change.path in context.evidence.proven_paths
    reasons = (*(() if proven else clash), *_sharing_reasons(change, context))
    reasons += () if proven or context.actor == "team" else _overwrite_reasons(made, change, trust)
    if compute_content_seal(made) not in context.reviewed_seals:
        reasons = (
            *find_planted_orders(topic),
            *reasons,
            *(() if proven else _unbacked_reasons(made, change, trust, context)),
        )
    return (
        NeedsReview(cleaned, trust, (*reasons, *remarks))
        if reasons
        else AcceptedChange(cleaned, trust, remarks)
    )


def _find_write_problem(change: MemoryChange, case: GateContext) -> str:
    """Find out why a model's change can never become a memory.

    Such a change is refused alone and does not affect the others of the same answer.
    """
    if case.actor not in MODEL_ACTORS:
        return ""
    problem = find_path_problem(change.path, frozenset(case.existing_paths))
    if problem:
        return problem
    if size := describe_excess_size(len(change.after or b"")):
        return f"it would have {size}"
    mine = fold_text(change.path).text
    twin = next(
        (
            path
            for path in case.existing_paths
            if path != change.path and fold_text(path).text == mine
        ),
        "",
    )
    return f"there is {twin}, and the two names look alike" if twin else ""


def _drop_model_pin(
    topic: Topic, change: MemoryChange, case: GateContext, remarks: tuple[str, ...]
) -> tuple[Topic, tuple[str, ...]]:
    """Remove a pin set by a model: only the user pins."""
    if (
        case.actor not in MODEL_ACTORS
        or not topic.pinned
        or (change.before is not None and parse_topic(change.path, change.before).pinned)
    ):
        return topic, remarks
    return with_header(topic, {"pinned": None}), (*remarks, "its pin was taken out")


def _judge_removal(change: MemoryChange, case: GateContext) -> GateVerdict:
    before = parse_topic(change.path, change.before or b"").provenance.trust
    published = _sharing_reasons(change, case)
    if published:
        return NeedsReview(change, before, published)
    if (
        case.actor in USER_ACTORS
        or case.actor in ("said", "import", "team")
        or change.path in case.evidence.proven_paths
    ):
        return AcceptedChange(change, before)
    if case.actor == "dream" and before not in USER_TRUST:
        return AcceptedChange(change, before)
    return NeedsReview(
        change, before, ("it would delete a memory, and the user did not ask for it",)
    )


def _clean_topic(topic: Topic) -> tuple[Topic, tuple[str, ...]]:
    """Remove secrets and invisible characters from header and text."""
    text = topic.text()
    remarks = []
    if find_hidden_characters(text):
        text = strip_hidden_characters(text)
        remarks.append("characters that cannot be seen were taken out")
    redacted = redact(text)
    if redacted.rules:
        remarks.append("taken out as secret: " + ", ".join(sorted(set(redacted.rules))))
        text = redacted.text
    return (parse_topic(topic.path, encode_topic_text(text)) if remarks else topic), tuple(remarks)


def _determine_origin(
    topic: Topic, change: MemoryChange, case: GateContext
) -> tuple[Trust, Provenance]:
    """Determine the text's origin as far as the session proves it; the writer's claims are ignored."""
    claimed = topic.provenance
    before = (
        parse_topic(change.path, change.before).provenance
        if change.before is not None
        else Provenance()
    )
    # Code quotes from the message itself, so any length will do; a model's quote must be long
    # enough to prove something.
    shortest = 1 if case.actor == "said" else MIN_QUOTE_WORDS
    # The previous version's quote is no evidence for what is new in this one.
    new_words = bool(claimed.quote) and normalize_for_comparison(
        claimed.quote
    ) != normalize_for_comparison(before.quote)
    messages = (
        find_quoted_messages(claimed.quote, case.evidence, min_words=shortest) if new_words else ()
    )
    if (
        messages
        and case.actor != "said"
        and not is_quote_relevant(claimed.quote, render_for_reader(topic))
    ):
        messages = ()
    same = change.before is not None and render_for_reader(
        parse_topic(change.path, change.before)
    ) == render_for_reader(topic)
    trust: Trust
    if case.actor in USER_ACTORS:
        trust, quote = (
            (before.trust if same and before.trust is not Trust.UNKNOWN else Trust.REVIEWED),
            claimed.quote,
        )
    elif messages:
        trust, quote = Trust.STATED, claimed.quote
    elif same or (change.path in case.evidence.proven_paths and change.before is not None):
        trust, quote, messages = before.trust, before.quote, before.messages
    else:
        trust, quote = _trust_without_quote(topic, case), ""
        if (
            trust is Trust.DERIVED
            and before.trust in (Trust.OUTSIDE, Trust.UNKNOWN)
            and change.before is not None
        ):
            trust = before.trust  # rewording does not improve the origin
    provenance = replace(
        before,
        session=case.evidence.session
        or before.session
        or (claimed.session if case.actor in USER_ACTORS else ""),
        messages=messages or (claimed.messages if case.actor in USER_ACTORS else before.messages),
        quote=quote,
        created=before.created or case.now,
        verified=case.now,
        status=claimed.status if claimed.status in ("active", "superseded") else "active",
        trust=trust,
    )
    return trust, provenance


def _sharing_reasons(change: MemoryChange, case: GateContext) -> tuple[str, ...]:
    return (
        ("others of the team would read it, and the user did not ask to share it",)
        if case.actor in ACTORS_WITHOUT_SHARING and is_shared(change.path)
        else ()
    )


def _team_conflict_reasons(
    topic: Topic, change: MemoryChange, case: GateContext
) -> tuple[str, ...]:
    """Report a conflict with a team memory, unless the content did not change."""
    if is_shared(change.path) or (
        change.before is not None
        and _has_same_content(parse_topic(change.path, change.before), topic)
    ):
        return ()
    path = find_contradiction(topic.body, case.team_memories)
    return (f"the team's memory {path} says otherwise",) if path else ()


def _trust_without_quote(topic: Topic, case: GateContext) -> Trust:
    if case.actor == "import":
        return Trust.IMPORTED
    if case.actor == "team":
        return Trust.TEAM
    return (
        Trust.OUTSIDE
        if is_from_outside(topic.body, case.evidence)
        or is_from_outside(render_for_reader(topic), case.evidence)
        else Trust.DERIVED
    )


def _overwrite_reasons(topic: Topic, change: MemoryChange, trust: Trust) -> tuple[str, ...]:
    before = parse_topic(change.path, change.before) if change.before is not None else None
    if before is None or before.provenance.trust not in USER_TRUST:
        return ()
    new_words = trust is Trust.STATED and normalize_for_comparison(
        topic.provenance.quote
    ) != normalize_for_comparison(before.provenance.quote)
    if new_words or _has_same_content(before, topic):
        return ()
    return ("it would change what the user stated, without new words of the user",)


def _unbacked_reasons(
    topic: Topic, change: MemoryChange, trust: Trust, case: GateContext
) -> tuple[str, ...]:
    reasons = []
    before = parse_topic(change.path, change.before) if change.before is not None else None
    unchanged = before is not None and _has_same_content(before, topic)
    if (
        topic.kind in USER_KINDS
        and trust in (Trust.DERIVED, Trust.OUTSIDE, Trust.UNKNOWN)
        and not unchanged
    ):
        reasons.append(
            f"a memory of kind {topic.kind} speaks for the person, and no words of the person "
            f"are quoted that say it"
        )
    elif not unchanged and _has_outside_instruction(topic, before, trust, case):
        reasons.append(
            "it tells the reader what to do, and it came from a tool, a web page, another "
            "agent or a team mate"
        )
    return (*reasons, *(() if unchanged else find_unbacked_grant(topic, trust)))


def _has_outside_instruction(
    topic: Topic, before: Topic | None, trust: Trust, case: GateContext
) -> bool:
    """Whether any part that came from outside tells the reader what to do."""
    text = render_for_reader(topic)
    known = normalize_for_comparison(render_for_reader(before)) if before is not None else ""
    taken = (
        sentence
        for sentence in find_borrowed_sentences(text, case.evidence)
        if normalize_for_comparison(sentence) not in known
    )
    if trust is Trust.TEAM and waives_confirmation(text):
        return True
    return (trust is Trust.OUTSIDE and _is_binding(text)) or any(map(_is_binding, taken))


def _is_binding(text: str) -> bool:
    return is_instruction(text) or waives_confirmation(text)


def _has_same_content(one: Topic, other: Topic) -> bool:
    """Whether two states of a memory agree in everything that decides what it says and whether it
    is shown.
    """
    return (render_for_reader(one), one.kind, one.provenance.status, one.pinned) == (
        render_for_reader(other),
        other.kind,
        other.provenance.status,
        other.pinned,
    )


def find_unsafe_reasons(
    topic: Topic, reviewed_seals: Collection[str], trust: Trust | None = None
) -> tuple[str, ...]:
    """Find out why a memory on disk is not shown to a model; empty when it may be.

    Checked at load, since files can be changed without passing the gate. `trust` overrides the
    file's own claim where that is not to be believed.
    """
    found = find_suspicions(topic, trust)
    return () if found and compute_content_seal(topic) in reviewed_seals else found


def merge_reasons(verdicts: Sequence[GateVerdict]) -> tuple[str, ...]:
    """Collect the reasons of all verdicts that are not acceptance, each once, in order."""
    found = [
        reason
        for verdict in verdicts
        if not isinstance(verdict, AcceptedChange)
        for reason in verdict.reasons
    ]
    return tuple(dict.fromkeys(found))

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
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.client_rules import find_rules_without_stated_condition
from memorist.auto_memory.memory_changes import (
    NOT_TYPED,
    Actor,
    MemoryChange,
    find_memory_path_problem,
)
from memorist.auto_memory.memory_file import (
    USER_KINDS,
    MemoryFile,
    Provenance,
    Trust,
    parse_memory_file,
    with_header_values,
    with_invalid_header_values_quoted,
    with_provenance,
)
from memorist.auto_memory.memory_manifest import describe_excess_memory_file_size
from memorist.auto_memory.quotation_proof import (
    find_user_sentences_containing_quote,
    restrict_memory_to_quotation,
    split_sentences_by_line,
)
from memorist.auto_memory.related_statement_search import RelatedStatementSearch
from memorist.auto_memory.statements.task_requests import repeats_only_task_requests
from memorist.auto_memory.team_memory import (
    TeamMemoryBody,
    find_contradicted_team_memory,
    find_kind_sharing_problem,
    is_team_path,
)
from memorist.auto_memory.visible_memory import (
    USER_TRUST,
    compute_review_digest,
    explain_unbacked_permission,
    find_memory_suspicions,
    find_planted_orders,
    render_all_readable_text,
)
from memorist.auto_memory.write_evidence import (
    WriteEvidence,
    find_borrowed_sentences,
    find_ids_of_quoted_messages,
    is_copied_from_outside,
    normalize_for_comparison,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.safety.hidden_characters import (
    find_hidden_characters,
    fold_hidden_and_lookalike_characters,
    strip_hidden_characters,
)
from memorist.safety.instruction_detection import contains_instruction
from memorist.safety.permission_claims import (
    claims_permission,
    is_order_reserved_for_user,
    may_instruct_or_permit_reader,
    runs_downloaded_code,
    waives_confirmation,
)
from memorist.safety.redacted_json import redact_json
from memorist.safety.secrets import find_secrets, redact
from memorist.settings import AutoMemorySettings

USER_ACTORS: frozenset[Actor] = frozenset({"user", "inbox", "undo"})
"""Actors that are the user: no further evidence is required."""
MODEL_ACTORS: frozenset[Actor] = frozenset({"extraction", "agent", "dream"})
"""Actors that may follow instructions in the last text they read."""
ACTORS_WITHOUT_SHARING: frozenset[Actor] = frozenset(
    {"said", "extraction", "agent", "dream", "import"}
)
"""Actors that the user has not asked to share anything with the team."""


class AcceptedChange(Struct, frozen=True):
    """The change may be written as it is here; `remarks` says what was removed."""

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


class WriteGateContext(Struct, frozen=True, kw_only=True):
    """The context in which a change is judged."""

    actor: Actor
    evidence: WriteEvidence = WriteEvidence()
    now: str = ""
    """ISO 8601, UTC."""
    is_reviewed: bool = True
    """Whether a user who makes the change has read the text; else it keeps the origin it has."""
    reviewed_digests: Collection[str] = ()
    """Digests of memories that the user has accepted."""
    untrusted_paths: Collection[str] = ()
    """Paths of the memories whose claim of origin is not believed: another program wrote it."""
    existing_paths: Collection[str] = ()
    """Existing paths, for writes by a model: a name that looks like one of them is refused."""
    team_memories: Sequence[TeamMemoryBody] = ()
    """The team's memories, which a private memory may not silently contradict (TM-1)."""
    team_readers: str = ""
    """Who reads the team's memories; empty where that is not known."""
    stated: Mapping[str, RelatedStatementSearch] = {}
    """What the user stated, by the beginning of its paths: nobody else may silently say
    otherwise.
    """


POLICY_IS_OFF = "the policy is off: nothing is written"


def policy_forbids_writing(settings: AutoMemorySettings, actor: Actor) -> bool:
    """Whether the setting `auto_memory.policy` lets this actor write nothing."""
    return settings.policy == "off" and actor not in USER_ACTORS


def adjust_verdict_to_review_policy(
    verdict: GateVerdict, settings: AutoMemorySettings, actor: Actor
) -> GateVerdict:
    """The verdict under the setting `auto_memory.policy`: with `review` all waits that the user did
    not write.
    """
    if (
        settings.policy != "review"
        or actor in USER_ACTORS
        or not isinstance(verdict, AcceptedChange)
    ):
        return verdict
    reasons = ("the policy is review", *verdict.remarks)
    return NeedsReview(verdict.change, verdict.trust, reasons)


def compute_body_digest(text: str) -> str:
    """Hash a memory's text below its header; equal up to white space."""
    return hashlib.sha256(" ".join(text.split()).encode("utf-8", "replace")).hexdigest()[:32]


def judge_memory_change(change: MemoryChange, context: WriteGateContext) -> GateVerdict:
    """Judge one change."""
    problem = _find_write_problem(change, context)
    if problem:
        return RefusedChange(redact(change.path).text, (problem,))
    if change.after is None:
        return _judge_removal(change, context)
    topic = change.memory_after
    if context.actor in MODEL_ACTORS:
        topic = with_invalid_header_values_quoted(topic)
    shown, remarks = _clean_topic(topic)
    problem = "it would be empty" if says_nothing(shown.body) else ""
    if context.actor == "team" or is_team_path(change.path):
        problem = problem or find_kind_sharing_problem(shown.kind)
    if is_team_path(change.path) and context.actor in ACTORS_WITHOUT_SHARING:
        problem = problem or _find_shared_secret(topic)
    problem = problem or _find_repeated_task(shown, change, context)
    if problem:
        return RefusedChange(change.path, (problem,))
    shown, remarks = _drop_model_pin(shown, change, context, remarks)
    shown, messages, remarks = _prove_quote(shown, change, context, remarks)
    trust, provenance = _determine_origin(shown, change, context, messages)
    # From here on only the cleaned text with the proven origin counts; `topic` is still the raw
    # text, in which hidden orders can be seen.
    stamped = with_provenance(shown, provenance)
    cleaned = MemoryChange(
        path=change.path, before=change.before, after=encode_file_text_as_utf8(stamped.text())
    )
    clash = _team_conflict_reasons(stamped, change, context)
    if context.actor in USER_ACTORS:
        return AcceptedChange(cleaned, trust, (*remarks, *clash))
    proven = change.path in context.evidence.proven_paths
    clash = () if proven else (*clash, *_stated_conflict_reasons(stamped, change, context))
    reasons = (*clash, *_sharing_reasons(stamped, change, context, messages))
    reasons += (
        () if proven or context.actor == "team" else _overwrite_reasons(stamped, change, trust)
    )
    if compute_review_digest(stamped) not in context.reviewed_digests:
        reasons = (
            *([topic.header_problem] if topic.header_problem else ()),
            *find_planted_orders(topic),
            *reasons,
            *(
                ()
                if proven
                else _unbacked_reasons(
                    stamped, change, trust, context, claimed=shown.provenance.quote
                )
            ),
        )
    if reasons:
        return NeedsReview(cleaned, trust, (*reasons, *remarks))
    return AcceptedChange(cleaned, trust, remarks)


def says_nothing(text: str) -> bool:
    """Whether a text has no letter, number or sign that says something, as an emoji: nothing but
    punctuation, like a placeholder of a document.
    """
    return not any(
        each.isalnum() or unicodedata.category(each) in ("So", "Mn", "Mc") for each in text
    )


def _find_write_problem(change: MemoryChange, case: WriteGateContext) -> str:
    """Find out why a model's change can never become a memory.

    Such a change is refused alone and does not affect the others of the same answer.
    """
    if case.actor not in MODEL_ACTORS:
        return ""
    problem = find_memory_path_problem(change.path, frozenset(case.existing_paths))
    if problem:
        return problem
    if find_secrets(change.path):
        return "its name holds what looks like a secret"
    if size := describe_excess_memory_file_size(len(change.after or b"")):
        return f"it would have {size}"
    mine = fold_hidden_and_lookalike_characters(change.path).text
    twin = next(
        (
            path
            for path in case.existing_paths
            if path != change.path and fold_hidden_and_lookalike_characters(path).text == mine
        ),
        "",
    )
    return f"there is {twin}, and the two names look alike" if twin else ""


def _find_repeated_task(topic: MemoryFile, change: MemoryChange, case: WriteGateContext) -> str:
    """Say where a new memory of an extraction is nothing but the request in hand."""
    if case.actor != "extraction" or change.before is not None:
        return ""
    said = [
        each for _, text in case.evidence.user_messages for each in split_sentences_by_line(text)
    ]
    if not repeats_only_task_requests(tuple(split_sentences_by_line(topic.body)), said):
        return ""
    return "it only repeats a request of this turn, which holds for no later session"


def _drop_model_pin(
    topic: MemoryFile, change: MemoryChange, case: WriteGateContext, remarks: tuple[str, ...]
) -> tuple[MemoryFile, tuple[str, ...]]:
    """Remove a pin set by a model: only the user pins."""
    if (
        case.actor not in MODEL_ACTORS
        or not topic.pinned
        or ((before := change.memory_before) is not None and before.pinned)
    ):
        return topic, remarks
    return with_header_values(topic, {"pinned": None}), (*remarks, "its pin was taken out")


def _judge_removal(change: MemoryChange, case: WriteGateContext) -> GateVerdict:
    topic = parse_memory_file(change.path, change.before or b"")
    before = topic.provenance.trust
    published = _sharing_reasons(topic, change, case, ())
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


def _clean_topic(topic: MemoryFile) -> tuple[MemoryFile, tuple[str, ...]]:
    """Remove secrets and invisible characters from header and text."""
    text = topic.text()
    remarks = []
    if find_hidden_characters(text):
        text = strip_hidden_characters(text)
        remarks.append("characters that cannot be seen were taken out")
    redacted = redact(text)
    if redacted.rules:
        remarks.append("taken out as secret: " + ", ".join(sorted(set(redacted.rules))))
        text = redact(
            _redact_header(parse_memory_file(topic.path, encode_file_text_as_utf8(text))).text()
        ).text
    return (
        parse_memory_file(topic.path, encode_file_text_as_utf8(text)) if remarks else topic
    ), tuple(remarks)


def _redact_header(topic: MemoryFile) -> MemoryFile:
    """Redact a sound header value by value: a mark has a colon, and would break a plain one."""
    front = topic.document.front
    if front is None or front.problem:
        return topic
    clean = {key: redact_json(value) for key, value in front.values.items()}
    changed = {key: value for key, value in clean.items() if value is not front.values[key]}
    return with_header_values(topic, changed) if changed else topic


def _read_memory_before(change: MemoryChange, case: WriteGateContext) -> MemoryFile | None:
    """The memory before a change, with its origin as far as its claim is believed."""
    before = change.memory_before
    if before is None or change.path not in case.untrusted_paths:
        return before
    return with_provenance(before, replace(before.provenance, trust=Trust.UNKNOWN))


def _prove_quote(
    topic: MemoryFile, change: MemoryChange, case: WriteGateContext, remarks: tuple[str, ...]
) -> tuple[MemoryFile, tuple[str, ...], tuple[str, ...]]:
    """The memory, the messages that prove it, and the remarks. What a model wrote is reduced to
    what the quoted sentences say; where they do not say it, no message proves it.
    """
    quote = topic.provenance.quote
    before = _read_memory_before(change, case)
    # The previous version's quote is no evidence for what is new in this one.
    if not quote or (
        before is not None
        and normalize_for_comparison(quote) == normalize_for_comparison(before.provenance.quote)
    ):
        return topic, (), remarks
    if case.actor == "said":  # code quotes from the message itself, so any length will do
        return topic, find_ids_of_quoted_messages(quote, case.evidence, min_words=1), remarks
    quoted = find_user_sentences_containing_quote(quote, case.evidence)
    if quoted is None or case.actor in USER_ACTORS:
        return topic, (), remarks
    known = before if before is not None and before.provenance.trust in USER_TRUST else None
    proven = restrict_memory_to_quotation(topic, quoted, case.evidence, known)
    if proven is None or _has_other_texts(proven[0]):
        return topic, (), remarks
    left_out = tuple(f"left out, since the user did not say it: {text}" for text in proven[1])
    return proven[0], quoted.messages, (*remarks, *left_out)


def _has_other_texts(topic: MemoryFile) -> bool:
    """Whether a reader sees more of it than is in name, description and body."""
    plain = f"{topic.name}\n{topic.description}\n{topic.body}"
    more = render_all_readable_text(topic)[len(plain) :]
    return any(line not in plain for line in more.splitlines())


def _determine_origin(
    topic: MemoryFile, change: MemoryChange, case: WriteGateContext, messages: tuple[str, ...]
) -> tuple[Trust, Provenance]:
    """Determine the text's origin as far as the session proves it; the writer's claims are
    ignored.
    """
    claimed = topic.provenance
    former = _read_memory_before(change, case)
    before = Provenance() if former is None else former.provenance
    same = former is not None and render_all_readable_text(former) == render_all_readable_text(
        topic
    )
    trust: Trust
    if case.actor in USER_ACTORS and not case.is_reviewed:
        trust, quote = claimed.trust, claimed.quote
    elif case.actor in USER_ACTORS:
        trust = before.trust if same and before.trust is not Trust.UNKNOWN else Trust.REVIEWED
        quote = claimed.quote
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
        status=_judge_status(claimed, before, by_user=case.actor in USER_ACTORS),
        trust=trust,
    )
    return trust, provenance


def _judge_status(claimed: Provenance, before: Provenance, *, by_user: bool) -> str:
    """The status that a change may give: only the user mutes a memory, or takes that back."""
    if not by_user and "muted" in (claimed.status, before.status):
        return before.status
    return claimed.status if claimed.status in ("active", "superseded", "muted") else "active"


_ASKS_TO_SHARE = lazy_pattern(
    r"\b(?:share|publish|post|tell|note|write|record|remember|keep|put|add|save)\b[^.!?\n]{0,80}"
    r"\b(?:team|everybody|everyone|colleagues?|all of us|co-?workers?)\b"
    r"|\bfor the (?:whole )?team\b|\bteam memory\b"
    r"|(?:teile|teilt?|merk).{0,60}\b(?:team|allen|kollegen)\b|(?:团队|同事|大家).{0,20}(?:共享|分享|记)|"
    r"(?:共享|分享).{0,20}(?:团队|同事|大家)",
    re.IGNORECASE,
)
"""The user's own words that ask to share something with the team."""


def _find_shared_secret(topic: MemoryFile) -> str:
    if find_secrets(topic.text()):
        return "others of the team would read it, and it holds what looks like a secret"
    return ""


def _sharing_reasons(
    topic: MemoryFile, change: MemoryChange, case: WriteGateContext, messages: Sequence[str]
) -> tuple[str, ...]:
    """Say who would read what the user did not ask to share; `messages` prove the quotation."""
    if case.actor not in ACTORS_WITHOUT_SHARING or not is_team_path(change.path):
        return ()
    if messages and _ASKS_TO_SHARE.search(topic.provenance.quote):
        return ()
    readers = case.team_readers or "others of the team"
    return (f"{readers} would read it, and the user did not ask to share it",)


def _team_conflict_reasons(
    topic: MemoryFile, change: MemoryChange, case: WriteGateContext
) -> tuple[str, ...]:
    """Report a conflict with a team memory, unless the content did not change."""
    if is_team_path(change.path) or _has_same_content(change.memory_before, topic):
        return ()
    path = find_contradicted_team_memory(topic.body, case.team_memories)
    return (f"the team's memory {path} says otherwise",) if path else ()


MAX_COMPARED_RULES = 20
"""Rules of a new memory that are compared with what the user stated. Our choice."""


def _stated_conflict_reasons(
    topic: MemoryFile, change: MemoryChange, case: WriteGateContext
) -> tuple[str, ...]:
    """Name what the user stated and a memory that is not their word newly contradicts."""
    if topic.provenance.trust in USER_TRUST or _has_same_content(change.memory_before, topic):
        return ()
    rules = [
        topic.description,
        *(each.text for each in find_rules_without_stated_condition("", topic.body)),
    ]
    found = (
        prefix + path
        for rule in dict.fromkeys(rules[:MAX_COMPARED_RULES])
        for prefix, search in case.stated.items()
        if (path := search.find_contradicted_user_memory(rule))
    )
    path = next(found, "")
    return (f"it contradicts the user's own word in {path}",) if path else ()


def _trust_without_quote(topic: MemoryFile, case: WriteGateContext) -> Trust:
    if case.actor == "import":
        return Trust.IMPORTED
    if case.actor == "team":
        return Trust.TEAM
    if is_copied_from_outside(topic.body, case.evidence) or is_copied_from_outside(
        render_all_readable_text(topic), case.evidence
    ):
        return Trust.OUTSIDE
    return Trust.DERIVED


def _overwrite_reasons(topic: MemoryFile, change: MemoryChange, trust: Trust) -> tuple[str, ...]:
    before = change.memory_before
    if before is None or before.provenance.trust not in USER_TRUST:
        return ()
    new_words = trust is Trust.STATED and normalize_for_comparison(
        topic.provenance.quote
    ) != normalize_for_comparison(before.provenance.quote)
    if new_words or _has_same_content(before, topic):
        return ()
    return ("it would change what the user stated, without new words of the user",)


def _unbacked_reasons(
    topic: MemoryFile, change: MemoryChange, trust: Trust, case: WriteGateContext, *, claimed: str
) -> tuple[str, ...]:
    """Say what in a memory nothing backs; `claimed` is what it quotes, proven or not."""
    reasons = []
    before = change.memory_before
    unchanged = _has_same_content(before, topic)
    if case.actor == "said" and trust is not Trust.STATED:
        reasons.append(NOT_TYPED)
    elif (
        topic.kind in USER_KINDS
        and trust in (Trust.DERIVED, Trust.OUTSIDE, Trust.UNKNOWN)
        and not unchanged
    ):
        reasons.append(
            f"a memory of kind {topic.kind} speaks for the person, and "
            f"{_explain_missing_words(claimed, case)}"
        )
    elif claimed and not unchanged and trust is Trust.DERIVED and contains_instruction(topic.body):
        reasons.append(
            "it tells the reader what to do, and the quoted words of the person do not say it"
        )
    elif not unchanged and _has_outside_instruction(topic, before, trust, case):
        reasons.append(
            "it tells the reader what to do, or is in a language in which that is not known, and "
            "it came from a tool, a web page, another agent or a team mate"
        )
    if unchanged:
        return tuple(reasons)
    if trust not in USER_TRUST and runs_downloaded_code(render_all_readable_text(topic)):
        reasons.append("it has code fetched and run unseen, and nobody here said so")
    return (*reasons, *explain_unbacked_permission(topic, trust))


def _explain_missing_words(claimed: str, case: WriteGateContext) -> str:
    """Why a quotation does not prove a memory."""
    if not claimed:
        return "no words of the person are quoted that say it"
    if find_user_sentences_containing_quote(claimed, case.evidence) is None:
        return (
            "what it quotes proves nothing: the person did not say it, asked it, or it is too short"
        )
    return f"it is not what the words say that it quotes: “{shorten_to_one_line(claimed, 150)}”"


def _has_outside_instruction(
    topic: MemoryFile, before: MemoryFile | None, trust: Trust, case: WriteGateContext
) -> bool:
    """Whether any part that came from outside tells the reader what to do."""
    text = render_all_readable_text(topic)
    known = normalize_for_comparison(render_all_readable_text(before)) if before is not None else ""
    instructions = (
        sentence
        for sentence in find_borrowed_sentences(text, case.evidence)
        if normalize_for_comparison(sentence) not in known
    )
    if trust is Trust.TEAM and any(
        found(text)
        for found in (waives_confirmation, claims_permission, is_order_reserved_for_user)
    ):
        return True
    return (trust is Trust.OUTSIDE and may_instruct_or_permit_reader(text)) or any(
        map(may_instruct_or_permit_reader, instructions)
    )


def _has_same_content(one: MemoryFile | None, other: MemoryFile) -> bool:
    """Whether two states of a memory agree in everything that decides what it says and whether it
    is shown.
    """
    return one is not None and (
        render_all_readable_text(one),
        one.kind,
        one.provenance.status,
        one.pinned,
    ) == (render_all_readable_text(other), other.kind, other.provenance.status, other.pinned)


def find_unreviewed_memory_suspicions(
    topic: MemoryFile, reviewed_digests: Collection[str], trust: Trust | None = None
) -> tuple[str, ...]:
    """Find out why a memory on disk is not shown to a model; empty when it may be, and for one that
    the user has reviewed.

    Checked at load, since files can be changed without passing the gate. `trust` overrides the
    file's own claim where that is not to be believed.
    """
    found = find_memory_suspicions(topic, trust)
    return () if found and compute_review_digest(topic) in reviewed_digests else found


def list_reasons_of_verdicts(verdicts: Sequence[GateVerdict]) -> tuple[str, ...]:
    """Collect the reasons of all verdicts that are not acceptance, each once, in order."""
    found = [
        reason
        for verdict in verdicts
        if not isinstance(verdict, AcceptedChange)
        for reason in verdict.reasons
    ]
    return tuple(dict.fromkeys(found))

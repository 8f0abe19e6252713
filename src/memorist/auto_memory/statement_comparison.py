"""Compare a new statement with a known memory: the same, the opposite, or neither (AM-12).

Pure. A text is read as stances: each clause asks for something or rules it out. Two stances meet
where their content words are equal up to what is chosen: `never use npm` and `always use npm`, `use
tabs` and `use spaces`, `the API runs on port 4000` and `... 5000`. Whatever limits a rule (`in CI`,
`for publishing`) is among its content words, so an exception contradicts nothing. In doubt two
texts have nothing to do with each other, and both stay.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from heapq import nsmallest
from itertools import islice
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.clause_removal import remove_clauses
from memorist.auto_memory.clause_stances import (
    GROUP_NOUNS,
    LIMIT_MARK,
    MAX_COMPARED_CHARS,
    ONE_WORD_FOR,
    SWITCHES,
    WORDS_OF_ASKING,
    ClauseStance,
    ClauseTokenClassifier,
    Marks,
    OppositeClausePrefilter,
    contains_substring_from_every_group,
    fold_word_ending,
    get_alternatives_of_word,
    list_verb_folded_clause_keys,
    may_agree_or_oppose,
    parse_clause_stances,
    parse_clauses_with_marks,
    separate_chosen_alternative,
)
from memorist.auto_memory.denied_words import ONE_CASE, list_denied_words, rules_out_more
from memorist.auto_memory.fact_values import list_word_groups_of_facts, states_otherwise
from memorist.auto_memory.memory_changes import MemoryChange
from memorist.auto_memory.memory_file import (
    MemoryFile,
    parse_memory_file,
    with_body,
    with_header,
    with_provenance,
)
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.auto_memory.statements.statement_patterns import VERBS
from memorist.auto_memory.statements.statement_similarity import (
    extract_distinctive_stem,
    is_same_rule,
)
from memorist.auto_memory.team_memory import is_team_path
from memorist.auto_memory.value_correction import (
    MAX_CORRECTION_CHARS,
    corrects_value,
    list_word_groups_of_corrected_texts,
    names_whole_subject,
)
from memorist.auto_memory.verb_forms import (
    SEPARABLE,
    cut_verb_to_common_stem,
    fold_european_verb,
    split_separable_verb_prefix,
)
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import encode_file_text_as_utf8


class StatementRelation(StrEnum):
    """How a new text stands to a known one."""

    UNRELATED = "unrelated"
    SAME = "same"
    RESTATED = "restated"
    """The same in other words."""
    OPPOSITE = "opposite"
    """Everything that the known text says is now said otherwise."""
    PARTLY_OPPOSITE = "partly opposite"
    """A part of the known text is now said otherwise."""
    ABANDONED = "abandoned"
    """What the new text gives up is what the known one works with."""
    CORRECTED = "corrected"
    """The new text says that the value which the known one gives is no longer so."""
    STATED_OTHERWISE = "stated otherwise"
    """Both say the same of one thing but for its value, and nothing tells whether both hold."""


OPPOSED = (StatementRelation.OPPOSITE, StatementRelation.PARTLY_OPPOSITE)
"""The new text speaks against the known one, or against a part of it."""

_ABANDONING = lazy_pattern(
    r"\b(?:no longer|(?:don['’]?t|do not|not) (?:use|using|need|want|run|have)\b.{1,40} any ?more|"
    r"stop(?:ped)? (?:using|"
    r"doing)|dropped|deprecated|got rid of|removed|abandoned|kein\w* .{1,30} mehr|nicht mehr|"
    r"ne .{1,30} plus|ya no|больше не)\b|不再",
    re.IGNORECASE,
)
_GIVEN_UP = lazy_pattern(
    r"(?:\b(?:dropped|ditched|abandoned|got rid of|stopped using|n['’]utilis\w+ plus|"
    r"больше не использу\w+)|不再?用) ?"
    r"(?P<old>[\w@./+-]*[\w+])(?= ?(?:了|[,.;!，。]|\Z|(?:and|et|и)\b))"
    r"|(?<![A-Za-z])(?P<name>[A-Za-z][\w.+-]{0,60})は?もう使って",
    re.IGNORECASE,
)
"""Gives up what it names, and nothing but that."""
_ASKS_FOR_USE = lazy_pattern(
    r"(?:(?:always|please|only|immer|bitte|nur|toujours|siempre|sempre|всегда) )*"
    r"(?:use|nutze?|verwende|benutze|starte|utilise[sz]?|lance[sz]?|usa|ejecuta|rode|"
    r"используй(?:те)?|запускай(?:те)?)\b|.*(?:都|要|请)用|.*(?:実行して|使って)",
    re.IGNORECASE,
)


def compare_statements(new: str, known: str) -> StatementRelation:
    """How a new statement stands to the text of a known memory."""
    if is_same_rule(new, known):
        return StatementRelation.SAME
    mine, theirs = parse_clause_stances(new), parse_clause_stances(known)
    if (
        mine
        and {(one.order, one.is_positive) for one in mine}
        == {(each.order, each.is_positive) for each in theirs}
        and _list_comparing_signs(new) == _list_comparing_signs(known)
        and len(known) <= MAX_COMPARED_CHARS
    ):
        return StatementRelation.RESTATED
    opposed = [
        each for each in theirs if any(_is_opposite(one, each, mine, theirs) for one in mine)
    ]
    if not opposed:
        if corrects_value(new, known):
            return StatementRelation.CORRECTED
        if _abandons(new, known):
            return StatementRelation.ABANDONED
        is_doubtful = states_otherwise(new, known) or rules_out_more(mine, known, theirs)
        return StatementRelation.STATED_OTHERWISE if is_doubtful else StatementRelation.UNRELATED
    gives_up = any(pattern.search(known) for pattern in SWITCHES)
    covered = len(known) <= MAX_COMPARED_CHARS and all(
        each in opposed
        or (gives_up and not each.is_positive)
        or any(_is_alike(one, each) for one in mine)
        or any(_is_part_of_choice(each, choice, mine) for choice in opposed)
        for each in theirs
    )
    return StatementRelation.OPPOSITE if covered else StatementRelation.PARTLY_OPPOSITE


_COMPARING_SIGN = lazy_pattern(r"[!=<>]=+|(?<![\w<-])[<>](?![\w/>-])|[≠≤≥]")


def _list_comparing_signs(text: str) -> list[str]:
    """The signs that compare: `coverage > 80` is another rule than `coverage < 80`."""
    return _COMPARING_SIGN.findall(text)


def remove_contradicted_clauses(new: str, known: str) -> str:
    """The known text without the clauses that the new one says otherwise; empty where nothing of
    it can stand alone.
    """
    return remove_clauses(
        known, _find_opposed(parse_clause_stances(new), parse_clause_stances(known)), new
    )


def _find_opposed(
    mine: Sequence[ClauseStance], theirs: Sequence[ClauseStance]
) -> list[ClauseStance]:
    return [each for each in theirs if any(_is_opposite(one, each, mine, theirs) for one in mine)]


def _is_part_of_choice(
    ban: ClauseStance, choice: ClauseStance, mine: Sequence[ClauseStance]
) -> bool:
    """Whether a ban and a choice are one choice among alternatives, and another is chosen now."""
    word, rest = separate_chosen_alternative(choice)
    group = get_alternatives_of_word(word) if word else None
    return (
        group is not None
        and choice.is_positive
        and not ban.is_positive
        and (found := separate_chosen_alternative(ban))[0] in group
        and found[1] == rest
        and _count_choices(mine, group) == 1
    )


def _is_alike(one: ClauseStance, other: ClauseStance) -> bool:
    return one.is_positive == other.is_positive and one.words == other.words


def _is_opposite(
    one: ClauseStance,
    other: ClauseStance,
    mine: Sequence[ClauseStance],
    theirs: Sequence[ClauseStance],
) -> bool:
    if one.is_positive != other.is_positive:
        return _is_same_choice(one, other) or not list_verb_folded_clause_keys(one).isdisjoint(
            list_verb_folded_clause_keys(other)
        )
    return one.is_positive and (
        _is_other_choice(one, other, mine, theirs) or _is_other_value(one, other)
    )


def _is_same_choice(one: ClauseStance, other: ClauseStance) -> bool:
    chosen = separate_chosen_alternative(one)
    return bool(chosen[0]) and chosen == separate_chosen_alternative(other)


def _is_other_choice(
    one: ClauseStance,
    other: ClauseStance,
    mine: Sequence[ClauseStance],
    theirs: Sequence[ClauseStance],
) -> bool:
    """Whether both choose one of the same alternatives for the same thing, and not the same."""
    word, rest = separate_chosen_alternative(one)
    group = get_alternatives_of_word(word) if word else None
    if group is None or ("german" in group and one.order[0] in _TASTES):
        return False
    known, known_rest = separate_chosen_alternative(other)
    if known not in group or word == known or rest != known_rest:
        return False
    return all(_count_choices(stances, group) == 1 for stances in (mine, theirs))


_TASTES = frozenset(("lov", "lik", "enjoy", "hat", "speak", "learn", "know", "read", "understand"))
"""Verbs, as they are folded, with which several languages, or things of several countries, hold."""


def _count_choices(stances: Sequence[ClauseStance], group: frozenset[str]) -> int:
    return len({word for each in stances if each.is_positive for word in each.words & group})


def _is_other_value(one: ClauseStance, other: ClauseStance) -> bool:
    """Whether two clauses give different values, each with a digit, to the same thing.

    A number before the value names the thing: `desk 1 is on floor 0` says nothing of desk 2.
    """
    length = min(one.value_length, other.value_length)
    if not length or len(one.order) != len(other.order):
        return False
    differing = [
        at for at, pair in enumerate(zip(one.order, other.order, strict=True)) if pair[0] != pair[1]
    ]
    return (
        len(differing) == 1
        and differing[0] >= max(1, len(one.order) - length)
        and all(re.search(r"\d", stance.order[differing[0]]) for stance in (one, other))
    )


def _abandons(new: str, known: str) -> bool:
    """Whether the new text gives up something that an order of the known one works with."""
    return any(
        words <= each.words
        and (bool(_find_order_verb(each)) or _asks_for_use(known[each.start : each.end or None]))
        for words in _list_given_up(new, parse_clause_stances(new))
        for each in parse_clause_stances(known)
        if each.is_positive
    )


def _asks_for_use(clause: str) -> bool:
    """Whether a clause asks for something to be used, and not in one case only."""
    return _ASKS_FOR_USE.match(clause) is not None and ONE_CASE.search(clause) is None


def _list_given_up(text: str, stances: Sequence[ClauseStance]) -> list[frozenset[str]]:
    """What a text gives up, each as content words."""
    return [
        each.words
        for each in stances
        if not each.is_positive and len(each.words) <= 2 and _speaks_of_giving_up(text)
    ] + [
        frozenset((fold_word_ending(found["old"] or found["name"]),))
        for found in _GIVEN_UP.finditer(text)
    ]


@lru_cache(maxsize=64)
def _speaks_of_giving_up(text: str) -> bool:
    return any(each.search(text) for each in (_ABANDONING, *SWITCHES))


def _find_order_verb(stance: ClauseStance) -> str:
    return stance.order[0] if stance.order[0] in VERBS else ""


# Reconcile a new memory with those that are there. Pure.


class Reconciliation(Struct, frozen=True, kw_only=True):
    """What becomes of a new memory beside those that are there."""

    changes: tuple[MemoryChange, ...] = ()
    """What is written: the new memory, those that it replaces, or the known one with a newer
    date.
    """
    replaced_paths: tuple[str, ...] = ()
    """Paths of the memories that the new one replaces."""
    shortened_paths: tuple[str, ...] = ()
    """Paths of the memories a part of which the new one replaces; the rest stays."""
    known_path: str = ""
    """Path of the memory that says the same; empty where none does."""
    contradicts: str = ""
    """Path of a memory that says otherwise, where the new one is not the user's word."""
    questions: tuple[tuple[MemoryChange, str], ...] = ()
    """Changes of other memories that the user may want, each with the reason to ask."""


def reconcile_new_memory(
    change: MemoryChange, topics: Iterable[MemoryFile], now: str
) -> Reconciliation:
    """Reconcile a memory that is about to be made with the `topics` that are there.

    The user's word replaces what it contradicts, or the part that it contradicts where the rest
    can stand alone, and asks otherwise. Any other word changes nothing: it is dropped where it is
    known, and named where it contradicts.
    """
    added = parse_memory_file(change.path, change.after or b"")
    said = prefix_statement_with_its_refusal(added)
    found = [
        (agreement, topic)
        for topic in topics
        if not is_team_path(topic.path)
        and topic.path != change.path
        and topic.provenance.status == "active"
        and (agreement := _compare_added(added, said, topic)) is not StatementRelation.UNRELATED
    ]
    same = next((topic for agreement, topic in found if agreement is StatementRelation.SAME), None)
    if added.provenance.trust not in USER_TRUST:
        return _judge_unproven(change, found)
    if same is not None:
        return Reconciliation(changes=(_confirm(same, added, now),), known_path=same.path)
    corrected = [topic for agreement, topic in found if agreement is StatementRelation.CORRECTED]
    replaced = [
        topic
        for agreement, topic in found
        if agreement in (StatementRelation.RESTATED, StatementRelation.OPPOSITE)
    ] or (corrected if len(corrected) == 1 else [])
    shortened = [
        shorter
        for agreement, topic in found
        if agreement is StatementRelation.PARTLY_OPPOSITE
        and (shorter := _remove_contradicted_part(topic, said)) is not None
    ]
    paths = tuple(each.path for each in shortened)
    return Reconciliation(
        changes=(
            _with_replaced(added, replaced) if replaced else change,
            *(_removal(topic) for topic in replaced),
            *shortened,
        ),
        replaced_paths=tuple(topic.path for topic in replaced),
        shortened_paths=paths,
        questions=tuple(
            (_removal(topic), reason)
            for agreement, topic in found
            if topic not in replaced
            and topic.path not in paths
            and (reason := _explain_question(agreement, said))
        ),
    )


_REFUSAL = lazy_pattern(
    r"(?:no|nope|nah|actually|correction|wrong)\b\s*[,:.!–—-]+\s*", re.IGNORECASE
)


def prefix_statement_with_its_refusal(added: MemoryFile) -> str:
    """What a memory says, behind the refusal that its sentence began with."""
    refusal = _REFUSAL.match(added.provenance.quote)
    return f"{refusal[0]}{added.one_line_text}" if refusal else added.one_line_text


def find_memory_saying_the_same(change: MemoryChange, topics: Iterable[MemoryFile]) -> str:
    """Path of the memory that says what a change would newly say; empty where none does."""
    if change.before is not None or change.after is None:
        return ""
    said = parse_memory_file(change.path, change.after).one_line_text
    return next((topic.path for topic in topics if _compare_topic(said, topic) in _KNOWN), "")


def find_corrected_memories(said: str, topics: Iterable[MemoryFile]) -> tuple[str, ...]:
    """Paths of the memories that a statement says otherwise, or whose value it corrects."""
    return tuple(
        topic.path
        for topic in topics
        if topic.provenance.status == "active"
        and not is_team_path(topic.path)
        and _compare_topic(said, topic) in _CHANGED
    )


_KNOWN = (StatementRelation.SAME, StatementRelation.RESTATED)
_CHANGED = (StatementRelation.OPPOSITE, StatementRelation.CORRECTED)


def _judge_unproven(
    change: MemoryChange, found: Sequence[tuple[StatementRelation, MemoryFile]]
) -> Reconciliation:
    same = next((topic.path for agreement, topic in found if agreement in _KNOWN), "")
    if same:
        return Reconciliation(known_path=same)
    against = (*OPPOSED, StatementRelation.CORRECTED)
    other = next((topic.path for agreement, topic in found if agreement in against), "")
    return Reconciliation(changes=(change,), contradicts=other)


def expand_statement_words(said: str) -> set[str]:
    """The words, one of which a text holds that says the same or the opposite: those of the
    statement, each without its ending, and the alternatives to one.
    """
    keys = {
        key for stance in parse_clause_stances(said) for key in list_verb_folded_clause_keys(stance)
    }
    words = {word for key in keys for word in key}
    words = words.union(
        *list_word_groups_of_corrected_texts(said), *list_word_groups_of_facts(said)
    )
    return words | {other for word in words for other in get_alternatives_of_word(word) or ()}


def find_contradicting_memory_pairs(
    topics: Sequence[MemoryFile],
) -> list[tuple[MemoryFile, MemoryFile]]:
    """Each memory that says the opposite of an earlier one of the list, with that one. A part that
    differs proves nothing here: `not pushed yet` in a report says nothing against `push often`.
    """
    known: dict[_StanceKey, list[int]] = {}
    sayings = [topic.one_line_text for topic in topics]
    found: list[tuple[MemoryFile, MemoryFile]] = []
    for at, said in enumerate(sayings):
        keys = {key for stance in parse_clause_stances(said) for key in _list_keys(stance)}
        near = {other for key in keys for other in known.get(key, ())}
        found += [
            (topics[at], topics[other])
            for other in sorted(near)
            if compare_statements(said, sayings[other]) is StatementRelation.OPPOSITE
        ]
        for key in keys:
            known.setdefault(key, []).append(at)
    return found


_StanceKey = frozenset[str] | tuple[object, ...]


def _list_keys(stance: ClauseStance) -> Iterator[_StanceKey]:
    """What two clauses have in common wherever one can be the opposite of the other."""
    yield from list_verb_folded_clause_keys(stance)
    word, rest = separate_chosen_alternative(stance)
    if word:
        yield get_alternatives_of_word(word), rest
    for length in range(1, stance.value_length + 1):
        yield len(stance.order), stance.order[: max(1, len(stance.order) - length)]


MAX_COMPARED_MEMORIES = 500
"""Memories that are compared with a statement, the shortest first: a long text rarely says no more
than a clause, and each takes a third of a millisecond.
"""


MAX_REMOVED_SHARE = 0.1
"""Share of the noted memories that may be no more before words are noted anew."""
MEMORIES_PER_STEP = 250
"""Memories whose words are noted in one step: a few milliseconds."""
MIN_LOOKUP_WORD_CHARS = 3
"""Characters of the shortest word whose memories are looked up: a shorter one is in most."""


class _Saying(Struct, frozen=True, eq=False, gc=False):
    """What one memory says, folded."""

    header: MemoryHeader
    folded: str


class RelatedStatementSearch:
    """What many memories say, folded, and in which of them each word stands: to look up a
    statement's words takes a hundredth of the time that it takes to compare each memory.
    """

    def __init__(self, memories: Collection[MemoryHeader] = ()) -> None:
        self._sayings: dict[int, _Saying] = {}
        """What each memory says, by its header's identity."""
        self._indexed: list[_Saying] = []
        """Those whose words are noted; some are no more."""
        self._positions: defaultdict[str, array[int]] = defaultdict(lambda: array("I"))
        """Where in that list each word stands, with its punctuation."""
        self._words = "\n"
        """All these words, each in a line of its own."""
        self._related: dict[str, tuple[MemoryHeader, ...]] = {}
        """What was found for statements."""
        self.set_memories(memories)

    def set_memories(self, memories: Iterable[MemoryHeader]) -> None:
        """Search in these memories from now on; those whose headers are the same are known."""
        for _ in self.set_memories_in_steps(memories):
            pass

    def replace_memories(
        self, removed: Sequence[MemoryHeader], added: Sequence[MemoryHeader]
    ) -> bool:
        """Search in other memories, which differ in these; False where so many words are noted of
        former ones that `set_memories` has to do it.
        """
        left = len(self._sayings) - len(removed) + len(added)
        if len(self._indexed) + len(added) > (1 + MAX_REMOVED_SHARE) * left:
            return False
        for header in removed:
            del self._sayings[id(header)]
        self._related.clear()
        noted = len(self._positions)
        for header in added:
            self._add(header)
        self._words += "".join(f"{word}\n" for word in islice(self._positions, noted, None))
        return True

    def set_memories_in_steps(self, memories: Iterable[MemoryHeader]) -> Iterator[None]:
        """Do what `set_memories` does, some memories at each step; nothing is to be looked up
        before the last.
        """
        given = {id(each): each for each in memories}
        for removed in self._sayings.keys() - given.keys():
            del self._sayings[removed]
        self._related.clear()
        added = given.keys() - self._sayings.keys()
        if len(self._indexed) + len(added) > (1 + MAX_REMOVED_SHARE) * len(given):
            self._sayings, self._indexed, self._words = {}, [], "\n"
            self._positions.clear()
            added = set(given)
        noted = len(self._positions)
        for number, added_id in enumerate(added, start=1):
            self._add(given[added_id])
            if number % MEMORIES_PER_STEP == 0:
                yield
        self._words += "".join(f"{word}\n" for word in islice(self._positions, noted, None))

    def _add(self, header: MemoryHeader) -> None:
        saying = self._sayings[id(header)] = _Saying(header, _fold_sayings(header))
        positions, at = self._positions, len(self._indexed)
        for word in saying.folded.split():
            positions[word].append(at)
        self._indexed.append(saying)

    def find_related_memories(self, said: str) -> tuple[str, ...]:
        """Paths of the memories that say the same as a statement or speak against it, as far as
        their first 500 characters tell.
        """
        return tuple(each.path for each in self._find_related_headers(said))

    def find_contradicted_user_memory(self, said: str) -> str:
        """Path of a memory in the user's own words that a text speaks against; empty for none."""
        return next(
            (
                each.path
                for each in self._find_related_headers(said)
                if each.trust in USER_TRUST
                and each.status == "active"
                and not is_team_path(each.path)
                and compare_statements(said, each.saying or each.description) in OPPOSED
            ),
            "",
        )

    def _find_related_headers(self, said: str) -> tuple[MemoryHeader, ...]:
        found = self._related.get(said)
        if found is None:
            found = self._related[said] = tuple(self._iter_related(said))
        return found

    def _iter_related(self, said: str) -> Iterator[MemoryHeader]:
        limits = _measure_limits(said)
        near = self._find_near(limits)
        shortest = nsmallest(
            MAX_COMPARED_MEMORIES, near, key=lambda each: (len(each.folded), each.header.path)
        )
        compared = {each.header for each in shortest}
        if len(near) > MAX_COMPARED_MEMORIES:
            same = " ".join(said.split()).casefold()
            compared.update(each.header for each in near if same in each.folded)
        for each in sorted(compared, key=attrgetter("path")):
            texts = {each.saying, each.description, _split_former(each.description)[1]} - {""}
            if any(_is_related(said, text, limits) for text in texts):
                yield each

    def _find_near(self, limits: _AgreementLimits) -> set[_Saying]:
        """The memories that hold what `_is_related` asks for at least."""
        marks = [*(each.marks for each in limits.opposed), *limits.corrected]
        marks += [each for _, each in limits.given_up]
        if limits.opposed:
            return set[_Saying]().union(*map(self._find_all, marks))
        if not limits.telling:
            return self._all
        near = set[_Saying]().union(*map(self._find_all, marks))
        return near | self._select(self._look_up((limits.telling,)))

    @property
    def _all(self) -> set[_Saying]:
        return {*self._sayings.values()}

    def _find_all(self, marks: Marks) -> set[_Saying]:
        """The memories that hold one of each of these; of the first, as a word's beginning."""
        if not marks:
            return self._all
        near = self._look_up(marks[0], begins=True)
        for each in marks[1:]:
            if min(map(len, each)) >= MIN_LOOKUP_WORD_CHARS:
                near &= self._look_up(each)
        return {
            found
            for found in self._select(near)
            if contains_substring_from_every_group(found.folded, marks[1:])
        }

    def _select(self, positions: Iterable[int]) -> set[_Saying]:
        """The memories at these positions that are still there."""
        return {
            found for at in positions if id((found := self._indexed[at]).header) in self._sayings
        }

    def _look_up(self, group: Collection[str], *, begins: bool = False) -> set[int]:
        """Where the memories are that hold one of these, or a word that begins with one."""
        return set().union(
            *(
                self._positions[word]
                for mark in group
                if mark
                for word in self._list_words(mark)
                if not begins or _has_word_beginning(word, mark)
            )
        )

    def _list_words(self, mark: str) -> Iterator[str]:
        """The words that hold a mark, each once."""
        text = self._words
        at = text.find(mark)
        while at >= 0:
            end = text.find("\n", at)
            yield text[text.rfind("\n", 0, at) + 1 : end]
            at = text.find(mark, end)


def _has_word_beginning(text: str, mark: str) -> bool:
    """Whether a word in a text begins with a mark; a letter that is not ASCII, such as a kana, ends
    the word before.
    """
    if not (mark[0].isascii() and mark[0].isalnum()):
        return True
    at = text.find(mark)
    while at > 0 and text[at - 1].isascii() and text[at - 1].isalnum():
        at = text.find(mark, at + 1)
    return at >= 0


def _fold_sayings(header: MemoryHeader) -> str:
    return f"{header.saying}\t{header.description}".casefold()


def _describe_opposed(stance: ClauseStance) -> OppositeClausePrefilter:
    """What a clause that says the same as this one or the opposite holds: its words, for its choice
    an alternative, and nothing for its value.
    """
    chosen, rest = separate_chosen_alternative(stance)
    words = {
        word
        for word in rest
        if not (stance.value_length and re.search(r"\d", word)) and not word.startswith(LIMIT_MARK)
    }
    if stance.value_length and not chosen:  # what stands before the value names the thing
        words.update(stance.order[: max(1, len(stance.order) - stance.value_length)])
    group = (get_alternatives_of_word(chosen) or frozenset((chosen,))) if chosen else frozenset()
    first, last = stance.order[0], stance.order[-1]
    parted = (
        {first, last}
        if last in SEPARABLE
        else {last}
        if split_separable_verb_prefix(last)[0]
        else set()
    )
    whole = [
        cut_verb_to_common_stem(word) if word in (first, last) else _cut_ending(word)
        for word in words
        if word not in parted
    ]
    parts = [
        cut_verb_to_common_stem(split_separable_verb_prefix(word)[1] or word)
        for word in parted.intersection(words)
    ]
    return OppositeClausePrefilter(
        # What is a part of a German verb, apart or not, begins no word: it comes last.
        [*_list_marks(whole, group), *((part,) for part in parts)],
        denies=stance.is_positive and not chosen and not stance.value_length,
    )


def _list_marks(words: Iterable[str], group: frozenset[str] = frozenset()) -> Marks:
    """The longest first: a long word is rare, and to count each would read all texts for each."""
    marks: list[tuple[str, ...]] = [
        (word, *_list_foreign([each for each in _TRANSLATED if each.startswith(word)]))
        for word in sorted(words)
    ]
    marks += [(*group, *_list_foreign(group))] if group else []
    return sorted(marks, key=lambda each: min(map(len, each)), reverse=True)


def _list_cut_marks(words: Iterable[str]) -> Marks:
    return _list_marks(map(_cut_ending, words))


_TRANSLATED = frozenset(ONE_WORD_FOR.values())
_SPARE_WORDS = 4
"""Words that a text may have beyond twice those of one that says the same in the same words:
articles, politeness and negations count for nothing there.
"""


class _AgreementLimits(Struct, frozen=True):
    """What a text has to be like that says what a statement does, or otherwise."""

    opposed: Sequence[OppositeClausePrefilter]
    """What a clause is like that says the opposite of one of the statement's."""
    words: ClauseTokenClassifier
    """Content words of what agrees with a clause of the statement, or says the opposite."""
    telling: str
    """A part of every text that says the same in the same words; empty where there is none."""
    text_words: int
    """Number of words of a text that says the same in the same words."""
    stances: Sequence[ClauseStance]
    given_up: Sequence[tuple[frozenset[str], Marks]]
    """Each the words that the statement gives up, or none for what it rules out, and what a text
    holds that has them.
    """
    corrected: Sequence[Marks]
    """Each what a text holds whose value the statement corrects."""


def _measure_limits(said: str) -> _AgreementLimits:
    stances = parse_clause_stances(said)
    words = {
        word
        for each in stances
        for key in list_verb_folded_clause_keys(each)
        for word in (*key, *split_separable_verb_prefix(fold_european_verb(each.order[-1])))
    }
    groups = {group for word in words if (group := get_alternatives_of_word(word)) is not None}
    nouns = {
        fold_word_ending(noun)
        for member, each in GROUP_NOUNS.items()
        if any(member in group for group in groups)
        for noun in each
    }
    if "ask" in words:
        nouns |= WORDS_OF_ASKING
    return _AgreementLimits(
        [_describe_opposed(each) for each in stances],
        ClauseTokenClassifier(frozenset(words | nouns).union(*groups)),
        extract_distinctive_stem(said),
        2 * len(said.split()) + _SPARE_WORDS,
        stances,
        [
            *((each, _list_cut_marks(each)) for each in _list_given_up(said, stances)),
            *((frozenset(), _list_cut_marks(each)) for each in list_denied_words(stances)),
        ],
        [
            _list_marks(words)
            for words in list_word_groups_of_corrected_texts(said) | list_word_groups_of_facts(said)
        ],
    )


def _is_related(said: str, known: str, limits: _AgreementLimits) -> bool:
    """Whether a comparison finds a text the same or otherwise; most are told apart in a hundredth
    of the time that it takes.
    """
    folded = known.casefold()
    if _may_be_given_up(known, folded, limits) or may_agree_or_oppose(
        folded, limits.opposed, limits.words
    ):
        return compare_statements(said, known) is not StatementRelation.UNRELATED
    if (
        limits.telling in folded
        and len(known.split()) <= limits.text_words
        and is_same_rule(said, known)
    ):
        return True
    # No clause says the same or the opposite: only a value can be corrected.
    return (
        len(known) <= MAX_CORRECTION_CHARS
        and any(contains_substring_from_every_group(folded, marks) for marks in limits.corrected)
        and (corrects_value(said, known) or states_otherwise(said, known))
    )


def _may_be_given_up(known: str, folded: str, limits: _AgreementLimits) -> bool:
    """Whether a clause of a text has what the statement gives up, or rules out and more."""
    for words, marks in limits.given_up:
        if contains_substring_from_every_group(folded, marks):
            near = parse_clauses_with_marks(known, marks)
            if (
                any(words <= each.words for each in near)
                if words
                else rules_out_more(limits.stances, known, near)
            ):
                return True
    return False


def _list_foreign(words: Collection[str]) -> list[str]:
    return [foreign for foreign, word in ONE_WORD_FOR.items() if word in words]


def _cut_ending(word: str) -> str:
    """What the forms of a word have in common at least: `polic` for policy and policies, and in
    Korean all but the last syllable, which takes up the ending.
    """
    if "가" <= word[-1] <= "힣":
        return word[:-1] or word
    return word[:-1] if word.isascii() and word.isalpha() and len(word) > _SHORT_WORD else word


_SHORT_WORD = 4
"""Letters of a word that is not cut: its forms differ in what is added."""


def _compare_added(added: MemoryFile, said: str, topic: MemoryFile) -> StatementRelation:
    """How a new memory, `said` with the refusal before it, stands to one that is there: the same
    words said again refuse nothing that they say.
    """
    if is_same_rule(added.one_line_text, topic.one_line_text):
        return StatementRelation.SAME
    return _compare_topic(said, topic)


def _compare_topic(said: str, topic: MemoryFile) -> StatementRelation:
    found = compare_statements(said, topic.one_line_text)
    if found is StatementRelation.UNRELATED:
        former = extract_former_text_from_description(topic)
        if is_same_rule(said, topic.description):
            return StatementRelation.SAME
        if former and compare_statements(said, former) in _CHANGED:
            return StatementRelation.CORRECTED
    longer = "\n" in topic.body.strip() and topic.provenance.trust in USER_TRUST
    if longer and found in (StatementRelation.OPPOSITE, StatementRelation.RESTATED):
        if found is StatementRelation.OPPOSITE:
            return StatementRelation.PARTLY_OPPOSITE
        return StatementRelation.UNRELATED
    return found


def _confirm(known: MemoryFile, added: MemoryFile, now: str) -> MemoryChange:
    """The known memory, said again: with the newer date, words and message."""
    given = known.provenance
    provenance = replace(
        added.provenance, created=given.created, verified=now, replaces=given.replaces
    )
    return MemoryChange(
        path=known.path,
        before=encode_file_text_as_utf8(known.text()),
        after=encode_file_text_as_utf8(with_provenance(known, provenance).text()),
    )


_FORMER_MARK = "(before: "
"""Begins what a memory's description keeps of the one that it replaced."""
MAX_FORMER_CHARS = 150
"""Characters of the longest former text that is kept: the index shows no more of a line."""


def _find_lost_topic(added: MemoryFile, former: MemoryFile) -> str:
    """The text of a former memory that says what the new one is about; empty where that says it."""
    return next(
        (
            text
            for text in (former.one_line_text, extract_former_text_from_description(former))
            if text
            and len(text) <= MAX_FORMER_CHARS
            and not names_whole_subject(prefix_statement_with_its_refusal(added), text)
        ),
        "",
    )


def extract_former_text_from_description(topic: MemoryFile) -> str:
    """What a memory's description keeps of one that it replaced; empty where it keeps nothing.

    A user may write the same mark themselves: it counts where the memory replaces another and
    does not say those words.
    """
    _, former = _split_former(topic.description)
    is_own = not topic.provenance.replaces or f"{_FORMER_MARK}{former})" in topic.body
    return "" if is_own else former


def strip_former_text_from_description(topic: MemoryFile) -> str:
    """A memory's description without what it keeps of one that it replaced."""
    if extract_former_text_from_description(topic):
        return _split_former(topic.description)[0]
    return topic.description


def _split_former(description: str) -> tuple[str, str]:
    """A description before its last mark and the text behind it, whoever wrote that."""
    before, mark, rest = description.rpartition(_FORMER_MARK)
    return (before.rstrip(), rest.removesuffix(")")) if mark else (description, "")


def _with_replaced(added: MemoryFile, replaced: Sequence[MemoryFile]) -> MemoryChange:
    """The new memory, which names those that it replaces and takes over their pin."""
    provenance = replace(added.provenance, replaces=tuple(topic.path for topic in replaced))
    topic = with_provenance(added, provenance)
    former = next((text for each in replaced if (text := _find_lost_topic(added, each))), "")
    if former:
        line = f"{added.description} {_FORMER_MARK}{former})"
        topic = with_header(topic, {"description": line})
    if any(each.pinned for each in replaced):
        topic = with_header(topic, {"pinned": "true"})
    return MemoryChange(path=added.path, before=None, after=encode_file_text_as_utf8(topic.text()))


def _removal(topic: MemoryFile) -> MemoryChange:
    return MemoryChange(path=topic.path, before=encode_file_text_as_utf8(topic.text()), after=None)


def _explain_question(agreement: StatementRelation, said: str) -> str:
    """Why the user is asked about a memory that the new one touches without replacing it; empty for
    one that it does not touch.
    """
    if agreement is StatementRelation.CORRECTED:
        return f"the user said “{said}”, and this may be what it corrects"
    if agreement is StatementRelation.ABANDONED:
        return f"the user said “{said}”, and this works with it"
    if agreement is StatementRelation.STATED_OTHERWISE:
        return f"the user said “{said}”, and this may be no longer so"
    if agreement is StatementRelation.PARTLY_OPPOSITE:
        return f"the user said “{said}”, and a part of this says otherwise"
    return ""


_LEANS = lazy_pattern(
    r"(?:except|unless|but|only|also|otherwise|außer|sondern|sauf|mais|excepto|salvo|pero|exceto|mas|кроме|но)\b"
    r"|.*\b(?:it|its|they|them|their|that|those|these|this|es|dies\w*|ça|cela|eso|ello|isso|это)\b",
    re.IGNORECASE | re.DOTALL,
)
"""What is left of a memory depends on what was taken out of it."""
_GOES_ON = ("—", "–", "-", ":")
"""Ends a text whose rest is missing: `Наша база данных —`."""


def _remove_contradicted_part(topic: MemoryFile, said: str) -> MemoryChange | None:
    """A memory of one line without what the user says otherwise; None where no rest can stand
    alone.
    """
    rest = "" if "\n" in topic.body.strip() else remove_contradicted_clauses(said, topic.body)
    if not rest or _LEANS.match(rest) or rest.rstrip(" .").endswith(_GOES_ON):
        return None
    changed = with_header(with_body(topic, f"\n{rest}\n"), {"description": rest[:150]})
    return MemoryChange(
        path=topic.path,
        before=encode_file_text_as_utf8(topic.text()),
        after=encode_file_text_as_utf8(changed.text()),
    )

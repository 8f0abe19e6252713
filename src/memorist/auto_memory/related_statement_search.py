"""The search for memories that say the same as a statement or speak against it, by the words that
they have in common: no file is read. Pure.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from operator import attrgetter

from msgspec import Struct

from memorist.auto_memory.clause_stances import (
    GROUP_NOUNS,
    LIMIT_MARK,
    ONE_WORD_FOR,
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
    may_rule_out,
    parse_clause_stances,
    parse_clauses_with_marks,
    split_chosen_word_from_clause,
)
from memorist.auto_memory.denied_words import (
    does_what_is_ruled_out,
    list_asserted_words,
    list_denied_words,
    rules_out_more,
)
from memorist.auto_memory.fact_values import list_search_words_for_conflicts, states_otherwise
from memorist.auto_memory.memory_manifest import MemoryHeader
from memorist.auto_memory.memory_reconciliation import split_at_former_text
from memorist.auto_memory.statement_comparison import (
    OPPOSED,
    StatementRelation,
    compare_statements,
    list_given_up_words,
)
from memorist.auto_memory.statements.statement_similarity import (
    extract_distinctive_stem,
    is_same_rule,
)
from memorist.auto_memory.team_memory import is_team_path
from memorist.auto_memory.value_correction import (
    MAX_CORRECTION_CHARS,
    corrects_value,
    list_word_groups_of_corrected_texts,
)
from memorist.auto_memory.verb_forms import (
    SEPARABLE,
    cut_verb_to_common_stem,
    fold_european_verb,
    split_separable_verb_prefix,
)
from memorist.auto_memory.visible_memory import USER_TRUST

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
            texts = {each.saying, each.description, split_at_former_text(each.description)[1]} - {
                ""
            }
            if any(_is_related(said, text, limits) for text in texts):
                yield each

    def _find_near(self, limits: _AgreementLimits) -> set[_Saying]:
        """The memories that hold what `_is_related` asks for at least."""
        marks = [each.marks for each in limits.opposed]
        marks += [*limits.corrected, *limits.conflicting, *limits.asserted]
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
    chosen, rest = split_chosen_word_from_clause(stance)
    words = {word for word in rest if not (stance.value_length and re.search(r"\d", word))}
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
        min(
            _cut_ending(word),
            cut_verb_to_common_stem(word) if word in (first, last) else word,
            key=len,
        )
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
        if not word.startswith(LIMIT_MARK)
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
    conflicting: Sequence[Marks]
    """Each what a fact holds that the statement states otherwise."""
    asserted: Sequence[Marks]
    """Each what a ban holds that the statement speaks against."""


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
            *((each, _list_cut_marks(each)) for each in list_given_up_words(said, stances)),
            *((frozenset(), _list_cut_marks(each)) for each in list_denied_words(stances)),
        ],
        [_list_marks(words) for words in list_word_groups_of_corrected_texts(said)],
        [_list_marks(words) for words in list_search_words_for_conflicts(said)],
        [_list_marks(words) for words in list_asserted_words(said, stances)],
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
    # No clause says the same or the opposite: only a value or a ban can be in doubt.
    return len(known) <= MAX_CORRECTION_CHARS and (
        (_holds_one_of(folded, limits.corrected) and corrects_value(said, known))
        or (_holds_one_of(folded, limits.conflicting) and states_otherwise(said, known))
        or (
            _holds_one_of(folded, limits.asserted)
            and may_rule_out(known)
            and does_what_is_ruled_out(said, limits.stances, parse_clause_stances(known))
        )
    )


def _holds_one_of(folded: str, groups: Iterable[Marks]) -> bool:
    """Whether a text in small letters holds all that one of several texts holds at least."""
    return any(contains_substring_from_every_group(folded, marks) for marks in groups)


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

"""Which statement patterns may match a sentence, told by a word that each of them requires. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from memorist.auto_memory.statements.pattern_required_words import find_required_words, fold_case
from memorist.auto_memory.statements.statement_patterns import StatementPattern
from memorist.core.lazy import lazy_module

if TYPE_CHECKING:
    import ahocorasick_rs as automata
    from ahocorasick_rs import AhoCorasick
else:
    automata = lazy_module("ahocorasick_rs")


class StatementPatternIndex:
    """Patterns in the order in which they are tried."""

    def __init__(self, *patterns: StatementPattern) -> None:
        self.patterns = patterns

    @cached_property
    def _positions(self) -> dict[str, list[int]]:
        """Positions of the patterns by each word that they require; under "" those of the rest."""
        found: dict[str, list[int]] = {"": []}
        for position, each in enumerate(self.patterns):
            for word in find_required_words(each.pattern) or [""]:
                found.setdefault(word, []).append(position)
        return found

    @cached_property
    def _lists(self) -> tuple[list[int], ...]:
        return tuple(self._positions.values())

    @cached_property
    def _search(self) -> AhoCorasick:
        return automata.AhoCorasick(list(self._positions)[1:])

    def compile_stepwise(self) -> Iterator[None]:
        """Compile the patterns before the first sentence that needs them, one part at each step."""
        self.select_patterns("")
        for each in self.patterns:
            yield from each.compile_stepwise()

    def select_patterns(self, sentence: str) -> list[StatementPattern]:
        """Return the patterns that may match a sentence, in order."""
        chosen = set(self._lists[0])
        for word, _, _ in self._search.find_matches_as_indexes(
            fold_case(sentence), overlapping=True
        ):
            chosen.update(self._lists[word + 1])
        return [self.patterns[position] for position in sorted(chosen)]

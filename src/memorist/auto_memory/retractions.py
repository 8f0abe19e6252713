"""Whether the user later takes back what they said, where no memory was written of it. Pure."""

from __future__ import annotations

from memorist.auto_memory.statement_changes import contains_all_words_of_request
from memorist.auto_memory.statement_comparison import StatementRelation, compare_statements
from memorist.auto_memory.statements.statement_parser import Statement

RETRACTING_RELATIONS = frozenset(
    (StatementRelation.OPPOSITE, StatementRelation.CORRECTED, StatementRelation.ABANDONED)
)
"""How later words stand to earlier ones that no longer hold."""


def takes_back(later: Statement, said: str, *, is_next: bool) -> bool:
    """Whether a later statement of the user takes back what they said: it says otherwise, or asks
    to forget it. `is_next` says that `said` was in the message right before it, which "forget that"
    means.
    """
    if later.act != "forget":
        return compare_statements(later.text, said) in RETRACTING_RELATIONS
    if not later.certain:
        return False
    return contains_all_words_of_request(later.text, said) if later.text else is_next

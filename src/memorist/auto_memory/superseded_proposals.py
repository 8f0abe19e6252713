"""Which of the new memories that wait the user has said otherwise since (AM-10, AM-12)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.inbox import Proposal
from memorist.auto_memory.memory_file import MemoryFile, parse_memory_file
from memorist.auto_memory.memory_manifest import build_memory_header
from memorist.auto_memory.memory_reconciliation import prefix_statement_with_its_refusal
from memorist.auto_memory.related_statement_search import RelatedStatementSearch
from memorist.auto_memory.statement_comparison import OPPOSED, compare_statements
from memorist.auto_memory.team_memory import is_team_path
from memorist.auto_memory.visible_memory import USER_TRUST
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.core.utc_time import format_utc_timestamp


class MemoryWithChangeTime(Struct, frozen=True):
    """A memory, and when its file changed last."""

    topic: MemoryFile
    modified: float
    """Seconds since the epoch, UTC."""


def find_later_words_against_proposals(memory: AutoMemory) -> dict[str, str]:
    """The user's later words, here or in every project, that speak against a new memory that waits,
    by the proposal's id. Raises StoreError.
    """
    waiting = memory.list_proposals()
    topics = {
        each.id: parse_memory_file(each.path, encode_file_text_as_utf8(each.after))
        for each in waiting
        if each.before is None and each.after is not None and not is_team_path(each.path)
    }
    proposed = {each.id: each for each in waiting if each.id in topics}
    search = RelatedStatementSearch(
        [
            replace(build_memory_header(topic, modified=proposed[id].at, size=0), path=id)
            for id, topic in topics.items()
        ]
    )
    found: dict[str, str] = {}
    for id, topic in topics.items():
        said = prefix_statement_with_its_refusal(topic)
        later = [
            *(
                topics[other].one_line_text
                for other in search.find_related_memories(said)
                if _is_later_word(proposed[other], proposed[id])
            ),
            *(
                each.topic.one_line_text
                for each in _find_believed_memories(memory, said)
                if _is_later(each, proposed[id])
            ),
        ]
        against = [words for words in later if compare_statements(words, said) in OPPOSED]
        if against:
            found[id] = against[-1]
    return found


def _find_believed_memories(memory: AutoMemory, said: str) -> Iterator[MemoryWithChangeTime]:
    """The memories that have to do with a statement, and whose origin is believed."""
    for each in memory.memories_by_prefix.values():
        heads = each.headers_by_path()
        for topic in each.known_memories.find_related(said):
            if not each.folder.has_untrusted_origin(topic.path):
                yield MemoryWithChangeTime(topic, heads[topic.path].modified)


def _is_later_word(other: Proposal, given: Proposal) -> bool:
    """Whether another proposal is the user's own word, and came later."""
    return other.is_in_users_words and other.at > given.at


def _is_later(memory: MemoryWithChangeTime, given: Proposal) -> bool:
    """Whether a memory in the user's words was said, or said again, after a proposal was made."""
    provenance, at = memory.topic.provenance, format_utc_timestamp(given.at)
    said = provenance.verified or provenance.created
    return (
        provenance.trust in USER_TRUST
        and provenance.status == "active"
        and not is_team_path(memory.topic.path)
        and (said > at or (said == at and memory.modified > given.at))
    )

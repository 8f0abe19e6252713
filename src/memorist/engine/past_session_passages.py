"""What was said in past sessions of a project and bears on a prompt."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.removed_memories import ForgottenQuotesReader
from memorist.models.embedder import get_embedder_if_wanted
from memorist.recall.memory_selection import MAX_QUERY_CHARS, has_enough_search_words
from memorist.recall.project_question import is_question_without_request
from memorist.recall.session_index import SessionIndex
from memorist.recall.session_passages import (
    MatchedPassage,
    Passage,
    leave_out_unquotable_passages,
    select_passages,
)
from memorist.rollouts.session_sources import find_repository_root_or_folder
from memorist.store.home_layout import Layout

MAX_JUDGED_PASSAGES = 30
"""Passages that are judged for one prompt."""
MAX_PASSAGES_OF_DAYS = 6
"""Passages shown for "what did we do yesterday?"."""


def find_passages_for_prompt(
    index: SessionIndex,
    prompt: str,
    *,
    project: str,
    forgotten: ForgottenQuotesReader | None,
    excluding: str = "",
) -> tuple[MatchedPassage, ...]:
    """The turns of past sessions of a project that a session is shown at a prompt; none of the
    session `excluding`, and none with words that the user had taken out of memory. Raises
    StoreError.
    """
    query = prompt[:MAX_QUERY_CHARS]
    is_question = is_question_without_request(query)
    of_day = is_question and index.search_by_day(
        query, MAX_PASSAGES_OF_DAYS, project=project, excluding=excluding
    )
    if of_day:
        shown = leave_out_unquotable_passages(of_day)
    else:
        found = index.search(
            query, MAX_JUDGED_PASSAGES, project=project, excluding=excluding, by_meaning=is_question
        )
        shown = select_passages(query, found, index.count_passages(project))
    words = forgotten.list_quotes() if shown and forgotten is not None else ()
    return tuple(each for each in shown if not _has_any(each.passage, words))


def _has_any(turn: Passage, words: Collection[str]) -> bool:
    texts = (turn.question, turn.said, turn.answered)
    return any(word in text for word in words for text in texts)


def find_past_session_passages(
    layout: Layout, project: str, query: str, *, memory: AutoMemory, embeddings: bool
) -> tuple[MatchedPassage, ...]:
    """What was said in past sessions of a project that a message like this brings back, as far as
    they are indexed; `embeddings` is the setting `recall.embeddings`. Raises StoreError.
    """
    path, root = layout.session_index, find_repository_root_or_folder(project)
    if not root or not path.exists() or not has_enough_search_words(query):
        return ()
    embedder = get_embedder_if_wanted(wanted=embeddings and is_question_without_request(query))
    memory.folder.refresh()
    with closing(SessionIndex(path, embedder=embedder)) as index:
        return find_passages_for_prompt(
            index, query, project=root, forgotten=ForgottenQuotesReader(memory)
        )

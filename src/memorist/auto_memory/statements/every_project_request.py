"""A request of the user that what was just said is to hold in every project. Pure."""

from __future__ import annotations

from memorist.auto_memory.statements.statement_parser import (
    may_be_others_words,
    split_typed_sentences,
)
from memorist.auto_memory.statements.statement_scope import is_every_project_request
from memorist.auto_memory.statements.text_around_pastes import extract_typed_text
from memorist.core.messages import Message


def asks_for_every_project(message: Message) -> bool:
    """Whether a person typed that what stands before, in this message or the one before it, is to
    hold in all of their projects.
    """
    typed = extract_typed_text(message).strip()
    if not message.is_typed or not typed or may_be_others_words(typed):
        return False
    return any(is_every_project_request(each.masked) for each in split_typed_sentences(typed))

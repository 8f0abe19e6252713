"""A request of the user that what was just said is to hold in every project. Pure."""

from __future__ import annotations

import re

from memorist.auto_memory.statements.statement_parser import (
    may_be_others_words,
    split_typed_sentences,
)
from memorist.auto_memory.statements.text_around_pastes import extract_typed_text
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message

_REQUEST = lazy_pattern(
    r"(?:please |and |also |actually,? |yes,? |ok(?:ay)?,? )*(?:(?:remember|keep|save|store|apply|use|do|make) (?:this|that|it)(?: rule)?|(?:this|that|it) "
    r"(?:holds|goes|applies|counts|is)(?: true)?) (?:(?:for|in|across|to) (?:all|every|each)(?: of)?(?: my)? (?:projects?|repos?|repositor(?:y|ies))"
    r"|everywhere|globally)(?: please| too| as well)?[\s.!]*"
    r"|(?:bitte )?merke? dir das (?:bitte )?(?:für|in) alle[n]? (?:meine[n]? )?projekte[n]?[\s.!]*|das gilt (?:für|in) alle[n]? (?:meine[n]? )?projekte[n]?[\s.!]*"
    r"|retiens(?: ça|-le| cela) pour tous mes projets[\s.!]*|recuerda(?:lo)?(?: eso| esto)? (?:para|en) todos mis proyectos[\s.!]*"
    r"|запомни это для всех (?:моих )?проектов[\s.!]*|(?:这个?|这条)?(?:规则)?(?:所有|每个)项目都(?:适用|要?记住|这样|一样)[。！!]*",
    re.IGNORECASE,
)


def asks_for_every_project(message: Message) -> bool:
    """Whether a person typed that what stands before, in this message or the one before it, is to
    hold in all of their projects.
    """
    typed = extract_typed_text(message).strip()
    if not message.is_typed or not typed or may_be_others_words(typed):
        return False
    return any(is_every_project_request(each.masked) for each in split_typed_sentences(typed))


def is_every_project_request(masked: str) -> bool:
    """Whether a sentence without its quotations asks for that, and so states nothing itself."""
    return _REQUEST.fullmatch(masked) is not None

"""Find explicit statements of the user that are meant for later sessions, without a model (AM-7,
AM-8).

Pure. Only text the user typed counts: no tool results, summaries, injected text, other agents'
messages, quotations, code or logs. A sentence is a statement where a pattern matches and no filter
applies; unclear ones are left to a model or to a plainer request. Precision comes before recall: an
unwanted memory is worse than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from memorist.auto_memory.statements import (
    chinese_patterns,
    english_patterns,
    european_patterns,
    foreign_rule_patterns,
    korean_patterns,
    plain_english_patterns,
)
from memorist.auto_memory.statements.composite_message import GENERAL, is_composite_message
from memorist.auto_memory.statements.confirmed_way_of_working import is_bare_choice
from memorist.auto_memory.statements.context_dependent_lines import (
    is_heading,
    is_marked_remark,
    is_neutral_line,
    list_context_dependent_lines,
)
from memorist.auto_memory.statements.forget_requests import (
    asks_surely_to_forget,
    is_deletion_or_postponing_task,
    read_forget_request,
)
from memorist.auto_memory.statements.lasting_clause import find_lasting_clause_start
from memorist.auto_memory.statements.ordered_texts import drop_sentences_about_ordered_text
from memorist.auto_memory.statements.pattern_alternatives import OpeningPattern
from memorist.auto_memory.statements.plain_facts import (
    classify_plain_fact,
    find_refusal_or_lead_in_end,
    tells_trouble_behind_joint,
)
from memorist.auto_memory.statements.played_roles import drop_sentences_for_part, may_be_for_part
from memorist.auto_memory.statements.statement_filters import (
    is_forbidden_in_memory,
    is_polite_request,
    is_question_or_supposition,
    is_reported_speech,
    is_task_bound,
    remove_tag_question,
    states_secret_value,
    tells_how_often,
)
from memorist.auto_memory.statements.statement_kind import StatementKind, choose_memory_kind
from memorist.auto_memory.statements.statement_pattern_index import StatementPatternIndex
from memorist.auto_memory.statements.statement_patterns import (
    ORDER,
    PROJECT_NOUN,
    REFUSAL,
    SENTENCE_CACHE_SIZE,
    VERB,
    StatementAct,
    StatementPattern,
    find_lead_in_end,
)
from memorist.auto_memory.statements.statement_scope import (
    is_every_project_request,
    is_lasting_statement,
)
from memorist.auto_memory.statements.text_around_pastes import extract_typed_text
from memorist.auto_memory.statements.user_prose import (
    LONG_MESSAGE_CHARS,
    MAX_SENTENCE_CHARS,
    PROSE_CACHE_SIZE,
    ProseSentence,
    contains_unattributable_text,
    cut_middle,
    list_lines_right_below_print,
    mask_quotations,
    names_other_speaker,
    split_prose_sentences,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin

MAX_STATEMENTS = 8
"""Statements taken from one message at most; longer lists of rules belong in an instruction file.
"""

_QUERY_AFTER = lazy_pattern(
    r"[-–—,\s]*(?:is|are|was|would|does|do|should|what|why)\b(?!.*\b(?:clear|understood|ok|okay)\b).{0,20}\b(?:that|this|it)\b.*[?？]",
    re.IGNORECASE,
)
"""A question about the sentence before it."""


_REMEMBERS = StatementPatternIndex(
    *english_patterns.ENGLISH_REMEMBER_PATTERNS,
    *chinese_patterns.CHINESE_REMEMBER_PATTERNS,
    *european_patterns.OTHER_REMEMBER_PATTERNS,
    *korean_patterns.KOREAN_REMEMBER_PATTERNS,
)
_CORRECTIONS = StatementPatternIndex(
    *english_patterns.ENGLISH_CORRECTION_PATTERNS, *chinese_patterns.CHINESE_CORRECTION_PATTERNS
)
_RULES = StatementPatternIndex(
    *english_patterns.ENGLISH_RULE_PATTERNS,
    *chinese_patterns.CHINESE_RULE_PATTERNS,
    *european_patterns.OTHER_RULE_PATTERNS,
    *korean_patterns.KOREAN_RULE_PATTERNS,
    *plain_english_patterns.PLAIN_PATTERNS,
)


def compile_statement_patterns_stepwise() -> Iterator[None]:
    """Compile every pattern of this module, one at each step, as the first messages that hold its
    words would.
    """
    for each in (_REMEMBERS, _CORRECTIONS, _RULES):
        yield from each.compile_stepwise()


LONE_CONFIRMATION = lazy_pattern(
    f"{plain_english_patterns.CONFIRMATION}|{foreign_rule_patterns.CONFIRMATION}", re.IGNORECASE
)
"""A whole message that confirms what the model did or said: "keep doing that"."""

_RETRACTION = lazy_pattern(
    r"(?:(?:no|actually|ok|oh|wait|sorry|please)[\s,.!]*)*(?:(?:forget|scratch|don['’]?t remember|unremember) that|"
    r"(?:forget|scratch) what i (?:just )?said|vergiss (?:das|es) (?:wieder|bitte|lieber)|vergiss das|oublie(?: ça| cela)|vergeet dat(?: weer)?|dimentica quest[oa]|"
    r"olvida eso|esque[cç][ae] isso|забудь(?:те)?(?: это| об этом)|忘掉(?:这个|那个|它|吧)|当我没说|"
    r"(?:今の|それ)は忘れて(?:ください|下さい)?|(?:아니,? |아,? )?(?:그거|그건|그 말은?|방금 (?:한 )?(?:말|거|건|얘기)(?:은|는)?) ?(?:그냥 |다시 )?"
    r"(?:잊어|취소|없던 (?:걸|일)로)\S*(?: (?:줘|주세요|버려|해줘|하자))?)(?: again| please| bitte)?[\s.!。！]*",
    re.IGNORECASE,
)
"""A message, or the first clause of one, that takes back what was just said."""
_DELETION = lazy_pattern(
    r"(?:(?:no|ok|oh|wait|sorry|please|bitte)[\s,.!]*)*(?:(?:delete|remove|erase|drop) (?:that|this|it)(?: (?:rule|memory|note))?|(?:lösche?|streiche?|entferne?) (?:das|es)|(?:supprime|efface)(?:-l[ea]| ça| cela)|(?:bórra|quíta|elimína|elimina)(?:lo|la)|(?:borra|quita|elimina) (?:eso|esto)|(?:apaga|apague|remove|elimina|tira)(?:-[oa]| isso| isto)"
    r"|(?:cancella|elimina|dimentica|scorda)(?:lo|la)|oublie(?:-l[ea])?|olvídal[oa]|vergeet dat maar|забудь(?:те)?|verwijder (?:dat|het)|(?:удали|сотри|убери)(?:те)? (?:это|его|её)|(?:把(?:它|这个|这条))?(?:删掉|删了|删除)(?:它|这个|这条)?吧?|(?:それ|これ)(?:を|は)?(?:消して|削除して)(?:ください)?|(?:그거|그건|이거) ?(?:지워|삭제해)\S*(?: (?:줘|주세요))?)(?: again| please| bitte| wieder)?[\s.!。！]*",
    re.IGNORECASE,
)
"""A whole message that deletes something in sight: what was just said, or a thing of the work."""
_SKILL = r"\[?\$memorist-"
"""How Codex names a skill of memorist's; its app writes a link."""
_COMMAND = lazy_pattern(
    rf"(?:/(?:[\w-]+:)?|{_SKILL})(?P<name>remember|forget|memorize)(?:\]\([^)\s]*\))?[ \t]+"
    r"(?P<text>\S.*)",
    re.DOTALL,
)
_MEMORY_LINE = lazy_pattern(
    r"#(?!(?-i:[a-z]+[A-Z])|\w+:\S|(?:changes|codebase|fetch|problems|selection|usages)\b)"
    rf"[ \t]?(?P<text>(?:[^\s#!\d][^\n]{{8,400}}|{ORDER} [^\n]{{2,}}))\s*\Z",
    re.IGNORECASE,
)
"""A line for the memory as Claude Code had it; no reference to a file, a symbol or a tool as VS Code
writes it.
"""
_REFUSAL = lazy_pattern(REFUSAL, re.IGNORECASE)
_REMEMBER_THAT = lazy_pattern(
    r"(?:please |also |and |you )*(?:remember|keep in mind|don['’]?t forget|note|memori[sz]e) "
    r"(?:that|this|it)(?: please"
    r"| as .{1,40}| for .{1,40})?\s*[.!]*"
    r"|(?:请|帮我|你)*(?:记住|记一下|别忘了)(?:这一?点|这个|了)?[。！!]*",
    re.IGNORECASE,
)
DURABLE = lazy_pattern(
    rf"\b(?:always|never(?! (?:been|had|did|done|seen|was|got|\w+ed)\b)|ever|everywhere|for "
    rf"everything|every time|in general"
    rf"|generally|(?:in|across) (?:this|our|all|the whole) {PROJECT_NOUN}|we (?:only )?(?:use|"
    rf"test|write|deploy)"
    rf"|our \w+ (?:returns?|uses?|is|are|has|have)|(?:leads|owns|is responsible for|is in "
    rf"charge of))\b|统一|一律|从来|永远|以后|今后"
    rf"|所有|每次|都用|项目里?(?:都|不|要求)",
    re.IGNORECASE,
)
"""Words that say that something holds in general."""
_LIST_ANNOUNCEMENT = lazy_pattern(
    r"(?:from now on|going forward|in future|remember|(?:my|our|house|ground) rules|keep in "
    r"mind|以后|今后|记住|规则)[^:：]{0,60}[:：]\s*$",
    re.IGNORECASE,
)
TASK_START = OpeningPattern(rf"(?:please |just |also )*(?!keep\b|stop\b){VERB}\b(?!['’]s)")
"""Begins with an order that is mostly carried out once."""
_ORDER_START = lazy_pattern(
    rf"(?:{ORDER}|no|all|every|we|i prefer|请|不要|别|必须|一律|统一|所有|用|每)", re.IGNORECASE
)


class Statement(Struct, frozen=True):
    """A statement of the user for later sessions."""

    act: StatementAct
    kind: StatementKind
    text: str
    """The rule or fact in the user's own words, without the request around it ("please remember
    that"). Empty for an act `forget` that takes back what was just said.
    """
    quote: str
    """The sentence exactly as it stands in the message."""
    message_id: str
    """Id of the message."""
    certain: bool = True
    """Whether its own words say that it holds for later; otherwise it waits for the person. Of a
    request to forget, whether nothing but a memory can be meant; otherwise the person is asked.
    """


def find_statements(message: Message) -> tuple[Statement, ...]:
    """Find the statements in a message, in order; none in a message that no user typed."""
    if message.origin is not Origin.USER or message.role not in {"user", "developer"}:
        return ()
    found: dict[tuple[str, str], Statement] = {}
    for act, text, quote in list_certain_statements(extract_typed_text(message)):
        if len(found) < MAX_STATEMENTS:
            found.setdefault(
                (act, text.casefold()),
                Statement(
                    act,
                    choose_memory_kind(text),
                    text,
                    quote,
                    message.id,
                    certain=act != "forget" or _is_sure_request(text, quote),
                ),
            )
    return tuple(found.values())


def _is_sure_request(text: str, quote: str) -> bool:
    """Whether nothing but a memory can be meant: by a command of memorist's, or in these words."""
    if not text:
        return _RETRACTION.fullmatch(quote) is not None
    return text == quote or asks_surely_to_forget(quote)


CLIENT_COMMAND = lazy_pattern(
    rf"(?:/(?:memorist:)?|{_SKILL})(?P<name>[A-Za-z][\w.:-]*)(?:\]\([^)\s]*\))?"
    r"(?P<arguments>(?:\s.*)?)",
    re.DOTALL,
)
"""A command of the client: what is typed behind it is for that command first, so it waits at most.
A text that begins with a path is none.
"""


@lru_cache(PROSE_CACHE_SIZE)
def list_certain_statements(typed: str) -> tuple[tuple[StatementAct, str, str], ...]:
    """Act, text and quote of each certain statement in a typed text."""
    return tuple(_statements_in_text(typed))


@lru_cache(PROSE_CACHE_SIZE)
def split_typed_sentences(text: str) -> tuple[ProseSentence, ...]:
    """The sentences of a typed text but those about a text that it orders, or for a part that it
    gives the agent to play; remembered for the newest texts.
    """
    sentences = drop_sentences_for_part(split_prose_sentences(text))
    read = drop_sentences_about_ordered_text(sentences)
    return tuple(part for each in read for part in _split_behind_forget_request(each))


def _split_behind_forget_request(sentence: ProseSentence) -> tuple[ProseSentence, ...]:
    """A request to forget and what is stated behind it as sentences of their own: "scratch what I
    said about tabs, we use two spaces everywhere".
    """
    if read_forget_request(sentence) is None:
        return (sentence,)
    for joint in _BEHIND_RETRACTION.finditer(sentence.masked):
        request, rest = (
            replace(sentence, text=sentence.text[part], masked=sentence.masked[part])
            for part in (slice(joint.start()), slice(joint.end(), None))
        )
        if (
            read_forget_request(request) is not None
            and _POINTS_BACK.search(rest.masked) is None
            and (
                _OWN_SUBJECT.match(rest.masked)
                or _states_for_later(rest)
                or classify_plain_fact(rest)
            )
        ):
            return request, rest
    return (sentence,)


_OWN_SUBJECT = lazy_pattern(r"(?:we|wir|on|nous|a gente|nós|мы)\b|我们|我們|うちは", re.IGNORECASE)
"""Begins a clause that says what holds."""


def _states_for_later(sentence: ProseSentence) -> bool:
    statement = find_statement_in_sentence(sentence)
    return statement is not None and statement[0] != "forget"


def _statements_in_text(typed: str) -> Iterator[tuple[StatementAct, str, str]]:
    text = typed.strip()
    whole = _whole_message_statements(text)
    if whole is not None:
        yield from whole
        return
    if text.startswith("!") or CLIENT_COMMAND.fullmatch(text) or _may_be_of_another(text):
        return
    if LONE_CONFIRMATION.fullmatch(text) or is_bare_choice(text):
        return
    retraction, text = split_retraction(text)
    if retraction:
        yield "forget", "", retraction
    for statement in _statements_in_sentences(split_typed_sentences(text)):
        if statement[0] == "forget" or not may_be_for_part(text):
            yield statement


def _statements_in_sentences(
    sentences: Sequence[ProseSentence],
) -> Iterator[tuple[StatementAct, str, str]]:
    informs = not any(map(_asks_for_something, sentences))
    for sentence in sentences:
        if is_every_project_request(sentence.masked):
            continue  # it is about what stands before it
        statement = find_statement_in_sentence(sentence)
        if statement is None and informs and classify_plain_fact(sentence) == "particular":
            start = find_refusal_or_lead_in_end(sentence.masked)
            statement = (
                "rule",
                strip_punctuation_and_tag_question(sentence.text[start:]),
                sentence.text,
            )
        if statement is not None:
            yield statement


def may_be_others_words(text: str) -> bool:
    """Whether what a whole message states need not be the user's word, or not for later."""
    return _may_be_of_another(text) or may_be_for_part(text)


def _may_be_of_another(text: str) -> bool:
    return (
        contains_unattributable_text(text)
        or names_other_speaker(text)
        or is_composite_message(text)
        or has_line_about_other_text(text)
        or has_rule_amid_description(text)
        or has_rule_right_below_print(text)
    )


@lru_cache(PROSE_CACHE_SIZE)
def has_rule_amid_description(text: str) -> bool:
    """Whether a statement shares its line with a sentence that is none, and neither a task nor a
    question: a paragraph of a document reads so. Of a message of one line only a heading counts,
    a thing of which the rule may be the text: "My fortune cookie. Never …".
    """
    lines = [line for line in cut_middle(text).splitlines() if line.strip()]
    describes = _is_description if len(lines) > 1 else _is_heading_alone
    return any(_mixes_rule_with_description(line, describes) for line in lines)


def _mixes_rule_with_description(line: str, describes: Callable[[ProseSentence], bool]) -> bool:
    sentences = list(split_prose_sentences(line))
    if len(sentences) < 2:
        return False
    stated = [find_statement_in_sentence(each) is not None for each in sentences]
    return any(stated) and any(
        not states and describes(each) for states, each in zip(stated, sentences, strict=True)
    )


def _is_description(sentence: ProseSentence) -> bool:
    return not _asks_for_something(sentence) and not is_neutral_line(sentence.masked)


def _is_heading_alone(sentence: ProseSentence) -> bool:
    return is_heading(sentence.masked) and not classify_plain_fact(sentence)


@lru_cache(PROSE_CACHE_SIZE)
def has_line_about_other_text(text: str) -> bool:
    """Whether a line of a message says nothing by itself and states nothing, so that it may speak of
    the lines beside it; or a line that states something has the mark of a comment or a page.
    """
    text = cut_middle(text)
    leaning = list_context_dependent_lines(text)
    marked = [line for line in text.splitlines() if is_marked_remark(line)]
    stated = [
        each.text
        for each in (split_prose_sentences(text, whole=True) if leaning or marked else ())
        if find_statement_in_sentence(each) is not None
    ]
    return any(each in line for each in stated for line in marked) or any(
        GENERAL.search(line) is None and all(each not in line for each in stated)
        for line in leaning
    )


@lru_cache(PROSE_CACHE_SIZE)
def has_rule_right_below_print(text: str) -> bool:
    """Whether a statement is right below a stack trace or a difference, which may hold it."""
    return any(
        find_statement_in_sentence(each) is not None
        for line in list_lines_right_below_print(text)
        for each in split_prose_sentences(line)
    )


def _asks_for_something(sentence: ProseSentence) -> bool:
    """Whether a sentence is a task or a question, for which the facts beside it may be told."""
    body = sentence.masked[find_lead_in_end(sentence.masked) :]
    is_task = TASK_START.match(body) is not None or is_deletion_or_postponing_task(sentence.masked)
    return is_task or is_question_or_supposition(body)


def _whole_message_statements(text: str) -> list[tuple[StatementAct, str, str]] | None:
    """Read a message that is one command or one memory line; None for any other message."""
    if len(text) <= MAX_SENTENCE_CHARS and (
        _RETRACTION.fullmatch(text) or _DELETION.fullmatch(text)
    ):
        return [("forget", "", text)]
    match = _COMMAND.match(text) if len(text) <= LONG_MESSAGE_CHARS else None
    act: StatementAct = "forget" if match and match["name"] == "forget" else "remember"
    match = match or _match_memory_line(text)
    if match is None:
        return None
    words = match["text"].strip()
    fit = (
        len(words) <= MAX_SENTENCE_CHARS
        and len(words) > 2
        and not is_question_or_supposition(mask_quotations(words))
        and not (act == "remember" and is_forbidden_in_memory(words))
    )
    return [(act, words, words)] if fit else []


_BEHIND_RETRACTION = lazy_pattern(
    r"\s*(?:[.!]+(?=\s|\Z)|[,;:，、；：。！]|\n|[–—-]+(?=\s))\s*", re.IGNORECASE
)


def split_retraction(text: str) -> tuple[str, str]:
    """What takes back the message before at the beginning of a text ("no wait, forget that"), and
    the text behind it; nothing and the whole text where no clause or sentence ends there.
    """
    found = _RETRACTION.match(text)
    said = found[0].rstrip(" \t\r\n.!。！,，") if found else ""
    behind = _BEHIND_RETRACTION.match(text, len(said)) if said else None
    return (said, text[behind.end() :]) if behind else ("", text)


def _match_memory_line(text: str) -> re.Match[str] | None:
    return _MEMORY_LINE.match(text) if text.startswith("#") else None


@lru_cache(SENTENCE_CACHE_SIZE)
def find_statement_in_sentence(sentence: ProseSentence) -> tuple[StatementAct, str, str] | None:
    """Return act, text and quote of what one sentence states for later; None where it states
    nothing.
    """
    start = find_lead_in_end(sentence.masked)
    masked = sentence.masked[start:]
    if (
        len(masked) < 4
        or is_reported_speech(sentence.masked)
        or _QUERY_AFTER.match(mask_quotations(sentence.after))
    ):
        return None
    if _REMEMBER_THAT.fullmatch(masked):
        return _statement_before(sentence)
    request = read_forget_request(sentence)
    if request is not None:
        return "forget", request.text, sentence.text
    statement = match_first_statement_pattern(_REMEMBERS, sentence, start)
    if statement is None and sentence.in_list:
        return _statement_in_list_item(sentence)
    return (
        statement
        or _match_correction(sentence, start)
        or match_first_statement_pattern(_CORRECTIONS, sentence, start)
        or match_first_statement_pattern(_RULES, sentence, start)
        or _match_refused(sentence, start)
        or _match_lasting_statement(sentence, start)
        or _match_lasting_clause(sentence, start)
    )


def _match_refused(sentence: ProseSentence, start: int) -> tuple[StatementAct, str, str] | None:
    """Read a rule behind a refusal: `不对，我喜欢简短的回答`."""
    behind = find_refusal_end(sentence.masked, start)
    return match_first_statement_pattern(_RULES, sentence, behind) if behind > start else None


def find_refusal_end(masked: str, start: int) -> int:
    """Where a sentence goes on behind a refusal ("no, …", "nein, …"); its start without one."""
    refusal = _REFUSAL.match(masked, start)
    return refusal.end() if refusal else start


def _match_lasting_clause(
    sentence: ProseSentence, start: int
) -> tuple[StatementAct, str, str] | None:
    """Read an order for later that stands behind a task in its sentence."""
    clause = find_lasting_clause_start(sentence.masked, start)
    found = None if clause is None else match_first_statement_pattern(_RULES, sentence, clause)
    if found is None or not _POINTS_BACK.search(found[1]):
        return found
    return found[0], strip_punctuation_and_tag_question(sentence.text[start:]), found[2]


_POINTS_BACK = lazy_pattern(
    r"\b(?:it|this|that|these|those|them|es|dies\w*|ça|cela|esto?|isso|это)\b", re.IGNORECASE
)
"""Words that the rest of the sentence explains."""


def _match_lasting_statement(
    sentence: ProseSentence, start: int
) -> tuple[StatementAct, str, str] | None:
    """Read what the user says of themselves, or wants in every project."""
    masked = sentence.masked[start:]
    if (
        not is_lasting_statement(masked)
        or tells_trouble_behind_joint(masked)
        or is_question_or_supposition(masked)
        or is_forbidden_in_memory(masked)
        or is_task_bound(masked, include_hints=True)
    ):
        return None
    return "rule", strip_punctuation_and_tag_question(sentence.text[start:]), sentence.text


def asks_to_remember_secret(message: Message) -> bool:
    """Whether a message of the user asks outright to keep a secret, which no memory does."""
    text = extract_typed_text(message).strip()
    if message.origin is not Origin.USER or not states_secret_value(text):
        return False
    command = _COMMAND.match(text) or _match_memory_line(text)
    if command is not None:
        return command.groupdict().get("name") != "forget" and states_secret_value(command["text"])
    return any(
        states_secret_value(sentence.masked) and _matches_remember_pattern(sentence)
        for sentence in split_typed_sentences(text)
    )


def _matches_remember_pattern(sentence: ProseSentence) -> bool:
    masked = sentence.masked[find_lead_in_end(sentence.masked) :]
    return not is_reported_speech(sentence.masked) and (
        _REMEMBER_START.match(masked) is not None
        or any(pattern.match(masked) for pattern in _REMEMBERS.select_patterns(masked))
    )


_REMEMBER_START = lazy_pattern(
    r"(?:(?:please|also|and),? )*(?:remember|memori[sz]e|keep in mind|note down)\b(?! to\b)",
    re.IGNORECASE,
)


def _statement_before(sentence: ProseSentence) -> tuple[StatementAct, str, str] | None:
    """Resolve a lone `remember that` to the sentence before it."""
    before = mask_quotations(sentence.before)
    start = find_lead_in_end(before)
    words = before[start:]
    if (
        len(words) < 8
        or is_question_or_supposition(words)
        or is_reported_speech(words)
        or is_forbidden_in_memory(words)
        or is_task_bound(words, include_hints=False)
    ):
        return None
    return "remember", strip_punctuation_and_tag_question(sentence.before[start:]), sentence.before


def match_first_statement_pattern(
    sayings: StatementPatternIndex, sentence: ProseSentence, start: int
) -> tuple[StatementAct, str, str] | None:
    """Return the first pattern that matches at `start` and is not filtered out, with or without what
    is only polite at the end.
    """
    whole = sentence.masked[start:]
    tail = _POLITE_END.search(whole)
    return _match_first(sayings, sentence, start, len(whole)) or (
        _match_first(sayings, sentence, start, tail.start()) if tail and tail.start() else None
    )


_POLITE_END = lazy_pattern(
    r"(?:[\s,]*(?:\b(?:please|pls|plz|thanks|thank you|thx|bitte|danke|stp|svp|s['’]il (?:te|vous) pla[iî]t|merci|por favor|porfa(?:vor)?|gracias|obrigad[oa]|valeu|пожалуйста|спасибо|btw|fyi)\b|[🙏😅🙂😊🙄😡👍❤]\ufe0f?))+[\s.!]*\Z",
    re.IGNORECASE,
)
"""What is only polite, or a sign of mood, at the end of a sentence."""


def _match_first(
    sayings: StatementPatternIndex, sentence: ProseSentence, start: int, length: int
) -> tuple[StatementAct, str, str] | None:
    masked = sentence.masked[start : start + length]
    for each in sayings.select_patterns(masked):
        match = each.match(masked)
        if match is None or not each.can_follow_sentence(sentence.before or sentence.masked):
            continue
        group = "text" if match["text"] is not None else "other"
        begin, end = match.span(group)
        if (around := masked[end - 1 : end + 1]).isascii() and around.isalnum() and len(around) > 1:
            end = len(masked)  # a pattern that bounds what it reads ended within a word
        kept = masked[begin:end]
        if (
            each.is_exception_to_pattern(kept)
            or _is_vetoed(each, masked, kept)
            or (each.rejects_task_words and _is_within_task(sentence))
        ):
            continue
        text = strip_punctuation_and_tag_question(sentence.text[start + begin : start + end])
        return (each.act, text, sentence.text) if len(text) > 1 else None
    return None


def _is_vetoed(each: StatementPattern, masked: str, kept: str) -> bool:
    if (is_question_or_supposition(masked) and not each.may_ask) or tells_how_often(masked):
        return True
    return (
        is_forbidden_in_memory(kept)
        or (is_question_or_supposition(kept) and not (each.may_ask or is_polite_request(masked)))
        or (not each.may_ask and is_task_bound(kept, include_hints=each.rejects_task_words))
    )


def _is_within_task(sentence: ProseSentence) -> bool:
    """Whether the preceding sentence on the line gives a task, to which an "always" may belong."""
    if _FOR_PROJECT.search(sentence.masked) or is_neutral_line(sentence.before):
        return False
    before = mask_quotations(sentence.before)
    return TASK_START.match(before[find_lead_in_end(before) :]) is not None


_FOR_PROJECT = lazy_pattern(
    rf"\b(?:in|across|throughout|for) (?:this|our|all(?: (?:of )?(?:our|my|the))?|the whole) {PROJECT_NOUN}s?\b",
    re.IGNORECASE,
)
"""Says itself that it reaches beyond the task before it."""


def _match_correction(sentence: ProseSentence, start: int) -> tuple[StatementAct, str, str] | None:
    """Read a refusal and its correction, in one or two sentences, where it reaches beyond this
    task.
    """
    refusal = _REFUSAL.match(sentence.masked, start)
    if refusal is None and not _REFUSAL.fullmatch(mask_quotations(sentence.before)):
        return None
    begin = refusal.end() if refusal else start
    rest = sentence.masked[begin:]
    around = rest + " " + mask_quotations(sentence.after)
    if (
        len(rest) < 8
        or _ABOUT_SHOWN_THING.match(rest)
        or is_question_or_supposition(rest)
        or is_forbidden_in_memory(around)
        or is_task_bound(rest, include_hints=False)
    ):
        return None
    if not DURABLE.search(around):
        return None
    return "correction", strip_punctuation_and_tag_question(sentence.text[begin:]), sentence.text


_ABOUT_SHOWN_THING = lazy_pattern(
    r"i mean(?:t)?\b|(?:it|they|this one|that one|these|those)\b(?:['’]\w+)? (?!(?:use[sd]?|run|test|write|deploy)\b).*\b(?:always|never|ever)\b",
    re.IGNORECASE,
)
"""Says how a thing in front of both is to behave, or what was meant: alone nobody could read it."""


def _statement_in_list_item(sentence: ProseSentence) -> tuple[StatementAct, str, str] | None:
    """Read a list item where the line before the list announces rules for later."""
    announced = _LIST_ANNOUNCEMENT.search(mask_quotations(sentence.list_lead))
    if (
        announced is None
        or not _ORDER_START.match(sentence.masked)
        or is_question_or_supposition(sentence.masked)
        or is_forbidden_in_memory(sentence.masked)
    ):
        return None
    act: StatementAct = (
        "remember" if re.match(r"remember|keep|记住", announced[0], re.IGNORECASE) else "rule"
    )
    if is_task_bound(sentence.masked, include_hints=False):
        return None
    return (act, strip_punctuation_and_tag_question(sentence.text), sentence.text)


def strip_punctuation_and_tag_question(text: str) -> str:
    """Strip tabs, joining punctuation, and the question for assent or the question mark of a request
    put as a question.
    """
    text = remove_tag_question(text.replace("\t", " ").strip())
    return text.lstrip("，,：:、;；").rstrip("?？").strip()

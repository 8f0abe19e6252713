"""Evidence for a memory: the words that the user typed, and what came from elsewhere (SF-2). Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from memorist.auto_memory.statements.announced_texts import AnnouncedTextTracker
from memorist.auto_memory.statements.statement_filters import is_reported_speech
from memorist.auto_memory.statements.statement_parser import may_be_others_words
from memorist.auto_memory.statements.text_around_pastes import (
    TEXT_REMARK,
    extract_text_unrelated_to_pastes,
    extract_text_with_picture_marks,
)
from memorist.auto_memory.statements.user_prose import (
    extract_prose_lines,
    find_quotation_spans,
    find_sentence_ends,
    mask_quotations,
)
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import DocumentBlock, Message, Origin, UnknownBlock
from memorist.safety.terminal_text import remove_color_codes
from memorist.transcript_analysis.user_words_in_results import insert_user_words_from_results

# The user's own words in a typed message, without quotations, pasted text and reported speech
# (SF-2).


LONG_QUOTATION_COLUMNS = 20
"""Columns (two per Chinese character) above which a quotation is a sentence rather than a name or
term.
"""


_SHOWN_TEXT = lazy_pattern(
    r"\b(?:ticket|issue|bug report|mail|e-?mail|message|letter|thread|post|tweet|comment|slack|chat|memo|"
    r"notes? from|quote|snippet|paste[ds]?|look at|take a look|check|see|consider|here (?:is|are)|"
    r"here['’]s|this is what|i (?:get|got|see|found|read|received)|(?:prints?|shows?|gives?|returns?|says?|"
    r"outputs?|reads?|reports?|throws?|complains?)(?: me| us)?(?: this| that)?)\b[^\n]{0,60}[:：]\s*$"
    r"|\b(?:prints?|shows?|gives?|returns?|says?|outputs?|reports?|throws?)(?: me| us)?"
    r" (?:this|that|the following)\s*[.!]?\s*$"
    r"|\b(?:contents?|excerpt|inhalt|contenu|contenido|conteúdo|содержимое) (?:of|from|von|de|do|da)\b"
    r"[^\n]{0,100}[:：]\s*$"
    r"|^\s*[\w./~-]+\.\w{1,5}\s*[:：]\s*$"
    r"|^\s*\[[a-z][\w-]*(?: for [^\]\n]{1,200})?\] result\s*:\s*$"
    r"|^\s*(?:please )?(?:implement|execute|carry out|follow) (?:the following|this) plan\s*[:：]\s*$"
    r"|(?:工单|邮件|消息|评论|看一?下|看看|티켓|이슈|메일|메시지|댓글|슬랙|문서|내용)[^\n]{0,30}[:：]\s*$",
    re.IGNORECASE,
)
"""A line that shows something: what is below it in the message was not written by the user."""
_MAIL_HEADER = lazy_pattern(
    r"\s*(?:from|to|cc|sent|date|subject|reply-to|von|an|gesendet|datum|betreff|de|à|envoyé|objet|para|"
    r"enviado|fecha|asunto|assunto|data|от|кому|дата|тема|发件人|收件人|日期|主题|差出人|宛先|日時|件名)"
    r"\s*[:：]\s*\S[^\n]{0,200}$",
    re.IGNORECASE,
)
"""A line of a mail's head; two of them, or one with an address, begin a mail."""
_CLOCK = r"\d{1,2}:\d\d(?::\d\d)?(?:\s?[ap]\.?m\.?)?"
_WHEN = (
    r"(?:(?:on|at|am|um|le|el|em|à|в)\b[^\n.!?]{0,40}|[^\n.!?]{0,40}\bago|yesterday|today|just now|"
    r"last \w+|vor \w+ \w+|gestern|il y a \w+ \w+|hace \w+ \w+|há \w+ \w+|\w+ \w+ назад|вчера)"
)
_POST_HEAD = lazy_pattern(
    rf"\s*(?:\[?\d{{1,4}}[./-]\d{{1,2}}[./-]\d{{1,4}},?\s+\d{{1,2}}:\d\d[^\n:]{{0,12}}[\]-]\s*[^\n:]{{1,40}}:"
    rf"|\[\d{{1,2}}:\d\d[^\n\]]{{0,20}}\]\s*[^\n:]{{1,40}}:"
    rf"|\[(?:telegram|slack|discord|signal|matrix|irc|whatsapp|teams|e-?mail|sms)\]\s*[^\n:]{{1,40}}:"
    rf"|[^\W\d][\w.@'’-]*(?: [\w.@'’-]+){{0,2}}(?:\s{{2,}}|\s[\[(—–]\s?){_CLOCK}[\])]?\s*$"
    rf"|[^\W\d][\w.@'’-]*(?: [\w.@'’-]+)?(?<!\bat)(?<!\bby)(?<!\btill)(?<!\buntil)(?<!\bum)(?<!\bin)\s"
    rf"\d{{1,2}}:\d\d\s?[ap]\.?m\.?\s*$"
    rf"|(?!(?:i|we|you|he|she|they|it|who|ich|wir|je|nous|yo|eu|я|мы)\b)@?[\w.-]+(?: [\w.-]+)? (?:commented|"
    rf"wrote|replied|posted|reviewed|opened(?: this)?(?: issue| pull request| pr)?|added a comment|requested "
    rf"changes|kommentierte|schrieb|a (?:écrit|commenté)|escribió|comentó|escreveu|comentou|написала?|"
    rf"ответила?)(?: {_WHEN})?\s*[:：]?\s*$"
    rf"|(?:operation|continuation|execution|prompt) (?:stopped|blocked|prevented) by (?:\w+ )?hook\b"
    r"|\s*(?:human|assistant)\s?[:：]\s)",
    re.IGNORECASE,
)
"""The line that names who wrote what follows, and when: of a chat, a comment, a review or a hook."""
_WRAPPING_TAG = lazy_pattern(
    r"^[ \t]*<(?!(?:"
    r"a|abbr|address|article|aside|audio|b|blockquote|body|button|canvas|caption|center|code|dd|del|"
    r"details|dialog|div|dl|dt|em|fieldset|figcaption|figure|footer|form|h[1-6]|head|header|html|i|"
    r"iframe|ins|kbd|label|legend|li|main|mark|menu|meter|nav|object|ol|optgroup|option|p|picture|pre|"
    r"progress|q|s|samp|script|section|select|small|span|strong|style|sub|summary|sup|svg|table|tbody|"
    r"td|template|textarea|tfoot|th|thead|time|title|tr|u|ul|var|video)(?![\w.:-]))"
    r"(?P<name>[A-Za-z][\w.:-]*)(?:\s[^<>]*)?>",
    re.MULTILINE | re.IGNORECASE,
)
"""A tag at the start of a line that is no element of HTML: where it is closed, a program put a text
into it (`<file name="a.md">`).
"""
_PROGRAMS_TAG = re.compile(
    r"[ \t]*<(?:[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)+(?=[\s>])|image(?= name=))"
)
"""One with an underscore or hyphen, or the one that Codex puts around a picture: nobody types it, so
it wraps a text also where it is not closed.
"""


def find_others_words_start(text: str) -> int:
    """Where the words of others begin in a typed text: below a line that shows something, after a
    job on a text, at the head of a mail, a chat or a comment; the text's length where there are
    none.
    """
    at, previous, in_head = 0, 0, False
    for line in text.splitlines(keepends=True):
        head = _MAIL_HEADER.match(line[:_SHOWN_CHARS]) is not None
        if _POST_HEAD.match(line[:_SHOWN_CHARS]) or (head and "@" in line):
            return at
        if head and in_head:
            return at - previous
        in_head, previous = head, len(line)
        masked = mask_quotations(line[:MAX_TYPED_LINE_CHARS].rstrip())
        end = _find_job_end(masked)
        if end >= 0:
            return at + end
        at += len(line)
        if len(line) > MAX_TYPED_LINE_CHARS:
            masked = line[-_SHOWN_CHARS:].rstrip()
        if _ends_like_shown(masked) and _SHOWN_TEXT.search(masked[-_SHOWN_CHARS:]):
            return at
    return len(text)


MAX_TYPED_LINE_CHARS = 20_000
"""Characters of a line above which nobody typed it: it is pasted or made by a program, and nothing
in it counts as the user's word. Our choice: ten pages without a line break.
"""


def _find_job_end(masked: str) -> int:
    """Where the sentence of a line ends that gives a job on a text; -1 where none does."""
    if TEXT_REMARK.search(masked) is None:
        return -1
    start = 0
    for end in find_sentence_ends(masked):
        if TEXT_REMARK.search(masked[start:end]):
            return end
        start = end
    return -1


def _ends_like_shown(line: str) -> bool:
    """Whether a line ends as every form of `_SHOWN_TEXT` does: most do not, and the search costs
    more than all else.
    """
    end = line.rstrip().rstrip(".!").rstrip().casefold()
    return end.endswith((":", "：", "this", "that", "following"))


_SHOWN_CHARS = 400
"""Characters at the end of a line that are searched for what shows something."""


def strip_tag_wrapped_text(text: str) -> str:
    """The text without what a wrapping tag encloses, whatever its name: a program put it there.

    An unclosed tag that nobody types and that has its line for itself, or text right behind it,
    hides what follows; any other may be the user's own word for a part of a page, and hides nothing.
    """
    if "<" not in text:
        return text
    kept: list[str] = []
    done = 0
    for _ in range(_MAX_TAGS):
        opening = _WRAPPING_TAG.search(text, done)
        if opening is None:
            break
        mark = f"</{opening['name']}>"
        end = text.find(mark, opening.end())
        programs = _PROGRAMS_TAG.match(text, opening.start())
        if end < 0 and programs and _WRAPS_REST.match(text, opening.end()):
            return "".join([*kept, text[done : opening.start()]])
        kept.append(text[done : opening.start() if end >= 0 else opening.end()])
        done = end + len(mark) if end >= 0 else opening.end()
    return "".join([*kept, text[done:]])


_WRAPS_REST = re.compile(r"[ \t]*\r?\n|(?=[^\s.,;:!?])")
"""What is behind an unclosed tag that opens a text: the end of its line, or its first word."""
_MAX_TAGS = 200
"""Wrapping tags looked at in one text; keeps the search linear on hostile text."""


def extract_own_words(text: str) -> str:
    """Extract the user's own words from a typed message.

    Wrapped text, what follows a line that shows something or a job on a text, pasted text, and lines
    that their neighbours introduce or ask about are dropped; whatever follows "the page says" in a
    line counts as the page's words.
    """
    text = extract_text_unrelated_to_pastes(text)
    if may_be_others_words(text):
        return ""
    text = extract_text_before_others_words(text).strip()
    if "\n" not in text:
        return _own_words_of_line(text)
    return "\n".join(filter(None, map(_own_words_of_line, extract_prose_lines(text))))


def _own_words_of_line(line: str) -> str:
    if len(line) > MAX_TYPED_LINE_CHARS:
        return ""
    masked, start = mask_quotations(line), 0
    for end in find_sentence_ends(masked):
        if is_reported_speech(masked[start:end]):
            break
        start = end
    kept, done = [], 0
    for begin, end in find_quotation_spans(line[:start]):
        if (
            sum(2 if letter > "\u2e80" else 1 for letter in line[begin:end])
            > LONG_QUOTATION_COLUMNS
        ):
            kept.append(line[done:begin])
            done = end
    return " … ".join([*kept, line[done:start]]).strip()


# Evidence for a memory: the user's own words, and what came from outside. Pure (SF-2).


WORDS_PER_RUN = 6
"""Consecutive words that a text must share with a source to count as taken from it."""
MIN_BORROWED_RUN_SHARE = 0.5
"""Fraction of a text's word runs that must occur in a source for the text to come from there."""
MIN_QUOTE_WORDS = 3
"""Words of the shortest quote that proves anything; each Chinese character counts as a word."""

MIN_SHARED_WORDS = 2
"""Content words that a quote must share with the memory that rests on it."""
MIN_SENTENCE_WORDS = 3
"""Words of the shortest sentence whose origin can be determined."""

_EVIDENCE_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the that this it about of to for i you we my our your is are be was as on in at and "
        "or please me could would can will do does what how why when with from by if not no so "
        "have has look 的 了 是 我 你 在 请 吗 这 那 和 一 不 有 要 帮 看 下 个",
    )
)
"""Words without content of their own."""
_SENTENCE_END = lazy_pattern(r"[.!?;](?=\s|$)|[。！？；\n]")
_ADDRESS = lazy_pattern(
    r"(?<![\w-])(?<![\w-]\.)(?:https?://)?(?:[\w-]+\.)+[a-z]{2,}\b(?:/[\w./-]*)?|(?<![\w.+-])"
    r"[\w.+-]+@[\w-]+\.\w+",
    re.IGNORECASE,
)
"""Matched at the start of a run only; trying every letter of a run would be quadratic."""
_FILE_NAME = lazy_pattern(
    r"[\w-]+\.(?:md|py|js|ts|go|rs|toml|ya?ml|json|txt|sh|cfg|ini|sql|html|css|lock)", re.IGNORECASE
)
_OUTSIDE_ORIGINS = frozenset({Origin.TOOL, Origin.AGENT, Origin.NOTIFICATION})


class WriteEvidence(Struct, frozen=True, kw_only=True):
    """What was said in a session.

    `user_messages` are pairs of message id and the user's own words; `outside_texts` are tool
    results, other agents' messages, notifications, and what the user quoted.
    """

    session: str = ""
    user_messages: tuple[tuple[str, str], ...] = ()
    outside_texts: tuple[str, ...] = ()
    proven_paths: tuple[str, ...] = ()
    """Paths whose change follows by rule from the memories themselves (DR-5). Such a change adds
    nothing new, so the memory's earlier evidence still holds.
    """


def collect_write_evidence(session: str, messages: Iterable[Message]) -> WriteEvidence:
    """Sort the messages' texts by who said them.

    A reason typed with a refusal, and answers to the agent's questions, are the user's words. What
    memorist itself put in counts for neither side (AM-11); everything else that no user typed
    is outside: tool results, reminders, instruction files, hook output, documents.
    """
    user: list[tuple[str, str]] = []
    outside: list[str] = []
    for message in insert_user_words_from_results(map(AnnouncedTextTracker().mark, messages)):
        outside += [result.text for result in message.tool_results]
        outside += _attached_texts(message)
        if message.origin in _OUTSIDE_ORIGINS:
            outside.append(message.text)
        elif message.origin is Origin.USER:
            typed = extract_text_with_picture_marks(message)
            own = extract_own_words(typed) if message.is_typed else ""
            if own:
                user.append((message.id, own))
            if normalize_for_comparison(own) != normalize_for_comparison(message.text):
                outside.append(_strip_own_notes(message.text))
        elif message.origin is Origin.INJECTED:
            outside.append(_strip_own_notes(message.text))
    return WriteEvidence(
        session=session,
        user_messages=tuple(user),
        outside_texts=tuple(text for text in outside if text.strip()),
    )


_OWN_NOTE = "[memorist]"


def _strip_own_notes(text: str) -> str:
    """An injected text without memorist's own parts, which repeat what is known already."""
    if _OWN_NOTE not in text:
        return text
    parts = re.split(r"(?=<system-reminder>)|(?<=</system-reminder>)", text)
    return "".join(part for part in parts if _OWN_NOTE not in part)


def _attached_texts(message: Message) -> list[str]:
    """The texts of documents and of blocks of unknown kinds, such as search results."""
    found: list[str] = []
    pending: list[object] = [
        block.source if isinstance(block, DocumentBlock) else block.raw
        for block in message.blocks
        if isinstance(block, DocumentBlock | UnknownBlock)
    ]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            pending += [
                each for key, each in value.items() if key not in ("type", "media_type", "id")
            ]
        elif isinstance(value, list):
            pending += value
    return [text for text in found if " " in text]


def collect_evidence_from_typed_message(session: str, message: Message) -> WriteEvidence:
    """Collect the evidence for statements found by code in one message: what the user typed up to
    where the words of others begin. The code that found them has told quotations apart.
    """
    typed = extract_message_before_others_words(message) if message.is_typed else ""
    return WriteEvidence(session=session, user_messages=((message.id, typed),))


def extract_message_before_others_words(message: Message) -> str:
    """What is in a user's message before the words of others begin, wrapped text taken out."""
    return extract_text_before_others_words(extract_text_with_picture_marks(message))


@lru_cache(maxsize=2)  # several ask about the newest message, which may be of megabytes
def extract_text_before_others_words(text: str) -> str:
    """What is in a typed text before the words of others begin, wrapped text taken out."""
    typed = strip_tag_wrapped_text(extract_text_unrelated_to_pastes(text))
    return typed[: find_others_words_start(typed)]


def normalize_for_comparison(text: str) -> str:
    """Normalise text for comparison: NFKC, case folded, single spaces, no quotation marks."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(
        "".join(" " if letter in "\"'`“”„‘’«»「」『』*_" else letter for letter in folded).split()
    )


def find_ids_of_quoted_messages(
    quote: str, evidence: WriteEvidence, *, min_words: int = MIN_QUOTE_WORDS
) -> tuple[str, ...]:
    """Return the ids of the user's messages that contain the quote; empty for too short a quote."""
    wanted = normalize_for_comparison(quote)
    if len(split_script_words(wanted)) < min_words:
        return ()
    return tuple(
        id for id, text in evidence.user_messages if wanted in normalize_for_comparison(text)
    )


def split_script_words(text: str) -> list[str]:
    """Split normalised text into words; each character of an unspaced script is a word."""
    found: list[str] = []
    word = ""
    for letter in text:
        alone = (
            "\u3040" <= letter <= "\u9fff"
            or "\uac00" <= letter <= "\ud7af"
            or "\U00020000" <= letter <= "\U0003ffff"
        )
        if letter.isalnum() and not alone:
            word += letter
            continue
        if word:
            found.append(word)
            word = ""
        if alone:
            found.append(letter)
    return [*found, word] if word else found


def collect_word_ngrams(text: str) -> set[tuple[str, ...]]:
    """Return every run of `WORDS_PER_RUN` words; for a shorter text, the one run of all its words."""
    found = split_script_words(normalize_for_comparison(text))
    if len(found) <= WORDS_PER_RUN:
        return {tuple(found)} if found else set()
    return {
        tuple(found[start : start + WORDS_PER_RUN])
        for start in range(len(found) - WORDS_PER_RUN + 1)
    }


def is_copied_from_outside(text: str, evidence: WriteEvidence) -> bool:
    """Whether at least `MIN_BORROWED_RUN_SHARE` of the word runs occur in outside texts and not in the
    user's words.
    """
    mine = collect_word_ngrams(text)
    if not mine or not evidence.outside_texts:
        return False
    theirs: set[tuple[str, ...]] = set()
    for _, typed in evidence.user_messages:
        theirs |= _find_runs(mine, typed)
    left = mine - theirs
    found: set[tuple[str, ...]] = set()
    for source in evidence.outside_texts:
        found |= _find_runs(left - found, source)
    return len(found) >= max(1.0, MIN_BORROWED_RUN_SHARE * len(mine))


def _find_runs(wanted: set[tuple[str, ...]], source: str) -> set[tuple[str, ...]]:
    if not wanted:
        return set()
    stream = (
        _cached_padded_words(source) if len(source) <= _MAX_CACHED_CHARS else _padded_words(source)
    )
    return {run for run in wanted if f" {' '.join(run)} " in stream}


def _padded_words(source: str) -> str:
    """Join a source's words with spaces, including one at each end. The colours of a terminal part
    no words.
    """
    plain = normalize_for_comparison(remove_color_codes(source))
    return f" {' '.join(split_script_words(plain))} "


_MAX_CACHED_CHARS = 12_000
"""Characters of the longest source whose words are cached. One evidence is queried for every entry
of an answer, and normalising it takes the most time.
"""
_cached_padded_words = lru_cache(maxsize=1024)(_padded_words)


def is_quote_relevant(quote: str, text: str) -> bool:
    """Whether a quote is about what a memory says: a genuine quote supports nothing else.

    Between an unspaced script and a spaced one words cannot be compared; the answer is then yes.
    """
    mine, theirs = _content_stems(quote), _content_stems(text)
    if any(map(_is_unspaced_script, mine)) != any(map(_is_unspaced_script, theirs)):
        return True
    return len(mine & theirs) >= min(MIN_SHARED_WORDS, len(mine))


def _content_stems(text: str) -> frozenset[str]:
    return frozenset(
        word[:5]
        for word in split_script_words(normalize_for_comparison(text))
        if word not in _EVIDENCE_STOP_WORDS
    )


def _is_unspaced_script(word: str) -> bool:
    return "\u3040" <= word[0] <= "\uffff"


def find_borrowed_sentences(text: str, evidence: WriteEvidence) -> tuple[str, ...]:
    """Return the sentences of a text that come from outside.

    A sentence counts when it is word for word from there, or contains an address (site, mail) that
    occurs only there.
    """
    if not evidence.outside_texts:
        return ()
    typed = " ".join(text.casefold() for _, text in evidence.user_messages)
    sources = " ".join(evidence.outside_texts).casefold()
    found = []
    for sentence in _SENTENCE_END.split(text):
        if len(
            split_script_words(normalize_for_comparison(sentence))
        ) >= MIN_SENTENCE_WORDS and is_copied_from_outside(sentence, evidence):
            found.append(sentence)
            continue
        named = [
            name for name in _ADDRESS.findall(sentence.casefold()) if not _FILE_NAME.fullmatch(name)
        ]
        if any(name in sources and name not in typed for name in named):
            found.append(sentence)
    return tuple(found)


MAX_OUTSIDE_CHARS = 500_000
"""Characters of earlier outside texts that a later extraction is compared with: about one context
window.
"""


def select_newest_texts_that_fit(texts: Sequence[str]) -> tuple[str, ...]:
    """Select the newest texts that fit into `MAX_OUTSIDE_CHARS`, for later comparisons."""
    kept, size = [], 0
    for text in reversed(texts):
        size += len(text)
        if size > MAX_OUTSIDE_CHARS:
            break
        kept.append(text)
    return tuple(reversed(kept))

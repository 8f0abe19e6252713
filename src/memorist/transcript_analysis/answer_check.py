"""The lines of a model's answer, held against what the model was shown: a line that repeats the
prompt's own form, names what is nowhere in its source, is about something else than what was said,
or claims what the session disproves, is worth nothing. Pure.

Small models do all three often, large ones seldom. They can be seen without understanding the line.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator

from memorist.core.language_detection import detect_snowball_language
from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Message, Origin
from memorist.core.search_words import count_unspaced_letters
from memorist.core.text_analysis import analyze_text
from memorist.forks.fork_spec import BRIEF_HEAD, NEWEST_HEAD, ForkSpec
from memorist.formats.codec_registry import find_codec
from memorist.transcript_analysis.names_in_text import NameOccurrenceLookup, find_recognizable_names

ECHO_RUN_WORDS = 4
"""Words in a row that count as taken from the prompt. Our choice: shorter runs are common speech.
"""
MIN_ECHO_SHARE = 0.6
"""Share of a line's words in such runs from which on the line is the prompt's. Our choice: a form
with one gap filled in is still the form.
"""
MAX_LINE_WORDS = 400
"""Words of a line that are compared with the prompt."""
MIN_SAID_SHARE = 0.3
"""Share of the content words of a line without a name that must have been said. Of 555 lines that a
large model wrote about 38 recorded sessions, 3 have less; of 10 that a small one made up, all.
"""
MIN_NAMELESS_LINES = 8
MIN_SAID_NAMES = 4
"""So many lines of one answer, about a session in which so many files and identifiers are said,
name one of them. Our choice: of 25 summaries by a large model each does.
"""
MIN_CONTENT_WORDS = 4
"""Content words from which on a line without a title is judged by them. Our choice: fewer tell no
subject.
"""
MIN_FILE_CLAIM_SHARE = 0.5
MIN_FILE_CLAIM_WORDS = 3
"""Of so many content words that a line says a file holds, this share must stand where the file is
read or spoken of. Of 26 such lines of a large model about recorded sessions the least has 0.56.
"""
MIN_QUOTED_SHARE = 0.5
"""Share of the content words of a quotation that the user said, below which it is made up. Of 86
quotations that a careful reader took from recorded sessions, one has less; of 14 that small models
gave to what nobody said, all do.
"""
CHARACTERS_AFTER_FILE_MENTION = 8_000
MAX_FILE_MENTIONS = 60
"""What was shown from each mention of a file on, for so many of them. Our choice: the result of a
call follows it, and what is too much only lets a line stand.
"""

MIN_VALUE_DIGITS = 2
MIN_SHOWN_DIGITS = 3
"""Digits from which on a number is judged by what stands beside it, and from which on it must have
been shown: smaller ones may have been counted. Of 54 lines of a large model none lacks its number.
"""
CHARACTERS_BEFORE_VALUE = 200
CHARACTERS_AFTER_VALUE = 100
MIN_VALUE_SHARE = 0.15
"""Share of a line's words that stand so close before or after its number where it was shown. The 54
lines all have more; with another number of the same session in its place 27 have less.
"""

_USER_CLAIM = lazy_pattern(
    r"\W*(?:(?:the|der|die|el|la|le|lo|il|o|a) |l['’])?(?:user|person|benutzer(?:in)?|"
    r"nutzer(?:in)?|usuari[oa]|usuári[oa]|utilisat(?:eur|rice)|utente|пользователь)\b",
    re.IGNORECASE,
)
_USER_DID = lazy_pattern(
    r"\s*(?:(?:has|have|had|just|already|also|now|successfully)\s+)*(updated|fixed|implemented|added"
    r"|refactored|created|removed|resolved|completed|rewritten|migrated|replaced|built|written|wrote"
    r"|developed|learned|learnt)\b",
    re.IGNORECASE,
)
"""Work said to be the user's own; what they asked for is mostly the agent's."""
_ANNOUNCEMENT = lazy_pattern(
    r"(?:\A\W*|[.!?:] )(?:(?:now|next|first|then),? )?"
    r"(?:let me|let's|i['’]ll|i will|i(?:['’]m| am) (?:now |also |just |still )?\w+ing)\b",
    re.IGNORECASE,
)
"""What the agent said that it does or would do, copied. No line of 555 of a large model has one."""
_WORD = lazy_pattern(r"\w+")
_HOLDS = lazy_pattern(
    r"\b(?:contains?|has|holds?|includes?|defines?|documents?|describes?|lists?|provides?|explains?"
    r"|covers?|specif(?:y|ies)|exports?)\b",
    re.IGNORECASE,
)
_FILE_NAME = lazy_pattern(r"(?:[\w.@~-]*/)*[\w@-]+(?:\.[\w@-]+)*\.[A-Za-z]\w{0,5}\b")
_VALUE = lazy_pattern(r"(?<![\w.,:/#-])\d+(?:\.\d+)*(?![\w/-]|[.,:]\d)")
"""A whole number or a version; no part of a path, date, time or range."""
_NAME_JOINT = lazy_pattern(r"[_\-./:]|(?<=[a-z])(?=[A-Z])")
_CODE = lazy_pattern(r"`([^`\n]+)`")
_FILE = lazy_pattern(r"(?:[\w.@~-]*/)+[\w.@-]+\.[A-Za-z]\w{0,5}\b")
"""A path to a file, which has a folder and an ending."""
_CODE_NAME = lazy_pattern(r"\w_\w|::|->|[a-z]\.[A-Za-z_]\w*\(|^[0-9a-f]{7,}$|^\d{5,}$")
"""An identifier that is no word of any language; `GitHub` and `HTTP2` are common words."""

_HEADING = lazy_pattern(r"^[ \t]*(?:\d+[→\t:|] ?)?#{1,6}[ \t]+(?P<text>\S.*)$", re.MULTILINE)
"""A heading in Markdown, also behind the number of its line."""


class AnswerLineChecker:
    """Judges lines of one answer.

    `source` is everything that the model was shown of the session, `prompt` the words that asked,
    `said` what user and agent said and called in it, `asked` the user's own words; both empty where
    that is not known. `disprove` tells what the session proves against a line
    (`outcome_claims.OutcomeClaimCheck`).
    """

    def __init__(
        self,
        source: str,
        prompt: str,
        said: str = "",
        asked: str = "",
        disprove: Callable[[str], str] | None = None,
    ) -> None:
        self._asked = asked
        self._disprove = disprove
        self._said = analyze_text(said).stems
        self._said_names = len(_find_code_names(said))
        self._language = detect_snowball_language(said)
        self._names = NameOccurrenceLookup(source)
        self._folded = NameOccurrenceLookup(source.casefold())
        self._shown = source
        self._source = f" {' '.join(_words(source))} "
        self._prompt = f" {' '.join(_words(prompt))} "

    def find_line_fault(self, line: str, title: str = "") -> str:
        """Return why a line is worth nothing; empty where it may stand. The words of the `title`
        that it stands under are no evidence, and a line under one is judged however short it is.
        """
        return (
            self.find_prompt_echo(line)
            or self.find_contradicted_or_invented_part(line)
            or self._find_missing_content(line)
            or self.find_misplaced_value(line)
            or self._find_other_subject(line, title)
        )

    def find_contradicted_or_invented_part(self, line: str) -> str:
        """Return that a line names what is nowhere in the source, or what the session proves
        against it; empty where it does neither.
        """
        if invented := self.find_invented_name(line):
            return f"names {invented}, which stands nowhere in what the model was shown"
        return self._disprove(line) if self._disprove else ""

    def _find_missing_content(self, line: str) -> str:
        """Return that a line says of a file what is not near any mention of it; empty where it says
        of none, or where that is shown. Only English is judged.
        """
        named = _FILE_NAME.search(line)
        holds = _HOLDS.search(line)
        if named is None or holds is None:
            return ""
        words = analyze_text(_FILE_NAME.sub(" ", _HOLDS.sub(" ", line))).stems
        base = named[0].rsplit("/", 1)[-1]
        found = itertools.islice(re.finditer(re.escape(base), self._shown), MAX_FILE_MENTIONS)
        near = "\n".join(
            self._shown[at.start() : at.start() + CHARACTERS_AFTER_FILE_MENTION] for at in found
        )
        if (
            len(words) < MIN_FILE_CLAIM_WORDS
            or not near
            or {detect_snowball_language(line), detect_snowball_language(near)} != {"english"}
            or len(words & analyze_text(near).stems) >= MIN_FILE_CLAIM_SHARE * len(words)
        ):
            return ""
        return f"says of {base} what was not shown of it"

    def find_misplaced_value(self, line: str) -> str:
        """Return that a line has a number that was not shown, or that stands nowhere near any of
        the line's other words, as a time limit that is called a port; empty where it has none. Only
        English is judged.
        """
        values = [each for each in _VALUE.finditer(line)
                  if _count_digits(each[0]) >= MIN_VALUE_DIGITS]  # fmt: skip
        if not values or detect_snowball_language(line) != "english":
            return ""
        return next(filter(None, (self._judge_value(line, each) for each in values)), "")

    def _judge_value(self, line: str, value: re.Match[str]) -> str:
        """Return what is wrong with one number of a line; empty where it may stand."""
        mentions = list(
            itertools.islice(
                re.finditer(rf"(?<![\w.]){re.escape(value[0])}(?!\w|\.\d)", self._shown),
                MAX_FILE_MENTIONS,
            )
        )
        if not mentions:
            is_shown = _count_digits(value[0]) < MIN_SHOWN_DIGITS or value[0] in self._shown
            return "" if is_shown else f"names {value[0]}, which was not shown"
        words = _split_words(f"{line[: value.start()]} {line[value.end() :]}")
        words -= _VERSION_WORDS if "." in value[0] else set()
        near = "\n".join(
            f"{'port ' if self._shown[at.start() - 1 : at.start()] == ':' else ''}"
            + self._shown[
                max(0, at.start() - CHARACTERS_BEFORE_VALUE) : at.end() + CHARACTERS_AFTER_VALUE
            ]
            for at in mentions
        )
        if (
            not words
            or len(mentions) == MAX_FILE_MENTIONS
            or len(words & _split_words(near)) >= MIN_VALUE_SHARE * len(words)
            or detect_snowball_language(near) != "english"
        ):
            return ""
        return f"gives {value[0]} a name that it was not shown by"

    def _find_other_subject(self, line: str, title: str) -> str:
        """Return that a line is about something else than what was said; empty where it names
        anything of the source, or is in another language.
        """
        words = analyze_text(line).stems - analyze_text(title).stems
        if (
            not self._said
            or len(words) < (0 if title else MIN_CONTENT_WORDS)
            or (words and len(words & self._said) >= MIN_SAID_SHARE * len(words))
            or self.names_anything(line)
            or count_unspaced_letters(line)
            or detect_snowball_language(line) != self._language
        ):
            return ""
        return "says nothing that the session shows"

    def find_unsupported_user_claim(self, line: str) -> str:
        """Return that a line tells of the user what no word of theirs bears out, as what they will
        do; empty where it does not.
        """
        claim = _USER_CLAIM.match(line)
        if claim is None or not self._asked:
            return ""
        language = detect_snowball_language(self._asked)
        if language == "english" and self._gives_work_to_user(line, claim.end()):
            return "tells of work of the user, of which their own words tell nothing"
        if detect_snowball_language(line) != language:
            return ""
        words = analyze_text(line[claim.end() :]).stems
        shared = words & analyze_text(self._asked).stems
        if len(shared) >= MIN_SAID_SHARE * len(words):
            return ""
        return "tells of the user what their own words do not"

    def find_made_up_quotation(self, quote: str) -> str:
        """Return that a quotation is in words that the user did not use; empty where it is in
        theirs, in another language, or where their words are not known.
        """
        words = analyze_text(quote).stems
        if (
            not words
            or not self._asked
            or detect_snowball_language(quote) != detect_snowball_language(self._asked)
        ):
            return ""
        if len(words & analyze_text(self._asked).stems) >= MIN_QUOTED_SHARE * len(words):
            return ""
        return "quotes what the user did not say"

    def _gives_work_to_user(self, line: str, start: int) -> bool:
        """Tell whether a line has the user do, from `start` on, what they do not say they did."""
        did = _USER_DID.match(line, start)
        own = rf"\b(?:I|we)\b(?:['’]ve)?(?:\s+\w+){{0,2}}?\s+{did[1]}\b" if did else ""
        return did is not None and not re.search(own, self._asked, re.IGNORECASE)

    def find_copied_announcement(self, line: str) -> str:
        """Return that a line is what the agent said that it does next, copied; empty where it is
        not, or is in the user's own words.
        """
        run = f" {' '.join(_words(line))} "
        if not _ANNOUNCEMENT.search(line) or run in f" {' '.join(_words(self._asked))} ":
            return ""
        return "is what the agent does next"

    def find_copied_heading(self, line: str) -> str:
        """Return that a line is the heading of a text that was read, copied; empty where it is not,
        or is in the user's own words.
        """
        words = _words(line)
        headings = (_words(each["text"]) for each in _HEADING.finditer(self._shown))
        if words not in headings or f" {' '.join(words)} " in f" {' '.join(_words(self._asked))} ":
            return ""
        return "is the heading of a text that was read"

    def lacks_session_names(self, lines: Collection[str]) -> bool:
        """Tell whether many lines together name nothing of a session that is full of names."""
        return (
            len(lines) >= MIN_NAMELESS_LINES
            and self._said_names >= MIN_SAID_NAMES
            and not any(map(self._names_code, lines))
        )

    def _names_code(self, line: str) -> bool:
        """Tell whether a line names a file, identifier or command; the name of a product is none,
        nor is a number.
        """
        return self._quotes_code(line) or any(map(self._names.__getitem__, _find_code_names(line)))

    def names_anything(self, line: str) -> bool:
        """Tell whether a line names a file, identifier, number or command of the source."""
        return self._quotes_code(line) or any(
            self._names[name] for name in find_recognizable_names(line)
        )

    def _quotes_code(self, line: str) -> bool:
        code = (" ".join(_words(each)) for each in _CODE.findall(line))
        return any(each and f" {each} " in self._source for each in code)

    def find_prompt_echo(self, line: str) -> str:
        """Return that a line is the prompt's and not the session's; empty where it is not."""
        return "repeats the prompt" if self.is_prompt_echo(line) else ""

    def is_prompt_echo(self, line: str) -> bool:
        """Tell whether a line is the prompt's and not the session's."""
        words = _words(line)[:MAX_LINE_WORDS]
        if not words:
            return False
        if len(words) < ECHO_RUN_WORDS:
            return self._is_only_prompt(words)
        covered = [False] * len(words)
        for start in range(len(words) - ECHO_RUN_WORDS + 1):
            if self._is_only_prompt(words[start : start + ECHO_RUN_WORDS]):
                covered[start : start + ECHO_RUN_WORDS] = [True] * ECHO_RUN_WORDS
        return sum(covered) >= MIN_ECHO_SHARE * len(words)

    def _is_only_prompt(self, words: list[str]) -> bool:
        run = f" {' '.join(words)} "
        return run in self._prompt and run not in self._source

    def find_invented_name(self, line: str) -> str:
        """Return the first file or identifier of a line that is nowhere in the source."""
        paths = [match[0].removeprefix("./") for match in _FILE.finditer(line)]
        names = [name for name in sorted(find_recognizable_names(line)) if _CODE_NAME.search(name)]
        return next((each for each in (*paths, *names) if not self._is_known(each)), "")

    def _is_known(self, name: str) -> bool:
        """A path counts as known also where its file and its folders are apart, as after `cd`."""
        if self._names[name] or self._folded[name.casefold()]:
            return True
        parts = [part for part in re.split(r"/|::|->", name) if part]
        return len(parts) > 1 and all(self._folded[part.casefold()] for part in parts)


def join_json_texts(value: object) -> str:
    """Return all texts in the body of a request or the input of a call, without the signs that JSON
    would escape, however deep they are.
    """
    found: list[str] = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting.extend(reversed(each.values()))
        elif isinstance(each, list | tuple):
            waiting.extend(reversed(each))
        else:
            found.append(str(each))
    return "\n".join(found)


def _find_code_names(text: str) -> list[str]:
    """Names with a letter and a sign or digit: `KeyCloak` may be a product."""
    return [name for name in find_recognizable_names(text)
            if not name.isalpha() and any(map(str.isalpha, name))]  # fmt: skip


def _count_digits(text: str) -> int:
    return sum(map(str.isdigit, text))


def _split_words(text: str) -> set[str]:
    """Stems of a text's words, also of those in names."""
    return {stem for stem in analyze_text(_NAME_JOINT.sub(" ", text)).stems
            if not _has_digit(stem)}  # fmt: skip


_VERSION_WORDS = {"versio", "releas"}
"""Stems of what any version may be called."""


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


MIN_COVERED_SHARE = 0.8
"""Share of a line's words and names that another text must hold so that it says what the line says.
Our choice."""


class CoveredLineDetector:
    """Tells which lines a text says already, in whatever order of words."""

    def __init__(self, text: str) -> None:
        self._names = NameOccurrenceLookup(text)
        self._words = frozenset(_words(text))

    def covers_line(self, line: str, share: float = MIN_COVERED_SHARE) -> bool:
        """Tell whether the text holds every name and number of a line, and at least this share of
        its words.
        """
        words = _words(line)
        if not all(self._names[name] for name in find_recognizable_names(line)):
            return False
        missing = [word for word in words if word not in self._words]
        return not any(map(_has_digit, missing)) and len(missing) <= (1 - share) * len(words)


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


# What the lines of a fork's answer are held against: what its model was shown, and what was said
# in the conversation.

_NOT_SAID = (Origin.TOOL, Origin.INJECTED)


def build_fork_line_check(
    spec: ForkSpec,
    known: object,
    prompt: str,
    user_words: str = "",
    disprove: Callable[[str], str] | None = None,
) -> AnswerLineChecker:
    """The check for what a model wrote in this fork. `known` is what it was shown beside the
    conversation, `prompt` the words that asked, `user_words` what the user said, for a fork without
    the conversation itself, `disprove` as for `AnswerLineChecker`.
    """
    parent = spec.parent
    if parent is None:
        summary = (spec.history_summary or "").replace(BRIEF_HEAD, "").replace(NEWEST_HEAD, "")
        asking = f"{prompt}\n{BRIEF_HEAD}\n{NEWEST_HEAD}"
        return AnswerLineChecker(
            join_json_texts([summary, known]), asking, summary, user_words, disprove
        )
    codec = find_codec(parent.request.format)
    messages = [*codec.decode_request(parent.request.body).messages]
    if parent.reply:
        messages += codec.decode_reply(parent.reply).messages
    shown = join_json_texts([parent.request.body, parent.reply, known])
    asked = (each.text for each in messages if each.origin is Origin.USER)
    return AnswerLineChecker(
        shown, prompt, "\n".join(_list_said(messages)), "\n".join(asked), disprove
    )


def _list_said(messages: Iterable[Message]) -> Iterator[str]:
    """What user and agent said, and the input of the agent's calls."""
    for message in messages:
        if message.role != "system" and message.origin not in _NOT_SAID:
            yield message.text
        yield from (use.arguments or join_json_texts(use.input) for use in message.tool_uses)

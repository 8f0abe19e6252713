"""Splitting Markdown into sentences that can stand alone in notes, without tables, fences and
headings. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct, structs

from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import (
    analyze_text,
    estimate_o200k_tokens,
    normalize_names_for_comparison,
)

MAX_EXAMINED_CHARACTERS = 10_000
"""Characters of one text that are examined: half from its start, half from its end. Keeps the cost
of a message constant.
"""

MAX_SENTENCE_CHARACTERS = 420
"""Characters of one sentence; a longer one is cut at a word, with an ellipsis."""

_FENCE_LINE = lazy_pattern(r"\s*(?:```|~~~)")

_BULLET_START = lazy_pattern(r"\s*(?:[-*+•]|\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?")

_HEADING_START = lazy_pattern(r"\s*#{1,6}\s+")

_RULE_LINE = lazy_pattern(r"\s*(?:[-=_*]\s?){3,}$|^\s*\|?[\s:|-]+\|?\s*$")

_RULE_SIGNS = frozenset("-=_*|:")

_BULLET_SIGNS = frozenset("-*+•0123456789")

_EMPHASIS = lazy_pattern(r"(?<![\w*\\])(\*\*\*|\*\*|__|\*)(?=[^\s*])(.+?)(?<=[^\s*])\1(?![\w*])")

_LOOSE_EMPHASIS = lazy_pattern(r"(?<=[\w)`])\*\*(?=[\s:.,)]|$)|(?:(?<=\s)|^)\*\*(?=[\w`(])")

_DRAWN_RULE = lazy_pattern(r"[─━═]{3,}")

_MARKDOWN_LINK = lazy_pattern(r"!?\[([^\]\n]+)\]\((?:[^()\s]|\([^()\s]*\))+\)")

_HTML_TAG = lazy_pattern(
    r"\A<[a-z][\w-]*>|</[a-z][\w-]*\s*>|<[a-z][\w-]*\s[^<>\n]*=[^<>\n]*>"
    r"|<(?:a|b|big|blockquote|br|center|code|dd|del|details|div|dl|dt|em|h[1-6]|hr|i|img|ins|kbd|li"
    r"|ol|p|picture|pre|q|s|samp|small|source|span|strong|sub|summary|sup|svg|t[dhr]|table|tbody"
    r"|thead|u|ul|var|video|wbr)\s*/?>"
)
"""A tag of HTML, or one that opens a line; `<strategy name>` is what a person writes for a name to
be filled in.
"""

_SENTENCE_END = lazy_pattern(
    r"[.!?。！？](?:(?<=[。！？])"
    r"|(?<=[A-Za-z0-9)`\"'*’”\]][.!?])[\"')\]]?\s+(?=[A-Z`\"'(*\[“0-9])"
    r"|(?<=[a-z)`][.!?])(?=(?:Let|Now|So|But|The|This|However|Wait|Actually|Also|And|It|I)\b[ '’]))"
)
"""Begins with the punctuation, so that the search skips other text at once."""

_ABBREVIATION = lazy_pattern(r"(?:\b(?:e\.g|i\.e|vs|etc|cf|approx|resp|no|fig)|\b[A-Za-z])\.$")

_ABBREVIATION_LENGTH = len("approx.")

_LEAD_IN = lazy_pattern(r".{1,100}:")

_MARKDOWN_TABLE = lazy_pattern(
    r"^ {0,3}\|.*\n {0,3}\|?[ \t:|-]{3,}\n(?: {0,3}\|.*(?:\n|\Z))+", re.MULTILINE
)

MAX_TABLE_CHARACTERS = 2_000
"""Characters of a table; a longer one ends in a row of ellipses."""

_STYLED_LIMIT = 2_000
"""Characters of a line above which links and emphasis are left in: searching them takes quadratic
time.
"""

_WRAPPED_LENGTH = 56

_SINGLE_SENTENCE_LENGTH = 32
"""Characters below which a paragraph is taken as one sentence."""


class AnalyzedSentence(Struct, frozen=True, gc=False):
    """One sentence with the values needed to weigh it."""

    text: str
    stems: frozenset[str]
    names: tuple[str, ...]
    keys: frozenset[str]
    """The names in comparable form: the last part of a path, lower case."""
    cost: int
    """Estimated tokens."""
    is_bullet: bool = False
    """It was a list item."""
    has_cue: bool = False
    """It contains a word that indicates a cause, rule or result."""
    has_doubt: bool = False
    """It contains a word that expresses doubt."""
    is_table: bool = False
    """It is a table: header, rule and rows, one line each."""


def analyze_sentence(text: str, *, bullet: bool = False) -> AnalyzedSentence:
    """Weigh this text as one sentence, unchanged."""
    found = analyze_text(text)
    return AnalyzedSentence(
        text,
        found.stems,
        found.names,
        normalize_names_for_comparison(found.names),
        estimate_o200k_tokens(text),
        bullet,
        found.has_cue,
        found.has_doubt,
    )


def shorten_to_one_line(text: str, limit: int) -> str:
    """The text on one line, cut at a word with an ellipsis when it has more than `limit`
    characters.
    """
    line = " ".join(text[: limit * 8 + 400].split())
    if len(line) <= limit:
        return line
    cut = line.rfind(" ", limit // 2, limit)
    return line[: cut if cut > 0 else limit].rstrip(" ,;:-–—(") + " …"


def keep_start_and_end(text: str, limit: int = MAX_EXAMINED_CHARACTERS) -> str:
    """The text, or its start and end where it is longer than `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit // 2]}\n\n{text[-limit // 2 :]}"


class UnanalyzedSentence(NamedTuple):
    """A sentence that is not weighed yet."""

    text: str
    is_bullet: bool = False
    is_table: bool = False


def extract_prose_sentences(
    text: str, *, short: bool = False, tables: bool = False
) -> Iterator[UnanalyzedSentence]:
    """The sentences of a Markdown text, in order. Fenced code and rules are dropped; so are very
    short sentences, unless `short`.

    A table is one sentence with `tables`; otherwise each of its rows is.
    """
    text = keep_start_and_end(text)
    start = 0
    for match in _MARKDOWN_TABLE.finditer(text) if tables and "|" in text else ():
        if "-" in match[0].split("\n", 2)[1] and not text.count("```", 0, match.start()) % 2:
            yield from _split_prose(text[start : match.start()], short=short)
            yield _table_sentence(match[0])
            start = match.end()
    yield from _split_prose(text[start:], short=short)


def analyze_raw_sentence(phrase: UnanalyzedSentence) -> AnalyzedSentence:
    """Weigh a raw sentence."""
    found = analyze_sentence(phrase.text, bullet=phrase.is_bullet)
    return structs.replace(found, is_table=True) if phrase.is_table else found


def _table_sentence(text: str) -> UnanalyzedSentence:
    """A table as one sentence, its rows stripped of surrounding space."""
    rows = [" ".join(row.split()) for row in text.strip().split("\n")]
    kept: list[str] = []
    size = 0
    for row in rows:
        size += len(row)
        if size > MAX_TABLE_CHARACTERS and len(kept) > 2:
            kept.append("| … |")
            break
        kept.append(row)
    kept[1] = "|" + "---|" * max(kept[0].strip("|").count("|") + 1, 1)
    return UnanalyzedSentence("\n".join(kept), is_table=True)


def _split_prose(text: str, *, short: bool) -> Iterator[UnanalyzedSentence]:
    for paragraph, bullet in _join_wrapped_lines(text):
        for part in _split_paragraph(paragraph):
            cleaned = _balance_marks(shorten_to_one_line(part, MAX_SENTENCE_CHARACTERS))
            if short or _is_worth_keeping(cleaned):
                yield UnanalyzedSentence(cleaned, bullet)


def _join_wrapped_lines(text: str) -> list[tuple[str, bool]]:
    """Lines joined where they were only wrapped, each with whether it is a list item."""
    done: list[tuple[str, bool]] = []
    fenced = False
    joinable = False
    for line in text.split("\n"):
        start = line.lstrip()[:1]
        if start in ("`", "~") and _FENCE_LINE.match(line):
            fenced, joinable = not fenced, False
            if done and _LEAD_IN.fullmatch(done[-1][0]):
                done[-1] = (f"{done[-1][0][:-1]} …", done[-1][1])
            continue
        if fenced or not start or (start in _RULE_SIGNS and _RULE_LINE.match(line)):
            joinable = False
            continue
        plain, bullet, heading = _strip_markdown(line, start)
        if (joinable and not bullet and not heading and done) or (
            plain and done and _LEAD_IN.fullmatch(done[-1][0]) and not heading
        ):
            done[-1] = (f"{done[-1][0]} {plain}", done[-1][1])
        elif plain:
            done.append((plain, bullet))
        joinable = not heading and len(line) >= _WRAPPED_LENGTH and start != "|"
    return done


def _strip_markdown(line: str, start: str) -> tuple[str, bool, bool]:
    """The line, which begins with `start`, without Markdown signs; whether it was a list item, and
    whether a heading.
    """
    heading = start == "#" and bool(_HEADING_START.match(line))
    if heading:
        line = _HEADING_START.sub("", line, count=1)
    bullet = _BULLET_START.match(line) if heading or start in _BULLET_SIGNS else None
    if bullet:
        line = line[bullet.end() :]
    line = line.strip()
    if line.startswith("|"):
        line = " · ".join(cell.strip() for cell in line.strip("|").split("|") if cell.strip())
        bullet = bullet or _BULLET_START.match("- ")
    line = line.removeprefix("> ")
    if len(line) > _STYLED_LIMIT:
        return line.strip(), bool(bullet), heading
    if "](" in line:
        line = _MARKDOWN_LINK.sub(r"\1", line)
    if "*" in line or "__" in line:
        line = _EMPHASIS.sub(r"\2", line)
        line = _LOOSE_EMPHASIS.sub("", line) if "`" not in line else line
    if "──" in line or "━━" in line or "══" in line:
        line = _DRAWN_RULE.sub("", line).replace("``", "").strip(" `★")
    if "<" in line and "`" not in line:
        line = _HTML_TAG.sub(" ", line)
    return line.strip(), bool(bullet), heading


def _split_paragraph(paragraph: str) -> list[str]:
    if len(paragraph) < _SINGLE_SENTENCE_LENGTH:
        return [paragraph]
    parts: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(paragraph):
        _append_part(parts, paragraph[start : end.start() + 1])
        start = end.end() if end[0][-1:].isspace() else end.start() + 1
    _append_part(parts, paragraph[start:])
    return parts


def _append_part(parts: list[str], part: str) -> None:
    """Append a piece, or join it to the last one where that had not ended."""
    if parts and (
        _ABBREVIATION.search(parts[-1], max(0, len(parts[-1]) - _ABBREVIATION_LENGTH))
        or parts[-1].count("`") % 2
    ):
        parts[-1] = f"{parts[-1]} {part}"
    elif part.strip():
        parts.append(part.strip())


def _balance_marks(text: str) -> str:
    """Remove unmatched back-ticks and emphasis, and replace a trailing colon by an ellipsis."""
    if text.count("`") % 2:
        text = text.replace("`", "")
    if text.count("**") % 2:
        text = text.replace("**", "")
    if text.endswith(":"):
        text = f"{text[:-1].rstrip()} …"
    return text


def _is_worth_keeping(text: str) -> bool:
    """Whether a sentence is worth keeping: headings and lead-ins of a word or two say nothing
    alone.
    """
    size = len(text)
    if size < 12:
        return False
    return text.count(" ") >= 2 or any(sign in text for sign in "`/_")

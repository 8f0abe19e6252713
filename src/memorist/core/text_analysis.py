"""Words, identifiers and token estimates for weighing notes. Pure, and cheap: it runs on every
sentence of a session.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from string import ascii_letters, ascii_lowercase
from typing import NamedTuple

from msgspec import Struct, structs

from memorist.core.lazy import lazy_pattern


def word_set(text: str) -> frozenset[str]:
    """The words of a list that is written as running text."""
    return frozenset(text.split())


STEM_LENGTH = 6
"""Letters of a word that count: inflections of a word coincide, without a stemmer."""

NOTES_STOP_WORDS = word_set(
    """
             about after again against already also although always another because been before
    being below between both came cannot comes         could does doing done down during each
    either else even ever every from further gets give goes going gone good have having
    here hers herself himself however into itself just know left less like look made make many
    maybe might more most much must         need never next nothing okay once only onto other ours
    over perhaps please quite rather really right same seem seems shall         should since some
    something still such sure take than thank thanks that them then there therefore these they
    thing things         this those though through thus together under until upon very want wants
    well were what when where whether which while whom         whose will with within without
    would your yours yourself
    """
)
"""Words without content in an account of work; words of three letters or fewer never count."""

CUE_WORDS = word_set(
    """
             because since cause caused causes causing reason root problem issue bug turns means
    instead rather but however only never         always must require requires required need needs
    should already existing unrelated work works fail fails failed failing         broken stale
    confirm confirms confirmed verified fix fixed fixes not longer without unless depends expects
    same matches         consistent pattern convention pass passes passing clean
    """
)
"""Words that indicate a cause, a rule or a result rather than a description."""

NAME_LENGTH = 200
"""Characters of one word that are searched for names."""

DOUBT_WORDS = word_set(
    """
         might maybe possibly probably perhaps seems seem suspect wonder guess unsure hmm
    """
)
"""Words by which a writer expresses doubt."""

SHORT_WORD = 3
"""Words of so many letters or fewer carry no content."""

WORD_CACHE_SIZE = 16_384
"""Size of the word cache: a user's vocabulary and a project's names. A few megabytes at most."""

CACHED_WORD_LENGTH = 64
"""Letters above which a word is not cached: it hardly repeats."""

_CUE, _DOUBT = 1, 2
_NO_NAMES: frozenset[str] = frozenset()
_PLAIN_WORDS = lazy_pattern(r"[a-z]{3,}")
_IDENTIFIER = lazy_pattern(
    # paths, members, places
    r"(?:(?:~|\.{1,2})?/)?[A-Za-z_@.][\w@-]*(?:(?:/|\.|::|->|#|:)[\w@*-]+)+"
    r"|[A-Za-z]+_\w+|_\w{2,}"  # snake_case
    r"|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z]\w+"  # camelCase, PascalCase, HTTPServer
    r"|[a-z]{2,}\d\w*|\d+[a-f][0-9a-f]{5,}|[a-f]+\d[0-9a-f]{5,}"  # name1, hashes
)
_IDENTIFIER_HINT = lazy_pattern(r"[_/.:#>0-9]|[a-z][A-Z]|[A-Z][A-Z][a-z]")
"""A word that matches none of these cannot contain a name."""
_BACKTICKED = lazy_pattern(r"`([^`\n]{2,80})`")
_SURROUNDING_SIGNS = "`'\"()[]{},;!?.…“”‘’*<>="
_LOWER_BYTES = ascii_lowercase.encode()
_LETTER_BYTES = ascii_letters.encode()
_TOKENS_PER_LOWER = 0.228
_TOKENS_PER_UPPER = 0.402
_TOKENS_PER_SIGN = 0.557
_TOKENS_PER_SPACE = 0.012


class TextContent(Struct, frozen=True, gc=False):
    """The content of a text: its content words, its identifiers, and whether it indicates causes or
    doubts.
    """

    stems: frozenset[str]
    """Content words, lower case, cut to their first letters."""
    names: tuple[str, ...]
    """Identifiers and paths, in order, each once: text in back-ticks, and words shaped like code.
    """
    cue: bool
    doubt: bool


def analyze_text(text: str) -> TextContent:
    """Analyze a text. Words seen before are cached, so that a sentence costs little more than its
    splitting.
    """
    content: set[str] = set()
    found: dict[str, None] = (
        dict.fromkeys(map(str.strip, _BACKTICKED.findall(text))) if "`" in text else {}
    )
    marks = 0
    for word in dict.fromkeys(map(_WORD_CACHE.__getitem__, text.split())):
        if isinstance(word, str):
            content.add(word)
        else:
            content.update(word.stems)
            found.update(word.names)
            marks |= word.mark
    content.discard("")
    return TextContent(frozenset(content), tuple(found), bool(marks & _CUE), bool(marks & _DOUBT))


def find_identifiers(text: str) -> tuple[str, ...]:
    """The identifiers and paths in a text, as in `TextContent.names`."""
    return analyze_text(text).names


class AnalyzedWord(Struct, frozen=True, gc=False, eq=False):
    """An analyzed token that is more than a plain word: its stems, its names (as keys, in order),
    and its flags.
    """

    stems: tuple[str, ...]
    names: dict[str, None]
    mark: int


def _analyze_word(token: str) -> AnalyzedWord | str:
    """Analyze a whitespace-separated token: the stem of a plain word (empty where it carries no
    content), or everything else it holds.
    """
    bare = token.strip(_SURROUNDING_SIGNS)
    if bare.isalpha() and bare.isascii() and bare[1:].islower():
        word = bare.lower()
        stem = "" if len(word) <= SHORT_WORD or word in NOTES_STOP_WORDS else word[:STEM_LENGTH]
        mark = (_CUE if word in CUE_WORDS else 0) | (_DOUBT if word in DOUBT_WORDS else 0)
        return AnalyzedWord((stem,) if stem else (), {}, mark) if mark else stem
    plain = _PLAIN_WORDS.findall(token.lower())
    mark = (0 if CUE_WORDS.isdisjoint(plain) else _CUE) | (
        0 if DOUBT_WORDS.isdisjoint(plain) else _DOUBT
    )
    stems = tuple(
        [
            word[:STEM_LENGTH]
            for word in plain
            if len(word) > SHORT_WORD and word not in NOTES_STOP_WORDS
        ]
    )
    found = dict.fromkeys(_identifiers_in_word(bare))
    return AnalyzedWord(stems, found, mark) if found or mark or len(stems) > 1 else "".join(stems)


class _WordCache(dict[str, AnalyzedWord | str]):
    """Cache of analyzed tokens: memoizes a pure function, emptied when full."""

    def __missing__(self, token: str) -> AnalyzedWord | str:
        if len(self) >= WORD_CACHE_SIZE:
            self.clear()
        found = _analyze_word(token[:NAME_LENGTH])
        if len(token) <= CACHED_WORD_LENGTH:
            self[token] = found
        return found


_WORD_CACHE = _WordCache()


def _identifiers_in_word(bare: str) -> tuple[str, ...]:
    if (
        len(bare) <= 2
        or bare.isdigit()
        or (bare.isalpha() and (bare[1:].islower() or bare.isupper()))
    ):
        return ()
    if not _IDENTIFIER_HINT.search(bare):
        return ()
    return tuple(
        [
            name.rstrip(".-:")
            for name in _IDENTIFIER.findall(bare[:NAME_LENGTH])
            if name[0] != "." or not name[1:2].isdigit()
        ]
    )


def to_comparable_names(found: tuple[str, ...]) -> frozenset[str]:
    """Names in the form in which they are compared: a path by its last part, all lower case."""
    return (
        frozenset([name.rstrip("/").rsplit("/", 1)[-1].lower() for name in found])
        if found
        else _NO_NAMES
    )


def estimate_token_cost(text: str) -> int:
    """Estimate the o200k tokens of a text from its character classes; about 15 % off for one line,
    2 % for a page.

    The weights are a least-squares fit over 6,000 pieces of recorded sessions.
    """
    raw = text.encode("utf-8", "replace")
    size = len(raw)
    no_lower = len(raw.translate(None, _LOWER_BYTES))
    no_letters = len(raw.translate(None, _LETTER_BYTES))
    spaces = raw.count(b" ")
    weighed = (
        (size - no_lower) * _TOKENS_PER_LOWER
        + (no_lower - no_letters) * _TOKENS_PER_UPPER
        + (no_letters - spaces) * _TOKENS_PER_SIGN
        + spaces * _TOKENS_PER_SPACE
    )
    return int(weighed) + 1


# Split Markdown into sentences that can stand alone in notes, without tables, fences, heading
# signs or broken bullets. Pure.


TEXT_LIMIT = 10_000
"""Characters of one text that are examined: half from its start, half from its end. Keeps the cost
of a message constant.
"""

SENTENCE_LIMIT = 420
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
_HTML_TAG = lazy_pattern(r"</?[a-z][\w-]*(?:\s[^<>\n]*)?>")
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
TABLE_LIMIT = 2_000
"""Characters of a table; a longer one ends in a row of ellipses."""

_STYLED_LIMIT = 2_000
"""Characters of a line above which links and emphasis are left in: searching them takes quadratic
time.
"""

_WRAPPED_LENGTH = 56
_SINGLE_SENTENCE_LENGTH = 32
"""Characters below which a paragraph is taken as one sentence."""


class WeighedSentence(Struct, frozen=True, gc=False):
    """One sentence with the values needed to weigh it."""

    text: str
    stems: frozenset[str]
    names: tuple[str, ...]
    keys: frozenset[str]
    """The names in comparable form: the last part of a path, lower case."""
    cost: int
    """Estimated tokens."""
    bullet: bool = False
    """It was a list item."""
    cue: bool = False
    """It contains a word that indicates a cause, rule or result."""
    doubt: bool = False
    """It contains a word that expresses doubt."""
    table: bool = False
    """It is a table: header, rule and rows, one line each."""


def weigh_sentence(text: str, *, bullet: bool = False) -> WeighedSentence:
    """Weigh this text as one sentence, unchanged."""
    found = analyze_text(text)
    return WeighedSentence(
        text,
        found.stems,
        found.names,
        to_comparable_names(found.names),
        estimate_token_cost(text),
        bullet,
        found.cue,
        found.doubt,
    )


def shorten(text: str, limit: int) -> str:
    """The text on one line, cut at a word with an ellipsis when it has more than `limit`
    characters.
    """
    line = " ".join(text[: limit * 8 + 400].split())
    if len(line) <= limit:
        return line
    cut = line.rfind(" ", limit // 2, limit)
    return line[: cut if cut > 0 else limit].rstrip(" ,;:-–—(") + " …"


def shorten_middle(text: str, limit: int = TEXT_LIMIT) -> str:
    """The text, or its start and end where it is longer than `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit // 2]}\n\n{text[-limit // 2 :]}"


class RawSentence(NamedTuple):
    """A sentence that is not weighed yet."""

    text: str
    bullet: bool = False
    table: bool = False


def split_sentences(
    text: str, *, short: bool = False, tables: bool = False
) -> Iterator[RawSentence]:
    """The sentences of a Markdown text, in order. Fenced code and rules are dropped; so are very
    short sentences, unless `short`.

    A table is one sentence with `tables`; otherwise each of its rows is.
    """
    text = shorten_middle(text)
    start = 0
    for match in _MARKDOWN_TABLE.finditer(text) if tables and "|" in text else ():
        if "-" in match[0].split("\n", 2)[1] and not text.count("```", 0, match.start()) % 2:
            yield from _split_prose(text[start : match.start()], short=short)
            yield _table_sentence(match[0])
            start = match.end()
    yield from _split_prose(text[start:], short=short)


def weigh_raw_sentence(phrase: RawSentence) -> WeighedSentence:
    """Weigh a raw sentence."""
    found = weigh_sentence(phrase.text, bullet=phrase.bullet)
    return structs.replace(found, table=True) if phrase.table else found


def _table_sentence(text: str) -> RawSentence:
    """A table as one sentence, its rows stripped of surrounding space."""
    rows = [" ".join(row.split()) for row in text.strip().split("\n")]
    kept: list[str] = []
    size = 0
    for row in rows:
        size += len(row)
        if size > TABLE_LIMIT and len(kept) > 2:
            kept.append("| … |")
            break
        kept.append(row)
    kept[1] = "|" + "---|" * max(kept[0].strip("|").count("|") + 1, 1)
    return RawSentence("\n".join(kept), table=True)


def _split_prose(text: str, *, short: bool) -> Iterator[RawSentence]:
    for paragraph, bullet in _join_wrapped_lines(text):
        for part in _split_paragraph(paragraph):
            cleaned = _balance_marks(shorten(part, SENTENCE_LIMIT))
            if short or _is_worth_keeping(cleaned):
                yield RawSentence(cleaned, bullet)


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


# Reduce a text to one line that a file's layout can hold. Pure.


def replace_surrogates(text: str) -> str:
    """Put a question mark for each lone surrogate, which stands for a byte that was not UTF-8 or
    for half a character, and can be neither encoded nor shown.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def encode_text(text: str) -> bytes:
    """Encode a file's text, with the bytes that were not UTF-8 when it was read; another lone
    surrogate becomes a question mark.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


MAX_LINE = 300
"""Characters of a name, a folder or a description."""


def to_one_line(text: str, limit: int = MAX_LINE) -> str:
    """Return a text as one line of at most `limit` characters, without control characters or halves
    of characters.
    """
    plain = (
        text
        if text.isascii() and text.isprintable()
        else "".join(sign if _is_printable(sign) else " " for sign in text[: 4 * limit])
    )
    return " ".join(plain.split())[:limit].strip()


def _is_printable(sign: str) -> bool:
    return (
        unicodedata.category(sign) not in ("Cc", "Cs", "Zl", "Zp")
        and sign not in "\ufeff\ufffe\uffff"
    )

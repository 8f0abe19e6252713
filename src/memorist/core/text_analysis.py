"""Words, identifiers and token estimates for weighing notes. Pure, and cheap: it runs on every
sentence of a session.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from string import ascii_letters, ascii_lowercase

from msgspec import Struct

from memorist.core.lazy import lazy_pattern


def parse_word_list(text: str) -> frozenset[str]:
    """The words of a list that is written as running text."""
    return frozenset(text.split())


WIDE_LETTERS = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Kana, Chinese characters and Hangul, inside a character class: one says what two Latin letters say."""
_WIDE_LETTER = lazy_pattern(f"[{WIDE_LETTERS}]")


def count_cjk_letters(text: str) -> int:
    """How many kana, Chinese characters and Hangul a text has."""
    return 0 if text.isascii() else len(_WIDE_LETTER.findall(text))


STEM_LETTERS = 6
"""Letters of a word that count: inflections of a word coincide, without a stemmer."""

NOTES_STOP_WORDS = parse_word_list(
    """
    about after again against already also although always another because been before being
    below between both came cannot comes could does doing done down during each either else even
    ever every from further gets give goes going gone good have having here hers herself himself
    however into itself just know left less like look made make many maybe might more most much
    must need never next nothing okay once only onto other ours over perhaps please quite rather
    really right same seem seems shall should since some something still such sure take than
    thank thanks that them then there therefore these they thing things this those though
    through thus together under until upon very want wants well were what when where whether
    which while whom whose will with within without would your yours yourself
    """
)
"""Words without content in an account of work; words of three letters or fewer never count."""

CUE_WORDS = parse_word_list(
    """
    because since cause caused causes causing reason root problem issue bug turns means instead
    rather but however only never always must require requires required need needs should
    already existing unrelated work works fail fails failed failing broken stale confirm
    confirms confirmed verified fix fixed fixes not longer without unless depends expects same
    matches consistent pattern convention pass passes passing clean
    """
)
"""Words that indicate a cause, a rule or a result rather than a description."""

MAX_NAME_SEARCH_CHARACTERS = 200
"""Characters of one word that are searched for names."""

DOUBT_WORDS = parse_word_list(
    """
    might maybe possibly probably perhaps seems seem suspect wonder guess unsure hmm
    """
)
"""Words by which a writer expresses doubt."""

MAX_SHORT_WORD_LETTERS = 3
"""Words of so many letters or fewer carry no content."""

WORD_CACHE_SIZE = 16_384
"""Size of the word cache: a user's vocabulary and a project's names. A few megabytes at most."""

MAX_CACHED_WORD_LETTERS = 64
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


class TextStemsAndNames(Struct, frozen=True, gc=False):
    """The content of a text: its content words, its identifiers, and whether it indicates causes or
    doubts.
    """

    stems: frozenset[str]
    """Content words, lower case, cut to their first letters."""
    names: tuple[str, ...]
    """Identifiers and paths, in order, each once: text in back-ticks, and words shaped like code.
    """
    has_cue: bool
    has_doubt: bool


def analyze_text(text: str) -> TextStemsAndNames:
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
    return TextStemsAndNames(
        frozenset(content), tuple(found), bool(marks & _CUE), bool(marks & _DOUBT)
    )


def find_identifiers(text: str) -> tuple[str, ...]:
    """The identifiers and paths in a text, as in `TextStemsAndNames.names`."""
    return analyze_text(text).names


class WordFeatures(Struct, frozen=True, gc=False, eq=False):
    """An analyzed token that is more than a plain word: its stems, its names (as keys, in order),
    and its flags.
    """

    stems: tuple[str, ...]
    names: dict[str, None]
    mark: int


def _analyze_word(token: str) -> WordFeatures | str:
    """Analyze a whitespace-separated token: the stem of a plain word (empty where it carries no
    content), or everything else it holds.
    """
    bare = token.strip(_SURROUNDING_SIGNS)
    if bare.isalpha() and bare.isascii() and bare[1:].islower():
        word = bare.lower()
        stem = (
            ""
            if len(word) <= MAX_SHORT_WORD_LETTERS or word in NOTES_STOP_WORDS
            else word[:STEM_LETTERS]
        )
        mark = (_CUE if word in CUE_WORDS else 0) | (_DOUBT if word in DOUBT_WORDS else 0)
        return WordFeatures((stem,) if stem else (), {}, mark) if mark else stem
    plain = _PLAIN_WORDS.findall(token.lower())
    mark = (0 if CUE_WORDS.isdisjoint(plain) else _CUE) | (
        0 if DOUBT_WORDS.isdisjoint(plain) else _DOUBT
    )
    stems = tuple(
        [
            word[:STEM_LETTERS]
            for word in plain
            if len(word) > MAX_SHORT_WORD_LETTERS and word not in NOTES_STOP_WORDS
        ]
    )
    found = dict.fromkeys(_identifiers_in_word(bare))
    return WordFeatures(stems, found, mark) if found or mark or len(stems) > 1 else "".join(stems)


class _WordCache(dict[str, WordFeatures | str]):
    """Cache of analyzed tokens: memoizes a pure function, emptied when full."""

    def __missing__(self, token: str) -> WordFeatures | str:
        if len(self) >= WORD_CACHE_SIZE:
            self.clear()
        found = _analyze_word(token[:MAX_NAME_SEARCH_CHARACTERS])
        if len(token) <= MAX_CACHED_WORD_LETTERS:
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
            for name in _IDENTIFIER.findall(bare[:MAX_NAME_SEARCH_CHARACTERS])
            if name[0] != "." or not name[1:2].isdigit()
        ]
    )


def normalize_names_for_comparison(found: tuple[str, ...]) -> frozenset[str]:
    """Names in the form in which they are compared: a path by its last part, all lower case."""
    if found:
        return frozenset([name.rstrip("/").rsplit("/", 1)[-1].lower() for name in found])
    return _NO_NAMES


def estimate_o200k_tokens(text: str) -> int:
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


# What is not text in a text: bytes in no or another encoding, and what one line cannot hold. Pure.


def replace_surrogates(text: str) -> str:
    """Put a question mark for each lone surrogate, which stands for a byte that was not UTF-8 or
    for half a character, and can be neither encoded nor shown.
    """
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


_WIDE_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks, longer ones first, since one is a prefix of another."""


def detect_utf16_or_utf32_mark(data: bytes) -> str:
    """Return the encoding, UTF-16 or UTF-32, that a file's byte order mark names; empty for none."""
    return next((name for mark, name in _WIDE_ENCODINGS if data.startswith(mark)), "")


_WIDE_START = re.compile(rb"(?:\xff\xfe)?(?:[^\0]\0)*(?:[\t\r\n -~]\0){3}")
_NARROW_AGAIN = re.compile(rb"[\t\r\n -~]{8}")


def decode_file_text_losslessly(data: bytes) -> str:
    """Decode a file's text: in UTF-16 or UTF-32 where its mark says so, else in UTF-8, whose
    invalid bytes `encode_file_text_as_utf8` writes back. Parts in UTF-16 without a mark, as `>>` of
    PowerShell appends them, are decoded as such.
    """
    wide = detect_utf16_or_utf32_mark(data)
    if wide:
        return data.decode(wide, "replace")
    parts = []
    while b"\0" in data and (found := _WIDE_START.search(data)):
        end = _find_end_of_wide_part(data, found.start())
        parts.append(data[: found.start()].decode("utf-8", "surrogateescape"))
        parts.append(data[found.start() : end].decode("utf-16-le", "replace").lstrip("\ufeff"))
        data = data[end:]
    return "".join([*parts, data.decode("utf-8", "surrogateescape")])


def _find_end_of_wide_part(data: bytes, start: int) -> int:
    """Where a part in UTF-16 ends: at the end of the data, or where ASCII goes on."""
    for at in range(start, len(data) - 1, 2):
        if data[at + 1] and _NARROW_AGAIN.match(data, at):
            return at
    return start + (len(data) - start) // 2 * 2


def count_undecoded_bytes(text: str) -> int:
    """How many bytes of a text that `decode_file_text_losslessly` read were in no encoding that it knows."""
    if text.isascii():
        return 0
    return sum("\udc80" <= sign <= "\udcff" for sign in text)


def encode_file_text_as_utf8(text: str) -> bytes:
    """Encode a file's text, with the bytes that were not UTF-8 when it was read; another lone
    surrogate becomes a question mark.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


MAX_ONE_LINE_CHARACTERS = 300
"""Characters of a name, a folder or a description."""


def to_printable_line(text: str, limit: int = MAX_ONE_LINE_CHARACTERS) -> str:
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

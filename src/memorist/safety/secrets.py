"""Secrets in a text: found and redacted before anything is stored or sent to a second model
(SF-1). See docs/safety.md for what is found.

Two automata go over the text once each: one looks for the literal parts of token formats, one for
the stems and anchors of everything else in small letters. Patterns are tried only where these hit,
and read a bounded stretch. Colour codes of terminals are left out before, and places mapped back
after.

`redact` leaves a mark with the rule's name where a secret stood. What it returns holds no secret
that any rule knows: marks can change what stands around them, so the result is looked at again
until nothing is found.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import islice
from string import digits
from typing import TYPE_CHECKING

from msgspec import Struct

from memorist.core.lazy import lazy_module, lazy_pattern
from memorist.safety import personal_secrets, secret_contexts
from memorist.safety.safety_finding import SafetyFinding, keep_earliest_of_overlapping_findings
from memorist.safety.secret_assignments import (
    STEMS,
    find_keys_named_after_provider,
    find_secrets_for_key_at,
)
from memorist.safety.secret_keys import BEYOND_ASCII
from memorist.safety.secret_providers import load_named_providers
from memorist.safety.secret_token_formats import (
    SecretTokenFormat,
    has_valid_token_checksum,
    load_secret_token_formats,
)
from memorist.safety.secret_values import (
    MAX_JUDGED_LENGTH,
    REDACTION_MARK,
    has_dominant_character,
    is_random_looking,
    is_token_placeholder,
)
from memorist.safety.terminal_text import (
    COLOR_SIGNS,
    TextWithoutColorCodes,
    build_view_without_colors,
)

if TYPE_CHECKING:
    import ahocorasick_rs as automata
    from ahocorasick_rs import BytesAhoCorasick
else:
    automata = lazy_module("ahocorasick_rs")

_MARK_HINT = "[redacted: "
_LONGEST_MARK = 41
_ROUNDS = 4
"""Times a text is redacted in whole. Ordinary texts are done in one; one made to need more loses
its rest (`unreadable`).
"""
MAX_ID_CHARS = 1_000
"""Characters of the longest identifier that is stored as it is; headers of memories name it."""
_ID_DIGITS = 8
"""Hexadecimal digits of the hash behind a concealed identifier. Our choice."""
_SPLIT = lazy_pattern(
    r"""[A-Za-z0-9_./+~=-]{4,200}+"""
    r"""(?:["'][ \t]*(?:[+.&][ \t]*)?(?:\\?\n[ \t]*)?(?:[+.&][ \t]*)?["']|\\?\r?\n[ \t]{0,40})"""
    r"""[A-Za-z0-9_./+~=-]{4,}"""
)
_SEAM = lazy_pattern(
    r"""["'][ \t]*(?:[+.&][ \t]*)?(?:\\?\n[ \t]*)?(?:[+.&][ \t]*)?["']|\\?\r?\n[ \t]{0,40}"""
)
_DECODED = lazy_pattern(
    r"""(?:base64[ \t]+(?:-d|--decode)[ \t]*<<<?[ \t]*"""
    r"""|(?:b64decode|base64string|atob|b64-decode)\([ \t]*b?"""
    r"""|\.dockerconfigjson["']?[ \t]*[:=][ \t]*)"""
    r"""["']?([A-Za-z0-9+/_-]{16,4096}={0,2})""",
    re.IGNORECASE,
)
_DECODERS = (
    "base64 -d", "base64 --decode", "b64decode(", "base64string(", "atob(", "b64-decode(",
    ".dockerconfigjson",
)  # fmt: skip
"""What decodes base64, in small letters; the text is in front of it, behind a pipe, or in it."""
_PIPED = lazy_pattern(r"[A-Za-z0-9+/_-]{16,4096}={0,2}\Z")
_NEXT_LINE = lazy_pattern(
    r"""\\?\r?\n[ \t]{0,40}([A-Za-z0-9_./+~=-]{8,400})(?=[ \t"']*(?:\r?\n|\Z))"""
)
_SEAMS = 3
"""A token that goes on in another string of code, or on the next line."""
_MAX_PIPED = 4_200
"""Characters in front of a pipe that are looked at. Our choice."""
_DIGITS_AS_ZERO = bytes.maketrans(digits.encode(), b"0" * 10)
_SHORT = 64
"""Characters of a text that is remembered as clean: names of tools, kinds, models, arguments, and
the ids by which one entry refers to another.
"""
CLEAN_TEXT_CACHE_SIZE = 10_000
"""Short texts remembered, under 2 MB."""
CLEAN: set[str] = set()
"""Short texts without a secret. Nothing with one is ever remembered."""
_MAX_LONG_CHARS = 32_000
_MAX_CLEAN_LONG = 64
"""Characters of a longer text that is remembered as clean, and how many are, 2 MB of plain text: a
message is read ten times while it is answered. Our choice.
"""
_CLEAN_LONG: set[str] = set()
"""Longer texts without a secret."""


class RedactedText(Struct, frozen=True):
    """A text without its secrets, and the rules that found them, each once, in the order of the
    text. Never the secrets.
    """

    text: str
    rules: tuple[str, ...] = ()


def find_secrets(text: str) -> tuple[SafetyFinding, ...]:
    """The secrets in a text, in order, apart from each other. A mark that `redact` left is none,
    and none is inside one.
    """
    short = len(text) <= _SHORT
    known, most = (CLEAN, CLEAN_TEXT_CACHE_SIZE) if short else (_CLEAN_LONG, _MAX_CLEAN_LONG)
    if text in known:
        return ()
    found = _find(text)
    if not found and len(text) <= _MAX_LONG_CHARS:
        if len(known) >= most:
            known.clear()
        known.add(text)
    return found


def _find(text: str) -> tuple[SafetyFinding, ...]:
    # One byte for each character, so that places in the bytes are places in the text.
    data = text.encode("ascii", "replace")
    signs = _color_search().find_matches_as_indexes(data)
    if not signs:
        found = _find_all(text, data)
    else:
        view = build_view_without_colors(text, (at for _, at, _ in signs))
        found = _find_all(view.text, view.text.encode("ascii", "replace"))
    if not found:
        return ()
    apart = keep_earliest_of_overlapping_findings(found)
    if signs:
        apart = tuple(
            SafetyFinding(*view.map_to_original_span(one.start, one.end), one.rule) for one in apart
        )
    return tuple(_exclude_marks(text, apart)) if _MARK_HINT in text else apart


def redact(text: str) -> RedactedText:
    """The text with a mark such as `[redacted: github-token]` for each secret. A text without
    secrets comes back as the same object.

    Doing it again changes nothing.
    """
    rules: dict[str, None] = {}
    rounds = 0
    while found := find_secrets(text):
        rounds += 1
        if rounds > _ROUNDS:
            text = f"{text[: found[0].start]}{make_redaction_mark('unreadable')}"
            rules["unreadable"] = None
            continue
        rules |= dict.fromkeys(finding.rule for finding in found)
        text = _replace_findings(text, found)
    return RedactedText(text, tuple(rules))


def redact_bytes(data: bytes) -> bytes:
    """A file's bytes with a mark for each secret; the same object where there is none."""
    text = data.decode("utf-8", "surrogateescape")
    clean = redact(text).text
    return data if clean is text else clean.encode("utf-8", "surrogateescape")


def redact_id_keeping_ids_distinct(text: str) -> str:
    """An identifier without the secrets in it and of bounded length; the same object where that
    changes nothing. Identifiers that differ stay apart, by eight digits of their hash.
    """
    clean = redact(text).text
    if clean is text and len(text) <= MAX_ID_CHARS:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]
    return f"{clean[:MAX_ID_CHARS]}-{digest}"


def make_redaction_mark(rule: str) -> str:
    """What stands for a secret that the rule found."""
    return f"[redacted: {rule}]"


def _replace_findings(text: str, found: tuple[SafetyFinding, ...]) -> str:
    parts: list[str] = []
    done = 0
    for finding in found:
        parts += (text[done : finding.start], make_redaction_mark(finding.rule))
        done = finding.end
    return "".join((*parts, text[done:]))


class _HintSearch:
    """An automaton over literal texts, and what reads the text where each stands."""

    def __init__(
        self, readers: dict[str, list[secret_contexts.SecretReader]], *, overlapping: bool
    ) -> None:
        kind = automata.MatchKind.Standard if overlapping else automata.MatchKind.LeftmostLongest
        self._automaton = automata.BytesAhoCorasick(
            [word.encode() for word in readers],
            matchkind=kind,
            implementation=automata.Implementation.DFA,
        )
        self._readers = list(readers.values())
        self._overlapping = overlapping

    def over(self, text: str, data: bytes) -> Iterable[SafetyFinding]:
        """What the readers find. `data` has one byte for each character of the text."""
        hints = self._automaton.find_matches_as_indexes(data, overlapping=self._overlapping)
        return self._read(text, hints) if hints else ()

    def _read(self, text: str, hints: list[tuple[int, int, int]]) -> Iterator[SafetyFinding]:
        done: dict[int, int] = {}
        for which, at, _ in hints:
            if at < done.get(which, 0):
                continue
            for reader in self._readers[which]:
                for finding in reader(text, at):
                    done[which] = max(done.get(which, 0), finding.end)
                    yield finding


@cache
def _token_search() -> _HintSearch:
    readers: dict[str, list[secret_contexts.SecretReader]] = {}
    for kind in load_secret_token_formats():
        readers.setdefault(kind.hint, []).append(partial(_token, kind))
    for anchor, reader in secret_contexts.CASE_SENSITIVE.items():
        readers.setdefault(anchor, []).append(reader)
    return _HintSearch(readers, overlapping=True)


@cache
def _name_search() -> _HintSearch:
    readers: dict[str, list[secret_contexts.SecretReader]] = {}
    for stem in STEMS:
        readers.setdefault(stem, []).append(partial(find_secrets_for_key_at, stem))
    for table in (secret_contexts.READERS, personal_secrets.PERSONAL_SECRETS):
        for anchor, reader in table.items():
            readers.setdefault(anchor, []).append(reader)
    for decoder in _DECODERS:
        readers.setdefault(decoder, []).append(_encoded_secret)
    for name, provider in load_named_providers().items():
        readers.setdefault(name, []).append(partial(find_keys_named_after_provider, name, provider))
    return _HintSearch(readers, overlapping=True)


@cache
def _color_search() -> BytesAhoCorasick:
    return automata.BytesAhoCorasick(
        [sign.encode() for sign in COLOR_SIGNS],
        matchkind=automata.MatchKind.LeftmostLongest,
        implementation=automata.Implementation.DFA,
    )


@cache
def _non_ascii_readers() -> dict[str, secret_contexts.SecretReader]:
    """What reads the text at a word outside ASCII."""
    return {
        **{stem: partial(find_secrets_for_key_at, stem) for stem in BEYOND_ASCII},
        **{
            word: partial(personal_secrets.find_code_after_foreign_word, word=word)
            for word in personal_secrets.FOREIGN_CODES
        },
        **dict.fromkeys(personal_secrets.FOREIGN_PHRASES, personal_secrets.find_recovery_phrase),
    }


@cache
def _non_ascii_search() -> BytesAhoCorasick:
    return automata.BytesAhoCorasick(
        [stem.encode() for stem in _non_ascii_readers()],
        matchkind=automata.MatchKind.LeftmostLongest,
        implementation=automata.Implementation.DFA,
    )


@cache
def _phrase_search() -> BytesAhoCorasick:
    return automata.BytesAhoCorasick(
        personal_secrets.LONE_PHRASES, implementation=automata.Implementation.DFA
    )


@cache
def _number_search() -> _HintSearch:
    return _HintSearch(
        {form: [personal_secrets.find_checked_number] for form in personal_secrets.CHECKED_NUMBERS},
        overlapping=False,
    )


def _find_all(text: str, data: bytes) -> list[SafetyFinding]:
    found = [
        *_token_search().over(text, data),
        *_name_search().over(text, data.lower()),
        *_number_search().over(text, data.translate(_DIGITS_AS_ZERO)),
    ]
    rest = data.translate(None, personal_secrets.LETTERS_AND_QUOTES)
    if _phrase_search().find_matches_as_indexes(b"\n" + rest + b"\n"):
        found += personal_secrets.find_unnamed_recovery_phrase(text)
    return found if text.isascii() else [*found, *_beyond_ascii(text)]


def _beyond_ascii(text: str) -> Iterator[SafetyFinding]:
    readers = list(_non_ascii_readers().values())
    data = text.encode("utf-8", "surrogatepass")
    done = at = 0
    for which, start, _ in _non_ascii_search().find_matches_as_indexes(data):
        at += len(data[done:start].decode("utf-8", "surrogatepass"))
        done = start
        yield from readers[which](text, at)


def _token(kind: SecretTokenFormat, text: str, at: int) -> Iterator[SafetyFinding]:
    if at < kind.back:
        return
    found = kind.pattern.match(text, at - kind.back)
    if found is None:
        if kind.back == 0 and not kind.weak:
            yield from _split_token(kind, text, at)
        return
    group = 1 if kind.pattern.groups else 0
    if _is_token(kind, found[group]):
        start, end = found.span(group)
        yield SafetyFinding(start, _find_end_over_lines(kind, text, start, end), kind.name)


def _find_end_over_lines(kind: SecretTokenFormat, text: str, start: int, end: int) -> int:
    """Where a token ends that goes on in the lines below, each of them a random piece that its
    format takes and nothing else.
    """
    token = text[start:end]
    for _ in range(_SEAMS):
        line = _NEXT_LINE.match(text, end)
        if line is None or not (is_random_looking(line[1]) and any(map(str.isdigit, line[1]))):
            break
        longer = kind.pattern.match(token + line[1])
        if longer is None or longer.end() <= len(token):
            break
        token, end = token + line[1], line.end(1)
    return end


def _is_token(kind: SecretTokenFormat, token: str) -> bool:
    body = token.removeprefix(kind.hint)
    if kind.name == "private-key":
        return b"PRIVATE KEY" in binascii.a2b_base64(token[:80])
    if kind.weak and not (
        is_random_looking(body)
        and (
            any(map(str.isdigit, body[:MAX_JUDGED_LENGTH]))
            or not (body.islower() or body.isupper())
        )
    ):
        return False
    return not (
        is_token_placeholder(body) or has_dominant_character(body)
    ) or has_valid_token_checksum(token)


def _split_token(kind: SecretTokenFormat, text: str, at: int) -> Iterator[SafetyFinding]:
    """A token over a seam: the format is tried on the pieces put together."""
    if (at and text[at - 1].isalnum()) or _SPLIT.match(text, at) is None:
        return
    stretch = text[max(0, at - 1) : at + 600]
    view = _seamless(stretch)
    found = kind.pattern.match(view.text, at - max(0, at - 1))
    if (
        found
        and not kind.pattern.groups
        and _is_token(kind, found[0])
        and any(map(str.isdigit, found[0]))
    ):
        start, end = view.map_to_original_span(*found.span())
        yield SafetyFinding(start + max(0, at - 1), end + max(0, at - 1), kind.name)


def _encoded_secret(text: str, at: int) -> Iterator[SafetyFinding]:
    """A text in base64 that is decoded on the spot, if it holds a secret."""
    found = _DECODED.match(text, at)
    span = found.span(1) if found else _find_piped_text(text, at)
    try:
        said = base64.b64decode(f"{text[slice(*span)]}==", altchars=b"-_").decode("utf-8")
    except ValueError:
        return
    if said.isprintable() or "\n" in said:
        yield from (SafetyFinding(*span, "encoded-secret"),) if find_secrets(said) else ()


def _find_piped_text(text: str, at: int) -> tuple[int, int]:
    """Where the last word before a pipe stands; an empty place for none."""
    before = text[max(0, at - _MAX_PIPED) : at].rstrip(" \t")
    if not before.endswith("|"):
        return at, at
    end = at - len(text[max(0, at - _MAX_PIPED) : at]) + len(before[:-1].rstrip(" \t\"'"))
    word = text[max(0, end - _MAX_PIPED) : end].split()[-1:]
    found = _PIPED.search(word[0].lstrip("\"'")) if word else None
    return (end - len(found[0]), end) if found else (at, at)


def _seamless(text: str) -> TextWithoutColorCodes:
    parts: list[str] = []
    shown_from: list[int] = []
    original_from: list[int] = []
    done = size = 0
    for seam in islice(_SEAM.finditer(text), _SEAMS):
        parts.append(text[done : seam.start()])
        shown_from.append(size)
        original_from.append(done)
        size += len(parts[-1])
        done = seam.end()
    parts.append(text[done:])
    return TextWithoutColorCodes("".join(parts), (*shown_from, size), (*original_from, done))


def _exclude_marks(text: str, found: tuple[SafetyFinding, ...]) -> Iterator[SafetyFinding]:
    """The findings without the marks in them: a secret cannot hide behind a mark, and a mark is
    never marked again.
    """
    for finding in found:
        start = finding.start
        for inner in REDACTION_MARK.finditer(
            text, max(0, start - len(_MARK_HINT) - _LONGEST_MARK), finding.end
        ):
            if inner.end() <= start:
                continue
            if inner.start() > start:
                yield SafetyFinding(start, inner.start(), finding.rule)
            start = inner.end()
        if start < finding.end:
            yield SafetyFinding(start, finding.end, finding.rule)

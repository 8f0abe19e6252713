"""Secrets in a text: found and redacted before anything is stored or sent to a second model (SF-1).
docs/safety.md lists what is found.

`redact` leaves a mark with the rule's name in the place of a secret. Its result holds no secret
that any rule knows: marks can change what surrounds them, so the result is searched again until
nothing is found.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.safety.secret_patterns import (
    EDGE,
    REDACTION_MARK,
    TOKEN_FORMATS,
    TokenFormat,
    is_password_like,
    is_placeholder,
    is_random_looking,
    is_reference_or_placeholder,
    is_uuid,
)

# A range of a text with the rule that matched it.


class SafetyFinding(Struct, frozen=True, order=True):
    """The rule `rule` matched `text[start:end]`. It never holds the text itself, so that it can be
    logged (TM-4).
    """

    start: int
    end: int
    rule: str


def remove_overlaps(findings: Iterable[SafetyFinding]) -> tuple[SafetyFinding, ...]:
    """The findings in order, without overlaps: the one that begins earlier wins, and of two that
    begin together the longer.

    What a losing finding covers beyond the winner stays covered, under its own rule.
    """
    kept: list[SafetyFinding] = []
    end = 0
    for finding in sorted(findings, key=lambda one: (one.start, -one.end)):
        if finding.end > end:
            kept.append(
                finding if finding.start >= end else SafetyFinding(end, finding.end, finding.rule)
            )
            end = finding.end
    return tuple(kept)


# Secrets recognised by their context: values of secret-named keys, passwords in URLs, headers,
# command lines; key blocks and JWT.


MIN_SECRET_LENGTH = 8
"""Characters of the shortest value taken for a secret. The first 64 or more are judged; a value
judged a secret is followed to its end.
"""

_KEYS_TEXT = (
    "password passwd passphrase passcode pwd secret token apikey api_key api-key accesskey "
    "access_key access-key privatekey private_key private-key"
    " accountkey account_key authkey auth_key auth-key signingkey signing_key encryptionkey "
    "encryption_key masterkey master_key sessionkey"
    " session_key clientkey client_key credential 密码 口令 密钥 令牌"
)
_SECRET_KEYS = (
    *_KEYS_TEXT.split(),
    "api key",
    "access key",
    "secret key",
    "private key",
    "encryption key",
    "signing key",
)
"""Words that name a secret, folded. A key may continue after them (`_value`, `_prod`, `2`), but not
with a word that names something else (`_id`).
"""
_PASSWORD_KEYS = ("passw", "passp", "passc", "pwd", "密码", "口令")
_UUID_KEYS = ("api", "secret", "access")
"""Keys whose value may be a UUID; elsewhere UUIDs are identifiers."""

_VALUE = (
    r"""(?:\\?"(?P<double>[^"\n]{8,256})|\\?'(?P<single>[^'\n]{8,256})|\\?`(?P<back>[^`\n]{8,256})"""
    r"""|(?P<bare>(?:[^\s"'`,;<>(){}\[\]|&，。；、\\]{1,64}+|&(?![\w.-]{1,40}=)|\\(?![nrt"'])){1,4}+))"""
)
_ASSIGNED = lazy_pattern(
    r"(?:[_.-]?(?:access|key|base|value|string|str|prod|production|dev|development|staging|"
    r"live|test|raw|plain|text|b64|base64|v?\d{1,3})){0,3}"
    r"""(?:\\?["'`\])]){0,3}[ \t]{0,16}"""
    r"""(?P<sep>(?::[ \t]*[A-Za-z][\w\[\]|.?]{0,40}[ \t]*)?={1,3}>?|:=?|[：＝]|>"""
    r"""|,(?=[ \t]*\\?["'`])|\((?=["'`])|(?<=[ \t])(?:value[ \t]*=|is:?(?=[ \t]))|[是为][:：]?"""
    r"""|(?P<gap>(?<=[ \t])(?=[^\s=:-])))[ \t]{0,16}""" + _VALUE,
    re.IGNORECASE,
)
"""What follows a key: the rest of its name, a separator as in code, JSON, YAML, XML, shells and
prose, and a value.
"""
_VALUE_REST = {
    "double": lazy_pattern(r'[^"\n]*+'),
    "single": lazy_pattern(r"[^'\n]*+"),
    "back": lazy_pattern(r"[^`\n]*+"),
    "bare": lazy_pattern(
        r"""(?:[^\s"'`,;<>(){}\[\]|&，。；、\\]|&(?![\w.-]{1,40}=)|\\(?![nrt"']))*+"""
    ),
}
_OPTION = lazy_pattern(r"(?:^|\s)--?[\w-]*\Z")
_NAME_SCAN_LENGTH = 40
"""Characters before a key's word that may belong to its name."""
_PUBLIC = "public"
_MEMBER_ACCESS = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.\w*[A-Z]?[a-z]{4}\w*\Z")
"""A bare dotted name with a word in it: code that refers to a value."""

_URL = lazy_pattern(r"""://[^\s/:@"'<>]{0,256}:([^\s/"'<>]{1,512})@(?=[\w.\[$%{-])""")
_URL_TOKEN = lazy_pattern(r"""://([^\s/:@"'<>]{20,512})@(?=[\w.\[-])""")
_BEARER = lazy_pattern(r"bearer(?:[ \t]{1,8}|%20)([A-Za-z0-9._~+/-]{16,}={0,2})", re.IGNORECASE)
_BASIC = lazy_pattern(rf"{EDGE}basic[ \t]{{1,8}}([A-Za-z0-9+/]{{8,}}={{0,2}})", re.IGNORECASE)
_KEY_BLOCK = lazy_pattern(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|"
    r"[A-Za-z0-9+/=\s\\]*+)"
)
_KEY_BLOCK_BODY = lazy_pattern(r"[A-Za-z0-9+/]{24}")
_JWT = lazy_pattern(
    rf"{EDGE}eyJ[A-Za-z0-9_-]{{8,800}}\.eyJ[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]{{8,}}"
)
_JWE = lazy_pattern(
    rf"{EDGE}eyJ[A-Za-z0-9_-]{{8,800}}\.[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]{{8,}}+){{3}}"
)
_CURL = lazy_pattern(r"""(?<=\s)(?:-u|--user)[ =]?["']?[^\s:"'@/]{1,128}:([^\s"']{1,256})""")
_NETRC = lazy_pattern(
    r"machine\s{1,8}\S{1,256}\s{1,8}login\s{1,8}\S{1,256}\s{1,8}password\s{1,8}(\S{1,256})"
)
_CONTEXT_LENGTH = 2000
"""Characters after a program's or provider's name in which its secrets are searched."""
_DISCORD = lazy_pattern(r"(?<![\w-])[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])")


def find_contextual_secrets(text: str, words: str) -> Iterator[SafetyFinding]:
    """Find every secret recognised by its context. `words` holds each word of the text at least
    once.
    """
    if "PRIVATE KEY" in text:
        yield from _find_key_blocks(text)
    if "eyJ" in words:
        yield from _find_jwts(text)
    if "://" in words:
        yield from _find_url_secrets(text)
    # One character whose lower form is two is written as one before: places in the folded text are
    # places in the text.
    folded = text.replace("\u0130", "I").lower()
    yield from _find_header_secrets(text, folded)
    words = words.lower()
    for key in [key for key in _SECRET_KEYS if key in (folded if " " in key else words)]:
        yield from _find_assigned(text, folded, key)


def find_occurrences(text: str, hint: str) -> Iterator[int]:
    """The offsets of a literal in a text."""
    at = text.find(hint)
    while at >= 0:
        yield at
        at = text.find(hint, at + 1)


def _find_assigned(text: str, folded: str, key: str) -> Iterator[SafetyFinding]:
    done = 0
    rule = "password" if key.startswith(_PASSWORD_KEYS) else "assigned-secret"
    for at in find_occurrences(folded, key):
        found = _ASSIGNED.match(text, at + len(key)) if at >= done else None
        if found is None or not _is_assignment(text, at, found):
            continue
        kind = found.lastgroup or ""
        start, end = found.span(kind)
        value = text[start:end].rstrip("\\")
        judged = REDACTION_MARK.sub("", value)
        if not _is_secret_value(
            rule, folded[max(0, at - _NAME_SCAN_LENGTH) : found.start("sep")], judged
        ):
            continue
        done = end
        if is_reference_or_placeholder(judged):
            continue
        rest = _VALUE_REST[kind].match(text, end)
        if rest and rest.end() > end:
            done = rest.end()
            value = text[start:done]
        yield SafetyFinding(start, start + len(value), rule)


def _is_assignment(text: str, at: int, found: re.Match[str]) -> bool:
    """Whether key, separator and value fit together: an option before a gap, a value and no code
    after a sign, no sentence after "is".
    """
    separator = found["sep"]
    value, after = found[found.lastgroup or 0], text[found.end() : found.end() + 1]
    if found["gap"] is not None:
        return _OPTION.search(text[max(0, at - _NAME_SCAN_LENGTH) : at]) is not None
    if separator[-1] in ",(" or separator.endswith("is"):
        return any(map(str.isdigit, value)) and value[-1] not in ".?:"
    return found["bare"] is None or (
        after not in {"(", "[", "{"} and not _MEMBER_ACCESS.match(value)
    )


def _is_secret_value(rule: str, name: str, value: str) -> bool:
    if len(value) < MIN_SECRET_LENGTH or " " in value.strip() or _PUBLIC in name:
        return False
    if is_uuid(value):
        return any(word in name for word in _UUID_KEYS)
    return (
        is_password_like(value)
        if rule == "password"
        else len(value) >= 16 and is_random_looking(value)
    )


def _find_url_secrets(text: str) -> Iterator[SafetyFinding]:
    done = 0
    for at in find_occurrences(text, "://"):
        if at < done:
            continue
        found = _URL.match(text, at)
        if (
            found
            and not is_reference_or_placeholder(found[1])
            and found[1] != found[0][3:].partition(":")[0]
        ):
            done = found.end()
            yield SafetyFinding(*found.span(1), "url-password")
        elif (
            (found := _URL_TOKEN.match(text, at))
            and not is_reference_or_placeholder(found[1])
            and is_random_looking(found[1])
        ):
            done = found.end()
            yield SafetyFinding(*found.span(1), "url-token")


def _find_header_secrets(text: str, folded: str) -> Iterator[SafetyFinding]:
    for pattern, hint, rule in (
        (_BEARER, "bearer", "bearer-token"),
        (_BASIC, "basic", "basic-auth"),
        (_NETRC, "machine", "netrc-password"),
    ):
        for at in find_occurrences(folded, hint):
            found = pattern.match(text, at)
            if found and _HEADER_RULES[rule](found[1]):
                yield SafetyFinding(*found.span(1), rule)
    for start, end in _ranges_after(folded, "curl"):
        for found in _CURL.finditer(text, start, end):
            if (
                len(found[1]) >= 8
                and is_password_like(found[1])
                and not is_reference_or_placeholder(found[1])
            ):
                yield SafetyFinding(*found.span(1), "basic-auth")
    for start, end in _ranges_after(folded, "discord"):
        for found in _DISCORD.finditer(text, start, end):
            if is_random_looking(found[0]) and not is_placeholder(found[0]):
                yield SafetyFinding(*found.span(), "discord-token")


def _ranges_after(folded: str, word: str) -> Iterator[tuple[int, int]]:
    """The search ranges after each occurrence of a word; overlapping ranges are made consecutive,
    so that no text is read twice.
    """
    done = 0
    for at in find_occurrences(folded, word):
        start, end = max(at, done), min(len(folded), at + _CONTEXT_LENGTH)
        if end - start >= _CONTEXT_LENGTH // 2 or end == len(folded):
            done = end
            yield start, end


def _is_bearer(value: str) -> bool:
    return is_random_looking(value) and not is_reference_or_placeholder(value)


def _is_basic(value: str) -> bool:
    try:
        said = binascii.a2b_base64(value, strict_mode=True)
    except binascii.Error:
        return False
    return b":" in said and said.isascii() and said.decode("ascii").isprintable()


_HEADER_RULES: dict[str, Callable[[str], bool]] = {
    "bearer-token": _is_bearer,
    "basic-auth": _is_basic,
    "netrc-password": lambda value: not is_reference_or_placeholder(value),
}


def _find_key_blocks(text: str) -> Iterator[SafetyFinding]:
    for found in _KEY_BLOCK.finditer(text):
        if _KEY_BLOCK_BODY.search(text, found.start(), found.end()):
            yield SafetyFinding(*found.span(), "private-key")


def _find_jwts(text: str) -> Iterator[SafetyFinding]:
    done = 0
    for at in find_occurrences(text, "eyJ"):
        found = (_JWT.match(text, at) or _JWE.match(text, at)) if at >= done else None
        if found:
            done = found.end()
            yield SafetyFinding(*found.span(), "jwt")


_MARK_HINT = "[redacted: "
_MIN_TOKEN_LENGTH = 20
"""Characters of the shortest token with a format (an AWS access key): shorter words hold none."""
_CHUNK = 1 << 20
_CHUNK_OVERLAP = 512
_FORMAT_HINTS = tuple((kind, hint) for kind in TOKEN_FORMATS for hint in kind.hints)
_MAX_ROUNDS = 4
"""Times a text is redacted as a whole. Ordinary texts need one; a text crafted to need more loses
its remainder (`unreadable`).
"""


class RedactedText(Struct, frozen=True):
    """A text without its secrets, and the rules that found them, each once, in the order of the
    text. Never the secrets themselves.
    """

    text: str
    rules: tuple[str, ...] = ()


def find_secrets(text: str) -> tuple[SafetyFinding, ...]:
    """Find the secrets in a text, in order, without overlaps. A mark left by `redact` is none, and
    none is inside one.
    """
    words = _distinct_words(text)
    long = (
        "\n".join(word for word in words if len(word) >= _MIN_TOKEN_LENGTH)
        .encode("ascii", "replace")
        .decode("ascii")
    )
    there = [(kind, hint) for kind, hint in _FORMAT_HINTS if hint in long] if long else []
    found = [finding for kind, hint in there for finding in _find_formatted(text, kind, hint)]
    found += find_contextual_secrets(text, "\n".join(words))
    whole = remove_overlaps(found)
    return tuple(_exclude_marks(text, whole)) if whole and _MARK_HINT in text else whole


def redact(text: str) -> RedactedText:
    """The text with a mark such as `[redacted: github-token]` for each secret; the same object when
    there are none.

    Applying it twice changes nothing more.
    """
    rules: dict[str, None] = {}
    rounds = 0
    while found := find_secrets(text):
        rounds += 1
        if rounds > _MAX_ROUNDS:
            text = f"{text[: found[0].start]}{redaction_mark('unreadable')}"
            rules["unreadable"] = None
            continue
        rules |= dict.fromkeys(finding.rule for finding in found)
        text = _replace_findings(text, found)
    return RedactedText(text, tuple(rules))


def redaction_mark(rule: str) -> str:
    """The mark that replaces a secret found by the rule."""
    return f"[redacted: {rule}]"


def _replace_findings(text: str, found: tuple[SafetyFinding, ...]) -> str:
    parts: list[str] = []
    done = 0
    for finding in found:
        parts += (text[done : finding.start], redaction_mark(finding.rule))
        done = finding.end
    return "".join((*parts, text[done:]))


def _distinct_words(text: str) -> set[str]:
    """The distinct words of a text, in which hints are searched first: most words of a long text
    repeat.
    """
    words: set[str] = set()
    for start in range(0, len(text), _CHUNK):
        # A chunk reaches into the next, so that a word on the border is whole up to the reach in
        # one of them.
        words.update(text[start : start + _CHUNK + _CHUNK_OVERLAP].split())
    return words


def _find_formatted(text: str, kind: TokenFormat, hint: str) -> Iterator[SafetyFinding]:
    group = 1 if kind.pattern.groups else 0
    done = 0
    for at in find_occurrences(text, hint):
        if at < done or at < kind.lookback:
            continue
        found = kind.pattern.match(text, at - kind.lookback)
        if found is None:
            continue
        done = found.end()
        if not is_placeholder(found[group].removeprefix(hint)):
            yield SafetyFinding(*found.span(group), kind.name)


def _exclude_marks(text: str, found: tuple[SafetyFinding, ...]) -> Iterator[SafetyFinding]:
    """The findings without the marks in them: a secret cannot hide behind a mark, and a mark is
    never marked again.
    """
    for finding in found:
        start = finding.start
        for inner in REDACTION_MARK.finditer(
            text, max(0, start - len(_MARK_HINT) - 41), finding.end
        ):
            if inner.end() <= start:
                continue
            if inner.start() > start:
                yield SafetyFinding(start, inner.start(), finding.rule)
            start = inner.end()
        if start < finding.end:
            yield SafetyFinding(start, finding.end, finding.rule)

"""Secrets recognised by their context: values of secret-named keys, passwords in URLs, headers,
command lines; key blocks and JWT.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator

from memorist.core.later import late_pattern
from memorist.safety.finding import Finding
from memorist.safety.secret_formats import EDGE
from memorist.safety.secret_values import MARK, is_no_value, is_password, is_random, is_uuid, stands_for_a_secret

SHORTEST = 8
"""Characters of the shortest value taken for a secret. The first 64 or more are judged; a value
judged a secret is followed to its end.
"""

_KEYS_TEXT = (
    "password passwd passphrase passcode pwd secret token apikey api_key api-key accesskey access_key access-key privatekey private_key private-key"
    " accountkey account_key authkey auth_key auth-key signingkey signing_key encryptionkey encryption_key masterkey master_key sessionkey"
    " session_key clientkey client_key credential 密码 口令 密钥 令牌"
)
_KEYS = (*_KEYS_TEXT.split(), "api key", "access key", "secret key", "private key", "encryption key", "signing key")
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
_ASSIGNED = late_pattern(
    r"(?:[_.-]?(?:access|key|base|value|string|str|prod|production|dev|development|staging|live|test|raw|plain|text|b64|base64|v?\d{1,3})){0,3}"
    r"""(?:\\?["'`\])]){0,3}[ \t]{0,16}"""
    r"""(?P<sep>(?::[ \t]*[A-Za-z][\w\[\]|.?]{0,40}[ \t]*)?={1,3}>?|:=?|[：＝]|>"""
    r"""|,(?=[ \t]*\\?["'`])|\((?=["'`])|(?<=[ \t])(?:value[ \t]*=|is:?(?=[ \t]))|[是为][:：]?"""
    r"""|(?P<gap>(?<=[ \t])(?=[^\s=:-])))[ \t]{0,16}""" + _VALUE,
    re.IGNORECASE,
)
"""What follows a key: the rest of its name, a separator as in code, JSON, YAML, XML, shells and
prose, and a value.
"""
_REST = {
    "double": late_pattern(r'[^"\n]*+'),
    "single": late_pattern(r"[^'\n]*+"),
    "back": late_pattern(r"[^`\n]*+"),
    "bare": late_pattern(r"""(?:[^\s"'`,;<>(){}\[\]|&，。；、\\]|&(?![\w.-]{1,40}=)|\\(?![nrt"']))*+"""),
}
_OPTION = late_pattern(r"(?:^|\s)--?[\w-]*\Z")
_NAME_LOOKED_AT = 40
"""Characters before a key's word that may belong to its name."""
_PUBLIC = "public"
_MEMBER = late_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.\w*[A-Z]?[a-z]{4}\w*\Z")
"""A bare dotted name with a word in it: code that refers to a value."""

_URL = late_pattern(r"""://[^\s/:@"'<>]{0,256}:([^\s/"'<>]{1,512})@(?=[\w.\[$%{-])""")
_URL_TOKEN = late_pattern(r"""://([^\s/:@"'<>]{20,512})@(?=[\w.\[-])""")
_BEARER = late_pattern(r"bearer(?:[ \t]{1,8}|%20)([A-Za-z0-9._~+/-]{16,}={0,2})", re.IGNORECASE)
_BASIC = late_pattern(rf"{EDGE}basic[ \t]{{1,8}}([A-Za-z0-9+/]{{8,}}={{0,2}})", re.IGNORECASE)
_BLOCK = late_pattern(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]*+)"
)
_BLOCK_BODY = late_pattern(r"[A-Za-z0-9+/]{24}")
_JWT = late_pattern(rf"{EDGE}eyJ[A-Za-z0-9_-]{{8,800}}\.eyJ[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]{{8,}}")
_JWE = late_pattern(rf"{EDGE}eyJ[A-Za-z0-9_-]{{8,800}}\.[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]{{8,}}+){{3}}")
_CURL = late_pattern(r"""(?<=\s)(?:-u|--user)[ =]?["']?[^\s:"'@/]{1,128}:([^\s"']{1,256})""")
_NETRC = late_pattern(r"machine\s{1,8}\S{1,256}\s{1,8}login\s{1,8}\S{1,256}\s{1,8}password\s{1,8}(\S{1,256})")
_REACH = 2000
"""Characters after a program's or provider's name in which its secrets are searched."""
_DISCORD = late_pattern(r"(?<![\w-])[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])")


def in_context(text: str, words: str) -> Iterator[Finding]:
    """Find every secret recognised by its context. `words` holds each word of the text at least
    once.
    """
    if "PRIVATE KEY" in text:
        yield from _blocks(text)
    if "eyJ" in words:
        yield from _tokens(text)
    if "://" in words:
        yield from _addresses(text)
    # One character whose lower form is two is written as one before: places in the folded text are places in the text.
    folded = text.replace("\u0130", "I").lower()
    yield from _headers(text, folded)
    words = words.lower()
    for key in [key for key in _KEYS if key in (folded if " " in key else words)]:
        yield from _assigned(text, folded, key)


def hits(text: str, hint: str) -> Iterator[int]:
    """The offsets of a literal in a text."""
    at = text.find(hint)
    while at >= 0:
        yield at
        at = text.find(hint, at + 1)


def _assigned(text: str, folded: str, key: str) -> Iterator[Finding]:
    done = 0
    rule = "password" if key.startswith(_PASSWORD_KEYS) else "assigned-secret"
    for at in hits(folded, key):
        found = _ASSIGNED.match(text, at + len(key)) if at >= done else None
        if found is None or not _is_assignment(text, at, found):
            continue
        kind = found.lastgroup or ""
        start, end = found.span(kind)
        value = text[start:end].rstrip("\\")
        judged = MARK.sub("", value)
        if not _is_drawn(rule, folded[max(0, at - _NAME_LOOKED_AT) : found.start("sep")], judged):
            continue
        done = end
        if is_no_value(judged):
            continue
        rest = _REST[kind].match(text, end)
        if rest and rest.end() > end:
            done = rest.end()
            value = text[start:done]
        yield Finding(start, start + len(value), rule)


def _is_assignment(text: str, at: int, found: re.Match[str]) -> bool:
    """Whether key, separator and value fit together: an option before a gap, a value and no code
    after a sign, no sentence after "is".
    """
    separator = found["sep"]
    value, after = found[found.lastgroup or 0], text[found.end() : found.end() + 1]
    if found["gap"] is not None:
        return _OPTION.search(text[max(0, at - _NAME_LOOKED_AT) : at]) is not None
    if separator[-1] in ",(" or separator.endswith("is"):
        return any(map(str.isdigit, value)) and value[-1] not in ".?:"
    return found["bare"] is None or (after not in {"(", "[", "{"} and not _MEMBER.match(value))


def _is_drawn(rule: str, name: str, value: str) -> bool:
    if len(value) < SHORTEST or " " in value.strip() or _PUBLIC in name:
        return False
    if is_uuid(value):
        return any(word in name for word in _UUID_KEYS)
    return is_password(value) if rule == "password" else len(value) >= 16 and is_random(value)


def _addresses(text: str) -> Iterator[Finding]:
    done = 0
    for at in hits(text, "://"):
        if at < done:
            continue
        found = _URL.match(text, at)
        if found and not is_no_value(found[1]) and found[1] != found[0][3:].partition(":")[0]:
            done = found.end()
            yield Finding(*found.span(1), "url-password")
        elif (found := _URL_TOKEN.match(text, at)) and not is_no_value(found[1]) and is_random(found[1]):
            done = found.end()
            yield Finding(*found.span(1), "url-token")


def _headers(text: str, folded: str) -> Iterator[Finding]:
    for pattern, hint, rule in (
        (_BEARER, "bearer", "bearer-token"),
        (_BASIC, "basic", "basic-auth"),
        (_NETRC, "machine", "netrc-password"),
    ):
        for at in hits(folded, hint):
            found = pattern.match(text, at)
            if found and _HEADER_RULES[rule](found[1]):
                yield Finding(*found.span(1), rule)
    for start, end in _after(folded, "curl"):
        for found in _CURL.finditer(text, start, end):
            if len(found[1]) >= 8 and is_password(found[1]) and not is_no_value(found[1]):
                yield Finding(*found.span(1), "basic-auth")
    for start, end in _after(folded, "discord"):
        for found in _DISCORD.finditer(text, start, end):
            if is_random(found[0]) and not stands_for_a_secret(found[0]):
                yield Finding(*found.span(), "discord-token")


def _after(folded: str, word: str) -> Iterator[tuple[int, int]]:
    """The search ranges after each occurrence of a word; overlapping ranges are made consecutive,
    so that no text is read twice.
    """
    done = 0
    for at in hits(folded, word):
        start, end = max(at, done), min(len(folded), at + _REACH)
        if end - start >= _REACH // 2 or end == len(folded):
            done = end
            yield start, end


def _is_bearer(value: str) -> bool:
    return is_random(value) and not is_no_value(value)


def _is_basic(value: str) -> bool:
    try:
        said = binascii.a2b_base64(value, strict_mode=True)
    except binascii.Error:
        return False
    return b":" in said and said.isascii() and said.decode("ascii").isprintable()


_HEADER_RULES: dict[str, Callable[[str], bool]] = {
    "bearer-token": _is_bearer,
    "basic-auth": _is_basic,
    "netrc-password": lambda value: not is_no_value(value),
}


def _blocks(text: str) -> Iterator[Finding]:
    for found in _BLOCK.finditer(text):
        if _BLOCK_BODY.search(text, found.start(), found.end()):
            yield Finding(*found.span(), "private-key")


def _tokens(text: str) -> Iterator[Finding]:
    done = 0
    for at in hits(text, "eyJ"):
        found = (_JWT.match(text, at) or _JWE.match(text, at)) if at >= done else None
        if found:
            done = found.end()
            yield Finding(*found.span(), "jwt")

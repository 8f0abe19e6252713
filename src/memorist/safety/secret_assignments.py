"""Values of keys that are named as secrets, in whatever writing: .env files, JSON, YAML, XML, code,
command lines, tables, prose.

A key is read in three steps, each bounded: the name around the place that a search for stems gave,
what stands between name and value, and the value. A value that is judged a secret is then followed
to its end, once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from string import ascii_letters, digits

from memorist.core.lazy import lazy_pattern
from memorist.safety.chosen_passwords import (
    LOGIN_BEFORE_GAP,
    KeyValueMatch,
    is_password_only_position,
    may_be_chosen_password,
)
from memorist.safety.safety_finding import SafetyFinding
from memorist.safety.secret_keys import BEYOND_ASCII, KeyKind, classify_secret_key_name
from memorist.safety.secret_providers import CREDENTIAL, NOT_CREDENTIAL, NamedSecretProvider
from memorist.safety.secret_tables import find_secrets_below_column_header
from memorist.safety.secret_values import (
    REDACTION_MARK,
    count_character_kinds,
    count_random_characters,
    has_password_strength,
    is_mixed_character_password,
    is_random_looking,
    is_reference_or_placeholder,
    is_token_placeholder,
    is_uuid,
)

STEMS = (
    "pass", "pwd", "psw", "psk", "secret", "token", "key", "credential", "creds", "auth", "kennwort", "contrasen", "senha", "wachtwoord", "losenord", "adgangskode",
    "kodeord", "salasana", "haslo", "heslo", "jelszo", "parola", "sifre", "lozinka", "geslo", "parool", "kata sandi", "mat khau", "schluessel", "segredo", "jeton", "clave",
    "chiave", "_pw", "bindpw", "rootpw", "_salt", "sessid", "sessionid", "_dsn", "pw:", "pw=", "pw =", "pw?", "mdp",
)  # fmt: skip
"""Parts of names, in small letters, at which a name is looked at. `secret_keys` decides what it
says.
"""
_WHOLE_WORDS = frozenset(("token", "key", "secret", "creds", "auth"))
"""Stems that are words: with a letter after them (`tokens`, `keyboard`, `tokenCount`) they name
something else.
"""
_GOES_ON = ("Value", "String", "Base", "Text")
MIN_BARE_KEY = 32
"""Characters of the shortest key behind its name and nothing but a gap: `secret_access_key 9f…`."""
MIN_LENGTHS = {"password": 8, "pass": 8, "secret": 16, "auth": 20, "key": 20}
"""Characters of the shortest value taken for a secret, by what its key names."""

_NAME_CHARACTERS = ascii_letters + digits + "_.-"
_NAME_REACH = 48
_NAME_END = lazy_pattern(r"[\w.-]{0,48}")
_TAIL_BEYOND_ASCII = lazy_pattern(r"[^\W\d_\u2e80-\uffff]{0,12}")
_PROVIDER_END = lazy_pattern(r"[\w.-]{0,48}(?:[ \t][\w.-]{1,24}){0,3}")

_MARKUP = r"""(?:(?:\\{0,3}["'`\])*]|&quot;|&\#34;){0,6}|</(?:b|strong|th|code|em)>)"""
_FOR_WHOM = r"(?P<whom>[ \t](?:\([^()\n]{1,30}\)|api|secret[ao]|privad[ao]|d'acc[eè]s|d'ordine|(?:(?:was|is|has[ ]been)[ ](?:generated|created|issued|given)[ ])?(?:for|of|to|on|in|at|from|für|fuer|von|zum|du|de|pour|para|del|do|da|per|di|для|от|к|на)[ \t][^\n:=;\"'`(){}\[\],|]{1,40}?))?"
_VERB = r"(?:is|are|was|ist|lautet|est|c'est|es|è|é|är|er|jest|je|on|là|это|—|–|adalah|este|hy|to|такой|такая|такое|теперь|nu|now|artık|είναι|היא|הוא|هي|هو|(?:(?:was|is|has[ ]been|got)[ ])?(?:changed|set|reset|updated)[ ]to|is[ ]now)"
_NOW = r"(?:now|jetzt|nun|maintenant|ahora|agora|adesso|теперь|сейчас|teraz|teď|nu)"
_CLAUSE_END = lazy_pattern(r"[\n:;,=()]")
"""Ends what belongs to a name that goes on over spaces."""
_NO_VALUE_AFTER = lazy_pattern(
    r"[.)]|[\"'`]\)[ ]?(?:[=-]>|==|→)|\((?![\"'`])|[ ]?(?:!=[ ]|is[ ]not[ ]|is[ ]None|=[ ](?:self|None|os|str)\b|: (?:str|bool|Optional)\b(?![^\n=]{0,20}=[ ]?[bru]?[\"']))"
)
"""Code that speaks of a key without giving its value, which is most of what names keys."""
_BETWEEN = lazy_pattern(
    _MARKUP + _FOR_WHOM + r"[ \t]{0,40}" + r"(?:"
    r"(?P<sign>(?::[ \t]*[A-Za-z][\w\[\]|.?]{0,40}[ \t]{1,4}=(?=[ \t]))|(?:={1,3}>?|:=|\?=)|::?|[：＝﹕]|[-~]>|[→⇒➜]|=&gt;|&gt;|>|%3[dD]|%3[aA])"
    r"|(?P<cell></(?:td|th|dt|key|name|string)>\s{0,20}<(?:td|dd|string|value|code)[^<>\n]{0,80}>|\|{1,2}|│|┃|║|\t[ \t]*|[ ]{2,}(?=\S))"
    r"|(?P<pair>\"?,?\s{0,60}[\"']?[vV]al(?:ue)?[\"']?[ \t]{0,4}[:=](?=[ \t\"']))"
    r"|(?P<argument>,(?=[ \t]*\\?[\"'`])|\((?=[\"'`]))"
    r"|(?P<part>\r?\n\r?\n)"
    r"|(?P<quote>(?<=[ \t])(?=[\"'`]))"
    r"|(?P<attribute>(?<=[ \t])value[ \t]*=)"
    rf"|(?P<said>(?<=[ \t])(?:[^\s\d:=;\"'`(){{}}\[\],|.!?]{{1,20}}[ \t]){{0,4}}?{_VERB}(?:[ \t]{_NOW})?:?(?=[ \t])|[^\n?:=]{{0,20}}\?\s{{0,3}}(?:[-–—]|(?<=\n)[\w.-]{{1,24}}:)[ \t](?:(?:sure|yes|yeah|ja|oui|it'?s|es ist|c'est)[ ,:]{{1,2}})*|(?:改|换|換|设|設|设置|設置|变|變)?[是为為成]了?|[はがを는은이가을를][:：]?)"
    r"|(?P<gap>(?<=[ \t])(?=[^\s=:|>-])(?(whom)(?=[^\s:]*\d[^\s:]*(?:\s|\Z))))"
    r")(?:[ \t]{0,40}(?:\*{1,2}|__)?[ \t]{0,4}(?:[|>][+-]?[ \t]*\n[ \t]{1,40}|\\?\n[ \t]{1,40}(?=[\"'`]|\S{8,200}[ \t]*(?:\n|\Z))(?!\S{1,60}[:=][ \t\n]))?"
    r"(?:&quot;|&\#34;)?(?:(?:[A-Za-z][\w.:]{0,40})?\(\s{0,20}(?=[\"'`]))?(?:[bruf@$]{1,2}(?=[\"'`]))?(?:<(?:code|b|string|value|strong|em)>)?)"
)
"""What stands between a name and its value: what closes the name, for whom it is, a sign, and what
opens the value.
"""
_VALUE = lazy_pattern(
    r"""\\{0,3}"(?P<double>[^"\n\\]{4,256})|\\{0,3}'(?P<single>[^'\n]{4,256})|\\{0,3}`(?P<back>[^`\n]{4,256})|[「『](?P<corner>[^「」『』\n]{4,256})|[“„](?P<curly>[^”“\n]{4,256})"""
    r"""|\{(?P<braced>(?=[\w.]*[^\w.{}\n])[^{}\n"'`()\[\]]{4,256})(?=\};)"""
    r"""|(?P<bare>(?:[^\s"'`,;<>(){}\[\]|&，。；、│┃║\\”」]|&(?![\w.-]{1,40}=)(?!quot;|amp;|lt;|gt;|#)|\\(?![nrtu"'])){4,256}+)"""
)
_REST = {
    "double": lazy_pattern(r'[^"\n\\]*+'),
    "single": lazy_pattern(r"[^'\n]*+"),
    "back": lazy_pattern(r"[^`\n]*+"),
    "corner": lazy_pattern(r"[^「」『』\n]*+"),
    "curly": lazy_pattern(r"[^”“\n]*+"),
    "braced": lazy_pattern(r"[^{}\n]*+"),
    "bare": lazy_pattern(
        r"""(?:[^\s"'`,;<>(){}\[\]|&，。；、│┃║\\”」]|&(?![\w.-]{1,40}=)(?!quot;|amp;|lt;|gt;|#)|\\(?![nrtu"']))*+"""
    ),
}
_FOLLOWED = 200
"""Characters from which on a value may go on beyond what was read."""
_JOINED = lazy_pattern(
    r"""["'][ \t]*(?:[+.&]|\\)?[ \t]*\n?[ \t]*[+.&]?[ \t]*[bruf]?["']([^"'\n]{1,256})(?=["'])"""
)
"""A string of code that goes on in the next one."""
_BARE_JOINED = lazy_pattern(r"\\\r?\n[ \t]*([A-Za-z0-9+/=_.~-]{4,256})(?=\s|\Z|[\"'])")
_OPTION = lazy_pattern(r"(?:^|[\s\"'])(?:--?|/)[\w-]*\Z")
_SETTING = lazy_pattern(
    r"(?:\bset(?:x|env)?|\bconfigure set|\bconfig set|\bconfig|\bexport|\bENV|\bARG|\brequire|\bwith|\bencrypted|\blogin[ ]\S{1,40}|\bset \S{1,60})[ ][\w.:/-]{0,60}\Z|\b(?:requirepass|masterauth)\Z",
    re.IGNORECASE,
)
_MEMBER = lazy_pattern(
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.\w*[A-Z]?[a-z]{4}\w*\Z|[A-Za-z_]\w*(?:::|->|\?\.)\w+"
)
_WRAPPING = lazy_pattern(
    r"(?:basic|bearer|token|apikey|key|b64|base64:|sso-key)[ \t]+|base64:", re.IGNORECASE
)


def find_secrets_for_key_at(stem: str, text: str, at: int) -> Iterator[SafetyFinding]:
    """The secrets that a key names, if the stem at this place belongs to one: its value, or the
    column under it.
    """
    start, end = at, at + len(stem)
    if (
        stem in _WHOLE_WORDS
        and text[end : end + 1].isalpha()
        and not text.startswith(_GOES_ON, end)
    ):
        return
    kind = BEYOND_ASCII.get(stem)
    if kind is None:
        before = text[max(0, at - _NAME_REACH) : at]
        start = at - len(before) + len(before.rstrip(_NAME_CHARACTERS))
        end = max(_match_end(_NAME_END, text, at), at + len(stem.rstrip(":=? ")))
        end = start + len(text[start:end].rstrip(".-"))
        name = text[start:end]
        if start and text[start - 1] == " " and name[:1] != "-":
            name = _CLAUSE_END.split(text[max(0, start - 24) : start])[-1] + name
        kind = classify_secret_key_name(name)
    else:
        end = _match_end(_TAIL_BEYOND_ASCII, text, end)
    if text.startswith("::", max(0, start - 2)) and text[end : end + 1] in {'"', "'"}:
        return  # the name of a type, such as "AWS::ApiGateway::ApiKey"
    if kind and _NO_VALUE_AFTER.match(text, end) is None:
        found = _value_of(text, start, end, kind)
        yield from (found,) if found else find_secrets_below_column_header(text, at, kind)


def find_keys_named_after_provider(
    name: str, provider: NamedSecretProvider, text: str, at: int
) -> Iterator[SafetyFinding]:
    """The key of a provider whose name is in the key's name, if the value has the provider's
    shape.
    """
    if at and text[at - 1].isalpha() and text[at].islower():
        return
    before = text[max(0, at - _NAME_REACH) : at]
    start = at - len(before) + len(before.rstrip(_NAME_CHARACTERS))
    end = _match_end(_PROVIDER_END, text, at + len(name))
    found = _read(text, start, end)
    if found is None or found.between.lastgroup not in {
        "sign",
        "cell",
        "argument",
        "attribute",
        "pair",
    }:
        return
    if provider.is_common_word and not CREDENTIAL.search(text, at + len(name), end):
        return
    value = found.value
    if (
        provider.value.fullmatch(value)
        and not NOT_CREDENTIAL.search(text, start, end)
        and _is_drawn_value(value)
    ):
        yield SafetyFinding(found.start, found.start + len(value), provider.name)


def _match_end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _is_drawn_value(value: str) -> bool:
    return not is_token_placeholder(value) and (
        any(map(str.isdigit, value)) or (is_random_looking(value) and not value.islower())
    )


class _AssignedValue:
    """A value and what is before it."""

    __slots__ = ("between", "kind", "start", "value")

    def __init__(self, between: re.Match[str], found: re.Match[str]) -> None:
        self.between, self.kind = between, found.lastgroup or "bare"
        self.start = found.start(self.kind)
        self.value = found[self.kind]
        wrapping = _WRAPPING.match(self.value)
        if wrapping:
            self.start += wrapping.end()
            self.value = self.value[wrapping.end() :]
        if self.kind == "bare":
            self.value = self.value.rstrip("\\")
            if between["said"] is not None or self.value.endswith(("**", "__")):
                self.value = self.value.rstrip(".*_:?")


def _read(text: str, start: int, end: int) -> _AssignedValue | None:
    """The value after a name; None where none is there, or where name, sign and value do not
    fit together.
    """
    between = _BETWEEN.match(text, end)
    found = _VALUE.match(text, between.end()) if between else None
    if between is None or found is None:
        return None
    one = _AssignedValue(between, found)
    if one.kind == "bare" and text[found.end() : found.end() + 1] in {"(", "[", "{"}:
        return None
    return one if _fits(text, start, end, one) else None


def _fits(text: str, start: int, end: int, one: _AssignedValue) -> bool:
    """What is no sign of assignment needs more: an option before a gap, digits in what is said, a
    value that is no sentence.
    """
    way = one.between.lastgroup
    value = one.value
    if way == "part":
        return text[max(0, start - 6) : start] == 'name="' and text[end : end + 1] == '"'
    if way == "gap" and one.between["whom"] is not None:
        return not text[start:end].isascii() and is_mixed_character_password(value)
    if way == "gap" and not text[end : one.start].startswith(("  ", "\t")):
        return (
            (
                LOGIN_BEFORE_GAP.search(text[max(0, start - 80) : start]) is not None
                and _is_said(value)
            )
            or _OPTION.match(text[max(0, start - 1) : end]) is not None
            or _SETTING.search(text[max(0, start - 80) : end]) is not None
            or (not text[start:end].isascii() and _is_said(value))
            or (
                "_" in text[start:end]
                and len(value) >= MIN_BARE_KEY
                and any(map(str.isdigit, value))
                and is_random_looking(value)
            )
        )
    return (
        way not in {"argument", "said", "quote", "cell", "gap"}
        or _is_said(value)
        or (
            way in {"quote", "argument"}
            and is_password_only_position(_name_value(text, start, end, one))
        )
    )


def _is_said(value: str) -> bool:
    return any(map(str.isdigit, value)) and value[-1:] not in {".", "?", ":"}


def _value_of(text: str, start: int, end: int, kind: KeyKind) -> SafetyFinding | None:
    one = _read(text, start, end)
    if one is None:
        return None
    stop = one.start + len(one.value)
    joined = (_JOINED if one.kind in {"double", "single"} else _BARE_JOINED).match(text, stop)
    value = REDACTION_MARK.sub("", one.value + joined[1] if joined else one.value)
    if one.kind == "bare" and _MEMBER.match(value):
        return None
    if not _is_chosen(text, start, end, kind, one) and (
        not _is_secret_value(kind, one, value, text[start:end])
        or is_reference_or_placeholder(value)
    ):
        return None
    rest = _REST[one.kind].match(text, stop) if len(one.value) >= _FOLLOWED else None
    stop = joined.end() if joined else rest.end() if rest else stop
    return SafetyFinding(
        one.start, stop, "password" if kind in {"password", "pass"} else "assigned-secret"
    )


def _is_chosen(text: str, start: int, end: int, kind: KeyKind, one: _AssignedValue) -> bool:
    """A word in a place where nothing but a password can stand."""
    return (
        kind in {"password", "pass"}
        and is_password_only_position(_name_value(text, start, end, one))
        and may_be_chosen_password(one.value)
    )


def _name_value(text: str, start: int, end: int, one: _AssignedValue) -> KeyValueMatch:
    value = one.start, one.start + len(one.value)
    way = one.between.lastgroup or ""
    return KeyValueMatch(text, (start, end), value, one.kind != "bare", way)


def _is_drawn_key(one: _AssignedValue, value: str, name: str) -> bool:
    """For a key of no known use: an assignment, three kinds of characters, and no public key (as
    DER or SSH write it).
    """
    sign = one.between["sign"] or ""
    return (
        (name.isupper() or (len(name) > len("key") and "=" in sign))
        and bool(sign)
        and count_character_kinds(value) > 2
        and not value.startswith(("MFkw", "MII", "AAAA"))
    )


MIN_OPTION_RANDOM = 4
"""Characters outside words and numbers that make the value of a command's option, or of a header
such as `X-Api-Key`, a secret, however short it is: nothing else stands behind `--token`. Names of secrets (`db-credentials-v2`)
have none. Our choice.
"""


def _is_option_secret(kind: KeyKind, value: str, name: str) -> bool:
    return (
        (name.startswith("--") or name[:2].lower() == "x-")
        and kind in {"password", "secret"}
        and is_mixed_character_password(value)
        and count_random_characters(value) >= MIN_OPTION_RANDOM
    )


def _is_secret_value(kind: KeyKind, one: _AssignedValue, value: str, name: str) -> bool:
    is_option = _is_option_secret(kind, value, name)
    if " " in value.strip() or (len(value) < MIN_LENGTHS[kind] and not is_option):
        return False
    if is_uuid(value):
        return (
            kind not in {"pass", "key"}
            and (not name.lower().endswith("token") or "auth" in name.lower())
        ) or "api" in name.lower()
    if kind == "pass" and (
        one.between["sign"] is None
        or (name.isupper() and one.between["sign"][0] == ":" and one.kind == "bare")
    ):
        return False
    if kind == "key" and not _is_drawn_key(one, value, name):
        return False
    looks_drawn = has_password_strength if kind in {"password", "pass"} else is_random_looking
    return is_option or looks_drawn(value)

"""Passwords that a person chose: a word, a name with a year, a row of digits (SF-1). Nothing in
such a value tells it from other words; the place does: behind an option or a variable that holds
nothing but a password, on a line of its own in a settings file, in a connection string, beside a
user's name.

Pure. What stands in such a place and is none is listed: placeholders, types, states, and words that
go on in a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import parse_word_list
from memorist.safety.secret_keys import BEYOND_ASCII, classify_secret_key_name
from memorist.safety.secret_values import (
    is_algorithm_or_cjk_text,
    is_mixed_character_password,
    is_numbered_part,
    is_variable_path_or_digest,
)

MIN_PASSWORD_CHARACTERS = 4
"""Characters of the shortest password taken for one. Our choice."""

_STANDS_FOR_ONE = parse_word_list(
    """
         user username name login admin root guest test testing tests tester demo sample fake mock
    foo foobar bar baz qux some mine yours pass pwd passw geheim motdepasse token value text here
    field value1 value2 test1 test123 postgres postgresql mysql mariadb mongo mongodb redis rabbitmq
    elastic neo4j minio localhost nobody anonymous
    """
)
"""What documents and templates write where the password would stand, and defaults that everybody
knows.
"""
_STATES = parse_word_list(
    """
         true false none null undefined void empty blank unset missing required optional mandatory
    invalid valid wrong incorrect correct weak strong expired changed updated reset given hidden
    masked hashed hash encrypted plain plaintext cleartext clear bcrypt scrypt argon argon2 pbkdf2
    sha1 sha224 sha256 sha384 sha512 base64 base32 utf8 utf16 latin1 aes128 aes256 rsa2048
    crypt generate generated random auto automatic manual prompt prompts asks
    stdin environment file vault keyring keychain kerberos oauth oauth2 sasl ldap basic digest
    bearer default disabled enabled disable enable allowed denied accepted rejected unknown other
    same match matches mismatch needed omitted removed redacted confirmed stored saved sent string
    bytes bool boolean integer number float object array list dict varchar char type types never
    self unicode bytestring nullable secretstr pydantic data input output request response params
    props state form node item config settings options option flag flags argument arguments
    parameter parameters switch variable identifier credentials
    """
)
"""States, ways of keeping, and types, as they stand behind the name of a password."""
_IN_SENTENCES = parse_word_list(
    """
         also although another because been before being between both cannot could does doing done
    during each either ever every from further have having here instead into itself just like
    make more most must need needs only onto other over should since some such than that their
    them then there these they this those though through under until unless upon uses used using
    very were what when where whether which while will with within without would your works fails
    failed means requires mandates expects takes again first once later please prompting asking
    and the for are was not but
    """
)
"""Words that go on in a sentence about a password, or about an option."""
_NO_PASSWORDS = _STANDS_FOR_ONE | _STATES | _IN_SENTENCES
_PLACEHOLDER = lazy_pattern(
    r"x{3}|\*{3}|\.\.|…|•{3}|_{4}|example|placeholder|\Ayour|\Amy|changeme|change[-_]|dummy|redact"
    r"|replace|insert[-_]|todo|passw|passphrase|secret|\A(?:the|enter|some)[-_]",
    re.IGNORECASE,
)
_SIGNS_OF_CODE = frozenset("(){}[]<>$\\/\"'`|;,*")
_FIRST_OF_CODE = tuple("-!&*%@#:=.~^?+")
_IDENTIFIER = lazy_pattern(
    r"\w*?[a-z]\d*[A-Z]\w*\Z|[A-Za-z]\w*(?:_|\.(?=\w*[A-Za-z]))\w+\Z|[A-Z_]+\Z"
)

_MEANS_MORE = frozenset({"pass", "pwd"})
"""Names that often mean something else: a test that passed, the working folder."""
_LINE_BEGINNING = lazy_pattern(
    r"[ \t>*#-]*(?:mot[ ]de[ ]|kata[ ]|mat[ ]|export[ ]|\$env:|\$?\w*\[?)?[\"']?\Z"
)
_LINE_END = lazy_pattern(r"[\"']?[ \t]*[,;]?[ \t]*(?:[#][^\n]*)?\r?(?=\n|\Z)")
_BARE_LINE_END = lazy_pattern(r"[ \t]*(?:[ \t]#[^\n]*)?\r?(?=\n|\Z)")
_SECTION = lazy_pattern(r"^[ \t]*\[[\w .:-]{1,60}\][ \t]*$", re.MULTILINE)
_SENTENCE_END = lazy_pattern(
    r"[\"'”`][.,;!)]?(?=\s|\Z)|[.,;!)](?=\s|\Z)|(?=\s|\Z)(?![ ][a-z])"
    r"|[\"'”`]?[ ](?:and|but|so|to|in case|if|for|on|because|btw|please|und|aber|für|falls|y|pero"
    r"|para|et|mais|pour|e|mas|per|voor|maar|и|но|для)(?![a-z])"
)
"""A sentence's end, or a word with which it goes on after the password."""
_LOGIN_LINE_ABOVE = lazy_pattern(r"(?:\A|\n)[ \t]*user(?:_?name)?[ \t]*=[^\n]{1,100}\n[ \t]*\Z")
_SECTION_REACH = 800
"""Characters above a line in which the heading of its section is looked for."""
_PAIR_END = lazy_pattern(r"[&;\"'`”\s]|\Z")
_LOGIN_PAIR = lazy_pattern(
    r"(?<![A-Za-z])(?:user(?:[ _]?(?:id|name))?|uid|login|host|server|dbname|database|email|usuario"
    r"|benutzer|utilisateur)=[^\s=]",
    re.IGNORECASE,
)
_LOGIN_BEFORE = lazy_pattern(
    r"(?<![A-Za-z])(?:user(?:name)?|login|account|email|usuario|utilisateur|benutzer(?:name)?|логин"
    r"|пользователь|utente|usuário|用户名?|账号)"
    r"[\"']?[ ]?[:=][ ]?[\"']?[^\s\"',;]{1,64}[\"']?[,;]?[ ]"
    r"(?:(?:and|und|et|y|e|и|[/|·–-])[ ])?\Z",
    re.IGNORECASE,
)
LOGIN_BEFORE_GAP = lazy_pattern(
    r"(?:\b(?:user(?:name)?|login|log in as|account|usuario|utilisateur|benutzer(?:name)?|логин"
    r"|пользователь|utente|kullanıcı)[ :=]{1,2}[\w.@\\-]{1,64}"
    r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,40}),?[ ]"
    r"(?:and |with |the |a |und |et |y |e |и |с )*\Z",
    re.IGNORECASE,
)
"""A user's name in front of the word for a password, with nothing but a gap after the word."""
_OPTION_BEFORE = lazy_pattern(r"(?:\A|\s)--?[\w-]{1,40}[ =][\"']?\Z")
"""An option that holds a name and its value: `-e`, `--from-literal=`, `--build-arg`."""
_SQL = lazy_pattern(
    r"\b(?:alter|create)\s{1,4}(?:user|role|login)\b[^\n]{0,120}\Z|\bset\s{1,4}\Z", re.IGNORECASE
)
_LINE = 200
"""Characters of a line that are looked at on either side."""


class KeyValueMatch(NamedTuple):
    """A value and the key that names it: from and to of both, and what stands between."""

    text: str
    name: tuple[int, int]
    value: tuple[int, int]
    is_quoted: bool
    separator_kind: str
    """What `secret_assignments` calls what stands between: `sign`, `gap`, `quote`, …"""


def may_be_chosen_password(value: str) -> bool:
    """A word or number that a person may have for a password, where nothing but a password can
    stand: no variable, no placeholder, no type, no state, no word of a sentence about passwords.
    """
    word = value.lower().strip(".,:;")
    return (
        len(value) >= MIN_PASSWORD_CHARACTERS
        and len(set(value)) > 2
        and not value.startswith(_FIRST_OF_CODE)
        and _SIGNS_OF_CODE.isdisjoint(value)
        and not any(map(str.isspace, value))
        and word not in _NO_PASSWORDS
        and _PLACEHOLDER.search(value) is None
        and not is_variable_path_or_digest(value)
        and not is_algorithm_or_cjk_text(value)
        and not _names_password(value)
    )


def is_chosen_with_digits(text: str, start: int, end: int) -> bool:
    """A word with digits that a person may have for a password, with which a sentence ends."""
    value = text[start:end].rstrip(".:!?")
    return (
        _is_drawn(value)
        and may_be_chosen_password(value)
        and not _IDENTIFIER.match(value)
        and _SENTENCE_END.match(text, start + len(value)) is not None
    )


def is_random_or_chosen_password(value: str) -> bool:
    """A password, drawn or chosen, where a command or an address can hold nothing else."""
    return is_mixed_character_password(value) or may_be_chosen_password(value)


def _names_password(value: str) -> bool:
    """The word for a password in some language, as a table of translations holds it."""
    return classify_secret_key_name(value) in {"password", "pass"} or any(
        value.startswith(stem) for stem in BEYOND_ASCII
    )


def is_password_only_position(named: KeyValueMatch) -> bool:
    """Nothing but a password can stand here, whatever it looks like."""
    text, (start, end) = named.text, named.name
    begin = text.rfind("\n", max(0, start - _LINE), start) + 1 or max(0, start - _LINE)
    before = text[begin:start]
    if _is_option(text, start, end):
        return named.separator_kind in {"gap", "quote", "sign"}
    if text[start:end].lower() in _MEANS_MORE:
        return named.separator_kind == "sign" and (
            _is_variable(named)
            or _is_pair(named, before)
            or (_is_drawn(text[slice(*named.value)]) and _is_below_section(named, before))
        )
    check = _CHECKS.get(named.separator_kind)
    return check is not None and check(named, before)


def _is_assigned(named: KeyValueMatch, before: str) -> bool:
    return (
        _is_variable(named)
        or _is_after_login(named, before)
        or _is_pair(named, before)
        or _is_in_json(named)
        or _is_in_xml(named)
        or _is_own_line(named, before)
        or _is_named(named)
    )


def _is_option(text: str, start: int, end: int) -> bool:
    name = text[start:end]
    return (
        name[:1] == "-"
        and len(name.lstrip("-")) > 3
        and text[start - 1 : start] in {"", " ", "\n", "\t", '"', "'"}
    )


def _is_in_sql(_: KeyValueMatch, before: str) -> bool:
    return _SQL.search(before) is not None


def _is_constant(_: KeyValueMatch, before: str) -> bool:
    """`define('DB_PASSWORD', '…')`."""
    return before.endswith(("define('", 'define("'))


def _is_directive(named: KeyValueMatch, before: str) -> bool:
    """`requirepass …` on a line of its own, or `bob@example.com with password …`."""
    if named.text[named.name[1] : named.value[0]] == " " and LOGIN_BEFORE_GAP.search(before):
        return _is_said(named)
    name = named.text[slice(*named.name)]
    if name.isupper():  # `set -gx DB_PASS …`, `ENV DB_PASS …`
        value = named.text[slice(*named.value)]
        return _is_drawn(value) and not is_numbered_part(value)
    return (
        name.lower() in {"requirepass", "masterauth", "bindpw", "rootpw"}
        and not before.strip()
        and _BARE_LINE_END.match(named.text, named.value[1]) is not None
    )


def _is_named(named: KeyValueMatch) -> bool:
    """`the new password: hunter22` within a line, at its end or that of a sentence."""
    value = named.text[slice(*named.value)]
    between = named.text[named.name[1] : named.value[0]]
    if named.is_quoted or not between.rstrip().endswith((":", "：")):
        return False
    if _IDENTIFIER.match(value):
        return False
    return named.text[named.value[1] : named.value[1] + 1] not in {",", ";"} and _is_said(named)


def _is_said(named: KeyValueMatch, _: str = "") -> bool:
    """`the password is hunter22.`: letters and digits, and the sentence ends."""
    value = named.text[slice(*named.value)]
    return _is_drawn(value) and _SENTENCE_END.match(named.text, named.value[1]) is not None


def _is_drawn(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _glued(named: KeyValueMatch) -> bool:
    between = named.text[named.name[1] : named.value[0]]
    return between.rstrip("\"'") == "="


def _is_variable(named: KeyValueMatch) -> bool:
    """`PGPASSWORD=…`: a setting or an option in front, and the sign glued to both."""
    text, start = named.text, named.name[0]
    before = text[max(0, start - 1) : start]
    if named.is_quoted and text[slice(*named.name)].isupper():
        return _is_drawn(text[slice(*named.value)])
    return (
        _glued(named)
        and (
            (_names_setting(named) and before in {"", " ", "\n", "\t", '"', "'"})
            or _OPTION_BEFORE.search(text[max(0, start - 48) : start]) is not None
        )
        and text[named.value[1] : named.value[1] + 1] in {"", " ", "\n", "\r", "\t", '"', "'", "`"}
    )


def _names_setting(named: KeyValueMatch) -> bool:
    """`PGPASSWORD`, or `spring.datasource.password` with a value that is no word of code."""
    name = named.text[slice(*named.name)]
    value = named.text[slice(*named.value)]
    return name.isupper() or ("." in name and _is_drawn(value) and not _IDENTIFIER.match(value))


def _is_after_login(named: KeyValueMatch, before: str) -> bool:
    """`user: bob, password: …`; arguments of a call and members of an object are code."""
    at, stop = named.value
    is_code = not named.is_quoted and (
        _glued(named)
        or _IDENTIFIER.match(named.text[at:stop]) is not None
        or named.text[stop : stop + 2].lstrip()[:1] in {"}", ")", "]"}
    )
    return not is_code and _LOGIN_BEFORE.search(before) is not None


def _is_pair(named: KeyValueMatch, before: str) -> bool:
    """In a row of pairs such as a connection string, with a user's or a host's name."""
    text, stop = named.text, named.value[1]
    return (
        _glued(named)
        and before[-1:] in {"?", "&", ";", ",", " ", '"', "'"}
        and _PAIR_END.match(text, stop) is not None
        and (
            _LOGIN_PAIR.search(before) is not None
            or _LOGIN_PAIR.search(text[stop : stop + _LINE].partition("\n")[0]) is not None
        )
    )


def _is_in_json(named: KeyValueMatch) -> bool:
    text, end = named.text, named.name[1]
    return (
        named.is_quoted and text[end : end + 1] in {'"', "'"} and ":" in text[end : named.value[0]]
    )


def _is_in_xml(named: KeyValueMatch) -> bool:
    text, (start, end) = named.text, named.name
    return text[start - 1 : start] == "<" and text.startswith(
        "</" + text[start:end], named.value[1]
    )


def _is_own_line(named: KeyValueMatch, before: str) -> bool:
    """Name, sign and value have a line for themselves, and the lines around it are no code."""
    text, (start, end), (at, stop) = named.text, named.name, named.value
    if _LINE_BEGINNING.match(before) is None:
        return False
    if named.is_quoted:
        return _LINE_END.match(text, stop) is not None
    after = _BARE_LINE_END.match(text, stop)
    if (
        after is None
        or _IDENTIFIER.match(text[at:stop])
        or _is_between_code(text, start, after.end())
    ):
        return False
    between = text[end:at]
    return ":" in between or "：" in between or _glued(named) or _is_below_heading(text, start)


def _is_below_section(named: KeyValueMatch, before: str) -> bool:
    return _is_own_line(named, before) and _is_below_heading(named.text, named.name[0])


def _is_below_heading(text: str, start: int) -> bool:
    """Below the heading of a section of settings, or the line of a user's name."""
    return (
        _SECTION.search(text[max(0, start - _SECTION_REACH) : start]) is not None
        or _LOGIN_LINE_ABOVE.search(text[max(0, start - _LINE) : start]) is not None
    )


def _is_between_code(text: str, start: int, end: int) -> bool:
    above = text[max(0, start - _LINE) : start].rpartition("\n")[0].rstrip()
    below = text[end : end + _LINE].lstrip()
    return above.endswith((",", "{", "(", "[", ";", '"""')) or below.startswith(
        ("}", ")", "]", ",")
    )


_CHECKS: dict[str, Callable[[KeyValueMatch, str], bool]] = {
    "attribute": lambda *_: True,
    "pair": lambda *_: True,
    "quote": _is_in_sql,
    "argument": _is_constant,
    "gap": _is_directive,
    "said": _is_said,
    "sign": _is_assigned,
}
"""By what stands between name and value; the line up to the name is given as well."""

"""Secrets that only their surroundings tell: passwords in addresses, headers, command lines, key
blocks, tokens that carry JSON.

Each reader is called where its anchor, a literal text, stands, and reads at most some hundred
characters from there.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Iterator
from functools import partial

from memorist.core.lazy import lazy_pattern
from memorist.safety.chosen_passwords import (
    is_chosen_with_digits,
    is_random_or_chosen_password,
    may_be_chosen_password,
)
from memorist.safety.safety_finding import SafetyFinding
from memorist.safety.secret_token_formats import EDGE
from memorist.safety.secret_values import (
    count_character_kinds,
    has_password_strength,
    is_mixed_character_password,
    is_random_looking,
    is_reference_or_placeholder,
    is_token_placeholder,
)

SecretReader = Callable[[str, int], Iterator[SafetyFinding]]
"""Reads a text at the place of an anchor."""

_ADDRESS = lazy_pattern(r"""://[^\s/:@"'<>]{0,256}:([^\s/"'<>]{1,512})@(?!sha\d)(?=[\w.\[$%{-])""")
_ADDRESS_TOKEN = lazy_pattern(r"""://([^\s/:@"'<>]{20,512})(?::[^\s/:@"'<>]{0,20})?@(?=[\w.\[-])""")
_BEARER = lazy_pattern(r"bearer(?:[ \t]{1,8}|%20)([A-Za-z0-9._~+/-]{16,}={0,2})", re.IGNORECASE)
_BASIC = lazy_pattern(rf"{EDGE}basic[ \t]{{1,8}}([A-Za-z0-9+/]{{8,}}={{0,2}})", re.IGNORECASE)
_AUTHORIZATION = lazy_pattern(
    r"""(?<![A-Za-z])authorization["']?[ \t]{0,4}[:=,][ \t]{0,4}["'`]?(?:(?:token|apikey|api-key|key|sso-key|bot|genie\w*|aws4\S*|digest|oauth|negotiate)[ \t:=]{1,4}|(?!basic|bearer)[A-Za-z][A-Za-z-]{3,24}[ ])?"?([^\s"'`,;<>(){}\[\]]{16,512})""",
    re.IGNORECASE,
)
_COOKIE = lazy_pattern(
    r"""cookie["']?[ \t]{0,4}[:=][ \t]{0,4}["']?([^\n"']{8,800})""", re.IGNORECASE
)
_COOKIE_VALUE = lazy_pattern(r"""(?<![\w.-])[\w.-]{1,60}=([^;\s"']{20,600})""")
_NETRC = lazy_pattern(
    r"machine\s{1,8}\S{1,256}\s{1,8}login\s{1,8}\S{1,256}\s{1,8}password\s{1,8}(\S{1,256})"
)
_PGPASS = lazy_pattern(r":(?:5432|5433|6432):[\w*-]{1,64}:[\w*.@-]{1,64}:([^\s:]{4,128})(?=\s|\Z)")
_SQL = lazy_pattern(
    r"""identified[ ](?:with[ ]\S{1,40}[ ])?by[ ](?:values?[ ])?(?:"([^\s"]{4,128})"|'([^\s']{4,128})')""",
    re.IGNORECASE,
)
_BLOCK = lazy_pattern(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----))*+-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\s\\]*+)"
)
_BLOCK_BODY = lazy_pattern(r"[A-Za-z0-9+/]{24}")
_PUTTY = lazy_pattern(
    r"private-lines:[ ]?\d{1,4}\s{1,4}((?:[A-Za-z0-9+/=]{1,80}\s{1,4}){1,100})", re.IGNORECASE
)
_JWT = lazy_pattern(
    rf"{EDGE}eyJ[A-Za-z0-9_-]{{8,2000}}\.eyJ[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]{{8,}}"
)
_JWE = lazy_pattern(
    rf"{EDGE}eyJ[A-Za-z0-9_-]{{8,800}}\.(?:[A-Za-z0-9_-]{{20,}}+\.[A-Za-z0-9_-]{{20,}}+|[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]{{8,}}+){{3}})"
)
_JWK = lazy_pattern(r'"(?:d|p|q|dp|dq|qi|k)"\s{0,4}:\s{0,4}"([A-Za-z0-9_-]{20,2000})"')
_DISCORD = lazy_pattern(r"(?<![\w-])[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])")

_LOGIN = lazy_pattern(
    r"""(?:(?:credentials?|creds|logins?|zugangsdaten|identifiants|acc[eè]s)["'*]{0,3}(?:[ ]?[:=]|[ ](?:are|is|sind|sont|:))|(?:log|sign)[ -]?in[ ](?:as|with))[ ]?["'*]{0,3}[\w.@-]{2,64}[ ]?[/:|][ ]?([^\s"'*,;<>()]{8,64})(?=[\s"'*,;]|\Z)""",
    re.IGNORECASE,
)

_QUOTED = r"""(?:"([^"\n]{4,128})"|'([^'\n]{4,128})'|([^\s"'`|;&<>)]{4,256}))"""
_USER_COLON = r"""["']?[^\s:"'@/]{1,128}:([^\s"'@]{4,256})["']?(?=\s|\Z|["'])"""
_COMMANDS = {
    "mysql": rf"(?<=\s)-p(?:[ ](?=[^\s_]*\d)(?![^\s]*db))?{_QUOTED}",
    "mysqladmin": rf"(?<=\s)password[ ]{_QUOTED}",
    "mariadb": rf"(?<=\s)-p(?:[ ](?=[^\s_]*\d)(?![^\s]*db))?{_QUOTED}",
    "sshpass": rf"(?<=\s)-p[ ]?{_QUOTED}",
    "docker": rf"(?<=login)(?=[ ])[^\n|;]{{0,120}}?(?<=\s)-p[ =]?{_QUOTED}",
    "podman": rf"(?<=login)(?=[ ])[^\n|;]{{0,120}}?(?<=\s)-p[ =]?{_QUOTED}",
    "helm": rf"(?<=\s)-p[ =]{_QUOTED}",
    "oc login": rf"(?<=\s)-p[ =]{_QUOTED}",
    "az login": rf"(?<=\s)-p[ =]{_QUOTED}",
    "az acr": rf"(?<=\s)-p[ =]{_QUOTED}",
    "cf login": rf"(?<=\s)-p[ =]{_QUOTED}",
    "vault login": rf"(?<=login )(?!-){_QUOTED}",
    "redis-cli": rf"(?<=\s)-a[ ]?{_QUOTED}",
    "mongo": rf"(?<=\s)-p[ ]?{_QUOTED}",
    "influx": rf"(?<=\s)(?:-p|-t)[ ]{_QUOTED}",
    "ldap": rf"(?<=\s)-w[ ]?{_QUOTED}",
    "sqlcmd": rf"(?<=\s)-P[ ]?{_QUOTED}",
    "bcp ": rf"(?<=\s)-P[ ]?{_QUOTED}",
    "unzip": rf"(?<=\s)-P[ ]?{_QUOTED}",
    "7z": rf"(?<=\s)-p{_QUOTED}",
    "zip ": rf"(?<=\s)-P[ ]?{_QUOTED}",
    "openssl ": rf"(?<=\s)-?pass(?:in|out)?[ ](?:pass:)(\S{{4,128}})|(?<=\s)-k[ ]{_QUOTED}",
    "useradd": rf"(?<=\s)(?:-p|--password)[ =]{_QUOTED}",
    "usermod": rf"(?<=\s)(?:-p|--password)[ =]{_QUOTED}",
    "xfreerdp": rf"(?<=\s)/p:{_QUOTED}",
    "rdesktop": rf"(?<=\s)-p[ ]?{_QUOTED}",
    "wpa_passphrase ": rf"[ ]\S{{1,64}}[ ]{_QUOTED}",
    "rabbitmqctl": rf"(?:add_user|change_password)[ ]\S{{1,64}}[ ]{_QUOTED}",
    "bindpw ": rf"[ ]+{_QUOTED}",
    "smbclient": r"(?<=\s)-U[ ]?[\"']?[\w.\\-]{1,64}%([^\s\"']{4,128})",
    "ipmitool": rf"(?<=\s)-P[ ]{_QUOTED}",
    "mosquitto_": rf"(?<=\s)-P[ ]{_QUOTED}",
    "snmp": rf"(?<=\s)-[AX][ ]{_QUOTED}",
    "enable secret": rf"[ ](?:\d[ ])?{_QUOTED}",
    "privilege ": rf"(?:password|secret)[ ](?:\d[ ])?{_QUOTED}",
    "htpasswd": r"(?<=\s)-(?=\w{0,6}b)(?:(?=\w{0,6}n)\w{1,8}|\w{1,8}[ ]\S{1,128})[ ]\S{1,64}[ ](\S{4,128})",
    "cqlsh": rf"(?<=\s)-p[ ]?{_QUOTED}",
    "sqlplus": r"[ ][\"']?[\w.$]{1,64}/([^\s@/\"']{4,128})@",
    "oracle:thin:": r"thin:[\w.$]{1,64}/([^\s@/\"']{4,128})@",
    "wget": rf"(?<=\s)--(?:http-|ftp-)?password[= ]{_QUOTED}",
    "curl": rf"(?<=\s)(?:-u|--user|--proxy-user|-U)[ =]?{_USER_COLON}",
    "http ": rf"(?<=\s)-a[ ]{_USER_COLON}",
    "https ": rf"(?<=\s)-a[ ]{_USER_COLON}",
    "lftp": r"(?<=\s)-u[ ][\w.-]{1,64},([^\s\"']{4,128})",
    "mc alias": rf"(?<=set )\S{{1,64}}[ ]\S{{1,200}}[ ]\S{{1,128}}[ ]{_QUOTED}",
    "put-parameter": rf"put-parameter(?=[^\n]{{0,300}}SecureString)[^\n]{{0,300}}?(?<=\s)--value[ =]{_QUOTED}",
    "--password-command": rf"(?<=echo ){_QUOTED}",
    "net use": r"(?:[ ]/user:\S{1,64})[ ](\S{6,128})|\\\\\S{1,128}[ ](\S{6,128})[ ]/user",
}
"""By the beginning of a command, where on its line a password stands."""
_LISTED_PASSWORD = lazy_pattern(r"'-p',[ ]?'([^'\n]{6,128})'", re.IGNORECASE)
_LISTED_USER = lazy_pattern(r"'-u',[ ]?'[^'\n]{1,64}',[ ]?\Z", re.IGNORECASE)
_MAIL_LOGIN = lazy_pattern(
    r"""(?-i:LOGIN)[ ]"?[\w.@+-]{1,64}"?[ ]"?([^\s"]{4,128})"?[ ]*(?=\r?\n|\Z)""", re.IGNORECASE
)
_MAIL_PLAIN = lazy_pattern(r"auth plain ([A-Za-z0-9+/]{12,400}={0,2})", re.IGNORECASE)
_FTP_PASS = lazy_pattern(r"\n(?-i:PASS)[ ](\S{4,128})[ ]*(?=\r?\n|\Z)", re.IGNORECASE)
_FTP_USER = lazy_pattern(r"(?:\A|\n)[^\n]{0,12}USER[ ][^\n]{1,64}\Z")
_CREATED = lazy_pattern(
    r"""\w{4,7}[ ](?:created|added)[:.]?[ ][\w.@-]{2,64}[ ]?[/:|][ ]?([^\s"'*,;<>()]{8,64})(?=[\s"'*,;]|\Z)""",
    re.IGNORECASE,
)
_PIPED = lazy_pattern(
    r"""(?:echo|printf)(?:[ ]-[a-zA-Z]+)?[ ]["']?(?:%s\\?n?["']?[ ]["']?)?(?:[\w.-]{1,64}:(?=[^|\n]{0,120}chpasswd))?([^\s"'|]{4,128})["']?[ ]?\|[ ]?[^|\n]{0,120}?(?:password-stdin|sudo[ ]-\w{0,4}S|passwd|chpasswd|login|gpg|--passphrase-fd)"""
)
_SECOND_ARGUMENT = lazy_pattern(
    r"""[\w.]{1,20}[ ]?=?[ ]?\([ ]?["'][^"'\n]{1,128}["'],[ ]?[bru]?["']([^"'\n]{6,256})["']""",
    re.IGNORECASE,
)
"""A user's name and a password, one after the other."""
_SIGNING_KEY = lazy_pattern(
    r"""jwt\.\w{4,10}\([^"'\n,]{1,80},[ ]?[bru]?["']([^"'\n]{16,256})["']""", re.IGNORECASE
)
_BEFORE_HOST = lazy_pattern(r"""[\w.%$-]{1,64}:([^\s:/@"'(){}]{4,128})@(?:tcp|unix)\(""")
_SECURE_STRING = lazy_pattern(
    r"""securestring[ ](?:-string[ ])?["']([^"'\n]{6,128})["']""", re.IGNORECASE
)
_ENDS_COMMAND = frozenset("|;&`")
"""Behind these another command may stand, whose options mean other things."""
_LONGEST_BEFORE_HOST = 200
_LINE = 400
"""Characters of a command's line that are read."""


def _address(text: str, at: int) -> Iterator[SafetyFinding]:
    found = _ADDRESS.match(text, at)
    if (
        found
        and (may_be_chosen_password(found[1]) or not is_reference_or_placeholder(found[1]))
        and found[1] != found[0][3:].partition(":")[0]
    ):
        yield SafetyFinding(*found.span(1), "url-password")
    elif (
        (found := _ADDRESS_TOKEN.match(text, at))
        and not is_reference_or_placeholder(found[1])
        and is_random_looking(found[1])
    ):
        yield SafetyFinding(*found.span(1), "url-token")


def _one(
    pattern: re.Pattern[str], rule: str, judge: Callable[[str], bool], text: str, at: int
) -> Iterator[SafetyFinding]:
    found = pattern.match(text, at)
    if found and judge(found[found.lastindex or 0]):
        yield SafetyFinding(*found.span(found.lastindex or 0), rule)


def _command(pattern: re.Pattern[str], rule: str, text: str, at: int) -> Iterator[SafetyFinding]:
    if at and (text[at - 1].isalnum() or text[at - 1] in "_-."):
        return
    end = at + _LINE
    while (stop := text.find("\n", at, end)) >= 0 and text[stop - 1] == "\\":
        at = stop + 1
    yield from _command_line(pattern, rule, text, (at, end if stop < 0 else stop))


def _command_line(
    pattern: re.Pattern[str], rule: str, text: str, span: tuple[int, int]
) -> Iterator[SafetyFinding]:
    for found in pattern.finditer(text, *span):
        group = found.lastindex or 0
        if is_mixed_character_password(found[group]) or (
            may_be_chosen_password(found[group])
            and _ENDS_COMMAND.isdisjoint(text[span[0] : found.start(group)])
        ):
            yield SafetyFinding(*found.span(group), rule)


def _before_host(text: str, at: int) -> Iterator[SafetyFinding]:
    """The password of an address without a scheme, as a driver of Go writes it."""
    begin = max(0, at - _LONGEST_BEFORE_HOST)
    stretch = text[begin:at]
    start = at - len(re.split(r"[\s\"'=]", stretch)[-1])
    found = _BEFORE_HOST.match(text, start)
    if found and is_random_or_chosen_password(found[1]):
        yield SafetyFinding(*found.span(1), "url-password")


def _piped(text: str, at: int) -> Iterator[SafetyFinding]:
    found = _PIPED.match(text, at)
    if found and is_random_or_chosen_password(found[1]):
        yield SafetyFinding(*found.span(1), "command-password")


def _cookie(text: str, at: int) -> Iterator[SafetyFinding]:
    line = _COOKIE.match(text, at)
    if line is None:
        return
    for found in _COOKIE_VALUE.finditer(text, *line.span(1)):
        if (
            is_random_looking(found[1])
            and any(map(str.isdigit, found[1]))
            and not is_reference_or_placeholder(found[1])
        ):
            yield SafetyFinding(*found.span(1), "cookie")


def _block(text: str, at: int) -> Iterator[SafetyFinding]:
    found = _BLOCK.match(text, at)
    if found and _BLOCK_BODY.search(text, found.start(), found.end()):
        yield SafetyFinding(*found.span(), "private-key")


def _json_token(text: str, at: int) -> Iterator[SafetyFinding]:
    found = _JWT.match(text, at) or _JWE.match(text, at)
    if found:
        yield SafetyFinding(*found.span(), "jwt")


def _each(
    pattern: re.Pattern[str], rule: str, reach: int, text: str, at: int
) -> Iterator[SafetyFinding]:
    for found in pattern.finditer(text, at, at + reach):
        group = found.lastindex or 0
        if is_random_looking(found[group]) and not is_token_placeholder(found[group]):
            yield SafetyFinding(*found.span(group), rule)


def _is_bearer(value: str) -> bool:
    return is_random_looking(value) and not is_reference_or_placeholder(value)


def _is_basic(value: str) -> bool:
    try:
        said = binascii.a2b_base64(value, strict_mode=True)
    except binascii.Error:
        return False
    return b":" in said and said.isascii() and said.decode("ascii").isprintable()


def _is_plain_login(value: str) -> bool:
    """A user's name and a password between zero bytes, as SMTP and IMAP send them."""
    try:
        return binascii.a2b_base64(value, strict_mode=True).count(b"\0") == 2
    except binascii.Error:
        return False


def _login_password(pattern: re.Pattern[str], text: str, at: int) -> Iterator[SafetyFinding]:
    """`credentials: anna / …`; a word with digits only where the sentence does not go on, as in
    `log in with google/facebook2 fails`.
    """
    found = pattern.match(text, at)
    if found is None or is_reference_or_placeholder(found[1]):
        return
    drawn = has_password_strength(found[1]) and count_character_kinds(found[1]) > 2
    if drawn or is_chosen_with_digits(text, *found.span(1)):
        yield SafetyFinding(*found.span(1), "login-password")


def _ftp_password(text: str, at: int) -> Iterator[SafetyFinding]:
    """The password that follows a user's name in a session of FTP or POP3."""
    found = _FTP_PASS.match(text, at)
    if (
        found
        and _FTP_USER.search(text[max(0, at - 100) : at])
        and is_random_or_chosen_password(found[1])
    ):
        yield SafetyFinding(*found.span(1), "login-password")


def _listed_password(text: str, at: int) -> Iterator[SafetyFinding]:
    """The password behind a user's name in a list of a command's words, as Python prints it."""
    found = _LISTED_PASSWORD.match(text, at)
    if (
        found
        and _LISTED_USER.search(text[max(0, at - 80) : at])
        and is_random_or_chosen_password(found[1])
    ):
        yield SafetyFinding(*found.span(1), "command-password")


CASE_SENSITIVE: dict[str, SecretReader] = {"-----BEGIN ": _block, "eyJ": _json_token}
"""Readers by anchor, as it is in the text."""

READERS: dict[str, SecretReader] = {
    "://": _address,
    "bearer": partial(_one, _BEARER, "bearer-token", _is_bearer),
    "basic ": partial(_one, _BASIC, "basic-auth", _is_basic),
    "authorization": partial(_one, _AUTHORIZATION, "authorization", _is_bearer),
    "cookie": _cookie,
    "machine ": partial(
        _one,
        _NETRC,
        "netrc-password",
        lambda value: may_be_chosen_password(value) or not is_reference_or_placeholder(value),
    ),
    ":5432:": partial(_one, _PGPASS, "pgpass-password", is_random_or_chosen_password),
    "identified ": partial(_one, _SQL, "sql-password", is_random_or_chosen_password),
    "private-lines:": partial(_one, _PUTTY, "private-key", lambda _: True),
    '"kty"': partial(_each, _JWK, "private-key", 2000),
    "discord": partial(_each, _DISCORD, "discord-token", 1000),
    **dict.fromkeys(
        ("credential", "creds", "login", "log in ", "sign in ", "zugangsdaten", "identifiants"),
        partial(_login_password, _LOGIN),
    ),
    **dict.fromkeys(
        ("user created", "account created", "user added", "login created"),
        partial(_login_password, _CREATED),
    ),
    "login ": partial(_one, _MAIL_LOGIN, "login-password", is_random_or_chosen_password),
    "auth plain ": partial(_one, _MAIL_PLAIN, "login-password", _is_plain_login),
    "\npass ": _ftp_password,
    "'-p'": _listed_password,
    "@tcp(": _before_host,
    "@unix(": _before_host,
    **dict.fromkeys(
        ("auth=(", "auth = (", "basicauth(", ".login("),
        partial(_one, _SECOND_ARGUMENT, "login-password", is_random_or_chosen_password),
    ),
    "securestring": partial(_one, _SECURE_STRING, "command-password", is_random_or_chosen_password),
    "jwt.": partial(_one, _SIGNING_KEY, "assigned-secret", _is_bearer),
    "echo ": _piped,
    "printf ": _piped,
    **{
        word: partial(
            _command,
            lazy_pattern(pattern),
            "basic-auth" if _USER_COLON in pattern else "command-password",
        )
        for word, pattern in _COMMANDS.items()
    },
}
"""Readers by anchor, in small letters."""

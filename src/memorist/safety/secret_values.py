"""Whether a value looks drawn at random, and whether it only stands for one. Pure; looks at no more
than a value's first 128 characters.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log2

from memorist.core.lazy import lazy_pattern

MAX_JUDGED_LENGTH = 128
"""Characters of a value that are judged: longer ones cannot make the judgement slow."""
MIN_ENTROPY_BITS = 3.0
"""Shannon entropy in bits per character. 16 random hex digits have about 3.1, English words joined
by dashes of that length as much: so this rejects repetition only, and `count_random_characters`
does the rest.
"""
MIN_RANDOM_CHARACTERS = 8
"""Characters that must be in parts that are neither words nor numbers: the length of the
shortest password taken for one.
"""

REDACTION_MARK = lazy_pattern(r"\[redacted: [a-z0-9-]{1,40}\]")
"""What redaction leaves where a secret stood."""

_PLACEHOLDER = lazy_pattern(
    r"x{5}|\*{3}|\.{3}|…|•{3}|_{5}|0{9}|1{8}|example|placeholder|your[_-]|changeme|change[_-]me|dummy|redacted|replace[_-]?(?:me|with)|insert[_-]"
    r"|todo|not[_-]?a?[_-]?real|deadbeef|lorem",
    re.IGNORECASE,
)
_PLACEHOLDER_WORDS = lazy_pattern(
    r"(?:^|[^a-z])(?:my(?:pass(?:word|wd)?|pwd|secret|token|key)?|your|the|test|testing|fake|sample|mock|some|demo|default|none|null|undefined|foo|bar|secret|password|passwd|passw?o?r?d\d*"
    r"|p[a@][s$]{2}w[o0]rd\d*|pass|token|admin|root|user|geheim|parole|motdepasse|contrasena|senha|postgres|mysql|redis|guest|hunter2|letmein|qwerty|string|value|here)(?:$|[^a-z])",
    re.IGNORECASE,
)
_VARIABLE = lazy_pattern(
    r"\$[a-z_{(]|[<{]|%[({]|%[a-z_]{1,30}%|%[sdr]\b|\[redacted|(?:os\.|process\.|import\.meta\.|deno\.)?(?:environ|env|getenv|secrets|vars|var|local|data|config|settings|args|options"
    r"|self|this|request|req|props|params|ctx|state|context|credentials|creds|auth|session)(?:\.|\[|\(|::|->)",
    re.IGNORECASE,
)
_SEPARATORS = lazy_pattern(r"[-_./:\\\s,;|#@+=*]+")
_UUID = lazy_pattern(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z", re.IGNORECASE
)
_DIGEST = lazy_pattern(r"(?:sha\d{1,3}|md5|git|blake\w{1,3})[-:]", re.IGNORECASE)
_PATH = lazy_pattern(
    r"\.{0,2}/[\w.-]+/|~/|\./|\.\./|[A-Za-z]:\\|https?:|file:|data:|arn:|urn:|[\w./-]{1,200}\.(?:json|ya?ml|toml|pem|txt|py|ts|js|go|md|key|crt)\Z"
)
_WORD = lazy_pattern(r"([A-Za-z]+)\d{0,4}\Z|\d{1,12}\Z")
_HUMP = lazy_pattern(r"[a-z][A-Z]")
_NUMBERED_WORD = lazy_pattern(r"[^\W\d_]{3,20}\d{1,4}[#@+=*]{1,3}\w{0,4}\Z")
"""A word, a year or number, and a sign that also separates words: a person's password."""
_PIECES = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+|[^A-Za-z0-9]")
_TEMPLATE = lazy_pattern(
    r"\$\{|%\}|\}\}|</[a-z]|[{][A-Za-z_][\w.]{0,40}[}(\[!:]|[{][{%]|%\(\w|<[a-zA-Z][\w -]{1,40}>|\[\^?[^\]\n]{0,20}\w-\w[^\]\n]{0,40}\]|\\[wdsSDWb][+*{\\\[)]|\(\?[:=!<P]"
)
"""Something to be filled in, or a regular expression."""
_GENERIC_TYPE = lazy_pattern(r"[A-Za-z_.]+[\[<][A-Za-z_., |<\[\]>]+[\]>]\Z")
"""The type of an annotated name: `Iterable[Credentials]`, `Option<ApiKey>`."""
_NUMBERED_PART = lazy_pattern(
    r"(?:field|value|item|column|row|line|step|part|section|page|table|slot|option|param|arg|input"
    r"|version|phase|stage|schritt|étape|paso|этап)\d{1,3}\Z",
    re.IGNORECASE,
)
"""What a document or form numbers: `field2`."""
_ALGORITHM = lazy_pattern(
    r"(?:bcrypt|(?:ye)?scrypt)[_/:-]?\d{1,5}\Z"
    r"|(?:argon|bcrypt|scrypt|yescrypt|pbkdf|sha|md|hmac|hs|rs|es|ps|aes|rsa|ecdsa|ed|chacha|blake)"
    r"(?:[_/:-]?(?:sha|hmac|aes|gcm|cbc|ctr|poly|bcrypt|crypt)|(?<=\d)(?:id|[idsbk])"
    r"|(?:[_/:-]|(?<!\d))(?:[1-6]|20|128|192|224|256|384|448|512|1024|2048|3072|4096|8192|1305"
    r"|25519))+\Z",
    re.IGNORECASE,
)
"""An algorithm with its parameters, as it is named: `bcrypt12`, `aes-256-gcm`. Other numbers behind
such letters may be a year or a day: `md1985`.
"""
_CJK_PHRASE = lazy_pattern(
    r"[\u3040-\u9fff](?!.*?(?=[!-~]{0,64}\d)(?=[!-~]{0,64}[A-Za-z])[!-~]{6})", re.DOTALL
)
"""Chinese or Japanese in which no run of letters and digits stands: `在第2步设置的`."""
_RUNS = ("0123456789", "abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "9876543210")
_RUN = 6


def is_uuid(value: str) -> bool:
    """A UUID: an identifier, unless its key says otherwise."""
    return _UUID.match(value) is not None


def is_token_placeholder(value: str) -> bool:
    """A placeholder in a token's format: crosses, `EXAMPLE`, a counted-up alphabet. Random text has
    none of these by chance.
    """
    value = value[:MAX_JUDGED_LENGTH]
    return (
        _PLACEHOLDER.search(value) is not None
        or len(set(value)) < 6
        or _count_sequential(value) * 2 >= len(value)
    )


def is_variable_path_or_digest(value: str) -> bool:
    """A variable, a path, an address, a digest, a type, or a template to fill in."""
    value = value[:MAX_JUDGED_LENGTH]
    return (
        _VARIABLE.match(value) is not None
        or _DIGEST.match(value) is not None
        or _PATH.match(value) is not None
        or _TEMPLATE.search(value) is not None
        or _GENERIC_TYPE.match(value) is not None
    )


def is_algorithm_or_cjk_text(value: str) -> bool:
    """The name of an algorithm, or a phrase about a password in Chinese or Japanese."""
    return (
        _ALGORITHM.match(value) is not None
        or _CJK_PHRASE.match(value[:MAX_JUDGED_LENGTH]) is not None
    )


def is_numbered_part(value: str) -> bool:
    """A numbered part of a document or form; a weak password where nothing but one can stand."""
    return _NUMBERED_PART.match(value) is not None


def is_reference_or_placeholder(value: str) -> bool:
    """A reference, or a word that people write where the secret would stand."""
    return (
        is_variable_path_or_digest(value)
        or is_algorithm_or_cjk_text(value)
        or is_numbered_part(value)
        or _PLACEHOLDER_WORDS.search(value[:MAX_JUDGED_LENGTH]) is not None
        or is_token_placeholder(value)
    )


def is_random_looking(value: str) -> bool:
    """Drawn at random, to all appearance: enough different characters, and enough of them outside
    words and numbers.
    """
    value = value[:MAX_JUDGED_LENGTH]
    return (
        count_random_characters(value) >= MIN_RANDOM_CHARACTERS
        and compute_entropy_bits(value) >= MIN_ENTROPY_BITS
    )


def has_password_strength(value: str) -> bool:
    """Good enough as a password: two kinds of characters among eight or more, in a part that is no
    word.

    With three kinds the parts between signs may be short: people's passwords hold signs at any
    place.
    """
    value = value[:MAX_JUDGED_LENGTH]
    if (
        value.isalpha()
        or value.isdigit()
        or len(set(value)) < 5
        or sum(map(str.isalnum, value)) < 4
    ):
        return False
    return count_random_characters(value) >= MIN_RANDOM_CHARACTERS or (
        count_character_kinds(value) >= 4
        and (
            count_random_characters(value, shortest=3) >= MIN_RANDOM_CHARACTERS - 2
            or _NUMBERED_WORD.match(value) is not None
        )
    )


def count_character_kinds(value: str) -> int:
    """How many of the four kinds of characters it has: small letters, capitals, digits, signs."""
    return sum(
        any(map(is_kind, value)) for is_kind in (str.islower, str.isupper, str.isdigit, _is_sign)
    )


def is_mixed_character_password(value: str) -> bool:
    """Good enough where a command or an address can hold nothing but a password: six characters of
    two kinds, and no code.
    """
    return (
        len(value) >= 6
        and not value.isalpha()
        and not value.isdigit()
        and len(set(value)) >= 5
        and not is_reference_or_placeholder(value)
    )


def has_dominant_character(value: str) -> bool:
    """One character makes up a third of it, as in base64 of binary data with many zeros; no random
    text of 20 or more does that.
    """
    value = value[:MAX_JUDGED_LENGTH]
    return len(value) >= 20 and Counter(value).most_common(1)[0][1] * 3 > len(value)


def compute_entropy_bits(value: str) -> float:
    """Shannon entropy of the characters, in bits."""
    size = len(value)
    if size:
        return -sum(count / size * log2(count / size) for count in Counter(value).values())
    return 0.0


def count_random_characters(value: str, shortest: int = 1) -> int:
    """How many characters are in parts (between separators) that are neither words, camel case,
    numbers, nor a word with a number.

    Parts of fewer characters than `shortest` are taken for no words.
    """
    return sum(
        len(part)
        for part in _SEPARATORS.split(value)
        if part and (len(part) < shortest or not _is_word(part))
    )


def _is_sign(character: str) -> bool:
    return not character.isalnum()


def _is_word(part: str) -> bool:
    if part.isdigit() or (part.isalpha() and (part.islower() or part.isupper())):
        return True
    found = _WORD.match(part)
    # Humps of camel case are three letters or more on average; among random letters a quarter of all pairs rises.
    letters = (found[1] or part) if found is not None else ""
    if (
        letters
        and len(_HUMP.findall(part)) * 5 <= len(letters)
        and len(_PIECES.findall(letters)) * 3 <= len(letters)
    ):
        return True
    # Pieces of names such as MLKEM768PrivateKey are some four characters long; of random text of two cases, fewer than three.
    return (
        part.isalnum()
        and not part.islower()
        and not part.isupper()
        and len(_PIECES.findall(part)) * 3.75 <= len(part)
    )


def _count_sequential(value: str) -> int:
    """Characters that belong to stretches of the alphabet, the digits or the keyboard."""
    folded = value.lower()
    at = counted = 0
    while at + _RUN <= len(folded):
        if any(folded[at : at + _RUN] in run for run in _RUNS):
            counted += _RUN
            at += _RUN
        else:
            at += 1
    return counted

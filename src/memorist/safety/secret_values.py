"""Whether a value looks random, and whether it is only a placeholder. Pure; looks at no more than a
value's first 128 characters.
"""

from __future__ import annotations

import re
from collections import Counter
from math import log2

from memorist.core.later import late_pattern

LOOKED_AT = 128
"""Characters of a value that are judged, so that a long one costs no more."""
LEAST_BITS = 3.0
"""Shannon entropy in bits per character. 16 random hex digits have about 3.1, English words joined
by dashes of that length as much: so this rejects repetition only, and `count_random_characters`
does the rest.
"""
LEAST_UNWORDLY = 8
"""Characters that must stand in parts that are neither words nor numbers: the length of the
shortest password taken for one.
"""

MARK = late_pattern(r"\[redacted: [a-z0-9-]{1,40}\]")
"""The mark that redaction leaves in the place of a secret."""

_PLACEHOLDER = late_pattern(
    r"x{5}|\*{3}|\.{3}|…|•{3}|_{5}|0{9}|1{8}|example|placeholder|your[_-]|changeme|change[_-]me|dummy|redacted|replace[_-]?(?:me|with)|insert[_-]"
    r"|todo|not[_-]?a?[_-]?real|deadbeef|lorem",
    re.IGNORECASE,
)
_PLACEHOLDER_WORDS = late_pattern(
    r"(?:^|[^a-z])(?:my|your|the|test|testing|fake|sample|mock|some|demo|default|none|null|undefined|foo|bar|secret|password|passwd|passw?o?r?d\d*"
    r"|p[a@][s$]{2}w[o0]rd\d*|pass|token|admin|root|user|postgres|mysql|redis|guest|hunter2|letmein|qwerty|string|value|here)(?:$|[^a-z])",
    re.IGNORECASE,
)
_VARIABLE = late_pattern(
    r"\$[a-z_{(]|[<{]|%[({a-z]|\[redacted|(?:os\.|process\.|import\.meta\.|deno\.)?(?:environ|env|getenv|secrets|vars|var|local|data|config|settings|args|options"
    r"|self|this|request|req|props|params|ctx|state|context|credentials|creds|auth|session)(?:\.|\[|\(|::|->)",
    re.IGNORECASE,
)
_SEPARATORS = late_pattern(r"[-_./:\\\s,;|#@+=]+")
_UUID = late_pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z", re.IGNORECASE)
_DIGEST = late_pattern(r"(?:sha\d{1,3}|md5|git|blake\w{1,3})[-:]", re.IGNORECASE)
_PATH = late_pattern(
    r"\.{0,2}/[\w.-]+/|~/|\./|\.\./|[A-Za-z]:\\|https?:|file:|data:|arn:|urn:|[\w./-]{1,200}\.(?:json|ya?ml|toml|pem|txt|py|ts|js|go|md|key|crt)\Z"
)
_WORD = late_pattern(r"([A-Za-z]+)\d{0,4}\Z|\d{1,12}\Z")
_HUMP = late_pattern(r"[a-z][A-Z]")
_RUNS = ("0123456789", "abcdefghijklmnopqrstuvwxyz", "qwertyuiopasdfghjklzxcvbnm", "9876543210")
_RUN = 6


def is_uuid(value: str) -> bool:
    """Whether the value is a UUID: an identifier, unless its key says otherwise."""
    return _UUID.match(value) is not None


def stands_for_a_secret(value: str) -> bool:
    """Whether the value is a placeholder in a token's format: crosses, `EXAMPLE`, a counted-up
    alphabet. Random text has none of these by chance.
    """
    value = value[:LOOKED_AT]
    return _PLACEHOLDER.search(value) is not None or len(set(value)) < 6 or _counted(value) * 2 >= len(value)


def is_no_value(value: str) -> bool:
    """Whether the value is a variable, a path, an address, a hash, or a placeholder word."""
    value = value[:LOOKED_AT]
    return (
        _VARIABLE.match(value) is not None
        or _DIGEST.match(value) is not None
        or _PATH.match(value) is not None
        or _PLACEHOLDER_WORDS.search(value) is not None
        or stands_for_a_secret(value)
    )


def is_random(value: str) -> bool:
    """Whether the value looks random: enough different characters, and enough of them outside words
    and numbers.
    """
    value = value[:LOOKED_AT]
    return unwordly(value) >= LEAST_UNWORDLY and bits(value) >= LEAST_BITS


def is_password(value: str) -> bool:
    """Whether the value may be a password: two kinds of characters among eight or more, in a part
    that is no word.
    """
    value = value[:LOOKED_AT]
    return not value.isalpha() and not value.isdigit() and len(set(value)) >= 5 and unwordly(value) >= LEAST_UNWORDLY


def bits(value: str) -> float:
    """Shannon entropy of the characters, in bits."""
    size = len(value)
    return -sum(count / size * log2(count / size) for count in Counter(value).values()) if size else 0.0


def unwordly(value: str) -> int:
    """Number of characters in parts (between separators) that are neither words, camel case,
    numbers, nor a word with a number.
    """
    return sum(len(part) for part in _SEPARATORS.split(value) if part and not _is_word(part))


def _is_word(part: str) -> bool:
    if part.isalpha() and (part.islower() or part.isupper()):
        return True
    found = _WORD.match(part)
    # Humps of camel case are three letters or more on average; among random letters a quarter of all pairs rises.
    return found is not None and len(_HUMP.findall(part)) * 5 <= len(found[1] or part)


def _counted(value: str) -> int:
    """Number of characters in runs of the alphabet, the digits or the keyboard."""
    folded = value.lower()
    at = counted = 0
    while at + _RUN <= len(folded):
        if any(folded[at : at + _RUN] in run for run in _RUNS):
            counted += _RUN
            at += _RUN
        else:
            at += 1
    return counted

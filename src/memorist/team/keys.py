"""Validate names of shared memories, which come from others (TM-3).

Pure; the folder itself is checked when a file is written. The checks go from the name as it is to
what others might make of it: percent forms decoded, Unicode forms normalized, then the parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from pathlib import PurePosixPath

from memorist.auto_memory.changes import bad_path
from memorist.auto_memory.manifest import unreadable_name
from memorist.safety.folding import fold
from memorist.safety.secrets import find_secrets

LONGEST = 400
"""Longest name in bytes; below every file system's limit together with a folder's path."""
_DECODED = 4
"""How often percent forms are decoded; a name that still changes then is made to deceive."""
_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_TELLING = ("..", "/", "\\", "\0")


def key_problem(key: str, present: Collection[str] = ()) -> str:
    """Return why a name is not valid for a shared memory, in one sentence; empty if it is.

    `present` are existing names: one that looks the same, or differs only in case or Unicode form,
    would be the same file elsewhere.
    """
    checks = (_null, _percent, _form, _backslash, _absolute, _place, _shown)
    found = next((why for check in checks if (why := check(key))), "")
    return found or _twin(key, present)


def _null(key: str) -> str:
    return "The name holds a null character." if "\0" in key else ""


def _percent(key: str) -> str:
    text = key
    for _ in range(_DECODED):
        plain = decoded(text)
        if plain == text:
            return ""
        if _reveals(plain, text):
            return "Percent forms in the name hide a path."
        text = plain
    return "Percent forms in the name are nested." if decoded(text) != text else ""


def decoded(text: str) -> str:
    """Decode the percent forms once, as UTF-8; invalid bytes become a question mark."""
    return _PERCENT.sub(lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), text)


def _reveals(plain: str, text: str) -> bool:
    return any(plain.count(sign) > text.count(sign) for sign in _TELLING)


def _form(key: str) -> str:
    return "Unicode forms in the name hide a path." if _reveals(unicodedata.normalize("NFKC", key), key) else ""


def _backslash(key: str) -> str:
    return "The name holds a backslash." if "\\" in key else ""


def _absolute(key: str) -> str:
    return "The name begins at the root." if key.startswith("/") else ""


def _place(key: str) -> str:
    root = PurePosixPath("/team")
    joined = str(root / key)
    if not key or not joined.startswith(f"{root}/") or ".." in key.split("/"):
        return "The name leads out of the folder."
    if any(part.endswith(".md") for part in key.split("/")[:-1]):
        return "A folder in the name is called like a memory."
    return bad_path(key) or ""


def _shown(key: str) -> str:
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        return "The name is no text."
    if size > LONGEST:
        return "The name is too long."
    if unreadable_name(key):
        return "The name holds signs that cannot be seen."
    return "The name holds what looks like a secret." if find_secrets(key) else ""


def _twin(key: str, present: Collection[str]) -> str:
    mine = twin_form(key)
    return "Another name differs only in case or form." if any(other != key and twin_form(other) == mine for other in present) else ""


def twin_form(key: str) -> str:
    """Return a form that is equal for two names that some file system, or some reader, takes for
    one.
    """
    return fold(unicodedata.normalize("NFKC", key).casefold()).text

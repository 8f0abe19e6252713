"""The names of shared memories, which come from others and are validated (TM-3)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from memorist.auto_memory.memory_changes import find_memory_path_problem
from memorist.auto_memory.memory_manifest import has_misleading_name
from memorist.safety.hidden_characters import fold_hidden_and_lookalike_characters
from memorist.safety.secrets import find_secrets

MAX_KEY_BYTES = 400
"""Longest name in bytes; below every file system's limit together with a folder's path."""


_MAX_DECODINGS = 4
"""How often percent forms are decoded; a name that still changes then is made to deceive."""


_PERCENT = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


_PATH_SIGNS = ("..", "/", "\\", "\0")


class SharedNames:
    """Existing names: one that looks the same as another, or differs only in case or Unicode form,
    would be the same file elsewhere.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._by_folded_form: dict[str, set[str]] = {}
        for each in names:
            self.add(each)

    def add(self, key: str) -> None:
        """One more."""
        self._by_folded_form.setdefault(fold_name_for_collisions(key), set()).add(key)

    def holds_another_like(self, key: str) -> bool:
        """Whether another name would be the same file."""
        found = self._by_folded_form.get(fold_name_for_collisions(key), set())
        return not found <= {key}


def find_shared_name_problem(key: str, present: SharedNames | None = None) -> str:
    """Return why a name is not valid for a shared memory, beside those that are present, in one
    sentence; empty if it is.
    """
    checks = (
        _null_problem,
        _percent_problem,
        _form_problem,
        _backslash_problem,
        _absolute_problem,
        _location_problem,
        _visibility_problem,
    )
    found = next((why for check in checks if (why := check(key))), "")
    if not found and present is not None and present.holds_another_like(key):
        return "Another name differs only in case or form."
    return found


def _null_problem(key: str) -> str:
    return "The name holds a null character." if "\0" in key else ""


def _percent_problem(key: str) -> str:
    text = key
    for _ in range(_MAX_DECODINGS):
        plain = decode_percent(text)
        if plain == text:
            return ""
        if _is_disguised(plain, text):
            return "Percent forms in the name hide a path."
        text = plain
    return "Percent forms in the name are nested." if decode_percent(text) != text else ""


def decode_percent(text: str) -> str:
    """Decode the percent forms once, as UTF-8; invalid bytes become a question mark."""
    return _PERCENT.sub(
        lambda found: bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace"), text
    )


def _is_disguised(plain: str, text: str) -> bool:
    return any(plain.count(sign) > text.count(sign) for sign in _PATH_SIGNS)


def _form_problem(key: str) -> str:
    if _is_disguised(unicodedata.normalize("NFKC", key), key):
        return "Unicode forms in the name hide a path."
    return ""


def _backslash_problem(key: str) -> str:
    return "The name holds a backslash." if "\\" in key else ""


def _absolute_problem(key: str) -> str:
    return "The name begins at the root." if key.startswith("/") else ""


def _location_problem(key: str) -> str:
    root = PurePosixPath("/team")
    joined = str(root / key)
    if not key or not joined.startswith(f"{root}/") or ".." in key.split("/"):
        return "The name leads out of the folder."
    if any(part.endswith(".md") for part in key.split("/")[:-1]):
        return "A folder in the name is called like a memory."
    return find_memory_path_problem(key) or ""


def _visibility_problem(key: str) -> str:
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        return "The name is no text."
    if size > MAX_KEY_BYTES:
        return "The name is too long."
    if has_misleading_name(key):
        return "The name holds signs that cannot be seen."
    return "The name holds what looks like a secret." if find_secrets(key) else ""


def fold_name_for_collisions(key: str) -> str:
    """Return a form that is equal for two names that some file system, or some reader, takes for
    one.
    """
    return fold_hidden_and_lookalike_characters(unicodedata.normalize("NFKC", key).casefold()).text

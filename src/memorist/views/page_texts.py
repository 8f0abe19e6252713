"""The page's own words in the reader's language: English is in the code, other languages in
catalogues beside this module (`texts.de.toml`).

A catalogue is a table from the English text to its translation, or to a list of its plural forms.
What a catalogue lacks stays English, so that a new text is never missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib.resources import files

import msgspec

from memorist.core.lazy import lazy_pattern

ENGLISH = "en"

LANGUAGES: Mapping[str, Callable[[int], int]] = {
    ENGLISH: lambda count: count != 1,
    "de": lambda count: count != 1,
}
"""The languages there are, each with which of its plural forms a count takes (CLDR)."""

_language: ContextVar[str] = ContextVar("memorist_page_language", default=ENGLISH)


@contextmanager
def use_language(code: str) -> Iterator[None]:
    """Have everything that is said within it said in this language, of `LANGUAGES`."""
    token = _language.set(code)
    try:
        yield
    finally:
        _language.reset(token)


def get_current_language() -> str:
    """Code of the language that is spoken now."""
    return _language.get()


def translate(message: str, /, **values: object) -> str:
    """The text in the reader's language, with the values in their places."""
    return _translate(message, None).format(**values) if values else _translate(message, None)


def translate_each(*messages: str) -> list[str]:
    """Several texts in the reader's language, such as the heads of a table."""
    return [translate(message) for message in messages]


def translate_count(one: str, many: str, count: int, /, **values: object) -> str:
    """The text for one thing, or for many with their `{count}`."""
    return _translate(many, one, count).format(count=count, **values)


def _translate(message: str, one: str | None, count: int = 0) -> str:
    language = _language.get()
    form = int(LANGUAGES[language](count)) if one is not None else 0
    found = load_catalogue(language).get(message)
    if isinstance(found, list):
        return found[min(form, len(found) - 1)]
    return found or (message if one is None or form else one)


_WEIGHT = lazy_pattern(r"q\s*=\s*([01](?:\.\d{0,3})?)")
"""The weight of a language in `Accept-Language` (RFC 9110, 12.4.2)."""


@cache
def load_catalogue(language: str) -> dict[str, str | list[str]]:
    """The translations of a language; none for English."""
    if language == ENGLISH:
        return {}
    data = files("memorist.views").joinpath(f"texts.{language}.toml").read_bytes()
    return msgspec.toml.decode(data, type=dict[str, str | list[str]])


def choose_language(accepted: str) -> str:
    """The language that a browser's `Accept-Language` prefers among those there are; English where
    it names none of them.
    """
    best, highest = ENGLISH, 0.0
    for each in accepted[:1_000].split(","):
        name, _, rest = each.strip().partition(";")
        weight = _read_weight(rest)
        if (code := name.strip().casefold().split("-")[0]) in LANGUAGES and weight > highest:
            best, highest = code, weight
    return best


def _read_weight(text: str) -> float:
    if not text.strip():
        return 1.0
    match = _WEIGHT.fullmatch(text.strip())
    return float(match[1]) if match else 0.0

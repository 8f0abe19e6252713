"""The name and one-line description of a memory, from a statement's own words. Pure."""

from __future__ import annotations

import re
import unicodedata

from memorist.auto_memory.statements.statement_parser import Statement
from memorist.core.lazy import lazy_pattern
from memorist.core.text_analysis import parse_word_list

MAX_SLUG_CHARS = 60
"""Characters of a name at most."""

MAX_SLUG_WORDS = 7
"""Words of a name at most: enough to tell two memories apart in a list of files."""

MAX_DESCRIPTION_CHARS = 150
"""Characters of a description at most: a line of the index is about as long (AM-3)."""

_MAX_IDEOGRAPHS = 16
"""Characters of an unspaced run (Chinese, Japanese) that go into a name."""

_RESERVED_NAMES = frozenset({"memory", "team", "index", "con", "prn", "aux", "nul"})
"""Names with another meaning in the folder, or that some file systems refuse."""

_SLUG_STOP_WORDS = parse_word_list(
    """
             a about after all also always am an and any anything are as at be because been before
    but by can could dear did do does         doing don dont each either ever every everything for
    from further future going good got had has have he her here him his         how i if in
    instead into is it its just kindly let like ll may me might mine more most much must my myself
    nor now of off         ok okay on once only or other our out over own please pls re really s
    shall she should so some something such sure t than         thanks that the their them then
    there these they thing things this those to too up us use ve very want was way we well
    were what when whenever where which while who why will with would yes you your
    uh um er erm hmm ah oh eh euh
    """
)
_SLUG_WORD = lazy_pattern(r"[^\W_]+")
_IDEOGRAPH_RUN = lazy_pattern(r"[぀-ヿ㐀-䶿一-鿿]+")


def derive_memory_name_and_description(statement: Statement) -> tuple[str, str]:
    """Derive the name and the description.

    The name is in kebab case, letters and digits only, at most 60 characters; the description is
    one line of at most 150.
    """
    return _make_slug(statement.text) or statement.kind, _make_description(statement.text)


def _make_slug(text: str) -> str:
    words: list[str] = []
    for match in _SLUG_WORD.finditer(
        _strip_accents(re.sub(r"https?://(?:www\.)?", " ", text).replace("'", "").replace("’", ""))
    ):
        words += _split_ideographs(match[0].casefold())
    chosen = [word for word in words if word not in _SLUG_STOP_WORDS] or words
    slug = ""
    for word in chosen[:MAX_SLUG_WORDS]:
        longer = f"{slug}-{word}" if slug else word[:MAX_SLUG_CHARS]
        if len(longer) > MAX_SLUG_CHARS:
            break
        slug = longer
    return f"{slug}-note" if slug in _RESERVED_NAMES else slug


def _split_ideographs(word: str) -> list[str]:
    """Split a word into letters and runs of ideographs, the latter cut to a bearable length."""
    parts = list(_IDEOGRAPH_RUN.split(word))
    runs = [run[:_MAX_IDEOGRAPHS] for run in _IDEOGRAPH_RUN.findall(word)]
    mixed = [part for pair in zip(parts, [*runs, ""], strict=True) for part in pair]
    return [part for part in mixed if part]


def _strip_accents(text: str) -> str:
    """Strip accents, since names are typed by hand; recomposed, so that one name has one form."""
    parted = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize(
        "NFC", "".join(each for each in parted if not ("\u0300" <= each <= "\u036f"))
    )


def _make_description(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= MAX_DESCRIPTION_CHARS:
        return line
    cut = line[: MAX_DESCRIPTION_CHARS - 2]
    at = cut.rfind(" ")
    return (cut[:at] if at > MAX_DESCRIPTION_CHARS // 2 else cut).rstrip(" ,;:") + " …"

"""Derive a file name and a one-line description from a statement's own words. Pure."""

from __future__ import annotations

import re
import unicodedata

from memorist.auto_memory.said import Said
from memorist.core.later import late_pattern

SLUG_LENGTH = 60
"""Characters of a name at most."""

SLUG_WORDS = 7
"""Words of a name at most: enough to tell two memories apart in a list of files."""

DESCRIPTION_LENGTH = 150
"""Characters of a description at most: a line of the index is about as long (AM-3)."""

_IDEOGRAPHS = 16
"""Characters of an unspaced run (Chinese, Japanese) that go into a name."""

_TAKEN = frozenset({"memory", "team", "index", "con", "prn", "aux", "nul"})
"""Names with another meaning in the folder, or that some file systems refuse."""

_STOP = frozenset(
    re.findall(
        r"\w+",
        """
        a about after all also always am an and any anything are as at be because been before but by can could dear did do does
        doing don dont each either ever every everything for from further future going good got had has have he her here him his
        how i if in instead into is it its just kindly let like ll may me might mine more most much must my myself nor now of off
        ok okay on once only or other our out over own please pls re really s shall she should so some something such sure t than
        thanks that the their them then there these they thing things this those to too up us use ve very want was way we well
        were what when whenever where which while who why will with would yes you your
        """,
    )
)
_WORD = late_pattern(r"[^\W_]+")
_SPACELESS = late_pattern(r"[぀-ヿ㐀-䶿一-鿿]+")


def titled(said: Said) -> tuple[str, str]:
    """Derive the name and the description.

    The name is in kebab case, letters and digits only, at most 60 characters; the description is
    one line of at most 150.
    """
    return _slug(said.text) or said.kind, _description(said.text)


def _slug(text: str) -> str:
    words: list[str] = []
    for match in _WORD.finditer(_plain(re.sub(r"https?://(?:www\.)?", " ", text).replace("'", "").replace("’", ""))):
        words += _parts(match[0].casefold())
    chosen = [word for word in words if word not in _STOP] or words
    slug = ""
    for word in chosen[:SLUG_WORDS]:
        longer = f"{slug}-{word}" if slug else word[:SLUG_LENGTH]
        if len(longer) > SLUG_LENGTH:
            break
        slug = longer
    return f"{slug}-note" if slug in _TAKEN else slug


def _parts(word: str) -> list[str]:
    """Split a word into letters and runs of ideographs, the latter cut to a bearable length."""
    parts = list(_SPACELESS.split(word))
    runs = [run[:_IDEOGRAPHS] for run in _SPACELESS.findall(word)]
    mixed = [part for pair in zip(parts, [*runs, ""], strict=True) for part in pair]
    return [part for part in mixed if part]


def _plain(text: str) -> str:
    """Strip accents, since names are typed by hand; recomposed, so that one name has one form."""
    parted = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", "".join(each for each in parted if not ("\u0300" <= each <= "\u036f")))


def _description(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= DESCRIPTION_LENGTH:
        return line
    cut = line[: DESCRIPTION_LENGTH - 2]
    at = cut.rfind(" ")
    return (cut[:at] if at > DESCRIPTION_LENGTH // 2 else cut).rstrip(" ,;:") + " …"

"""Decide when two memories provably say the same: nothing is merged that any word, number, name or
order distinguishes (DR-5). Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from memorist.auto_memory.memory_file import MEMORIST_KEY, USER_KINDS, MemoryFile, Trust
from memorist.auto_memory.relative_dates import make_dates_absolute
from memorist.auto_memory.write_evidence import normalize_for_comparison, split_script_words
from memorist.core.lazy import lazy_pattern
from memorist.core.markdown import mark_fenced_code, split_lines_at_line_feeds


def mark_prose_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line with its end, and whether it is prose.

    Fenced and indented code is not; an unclosed fence reaches to the end.
    """
    for line, fenced in mark_fenced_code(split_lines_at_line_feeds(text)):
        yield line, not (fenced or line.startswith(("    ", "\t")))


_INLINE_CODE = lazy_pattern(r"(`[^`]*`)")
_LIST_MARK = lazy_pattern(r"^[-*+]\s+")
_PLEASE = lazy_pattern(r"^(?:[Pp]lease|[Pp]ls|[Kk]indly),?\s+(?=[a-z])")
_CONTRACTION = lazy_pattern(
    r"\b(do|does|did|is|are|was|were|should|would|could|must|has|have|had)n't\b", re.IGNORECASE
)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
_NUMBERED = re.compile(r"(?P<base>.+)-(?:[2-9]|[1-9]\d{1,2})\.md")
_OWN_HEADER_KEYS = frozenset(
    {"name", "description", "type", "metadata", "modified", "pinned", MEMORIST_KEY}
)
_DAY_RELATIVE = lazy_pattern(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|now|soon|currently|recently|lately|"
    r"tonight|this (?:morning|afternoon|evening|time)|at the moment"
    r"|these days|so far|yet|still|already|just)\b|现在|目前|最近|刚",
    re.IGNORECASE,
)
"""Words that mean another time on each day of writing.

In a rule ("no deploys on Friday") they always mean the same.
"""


def compute_text_meaning_key(text: str) -> tuple[str, ...]:
    """Reduce a text to what can carry meaning; equal for texts that say the same.

    Empty for a text without words.
    """
    found = [
        _fold_prose(line) if prose else line.rstrip()
        for line, prose in mark_prose_lines(unicodedata.normalize("NFC", text))
    ]
    return tuple(line for line in found if line.strip())


def _fold_prose(line: str) -> str:
    """Fold a line of prose; text in backticks stays verbatim."""
    parts = _INLINE_CODE.split(_LIST_MARK.sub("- ", line.strip()))
    parts[::2] = [
        _CONTRACTION.sub(r"\1 not", re.sub(r"\s+", " ", part.translate(_QUOTES)))
        for part in parts[::2]
    ]
    plain_line = "".join(parts)
    if parts[-1].endswith((".", "。")) and not parts[-1].endswith(".."):
        plain_line = plain_line[:-1]
    mark, rest = ("- ", plain_line[2:]) if plain_line.startswith("- ") else ("", plain_line)
    rest = _PLEASE.sub("", rest)
    return mark + (rest[0].lower() + rest[1:] if rest.split(" ", 1)[0].istitle() else rest)


def compute_memory_merge_key(topic: MemoryFile) -> tuple[object, ...] | None:
    """Return a key that is equal for memories that say the same.

    None for one that is never merged: without text, with a broken header, superseded, or relative
    to its day.
    """
    body = compute_text_meaning_key(topic.body)
    if (
        not body
        or topic.header_problem
        or topic.provenance.status != "active"
        or _is_day_relative(topic)
    ):
        return None
    return (
        body,
        topic.kind,
        _label_words(topic),
        _extra_description(topic, body),
        _other_header_fields(topic),
    )


def get_unnumbered_path(topic: MemoryFile) -> str:
    """Return the path to whose name memorist appended a number because it was taken; empty for any
    other memory.

    Only what the user said outright in a session is named by its text alone; a number in any other
    name may mean something.
    """
    found = _NUMBERED.fullmatch(topic.path)
    named_by_text = topic.provenance.trust is Trust.STATED and bool(topic.provenance.session)
    if found and named_by_text and topic.name in (topic.path.removesuffix(".md"), found["base"]):
        return f"{found['base']}.md"
    return ""


def are_equal_memories(one: MemoryFile, other: MemoryFile) -> bool:
    """Tell whether two memories are equal to the letter except for name and origin: text, kind,
    description, rest of the header.
    """
    return (one.body, one.kind, one.description, _other_header_fields(one)) == (
        other.body,
        other.kind,
        other.description,
        _other_header_fields(other),
    )


def _is_day_relative(topic: MemoryFile) -> bool:
    text = f"{topic.description}\n{topic.body}"
    return make_dates_absolute(text, 0.0) != text or (
        topic.kind not in USER_KINDS and _DAY_RELATIVE.search(text) is not None
    )


def _label_words(topic: MemoryFile) -> tuple[tuple[str, ...], ...]:
    """Return what the names say beyond the text: a memory's name and its file's, unless each
    consists of words of the text in order. A number counts as a word.
    """
    said = _plain_words(topic.body)
    names = {tuple(_plain_words(name)) for name in (topic.name, topic.path.removesuffix(".md"))}
    return tuple(sorted(name for name in names if not _is_subsequence(name, said)))


def _is_subsequence(few: Sequence[str], many: Sequence[str]) -> bool:
    left = iter(many)
    return all(word in left for word in few)


def _plain_words(text: str) -> list[str]:
    return split_script_words(normalize_for_comparison(text.replace("_", " ").replace("-", " ")))


def _extra_description(topic: MemoryFile, body: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the description adds; empty if it is the beginning of the text, as generated ones
    are.
    """
    found = compute_text_meaning_key(topic.description)
    start, whole = "".join(found), " ".join(body)
    cut = start.removesuffix("…").rstrip()
    if whole.startswith(cut) and (cut != start or not whole[len(cut) : len(cut) + 1].isalnum()):
        return ()
    return found


def _other_header_fields(topic: MemoryFile) -> str:
    """Return everything else written into the header."""
    front = topic.document.front
    if front is None:
        return ""
    own = [
        (name, str(value)) for name, value in front.values.items() if name not in _OWN_HEADER_KEYS
    ]
    metadata = [
        (str(name), str(value))
        for name, value in front.mapping_value("metadata").items()
        if name != "type"
    ]
    return repr((sorted(own), sorted(metadata)))

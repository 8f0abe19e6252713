"""Decide when two memories provably say the same: nothing is merged that any word, number, name or
order distinguishes (DR-5). Pure.

`memorist.auto_memory.said_same` asks whether two statements are the same rule, and ignores
articles, plurals and the order of lists. For removing a memory that is too much: "the server fails"
and "the servers fail" are two facts. Here only what cannot carry meaning is ignored: blanks, blank
lines, list marks, typographic quotes, a capital at the start of a line, `please`, a final period,
and `don't` for `do not`; in code nothing is. Two memories that say "tomorrow" mean two days, and
are never merged. Anything else that is alike is a question for the user
(`memorist.dream.conflicts`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from memorist.auto_memory.dates import absolute
from memorist.auto_memory.evidence import plain, words
from memorist.auto_memory.kinds import ABOUT_THE_PERSON, Trust
from memorist.auto_memory.topic import OWN_KEY, Topic
from memorist.core.later import late_pattern
from memorist.dream.lines import told_apart

_CODE = late_pattern(r"(`[^`]*`)")
_MARK = late_pattern(r"^[-*+]\s+")
_PLEASE = late_pattern(r"^(?:[Pp]lease|[Pp]ls|[Kk]indly),?\s+(?=[a-z])")
_SHORT = late_pattern(r"\b(do|does|did|is|are|was|were|should|would|could|must|has|have|had)n't\b", re.IGNORECASE)
_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
_NUMBERED = re.compile(r"(?P<base>.+)-(?:[2-9]|[1-9]\d{1,2})\.md")
_OWN = frozenset({"name", "description", "type", "metadata", "modified", "pinned", OWN_KEY})
_POINTING = late_pattern(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|now|soon|currently|recently|lately|tonight|this (?:morning|afternoon|evening|time)|at the moment"
    r"|these days|so far|yet|still|already|just)\b|现在|目前|最近|刚",
    re.IGNORECASE,
)
"""Words that mean another time on each day of writing.

In a rule ("no deploys on Friday") they always mean the same.
"""


def identity(text: str) -> tuple[str, ...]:
    """Reduce a text to what can carry meaning; equal for texts that say the same.

    Empty for a text without words.
    """
    found = [_prose(line) if prose else line.rstrip() for line, prose in told_apart(unicodedata.normalize("NFC", text))]
    return tuple(line for line in found if line.strip())


def _prose(line: str) -> str:
    """Fold a line of prose; text in backticks stays verbatim."""
    parts = _CODE.split(_MARK.sub("- ", line.strip()))
    parts[::2] = [_SHORT.sub(r"\1 not", re.sub(r"\s+", " ", part.translate(_QUOTES))) for part in parts[::2]]
    plain_line = "".join(parts)
    if parts[-1].endswith((".", "。")) and not parts[-1].endswith(".."):
        plain_line = plain_line[:-1]
    mark, rest = ("- ", plain_line[2:]) if plain_line.startswith("- ") else ("", plain_line)
    rest = _PLEASE.sub("", rest)
    return mark + (rest[0].lower() + rest[1:] if rest.split(" ", 1)[0].istitle() else rest)


def key(topic: Topic) -> tuple[object, ...] | None:
    """Return a key that is equal for memories that say the same.

    None for one that is never merged: without text, with a broken header, superseded, or relative
    to its day.
    """
    body = identity(topic.body)
    if not body or topic.problem or topic.provenance.status != "active" or _points_to_a_day(topic):
        return None
    return (body, topic.kind, _label(topic), _description(topic, body), _beside(topic))


def numbered(topic: Topic) -> str:
    """Return the path to whose name memorist appended a number because it was taken; empty for any
    other memory.

    Only what the user said outright in a session is named by its text alone; a number in any other
    name may mean something.
    """
    found = _NUMBERED.fullmatch(topic.path)
    named_by_text = topic.provenance.trust is Trust.STATED and bool(topic.provenance.session)
    return f"{found['base']}.md" if found and named_by_text and topic.name in (topic.path.removesuffix(".md"), found["base"]) else ""


def equal(one: Topic, other: Topic) -> bool:
    """Tell whether two memories are equal to the letter except for name and origin: text, kind,
    description, rest of the header.
    """
    return (one.body, one.kind, one.description, _beside(one)) == (other.body, other.kind, other.description, _beside(other))


def _points_to_a_day(topic: Topic) -> bool:
    text = f"{topic.description}\n{topic.body}"
    return absolute(text, 0.0) != text or (topic.kind not in ABOUT_THE_PERSON and _POINTING.search(text) is not None)


def _label(topic: Topic) -> tuple[tuple[str, ...], ...]:
    """Return what the names say beyond the text: a memory's name and its file's, unless each
    consists of words of the text in order. A number counts as a word.
    """
    said = _words(topic.body)
    names = {tuple(_words(name)) for name in (topic.name, topic.path.removesuffix(".md"))}
    return tuple(sorted(name for name in names if not _in_order(name, said)))


def _in_order(few: Sequence[str], many: Sequence[str]) -> bool:
    left = iter(many)
    return all(word in left for word in few)


def _words(text: str) -> list[str]:
    return words(plain(text.replace("_", " ").replace("-", " ")))


def _description(topic: Topic, body: tuple[str, ...]) -> tuple[str, ...]:
    """Return what the description adds; empty if it is the beginning of the text, as generated ones
    are.
    """
    found = identity(topic.description)
    start, whole = "".join(found), " ".join(body)
    cut = start.removesuffix("…").rstrip()
    if whole.startswith(cut) and (cut != start or not whole[len(cut) : len(cut) + 1].isalnum()):
        return ()
    return found


def _beside(topic: Topic) -> str:
    """Return everything else written into the header."""
    front = topic.document.front
    if front is None:
        return ""
    own = [(name, str(value)) for name, value in front.values.items() if name not in _OWN]
    metadata = [(str(name), str(value)) for name, value in front.mapping("metadata").items() if name != "type"]
    return repr((sorted(own), sorted(metadata)))

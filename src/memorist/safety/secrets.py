"""Secrets in a text: found and redacted before anything is stored or sent to a second model (SF-1).
docs/safety.md lists what is found.

`redact` leaves a mark with the rule's name in the place of a secret. Its result holds no secret
that any rule knows: marks can change what surrounds them, so the result is searched again until
nothing is found.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from memorist.safety.finding import Finding, apart
from memorist.safety.secret_contexts import hits, in_context
from memorist.safety.secret_formats import FORMATS, Format
from memorist.safety.secret_values import MARK, stands_for_a_secret

_MARK_HINT = "[redacted: "
_SHORTEST = 20
"""Characters of the shortest token with a format (an AWS access key): shorter words hold none."""
_CHUNK = 1 << 20
_BORDER = 512
_HINTS = tuple((kind, hint) for kind in FORMATS for hint in kind.hints)
_ROUNDS = 4
"""Times a text is redacted as a whole. Ordinary texts need one; a text crafted to need more loses
its remainder (`unreadable`).
"""


class Redacted(Struct, frozen=True):
    """A text without its secrets, and the rules that found them, each once, in the order of the
    text. Never the secrets themselves.
    """

    text: str
    rules: tuple[str, ...] = ()


def find_secrets(text: str) -> tuple[Finding, ...]:
    """Find the secrets in a text, in order, without overlaps. A mark left by `redact` is none, and
    none is inside one.
    """
    words = _words(text)
    long = "\n".join(word for word in words if len(word) >= _SHORTEST).encode("ascii", "replace").decode("ascii")
    there = [(kind, hint) for kind, hint in _HINTS if hint in long] if long else []
    found = [finding for kind, hint in there for finding in _formatted(text, kind, hint)]
    found += in_context(text, "\n".join(words))
    whole = apart(found)
    return tuple(_outside_marks(text, whole)) if whole and _MARK_HINT in text else whole


def redact(text: str) -> Redacted:
    """The text with a mark such as `[redacted: github-token]` for each secret; the same object when
    there are none.

    Applying it twice changes nothing more.
    """
    rules: dict[str, None] = {}
    rounds = 0
    while found := find_secrets(text):
        rounds += 1
        if rounds > _ROUNDS:
            text = f"{text[: found[0].start]}{mark('unreadable')}"
            rules["unreadable"] = None
            continue
        rules |= dict.fromkeys(finding.rule for finding in found)
        text = _replaced(text, found)
    return Redacted(text, tuple(rules))


def mark(rule: str) -> str:
    """The mark that replaces a secret found by the rule."""
    return f"[redacted: {rule}]"


def _replaced(text: str, found: tuple[Finding, ...]) -> str:
    parts: list[str] = []
    done = 0
    for finding in found:
        parts += (text[done : finding.start], mark(finding.rule))
        done = finding.end
    return "".join((*parts, text[done:]))


def _words(text: str) -> set[str]:
    """The distinct words of a text, in which hints are searched first: most words of a long text
    repeat.
    """
    words: set[str] = set()
    for start in range(0, len(text), _CHUNK):
        # A chunk reaches into the next, so that a word on the border is whole up to the reach in one of them.
        words.update(text[start : start + _CHUNK + _BORDER].split())
    return words


def _formatted(text: str, kind: Format, hint: str) -> Iterator[Finding]:
    group = 1 if kind.pattern.groups else 0
    done = 0
    for at in hits(text, hint):
        if at < done or at < kind.back:
            continue
        found = kind.pattern.match(text, at - kind.back)
        if found is None:
            continue
        done = found.end()
        if not stands_for_a_secret(found[group].removeprefix(hint)):
            yield Finding(*found.span(group), kind.name)


def _outside_marks(text: str, found: tuple[Finding, ...]) -> Iterator[Finding]:
    """The findings without the marks in them: a secret cannot hide behind a mark, and a mark is
    never marked again.
    """
    for finding in found:
        start = finding.start
        for inner in MARK.finditer(text, max(0, start - len(_MARK_HINT) - 41), finding.end):
            if inner.end() <= start:
                continue
            if inner.start() > start:
                yield Finding(start, inner.start(), finding.rule)
            start = inner.end()
        if start < finding.end:
            yield Finding(start, finding.end, finding.rule)

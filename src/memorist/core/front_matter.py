"""The YAML front matter of a Markdown file, read leniently and written without loss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.text_encoding import replace_surrogates
from memorist.core.yaml_text import dump_yaml, parse_yaml_scalars_as_text

MAX_FRONT_MATTER_CHARACTERS = 65_536
"""Longest header in characters that is still read as one; a typical one has a few hundred."""


_FIRST_READ = 2_048
"""Characters searched first: most headers end within them, so that a long body is not split into
lines.
"""


_FENCE = "---"


_END_FENCES = ("---", "...")


_KEY_LINE = re.compile(r"([A-Za-z_][\w.-]*)\s*:(?=\s|$)(.*)", re.DOTALL)


_PLAIN_LINE = re.compile(
    r"""([A-Za-z_][A-Za-z0-9_.-]{0,127}): +(?![-?:,\[\]{}#&*!|>'"%@`])([!-~](?:[ -~]*[!-~])?) *\n?
    """
)
"""A line whose value YAML reads literally, provided that it holds no `: ` or ` #` and does not end
in a colon.
"""

_PLAIN_ENTRY = re.compile(r"[A-Za-z_]\w*: [A-Za-z](?:[\w ./,-]*[\w./-])?", re.ASCII)
"""A key and a value that YAML writes as they are, without its emitter, which takes 0.5 ms."""
_YAML_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
"""Values that would be read back as something else than text (YAML 1.1), and are quoted."""


class FrontMatterEntry(Struct, frozen=True):
    """One top-level key with its source lines; an empty key holds the lines before the first
    key.
    """

    key: str
    raw: str


class FrontMatter(Struct, frozen=True):
    """A parsed header. `problem` says why it is not valid YAML; `values` then holds the values of
    its plain `key: value` lines.
    """

    entries: tuple[FrontMatterEntry, ...] = ()
    values: dict[str, Any] = {}
    problem: str = ""

    def text_value(self, key: str) -> str:
        """The value of a key as one line of text; empty when it is missing or not text."""
        value = self.values.get(key)
        return " ".join(value.split()) if isinstance(value, str) else ""

    def mapping_value(self, key: str) -> dict[str, Any]:
        """The value of a key as a mapping; empty when it is missing or not a mapping."""
        value = self.values.get(key)
        return value if isinstance(value, dict) else {}


class MarkdownDocument(Struct, frozen=True):
    """A Markdown file: its header (None when it has none) and the body after it.

    `opening` and `closing` keep the two fence lines as read: byte order mark, line ends and a
    closing `...` are written back unchanged.
    """

    front: FrontMatter | None
    body: str
    opening: str = f"{_FENCE}\n"
    closing: str = f"{_FENCE}\n"


def split_front_matter(text: str) -> MarkdownDocument:
    """Split a file's text into header and body.

    A header must begin on the first line and be closed; otherwise the whole text is body.
    """
    plain = text.removeprefix("\ufeff")
    lines, end = _find_header(plain, _FIRST_READ)
    if not end:
        lines, end = _find_header(plain, MAX_FRONT_MATTER_CHARACTERS + 1)
    if not end:
        return MarkdownDocument(None, text)
    length = sum(map(len, lines[: end + 1]))
    mark = text[: len(text) - len(plain)]
    return MarkdownDocument(
        _parse_header(lines[1:end]), plain[length:], mark + lines[0], lines[end]
    )


def _find_header(plain: str, length: int) -> tuple[list[str], int]:
    """The lines of the first `length` characters, and the index of the line that closes the header;
    0 when none does.
    """
    lines = plain[:length].splitlines(keepends=True)
    if not lines or lines[0].strip() != _FENCE:
        return lines, 0
    whole = (
        lines[1:-1] if len(plain) > length and length < MAX_FRONT_MATTER_CHARACTERS else lines[1:]
    )  # the last line may be cut
    return lines, next(
        (number for number, line in enumerate(whole, 1) if line.rstrip() in _END_FENCES), 0
    )


def join_front_matter(document: MarkdownDocument) -> str:
    """Write the file's text from its parts; the inverse of `split_front_matter`."""
    if document.front is None:
        return document.body
    unended = document.closing == document.closing.rstrip() and document.body
    closing = f"{document.closing}\n" if unended else document.closing
    entries = "".join(entry.raw for entry in document.front.entries)
    return f"{document.opening}{entries}{closing}{document.body}"


def update_front_matter(header: FrontMatter | None, values: dict[str, Any]) -> FrontMatter:
    """Return the header with these keys set; a value of None removes a key. Other keys keep their
    source lines.
    """
    known = header or FrontMatter()
    entries = []
    left = dict(values)
    for entry in known.entries:
        if entry.key not in values:
            entries.append(entry)
        elif entry.key not in left:
            continue  # a key that stood twice stands once after it was set
        elif (value := left.pop(entry.key)) is not None:
            entries.append(FrontMatterEntry(entry.key, _dump_entry(entry.key, value)))
    entries += [
        FrontMatterEntry(key, _dump_entry(key, value))
        for key, value in left.items()
        if value is not None
    ]
    return _parse_header("".join(entry.raw for entry in entries).splitlines(keepends=True))


def _dump_entry(key: str, value: object) -> str:
    line = f"{key}: {value}"
    plain = isinstance(value, str) and _PLAIN_ENTRY.fullmatch(line) is not None
    if plain and _YAML_WORDS.isdisjoint((key.lower(), str(value).lower())):
        return f"{line}\n"
    return dump_yaml({key: value})


def _parse_header(lines: list[str]) -> FrontMatter:
    quick = _parse_plain_header(lines)
    if quick is not None:
        return quick
    entries = _split_entries(lines)
    try:
        found = _parse_loose_yaml([replace_surrogates(line) for line in lines])
        problem = (
            "" if isinstance(found, dict) or found is None else "the header is no list of keys"
        )
    except ValueError as error:
        found, problem = None, f"the header is no valid YAML: {_error_line(error)}"
    values = (
        {key: value for key, value in found.items() if isinstance(key, str)}
        if isinstance(found, dict)
        else {}
    )
    return FrontMatter(
        entries, values | _plain_values(entries, None if problem else values), problem
    )


def _parse_loose_yaml(lines: list[str]) -> object:
    """Parse YAML in which a quoted value may hold quotation marks that nobody escaped, as models
    write them.
    """
    try:
        return parse_yaml_scalars_as_text("".join(lines))
    except ValueError:
        escaped = [_QUOTED_LINE.sub(_escape_quotation, line) for line in lines]
        if escaped == lines:
            raise
        return parse_yaml_scalars_as_text("".join(escaped))


_QUOTED_LINE = lazy_pattern(r'\A(\s*[\w-]+:[ \t]+)"(.+)"[ \t]*(\r?\n?)')


def _escape_quotation(found: re.Match[str]) -> str:
    plain = found[2].replace('\\"', '"').replace("\\", "\\\\").replace('"', '\\"')
    return f'{found[1]}"{plain}"{found[3]}'


_VALUE_LINE = lazy_pattern(r"(\s*[A-Za-z_][\w.-]*):[ \t]+(\S.*)")


def quote_invalid_values(lines: Sequence[str]) -> list[str]:
    """The lines of a header, with each one-line value quoted that is no YAML by itself.

    Models write `description: [refactor] one request: always` and mean the whole line.
    """
    return [_quote_invalid_value(line) for line in lines]


def _quote_invalid_value(line: str) -> str:
    found = _VALUE_LINE.fullmatch(line.rstrip())
    if found is None:
        return line
    key, text = found.groups()
    try:
        parse_yaml_scalars_as_text(f"{key.strip()}: {text}")
    except ValueError:
        if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
            text = text[1:-1].replace('\\"', '"')
        return f"{key}: '{text.replace(chr(39), 2 * chr(39))}'"
    return line


def _parse_plain_header(lines: list[str]) -> FrontMatter | None:
    """Parse a header of plain lines only, in a tenth of the time that YAML takes; None for any
    other header.
    """
    entries, values = [], {}
    for line in lines:
        match = _PLAIN_LINE.fullmatch(line)
        if match is None or ": " in match[2] or " #" in match[2] or match[2][-1] == ":":
            return None
        if match[1] in values:
            return None
        entries.append(FrontMatterEntry(match[1], line))
        values[match[1]] = match[2]
    return FrontMatter(tuple(entries), values)


def _error_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:160]


def _split_entries(lines: list[str]) -> tuple[FrontMatterEntry, ...]:
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        match = _KEY_LINE.match(line)
        if match:
            found.append((match[1], [line]))
        elif found:
            found[-1][1].append(line)
        else:
            found.append(("", [line]))
    return tuple(FrontMatterEntry(key, "".join(raw)) for key, raw in found)


def _plain_values(
    entries: tuple[FrontMatterEntry, ...], values: dict[str, Any] | None
) -> dict[str, str]:
    """Values on one line without quotes, where YAML failed (`values` is None) or cut the value at a
    `#`.

    Users write `description: fixes #12` and mean the whole line.
    """
    found = {}
    for entry in entries:
        match = _KEY_LINE.match(entry.raw)
        text = match[2].strip() if match else ""
        if not text or "\n" in text or text[0] in "\"'|>[{&*!%@`#":
            continue
        value = (values or {}).get(entry.key)
        if values is None or (isinstance(value, str) and " #" in text and text.startswith(value)):
            found[entry.key] = text
    return found

"""Markdown as far as memorist needs it: sections that begin with a level-one heading."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from memorist.core.lazy import lazy_module, lazy_pattern
from memorist.errors import SettingsError, UsageError


class MarkdownSection(Struct, frozen=True):
    """A heading line (with its `# `) and the text up to the next heading, without blank lines at
    either end.
    """

    header: str
    body: str

    @property
    def title(self) -> str:
        """The heading without its `#`."""
        return self.header.lstrip("#").strip()


class MarkdownOutline(Struct, frozen=True):
    """A text as a preamble and its level-one sections."""

    preamble: str
    sections: tuple[MarkdownSection, ...]


def parse_outline(text: str, titles: Collection[str] | None = None) -> MarkdownOutline:
    """Split a text at the lines that begin with `# `, outside fenced code.

    With `titles`, only headings in that list count (ignoring case and spacing): any other `# ` line
    stays part of the body.
    """
    wanted = None if titles is None else {_normalize_title(title) for title in titles}
    preamble: list[str] = []
    sections: list[tuple[str, list[str]]] = []
    fenced = False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        is_header = line.startswith("# ") and not fenced
        if wanted is not None and line.startswith("# ") and _normalize_title(line[2:]) in wanted:
            # A known header ends a fence that was never closed, or all that follows would be
            # swallowed.
            is_header, fenced = True, False
        elif wanted is not None:
            is_header = False
        if is_header:
            sections.append((line.rstrip(), []))
        else:
            (sections[-1][1] if sections else preamble).append(line.rstrip())
    return MarkdownOutline(
        preamble="\n".join(preamble).strip("\n"),
        sections=tuple(
            MarkdownSection(header, "\n".join(body).strip("\n")) for header, body in sections
        ),
    )


def _normalize_title(title: str) -> str:
    return " ".join(title.lower().split())


# Reading and writing YAML; the library is imported on first use.


if TYPE_CHECKING:
    import yaml
else:
    yaml = lazy_module("yaml")


MAX_YAML_BYTES = 65_536
"""Longest YAML text in bytes of UTF-8; a typical header has a few hundred."""
MAX_YAML_DEPTH = 16
"""Lists and mappings within each other; a typical header has three levels."""
MAX_YAML_VALUES = 4_096
"""Keys, texts, lists and mappings together; a typical header has some dozens."""


def parse_yaml(text: str) -> object:
    """Parse a text with every scalar kept as text: no date, number or `yes` is converted. None for
    an empty text.

    The text may come from a stranger, so the parser's events are read one by one and within bounds:
    libyaml's own loader calls itself for each level, and an alias repeats a whole value.

    Raises ValueError for invalid YAML, a second document, an anchor or alias, a key that is not
    text or occurs twice, and a broken bound (`MAX_YAML_BYTES`, `MAX_YAML_DEPTH`,
    `MAX_YAML_VALUES`).
    """
    if len(text) > MAX_YAML_BYTES or len(text.encode("utf-8", "replace")) > MAX_YAML_BYTES:
        raise ValueError(f"it is longer than {MAX_YAML_BYTES:,} bytes")
    try:
        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)(text)
        try:
            return _build_yaml_value(_bounded_yaml_events(loader))
        finally:
            loader.dispose()
    except (yaml.YAMLError, UnicodeError) as error:
        raise ValueError(str(error)) from error


def _bounded_yaml_events(loader: yaml.BaseLoader) -> Iterator[yaml.Event]:
    """The parser's events, up to the first that breaks a bound."""
    next_event: Callable[[], yaml.Event] = loader.get_event
    depth = values = documents = 0
    while loader.check_event():
        event = next_event()
        if getattr(event, "anchor", None) is not None:  # an alias event names its anchor too
            raise ValueError("it has anchors or aliases")
        values += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        if depth > MAX_YAML_DEPTH:
            raise ValueError(f"it is deeper than {MAX_YAML_DEPTH} levels")
        if values > MAX_YAML_VALUES:
            raise ValueError(f"it has more than {MAX_YAML_VALUES:,} values")
        if documents > 1:
            raise ValueError("it holds more than one document")
        yield event


def _build_yaml_value(events: Iterator[yaml.Event]) -> object:
    """The value that the events spell. Open lists and mappings wait on a stack; a mapping is a flat
    list of keys and values until it ends.
    """
    stack: list[list[object]] = [[]]
    for event in events:
        if isinstance(event, yaml.ScalarEvent):
            stack[-1].append(event.value)
        elif isinstance(event, yaml.CollectionStartEvent):
            stack.append([])
        elif isinstance(event, yaml.CollectionEndEvent):
            parts = stack.pop()
            mapping = isinstance(event, yaml.MappingEndEvent)
            stack[-1].append(_pair_yaml_keys(parts) if mapping else parts)
    return stack[0][0] if stack[0] else None


def _pair_yaml_keys(parts: list[object]) -> dict[str, object]:
    keys = [key for key in parts[::2] if isinstance(key, str)]
    if len(keys) < len(parts) // 2:
        raise ValueError("it has a key that is not text")
    if len(set(keys)) < len(keys):
        twice = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise ValueError(f"it has the key {twice[:40]!r} twice")
    return dict(zip(keys, parts[1::2], strict=True))


def dump_yaml(value: object) -> str:
    """Dump the value in block style, keys in their order, each on one line, without anchors."""
    dumper = yaml.SafeDumper
    text: str = yaml.dump(
        value,
        Dumper=type("AnchorlessDumper", (dumper,), {"ignore_aliases": lambda *_: True}),
        sort_keys=False,
        allow_unicode=True,
        width=10_000,
        default_flow_style=False,
    )
    return text


# The YAML front matter of a Markdown file, read leniently and written without loss.


MAX_HEADER = 65_536
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


class HeaderEntry(Struct, frozen=True):
    """One top-level key with its source lines; an empty key holds the lines before the first
    key.
    """

    key: str
    raw: str


class FrontMatter(Struct, frozen=True):
    """A parsed header. `problem` says why it is not valid YAML; `values` then holds the values of
    its plain `key: value` lines.
    """

    entries: tuple[HeaderEntry, ...] = ()
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
        lines, end = _find_header(plain, MAX_HEADER + 1)
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
        lines[1:-1] if len(plain) > length and length < MAX_HEADER else lines[1:]
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
            entries.append(HeaderEntry(entry.key, _dump_entry(entry.key, value)))
    entries += [
        HeaderEntry(key, _dump_entry(key, value))
        for key, value in left.items()
        if value is not None
    ]
    return _parse_header("".join(entry.raw for entry in entries).splitlines(keepends=True))


def _dump_entry(key: str, value: object) -> str:
    return dump_yaml({key: value})


def _parse_header(lines: list[str]) -> FrontMatter:
    quick = _parse_plain_header(lines)
    if quick is not None:
        return quick
    entries = _split_entries(lines)
    try:
        found = _parse_loose_yaml(lines)
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
        return parse_yaml("".join(lines))
    except ValueError:
        escaped = [_QUOTED_LINE.sub(_escape_quotation, line) for line in lines]
        if escaped == lines:
            raise
        return parse_yaml("".join(escaped))


_QUOTED_LINE = lazy_pattern(r'(\s*[\w-]+:[ \t]+)"(.+)"[ \t]*(\r?\n?)')


def _escape_quotation(found: re.Match[str]) -> str:
    plain = found[2].replace('\\"', '"').replace("\\", "\\\\").replace('"', '\\"')
    return f'{found[1]}"{plain}"{found[3]}'


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
        entries.append(HeaderEntry(match[1], line))
        values[match[1]] = match[2]
    return FrontMatter(tuple(entries), values)


def _error_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)[:160]


def _split_entries(lines: list[str]) -> tuple[HeaderEntry, ...]:
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        match = _KEY_LINE.match(line)
        if match:
            found.append((match[1], [line]))
        elif found:
            found[-1][1].append(line)
        else:
            found.append(("", [line]))
    return tuple(HeaderEntry(key, "".join(raw)) for key, raw in found)


def _plain_values(
    entries: tuple[HeaderEntry, ...], values: dict[str, Any] | None
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


# Escaping for XML-like tags.


_TEXT_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_WHITESPACE_ENTITIES = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
_TEXT_TABLE = str.maketrans(_TEXT_ENTITIES)
_ATTRIBUTE_TABLE = str.maketrans(_TEXT_ENTITIES | _WHITESPACE_ENTITIES)


def escape_text(text: str) -> str:
    """Escape text that stands between two tags."""
    return text.translate(_TEXT_TABLE)


def escape_attribute(value: str) -> str:
    """Escape an attribute value for use inside double quotes; the quotes themselves are not
    added.
    """
    return value.translate(_ATTRIBUTE_TABLE).replace('"', "&quot;")


def quote_attribute(value: str) -> str:
    """Escape an attribute value and add quotes: double ones, or single ones when the value holds
    double quotes only.
    """
    value = value.translate(_ATTRIBUTE_TABLE)
    if '"' not in value:
        return f'"{value}"'
    return f"'{value}'" if "'" not in value else '"{}"'.format(value.replace('"', "&quot;"))


# Templates with `{{name}}` placeholders, filled in one pass.


_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def find_placeholders(template: str) -> frozenset[str]:
    """The names of a template's placeholders."""
    return frozenset(_PLACEHOLDER.findall(template))


def render_template(template: str, values: Mapping[str, str], *, strict: bool) -> str:
    """Replace each `{{name}}` by its value, in one pass: a value that itself holds `{{x}}` or `$`
    is inserted unchanged.

    With `strict`, for memorist's own prompts, a name without a value raises SettingsError. Without
    it, for a user's template, the placeholder stays (SM-6).
    """

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in values:
            return values[name]
        if strict:
            raise SettingsError(f"the template asks for {{{{{name}}}}}, which has no value")
        return match.group(0)

    return _PLACEHOLDER.sub(value, template)


# Load the prompts that ship with memorist.


@cache
def load_prompt(name: str) -> str:
    """The text of a prompt, by its path below this folder without `.md`:
    `load_prompt("forks/boundaries")`. Unmodified.

    Raises UsageError when there is no such prompt.
    """
    path = Path(__file__).parents[1].joinpath("prompts", *f"{name}.md".split("/"))
    try:
        return path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise UsageError(
            f"memorist has no prompt {name!r}; look below its folder `prompts`."
        ) from error

"""What a memory rests on: the files and commands of the project that its text names, each with a
digest of what it was when the memory was written. Pure.

A changed anchor means that the project changed and that somebody should look; it never removes or
alters a memory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from memorist.auto_memory.memory_file import MEMORIST_KEY, MemoryFile, with_header_values
from memorist.core.lazy import lazy_pattern
from memorist.core.plural import join_first

ANCHORS_KEY = "anchors"
"""The list below memorist's own header key."""
MAX_ANCHORS = 12
"""Anchors of one memory. Our choice: a text that names more is about none of them."""
MAX_SEARCHED_CHARS = 20_000
"""Characters of a memory that are searched for names."""
DIGEST_HEX_DIGITS = 12
"""Hexadecimal digits of a digest that are kept: 48 bits, to tell two states of one file apart."""
MAX_NAMED_FILES = 3
"""Files that are named where a memory is shown; the rest is counted. Our choice."""

_PATH = re.compile(r"(?<![\w@:/\\.~-])(?:\./)?[\w@+.-]+(?:/[\w@+.()\[\]-]+)*")
_SPACED_PATH = lazy_pattern(
    r"`(?P<code>[^`\n]{1,200})`|[\"“](?P<quoted>[^\"“”\n]{1,200})[\"”]"
    r"|(?<![\w@+.-])(?P<plain>(?:[\w@+.-]+/)+[\w@+-]+(?: [\w@+()-]+){0,4}? [\w@+()-]+\.\w{1,8})"
    r"(?!\w)"
)
"""A path with spaces: in code or quotation marks, or from a slash on to the first ending."""
_COMMAND = re.compile(
    r"(?<![\w./-])(make|(?:npm|pnpm|yarn|bun)(?: run)?) ([\w][\w:.-]{0,40})(?![\w/])"
)
_ANCHOR = re.compile(rf"(file|command) (\S.*) ([0-9a-f]{{{DIGEST_HEX_DIGITS}}})")
_GENERATED = lazy_pattern(
    r"(?:^|/)(?:node_modules|dist|build|target|\.venv|venv|__pycache__|\.git|coverage)/|"
    r"(?:^|/)(?:package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|yarn\.lock|bun\.lockb?|"
    r"uv\.lock|poetry\.lock|Pipfile\.lock|Cargo\.lock|go\.sum|composer\.lock|Gemfile\.lock|"
    r"flake\.lock|CHANGELOG\.md)$|\.(?:min\.js|min\.css|map|snap|log|lock)$",
    re.IGNORECASE,
)


class AnchoredFileOrCommand(Struct, frozen=True):
    """One thing that a memory names, and what it was."""

    kind: str
    """`file`, or `command` for a target of a Makefile or a script of a package."""
    name: str
    """A path relative to the project's root with slashes, or the command as it is typed."""
    digest: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.digest}"


class AnchorChanges(Struct, frozen=True, kw_only=True):
    """What became of a memory's anchors. All empty: everything is as it was."""

    changed: tuple[str, ...] = ()
    """Names of anchors with another content."""
    missing: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    """Files of the same content at another path: the old one and the new one."""
    kept: int = 0
    """Anchors that are as they were, moved ones included."""

    @property
    def is_stale(self) -> bool:
        """Whether somebody should look."""
        return bool(self.changed or self.missing)

    @property
    def is_everything_gone(self) -> bool:
        """Whether nothing that the memory names is there any more."""
        return bool(self.missing) and not self.changed and not self.kept


def find_path_candidates(text: str) -> tuple[str, ...]:
    """What may be paths of files in a text, each once: words with a slash or an ending, and such
    ones with spaces.
    """
    found: dict[str, None] = {}
    for match in _PATH.finditer(text[:MAX_SEARCHED_CHARS]):
        name = match[0].removeprefix("./").rstrip(".")
        named = "/" in name or "." in name.strip(".") or name in ("Makefile", "Dockerfile")
        if named and ".." not in name and not _GENERATED.search(name):
            found[name] = None
    for match in _SPACED_PATH.finditer(text[:MAX_SEARCHED_CHARS]):
        name = (match["code"] or match["quoted"] or match["plain"]).removeprefix("./")
        named = " " in name.strip() and ("/" in name or "." in name.strip("."))
        if named and ".." not in name and not name.startswith("/"):
            found[name] = None
    return tuple(found)


def find_named_commands(text: str) -> tuple[str, ...]:
    """The targets and scripts that a text calls by name, each once."""
    return tuple(
        dict.fromkeys(
            f"{each[1]} {each[2]}" for each in _COMMAND.finditer(text[:MAX_SEARCHED_CHARS])
        )
    )


def is_generated_file(path: str) -> bool:
    """Whether a file changes by itself: a lock file, the output of a build."""
    return _GENERATED.search(path) is not None


def read_memory_anchors(topic: MemoryFile) -> tuple[AnchoredFileOrCommand, ...]:
    """The anchors in a memory's header; none for one that was written without."""
    front = topic.document.front
    given = front.mapping_value(MEMORIST_KEY).get(ANCHORS_KEY) if front else None
    matches = (
        _ANCHOR.fullmatch(each)
        for each in (given[:MAX_ANCHORS] if isinstance(given, list) else ())
        if isinstance(each, str)
    )
    return tuple(AnchoredFileOrCommand(each[1], each[2], each[3]) for each in matches if each)


def replace_anchors(topic: MemoryFile, anchors: Sequence[AnchoredFileOrCommand]) -> MemoryFile:
    """The memory with these anchors in place of those it has."""
    front = topic.document.front
    given = dict(front.mapping_value(MEMORIST_KEY)) if front else {}
    given.pop(ANCHORS_KEY, None)
    if anchors:
        given[ANCHORS_KEY] = [str(each) for each in anchors[:MAX_ANCHORS]]
    return with_header_values(topic, {MEMORIST_KEY: given or None})


def render_anchor_changes(changes: AnchorChanges, since: str) -> str:
    """One clause on what changed since a day; empty where nothing did."""
    clauses = [
        f"{join_first(names, MAX_NAMED_FILES)} {verb}"
        for names, verb in ((changes.changed, "changed"), (changes.missing, "gone"))
        if names
    ]
    return f"{' and '.join(clauses)} since {since or 'it was written'}" if clauses else ""

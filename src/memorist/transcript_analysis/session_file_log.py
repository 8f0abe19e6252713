"""The files of a session: what was read, what was changed and how, by path. Pure."""

from __future__ import annotations

import re

from msgspec import Struct, field, structs

from memorist.core.apply_patch import FileEdit
from memorist.core.bounded_collections import BoundedDict
from memorist.core.lazy import lazy_pattern
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_analysis import find_identifiers

MAX_LOGGED_FILES = 400
"""Files kept; at twice the number those only read, and longest ago, are dropped first."""

_REPLACEMENT_LIMIT = 2
_TOUCHED_LIMIT = 8
_SYMBOL_LIMIT = 14
_REPLACEMENT_LENGTH = 90
_COMPARED_LINES = 120
_DECLARATION = lazy_pattern(
    r"(?:^|\n)(?:[ \t]*(?:export\s+)?(?:default\s+)?(?:pub(?:lic)?(?:\([^)]*\))?\s+|private\s+|"
    r"protected\s+|static\s+|async\s+|abstract\s+)*"
    r"(?:func(?:tion)?\*?\s+(?:\([^)]*\)\s*)?|def\s+|class\s+|struct\s+|enum\s+|trait\s+|"
    r"interface\s+|type\s+|fn\s+|describe\(|test\(|it\()"
    r"|(?:export\s+)?const\s+)"
    r"['\"]?([A-Za-z_]\w[\w.$]{1,60})"
)
_CHANGED_COMMENT = lazy_pattern(r"^\s*(?://+|#+|\*+|/\*+|--|;+|<!--)\s*([A-Za-z`\"'(].{24,})$")
_STATEMENT = lazy_pattern(r"\s(?:[-+*/|&]?=|==|:=|=>|->|\+|\*|&&|\|\|)\s|\w\(\S*\)\s*[;:{]?$")
_PROPERTY = lazy_pattern(r"[a-z][\w-]*:\s")
_CHANGED_CODE = lazy_pattern(r"[=;{}<>]|\)\s*$")


class FileRecord(Struct):
    """One file: how often it was read and changed, how it came or went, what was changed inside."""

    path: str
    order: int
    reads: int = 0
    edits: int = 0
    fate: str = ""
    """`created`, `rewritten`, `deleted` or `moved`."""
    added: dict[str, None] = field(default_factory=dict)
    """Lines of prose that changes added: text, comments, messages."""
    pairs: dict[str, str] = field(default_factory=dict)
    """Single-line replacements: the new line, mapped to the line it replaced."""
    symbols: dict[str, None] = field(default_factory=dict)
    """Functions and types declared in changed text."""
    touched: dict[str, None] = field(default_factory=dict)
    """Identifiers in added lines."""
    came: dict[str, None] = field(default_factory=dict)
    """The newest lines added in this session: replacing one of them replaces no earlier line."""
    reverted: bool = False
    """Its changes were undone, by version control or by hand."""
    has_text: bool = False
    """Whether a read showed any of its text."""


_FILE_TEXT = lazy_pattern(r"^(?![^\n]*\bempty\b)[ \t]*[^\s<(][^\n]*[^\W\d_]", re.MULTILINE)
"""A line of a file with a letter; what the tool says around it, or of an empty file, is none."""
_NEW_LINES_LIMIT = 80
_NEW_LINE_LENGTH = 200
_ADDED_LIMIT = 6
_ADDED_LENGTH = 160


class ChangedCommentsAndIdentifiers(Struct, frozen=True):
    """The comments and identifiers in a change, besides what its file record holds."""

    comments: str
    names: tuple[str, ...]


class SessionFileLog:
    """The files of a session, at most `2 * MAX_LOGGED_FILES`."""

    __slots__ = ("_before", "_order", "files")

    def __init__(self) -> None:
        self.files: dict[str, FileRecord] = {}
        self._before: dict[str, FileRecord] = BoundedDict(MAX_LOGGED_FILES)
        """File records as of the last commit, for the files changed since."""
        self._order = 0

    def get_or_create_record(self, path: str) -> FileRecord:
        """The record of this path, created if missing, and marked as the newest."""
        self._order += 1
        found = self.files.get(path)
        if found is None:
            if len(self.files) >= 2 * MAX_LOGGED_FILES:
                kept = sorted(self.files.values(), key=lambda each: (each.edits > 0, each.order))[
                    -MAX_LOGGED_FILES:
                ]
                self.files = {each.path: each for each in kept}
            found = self.files[path] = FileRecord(path, self._order)
        found.order = self._order
        return found

    def record_read(self, path: str, shown: str = "") -> None:
        """Record a read of a file, and what it showed."""
        note = self.get_or_create_record(path)
        note.reads += 1
        note.has_text = note.has_text or _FILE_TEXT.search(shown) is not None

    def record_change(self, change: FileEdit, *, created: bool) -> ChangedCommentsAndIdentifiers:
        """Record a change of a file."""
        note = self.get_or_create_record(change.path)
        self._save_before_change(note)
        known = note.edits + note.reads > 0
        note.edits += 1
        note.reverted = False
        if change.kind == "write":
            note.fate = (
                "created"
                if created or note.fate == "created"
                else "rewritten"
                if known
                else note.fate or "written"
            )
        elif change.kind != "edit":
            note.fate = {"add": "created", "delete": "deleted", "move": "moved"}[change.kind]
        removed, came = _compare_lines(change)
        _record_replacement(note, removed, came)
        _record_declarations(note, removed, came)
        for words in _find_added_prose(came):
            if len(note.added) < _ADDED_LIMIT:
                note.added[words] = None
        comments = "\n".join(
            match[1].strip(" */")
            for line in came
            if (match := _CHANGED_COMMENT.match(line)) and not _CHANGED_CODE.search(match[1])
        )
        fresh = find_identifiers(_first_whole_lines(came, 2_500))
        former = find_identifiers(_first_whole_lines(removed, 1_200))
        for name in fresh:
            if name not in former and len(note.touched) < _TOUCHED_LIMIT and 3 < len(name) < 50:
                note.touched[name] = None
        return ChangedCommentsAndIdentifiers(comments, fresh + former)

    def _save_before_change(self, note: FileRecord) -> None:
        """Save a record as it is before the first change since the last commit."""
        if note.path not in self._before:
            self._before[note.path] = _copy_record(note)

    def on_commit(self) -> None:
        """After a commit, earlier changes can no longer be undone by restoring a file."""
        self._before.clear()

    def on_delete(self, path: str) -> None:
        """A file that was changed, or the folder it is in, was deleted. A `path` of several parts
        may be only the end of a path.
        """
        bare = path.removeprefix("./")
        for note in self.files.values():
            inside = f"{note.path}/".startswith(f"{bare}/")
            if note.edits and (inside or ("/" in bare and note.path.endswith(f"/{bare}"))):
                note.fate = "deleted"

    def on_restore(self, path: str) -> None:
        """The changes of a file since the last commit were undone; `.` stands for all files. `path`
        may be only the end of a path.
        """
        for changed in [
            each
            for each in self._before
            if path in (".", each) or each.endswith("/" + path.removeprefix("./"))
        ]:
            note = self._before.pop(changed)
            if changed in self.files:
                note.reads = self.files[changed].reads
                note.order = self.files[changed].order
                note.reverted = not note.edits
                self.files[changed] = note


def _copy_record(note: FileRecord) -> FileRecord:
    parts = {
        "added": dict(note.added),
        "pairs": dict(note.pairs),
        "symbols": dict(note.symbols),
        "touched": dict(note.touched),
    }
    return structs.replace(note, came=dict(note.came), **parts)


def _record_replacement(note: FileRecord, removed: list[str], came: list[str]) -> None:
    """Record what a change replaces. A line that was added and removed again leaves no trace; one
    replaced twice keeps its first form.
    """
    old = [line.strip() for line in removed if line.strip()]
    new = [line.strip() for line in came if line.strip()]
    single = (
        old[0]
        if len(old) == len(new) == 1 and len(old[0]) + len(new[0]) <= _NEW_LINE_LENGTH * 2
        else ""
    )
    first = note.pairs.get(single, "" if single in note.came else single)
    for line in old:
        note.pairs.pop(line, None)
        note.came.pop(line, None)
    if first and first != new[0] and len(note.pairs) < _REPLACEMENT_LIMIT:
        note.pairs[new[0]] = first
    note.came.update(
        (line, None) for line in new if len(line) <= _NEW_LINE_LENGTH and line != first
    )
    for line in list(note.came)[:-_NEW_LINES_LIMIT]:
        del note.came[line]


def _record_declarations(note: FileRecord, removed: list[str], came: list[str]) -> None:
    """Record the functions and types that a change declares, and remove those it deletes."""
    for symbol in _DECLARATION.findall("\n".join(removed)):
        note.symbols.pop(symbol, None)
    for symbol in _DECLARATION.findall("\n".join(came)):
        if len(note.symbols) < _SYMBOL_LIMIT:
            note.symbols[symbol] = None


def _first_whole_lines(lines: list[str], limit: int) -> str:
    """The first whole lines of at most `limit` characters."""
    text = "\n".join(lines)
    return text if len(text) <= limit else text[: text.rfind("\n", 0, limit) + 1]


def _compare_lines(change: FileEdit) -> tuple[list[str], list[str]]:
    """The removed and the added lines, in order; lines present on both sides are left out."""
    old, new = change.old.split("\n")[:_COMPARED_LINES], change.new.split("\n")[:_COMPARED_LINES]
    before, after = {line.strip() for line in old}, {line.strip() for line in new}
    return [line for line in old if line.strip() not in after], [
        line for line in new if line.strip() not in before
    ]


def _find_added_prose(came: list[str]) -> list[str]:
    """The added lines that read as prose rather than code: at least five words, few signs."""
    kept = []
    for line in came:
        text = line.strip().strip("-*+•#/|<>!\"',; ").removesuffix('"').strip()
        text = text.replace("**", "") if text.count("**") % 2 else text
        if _STATEMENT.search(text) or text.count("`") % 2:
            continue
        words = text.count(" ") + 1
        if (
            words >= 5
            and not _PROPERTY.match(text)
            and sum(sign in "(){}[]=<>;:\"'$&|\\/_" for sign in text) <= words // 2
        ):
            kept.append(shorten_to_one_line(text, _ADDED_LENGTH))
    return kept


def render_line_replacement(old: str, new: str) -> str:
    """Render a one-line replacement as the difference with surrounding words; empty where
    back-ticks prevent quoting.
    """
    if "`" in old + new:
        return ""
    if len(old) > _REPLACEMENT_LENGTH or len(new) > _REPLACEMENT_LENGTH:
        start = next(
            (at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
            min(len(old), len(new)),
        )
        start = old.rfind(" ", 0, max(start - 1, 0)) + 1
        old, new = old[start:], new[start:]
        end = next(
            (
                at
                for at, (a, b) in enumerate(zip(reversed(old), reversed(new), strict=False))
                if a != b
            ),
            0,
        )
        after = old.find(" ", len(old) - end) if end else -1
        if after >= 0:
            end = len(old) - after
            old, new = old[: len(old) - end], new[: len(new) - end]
    before, now = (shorten_to_one_line(each, _REPLACEMENT_LENGTH) for each in (old, new))
    return f"`{before}` → `{now}`" if old.strip() and new.strip() else ""


_STATUS = lazy_pattern(
    r"^(?:\s*(?:modified|new file|deleted|renamed):\s+(\S.*)|(?:[ MADRCU?]{2})\s+(\S+)|"
    r"\s{3}([\w./@-]+\.\w{1,5}))$"
)


def list_git_status_files(text: str) -> tuple[str, ...]:
    """The files that a `git status` lists."""
    found = (match for line in text.split("\n")[:80] if (match := _STATUS.match(line)))
    return tuple(
        dict.fromkeys(next(part for part in match.groups() if part).strip() for match in found)
    )

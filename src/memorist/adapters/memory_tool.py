"""A memory file as an agent's memory tool sees it: its path under `/memories`, its text without
memorist's own front matter key, its lines. Pure.

Names and forms follow Anthropic's memory tool `memory_20250818`: the root, line numbers from 1 in
six columns and a tab, sizes before paths.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

from msgspec.structs import replace

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import (
    ChangeReason,
    MemoryChange,
    build_memory_removal,
    find_memory_path_problem,
    render_change_headline,
)
from memorist.auto_memory.memory_file import (
    MEMORIST_KEY,
    MemoryFile,
    parse_memory_file,
    with_header_values,
)
from memorist.auto_memory.memory_index import MemoryIndex
from memorist.auto_memory.memory_manifest import INDEX_NAME
from memorist.auto_memory.team_memory import TEAM_PREFIX
from memorist.auto_memory.write_evidence import (
    WriteEvidence,
    collect_write_evidence,
    select_newest_texts_that_fit,
)
from memorist.auto_memory.write_gate import (
    RefusedChange,
    judge_memory_change,
    list_reasons_of_verdicts,
)
from memorist.auto_memory.write_result import WriteResult
from memorist.core.front_matter import MarkdownDocument, join_front_matter
from memorist.core.messages import Message
from memorist.core.text_encoding import encode_file_text_as_utf8
from memorist.engine.session import Session
from memorist.errors import InputError
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.store.transcript_reader import read_transcript

ROOT = "/memories"
MAX_LISTED_FOLDER_LEVELS = 2
"""Depth of folders in a folder view."""
LINE_NUMBER_WIDTH = 6
"""Columns of a line number."""
CONTEXT_LINES = 2
"""Lines shown before and after a change."""
MAX_VIEW_CHARS = 100_000
"""Longest view in characters. Our choice: a larger file is read in ranges."""

_ESCAPED_CHARACTER = re.compile(r"%(?:2e|2f|5c|00|25)", re.IGNORECASE)
"""Percent-encoded dots, separators, nulls and percent signs: some reader may decode them."""


def parse_memory_tool_path(path: object) -> str:
    """Return the path below the root without leading or trailing slash; empty for the root itself.

    Raises InputError for any other path.
    """
    if not isinstance(path, str):
        raise InputError(f"a path is a text that begins with {ROOT}")
    inner = path.removeprefix(ROOT)
    if not path.startswith(ROOT) or (inner and not inner.startswith("/")):
        raise InputError(f"{path!r} is not below {ROOT}")
    inner = inner[1:].removesuffix("/")
    if not inner:
        return ""
    problem = (
        "The path holds an escaped sign."
        if _ESCAPED_CHARACTER.search(inner)
        else find_memory_path_problem(f"{inner}/x.md")
    )
    if problem:
        raise InputError(f"{path!r} names nothing in memory. {problem}")
    return inner


def parse_file_path(path: object) -> str:
    """Return the path of a memory file; `.md` is added to names without it.

    Raises InputError for a path that cannot be a memory's.
    """
    inner = parse_memory_tool_path(path)
    name = inner if inner.endswith(".md") else f"{inner}.md"
    problem = find_memory_path_problem(name) if inner else f"It is the folder {ROOT} itself."
    if problem:
        raise InputError(f"{path!r} cannot be a memory's. {problem}")
    return name


def render_text_without_provenance(topic: MemoryFile) -> str:
    """Return the text that the tool works on: the file without the key under which memorist keeps
    its provenance.
    """
    document = (
        with_header_values(topic, {MEMORIST_KEY: None}).document
        if topic.document.front is not None
        else topic.document
    )
    if document.front is not None and not document.front.entries:
        document = MarkdownDocument(None, document.body)
    return join_front_matter(document).encode("utf-8", "replace").decode()


def encode_file_keeping_provenance(path: str, text: str, before: MemoryFile | None) -> bytes:
    """Return the file for this text, with what memorist had stored under its own key before."""
    topic = parse_memory_file(path, encode_file_text_as_utf8(text))
    own = (
        before.document.front.mapping_value(MEMORIST_KEY)
        if before is not None and before.document.front is not None
        else {}
    )
    return encode_file_text_as_utf8(
        (with_header_values(topic, {MEMORIST_KEY: own}) if own else topic).text()
    )


def split_lines_without_ends(text: str) -> list[str]:
    """Split a text into lines, without the empty one after the last newline."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def number_lines(lines: Sequence[str], first: int = 1) -> str:
    """Render lines with their numbers."""
    return "\n".join(
        f"{number:>{LINE_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first)
    )


def render_lines(text: str, view_range: object) -> str:
    """Render the lines of a range `[first, last]`, or all; a last of -1 is the end.

    Raises InputError for an invalid range.
    """
    lines = split_lines_without_ends(text)
    first, last = _parse_range(view_range, len(lines))
    shown = number_lines(lines[first - 1 : last], first)
    if len(shown) <= MAX_VIEW_CHARS:
        return shown
    cut = shown[:MAX_VIEW_CHARS].rpartition("\n")[0] or shown[:MAX_VIEW_CHARS]
    return f"{cut}\n({len(lines):,} lines in all; view the rest with view_range)"


def _parse_range(view_range: object, count: int) -> tuple[int, int]:
    if view_range is None:
        return 1, count
    if (
        not isinstance(view_range, list | tuple)
        or len(view_range) != 2
        or not all(type(each) is int for each in view_range)
    ):
        raise InputError("view_range is a pair of line numbers, such as [1, 20]")
    first, last = max(1, view_range[0]), count if view_range[1] == -1 else view_range[1]
    if first > max(1, count) or last < first:
        raise InputError(
            f"view_range {list(view_range)} lies outside the file, which has {count} lines"
        )
    return first, min(last, count)


def replace_once(text: str, old: object, new: object) -> tuple[str, int]:
    """Replace the single occurrence of `old`; return the text and the line number of the change.

    Raises InputError unless it occurs exactly once.
    """
    if not isinstance(old, str) or not old or not isinstance(new, str):
        raise InputError("old_str is the text to replace and new_str the one to put there")
    count = text.count(old)
    if count != 1:
        where = (
            "nowhere"
            if not count
            else f"{count} times (lines {', '.join(map(str, _lines_with(text, old)))})"
        )
        raise InputError(
            f"nothing was replaced: old_str stands in the file {where}, and has to stand there once"
        )
    start = text.index(old)
    return text[:start] + new + text[start + len(old) :], text[:start].count("\n") + 1


def _lines_with(text: str, old: str) -> list[int]:
    found: list[int] = []
    start = text.find(old)
    while start >= 0 and len(found) < 20:
        found.append(text[:start].count("\n") + 1)
        start = text.find(old, start + 1)
    return found


def insert_lines(text: str, line: object, new: object) -> str:
    """Insert `new` after that many lines. Raises InputError for a position outside the text."""
    lines = split_lines_without_ends(text)
    if type(line) is not int or not 0 <= line <= len(lines):
        raise InputError(f"insert_line is a number from 0 to {len(lines)}")
    if not isinstance(new, str):
        raise InputError("insert_text is the text to insert")
    lines.insert(line, new.removesuffix("\n"))
    return "\n".join(lines) + "\n"


def render_lines_around(text: str, line: int) -> str:
    """Render the lines around a changed one."""
    lines = split_lines_without_ends(text)
    first = max(1, line - CONTEXT_LINES)
    return number_lines(lines[first - 1 : line + CONTEXT_LINES], first)


def render_folder(folder: str, files: Iterable[tuple[str, int]]) -> str:
    """Render a folder's content, `LEVELS` deep: size, tab and path in each line; folders end with a
    slash and have the size of all they hold.

    `files` are paths below the root with sizes in bytes. Raises InputError for a folder that does
    not exist.
    """
    start = f"{folder}/" if folder else ""
    entries = [(path.removeprefix(start), size) for path, size in files if path.startswith(start)]
    if folder and not entries:
        raise InputError(f"there is no {ROOT}/{folder}")
    sizes: dict[str, int] = {}
    for path, size in entries:
        parts = path.split("/")
        for depth in range(1, min(len(parts), MAX_LISTED_FOLDER_LEVELS + 1)):
            subfolder = "/".join(parts[:depth]) + "/"
            sizes[subfolder] = sizes.get(subfolder, 0) + size
        if len(parts) <= MAX_LISTED_FOLDER_LEVELS:
            sizes[path] = size
    top = ROOT if not folder else f"{ROOT}/{folder}"
    rows = [
        (sum(size for _, size in entries), top),
        *((size, f"{top}/{path}") for path, size in sorted(sizes.items())),
    ]
    return "\n".join(f"{format_size(size)}\t{path}" for size, path in rows)


def format_size(size: int) -> str:
    """Format a number of bytes as the tool does: `312B`, `1.5K`, `2M`."""
    value, unit = float(size), "B"
    for larger in ("K", "M", "G"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f}{unit}" if value == int(value) else f"{value:.1f}{unit}"


def is_generated_memory_file(path: str) -> bool:
    """Whether memorist generates a file, so that it cannot be written."""
    return path.rsplit("/", 1)[-1].casefold() == INDEX_NAME.casefold()


# A project's memory behind an agent's memory tool: the same gate, history and index as for every
# other write.


def collect_session_evidence(session: Session) -> WriteEvidence:
    """Collect what can prove the origin of a memory from a conversation's transcript: the whole of
    it, including what was compacted.
    """
    session.fetch("")  # flushes the transcript to disk
    evidence = collect_write_evidence(
        session.id,
        (
            entry
            for entry in read_transcript(session.layout.transcript)
            if isinstance(entry, Message)
        ),
    )
    return replace(evidence, outside_texts=select_newest_texts_that_fit(evidence.outside_texts))


class MemoryToolCommands:
    """The commands of the tool. Each returns the text for the model.

    They raise InputError with a sentence for the model, WriteConflict, and StoreError. They run in
    the thread of the engine that `memory` belongs to. `read_evidence` returns what the conversation
    holds; without it nothing proves the origin of a change.
    """

    def __init__(
        self, memory: AutoMemory, read_evidence: Callable[[], WriteEvidence] = WriteEvidence
    ) -> None:
        self._memory = memory
        self._read_evidence = read_evidence

    def view(self, path: object, view_range: object = None) -> str:
        """Show a folder's files, or a file's lines."""
        inner = parse_memory_tool_path(path)
        index = self._memory.visible_index()
        files = [(head.path, head.size) for head in self._memory.visible_headers()]
        if not inner or any(name.startswith(f"{inner}/") for name, _ in files):
            index_files = [(INDEX_NAME, index.size)] if index.text else []
            return neutralize_markup(render_folder(inner, [*index_files, *files]))
        return neutralize_markup(render_lines(self._visible_text(path, index), view_range))

    def _visible_text(self, path: object, index: MemoryIndex) -> str:
        inner = parse_memory_tool_path(path)
        if inner == INDEX_NAME:
            return index.text
        return render_text_without_provenance(self._read(path))

    def create(self, path: object, text: object) -> str:
        """Create a file."""
        name = parse_file_path(path)
        if not isinstance(text, str):
            raise InputError("file_text is the text of the file")
        if self._exists(name):
            raise InputError(f"there is a file {ROOT}/{name}; change it with str_replace or insert")
        change = MemoryChange(
            path=name, before=None, after=encode_file_keeping_provenance(name, text, None)
        )
        return self._write([change], "create", name, f"{ROOT}/{name} was written")

    def str_replace(self, path: object, old: object, new: object) -> str:
        """Replace one text in a file."""
        topic = self._read(path)
        text, line = replace_once(render_text_without_provenance(topic), old, new)
        return self._change(
            topic,
            text,
            f"{ROOT}/{topic.path} was changed:\n"
            f"{neutralize_markup(render_lines_around(text, line))}",
        )

    def insert(self, path: object, line: object, new: object) -> str:
        """Insert lines into a file."""
        topic = self._read(path)
        text = insert_lines(render_text_without_provenance(topic), line, new)
        return self._change(topic, text, f"{ROOT}/{topic.path} was changed")

    def _change(self, topic: MemoryFile, text: str, done: str) -> str:
        change = MemoryChange(
            path=topic.path,
            before=encode_file_text_as_utf8(topic.text()),
            after=encode_file_keeping_provenance(topic.path, text, topic),
        )
        return self._write([change], "change", topic.path, done)

    def delete(self, path: object) -> str:
        """Delete a file, or a folder with all its files: the user is asked first."""
        topics = [self._memory.folder.read_memory_file(name) for name in self._resolve_names(path)]
        changes = [*map(build_memory_removal, topics)]
        return self._write(changes, "delete", parse_memory_tool_path(path), f"{path} was deleted")

    def rename(self, old: object, new: object) -> str:
        """Rename a file or folder. The content stays the same, so its provenance is kept."""
        moves = self._plan_moves(old, new)
        self._memory.headers()
        case = self._memory.build_gate_context(
            "agent", self._evidence_for_moves(moves), {each.path for each in moves}
        )
        verdicts = [judge_memory_change(change, case) for change in moves]
        refused = [verdict for verdict in verdicts if isinstance(verdict, RefusedChange)]
        if refused:
            _raise_refused(refused)
        why = ChangeReason(
            actor="agent",
            what=render_change_headline(
                "rename", f"{parse_memory_tool_path(old)} to {parse_memory_tool_path(new)}"
            ),
            session=case.evidence.session,
        )
        reasons = (
            *list_reasons_of_verdicts(verdicts),
            *(("the policy is review",) if self._memory.settings.policy == "review" else ()),
        )
        if reasons:
            return _render_outcome(self._memory.add_proposals(moves, why, "; ".join(reasons)), "")
        self._memory.folder.apply_changes(moves, why)
        return f"{old} is now {new}"

    def _plan_moves(self, old: object, new: object) -> list[MemoryChange]:
        if self._memory.settings.policy == "off":
            raise InputError("memory is not written here: the policy is off")
        source = parse_memory_tool_path(old)
        names = self._resolve_names(old)
        whole = names not in ([source], [f"{source}.md"])
        target = parse_memory_tool_path(new) if whole else parse_file_path(new)
        changes = []
        for name in names:
            goal = f"{target}/{name.removeprefix(f'{source}/')}" if whole else target
            if (
                not parse_memory_tool_path(f"{ROOT}/{goal}")
                or is_generated_memory_file(goal)
                or self._exists(goal)
            ):
                raise InputError(
                    f"{ROOT}/{goal} cannot be taken: there is such a file already, or memorist "
                    f"makes it"
                )
            data = encode_file_text_as_utf8(self._read(f"{ROOT}/{name}").text())
            changes += [
                MemoryChange(path=goal, before=None, after=data),
                MemoryChange(path=name, before=data, after=None),
            ]
        return changes

    def _evidence_for_moves(self, moves: Sequence[MemoryChange]) -> WriteEvidence:
        return replace(self._read_evidence(), proven_paths=tuple(change.path for change in moves))

    def clear(self) -> str:
        """Forget all files, at the host's request; the history still has them."""
        paths = [
            head.path for head in self._memory.headers() if not head.path.startswith(TEAM_PREFIX)
        ]
        if paths:
            self._memory.forget(
                paths, ChangeReason(actor="user", what="forget: everything, as the program asked")
            )
        return f"{len(paths)} files were forgotten; the history still has them"

    def _resolve_names(self, path: object) -> list[str]:
        """The files that a path names: the file, or all below a folder.

        Raises InputError for none.
        """
        inner = parse_memory_tool_path(path)
        if not inner:
            raise InputError(f"{ROOT} itself stays where it is")
        shown = [head.path for head in self._memory.visible_headers()]
        inside = [name for name in shown if name.startswith(f"{inner}/")]
        return inside or [self._read(path).path]

    def _exists(self, name: str) -> bool:
        return any(
            head.path == name or head.path.startswith(f"{name}/") for head in self._memory.headers()
        )

    def _read(self, path: object) -> MemoryFile:
        """Read a file that may be shown. Raises InputError when it may not, or does not exist."""
        name = parse_file_path(path)
        if not self._exists(name):
            raise InputError(f"there is no {ROOT}/{name}")
        topic, doubts = self._memory.read_memory_with_suspicions(name)
        if doubts:
            raise InputError(
                f"{ROOT}/{name} is withheld until the user has looked at it: {doubts[0]}"
            )
        return topic

    def _write(self, changes: Sequence[MemoryChange], verb: str, what: str, done: str) -> str:
        said = self._read_evidence()
        why = ChangeReason(
            actor="agent",
            what=render_change_headline(verb, what),
            session=said.session,
            messages=tuple(id for id, _ in said.user_messages)[-1:],
        )
        return _render_outcome(self._memory.write(changes, why, said), done)


def _render_outcome(written: WriteResult, done: str) -> str:
    """Render the result of a change for the model."""
    if written.refused:
        _raise_refused(written.refused)
    lines = [done] if written.paths or not written.proposals else []
    lines += [
        f"{ROOT}/{each.path} stays as it is for now: a person is asked first, because "
        f"{'; '.join(each.reasons)}"
        for each in written.proposals
    ]
    lines += [f"({remark})" for remark in written.remarks]
    return "\n".join(lines)


def _raise_refused(refused: Sequence[RefusedChange]) -> NoReturn:
    raise InputError(
        "; ".join(
            f"{ROOT}/{each.path} was not written: {', '.join(each.reasons)}" for each in refused
        )
    )

"""The tool executor of a fork: each call is checked against the permission, then executed on the
file system; a denial is an answer that the model reads.

Which files were read, and their bytes before the first write, belong to one run and are not shared
(FK-2).
"""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from fnmatch import translate
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from memorist.core.apply_patch import (
    AddFilePatch,
    DeleteFilePatch,
    FilePatch,
    PatchRejected,
    UpdateFilePatch,
    apply_hunks,
)
from memorist.errors import InputError, StoreError
from memorist.forks.permissions import (
    OtherToolRequest,
    PathKind,
    PermissionRequest,
    ReadRequest,
    RemoveRequest,
    ResolvedPath,
    ShellRequest,
    UnresolvedPath,
    WriteRequest,
    check_permission,
    path_problem,
)
from memorist.forks.shell_policy import CommandRefused, judge_command
from memorist.forks.spec import FileChange, FolderAccess, ForkPermission, NoTools, SingleFileEdit
from memorist.forks.tool_calls import (
    ApplyPatchCall,
    EditFileCall,
    ForkToolCall,
    InsertTextCall,
    InvalidCall,
    ListFilesCall,
    ReadFileCall,
    SearchCall,
    ShellCall,
    TextReplacement,
    UnknownCall,
    WriteFileCall,
)
from memorist.platforms import processes
from memorist.ports import FileSystem

# Running a command: its own process group, a minimal environment, a time limit, and a limit on
# its output.


COMMAND_SECONDS = 20.0
"""Time limit of one command: reading files takes less; a command that takes longer follows a pipe
or walks the whole disk.
"""
MAX_OUTPUT_BYTES = 30_000
"""Bytes read of a command's output, as in the hosts' own shell tools."""
_PIPE_DRAIN_SECONDS = 2.0

_GIT_SETTINGS = (
    ("safe.bareRepository", "explicit"),  # files that look like a repository could name programs
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("protocol.allow", "never"),
)


def command_environment() -> dict[str, str]:
    """The whole environment of a command: where programs are, a locale, and settings that keep git
    from writing and from starting programs.
    """
    settings: dict[str, str] = {}
    for number, (key, value) in enumerate(_GIT_SETTINGS):
        settings |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {
        "PATH": "/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_COUNT": str(len(_GIT_SETTINGS)),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        **settings,
    }


class CommandResult(Struct, frozen=True):
    """The result of a command. `status` is None when it was stopped by the time limit or the output
    limit.
    """

    status: int | None
    output: str
    stopped: str = ""


async def run_command(
    argv: list[str],
    *,
    cwd: Path,
    stdin: bytes = b"",
    seconds: float = COMMAND_SECONDS,
    limit: int = MAX_OUTPUT_BYTES,
) -> CommandResult:
    """Run a program with these arguments; standard error is merged into the output.

    Cancellation kills it. Raises OSError when it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        env=command_environment(),
        start_new_session=True,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    feeding = asyncio.create_task(_write_input(process, stdin))
    got = bytearray()
    stopped = ""
    try:
        async with asyncio.timeout(seconds):
            stopped = await _read_output(process, got, limit)
            if not stopped:
                await process.wait()
    except TimeoutError:
        stopped = f"stopped after {seconds:g} seconds"
    finally:
        feeding.cancel()
        await _kill_group(process)
        await asyncio.gather(feeding, return_exceptions=True)
    return CommandResult(
        None if stopped else process.returncode, got[:limit].decode("utf-8", "replace"), stopped
    )


async def _read_output(process: asyncio.subprocess.Process, got: bytearray, limit: int) -> str:
    if process.stdout is None:
        return ""
    while chunk := await process.stdout.read(65_536):
        got += chunk
        if len(got) > limit:
            return f"output cut after {limit} bytes"
    return ""


async def _write_input(process: asyncio.subprocess.Process, data: bytes) -> None:
    if process.stdin is None:
        return
    try:
        process.stdin.write(data)
        await process.stdin.drain()
    except ConnectionError:
        return  # the program did not want all of it
    finally:
        process.stdin.close()


async def _kill_group(process: asyncio.subprocess.Process) -> None:
    """Kill the rest of the process group and wait for the process, so that nothing outlives the
    call.
    """
    processes.kill_group(process.pid)
    await process.wait()
    # an unread pipe would stay open until it is collected
    with suppress(TimeoutError):
        async with asyncio.timeout(_PIPE_DRAIN_SECONDS):
            while process.stdout is not None and await process.stdout.read(65_536):
                pass


# Edits of a file's text, and how a file is shown. Pure.


DEFAULT_LINE_COUNT = 2_000
"""Lines shown of a file when the call names no number, as in the hosts' own read tools."""
MAX_LINE_CHARACTERS = 2_000
"""Longer lines are cut when shown; an edit sees them whole."""


def replace_text(text: str, replacements: Iterable[TextReplacement]) -> str | PatchRejected:
    """Apply all replacements in order, or return why one of them does not apply.

    In a file with CRLF line ends, plain LF in the old and new text stands for CRLF.
    """
    windows = "\r\n" in text
    for change in replacements:
        old, new = change.old, change.new
        if windows and "\r" not in old:
            old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
        if not old:
            return PatchRejected("The file exists: name the text that is to be replaced.")
        if old == new:
            return PatchRejected("The old and the new text are the same.")
        count = text.count(old)
        if count == 0:
            return PatchRejected(
                f"The text does not stand in the file exactly so: {_first_line(old)}"
            )
        if count > 1 and not change.replace_all:
            return PatchRejected(
                f"The text stands in the file {count} times (lines "
                f"{_line_numbers(text, old)}): give more of what is around it."
            )
        text = text.replace(old, new)
    return text


def insert_text(text: str, change: InsertTextCall) -> str | PatchRejected:
    """Insert a piece after a line; the piece becomes whole lines."""
    lines = text.splitlines(keepends=True)
    if not 0 <= change.line <= len(lines):
        return PatchRejected(
            f"The file has {len(lines)} lines: insert_line is between 0 and {len(lines)}."
        )
    if change.line and not lines[change.line - 1].endswith(("\n", "\r")):
        lines[change.line - 1] += "\n"
    piece = (
        change.text
        if change.text.endswith("\n") or change.line == len(lines)
        else change.text + "\n"
    )
    return "".join([*lines[: change.line], piece, *lines[change.line :]])


def _first_line(text: str) -> str:
    line = next((line for line in text.splitlines() if line.strip()), "")
    return line[:120]


def _line_numbers(text: str, piece: str) -> str:
    numbers: list[str] = []
    at = text.find(piece)
    while at >= 0 and len(numbers) < 10:
        numbers.append(str(text.count("\n", 0, at) + 1))
        at = text.find(piece, at + len(piece))
    return ", ".join(numbers)


def render_file_lines(text: str, *, first: int, lines: int | None, numbered: bool) -> str:
    """Render the requested lines, with line numbers (width 6, then a tab) if `numbered`, and a
    remark when the file continues.
    """
    every = text.split("\n")
    if every and not every[-1]:
        every.pop()
    if not every:
        return "(The file is empty.)"
    last = min(len(every), first - 1 + (DEFAULT_LINE_COUNT if lines is None else lines))
    shown = [
        line if len(line) <= MAX_LINE_CHARACTERS else line[:MAX_LINE_CHARACTERS] + " … (line cut)"
        for line in every[first - 1 : last]
    ]
    if numbered:
        shown = [f"{number:>6}\t{line}" for number, line in enumerate(shown, start=first)]
    if last < len(every) or not shown:
        shown.append(f"(The file has {len(every)} lines.)")
    return "\n".join(shown)


def matches_glob(pattern: str, relative: str) -> bool:
    """Whether a path relative to the searched folder matches a glob: `*` and `?` within a name,
    `**` for any folders, `{a,b}` for alternatives.

    A pattern without a slash matches names in any folder, as in the hosts' own tools.
    """
    names = relative.split("/")
    for plain in _expand_braces(pattern):
        parts = plain.lstrip("/").split("/")
        if _matches_parts(parts if len(parts) > 1 else ["**", *parts], names):
            return True
    return False


def _expand_braces(pattern: str) -> list[str]:
    """Expand the first pair of braces; one pair is enough for the file extensions that models ask
    for.
    """
    found = re.fullmatch(r"([^{}]*)\{([^{}]*)\}([^{}]*)", pattern)
    if found is None:
        return [pattern]
    return [found[1] + choice + found[3] for choice in found[2].split(",")]


def _matches_parts(parts: list[str], names: list[str]) -> bool:
    """Whether the pattern's parts match the names: tracks, part by part, the set of name counts
    that may have been consumed.
    """
    used = {0}
    for part in parts:
        if part == "**":
            used = set(range(min(used, default=len(names) + 1), len(names) + 1))
        else:
            fits = re.compile(translate(part)).match
            used = {count + 1 for count in used if count < len(names) and fits(names[count])}
    return len(names) in used


# Search and listing over the file system port. Matching is left to `grep`: a pattern with
# runaway backtracking is stopped by killing the process.


MAX_SEARCHED_FILES = 5_000
MAX_SEARCHED_FILE_BYTES = 1_000_000
MAX_SEARCHED_BYTES = 20_000_000
"""Limits of one search: far above any memory folder, and read within a second."""
MAX_SHOWN_ENTRIES = 200
"""Entries shown when the call names no number: more is no answer to a narrow question."""
MAX_MATCH_CHARACTERS = 500
_MAX_GREP_BYTES = 2_000_000


class JoinedFiles(Struct, frozen=True):
    """Several files as one text, with each file's name and the number of lines before it."""

    data: bytes
    names: tuple[str, ...]
    starts: tuple[int, ...]


async def list_files(files: FileSystem, folder: Path, call: ListFilesCall) -> str:
    """List the paths below the folder that match the pattern. Raises StoreError."""
    names = [
        str(path) for path in await asyncio.to_thread(_find_files, files, folder, call.pattern)
    ]
    return _render_entries(names, None, "No file fits.")


async def search_files(files: FileSystem, root: Path, call: SearchCall) -> str:
    """The files, lines or counts that match. `root` is a file or a folder. Raises StoreError, and
    InputError for an invalid pattern.
    """
    lines = await asyncio.to_thread(_join_files, files, root, call.glob)
    found = await _grep_lines(lines, call)
    named: list[tuple[str, int, str]] = []
    for number, text in found:
        index = bisect_right(lines.starts, number - 1) - 1
        named.append(
            (lines.names[index], number - lines.starts[index], text[:MAX_MATCH_CHARACTERS])
        )
    if call.show == "lines":
        return _render_entries(
            [f"{name}:{number}:{text}" for name, number, text in named],
            call.limit,
            "No line matches.",
        )
    counts: dict[str, int] = {}
    for name, _, _ in named:
        counts[name] = counts.get(name, 0) + 1
    entries = (
        [f"{name}:{count}" for name, count in counts.items()]
        if call.show == "count"
        else list(counts)
    )
    return _render_entries(entries, call.limit, "No file matches.")


def _render_entries(entries: list[str], limit: int | None, none: str) -> str:
    most = limit if limit is not None and limit > 0 else MAX_SHOWN_ENTRIES
    rest = len(entries) - most
    return (
        "\n".join(entries[:most] + ([f"({rest} more: narrow the search.)"] if rest > 0 else []))
        or none
    )


def _find_files(files: FileSystem, folder: Path, pattern: str | None) -> list[Path]:
    """Regular files below the folder, without links and git's own folders."""
    found = []
    for path in files.walk(folder, limit=MAX_SEARCHED_FILES):
        relative = path.relative_to(folder)
        if ".git" not in relative.parts and (
            pattern is None or matches_glob(pattern, relative.as_posix())
        ):
            facts = files.facts(path)
            if facts is not None and facts.is_file:
                found.append(path)
    return found


def _join_files(files: FileSystem, root: Path, pattern: str | None) -> JoinedFiles:
    facts = files.facts(root)
    paths = [root] if facts is not None and facts.is_file else _find_files(files, root, pattern)
    data = bytearray()
    names: list[str] = []
    starts: list[int] = []
    count = 0
    for path in paths:
        facts = files.facts(path)
        if (
            facts is None
            or facts.size > MAX_SEARCHED_FILE_BYTES
            or len(data) + facts.size > MAX_SEARCHED_BYTES
        ):
            continue
        text = files.read(path, limit=MAX_SEARCHED_FILE_BYTES)
        if b"\0" in text:
            continue
        names.append(str(path))
        starts.append(count)
        text = text if text.endswith(b"\n") else text + b"\n"
        count += text.count(b"\n")
        data += text
    return JoinedFiles(bytes(data), tuple(names), tuple(starts))


async def _grep_lines(lines: JoinedFiles, call: SearchCall) -> list[tuple[int, str]]:
    """Numbers (from 1) and texts of the matching lines. Perl syntax, which models write, or
    extended syntax where grep lacks it.
    """
    said = ""
    for syntax in ("-P", "-E"):
        flags = ["-n", "-a", syntax, *(["-i"] if call.ignore_case else [])]
        ran = await run_command(
            ["grep", *flags, "-e", call.pattern],
            cwd=Path("/"),
            stdin=lines.data,
            limit=_MAX_GREP_BYTES,
        )
        if ran.stopped and not ran.output:
            raise InputError(f"The search was {ran.stopped}: use a simpler pattern.")
        if ran.stopped or ran.status in (0, 1):
            pairs = (line.split(":", 1) for line in ran.output.splitlines() if ":" in line)
            return [(int(number), text) for number, text in pairs if number.isdigit()]
        said = ran.output.strip()
    raise InputError(f"The pattern cannot be used: {said[:200]}")


MAX_TOOL_FILE_BYTES = 1_000_000
"""Largest file in bytes that is read or changed: memories and notes are a hundredth of it."""


class ToolAnswer(Struct, frozen=True, kw_only=True):
    """The result of one call for the model."""

    text: str
    is_error: bool = False
    changed: bool = False
    """Whether bytes were written."""


class PlannedWrite(Struct, frozen=True):
    """A change that is computed but not written yet. `before` is None when the file does not
    exist.
    """

    path: Path
    before: bytes | None
    after: bytes


TextTransform = Callable[[str | None], str | PatchRejected]
"""From a file's text (None when there is no file) to its new text."""


def resolve_permission(permission: ForkPermission, files: FileSystem) -> ForkPermission:
    """Resolve the permission's paths. Raises StoreError.

    The last name of a `SingleFileEdit` path is not followed: a link put there does not move the
    permission.
    """
    match permission:
        case SingleFileEdit(path=path):
            return SingleFileEdit(files.resolve(path.parent) / path.name)
        case FolderAccess(folder=folder):
            return FolderAccess(
                folder=files.resolve(folder),
                write=permission.write,
                read_anywhere=permission.read_anywhere,
            )
        case NoTools():
            return permission


class ToolExecutor:
    """Executes the tool calls of one run.

    `known_files` are the files whose text the fork was shown: they count as read. Raises StoreError
    when the permission's own path cannot be resolved.
    """

    def __init__(
        self, permission: ForkPermission, files: FileSystem, known_files: Sequence[Path] = ()
    ) -> None:
        self._files = files
        self._permission = resolve_permission(permission, files)
        self._read_digests: dict[Path, bytes] = {}
        self._first_contents: dict[Path, bytes | None] = {}
        self.denied: list[str] = []
        """The reason of each denied call, in order."""
        for path in known_files:
            real = files.resolve(path)
            present = self._read_present(real)
            if present is not None:
                self._remember_read(real, present)

    @property
    def folder(self) -> Path | None:
        """Where relative paths begin and commands run; None when nothing is allowed at all."""
        match self._permission:
            case SingleFileEdit(path=path):
                return path.parent
            case FolderAccess(folder=folder):
                return folder
            case NoTools():
                return None

    async def execute(self, call: ForkToolCall) -> ToolAnswer:
        """Check the call and execute it. A file system error is an answer too."""
        try:
            return await self._dispatch(call)
        except FileNotFoundError:
            return _error_answer("The file is gone.")
        except (StoreError, InputError) as problem:
            return _error_answer(str(problem))

    def changes(self) -> tuple[FileChange, ...]:
        """The files whose bytes differ from those before the run's first write to them. One that
        cannot be read any more counts as deleted.
        """
        found = []
        for path, before in self._first_contents.items():
            try:
                after = self._read_present(path)
            except StoreError:
                after = None
            if after != before:
                found.append(
                    FileChange(
                        str(path),
                        None if before is None else len(before),
                        None if after is None else len(after),
                    )
                )
        return tuple(found)

    async def _dispatch(self, call: ForkToolCall) -> ToolAnswer:
        match call:
            case EditFileCall() | InsertTextCall() | WriteFileCall():
                return self._apply_changes(
                    [(call.path, isinstance(call, WriteFileCall), _edit_transform(call))]
                )
            case ApplyPatchCall():
                return self._apply_patch(call.files)
            case ReadFileCall():
                return await self._read_file(call)
            case SearchCall() | ListFilesCall():
                return await self._search(call)
            case ShellCall():
                return await self._run_shell(call)
            case InvalidCall() | UnknownCall():
                return self._reject_call(call)

    def _reject_call(self, call: InvalidCall | UnknownCall) -> ToolAnswer:
        if isinstance(call, InvalidCall):
            return _error_answer(call.why)
        return self._check_request(OtherToolRequest(call.name)) or _error_answer(
            f"The tool {call.name} is not offered here."
        )

    def _check_request(self, ask: PermissionRequest) -> ToolAnswer | None:
        denied = check_permission(self._permission, ask)
        if denied is None:
            return None
        self.denied.append(denied.reason)
        return _error_answer(f"Denied. {denied.reason}")

    def _resolve_path(self, asked: str) -> ResolvedPath | UnresolvedPath:
        problem = path_problem(asked)
        if problem or self.folder is None:
            return UnresolvedPath(asked[:200], problem or "No path can be used here.")
        try:
            real = self._files.resolve(self.folder / asked)
            facts = self._files.facts(real)
        except StoreError as error:
            return UnresolvedPath(asked[:200], str(error))
        if facts is None:
            return ResolvedPath(asked, real, PathKind.MISSING)
        kind = (
            PathKind.FILE
            if facts.is_file
            else PathKind.FOLDER
            if facts.is_folder
            else PathKind.OTHER
        )
        return ResolvedPath(asked, real, kind, facts.links if facts.is_file else 1)

    def _read_present(self, path: Path) -> bytes | None:
        try:
            return self._files.read(path)
        except FileNotFoundError:
            return None

    def _remember_read(self, path: Path, data: bytes) -> None:
        self._read_digests[path] = sha256(data).digest()

    async def _read_file(self, call: ReadFileCall) -> ToolAnswer:
        place = self._resolve_path(call.path)
        refused = self._check_request(ReadRequest(place))
        if refused or isinstance(place, UnresolvedPath):
            return refused or _error_answer("The path cannot be used.")
        if place.kind is PathKind.FOLDER:
            return ToolAnswer(text=await list_files(self._files, place.path, ListFilesCall()))
        if place.kind is PathKind.MISSING:
            return _error_answer(f"There is no file {place.path}.")
        data = self._files.read(place.path, limit=MAX_TOOL_FILE_BYTES + 1)
        if len(data) > MAX_TOOL_FILE_BYTES:
            return _error_answer(
                f"The file is larger than {MAX_TOOL_FILE_BYTES} bytes: search it instead."
            )
        if b"\0" in data:
            return _error_answer("The file is not text.")
        self._remember_read(place.path, data)
        return ToolAnswer(
            text=render_file_lines(
                data.decode("utf-8", "replace"),
                first=call.first_line,
                lines=call.line_count,
                numbered=call.numbered,
            )
        )

    async def _search(self, call: SearchCall | ListFilesCall) -> ToolAnswer:
        place = self._resolve_path(call.path or ".")
        refused = self._check_request(ReadRequest(place))
        if refused or isinstance(place, UnresolvedPath):
            return refused or _error_answer("The path cannot be used.")
        if place.kind is PathKind.MISSING:
            return _error_answer(f"There is nothing at {place.path}.")
        if isinstance(call, SearchCall):
            return ToolAnswer(text=await search_files(self._files, place.path, call))
        return (
            _error_answer(f"{place.path} is a file.")
            if place.kind is PathKind.FILE
            else ToolAnswer(text=await list_files(self._files, place.path, call))
        )

    async def _run_shell(self, call: ShellCall) -> ToolAnswer:
        refused = self._check_request(ShellRequest(call.command))
        judged = judge_command(call.command)
        if refused or isinstance(judged, CommandRefused) or self.folder is None:
            return refused or _error_answer("Commands cannot be run here.")
        if call.workdir:
            place = self._resolve_path(call.workdir)
            if isinstance(place, UnresolvedPath) or place.path != self.folder:
                return _error_answer(
                    f"Commands run in {self.folder}: leave the folder out, and name other "
                    f"paths in full."
                )
        try:
            ran = await run_command(["sh", "-c", judged.script], cwd=self.folder)
        except OSError as error:
            return _error_answer(
                f"The command could not be started in {self.folder}: {error.strerror}."
            )
        remark = (
            f"({ran.stopped})"
            if ran.stopped
            else f"(exit status {ran.status})"
            if ran.status
            else ""
        )
        return ToolAnswer(
            text="\n".join(part for part in (ran.output.rstrip("\n"), remark) if part)
            or "(no output)"
        )

    def _apply_patch(self, files: Sequence[FilePatch]) -> ToolAnswer:
        gone = [
            file.path
            for file in files
            if isinstance(file, DeleteFilePatch)
            or (isinstance(file, UpdateFilePatch) and file.move_to)
        ]
        if gone:
            return self._check_request(RemoveRequest(gone[0])) or _error_answer(
                "Files are not deleted or moved here."
            )
        return self._apply_changes(
            [(file.path, isinstance(file, AddFilePatch), _patch_transform(file)) for file in files]
        )

    def _apply_changes(self, wanted: Sequence[tuple[str, bool, TextTransform]]) -> ToolAnswer:
        """Check and compute every change before the first is written."""
        changes: list[PlannedWrite] = []
        for asked, whole, make in wanted:
            place = self._resolve_path(asked)
            refused = self._check_request(WriteRequest(place, whole))
            if refused or isinstance(place, UnresolvedPath):
                return refused or _error_answer("The path cannot be used.")
            change = self._plan_write(place, whole, make)
            if isinstance(change, PatchRejected):
                return _error_answer(f"{place.path}: {change.why}")
            if any(change.path == other.path for other in changes):
                return _error_answer(f"{place.path} is named twice: put its changes together.")
            changes.append(change)
        # Nothing is written until every change is allowed and computed.
        for change in changes:
            self._write_planned(change)
        return ToolAnswer(
            text="Changed: " + ", ".join(str(change.path) for change in changes), changed=True
        )

    def _plan_write(
        self, place: ResolvedPath, whole: bool, make: TextTransform
    ) -> PlannedWrite | PatchRejected:
        before = self._read_present(place.path)
        text = None
        if before is not None:
            seen = self._read_digests.get(place.path)
            if seen is None:
                return PatchRejected("Read the file before you change it.")
            if whole and seen != sha256(before).digest():
                return PatchRejected("The file changed since it was read: read it again.")
            try:
                text = before.decode("utf-8")
            except UnicodeDecodeError:
                return PatchRejected("The file is not UTF-8 text.")
        after = make(text)
        if isinstance(after, PatchRejected):
            return after
        try:
            data = after.encode("utf-8")
        except UnicodeEncodeError:
            return PatchRejected("The new text holds half a character (a lone surrogate).")
        return (
            PatchRejected(f"The file would be larger than {MAX_TOOL_FILE_BYTES} bytes.")
            if len(data) > MAX_TOOL_FILE_BYTES
            else PlannedWrite(place.path, before, data)
        )

    def _write_planned(self, change: PlannedWrite) -> None:
        self._first_contents.setdefault(change.path, change.before)
        if change.before is not None:
            self._files.write(change.path, change.after, expect=change.before)
        elif not self._files.create(change.path, change.after):
            raise StoreError(f"{change.path} was created by another process meanwhile: read it.")
        self._remember_read(change.path, change.after)


def _error_answer(text: str) -> ToolAnswer:
    return ToolAnswer(text=text, is_error=True)


def _edit_transform(call: EditFileCall | InsertTextCall | WriteFileCall) -> TextTransform:
    def make(text: str | None) -> str | PatchRejected:
        match call:
            case WriteFileCall():
                return call.text
            case EditFileCall() if text is None:
                only = call.replacements[0]
                return (
                    only.new
                    if not only.old and len(call.replacements) == 1
                    else PatchRejected("There is no such file.")
                )
            case InsertTextCall() if text is None:
                return PatchRejected("There is no such file.")
            case EditFileCall():
                return replace_text(text or "", call.replacements)
            case InsertTextCall():
                return insert_text(text or "", call)

    return make


def _patch_transform(file: FilePatch) -> TextTransform:
    def make(text: str | None) -> str | PatchRejected:
        match file:
            case AddFilePatch():
                return file.text
            case UpdateFilePatch() if text is not None:
                return apply_hunks(text, file.hunks)
            case _:
                return PatchRejected("There is no such file.")

    return make

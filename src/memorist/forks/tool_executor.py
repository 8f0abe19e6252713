"""The tool executor of a fork: each call is checked against the permission, then executed on the
file system; a denial is an answer that the model reads.

Which files were read, and their bytes before the first write, belong to one run and are not shared
(FK-2).
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from memorist.core.apply_patch import (
    AddFilePatch,
    DeleteFilePatch,
    FilePatch,
    PatchRejection,
    UpdateFilePatch,
)
from memorist.errors import InputError, StoreError
from memorist.forks.file_search import list_files, render_file_matches
from memorist.forks.file_text import (
    TextTransform,
    build_edit_transform,
    build_patch_transform,
    render_file_lines,
)
from memorist.forks.file_tool_calls import (
    ApplyPatchCall,
    EditFileCall,
    ForkToolCall,
    InsertTextCall,
    ListFilesCall,
    MalformedToolCall,
    ReadFileCall,
    SearchCall,
    ShellCall,
    UnknownToolCall,
    WriteFileCall,
)
from memorist.forks.fork_permissions import (
    OtherToolRequest,
    PermissionRequest,
    ReadRequest,
    RemoveRequest,
    ResolvedPath,
    ResolvedPathKind,
    ShellRequest,
    UnresolvedPath,
    WriteRequest,
    check_fork_permission,
    find_path_text_problem,
)
from memorist.forks.fork_spec import (
    FileSizeChange,
    FolderAccess,
    ForkPermission,
    NoToolsPermission,
    SingleFileEdit,
)
from memorist.forks.shell_command import run_limited_program
from memorist.forks.shell_policy import CommandRefused, judge_shell_command
from memorist.ports import FileSystem

MAX_TOOL_FILE_BYTES = 1_000_000
"""Largest file in bytes that is read or changed: memories and notes are a hundredth of it."""


class ForkToolResult(Struct, frozen=True, kw_only=True):
    """The result of one call for the model."""

    text: str
    is_error: bool = False
    wrote_file: bool = False
    """Whether bytes were written."""


class PlannedWrite(Struct, frozen=True):
    """A change that is computed but not written yet. `before` is None when the file does not
    exist.
    """

    path: Path
    before: bytes | None
    after: bytes


def resolve_granted_paths(permission: ForkPermission, files: FileSystem) -> ForkPermission:
    """Resolve the permission's paths. Raises StoreError.

    The last name of a `SingleFileEdit` path is not followed: a link put there does not move the
    permission.
    """
    match permission:
        case SingleFileEdit(path=path):
            return SingleFileEdit(files.resolve(path.parent) / path.name)
        case FolderAccess(folder=folder):
            return replace(permission, folder=files.resolve(folder))
        case NoToolsPermission():
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
        self._permission = resolve_granted_paths(permission, files)
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
            case NoToolsPermission():
                return None

    async def execute(self, call: ForkToolCall) -> ForkToolResult:
        """Check the call and execute it. A file system error is an answer too."""
        try:
            return await self._dispatch(call)
        except FileNotFoundError:
            return _error_answer("The file is gone.")
        except (StoreError, InputError) as problem:
            return _error_answer(str(problem))

    def list_file_changes(self) -> tuple[FileSizeChange, ...]:
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
                    FileSizeChange(
                        str(path),
                        None if before is None else len(before),
                        None if after is None else len(after),
                    )
                )
        return tuple(found)

    async def _dispatch(self, call: ForkToolCall) -> ForkToolResult:
        match call:
            case EditFileCall() | InsertTextCall() | WriteFileCall():
                return self._apply_changes(
                    [(call.path, isinstance(call, WriteFileCall), build_edit_transform(call))]
                )
            case ApplyPatchCall():
                return self._apply_patch(call.files)
            case ReadFileCall():
                return await self._read_file(call)
            case SearchCall() | ListFilesCall():
                return await self._search(call)
            case ShellCall():
                return await self._run_shell(call)
            case MalformedToolCall() | UnknownToolCall():
                return self._reject_call(call)

    def _reject_call(self, call: MalformedToolCall | UnknownToolCall) -> ForkToolResult:
        if isinstance(call, MalformedToolCall):
            return _error_answer(call.why)
        return self._check_request(OtherToolRequest(call.name)) or _error_answer(
            f"The tool {call.name} is not offered here."
        )

    def _check_request(self, ask: PermissionRequest) -> ForkToolResult | None:
        denied = check_fork_permission(self._permission, ask)
        if denied is None:
            return None
        self.denied.append(denied.reason)
        return _error_answer(f"Denied. {denied.reason}")

    def _resolve_path(self, asked: str) -> ResolvedPath | UnresolvedPath:
        problem = find_path_text_problem(asked)
        if problem or self.folder is None:
            return UnresolvedPath(asked[:200], problem or "No path can be used here.")
        try:
            real = self._files.resolve(self.folder / asked)
            facts = self._files.lstat(real)
        except StoreError as error:
            return UnresolvedPath(asked[:200], str(error))
        if facts is None:
            kind = (
                ResolvedPathKind.MISSING if self._is_below_folder(real) else ResolvedPathKind.OTHER
            )
            return ResolvedPath(asked, real, kind)
        kind = (
            ResolvedPathKind.FILE
            if facts.is_file
            else ResolvedPathKind.FOLDER
            if facts.is_folder
            else ResolvedPathKind.OTHER
        )
        return ResolvedPath(asked, real, kind, facts.links if facts.is_file else 1)

    def _is_below_folder(self, path: Path) -> bool:
        """Whether a file can be made there: what there is above it is a folder."""
        above = (self._files.lstat(parent) for parent in path.parents)
        nearest = next((facts for facts in above if facts is not None), None)
        return nearest is None or nearest.is_folder

    def _read_present(self, path: Path) -> bytes | None:
        try:
            return self._files.read(path)
        except FileNotFoundError:
            return None

    def _remember_read(self, path: Path, data: bytes) -> None:
        self._read_digests[path] = sha256(data).digest()

    async def _read_file(self, call: ReadFileCall) -> ForkToolResult:
        target = self._resolve_path(call.path)
        refused = self._check_request(ReadRequest(target))
        if refused or isinstance(target, UnresolvedPath):
            return refused or _error_answer("The path cannot be used.")
        if target.kind is ResolvedPathKind.FOLDER:
            return ForkToolResult(text=await list_files(self._files, target.path, ListFilesCall()))
        if target.kind is ResolvedPathKind.MISSING:
            return _error_answer(f"There is no file {target.path}.")
        data = self._files.read(target.path, limit=MAX_TOOL_FILE_BYTES + 1)
        if len(data) > MAX_TOOL_FILE_BYTES:
            return _error_answer(
                f"The file is larger than {MAX_TOOL_FILE_BYTES} bytes: search it instead."
            )
        if b"\0" in data:
            return _error_answer("The file is not text.")
        self._remember_read(target.path, data)
        return ForkToolResult(
            text=render_file_lines(
                data.decode("utf-8", "replace"),
                first=call.first_line,
                lines=call.line_count,
                numbered=call.numbered,
            )
        )

    async def _search(self, call: SearchCall | ListFilesCall) -> ForkToolResult:
        target = self._resolve_path(call.path or ".")
        refused = self._check_request(ReadRequest(target))
        if refused or isinstance(target, UnresolvedPath):
            return refused or _error_answer("The path cannot be used.")
        if target.kind is ResolvedPathKind.MISSING:
            return _error_answer(f"There is nothing at {target.path}.")
        if isinstance(call, SearchCall):
            return ForkToolResult(text=await render_file_matches(self._files, target.path, call))
        if target.kind is ResolvedPathKind.FILE:
            return _error_answer(f"{target.path} is a file.")
        return ForkToolResult(text=await list_files(self._files, target.path, call))

    async def _run_shell(self, call: ShellCall) -> ForkToolResult:
        refused = self._check_request(ShellRequest(call.command))
        judged = judge_shell_command(call.command)
        if refused or isinstance(judged, CommandRefused) or self.folder is None:
            return refused or _error_answer("Commands cannot be run here.")
        if call.workdir:
            target = self._resolve_path(call.workdir)
            if isinstance(target, UnresolvedPath) or target.path != self.folder:
                return _error_answer(
                    f"Commands run in {self.folder}: leave the folder out, and name other "
                    f"paths in full."
                )
        try:
            ran = await run_limited_program(["sh", "-c", judged.script], cwd=self.folder)
        except OSError as error:
            return _error_answer(
                f"The command could not be started in {self.folder}: {error.strerror}."
            )
        remark = (
            f"({ran.stop_reason})"
            if ran.stop_reason
            else f"(exit status {ran.status})"
            if ran.status
            else ""
        )
        return ForkToolResult(
            text="\n".join(part for part in (ran.output.rstrip("\n"), remark) if part)
            or "(no output)"
        )

    def _apply_patch(self, files: Sequence[FilePatch]) -> ForkToolResult:
        removed = [
            file.path
            for file in files
            if isinstance(file, DeleteFilePatch)
            or (isinstance(file, UpdateFilePatch) and file.move_to)
        ]
        if removed:
            return self._check_request(RemoveRequest(removed[0])) or _error_answer(
                "Files are not deleted or moved here."
            )
        return self._apply_changes(
            [
                (file.path, isinstance(file, AddFilePatch), build_patch_transform(file))
                for file in files
            ]
        )

    def _apply_changes(self, wanted: Sequence[tuple[str, bool, TextTransform]]) -> ForkToolResult:
        """Check and compute every change before the first is written."""
        changes: list[PlannedWrite] = []
        for asked, whole, make in wanted:
            target = self._resolve_path(asked)
            refused = self._check_request(WriteRequest(target, whole))
            if refused or isinstance(target, UnresolvedPath):
                return refused or _error_answer("The path cannot be used.")
            change = self._plan_write(target, whole, make)
            if isinstance(change, PatchRejection):
                return _error_answer(f"{target.path}: {change.why}")
            if any(change.path == other.path for other in changes):
                return _error_answer(f"{target.path} is named twice: put its changes together.")
            changes.append(change)
        # Nothing is written until every change is allowed and computed.
        for change in changes:
            self._write_planned(change)
        return ForkToolResult(
            text="Changed: " + ", ".join(str(change.path) for change in changes), wrote_file=True
        )

    def _plan_write(
        self, target: ResolvedPath, whole: bool, make: TextTransform
    ) -> PlannedWrite | PatchRejection:
        before = self._read_present(target.path)
        text = None
        if before is not None:
            seen = self._read_digests.get(target.path)
            if seen is None:
                return PatchRejection("Read the file before you change it.")
            if whole and seen != sha256(before).digest():
                return PatchRejection("The file changed since it was read: read it again.")
            try:
                text = before.decode("utf-8")
            except UnicodeDecodeError:
                return PatchRejection("The file is not UTF-8 text.")
        after = make(text)
        if isinstance(after, PatchRejection):
            return after
        try:
            data = after.encode("utf-8")
        except UnicodeEncodeError:
            return PatchRejection("The new text holds half a character (a lone surrogate).")
        return (
            PatchRejection(f"The file would be larger than {MAX_TOOL_FILE_BYTES} bytes.")
            if len(data) > MAX_TOOL_FILE_BYTES
            else PlannedWrite(target.path, before, data)
        )

    def _write_planned(self, change: PlannedWrite) -> None:
        self._first_contents.setdefault(change.path, change.before)
        if change.before is not None:
            self._files.write(change.path, change.after, expect=change.before)
        elif not self._files.create(change.path, change.after):
            raise StoreError(f"{change.path} was created by another process meanwhile: read it.")
        self._remember_read(change.path, change.after)


def _error_answer(text: str) -> ForkToolResult:
    return ForkToolResult(text=text, is_error=True)

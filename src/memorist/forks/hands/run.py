"""The tool executor of a fork: each call is checked against the permission, then executed on the
file system; a denial is an answer that the model reads.

Which files were read, and their bytes before the first write, belong to one run and are not shared
(FK-2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from memorist.errors import InputError, StoreError
from memorist.forks import editing
from memorist.forks.calls import ApplyPatch, BadCall, Call, EditFile, InsertText, ListFiles, ReadFile, Search, Shell, UnknownCall, WriteFile
from memorist.forks.command.run import run_command
from memorist.forks.patch import AddText, DeleteText, FilePatch, Misfit, UpdateText, apply_hunks
from memorist.forks.permissions import Ask, ChangeAsk, Kind, Lost, OtherAsk, Place, ReadAsk, RemoveAsk, ShellAsk, decide, path_problem
from memorist.forks.search.run import list_files, search
from memorist.forks.shell import Refused, judge
from memorist.forks.spec import EditOnly, FileChange, FolderAccess, NoTools, Permission
from memorist.ports import Files

MAX_BYTES = 1_000_000
"""Largest file in bytes that is read or changed: memories and notes are a hundredth of it."""


class Answer(Struct, frozen=True, kw_only=True):
    """The result of one call for the model."""

    text: str
    is_error: bool = False
    changed: bool = False
    """Whether bytes were written."""


class Change(Struct, frozen=True):
    """A change that is computed but not written yet. `before` is None when the file does not exist.
    """

    path: Path
    before: bytes | None
    after: bytes


Make = Callable[[str | None], str | Misfit]
"""From a file's text (None when there is no file) to its new text."""


def settle(permission: Permission, files: Files) -> Permission:
    """Resolve the permission's paths. Raises StoreError.

    The last name of a `SingleFileEdit` path is not followed: a link put there does not move the
    permission.
    """
    match permission:
        case EditOnly(path=path):
            return EditOnly(files.resolve(path.parent) / path.name)
        case FolderAccess(folder=folder):
            return FolderAccess(folder=files.resolve(folder), write=permission.write, read_anywhere=permission.read_anywhere)
        case NoTools():
            return permission


class Hands:
    """Executes the tool calls of one run.

    `known_files` are the files whose text the fork was shown: they count as read. Raises StoreError
    when the permission's own path cannot be resolved.
    """

    def __init__(self, permission: Permission, files: Files, given: Sequence[Path] = ()) -> None:
        self._files = files
        self._permission = settle(permission, files)
        self._seen: dict[Path, bytes] = {}
        self._before: dict[Path, bytes | None] = {}
        self.denied: list[str] = []
        """The reason of each denied call, in order."""
        for path in given:
            real = files.resolve(path)
            present = self._present(real)
            if present is not None:
                self._see(real, present)

    @property
    def folder(self) -> Path | None:
        """Where relative paths begin and commands run; None when nothing is allowed at all."""
        match self._permission:
            case EditOnly(path=path):
                return path.parent
            case FolderAccess(folder=folder):
                return folder
            case NoTools():
                return None

    async def do(self, call: Call) -> Answer:
        """Check the call and execute it. A file system error is an answer too."""
        try:
            return await self._done(call)
        except FileNotFoundError:
            return _no("The file is gone.")
        except (StoreError, InputError) as problem:
            return _no(str(problem))

    def changes(self) -> tuple[FileChange, ...]:
        """The files whose bytes differ from those before the run's first write to them. One that
        cannot be read any more counts as deleted.
        """
        found = []
        for path, before in self._before.items():
            try:
                after = self._present(path)
            except StoreError:
                after = None
            if after != before:
                found.append(FileChange(str(path), None if before is None else len(before), None if after is None else len(after)))
        return tuple(found)

    async def _done(self, call: Call) -> Answer:
        match call:
            case EditFile() | InsertText() | WriteFile():
                return self._change([(call.path, isinstance(call, WriteFile), _maker(call))])
            case ApplyPatch():
                return self._patch(call.files)
            case ReadFile():
                return await self._read(call)
            case Search() | ListFiles():
                return await self._look(call)
            case Shell():
                return await self._command(call)
            case BadCall() | UnknownCall():
                return self._useless(call)

    def _useless(self, call: BadCall | UnknownCall) -> Answer:
        if isinstance(call, BadCall):
            return _no(call.why)
        return self._refused(OtherAsk(call.name)) or _no(f"The tool {call.name} is not offered here.")

    def _refused(self, ask: Ask) -> Answer | None:
        denied = decide(self._permission, ask)
        if denied is None:
            return None
        self.denied.append(denied.reason)
        return _no(f"Denied. {denied.reason}")

    def _place(self, asked: str) -> Place | Lost:
        problem = path_problem(asked)
        if problem or self.folder is None:
            return Lost(asked[:200], problem or "No path can be used here.")
        try:
            real = self._files.resolve(self.folder / asked)
            facts = self._files.facts(real)
        except StoreError as error:
            return Lost(asked[:200], str(error))
        if facts is None:
            return Place(asked, real, Kind.MISSING)
        kind = Kind.FILE if facts.is_file else Kind.FOLDER if facts.is_folder else Kind.OTHER
        return Place(asked, real, kind, facts.links if facts.is_file else 1)

    def _present(self, path: Path) -> bytes | None:
        try:
            return self._files.read(path)
        except FileNotFoundError:
            return None

    def _see(self, path: Path, data: bytes) -> None:
        self._seen[path] = sha256(data).digest()

    async def _read(self, call: ReadFile) -> Answer:
        place = self._place(call.path)
        refused = self._refused(ReadAsk(place))
        if refused or isinstance(place, Lost):
            return refused or _no("The path cannot be used.")
        if place.kind is Kind.FOLDER:
            return Answer(text=await list_files(self._files, place.path, ListFiles()))
        if place.kind is Kind.MISSING:
            return _no(f"There is no file {place.path}.")
        data = self._files.read(place.path, limit=MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            return _no(f"The file is larger than {MAX_BYTES} bytes: search it instead.")
        if b"\0" in data:
            return _no("The file is not text.")
        self._see(place.path, data)
        return Answer(text=editing.show(data.decode("utf-8", "replace"), first=call.first, lines=call.lines, numbered=call.numbered))

    async def _look(self, call: Search | ListFiles) -> Answer:
        place = self._place(call.path or ".")
        refused = self._refused(ReadAsk(place))
        if refused or isinstance(place, Lost):
            return refused or _no("The path cannot be used.")
        if place.kind is Kind.MISSING:
            return _no(f"There is nothing at {place.path}.")
        if isinstance(call, Search):
            return Answer(text=await search(self._files, place.path, call))
        return _no(f"{place.path} is a file.") if place.kind is Kind.FILE else Answer(text=await list_files(self._files, place.path, call))

    async def _command(self, call: Shell) -> Answer:
        refused = self._refused(ShellAsk(call.command))
        judged = judge(call.command)
        if refused or isinstance(judged, Refused) or self.folder is None:
            return refused or _no("Commands cannot be run here.")
        if call.workdir:
            place = self._place(call.workdir)
            if isinstance(place, Lost) or place.path != self.folder:
                return _no(f"Commands run in {self.folder}: leave the folder out, and name other paths in full.")
        try:
            ran = await run_command(["sh", "-c", judged.script], cwd=self.folder)
        except OSError as error:
            return _no(f"The command could not be started in {self.folder}: {error.strerror}.")
        remark = f"({ran.stopped})" if ran.stopped else f"(exit status {ran.status})" if ran.status else ""
        return Answer(text="\n".join(part for part in (ran.output.rstrip("\n"), remark) if part) or "(no output)")

    def _patch(self, files: Sequence[FilePatch]) -> Answer:
        gone = [file.path for file in files if isinstance(file, DeleteText) or (isinstance(file, UpdateText) and file.move_to)]
        if gone:
            return self._refused(RemoveAsk(gone[0])) or _no("Files are not deleted or moved here.")
        return self._change([(file.path, isinstance(file, AddText), _patcher(file)) for file in files])

    def _change(self, wanted: Sequence[tuple[str, bool, Make]]) -> Answer:
        """Check and compute every change before the first is written."""
        changes: list[Change] = []
        for asked, whole, make in wanted:
            place = self._place(asked)
            refused = self._refused(ChangeAsk(place, whole))
            if refused or isinstance(place, Lost):
                return refused or _no("The path cannot be used.")
            change = self._worked_out(place, whole, make)
            if isinstance(change, Misfit):
                return _no(f"{place.path}: {change.why}")
            if any(change.path == other.path for other in changes):
                return _no(f"{place.path} is named twice: put its changes together.")
            changes.append(change)
        # Nothing is written until every change is allowed and computed.
        for change in changes:
            self._write(change)
        return Answer(text="Changed: " + ", ".join(str(change.path) for change in changes), changed=True)

    def _worked_out(self, place: Place, whole: bool, make: Make) -> Change | Misfit:
        before = self._present(place.path)
        text = None
        if before is not None:
            seen = self._seen.get(place.path)
            if seen is None:
                return Misfit("Read the file before you change it.")
            if whole and seen != sha256(before).digest():
                return Misfit("The file changed since it was read: read it again.")
            try:
                text = before.decode("utf-8")
            except UnicodeDecodeError:
                return Misfit("The file is not UTF-8 text.")
        after = make(text)
        if isinstance(after, Misfit):
            return after
        try:
            data = after.encode("utf-8")
        except UnicodeEncodeError:
            return Misfit("The new text holds half a character (a lone surrogate).")
        return Misfit(f"The file would be larger than {MAX_BYTES} bytes.") if len(data) > MAX_BYTES else Change(place.path, before, data)

    def _write(self, change: Change) -> None:
        self._before.setdefault(change.path, change.before)
        if change.before is not None:
            self._files.write(change.path, change.after, expect=change.before)
        elif not self._files.create(change.path, change.after):
            raise StoreError(f"{change.path} was created by another process meanwhile: read it.")
        self._see(change.path, change.after)


def _no(text: str) -> Answer:
    return Answer(text=text, is_error=True)


def _maker(call: EditFile | InsertText | WriteFile) -> Make:
    def make(text: str | None) -> str | Misfit:
        match call:
            case WriteFile():
                return call.text
            case EditFile() if text is None:
                only = call.replacements[0]
                return only.new if not only.old and len(call.replacements) == 1 else Misfit("There is no such file.")
            case InsertText() if text is None:
                return Misfit("There is no such file.")
            case EditFile():
                return editing.replace(text or "", call.replacements)
            case InsertText():
                return editing.insert(text or "", call)

    return make


def _patcher(file: FilePatch) -> Make:
    def make(text: str | None) -> str | Misfit:
        match file:
            case AddText():
                return file.text
            case UpdateText() if text is not None:
                return apply_hunks(text, file.hunks)
            case _:
                return Misfit("There is no such file.")

    return make

"""Install memorist into a client's settings and remove it again, each file in one atomic write.

Memorist's entries are removed from the text the way they were added. The home keeps checksums of
each file before and after, so that uninstalling can tell whether it restores the original; the
content itself is never copied, because settings hold keys.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import stat
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

import msgspec
from msgspec import Struct, field

from memorist.errors import InputError, StoreError, WriteConflict
from memorist.hooks import hook_protocol
from memorist.hooks.hook_entries import INSTALLED_EVENTS, TOOL_EVENT
from memorist.hooks.json_edit import blank_json_comments, parse_json_tree
from memorist.hooks.mcp_entries import SERVER_CONTAINERS
from memorist.ports import FileSystem
from memorist.store.disk_files import read_json_if_valid, remove_temporary_leftovers

RECORD_FILE = "installed.json"
CLIENT_FOLDERS = (".claude", ".codex", "memorist", "commands", "prompts", "skills", "agents")
"""Folders that go with the last file in them."""
MAX_SETTINGS_BYTES = 64 * 1024 * 1024
"""Larger than any settings file; Claude Code's own, which also holds histories, grows to some
megabytes.
"""


COMMAND_PURPOSE = "command"
"""Purpose of a file that the agent only reads when its user types the command."""


class InstallTarget(Struct, frozen=True):
    """A file to change and how; `purpose` names it for the user.

    `empty_text` is what a missing file counts as.
    """

    path: Path
    purpose: str
    add: Callable[[str], str]
    remove: Callable[[str, Sequence[str]], str]
    empty_text: str


class SettingsChange(Struct, frozen=True):
    """The content of a file before and after; None where there is no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    def render_diff(self) -> str:
        """The change as a unified diff; empty if nothing changes."""
        old, new = (_diff_lines(data) for data in (self.before, self.after))
        names = (
            "/dev/null" if self.before is None else str(self.path),
            "/dev/null" if self.after is None else str(self.path),
        )
        return "".join(difflib.unified_diff(old, new, *names))


class InstalledFileRecord(Struct, frozen=True, kw_only=True):
    """A file that was changed."""

    path: str
    before: str
    """Checksum of the original content; empty if unknown: others changed the file between two
    installations.
    """
    after: str
    """Checksum of what was written."""
    replaced: str = ""
    """Checksum of what stood there right before, which still does where the process was killed
    between this record and the file.
    """
    created: bool = field(default=False, name="made")
    """Whether memorist created the file."""
    blank: str = ""
    """The original content, if it was only blanks and a pair of braces."""
    folders: tuple[str, ...] = ()
    """The folders that memorist made for it, or for another file in them."""
    kept: tuple[str, ...] = ()
    """Containers that existed before (`list_existing_entry_containers`); they stay when
    they become empty.
    """

    def matches_content(self, data: bytes) -> bool:
        """Whether nobody else changed the file, whatever step of memorist's own was the last."""
        return _checksum(data) in (self.after, self.replaced, self.before)


def _diff_lines(data: bytes | None) -> list[str]:
    lines = ("" if data is None else data.decode("utf-8", "replace")).splitlines(keepends=True)
    return [
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    ]


class HookInstaller:
    """Installs hooks for one home of memorist."""

    def __init__(self, home: Path, files: FileSystem) -> None:
        self._files = files
        self._path = home / hook_protocol.FOLDER / RECORD_FILE

    def plan_install(self, target: InstallTarget) -> SettingsChange:
        """Plan an installation.

        Raises InputError for a file that is invalid or read-only, StoreError for one that cannot be
        read.
        """
        path, before = self._read(target)
        if self._is_own_file_of_user(target, path, before):
            return SettingsChange(path, before, before)
        text = (
            target.empty_text
            if before is None or not before.strip()
            else _decode_text(before, path)
        )
        return _require_writable(
            SettingsChange(path, before, _edit_text(lambda: target.add(text), path))
        )

    def plan_uninstall(self, target: InstallTarget) -> SettingsChange:
        """Plan a removal: the original content if nobody changed the file since.

        Raises as `plan_install` does.
        """
        return _require_writable(self._plan_removal(target))

    def _plan_removal(self, target: InstallTarget) -> SettingsChange:
        path, before = self._read(target)
        if before is None:
            return SettingsChange(path, None, None)
        if self._is_own_file_of_user(target, path, before):
            return SettingsChange(path, before, before)
        record = self.read_records().get(str(path))
        text = _decode_text(before, path)
        kept = () if record is None else record.kept
        after = _edit_text(lambda: target.remove(text, kept), path)
        if record is not None and record.created and after.strip() in (b"", b"{}"):
            return SettingsChange(path, before, None)
        if record is not None and record.matches_content(before):
            for exact in (record.blank.encode(), after, after.removesuffix(b"\n")):
                if _checksum(exact) == record.before:
                    return SettingsChange(path, before, exact)
        return SettingsChange(path, before, after)

    def _is_own_file_of_user(self, target: InstallTarget, path: Path, before: bytes | None) -> bool:
        """Whether a command's file, which is memorist's as a whole, holds somebody else's words."""
        if target.purpose != COMMAND_PURPOSE or not (before or b"").strip():
            return False
        record = self.read_records().get(str(path))
        return record is None or not record.matches_content(before or b"")

    def _read(self, target: InstallTarget) -> tuple[Path, bytes | None]:
        path = self._files.resolve(target.path)
        try:
            data = self._files.read(path, limit=MAX_SETTINGS_BYTES + 1)
        except FileNotFoundError:
            return path, None
        if len(data) > MAX_SETTINGS_BYTES:
            raise InputError(f"{path} is larger than any settings file; memorist leaves it alone")
        return path, data

    def read_records(self) -> dict[str, InstalledFileRecord]:
        """The installed files by path; an unreadable record file counts as empty."""
        records: list[InstalledFileRecord] | None = None
        with contextlib.suppress(StoreError):
            records = read_json_if_valid(self._files, self._path, list[InstalledFileRecord])
        return {each.path: each for each in records or ()}

    def install(self, change: SettingsChange) -> None:
        """Install; the record is written first. A file that is to go is removed.

        Raises StoreError, or WriteConflict if the file changed since the plan.
        """
        remove_temporary_leftovers(change.path.parent)
        if change.before == change.after:
            return
        if change.after is None:
            self.uninstall(change)
            return
        records = self.read_records()
        old = records.get(str(change.path))
        if old is None or change.before is None:
            now = _new_record(change, change.after, self._list_made_folders(change.path, records))
        elif old.matches_content(change.before):
            now = msgspec.structs.replace(
                old, after=_checksum(change.after), replaced=_checksum(change.before)
            )
        else:
            now = InstalledFileRecord(
                path=str(change.path), before="", after=_checksum(change.after), folders=old.folders
            )
        records[str(change.path)] = now
        self._write_records(records)
        if change.before is None:
            if not self._files.create(change.path, change.after):
                raise WriteConflict(f"{change.path} was created just now; look at it and try again")
        else:
            self._files.write(change.path, change.after, expect=change.before)

    def uninstall(self, change: SettingsChange) -> None:
        """Uninstall. Raises StoreError, or WriteConflict if the file changed since the plan."""
        remove_temporary_leftovers(change.path.parent)
        records = self.read_records()
        record = records.pop(str(change.path), None)
        if change.before is not None and change.after is None:
            if self._files.read(change.path) != change.before:
                raise WriteConflict(f"{change.path} was changed just now; look at it and try again")
            self._files.remove(change.path)
            with contextlib.suppress(OSError):  # only an empty folder goes
                for folder in record.folders if record is not None else ():
                    Path(folder).rmdir()
        elif (
            change.before is not None and change.after is not None and change.before != change.after
        ):
            self._files.write(change.path, change.after, expect=change.before)
        if record is not None:
            self._write_records(records)

    def _list_made_folders(
        self, path: Path, records: Mapping[str, InstalledFileRecord]
    ) -> tuple[str, ...]:
        """The client's folders around a file that are not there yet, or that memorist made for
        another one; the innermost first.
        """
        earlier = {folder for each in records.values() for folder in each.folders}
        return tuple(
            str(folder)
            for folder in takewhile(_is_client_folder, path.parents)
            if str(folder) in earlier or self._files.lstat(folder) is None
        )

    def _write_records(self, records: Mapping[str, InstalledFileRecord]) -> None:
        remove_temporary_leftovers(self._path.parent)
        self._files.write(self._path, msgspec.json.encode(list(records.values())))


def list_existing_entry_containers(text: str) -> tuple[str, ...]:
    """Existing containers of memorist's entries, such as `hooks`, `hooks.Stop` and `mcpServers`.

    Raises InputError.
    """
    root = parse_json_tree(text)
    hooks = root.get_member("hooks")
    events = [
        f"hooks.{name}"
        for name in (*INSTALLED_EVENTS, TOOL_EVENT)
        if hooks is not None and hooks.get_member(name) is not None
    ]
    return (
        *(name for name in ("hooks", *SERVER_CONTAINERS) if root.get_member(name) is not None),
        *events,
    )


def _is_client_folder(folder: Path) -> bool:
    return folder.name in CLIENT_FOLDERS or folder.name.startswith("memorist-")


def _new_record(
    change: SettingsChange, after: bytes, folders: tuple[str, ...]
) -> InstalledFileRecord:
    text = (change.before or b"").decode("utf-8", "replace")
    blank = text if "".join(text.split()) in ("", "{}") else ""
    kept = (
        ()
        if blank or change.path.suffix != ".json" or not text
        else list_existing_entry_containers(blank_json_comments(text))
    )
    return InstalledFileRecord(
        path=str(change.path),
        before=_checksum(change.before or b""),
        after=_checksum(after),
        created=change.before is None,
        blank=blank,
        kept=kept,
        folders=folders,
    )


def _require_writable(change: SettingsChange) -> SettingsChange:
    """Return the change if its file is writable.

    Replacing a file needs no write permission on it, but a read-only file shows that its owner does
    not want it changed.
    """
    if change.before not in (None, change.after) and not change.path.stat().st_mode & stat.S_IWUSR:
        raise InputError(
            f"{change.path} is left as it is: it is read-only; give yourself write permission "
            f"first (chmod u+w)"
        )
    return change


def _decode_text(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is left as it is: it is not UTF-8 text; fix it first") from error


def _edit_text(make: Callable[[], str], path: Path) -> bytes:
    try:
        return make().encode("utf-8")
    except InputError as error:
        raise InputError(f"{path} is left as it is: {error}") from error


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

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
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.errors import InputError, StoreError, WriteConflict
from memorist.hooks import wire
from memorist.hooks.entries import (
    Program,
    containers,
    server,
    with_hooks,
    with_json_server,
    with_toml_server,
    without_hooks,
    without_json_server,
    without_toml_server,
)
from memorist.hooks.event import Client
from memorist.ports import Files

RECORD = "installed.json"
AGENTS_FOLDERS = (".claude", ".codex")
MOST_BYTES = 64 * 1024 * 1024
"""Larger than any settings file; Claude Code's own, which also holds histories, grows to some
megabytes.
"""


class Target(Struct, frozen=True):
    """A file to change and how; `purpose` names it for the user.

    `empty_text` is what a missing file counts as.
    """

    path: Path
    why: str
    put: Callable[[str], str]
    take: Callable[[str, Sequence[str]], str]
    empty: str


class Change(Struct, frozen=True):
    """The content of a file before and after; None where there is no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    def diff(self) -> str:
        """The change as a unified diff; empty if nothing changes."""
        old, new = (_lines(data) for data in (self.before, self.after))
        names = ("/dev/null" if self.before is None else str(self.path), "/dev/null" if self.after is None else str(self.path))
        return "".join(difflib.unified_diff(old, new, *names))


class Record(Struct, frozen=True, kw_only=True):
    """A file that was changed."""

    path: str
    before: str
    """Checksum of the original content; empty if unknown: others changed the file between two
    installations.
    """
    after: str
    """Checksum of what was written."""
    made: bool = False
    """Whether memorist created the file."""
    blank: str = ""
    """The original content, if it was only blanks and a pair of braces."""
    kept: tuple[str, ...] = ()
    """Containers that existed before (`memorist.hooks.install.find_containers`); they stay when
    they become empty.
    """


def _lines(data: bytes | None) -> list[str]:
    lines = ("" if data is None else data.decode("utf-8", "replace")).splitlines(keepends=True)
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]


class Where(Struct, frozen=True, kw_only=True):
    """Whose settings: the user's, or those of one project."""

    home: Path
    """The user's home folder."""
    environment: Mapping[str, str]
    project: Path | None = None


def targets(client: Client, where: Where, program: Program, hooks: Mapping[str, object], *, mcp: bool) -> list[Target]:
    """The settings files to change.

    Hooks name a program of this machine, so in a project they go into the file that is not shared.
    """
    claude = where.environment.get("CLAUDE_CONFIG_DIR", "")
    codex = where.environment.get("CODEX_HOME", "")
    if client == "claude-code":
        user = Path(claude) if claude else where.home / ".claude"
        settings = user / "settings.json" if where.project is None else where.project / ".claude" / "settings.local.json"
        own = (user if claude else where.home) / ".claude.json"
        servers = own if where.project is None else where.project / ".mcp.json"
        second = Target(servers, "MCP server", lambda text: with_json_server(text, server(program)), without_json_server, "{}\n")
    else:
        folder = (Path(codex) if codex else where.home / ".codex") if where.project is None else where.project / ".codex"
        settings = folder / "hooks.json"
        second = Target(folder / "config.toml", "MCP server", lambda text: with_toml_server(text, program), without_toml_server, "")
    first = Target(settings, "hooks", lambda text: with_hooks(text, hooks), without_hooks, "{}\n")
    return [first, second] if mcp else [first]


class Plugging:
    """Installs hooks for one home of memorist."""

    def __init__(self, home: Path, files: Files) -> None:
        self._files = files
        self._path = home / wire.FOLDER / RECORD

    def plan_in(self, target: Target) -> Change:
        """Plan an installation.

        Raises InputError for a file that is invalid or read-only, StoreError for one that cannot be
        read.
        """
        path, before = self._read(target)
        text = target.empty if before is None or not before.strip() else _text(before, path)
        return _allowed(Change(path, before, _made(lambda: target.put(text), path)))

    def plan_out(self, target: Target) -> Change:
        """Plan a removal: the original content if nobody changed the file since.

        Raises as `plan_install` does.
        """
        return _allowed(self._out(target))

    def _out(self, target: Target) -> Change:
        path, before = self._read(target)
        if before is None:
            return Change(path, None, None)
        record = self.records().get(str(path))
        text = _text(before, path)
        kept = () if record is None else record.kept
        after = _made(lambda: target.take(text, kept), path)
        if record is not None and record.made and after.strip() in (b"", b"{}"):
            return Change(path, before, None)
        if record is not None and record.after == _sum(before):
            for exact in (record.blank.encode(), after, after.removesuffix(b"\n")):
                if _sum(exact) == record.before:
                    return Change(path, before, exact)
        return Change(path, before, after)

    def _read(self, target: Target) -> tuple[Path, bytes | None]:
        path = self._files.resolve(target.path)
        try:
            data = self._files.read(path, limit=MOST_BYTES + 1)
        except FileNotFoundError:
            return path, None
        if len(data) > MOST_BYTES:
            raise InputError(f"{path} is larger than any settings file; memorist leaves it alone")
        return path, data

    def records(self) -> dict[str, Record]:
        """The installed files by path; an unreadable record file counts as empty."""
        with contextlib.suppress(FileNotFoundError, StoreError, msgspec.DecodeError):
            return {each.path: each for each in msgspec.json.decode(self._files.read(self._path), type=list[Record])}
        return {}

    def put(self, change: Change) -> None:
        """Install; the record is written first.

        Raises StoreError, or WriteConflict if the file changed since the plan.
        """
        if change.before == change.after or change.after is None:
            return
        records = self.records()
        old = records.get(str(change.path))
        if old is None or change.before is None:
            now = _first(change, change.after)
        elif old.after == _sum(change.before):
            now = msgspec.structs.replace(old, after=_sum(change.after))
        else:
            now = Record(path=str(change.path), before="", after=_sum(change.after))
        records[str(change.path)] = now
        self._keep(records)
        if change.before is None:
            if not self._files.create(change.path, change.after):
                raise WriteConflict(f"{change.path} was created just now; look at it and try again")
        else:
            self._files.write(change.path, change.after, expect=change.before)

    def take(self, change: Change) -> None:
        """Uninstall. Raises StoreError, or WriteConflict if the file changed since the plan."""
        if change.before is not None and change.after is None:
            if self._files.read(change.path) != change.before:
                raise WriteConflict(f"{change.path} was changed just now; look at it and try again")
            self._files.remove(change.path)
            if change.path.parent.name in AGENTS_FOLDERS:
                with contextlib.suppress(OSError):
                    change.path.parent.rmdir()  # only an empty one goes
        elif change.before is not None and change.after is not None and change.before != change.after:
            self._files.write(change.path, change.after, expect=change.before)
        records = self.records()
        if records.pop(str(change.path), None) is not None:
            self._keep(records)

    def _keep(self, records: Mapping[str, Record]) -> None:
        self._files.write(self._path, msgspec.json.encode(list(records.values())))


def _first(change: Change, after: bytes) -> Record:
    text = (change.before or b"").decode("utf-8", "replace")
    blank = text if "".join(text.split()) in ("", "{}") else ""
    kept = () if blank or change.path.suffix != ".json" or not text else containers(text)
    return Record(
        path=str(change.path), before=_sum(change.before or b""), after=_sum(after), made=change.before is None, blank=blank, kept=kept
    )


def _allowed(change: Change) -> Change:
    """Return the change if its file is writable.

    Replacing a file needs no write permission on it, but a read-only file shows that its owner does
    not want it changed.
    """
    if change.before not in (None, change.after) and not change.path.stat().st_mode & stat.S_IWUSR:
        raise InputError(f"{change.path} is left as it is: it is read-only; give yourself write permission first (chmod u+w)")
    return change


def _text(data: bytes, path: Path) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is left as it is: it is not UTF-8 text; fix it first") from error


def _made(make: Callable[[], str], path: Path) -> bytes:
    try:
        return make().encode("utf-8")
    except InputError as error:
        raise InputError(f"{path} is left as it is: {error}") from error


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()

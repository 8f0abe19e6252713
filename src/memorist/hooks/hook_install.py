"""Install memorist into a client's settings and remove it again, each file in one atomic write.

Memorist's entries are removed from the text the way they were added. The home keeps checksums of
each file before and after, so that uninstalling can tell whether it restores the original; the
content itself is never copied, because settings hold keys.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import re
import shlex
import stat
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from memorist.core import toml_edit
from memorist.errors import InputError, StoreError, WriteConflict
from memorist.hooks import hook_protocol
from memorist.hooks.hook_event import Client
from memorist.hooks.json_edit import (
    JsonNode,
    add_json_member,
    ensure_json_path,
    parse_json_tree,
    remove_json_member,
    replace_json_value,
)
from memorist.ports import FileSystem

# Add memorist's entries to the settings of Claude Code and Codex as text, and remove them.


INSTALLED_EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PreCompact",
    "Stop",
    "SubagentStop",
    "SessionEnd",
)
"""Events that hooks are installed for.

PostCompact is not: the SessionStart after it does the same, and older clients do not know it.
"""
TOOL_MATCHERS = {"PreToolUse": "Bash|Edit|MultiEdit|Write|apply_patch"}
"""The tools of which memorist may know something before a call: commands and edits."""
TOOL_EVENT = "PostToolUse"
"""Installed only on request: it starts a program for each tool call, and updates notes of a long
turn a little earlier.
"""
TIMEOUT_MARGIN_SECONDS = 3
"""How much longer the client's own time limit is than memorist's, whose program exits by itself."""
CODEX_END_SECONDS = 3
"""Longest limit that Codex allows for SessionEnd; it warns in every run about a longer one."""
MCP_SERVER_NAME = "memorist"
SERVERS_KEY, OPENCODE_SERVERS_KEY = SERVER_CONTAINERS = ("mcpServers", "mcp")
"""Keys below which agents keep their MCP servers: most of them, and opencode."""
_OWN_COMMAND = re.compile(r"(?:^|[\s/'\"])memorist['\"]?\s+hook\s+[A-Za-z]+")
HOME_VARIABLE = "MEMORIST_HOME"
"""The environment variable that tells the server its home."""
_SERVER_TABLE = ("mcp_servers", MCP_SERVER_NAME)
_SERVER_KEYS = ("command", "args", "env")
_NAME_IN_USE = (
    f"it names another MCP server “{MCP_SERVER_NAME}” already; rename or remove that, or "
    f"install with --no-mcp"
)
_NOT_ADDED = (
    "a table for the MCP server cannot be added at its end; write it yourself, or install "
    "with --no-mcp"
)
_OTHER_FORM = (
    f"the MCP server “{MCP_SERVER_NAME}” stands in it in a form that memorist cannot "
    f"change for certain; remove it yourself"
)


class LaunchCommand(Struct, frozen=True, kw_only=True):
    """How memorist is started, and for which home; empty for the default one."""

    arguments: tuple[str, ...]
    home: str = ""

    def shell_words(self) -> str:
        """The shell words in front of a command of memorist's."""
        home = ("env", f"{HOME_VARIABLE}={self.home}") if self.home else ()
        return shlex.join((*home, *self.arguments))

    def shell_command(self, event: str, client: Client) -> str:
        """The shell command of a hook.

        It always succeeds, even if the program is gone: a failed hook could stop a turn.
        """
        words = (
            *self.arguments,
            "hook",
            event,
            "--client",
            client,
            *(("--home", self.home) if self.home else ()),
        )
        return f"{shlex.join(words)} || true"


def is_own_hook(command: object) -> bool:
    """Whether a hook's command was installed by memorist."""
    return isinstance(command, str) and _OWN_COMMAND.search(command) is not None


def build_hook_entries(
    program: LaunchCommand,
    client: Client,
    limits: Mapping[str, float],
    events: Sequence[str] = INSTALLED_EVENTS,
) -> dict[str, object]:
    """The entry of each event; `limits` are the time limits in seconds."""
    return {
        event: {
            **({"matcher": TOOL_MATCHERS[event]} if event in TOOL_MATCHERS else {}),
            "hooks": [
                {
                    "type": "command",
                    "command": program.shell_command(event, client),
                    "timeout": _client_limit(client, event, limits[event]),
                }
            ],
        }
        for event in events
    }


def _client_limit(client: Client, event: str, seconds: float) -> int:
    """The time limit that the client keeps for an event, in seconds."""
    limit = round(seconds + TIMEOUT_MARGIN_SECONDS)
    return min(limit, CODEX_END_SECONDS) if (client, event) == ("codex", "SessionEnd") else limit


def add_hooks(text: str, wanted: Mapping[str, object]) -> str:
    """Add these entries, each at the end of its event; existing ones stay in place.

    Raises InputError.
    """
    for event in [event for event in _installed_events(text) if event not in wanted]:
        text = _remove_event(text, event)
    for event, entry in wanted.items():
        if _own_groups(text, event) == [entry]:
            continue
        text = _remove_event(text, event)
        text, position = ensure_json_path(text, ("hooks", event), list)
        text = add_json_member(text, position, "", entry)
    return text


def remove_hooks(text: str, keep: Sequence[str] = ()) -> str:
    """Remove memorist's entries and the containers that become empty, except those in `keep`.

    Raises InputError.
    """
    for event in _installed_events(text):
        text = _remove_event(text, event, keep)
    return text


def find_containers(text: str) -> tuple[str, ...]:
    """Existing containers of memorist's entries, such as `hooks`, `hooks.Stop` and `mcpServers`.

    Raises InputError.
    """
    root = parse_json_tree(text)
    hooks = root.get("hooks")
    events = [
        f"hooks.{name}"
        for name in (*INSTALLED_EVENTS, TOOL_EVENT)
        if hooks is not None and hooks.get(name) is not None
    ]
    return (
        *(name for name in ("hooks", *SERVER_CONTAINERS) if root.get(name) is not None),
        *events,
    )


def find_hook_commands(text: str) -> dict[str, str]:
    """Memorist's hook commands by event. Raises InputError."""
    return {event: command for event, command, *_ in _find_own_hooks(text)}


def _installed_events(text: str) -> list[str]:
    return list(dict.fromkeys(event for event, *_ in _find_own_hooks(text)))


def _own_groups(text: str, event: str) -> list[object]:
    """The groups of an event that hold one of memorist's entries."""
    return [group.value for name, _, _, group, _ in _find_own_hooks(text) if name == event]


def _find_own_hooks(text: str) -> list[tuple[str, str, JsonNode, JsonNode, int]]:
    """Event, command, list of groups, group and index in it of each of memorist's entries."""
    hooks = parse_json_tree(text).get("hooks")
    found = []
    for event in hooks.members if hooks is not None and isinstance(hooks.value, dict) else ():
        for group in event.node.members if isinstance(event.node.value, list) else ():
            inner = group.node.get("hooks") if isinstance(group.node.value, dict) else None
            for index, each in enumerate(
                inner.members if inner is not None and isinstance(inner.value, list) else ()
            ):
                command = (
                    each.node.value.get("command") if isinstance(each.node.value, dict) else None
                )
                if is_own_hook(command):
                    found.append((event.key, str(command), event.node, group.node, index))
    return found


def _remove_event(text: str, event: str, keep: Sequence[str] = ()) -> str:
    """Remove memorist's entries of one event."""
    while True:
        entry = next((each for each in _find_own_hooks(text) if each[0] == event), None)
        if entry is None:
            return text
        _, _, groups, group, position = entry
        inner = group.get("hooks")
        if inner is not None and len(inner.members) > 1:
            text = remove_json_member(text, inner, position)
        elif len(groups.members) > 1:
            text = remove_json_member(
                text, groups, next(i for i, each in enumerate(groups.members) if each.node is group)
            )
        else:
            text = (
                remove_json_member(text, groups, 0)
                if f"hooks.{event}" in keep
                else _remove_member(text, ("hooks", event), keep)
            )


def _remove_member(text: str, path: tuple[str, ...], keep: Sequence[str] = ()) -> str:
    """Without the member at the end of a path, and without what becomes empty by that, unless it is
    to be kept.
    """
    above = parse_json_tree(text)
    for key in path[:-1]:
        above = above.get(key) or above
    if len(above.members) == 1 and len(path) > 1 and path[0] not in keep:
        return _remove_member(text, path[:-1])
    return remove_json_member(
        text, above, next(i for i, each in enumerate(above.members) if each.key == path[-1])
    )


def build_server_entry(program: LaunchCommand) -> dict[str, object]:
    """The entry of the MCP server in Claude Code's settings."""
    words = program.arguments
    entry: dict[str, object] = {"type": "stdio", "command": words[0], "args": [*words[1:], "mcp"]}
    return entry | ({"env": {HOME_VARIABLE: program.home}} if program.home else {})


def _update_entry(there: Mapping[str, object], entry: Mapping[str, object]) -> dict[str, object]:
    """Update memorist's own entry; keys that the user or the client added stay."""
    env = there.get("env")
    kept = (
        {key: value for key, value in env.items() if key != HOME_VARIABLE}
        if isinstance(env, Mapping)
        else {}
    )
    ours = entry.get("env")
    environment = kept | (dict(ours) if isinstance(ours, Mapping) else {})
    merged = {**there, **entry}
    merged.pop("env", None)
    return merged | ({"env": environment} if environment else {})


def add_json_server(text: str, entry: Mapping[str, object], container: str = SERVERS_KEY) -> str:
    """Add the MCP server below the key `container`.

    Raises InputError, also if another server has its name.
    """
    text, servers = ensure_json_path(text, (container,), dict)
    there = servers.get(MCP_SERVER_NAME)
    if there is None:
        return add_json_member(text, servers, MCP_SERVER_NAME, entry)
    if not _is_own_server(there.value):
        raise InputError(_NAME_IN_USE)
    wanted = _update_entry(there.value, entry)
    return text if there.value == wanted else replace_json_value(text, there, wanted)


def remove_json_server(text: str, keep: Sequence[str] = (), container: str = SERVERS_KEY) -> str:
    """Remove the MCP server if it is memorist's. Raises InputError."""
    servers = parse_json_tree(text).get(container)
    there = (
        servers.get(MCP_SERVER_NAME)
        if servers is not None and isinstance(servers.value, dict)
        else None
    )
    return (
        text
        if there is None or not _is_own_server(there.value)
        else _remove_member(text, (container, MCP_SERVER_NAME), keep)
    )


def _is_own_server(value: object) -> bool:
    """An entry whose last word is `mcp`; opencode keeps all words under `command`."""
    words = (value.get("args") or value.get("command")) if isinstance(value, dict) else None
    return isinstance(words, list) and words[-1:] == ["mcp"]


def add_toml_server(text: str, program: LaunchCommand) -> str:
    """Add the MCP server to Codex's settings as a table at the end; all else keeps its bytes,
    comments included. Raises InputError.
    """
    said = toml_edit.parse_toml(text)
    there = _server_tables(said).get(MCP_SERVER_NAME)
    entry = {key: value for key, value in build_server_entry(program).items() if key != "type"}
    if there is None:
        edited = toml_edit.append_toml_table(
            text, f"[{'.'.join(_SERVER_TABLE)}]\n{_format_assignments(entry)}"
        )
        return _verify_toml(
            edited,
            [_replace_servers(said, {**_server_tables(said), MCP_SERVER_NAME: entry})],
            _NOT_ADDED,
        )
    if not _is_own_server(there):
        raise InputError(_NAME_IN_USE)
    wanted = _update_entry(there, entry)
    if there == wanted:
        return text
    edited = toml_edit.remove_toml_tables(text, (*_SERVER_TABLE, "env"))
    own = [
        table
        for table in toml_edit.find_toml_tables(toml_edit.split_toml_lines(edited), _SERVER_TABLE)
        if table.path == _SERVER_TABLE
    ]
    env = wanted.get("env", {})
    if (
        len(own) != 1
        or not isinstance(env, dict)
        or not all(isinstance(value, str) for value in env.values())
    ):
        raise InputError(_OTHER_FORM)
    said_of_it = _format_assignments({key: wanted[key] for key in _SERVER_KEYS if key in wanted})
    return _verify_toml(
        toml_edit.rewrite_toml_table(edited, own[0], said_of_it, _SERVER_KEYS),
        [_replace_servers(said, {**_server_tables(said), MCP_SERVER_NAME: wanted})],
        _OTHER_FORM,
    )


def remove_toml_server(text: str, _: Sequence[str] = ()) -> str:
    """Remove the MCP server and its subtables from Codex's settings if it is memorist's.

    Raises InputError.
    """
    said = toml_edit.parse_toml(text)
    if not _is_own_server(_server_tables(said).get(MCP_SERVER_NAME)):
        return text
    left = {key: value for key, value in _server_tables(said).items() if key != MCP_SERVER_NAME}
    none = {key: value for key, value in said.items() if key != "mcp_servers"}
    return _verify_toml(
        toml_edit.remove_toml_tables(text, _SERVER_TABLE),
        [_replace_servers(said, left), *([] if left else [none])],
        _OTHER_FORM,
    )


def list_trust_keys(path: Path, text: str) -> list[str]:
    """The names under which Codex keeps that the user trusts memorist's entries of a hooks file:
    file, event, and the places of group and entry. Raises InputError.
    """
    keys = []
    for event, _, groups, group, position in _find_own_hooks(text):
        label = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        number = [each.node for each in groups.members].index(group)
        keys.append(f"{path}:{label}:{number}:{position}")
    return keys


def remove_toml_trust(text: str, keys: Sequence[str]) -> str:
    """Remove what Codex noted of these hooks (`hooks.state`), so that a later installation is asked
    about again. Text that would not be what remains is left as it is. Raises InputError.
    """
    said = toml_edit.parse_toml(text)
    state = said.get("hooks", {}).get("state", {})
    for key in (each for each in keys if each in state):
        left = {name: value for name, value in state.items() if name != key}
        edited = toml_edit.remove_toml_tables(text, ("hooks", "state", key))
        now = toml_edit.parse_toml(edited).get("hooks", {}).get("state", {})
        if now == left:
            text, state = edited, left
    return text


def _server_tables(said: Mapping[str, Any]) -> dict[str, Any]:
    servers = said.get("mcp_servers", {})
    return servers if isinstance(servers, dict) else {}


def _replace_servers(said: Mapping[str, Any], servers: Mapping[str, Any]) -> dict[str, Any]:
    return {**said, "mcp_servers": servers}


def _format_assignments(entry: Mapping[str, Any]) -> str:
    return "".join(toml_edit.format_toml_assignment(key, value) for key, value in entry.items())


def _verify_toml(edited: str, wanted: Sequence[object], otherwise: str) -> str:
    """Return the edited text if it parses to one of the wanted values. Raises InputError."""
    try:
        if toml_edit.parse_toml(edited) in wanted:
            return edited
    except InputError as error:
        raise InputError(otherwise) from error
    raise InputError(otherwise)


RECORD_FILE = "installed.json"
CLIENT_FOLDERS = (".claude", ".codex", "memorist", "commands", "prompts", "skills", "agents")
"""Folders that go with the last file in them."""
MAX_SETTINGS_BYTES = 64 * 1024 * 1024
"""Larger than any settings file; Claude Code's own, which also holds histories, grows to some
megabytes.
"""


class SettingsFile(Struct, frozen=True):
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

    def diff(self) -> str:
        """The change as a unified diff; empty if nothing changes."""
        old, new = (_diff_lines(data) for data in (self.before, self.after))
        names = (
            "/dev/null" if self.before is None else str(self.path),
            "/dev/null" if self.after is None else str(self.path),
        )
        return "".join(difflib.unified_diff(old, new, *names))


class InstallRecord(Struct, frozen=True, kw_only=True):
    """A file that was changed."""

    path: str
    before: str
    """Checksum of the original content; empty if unknown: others changed the file between two
    installations.
    """
    after: str
    """Checksum of what was written."""
    created: bool = field(default=False, name="made")
    """Whether memorist created the file."""
    blank: str = ""
    """The original content, if it was only blanks and a pair of braces."""
    kept: tuple[str, ...] = ()
    """Containers that existed before (`find_containers`); they stay when
    they become empty.
    """


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

    def plan_install(self, target: SettingsFile) -> SettingsChange:
        """Plan an installation.

        Raises InputError for a file that is invalid or read-only, StoreError for one that cannot be
        read.
        """
        path, before = self._read(target)
        text = (
            target.empty_text
            if before is None or not before.strip()
            else _decode_text(before, path)
        )
        return _require_writable(
            SettingsChange(path, before, _edit_text(lambda: target.add(text), path))
        )

    def plan_uninstall(self, target: SettingsFile) -> SettingsChange:
        """Plan a removal: the original content if nobody changed the file since.

        Raises as `plan_install` does.
        """
        return _require_writable(self._plan_removal(target))

    def _plan_removal(self, target: SettingsFile) -> SettingsChange:
        path, before = self._read(target)
        if before is None:
            return SettingsChange(path, None, None)
        record = self.read_records().get(str(path))
        if target.purpose == "command" and (record is None or record.after != _checksum(before)):
            return SettingsChange(path, before, before)  # somebody else's words, as a whole
        text = _decode_text(before, path)
        kept = () if record is None else record.kept
        after = _edit_text(lambda: target.remove(text, kept), path)
        if record is not None and record.created and after.strip() in (b"", b"{}"):
            return SettingsChange(path, before, None)
        if record is not None and record.after == _checksum(before):
            for exact in (record.blank.encode(), after, after.removesuffix(b"\n")):
                if _checksum(exact) == record.before:
                    return SettingsChange(path, before, exact)
        return SettingsChange(path, before, after)

    def _read(self, target: SettingsFile) -> tuple[Path, bytes | None]:
        path = self._files.resolve(target.path)
        try:
            data = self._files.read(path, limit=MAX_SETTINGS_BYTES + 1)
        except FileNotFoundError:
            return path, None
        if len(data) > MAX_SETTINGS_BYTES:
            raise InputError(f"{path} is larger than any settings file; memorist leaves it alone")
        return path, data

    def read_records(self) -> dict[str, InstallRecord]:
        """The installed files by path; an unreadable record file counts as empty."""
        with contextlib.suppress(FileNotFoundError, StoreError, msgspec.DecodeError):
            return {
                each.path: each
                for each in msgspec.json.decode(
                    self._files.read(self._path), type=list[InstallRecord]
                )
            }
        return {}

    def install(self, change: SettingsChange) -> None:
        """Install; the record is written first. A file that is to go is removed.

        Raises StoreError, or WriteConflict if the file changed since the plan.
        """
        if change.before == change.after:
            return
        if change.after is None:
            self.uninstall(change)
            return
        records = self.read_records()
        old = records.get(str(change.path))
        if old is None or change.before is None:
            now = _new_record(change, change.after)
        elif old.after == _checksum(change.before):
            now = msgspec.structs.replace(old, after=_checksum(change.after))
        else:
            now = InstallRecord(path=str(change.path), before="", after=_checksum(change.after))
        records[str(change.path)] = now
        self._write_records(records)
        if change.before is None:
            if not self._files.create(change.path, change.after):
                raise WriteConflict(f"{change.path} was created just now; look at it and try again")
        else:
            self._files.write(change.path, change.after, expect=change.before)

    def uninstall(self, change: SettingsChange) -> None:
        """Uninstall. Raises StoreError, or WriteConflict if the file changed since the plan."""
        if change.before is not None and change.after is None:
            if self._files.read(change.path) != change.before:
                raise WriteConflict(f"{change.path} was changed just now; look at it and try again")
            self._files.remove(change.path)
            with contextlib.suppress(OSError):  # only an empty folder goes
                for folder in takewhile(_is_client_folder, change.path.parents):
                    folder.rmdir()
        elif (
            change.before is not None and change.after is not None and change.before != change.after
        ):
            self._files.write(change.path, change.after, expect=change.before)
        records = self.read_records()
        if records.pop(str(change.path), None) is not None:
            self._write_records(records)

    def _write_records(self, records: Mapping[str, InstallRecord]) -> None:
        self._files.write(self._path, msgspec.json.encode(list(records.values())))


def _is_client_folder(folder: Path) -> bool:
    return folder.name in CLIENT_FOLDERS or folder.name.startswith("memorist-")


def _new_record(change: SettingsChange, after: bytes) -> InstallRecord:
    text = (change.before or b"").decode("utf-8", "replace")
    blank = text if "".join(text.split()) in ("", "{}") else ""
    kept = () if blank or change.path.suffix != ".json" or not text else find_containers(text)
    return InstallRecord(
        path=str(change.path),
        before=_checksum(change.before or b""),
        after=_checksum(after),
        created=change.before is None,
        blank=blank,
        kept=kept,
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

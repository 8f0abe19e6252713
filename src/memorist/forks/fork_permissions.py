"""Whether a fork may make a call: a predicate per request, decided from facts that were looked up
before. Pure (FK-3, FK-4).

A path is judged by where it really leads: the caller resolves links and `..` first. Two paths are
the same only when they are equal character by character; a name that differs in case or Unicode
form is therefore another file, or, on a file system that does not distinguish them, denied. That is
the safe choice on every system. Names that the user or another system would read as a different
path are refused before they are resolved.
"""

from __future__ import annotations

import unicodedata
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from memorist.forks.fork_spec import FolderAccess, ForkPermission, NoToolsPermission, SingleFileEdit
from memorist.forks.shell_policy import CommandRefused, judge_shell_command

_INVISIBLE_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories: control, format (zero width, direction), surrogate, line and paragraph
separator.
"""
_normalize = unicodedata.normalize


class ResolvedPathKind(StrEnum):
    """What is at a path after links are resolved."""

    FILE = "file"
    FOLDER = "folder"
    MISSING = "missing"
    OTHER = "other"
    """A device, pipe or socket: reading it may never end."""


class ResolvedPath(Struct, frozen=True):
    """A path as requested and as resolved: the real path after links and `..`, what is there, and
    how many hard links the file has.
    """

    requested: str
    path: Path
    kind: ResolvedPathKind
    links: int = 1


class UnresolvedPath(Struct, frozen=True):
    """A path that cannot be used, and why."""

    requested: str
    why: str


class ReadRequest(Struct, frozen=True, tag="read"):
    """Read a file, or search or list a folder."""

    target: ResolvedPath | UnresolvedPath


class WriteRequest(Struct, frozen=True, tag="change"):
    """Change a file. `is_whole_file`: its whole content is replaced, whatever it holds."""

    target: ResolvedPath | UnresolvedPath
    is_whole_file: bool


class RemoveRequest(Struct, frozen=True, tag="remove"):
    """Delete or move a file."""

    requested: str


class ShellRequest(Struct, frozen=True, tag="shell"):
    """Run a command line."""

    command: str


class OtherToolRequest(Struct, frozen=True, tag="other"):
    """Use a tool that forks do not have."""

    name: str


PermissionRequest = ReadRequest | WriteRequest | RemoveRequest | ShellRequest | OtherToolRequest


class PermissionDenied(Struct, frozen=True):
    """The request is denied; the model reads the reason."""

    reason: str


def check_fork_permission(
    permission: ForkPermission, request: PermissionRequest
) -> PermissionDenied | None:
    """Return None when the fork may make the call, otherwise the denial.

    The permission's own path must be resolved: the folder, or, for `SingleFileEdit`, the file's
    resolved folder with the file's name after it (so that a link in the file's place does not move
    the permission elsewhere).
    """
    match permission:
        case SingleFileEdit():
            return _check_single_file(permission, request)
        case FolderAccess():
            return _check_folder(permission, request)
        case NoToolsPermission():
            return PermissionDenied("Tools cannot be used here: answer in text.")


def _check_single_file(
    permission: SingleFileEdit, ask: PermissionRequest
) -> PermissionDenied | None:
    rule = f"Only an edit of {permission.path} is allowed here."
    if not isinstance(ask, WriteRequest) or ask.is_whole_file:
        return PermissionDenied(f"{rule} {_describe_request(ask)} is not.")
    if isinstance(ask.target, UnresolvedPath):
        return PermissionDenied(f"{rule} {ask.target.why}")
    if ask.target.path != permission.path:
        spelling = (
            " It is spelled differently."
            if may_be_same_file_name(str(ask.target.path), str(permission.path))
            else ""
        )
        return PermissionDenied(f"{rule} {ask.target.requested} is another file.{spelling}")
    return _check_target(ask.target)


def _check_folder(permission: FolderAccess, ask: PermissionRequest) -> PermissionDenied | None:
    match ask:
        case ReadRequest():
            return _check_folder_read(permission, ask.target)
        case WriteRequest():
            return _check_folder_write(permission, ask.target)
        case ShellRequest():
            return _check_folder_shell(permission, ask.command)
        case _:
            return PermissionDenied(
                f"{_describe_request(ask)} is not allowed here: only reading, searching, "
                f"read-only commands and edits inside {permission.folder}."
            )


def _check_folder_read(
    permission: FolderAccess, target: ResolvedPath | UnresolvedPath
) -> PermissionDenied | None:
    if isinstance(target, UnresolvedPath):
        return PermissionDenied(target.why)
    if target.kind is ResolvedPathKind.OTHER:
        return PermissionDenied(f"{target.requested} is not a regular file.")
    if not permission.may_read_anywhere and not target.path.is_relative_to(permission.folder):
        return PermissionDenied(
            f"Reading is allowed only inside {permission.folder}; {target.requested} leads to "
            f"{target.path}."
        )
    return None


def _check_folder_write(
    permission: FolderAccess, target: ResolvedPath | UnresolvedPath
) -> PermissionDenied | None:
    if isinstance(target, UnresolvedPath):
        return PermissionDenied(target.why)
    if target.path == permission.folder or not target.path.is_relative_to(permission.folder):
        return PermissionDenied(
            f"Writing is allowed only inside {permission.folder}; {target.requested} leads to "
            f"{target.path}."
        )
    hidden = [
        part
        for part in target.path.relative_to(permission.folder).parts
        if _normalize("NFKC", part).startswith(".")
    ]
    if hidden:
        return PermissionDenied(
            f"{hidden[0]} begins with a dot: hidden files and folders hold settings and "
            f"history and are not changed here."
        )
    return _check_target(target)


def _check_folder_shell(permission: FolderAccess, command: str) -> PermissionDenied | None:
    if not permission.may_read_anywhere:
        return PermissionDenied(
            "Commands are not allowed here, since the paths that they read are not limited: "
            "use the tools that read and search."
        )
    judged = judge_shell_command(command)
    if isinstance(judged, CommandRefused):
        return PermissionDenied(f"Only read-only commands are allowed here. {judged.why}")
    return None


def _check_target(target: ResolvedPath) -> PermissionDenied | None:
    if target.kind in (ResolvedPathKind.FOLDER, ResolvedPathKind.OTHER):
        return PermissionDenied(f"{target.requested} is not a regular file.")
    if target.links > 1:
        return PermissionDenied(
            f"{target.requested} has a second name elsewhere (a hard link), and a change here "
            f"would be a change there."
        )
    return None


def _describe_request(ask: PermissionRequest) -> str:
    match ask:
        case ReadRequest():
            return f"Reading {ask.target.requested}"
        case WriteRequest():
            return f"Writing {ask.target.requested} as a whole"
        case RemoveRequest():
            return f"Deleting or moving {ask.requested}"
        case ShellRequest():
            return "A command"
        case OtherToolRequest():
            return f"The tool {ask.name}"


def may_be_same_file_name(left: str, right: str) -> bool:
    """Whether a file system that ignores case and Unicode form could treat the two names as the
    same.
    """
    return fold_file_name(left) == fold_file_name(right)


def fold_file_name(name: str) -> str:
    """What names have in common that such a file system treats as the same."""
    return _normalize("NFKC", name).casefold()


def has_invisible_characters(name: str) -> bool:
    """Whether a name holds a control character, a line break or an invisible character."""
    return not (name.isascii() and name.isprintable()) and any(
        unicodedata.category(letter) in _INVISIBLE_CATEGORIES for letter in name
    )


def find_path_text_problem(requested: str) -> str | None:
    """Why a path is refused from its text alone, in one sentence for the model; None when it may be
    resolved.

    Refused are: empty paths, null and control characters, characters that are invisible or change
    the writing direction, `~` (not expanded here), backslashes (a separator elsewhere), names that
    end in a dot or blank (equal to the name without them elsewhere), and characters that only look
    like plain ones (a full-width `．．／` becomes `../` in the compatibility form).
    """
    checks = (
        (not requested.strip(), "The path is empty."),
        (
            has_invisible_characters(requested),
            "The path holds a control character or one that cannot be seen.",
        ),
        (requested.startswith("~"), "`~` is not expanded here: give the full path."),
        ("\\" in requested, "The path holds a backslash."),
        (
            any(
                part.rstrip(". ") != part
                for part in requested.split("/")
                if part not in (".", "..")
            ),
            "A name in the path ends in a dot or a blank.",
        ),
        (
            _normalize("NFKC", requested) != _normalize("NFC", requested),
            "The path holds characters that only look like plain ones.",
        ),
    )
    return next((problem for found, problem in checks if found), None)

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

from memorist.forks.shell import Refused, judge
from memorist.forks.spec import EditOnly, FolderAccess, NoTools, Permission

_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories: control, format (zero width, direction), surrogate, line and paragraph
separator.
"""
_form = unicodedata.normalize


class Kind(StrEnum):
    """What is at a path after links are resolved."""

    FILE = "file"
    FOLDER = "folder"
    MISSING = "missing"
    OTHER = "other"
    """A device, pipe or socket: reading it may never end."""


class Place(Struct, frozen=True):
    """A path as requested and as resolved: the real path after links and `..`, what is there, and
    how many hard links the file has.
    """

    asked: str
    path: Path
    kind: Kind
    links: int = 1


class Lost(Struct, frozen=True):
    """A path that cannot be used, and why."""

    asked: str
    why: str


class ReadAsk(Struct, frozen=True, tag="read"):
    """Read a file, or search or list a folder."""

    place: Place | Lost


class ChangeAsk(Struct, frozen=True, tag="change"):
    """Change a file. `whole` means that its whole content is replaced, whatever it holds."""

    place: Place | Lost
    whole: bool


class RemoveAsk(Struct, frozen=True, tag="remove"):
    """Delete or move a file."""

    asked: str


class ShellAsk(Struct, frozen=True, tag="shell"):
    """Run a command line."""

    command: str


class OtherAsk(Struct, frozen=True, tag="other"):
    """Use a tool that forks do not have."""

    name: str


Ask = ReadAsk | ChangeAsk | RemoveAsk | ShellAsk | OtherAsk


class Denied(Struct, frozen=True):
    """The request is denied; the model reads the reason."""

    reason: str


def decide(permission: Permission, ask: Ask) -> Denied | None:
    """Return None when the fork may make the call, otherwise the denial.

    The permission's own path must be resolved: the folder, or, for `SingleFileEdit`, the file's
    resolved folder with the file's name after it (so that a link in the file's place does not move
    the permission elsewhere).
    """
    match permission:
        case EditOnly():
            return _edit_only(permission, ask)
        case FolderAccess():
            return _folder(permission, ask)
        case NoTools():
            return Denied("Tools cannot be used here: answer in text.")


def _edit_only(permission: EditOnly, ask: Ask) -> Denied | None:
    rule = f"Only an edit of {permission.path} is allowed here."
    if not isinstance(ask, ChangeAsk) or ask.whole:
        return Denied(f"{rule} {_called(ask)} is not.")
    if isinstance(ask.place, Lost):
        return Denied(f"{rule} {ask.place.why}")
    if ask.place.path != permission.path:
        spelling = " It is spelled differently." if same_name(str(ask.place.path), str(permission.path)) else ""
        return Denied(f"{rule} {ask.place.asked} is another file.{spelling}")
    return _unsafe_target(ask.place)


def _folder(permission: FolderAccess, ask: Ask) -> Denied | None:
    match ask:
        case ReadAsk():
            return _folder_read(permission, ask.place)
        case ChangeAsk():
            return _folder_change(permission, ask.place)
        case ShellAsk():
            return _folder_shell(permission, ask.command)
        case _:
            return Denied(
                f"{_called(ask)} is not allowed here: only reading, searching, read-only commands and edits inside {permission.folder}."
            )


def _folder_read(permission: FolderAccess, place: Place | Lost) -> Denied | None:
    if isinstance(place, Lost):
        return Denied(place.why)
    if place.kind is Kind.OTHER:
        return Denied(f"{place.asked} is not a regular file.")
    if not permission.read_anywhere and not place.path.is_relative_to(permission.folder):
        return Denied(f"Reading is allowed only inside {permission.folder}; {place.asked} leads to {place.path}.")
    return None


def _folder_change(permission: FolderAccess, place: Place | Lost) -> Denied | None:
    if not permission.write:
        return Denied("Only reading is allowed here.")
    if isinstance(place, Lost):
        return Denied(place.why)
    if place.path == permission.folder or not place.path.is_relative_to(permission.folder):
        return Denied(f"Writing is allowed only inside {permission.folder}; {place.asked} leads to {place.path}.")
    hidden = [part for part in place.path.relative_to(permission.folder).parts if _form("NFKC", part).startswith(".")]
    if hidden:
        return Denied(f"{hidden[0]} begins with a dot: hidden files and folders hold settings and history and are not changed here.")
    return _unsafe_target(place)


def _folder_shell(permission: FolderAccess, command: str) -> Denied | None:
    if not permission.read_anywhere:
        return Denied("Commands are not allowed here, since the paths that they read are not limited: use the tools that read and search.")
    judged = judge(command)
    return Denied(f"Only read-only commands are allowed here. {judged.why}") if isinstance(judged, Refused) else None


def _unsafe_target(place: Place) -> Denied | None:
    if place.kind in (Kind.FOLDER, Kind.OTHER):
        return Denied(f"{place.asked} is not a regular file.")
    if place.links > 1:
        return Denied(f"{place.asked} has a second name elsewhere (a hard link), and a change here would be a change there.")
    return None


def _called(ask: Ask) -> str:
    match ask:
        case ReadAsk():
            return f"Reading {ask.place.asked}"
        case ChangeAsk():
            return f"Writing {ask.place.asked} as a whole"
        case RemoveAsk():
            return f"Deleting or moving {ask.asked}"
        case ShellAsk():
            return "A command"
        case OtherAsk():
            return f"The tool {ask.name}"


def same_name(left: str, right: str) -> bool:
    """Whether a file system that ignores case and Unicode form could treat the two names as the
    same.
    """
    return _form("NFKC", left).casefold() == _form("NFKC", right).casefold()


def unseen(name: str) -> bool:
    """Whether a name holds a control character, a line break or an invisible character."""
    return not (name.isascii() and name.isprintable()) and any(unicodedata.category(letter) in _UNSEEN for letter in name)


def path_problem(asked: str) -> str | None:
    """Why a path is refused from its text alone, in one sentence for the model; None when it may be
    resolved.

    Refused are: empty paths, null and control characters, characters that are invisible or change
    the writing direction, `~` (not expanded here), backslashes (a separator elsewhere), names that
    end in a dot or blank (equal to the name without them elsewhere), and characters that only look
    like plain ones (a full-width `．．／` becomes `../` in the compatibility form).
    """
    checks = (
        (not asked.strip(), "The path is empty."),
        (unseen(asked), "The path holds a control character or one that cannot be seen."),
        (asked.startswith("~"), "`~` is not expanded here: give the full path."),
        ("\\" in asked, "The path holds a backslash."),
        (
            any(part.rstrip(". ") != part for part in asked.split("/") if part not in (".", "..")),
            "A name in the path ends in a dot or a blank.",
        ),
        (_form("NFKC", asked) != _form("NFC", asked), "The path holds characters that only look like plain ones."),
    )
    return next((problem for found, problem in checks if found), None)

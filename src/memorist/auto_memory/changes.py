"""What is to be written into a memory folder, and how a change is told in its history. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, get_args

from msgspec import Struct

from memorist.auto_memory.manifest import INDEX_NAME, one_line
from memorist.forks.permissions import path_problem, same_name

Actor = Literal["user", "said", "extraction", "agent", "inbox", "import", "dream", "undo", "team", "memorist", "other"]
"""Who made a change: the user on the command line, the user's words in a session, a fork at the end of a turn, the host's agent through its own tools,
an accepted proposal, an import, the dream, an undo, a team mate, memorist itself (index, moves), or somebody else (an editor, another program).
"""


class Change(Struct, frozen=True, kw_only=True):
    """One file before and after; None where it is not there."""

    path: str
    before: bytes | None
    after: bytes | None


class Why(Struct, frozen=True, kw_only=True):
    """Who made a change and what led to it."""

    actor: Actor
    what: str
    """One line for a person, such as `remember: use pnpm`."""
    session: str = ""
    messages: tuple[str, ...] = ()
    quote: str = ""


HEADLINE = 120
"""Characters of the line that tells a change, about what a terminal shows beside date and actor."""


def headline(verb: str, what: str) -> str:
    """One line that tells a change, cut with a mark where it is long."""
    text = " ".join(f"{verb}: {what}".split())
    return text if len(text) <= HEADLINE else text[: HEADLINE - 1].rstrip() + "…"


class Pending(Struct, frozen=True, kw_only=True):
    """A change under way: its reason, and the bytes it leads to. A scan after a kill finds the reason here."""

    why: Why
    after: dict[str, str]
    """Path to blob id; empty for a file that goes."""
    undoes: str = ""


_ACTORS: dict[str, Actor] = {name: name for name in get_args(Actor)}
_TRAILERS = ("Actor", "Session", "Message", "Quote", "Undoes")


def commit_text(why: Why, undoes: str = "", paths: Iterable[str] = ()) -> str:
    """The history's message for a change: one line, then trailers. `paths` are the files that it changed: named there, so that a log need not compare
    all files before and after each change.
    """
    lines = [_line(why.what) or "change", "", f"Actor: {why.actor}"]
    if why.session:
        lines.append(f"Session: {_line(why.session)}")
    lines += [f"Message: {_line(message)}" for message in why.messages]
    if why.quote:
        lines.append(f"Quote: {_line(why.quote)}")
    if undoes:
        lines.append(f"Undoes: {undoes}")
    named = sorted(paths)
    if all(one_line(path) for path in named):
        lines += [f"File: {path}" for path in named]
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode().replace("\0", " ").split())


def read_commit_text(text: str) -> tuple[Why, str]:
    """The reverse of `commit_text`; the second value is the change that it undoes, empty for none."""
    first, _, rest = text.partition("\n")
    found: dict[str, list[str]] = {name: [] for name in _TRAILERS}
    for line in rest.splitlines():
        name, _, said = line.partition(": ")
        if name in found:
            found[name].append(said)
    why = Why(
        actor=_ACTORS.get(next(iter(found["Actor"]), ""), "other"),
        what=first.strip(),
        session=next(iter(found["Session"]), ""),
        messages=tuple(found["Message"]),
        quote=next(iter(found["Quote"]), ""),
    )
    return why, next(iter(found["Undoes"]), "")


def named_paths(text: str) -> tuple[str, ...]:
    """The files that a change's message names, sorted; none where it was written without them."""
    return tuple(sorted(line.removeprefix("File: ") for line in text.split("\n") if line.startswith("File: ")))


def bad_path(path: str, present: tuple[str, ...] | frozenset[str] = frozenset()) -> str | None:
    """Why a relative path cannot be a memory's, in one sentence; None when it can.

    `present` are the paths that are there: one that differs only in case or Unicode form is another file here and the same one elsewhere.
    """
    parts = path.split("/")
    checks = (
        (path_problem(path) or "", bool(path_problem(path))),
        ("The path begins at the root.", path.startswith("/")),
        ("The path leads out of the folder.", any(part in ("", ".", "..") for part in parts)),
        ("A name in the path begins with a dot.", any(part.startswith(".") for part in parts)),
        ("A memory is a Markdown file: its name ends in .md.", not path.endswith(".md")),
        (f"{INDEX_NAME} is made from the files and is not written by hand.", parts[-1].casefold() == INDEX_NAME.casefold()),
        ("The name is too long.", any(len(part.encode("utf-8", "replace")) > 200 for part in parts)),
    )
    found = next((why for why, wrong in checks if wrong), None)
    if found is not None or path in present:
        return found
    twin = next((other for other in present if same_name(other, path)), None)
    return f"There is {twin}, which differs only in case or Unicode form." if twin else None


def others(changes: Mapping[str, bytes | None], known: Collection[str]) -> Why:
    """The reason for what somebody else changed: which files; `known` are the paths that were there before."""
    verbs = [("removed" if data is None else "changed" if path in known else "added", path) for path, data in sorted(changes.items())]
    shown = ", ".join(f"{verb} {path}" for verb, path in verbs[:3])
    return Why(actor="other", what=shown + (f" and {len(verbs) - 3} more" if len(verbs) > 3 else ""))

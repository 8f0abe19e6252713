"""Changes to a memory folder, and their commit messages in its history. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import force_setattr

from memorist.auto_memory.memory_file import MemoryFile, parse_memory_file
from memorist.auto_memory.memory_manifest import INDEX_NAME, is_single_line_path
from memorist.core.plural import join_first
from memorist.core.text_encoding import encode_file_text_as_utf8, replace_surrogates
from memorist.forks.fork_permissions import find_path_text_problem, may_be_same_file_name
from memorist.safety.secrets import redact

NOT_TYPED = "nobody is known to have typed these words to the agent"
"""Why a change waits whose words a program may have passed on."""

Actor = Literal[
    "user", "said", "extraction", "agent", "inbox", "import", "dream", "undo", "team",
    "memorist", "other", "missing",
]  # fmt: skip
"""Who made a change.

`user` on the command line, `said` the user's words in a session, `extraction` a fork at the end of
a turn, `agent` the host's agent with its own tools, `inbox` an accepted proposal, `import`,
`dream`, `undo`, `team` a team mate, `memorist` itself (index, moves), `other` an editor or another
program, `missing` nobody: files that went with their folder, or are not in an older copy of it.
"""


class MemoryChange(Struct, frozen=True, kw_only=True):
    """One file before and after a change; None where the file does not exist."""

    path: str
    before: bytes | None
    after: bytes | None

    @property
    def memory_before(self) -> MemoryFile | None:
        """The memory before it; None where there was none."""
        return None if self.before is None else parse_memory_file(self.path, self.before)

    @property
    def memory_after(self) -> MemoryFile:
        """The memory after it; an empty one where it is deleted."""
        return parse_memory_file(self.path, self.after or b"")


def build_memory_change(before: MemoryFile | None, after: MemoryFile) -> MemoryChange:
    """The change that writes a memory, in place of what it was; None for a new one."""
    return MemoryChange(
        path=after.path,
        before=None if before is None else encode_file_text_as_utf8(before.text()),
        after=encode_file_text_as_utf8(after.text()),
    )


def build_memory_removal(topic: MemoryFile) -> MemoryChange:
    """The change that deletes a memory."""
    return MemoryChange(path=topic.path, before=encode_file_text_as_utf8(topic.text()), after=None)


class ChangeReason(Struct, frozen=True, kw_only=True):
    """Who made a change and what led to it.

    It ends in the history, the inbox, events and answers, so what it says is redacted when it is
    made: no door can forget to.
    """

    actor: Actor
    what: str
    """One line for humans, such as `remember: use pnpm`."""
    session: str = ""
    messages: tuple[str, ...] = ()
    quote: str = ""
    move: str = ""
    """What the two changes of one move have in common: one in the folder that a memory left, one in
    that to which it came.
    """

    def __post_init__(self) -> None:
        for name, said in (("what", self.what), ("quote", self.quote)):
            if said and (clean := redact(said).text) is not said:
                force_setattr(self, name, clean)


HISTORY_WAS_LOST = ChangeReason(actor="memorist", what="recorded again, as the history was lost")
"""Of memories whose changes are known no more."""
MAX_HEADLINE_CHARS = 120
"""Characters of a headline: about what a terminal shows beside date and actor."""


def render_change_headline(verb: str, what: str) -> str:
    """Render the one-line description of a change, with an ellipsis where it is cut.

    Secrets are redacted before the cut: half of one is no longer known for what it is.
    """
    text = " ".join(f"{verb}: {redact(what).text}".split())
    return (
        text if len(text) <= MAX_HEADLINE_CHARS else text[: MAX_HEADLINE_CHARS - 1].rstrip() + "…"
    )


class WriteAheadChange(Struct, frozen=True, kw_only=True):
    """A change in progress: its reason, and the bytes it leads to.

    Written before the files are changed, so that a scan after a kill still finds the reason.
    """

    why: ChangeReason
    after: dict[str, str]
    """Path to blob id; an empty id for a file that is deleted."""
    undoes: str = ""


_ACTORS: dict[str, Actor] = {name: name for name in get_args(Actor)}
_TRAILERS = ("Actor", "Session", "Message", "Quote", "Move", "Undoes")


def render_commit_message(reason: ChangeReason, undoes: str = "", paths: Iterable[str] = ()) -> str:
    """Render the commit message of a change: one line, then trailers.

    `paths` are the changed files. They are named in the message so that reading a log need not
    compare all files before and after each change.
    """
    lines = [_single_line(reason.what) or "change", "", f"Actor: {reason.actor}"]
    if reason.session:
        lines.append(f"Session: {_single_line(reason.session)}")
    lines += [f"Message: {_single_line(message)}" for message in reason.messages]
    if reason.quote:
        lines.append(f"Quote: {_single_line(reason.quote)}")
    if reason.move:
        lines.append(f"Move: {reason.move}")
    if undoes:
        lines.append(f"Undoes: {undoes}")
    named = sorted(paths)
    if all(is_single_line_path(path) for path in named):
        lines += [f"File: {path}" for path in named]
    return "\n".join(lines) + "\n"


def _single_line(text: str) -> str:
    return " ".join(replace_surrogates(text).replace("\0", " ").split())


def parse_commit_message(text: str) -> tuple[ChangeReason, str]:
    """Parse a commit message made by `render_commit_message`.

    Returns the reason and the id of the change that it undoes (empty for none).
    """
    first, _, rest = text.partition("\n")
    found: dict[str, list[str]] = {name: [] for name in _TRAILERS}
    for line in rest.splitlines():
        name, _, said = line.partition(": ")
        if name in found:
            found[name].append(said)
    why = ChangeReason(
        actor=_ACTORS.get(next(iter(found["Actor"]), ""), "other"),
        what=first.strip(),
        session=next(iter(found["Session"]), ""),
        messages=tuple(found["Message"]),
        quote=next(iter(found["Quote"]), ""),
        move=next(iter(found["Move"]), ""),
    )
    return why, next(iter(found["Undoes"]), "")


def parse_paths_in_commit_message(text: str) -> tuple[str, ...]:
    """List the changed files that a commit message names, sorted; empty where it names none."""
    return tuple(
        sorted(
            line.removeprefix("File: ") for line in text.split("\n") if line.startswith("File: ")
        )
    )


MAX_NAME_BYTES = 255
"""Bytes of the longest name that common file systems take."""


def find_memory_path_problem(
    path: str, existing_paths: tuple[str, ...] | frozenset[str] = frozenset()
) -> str | None:
    """Find out why a relative path cannot be a memory's: one sentence, or None when it can.

    `existing_paths` are the files that exist. A path that differs from one of them only in case or
    Unicode form would be the same file on some file systems.
    """
    parts = path.split("/")
    checks = (
        (find_path_text_problem(path) or "", bool(find_path_text_problem(path))),
        ("The path begins at the root.", path.startswith("/")),
        ("The path leads out of the folder.", any(part in ("", ".", "..") for part in parts)),
        ("A name in the path begins with a dot.", any(part.startswith(".") for part in parts)),
        ("A memory is a Markdown file: its name ends in .md.", not path.endswith(".md")),
        (
            f"{INDEX_NAME} is made from the files and is not written by hand.",
            parts[-1].casefold() == INDEX_NAME.casefold(),
        ),
        (
            "The name is too long.",
            any(len(part.encode("utf-8", "replace")) > MAX_NAME_BYTES for part in parts),
        ),
    )
    found = next((why for why, wrong in checks if wrong), None)
    if found is not None or path in existing_paths:
        return found
    twin = _find_twin(path, existing_paths)
    return f"There is {twin}, which differs only in case or Unicode form." if twin else None


def _find_twin(path: str, existing_paths: Collection[str]) -> str:
    """The existing path that some file systems take for this one; empty where there is none."""
    folded = path.casefold() if path.isascii() else ""
    return next(
        (
            other
            for other in existing_paths
            if (
                len(other) == len(folded) and other.casefold() == folded
                if folded and other.isascii()
                else may_be_same_file_name(other, path)
            )
        ),
        "",
    )


OUTSIDE_ACTORS: frozenset[Actor] = frozenset({"other", "missing"})
"""Actors of what was found in the folder, and passed no gate."""


def build_external_change_reason(
    changes: Mapping[str, bytes | None], known_paths: Collection[str], actor: Actor = "other"
) -> ChangeReason:
    """Describe changes made by other programs; `known_paths` are the files that existed before."""
    done = [
        f"{'removed' if data is None else 'changed' if path in known_paths else 'added'} {path}"
        for path, data in sorted(changes.items())
    ]
    return ChangeReason(actor=actor, what=join_first(done, 3))


def find_added_line_fault(
    before: bytes | None, after: bytes, find_fault: Callable[[str], str]
) -> str:
    """Return why a new line of a memory that a model wrote, or its description, may not stand;
    empty where all may. `find_fault` judges one line.
    """
    known = set((before or b"").decode("utf-8", "replace").splitlines())
    topic = parse_memory_file("new.md", after)
    lines = [line for line in topic.body.splitlines() if line.strip() and line not in known]
    if before is None:
        lines.append(topic.description)
    return next(filter(None, map(find_fault, lines)), "")


class RecordedChange(Struct, frozen=True, kw_only=True):
    """One change in the history."""

    id: str
    at: float
    """Seconds since the epoch, UTC."""
    why: ChangeReason
    undoes: str
    """Id of the change that it undid; empty for none."""
    paths: tuple[str, ...]
    """The changed files, sorted."""

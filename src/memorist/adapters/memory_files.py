"""A project's memory behind an agent's memory tool: the same gate, history and index as for every
other write.

What the tool writes comes from a model: secrets are redacted, its origin is proved from the
conversation, doubtful changes and all deletions wait in the inbox. What waits or is withheld is not
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from msgspec.structs import replace

from memorist.adapters.memory_text import ROOT, around, below, file_of, inserted, is_made, kept_text, listing, replaced, shown_text, viewed
from memorist.auto_memory.changes import Change, Why, headline
from memorist.auto_memory.evidence import Evidence, evidence
from memorist.auto_memory.extraction.run import newest_of
from memorist.auto_memory.gate import Refused, judge, merged_reasons
from memorist.auto_memory.index import Index
from memorist.auto_memory.manifest import INDEX_NAME
from memorist.auto_memory.run import AutoMemory, Written
from memorist.auto_memory.shared import TEAM
from memorist.auto_memory.topic import Topic, encode
from memorist.core.messages import Message
from memorist.engine.session import Session
from memorist.errors import InputError
from memorist.safety.data import neutralise
from memorist.store.transcript import recorded


def said_in(session: Session) -> Evidence:
    """Collect what can prove the origin of a memory from a conversation's transcript: the whole of
    it, including what was compacted.
    """
    session.fetch("")  # flushes the transcript to disk
    held = evidence(session.id, (entry for entry in recorded(session.layout.transcript) if isinstance(entry, Message)))
    return replace(held, outside=newest_of(held.outside))


class MemoryFiles:
    """The commands of the tool. Each returns the text for the model.

    They raise InputError with a sentence for the model, WriteConflict, and StoreError. They run in the
    thread of the engine that `memory` belongs to. `read_evidence` returns what the conversation holds;
    without it nothing proves the origin of a change.
    """

    def __init__(self, memory: AutoMemory, said: Callable[[], Evidence] = Evidence) -> None:
        self._memory = memory
        self._said = said

    def view(self, path: object, view_range: object = None) -> str:
        """Show a folder's files, or a file's lines."""
        inner = below(path)
        index = self._memory.shown_index()
        files = [(head.path, head.size) for head in self._memory.shown_heads()]
        if not inner or any(name.startswith(f"{inner}/") for name, _ in files):
            made = [(INDEX_NAME, index.size)] if index.text else []
            return neutralise(listing(inner, [*made, *files]))
        return neutralise(viewed(self._text(path, index), view_range))

    def _text(self, path: object, index: Index) -> str:
        inner = below(path)
        if inner == INDEX_NAME:
            return index.text
        return shown_text(self._read(path))

    def create(self, path: object, text: object) -> str:
        """Create a file."""
        name = file_of(path)
        if not isinstance(text, str):
            raise InputError("file_text is the text of the file")
        if self._there(name):
            raise InputError(f"there is a file {ROOT}/{name}; change it with str_replace or insert")
        change = Change(path=name, before=None, after=kept_text(name, text, None))
        return self._written([change], "create", name, f"{ROOT}/{name} was written")

    def str_replace(self, path: object, old: object, new: object) -> str:
        """Replace one text in a file."""
        topic = self._read(path)
        text, line = replaced(shown_text(topic), old, new)
        return self._changed(topic, text, f"{ROOT}/{topic.path} was changed:\n{neutralise(around(text, line))}")

    def insert(self, path: object, line: object, new: object) -> str:
        """Insert lines into a file."""
        topic = self._read(path)
        text = inserted(shown_text(topic), line, new)
        return self._changed(topic, text, f"{ROOT}/{topic.path} was changed")

    def _changed(self, topic: Topic, text: str, done: str) -> str:
        change = Change(path=topic.path, before=encode(topic.text()), after=kept_text(topic.path, text, topic))
        return self._written([change], "change", topic.path, done)

    def delete(self, path: object) -> str:
        """Delete a file, or a folder with all its files: the user is asked first."""
        topics = [self._memory.folder.read(name) for name in self._named(path)]
        changes = [Change(path=topic.path, before=encode(topic.text()), after=None) for topic in topics]
        return self._written(changes, "delete", below(path), f"{path} was deleted")

    def rename(self, old: object, new: object) -> str:
        """Rename a file or folder. The content stays the same, so its provenance is kept."""
        moves = self._moves(old, new)
        self._memory.heads()
        case = self._memory.case("agent", self._proven(moves), {each.path for each in moves})
        verdicts = [judge(change, case) for change in moves]
        refused = [verdict for verdict in verdicts if isinstance(verdict, Refused)]
        if refused:
            _refuse(refused)
        why = Why(actor="agent", what=headline("rename", f"{below(old)} to {below(new)}"), session=case.said.session)
        reasons = (*merged_reasons(verdicts), *(("the policy is review",) if self._memory.settings.policy == "review" else ()))
        if reasons:
            return _outcome(self._memory.ask(moves, why, "; ".join(reasons)), "")
        self._memory.folder.apply(moves, why)
        return f"{old} is now {new}"

    def _moves(self, old: object, new: object) -> list[Change]:
        if self._memory.settings.policy == "off":
            raise InputError("memory is not written here: the policy is off")
        source = below(old)
        names = self._named(old)
        whole = names not in ([source], [f"{source}.md"])
        target = below(new) if whole else file_of(new)
        changes = []
        for name in names:
            goal = f"{target}/{name.removeprefix(f'{source}/')}" if whole else target
            if not below(f"{ROOT}/{goal}") or is_made(goal) or self._there(goal):
                raise InputError(f"{ROOT}/{goal} cannot be taken: there is such a file already, or memorist makes it")
            data = encode(self._read(f"{ROOT}/{name}").text())
            changes += [Change(path=goal, before=None, after=data), Change(path=name, before=data, after=None)]
        return changes

    def _proven(self, moves: Sequence[Change]) -> Evidence:
        return replace(self._said(), proven=tuple(change.path for change in moves))

    def clear(self) -> str:
        """Forget all files, at the host's request; the history still has them."""
        paths = [head.path for head in self._memory.heads() if not head.path.startswith(TEAM)]
        if paths:
            self._memory.forget(paths, Why(actor="user", what="forget: everything, as the program asked"))
        return f"{len(paths)} files were forgotten; the history still has them"

    def _named(self, path: object) -> list[str]:
        """The files that a path names: the file, or all below a folder.

        Raises InputError for none.
        """
        inner = below(path)
        if not inner:
            raise InputError(f"{ROOT} itself stays where it is")
        shown = [head.path for head in self._memory.shown_heads()]
        inside = [name for name in shown if name.startswith(f"{inner}/")]
        return inside or [self._read(path).path]

    def _there(self, name: str) -> bool:
        return any(head.path == name or head.path.startswith(f"{name}/") for head in self._memory.heads())

    def _read(self, path: object) -> Topic:
        """Read a file that may be shown. Raises InputError when it may not, or does not exist."""
        name = file_of(path)
        if not self._there(name):
            raise InputError(f"there is no {ROOT}/{name}")
        topic, doubts = self._memory.shown(name)
        if doubts:
            raise InputError(f"{ROOT}/{name} is withheld until the user has looked at it: {doubts[0]}")
        return topic

    def _written(self, changes: Sequence[Change], verb: str, what: str, done: str) -> str:
        said = self._said()
        why = Why(actor="agent", what=headline(verb, what), session=said.session, messages=tuple(id for id, _ in said.user)[-1:])
        return _outcome(self._memory.write(changes, why, said), done)


def _outcome(written: Written, done: str) -> str:
    """Render the result of a change for the model."""
    if written.refused:
        _refuse(written.refused)
    told = [done] if written.paths or not written.waiting else []
    told += [
        f"{ROOT}/{each.path} stays as it is for now: a person is asked first, because {'; '.join(each.reasons)}" for each in written.waiting
    ]
    told += [f"({remark})" for remark in written.remarks]
    return "\n".join(told)


def _refuse(refused: Sequence[Refused]) -> NoReturn:
    raise InputError("; ".join(f"{ROOT}/{each.path} was not written: {', '.join(each.reasons)}" for each in refused))

"""What the buttons of the page do to a memory."""

from __future__ import annotations

from collections.abc import Callable, Collection

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.git_objects import compute_memory_version
from memorist.auto_memory.memory_changes import ChangeReason, render_change_headline
from memorist.auto_memory.memory_purge import purge_memories
from memorist.auto_memory.stale_memories import confirm_memories_still_hold
from memorist.auto_memory.superseded_proposals import find_later_words_against_proposals
from memorist.auto_memory.write_result import WriteResult
from memorist.errors import InputError
from memorist.page.page_context import PageContext
from memorist.views.page_texts import translate


def perform_memory_action(context: PageContext, action: str, fields: dict[str, str]) -> str:
    """Do what a button asks for, and say what was done. Raises InputError for what the page does
    not know, KeyError for a missing field, and what the memory raises.
    """
    memory = context.memory
    changes: dict[str, Callable[[], str]] = {
        "accept": lambda: _accept(memory, fields["id"], fields.get("despite", "")),
        "accept-origin": lambda: _accept_all(memory, fields["ids"].split(), fields["origin"]),
        "confirm": lambda: _confirm(*context.find_context_and_path(fields["path"])),
        "reject": lambda: translate("Rejected: {path}", path=memory.reject(fields["id"]).path),
        "undo": lambda: translate(
            "Taken back: {what}", what=memory.undo(fields["change"]).why.what
        ),
        "edit": lambda: _edit(
            *context.find_context_and_path(fields["path"]), fields["text"], fields["version"]
        ),
        "forget": lambda: _forget(*context.find_context_and_path(fields["path"])),
        "forget-hard": lambda: _forget_hard(
            *context.find_context_and_path(fields["path"]), fields["version"]
        ),
    }
    if action not in changes:
        raise InputError(f"the page knows no change {action!r}")
    return changes[action]()


def _confirm(context: PageContext, path: str) -> str:
    confirm_memories_still_hold(context.memory, [path], context.now)
    return translate("It holds as the project is now: {path}", path=path)


def _edit(context: PageContext, path: str, text: str, version: str) -> str:
    written = context.memory.edit(path, text.replace("\r\n", "\n"), version=version)
    return _describe(written, translate("Changed"))


def _forget(context: PageContext, path: str) -> str:
    why = ChangeReason(actor="user", what=render_change_headline("forget", path))
    return _describe(
        context.memory.forget([path], why), translate("Forgotten; undo brings it back")
    )


def _forget_hard(context: PageContext, path: str, version: str) -> str:
    """Leave no copy of the text that the user saw; one that another wrote since stays."""
    present = path in {head.path for head in context.memory.headers()}
    if present and version != compute_memory_version(
        context.memory.folder.read_memory_file(path).text()
    ):
        return translate("Not forgotten: {path} was changed after you saw it", path=path)
    changes, left, _ = purge_memories(context.home, context.memory, [path])
    done = translate("Forgotten for good, taken out of {changes} changes", changes=changes)
    if not left.remaining:
        return done
    rest = translate("its words still stand in {count} files", count=len(left.remaining))
    return f"{done}; {rest}"


def _accept(memory: AutoMemory, id: str, despite: str) -> str:
    """Accept a proposal, unless the user said otherwise in words that the button did not show."""
    newer = find_later_words_against_proposals(memory).get(memory.find_proposal(id)[1].id, "")
    if newer and newer != despite:
        return translate(
            "Not accepted: you said otherwise since, “{words}”. Accept it once more to take it all "
            "the same",
            words=newer,
        )
    return _describe(memory.accept(id), translate("Accepted"))


def _accept_all(memory: AutoMemory, ids: Collection[str], origin: str) -> str:
    """Accept the proposals that the page showed, and none that came since."""
    superseded = find_later_words_against_proposals(memory)
    found = [
        each for each in memory.list_proposals() if each.id in ids and each.id not in superseded
    ]
    for each in found:
        memory.accept(each.id)
    return translate("Accepted {count:,}: {origin}", count=len(found), origin=origin)


def _describe(written: WriteResult, done: str) -> str:
    if written.refused:
        reasons = "; ".join(reason for each in written.refused for reason in each.reasons)
        return translate("Refused: {reasons}", reasons=reasons)
    if written.proposals:
        reasons = "; ".join(written.proposals[0].reasons)
        return translate("It waits in the inbox: {reasons}", reasons=reasons)
    return f"{done}: {', '.join(written.paths)}" if written.paths else translate("Nothing changed")

"""The views of what was changed without the user: what waits for a word, and what dreams did."""

from __future__ import annotations

from memorist.auto_memory.inbox import Proposal
from memorist.auto_memory.memory_manifest import INDEX_NAME
from memorist.auto_memory.superseded_proposals import find_later_words_against_proposals
from memorist.dream.dream_journal import read_dream_journal
from memorist.dream.project_dream import find_newest_undoable_dream
from memorist.page.page_context import ROWS_PER_PAGE, PageContext
from memorist.views.page_texts import translate, translate_each
from memorist.views.view_blocks import (
    ActionBlock,
    ComparisonBlock,
    PageBlock,
    PageCell,
    PageView,
    ProseBlock,
    TableBlock,
    build_table_row,
)
from memorist.views.view_formatting import format_utc_time


def build_inbox_view(context: PageContext) -> PageView:
    """The changes that wait for the user's word, side by side with what stands now."""
    waiting = context.memory.list_proposals()
    superseded = find_later_words_against_proposals(context.memory)
    seen: dict[str, list[str]] = {}
    for each in waiting:
        if each.id not in superseded:
            seen.setdefault(describe_proposal_origin(each), []).append(each.id)
    blocks: list[PageBlock] = []
    if waiting:
        blocks.append(
            ActionBlock(
                actions=[
                    context.build_button(
                        translate("Accept all {count:,}: {origin}", count=len(ids), origin=origin),
                        "accept-origin",
                        origin=origin,
                        ids=" ".join(ids),
                    )
                    for origin, ids in sorted(seen.items())
                ]
            )
        )
    blocks += [_build_proposal(context, each, superseded.get(each.id, "")) for each in waiting]
    last = next(context.memory.folder.history.iter_changes(), None)
    if not waiting:
        blocks.append(
            ProseBlock(
                heading=translate("Nothing waits"),
                text=translate("Every proposed change has been decided."),
            )
        )
    if last is not None and not last.undoes:
        blocks.append(
            ActionBlock(
                actions=[
                    context.build_button(
                        translate("Undo the last change: {what}", what=last.why.what[:80]),
                        "undo",
                        key="u",
                        change=last.id,
                    )
                ]
            )
        )
    return PageView(
        name="inbox",
        title=translate("Inbox"),
        lead=translate(
            "{count:,} changes of memory wait for your word. j and k go from one to the next, "
            "a accepts, r rejects, u undoes.",
            count=len(waiting),
        ),
        command="memorist memory inbox",
        blocks=blocks,
    )


def describe_proposal_origin(given: Proposal) -> str:
    """Where a waiting change comes from: for an import what was imported, else who made it."""
    actor = given.why.actor
    names = {
        "user": translate("you"),
        "said": translate("your own words")
        if given.is_in_users_words
        else translate("words that a program passed on"),
        "extraction": translate("what a model concluded"),
        "agent": translate("an agent's tool"),
        "dream": translate("a dream"),
        "team": translate("the team"),
        "other": translate("another program"),
    }
    return given.why.what if actor == "import" else names.get(actor, actor)


def _build_proposal(context: PageContext, given: Proposal, newer_words: str) -> ComparisonBlock:
    if given.before is None:
        heading = translate("add {path}", path=given.path)
    elif given.is_removal:
        heading = translate("delete {path}", path=given.path)
    else:
        heading = translate("change {path}", path=given.path)
    facts = [
        (translate("origin"), describe_proposal_origin(given)),
        (translate("why it waits"), "; ".join(given.reasons)),
        (translate("proposed"), format_utc_time(given.at)),
    ]
    if newer_words:
        facts.append((translate("you said otherwise since"), f"“{newer_words}”"))
    if given.why.quote:
        facts.append((translate("words"), f"“{given.why.quote}”"))
    if given.why.session:
        facts.append((translate("session"), given.why.session))
    return ComparisonBlock(
        heading=heading,
        facts=facts,
        left_title=translate("Now"),
        left=given.before or "",
        right_title=translate("Proposed"),
        right=given.after or "",
        actions=[
            context.build_button(
                translate("Accept all the same"),
                "accept",
                danger=True,
                id=given.id,
                despite=newer_words,
            )
            if newer_words
            else context.build_button(translate("Accept"), "accept", key="a", id=given.id),
            context.build_button(translate("Reject"), "reject", key="r", id=given.id),
        ],
    )


def build_dreams_view(context: PageContext, chosen: str) -> PageView:
    """What dreams did to this project's memory, each with its difference and its undo."""
    memory = context.memory
    last = find_newest_undoable_dream(memory)
    log = memory.folder.history.list_changes()
    undone = {each.undoes for each in log if each.undoes}
    dreams = [each for each in log if each.why.actor == "dream"]
    blocks: list[PageBlock] = []
    if last is not None:
        blocks.append(
            ActionBlock(
                actions=[
                    context.build_button(
                        translate("Take back the last dream: {what}", what=last.why.what[:80]),
                        "undo",
                        key="u",
                        change=last.id,
                    )
                ]
            )
        )
    blocks.append(
        TableBlock(
            heading=translate("Dreams"),
            columns=translate_each("When", "What it did", "Memories", "State"),
            rows=[
                build_table_row(
                    format_utc_time(each.at),
                    PageCell(
                        each.why.what, context.build_project_view_address("dreams", change=each.id)
                    ),
                    ", ".join(path for path in each.paths if path != INDEX_NAME),
                    PageCell(translate("taken back"), tone="note")
                    if each.id in undone
                    else PageCell(translate("stands"), tone="good"),
                )
                for each in dreams[:ROWS_PER_PAGE]
            ],
            empty=translate("No dream has changed this memory yet."),
        )
    )
    if chosen:
        blocks.append(
            ProseBlock(
                heading=translate("What it changed"),
                text=memory.folder.history.render_change_diff(chosen),
            )
        )
    journal = read_dream_journal(memory.layout)
    if journal.strip():
        blocks.append(ProseBlock(heading=translate("Journal"), text=journal, markdown=True))
    return PageView(
        name="dreams",
        title=translate("Dreams"),
        lead=translate("Memory put in order while nobody works, and the way back."),
        command="memorist dream journal",
        blocks=blocks,
    )

"""The views of memories: all of them, one with its history, and what a message would show."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import groupby

from msgspec import structs

from memorist.auto_memory.anchors import render_anchor_changes
from memorist.auto_memory.git_objects import compute_memory_version
from memorist.auto_memory.memory_blame import blame_memory
from memorist.auto_memory.memory_changes import RecordedChange
from memorist.auto_memory.memory_file import Trust
from memorist.auto_memory.memory_lint import load_and_lint_memories
from memorist.auto_memory.memory_manifest import MemoryHeader, sort_newest_first
from memorist.auto_memory.stale_memories import find_memories_with_changed_anchors
from memorist.core.text_encoding import replace_surrogates
from memorist.engine.past_session_passages import find_past_session_passages
from memorist.errors import InputError
from memorist.page.page_context import (
    ROWS_PER_PAGE,
    PageContext,
    build_pagination_links,
    build_view_address,
)
from memorist.recall.memory_search import MemoryFolderSearch
from memorist.recall.recall_explanation import explain_recall
from memorist.recall.session_passages import describe_passage_outcome, render_user_quote
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.store.memory_uses import MemoryUseTotal, list_uses_of_memory
from memorist.views.page_texts import translate, translate_each
from memorist.views.view_blocks import (
    ActionBlock,
    FormBlock,
    FormField,
    LabeledFiguresBlock,
    PageBlock,
    PageCell,
    PageRow,
    PageView,
    ProseBlock,
    TableBlock,
    Tone,
    build_table_row,
)
from memorist.views.view_formatting import format_utc_time

MAX_WHY_MEMORIES = 10
"""Memories that the view Why shows at most."""
MAX_EMBEDDING_WAIT_SECONDS = 2.0
"""Longest wait of that view for embeddings, which some hundred memories take. Our choice."""


MAX_CHECKED_MEMORIES = 1_000
"""A list of more memories names what is wrong with one on its own view alone: a check reads all."""


def build_memories_view(context: PageContext, query: str, page: int) -> PageView:
    """All memories of a project, newest first; with a query the ones that fit, best first."""
    mine, *others = context.list_memory_contexts()
    heads = _find_heads(mine, query)
    blocks: list[PageBlock] = [
        FormBlock(
            fields=[
                *context.build_form_fields(),
                FormField(name="q", label=translate("Find a memory"), value=query),
            ],
            button=translate("Search"),
            label=translate("Search memories"),
        ),
        _list_memories(
            mine,
            heads[(page - 1) * ROWS_PER_PAGE : page * ROWS_PER_PAGE],
            translate("Memories") if not query else translate("Memories with these words"),
            translate("Nothing is remembered here yet.")
            if not query
            else translate("No memory fits."),
        ),
        *build_pagination_links("memories", len(heads), page, q=query, project=context.project),
    ]
    blocks += [
        _list_memories(each, found, translate("Of you, in every project"), "")
        for each in others
        if page == 1 and (found := _find_heads(each, query)[:ROWS_PER_PAGE])
    ]
    if not query and len(heads) <= MAX_CHECKED_MEMORIES:
        blocks += build_problem_blocks(context)
    return PageView(
        name="memories",
        title=translate("Memories"),
        lead=translate("What is remembered of {project}.", project=context.project),
        command=f"memorist memory search {shlex.quote(query)}" if query else "memorist memory list",
        blocks=blocks,
    )


def _find_heads(context: PageContext, query: str) -> list[MemoryHeader]:
    heads = sort_newest_first(context.memory.headers())
    if not query:
        return heads
    search = MemoryFolderSearch(context.memory.folder, context.home.settings.recall)
    order = [each.path for each in search.search(query, ROWS_PER_PAGE)]
    search.close()
    by_path = {head.path: head for head in heads}
    return [by_path[path] for path in order if path in by_path]


def _list_memories(
    context: PageContext, heads: Sequence[MemoryHeader], heading: str, empty: str
) -> TableBlock:
    uses = context.read_memory_uses()
    return TableBlock(
        heading=heading,
        columns=translate_each("Memory", "Kind", "Origin", "Age", "Shown", "Used", "Last shown"),
        rows=[_memory_row(context, head, uses.get(head.path)) for head in heads],
        numeric=[3, 4, 5],
        empty=empty,
    )


def build_problem_blocks(context: PageContext, path: str = "") -> list[PageBlock]:
    """What `memorist memory check` finds, in all memories or in one."""
    rows = _list_problems(context)
    if path:
        wanted = context.build_project_view_address("memory", path=path)
        rows = [each for each in rows if each.cells[0].href == wanted]
    columns = translate_each("Memory", "What is wrong, and what fixes it")
    table = TableBlock(
        heading=translate("What is wrong"), columns=columns, rows=rows[:ROWS_PER_PAGE]
    )
    return [table] if rows else []


def _list_problems(context: PageContext) -> list[PageRow]:
    _, problems = load_and_lint_memories(context.memory)
    rows = [_problem_row(context, each.path, each.what, each.cure) for each in problems]
    for stale in find_memories_with_changed_anchors(context.memory):
        what = render_anchor_changes(stale.changes, stale.since)
        still = context.build_button(translate("Still true"), "confirm", path=stale.path)
        row = _problem_row(
            context, stale.path, what, translate("still true? else edit or forget it")
        )
        rows.append(structs.replace(row, actions=[still]))
    return rows


def _problem_row(context: PageContext, path: str, what: str, cure: str) -> PageRow:
    href = context.build_project_view_address("memory", path=path) if path else ""
    return build_table_row(
        PageCell(path or translate("the folder"), href), PageCell(what, quiet=cure)
    )


_TRUST_TONES: dict[Trust, Tone] = {Trust.STATED: "good"}


def _memory_row(context: PageContext, head: MemoryHeader, total: MemoryUseTotal | None) -> PageRow:
    total = total or MemoryUseTotal()
    doubts = "; ".join(head.doubts)
    doubt = translate("Not shown to a model: {doubts}", doubts=doubts) if doubts else head.path
    return build_table_row(
        PageCell(
            head.description or head.name, context.build_memory_address(head.path), quiet=doubt
        ),
        head.kind.value if head.kind else "—",
        PageCell(str(head.trust.value), tone=_TRUST_TONES.get(head.trust, "")),
        f"{head.age_days(context.now)} d",
        f"{total.shown:,}",
        f"{total.used:,}",
        format_utc_time(total.last or None)[:10] or translate("never"),
    )


def build_memory_view(context: PageContext, name: str, at: int) -> PageView:
    """One memory: where each line comes from, when it was shown, and its history. `at` is the
    number of the change to show, counted from 1; 0 for the present text.
    """
    of_project = context
    context, path = context.find_context_and_path(name)
    memory = context.memory
    present = path in {head.path for head in memory.headers()}
    # first, as it says why a file in the folder cannot be read
    topic, doubts = memory.read_memory_with_suspicions(path) if present else (None, ())
    text = topic.text() if topic else ""
    log, lines = blame_memory(memory.folder, path)
    blocks: list[PageBlock] = []
    if present:
        blocks.append(LabeledFiguresBlock(pairs=_memory_numbers(context, path, log)))
        blocks += [
            ProseBlock(heading=translate("Why no model is shown it"), text="\n".join(doubts))
        ] * bool(doubts)
        blocks += build_problem_blocks(of_project, context.prefix + path)
    else:
        blocks.append(
            ProseBlock(
                heading=translate("It is forgotten"), text=translate("The history still has it.")
            )
        )
    if at:
        blocks.append(_build_version(context, path, log, at))
    blocks += [
        *_build_slider(context, path, log, at),
        _build_blame(log, [(line.text, line.change) for line in lines], path),
        _build_changes(context, log),
        _build_uses(context, path),
    ]
    if present:
        blocks += [
            *_build_edit_form(context, path, text),
            ActionBlock(
                actions=[
                    context.build_button(translate("Forget"), "forget", path=context.prefix + path),
                    context.build_button(
                        translate("Forget for good"),
                        "forget-hard",
                        path=context.prefix + path,
                        version=compute_memory_version(text),
                        danger=True,
                    ),
                ]
            ),
        ]
    return PageView(
        name="memories",
        title=path.removesuffix(".md"),
        lead=translate("A memory of {project}.", project=context.project)
        if not context.prefix
        else translate("A memory of yours that holds in every project."),
        command=f"memorist memory blame {shlex.quote(context.prefix + path)}",
        blocks=blocks,
    )


def _build_edit_form(context: PageContext, path: str, text: str) -> list[PageBlock]:
    """The form that changes the text, without the characters that cannot be seen: what is saved
    has none, and they would show it otherwise than it is. None where bytes of the file are no
    UTF-8, which a form cannot send back.
    """
    if replace_surrogates(text) != text:
        return []
    return [
        FormBlock(
            fields=[
                *context.build_form_fields(),
                FormField(name="path", kind="hidden", value=context.prefix + path),
                FormField(name="version", kind="hidden", value=compute_memory_version(text)),
                FormField(
                    name="text",
                    label=translate("Change its text"),
                    kind="text",
                    value=strip_hidden_characters(text),
                ),
            ],
            button=translate("Save the change"),
            method="post",
            path="/do/edit",
            label=translate("Edit"),
        )
    ]


def _memory_numbers(
    context: PageContext, path: str, log: Sequence[RecordedChange]
) -> list[tuple[str, str]]:
    head = next(each for each in context.memory.headers() if each.path == path)
    total = context.read_memory_uses().get(path, MemoryUseTotal())
    return [
        (translate("kind"), head.kind.value if head.kind else "—"),
        (translate("origin"), head.trust.value),
        (translate("days old"), f"{head.age_days(context.now)}"),
        (translate("times shown"), f"{total.shown:,}"),
        (translate("times used"), f"{total.used:,}"),
        (translate("changes"), f"{len(log):,}"),
    ]


def _build_slider(
    context: PageContext, path: str, log: Sequence[RecordedChange], at: int
) -> list[PageBlock]:
    if len(log) < 2:
        return []
    return [
        FormBlock(
            fields=[
                *context.build_form_fields(),
                FormField(name="path", kind="hidden", value=context.prefix + path),
                FormField(
                    name="at",
                    label=translate("As it stood after change"),
                    kind="range",
                    value=str(at or len(log)),
                    most=len(log),
                ),
            ],
            button=translate("Show"),
            path="/memory",
            label=translate("History"),
        )
    ]


def _build_version(
    context: PageContext, path: str, log: Sequence[RecordedChange], at: int
) -> PageBlock:
    if not 1 <= at <= len(log):
        raise InputError(f"the memory has {len(log)} changes, and none with the number {at}")
    change = log[at - 1]
    data = context.memory.folder.history.read_file(path, change.id)
    return ProseBlock(
        heading=translate("As it stood after change {at}: {what}", at=at, what=change.why.what),
        text=translate("(it was gone)") if data is None else data.decode("utf-8", "replace"),
        note=format_utc_time(change.at),
    )


def _build_blame(
    log: Sequence[RecordedChange], lines: Sequence[tuple[str, str]], path: str
) -> TableBlock:
    by_id = {each.id: each for each in log}
    rows = []
    for id, run in groupby(lines, key=lambda line: line[1]):
        text = "\n".join(line for line, _ in run)
        why = by_id[id].why
        message = why.messages[0] if why.messages else ""
        rows.append(
            build_table_row(
                text,
                PageCell(why.actor, quiet=format_utc_time(by_id[id].at)[:10]),
                PageCell(
                    f"“{why.quote}”" if why.quote else why.what,
                    build_view_address("session", id=why.session) if why.session else "",
                    quiet=translate(
                        "session {session}, message {message}",
                        session=why.session[:12],
                        message=message or translate("unknown"),
                    )
                    if why.session
                    else "",
                ),
            )
        )
    return TableBlock(
        heading=translate("Where each line comes from"),
        columns=[path, translate("Written by"), translate("Because of these words")],
        rows=rows,
    )


def _build_changes(context: PageContext, log: Sequence[RecordedChange]) -> TableBlock:
    undone = {each.undoes for each in log}
    return TableBlock(
        heading=translate("Changes"),
        columns=translate_each("When", "By", "What"),
        rows=[
            build_table_row(
                format_utc_time(each.at),
                each.why.actor,
                each.why.what,
                actions=[]
                if each.id in undone
                else [context.build_button(translate("Undo"), "undo", key="u", change=each.id)],
            )
            for each in reversed(log)
        ],
    )


def _build_uses(context: PageContext, path: str) -> TableBlock:
    uses = list_uses_of_memory(context.home.database(), str(context.memory.layout.folder), path)
    return TableBlock(
        heading=translate("When it was shown, and why"),
        columns=translate_each("When", "What", "Session", "Why"),
        rows=[
            build_table_row(
                format_utc_time(each.at),
                each.what,
                PageCell(each.session[:12], build_view_address("session", id=each.session)),
                each.why or "—",
            )
            for each in uses[:ROWS_PER_PAGE]
        ],
        empty=translate("It was never shown to a model."),
    )


def build_recall_trial_view(context: PageContext, message: str) -> PageView:
    """What a message would show an agent, what not, and why."""
    blocks: list[PageBlock] = [
        FormBlock(
            fields=[
                *context.build_form_fields(),
                FormField(name="message", label=translate("A message to the agent"), value=message),
            ],
            button=translate("Ask"),
            label=translate("Try a message"),
        )
    ]
    if message:
        found = explain_recall(
            context.memory,
            context.home.settings.recall,
            message,
            MAX_WHY_MEMORIES,
            embedding_wait=MAX_EMBEDDING_WAIT_SECONDS,
        )
        if found.is_by_words_alone:
            text = translate(
                "Found by words alone: what the memories mean is still being computed. Ask again "
                "in a minute."
            )
            blocks.append(ProseBlock(heading=translate("Not complete yet"), text=text))
        heads = found.heads
        blocks += [
            TableBlock(
                heading=translate("Would be shown"),
                columns=translate_each("Memory", "Score", "Why"),
                rows=[
                    build_table_row(
                        PageCell(
                            heads[each.path].description or each.path,
                            context.build_project_view_address("memory", path=each.path),
                            quiet=each.path,
                        ),
                        f"{each.score:.2f}",
                        each.why,
                    )
                    for each in found.shown
                ],
                numeric=[1],
                empty=translate("Nothing would be shown."),
            ),
            _list_past_words(context, message),
            TableBlock(
                heading=translate("Found, and left out"),
                columns=translate_each("Memory", "Why not"),
                rows=[
                    build_table_row(
                        PageCell(path, context.build_project_view_address("memory", path=path)),
                        reason,
                    )
                    for path, reason in found.left_out
                ],
                empty=translate("Nothing else has anything in common with it."),
            ),
        ]
    return PageView(
        name="why",
        title=translate("Why is this shown?"),
        lead=translate(
            "Type a message as you would to the agent, and see what it would be reminded of."
        ),
        command=f"memorist recall {shlex.quote(message or 'MESSAGE')} --why",
        blocks=blocks,
    )


def _list_past_words(context: PageContext, message: str) -> TableBlock:
    found = find_past_session_passages(
        context.home.layout,
        context.project,
        message,
        memory=context.memory,
        embeddings=context.home.settings.recall.embeddings,
    )
    return TableBlock(
        heading=translate("Said in past sessions, and brought back"),
        columns=translate_each("Words", "What came of it", "Session"),
        rows=[
            build_table_row(
                PageCell(
                    render_user_quote(message, each),
                    build_view_address("message", id=each.session, line=each.passage.line),
                ),
                describe_passage_outcome(message, each.passage),
                PageCell(each.title, build_view_address("session", id=each.session)),
            )
            for each in found
        ],
        empty=translate("Nothing that was said before bears on it."),
    )

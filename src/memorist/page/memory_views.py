"""The views of memories: all of them, one with its history, what a message would show, the inbox,
and dreams.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from msgspec import structs

from memorist.auto_memory.anchors import describe_changes
from memorist.auto_memory.changes import ChangeReason, RecordedChange, render_headline
from memorist.auto_memory.inbox import Proposal
from memorist.auto_memory.index import INDEX_NAME, MemoryHeader, sort_newest_first
from memorist.auto_memory.memory import EVERYWHERE_PREFIX, AutoMemory
from memorist.auto_memory.topic import Trust
from memorist.auto_memory.write_result import WriteResult
from memorist.cli.dream import find_last_dream
from memorist.cli.memory.history import blame_memory
from memorist.cli.memory.topics import (
    find_memory_problems,
    find_past_words,
    forget_for_good,
    judge_recall,
)
from memorist.dream.workspace import journal_path
from memorist.engine.engine import Memorist
from memorist.errors import InputError
from memorist.page.addresses import PAGE_ROWS, address_of, list_pages
from memorist.recall.passages import quote_passage
from memorist.recall.search import FolderSearch
from memorist.store.files import DiskFiles, read_if_exists
from memorist.store.sessions import MemoryUseTotal, list_uses, total_uses
from memorist.views.blocks import (
    ActionBlock,
    ComparisonBlock,
    FormBlock,
    FormField,
    LinkBlock,
    NumberBlock,
    PageAction,
    PageBlock,
    PageCell,
    PageRow,
    PageView,
    ProseBlock,
    TableBlock,
    Tone,
)
from memorist.views.formatting import format_time

WHY_LIMIT = 10
"""Memories that the view Why shows at most."""


CHECKED = 1_000
"""A list of more memories names what is wrong with one on its own view alone: a check reads all."""


class MemoryPlace:
    """The memory of one project, and how the page speaks of it."""

    def __init__(
        self, engine: Memorist, memory: AutoMemory, project: str, now: float, prefix: str = ""
    ) -> None:
        self.engine, self.memory, self.project, self.now = engine, memory, project, now
        self.prefix = prefix

    def folders(self) -> tuple[MemoryPlace, ...]:
        """This memory, and the one of what holds in every project where there is one."""
        user = self.memory.everywhere
        return (self,) if user is None else (self, self._at(user))

    def locate(self, name: str) -> tuple[MemoryPlace, str]:
        """The folder that has what the page calls `name`, and its path there."""
        memory, path = self.memory.locate(name)
        return (self if memory is self.memory else self._at(memory)), path

    def _at(self, memory: AutoMemory) -> MemoryPlace:
        return MemoryPlace(self.engine, memory, self.project, self.now, EVERYWHERE_PREFIX)

    def memory_address(self, path: str, **query: object) -> str:
        """The address of one memory of this folder."""
        return self.address("memory", path=self.prefix + path, **query)

    def address(self, view: str, /, **query: object) -> str:
        """An address of a view of this project."""
        return address_of(view, project=self.project, **query)

    def action(
        self, label: str, action: str, *, key: str = "", danger: bool = False, **fields: str
    ) -> PageAction:
        """A button that changes this memory."""
        return PageAction(
            label=label,
            path=f"/do/{action}",
            fields={"project": self.project, **fields},
            key=key,
            danger=danger,
        )

    def fields(self) -> list[FormField]:
        """What every form of this project sends along."""
        return [FormField(name="project", kind="hidden", value=self.project)]

    def uses(self) -> dict[str, MemoryUseTotal]:
        """How often each memory was shown and used."""
        return total_uses(self.engine.database(), str(self.memory.layout.folder))


def build_memories(place: MemoryPlace, query: str, page: int) -> PageView:
    """All memories of a project, newest first; with a query the ones that fit, best first."""
    mine, *others = place.folders()
    heads = _find_heads(mine, query)
    blocks: list[PageBlock] = [
        FormBlock(
            fields=[*place.fields(), FormField(name="q", label="Find a memory", value=query)],
            button="Search",
            label="Search memories",
        ),
        _list_memories(
            mine,
            heads[(page - 1) * PAGE_ROWS : page * PAGE_ROWS],
            "Memories" if not query else "Memories with these words",
            "Nothing is remembered here yet." if not query else "No memory fits.",
        ),
        *list_pages("memories", len(heads), page, q=query, project=place.project),
    ]
    blocks += [
        _list_memories(each, found, "Of you, in every project", "")
        for each in others
        if page == 1 and (found := _find_heads(each, query)[:PAGE_ROWS])
    ]
    if not query and len(heads) <= CHECKED:
        blocks += build_problems(place)
    return PageView(
        name="memories",
        title="Memories",
        lead=f"What is remembered of {place.project}.",
        command=f'memorist memory search "{query}"' if query else "memorist memory list",
        blocks=blocks,
    )


def _find_heads(place: MemoryPlace, query: str) -> list[MemoryHeader]:
    heads = sort_newest_first(place.memory.headers())
    if not query:
        return heads
    search = FolderSearch(place.memory.folder, place.engine.settings.recall)
    order = [each.path for each in search.search(query, PAGE_ROWS)]
    search.close()
    by_path = {head.path: head for head in heads}
    return [by_path[path] for path in order if path in by_path]


def _list_memories(
    place: MemoryPlace, heads: Sequence[MemoryHeader], heading: str, empty: str
) -> TableBlock:
    uses = place.uses()
    return TableBlock(
        heading=heading,
        columns=["Memory", "Kind", "Origin", "Age", "Shown", "Used", "Last shown"],
        rows=[_memory_row(place, head, uses.get(head.path)) for head in heads],
        numeric=[3, 4, 5],
        empty=empty,
    )


def build_problems(place: MemoryPlace, path: str = "") -> list[PageBlock]:
    """What `memorist memory check` finds, in all memories or in one."""
    rows = [row for each in place.folders() for row in _list_problems(each)]
    if path:
        wanted = place.memory_address(path)
        rows = [each for each in rows if each.cells[0].href == wanted]
    columns = ["Memory", "What is wrong, and what mends it"]
    table = TableBlock(heading="What is wrong", columns=columns, rows=rows[:PAGE_ROWS])
    return [table] if rows else []


def _list_problems(place: MemoryPlace) -> list[PageRow]:
    _, problems = find_memory_problems(place.memory)
    rows = [_problem_row(place, each.path, each.what, each.cure) for each in problems]
    for stale in place.memory.find_stale():
        what = describe_changes(stale.changes, stale.since)
        still = place.action("Still true", "confirm", path=place.prefix + stale.path)
        row = _problem_row(place, stale.path, what, "still true? else edit or forget it")
        rows.append(structs.replace(row, actions=[still]))
    return rows


def _problem_row(place: MemoryPlace, path: str, what: str, cure: str) -> PageRow:
    href = place.memory_address(path) if path else ""
    return PageRow(cells=[PageCell(path or "the folder", href), PageCell(what, quiet=cure)])


_TRUST_TONES: dict[Trust, Tone] = {Trust.STATED: "good"}


def _memory_row(place: MemoryPlace, head: MemoryHeader, total: MemoryUseTotal | None) -> PageRow:
    total = total or MemoryUseTotal()
    doubt = f"Not shown to a model: {'; '.join(head.doubts)}" if head.doubts else head.path
    return PageRow(
        cells=[
            PageCell(
                head.description or head.name,
                place.memory_address(head.path),
                quiet=doubt,
            ),
            PageCell(head.kind.value if head.kind else "—"),
            PageCell(str(head.trust.value), tone=_TRUST_TONES.get(head.trust, "")),
            PageCell(f"{head.age_days(place.now)} d"),
            PageCell(f"{total.shown:,}"),
            PageCell(f"{total.used:,}"),
            PageCell(format_time(total.last or None)[:10] or "never"),
        ]
    )


def build_memory(place: MemoryPlace, name: str, at: int) -> PageView:
    """One memory: where each line comes from, when it was shown, and its history. `at` is the
    number of the change to show, counted from 1; 0 for the present text.
    """
    place, path = place.locate(name)
    memory = place.memory
    present = path in {head.path for head in memory.headers()}
    log, lines = blame_memory(memory, path)
    blocks: list[PageBlock] = []
    if present:
        topic, doubts = memory.read_with_suspicions(path)
        text = topic.text()
        blocks.append(NumberBlock(pairs=_memory_numbers(place, path, log)))
        blocks += [ProseBlock(heading="Why no model is shown it", text="\n".join(doubts))] * bool(
            doubts
        )
        blocks += build_problems(place, path)
    else:
        text = ""
        blocks.append(ProseBlock(heading="It is forgotten", text="The history still has it."))
    if at:
        blocks.append(_build_version(place, path, log, at))
    blocks += [
        *_build_slider(place, path, log, at),
        _build_blame(log, [(line.text, line.change) for line in lines], path),
        _build_changes(place, log),
        _build_uses(place, path),
    ]
    if present:
        blocks += [
            FormBlock(
                fields=[
                    *place.fields(),
                    FormField(name="path", kind="hidden", value=place.prefix + path),
                    FormField(name="text", label="Change its text", kind="text", value=text),
                ],
                button="Save the change",
                method="post",
                path="/do/edit",
                label="Edit",
            ),
            ActionBlock(
                actions=[
                    place.action("Forget", "forget", path=place.prefix + path),
                    place.action(
                        "Forget for good", "forget-hard", path=place.prefix + path, danger=True
                    ),
                ]
            ),
        ]
    return PageView(
        name="memories",
        title=path.removesuffix(".md"),
        lead=f"A memory of {place.project}."
        if not place.prefix
        else "A memory of yours that holds in every project.",
        command=f"memorist memory blame {place.prefix}{path}",
        blocks=blocks,
    )


def _memory_numbers(
    place: MemoryPlace, path: str, log: Sequence[RecordedChange]
) -> list[tuple[str, str]]:
    head = next(each for each in place.memory.headers() if each.path == path)
    total = place.uses().get(path, MemoryUseTotal())
    return [
        ("kind", head.kind.value if head.kind else "none"),
        ("origin", head.trust.value),
        ("days old", f"{head.age_days(place.now)}"),
        ("times shown", f"{total.shown:,}"),
        ("times used", f"{total.used:,}"),
        ("changes", f"{len(log):,}"),
    ]


def _build_slider(
    place: MemoryPlace, path: str, log: Sequence[RecordedChange], at: int
) -> list[PageBlock]:
    if len(log) < 2:
        return []
    return [
        FormBlock(
            fields=[
                *place.fields(),
                FormField(name="path", kind="hidden", value=place.prefix + path),
                FormField(
                    name="at",
                    label="As it stood after change",
                    kind="range",
                    value=str(at or len(log)),
                    most=len(log),
                ),
            ],
            button="Show",
            path="/memory",
            label="History",
        )
    ]


def _build_version(
    place: MemoryPlace, path: str, log: Sequence[RecordedChange], at: int
) -> PageBlock:
    if not 1 <= at <= len(log):
        raise InputError(f"the memory has {len(log)} changes, and none with the number {at}")
    change = log[at - 1]
    data = place.memory.folder.history.read_file(path, change.id)
    return ProseBlock(
        heading=f"As it stood after change {at}: {change.why.what}",
        text="(it was gone)" if data is None else data.decode("utf-8", "replace"),
        note=format_time(change.at),
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
            PageRow(
                cells=[
                    PageCell(text),
                    PageCell(why.actor, quiet=format_time(by_id[id].at)[:10]),
                    PageCell(
                        f"“{why.quote}”" if why.quote else why.what,
                        address_of("session", id=why.session) if why.session else "",
                        quiet=f"session {why.session[:12]}, message {message or 'unknown'}"
                        if why.session
                        else "",
                    ),
                ]
            )
        )
    return TableBlock(
        heading="Where each line comes from",
        columns=[path, "Written by", "Because of these words"],
        rows=rows,
    )


def _build_changes(place: MemoryPlace, log: Sequence[RecordedChange]) -> TableBlock:
    undone = {each.undoes for each in log}
    return TableBlock(
        heading="Changes",
        columns=["When", "By", "What"],
        rows=[
            PageRow(
                cells=[
                    PageCell(format_time(each.at)),
                    PageCell(each.why.actor),
                    PageCell(each.why.what),
                ],
                actions=[]
                if each.id in undone
                else [place.action("Undo", "undo", key="u", change=each.id)],
            )
            for each in reversed(log)
        ],
    )


def _build_uses(place: MemoryPlace, path: str) -> TableBlock:
    uses = list_uses(place.engine.database(), str(place.memory.layout.folder), path)
    return TableBlock(
        heading="When it was shown, and why",
        columns=["When", "What", "Session", "Why"],
        rows=[
            PageRow(
                cells=[
                    PageCell(format_time(each.at)),
                    PageCell(each.what),
                    PageCell(each.session[:12], address_of("session", id=each.session)),
                    PageCell(each.why or "—"),
                ]
            )
            for each in uses[:PAGE_ROWS]
        ],
        empty="It was never shown to a model.",
    )


def build_why(place: MemoryPlace, message: str) -> PageView:
    """What a message would show an agent, what not, and why."""
    blocks: list[PageBlock] = [
        FormBlock(
            fields=[
                *place.fields(),
                FormField(name="message", label="A message to the agent", value=message),
            ],
            button="Ask",
            label="Try a message",
        )
    ]
    if message:
        found = judge_recall(place.memory, place.engine.settings.recall, message, WHY_LIMIT)
        heads = found.heads
        blocks += [
            TableBlock(
                heading="Would be shown",
                columns=["Memory", "Score", "Why"],
                rows=[
                    PageRow(
                        cells=[
                            PageCell(
                                heads[each.path].description or each.path,
                                place.address("memory", path=each.path),
                                quiet=each.path,
                            ),
                            PageCell(f"{each.score:.2f}"),
                            PageCell(each.why),
                        ]
                    )
                    for each in found.shown
                ],
                numeric=[1],
                empty="Nothing would be shown.",
            ),
            _list_past_words(place, message),
            TableBlock(
                heading="Found, and left out",
                columns=["Memory", "Why not"],
                rows=[
                    PageRow(
                        cells=[
                            PageCell(path, place.address("memory", path=path)),
                            PageCell(reason),
                        ]
                    )
                    for path, reason in found.left_out
                ],
                empty="Nothing else has anything in common with it.",
            ),
        ]
    return PageView(
        name="why",
        title="Why is this shown?",
        lead="Type a message as you would to the agent, and see what it would be reminded of.",
        command=f'memorist recall "{message or "MESSAGE"}" --why',
        blocks=blocks,
    )


def _list_past_words(place: MemoryPlace, message: str) -> TableBlock:
    return TableBlock(
        heading="Said in past sessions, and brought back",
        columns=["Words", "Session"],
        rows=[
            PageRow(
                cells=[
                    PageCell(
                        quote_passage(message, each),
                        address_of("message", id=each.session, line=each.passage.line),
                    ),
                    PageCell(each.title, address_of("session", id=each.session)),
                ]
            )
            for each in find_past_words(place.engine, place.project, message)
        ],
        empty="Nothing that was said before bears on it.",
    )


def build_inbox(place: MemoryPlace) -> PageView:
    """The changes that wait for the user's word, side by side with what stands now."""
    waiting = place.memory.list_proposals()
    origins = sorted({name_origin(each) for each in waiting})
    blocks: list[PageBlock] = []
    if waiting:
        blocks.append(
            ActionBlock(
                actions=[
                    place.action(
                        f"Accept all {count:,} from {origin}", "accept-origin", origin=origin
                    )
                    for origin in origins
                    if (count := sum(name_origin(each) == origin for each in waiting))
                ]
            )
        )
    blocks += [_build_proposal(place, each) for each in waiting]
    last = next(place.memory.folder.history.iter_changes(), None)
    if not waiting:
        blocks.append(
            ProseBlock(heading="Nothing waits", text="Every proposed change has been decided.")
        )
    if last is not None and not last.undoes:
        blocks.append(
            ActionBlock(
                actions=[
                    place.action(
                        f"Undo the last change: {last.why.what[:80]}",
                        "undo",
                        key="u",
                        change=last.id,
                    )
                ]
            )
        )
    return PageView(
        name="inbox",
        title="Inbox",
        lead=f"{len(waiting):,} changes of memory wait for your word. j and k go from one to the "
        f"next, a accepts, r rejects, u undoes.",
        command="memorist memory inbox",
        blocks=blocks,
    )


def name_origin(given: Proposal) -> str:
    """Where a waiting change comes from: for an import what was imported, else who made it."""
    return given.why.what if given.why.actor == "import" else given.why.actor


def _build_proposal(place: MemoryPlace, given: Proposal) -> ComparisonBlock:
    what = "add" if given.before is None else "delete" if given.after is None else "change"
    facts = [
        ("origin", f"{name_origin(given)}, {given.trust.value}"),
        ("why it waits", "; ".join(given.reasons)),
        ("proposed", format_time(given.at)),
    ]
    if given.why.quote:
        facts.append(("words", f"“{given.why.quote}”"))
    if given.why.session:
        facts.append(("session", given.why.session))
    return ComparisonBlock(
        heading=f"{what} {given.path}",
        facts=facts,
        left_title="Now",
        left=given.before or "",
        right_title="Proposed",
        right=given.after or "",
        actions=[
            place.action("Accept", "accept", key="a", id=given.id),
            place.action("Reject", "reject", key="r", id=given.id),
        ],
    )


def build_dreams(place: MemoryPlace, chosen: str) -> PageView:
    """What dreams did to this project's memory, each with its difference and its undo."""
    memory = place.memory
    last = find_last_dream(memory)
    log = memory.folder.history.log()
    undone = {each.undoes for each in log if each.undoes}
    dreams = [each for each in log if each.why.actor == "dream"]
    blocks: list[PageBlock] = []
    if last is not None:
        blocks.append(
            ActionBlock(
                actions=[
                    place.action(
                        f"Take back the last dream: {last.why.what[:80]}",
                        "undo",
                        key="u",
                        change=last.id,
                    )
                ]
            )
        )
    blocks.append(
        TableBlock(
            heading="Dreams",
            columns=["When", "What it did", "Memories", "State"],
            rows=[
                PageRow(
                    cells=[
                        PageCell(format_time(each.at)),
                        PageCell(each.why.what, place.address("dreams", change=each.id)),
                        PageCell(", ".join(path for path in each.paths if path != INDEX_NAME)),
                        PageCell("taken back", tone="note")
                        if each.id in undone
                        else PageCell("stands", tone="good"),
                    ]
                )
                for each in dreams[:PAGE_ROWS]
            ],
            empty="No dream has changed this memory yet.",
        )
    )
    if chosen:
        blocks.append(
            ProseBlock(heading="What it changed", text=memory.folder.history.diff(chosen))
        )
    journal = read_if_exists(DiskFiles(), journal_path(memory.layout)) or b""
    if journal.strip():
        blocks.append(ProseBlock(heading="Journal", text=journal.decode("utf-8", "replace")))
    return PageView(
        name="dreams",
        title="Dreams",
        lead="Memory put in order while nobody works, and the way back.",
        command="memorist dream journal",
        blocks=blocks,
    )


def change_memory(place: MemoryPlace, action: str, fields: dict[str, str]) -> str:
    """Do what a button asks for, and say what was done. Raises InputError for what the page does
    not know, KeyError for a missing field, and what the memory raises.
    """
    memory = place.memory
    changes: dict[str, Callable[[], str]] = {
        "accept": lambda: _describe(memory.accept(fields["id"]), "Accepted"),
        "accept-origin": lambda: _accept_origin(memory, fields["origin"]),
        "confirm": lambda: _confirm(*place.locate(fields["path"])),
        "reject": lambda: f"Rejected: {memory.reject(fields['id']).path}",
        "undo": lambda: f"Taken back: {memory.undo(fields['change']).why.what}",
        "edit": lambda: _edit(*place.locate(fields["path"]), fields["text"]),
        "forget": lambda: _forget(*place.locate(fields["path"])),
        "forget-hard": lambda: _forget_hard(*place.locate(fields["path"])),
    }
    if action not in changes:
        raise InputError(f"the page knows no change {action!r}")
    return changes[action]()


def _confirm(place: MemoryPlace, path: str) -> str:
    place.memory.confirm([path])
    return f"It holds as the project is now: {path}"


def _edit(place: MemoryPlace, path: str, text: str) -> str:
    return _describe(place.memory.edit(path, text.replace("\r\n", "\n")), "Changed")


def _forget(place: MemoryPlace, path: str) -> str:
    why = ChangeReason(actor="user", what=render_headline("forget", path))
    return _describe(place.memory.forget([path], why), "Forgotten; undo brings it back")


def _forget_hard(place: MemoryPlace, path: str) -> str:
    changes, left, _ = forget_for_good(place.engine, place.memory, [path])
    rest = f"; its words still stand in {len(left.remaining)} files" if left.remaining else ""
    return f"Forgotten for good, taken out of {changes} changes{rest}"


def _accept_origin(memory: AutoMemory, origin: str) -> str:
    found = [each for each in memory.list_proposals() if name_origin(each) == origin]
    for each in found:
        memory.accept(each.id)
    return f"Accepted {len(found):,} from {origin}"


def _describe(written: WriteResult, done: str) -> str:
    if written.refused:
        return (
            f"Refused: {'; '.join(reason for each in written.refused for reason in each.reasons)}"
        )
    if written.proposals:
        return "It waits in the inbox: " + "; ".join(written.proposals[0].reasons)
    return f"{done}: {', '.join(written.paths)}" if written.paths else "Nothing changed"


def project_links(view: str, projects: Sequence[str], chosen: str) -> LinkBlock:
    """The projects that have a memory, as a choice."""
    return LinkBlock(
        label="Projects",
        links=[
            (
                each.rstrip("/").rpartition("/")[2] or each,
                address_of(view, project=each),
                each == chosen,
            )
            for each in projects
        ],
    )

"""The views of past sessions and of their way into memory."""

from __future__ import annotations

from memorist.cli.rollouts.rollouts_group import run_with_rollout_store
from memorist.core.sentences import shorten_to_one_line
from memorist.engine.rollout_store import RolloutStore
from memorist.errors import InputError
from memorist.page.page_context import ROWS_PER_PAGE, build_pagination_links, build_view_address
from memorist.page.session_views import build_outcome_cell
from memorist.rollouts.raw_memory import MemoryBullet, RawMemoryTask, parse_raw_memory
from memorist.store.disk_files import DiskFiles
from memorist.store.extract_rows import StoredExtract, list_enabled_extracts
from memorist.store.rollout_rows import Rollout, list_rollouts
from memorist.store.session_memory_mode import persist_session_memory_mode
from memorist.views.page_texts import translate, translate_each
from memorist.views.view_blocks import (
    FormBlock,
    FormField,
    LabeledFiguresBlock,
    LinkListBlock,
    PageAction,
    PageBlock,
    PageCell,
    PageRow,
    PageView,
    ProseBlock,
    TableBlock,
    build_table_row,
)
from memorist.views.view_formatting import format_utc_time, get_last_path_part


def build_past_sessions_view(query: str, page: int) -> PageView:
    """Past sessions: what became of each, and the way to leave one out."""

    def read(past: RolloutStore) -> tuple[list[Rollout], dict[str, StoredExtract]]:
        extracts = {each.extracted.thread: each for each in list_enabled_extracts(past.state)}
        return list_rollouts(past.state), extracts

    found, extracts = run_with_rollout_store(read)
    words = query.casefold().split()
    found = [
        each
        for each in sorted(found, key=lambda each: -each.updated)
        if all(word in _past_text(each, extracts.get(each.id)) for word in words)
    ]
    rows = [
        _past_row(each, extracts.get(each.id))
        for each in found[(page - 1) * ROWS_PER_PAGE : page * ROWS_PER_PAGE]
    ]
    return PageView(
        name="past",
        title=translate("Past sessions"),
        lead=translate(
            "What became of each finished session. One that is left out gives nothing to memory, "
            "and what was made of it goes."
        ),
        command="memorist rollouts status",
        blocks=[
            FormBlock(
                fields=[
                    FormField(name="q", label=translate("Find by what was learned"), value=query)
                ],
                button=translate("Search"),
                label=translate("Search past sessions"),
            ),
            TableBlock(
                heading=translate("Sessions found on this machine"),
                columns=translate_each(
                    "When", "It began with", "Project", "Outcome", "Became memory", "Uses"
                ),
                rows=rows,
                numeric=[5],
                empty=translate("None was found yet: memorist import looks for them."),
            ),
            *build_pagination_links("past", len(found), page, q=query),
        ],
    )


def _past_text(each: Rollout, extract: StoredExtract | None) -> str:
    learned = extract.extracted.raw_memory if extract is not None else ""
    return f"{each.first_words} {each.repository} {each.cwd} {each.id} {learned}".casefold()


def build_past_session_view(id: str) -> PageView:
    """What one past session left: each task with its outcome, what was learned, what failed and
    what fixed it.
    """
    extracts = run_with_rollout_store(
        lambda past: next(
            (each for each in list_enabled_extracts(past.state) if each.extracted.thread == id),
            None,
        )
    )
    if extracts is None or extracts.extracted.is_empty:
        raise InputError(f"nothing was kept of the session {id}")
    extract = extracts.extracted
    raw = parse_raw_memory(extract.raw_memory)
    blocks: list[PageBlock] = [
        LabeledFiguresBlock(
            pairs=[
                (translate("outcome"), raw.outcome),
                (translate("tasks"), f"{len(raw.tasks):,}"),
                (
                    translate("made by"),
                    translate("a model") if extract.way == "model" else translate("structure"),
                ),
                (translate("times cited"), f"{extracts.uses:,}"),
            ]
        ),
        LinkListBlock(
            label=translate("Ways on"),
            links=[(translate("The whole session"), build_view_address("session", id=id), False)],
        ),
    ]
    blocks += [_build_task(each, id) for each in raw.tasks]
    summary = extract.rollout_summary.strip()
    blocks += [ProseBlock(heading=translate("Its summary"), text=summary)] * bool(summary)
    return PageView(
        name="past",
        title=shorten_to_one_line(raw.description or id, 110),
        lead=translate("What this past session left to later ones."),
        command=f"memorist rollouts show {id}",
        blocks=blocks,
    )


def _build_task(task: RawMemoryTask, id: str) -> TableBlock:
    kinds = (
        (translate("failed, and what fixed it"), task.failures),
        (translate("learned"), task.knowledge),
        (translate("wished"), task.preferences),
        (translate("to look up"), task.references),
    )
    return TableBlock(
        heading=f"{shorten_to_one_line(task.name, 110)}: {task.outcome}",
        columns=translate_each("Kind", "What", "Proof"),
        rows=[
            build_table_row(
                kind,
                PageCell(bullet.text, _bullet_address(bullet, id)),
                PageCell(bullet.proof, quiet=bullet.evidence),
            )
            for kind, bullets in kinds
            for bullet in bullets
        ],
        empty=translate("Nothing was learned of it."),
    )


def _bullet_address(bullet: MemoryBullet, id: str) -> str:
    line = bullet.evidence.removeprefix("line ")
    return build_view_address("message", id=id, line=line) if line.isdigit() else ""


def _past_row(each: Rollout, extract: StoredExtract | None) -> PageRow:
    out = each.mode == "disabled"
    state = PageCell(translate("not yet"))
    outcome = PageCell("—")
    if extract is not None and extract.extracted.is_empty:
        state = PageCell(translate("nothing worth keeping"))
    elif extract is not None:
        state = PageCell(translate("yes"), build_view_address("past-session", id=each.id))
        raw = parse_raw_memory(extract.extracted.raw_memory)
        outcome = build_outcome_cell(raw.outcome)
    if each.mode != "enabled":
        state = PageCell(
            translate("left out") if out else translate("held web content"), tone="note"
        )
    return build_table_row(
        format_utc_time(each.updated).removesuffix(" UTC"),
        PageCell(
            shorten_to_one_line(each.first_words or "—", 140),
            build_view_address("session", id=each.id),
        ),
        get_last_path_part(each.repository or each.cwd) or "—",
        outcome,
        state,
        str(extract.uses) if extract is not None else "0",
        actions=[
            PageAction(
                label=translate("Take in") if out else translate("Leave out"),
                path="/do/" + ("take-in" if out else "leave-out"),
                fields={"id": each.id},
            )
        ],
    )


def set_past_session_use(id: str, *, take_in: bool) -> str:
    """Leave a past session out of memory, or take it in again, and say what was done."""
    run_with_rollout_store(
        lambda past: persist_session_memory_mode(
            past.state,
            DiskFiles(),
            past.layout,
            id,
            "enabled" if take_in else "disabled",
            past.claim_terms,
        ),
        is_change=True,
    )
    if take_in:
        return translate("It may become memory again")
    return translate("It is left out of memory")

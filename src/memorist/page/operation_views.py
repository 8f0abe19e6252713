"""The views of past sessions and their way into memory, of health, team and the user's machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memorist.cli.command_environment import find_home
from memorist.cli.doctor.check_result import CheckResult
from memorist.cli.doctor.doctor_command import CHECKS, STATE_MARKS, run_checks
from memorist.cli.machines_command import open_memories
from memorist.cli.rollouts.rollouts_group import with_past_state
from memorist.cli.team_command import read_team_status
from memorist.core.text_analysis import shorten
from memorist.engine.rollout_pipeline import RolloutStore
from memorist.errors import InputError, MemoristError
from memorist.machines.machine_sync import load_identity, sync_machines
from memorist.page.page_addresses import PAGE_ROWS, address_of, list_pages
from memorist.page.session_views import outcome_cell
from memorist.rollouts.raw_memory import MemoryBullet, RawMemoryTask, parse_raw_memory
from memorist.store.extract_rows import StoredExtract, list_extracts
from memorist.store.memory_mode import set_memory_mode
from memorist.store.rollout_rows import Rollout, list_rollouts
from memorist.views.page_texts import say, say_count, say_each
from memorist.views.view_blocks import (
    ActionBlock,
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
from memorist.views.view_formatting import base_name, format_time


def build_past(query: str, page: int) -> PageView:
    """Past sessions: what became of each, and the way to leave one out."""

    def read(past: RolloutStore) -> tuple[list[Rollout], dict[str, StoredExtract]]:
        extracts = {each.extracted.thread: each for each in list_extracts(past.state)}
        return list_rollouts(past.state), extracts

    found, extracts = with_past_state(read)
    words = query.casefold().split()
    found = [
        each
        for each in sorted(found, key=lambda each: -each.updated)
        if all(word in _past_text(each, extracts.get(each.id)) for word in words)
    ]
    rows = [
        _past_row(each, extracts.get(each.id))
        for each in found[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    ]
    return PageView(
        name="past",
        title=say("Past sessions"),
        lead=say(
            "What became of each finished session. One that is left out gives nothing to memory, "
            "and what was made of it goes."
        ),
        command="memorist rollouts status",
        blocks=[
            FormBlock(
                fields=[FormField(name="q", label=say("Find by what was learned"), value=query)],
                button=say("Search"),
                label=say("Search past sessions"),
            ),
            TableBlock(
                heading=say("Sessions found on this machine"),
                columns=say_each(
                    "When", "It began with", "Project", "Outcome", "Became memory", "Uses"
                ),
                rows=rows,
                numeric=[5],
                empty=say("None was found yet: memorist import looks for them."),
            ),
            *list_pages("past", len(found), page, q=query),
        ],
    )


def _past_text(each: Rollout, extract: StoredExtract | None) -> str:
    learned = extract.extracted.raw_memory if extract is not None else ""
    return f"{each.first_words} {each.repository} {each.cwd} {each.id} {learned}".casefold()


def build_past_session(id: str) -> PageView:
    """What one past session left: each task with its outcome, what was learned, what failed and
    what fixed it.
    """
    extracts = with_past_state(
        lambda past: next(
            (each for each in list_extracts(past.state) if each.extracted.thread == id), None
        )
    )
    if extracts is None or extracts.extracted.is_empty:
        raise InputError(f"nothing was kept of the session {id}")
    extract = extracts.extracted
    raw = parse_raw_memory(extract.raw_memory)
    blocks: list[PageBlock] = [
        NumberBlock(
            pairs=[
                (say("outcome"), raw.outcome),
                (say("tasks"), f"{len(raw.tasks):,}"),
                (say("made by"), say("a model") if extract.way == "model" else say("structure")),
                (say("times cited"), f"{extracts.uses:,}"),
            ]
        ),
        LinkBlock(
            label=say("Ways on"),
            links=[(say("The whole session"), address_of("session", id=id), False)],
        ),
    ]
    blocks += [_build_task(each, id) for each in raw.tasks]
    summary = extract.rollout_summary.strip()
    blocks += [ProseBlock(heading=say("Its summary"), text=summary)] * bool(summary)
    return PageView(
        name="past",
        title=shorten(raw.description or id, 110),
        lead=say("What this past session left to later ones."),
        command=f"memorist rollouts show {id}",
        blocks=blocks,
    )


def _build_task(task: RawMemoryTask, id: str) -> TableBlock:
    kinds = (
        (say("failed, and what mended it"), task.failures),
        (say("learned"), task.knowledge),
        (say("wished"), task.preferences),
        (say("to look up"), task.references),
    )
    return TableBlock(
        heading=f"{shorten(task.name, 110)}: {task.outcome}",
        columns=say_each("Kind", "What", "Proof"),
        rows=[
            PageRow(
                cells=[
                    PageCell(kind),
                    PageCell(bullet.text, _bullet_address(bullet, id)),
                    PageCell(bullet.proof, quiet=bullet.evidence),
                ]
            )
            for kind, bullets in kinds
            for bullet in bullets
        ],
        empty=say("Nothing was learned of it."),
    )


def _bullet_address(bullet: MemoryBullet, id: str) -> str:
    line = bullet.evidence.removeprefix("line ")
    return address_of("message", id=id, line=line) if line.isdigit() else ""


def _past_row(each: Rollout, extract: StoredExtract | None) -> PageRow:
    out = each.mode == "disabled"
    state = PageCell(say("not yet"))
    outcome = PageCell("—")
    if extract is not None and extract.extracted.is_empty:
        state = PageCell(say("nothing worth keeping"))
    elif extract is not None:
        state = PageCell(say("yes"), address_of("past-session", id=each.id))
        raw = parse_raw_memory(extract.extracted.raw_memory)
        outcome = outcome_cell(raw.outcome)
    if each.mode != "enabled":
        state = PageCell(say("left out") if out else say("held web content"), tone="note")
    return PageRow(
        cells=[
            PageCell(format_time(each.updated).removesuffix(" UTC")),
            PageCell(shorten(each.first_words or "—", 140), address_of("session", id=each.id)),
            PageCell(base_name(each.repository or each.cwd) or "—"),
            outcome,
            state,
            PageCell(str(extract.uses) if extract is not None else "0"),
        ],
        actions=[
            PageAction(
                label=say("Take in") if out else say("Leave out"),
                path="/do/" + ("take-in" if out else "leave-out"),
                fields={"id": each.id},
            )
        ],
    )


def change_past(id: str, *, take_in: bool) -> str:
    """Leave a past session out of memory, or take it in again, and say what was done."""
    with_past_state(
        lambda past: set_memory_mode(
            past.state, id, "enabled" if take_in else "disabled", past.claim_terms
        )
    )
    return say("It may become memory again") if take_in else say("It is left out of memory")


_STATE_TONES: dict[str, Tone] = {"wrong": "wrong", "note": "note", "mended": "good", "good": "good"}


def build_health(findings: Sequence[CheckResult] | None = None) -> PageView:
    """What the doctor finds, the worst first, with a button that fixes."""
    found = sorted(
        run_checks(CHECKS) if findings is None else findings,
        key=lambda each: list(STATE_MARKS).index(each.state),
    )
    wrong = sum(each.state == "wrong" for each in found)
    states = {
        "wrong": say("wrong"),
        "note": say("to know"),
        "mended": say("mended"),
        "good": say("good"),
    }
    blocks: list[PageBlock] = [
        TableBlock(
            heading=say("What was looked at"),
            columns=say_each("State", "Area", "What was found"),
            rows=[
                PageRow(
                    cells=[
                        PageCell(states[each.state], tone=_STATE_TONES[each.state]),
                        PageCell(each.area),
                        PageCell(each.what, quiet=each.mend),
                    ]
                )
                for each in found
            ],
        )
    ]
    if wrong:
        mend = PageAction(label=say("Mend what can be mended"), path="/do/mend", fields={})
        blocks.insert(0, ActionBlock(actions=[mend]))
    return PageView(
        name="health",
        title=say("Health"),
        lead=say_count("1 fault.", "{count:,} faults.", wrong)
        if wrong
        else say("Nothing is wrong."),
        command="memorist doctor",
        blocks=blocks,
    )


def mend_faults() -> str:
    """Fix what the doctor can fix, and say how much."""
    mended = sum(each.state == "mended" for each in run_checks(CHECKS, fix=True))
    return say("Mended: {count:,}", count=mended)


def build_team() -> PageView:
    """What is shared with a team, what would be sent, and what stays and why."""
    blocks: list[PageBlock] = []
    try:
        found = read_team_status()
    except MemoristError as error:
        blocks.append(ProseBlock(heading=say("No team here"), text=str(error)))
    else:
        names = {
            "to_send": say("Would be sent"),
            "to_delete": say("Would be deleted there"),
            "could_be_shared": say("Could be shared"),
        }
        blocks.append(
            NumberBlock(
                pairs=[
                    (say("remote"), found["remote"]),
                    (say("shared memories"), str(found["memories"])),
                ]
            )
        )
        blocks += [
            _build_names(words, [(path, "") for path in found[key]]) for key, words in names.items()
        ]
        blocks += [
            _build_names(say("Stays here, and why"), list(found["staying"].items())),
            _build_names(say("Two that say otherwise"), list(found["beside"].items())),
        ]
    return PageView(
        name="team",
        title=say("Team"),
        lead=say("What {name} shares, and what never leaves this machine.", name=Path.cwd().name),
        command="memorist team status",
        blocks=blocks,
    )


def _build_names(heading: str, pairs: Sequence[tuple[str, str]]) -> TableBlock:
    return TableBlock(
        heading=heading,
        columns=say_each("Memory", "Why"),
        rows=[PageRow(cells=[PageCell(name), PageCell(why)]) for name, why in pairs],
        empty=say("None."),
    )


def build_machines() -> PageView:
    """The user's own machines: the place they share, and the way to bring them in line."""
    layout = find_home()
    blocks: list[PageBlock] = []
    try:
        own = load_identity(layout)
    except MemoristError as error:
        blocks.append(ProseBlock(heading=say("This machine shares with no other"), text=str(error)))
    else:
        blocks += [
            NumberBlock(
                pairs=[
                    (say("this machine"), own.machine),
                    (say("the place they share"), own.location),
                ]
            ),
            ActionBlock(
                actions=[
                    PageAction(label=say("Bring them in line now"), path="/do/sync", fields={})
                ]
            ),
        ]
    return PageView(
        name="machines",
        title=say("My machines"),
        lead=say("One memory on all your machines, encrypted on the way."),
        command="memorist machines sync",
        blocks=blocks,
    )


def sync_own_machines() -> str:
    """Bring the user's machines in line, and say what came."""
    with open_memories() as (layout, memories):
        report = sync_machines(layout, memories)
    received = sum(len(paths) for paths in report.received.values())
    done = say(
        "In line with {machines} other machines, {count:,} memories came",
        machines=report.machines,
        count=received,
    )
    return "; ".join([done, *report.troubles])

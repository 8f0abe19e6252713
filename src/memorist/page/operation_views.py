"""The views of what runs: now, past sessions and their way into memory, spend, health, team."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memorist.budget.policy import format_amount
from memorist.budget.status import BudgetStatus, render_budget_status
from memorist.cli.doctor.check import CheckResult
from memorist.cli.doctor.command import CHECKS, STATE_MARKS, run_checks
from memorist.cli.rollouts.group import with_past_state
from memorist.cli.sessions import list_known_sessions
from memorist.cli.status import read_status
from memorist.cli.team import read_team_status
from memorist.core.text import shorten
from memorist.engine.rollout_pipeline import RolloutStore
from memorist.errors import MemoristError
from memorist.page.addresses import PAGE_ROWS, address_of, list_pages
from memorist.page.memory_views import MemoryPlace
from memorist.page.session_views import build_session_row
from memorist.page.view import (
    ActionBlock,
    BarBlock,
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
from memorist.replay.formatting import base_name, format_dollars, format_time
from memorist.store.files import DiskFiles, read_if_exists
from memorist.store.jobs import set_memory_mode
from memorist.store.layout import SessionLayout
from memorist.store.rollouts import Rollout, StoredExtract, list_extracts, list_rollouts

RUNNING_SECONDS = 900
"""A session whose file grew within a quarter of an hour counts as running. Our choice."""
NEWEST = 8
"""Sessions and changes that the view Now names."""


def build_now(place: MemoryPlace) -> PageView:
    """What runs, what was remembered last, and what waits."""
    sessions = list_known_sessions(None)
    running = [each for each in sessions if place.now - each.updated < RUNNING_SECONDS]
    waiting = place.memory.inbox.list_proposals()
    heads = place.memory.headers()
    blocks: list[PageBlock] = [
        NumberBlock(
            pairs=[
                ("running sessions", f"{len(running):,}"),
                ("sessions known", f"{len(sessions):,}"),
                ("memories here", f"{len(heads):,}"),
                ("waiting for you", f"{len(waiting):,}"),
            ]
        ),
        TableBlock(
            heading="Running, or the newest",
            columns=["Last active", "What it is about", "Project", "Agent"],
            rows=[build_session_row(each) for each in (running or sessions)[:NEWEST]],
            empty="No session is known yet: memorist setup joins your agent.",
        ),
        TableBlock(
            heading="Remembered last",
            columns=["When", "By", "What"],
            rows=[
                PageRow(
                    cells=[
                        PageCell(format_time(each.at)),
                        PageCell(each.why.actor),
                        PageCell(each.why.what, place.address("memories")),
                    ]
                )
                for each in place.memory.folder.history.log("", NEWEST)
            ],
            empty="Nothing is remembered of this project yet.",
        ),
    ]
    noted = next((each for each in running or sessions if each.notes and each.folder), None)
    if noted is not None:
        text = read_if_exists(DiskFiles(), SessionLayout(Path(noted.folder)).notes) or b""
        blocks.append(
            ProseBlock(
                heading="Notes as they stand",
                text=text.decode("utf-8", "replace"),
                note=shorten(noted.title, 120),
            )
        )
    return PageView(
        name="now",
        title="Now",
        lead="Renews itself while it is open.",
        command="memorist",
        blocks=blocks,
    )


def build_past(page: int) -> PageView:
    """Past sessions: what became of each, and the way to leave one out."""

    def read(past: RolloutStore) -> tuple[list[Rollout], dict[str, StoredExtract]]:
        made = {each.extracted.thread: each for each in list_extracts(past.state)}
        return list_rollouts(past.state), made

    found, made = with_past_state(read)
    found = sorted(found, key=lambda each: -each.updated)
    rows = [
        _past_row(each, made.get(each.id))
        for each in found[(page - 1) * PAGE_ROWS : page * PAGE_ROWS]
    ]
    return PageView(
        name="past",
        title="Past sessions",
        lead="What became of each finished session. One that is left out gives nothing to memory, "
        "and what was made of it goes.",
        command="memorist rollouts status",
        blocks=[
            TableBlock(
                heading="Sessions found on this machine",
                columns=["When", "It began with", "Project", "Became memory", "Uses"],
                rows=rows,
                numeric=[4],
                empty="None was found yet: memorist import looks for them.",
            ),
            *list_pages("past", len(found), page),
        ],
    )


def _past_row(each: Rollout, made: StoredExtract | None) -> PageRow:
    out = each.mode == "disabled"
    state = PageCell("not yet")
    if made is not None:
        kept = not made.extracted.is_empty
        state = PageCell("yes", tone="good") if kept else PageCell("nothing worth keeping")
    if each.mode != "enabled":
        state = PageCell("left out" if out else "held web content", tone="note")
    return PageRow(
        cells=[
            PageCell(format_time(each.updated).removesuffix(" UTC")),
            PageCell(shorten(each.first_words or "—", 140), address_of("session", id=each.id)),
            PageCell(base_name(each.repository or each.cwd) or "—"),
            state,
            PageCell(str(made.uses) if made is not None else "0"),
        ],
        actions=[
            PageAction(
                label="Take in" if out else "Leave out",
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
    return "It may become memory again" if take_in else "It is left out of memory"


def build_spend(place: MemoryPlace) -> PageView:
    """What background work did and cost in the last week, and what is left of the caps."""
    found = read_status(place.engine.database(), place.engine.settings, place.now, 7)
    return PageView(
        name="spend",
        title="Spend",
        lead=f"Background work from {found.first} to {found.last}.",
        command="memorist status --days 7",
        blocks=[
            NumberBlock(
                pairs=[
                    ("runs", f"{found.total.runs:,}"),
                    ("requests", f"{found.total.requests:,}"),
                    ("tokens", f"{found.total.usage.context:,}"),
                    ("cost", format_dollars(found.total.cost_usd)),
                ]
            ),
            BarBlock(
                heading="Tokens by kind of work",
                unit="tokens",
                bars=[(each.label, float(each.usage.context), "") for each in found.kinds],
            ),
            _build_caps(found),
            ProseBlock(heading="The whole report", text="\n".join(render_budget_status(found))),
        ],
    )


def _build_caps(found: BudgetStatus) -> TableBlock:
    return TableBlock(
        heading="Caps of today",
        columns=["Cap", "Used", "Reserved", "Left", "Of"],
        rows=[
            PageRow(
                cells=[
                    PageCell(each.measure),
                    *(
                        PageCell(format_amount(each.measure, amount))
                        for amount in (each.used, each.reserved, each.left, each.cap)
                    ),
                ]
            )
            for each in found.caps
        ],
        numeric=[1, 2, 3, 4],
        empty="Caps are off.",
    )


_STATES: dict[str, tuple[str, Tone]] = {
    "wrong": ("wrong", "wrong"),
    "note": ("to know", "note"),
    "mended": ("mended", "good"),
    "good": ("good", "good"),
}


def build_health(findings: Sequence[CheckResult] | None = None) -> PageView:
    """What the doctor finds, the worst first, with a button that mends."""
    found = sorted(
        run_checks(CHECKS) if findings is None else findings,
        key=lambda each: list(STATE_MARKS).index(each.state),
    )
    wrong = sum(each.state == "wrong" for each in found)
    blocks: list[PageBlock] = [
        TableBlock(
            heading="What was looked at",
            columns=["State", "Area", "What was found"],
            rows=[
                PageRow(
                    cells=[
                        PageCell(_STATES[each.state][0], tone=_STATES[each.state][1]),
                        PageCell(each.area),
                        PageCell(each.what, quiet=each.mend),
                    ]
                )
                for each in found
            ],
        )
    ]
    if wrong:
        mend = PageAction(label="Mend what can be mended", path="/do/mend", fields={})
        blocks.insert(0, ActionBlock(actions=[mend]))
    return PageView(
        name="health",
        title="Health",
        lead=f"{wrong:,} faults." if wrong else "Nothing is wrong.",
        command="memorist doctor",
        blocks=blocks,
    )


def mend_faults() -> str:
    """Mend what the doctor can mend, and say how much."""
    mended = sum(each.state == "mended" for each in run_checks(CHECKS, fix=True))
    return f"Mended: {mended:,}"


def build_team() -> PageView:
    """What is shared with a team, what would be sent, and what stays and why."""
    blocks: list[PageBlock] = []
    try:
        found = read_team_status()
    except MemoristError as error:
        blocks.append(ProseBlock(heading="No team here", text=str(error)))
    else:
        names = {
            "to_send": "Would be sent",
            "to_delete": "Would be deleted there",
            "could_be_shared": "Could be shared",
        }
        blocks.append(
            NumberBlock(
                pairs=[("remote", found["remote"]), ("shared memories", str(found["memories"]))]
            )
        )
        blocks += [
            _build_names(words, [(path, "") for path in found[key]]) for key, words in names.items()
        ]
        blocks += [
            _build_names("Stays here, and why", list(found["staying"].items())),
            _build_names("Two that say otherwise", list(found["beside"].items())),
        ]
    return PageView(
        name="team",
        title="Team",
        lead=f"What {Path.cwd().name} shares, and what never leaves this machine.",
        command="memorist team status",
        blocks=blocks,
    )


def _build_names(heading: str, pairs: Sequence[tuple[str, str]]) -> TableBlock:
    return TableBlock(
        heading=heading,
        columns=["Memory", "Why"],
        rows=[PageRow(cells=[PageCell(name), PageCell(why)]) for name, why in pairs],
        empty="None.",
    )

"""The views of health, of the team and of the user's machines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memorist.cli.command_environment import load_home_layout
from memorist.cli.doctor.check_result import CheckResult
from memorist.cli.doctor.doctor_command import CHECKS, STATE_MARKS, run_doctor_checks
from memorist.cli.machines_command import open_memories_of_all_projects
from memorist.cli.team_command import load_team_status
from memorist.errors import MemoristError
from memorist.machines.machine_identity import load_machine_identity
from memorist.machines.machine_sync import sync_machines
from memorist.views.page_texts import translate, translate_count, translate_each
from memorist.views.view_blocks import (
    ActionBlock,
    LabeledFiguresBlock,
    PageAction,
    PageBlock,
    PageCell,
    PageView,
    ProseBlock,
    TableBlock,
    Tone,
    build_table_row,
)

_STATE_TONES: dict[str, Tone] = {"wrong": "wrong", "note": "note", "fixed": "good", "good": "good"}


def build_health_view(findings: Sequence[CheckResult] | None = None) -> PageView:
    """What the doctor finds, the worst first, with a button that fixes."""
    found = sorted(
        run_doctor_checks(CHECKS) if findings is None else findings,
        key=lambda each: list(STATE_MARKS).index(each.state),
    )
    wrong = sum(each.state == "wrong" for each in found)
    states = {
        "wrong": translate("wrong"),
        "note": translate("to know"),
        "fixed": translate("fixed"),
        "good": translate("good"),
    }
    blocks: list[PageBlock] = [
        TableBlock(
            heading=translate("What was looked at"),
            columns=translate_each("State", "Area", "What was found"),
            rows=[
                build_table_row(
                    PageCell(states[each.state], tone=_STATE_TONES[each.state]),
                    each.area,
                    PageCell(each.what, quiet=each.remedy),
                )
                for each in found
            ],
        )
    ]
    if wrong:
        fix = PageAction(label=translate("Fix what can be fixed"), path="/do/fix", fields={})
        blocks.insert(0, ActionBlock(actions=[fix]))
    return PageView(
        name="health",
        title=translate("Health"),
        lead=translate_count("1 fault.", "{count:,} faults.", wrong)
        if wrong
        else translate("Nothing is wrong."),
        command="memorist doctor",
        blocks=blocks,
    )


def fix_health_problems() -> str:
    """Fix what the doctor can fix, and say how much."""
    fixed = sum(each.state == "fixed" for each in run_doctor_checks(CHECKS, fix=True))
    return translate("Fixed: {count:,}", count=fixed)


def build_team_memories_view() -> PageView:
    """What is shared with a team, what would be sent, and what stays and why."""
    blocks: list[PageBlock] = []
    try:
        found = load_team_status()
    except MemoristError as error:
        blocks.append(ProseBlock(heading=translate("No team here"), text=str(error)))
    else:
        names = {
            translate("Would be sent"): found.to_send,
            translate("Would be deleted there"): found.to_delete,
            translate("Could be shared"): found.could_be_shared,
        }
        blocks.append(
            LabeledFiguresBlock(
                pairs=[
                    (translate("remote"), found.remote),
                    (translate("shared memories"), str(found.memories)),
                ]
            )
        )
        blocks += [
            _build_names(words, [(path, "") for path in paths]) for words, paths in names.items()
        ]
        blocks += [
            _build_names(translate("Stays here, and why"), list(found.staying.items())),
            _build_names(translate("Two that say otherwise"), list(found.conflict_copies.items())),
        ]
    return PageView(
        name="team",
        title=translate("Team"),
        lead=translate(
            "What {name} shares, and what never leaves this machine.", name=Path.cwd().name
        ),
        command="memorist team status",
        blocks=blocks,
    )


def _build_names(heading: str, pairs: Sequence[tuple[str, str]]) -> TableBlock:
    return TableBlock(
        heading=heading,
        columns=translate_each("Memory", "Why"),
        rows=[build_table_row(name, why) for name, why in pairs],
        empty=translate("None."),
    )


def build_machines_view() -> PageView:
    """The user's own machines: the location they share, and the way to bring them in line."""
    layout = load_home_layout()
    blocks: list[PageBlock] = []
    try:
        own = load_machine_identity(layout)
    except MemoristError as error:
        blocks.append(
            ProseBlock(heading=translate("This machine shares with no other"), text=str(error))
        )
    else:
        blocks += [
            LabeledFiguresBlock(
                pairs=[
                    (translate("this machine"), own.machine),
                    (translate("the location they share"), own.location),
                ]
            ),
            ActionBlock(
                actions=[
                    PageAction(
                        label=translate("Bring them in line now"), path="/do/sync", fields={}
                    )
                ]
            ),
        ]
    return PageView(
        name="machines",
        title=translate("My machines"),
        lead=translate("One memory on all your machines, encrypted on the way."),
        command="memorist machines sync",
        blocks=blocks,
    )


def sync_own_machines() -> str:
    """Bring the user's machines in line, and say what came."""
    with open_memories_of_all_projects() as (layout, memories):
        report = sync_machines(layout, memories)
    received = sum(len(paths) for paths in report.received.values())
    done = translate(
        "In line with {machines} other machines, {count:,} memories came",
        machines=report.machines,
        count=received,
    )
    return "; ".join([done, *report.troubles])

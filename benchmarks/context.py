"""The time that the first context of a session takes: 200 skills, 50 instruction files, a memory
index (issue: context assembly).

Everything is made up in a temporary folder. Processor time is measured, so that other programs on
the machine do not count; git is asked by another process, and is timed apart.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import BenchResult, BenchRow
from benchmarks.world_state import world_rows
from memorist.context.context_pieces import ContextSection
from memorist.context.first_context_assembly import (
    FirstContext,
    HostContext,
    assemble_first_context,
    read_folder_context,
)
from memorist.context.git_state import read_git_state
from memorist.engine.engine import Memorist
from memorist.engine.session import Session
from memorist.runtime import Runtime
from memorist.settings import ContextSettings, Family, Settings, SkillsSettings
from memorist.skills.skill_catalogue import build_catalogue_section, build_skill_catalogue
from memorist.skills.skill_discovery import CachingSkillDiscovery, DiscoveredSkills, discover_skills
from memorist.skills.skill_file import load_skill_prompts
from memorist.skills.skill_invocation import build_mentioned_skill_messages
from memorist.skills.skill_roots import SkillBaseFolders
from memorist.store.disk_files import DiskFiles
from memorist.system import SystemClock
from support.first_request import build_anthropic_body, build_responses_body

# What a host that has its context assembled waits for in turns in which nothing changed (rows
# for `make bench NAME=context`).


LENGTHS = (10, 1_000, 10_000)
"""Messages that went before."""
TURNS = 21
MILLISECONDS = 1.0
"""Goal for a turn without changes, at any length of history."""
_REPLY = {
    "role": "assistant",
    "content": [{"type": "text", "text": "It is done, and the tests pass."}],
    "usage": {"input_tokens": 9, "output_tokens": 9},
}


def live_rows(folder: Path, family: Family, lengths: tuple[int, ...] = LENGTHS) -> list[BenchRow]:
    """The rows for a project's folder."""
    return asyncio.run(_live_rows(folder, family, lengths))


async def _live_rows(folder: Path, family: Family, lengths: tuple[int, ...]) -> list[BenchRow]:
    rows: list[BenchRow] = []
    for length in lengths:
        with tempfile.TemporaryDirectory() as home:
            settings = Settings(
                home=home,
                context=ContextSettings(
                    managed=f"{home}/none", user_folder=f"{home}/none", agents_folder=f"{home}/none"
                ),
            )
            async with Memorist(model="structural", settings=settings) as engine:
                plain = await _turns(
                    await engine.open("plain", folder=Path(home) / "plain"), length
                )
                session = await engine.open("assembled", folder=Path(home) / "assembled")
                session.assemble_context(HostContext(folder=str(folder), family=family))
                assembled = await _turns(session, length)
        whole, without = (median(each[1:]) * 1_000 for each in (assembled, plain))
        goal, met = f"under {MILLISECONDS:g}", whole - without < MILLISECONDS
        rows.append(
            BenchRow(
                f"{family}: what the assembly adds to a turn without changes, after {length:,} "
                f"messages",
                whole - without,
                "ms",
                goal,
                met,
            )
        )
        rows.append(BenchRow(f"{family}: `prepare` in such a turn, in all", whole, "ms"))
    return rows


async def _turns(session: Session, length: int) -> list[float]:
    """Seconds of `prepare` for the first request and for turns after a history of this length."""
    history: list[Any] = []
    for number in range(length // 2):
        history += [
            {"role": "user", "content": f"Please do step {number}."},
            {"role": "assistant", "content": _REPLY["content"]},
        ]
    took = []
    for number in range(TURNS + 1):
        history.append({"role": "user", "content": f"And now number {number}, please."})
        body = {"model": "m", "max_tokens": 100, "messages": list(history)}
        began = time.process_time()
        await session.prepare(body)
        took.append(time.process_time() - began)
        await session.observe(dict(_REPLY))
        await session.end_turn()
        await asyncio.sleep(0.02)
        history.append({"role": "assistant", "content": _REPLY["content"]})
    return took


# What skills cost: finding them, the catalogue, the mentions of a message. Rows for the bench of
# context assembly (SK-1, SK-2).


WINDOW = 200_000
"""Tokens of the window that the catalogue is fitted to."""

_ROUNDS = 5
_LONG_AGO = 1_700_000_000
_WORDS = (
    "checks what was changed, runs what belongs to it, and says in few words what a person "
    "has to decide before it goes on "
)


def skills_rows(count: int = 200) -> tuple[BenchRow, ...]:
    """Processor time of each part with so many skills (least of five rounds), and what the
    catalogue shows of them.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        write_skills(root, count)
        places = SkillBaseFolders(project=str(root), cwd=str(root), system=())
        settings = SkillsSettings()
        found = discover_skills(places, settings).skills
        texts = load_skill_prompts()
        made = build_skill_catalogue(found, "rollout", texts, settings, window=WINDOW)
        message = (
            "Please look at `this` first; then $step-7, and mail to someone@example.com when "
            "the $20 are spent. " * 5
        )
        return (
            BenchRow(
                f"find and read {count} skills",
                _skills_milliseconds(lambda: discover_skills(places, settings)),
                "ms",
            ),
            BenchRow(
                f"find {count} skills again that stayed as they were",
                _skills_milliseconds(CachingSkillDiscovery(places, settings).find_skills),
                "ms",
            ),
            BenchRow(
                f"catalogue of {count} skills",
                _skills_milliseconds(
                    lambda: build_skill_catalogue(found, "rollout", texts, settings, window=WINDOW)
                ),
                "ms",
            ),
            BenchRow(
                "mentions of one message, injected",
                _skills_milliseconds(lambda: build_mentioned_skill_messages(message, found)),
                "ms",
            ),
            BenchRow(
                "skills in the catalogue",
                len(made.listed),
                "skills",
                f"{count}, none left out",
                len(made.listed) == count,
            ),
            BenchRow(
                "size of the catalogue",
                len(made.text.encode()) / 4,
                "tokens",
                "2 % of the window",
                len(made.text.encode()) / 4 <= WINDOW * 0.02,
            ),
        )


def write_skills(root: Path, count: int = 200) -> None:
    """So many skills of usual length below a project's root, as if they had been there for long."""
    for number in range(count):
        folder = root / ".agents" / "skills" / f"step-{number}"
        folder.mkdir(parents=True)
        header = f"---\nname: step-{number}\ndescription: {_WORDS * (1 + number % 3)}\n---\n"
        (folder / "SKILL.md").write_text(
            f"{header}# Step {number}\n\n" + f"1. {_WORDS}\n" * 40, "utf-8"
        )
    for folder in (root / ".agents").rglob("*"):
        os.utime(folder, (_LONG_AGO, _LONG_AGO))


def _skills_milliseconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(_ROUNDS):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return round(best * 1_000, 2)


SKILLS, FILES = 200, 50
FAMILIES: tuple[Family, ...] = ("file-native", "rollout")
RUNS = 21
GOAL = 50.0
"""Milliseconds of one assembly."""
_LINE = "The agent runs the tests of the part that it changed, and says what they said. "
_LINES = 60
"""Lines of an instruction file: under the 200 that the file-native family advises."""
_DEPTH = 10


def measure(data: Path) -> BenchResult:
    """Assemble the first context of both families again and again. Needs no data; takes a few
    seconds.
    """
    del data
    with tempfile.TemporaryDirectory() as name:
        folder = _project(Path(name).resolve())
        settings = ContextSettings(
            managed=f"{name}/none",
            user_folder=f"{name}/user",
            agents_folder=f"{name}/user",
            agents_bytes=2 * FILES * _LINES * len(_LINE),
        )
        write_skills(Path(name).resolve(), SKILLS)
        rows = [row for family in FAMILIES for row in _rows(family, folder, settings)]
        rows += skills_rows(SKILLS)
        rows += [row for family in FAMILIES for row in live_rows(folder, family)]
        rows += world_rows()
        rows.append(
            BenchRow(
                "git's snapshot in a folder that is no repository, by the clock",
                1_000 * _median(lambda: read_git_state(folder), clock=time.perf_counter),
                "ms",
            )
        )
    return BenchResult("context", tuple(rows))


def _project(root: Path) -> Path:
    """A folder ten deep below a project's root; 50 files of each family on the way."""
    (root / ".git").mkdir()
    folder, folders = root, [root]
    for number in range(_DEPTH - 1):
        folder /= f"part-{number}"
        folders.append(folder)
    for number, place in enumerate(folders):
        rules = place / ".claude" / "rules"
        rules.mkdir(parents=True)
        (place / "CLAUDE.md").write_text(_text(number, f"@notes-{number}.md"), "utf-8")
        (place / f"notes-{number}.md").write_text(_text(number, "imported"), "utf-8")
        for each in range(FILES // _DEPTH - 2):
            (rules / f"rule-{each}.md").write_text(_text(each, f"rule of part {number}"), "utf-8")
    for number in range(FILES):
        place = folders[number] if number < _DEPTH else place / f"deep-{number}"
        place.mkdir(exist_ok=True)
        (place / "AGENTS.md").write_text(_text(number, "agents"), "utf-8")
    return folders[-1]


def _text(number: int, first: str) -> str:
    return f"# Part {number}\n\nSee {first}\n\n" + "".join(
        f"- {line} {_LINE}\n" for line in range(_LINES)
    )


def _rows(chosen: Family, folder: Path, settings: ContextSettings) -> list[BenchRow]:
    place = (
        folder
        if chosen == "file-native"
        else max(folder.rglob("AGENTS.md"), key=lambda path: len(path.parts)).parent
    )
    places = SkillBaseFolders(project=str(folder.parents[_DEPTH - 2]), cwd=str(place), system=())
    kept = CachingSkillDiscovery(places, SkillsSettings())
    body = build_responses_body if chosen == "rollout" else build_anthropic_body

    outside = Runtime(files=DiskFiles(), clock=SystemClock(), settings=Settings(context=settings))

    def assembled(given: tuple[ContextSection, ...]) -> FirstContext:
        return assemble_first_context(place, chosen, outside, host_sections=given)

    ready = _catalogue(chosen, kept.find_skills())
    found, around = assembled(ready), read_folder_context(place, chosen, outside)
    took = {
        "its catalogue of skills given": _milliseconds(lambda: body(assembled(ready).pieces)),
        f"{SKILLS} skills looked for by a search that is kept": _milliseconds(
            lambda: body(assembled(_catalogue(chosen, kept.find_skills())).pieces)
        ),
        f"{SKILLS} skills found and read anew": _milliseconds(
            lambda: body(
                assembled(_catalogue(chosen, discover_skills(places, SkillsSettings()))).pieces
            )
        ),
    }
    goal = f"under {GOAL:.0f}"
    return [
        BenchRow(f"{chosen}: instruction files in it", len(around.instructions.loaded)),
        BenchRow(f"{chosen}: its tokens", sum(each.tokens for each in found.pieces)),
        *(
            BenchRow(
                f"{chosen}: request written, {how}, median of {RUNS}", each, "ms", goal, each < GOAL
            )
            for how, each in took.items()
        ),
    ]


def _catalogue(family: Family, found: DiscoveredSkills) -> tuple[ContextSection, ...]:
    section = build_catalogue_section(found.skills, family, SkillsSettings(), window=WINDOW)
    return () if section is None else (section,)


def _milliseconds(work: Callable[[], object]) -> float:
    return 1_000 * _median(work)


def _median(work: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    took = []
    for _ in range(RUNS):
        start = clock()
        work()
        took.append(clock() - start)
    return median(took)

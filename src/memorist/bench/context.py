"""The time that the first context of a session takes: 200 skills, 50 instruction files, a memory index (issue: context assembly).

Everything is made up in a temporary folder. Processor time is measured, so that other programs on the machine do not count; git is asked by
another process, and is timed apart.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from memorist.bench.context_live import live_rows
from memorist.bench.context_skills import WINDOW, skills_rows, write_skills
from memorist.bench.context_world import world_rows
from memorist.bench.result import Result, Row
from memorist.clock import SystemClock
from memorist.context.assemble import anthropic_body, responses_body
from memorist.context.look.run import git_state
from memorist.context.piece import Section
from memorist.context.run import Assembled, Outside, first_context
from memorist.context.settings import ContextSettings, Family
from memorist.skills.roots import Places
from memorist.skills.run import Found, SkillSearch, discover
from memorist.skills.section import catalogue_section
from memorist.skills.settings import SkillsSettings
from memorist.store.files import DiskFiles

SKILLS, FILES = 200, 50
FAMILIES: tuple[Family, ...] = ("file-native", "rollout")
RUNS = 21
GOAL = 50.0
"""Milliseconds of one assembly."""
_LINE = "The agent runs the tests of the part that it changed, and says what they said. "
_LINES = 60
"""Lines of an instruction file: under the 200 that the file-native family advises."""
_DEPTH = 10


def measure(data: Path) -> Result:
    """Assemble the first context of both families again and again. Needs no data; takes a few seconds."""
    del data
    with tempfile.TemporaryDirectory() as name:
        folder = _project(Path(name).resolve())
        settings = ContextSettings(
            managed=f"{name}/none", user_folder=f"{name}/user", agents_folder=f"{name}/user", agents_bytes=2 * FILES * _LINES * len(_LINE)
        )
        write_skills(Path(name).resolve(), SKILLS)
        rows = [row for family in FAMILIES for row in _rows(family, folder, settings)]
        rows += skills_rows(SKILLS)
        rows += [row for family in FAMILIES for row in live_rows(folder, family)]
        rows += world_rows()
        rows.append(
            Row(
                "git's snapshot in a folder that is no repository, by the clock",
                1_000 * _median(lambda: git_state(folder), clock=time.perf_counter),
                "ms",
            )
        )
    return Result("context", tuple(rows))


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
    return f"# Part {number}\n\nSee {first}\n\n" + "".join(f"- {line} {_LINE}\n" for line in range(_LINES))


def _rows(chosen: Family, folder: Path, settings: ContextSettings) -> list[Row]:
    place = folder if chosen == "file-native" else max(folder.rglob("AGENTS.md"), key=lambda path: len(path.parts)).parent
    places = Places(project=str(folder.parents[_DEPTH - 2]), cwd=str(place), system=())
    kept = SkillSearch(places, SkillsSettings())
    body = responses_body if chosen == "rollout" else anthropic_body

    outside = Outside(files=DiskFiles(), clock=SystemClock(), settings=settings)

    def assembled(given: tuple[Section, ...]) -> Assembled:
        return first_context(place, chosen, outside, given=given)

    ready = _catalogue(chosen, kept.found())
    found = assembled(ready)
    took = {
        "its catalogue of skills given": _milliseconds(lambda: body(assembled(ready).pieces)),
        f"{SKILLS} skills looked for by a search that is kept": _milliseconds(
            lambda: body(assembled(_catalogue(chosen, kept.found())).pieces)
        ),
        f"{SKILLS} skills found and read anew": _milliseconds(
            lambda: body(assembled(_catalogue(chosen, discover(places, SkillsSettings()))).pieces)
        ),
    }
    goal = f"under {GOAL:.0f}"
    return [
        Row(f"{chosen}: instruction files in it", len(found.instructions.loaded)),
        Row(f"{chosen}: its tokens", found.tokens),
        *(Row(f"{chosen}: request written, {how}, median of {RUNS}", each, "ms", goal, each < GOAL) for how, each in took.items()),
    ]


def _catalogue(family: Family, found: Found) -> tuple[Section, ...]:
    section = catalogue_section(found.skills, family, SkillsSettings(), window=WINDOW)
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

"""What skills cost: finding them, the catalogue, the mentions of a message. Rows for the bench of context assembly (SK-1, SK-2)."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from memorist.bench.result import Row
from memorist.skills.injection import injections
from memorist.skills.listing import catalogue
from memorist.skills.roots import Places
from memorist.skills.run import SkillSearch, discover
from memorist.skills.settings import SkillsSettings
from memorist.skills.texts import shipped

WINDOW = 200_000
"""Tokens of the window that the catalogue is fitted to."""

_ROUNDS = 5
_LONG_AGO = 1_700_000_000
_WORDS = "checks what was changed, runs what belongs to it, and says in few words what a person has to decide before it goes on "


def skills_rows(count: int = 200) -> tuple[Row, ...]:
    """Processor time of each part with so many skills (least of five rounds), and what the catalogue shows of them."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        write_skills(root, count)
        places = Places(project=str(root), cwd=str(root), system=())
        settings = SkillsSettings()
        found = discover(places, settings).skills
        texts = shipped()
        made = catalogue(found, "rollout", texts, settings, window=WINDOW)
        message = "Please look at `this` first; then $step-7, and mail to someone@example.com when the $20 are spent. " * 5
        return (
            Row(f"find and read {count} skills", _milliseconds(lambda: discover(places, settings)), "ms"),
            Row(f"find {count} skills again that stayed as they were", _milliseconds(SkillSearch(places, settings).found), "ms"),
            Row(f"catalogue of {count} skills", _milliseconds(lambda: catalogue(found, "rollout", texts, settings, window=WINDOW)), "ms"),
            Row("mentions of one message, injected", _milliseconds(lambda: injections(message, found)), "ms"),
            Row("skills in the catalogue", len(made.shown), "skills", f"{count}, none left out", len(made.shown) == count),
            Row(
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
        (folder / "SKILL.md").write_text(f"{header}# Step {number}\n\n" + f"1. {_WORDS}\n" * 40, "utf-8")
    for folder in (root / ".agents").rglob("*"):
        os.utime(folder, (_LONG_AGO, _LONG_AGO))


def _milliseconds(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(_ROUNDS):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return round(best * 1_000, 2)

"""The situations in which the structure of requests is compared: a project, what is asked in it,
and the recorded rows of tests/clients/compared.toml.
"""

from __future__ import annotations

import os
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clients.agents import HOOK_WORDS
from memorist.core.messages import Usage
from memorist.testing import CallTool, Say, Step
from support.context_outline import KnownSubjects, OutlinePair

RECORDED = Path(__file__).with_name("compared.toml")

SKILL = "count-lines"
SKILL_FILE = (
    f"---\nname: {SKILL}\ndescription: Counts the lines of a file. Use when lines are to "
    f"be counted.\n---\nRun wc -l on the file.\n"
)
SKILL_FOLDERS = {"codex": ".agents/skills", "claude_code": ".claude/skills"}
RULES = {"AGENTS.md": "Amounts have two decimals.\n", "CLAUDE.md": "Amounts have two decimals.\n"}
DEPOT = "depot"
"""A folder of the project with instructions of its own."""
DEPOT_RULES = "Weights are in kilograms.\n"
MEMORY, PLAINLY = "Ann likes tea", "Speak plainly."
"""What is remembered, and what developer instructions say."""
COMMIT, BRANCH = "Heron", "trunk"

FIRST, SECOND, AFTER = "What is the total?", "And the oldest?", "Thank you. What is left?"
MENTION, SLASH, BY_TOOL = (
    f"Please use ${SKILL}.",
    f"/{SKILL} now",
    "Count the lines of invoices.txt.",
)
ELSEWHERE, OTHERWISE = "And here?", "Would you say so too?"
COMPACT = "/compact keep the total"
CODEX_OTHER, CLAUDE_OTHER = "other-model", "claude-opus-4-5"
CODEX_CATALOGUED = "gpt-6-astra"
"""A model that Codex has a catalogue entry for, and so a mode and more agents.
"""
CODEX_MEMORY = (
    f"v1\n## User Profile\n{MEMORY}.\n## User preferences\n- tea\n## General Tips\n- "
    f"none\n## What's in Memory\n- tea\n"
)
CLAUDE_MEMORY = f"- [Tea](tea.md): {MEMORY}\n"
SUMMARY = "The total was asked for."

FULL = Usage(input=250_000, output=9)
"""Past the limit at which Codex compacts."""

CODEX_STEPS: tuple[Step, ...] = tuple(
    Say(text=text) for text in ("200.50", "Birch.", "Two lines.", "The same.", "Yes.")
)
CODEX_FULL_STEPS: tuple[Step, ...] = (
    Say(text="200.50", usage=FULL),
    Say(text=SUMMARY),
    CallTool(name="exec_command", input={"cmd": "ls"}, usage=FULL),
    Say(text=SUMMARY),
    Say(text="Birch."),
)
CLAUDE_STEPS: tuple[Step, ...] = (
    Say(text="200.50"),
    Say(text="Birch."),
    CallTool(name="Skill", input={"skill": SKILL}),
    Say(text="Two lines."),
    Say(text="Two."),
    Say(text="The same."),
    Say(text="Yes."),
)
CLAUDE_FULL_STEPS: tuple[Step, ...] = (
    Say(text="200.50"),
    Say(text="Birch."),
    Say(text=f"<analysis>Short.</analysis>\n<summary>{SUMMARY}</summary>"),
    Say(text="Nothing."),
)
CLAUDE_WINDOW = 100_000
"""The smallest window that it takes; it compacts from 67,000 tokens on."""
CLAUDE_IN_TURN_STEPS: tuple[Step, ...] = (
    Say(text="200.50"),
    CallTool(name="Bash", input={"command": "ls"}, usage=Usage(input=95_000, output=9)),
    Say(text=f"<analysis>Short.</analysis>\n<summary>{SUMMARY}</summary>"),
    Say(text="Birch."),
)


def furnish(project: Path, client: str) -> None:
    """A project with a skill, a folder with instructions of its own, and a commit."""
    for name, text in {f"{SKILL_FOLDERS[client]}/{SKILL}/SKILL.md": SKILL_FILE, **RULES}.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text, encoding="utf-8")
    (project / DEPOT).mkdir()
    for name in RULES:
        (project / DEPOT / name).write_text(DEPOT_RULES, encoding="utf-8")
    person = {
        f"GIT_{who}_{what}": value
        for who in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example"))
    }
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(project.parent),
        **person,
    }
    for command in (["init", "-q", "-b", BRANCH], ["add", "."], ["commit", "-q", "-m", COMMIT]):
        subprocess.run(["git", *command], cwd=project, env=environment, check=True, timeout=60)


def facts(project: Path) -> KnownSubjects:
    """What tells reminders apart: words of ours that were put there, and names that are no prose."""
    return {
        "memory": (MEMORY,),
        "host": (PLAINLY,),
        "skill": ("Run wc -l",),
        "tokens left": ("</total_tokens>\n</system-reminder>",),
        "hook": (HOOK_WORDS,),
        "skills": ("Counts the lines",),
        "git": (COMMIT,),
        "instructions": ("two decimals", "kilograms"),
        "deferred tools": ("ToolSearch",),
        "agents": ("general-purpose",),
        "attribution": ("Co-Authored-By",),
        "model": ("claude-sonnet-4-5", CLAUDE_OTHER),
        "environment": (str(project),),
        "date": ("'s date",),
    }


def recorded() -> Mapping[str, Any]:
    """The file: `why` with reasons by name, and for each client its version and situations with
    rows.
    """
    return tomllib.loads(RECORDED.read_text("utf-8"))


def rows_of(pairs: Sequence[OutlinePair]) -> list[tuple[str, str, bool]]:
    """Both sides of each row as they are recorded, and whether they are the same."""
    return [(str(pair.theirs or ""), str(pair.ours or ""), pair.same) for pair in pairs]


def recorded_rows(client: str, situation: str) -> list[tuple[str, str, bool]]:
    """The same of the record."""
    return [
        (row.get("theirs", ""), row.get("ours", ""), "why" not in row)
        for row in recorded()[client]["situations"][situation]
    ]


def theirs(client: str) -> dict[str, list[str]]:
    """What a client is recorded to send, by the situation."""
    return {
        name: [row["theirs"] for row in rows if "theirs" in row]
        for name, rows in recorded()[client]["situations"].items()
    }

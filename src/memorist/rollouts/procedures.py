"""Draft skills from what two or more sessions did alike: the same commands in the same order, in
one place (RO-6, SK-3). Pure.

Only what the summaries list as key steps counts. A draft says that it is one; it is stored in the
memory folder, where no client looks for skills, and the user decides what becomes of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby, islice

from msgspec import Struct

from memorist.core.markdown import dump_yaml
from memorist.rollouts.claims import claim_key, group_title
from memorist.safety.prompt_injection import find_injection_rules
from memorist.safety.sanitize import neutralize_markup
from memorist.safety.secrets import redact
from memorist.safety.unicode import strip_hidden_characters
from memorist.session_memory.template import STRUCTURAL_MARK
from memorist.skills.skillify import make_skill_name
from memorist.store.rollouts import RolloutExtract

SKILLS_FOLDER = "skills/"
MIN_STEPS = 3
"""Minimum commands of a procedure; two in a row are a habit."""
MAX_DRAFT_SKILLS = 20
"""Upper bound of drafts, those with most sessions first."""
DRAFT_KEY = "memorist-draft"
"""Header key that marks a draft."""
_MAX_PAIRS = 2_000
"""Upper bound of task pairs that are compared."""
_TASK = re.compile(r"^## Task \d+\s*:?[ \t]*(.*)$", re.MULTILINE)
_STEPS = re.compile(r"^Key steps:[ \t]*\n((?:[-*] .*\n?|[ \t]+\S.*\n?)+)", re.MULTILINE)
_COMMAND = re.compile(r"`([^`\n]{2,200})`(?! failed)")
_WORD = re.compile(r"[a-z][\w.-]* \S")


class CommandTrail(Struct, frozen=True, kw_only=True):
    """The commands of one task, in order."""

    place: str
    thread: str
    title: str
    commands: tuple[str, ...]


def find_command_trails(row: RolloutExtract) -> list[CommandTrail]:
    """Return the tasks of a session's summary with their commands; a word without arguments, such
    as a file, is not one.
    """
    text = row.rollout_summary.replace("\r\n", "\n")
    starts = list(_TASK.finditer(text))
    found = []
    for at, start in enumerate(starts):
        body = text[start.end() : starts[at + 1].start() if at + 1 < len(starts) else len(text)]
        steps = _STEPS.search(body + "\n")
        spans = _COMMAND.findall(steps[1]) if steps else []
        commands = tuple(
            dict.fromkeys(
                " ".join(span.split()) for span in spans if _WORD.match(span) and "…" not in span
            )
        )
        if len(commands) >= MIN_STEPS:
            found.append(
                CommandTrail(
                    place=group_title(row, "repository"),
                    thread=row.thread,
                    title=start[1].strip(),
                    commands=commands[:40],
                )
            )
    return found


def draft_procedures(rows: Sequence[RolloutExtract], paths: Mapping[str, str]) -> dict[str, bytes]:
    """Draft the skills by path. The same sessions give the same bytes."""
    known = sorted(
        (trail for row in rows for trail in find_command_trails(row)),
        key=lambda trail: (trail.place, trail.thread, trail.title),
    )
    found: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}
    for first, second in islice(_candidate_pairs(known), _MAX_PAIRS):
        same = longest_common_commands(first.commands, second.commands)
        if len(same) >= MIN_STEPS:
            found.setdefault((first.place, same), {}).update(
                {first.thread: first.title, second.thread: second.title}
            )
    ranked = sorted(found.items(), key=lambda pair: (-len(pair[1]), -len(pair[0][1]), pair[0]))
    files: dict[str, bytes] = {}
    for (where, commands), sessions in ranked:
        kept = {
            claim_key(command)
            for path in files.values()
            for command in _COMMAND.findall(path.decode())
        }
        if len(files) < MAX_DRAFT_SKILLS and not all(
            claim_key(command) in kept for command in commands
        ):
            path, text = _draft_skill(where, commands, sessions, paths)
            if not find_injection_rules(text) and path not in files:
                files[path] = text.encode("utf-8", "replace")
    return files


def _candidate_pairs(known: Sequence[CommandTrail]) -> Iterator[tuple[CommandTrail, CommandTrail]]:
    """Yield tasks of two sessions in one place that share enough commands to be worth a
    comparison.
    """
    for _, trails_there in groupby(known, key=lambda trail: trail.place):
        for first, second in combinations(trails_there, 2):
            if (
                first.thread != second.thread
                and len(set(first.commands) & set(second.commands)) >= MIN_STEPS
            ):
                yield first, second


def longest_common_commands(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Return the longest common subsequence of commands."""
    lengths = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for at, command in enumerate(first, 1):
        for other, against in enumerate(second, 1):
            longer = lengths[at - 1][other - 1] + 1 if command == against else 0
            lengths[at][other] = max(longer, lengths[at - 1][other], lengths[at][other - 1])
    found: list[str] = []
    at, other = len(first), len(second)
    while at and other:
        if lengths[at][other] == lengths[at - 1][other]:
            at -= 1
        elif lengths[at][other] == lengths[at][other - 1]:
            other -= 1
        else:
            found.append(first[at - 1])
            at, other = at - 1, other - 1
    return tuple(reversed(found))


def _draft_skill(
    where: str, commands: Sequence[str], sessions: Mapping[str, str], paths: Mapping[str, str]
) -> tuple[str, str]:
    title = " ".join(next(iter(sessions.values())).split())[:120] or "A procedure"
    name = make_skill_name(title)
    about = f"Draft, found by rule: what {len(sessions)} sessions in {where} did alike ({title})."
    head = dump_yaml({"name": name, "description": _clean_line(about), DRAFT_KEY: True})
    lines = [
        STRUCTURAL_MARK,
        f"# {title}",
        "",
        "A draft from past sessions: check it before you rely on it.",
        "",
        "## Steps",
        "",
    ]
    lines += [f"{at}. `{command}`" for at, command in enumerate(commands, 1)]
    lines += [
        "",
        "## Where it comes from",
        "",
        *(f"- {paths.get(thread, thread)}: {said}" for thread, said in sorted(sessions.items())),
    ]
    return (
        f"{SKILLS_FOLDER}{name}/SKILL.md",
        f"---\n{head}---\n{_clean_line(chr(10).join(lines))}\n",
    )


def _clean_line(text: str) -> str:
    return redact(neutralize_markup(strip_hidden_characters(text))).text

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

from memorist.core.front_matter import split_front_matter
from memorist.core.yaml_text import dump_yaml
from memorist.rollouts.session_location import derive_claim_group_title
from memorist.rollouts.superseded_claims import build_claim_comparison_key
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.permission_claims import grants_permission
from memorist.safety.prompt_injection import find_injection_rules
from memorist.safety.secrets import redact
from memorist.session_memory.notes_template import STRUCTURAL_MARK
from memorist.skills.skillify import make_skill_name
from memorist.store.extract_rows import RolloutExtract

SKILLS_FOLDER = "skills/"
MIN_STEPS = 3
"""Minimum commands of a procedure; two in a row are a habit."""
MAX_DRAFT_SKILLS = 20
"""Upper bound of drafts, those with most sessions first."""
DRAFT_KEY = "memorist-draft"
"""Header key that marks a draft."""
MODEL_DRAFT_KEY = "memorist-draft-by"
"""Header key of a draft that a model wrote."""
MAX_SKILL_BYTES = 8_000
"""Longest skill of a model: a page that somebody checks before it is taken over."""
_MAX_PAIRS = 2_000
"""Upper bound of task pairs that are compared."""
_TASK = re.compile(r"^## Task \d+\s*:?[ \t]*(.*)$", re.MULTILINE)
_STEPS = re.compile(r"^Key steps:[ \t]*\n((?:[-*] .*\n?|[ \t]+\S.*\n?)+)", re.MULTILINE)
_COMMAND = re.compile(r"`([^`\n]{2,200})`(?! failed)")
_WORD = re.compile(r"[a-z][\w.-]* \S")


class TaskCommands(Struct, frozen=True, kw_only=True):
    """The commands of one task, in order."""

    group: str
    thread: str
    title: str
    commands: tuple[str, ...]


def parse_task_commands(row: RolloutExtract) -> list[TaskCommands]:
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
                TaskCommands(
                    group=derive_claim_group_title(row, "repository"),
                    thread=row.thread,
                    title=start[1].strip(),
                    commands=commands[:40],
                )
            )
    return found


def draft_skills(rows: Sequence[RolloutExtract], paths: Mapping[str, str]) -> dict[str, bytes]:
    """Draft the skills by path. The same sessions give the same bytes."""
    known = sorted(
        (trail for row in rows for trail in parse_task_commands(row)),
        key=lambda trail: (trail.group, trail.thread, trail.title),
    )
    found: dict[tuple[str, tuple[str, ...]], dict[str, str]] = {}
    for first, second in islice(_candidate_pairs(known), _MAX_PAIRS):
        same = find_longest_common_commands(first.commands, second.commands)
        if len(same) >= MIN_STEPS:
            found.setdefault((first.group, same), {}).update(
                {first.thread: first.title, second.thread: second.title}
            )
    ranked = sorted(found.items(), key=lambda pair: (-len(pair[1]), -len(pair[0][1]), pair[0]))
    files: dict[str, bytes] = {}
    for (where, commands), sessions in ranked:
        kept = {
            build_claim_comparison_key(command)
            for path in files.values()
            for command in _COMMAND.findall(path.decode())
        }
        if len(files) < MAX_DRAFT_SKILLS and not all(
            build_claim_comparison_key(command) in kept for command in commands
        ):
            path, text = _draft_skill(where, commands, sessions, paths)
            if not find_injection_rules(text) and path not in files:
                files[path] = text.encode("utf-8", "replace")
    return files


def _candidate_pairs(known: Sequence[TaskCommands]) -> Iterator[tuple[TaskCommands, TaskCommands]]:
    """Yield tasks of two sessions in one place that share enough commands to be worth a
    comparison.
    """
    for _, trails_there in groupby(known, key=lambda trail: trail.group):
        for first, second in combinations(trails_there, 2):
            if (
                first.thread != second.thread
                and len(set(first.commands) & set(second.commands)) >= MIN_STEPS
            ):
                yield first, second


def find_longest_common_commands(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
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


_SKILL_PATH = re.compile(r"skills/([a-z0-9]+(?:-[a-z0-9]+){0,7})/SKILL\.md")
_FENCE = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
_SHELL_COMMENT = ("#", "//")


def keep_model_skill_if_proven(
    path: str, data: bytes | None, rows: Sequence[RolloutExtract]
) -> bytes:
    """Return the skill that a model wrote as the draft that may stand; empty if it may not.

    It has a name and a description, and every command in it is in a session: in that order of
    words, letter by letter. Two sessions at least must hold one of them. Orders for an agent, leave
    in the user's name, secrets and hidden characters have no place in it.
    """
    named = _SKILL_PATH.fullmatch(path)
    text = strip_hidden_characters((data or b"").decode("utf-8", "replace")).replace("\r\n", "\n")
    document = split_front_matter(text)
    about = document.front.text_value("description") if document.front else ""
    commands = _skill_commands(document.body)
    support = _supporting_sessions(commands, rows)
    if (
        named is None
        or not about
        or not commands
        or len(support) < MIN_SKILL_SESSIONS
        or len(text.encode()) > MAX_SKILL_BYTES
        or find_injection_rules(text)
        or grants_permission(text)
        or redact(text).rules
    ):
        return b""
    head = dump_yaml(
        {
            "name": named[1],
            "description": _clean_line(about),
            DRAFT_KEY: True,
            MODEL_DRAFT_KEY: "model",
        }
    )
    body = neutralize_markup(document.body).strip()
    return f"---\n{head}---\n{body}\n".encode()


MIN_SKILL_SESSIONS = 2
"""Sessions that must have run what a skill tells: one is an anecdote."""


def _skill_commands(body: str) -> list[str]:
    """The commands in a skill: lines of its fenced blocks, and what is in backticks and has an
    argument.
    """
    fenced = [
        line.strip().removeprefix("$ ")
        for block in _FENCE.findall(body)
        for line in block.split("\n")
    ]
    spans = [span for span in _COMMAND.findall(_FENCE.sub("", body)) if _WORD.match(span)]
    found = (" ".join(each.split()) for each in (*fenced, *spans))
    return [each for each in found if each and not each.startswith(_SHELL_COMMENT)]


def _supporting_sessions(commands: Sequence[str], rows: Sequence[RolloutExtract]) -> set[str]:
    """The sessions that hold one of the commands; none if a command is in no session."""
    texts = {
        row.thread: " ".join(f"{row.raw_memory}\n{row.rollout_summary}".split()) for row in rows
    }
    sessions = [{thread for thread, text in texts.items() if each in text} for each in commands]
    return set().union(*sessions) if all(sessions) else set()


def keep_proven_skills(
    files: Mapping[str, bytes], rows: Sequence[RolloutExtract]
) -> dict[str, bytes]:
    """The skills among the files that a model wrote, as long as the sessions that are there hold
    every command of them.
    """
    found = {}
    for path, data in files.items():
        if path.startswith(SKILLS_FOLDER):
            document = split_front_matter(data.decode("utf-8", "replace"))
            by_model = document.front is not None and document.front.text_value(MODEL_DRAFT_KEY)
            if by_model and _supporting_sessions(_skill_commands(document.body), rows):
                found[path] = data
    return found


def _clean_line(text: str) -> str:
    return redact(neutralize_markup(strip_hidden_characters(text))).text

"""What a model is asked at stage one: its instruction, and the material of one part of a session.
Pure (RO-4).
"""

from __future__ import annotations

from msgspec import Struct

from memorist.core.prompt_templates import render_template
from memorist.rollouts.raw_memory import UNKNOWN_FOLDER
from memorist.rollouts.raw_memory_cleaning import clean_raw_memory_line
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.secrets import redact
from memorist.store.rollout_rows import Rollout

_MATERIAL_TAGS = ("session", "before")


class StageOnePrompts(Struct, frozen=True):
    """The prompts (`prompts/rollouts`)."""

    task: str
    part: str
    again: str


class StageOnePart(Struct, frozen=True, kw_only=True):
    """One request: a part of a session, and what the parts before it gave."""

    evidence: str
    number: int = 1
    count: int = 1
    before: str = ""
    why: str = ""
    """Why the last answer was unusable; empty for the first."""


def render_part_material(part: StageOnePart) -> str:
    """Render the session and what its earlier parts gave, without secrets, in tags that nothing
    inside can close.
    """
    before = (
        f"<before>\n{neutralize_markup(part.before, _MATERIAL_TAGS).strip()}\n</before>\n\n"
        if part.before
        else ""
    )
    return redact(
        f"{before}<session>\n{neutralize_markup(part.evidence, _MATERIAL_TAGS)}\n</session>"
    ).text


MAX_MEMORY_WORDS = 1_500
MAX_SUMMARY_WORDS = 900
"""Words of the two texts of an answer, where it has room for them. Our choice."""
TOKENS_PER_WORD = 2
"""Tokens of a word, with the paths in it and the signs of JSON, rounded up."""


def build_part_instruction(
    prompts: StageOnePrompts, part: StageOnePart, thread: Rollout, *, output_tokens: int
) -> str:
    """Render the instruction for an answer of at most so many tokens. What differs from session to
    session stands at its end, so that a server's cache serves the rest.
    """
    share = min(1.0, output_tokens / TOKENS_PER_WORD / (MAX_MEMORY_WORDS + MAX_SUMMARY_WORDS))
    intro = (
        render_template(
            prompts.part, {"number": str(part.number), "count": str(part.count)}, strict=True
        )
        if part.count > 1
        else ""
    )
    values = {
        "cwd": clean_raw_memory_line(thread.cwd) or UNKNOWN_FOLDER,
        "path": clean_raw_memory_line(thread.path),
        "branch": clean_raw_memory_line(thread.branch) or UNKNOWN_FOLDER,
        "part": intro,
        "memoryWords": f"{int(MAX_MEMORY_WORDS * share):,}",
        "summaryWords": f"{int(MAX_SUMMARY_WORDS * share):,}",
    }
    again = (
        "\n" + render_template(prompts.again, {"why": part.why}, strict=True) if part.why else ""
    )
    return render_template(prompts.task, values, strict=True) + again

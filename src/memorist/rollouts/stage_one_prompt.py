"""What a model is asked at stage one: its instruction, and the material of one part of a session.
Pure (RO-4).
"""

from __future__ import annotations

from msgspec import Struct

from memorist.core.prompt_templates import render_template
from memorist.rollouts.raw_memory import UNKNOWN_FOLDER
from memorist.rollouts.raw_memory_cleaning import clean_line
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


def build_part_instruction(prompts: StageOnePrompts, part: StageOnePart, thread: Rollout) -> str:
    """Render the instruction."""
    intro = (
        render_template(
            prompts.part, {"number": str(part.number), "count": str(part.count)}, strict=True
        )
        if part.count > 1
        else ""
    )
    values = {
        "cwd": clean_line(thread.cwd) or UNKNOWN_FOLDER,
        "path": clean_line(thread.path),
        "branch": clean_line(thread.branch) or UNKNOWN_FOLDER,
        "part": intro,
    }
    again = (
        "\n" + render_template(prompts.again, {"why": part.why}, strict=True) if part.why else ""
    )
    return render_template(prompts.task, values, strict=True) + again

"""The instruction of the fork that updates a Magic Doc. Pure."""

from __future__ import annotations

from msgspec import Struct

from memorist.core.prompt_templates import find_placeholders, render_template
from memorist.magic_docs.document_header import MagicDocHeader


class MagicDocPrompts(Struct, frozen=True, kw_only=True):
    """The prompt texts: ours, or the user's own in place of `prompt`."""

    prompt: str
    own_instruction: str
    refused: str
    form: str
    is_user_prompt: bool = False


def render_instruction_and_reasons(
    header: MagicDocHeader, prompts: MagicDocPrompts, refused: tuple[str, ...]
) -> tuple[str, str]:
    """What the owner says of the document, and why its last change was rejected; empty without."""
    own, reasons = (
        render_template(text, {name: value}, strict=True).strip() if value else ""
        for text, name, value in (
            (prompts.own_instruction, "instruction", header.instruction),
            (prompts.refused, "reasons", "; ".join(refused)),
        )
    )
    return own, reasons


def build_update_prompt(
    contents: str,
    path: str,
    header: MagicDocHeader,
    prompts: MagicDocPrompts,
    refused: tuple[str, ...] = (),
    *,
    shown: str | None = None,
) -> str:
    """Build the instruction for one document.

    `refused` are the reasons why its last change was rejected. `shown` is the document without what
    the model has read of it before (`elide_seen_sections`); None shows the whole.

    In a user's own prompt unknown names stay as they are, and the reasons go to its end if it does
    not place them.
    """
    own, reasons = render_instruction_and_reasons(header, prompts, refused)
    shown = contents if shown is None else shown
    values = {
        "docContents": shown.rstrip("\n"),
        "cut": describe_shown_part(contents, shown),
        "docPath": path,
        "docTitle": header.title,
        "customInstructions": f"\n{own}\n" if own else "",
        "refused": reasons,
    }
    text = render_template(prompts.prompt, values, strict=not prompts.is_user_prompt).strip()
    if reasons and "refused" not in find_placeholders(prompts.prompt):
        text += "\n\n" + reasons
    return text + "\n"


def describe_shown_part(contents: str, shown: str) -> str:
    """The words for a document of which only a part is shown; empty for a whole one."""
    return "" if shown.strip() == contents.strip() else ", … for what was read above"

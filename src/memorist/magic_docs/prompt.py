"""The instruction of the fork that updates a Magic Doc. Pure."""

from __future__ import annotations

from msgspec import Struct

from memorist.core.template import names, render
from memorist.magic_docs.header import Header


class Texts(Struct, frozen=True, kw_only=True):
    """The prompt texts: ours, or the user's own in place of `prompt`."""

    prompt: str
    own_instruction: str
    refused: str
    own: bool = False


def update_prompt(contents: str, path: str, header: Header, texts: Texts, refused: tuple[str, ...] = ()) -> str:
    """Build the instruction for one document.

    `refused` are the reasons why its last change was rejected.

    In a user's own prompt unknown names stay as they are, and the reasons go to its end if it does
    not place them.
    """
    reasons = render(texts.refused, {"reasons": "; ".join(refused)}, strict=True).strip() if refused else ""
    own = f"\n{render(texts.own_instruction, {'instruction': header.instruction}, strict=True).strip()}\n" if header.instruction else ""
    values = {
        "docContents": contents.rstrip("\n"),
        "docPath": path,
        "docTitle": header.title,
        "customInstructions": own,
        "refused": reasons,
    }
    text = render(texts.prompt, values, strict=not texts.own).strip()
    if reasons and "refused" not in names(texts.prompt):
        text += "\n\n" + reasons
    return text + "\n"

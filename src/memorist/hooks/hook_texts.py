"""The texts that hooks add to a session. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from memorist.context.context_tags import require_context_tag_definition, unwrap_tag
from memorist.context.first_context_assembly import REMINDER_TAG
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.hooks.hook_event import Client
from memorist.hooks.hook_response import CuttableHookText, join_hook_texts_within_limit
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.session_memory.notes_template import STRUCTURAL_MARK, TITLE_SECTION
from memorist.session_memory.structural_notes import STATE_SECTION, TASK_SECTION
from memorist.session_memory.work_notes import ERRORS_SECTION, FILES_SECTION

SUMMARY_SECTIONS = (TASK_SECTION, ERRORS_SECTION, STATE_SECTION)
"""Sections of the notes that a summary must not lose: the task, the user's corrections, and the
state of the work.
"""


MAX_SUMMARY_INSTRUCTIONS = 4_000
"""The size limit of the instructions for a summary, in the unit of `OUTPUT_LIMITS`.

Claude Code shows them to the user too, and the full notes are restored after the compaction.
"""


RESTORED_SECTIONS = (TASK_SECTION, STATE_SECTION, ERRORS_SECTION, FILES_SECTION)
"""Sections that come first when notes are restored; the others follow in their own order."""


def strip_reminder_tag(text: str) -> str:
    """Remove memorist's reminder tag: the client puts its own tag around the output of a hook."""
    inner = unwrap_tag(text, require_context_tag_definition(REMINDER_TAG, "file-native"))
    return (text if inner is None else inner).strip()


def render_hook_context(texts: Sequence[str], client: Client) -> str:
    """Render the context that is shown at a session start or with a prompt."""
    return join_hook_texts_within_limit(
        [CuttableHookText(strip_reminder_tag(text)) for text in texts], client
    )


def render_restored_notes(
    sections: Mapping[str, str], notes: Path, texts: Sequence[str], client: Client
) -> str:
    """Render what is shown after a compaction: the notes first, then the session start context. The
    session's title, which tells it from others, says nothing to an agent that is in it.
    """
    parts = [CuttableHookText(strip_reminder_tag(text)) for text in texts]
    first = (*RESTORED_SECTIONS, TITLE_SECTION)
    others = [title for title in sections if title not in first]
    said = _render_sections(sections, [*RESTORED_SECTIONS, *others])
    if said:
        parts.insert(
            0,
            CuttableHookText(
                render_template(load_prompt("hooks/notes"), {"notes": said}, strict=True).strip(),
                full_text_path=str(notes),
            ),
        )
    return join_hook_texts_within_limit(parts, client)


def render_summary_instructions(sections: Mapping[str, str], notes: Path, client: Client) -> str:
    """Render instructions for the summary of a compaction; empty where the notes have none of the
    sections.
    """
    said = _render_sections(sections, SUMMARY_SECTIONS)
    if not said:
        return ""
    return join_hook_texts_within_limit(
        [
            CuttableHookText(
                render_template(
                    load_prompt("hooks/compaction"), {"notes": said}, strict=True
                ).strip(),
                full_text_path=str(notes),
            )
        ],
        client,
        MAX_SUMMARY_INSTRUCTIONS,
    )


def _render_sections(sections: Mapping[str, str], titles: Sequence[str]) -> str:
    """Render sections of the notes as data.

    Nothing in them can pass for harness text or close the tag that surrounds them.
    """
    plain = {title: body.replace(STRUCTURAL_MARK, "").strip() for title, body in sections.items()}
    found = [f"# {title}\n{plain[title]}" for title in titles if plain.get(title)]
    return neutralize_markup(strip_hidden_characters("\n\n".join(found)))

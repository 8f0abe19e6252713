"""The texts that hooks add to a session. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from memorist.context.context_tags import require_context_tag_definition, unwrap_tag
from memorist.context.first_context_assembly import REMINDER_TAG
from memorist.core.bounded_collections import BoundedDict
from memorist.core.lazy import lazy_pattern
from memorist.core.prompt_templates import load_prompt, render_template
from memorist.core.sentences import shorten_to_one_line
from memorist.hooks.hook_event import Client, HookEvent
from memorist.hooks.hook_notices import NOTICE_EVENTS
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


SHORT_QUOTATION = 40
"""Characters of words that stand in full elsewhere in the same text. Our choice: enough to know
them again.
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
    plain = [strip_reminder_tag(text) for text in texts]
    first = (*RESTORED_SECTIONS, TITLE_SECTION)
    titles = [*RESTORED_SECTIONS, *(title for title in sections if title not in first)]

    def join(shown_besides: str) -> str:
        said = _render_sections(sections, titles, shown_besides)
        restored = render_template(load_prompt("hooks/notes"), {"notes": said}, strict=True)
        parts = [CuttableHookText(text) for text in plain]
        if said:
            parts.insert(0, CuttableHookText(restored.strip(), full_text_path=str(notes)))
        return join_hook_texts_within_limit(parts, client)

    joined = join("\n".join(plain))
    # What the index says is left out of the notes only where the index stands there as a whole.
    return joined if all(text in joined for text in plain) else join("")


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


def _render_sections(
    sections: Mapping[str, str], titles: Sequence[str], shown_besides: str = ""
) -> str:
    """Render sections of the notes as data, the words of the user once: in the first section, if
    they do not stand in what is shown besides.

    Nothing in them can pass for harness text or close the tag that surrounds them.
    """
    found: list[str] = []
    for title in titles:
        body = sections.get(title, "").replace(STRUCTURAL_MARK, "").strip()
        shown = "\n".join((shown_besides, *found))
        lines = (_shorten_repetition(line, title, shown) for line in body.split("\n"))
        if said := "\n".join(line for line in lines if line is not None).strip():
            found.append(f"# {title}\n{said}")
    return neutralize_markup(strip_hidden_characters("\n\n".join(found)))


_QUOTATION = lazy_pattern(r"“([^”\n]{12,})”")
"""Words of some length; shorter ones stand in any text."""
_LONE_QUOTATION = lazy_pattern(r"- [\w ]{1,20}: “[^”\n]+”")
"""An entry that says nothing but who said it, or when."""
_INDEXED = lazy_pattern(r"\n- \[.*?\]\(.*?\) — (.*?)(?: \(\d{4}-\d\d-\d\d\))?(?=\n|\Z)")
"""The description of a memory in the index."""


def _shorten_repetition(line: str, title: str, shown: str) -> str | None:
    """A line of the notes: None where it only repeats what is shown, and shorter where it quotes
    that. Of the state even a short quotation says which request is the last.
    """
    if title == TASK_SECTION:
        return None if line.removeprefix("- ") in _INDEXED.findall(shown) else line
    quoted = [words for words in _QUOTATION.findall(line) if words.rstrip("… ") in shown]
    if quoted and title != STATE_SECTION and _LONE_QUOTATION.fullmatch(line):
        return None
    for words in quoted:
        line = line.replace(f"“{words}”", f"“{shorten_to_one_line(words, SHORT_QUOTATION)}”")
    return line


# What was ready for model or user after the agent had gone on without it: shown at the session's
# next prompt, to the user also at the next end of a turn. It counts as shown since it was made, so
# nothing else would show it.

TEXT_EVENTS = ("SessionStart", "UserPromptSubmit")
"""Events whose texts still say something at the next prompt; those of a call or a compaction do
not.
"""
MAX_SESSIONS = 100
"""Sessions whose texts are kept; of more, the oldest are dropped."""


class LateTexts:
    """The texts and notices by session, as long as this process lives."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[str, ...]] = BoundedDict(MAX_SESSIONS)
        self._notices: dict[str, tuple[str, ...]] = BoundedDict(MAX_SESSIONS)

    def keep(self, event: HookEvent, text: str, notice: str = "") -> None:
        """Keep a text that the agent did not get, and a notice that the user did not."""
        session = event.session_id
        if text.strip() and event.hook_event_name in TEXT_EVENTS:
            self._texts[session] = (*self._texts.pop(session, ()), text)
        if notice:
            self._notices[session] = (*self._notices.pop(session, ()), notice)

    def join_notice(self, event: HookEvent, notice: str) -> str:
        """The notice of this event behind those that came late, which are shown by it."""
        if event.hook_event_name not in NOTICE_EVENTS:
            return notice
        return " · ".join(filter(None, (*self._notices.pop(event.session_id, ()), notice)))

    def join(self, event: HookEvent, client: Client, text: str) -> str:
        """The text of this event behind those that came late, which are shown by it.

        A session that starts anew, is cleared or compacted is shown all again and needs none.
        """
        name = event.hook_event_name
        restarts = name == "SessionStart" and event.source != "resume"
        if restarts or name == "SessionEnd":
            self._texts.pop(event.session_id, None)
        if name not in TEXT_EVENTS:
            return text
        late = self._texts.pop(event.session_id, ())
        if not late:
            return text
        parts = [CuttableHookText(each) for each in (*late, text)]
        return join_hook_texts_within_limit(parts, client)

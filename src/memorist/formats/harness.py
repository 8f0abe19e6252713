"""Telling text injected by a host apart from what the user typed, for both families (claude-code.md
sections 1.4 and 12.9, codex.md section 3.2).

On the wire much host text has the role `user`: reminders, instruction files, hook output, notices.
Three rules find it, all by marker:

- a *part* is cut where it opens at the start of a line (or right after another part) and is closed:
  `<system-reminder>…</system-reminder>`;
- a *whole* text that begins with an opening and ends with its closing marker is host text, whatever
  stands between;
- an *opening* marks the whole text by its first words.

The label around an image (`<image name=…>`, `</image>`) is host text when it is all of a block.

A tag in the middle of a sentence, an unclosed tag, and a tag in a fenced code block are the user's
words about tags. Markers match case-insensitively.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memorist.core.later import late_pattern
from memorist.core.messages import Origin

_PARTS: dict[str, Origin] = {
    "system-reminder": Origin.INJECTED,
    "local-command-caveat": Origin.INJECTED,
    "local-command-stdout": Origin.INJECTED,
    "local-command-stderr": Origin.INJECTED,
    "bash-stdout": Origin.INJECTED,
    "bash-stderr": Origin.INJECTED,
    "ide_opened_file": Origin.INJECTED,
    "ide_selection": Origin.INJECTED,
    "ide_diagnostics": Origin.INJECTED,
    "new-diagnostics": Origin.INJECTED,
    "session-start-hook": Origin.INJECTED,
    "user-prompt-submit-hook": Origin.INJECTED,
    "pre-tool-use-hook": Origin.INJECTED,
    "post-tool-use-hook": Origin.INJECTED,
    "stop-hook": Origin.INJECTED,
    "tick": Origin.INJECTED,
    "environment_context": Origin.INJECTED,
    "user_instructions": Origin.INJECTED,
    "turn_aborted": Origin.INJECTED,
    "codex_internal_context": Origin.INJECTED,
    "available-deferred-tools": Origin.INJECTED,
    "task-notification": Origin.NOTIFICATION,
    "subagent_notification": Origin.NOTIFICATION,
    "teammate-message": Origin.AGENT,
}
"""Tags that nobody types by chance: cut wherever they stand as a part."""

_WHOLES: tuple[str, ...] = (
    "permissions instructions",
    "model_switch",
    "collaboration_mode",
    "multi_agent_mode",
    "multi_agent_role",
    "skills_instructions",
    "plugins_instructions",
    "apps_instructions",
    "environments_instructions",
    "tools",
    "personality_spec",
    "realtime_conversation",
    "context_window",
    "context_window_guidance",
    "rollout_budget",
    "git_attribution",
    "skill",
    "user_shell_command",
    "recommended_plugins",
    "environments",
    "user_action",
    "current_notes_content",
)
"""Tags with common names: host text only when they enclose the whole text. `external_KEY` is one of
these with a free name.
"""

_LEADS: tuple[tuple[str, Origin], ...] = (
    ("this session is being continued from a previous conversation", Origin.SUMMARY),
    ("another language model started to solve this problem", Origin.SUMMARY),
    ("[memorist] the earlier part of this conversation no longer fits", Origin.SUMMARY),
    ("[memorist] hand-over from the model that worked on this", Origin.SUMMARY),
    ("[memorist] the beginning of this conversation was left out", Origin.INJECTED),
    ("caveat: the messages below were generated", Origin.INJECTED),
    ("base directory for this skill:", Origin.INJECTED),
    ("stop hook feedback:", Origin.INJECTED),
    ("you are performing a context checkpoint compaction", Origin.INJECTED),
    ("critical: respond with text only", Origin.INJECTED),
)
"""First words of texts that are host text to their end."""
_LEAD_WORDS = tuple(words for words, _ in _LEADS)

_REQUEST_MARK = "## my request for codex:"
_IDE_LEAD = "# context from my ide setup:"
_AGENTS_LEAD = "# agents.md instructions"
_AGENTS_END = "</instructions>"
_LEAD_LENGTH = 80
_NESTING_LIMIT = 8
"""Closing tags tried for one opening; keeps the search linear on hostile text."""

_OPENING = late_pattern(r"(?:^|(?<=>))[ \t]*<(" + "|".join(map(re.escape, _PARTS)) + r")(?:\s[^<>]*)?>", re.IGNORECASE | re.MULTILINE)
_CLOSING = late_pattern("</(?:" + "|".join(map(re.escape, _PARTS)) + ")>", re.IGNORECASE)
_WHOLE = late_pattern(r"\s*<(" + "|".join(map(re.escape, _WHOLES)) + r"|external_[\w.-]+)(?:\s[^<>]*)?>", re.IGNORECASE)
_IMAGE_LABEL = late_pattern(r"\s*(?:<image(?:\s+name=[^<>\n]{0,200})?>|</image>)\s*\Z", re.IGNORECASE)
_INTERRUPTED = late_pattern(r"\s*\[request interrupted by user[^\]\n]{0,40}\]", re.IGNORECASE)
_HOOK = late_pattern(
    r"\s*[A-Z][A-Za-z]{2,30}(?::[^\s:]{1,80})? hook (?:success|additional context|feedback|blocking error|stopped)[^\n:]{0,80}:"
)
_COMMAND_TAG = late_pattern(r"\s*<command-(name|message|args|contents)>(.*?)</command-\1>", re.IGNORECASE | re.DOTALL)
_TYPED_TAG = late_pattern(r"\s*<(bash-input|user-memory-input)>(.*?)</\1>\s*\Z", re.IGNORECASE | re.DOTALL)
_TYPED_SIGN = {"bash-input": "!", "user-memory-input": "#"}


class Part(NamedTuple):
    """A host's part of a text: its tag, start and end."""

    tag: str
    start: int
    end: int


def origin_of(text: str) -> Origin:
    """The origin of a text with the role `user`, by its markup. A text that still holds user text
    is `USER`.
    """
    return _split(text)[1]


def typed_text(text: str) -> str:
    """What the user typed: the text without its host parts; the text itself when there are none;
    empty for pure host text.

    A slash command is returned as typed (`/name arguments`), a shell line with `!`, a memory line
    with `#`.
    """
    return _split(text)[0]


def _split(text: str) -> tuple[str, Origin]:
    """The typed text, and the origin of the whole."""
    lead = text[:_LEAD_LENGTH].lstrip().lower()
    if lead.startswith(_LEAD_WORDS):
        return "", next(origin for words, origin in _LEADS if lead.startswith(words))
    if lead.startswith("["):
        return _after_interruption(text)
    if lead.startswith("#"):
        text = _without_instructions(text, lead)
        if not text.strip():
            return "", Origin.INJECTED
    elif (" hook " in lead and _HOOK.match(text)) or ("image" in lead and _IMAGE_LABEL.match(text)):
        return "", Origin.INJECTED
    return _split_tags(text)


def _split_tags(text: str) -> tuple[str, Origin]:
    if "</" not in text:
        return text, Origin.USER
    rest, origin = _without_parts(text)
    if origin is not None and not rest:
        return "", origin
    whole = _WHOLE.match(rest)
    if whole and rest.rstrip().lower().endswith(f"</{whole[1].lower()}>"):
        return "", Origin.INJECTED
    return _as_typed(rest), Origin.USER


def _after_interruption(text: str) -> tuple[str, Origin]:
    notice = _INTERRUPTED.match(text)
    if notice is None:
        return _split_tags(text)
    rest = text[notice.end() :].strip()
    return (rest, Origin.USER) if rest else ("", Origin.INJECTED)


def _without_instructions(text: str, lead: str) -> str:
    """The text without an instruction-file wrapper or an editor's context in front of the request.
    """
    if lead.startswith(_AGENTS_LEAD):
        folded = text.lower()
        closing = len(text) if folded.rstrip().endswith(_AGENTS_END) else folded.find(_AGENTS_END) + len(_AGENTS_END)
        return text if closing < len(_AGENTS_END) else text[closing:].strip()
    if lead.startswith(_IDE_LEAD):
        at = text.lower().find(_REQUEST_MARK)
        return text if at < 0 else text[at + len(_REQUEST_MARK) :].strip()
    return text


def _without_parts(text: str) -> tuple[str, Origin | None]:
    """The text without its host parts, and the origin of the first one; None, and the text
    unchanged, when there are none.
    """
    found = parts(text)
    if not found:
        return text, None
    kept: list[str] = []
    done = 0
    for part in found:
        kept.append(text[done : part.start])
        done = part.end
    kept.append(text[done:])
    return "".join(kept).strip(), _PARTS[found[0].tag]


def parts(text: str) -> list[Part]:
    """The host parts of a text, in order; the text between them is not the host's."""
    # Parts are closed, and a closing tag is found much faster than an opening one.
    opening = _OPENING.search(text) if _CLOSING.search(text) else None
    found: list[Part] = []
    unclosed: set[str] = set()
    folded = text.lower() if opening is not None else ""
    counted = fences = 0
    while opening is not None:
        fences += folded.count("```", counted, opening.start())
        counted = opening.start()
        tag = opening[1].lower()
        end = -1 if tag in unclosed or fences % 2 else _closing(folded, tag, opening.end())
        if end < 0:
            if not fences % 2:
                unclosed.add(tag)
            opening = _OPENING.search(text, opening.end())
            continue
        found.append(Part(tag, opening.start(), end))
        counted = end
        opening = _OPENING.search(text, end)
    return found


def _closing(folded: str, tag: str, start: int) -> int:
    """Where the part that opened before `start` ends: after the closing tag that balances it,
    otherwise after the first; -1 when unclosed.
    """
    mark = f"</{tag}>"
    first = folded.find(mark, start)
    if first < 0:
        return -1
    end, depth, inner = first, 0, start
    for _ in range(_NESTING_LIMIT):
        depth += folded.count(f"\n<{tag}>", inner, end)
        if depth == 0:
            return end + len(mark)
        depth -= 1
        inner, end = end, folded.find(mark, end + len(mark))
        if end < 0:
            break
    return first + len(mark)


def _as_typed(text: str) -> str:
    """A slash command, shell line or memory line as the user typed it; any other text unchanged."""
    found = _TYPED_TAG.match(text)
    if found:
        return f"{_TYPED_SIGN[found[1].lower()]}{found[2].strip()}"
    parts: dict[str, str] = {}
    done = 0
    while (tag := _COMMAND_TAG.match(text, done)) is not None:
        parts[tag[1].lower()] = tag[2].strip()
        done = tag.end()
    if "name" not in parts:
        return text
    command = f"/{parts['name'].lstrip('/')} {parts.get('args', '')}".rstrip()
    return f"{command}\n{text[done:].strip()}".rstrip()

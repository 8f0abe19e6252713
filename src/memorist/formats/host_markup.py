"""Telling text injected by a host apart from what the user typed, for both families (Claude Code,
Codex).

On the wire much host text has the role `user`: reminders, instruction files, hook output, notices.
Three rules find it, all by marker:

- a *part* is cut where it opens at the start of a line (or right after another part) and is closed:
  `<system-reminder>…</system-reminder>`;
- a *whole* text that begins with an opening and ends with its closing marker is host text, whatever
  stands between;
- an *opening* marks the whole text by its first words.

Where all of a text is in tags, and one of them is known to hold what was typed (`<userRequest>`),
the rest is host text. So is what Cline puts around a reply to its agent's result or question.

The label around an image (`<image name=…>`, `</image>`) is host text when it is all of a block.

A tag in the middle of a sentence, an unclosed tag, and a tag in a fenced code block are the user's
words about tags. Markers match case-insensitively.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from memorist.core.lazy import lazy_pattern
from memorist.core.messages import Origin

_INJECTED_TAGS = (
    "system-reminder", "local-command-caveat", "local-command-stdout", "local-command-stderr",
    "bash-stdout", "bash-stderr", "ide_opened_file", "ide_selection", "ide_diagnostics",
    "new-diagnostics", "session-start-hook", "user-prompt-submit-hook", "pre-tool-use-hook",
    "post-tool-use-hook", "stop-hook", "hook_prompt", "stdin", "tick", "environment_context",
    "user_instructions", "turn_aborted", "codex_internal_context", "in-app-browser-context",
    "available-deferred-tools",
)  # fmt: skip
_PART_TAGS: dict[str, Origin] = {
    **dict.fromkeys(_INJECTED_TAGS, Origin.INJECTED),
    "task-notification": Origin.NOTIFICATION,
    "subagent_notification": Origin.NOTIFICATION,
    "scheduled-task": Origin.NOTIFICATION,
    "scheduled-wakeup": Origin.NOTIFICATION,
    "teammate-message": Origin.AGENT,
    "cross-session-message": Origin.AGENT,
    "codex_delegation": Origin.AGENT,
}
"""Tags that nobody types by chance: cut wherever they stand as a part."""

_WHOLE_TEXT_TAGS: tuple[str, ...] = (
    "permissions instructions", "model_switch", "collaboration_mode", "multi_agent_mode",
    "multi_agent_role", "skills_instructions", "plugins_instructions", "apps_instructions",
    "environments_instructions", "tools", "personality_spec", "realtime_conversation",
    "context_window", "context_window_guidance", "rollout_budget", "git_attribution", "skill",
    "user_shell_command", "recommended_plugins", "environments", "user_action",
    "current_notes_content", "goal_context", "channel",
)  # fmt: skip
"""Tags with common names: host text only when they enclose the whole text. `external_KEY` is one of
these with a free name.
"""

_OPENINGS: tuple[tuple[str, Origin], ...] = (
    ("this session is being continued from a previous conversation", Origin.SUMMARY),
    ("another language model started to solve this problem", Origin.SUMMARY),
    ("[memorist] the earlier part of this conversation no longer fits", Origin.SUMMARY),
    ("[memorist] hand-over from the model that worked on this", Origin.SUMMARY),
    ("[memorist] hand-over of an earlier session", Origin.SUMMARY),
    ("[memorist] the beginning of this conversation was left out", Origin.INJECTED),
    ("caveat: the messages below were generated", Origin.INJECTED),
    ("base directory for this skill:", Origin.INJECTED),
    ("stop hook feedback:", Origin.INJECTED),
    ("another claude session sent a message", Origin.AGENT),
    ("[system notification - not user input]", Origin.NOTIFICATION),
    ("[suggestion mode:", Origin.INJECTED),
    ("the user stepped away and is coming back", Origin.INJECTED),
    ("you are performing a context checkpoint compaction", Origin.INJECTED),
    ("critical: respond with text only", Origin.INJECTED),
    ("this is the gemini cli. we are setting up the context", Origin.INJECTED),
    ("called the read tool with the following input:", Origin.INJECTED),
    ("reading mcp resource:", Origin.INJECTED),
    ("the following tool was executed by the user", Origin.INJECTED),
    ("use the above message and context to generate a prompt and call the task", Origin.INJECTED),
)
"""First words of texts that are host text to their end."""
_NOTIFICATION = "<task-notification"
"""Of a text that begins so, what stands behind the tag is nobody's: clients were seen to add an
approval that the user did not type.
"""
_OPENING_WORDS = tuple(words for words, _ in _OPENINGS)

_REQUEST_MARK = lazy_pattern(r"^##? my request(?: for codex)?:[ \t]*", re.IGNORECASE | re.MULTILINE)
"""Codex's applications put files, findings and the editor's state above this line."""
_INSTRUCTIONS_OPENING = "# agents.md instructions"
_INSTRUCTIONS_END = "</instructions>"
_UNTAGGED_INSTRUCTIONS = lazy_pattern(r"\s*# agents\.md instructions for \S[^\n]*\n", re.IGNORECASE)
"""The heading of instruction files whose tag is missing: all of it is theirs."""
_OPENING_LENGTH = 80
_NESTING_LIMIT = 8
"""Closing tags tried for one opening; keeps the search linear on hostile text."""

_PART_OPENING = lazy_pattern(
    r"(?:^|(?<=>))[ \t]*<(" + "|".join(map(re.escape, _PART_TAGS)) + r")(?:\s[^<>]*)?>",
    re.IGNORECASE | re.MULTILINE,
)
_PART_CLOSING = lazy_pattern("</(?:" + "|".join(map(re.escape, _PART_TAGS)) + ")>", re.IGNORECASE)
_WHOLE_OPENING = lazy_pattern(
    r"\s*<(" + "|".join(map(re.escape, _WHOLE_TEXT_TAGS)) + r"|external_[\w.-]+)(?:\s[^<>]*)?>",
    re.IGNORECASE,
)
_MARKED_PASTE = lazy_pattern(
    r"(?:\b(?:here(?:['’]s| is| are)|attached (?:is|are)|this is)\b[^\n.!?:<]{0,80}\.?)?"
    r'(?:[:：]?\s{0,4})<(pasted_content id="[^"<>\n]{1,40}")>(.*?)(?:</\1>|\Z)',
    re.DOTALL | re.IGNORECASE,
)
"""A long paste as Claude Code hands it on. The closing tag has the id as well, so that no pasted
text ends it. A colon or "here is the log" in front announced the paste and nothing else.
"""
_PROGRAM_ELEMENT = lazy_pattern(r"\s*<([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?:\s[^<>]*)?>")
_IMAGE_LABEL = lazy_pattern(
    r"\s*(?:<image(?:\s+name=[^<>\n]{0,200})?>|</image>)\s*\Z", re.IGNORECASE
)
_STOPPED = lazy_pattern(r"\s*(?:\[request interrupted by user|<turn_aborted>)", re.IGNORECASE)
"""Claude Code's note and Codex's."""
_INTERRUPTED = lazy_pattern(r"\s*\[request interrupted by user[^\]\n]{0,40}\]", re.IGNORECASE)
_HOOK_OPENING = lazy_pattern(
    r"\s*[A-Z][A-Za-z]{2,30}(?::[^\s:]{1,80})? hook (?:success|additional context|feedback|"
    r"blocking error|stopped)[^\n:]{0,80}:"
)
_COMMAND_TAG = lazy_pattern(
    r"\s*<command-(name|message|args|contents)>(.*?)</command-\1>", re.IGNORECASE | re.DOTALL
)
_TYPED_TAG = lazy_pattern(
    r"\s*<(bash-input|user-memory-input)>(.*?)</\1>\s*\Z", re.IGNORECASE | re.DOTALL
)
_REQUEST_TAG = lazy_pattern(r"<(userRequest|user_query|user_message)(?:\s[^<>]*)?>", re.IGNORECASE)
"""Tags in which VS Code's chat, Cursor and Cline put what was typed, beside others with context."""
_TYPED_RESULT = lazy_pattern(
    r"\s*\[(?:attempt_completion|ask_followup_question for '[^\n]*')\] Result:\s*"
    r"(?:The user has provided feedback on the results\.[^\n<]*\s)?"
    r"<(feedback|answer)>\n(?P<typed>.*?)\n</\1>\s*"
    r"(?:<environment_details>.*</environment_details>\s*)?\Z",
    re.DOTALL,
)
"""What Cline makes of a reply to its agent's result or question, of tools that return nothing from
elsewhere.
"""
_TYPED_RESULT_TAG = lazy_pattern(r"</?(?:feedback|answer)>", re.IGNORECASE)
_ANY_TAG = lazy_pattern(r"\s*<([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>")
_TYPED_SIGN = {"bash-input": "!", "user-memory-input": "#"}


class HostMarkupSpan(NamedTuple):
    """A host's part of a text: its tag, start and end."""

    tag: str
    start: int
    end: int


def detect_origin(text: str) -> Origin:
    """The origin of a text with the role `user`, by its markup. A text that still holds user text
    is `USER`.
    """
    return _split_markup(text)[1]


def strip_host_markup(text: str) -> str:
    """What the user typed: the text without its host parts; the text itself when there are none;
    empty for pure host text.

    A slash command is returned as typed (`/name arguments`), a shell line with `!`, a memory line
    with `#`.
    """
    return _split_markup(text)[0]


def split_at_marked_pastes(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The parts of a text between what Claude Code marks as pasted, and what is so marked."""
    if "<pasted_content" not in text:
        return (text,), ()
    parts = _MARKED_PASTE.split(text)
    return tuple(parts[::3]), tuple(part.strip() for part in parts[2::3])


def put_typed_text_before_pastes(text: str) -> str:
    """The text with what Claude Code marks as pasted at its end, without the marks."""
    if "<pasted_content" not in text:
        return text
    typed, pasted = split_at_marked_pastes(text)
    return "\n\n".join(("\n\n".join(typed).strip(), *pasted)).strip()


def find_reply_in_result(text: str) -> str:
    """What the user typed in reply to a result or question of Cline's agent, in all of a message;
    empty for any other text, and where more than one part of it claims to be that.
    """
    is_claimed_once = (
        "] Result:" in text
        and text.count("<environment_details>") <= 1
        and len(_TYPED_RESULT_TAG.findall(text)) == 2
    )
    reply = _TYPED_RESULT.match(text) if is_claimed_once else None
    return "" if reply is None else reply["typed"].strip()


def is_wrapped_in_program_tag(text: str) -> bool:
    """Whether all of a text stands in one tag whose name has an underscore, as programs name theirs
    (`<realtime_delegation>`).
    """
    found = _PROGRAM_ELEMENT.match(text)
    return found is not None and text.rstrip().endswith(f"</{found[1]}>")


def _split_markup(text: str) -> tuple[str, Origin]:
    """The typed text, and the origin of the whole."""
    lead = text[:_OPENING_LENGTH].lstrip().lower()
    if lead.startswith(_OPENING_WORDS):
        return "", next(origin for words, origin in _OPENINGS if lead.startswith(words))
    if lead.startswith(_NOTIFICATION):
        return "", Origin.NOTIFICATION
    if lead.startswith("["):
        return _strip_interruption(text)
    if lead.startswith("#"):
        text = _strip_instructions(text, lead)
        if not text.strip():
            return "", Origin.INJECTED
    elif (" hook " in lead and _HOOK_OPENING.match(text)) or (
        "image" in lead and _IMAGE_LABEL.match(text)
    ):
        return "", Origin.INJECTED
    return _split_tags(text)


def _split_tags(text: str) -> tuple[str, Origin]:
    if "</" not in text:
        return text, Origin.USER
    rest, origin = _strip_parts(text)
    if origin is not None and not rest:
        return "", origin
    if (request := _find_request(rest)) is not None:
        return request, Origin.USER if request else Origin.INJECTED
    whole = _WHOLE_OPENING.match(rest)
    if whole and rest.rstrip().lower().endswith(f"</{whole[1].lower()}>"):
        return "", Origin.INJECTED
    return _restore_typed(rest), Origin.USER


def _find_request(text: str) -> str | None:
    """What was typed in a text that is all in tags; empty where several, or one inside another,
    claim to hold it; None for any other text.
    """
    claims = [found.start() for found in _REQUEST_TAG.finditer(text)]
    if not claims:
        return None
    typed = ""
    at = 0
    while (tag := _ANY_TAG.match(text, at)) is not None:
        end = text.find(f"</{tag[1]}>", tag.end())
        if end < 0:
            return None
        if _REQUEST_TAG.match(text, tag.start(1) - 1):
            typed = text[tag.end() : end].strip()
        at = end + len(tag[1]) + len("</>")
    if text[at:].strip():
        return None
    return typed if len(claims) == 1 else ""


def is_interruption_notice(text: str) -> bool:
    """Whether the text is, or begins with, a client's note that the user stopped the turn."""
    return _STOPPED.match(text) is not None


def _strip_interruption(text: str) -> tuple[str, Origin]:
    notice = _INTERRUPTED.match(text)
    if notice is None:
        reply = find_reply_in_result(text)
        return (reply, Origin.USER) if reply else _split_tags(text)
    rest = text[notice.end() :].strip()
    return (rest, Origin.USER) if rest else ("", Origin.INJECTED)


def _strip_instructions(text: str, lead: str) -> str:
    """The text without an instruction-file wrapper or an editor's context in front of the
    request.
    """
    if lead.startswith(_INSTRUCTIONS_OPENING):
        folded = _fold_case(text)
        closing = (
            len(text)
            if folded.rstrip().endswith(_INSTRUCTIONS_END)
            else folded.find(_INSTRUCTIONS_END) + len(_INSTRUCTIONS_END)
        )
        if closing < len(_INSTRUCTIONS_END):
            return "" if _UNTAGGED_INSTRUCTIONS.match(text) else text
        return text[closing:].strip()
    if lead.startswith(("# ", "## ")):
        marks = list(_REQUEST_MARK.finditer(text))
        return text[marks[-1].end() :].strip() if marks else text
    return text


def _strip_parts(text: str) -> tuple[str, Origin | None]:
    """The text without its host parts, and the origin of the first one; None, and the text
    unchanged, when there are none.
    """
    found = find_host_markup_spans(text)
    if not found:
        return text, None
    kept: list[str] = []
    done = 0
    for part in found:
        kept.append(text[done : part.start])
        done = part.end
    kept.append(text[done:])
    return "".join(kept).strip(), _PART_TAGS[found[0].tag]


def find_host_markup_spans(text: str) -> list[HostMarkupSpan]:
    """The host parts of a text, in order; the text between them is not the host's."""
    # Parts are closed, and a closing tag is found much faster than an opening one.
    opening = _PART_OPENING.search(text) if _PART_CLOSING.search(text) else None
    found: list[HostMarkupSpan] = []
    unclosed: set[str] = set()
    folded = _fold_case(text) if opening is not None else ""
    counted = fences = 0
    while opening is not None:
        fences += folded.count("```", counted, opening.start())
        counted = opening.start()
        tag = opening[1].lower()
        end = -1 if tag in unclosed or fences % 2 else _find_part_end(folded, tag, opening.end())
        if end < 0:
            if not fences % 2:
                unclosed.add(tag)
            opening = _PART_OPENING.search(text, opening.end())
            continue
        found.append(HostMarkupSpan(tag, opening.start(), end))
        counted = end
        opening = _PART_OPENING.search(text, end)
    return found


def _fold_case(text: str) -> str:
    """The text in lower case, each letter in its place: the Turkish İ becomes two letters."""
    folded = text.lower()
    if len(folded) == len(text):
        return folded
    return "".join(low if len(low := letter.lower()) == 1 else letter for letter in text)


def _find_part_end(folded: str, tag: str, start: int) -> int:
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


def _restore_typed(text: str) -> str:
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

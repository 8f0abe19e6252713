"""Neutralising host markup inside data, keeping it readable (SF-3): a memory, a file or a tool
result cannot open or close the tags around it.

The first character of such a tag, `<`, becomes `&lt;`. So do the control tokens of chat templates
(`<|im_start|>`). A text that begins like a host's own notice gets a prefix. Harmless text is
unchanged; applying it twice changes nothing more.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from functools import lru_cache

SCAFFOLD_TAGS: tuple[str, ...] = (
    "system-reminder", "local-command-caveat", "local-command-stdout", "local-command-stderr", "bash-stdout", "bash-stderr", "bash-input",
    "user-memory-input", "ide_opened_file", "ide_selection", "ide_diagnostics", "new-diagnostics", "session-start-hook",
    "user-prompt-submit-hook", "pre-tool-use-hook", "post-tool-use-hook", "stop-hook", "tick", "environment_context", "user_instructions",
    "turn_aborted", "codex_internal_context", "task-notification", "subagent_notification", "teammate-message", "command-name",
    "command-message", "command-args", "command-contents", "permissions instructions", "model_switch", "collaboration_mode",
    "multi_agent_mode", "multi_agent_role", "skills_instructions", "plugins_instructions", "apps_instructions",
    "environments_instructions", "personality_spec", "realtime_conversation", "context_window", "context_window_guidance",
    "rollout_budget", "git_attribution", "user_shell_command", "recommended_plugins", "instructions", "available-deferred-tools",
    "user_action", "hook_prompt", "in-app-browser-context", "stdin", "current_notes_content", "proposed_plan", "function_calls", "function_results",
    "tool_call", "invoke", "tool_result", "tool_use", "antml:invoke", "antml:parameter", "antml:function_calls",
    "cross-session-message", "codex_delegation", "scheduled-task", "scheduled-wakeup", "goal_context",
)  # fmt: skip
"""Tags of both families that `memorist.formats.host_markup` knows, and those around tool calls.
Neutralised wherever they stand.
"""

COMMON_WORD_TAGS: tuple[str, ...] = (
    "tools", "skill", "environments", "system", "developer", "assistant", "user", "human", "env", "image", "external_", "channel",
)  # fmt: skip
"""Tags with common names: neutralised only at the start of a line or after another tag."""

SCAFFOLD_OPENINGS: tuple[str, ...] = (
    "this session is being continued from a previous conversation",
    "another language model started to solve this problem",
    "[memorist]",
    "caveat: the messages below were generated",
    "base directory for this skill:",
    "stop hook feedback:",
    "another claude session sent a message",
    "[system notification - not user input]",
    "[suggestion mode:",
    "the user stepped away and is coming back",
    "you are performing a context checkpoint compaction",
    "critical: respond with text only",
    "called the read tool with the following input:",
    "reading mcp resource:",
    "the following tool was executed by the user",
    "use the above message and context to generate a prompt and call the task",
    "this is the gemini cli. we are setting up the context",
    "[request interrupted by user",
    "# agents.md instructions",
    "# context from my ide setup:",
)
"""First words, in lower case, by which a host's own texts are recognised."""
_HOOK_OPENING = re.compile(
    r"[A-Z][A-Za-z]{2,30}(?::[^\s:]{1,80})? hook (?:success|additional context|feedback|"
    r"blocking error|stopped)"
)
_DATA_PREFIX = "(data) "
_OPENING_LENGTH = 200

_BRACKETS = "<\uff1c\ufe64"
"""The less-than sign with its wide and small forms, which a model reads alike."""
_TAG_SCAN_LENGTH = 80
"""Characters read of a tag: more than the longest name, with spaces and hidden characters between.
"""
_CONTROL_CHARACTERS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127))
_CHAT_TEMPLATE_TAG = re.compile(r"<(?=\|[A-Za-z_]{2,40}\||\uff5c)")


def neutralize_markup(text: str, tags: Collection[str] = ()) -> str:
    """The text with its host tags neutralised; the same object when there are none.

    `tags` are further tag names, such as that of the wrapper the text is put into.
    """
    if text.isascii() and "<" not in text:
        return f"{_DATA_PREFIX}{text}" if _has_scaffold_opening(text) else text
    done = 0
    parts: list[str] = []
    named = _tag_pattern((*SCAFFOLD_TAGS, *tags), r"[\s/>]|\Z")
    everyday = _tag_pattern(COMMON_WORD_TAGS, r"[\s/>]|\Z|(?<=_)")
    for found in re.finditer(f"[{_BRACKETS}]", text):
        at = found.start()
        inner = _tag_content(text, at)
        if (
            named.match(inner)
            or (everyday.match(inner) and _is_at_line_start(text, at))
            or _CHAT_TEMPLATE_TAG.match(text, at)
        ):
            parts += (text[done:at], "&lt;")
            done = at + 1
    if parts:
        text = "".join((*parts, text[done:]))
    return f"{_DATA_PREFIX}{text}" if _has_scaffold_opening(text) else text


@lru_cache(maxsize=32)
def _tag_pattern(names: tuple[str, ...], end: str) -> re.Pattern[str]:
    return re.compile("(?:" + "|".join(re.escape(name.lower()) for name in names) + f")(?:{end})")


def _tag_content(text: str, at: int) -> str:
    """The text of a tag after its bracket, normalised: without hidden characters, compatibility
    forms, case, and spaces or slashes before the name.
    """
    piece = text[at + 1 : at + 1 + _TAG_SCAN_LENGTH]
    if not piece.isascii() or not piece.isprintable():
        piece = (
            unicodedata.normalize("NFKC", piece)
            .encode("ascii", "ignore")
            .decode("ascii")
            .translate(_CONTROL_CHARACTERS)
        )
    return piece.lstrip(" \t\r\n/").lower()


def _is_at_line_start(text: str, at: int) -> bool:
    """Whether nothing precedes on the line, or only white space after the end of another tag."""
    before = text[max(0, at - _TAG_SCAN_LENGTH) : at].rstrip(" \t")
    return not before or before[-1] in ">\n\r\x0b\x0c\x85\u2028\u2029" or not before.strip()


def _has_scaffold_opening(text: str) -> bool:
    start = text[:_OPENING_LENGTH].lstrip()
    return start.lower().startswith(SCAFFOLD_OPENINGS) or (
        " hook " in start and _HOOK_OPENING.match(start) is not None
    )

"""The scaffold table: every tag of both families, as data.

Sources: source-notes.md, codex.md section 3.2, claude-code.md sections 1 and 12.9, clients.md. Tag
names and their forms are facts about those clients; the content is written by the caller.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, structs

from memorist.context.settings import Family
from memorist.core.messages import Origin, Role

Known = Literal["part", "whole", "lead", "role", "label"]
"""How a text is recognised when it is read back: `part` wherever it opens at the start of a line
and is closed, `whole` if it encloses the whole text, `lead` by its first words, `label` by a tag
alone in its block, `role` by the role alone.
"""


class Row(Struct, frozen=True, kw_only=True):
    """One kind of text."""

    tag: str
    family: Family
    role: Role
    when: str
    """When it appears, in a few words."""
    opening: str
    """With `{{names}}` to be filled in; empty if there is no tag."""
    closing: str
    known: Known
    origin: Origin = Origin.INJECTED
    """The origin it gets when it is read back."""
    apart: bool = False
    """Whether it gets a message of its own; others share one with neighbours of the same role."""


def _row(family: Family, role: Role, tag: str, known: Known, when: str, origin: Origin = Origin.INJECTED) -> Row:
    """Build a row of the plain form: the tag on a line of its own before and after the text."""
    bare = known == "role"
    return Row(
        tag=tag,
        family=family,
        role=role,
        when=when,
        opening="" if bare else f"<{tag}>\n",
        closing="" if bare else f"\n</{tag}>",
        known=known,
        origin=origin,
    )


def _formed(row: Row, opening: str, closing: str) -> Row:
    return structs.replace(row, opening=opening, closing=closing)


def _apart(row: Row) -> Row:
    return structs.replace(row, apart=True)


_R: Family = "rollout"
_F: Family = "file-native"

ROLLOUT: tuple[Row, ...] = (
    _apart(_row(_R, "developer", "base_instructions", "role", "always, first")),
    _row(_R, "developer", "model_switch", "whole", "the model changed between turns"),
    _row(_R, "developer", "developer_instructions", "role", "developer instructions are set"),
    _row(_R, "developer", "memory", "role", "memory is on and there is a summary or an index"),
    _row(_R, "developer", "context_window", "whole", "the window has a token budget"),
    _row(_R, "developer", "personality_spec", "whole", "a personality is set that the model's own instructions lack"),
    _row(_R, "developer", "context_window_guidance", "whole", "guidance for the window is set"),
    _row(_R, "developer", "realtime_conversation", "whole", "a spoken conversation begins or ends"),
    _row(_R, "developer", "skills_instructions", "whole", "there is a skill to offer"),
    _row(_R, "developer", "permissions instructions", "whole", "always: what needs approval, and the sandbox"),
    _row(_R, "developer", "collaboration_mode", "whole", "the mode has a text"),
    _row(_R, "developer", "environments_instructions", "whole", "there is more than one environment"),
    _row(_R, "developer", "apps_instructions", "whole", "there are apps"),
    _row(_R, "developer", "plugins_instructions", "whole", "there are plugins"),
    _row(_R, "developer", "tools", "whole", "tools are described in the context"),
    _row(_R, "developer", "rollout_budget", "whole", "the session has a budget"),
    _row(_R, "developer", "git_attribution", "whole", "commits are to name the agent"),
    _apart(_row(_R, "developer", "multi_agent_role", "whole", "the agent is one of several")),
    _apart(_row(_R, "developer", "multi_agent_mode", "whole", "agents work together")),
    _row(_R, "user", "recommended_plugins", "whole", "plugins are recommended"),
    _formed(
        _row(_R, "user", "external_KEY", "whole", "an extension adds a value"),
        "<external_{{key}}>\n",
        "\n</external_{{key}}>",
    ),
    _formed(
        _row(_R, "user", "AGENTS.md", "lead", "there are instruction files from the project's root to the working folder"),
        "# AGENTS.md instructions for {{folder}}\n\n<INSTRUCTIONS>\n",
        "\n</INSTRUCTIONS>",
    ),
    _row(_R, "user", "user_instructions", "part", "older clients: instruction files"),
    _row(_R, "user", "environment_context", "part", "first turn; later only what changed"),
    _row(_R, "user", "environments", "whole", "inside environment_context, where there are several"),
    _row(_R, "user", "skill", "whole", "a skill is mentioned; after the user's message"),
    _formed(
        _row(_R, "user", "image", "label", "around a picture of the user's message; a local one has a name"),
        "<image name={{name}}>",
        "",
    ),
    _formed(_row(_R, "user", "image end", "label", "after a picture of the user's message"), "</image>", ""),
    _row(_R, "user", "user_shell_command", "whole", "the user ran a command"),
    _row(_R, "user", "turn_aborted", "part", "the user stopped a turn"),
    _row(_R, "user", "subagent_notification", "part", "a subagent's state changed", Origin.NOTIFICATION),
    _row(_R, "user", "user_action", "whole", "the user did something outside the conversation, such as a review"),
    _formed(
        _row(_R, "user", "codex_internal_context", "part", "the client steers a goal or a hand-over"),
        '<codex_internal_context source="{{source}}">\n',
        "\n</codex_internal_context>",
    ),
    _formed(
        _row(_R, "user", "handover", "lead", "after compaction: the summary", Origin.SUMMARY),
        "Another language model started to solve this problem\n",
        "",
    ),
    _row(_R, "assistant", "proposed_plan", "whole", "plan mode's final answer", Origin.MODEL),
)
"""In the order of a first context; then what comes later."""

FILE_NATIVE: tuple[Row, ...] = (
    _row(_F, "system", "static", "role", "always: what is the same for every session"),
    _formed(
        _row(_F, "system", "boundary", "lead", "parts the static from the dynamic part; not sent"),
        "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__",
        "",
    ),
    _row(_F, "system", "dynamic", "role", "what is this session's own: memory, language, style"),
    _row(_F, "system", "env", "whole", "always: folder, platform, shell, system, model"),
    _row(_F, "system", "git", "role", "in a repository: a snapshot from the session's start"),
    _row(_F, "user", "system-reminder", "part", "all that a harness says: instruction files, date, memory, hook text, attachments"),
    _row(_F, "user", "available-deferred-tools", "part", "there are tools that are not in the schema"),
    _row(_F, "user", "local-command-caveat", "part", "before the output of commands that the user ran"),
    _row(_F, "user", "local-command-stdout", "part", "a slash command said something"),
    _row(_F, "user", "local-command-stderr", "part", "a slash command failed"),
    _row(_F, "user", "command-name", "lead", "the user gave a slash command", Origin.USER),
    _row(_F, "user", "command-message", "lead", "with command-name: what is shown of it", Origin.USER),
    _row(_F, "user", "command-args", "lead", "with command-name: its arguments", Origin.USER),
    _row(_F, "user", "bash-input", "whole", "the user ran a shell line", Origin.USER),
    _row(_F, "user", "bash-stdout", "part", "what that shell line said"),
    _row(_F, "user", "bash-stderr", "part", "what that shell line said of errors"),
    _row(_F, "user", "user-memory-input", "whole", "the user wrote a line to remember", Origin.USER),
    _row(_F, "user", "ide_opened_file", "part", "a file is open in the editor"),
    _row(_F, "user", "ide_selection", "part", "lines are selected in the editor"),
    _row(_F, "user", "ide_diagnostics", "part", "the editor's diagnostics"),
    _row(_F, "user", "new-diagnostics", "part", "diagnostics that an edit brought"),
    _row(_F, "user", "session-start-hook", "part", "a hook at the start of a session said something"),
    _row(_F, "user", "user-prompt-submit-hook", "part", "a hook on a prompt said something"),
    _row(_F, "user", "pre-tool-use-hook", "part", "a hook before a tool said something"),
    _row(_F, "user", "post-tool-use-hook", "part", "a hook after a tool said something"),
    _row(_F, "user", "stop-hook", "part", "a hook at the end of a turn said something"),
    _row(_F, "user", "tick", "part", "time passed in proactive mode"),
    _row(_F, "user", "task-notification", "part", "news of background work", Origin.NOTIFICATION),
    _formed(
        _row(_F, "user", "teammate-message", "part", "another agent wrote", Origin.AGENT),
        '<teammate-message teammate_id="{{agent}}">\n',
        "\n</teammate-message>",
    ),
    _formed(
        _row(_F, "user", "interruption", "lead", "the user stopped the reply"),
        "[Request interrupted by user]",
        "",
    ),
    _row(_F, "user", "current_notes_content", "whole", "in the update of session notes: the notes as they are"),
    _formed(
        _row(_F, "user", "continuation", "lead", "after compaction: the summary", Origin.SUMMARY),
        "This session is being continued from a previous conversation\n",
        "",
    ),
    _row(_F, "assistant", "analysis", "whole", "in the answer to a compaction: the draft, dropped", Origin.MODEL),
    _row(_F, "assistant", "summary", "whole", "in the answer to a compaction: the summary", Origin.MODEL),
)
"""In the order of a first context; then what comes later."""

TABLE: tuple[Row, ...] = (*ROLLOUT, *FILE_NATIVE)

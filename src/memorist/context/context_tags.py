"""Wrap a text in its tag, unwrap it, and identify the row of the scaffold table that a text belongs
to. Pure (CX-1, CX-2).

What counts as typed by the user is decided in `memorist.formats.host_markup` alone; here the pieces
only get their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal

from msgspec import Struct

from memorist.core.json_decoding import convert_value
from memorist.core.messages import Origin, Role
from memorist.core.prompt_templates import find_placeholders, render_template
from memorist.core.xml_escaping import escape_attribute
from memorist.errors import InputError
from memorist.formats.host_markup import detect_origin, find_host_markup_spans, strip_host_markup
from memorist.settings import Family

# The scaffold table: every tag of both families, as data.


RowForm = Literal["part", "whole", "lead", "role", "label"]
"""How a text is recognised when it is read back: `part` wherever it opens at the start of a line
and is closed, `whole` if it encloses the whole text, `lead` by its first words, `label` by a tag
alone in its block, `role` by the role alone.
"""


class ContextTag(Struct, frozen=True, kw_only=True):
    """One kind of text."""

    tag: str
    family: Family
    role: Role
    when: str
    """When it appears, in a few words."""
    opening: str
    """With `{{names}}` to be filled in; empty if there is no tag."""
    closing: str
    form: RowForm
    origin: Origin = Origin.INJECTED
    """The origin it gets when it is read back."""
    apart: bool = False
    """Whether it gets a message of its own; others share one with neighbours of the same role."""


_ROLLOUT_TABLE = """
    developer | base_instructions         | role  | always, first | apart
    developer | model_switch              | whole | the model changed between turns
    developer | developer_instructions    | role  | developer instructions are set
    developer | memory                    | role  | memory is on and there is a summary or an index
    developer | context_window            | whole | the window has a token budget
    developer | personality_spec          | whole | a personality is set that the model's own
        instructions lack
    developer | context_window_guidance   | whole | guidance for the window is set
    developer | realtime_conversation     | whole | a spoken conversation begins or ends
    developer | skills_instructions       | whole | there is a skill to offer
    developer | permissions instructions  | whole | always: what needs approval, and the sandbox
    developer | collaboration_mode        | whole | the mode has a text
    developer | environments_instructions | whole | there is more than one environment
    developer | apps_instructions         | whole | there are apps
    developer | plugins_instructions      | whole | there are plugins
    developer | tools                     | whole | tools are described in the context
    developer | rollout_budget            | whole | the session has a budget
    developer | git_attribution           | whole | commits are to name the agent
    developer | multi_agent_role          | whole | the agent is one of several | apart
    developer | multi_agent_mode          | whole | agents work together | apart
    user      | recommended_plugins       | whole | plugins are recommended
    user      | external_KEY              | whole | an extension adds a value
    user      | AGENTS.md                 | lead  | there are instruction files from the project's
        root to the working folder
    user      | user_instructions         | part  | older clients: instruction files
    user      | environment_context       | part  | first turn; later only what changed
    user      | environments              | whole | inside environment_context, where there are
        several
    user      | skill                     | whole | a skill is mentioned; after the user's message
    user      | image                     | label | around a picture of the user's message; a local
        one has a name
    user      | image end                 | label | after a picture of the user's message
    user      | user_shell_command        | whole | the user ran a command
    user      | turn_aborted              | part  | the user stopped a turn
    user      | subagent_notification     | part  | a subagent's state changed | notification
    user      | user_action               | whole | the user did something outside the
        conversation, such as a review
    user      | codex_internal_context    | part  | the client steers a goal or a hand-over
    user      | goal_context              | whole | the client goes on with a goal
    user      | codex_delegation          | part  | another thread handed work over | agent
    user      | handover                  | lead  | after compaction: the summary | summary
    assistant | proposed_plan             | whole | plan mode's final answer | model
    """

_FILE_NATIVE_TABLE = """
    system    | static                   | role  | always: what is the same for every session
    system    | boundary                 | lead  | parts the static from the dynamic part; not sent
    system    | dynamic                  | role  | what is this session's own: memory, language,
        style
    system    | env                      | whole | always: folder, platform, shell, system, model
    system    | git                      | role  | in a repository: a snapshot from the session's
        start
    user      | system-reminder          | part  | all that a harness says: instruction files,
        date, memory, hook text, attachments
    user      | available-deferred-tools | part  | there are tools that are not in the schema
    user      | local-command-caveat     | part  | before the output of commands that the user ran
    user      | local-command-stdout     | part  | a slash command said something
    user      | local-command-stderr     | part  | a slash command failed
    user      | command-name             | lead  | the user gave a slash command | user
    user      | command-message          | lead  | with command-name: what is shown of it | user
    user      | command-args             | lead  | with command-name: its arguments | user
    user      | bash-input               | whole | the user ran a shell line | user
    user      | bash-stdout              | part  | what that shell line said
    user      | bash-stderr              | part  | what that shell line said of errors
    user      | user-memory-input        | whole | the user wrote a line to remember | user
    user      | ide_opened_file          | part  | a file is open in the editor
    user      | ide_selection            | part  | lines are selected in the editor
    user      | ide_diagnostics          | part  | the editor's diagnostics
    user      | new-diagnostics          | part  | diagnostics that an edit brought
    user      | session-start-hook       | part  | a hook at the start of a session said something
    user      | user-prompt-submit-hook  | part  | a hook on a prompt said something
    user      | pre-tool-use-hook        | part  | a hook before a tool said something
    user      | post-tool-use-hook       | part  | a hook after a tool said something
    user      | stop-hook                | part  | a hook at the end of a turn said something
    user      | tick                     | part  | time passed in proactive mode
    user      | task-notification        | part  | news of background work | notification
    user      | teammate-message         | part  | another agent wrote | agent
    user      | cross-session-message    | part  | another session wrote | agent
    user      | channel                  | whole | a message came in by a chat or a server
    user      | scheduled-task           | part  | a task's time has come | notification
    user      | scheduled-wakeup         | part  | a timer ran out | notification
    user      | interruption             | lead  | the user stopped the reply
    user      | current_notes_content    | whole | in the update of session notes: the notes as
        they are
    user      | continuation             | lead  | after compaction: the summary | summary
    assistant | analysis                 | whole | in the answer to a compaction: the draft,
        dropped | model
    assistant | summary                  | whole | in the answer to a compaction: the summary |
        model
    """

_SPECIAL_TAGS = {
    "external_KEY": ("<external_{{key}}>\n", "\n</external_{{key}}>"),
    "AGENTS.md": (
        "# AGENTS.md instructions for {{folder}}\n\n<INSTRUCTIONS>\n",
        "\n</INSTRUCTIONS>",
    ),
    "image": ("<image name={{name}}>", ""),
    "image end": ("</image>", ""),
    "codex_internal_context": (
        '<codex_internal_context source="{{source}}">\n',
        "\n</codex_internal_context>",
    ),
    "handover": ("Another language model started to solve this problem\n", ""),
    "boundary": ("__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__", ""),
    "teammate-message": ('<teammate-message teammate_id="{{agent}}">\n', "\n</teammate-message>"),
    "cross-session-message": (
        '<cross-session-message from-name="{{agent}}">\n',
        "\n</cross-session-message>",
    ),
    "interruption": ("[Request interrupted by user]", ""),
    "continuation": ("This session is being continued from a previous conversation\n", ""),
}
"""Opening and closing of the rows that do not enclose their text in lines with their tag."""


def _parse_rows(family: Family, table: str) -> tuple[ContextTag, ...]:
    """The rows of a table: role, tag, form, when it appears, and after that its origin, or `apart`,
    where they are not the default.
    """
    rows: list[ContextTag] = []
    for line in table.strip().replace("\n        ", " ").splitlines():
        role, tag, form, when, *marks = (cell.strip() for cell in line.split("|"))
        plain = ("", "") if form == "role" else (f"<{tag}>\n", f"\n</{tag}>")
        opening, closing = _SPECIAL_TAGS.get(tag, plain)
        row = {
            "tag": tag,
            "family": family,
            "role": role,
            "when": when,
            "opening": opening,
            "closing": closing,
            "form": form,
            "origin": next((mark for mark in marks if mark != "apart"), Origin.INJECTED),
            "apart": "apart" in marks,
        }
        rows.append(convert_value(row, ContextTag))
    return tuple(rows)


ROLLOUT_ROWS = _parse_rows("rollout", _ROLLOUT_TABLE)
"""In the order of a first context; then what comes later."""
FILE_NATIVE_ROWS = _parse_rows("file-native", _FILE_NATIVE_TABLE)
"""In the order of a first context; then what comes later."""
SCAFFOLD_TABLE: tuple[ContextTag, ...] = (*ROLLOUT_ROWS, *FILE_NATIVE_ROWS)


_NAME = re.compile(r"\s*<(/image(?=>)|[a-z_][\w.-]*(?: instructions)?)", re.IGNORECASE)
_BY_TAG: dict[str, tuple[ContextTag, ...]] = {
    row.tag.lower(): tuple(
        other for other in SCAFFOLD_TABLE if other.tag.lower() == row.tag.lower()
    )
    for row in SCAFFOLD_TABLE
}
_UNTAGGED = tuple(row for row in SCAFFOLD_TABLE if row.opening and not row.opening.startswith("<"))
_ALIASES = {"/image": "image end"}
_MAX_LEAD_CHARACTERS = 200
"""Characters of a text that are searched for the untagged leads."""


def require_context_tag_definition(tag: str, family: Family | None = None) -> ContextTag:
    """Return the row of a tag; without a family, the first of that name.

    Raises InputError, which names the tag.
    """
    for found in _BY_TAG.get(tag.lower(), ()):
        if family is None or found.family == family:
            return found
    raise InputError(
        f"{tag!r} is no tag of the scaffold "
        f"table{f' of the {family} family' if family else ''}; docs/context.md lists them"
    )


def wrap_unescaped_text_in_tag(
    kind: ContextTag, text: str, values: Mapping[str, str] | None = None
) -> str:
    """Wrap the text in its tag.

    `values` fill the names of the opening (`folder`, `key`, `source` …).

    The text is used as it is: data goes through `safety.markup_sanitizer.neutralize_markup` first.
    Raises SettingsError for a missing value.
    """
    plain = {name: _tag_value(value, kind) for name, value in (values or {}).items()}
    opening = render_template(kind.opening, plain, strict=True)
    return f"{opening}{text}{render_template(kind.closing, plain, strict=True)}"


def _tag_value(value: str, kind: ContextTag) -> str:
    """Make a value that cannot end its tag: no line ends, no angle brackets; inside quotes no
    quotes.
    """
    line = " ".join(value.split())
    return escape_attribute(line) if kind.opening.startswith("<") else line.replace("<", "&lt;")


def escape_closing_tag(text: str, kind: ContextTag) -> str:
    """Return the text so that it cannot end its own tag: the first character of such an end becomes
    `&lt;`.
    """
    closing = kind.closing.strip().partition("{{")[0].rstrip(">")
    if closing.startswith("</"):
        return re.sub(f"<(?={re.escape(closing[1:])})", "&lt;", text, flags=re.IGNORECASE)
    return text


def unwrap_tag(text: str, kind: ContextTag) -> str | None:
    """Return the content of the tag; None if the text as a whole is not of this row, and for rows
    without a tag.
    """
    found = _row_pattern(kind).fullmatch(text.strip()) if kind.opening else None
    return found["inner"] if found else None


@cache
def _row_pattern(kind: ContextTag) -> re.Pattern[str]:
    opening = _loose_pattern(kind.opening, named=True)
    return re.compile(
        f"{opening}(?P<inner>.*){_loose_pattern(kind.closing, named=False)}",
        re.IGNORECASE | re.DOTALL,
    )


def _loose_pattern(form: str, *, named: bool) -> str:
    """Turn the form into a pattern: any value for a name, further attributes, any white space for a
    line end.
    """
    pattern = ""
    for piece in re.split(r"(\{\{\w+\}\}|\n+)", form):
        if piece.startswith("{{"):
            name = piece.strip("{}")
            pattern += f"(?P<{name}>[^<>\\n]*?)" if named else f"(?P={name})"
        else:
            pattern += r"\s*" if not piece.strip() else re.escape(piece)
    return pattern


def identify_context_tag(text: str, role: Role, family: Family | None = None) -> ContextTag | None:
    """Return the row of a whole text of this role, or None.

    Rows known by their role alone are never returned.
    """
    head = text[:_MAX_LEAD_CHARACTERS].lstrip().lower()
    for kind in _UNTAGGED:
        if kind.role == role and head.startswith(_opening_lead(kind)):
            return kind
    name = _NAME.match(text)
    if name is None:
        return None
    tag = _ALIASES.get(
        name[1].lower(),
        "external_key" if name[1].lower().startswith("external_") else name[1].lower(),
    )
    rows = [kind for kind in _BY_TAG.get(tag, ()) if kind.role == role]
    rows.sort(key=lambda kind: kind.family != family)
    return next((kind for kind in rows if _is_of_row(kind, text)), None)


def _opening_lead(kind: ContextTag) -> str:
    return kind.opening.partition("{{")[0].partition("\n")[0].strip().lower()


def _is_of_row(kind: ContextTag, text: str) -> bool:
    """Tell whether the text is of this row: labels alone, parts and leads wherever they close,
    wholes at the end.
    """
    closing = kind.closing.strip().lower()
    folded = text.rstrip().lower()
    if kind.form == "label":
        return len(folded) < _MAX_LEAD_CHARACTERS and not strip_host_markup(text)
    if find_placeholders(kind.closing):
        return _row_pattern(kind).fullmatch(text.strip()) is not None
    return closing in folded if kind.form in {"part", "lead"} else folded.endswith(closing)


def split_by_context_tags(
    text: str, role: Role, family: Family | None = None
) -> Iterator[tuple[ContextTag | None, str]]:
    """Split a text into known rows and unknown text, in order and lossless but for white space in
    between.

    A summary is one piece, whatever it quotes.
    """
    if detect_origin(text) is Origin.SUMMARY:
        yield identify_context_tag(text, role, family), text.strip()
        return
    done = 0
    for part in find_host_markup_spans(text):
        yield from _split_known(text[done : part.start], role, family)
        inner = text[part.start : part.end]
        yield identify_context_tag(inner, role, family), inner.strip()
        done = part.end
    yield from _split_known(text[done:], role, family)


def _split_known(
    text: str, role: Role, family: Family | None
) -> Iterator[tuple[ContextTag | None, str]]:
    if text.strip():
        yield identify_context_tag(text, role, family), text.strip()

"""Make a skill from a session: a prompt for a host with a model, and a skeleton from structure
without one.

Pure (SK-3). Source: Claude Code. The skeleton says only what the transcript proves:
the user's words, what was changed and run successfully, in order, what failed and what then worked.
It is a draft for the user to finish: it is shown, and saved only on request.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from memorist.core.lazy import lazy_pattern
from memorist.core.prompt_templates import render_template
from memorist.core.sentences import shorten_to_one_line
from memorist.core.text_analysis import NOTES_STOP_WORDS, parse_word_list
from memorist.core.token_count import estimate_text_tokens
from memorist.core.truncation import truncate_middle
from memorist.core.yaml_text import dump_yaml
from memorist.errors import InputError, StoreError
from memorist.ports import FileSystem
from memorist.safety.hidden_characters import strip_hidden_characters
from memorist.safety.markup_sanitizer import neutralize_markup
from memorist.safety.secrets import redact
from memorist.session_memory.notes_template import STRUCTURAL_MARK
from memorist.session_memory.work_notes import build_error_lines, describe_command_outcome
from memorist.skills.skill_file import MAX_NAME_CHARS, SKILL_FILE, SkillPrompts
from memorist.skills.skill_roots import SkillBaseFolders
from memorist.transcript_analysis.command_lines import CHECK_KINDS
from memorist.transcript_analysis.display_paths import find_display_root, make_display_path
from memorist.transcript_analysis.tool_actions import MAX_SHORT_COMMAND_CHARACTERS
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger
from memorist.transcript_analysis.turn_log import find_commit_subject

MAX_STEPS = 40
"""Steps of a skeleton at most; a body of more than 500 lines is advised against (Codex).
The rest is counted.
"""

DRAFT_DESCRIPTION_CHARS = 300
"""Characters of the first request that serve as the description until one is written."""

MAX_DESCRIPTION_CHARS = 1_024
"""Characters of a description (the open specification)."""

MAX_MESSAGES_TOKENS = 8_000
MAX_NOTES_TOKENS = 12_000
"""Tokens of each part of the model's material: the notes' own limit (Claude Code), and two
thirds of it. Our choice.
"""

_SAFE_NAME = lazy_pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NON_STEP_KINDS = frozenset({"read", "look", "search", "ask", "refused", "agent", "use"})
_MAX_NAME_WORDS = 5
_MAX_REQUESTS = 6
_MAX_FAILURES = 12


class SkillDraft(Struct, frozen=True, kw_only=True):
    """A SKILL.md that is not saved yet. `remarks` lists what the user should check."""

    name: str
    text: str
    remarks: tuple[str, ...] = ()


class SuccessfulSkillAction(Struct):
    """A successful action: what was done, how often, its proof, and an earlier failure."""

    kind: str
    what: str
    line: str = ""
    times: int = 1
    earlier_failure: str = ""


def is_skill_name(name: str) -> bool:
    """Whether a name follows the specification; such a name is also a plain folder name."""
    return len(name) <= MAX_NAME_CHARS and _SAFE_NAME.fullmatch(name) is not None


def make_skill_name(words: str) -> str:
    """Make a name from the first words that say what it is about; `session-skill` where there are
    none in Latin letters.
    """
    words = _ADDRESS.sub(lambda found: f" {found[1]} ", _COMMIT_TYPE.sub("", words.strip()))
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode("ascii").lower()
    found = re.findall(r"[a-z0-9]+", plain.replace("'", ""))
    telling = [each for each in found if each not in _POLITE_WORDS and len(each) > 1]
    chosen = (telling if len(telling) > 1 else found)[:_MAX_NAME_WORDS]
    return "-".join(chosen)[:MAX_NAME_CHARS].strip("-") or "session-skill"


_ADDRESS = lazy_pattern(r"https?://(?:\S*/)?([\w.-]*)\S*")
_COMMIT_TYPE = lazy_pattern(r"\A[a-z]+(?:\([^)]*\))?!?: ")
_POLITE_WORDS = NOTES_STOP_WORDS | parse_word_list(
    """
    please pls thanks thank hi hey hello ok okay can could would will you me my your let lets want
    need needs like take look help know tell show just also now again the an of on in at to for
    with from and or so is are was be been it its this that these those there here some
    """
)
"""Words of any request: they say nothing of what it is about."""


def _find_name_source(ledger: TranscriptLedger, first: str) -> str:
    """What a session's skill is named after: the subject of its first commit, which says what was
    done, or else its first request.
    """
    commits = (commit for turn in ledger.turns.turns for commit in turn.commits)
    return find_commit_subject(commits) or first


def collect_successful_skill_steps(
    ledger: TranscriptLedger, root: str
) -> list[SuccessfulSkillAction]:
    """Collect what was changed and run successfully, in order of first success; repeats are
    counted.
    """
    found: dict[tuple[str, str], SuccessfulSkillAction] = {}
    failed: dict[tuple[str, str], str] = {}
    for action in (
        action
        for step in ledger.turns.steps
        for action in step.actions
        if action.kind not in _NON_STEP_KINDS and action.what
    ):
        what = make_display_path(action.what, root) if action.kind == "edit" else action.what
        key = action.kind, what
        if action.ok is False:
            failed.setdefault(key, shorten_to_one_line(action.line, 160) or "failed")
        elif action.ok and key in found:
            found[key].times += 1
            found[key].line = action.line or found[key].line
        elif action.ok:
            found[key] = SuccessfulSkillAction(
                action.kind, what, action.line, earlier_failure=failed.get(key, "")
            )
    undone = {
        make_display_path(path, root)
        for path, note in ledger.work_record.files.files.items()
        if note.reverted
    }
    return [step for step in found.values() if step.kind != "edit" or step.what not in undone]


def build_skill_skeleton(
    ledger: TranscriptLedger, user_messages: Sequence[str], *, name: str = "", description: str = ""
) -> SkillDraft:
    """Build a SKILL.md from structure alone.

    `user_messages` are those since the last compaction. Secrets are redacted, and scaffolding tags
    neutralised.
    """
    root = find_display_root(ledger.cwd, ledger.work_record.files.files)
    asked = [
        plain
        for text in user_messages
        if (plain := " ".join(strip_hidden_characters(text).split()))
    ]
    first = asked[0] if asked else ledger.title
    chosen = name or make_skill_name(_find_name_source(ledger, first))
    about = (
        shorten_to_one_line(
            " ".join(strip_hidden_characters(description).split()), MAX_DESCRIPTION_CHARS
        )
        or shorten_to_one_line(first, DRAFT_DESCRIPTION_CHARS)
        or "What one session did, to be described."
    )
    steps = collect_successful_skill_steps(ledger, root)
    parts = [
        _render_section(
            "When to use", [f"- The user said: {_quote(text)}" for text in asked[:_MAX_REQUESTS]]
        ),
        _render_section("Inputs", _render_inputs(ledger, root, steps)),
        _render_section(
            "Steps",
            [
                line
                for at, step in enumerate(steps[:MAX_STEPS], 1)
                for line in _render_step(at, step)
            ]
            + _render_omitted(steps),
        ),
        _render_section("What failed, and what then worked", _render_failures(ledger, root)),
        _render_section("Rules from the user", _render_rules(ledger, root)),
    ]
    title = chosen.replace("-", " ").capitalize()
    body = "\n\n".join(part for part in (f"{STRUCTURAL_MARK}\n# {title}", *parts) if part)
    clean = redact(neutralize_markup(strip_hidden_characters(body))).text
    head = {
        "name": chosen,
        "description": redact(neutralize_markup(strip_hidden_characters(about))).text,
    }
    header = dump_yaml(head)
    return SkillDraft(
        name=chosen,
        text=f"---\n{header}---\n{clean}\n",
        remarks=_draft_remarks(steps, name, description),
    )


def _render_section(title: str, lines: Sequence[str]) -> str:
    return f"## {title}\n\n" + "\n".join(lines) if lines else ""


def _render_step(at: int, step: SuccessfulSkillAction) -> list[str]:
    times = f" (×{step.times})" if step.times > 1 else ""
    if step.kind == "edit":
        lines = [f"{at}. Change {_inline_code(step.what)}{times}."]
    else:
        lines = [f"{at}. Run {_inline_code(step.what)}{times}."]
        if step.kind in CHECK_KINDS or step.line:
            lines.append(f"   - Success: {describe_command_outcome(True, step.line, step.kind)}")
    if step.earlier_failure:
        lines.append(f"   - It had failed before: {_quote(step.earlier_failure)}")
    return lines


def _render_omitted(steps: Sequence[SuccessfulSkillAction]) -> list[str]:
    if len(steps) > MAX_STEPS:
        return [f"\n({len(steps) - MAX_STEPS} further steps are left out here.)"]
    return []


def _render_inputs(
    ledger: TranscriptLedger, root: str, steps: Sequence[SuccessfulSkillAction]
) -> list[str]:
    """Render the files that were read and not changed: what the work needed."""
    changed = {step.what for step in steps if step.kind == "edit"}
    notes = sorted(
        (note for note in ledger.work_record.files.files.values() if note.reads and not note.edits),
        key=lambda note: note.order,
    )
    paths = [path for note in notes if (path := make_display_path(note.path, root)) not in changed]
    return [f"- {_inline_code(path)}" for path in paths[:10]] + (
        [f"- and {len(paths) - 10} more files that were read"] if len(paths) > 10 else []
    )


def _render_failures(ledger: TranscriptLedger, root: str) -> list[str]:
    failures = [
        each
        for each in ledger.work_record.commands.failures
        if each.kind not in ("look", "refused")
    ]
    lines = []
    for each in failures[-_MAX_FAILURES:]:
        what = make_display_path(each.what, root) if each.kind == "edit" else each.what
        said = f": {_quote(shorten_to_one_line(each.line, 200))}" if each.line else ""
        edits = ", ".join(_inline_code(make_display_path(path, root)) for path in each.edits)
        mended = (
            f" What then worked: "
            f"{_inline_code(each.resolved_by)}{f', after changes to {edits}' if edits else ''}."
            if each.resolved_by
            else ""
        )
        lines.append(
            f"- {_inline_code(what)} "
            f"failed{said}.{mended or ' It was not seen to work afterwards.'}"
        )
    return lines


def _render_rules(ledger: TranscriptLedger, root: str) -> list[str]:
    """Render the user's corrections and refusals, verbatim."""
    build_error_lines(ledger, root)  # fills in `correction` of each message
    words = [ask.correction for ask in ledger.dialogue.asks if ask.correction]
    return [f"- {_quote(text)}" for text in dict.fromkeys(words)]


def _draft_remarks(
    steps: Sequence[SuccessfulSkillAction], name: str, description: str
) -> tuple[str, ...]:
    found = []
    if not steps:
        found.append(
            "nothing that was changed or run with success was found, so there are no steps"
        )
    if not name:
        found.append("the name is made of a commit or the first request; choose one with --name")
    if not description:
        found.append(
            "the description is the first request; say what the skill does and when to take "
            "it, with --description"
        )
    return tuple(found)


def _inline_code(text: str) -> str:
    """Put text in backticks, whatever backticks it contains."""
    plain = " ".join(text.split()) + ("…" if len(text) >= MAX_SHORT_COMMAND_CHARACTERS else "")
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{ticks}{space}{plain}{space}{ticks}"


def _quote(text: str) -> str:
    return f"“{shorten_to_one_line(text, DRAFT_DESCRIPTION_CHARS)}”"


def render_skill_interview(
    draft: SkillDraft,
    notes: str,
    user_messages: Sequence[str],
    prompts: SkillPrompts,
    description: str = "",
) -> str:
    """Render the prompt for a host with a model: it interviews the user, shows the file, and saves
    it on approval.
    """
    messages = "\n".join(
        f"- {_sanitise_material(' '.join(text.split()))}" for text in user_messages if text.strip()
    )
    if estimate_text_tokens(messages) > MAX_MESSAGES_TOKENS:
        messages = truncate_middle(messages, MAX_MESSAGES_TOKENS)
    values = {
        "notes": truncate_middle(_sanitise_material(notes).strip(), MAX_NOTES_TOKENS) or "(none)",
        "messages": messages or "(none)",
        "skeleton": _sanitise_material(draft.text).strip(),
        "description": "The user describes it so: "
        + _sanitise_material(" ".join(description.split()))
        if description.strip()
        else "",
    }
    return re.sub(r"\n{3,}", "\n\n", render_template(prompts.interview, values, strict=True))


def _sanitise_material(text: str) -> str:
    return redact(
        neutralize_markup(
            strip_hidden_characters(text), ("session_notes", "user_messages", "skeleton")
        )
    ).text


def save_skill_draft(draft: SkillDraft, folder: Path, files: FileSystem) -> Path:
    """Write a draft to `FOLDER/NAME/SKILL.md`, which must not exist; returns the path.

    Raises InputError when the file exists or the name is not a plain one, and StoreError.
    """
    if not is_skill_name(draft.name):
        raise InputError(
            f"{draft.name!r} cannot be a skill's name: lowercase letters, digits and hyphens "
            f"make one, at most 64"
        )
    path = folder / draft.name / SKILL_FILE
    try:
        created = files.create(path, draft.text.encode("utf-8", "replace"))
    except StoreError as error:
        raise StoreError(f"{error} The draft was not saved.") from error
    if not created:
        raise InputError(f"{path} exists and stays as it is; give the skill another --name")
    return path


def find_drafts_folder(locations: SkillBaseFolders, scope: str) -> Path:
    """Return the folder for drafts: the project's or user's `.agents/skills`, which both families
    can read.
    """
    return Path(locations.project if scope == "project" else locations.home) / ".agents" / "skills"

"""Make a skill from a session: a prompt for a host with a model, and a skeleton from structure
without one.

Pure (SK-3). Source: claude-code.md section 11.4. The skeleton says only what the transcript proves:
the user's words, what was changed and run successfully, in order, what failed and what then worked.
It is a draft for the user to finish: it is shown, and saved only on request.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from msgspec import Struct

from memorist.core.later import late_pattern
from memorist.core.template import render
from memorist.core.tokens import estimate_text
from memorist.core.truncate import cut_middle
from memorist.core.yaml_text import write_yaml
from memorist.safety.data import neutralise
from memorist.safety.hidden import visible
from memorist.safety.secrets import redact
from memorist.session_memory.actions import SHORT_LIMIT
from memorist.session_memory.ledger import Ledger
from memorist.session_memory.paths import relative, root_of
from memorist.session_memory.sections import STRUCTURAL_MARK
from memorist.session_memory.sections_work import ending, error_lines
from memorist.session_memory.sentences import shorten
from memorist.skills.skill import NAME_LIMIT
from memorist.skills.texts import Texts

STEPS = 40
"""Steps of a skeleton at most; a body of more than 500 lines is advised against (codex.md section
1.8). The rest is counted.
"""

DESCRIPTION_LENGTH = 300
"""Characters of the first request that serve as the description until one is written."""

DESCRIPTION_LIMIT = 1_024
"""Characters of a description (the open specification)."""

MESSAGES_TOKENS = 8_000
NOTES_TOKENS = 12_000
"""Tokens of each part of the model's material: the notes' own limit (source-notes.md), and two
thirds of it. Our choice.
"""

_SAFE_NAME = late_pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_NOT_STEPS = frozenset({"read", "look", "search", "ask", "refused", "agent", "use"})
_CHECKS = frozenset({"test", "lint", "typecheck", "build"})
_NAME_WORDS = 5
_WHEN = 6
_FAILED = 12


class Draft(Struct, frozen=True, kw_only=True):
    """A SKILL.md that is not saved yet. `remarks` lists what the user should check."""

    name: str
    text: str
    remarks: tuple[str, ...] = ()


class Step(Struct):
    """A successful action: what was done, how often, its proof, and an earlier failure."""

    kind: str
    what: str
    line: str = ""
    times: int = 1
    before: str = ""


def is_safe_name(name: str) -> bool:
    """Whether a name follows the specification; such a name is also a plain folder name."""
    return len(name) <= NAME_LIMIT and _SAFE_NAME.fullmatch(name) is not None


def name_from(words: str) -> str:
    """Make a name from the first words; `session-skill` where there are none in Latin letters."""
    plain = unicodedata.normalize("NFKD", words).encode("ascii", "ignore").decode("ascii").lower()
    found = re.findall(r"[a-z0-9]+", plain.replace("'", ""))[:_NAME_WORDS]
    return "-".join(found)[:NAME_LIMIT].strip("-") or "session-skill"


def steps_of(ledger: Ledger, root: str) -> list[Step]:
    """Collect what was changed and run successfully, in order of first success; repeats are
    counted.
    """
    found: dict[tuple[str, str], Step] = {}
    failed: dict[tuple[str, str], str] = {}
    for deed in (deed for step in ledger.turns.steps for deed in step.deeds if deed.kind not in _NOT_STEPS and deed.what):
        what = relative(deed.what, root) if deed.kind == "edit" else deed.what
        key = deed.kind, what
        if deed.ok is False:
            failed.setdefault(key, shorten(deed.line, 160) or "failed")
        elif deed.ok and key in found:
            found[key].times += 1
            found[key].line = deed.line or found[key].line
        elif deed.ok:
            found[key] = Step(deed.kind, what, deed.line, before=failed.get(key, ""))
    taken_back = {relative(path, root) for path, note in ledger.work.files.files.items() if note.taken_back}
    return [step for step in found.values() if step.kind != "edit" or step.what not in taken_back]


def skeleton(ledger: Ledger, said: Sequence[str], *, name: str = "", description: str = "") -> Draft:
    """Build a SKILL.md from structure alone.

    `user_messages` are those since the last compaction. Secrets are redacted, and scaffolding tags
    neutralised.
    """
    root = root_of(ledger.cwd, ledger.work.files.files)
    asked = [plain for text in said if (plain := " ".join(visible(text).split()))]
    first = asked[0] if asked else ledger.title
    chosen = name or name_from(first)
    about = (
        shorten(" ".join(visible(description).split()), DESCRIPTION_LIMIT)
        or shorten(first, DESCRIPTION_LENGTH)
        or "What one session did, to be described."
    )
    steps = steps_of(ledger, root)
    parts = [
        _section("When to use", [f"- The user said: {_quoted(text)}" for text in asked[:_WHEN]]),
        _section("Inputs", _inputs(ledger, root, steps)),
        _section("Steps", [line for at, step in enumerate(steps[:STEPS], 1) for line in _step(at, step)] + _more(steps)),
        _section("What failed, and what then worked", _failures(ledger, root)),
        _section("Rules from the user", _rules(ledger, root)),
    ]
    title = chosen.replace("-", " ").capitalize()
    body = "\n\n".join(part for part in (f"{STRUCTURAL_MARK}\n# {title}", *parts) if part)
    clean = redact(neutralise(visible(body))).text
    head = {"name": chosen, "description": redact(neutralise(visible(about))).text}
    header = write_yaml(head)
    return Draft(name=chosen, text=f"---\n{header}---\n{clean}\n", remarks=_remarks(steps, name, description))


def _section(title: str, lines: Sequence[str]) -> str:
    return f"## {title}\n\n" + "\n".join(lines) if lines else ""


def _step(at: int, step: Step) -> list[str]:
    times = f" (×{step.times})" if step.times > 1 else ""
    if step.kind == "edit":
        lines = [f"{at}. Change {_code(step.what)}{times}."]
    else:
        lines = [f"{at}. Run {_code(step.what)}{times}."]
        if step.kind in _CHECKS or step.line:
            lines.append(f"   - Success: {ending(True, step.line, step.kind)}")
    if step.before:
        lines.append(f"   - It had failed before: {_quoted(step.before)}")
    return lines


def _more(steps: Sequence[Step]) -> list[str]:
    return [f"\n({len(steps) - STEPS} further steps are left out here.)"] if len(steps) > STEPS else []


def _inputs(ledger: Ledger, root: str, steps: Sequence[Step]) -> list[str]:
    """Render the files that were read and not changed: what the work needed."""
    changed = {step.what for step in steps if step.kind == "edit"}
    notes = sorted((note for note in ledger.work.files.files.values() if note.reads and not note.edits), key=lambda note: note.order)
    paths = [path for note in notes if (path := relative(note.path, root)) not in changed]
    return [f"- {_code(path)}" for path in paths[:10]] + ([f"- and {len(paths) - 10} more files that were read"] if len(paths) > 10 else [])


def _failures(ledger: Ledger, root: str) -> list[str]:
    told = [each for each in ledger.work.commands.failures if each.kind not in ("look", "refused")]
    lines = []
    for each in told[-_FAILED:]:
        what = relative(each.what, root) if each.kind == "edit" else each.what
        said = f": {_quoted(shorten(each.line, 200))}" if each.line else ""
        edits = ", ".join(_code(relative(path, root)) for path in each.edits)
        mended = f" What then worked: {_code(each.mended_by)}{f', after changes to {edits}' if edits else ''}." if each.mended_by else ""
        lines.append(f"- {_code(what)} failed{said}.{mended or ' It was not seen to work afterwards.'}")
    return lines


def _rules(ledger: Ledger, root: str) -> list[str]:
    """Render the user's corrections and refusals, verbatim."""
    error_lines(ledger, root)  # fills in `correction` of each message
    words = [ask.correction for ask in ledger.talk.asks if ask.correction]
    return [f"- {_quoted(text)}" for text in dict.fromkeys(words)]


def _remarks(steps: Sequence[Step], name: str, description: str) -> tuple[str, ...]:
    found = []
    if not steps:
        found.append("nothing that was changed or run with success was found, so there are no steps")
    if not name:
        found.append("the name is made of the first words that were said; choose one with --name")
    if not description:
        found.append("the description is the first request; say what the skill does and when to take it, with --description")
    return tuple(found)


def _code(text: str) -> str:
    """Put text in backticks, whatever backticks it contains."""
    plain = " ".join(text.split()) + ("…" if len(text) >= SHORT_LIMIT else "")
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{ticks}{space}{plain}{space}{ticks}"


def _quoted(text: str) -> str:
    return f"“{shorten(text, DESCRIPTION_LENGTH)}”"


def interview(draft: Draft, notes: str, said: Sequence[str], texts: Texts, description: str = "") -> str:
    """Render the prompt for a host with a model: it interviews the user, shows the file, and saves
    it on approval.
    """
    messages = "\n".join(f"- {_material(' '.join(text.split()))}" for text in said if text.strip())
    if estimate_text(messages) > MESSAGES_TOKENS:
        messages = cut_middle(messages, MESSAGES_TOKENS)
    values = {
        "notes": cut_middle(_material(notes).strip(), NOTES_TOKENS) or "(none)",
        "messages": messages or "(none)",
        "skeleton": _material(draft.text).strip(),
        "description": f"The user describes it so: {_material(' '.join(description.split()))}" if description.strip() else "",
    }
    return re.sub(r"\n{3,}", "\n\n", render(texts.interview, values, strict=True))


def _material(text: str) -> str:
    return redact(neutralise(visible(text), ("session_notes", "user_messages", "skeleton"))).text

"""What a session's model was first told, as world state sections, so that later only differences
are sent (CX-3). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from memorist.context.assemble import REMINDER, made
from memorist.context.environment import Surroundings, env_fields, environment_fields
from memorist.context.instructions import Instructions, agents_text, claude_text
from memorist.context.piece import Section as Given
from memorist.context.scaffold import contained, row, wrap
from memorist.context.settings import Family
from memorist.context.world import Before, Render, Section, digest
from memorist.core.messages import Role
from memorist.core.template import render

ENVIRONMENT, MODEL, INSTRUCTIONS = "environment", "model", "instructions"
"""Section ids. Those of the host's own sections begin with `given`."""


class Told(Struct, frozen=True, kw_only=True):
    """The current state of everything that the model is told about its environment."""

    family: Family
    around: Surroundings
    instructions: Instructions = Instructions()
    given: tuple[Given, ...] = ()
    """The host's sections, and our own next to them: the catalogue of skills."""
    model_switch: str = ""
    """Template of the text that announces another model, around {{model}}."""


def sections_of(told: Told) -> tuple[Section, ...]:
    """Build the sections to compare. Their values are short: of a text only its digest is kept."""
    if told.family == "rollout":
        return tuple(_rollout(told))
    return (*_file_native(told), *_given(told.given, told.family))


def _rollout(told: Told) -> Iterator[Section]:
    """Sections in the order of the first context, which is also the client's: a new folder brings
    its instructions, then the environment.
    """
    yield Section(MODEL, told.around.model or None, _model(told.model_switch), "developer")
    yield from _given(told.given, told.family)
    if told.instructions.loaded:
        text = agents_text(told.instructions)
        folder = told.around.places[0].folder if told.around.places else ""
        kind = row("AGENTS.md", told.family)
        whole = wrap(kind, contained(text, kind), {"folder": folder})
        yield Section(
            INSTRUCTIONS, digest(whole), _text(whole, "[memorist] The AGENTS.md instructions above are no longer in force."), "user"
        )
    yield Section(ENVIRONMENT, environment_fields(told.around), _environment("environment_context", told.family), "user")


def _file_native(told: Told) -> Iterator[Section]:
    fields = env_fields(told.around) | ({"Today's date": f"Today's date: {told.around.date}"} if told.around.date else {})
    yield Section(ENVIRONMENT, fields, _environment("", told.family), "user")
    for file in told.instructions.loaded:
        text = claude_text(file)
        gone = f"[memorist] No longer in force: the instructions from {file.path}."
        yield Section(f"{INSTRUCTIONS} {file.path}", digest(text), _text(text, gone), "user")


def _environment(tag: str, family: Family) -> Render:
    """Render only the fields that changed, in order; removed ones by name."""

    def tell(value: object, before: Before) -> str:
        now = value if isinstance(value, Mapping) else {}
        known = before.value if before.state == "known" and isinstance(before.value, Mapping) else {}
        lines = [str(line) for name, line in now.items() if known.get(name) != line]
        gone = [str(name) for name in known if name not in now]
        if tag:
            kind = row(tag, family)
            lines += [f"  <{name} />" for name in gone]
            return wrap(kind, contained("\n".join(lines), kind)) if lines else ""
        lines += [f"{name}: no longer given" for name in gone]
        return "\n".join(["[memorist] From here on:", *lines]) if lines else ""

    return tell


def _model(template: str) -> Render:
    """Announce that another model answers. The first model of a session is not announced."""

    def tell(value: object, before: Before) -> str:
        if value is None or before.state != "known" or not template:
            return ""
        kind = row("model_switch", "rollout")
        return wrap(kind, contained(render(template, {"model": str(value)}, strict=True).strip(), kind))

    return tell


def _text(text: str, gone: str) -> Render:
    def tell(value: object, before: Before) -> str:
        del before
        return gone if value is None else text

    return tell


def _given(sections: Sequence[Given], family: Family) -> Iterator[Section]:
    """The host's sections; several with the same tag and source are numbered."""
    counts: dict[str, int] = {}
    for section in sections:
        if not section.text.strip():
            continue
        kind = row(section.tag, family)
        name = f"given {kind.tag} {section.source}"
        counts[name] = counts.get(name, 0) + 1
        id = name if counts[name] == 1 else f"{name} {counts[name]}"
        text = contained(section.text.strip("\n"), kind) if kind.tag == REMINDER else made(section, kind).text
        gone = f"[memorist] No longer in force: {kind.tag}, from {section.source}."
        role: Role = "developer" if kind.role == "system" else kind.role
        yield Section(id, digest(text), _text(text, gone), role)


def with_gone(sections: Sequence[Section], before: Sequence[Section]) -> tuple[Section, ...]:
    """Add the sections that existed before and no longer do, so that their removal is announced in
    their own words.
    """
    now = {section.id for section in sections}
    return (*sections, *(Section(each.id, None, each.render, each.role) for each in before if each.id not in now))

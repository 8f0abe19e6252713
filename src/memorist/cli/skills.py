"""`memorist skills`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import Struct

from memorist.cli import show
from memorist.cli.notes import find_session
from memorist.configuration import load_settings
from memorist.errors import InputError, NothingToDo, UsageError
from memorist.settings import Settings
from memorist.skills.material.run import Material, material
from memorist.skills.run import Found, discover, places_of, save, saved_in
from memorist.skills.skill import Skill
from memorist.skills.skillify import Draft, interview, is_safe_name, skeleton
from memorist.skills.texts import shipped
from memorist.store.files import DiskFiles


@click.group("skills")
def skills_group() -> None:
    """Skills: procedures in files that an agent is told of, and loads when they are wanted."""


def _settings() -> Settings:
    return load_settings(os.environ, project=Path.cwd()).settings


def _found(settings: Settings) -> Found:
    return discover(places_of(Path.cwd(), os.environ, settings.home), settings.skills)


@skills_group.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def list_command(as_json: bool) -> None:
    """List the skills of the working folder's project, the user and the system, and the files that cannot be used."""
    found = _found(_settings())
    if as_json:
        problems = [{"path": each.path, "scope": each.scope, "reason": each.reason} for each in found.problems]
        show.json({"skills": [_row(skill) for skill in found.skills], "problems": problems})
        return
    for skill in found.skills:
        click.echo(show.readable(f"{skill.name}  [{skill.scope}]  {skill.description}\n    {skill.path}"))
        for remark in skill.remarks:
            click.echo(show.readable(f"    note: {remark}"))
    for problem in found.problems:
        click.echo(show.readable(f"memorist: {problem.path}: {problem.reason}"), err=True)
    if not found.skills:
        click.echo("no skills; `memorist skills skillify SESSION` drafts one of a session")


@skills_group.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def show_command(name: str, as_json: bool) -> None:
    """Show one skill. NAME is its name, or the path of its SKILL.md or folder where several have the name."""
    found = _found(_settings())
    path = os.path.realpath(name)
    matches = [each for each in found.skills if path in (each.path, each.folder)] or [each for each in found.skills if each.name == name]
    if not matches:
        broken = next((each for each in found.problems if path in (each.path, str(Path(each.path).parent))), None)
        if broken is not None:
            raise InputError(f"{broken.path} cannot be used: {broken.reason}")
        raise InputError(f"there is no skill {name!r}; `memorist skills list` shows those there are")
    if len(matches) > 1:
        raise UsageError(f"{len(matches)} skills are called {name!r}; name one by its path: {', '.join(each.path for each in matches)}")
    (skill,) = matches
    if as_json:
        show.json(_row(skill) | {"body": skill.body})
        return
    for key, value in _row(skill).items():
        if value not in ("", [], {}, None):
            click.echo(show.readable(f"{key}: {_words(value)}"))
    click.echo(show.readable(f"\n{skill.body}"))


def _words(value: object) -> str:
    """Format a value of a row."""
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_words(each)}" for key, each in value.items())
    return ", ".join(map(_words, value)) if isinstance(value, list) else str(value)


def _row(skill: Skill) -> dict[str, Any]:
    return {
        "name": skill.name,
        "description": skill.description,
        "scope": skill.scope,
        "path": skill.path,
        "when_to_use": skill.when_to_use,
        "argument_hint": skill.argument_hint,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "allowed_tools": list(skill.allowed_tools),
        "metadata": skill.metadata,
        "plugin": skill.plugin,
        "interface": skill.beside.interface,
        "tools": list(skill.beside.tools),
        "further": skill.beside.rest,
        "listed": skill.listed,
        "mentionable": skill.mentionable,
        "remarks": list(skill.remarks),
    }


class _Call(Struct, frozen=True, kw_only=True):
    """The options of `skillify`."""

    session: str
    name: str
    description: str
    prompt: bool
    saving: bool
    scope: str
    to: str
    yes: bool
    as_json: bool


@skills_group.command("skillify")
@click.argument("session")
@click.option("--name", default="", help="Name of the skill. [default: the first words that were said]")
@click.option("--description", default="", help="What the skill does, and when to take it. [default: the first request]")
@click.option(
    "--prompt", is_flag=True, help="Print the request for an agent with a model, which interviews the user, instead of the draft."
)
@click.option("--save", "saving", is_flag=True, help="Save the draft after it was shown; nothing is ever overwritten.")
@click.option(
    "--scope", type=click.Choice(["project", "user"]), default="project", show_default=True, help="Whose skills folder to save in."
)
@click.option("--to", default="", help="Skills folder to save in, such as .claude/skills.")
@click.option("--yes", is_flag=True, help="Save without asking.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
def skillify_command(**options: object) -> None:
    """Draft a skill from a session, without a model: what was changed and run with success, in order, and what failed.

    SESSION is its id, the start of its id, its folder, or a recorded session file. The draft is shown, and saved only with --save.
    """
    call = msgspec.convert(options, _Call)
    if call.name and not is_safe_name(call.name):
        raise UsageError(f"{call.name!r} cannot be a skill's name: use lowercase letters, digits and single hyphens, at most 64")
    if call.saving and call.prompt:
        raise UsageError("--prompt prints a request for an agent, which saves the skill itself; leave --save out")
    if call.saving and not call.yes and (call.as_json or not sys.stdin.isatty()):
        raise UsageError("nobody can be asked here; look at the draft without --save first, then say --save --yes")
    found = _material(call.session)
    draft = skeleton(found.ledger, found.said, name=call.name, description=call.description)
    if call.prompt:
        text = interview(draft, found.notes, found.said, shipped(), call.description)
        show.json({"name": draft.name, "prompt": text}) if call.as_json else click.echo(show.readable(text))
        return
    if not call.as_json:
        click.echo(show.readable(draft.text.rstrip("\n")))
        for remark in draft.remarks:
            click.echo(f"memorist: {remark}", err=True)
    path = _saved(draft, call) if call.saving else None
    if call.as_json:
        show.json({"name": draft.name, "text": draft.text, "remarks": list(draft.remarks), "saved": str(path) if path else None})


def _saved(draft: Draft, call: _Call) -> Path:
    places = places_of(Path.cwd(), os.environ, _settings().home)
    folder = Path(call.to).expanduser().absolute() if call.to else saved_in(places, call.scope)
    if not call.yes:
        click.confirm(f"Save this as {folder / draft.name / 'SKILL.md'}?", abort=True)
    path = save(draft, folder, DiskFiles())
    if not call.as_json:
        click.echo(f"saved: {path}")
    return path


def _material(session: str) -> Material:
    """Load the material of a session given by its id, the start of its id, its folder or
    its file.
    """
    source = Path(session)
    if source.is_file():
        return material(source)
    layout = find_session(session)[1]
    if not layout.transcript.exists():
        raise NothingToDo(f"{layout.folder} holds no transcript, so there is nothing to make a skill of")
    return material(layout.transcript, layout.notes.read_text("utf-8", "replace") if layout.notes.exists() else "")

"""`memorist skills`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from memorist.cli import output
from memorist.cli.command_environment import (
    load_home_layout,
    load_project_settings,
    read_environment,
)
from memorist.cli.command_group import LazyCommandGroup
from memorist.core.json_decoding import convert_value
from memorist.core.text_encoding import replace_surrogates
from memorist.engine.recorded_session import find_recorded_session
from memorist.errors import InputError, UsageError
from memorist.settings import Settings
from memorist.skills.skill_discovery import (
    DiscoveredSkills,
    discover_skills,
    find_skill_base_folders,
)
from memorist.skills.skill_file import Skill, load_skill_prompts
from memorist.skills.skillify import (
    SkillDraft,
    build_skill_skeleton,
    find_drafts_folder,
    is_skill_name,
    render_skill_interview,
    save_skill_draft,
)
from memorist.skills.skillify_source import SkillMaterial, read_skill_material
from memorist.store.disk_files import DiskFiles, read_if_exists


@click.group("skills", cls=LazyCommandGroup)
def skills_group() -> None:
    """Skills: procedures in files that an agent is shown by name and loads when it needs them."""


def _discover_skills(settings: Settings) -> DiscoveredSkills:
    return discover_skills(
        find_skill_base_folders(Path.cwd(), read_environment(), settings.home), settings.skills
    )


@skills_group.command("list")
@output.JSON_OPTION
def skills_list_command(as_json: bool) -> None:
    """List the skills of the working folder's project, the user and the system, and the files that
    cannot be used.

    Example: memorist skills list
    """
    found = _discover_skills(load_project_settings())
    if as_json:
        skills = [_skill_object(skill) for skill in found.skills]
        output.print_json({"skills": skills, "problems": found.problems})
        return
    for skill in found.skills:
        click.echo(
            replace_surrogates(
                f"{skill.name}  [{skill.scope}]  {skill.description}\n    {skill.path}"
            )
        )
        for remark in skill.remarks:
            click.echo(replace_surrogates(f"    note: {remark}"))
    for problem in found.problems:
        click.echo(replace_surrogates(f"memorist: {problem.path}: {problem.reason}"), err=True)
    if not found.skills:
        click.echo("no skills; `memorist skills skillify SESSION` drafts one of a session")


@skills_group.command("show")
@click.argument("name")
@output.JSON_OPTION
def skills_show_command(name: str, as_json: bool) -> None:
    """Show one skill. NAME is its name, or the path of its SKILL.md or folder where several have
    the name.

    Example: memorist skills show deploy
    """
    found = _discover_skills(load_project_settings())
    path = os.path.realpath(name)
    matches = [each for each in found.skills if path in (each.path, each.folder)] or [
        each for each in found.skills if each.name == name
    ]
    if not matches:
        broken = next(
            (each for each in found.problems if path in (each.path, str(Path(each.path).parent))),
            None,
        )
        if broken is not None:
            raise InputError(f"{broken.path} cannot be used: {broken.reason}")
        raise InputError(
            f"there is no skill {name!r}; `memorist skills list` shows those there are"
        )
    if len(matches) > 1:
        raise UsageError(
            f"{len(matches)} skills are called {name!r}; name one by its path: "
            f"{', '.join(each.path for each in matches)}"
        )
    (skill,) = matches
    if as_json:
        output.print_json(_skill_object(skill) | {"body": skill.body})
        return
    for key, value in _skill_object(skill).items():
        if value not in ("", [], {}, None):
            click.echo(replace_surrogates(f"{key}: {_format_value(value)}"))
    click.echo(replace_surrogates(f"\n{skill.body}"))


def _format_value(value: object) -> str:
    """Format a value of a row."""
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_format_value(each)}" for key, each in value.items())
    return ", ".join(map(_format_value, value)) if isinstance(value, list) else str(value)


def _skill_object(skill: Skill) -> dict[str, Any]:
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
        "interface": skill.interface.interface,
        "tools": list(skill.interface.tools),
        "further": skill.interface.extra,
        "listed": skill.listed,
        "mentionable": skill.mentionable,
        "remarks": list(skill.remarks),
    }


class _SkillifyOptions(Struct, frozen=True, kw_only=True):
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
@click.option(
    "--name", default="", help="Name of the skill. [default: made of the first commit or request]"
)
@click.option(
    "--description",
    default="",
    help="What the skill does, and when to take it. [default: the first request]",
)
@click.option(
    "--prompt",
    is_flag=True,
    help="Print the request for an agent with a model, which interviews the user, instead of "
    "the draft.",
)
@click.option(
    "--save",
    "saving",
    is_flag=True,
    help="Save the draft after it was shown; nothing is ever overwritten.",
)
@click.option(
    "--scope",
    type=click.Choice(["project", "user"]),
    default="project",
    show_default=True,
    help="Whose skills folder to save in.",
)
@click.option("--to", default="", help="Skills folder to save in, such as .claude/skills.")
@click.option("--yes", is_flag=True, help="Save without asking.")
@output.JSON_OPTION
def skills_skillify_command(**options: object) -> None:
    """Draft a skill from a session, without a model: what was changed and run with success, in
    order, and what failed.

    SESSION is its id, the start of its id, its folder, or a recorded session file. The draft is
    shown, and saved only with --save.

    Example: memorist skills skillify 1a2b3c4d --name mend-totals
    """
    call = convert_value(options, _SkillifyOptions)
    if call.name and not is_skill_name(call.name):
        raise UsageError(
            f"{call.name!r} cannot be a skill's name: use lowercase letters, digits and single "
            f"hyphens, at most 64"
        )
    if call.saving and call.prompt:
        raise UsageError(
            "--prompt prints a request for an agent, which saves the skill itself; leave --save out"
        )
    if call.saving and not call.yes and (call.as_json or not sys.stdin.isatty()):
        raise UsageError(
            "nobody can be asked here; look at the draft without --save first, then say --save "
            "--yes"
        )
    found = _load_material(call.session)
    draft = build_skill_skeleton(
        found.ledger, found.user_messages, name=call.name, description=call.description
    )
    if call.prompt:
        text = render_skill_interview(
            draft, found.notes, found.user_messages, load_skill_prompts(), call.description
        )
        output.print_json({"name": draft.name, "prompt": text}) if call.as_json else click.echo(
            replace_surrogates(text)
        )
        return
    if not call.as_json:
        click.echo(replace_surrogates(draft.text.rstrip("\n")))
        for remark in draft.remarks:
            click.echo(f"memorist: {remark}", err=True)
    path = _save_draft(draft, call) if call.saving else None
    if call.as_json:
        output.print_json(
            {
                "name": draft.name,
                "text": draft.text,
                "remarks": list(draft.remarks),
                "saved": str(path) if path else None,
            }
        )


def _save_draft(draft: SkillDraft, call: _SkillifyOptions) -> Path:
    locations = find_skill_base_folders(
        Path.cwd(), read_environment(), load_project_settings().home
    )
    folder = (
        Path(call.to).expanduser().absolute()
        if call.to
        else find_drafts_folder(locations, call.scope)
    )
    if not call.yes:
        click.confirm(f"Save this as {folder / draft.name / 'SKILL.md'}?", abort=True)
    path = save_skill_draft(draft, folder, DiskFiles())
    if not call.as_json:
        click.echo(f"saved: {path}")
    return path


def _load_material(session: str) -> SkillMaterial:
    """Load the material of a session given by its id, the start of its id, its folder or
    its file.
    """
    found = find_recorded_session(load_home_layout(), session)
    notes = read_if_exists(DiskFiles(), found.layout.notes) if found.layout else None
    return read_skill_material(found.path, (notes or b"").decode("utf-8", "replace"))

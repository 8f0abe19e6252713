"""Saving a drafted skill where agents find it (SK-3)."""

from __future__ import annotations

from pathlib import Path

from memorist.errors import InputError, StoreError
from memorist.ports import FileSystem
from memorist.skills.skill_file import SKILL_FILE
from memorist.skills.skill_roots import SkillBaseFolders
from memorist.skills.skillify import SkillDraft, is_skill_name


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

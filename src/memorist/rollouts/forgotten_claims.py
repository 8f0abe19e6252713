"""What past sessions say and the user had taken out of memory: no part of the memory of past
sessions. The sessions themselves keep it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from memorist.auto_memory.interop.codex_memory import GROUP_PREFIX, parse_absolute_folders
from memorist.auto_memory.memory_location import resolve_project_memory_layout
from memorist.auto_memory.removed_memories import ForgottenStatements, read_forgotten_statements
from memorist.rollouts.handbook import EVERYWHERE
from memorist.rollouts.handbook_parser import parse_handbook_entry
from memorist.settings import AutoMemorySettings
from memorist.store.home_layout import Layout

_BULLET = re.compile(r"(?P<indent>\s*)- (?:(?:desc|learnings): )?(?P<text>\S.*)\Z")
_GROUP = re.compile(rf"(?:# {GROUP_PREFIX} (?P<group>\S.*)|#{{3,4}} (?P<place>{EVERYWHERE}|/.*))\Z")

ForgottenIn = Callable[[str], ForgottenStatements]
"""What was taken out of the memories of the folders that the title of a group names."""


class ForgottenClaimsReader:
    """Reads what the user took out, once for each folder. `project` counts for what holds
    everywhere.
    """

    def __init__(self, layout: Layout, settings: AutoMemorySettings, project: str = "") -> None:
        self._layout = layout
        self._settings = settings
        self._project = project
        self._known: dict[str, ForgottenStatements] = {}

    def read_forgotten_in_group(self, title: str) -> ForgottenStatements:
        """What was taken out of the memories that a group speaks of. Raises StoreError."""
        folders = parse_absolute_folders(title) or ((self._project,) if self._project else ())
        found = self._find_in_folder("")
        for folder in folders:
            found = found.merge_with(self._find_in_folder(folder))
        return found

    def _find_in_folder(self, folder: str) -> ForgottenStatements:
        """That of a project; of the user's own memory without one."""
        if folder not in self._known:
            self._known[folder] = read_forgotten_statements(
                resolve_project_memory_layout(self._layout, folder, self._settings)
                if folder
                else self._layout.user_memory_layout
            )
        return self._known[folder]


def blank_forgotten_claims(text: str, find: ForgottenIn) -> str:
    """Blank the entries of a handbook or a summary that state what was forgotten, with what is
    below them: the other lines keep their numbers.
    """
    title = ""
    """Of the group that a line stands in: what was forgotten is read where it holds a claim."""
    kept: list[str] = []
    above: int | None = None
    """Indent of the entry that was blanked last, while what is below it goes on."""
    for line in text.split("\n"):
        if group := _GROUP.match(line):
            title = group["group"] or group["place"]
        indent = len(line) - len(line.lstrip())
        if above is not None and line.strip() and indent <= above:
            above = None
        if above is None and _states_forgotten(line, title, find):
            above = indent
        kept.append(line if above is None else "")
    return "\n".join(kept)


def _states_forgotten(line: str, title: str, find: ForgottenIn) -> bool:
    bullet = _BULLET.match(line)
    if bullet is None:
        return False
    forgotten = find(title)
    text = parse_handbook_entry(bullet["text"], ()).text if forgotten.keys else ""
    name = text.partition(": ")[0].removesuffix(":")
    return forgotten.is_any_stated_in(text) or forgotten.is_any_stated_in(name)

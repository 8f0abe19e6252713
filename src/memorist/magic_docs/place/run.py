"""Magic Docs on disk: resolving and finding them, checking the paths they name, and loading the
user's own prompt.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from memorist.errors import SettingsError, StoreError
from memorist.forks.permissions import path_problem
from memorist.magic_docs.header import find_header, is_markdown
from memorist.magic_docs.judge import named_paths
from memorist.magic_docs.prompt import Texts
from memorist.ports import Files
from memorist.prompts.load import load
from memorist.store.files import present
from memorist.store.layout import Layout

FILES_LOOKED_AT = 50_000
"""Files of a project that are searched for Magic Docs by name. Our choice."""

_VERSIONS = frozenset({".git", ".hg", ".svn"})
_NOT_OURS = frozenset({"node_modules", "site-packages", "vendor"})
"""Folders of third-party code."""


class Place(Struct, frozen=True, kw_only=True):
    """A Magic Doc that was found. `why` says why it is not updated; empty for one that is."""

    path: Path
    title: str = ""
    why: str = ""


class Ground(Struct, frozen=True, kw_only=True):
    """Where documents may be: inside the project, and not among memorist's own files in `home`."""

    files: Files
    project: Path
    home: Path
    max_bytes: int


def place_of(ground: Ground, asked: str) -> Path | str:
    """Resolve a document, or return why it is not updated: it must be a plain file inside the
    project, and no link may lead out. Raises StoreError.
    """
    problem = path_problem(asked)
    if problem:
        return problem
    files = ground.files
    root = files.resolve(ground.project)
    real = files.resolve(root / asked)
    facts = files.facts(real)
    checks = (
        (not real.is_relative_to(root), "it is not inside the project"),
        (real.is_relative_to(files.resolve(ground.home)), "it is one of memorist's own files"),
        (real.is_relative_to(root) and bool(_VERSIONS & set(real.relative_to(root).parts)), "it belongs to the version control"),
        (facts is None or not facts.is_file, "it is no file"),
        (facts is not None and facts.links > 1, "it has a second name elsewhere (a hard link)"),
    )
    return next((why for found, why in checks if found), real)


def looked(ground: Ground, asked: str) -> Place | None:
    """Return the Magic Doc at a path that was read; None for any other or unreadable file."""
    if path_problem(asked):
        return None
    named = ground.project / asked
    try:
        data = present(ground.files, named, limit=ground.max_bytes + 1)
        header = None if data is None else find_header(data.decode("utf-8", "replace"))
        if header is None:
            return None
        place = place_of(ground, asked)
    except StoreError:
        return None
    return Place(path=named, why=place) if isinstance(place, str) else Place(path=place, title=header.title)


def found_in(ground: Ground) -> list[Place]:
    """Return every Magic Doc of a project, by path, skipping hidden folders and third-party code.

    Raises StoreError and FileNotFoundError.
    """
    root = ground.files.resolve(ground.project)
    names = [
        name for name, _ in ground.files.scan(root, limit=FILES_LOOKED_AT) if is_markdown(name) and not _NOT_OURS & set(name.split("/"))
    ]
    return [place for name in names if (place := looked(ground, name)) is not None]


def missing(ground: Ground, path: Path, before: str, after: str) -> tuple[str, ...]:
    """Return paths that only the new text names, that begin in a folder of the project or next to
    the document, and that do not exist.
    """
    files = ground.files
    roots = (path.parent, files.resolve(ground.project))
    lost = []
    for name in named_paths(before, after):
        begins = [root for root in roots if (facts := files.facts(root / name.split("/")[0])) is not None and facts.is_folder]
        if begins and all(files.facts(root / name) is None for root in begins):
            lost.append(name)
    return tuple(lost)


def docs_texts(files: Files, layout: Layout) -> Texts:
    """Load our prompt, or the user's own from the home folder.

    Raises SettingsError for one that is not UTF-8.
    """
    found = present(files, layout.own_docs_prompt)
    try:
        own = None if found is None else found.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"your own text {layout.own_docs_prompt} is not UTF-8; save it as UTF-8") from error
    return Texts(
        prompt=own or load("magic_docs/update"),
        own_instruction=load("magic_docs/own_instruction"),
        refused=load("magic_docs/refused"),
        own=own is not None,
    )

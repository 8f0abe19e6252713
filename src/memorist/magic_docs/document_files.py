"""Magic Docs on disk: resolving and finding them, the user's own prompt, and which files a session
keeps as Magic Docs for a later process.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from memorist.core.prompt_templates import load_prompt
from memorist.errors import SettingsError, StoreError
from memorist.forks.fork_permissions import find_path_text_problem
from memorist.magic_docs.document_header import find_magic_doc_header, is_markdown
from memorist.magic_docs.document_prompt import MagicDocPrompts
from memorist.ports import FileSystem
from memorist.runtime import SessionContext
from memorist.store.disk_files import read_if_exists, read_json_if_valid, remove_temporary_leftovers
from memorist.store.home_layout import Layout

MAX_FILES_LISTED = 50_000
"""Files of a project that are searched for Magic Docs by name. Our choice."""


_VERSION_CONTROL_FOLDERS = frozenset({".git", ".hg", ".svn"})


_THIRD_PARTY_FOLDERS = frozenset({"node_modules", "site-packages", "vendor"})
"""Folders of third-party code."""


class MagicDocCandidate(Struct, frozen=True, kw_only=True):
    """A Magic Doc that was found. `why` says why it is not updated; empty for one that is."""

    path: Path
    title: str = ""
    why: str = ""


class DocumentLocationRules(Struct, frozen=True, kw_only=True):
    """Where documents may be: inside the project, and not among memorist's own files in `home`."""

    files: FileSystem
    project: Path
    home: Path
    max_bytes: int


def open_document_scope(context: SessionContext) -> DocumentLocationRules | None:
    """Where the documents of a session may be; None for one without a project, which has none."""
    runtime = context.runtime
    if context.project:
        return DocumentLocationRules(
            files=runtime.files,
            project=Path(context.project),
            home=runtime.layout.home,
            max_bytes=runtime.settings.magic_docs.max_bytes,
        )
    return None


def resolve_magic_doc_path(scope: DocumentLocationRules, path: str) -> Path | str:
    """Resolve a document, or return why it is not updated: it must be a plain file inside the
    project, and no link may lead out. Raises StoreError.
    """
    problem = find_path_text_problem(path)
    if problem:
        return problem
    files = scope.files
    root = files.resolve(scope.project)
    real = files.resolve(root / path)
    facts = files.lstat(real)
    checks = (
        (not real.is_relative_to(root), "it is not inside the project"),
        (real.is_relative_to(files.resolve(scope.home)), "it is one of memorist's own files"),
        (
            real.is_relative_to(root)
            and bool(_VERSION_CONTROL_FOLDERS & set(real.relative_to(root).parts)),
            "it belongs to the version control",
        ),
        (facts is None or not facts.is_file, "it is no file"),
        (facts is not None and facts.links > 1, "it has a second name elsewhere (a hard link)"),
    )
    return next((why for found, why in checks if found), real)


def find_document_at_path(scope: DocumentLocationRules, path: str) -> MagicDocCandidate | None:
    """Return the Magic Doc at a path that was read; None for any other or unreadable file."""
    if find_path_text_problem(path):
        return None
    named = scope.project / path
    try:
        data = read_if_exists(scope.files, named, limit=scope.max_bytes + 1)
        header = None if data is None else find_magic_doc_header(data.decode("utf-8", "replace"))
        if header is None:
            return None
        location = resolve_magic_doc_path(scope, path)
    except StoreError:
        return None
    if isinstance(location, str):
        return MagicDocCandidate(path=named, why=location)
    return MagicDocCandidate(path=location, title=header.title)


def is_document_file_nonempty(scope: DocumentLocationRules, path: str) -> bool:
    """Whether there is a file with any text at a path that was read, or no document can be."""
    if find_path_text_problem(path):
        return True
    try:
        root = scope.files.resolve(scope.project)
        if not scope.files.resolve(root / path).is_relative_to(root):
            return True
        data = read_if_exists(scope.files, scope.project / path, limit=scope.max_bytes + 1)
    except StoreError:
        return True
    return bool((data or b"").strip(b"\0 \t\r\n"))


def find_magic_docs(scope: DocumentLocationRules) -> list[MagicDocCandidate]:
    """Return every Magic Doc of a project, by path, skipping hidden folders and third-party code.

    Raises StoreError and FileNotFoundError.
    """
    root = scope.files.resolve(scope.project)
    names = [
        name
        for name, _ in scope.files.scan(root, limit=MAX_FILES_LISTED)
        if is_markdown(name) and not _THIRD_PARTY_FOLDERS & set(name.split("/"))
    ]
    return [
        document for name in names if (document := find_document_at_path(scope, name)) is not None
    ]


def load_magic_doc_prompts(files: FileSystem, layout: Layout) -> MagicDocPrompts:
    """Load our prompt, or the user's own from the home folder.

    Raises SettingsError for one that is not UTF-8.
    """
    found = read_if_exists(files, layout.user_docs_prompt)
    try:
        own = None if found is None else found.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(
            f"your own text {layout.user_docs_prompt} is not UTF-8; save it as UTF-8"
        ) from error
    return MagicDocPrompts(
        prompt=own or load_prompt("magic_docs/update"),
        own_instruction=load_prompt("magic_docs/own_instruction"),
        refused=load_prompt("magic_docs/refused"),
        form=load_prompt("magic_docs/form"),
        is_user_prompt=own is not None,
    )


STALE_TEMPORARY_SECONDS = 3_600.0
"""Age from which a temporary file belongs to no running write. Our choice, as in `memorist
doctor`.
"""


class SessionDocumentRegistry:
    """The list of one session; without a path nothing is saved.

    If the disk refuses, the list is lost, but no turn fails.
    """

    def __init__(self, files: FileSystem, path: Path | None) -> None:
        self._files = files
        self._path = path

    def load(self) -> tuple[str, ...]:
        """Return the paths as they were read; empty if there is no list or it is unreadable."""
        return () if self._path is None else read_registered_paths(self._files, self._path)

    def save(self, paths: Iterable[str]) -> None:
        """Save the list if it changed."""
        now = tuple(paths)
        if self._path is not None and now != self.load():
            with contextlib.suppress(StoreError):
                self._files.write(self._path, msgspec.json.encode(now))

    def remove_old_temporary_files(self, document: Path, now: float) -> None:
        """Delete temporary files that a killed writer left next to a document at least an
        hour ago.
        """
        with contextlib.suppress(StoreError):
            remove_temporary_leftovers(document.parent, before=now - STALE_TEMPORARY_SECONDS)


def read_registered_paths(files: FileSystem, path: Path) -> tuple[str, ...]:
    """Read the paths of a list."""
    with contextlib.suppress(StoreError):
        return read_json_if_valid(files, path, tuple[str, ...]) or ()
    return ()

"""The Magic Docs of a project, and what is wrong with one: why it is not kept, secrets, planted
orders, paths that lead nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from memorist.magic_docs.document_files import (
    DocumentLocationRules,
    find_document_at_path,
    find_magic_docs,
)
from memorist.magic_docs.document_header import find_magic_doc_header
from memorist.magic_docs.document_update_review import (
    find_new_paths,
    parse_updatable_magic_document,
)
from memorist.safety.hidden_characters import find_hidden_characters
from memorist.safety.prompt_injection import find_injection_rules
from memorist.safety.secrets import find_secrets


class MagicDocReport(Struct, frozen=True, kw_only=True):
    """A Magic Doc of a project; `problems` say why it is not kept, or what is wrong with it."""

    path: str
    title: str = ""
    instruction: str = ""
    bytes: int = 0
    problems: tuple[str, ...] = ()


def list_magic_docs(scope: DocumentLocationRules) -> list[MagicDocReport]:
    """List every Magic Doc of a project, by path, each with the reason why it is not kept, if any.

    Raises StoreError.
    """
    found = []
    for document in find_magic_docs(scope):
        data = scope.files.read(document.path)
        unreadable = parse_updatable_magic_document(data, scope.max_bytes)
        reasons = (document.why, unreadable if isinstance(unreadable, str) else "")
        found.append(_report(document.path, data, tuple(filter(None, reasons))))
    return found


def check_magic_docs(
    scope: DocumentLocationRules, paths: Iterable[Path] = ()
) -> list[MagicDocReport]:
    """Check files as Magic Docs, or all Magic Docs of a project; paths are absolute.

    Raises StoreError.
    """
    return [
        _check_document(scope, path)
        for path in tuple(paths) or [document.path for document in find_magic_docs(scope)]
    ]


def _check_document(scope: DocumentLocationRules, path: Path) -> MagicDocReport:
    try:
        data = scope.files.read(path)
    except FileNotFoundError:
        return MagicDocReport(path=str(path), problems=("it is not there",))
    document = find_document_at_path(scope, str(path))
    missing = find_new_missing_paths(scope, path, "", data.decode("utf-8", "replace"))
    problems = (
        document.why if document is not None else "",
        *find_document_content_problems(data, scope.max_bytes),
        *(f"it names {name}, which is not there" for name in missing),
    )
    return _report(path, data, tuple(filter(None, problems)))


def _report(path: Path, data: bytes, problems: tuple[str, ...]) -> MagicDocReport:
    header = find_magic_doc_header(data.decode("utf-8", "replace"))
    title, instruction = ("", "") if header is None else (header.title, header.instruction)
    return MagicDocReport(
        path=str(path), title=title, instruction=instruction, bytes=len(data), problems=problems
    )


def find_new_missing_paths(
    scope: DocumentLocationRules, path: Path, before: str, after: str
) -> tuple[str, ...]:
    """Return paths that only the new text names, that begin in a folder of the project or next to
    the document, and that do not exist.
    """
    files = scope.files
    roots = (path.parent, files.resolve(scope.project))
    lost = []
    for name in find_new_paths(before, after):
        begins = [
            root
            for root in roots
            if (facts := files.lstat(root / name.split("/")[0])) is not None and facts.is_folder
        ]
        if begins and all(files.lstat(root / name) is None for root in begins):
            lost.append(name)
    return tuple(lost)


def find_document_content_problems(data: bytes, max_bytes: int) -> tuple[str, ...]:
    """Return why it is not kept up to date, or what a reader should not find in it; nothing for a
    sound one.
    """
    found = parse_updatable_magic_document(data, max_bytes)
    if isinstance(found, str):
        return (found or "it has no header; a Magic Doc has a line `# MAGIC DOC: title`",)
    secrets = sorted({finding.rule for finding in find_secrets(found.text)})
    signs = sorted(find_injection_rules(found.text))
    checks = (
        (
            bool(secrets),
            f"it holds what looks like a secret ({', '.join(secrets)}); take it out, and "
            f"change the key",
        ),
        (
            bool(signs),
            f"it reads in part like an order planted for an agent ({', '.join(signs)}); say it "
            f"in other words",
        ),
        (
            bool(find_hidden_characters(found.text)),
            "it holds characters that cannot be seen; take them out",
        ),
    )
    return tuple(problem for wrong, problem in checks if wrong)

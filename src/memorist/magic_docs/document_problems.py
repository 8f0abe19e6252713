"""What is wrong with a Magic Doc on disk: secrets, planted orders, paths that lead nowhere."""

from __future__ import annotations

from pathlib import Path

from memorist.magic_docs.document_check import find_new_paths, read_document
from memorist.magic_docs.document_files import DocumentScope
from memorist.safety.hidden_characters import find_hidden_characters
from memorist.safety.prompt_injection import find_injection_rules
from memorist.safety.secrets import find_secrets


def find_missing_paths(
    scope: DocumentScope, path: Path, before: str, after: str
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
            if (facts := files.facts(root / name.split("/")[0])) is not None and facts.is_folder
        ]
        if begins and all(files.facts(root / name) is None for root in begins):
            lost.append(name)
    return tuple(lost)


def find_document_problems(data: bytes, max_bytes: int) -> tuple[str, ...]:
    """Return why it is not kept up to date, or what a reader should not find in it; nothing for a
    sound one.
    """
    found = read_document(data, max_bytes)
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

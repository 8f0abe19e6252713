"""Lay out the sources of the site in build/site-source: the README as its start, the documents, and
pages that only the site has. `make site` runs it before mkdocs.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import memorist

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "build" / "site-source"
WAYS = re.compile(r"## Choose how to connect\n\n(.*?)\n\n## ", re.DOTALL)


def write_sources() -> None:
    """Make the folder anew."""
    shutil.rmtree(TARGET, ignore_errors=True)
    shutil.copytree(ROOT / "docs", TARGET, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for path in TARGET.rglob("*.md"):
        path.write_text(leave_repository_links(path.read_text("utf-8")), "utf-8")
    readme = leave_repository_links((ROOT / "README.md").read_text("utf-8").replace("(docs/", "("))
    ways = WAYS.search(readme)
    (TARGET / "index.md").write_text(readme, "utf-8")
    (TARGET / "way-in.md").write_text(
        f"# Choose how to connect\n\n{ways[1] if ways else ''}\n", "utf-8"
    )
    names = "\n\n".join(
        f"::: {getattr(memorist, name).__module__}.{name}"
        for name in memorist.__all__
        if not name.startswith("_")
    )
    (TARGET / "api.md").write_text(f"# Python API\n\n{names}\n", "utf-8")


def leave_repository_links(text: str) -> str:
    """Links to files outside the documents become plain words: the site does not hold them."""
    return re.sub(
        r"(?<!!)\[([^\]]+)\]\((?:\.\./)*(?:examples|CONTRIBUTING\.md|src|tests|benchmarks/|CHANGELOG\.md|SECURITY\.md|decisions\)|\.\./README)[^)]*\)?",
        r"\1",
        text,
    )


if __name__ == "__main__":
    write_sources()

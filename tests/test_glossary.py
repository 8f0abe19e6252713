"""Names keep to the glossary: the words that it replaces stand in no name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "memorist"

BANNED = {
    "anew", "attended", "beneath", "beside", "deeds", "desk", "ground", "hands", "heard", "lane",
    "means", "news", "reception", "resting", "somebody", "stood", "taken", "told", "took",
}  # fmt: skip
"""Words of a private vocabulary; each has a word of the field in docs/glossary.md."""


def words(name: str) -> set[str]:
    """The words of a name in snake case or camel case."""
    return set(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().split("_"))


def test_no_name_uses_a_private_word() -> None:
    """Modules, classes, functions and methods speak the words of the field."""
    names = [
        (path.relative_to(SOURCE).as_posix(), name)
        for path in sorted(SOURCE.rglob("*.py"))
        for name in [
            path.stem,
            *(
                node.name
                for node in ast.walk(ast.parse(path.read_text("utf-8")))
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            ),
        ]
    ]

    assert not [(path, name) for path, name in names if words(name) & BANNED]


def test_a_class_of_one_word_is_in_few_hands() -> None:
    """Most classes have two words or more, so that their name says of what they are."""
    classes = [
        node.name
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    single = [name for name in classes if len(words(name.lstrip("_"))) == 1]

    assert len(single) <= len(classes) * 0.15, sorted(single)

"""Names keep to the glossary: the words that it replaces stand in no name."""

from __future__ import annotations

import ast
import re

from support.source_tree import MODULES, classes, functions, name_of, nodes

BANNED = {
    "anew", "attended", "begun", "beneath", "beside", "deeds", "desk", "glance", "ground", "hands", "heard", "lane",
    "means", "news", "reception", "resting", "seal", "seals", "somebody", "stood", "taken", "told", "took",
}  # fmt: skip
"""Words of a private vocabulary; each has a word of the field in docs/glossary.md."""

BANNED_LOCALS = {"gone", "held", "made", "maker", "place", "places", "wish", "wishes"}
"""Names that say nothing of a value: a variable is called for what it holds (a position, a path, a result)."""


def words(name: str) -> set[str]:
    """The words of a name in snake case or camel case."""
    return set(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().split("_"))


def test_no_name_uses_a_private_word() -> None:
    """Modules, classes, functions and methods speak the words of the field."""
    names = [
        (name_of(path), name)
        for path in MODULES
        for name in [path.stem, *(node.name for node in (*classes(path), *functions(path)))]
    ]

    assert not [(path, name) for path, name in names if words(name) & BANNED]


def test_no_parameter_or_field_uses_a_private_word() -> None:
    """What a caller passes and what a record holds is named by the words of the field, too."""
    names = [
        (name_of(path), name)
        for path in MODULES
        for name in [
            *(node.arg for node in nodes(path) if isinstance(node, ast.arg)),
            *(
                each.target.id
                for node in classes(path)
                for each in node.body
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
            ),
        ]
    ]

    assert not [
        (path, name) for path, name in names if words(name) & BANNED or name in BANNED_LOCALS
    ]


def test_no_local_variable_uses_a_private_word() -> None:
    """Inside a function, too, a variable is named for what it holds."""
    names = [
        (name_of(path), node.id)
        for path in MODULES
        for function in functions(path)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]

    assert not [
        (path, name) for path, name in names if words(name) & BANNED or name in BANNED_LOCALS
    ]


def test_a_class_of_one_word_is_in_few_hands() -> None:
    """Most classes have two words or more, so that their name says of what they are."""
    found = [node.name for path in MODULES for node in classes(path)]
    single = [name for name in found if len(words(name.lstrip("_"))) == 1]

    assert len(single) <= len(found) * 0.15, sorted(single)

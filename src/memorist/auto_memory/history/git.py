"""The parts of the Git library (dulwich) that the history uses, imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memorist.core.later import late_module

if TYPE_CHECKING:
    from dulwich import errors, file, object_store, objects, pack, patch, repo
    from dulwich.objects import ObjectID
    from dulwich.refs import Ref
else:
    errors, file, object_store, objects, pack, patch, repo = (
        late_module(f"dulwich.{name}") for name in ("errors", "file", "object_store", "objects", "pack", "patch", "repo")
    )

__all__ = ["BRANCH", "KINDS", "errors", "file", "object_name", "object_store", "objects", "pack", "patch", "repo"]

KINDS = {"commit": 1, "tree": 2, "blob": 3}
"""Git's numbers of its object types: a change, a list of files, a file."""
BRANCH = cast("Ref", b"refs/heads/main")


def object_name(text: bytes) -> ObjectID:
    """Cast an object's id to the library's own type."""
    return cast("ObjectID", text)

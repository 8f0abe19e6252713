"""What the history uses of the library that reads and writes Git's files. The library is loaded when something is asked of the first history."""

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
"""Git's numbers of what it keeps: a change, a list of files, a file."""
BRANCH = cast("Ref", b"refs/heads/main")


def object_name(text: bytes) -> ObjectID:
    """The id of an object, as the library's type of its own."""
    return cast("ObjectID", text)

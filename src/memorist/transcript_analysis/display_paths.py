"""Paths as shown in notes: relative to the folder of the session. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from posixpath import commonpath

from memorist.core.plural import join_first

LONG_PATH_CHARACTERS = 64
"""Characters above which a path outside the session's folder is abbreviated to its end."""


SHOWN_PATH_PARTS = 3


def find_display_root(cwd: str, paths: Iterable[str]) -> str:
    """The folder that paths are shown relative to: the session's, or the common parent of its
    absolute paths.
    """
    if cwd:
        return cwd.rstrip("/\\")
    absolute = [path for path in paths if path.startswith("/")]
    if len(absolute) < 2:
        return ""
    common = commonpath(absolute)
    return common if common.count("/") >= 2 else ""


def join_display_paths(paths: Sequence[str], root: str, limit: int) -> str:
    """The first paths, as code, and how many there are besides."""
    return join_first([f"`{make_display_path(path, root)}`" for path in paths], limit)


def make_display_path(path: str, root: str) -> str:
    """The path relative to the root; any other path unchanged, a long one abbreviated to its last
    parts.
    """
    if root and path.startswith(root) and path[len(root) : len(root) + 1] in ("/", "\\"):
        return path[len(root) + 1 :]
    if len(path) > LONG_PATH_CHARACTERS and path.count("/") > SHOWN_PATH_PARTS and " " not in path:
        return "…/" + "/".join(path.rsplit("/", SHOWN_PATH_PARTS)[1:])
    return path.removeprefix("./")

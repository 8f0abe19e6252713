"""Git objects of the history, beside those that the Git library makes."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest
from dulwich.index import commit_tree
from dulwich.object_store import MemoryObjectStore
from dulwich.objects import Blob, ObjectID, RawObjectID, ShaFile
from hypothesis import given
from hypothesis import strategies as st

from memorist.auto_memory import git_objects
from memorist.auto_memory.git_objects import (
    TreeEditor,
    cast_to_object_id,
    find_blob_id,
    map_tree_paths_to_blob_ids,
)
from support.sweeps import examples

PATHS = st.sampled_from(["a.md", "a/b.md", "a/c.md", "a-b.md", "a.b/c.md", "b/c/d.md", "b/c/e.md"])
STEPS = st.lists(st.dictionaries(PATHS, st.none() | st.sampled_from(["x", "y"]), max_size=4))


def reader(store: MemoryObjectStore) -> Callable[[ObjectID], bytes]:
    """What reads an object of a store, whole."""
    return lambda id: store.get_raw(id)[1]


@examples(15, whole=60)
@given(STEPS, st.integers(1, 4))
def test_a_tree_edited_step_by_step_is_the_one_that_git_makes(
    steps: list[dict[str, str | None]], group: int
) -> None:
    """Whatever was there before: the same files, in the same order, with the same id; and its file
    holds that, however it was compressed in parts.
    """
    store, tree, files = _LooseStore(), None, dict[str, str]()
    editor = TreeEditor()
    for step in steps:
        blobs = {path: None if text is None else _blob_id(text) for path, text in step.items()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(git_objects, "_GROUP_ROWS", group)
            anew = TreeEditor().write_edited_tree(store, reader(store), tree, blobs)
            tree = editor.write_edited_tree(store, reader(store), tree, blobs)
        assert tree == anew  # by what it wrote last, and by the store alone
        files = {path: id for path, id in {**files, **blobs}.items() if id is not None}

    if tree is not None:
        assert map_tree_paths_to_blob_ids(reader(store), tree) == files
        for path in ["a.md", "a", "a/b.md", "a/b.md/c.md", "b", "b/c", "b/c/d.md", "d.md"]:
            assert (find_blob_id(reader(store), tree, path) or b"").decode() == files.get(path, "")
        rows = [
            (path.encode(), cast_to_object_id(id.encode()), 0o100644) for path, id in files.items()
        ]
        assert tree == commit_tree(store, rows)


def test_a_tree_that_is_cut_is_no_beginning_of_the_next_one() -> None:
    """What is missing would else be recorded as removed."""
    store = _CutStore()
    tree = TreeEditor().write_edited_tree(
        store, reader(store), None, {"a.md": _blob_id("x"), "b.md": _blob_id("y")}
    )

    with pytest.raises(ValueError, match="cut"):
        TreeEditor().write_edited_tree(store, reader(store), tree, {"a.md": None})


class _LooseStore(MemoryObjectStore):
    """Takes an object as it would stand in a file."""

    def add_object(self, obj: ShaFile) -> None:
        header, _, raw = zlib.decompress(obj.as_legacy_object()).partition(b"\0")
        assert header == b"%s %d" % (obj.type_name, len(raw))
        assert raw == obj.as_raw_string()
        super().add_object(obj)


class _CutStore(MemoryObjectStore):
    """Gives all but the end of what it has."""

    def get_raw(self, name: RawObjectID | ObjectID) -> tuple[int, bytes]:
        kind, raw = super().get_raw(name)
        return kind, raw[:-5]


def _blob_id(text: str) -> str:
    return Blob.from_string(text.encode()).id.decode()

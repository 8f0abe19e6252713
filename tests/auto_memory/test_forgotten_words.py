"""What the user took out of memory is known at a prompt without reading everything again."""

from __future__ import annotations

from functools import partialmethod
from pathlib import Path
from unittest.mock import Mock

import pytest

from memorist import Memorist
from memorist.auto_memory.memory_changes import ChangeReason, MemoryChange
from memorist.auto_memory.memory_history import FolderHistory
from memorist.auto_memory.removed_memories import ForgottenQuotesReader
from memorist.store.disk_files import DiskFiles


def _call(owner: object, counted: Mock, *given: object, **named: object) -> object:
    return counted(owner, *given, **named)


def test_forgotten_words_are_read_once_for_each_state_of_the_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt neither scans the folder for them nor reads the changes again, and what is forgotten
    meanwhile is known at the next.
    """
    read: list[Mock] = []
    with Memorist(home=tmp_path / "home") as engine:
        memory = engine.memory(str(tmp_path / "shop"))
        for text in ("Always round half to even.", "Never push to main."):
            memory.add(text)
        words = ForgottenQuotesReader(memory)
        assert not words.list_quotes()
        memory.forget(["always-round-half-to-even.md"])
        for owner, name in ((FolderHistory, "iter_changes"), (DiskFiles, "scan")):
            counted = Mock(side_effect=getattr(owner, name), name=name)
            monkeypatch.setattr(owner, name, partialmethod(_call, counted))
            read.append(counted)

        for _ in range(3):
            assert words.list_quotes() == {"Always round half to even."}
        assert [each.call_count for each in read] == [1, 0]

        change = MemoryChange(
            path="never-push-to-main.md",
            before=memory.folder.read_present_bytes("never-push-to-main.md"),
            after=None,
        )
        memory.write([change], ChangeReason(actor="user", what="forget"))
        assert words.list_quotes() == {"Always round half to even.", "Never push to main."}


def test_a_change_is_read_once_for_all_sessions_of_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first prompt of another session reads no change that an earlier one has read, and after
    a write only the new one.
    """
    with Memorist(home=tmp_path / "home") as engine:
        memory = engine.memory(str(tmp_path / "shop"))
        for text in ("Always round half to even.", "Never push to main."):
            memory.add(text)
        memory.forget(["always-round-half-to-even.md"])
        counted = Mock(side_effect=FolderHistory.read_change)
        monkeypatch.setattr(FolderHistory, "read_change", partialmethod(_call, counted))
        monkeypatch.setattr("memorist.auto_memory.memory_history._READ_CHANGES", {})

        for _ in range(3):
            assert ForgottenQuotesReader(memory).list_quotes() == {"Always round half to even."}
        assert counted.call_count == 3
        memory.forget(["never-push-to-main.md"])
        assert len(ForgottenQuotesReader(memory).list_quotes()) == 2
        assert counted.call_count == 4

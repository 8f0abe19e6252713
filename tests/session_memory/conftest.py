"""Made-up sessions, told call by call."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.core.messages import Message, Origin, TextBlock, ThinkingBlock, ToolResult, ToolUse
from memorist.session_memory.structural_notes import NotesBudget, render_structural_sections
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger


class Told:
    """A session that is told step by step; every text in it is kept, so that nothing can be
    invented unseen.
    """

    def __init__(self, cwd: str = "/home/dev/project") -> None:
        self.ledger = TranscriptLedger(cwd)
        self.words: list[str] = [cwd]
        self._calls = 0

    def _add(self, role: Any, origin: Origin, *blocks: Any) -> Told:
        self.ledger.add(
            Message(
                id=f"m{self.ledger.messages}",
                role=role,
                blocks=blocks,
                origin=origin,
                is_typed=origin is Origin.USER,
            )
        )
        return self

    def user(self, text: str) -> Told:
        self.words.append(text)
        return self._add("user", Origin.USER, TextBlock(text))

    def harness(self, text: str) -> Told:
        self.words.append(text)
        return self._add("user", Origin.INJECTED, TextBlock(text))

    def summary(self, text: str) -> Told:
        """A summary of what came before, as a client puts it."""
        self.words.append(text)
        return self._add("user", Origin.SUMMARY, TextBlock(text))

    def says(self, text: str) -> Told:
        self.words.append(text)
        return self._add("assistant", Origin.MODEL, TextBlock(text))

    def thinks(self, text: str) -> Told:
        self.words.append(text)
        return self._add("assistant", Origin.MODEL, ThinkingBlock(text))

    def calls(self, name: str, given: Any = None, *, arguments: str | None = None) -> Told:
        """A call that stays open until `answers`."""
        self._calls += 1
        self.words += [name, str(given), arguments or ""]
        self.words += _texts(given)
        return self._add(
            "assistant", Origin.MODEL, ToolUse(f"c{self._calls}", name, given or {}, arguments)
        )

    def answers(self, text: str, *, error: bool = False) -> Told:
        self.words.append(text)
        return self._add(
            "user", Origin.TOOL, ToolResult(f"c{self._calls}", (TextBlock(text),), is_error=error)
        )

    def runs(self, command: str, output: str = "", *, error: bool = False) -> Told:
        return self.calls("Bash", {"command": command}).answers(output, error=error)

    def edits(self, path: str, old: str, new: str) -> Told:
        given = {"file_path": path, "old_string": old, "new_string": new}
        return self.calls("Edit", given).answers(f"The file {path} has been updated successfully.")

    def notes(self, **budget: int) -> dict[str, str]:
        return render_structural_sections(self.ledger, NotesBudget(**budget) if budget else None)


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, each in value.items() for text in [str(key), *_texts(each)]]
    return (
        [text for each in value for text in _texts(each)]
        if isinstance(value, list)
        else [str(value)]
    )


@pytest.fixture
def session() -> Told:
    """A session in which nothing happened yet."""
    return Told()


@pytest.fixture
def told() -> type[Told]:
    """For tests that need several sessions."""
    return Told

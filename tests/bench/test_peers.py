"""The bench of memorist beside mem0 and LangMem: what it counts, and what its script answers."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from benchmarks.peers import (
    STATEMENTS,
    PeerStatement,
    StatementScript,
    has_fact,
    has_outdated,
    list_messages,
    measure,
)
from memorist.ports import Request
from memorist.testing.steps import CallTool, Say

CORRECTED = PeerStatement("CI is on A.", "A", "where?", "CI moved from A to B.", "B")


def test_forty_messages_hold_twenty_facts_and_five_corrections() -> None:
    """The conversation is the one that the document describes, and no question holds its answer."""
    statements = msgspec.json.Decoder(PeerStatement).decode_lines(STATEMENTS.read_bytes())
    assert len(list_messages(statements)) == 40
    assert sum(is_fact for _, is_fact in list_messages(statements)) == 25
    for each in statements:
        assert each.mark in each.said
        assert each.corrected in each.correction
        assert not each.mark or each.mark not in each.question


def test_only_the_correction_counts_as_found_and_only_what_it_replaced_as_outdated() -> None:
    """A result that says both what was and what is counts as found, and not as outdated."""
    assert has_fact(CORRECTED, ["CI moved from A to B."])
    assert not has_fact(CORRECTED, ["CI is on A."])
    assert has_outdated(CORRECTED, ["CI is on A.", "CI moved from A to B."])
    assert not has_outdated(CORRECTED, ["CI moved from A to B."])


def test_the_script_answers_each_asker_with_the_statement_word_for_word() -> None:
    """mem0 gets the fact as JSON, LangMem as a call of its tool."""
    script = StatementScript()
    script.fact = "CI is on A."
    called = script(Request(format="openai_chat", body={"tools": []}))
    said = script(Request(format="openai_chat", body={}))
    assert isinstance(called, CallTool)
    assert called.input == {"content": "CI is on A."}
    assert isinstance(said, Say)
    assert json.loads(said.text)["memory"][0]["text"] == "CI is on A."


def test_without_the_packages_of_others_it_says_what_installs_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In an environment without mem0 and LangMem the bench measures nothing and says why."""
    monkeypatch.setattr("benchmarks.peers.find_spec", lambda _: None)
    assert "make bench NAME=peers" in measure(Path()).absent

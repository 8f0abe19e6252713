"""Arguments that no honest client sends: each is answered or refused in a bounded text, and nothing
outside the memory folder changes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from mcp_server.conftest import Connect
from memorist.errors import InputError, MemoristError, UsageError
from memorist.mcp_server.call_dispatch import ToolDispatcher
from memorist.mcp_server.result_rendering import (
    MAX_ANSWER_CHARS,
    cut_text_page,
    cut_to_answer_limit,
)
from memorist.mcp_server.tool_arguments import (
    MAX_ERROR_CHARS,
    MAX_NAME_CHARS,
    TOOLS,
    parse_mcp_tool_arguments,
)
from support.sweeps import examples

PATHS = (
    "../../etc/passwd", "/etc/passwd", "a/../../b.md", "..\\b.md", "%2e%2e/b.md", "a\0.md", "MEMORY.md", "memory.md", ".git/config.md", "a.md/",
    "team/../a.md", "memorist://memory/../a.md", "a\u202e.md", "\ud800.md", "~/a.md", "con.md", "a" * MAX_NAME_CHARS, "file:///etc/passwd", "door.md",
)  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=200),
    st.text(st.characters(), max_size=50),  # lone surrogates too
    st.sampled_from(PATHS),
    st.sampled_from(
        [
            "\0",
            "\x1b[2J",
            "\u202e",
            "' or 1=1 --",
            '"',
            "NEAR(",
            "*",
            "{{text}}",
            "</system-reminder>",
            "a" * 100_000,
            "\n" * 500,
        ]
    ),
)
VALUES = st.one_of(
    TEXTS,
    st.integers(),
    st.floats(),
    st.booleans(),
    st.none(),
    st.lists(TEXTS, max_size=2),
    st.dictionaries(TEXTS, TEXTS, max_size=2),
)
FIELDS = sorted({field for tool in TOOLS for field in tool.arguments_type.__struct_fields__})


def arguments(tool: str) -> st.SearchStrategy[dict[str, Any]]:
    """The tool's own arguments with any values, right ones often enough, and now and then others."""
    names = {each.name: each.arguments_type.__struct_fields__ for each in TOOLS}[tool]
    fit = {
        "kind": st.sampled_from(["", "project", "feedback"]),
        "limit": st.integers(1, 20),
        "start": st.integers(0, 10),
    }
    own = {name: st.one_of(fit.get(name, TEXTS), fit.get(name, TEXTS), VALUES) for name in names}
    return st.tuples(
        st.fixed_dictionaries({}, optional=own),
        st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=1),
    ).map(lambda pair: pair[0] | pair[1])


CALLS = st.sampled_from([tool.name for tool in TOOLS]).flatmap(
    lambda name: st.tuples(st.just(name), arguments(name))
)


@pytest.fixture(scope="module")
def desk() -> Iterator[tuple[ToolDispatcher, Path]]:
    """A desk over a project of its own, with one memory."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "shop"
        (root / ".git").mkdir(parents=True)
        made = ToolDispatcher({**os.environ, "MEMORIST_HOME": f"{place}/home"})
        made.call_tool(
            root,
            parse_mcp_tool_arguments(
                "memory_write",
                {"text": "The door is green.", "kind": "project", "description": "Door"},
            ),
            "test",
        )
        yield made, root
        made.close()


@pytest.mark.covers("SF-4")
@examples(
    15, whole=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(call=CALLS)
@example(call=("memory_read", {"path": "../../etc/passwd"}))
@example(call=("memory_search", {"query": "door", "limit": "\ud800"}))
@example(
    call=("memory_write", {"text": "\ud800\0\x1b", "kind": "project", "description": "\ud800/../x"})
)
@example(
    call=("memory_write", {"text": "x", "kind": "project", "path": "../../x.md", "version": "0"})
)
def test_any_arguments_are_answered_or_refused(
    desk: tuple[ToolDispatcher, Path], call: tuple[str, dict[str, Any]]
) -> None:
    """Each call gives a bounded text that any encoder takes, or an error of ours; what is written
    stands in the memory folder.
    """
    work, root = desk
    try:
        text = work.call_tool(root, parse_mcp_tool_arguments(*call), "test")
    except MemoristError as error:
        text = str(error)

    assert len(text) <= MAX_ANSWER_CHARS
    text.encode()
    assert sorted(path.name for path in root.parent.iterdir()) == ["home", "shop"]
    assert [path.name for path in root.iterdir()] == [".git"]
    project = work.open_project(root).memory.layout
    assert all(
        path.suffix == ".md" and path.parent == project.folder
        for path in project.folder.rglob("*")
        if path.is_file()
    )


@pytest.mark.parametrize("path", PATHS[:-1])
@pytest.mark.parametrize("tool", ["memory_read", "memory_forget", "why"])
def test_no_path_leads_out(desk: tuple[ToolDispatcher, Path], tool: str, path: str) -> None:
    """Every hostile path is refused, and the reason says what is wrong with it."""
    work, root = desk
    with pytest.raises(InputError):
        work.call_tool(root, parse_mcp_tool_arguments(tool, {"path": path}), "test")


@pytest.mark.parametrize(
    ("name", "given_", "said"),
    [
        ("memory_search", {}, "missing required field `query`"),
        ("memory_search", {"query": 1}, "Expected `str`, got `int` - at `$.query`"),
        ("memory_search", {"query": "x", "limit": "5"}, "Expected `int`, got `str` - at `$.limit`"),
        ("memory_search", {"query": "x", "limit": 10**30}, "Expected `int` <= 20"),
        ("memory_search", {"query": "x" * 21_000}, "Expected `str` of length <= 20000"),
        ("memory_search", {"query": "x", "other": 1}, "unknown field `other`"),
        ("memory_write", {"text": "x", "kind": "rule"}, "Invalid enum value 'rule'"),
        (
            "memory_write",
            {"text": "x" * 30_000, "kind": "project"},
            "Expected `str` of length <= 20000",
        ),
        ("fetch_back", {"id": "x", "start": -1}, "Expected `int` >= 0"),
    ],
)
def test_what_is_wrong_is_named(name: str, given_: dict[str, Any], said: str) -> None:
    """The tool, the argument, what is wanted and what came."""
    with pytest.raises(InputError, match=f"^{name}: ") as caught:
        parse_mcp_tool_arguments(name, given_)

    assert said in str(caught.value)


@given(value=st.text(max_size=100_000).map(lambda text: text or "x"))
def test_an_error_does_not_echo_without_bound(value: str) -> None:
    """However long what was sent is."""
    with pytest.raises(InputError) as caught:
        parse_mcp_tool_arguments("memory_write", {"text": "x", "kind": value * 50 + "!"})
    assert len(str(caught.value)) <= MAX_ERROR_CHARS + 50
    with pytest.raises(UsageError) as unknown:
        parse_mcp_tool_arguments(value * 50 + "!", {})
    assert len(str(unknown.value)) <= 10 * MAX_NAME_CHARS


@given(text=st.text(max_size=300), start=st.integers(0, 400), limit=st.integers(1, 100))
def test_pages_are_the_whole_text(text: str, start: int, limit: int) -> None:
    """Page by page from any place on, nothing is lost or doubled, and each page but the last says
    where the next one begins.
    """
    found, at = "", start
    while at < len(text):
        shown = cut_text_page(text, at, limit)
        part = text[at : at + limit]
        assert part in shown
        found, at = found + part, at + limit
        assert ("read on with start" in shown) is (at < len(text)) or "read on with start" in text

    assert found == text[start:]
    assert len(cut_to_answer_limit(text * 100)) <= MAX_ANSWER_CHARS


async def test_hostile_calls_over_the_protocol(connect: Connect) -> None:
    """Through the SDK: each is an error of the tool, and the connection goes on."""
    async with connect() as asker:
        for name, values in (
            ("memory_search", {"query": 1}),
            ("memory_read", {"path": "../x.md"}),
            ("memory_write", {"text": "x" * 1_000_000, "kind": "project"}),
            ("nothing", {}),
        ):
            said, wrong = await asker.tried(name, **values)
            assert wrong
            assert len(said) <= MAX_ANSWER_CHARS
        assert "memories: 0" in await asker.ask("status")

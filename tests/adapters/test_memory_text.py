"""A memory file as an agent's memory tool sees it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.adapters.memory_tool import (
    ROOT,
    encode_file_keeping_provenance,
    format_size,
    insert_lines,
    parse_file_path,
    parse_memory_tool_path,
    render_folder,
    render_lines,
    render_lines_around,
    render_text_without_provenance,
    replace_once,
    split_lines_without_ends,
)
from memorist.auto_memory.memory_file import (
    Provenance,
    Trust,
    create_memory_file,
    parse_memory_file,
    with_provenance,
)
from memorist.errors import InputError

PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="\r"))
HOSTILE = st.lists(
    st.sampled_from(
        [
            "..",
            ".",
            "",
            "a",
            "notes",
            ".git",
            "x.md",
            "MEMORY.md",
            "%2e%2e",
            "%2F",
            "\\",
            "~",
            "．．",
            "\x00",
            "a ",
            "/etc/passwd",
            "\u202e",
        ]
    )
    | st.text(max_size=5),
    max_size=5,
).map("/".join)


@pytest.mark.covers("SF-2")
@given(
    path=HOSTILE,
    root=st.sampled_from(
        [ROOT, f"{ROOT}/", "/memoriesx/", "memories/", "", "/", "../memories/", f"{ROOT}/../"]
    ),
)
def test_no_path_leads_out(path: str, root: str) -> None:
    """A path is refused, or its file stands below the root: no step up, no hidden name, no sign
    that a system may take for another.
    """
    try:
        name = parse_file_path(root + path)
    except InputError:
        return

    parts = name.split("/")
    assert (root + path).startswith(f"{ROOT}/")
    assert all(part and not part.startswith(".") for part in parts)
    assert not set(name) & set("\\\0%\n")
    assert parts[-1].endswith(".md")
    assert parts[-1].casefold() != "memory.md"


@pytest.mark.covers("SF-2")
@pytest.mark.parametrize(
    "path",
    [
        "/memories/../secrets.md", "/memories/a/../../x.md", "/etc/passwd", "memories/a.md", "/memoriesa/b.md", "/memories/./a.md", "/memories//a.md",
        "/memories/%2e%2e/x.md", "/memories/a%2Fb.md", "/memories/..%5cx.md", "/memories/.hidden.md", "/memories/a\\b.md", "/memories/~/x.md",
        "/memories/a\x00.md", "/memories/a\n.md", "/memories/．．/x.md", "/memories/x.md ", "/memories/MEMORY.md", None, 5, ["/memories"],
    ],
)  # fmt: skip
def test_these_paths_are_refused_by_their_text(path: object) -> None:
    """The published tool's own warnings among them: traversal, its escaped forms, and what is not
    below the root.
    """
    with pytest.raises(InputError):
        parse_file_path(path)


def test_a_name_without_an_ending_gets_one() -> None:
    """The tool's models like `.txt` and `.xml`; a memory is Markdown. A sign at the end names a
    folder.
    """
    assert parse_file_path("/memories/progress.txt") == "progress.txt.md"
    assert parse_file_path("/memories/ci/build.md") == "ci/build.md"
    assert parse_memory_tool_path("/memories/ci/") == "ci"
    assert parse_memory_tool_path("/memories") == parse_memory_tool_path("/memories/") == ""


@given(text=PLAIN, trust=st.sampled_from(Trust))
def test_a_text_comes_back_as_it_was_written(text: str, trust: Trust) -> None:
    """The key that memorist keeps in the header is never seen and never lost, whether the text has
    a header of its own or not.
    """
    topic = with_provenance(
        parse_memory_file("x.md", encode_file_keeping_provenance("x.md", text, None)),
        Provenance(quote="as said", trust=trust, session="s"),
    )
    other = text + "\nmore"

    assert render_text_without_provenance(topic) == render_text_without_provenance(
        parse_memory_file("x.md", text.encode())
    )
    assert "memorist:" in topic.text()
    changed = parse_memory_file("x.md", encode_file_keeping_provenance("x.md", other, topic))
    if topic.document.front is not None and not topic.header_problem and not changed.header_problem:
        assert changed.provenance.trust is trust


def test_a_header_of_ones_own_stays() -> None:
    """Only memorist's key is left out."""
    topic = create_memory_file(
        "x.md",
        kind=None,
        name="x",
        description="about x",
        body="Text.",
        provenance=Provenance(trust=Trust.STATED),
    )

    assert (
        render_text_without_provenance(topic)
        == "---\nname: x\ndescription: about x\n---\n\nText.\n"
    )


@given(text=PLAIN, line=st.integers(-3, 30), new=PLAIN)
def test_lines_are_put_in_where_they_were_asked_for(text: str, line: int, new: str) -> None:
    """Those before and behind stay; a place that is not there is refused."""
    lines = split_lines_without_ends(text)
    if not 0 <= line <= len(lines):
        with pytest.raises(InputError, match="insert_line"):
            insert_lines(text, line, new)
        return

    made = insert_lines(text, line, new)

    assert made == "\n".join([*lines[:line], new.removesuffix("\n"), *lines[line:]]) + "\n"


@given(text=PLAIN, old=PLAIN, new=PLAIN)
def test_one_place_is_replaced_or_none(text: str, old: str, new: str) -> None:
    """Where the text stands more than once, nobody guesses which."""
    if text.count(old) != 1 or not old:
        with pytest.raises(InputError):
            replace_once(text, old, new)
        return

    made, line = replace_once(text, old, new)

    assert made == text.replace(old, new)
    assert line == text[: text.index(old)].count("\n") + 1


def test_a_view_has_line_numbers_and_ranges() -> None:
    """Six columns and a tab, as the tool's models know it; -1 is the end."""
    text = "a\nb\nc\n"

    assert render_lines(text, None) == "     1\ta\n     2\tb\n     3\tc"
    assert render_lines(text, [2, -1]) == "     2\tb\n     3\tc"
    assert render_lines(text, [2, 2]) == "     2\tb"
    assert (
        render_lines_around("\n".join("abcdefg"), 4)
        == "     2\tb\n     3\tc\n     4\td\n     5\te\n     6\tf"
    )
    for wrong in ([5, 6], [2, 1], [1], "1-2", [1, "2"], [True, 2]):
        with pytest.raises(InputError, match="view_range"):
            render_lines(text, wrong)


def test_a_long_file_is_cut_at_a_line() -> None:
    """With how much there is, and how to see the rest."""
    shown = render_lines("word\n" * 50_000, None)

    assert len(shown) < 101_000
    assert "50,000 lines" in shown


def test_a_folder_is_listed_two_levels_deep() -> None:
    """Sizes before paths, folders with the size of all that they hold."""
    files = [("a.md", 10), ("ci/b.md", 1_024), ("ci/deep/c.md", 512), ("ci/deep/er/d.md", 512)]

    assert render_folder("", files).splitlines() == [
        "2.0K\t/memories", "10B\t/memories/a.md", "2K\t/memories/ci/", "1K\t/memories/ci/b.md", "1K\t/memories/ci/deep/",
    ]  # fmt: skip
    assert render_folder("ci/deep", files).splitlines() == [
        "1K\t/memories/ci/deep", "512B\t/memories/ci/deep/c.md", "512B\t/memories/ci/deep/er/", "512B\t/memories/ci/deep/er/d.md",
    ]  # fmt: skip
    with pytest.raises(InputError, match="there is no"):
        render_folder("cd", files)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0B"),
        (1_023, "1023B"),
        (1_024, "1K"),
        (1_536, "1.5K"),
        (3 * 1_024**2, "3M"),
        (1_024**3, "1G"),
    ],
)
def test_sizes_are_short(size: int, text: str) -> None:
    """In the tool's units."""
    assert format_size(size) == text

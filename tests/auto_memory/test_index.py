"""The index and the manifest."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.auto_memory import memory_index
from memorist.auto_memory.memory_file import MemoryKind, Trust
from memorist.auto_memory.memory_index import (
    MemoryIndex,
    MemoryUsage,
    RankedHeaders,
    build_memory_index,
    list_pointer_targets,
    parse_pointer_target,
    render_index_line,
)
from memorist.auto_memory.memory_manifest import (
    DAY_SECONDS,
    MemoryHeader,
    is_memory_file,
    parse_memory_header,
    render_manifest,
    render_manifest_line,
)
from memorist.settings import AutoMemorySettings

NOW = 1_800_000_000.0


def head(
    path: str,
    *,
    days: float = 0.0,
    kind: MemoryKind | None = MemoryKind.PROJECT,
    description: str = "what it says",
    trust: Trust = Trust.DERIVED,
    status: str = "active",
) -> MemoryHeader:
    modified = NOW - days * DAY_SECONDS
    return MemoryHeader(
        path=path,
        name=path.removesuffix(".md"),
        description=description,
        kind=kind,
        modified=modified,
        size=100,
        trust=trust,
        status=status,
    )


def built(
    heads: list[MemoryHeader],
    present: str = "",
    *,
    settings: AutoMemorySettings | None = None,
    uses: dict[str, MemoryUsage] | None = None,
) -> MemoryIndex:
    ranked = RankedHeaders(heads, uses or {})
    return build_memory_index(ranked, present, now=NOW, settings=settings or AutoMemorySettings())


@pytest.mark.covers("AM-3")
def test_the_index_is_made_from_the_files() -> None:
    """What is new is added, what is gone is dropped, and the user's own lines, titles and hooks
    stay.
    """
    present = "# Mine\nRead this first.\n\n- [My title](a.md) — my hook\n- [Gone](gone.md) — old\n"

    index = built([head("a.md"), head("b.md", days=3)], present)

    assert (
        index.text
        == "# Mine\nRead this first.\n- [My title](a.md) — my hook\n- [b](b.md) — what it says\n"
    )


@pytest.mark.covers("AM-3")
def test_a_full_index_keeps_the_valuable_and_says_what_it_left_out() -> None:
    """The newest is not lost first: age decides against the old ones, use and the person's own
    words for them; the last line says how many there are.
    """
    heads = [head(f"m{number:03}.md", days=number * 10) for number in range(300)]
    heads += [
        head("loved.md", days=3_000),
        head("person.md", days=2_999, kind=MemoryKind.USER, trust=Trust.STATED),
    ]

    index = built(heads, uses={"loved.md": MemoryUsage(40, NOW - 5 * DAY_SECONDS)})

    assert index.lines <= 200
    assert {"m000.md", "m001.md", "loved.md", "person.md"} <= set(index.listed)
    assert index.left_out == len(heads) - len(index.listed)
    assert f"{index.left_out} memories do not fit" in index.text.splitlines()[-1]
    assert index.exceeded_limit == "lines"


@pytest.mark.covers("AM-3")
def test_building_again_changes_nothing() -> None:
    """The index of an index is the index; its own remark does not pile up."""
    heads = [head(f"m{number:03}.md", days=number) for number in range(250)]
    first = built(heads)

    assert built(heads, first.text) == first


@pytest.mark.covers("AM-3")
def test_the_users_own_lines_stay_in_the_file_however_many_they_are() -> None:
    """Those beyond half of the index went from the file, and so did links to what is no memory:
    pages, files of the project.
    """
    own = [
        "# Mine",
        "- [Style](https://example.com/style.md)",
        "- [API](../docs/api.md): read it first",
        *(f"line {number}" for number in range(150)),
    ]
    heads = [head(f"m{number:03}.md", days=number) for number in range(250)]
    first = built([*heads, head("a b.md")], "\n".join(own))

    assert [line for line in first.file_text.splitlines() if line in own] == own
    assert first.lines <= 200
    assert built([*heads, head("a b.md")], first.file_text) == first
    assert [*map(parse_pointer_target, own[:3])] == ["", "", ""]
    assert parse_pointer_target("- [a b](<a b.md>) — x") == "a b.md"


@pytest.mark.covers("AM-3")
@example([("a", ""), ("aa", "")], "0\r0", 3, 400)
@given(
    st.lists(
        st.tuples(st.from_regex(r"[abcé][abc/é]{0,7}", fullmatch=True), st.text(max_size=400)),
        max_size=60,
    ),
    st.text(max_size=2_000),
    st.integers(3, 40),
    st.integers(400, 4_000),
)
def test_no_index_is_over_its_limits(
    files: list[tuple[str, str]], present: str, lines: int, size: int
) -> None:
    """Whatever the files and the old index hold, the new one keeps lines and bytes, and every
    memory is listed or reported.
    """
    heads = [
        head(f"{name}.md", description=" ".join(said.split())) for name, said in dict(files).items()
    ]

    limits = AutoMemorySettings(index_lines=lines, index_bytes=size)
    index = built(heads, present, settings=limits)

    assert len(index.text.splitlines()) <= lines
    assert len(index.text.encode("utf-8", "replace")) <= size
    assert len(index.listed) + index.left_out == len(heads)
    assert bool(index.first_left_out) == bool(index.left_out)
    assert built(heads, index.file_text, settings=limits).file_text == index.file_text


def test_a_line_of_200_kilobytes_is_cut_to_its_pointer() -> None:
    """A title or hook that somebody made huge does not push the others out."""
    index = built([head("a.md"), head("b.md")], f"- [a](a.md) — {'x' * 200_000}\n")

    assert index.size < 1_000
    assert set(index.listed) == {"a.md", "b.md"}


def test_superseded_memories_get_no_line() -> None:
    """What another memory replaced is kept on disk and not shown."""
    assert built([head("old.md", status="superseded"), head("new.md")]).listed == ("new.md",)


def test_pointers_are_read_in_all_usual_forms() -> None:
    """Dash or star, any kind of dash before the hook, or none."""
    assert list_pointer_targets(
        "- [A](a.md) — x\n* [B](b.md) - y\n- [C](sub/c.md)\n- [D](./d.md): z\n[no](e.md)\n"
    ) == ("a.md", "b.md", "sub/c.md", "d.md")


@pytest.mark.covers("AM-6")
def test_the_manifest_lists_the_newest_files_with_what_is_known() -> None:
    """Type, path, time and description, parts that are missing left out, 200 at most, and the
    number of the others.
    """
    heads = [head("a.md", days=2), head("b.md", days=1, kind=None, description="")]

    assert (
        render_manifest(heads, AutoMemorySettings(scan_files=200))
        == "- b.md (2027-01-14T08:00:00Z)\n- [project] a.md (2027-01-13T08:00:00Z): what it says"
    )
    assert (
        render_manifest(heads, AutoMemorySettings(scan_files=1)).splitlines()[-1]
        == "(1 more, older or superseded, are not listed)"
    )


def test_a_time_outside_the_calendar_is_shown_somehow() -> None:
    """A clock that jumped to the year 60000 does not stop the manifest."""
    assert render_manifest_line(head("a.md", days=-40_000_000)).startswith("- [project] a.md (")
    assert head("a.md", days=-3).age_days(NOW) == 0


@pytest.mark.covers("AM-6")
def test_only_the_first_lines_are_read() -> None:
    """The head of a file of any size comes from its first 30 lines."""
    data = b"---\nname: a\ndescription: d\ntype: user\n---\n" + b"word\n" * 5_000

    found = parse_memory_header("a.md", data[:16_384], lines=30, modified=NOW, size=len(data))

    assert (found.name, found.description, found.kind) == ("a", "d", MemoryKind.USER)


@pytest.mark.parametrize(
    ("path", "memory"),
    [
        ("a.md", True),
        ("team/a.md", True),
        ("MEMORY.md", False),
        ("a.txt", False),
        (".git/a.md", False),
    ],
)
def test_what_a_memory_is(path: str, memory: bool) -> None:
    """Markdown files, but for the index and what is hidden."""
    assert is_memory_file(path) is memory


@pytest.mark.covers("AM-3")
@given(
    st.lists(
        st.tuples(
            st.floats(-1e4, 1e4) | st.sampled_from([0.0, 1.0]),
            st.sampled_from([MemoryKind.USER, MemoryKind.PROJECT]),
            st.sampled_from([Trust.STATED, Trust.DERIVED]),
            st.integers(0, 12),
        ),
        max_size=40,
    ),
    st.lists(st.floats(-1e4, 2e4), max_size=4),
)
def test_the_order_is_that_of_the_values_at_any_time(
    found: list[tuple[float, MemoryKind, Trust, int]], days: list[float]
) -> None:
    """One ranking serves every later moment, also where a clock jumps or memories were used: none
    stands behind one that is worth less by then, and among equals the newer stands first.
    """
    heads = [
        head(f"m{at}.md", days=ago, kind=kind, trust=trust)
        for at, (ago, kind, trust, _) in enumerate(found)
    ]
    uses = {
        each.path: MemoryUsage(count, each.modified + count)
        for each, (*_, count) in zip(heads, found, strict=True)
        if count
    }
    ranked = RankedHeaders(heads, {})

    for known in ({}, uses):
        ranked.usage = known
        for now in (NOW + day * DAY_SECONDS for day in days):
            order = [each.path for each in ranked.iter_ranked_at(now)]
            alone = {each.path: value_of(each, known, now) for each in heads}
            assert order == sorted(alone, key=alone.__getitem__)


def value_of(
    header: MemoryHeader, uses: dict[str, MemoryUsage], now: float
) -> tuple[float, float, str]:
    """What sorts one memory: its value at a time, the larger first, then its time and its path."""
    used = uses.get(header.path, MemoryUsage())
    latest = max(header.modified, used.last)
    value = 3.0 * 0.5 ** (max(0.0, now - latest) / DAY_SECONDS / 30)
    lasting = (1.0 if header.kind is MemoryKind.USER else 0.0) + min(3.0, used.count**0.5) / 2
    lasting += 0.5 if header.trust is Trust.STATED else 0.0
    return -(value + lasting), -min(latest, now), header.path


def test_an_index_that_is_shown_again_renders_and_reads_no_line_anew() -> None:
    """Each session of a process is shown the same lines: none is rendered or read a second time,
    and a line that stands in the file is not rendered to be thrown away.
    """
    heads = [head(f"again-{number}.md", description=f"what {number} says") for number in range(50)]
    first = built(heads)
    targets = [parse_pointer_target(line) for line in first.text.splitlines()]
    rendered, read = render_index_line.cache_info().misses, parse_pointer_target.cache_info().misses
    assert built(heads) == first
    assert [parse_pointer_target(line) for line in first.text.splitlines()] == targets
    own = first.text.replace("what 7 says", "what Ada says of 7")
    assert built([*heads[:7], head("again-7.md", description="new"), *heads[8:]], own).text == own
    assert render_index_line.cache_info().misses == rendered
    assert parse_pointer_target.cache_info().misses == read + 1  # the line about Ada


HEADS = st.builds(
    head,
    st.sampled_from([f"{name}.md" for name in "abcdef"]),
    days=st.sampled_from([-1.0, 0.0, 1.0, 40.0]),
    kind=st.sampled_from([MemoryKind.PROJECT, MemoryKind.USER]),
    trust=st.sampled_from([Trust.DERIVED, Trust.STATED]),
    status=st.sampled_from(["active", "active", "muted"]),
)


@given(
    st.lists(st.dictionaries(st.sampled_from("abcdef"), HEADS, max_size=6), max_size=5),
    st.integers(0, 8),
)
def test_memories_that_change_are_ranked_as_if_all_were_new(
    states: list[dict[str, MemoryHeader]], few: int
) -> None:
    """Whichever come, change and go, whether each is put into its place or all are sorted."""
    ranked = RankedHeaders((), {})
    kept: dict[str, MemoryHeader] = {}
    for state in states:
        kept |= {each.path: each for each in state.values()}
        heads = [*kept.values()][-4:]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(memory_index, "MAX_SINGLY_INSERTED_MEMORIES", few)
            ranked.set_headers(heads)

        for now in (NOW, NOW - 20 * DAY_SECONDS):
            assert [*ranked.iter_ranked_at(now)] == [*RankedHeaders(heads, {}).iter_ranked_at(now)]

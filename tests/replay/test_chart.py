"""The chart of the context over a session."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as some

from memorist.formats.transcript_format import SessionHead
from memorist.replay.context_chart import (
    MAX_DRAWN_POINTS,
    NARROW,
    WIDE,
    ChartSize,
    choose_axis_steps,
    describe_chart,
    reduce_chart_points,
    render_chart,
)
from memorist.replay.replay_results import (
    CompactionRecord,
    ContextPoint,
    NotesUpdateRecord,
    ReceiptTotals,
    ReplayedSessionRecord,
)
from memorist.views.view_formatting import format_compact

HOSTILE = '</title></svg><script>alert(1)</script>]]>" onload="alert(1)\u202e'


class Marks(HTMLParser):
    """The elements of a picture with their attributes, and the words in its titles, labels and
    description.
    """

    def __init__(self, picture: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: dict[str, list[str]] = {}
        self._open: list[tuple[str, str]] = []
        self.feed(picture)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        named = {name: value or "" for name, value in attrs}
        self.elements.append((tag, named))
        self._open.append((tag, named.get("class", "")))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element that holds nothing."""
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """Every element is closed in its turn."""
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        """Note words, by the element and by its parent's class."""
        if self._open and data.strip():
            parent = self._open[-2][1] if len(self._open) > 1 else ""
            self.words.setdefault(f"{parent} {self._open[-1][0]}".strip(), []).append(data)

    def of(self, kind: str) -> list[dict[str, str]]:
        """The attributes of the elements with this class."""
        return [named for _, named in self.elements if named.get("class") == kind]


def session(
    sizes: list[int],
    updates: tuple[NotesUpdateRecord, ...] = (),
    compactions: tuple[CompactionRecord, ...] = (),
) -> ReplayedSessionRecord:
    """A session whose context had these sizes."""
    return ReplayedSessionRecord(
        source="session.jsonl",
        head=SessionHead(session="s", format="claude_code"),
        records=len(sizes),
        skipped=(),
        mended=(),
        asides={},
        messages=len(sizes),
        turns=1,
        tokens_peak=max(sizes, default=0),
        points=tuple(ContextPoint(number, tokens) for number, tokens in enumerate(sizes, 1)),
        updates=updates,
        compactions=compactions,
        kinds={},
        files=(),
        commands=(),
        troubles=(),
        notes="",
        notes_path="",
        receipts=ReceiptTotals(),
        seconds=0.0,
    )


def update(index: int, tokens: int, why: str = "the context grew") -> NotesUpdateRecord:
    """An update of the notes after so many messages."""
    return NotesUpdateRecord(f"m{index}", index, index * 2, tokens, why, "structural", 900)


def marks(record: ReplayedSessionRecord, size: ChartSize = WIDE) -> Marks:
    """The chart, read."""
    return Marks(str(render_chart(record, "k", size)))


def line(picture: Marks) -> list[tuple[float, float]]:
    """The places that the line goes through."""
    return [
        (float(x), float(y))
        for x, y in (place.split(",") for place in picture.of("context")[0]["points"].split())
    ]


def diamonds(picture: Marks) -> list[tuple[float, float]]:
    """The middles of the diamonds; a path begins at its top, 6 above."""
    paths = [
        named["d"]
        for tag, named in picture.elements
        if tag == "path" and "l6,6 -6,6 -6,-6 z" in named["d"]
    ]
    places = [path.removeprefix("M").split(" ")[0].split(",") for path in paths]
    return [(float(x), float(y) + 6) for x, y in places]


sizes = some.lists(some.integers(0, 300_000), min_size=1, max_size=2_500)


@given(sizes=sizes, limit=some.integers(4, MAX_DRAWN_POINTS))
def test_thinning_keeps_the_ends_and_the_extremes_in_order(sizes: list[int], limit: int) -> None:
    """However few points are drawn, the first, the last, the peak and the lowest are among them."""
    points = session(sizes).points

    kept = reduce_chart_points(points, limit)

    assert len(kept) <= limit
    assert list(kept) == sorted(kept, key=lambda point: point.message)
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert max(point.tokens for point in kept) == max(sizes)
    assert min(point.tokens for point in kept) == min(sizes)


@given(
    sizes=some.lists(some.integers(0, 300_000), min_size=1, max_size=200),
    size=some.sampled_from([WIDE, NARROW]),
)
def test_nothing_is_drawn_outside_the_picture(sizes: list[int], size: ChartSize) -> None:
    """Whatever the sizes, every place of the line lies in the view."""
    picture = marks(session(sizes), size)

    assert picture.elements[0][1]["viewbox"] == f"0 0 {size.width} {size.height}"
    assert all(0 <= x <= size.width and 0 <= y <= size.height for x, y in line(picture))


def test_a_larger_context_stands_higher_and_a_later_message_further_right() -> None:
    """The axes run as a reader expects."""
    (x1, y1), (x2, y2), (x3, y3) = line(marks(session([10_000, 40_000, 20_000])))

    assert x1 < x2 < x3
    assert y2 < y3 < y1


def test_every_update_is_marked_where_it_happened() -> None:
    """An update's diamond lies on the line, at its message and size, and says which it is."""
    sizes = [1_000 * number for number in range(1, 61)]
    updates = tuple(update(index, 1_000 * index) for index in (10, 11, 12, 40, 60))

    picture = marks(session(sizes, updates))

    places = line(picture)
    assert diamonds(picture) == [places[each.index - 1] for each in updates]
    titles = picture.words["update title"]
    assert [title.split(",")[0] for title in titles] == [
        f"Update {number} after message {each.index}" for number, each in enumerate(updates, 1)
    ]
    assert all("the context grew" in title for title in titles)


def test_crowded_updates_keep_their_markers_and_lose_only_numbers() -> None:
    """On a narrow screen numbers may not run into each other; the diamonds stay."""
    updates = tuple(update(index, 1_000 * index) for index in range(1, 201))

    picture = marks(session([1_000 * number for number in range(1, 201)], updates), NARROW)

    labels = [float(named["x"]) for named in picture.of("label middle")]
    assert len(diamonds(picture)) == 200
    assert 5 < len(labels) < 60
    assert all(after - before >= 12 for before, after in pairwise(labels))


def test_a_compaction_is_a_labelled_line_across_the_picture() -> None:
    """What the recorded agent cut is told by a line and a label, not by a colour."""
    cut = CompactionRecord(2, 5, "auto", 150_000, 20_000)

    picture = marks(session([90_000, 150_000, 20_000], compactions=(cut,)))

    assert len(picture.of("compaction")) == 1
    assert picture.words["compaction text"] == ["C1"]
    assert picture.words["compaction title"] == [
        "Compaction 1 after message 2: 150,000 tokens before, 20,000 after; auto"
    ]


def test_the_start_size_is_a_line_of_its_own() -> None:
    """The threshold lies at its own height even when the context never came near it."""
    picture = marks(session([100, 200]))

    height = float(picture.of("threshold")[0]["y1"])
    assert 0 < height < min(y for _, y in line(picture))


def test_the_chart_tells_itself_in_words() -> None:
    """Who cannot see it hears the course, the peak, the updates and the compactions."""
    record = session(
        [5_000, 60_000, 12_000],
        (update(2, 60_000),),
        (CompactionRecord(2, 4, "manual", 60_000, 12_000),),
    )

    said = describe_chart(record)
    picture = marks(record)

    assert picture.words["chart desc"] == [said]
    assert picture.elements[0][1]["role"] == "img"
    assert picture.elements[0][1]["aria-labelledby"] == "k-title k-desc"
    for part in (
        "5,000",
        "12,000",
        "60,000 at message 2",
        "1 update of the notes, after message 2",
        "1 compaction",
    ):
        assert part in said


def test_a_session_without_sizes_has_no_chart() -> None:
    """Nothing known, nothing drawn."""
    assert render_chart(session([]), "k") == ""


def test_hostile_words_stay_words_in_the_titles() -> None:
    """A reason or a trigger with markup in it is shown, not obeyed."""
    record = session(
        [5_000, 60_000], (update(2, 60_000, HOSTILE),), (CompactionRecord(1, 2, HOSTILE, 1, 1),)
    )

    picture = marks(record)

    assert {tag for tag, _ in picture.elements} <= {
        "svg",
        "title",
        "desc",
        "g",
        "line",
        "text",
        "path",
        "polyline",
        "circle",
    }
    assert not [name for _, named in picture.elements for name in named if name.startswith("on")]
    assert "<script>alert(1)</script>" in "".join(picture.words["update title"])
    assert "\u202e" not in render_chart(record, "k")


@given(end=some.floats(1, 1e9), wanted=some.integers(3, 12))
def test_ticks_are_round_and_cover_the_axis(end: float, wanted: int) -> None:
    """From 0 to within one step of the end, and no more than were asked for."""
    ticks = choose_axis_steps(end, wanted)

    assert ticks[0] == 0
    assert 2 <= len(ticks) <= wanted + 1
    assert ticks[-1] <= end * (1 + 1e-6)
    assert end - ticks[-1] < ticks[1] * (1 + 1e-6)


def test_a_long_session_gives_a_small_picture() -> None:
    """Some thousands of points are drawn as a few hundred."""
    picture = render_chart(session([number * 7 % 90_000 for number in range(4_000)]), "k")

    assert len(line(Marks(str(picture)))) <= MAX_DRAWN_POINTS
    assert len(picture) < 60_000


@pytest.mark.parametrize(
    ("number", "said"),
    [(950, "950"), (2_500, "2.5k"), (999_949, "999.9k"), (999_950, "1M"), (1_250_000, "1.2M")],
)
def test_a_label_rounds_up_to_the_next_size(number: int, said: str) -> None:
    """999,950 was 1000k."""
    assert format_compact(number) == said

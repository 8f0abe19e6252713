"""Draw the size of the context over a session as an accessible SVG. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from markupsafe import Markup
from msgspec import Struct

from memorist.core.plural import join_first
from memorist.replay.replay_results import (
    CompactionRecord,
    ContextPoint,
    NotesUpdateRecord,
    ReplayedSessionRecord,
)
from memorist.settings import SessionMemorySettings
from memorist.views.view_formatting import (
    cut_text_and_count_missing,
    format_compact,
    format_count_with_noun,
    reveal_invisible_characters,
)

MAX_DRAWN_POINTS = 600
"""Points drawn; a screen has few more columns."""

START_TOKENS = SessionMemorySettings().start_tokens

_MAX_LISTED = 20
"""Updates that the description lists one by one."""


class ChartSize(Struct, frozen=True):
    """The size of a chart and its number of ticks, in SVG units (a letter is 13 high)."""

    width: int
    height: int
    ticks: int


WIDE = ChartSize(880, 320, 10)
NARROW = ChartSize(360, 280, 5)
"""For phones, so that letters keep their size."""


class ChartPlane(Struct, frozen=True):
    """Maps message numbers and token counts to coordinates.

    `messages` and `tokens` are the ends of the axes.
    """

    size: ChartSize
    messages: int
    tokens: float
    left: int = 48
    top: int = 26
    right: int = 14
    bottom: int = 40

    def x_of_message(self, message: float) -> float:
        """Horizontal coordinate of a message."""
        return self.left + (self.size.width - self.left - self.right) * message / self.messages

    def y_of_tokens(self, tokens: float) -> float:
        """Vertical coordinate of a token count."""
        return self.y_of_zero_tokens - (self.y_of_zero_tokens - self.top) * tokens / self.tokens

    @property
    def y_of_zero_tokens(self) -> int:
        """The vertical coordinate of zero tokens."""
        return self.size.height - self.bottom

    @property
    def axis_end_x(self) -> int:
        """The right end of the axes."""
        return self.size.width - self.right


def render_chart(
    session: ReplayedSessionRecord,
    key: str,
    size: ChartSize = WIDE,
    start_tokens: int = START_TOKENS,
) -> Markup:
    """Draw the chart; empty markup without data.

    `key` makes its ids unique on the page; notes begin at `start_tokens`.
    """
    if not session.points:
        return Markup()
    plane = _build_plane(session, size, start_tokens)
    parts = (
        *_grid(plane),
        *_threshold(plane, start_tokens),
        *_context_line(plane, reduce_chart_points(session.points)),
        *_compactions(plane, session.compactions),
        *_updates(plane, session.updates),
    )
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="img" aria-labelledby="{}-title {}-desc" '
        'xmlns="http://www.w3.org/2000/svg">\n'
        '<title id="{}-title">{}</title>\n<desc id="{}-desc">{}</desc>\n{}\n</svg>'
    ).format(
        size.width,
        size.height,
        key,
        key,
        key,
        "Size of the context over the session",
        key,
        describe_chart(session),
        Markup("\n").join(parts),
    )


def reduce_chart_points(
    points: Sequence[ContextPoint], limit: int = MAX_DRAWN_POINTS
) -> tuple[ContextPoint, ...]:
    """Reduce the points to at most `limit` (four or more), in order.

    The first and last stay, and of each stretch between them the lowest and the highest, so that no
    peak is lost.
    """
    if len(points) <= limit:
        return tuple(points)
    inner, stretches = points[1:-1], (limit - 2) // 2
    kept = [points[0]]
    for number in range(stretches):
        first, after = len(inner) * number // stretches, len(inner) * (number + 1) // stretches
        stretch = range(first, after)
        ends = {
            min(stretch, key=lambda at: inner[at].tokens),
            max(stretch, key=lambda at: inner[at].tokens),
        }
        kept += [inner[at] for at in sorted(ends)]
    return (*kept, points[-1])


def describe_chart(session: ReplayedSessionRecord) -> str:
    """Describe the chart in words, for screen readers."""
    first, last = session.points[0], session.points[-1]
    peak = max(session.points, key=lambda point: point.tokens)
    said = [
        f"From {first.tokens:,} tokens at message {first.message:,} to {last.tokens:,} at "
        f"message {last.message:,}.",
        f"The peak is {peak.tokens:,} at message {peak.message:,}.",
    ]
    if session.updates:
        updates = join_first([f"{update.index:,}" for update in session.updates], _MAX_LISTED)
        said.append(
            f"{format_count_with_noun(len(session.updates), 'update')} of the notes, after message "
            f"{updates}."
        )
    if session.compactions:
        said.append(f"{format_count_with_noun(len(session.compactions), 'compaction')}.")
    return " ".join(said)


def choose_axis_steps(end: float, wanted: int) -> tuple[float, ...]:
    """Round axis values from 0 up to `end`: at most `wanted` (three or more) steps of 1, 2 or 5
    times a power of ten.
    """
    power = 10.0 ** math.floor(math.log10(end / wanted))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power * wanted >= end)
    return tuple(step * number for number in range(math.floor(end / step + 1e-9) + 1))


def _build_plane(session: ReplayedSessionRecord, size: ChartSize, start_tokens: int) -> ChartPlane:
    marks = [update.index for update in session.updates] + [
        compaction.index for compaction in session.compactions
    ]
    heights = [point.tokens for point in session.points] + [
        update.tokens for update in session.updates
    ]
    return ChartPlane(
        size=size,
        messages=max(1, session.messages, session.points[-1].message, *marks),
        tokens=max(1, start_tokens, *heights)
        * 1.12,  # room for the number above a marker at the peak
    )


def _grid(plane: ChartPlane) -> Iterator[Markup]:
    for tokens in choose_axis_steps(plane.tokens, 5):
        y = plane.y_of_tokens(tokens)
        kind = "axis" if tokens == 0 else "grid"
        yield Markup('<line class="{}" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>').format(
            kind, plane.left, y, plane.axis_end_x, y
        )
        yield Markup('<text class="tick end" x="{}" y="{:.1f}">{}</text>').format(
            plane.left - 7, y + 4.5, format_compact(tokens)
        )
    for message in choose_axis_steps(plane.messages, plane.size.ticks):
        if message == int(message):
            x = plane.x_of_message(message)
            yield Markup('<text class="tick middle" x="{:.1f}" y="{}">{}</text>').format(
                x, plane.y_of_zero_tokens + 18, format_compact(message)
            )
    yield Markup('<text class="tick" x="2" y="12">tokens</text>')
    yield Markup('<text class="tick end" x="{}" y="{}">message</text>').format(
        plane.axis_end_x, plane.size.height - 5
    )


def _threshold(plane: ChartPlane, start_tokens: int) -> Iterator[Markup]:
    y = plane.y_of_tokens(start_tokens)
    yield Markup(
        '<g><title>Notes begin at {:,} tokens of context</title><line class="threshold" '
        'x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/></g>'
    ).format(start_tokens, plane.left, y, plane.axis_end_x, y)


def _context_line(plane: ChartPlane, points: Sequence[ContextPoint]) -> Iterator[Markup]:
    coordinates = [
        f"{plane.x_of_message(point.message):.1f},{plane.y_of_tokens(point.tokens):.1f}"
        for point in points
    ]
    first, last = points[0], points[-1]
    ends = (
        plane.x_of_message(first.message),
        plane.y_of_zero_tokens,
        plane.x_of_message(last.message),
        plane.y_of_zero_tokens,
    )
    yield Markup('<path class="area" d="M{:.1f},{} L{} L{:.1f},{} Z"/>').format(
        ends[0], ends[1], " ".join(coordinates), ends[2], ends[3]
    )
    yield Markup('<polyline class="context" points="{}"/>').format(" ".join(coordinates))
    yield Markup(
        '<circle class="last" cx="{:.1f}" cy="{:.1f}" r="3.5"><title>{}</title></circle>'
    ).format(
        plane.x_of_message(last.message),
        plane.y_of_tokens(last.tokens),
        f"At the end: {last.tokens:,} tokens at message {last.message:,}",
    )


def _compactions(plane: ChartPlane, compactions: Sequence[CompactionRecord]) -> Iterator[Markup]:
    labels = ChartLabelPlacer()
    for number, each in enumerate(compactions, 1):
        x = plane.x_of_message(each.index)
        sizes = f"{each.tokens_before:,} tokens before, {each.tokens_after:,} after"
        said = f"Compaction {number} after message {each.index:,}: {sizes}; {each.trigger}"
        yield Markup(
            '<g class="compaction"><title>{}</title><line x1="{:.1f}" y1="{}" x2="{:.1f}" '
            'y2="{}"/>{}</g>'
        ).format(
            _title_text(said),
            x,
            plane.top,
            x,
            plane.y_of_zero_tokens,
            labels.render_label_if_free(x, plane.top - 6, f"C{number}"),
        )


def _updates(plane: ChartPlane, updates: Sequence[NotesUpdateRecord]) -> Iterator[Markup]:
    labels, drawn = ChartLabelPlacer(), []
    for number, each in enumerate(updates, 1):
        x, y = plane.x_of_message(each.index), plane.y_of_tokens(each.tokens)
        said = (
            f"Update {number} after message {each.index:,}, line {each.line:,}: "
            f"{each.tokens:,} tokens of context; {each.why}"
        )
        drawn.append(labels.render_label_if_free(x, y - 11, str(number)))
        yield Markup(
            '<g class="update"><title>{}</title><path d="M{:.1f},{:.1f} l6,6 -6,6 -6,-6 z"/></g>'
        ).format(_title_text(said), x, y - 6)
    yield from drawn  # last, or the markers that follow would cover them


class ChartLabelPlacer:
    """Places labels from left to right; one that would overlap the one before is left out, since
    its marker has a title anyway.
    """

    def __init__(self) -> None:
        self._free = 0.0

    def render_label_if_free(self, x: float, y: float, text: str) -> Markup:
        """The label, or empty markup if it would overlap."""
        if x < self._free:
            return Markup()
        self._free = x + 8 * len(text) + 4
        return Markup('<text class="label middle" x="{:.1f}" y="{:.1f}">{}</text>').format(
            x, y, text
        )


def _title_text(text: str) -> str:
    return cut_text_and_count_missing(reveal_invisible_characters(text), 300)

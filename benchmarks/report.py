"""What a measurement found, as a table. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct


class BenchRow(Struct, frozen=True):
    """One line of a result: what was measured, the figure with its unit, and, where there is one,
    the goal and whether it was met.
    """

    what: str
    figure: float
    unit: str = ""
    goal: str = ""
    met: bool | None = None


class BenchResult(Struct, frozen=True):
    """One measurement. `absent` says why it could not be made, in one sentence; it has no rows
    then.
    """

    name: str
    rows: tuple[BenchRow, ...] = ()
    absent: str = ""


# Bars with their numbers, as an SVG that explains itself, in light and dark. Pure.


ROW, GAP, LEFT, BAR_PLOT_WIDTH = 24, 40, 230, 760
"""Heights and widths in the SVG's own units: a row, the room above a panel, the names, the picture.
"""

_BAR_STYLE = Markup(
    "text{font:13px "
    "system-ui,"
    "sans-serif;fill:#1f2328}.t{font-weight:600;font-size:15px}.s{fill:#59636e}.b{fill:#9aa7b4}.m{fill:#1a7f5a}"
    ".bg{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9198a1}.b{fill:#59636e}.m{fill:#3fb27f}.bg{fill:#0d1117}}"
)


class Bar(Struct, frozen=True):
    """One bar: its name, its length, what stands at its end, and whether it is the one to look
    at.
    """

    name: str
    value: float
    label: str
    marked: bool = False


class Panel(Struct, frozen=True):
    """Bars with a common scale under a heading."""

    heading: str
    bars: tuple[Bar, ...]


def draw_bar_plot(title: str, below: str, panels: Sequence[Panel]) -> str:
    """The panels, one below another; `below` says in a line what is shown. The description for
    readers of the text holds every number.
    """
    height = 64 + sum(GAP + ROW * len(panel.bars) for panel in panels)
    said = "; ".join(
        f"{panel.heading}: " + ", ".join(f"{bar.name} {bar.label}" for bar in panel.bars)
        for panel in panels
    )
    parts = [
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" '
            'role="img"><title>{}</title><desc>{}</desc>'
        ).format(BAR_PLOT_WIDTH, height, title, said),
        Markup('<style>{}</style><rect class="bg" width="{}" height="{}"/>').format(
            _BAR_STYLE, BAR_PLOT_WIDTH, height
        ),
        Markup(
            '<text class="t" x="16" y="28">{}</text><text class="s" x="16" y="48">{}</text>'
        ).format(title, below),
    ]
    top = 64
    for panel in panels:
        parts.append(
            Markup('<text x="16" y="{}" font-weight="600">{}</text>').format(
                top + 24, panel.heading
            )
        )
        parts += _bars(panel, top + GAP)
        top += GAP + ROW * len(panel.bars)
    return str(Markup("\n").join([*parts, Markup("</svg>")])) + "\n"


def _bars(panel: Panel, top: int) -> list[Markup]:
    longest = max((bar.value for bar in panel.bars), default=0.0) or 1.0
    made = []
    for index, bar in enumerate(panel.bars):
        y = top + ROW * index
        length = max(1, round((BAR_PLOT_WIDTH - LEFT - 90) * bar.value / longest))
        made.append(
            Markup(
                '<text x="{}" y="{}" text-anchor="end">{}</text><rect class="{}" x="{}" y="{}" '
                'width="{}" height="14" rx="2"/>'
            ).format(LEFT - 8, y + 12, bar.name, "m" if bar.marked else "b", LEFT, y + 1, length)
        )
        made.append(
            Markup('<text x="{}" y="{}">{}</text>').format(LEFT + length + 8, y + 12, bar.label)
        )
    return made


# Facts and spans against the budget, one line a way, as an SVG that explains itself, in light
# and dark. Pure.


WIDTH, HEIGHT = 880, 400
_PLOT = 300
"""Width of one plot."""

_TOP, _BOTTOM = 96, 320
_LEFTS = (56, 500)
_COLOURS = ("#9a6700", "#0969da", "#8250df", "#bc4c00", "#6e7781", "#1a7f37")
_STYLE = Markup(
    "text{font:13px "
    "system-ui,"
    "sans-serif;fill:#1f2328}.t{font-weight:600;font-size:15px}.s{fill:#59636e}.g{stroke:#d1d9e0}.bg{fill:#fff}"
    ".m{font-weight:600}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9198a1}.g{stroke:#3d444d}.bg{fill:#0d1117}}"
)


class PlotLine(Struct, frozen=True):
    """One way: its name, its shares (0 to 1) for each budget in both plots, and whether it is the
    one to look at.
    """

    name: str
    first: tuple[float, ...]
    second: tuple[float, ...]
    marked: bool = False


def draw_line_plot(
    title: str,
    below: str,
    names: tuple[str, str],
    budgets: Sequence[int],
    lines: Sequence[PlotLine],
) -> str:
    """Two plots side by side. The description for readers of the text holds every number."""
    said = "; ".join(
        f"{name}: "
        + ", ".join(f"{line.name} {_numbers(values)}" for line, values in _values(lines, at))
        for at, name in enumerate(names)
    )
    parts = [
        Markup(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" '
            'role="img"><title>{}</title><desc>{}</desc>'
        ).format(
            WIDTH,
            HEIGHT,
            title,
            f"At {', '.join(f'{budget:,}' for budget in budgets)} tokens. {said}.",
        ),
        Markup('<style>{}</style><rect class="bg" width="{}" height="{}"/>').format(
            _STYLE, WIDTH, HEIGHT
        ),
        Markup(
            '<text class="t" x="16" y="28">{}</text><text class="s" x="16" y="48">{}</text>'
        ).format(title, below),
    ]
    for at, name in enumerate(names):
        parts += _frame(_LEFTS[at], name, budgets)
        for number, (line, values) in enumerate(_values(lines, at)):
            parts += _curve(
                _LEFTS[at], values, _COLOURS[number % len(_COLOURS)], marked=line.marked
            )
    for number, line in enumerate(lines):
        x, y = 56 + 250 * (number % 3), 364 + 22 * (number // 3)
        parts.append(
            Markup(
                '<rect x="{}" y="{}" width="18" height="{}" fill="{}"/><text class="{}" x="{}" '
                'y="{}">{}</text>'
            ).format(
                x,
                y - 6,
                4 if line.marked else 2,
                _COLOURS[number % len(_COLOURS)],
                "m" if line.marked else "",
                x + 26,
                y,
                line.name,
            )
        )
    return str(Markup("\n").join([*parts, Markup("</svg>")])) + "\n"


def _values(lines: Sequence[PlotLine], at: int) -> list[tuple[PlotLine, tuple[float, ...]]]:
    return [(line, line.second if at else line.first) for line in lines]


def _numbers(values: Sequence[float]) -> str:
    return " ".join(f"{value:.2f}" for value in values)


def _frame(left: int, name: str, budgets: Sequence[int]) -> list[Markup]:
    parts = [
        Markup('<text x="{}" y="{}" font-weight="600">{}</text>').format(left, _TOP - 20, name)
    ]
    for tenth in (0, 25, 50, 75, 100):
        y = _y(tenth / 100)
        parts.append(
            Markup('<line class="g" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
                left, y, left + _PLOT, y
            )
        )
        parts.append(
            Markup('<text class="s" x="{}" y="{}" text-anchor="end">{} %</text>').format(
                left - 6, y + 4, tenth
            )
        )
    for number, budget in enumerate(budgets):
        x = _x(left, number, len(budgets))
        parts.append(
            Markup('<text class="s" x="{}" y="{}" text-anchor="middle">{}k</text>').format(
                x, _BOTTOM + 18, budget // 1000
            )
        )
    return parts


def _curve(left: int, values: Sequence[float], colour: str, *, marked: bool) -> list[Markup]:
    places = [(_x(left, number, len(values)), _y(value)) for number, value in enumerate(values)]
    points = " ".join(f"{x},{y}" for x, y in places)
    width = 4 if marked else 2
    parts = [
        Markup('<polyline points="{}" fill="none" stroke="{}" stroke-width="{}"/>').format(
            points, colour, width
        )
    ]
    for (x, y), value in zip(places, values, strict=True):
        parts.append(
            Markup('<circle cx="{}" cy="{}" r="{}" fill="{}"/>').format(x, y, width, colour)
        )
        if marked:
            parts.append(
                Markup('<text class="m" x="{}" y="{}" text-anchor="middle">{}</text>').format(
                    x, y - 9, f"{100 * value:.0f}"
                )
            )
    return parts


def _x(left: int, number: int, count: int) -> int:
    return left + 24 + round((_PLOT - 48) * number / max(1, count - 1))


def _y(value: float) -> int:
    return round(_BOTTOM - (_BOTTOM - _TOP) * value)

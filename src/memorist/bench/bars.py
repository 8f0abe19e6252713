"""Bars with their numbers, as an SVG that explains itself, in light and dark. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup
from msgspec import Struct

ROW, GAP, LEFT, WIDTH = 24, 40, 230, 760
"""Heights and widths in the SVG's own units: a row, the room above a panel, the names, the picture."""

_STYLE = Markup(
    "text{font:13px system-ui,sans-serif;fill:#1f2328}.t{font-weight:600;font-size:15px}.s{fill:#59636e}.b{fill:#9aa7b4}.m{fill:#1a7f5a}"
    ".bg{fill:#fff}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9198a1}.b{fill:#59636e}.m{fill:#3fb27f}.bg{fill:#0d1117}}"
)


class Bar(Struct, frozen=True):
    """One bar: its name, its length, what stands at its end, and whether it is the one to look at."""

    name: str
    value: float
    label: str
    marked: bool = False


class Panel(Struct, frozen=True):
    """Bars with a common scale under a heading."""

    heading: str
    bars: tuple[Bar, ...]


def picture(title: str, below: str, panels: Sequence[Panel]) -> str:
    """The panels, one below another; `below` says in a line what is shown. The description for readers of the text holds every number."""
    height = 64 + sum(GAP + ROW * len(panel.bars) for panel in panels)
    said = "; ".join(f"{panel.heading}: " + ", ".join(f"{bar.name} {bar.label}" for bar in panel.bars) for panel in panels)
    parts = [
        Markup('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img"><title>{}</title><desc>{}</desc>').format(
            WIDTH, height, title, said
        ),
        Markup('<style>{}</style><rect class="bg" width="{}" height="{}"/>').format(_STYLE, WIDTH, height),
        Markup('<text class="t" x="16" y="28">{}</text><text class="s" x="16" y="48">{}</text>').format(title, below),
    ]
    top = 64
    for panel in panels:
        parts.append(Markup('<text x="16" y="{}" font-weight="600">{}</text>').format(top + 24, panel.heading))
        parts += _bars(panel, top + GAP)
        top += GAP + ROW * len(panel.bars)
    return str(Markup("\n").join([*parts, Markup("</svg>")])) + "\n"


def _bars(panel: Panel, top: int) -> list[Markup]:
    longest = max((bar.value for bar in panel.bars), default=0.0) or 1.0
    made = []
    for index, bar in enumerate(panel.bars):
        y = top + ROW * index
        length = max(1, round((WIDTH - LEFT - 90) * bar.value / longest))
        made.append(
            Markup('<text x="{}" y="{}" text-anchor="end">{}</text><rect class="{}" x="{}" y="{}" width="{}" height="14" rx="2"/>').format(
                LEFT - 8, y + 12, bar.name, "m" if bar.marked else "b", LEFT, y + 1, length
            )
        )
        made.append(Markup('<text x="{}" y="{}">{}</text>').format(LEFT + length + 8, y + 12, bar.label))
    return made

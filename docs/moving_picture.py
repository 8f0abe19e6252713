"""Draw the moving picture of a first minute: real commands in the example of `console.py`, typed
and answered, as one SVG without scripts. It plays once; with reduced motion it shows its end.
"""

from __future__ import annotations

from html import escape

from console import ROOT, enter_example, run_command

TARGET = ROOT / "docs" / "pictures" / "first-minute.svg"
COMMANDS = (
    "memorist setup --yes",
    'memorist memory add --kind feedback "Use pnpm, never npm, in this repository"',
    'memorist recall "how do we install dependencies" --why',
    "memorist memory undo --yes",
)
COLUMNS = 84
MOST_LINES = 7
"""Lines that are shown of one command's output."""
ROW, COLUMN, MARGIN = 19, 7.9, 18
"""Height of a line, width of a character and margin, in pixels."""
TYPING, READING = 1.2, 1.6
"""Seconds for a command to be typed, and for its output to be read."""
STYLE = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; fill: #d9dee2; white-space: pre; }
.typed { fill: #ffffff; font-weight: 600; } .dim { fill: #a6adb4; } .good { fill: #7ed7a2; }
.line { animation: appear .01s both; } @keyframes appear { from { opacity: 0; } to { opacity: 1; } }
.cover { animation: type 1s steps(40) both; transform-origin: right; transform: scaleX(0); fill: #171b1f; }
@keyframes type { from { transform: scaleX(1); } to { transform: scaleX(0); } }
@media (prefers-reduced-motion: reduce) { .line, .cover { animation: none; } }
"""  # noqa: E501 - a style sheet


def run_example() -> list[tuple[str, list[str]]]:
    """Each command with what it prints."""
    with enter_example() as home:
        return [(line, run_command(line, home)) for line in COMMANDS]


def draw(steps: list[tuple[str, list[str]]]) -> str:
    """The picture."""
    drawn: list[str] = []
    at, y = 0.0, MARGIN + ROW
    for command, output in steps:
        words = f"$ {command}"
        drawn.append(
            f'<g class="line" style="animation-delay:{at:.1f}s">'
            f'<text x="{MARGIN}" y="{y}" class="typed">{escape(words)}</text>'
            f'<rect class="cover" x="{MARGIN + 2 * COLUMN:.0f}" y="{y - 14}" '
            f'width="{len(words) * COLUMN:.0f}" height="{ROW}" style="animation-delay:{at:.1f}s"/>'
            "</g>"
        )
        at += TYPING
        for line in [each for each in output if each.strip()][:MOST_LINES]:
            y += ROW
            kind = "good" if line.startswith(("✓", "remembered", "taken back")) else "dim"
            shown = line if len(line) <= COLUMNS else f"{line[: COLUMNS - 1]}…"
            drawn.append(
                f'<text x="{MARGIN}" y="{y}" class="line {kind}" '
                f'style="animation-delay:{at:.1f}s">{escape(shown)}</text>'
            )
        at += READING
        y += round(1.5 * ROW)
    width, height = round(COLUMNS * COLUMN + 2 * MARGIN), y
    title = "memorist in a terminal: set up, told a rule, asked why it shows it, and taken back"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{title}"><title>{title}</title><style>{STYLE}</style>'
        f'<rect width="{width}" height="{height}" rx="8" fill="#171b1f"/>{"".join(drawn)}</svg>\n'
    )


if __name__ == "__main__":
    TARGET.write_text(draw(run_example()), "utf-8")

"""Load the templates of the report from the package."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

NAMES = ("report.html.j2", "session.html.j2", "tables.html.j2", "report.css")


@cache
def texts() -> dict[str, str]:
    """The text of each template and of the style sheet, by name."""
    folder = files("memorist.replay")
    return {name: folder.joinpath(name).read_text("utf-8") for name in NAMES}

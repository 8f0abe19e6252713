"""What a measurement found, as a table. Pure."""

from __future__ import annotations

from msgspec import Struct


class Row(Struct, frozen=True):
    """One line of a result: what was measured, the figure with its unit, and, where there is one, the goal and whether it was met."""

    what: str
    figure: float
    unit: str = ""
    goal: str = ""
    met: bool | None = None


class Result(Struct, frozen=True):
    """One measurement. `absent` says why it could not be made, in one sentence; it has no rows then."""

    name: str
    rows: tuple[Row, ...] = ()
    absent: str = ""

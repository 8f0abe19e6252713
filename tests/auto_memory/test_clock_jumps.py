"""A clock that jumps years ahead and back, as a flat battery or a wrong time server make it: dates,
age, order and index.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auto_memory.conftest import memory
from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_file import MemoryKind, parse_memory_file
from memorist.auto_memory.memory_index import MemoryUsage, RankedHeaders, build_memory_index
from memorist.auto_memory.memory_manifest import (
    DAY_SECONDS,
    parse_memory_header,
    render_manifest_line,
)
from memorist.core.utc_time import format_utc_day, format_utc_timestamp
from memorist.recall.memory_rendering import render_memory
from memorist.recall.session_recall import load_recall_prompt_templates
from memorist.settings import AutoMemorySettings, RecallSettings
from memorist.store.disk_files import DiskFiles
from memorist.store.home_layout import MemoryLayout
from memorist.testing import FrozenClock

NOW = 1_780_000_000.0
YEARS = 20 * 365 * DAY_SECONDS


@pytest.fixture
def auto(where: MemoryLayout, clock: FrozenClock) -> Iterator[AutoMemory]:
    opened = AutoMemory(where, files=DiskFiles(), clock=clock, settings=AutoMemorySettings())
    yield opened
    opened.close()


def added(auto: AutoMemory, clock: FrozenClock, name: str, at: float) -> None:
    """A memory written while the clock said this, its file's own time included."""
    clock.set_wall(at)
    auto.add(
        f"The {name} valve opens to the left.",
        kind=MemoryKind.PROJECT,
        name=name,
        description=f"about the {name} valve",
    )
    os.utime(auto.layout.folder / f"{name}.md", (at, at))


@pytest.mark.covers("AM-10", "AM-2")
def test_order_is_that_of_the_changes_whatever_the_clock_said(
    auto: AutoMemory, clock: FrozenClock
) -> None:
    """Each memory has the date of the clock it was made by; the log goes by what came after what,
    and undo takes back the newest change.
    """
    added(auto, clock, "first", NOW)
    added(auto, clock, "second", NOW + YEARS)
    added(auto, clock, "third", NOW + 60)

    created = [
        auto.folder.read_memory_file(f"{name}.md").provenance.created
        for name in ("first", "second", "third")
    ]
    logged = [each for each in auto.folder.history.list_changes() if each.why.actor == "user"]

    assert created == [
        format_utc_timestamp(NOW),
        format_utc_timestamp(NOW + YEARS),
        format_utc_timestamp(NOW + 60),
    ]
    assert [each.paths[-1] for each in logged] == ["third.md", "second.md", "first.md"]
    assert [each.at for each in logged] == [NOW + 60, NOW + YEARS, NOW]
    assert auto.undo().paths[-1] == "third.md"
    assert auto.undo().paths[-1] == "second.md"
    assert [head.path for head in auto.headers()] == ["first.md"]


@pytest.mark.covers("RC-4", "AM-3")
def test_age_is_told_by_the_clock_of_the_moment(auto: AutoMemory, clock: FrozenClock) -> None:
    """Years ahead the memory is years old and says so; put back, it is of today again, as is one
    from the future.
    """
    added(auto, clock, "mill", NOW)
    added(auto, clock, "later", NOW + YEARS)
    texts, settings = load_recall_prompt_templates(), RecallSettings()
    heads = {head.path: head for head in auto.headers()}

    def shown(path: str, now: float) -> str:
        return render_memory(
            auto.folder.read_memory_file(path),
            heads[path],
            folder="/srv/memory",
            now=now,
            prompts=texts,
            settings=settings,
        ).text

    assert f"{20 * 365} days ago" in shown("mill.md", NOW + YEARS)
    assert "today" in shown("mill.md", NOW + 60)
    assert "days ago" not in shown("mill.md", NOW + 60)
    assert "today" in shown("later.md", NOW)
    assert "days ago" not in shown("later.md", NOW)
    assert auto.folder.indexes.read_text().count("valve") == 2


@pytest.mark.covers("AM-10", "SF-5")
@pytest.mark.parametrize("at", [-YEARS, 0.0, 4_102_444_800.0, 253_402_300_800.0, 1e12])
def test_a_clock_beyond_every_calendar_stops_nothing(
    auto: AutoMemory, clock: FrozenClock, at: float
) -> None:
    """Before 1970 and after the year 9999 memories are written, read, listed and taken back; a date
    that no calendar has is left out.
    """
    clock.set_wall(at)
    auto.add(
        "The mill valve opens to the left.",
        kind=MemoryKind.PROJECT,
        name="mill",
        description="about the mill",
    )
    clock.set_wall(NOW)
    auto.add(
        "The loom is blue.", kind=MemoryKind.PROJECT, name="loom", description="about the loom"
    )

    assert auto.folder.read_memory_file("mill.md").provenance.created == format_utc_timestamp(at)
    assert [head.path for head in auto.headers()] == ["loom.md", "mill.md"]
    assert [each.paths[-1] for each in auto.folder.history.list_changes()] == ["loom.md", "mill.md"]
    assert auto.undo().paths[-1] == "loom.md"


@given(st.floats() | st.integers(-200_000, 200_000))
def test_the_day_of_a_time_is_the_beginning_of_its_timestamp(at: float) -> None:
    """Also outside the calendar, and on both sides of the epoch."""
    assert format_utc_day(at) == format_utc_timestamp(at)[:10]


@pytest.mark.covers("AM-3", "RC-4")
@given(modified=st.floats(-1e11, 1e13), now=st.floats(-1e11, 1e13), last=st.floats(-1e11, 1e13))
def test_no_pair_of_times_breaks_index_or_age(modified: float, now: float, last: float) -> None:
    """Whatever file, ledger and clock say, age is a number of whole days from today on, the index
    has its line, and the manifest its date.
    """
    head = parse_memory_header("mill.md", memory("mill"), lines=30, modified=modified, size=100)
    made = build_memory_index(
        RankedHeaders([head], {"mill.md": MemoryUsage(1, last)}),
        "",
        now=now,
        settings=AutoMemorySettings(index_lines=10, index_bytes=1_000, index_line=150),
    )
    shown = render_memory(
        parse_memory_file("mill.md", memory("mill")),
        head,
        folder="/srv/memory",
        now=now,
        prompts=load_recall_prompt_templates(),
        settings=RecallSettings(),
    )

    assert head.age_days(now) == max(0, int((now - modified) // DAY_SECONDS))
    assert made.listed == ("mill.md",)
    assert render_manifest_line(head).startswith("- [project] mill.md (")
    assert "mill.md" in shown.text

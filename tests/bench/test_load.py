"""The proxy under load, in small."""

from __future__ import annotations

import pytest

from benchmarks.load import LoadSizes, load_rows, measure_load


@pytest.mark.slow
def test_every_request_of_several_agents_is_counted_and_none_is_lost() -> None:
    """Agents with tools, beside a larger first request: all are answered through the proxy, and
    the table tells how many and how late.
    """
    sizes = LoadSizes(
        agents=3,
        requests=2,
        many_agents=2,
        think_seconds=0.01,
        large_bytes=50_000,
        large_readings=1,
    )
    figures = measure_load(sizes)
    assert figures is not None
    rows = {row.what: row.figure for row in load_rows(figures)}

    assert rows["requests through the proxy"] >= 3 * 2 + 2 * 3
    assert rows["lost, broken or not read"] == 0

"""The bench of the proxy: a real proxy before a real server, and figures that can say that a goal
was missed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import proxy
from benchmarks.proxy import ProxyTimings, bare_server, converse, proxy_before, proxy_rows


@pytest.mark.slow
@pytest.mark.covers("IN-3")
def test_a_conversation_of_half_a_megabyte_goes_through_as_it_came(tmp_path: Path) -> None:
    """Each request is answered on all three ways, and none is changed by the proxy."""
    with bare_server() as upstream, proxy_before(upstream, tmp_path) as (port, process):
        assert port
        heard = converse(upstream, port, turns=5, before=lambda: proxy._processor(process))

    assert [len(found) for found in (heard.bare, heard.unread, heard.proxied)] == [5, 5, 5]
    assert heard.changed == 0
    assert all(450_000 < len(body) < 650_000 for body in proxy._bodies(200)[::199])


def test_a_goal_that_is_missed_is_told() -> None:
    """Four milliseconds more at the half, and twenty at the end, are too many; one and five are
    not.
    """
    few, many = (
        ProxyTimings([0.001] * 100, [0.001] * 100, [0.002] * 100),
        ProxyTimings([0.001] * 100, [0.001] * 100, [0.005] * 95 + [0.021] * 5, changed=1),
    )

    def met(heard: ProxyTimings) -> list[bool | None]:
        return [row.met for row in proxy_rows(heard) if row.goal]

    assert (met(few), met(many)) == ([True, True, True], [False, False, False])

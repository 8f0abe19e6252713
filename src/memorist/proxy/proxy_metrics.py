"""Figures of a running proxy in the text format of Prometheus (version 0.0.4). No label holds
anything of a client: no tenant, project, session or path. Pure.
"""

from __future__ import annotations

from collections import Counter

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Upper bounds in seconds of a request with its whole answer. Our choice: a model answers in
seconds to minutes.
"""
OUTCOMES = ("changed", "unchanged", "recovered", "passed")


class ProxyMetrics:
    """Counts since the proxy was started."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int, str]] = Counter()
        self._buckets = [0] * len(BUCKETS)
        self._seconds = 0.0

    def record_answer(self, upstream: str, status: int, outcome: str, seconds: float) -> None:
        """Count an answered request; `outcome` is what memorist did, in the words of its log."""
        kind = next((each for each in OUTCOMES if outcome.startswith(each)), "other")
        self._requests[upstream, status, kind] += 1
        self._seconds += seconds
        for index, bound in enumerate(BUCKETS):
            self._buckets[index] += seconds <= bound

    def render_prometheus_text(self, open_conversations: int, cached_bytes: int) -> bytes:
        """All figures; `open_conversations` is their number now, `cached_bytes` the size of the
        request bodies that are cached.
        """
        name, total = "memorist_proxy_request", self._requests.total()
        lines = [
            f"# HELP {name}s_total Requests answered, by provider, status and what memorist did.",
            f"# TYPE {name}s_total counter",
        ]
        lines += [
            f'{name}s_total{{upstream="{upstream}",status="{status}",outcome="{kind}"}} {count}'
            for (upstream, status, kind), count in sorted(self._requests.items())
        ]
        lines += [
            f"# HELP {name}_seconds Seconds from a request to the end of its answer.",
            f"# TYPE {name}_seconds histogram",
        ]
        lines += [
            f'{name}_seconds_bucket{{le="{bound:g}"}} {count}'
            for bound, count in zip(BUCKETS, self._buckets, strict=True)
        ]
        lines += [
            f'{name}_seconds_bucket{{le="+Inf"}} {total}',
            f"{name}_seconds_sum {self._seconds:.6f}",
            f"{name}_seconds_count {total}",
            "# HELP memorist_proxy_open_conversations Conversations that are open now.",
            "# TYPE memorist_proxy_open_conversations gauge",
            f"memorist_proxy_open_conversations {open_conversations}",
            "# HELP memorist_proxy_cached_body_bytes Request bodies cached for the next ones.",
            "# TYPE memorist_proxy_cached_body_bytes gauge",
            f"memorist_proxy_cached_body_bytes {cached_bytes}",
        ]
        return ("\n".join(lines) + "\n").encode()

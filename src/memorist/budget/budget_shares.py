"""The order in which work gives way as a cap comes near (SG-1). Pure."""

from __future__ import annotations

CAP_SHARES: dict[str, float] = {
    "dream": 0.5,
    "consolidation": 0.6,
    "rollouts": 0.7,
    "extraction": 0.8,
    "magic_docs": 0.8,
    "recall": 0.8,
    "session_memory": 0.9,
    "compact": 1.0,
}
"""Kind of work, by its forks' label, to the share of a cap up to which it may run. `rollouts` and
`consolidation` are the two stages of rollout memory.

What can wait longest gives way first: dream and consolidation lose nothing by a day's wait, a past
session waits for days, messages that extraction has not seen are seen at the next run, and recall
has its ranker. Notes become structural at nine tenths. The last tenth is compaction's, which the
window demands: a model's summary is worth most there, and what it replaces cannot be asked for
again.
"""


UNKNOWN_WORK_SHARE = 0.5
"""Share for work not listed: it gives way first."""


def get_budget_cap_share(label: str) -> float:
    """The share of each cap up to which work of this label may run."""
    return CAP_SHARES.get(label, UNKNOWN_WORK_SHARE)

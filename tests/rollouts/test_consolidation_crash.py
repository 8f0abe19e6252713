"""A consolidation that is killed at any step of its work on the disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.sweeps import sampled


@pytest.mark.covers("RO-5", "SF-4", "SF-5")
@pytest.mark.parametrize("stride", sampled([1, 7], {7}))
def test_a_kill_at_any_step_loses_and_doubles_nothing(tmp_path: Path, stride: int) -> None:
    """After the next run the folder and the accepted state are those of a run without a kill;
    nothing counts as a hand edit, nothing is left over.
    """
    script = Path(__file__).with_name("crashing.py")
    place = {**os.environ, "PYTHONPATH": str(script.parents[1])}

    said = subprocess.run(
        [sys.executable, str(script), str(tmp_path), str(stride)],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
        env=place,
    )
    found = json.loads(said.stdout)

    assert len(found["tries"]) > max(2, 10 // stride)
    for tried in found["tries"]:
        assert tried["files"] == tried["accepted"] == found["clean"]
        assert tried["remarks"] == []
        assert tried["again"] == "unchanged"
        assert tried["beside"] == ["baseline", "lock"]
        assert tried["left"] == []

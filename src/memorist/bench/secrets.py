"""Secrets found and false alarms, beside detect-secrets alone, on a corpus of made-up secrets and of what only looks like one (SF-1)."""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from memorist.bench.result import Result, Row
from memorist.bench.secrets_corpus import Sample, innocent, secrets
from memorist.bench.synthesis import all_sessions
from memorist.safety.secrets import find_secrets

OTHER = "detect-secrets"
SPEED_SIZE = 5_000_000
"""Characters of recorded sessions, or of the corpus, that the speed of ours is measured on; of the other a twentieth of that."""

Covered = Callable[[str], list[str]]
"""The parts of a text that a finder takes for secrets."""


def measure(data: Path) -> Result:
    """Recall, false alarms and speed of each finder that is installed."""
    corpus, others = list(secrets()), list(innocent())
    text = _text(data)
    rows = [*_rows("memorist", ours, corpus, others), Row("memorist: speed, processor time", _speed(ours, text), "MB/s")]
    rows.append(Row("memorist: findings in what speed is measured on", len(find_secrets(text)), ""))
    other = detect_secrets()
    if other is None:
        return Result("secrets", (*rows, Row(f"{OTHER}: not installed, not measured (pip install {OTHER})", 0)))
    rows += [*_rows(OTHER, other, corpus, others), Row(f"{OTHER}: speed, processor time", _speed(other, text[: SPEED_SIZE // 20]), "MB/s")]
    return Result("secrets", tuple(rows))


def ours(text: str) -> list[str]:
    """What memorist's rules cover."""
    return [text[finding.start : finding.end] for finding in find_secrets(text)]


def detect_secrets() -> Covered | None:
    """What the plugins of detect-secrets cover with its default settings; None when it is not installed."""
    if importlib.util.find_spec("detect_secrets") is None:
        return None
    scan = importlib.import_module("detect_secrets.core.scan")
    default_settings = importlib.import_module("detect_secrets.settings").default_settings

    def covered(text: str) -> list[str]:
        # As a file: for a bare line it looks for any word of high entropy, which nobody wants of a file.
        with tempfile.TemporaryDirectory() as folder, default_settings():
            path = Path(folder) / "sample.txt"
            path.write_text(text, "utf-8")
            return [str(found.secret_value) for found in scan.scan_file(str(path))]

    return covered


def recall(covered: Covered, corpus: Iterable[Sample]) -> float:
    """The share of samples of whose secret at least half is covered by one finding, or which a finding names by its header (a key block)."""
    hit = [any(_is_hit(sample, piece) for piece in covered(sample.text)) for sample in corpus]
    return sum(hit) / len(hit)


def _is_hit(sample: Sample, piece: str) -> bool:
    if "PRIVATE KEY" in piece:
        return sample.rule == "private-key"
    return sample.secret in piece or (piece in sample.text and piece in sample.secret and len(piece) * 2 >= len(sample.secret))


def _rows(name: str, covered: Covered, corpus: list[Sample], others: list[Sample]) -> list[Row]:
    wrong = sum(1 for sample in others if covered(sample.text))
    goal, false_goal = ("at least 0.99", "at most 0.01") if name == "memorist" else ("", "")
    found = recall(covered, corpus)
    return [
        Row(
            f"{name}: secrets found, of {len(corpus):,} in {len({sample.rule for sample in corpus})} rules",
            found,
            "",
            goal,
            found >= 0.99 if goal else None,
        ),
        Row(
            f"{name}: false alarms, of {len(others)} lines without a secret",
            wrong / len(others),
            "",
            false_goal,
            wrong / len(others) <= 0.01 if goal else None,
        ),
    ]


def _text(data: Path) -> str:
    """Recorded sessions as they lie on disk, or the corpus over and over."""
    parts: list[str] = []
    for path in all_sessions(data):
        parts.append(path.read_text("utf-8"))
        if sum(map(len, parts)) >= SPEED_SIZE:
            break
    text = "\n".join(parts) or "\n".join(sample.text for sample in innocent())
    return (text * (SPEED_SIZE // len(text) + 1))[:SPEED_SIZE]


def _speed(covered: Covered, text: str) -> float:
    began = time.process_time()
    covered(text)
    return len(text.encode()) / 1e6 / max(time.process_time() - began, 1e-9)

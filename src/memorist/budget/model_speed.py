"""How fast a model on this machine reads and writes, from the receipts of its newest requests, and
the settings that suit it.

A graphics card reads a thousand tokens a second, one core twenty: one limit for both stops the
slow one before its answer, and one frequency keeps it busy all the time.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from memorist.core.json_decoding import decode_json
from memorist.forks.fork_spec import ForkRequestMeasurements
from memorist.formats.request_codec import REPEATED_REASON

READ_TO_WRITE_SPEED_RATIO = 4.0
"""How much faster a model reads than it writes, where its server does not tell: three to four times
on one core (Qwen2.5-Coder of 1.5 billion parameters, llama.cpp), more on a graphics card.
"""
MAX_RECEIPTS = 20
"""Newest receipts that count: a machine that has become busier shows after a few hours."""
MIN_READ, MIN_WRITTEN = 200, 50
"""Tokens of all requests together below which nothing is derived from them."""

UPDATE_READ, UPDATE_WRITTEN = 1_500, 400
"""Tokens of one update of notes, beyond what the server has cached: what recorded sessions took
with a small model (docs/models.md).
"""
LARGEST_READ, LARGEST_WRITTEN = 8_000, 1_000
"""Tokens of the largest request that a fork sends: a brief of 6,000, the task, what it shows."""
TIME_LIMIT_SAFETY_FACTOR = 2.0
"""How often the largest request fits into the time limit: the machine also does other work."""
MIN_LIMIT, MAX_LIMIT = 120.0, 1_200.0
"""Bounds of the time limit in seconds: that of other models, and twenty minutes, so that the three
forks of a turn together fit into the share of a session's minutes that they may use (`spend`).
"""
MAX_UNTHROTTLED_UPDATE_SECONDS = 60.0
"""An update that takes no longer is made as often as by other models; one that takes twice as long
half as often.
"""
GROWTH_TOKENS, MAX_GROWTH_TOKENS = 5_000, 20_000
"""Growth of the context between updates of the notes: the default, and the most."""
MAX_TURNS_BETWEEN_UPDATES = 5
"""Most turns between extractions, and between updates of Magic Docs."""


class ModelSpeed(Struct, frozen=True):
    """Tokens a second that a model reads, beyond what its server has cached, and writes."""

    read: float
    written: float


def compute_speed_of_requests(requests: Iterable[ForkRequestMeasurements]) -> ModelSpeed | None:
    """The speed over all requests that were answered at once: by the server's own times where it
    tells them, else by the clock. An answer that was ended in a loop has no counts. None where they
    are too few.
    """
    read = written = 0
    reading = writing = 0.0
    for request in requests:
        ended = request.error or request.stop_reason == REPEATED_REASON
        if ended or request.attempts > 1 or request.seconds <= 0:
            continue
        new, out = request.usage.input + request.usage.cache_write, request.usage.output
        if request.read_seconds is not None and request.write_seconds is not None:
            read_seconds, write_seconds = request.read_seconds, request.write_seconds
        else:
            share = out / ((new / READ_TO_WRITE_SPEED_RATIO + out) or 1)
            read_seconds = request.seconds * (1 - share)
            write_seconds = request.seconds * share
        read, written = read + new, written + out
        reading, writing = reading + read_seconds, writing + write_seconds
    if read < MIN_READ or written < MIN_WRITTEN or not (reading and writing):
        return None
    return ModelSpeed(read / reading, written / writing)


def derive_settings_from_speed(speed: ModelSpeed) -> dict[str, Any]:
    """The settings that suit a model of this speed."""
    largest = LARGEST_READ / speed.read + LARGEST_WRITTEN / speed.written
    limit = float(round(min(MAX_LIMIT, max(MIN_LIMIT, TIME_LIMIT_SAFETY_FACTOR * largest))))
    update = UPDATE_READ / speed.read + UPDATE_WRITTEN / speed.written
    rarer = max(1.0, update / MAX_UNTHROTTLED_UPDATE_SECONDS)
    turns = min(MAX_TURNS_BETWEEN_UPDATES, math.ceil(rarer))
    return {
        "forks": {"seconds": limit},
        "models": {"timeout_seconds": limit},
        "session_memory": {
            "growth_tokens": min(MAX_GROWTH_TOKENS, round(GROWTH_TOKENS * rarer, -3))
        },
        "auto_memory": {"every_turns": turns},
        "magic_docs": {"every_turns": turns},
    }


def compute_speed_from_receipts(database: Path, model: str) -> ModelSpeed | None:
    """The speed of a model by the receipts in a home's database; None where nothing can be read."""
    with contextlib.suppress(sqlite3.Error, OSError, msgspec.DecodeError):
        if not database.is_file():
            return None
        address = f"{database.absolute().as_uri()}?mode=ro"
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=0.1)) as connection:
            rows = connection.execute(
                "select sent from receipts where model = ? and requests > 0 "
                "order by number desc limit ?",
                (model, MAX_RECEIPTS),
            ).fetchall()
        requests = (decode_json(sent, as_type=list[ForkRequestMeasurements]) for (sent,) in rows)
        return compute_speed_of_requests(request for each in requests for request in each)
    return None

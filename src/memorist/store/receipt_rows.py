"""Rows of the state database: the receipts of background work."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec
from msgspec.structs import asdict

from memorist.core.json_decoding import decode_json
from memorist.core.messages import Usage
from memorist.forks.fork_spec import FileSizeChange, ForkOutcome, ForkRequestMeasurements, Receipt
from memorist.safety.secrets import redact
from memorist.store.spend_rows import add_receipt_to_daily_and_session_totals, release_reservation
from memorist.store.sqlite_database import build_struct_from_row, convert_sqlite_errors, transaction


def record_receipt(
    database: sqlite3.Connection, session: str, receipt: Receipt, *, reservation: int | None = None
) -> int:
    """Record what a fork did and add it to the totals, replacing its reservation; returns the
    receipt's number. Raises StoreError.
    """
    values = asdict(receipt) | asdict(receipt.usage)
    values |= {
        "session": session,
        "files": _encode_redacted(receipt.files),
        "denied": _encode_redacted(receipt.denied),
        "outcome": receipt.outcome.value,
        "said": redact(receipt.said).text,
        "sent": msgspec.json.encode(receipt.sent).decode(),
    }
    failure = "a receipt cannot be recorded in the database"
    with convert_sqlite_errors(failure), transaction(database):
        cursor = database.execute(
            "insert into receipts (session, label, why, model, started, seconds, requests, turns, "
            "input, cache_read, cache_write, output, cost_usd, files, denied, outcome, said, sent) "
            "values (:session, :label, :why, :model, :started, :seconds, :requests, :turns, :input,"
            " :cache_read, :cache_write, :output, :cost_usd, :files, :denied, :outcome, :said, "
            ":sent)",
            values,
        )
        add_receipt_to_daily_and_session_totals(database, session, receipt)
        if reservation is not None:
            release_reservation(database, reservation)
        return int(cursor.lastrowid or 0)


def _encode_redacted(values: Sequence[FileSizeChange] | Sequence[str]) -> str:
    """The values as JSON without secrets; an empty list where redaction leaves no sound JSON."""
    text = redact(msgspec.json.encode(values).decode()).text
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return "[]"
    return text


def list_session_receipts(database: sqlite3.Connection, session: str) -> list[Receipt]:
    """The receipts of one session, oldest first."""
    rows = database.execute(
        "select * from receipts where session = ? order by number", (session,)
    ).fetchall()
    return [_read_receipt(row) for row in rows]


def list_newest_receipts(database: sqlite3.Connection, limit: int) -> list[tuple[str, Receipt]]:
    """The newest receipts of all sessions, newest first, each with the id of its session; empty for
    work that belongs to none.
    """
    rows = database.execute("select * from receipts order by number desc limit ?", (limit,))
    return [(row["session"], _read_receipt(row)) for row in rows.fetchall()]


def _read_receipt(row: sqlite3.Row) -> Receipt:
    return build_struct_from_row(
        Receipt,
        row,
        usage=build_struct_from_row(Usage, row),
        files=decode_json(row["files"], as_type=tuple[FileSizeChange, ...]),
        denied=decode_json(row["denied"], as_type=tuple[str, ...]),
        outcome=ForkOutcome(row["outcome"]),
        sent=decode_json(row["sent"], as_type=tuple[ForkRequestMeasurements, ...]),
    )

"""Splitting the changes to send into requests that a remote accepts. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from memorist.team.team_remote import RemoteChange

MAX_CHANGES_PER_REQUEST = 500
"""Upper bound of changes in one request."""


def split_batches(
    changes: Mapping[str, RemoteChange], limit: int
) -> Iterator[dict[str, RemoteChange]]:
    """Split the changes into parts of at most `limit` bytes of text, sorted; a larger one goes
    alone.

    Deletions and changes of existing memories go first, so that a full store still accepts them.
    """
    batch: dict[str, RemoteChange] = {}
    size = 0
    for key in sorted(changes, key=lambda key: (changes[key].was == "", key)):
        more = len((changes[key].text or "").encode("utf-8", "surrogatepass")) + len(
            key.encode("utf-8", "surrogatepass")
        )
        if batch and (size + more > limit or len(batch) >= MAX_CHANGES_PER_REQUEST):
            yield batch
            batch, size = {}, 0
        batch[key] = changes[key]
        size += more
    if batch:
        yield batch

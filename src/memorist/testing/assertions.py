"""An assertion for any test: over these requests the prefix only grew (CX-8)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager

from memorist.context.request_prefix_growth import PrefixChecker, PrefixDifferenceReason
from memorist.core.messages import JsonObject


@contextmanager
def assert_prefix_grows(
    *, except_for: Collection[PrefixDifferenceReason] = ()
) -> Iterator[PrefixChecker]:
    """Yield a callable to call with the body of each request, in order; each must extend the
    previous one.

    `except_for` names accepted causes of a difference (`compaction`, say). Raises AssertionError
    with every other difference at the end, unless the block itself failed.
    """
    prefix = PrefixChecker()
    yield prefix
    wrong = [difference for difference in prefix.differences if difference.why not in except_for]
    if wrong:
        raise AssertionError("the prefix did not only grow: " + "; ".join(map(str, wrong)))


only_grows = assert_prefix_grows
"""Deprecated: the former name."""


def check_prefix(
    bodies: Iterable[JsonObject], *, except_for: Collection[PrefixDifferenceReason] = ()
) -> None:
    """The same for recorded requests.

    Example: `check_prefix(request.body for request in server.received)`.
    """
    with assert_prefix_grows(except_for=except_for) as sent:
        for body in bodies:
            sent(body)

"""Whether a host's error says that the provider refused a request as too long. Pure."""

from __future__ import annotations

from memorist.models.faults import Fault, too_long

DEPTH = 5
"""Longest chain of causes that is searched; hosts wrap an SDK's error once or twice."""


def says_too_long(error: BaseException | None) -> bool:
    """Judge by status, code and text of the error or of one of its causes, as SDKs carry them:

    `status_code`, `code`, `str()`.
    """
    for _ in range(DEPTH):
        if error is None:
            return False
        status, code = getattr(error, "status_code", None), getattr(error, "code", None)
        fault = Fault(
            kind="status",
            message=str(error),
            status=status if isinstance(status, int) else 400,
            code=code if isinstance(code, str) else None,
        )
        if too_long(fault):
            return True
        error = error.__cause__
    return False

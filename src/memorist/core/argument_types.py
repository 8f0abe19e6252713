"""Arguments of the wrong type are named where a program passes them. Pure."""

from __future__ import annotations

from memorist.errors import UsageError


def check_type(what: str, given: object, wanted: type, named: str) -> None:
    """Raises UsageError, which names the type as `named`, for what is not of the wanted type."""
    if not isinstance(given, wanted):
        raise UsageError(f"{what} is {named}, not {type(given).__name__}")


def check_text(what: str, given: object) -> str:
    """Return the text. Raises UsageError for what is none."""
    check_type(what, given, str, "a text")
    return str(given)

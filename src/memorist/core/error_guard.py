"""Going on after any error of code that is not ours."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType


class ErrorGuard:
    """Hands any error to `on_error`, and nothing more comes of it; a cancellation goes on."""

    def __init__(self, on_error: Callable[[Exception], object]) -> None:
        self._on_error = on_error

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self._on_error(error)
        return True

"""Objects with open files and threads, which stay in their process."""

from __future__ import annotations

from typing import NoReturn


class ProcessBound:
    """Cannot be pickled or copied, for a pool of processes or a cache; says what to do instead."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} has open files and stays in its process: pass the home "
            "folder (and a session's id) on, and open it there"
        )

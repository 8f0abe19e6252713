"""Objects with open files and threads, which stay in their process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from memorist.core.guessed_names import ATTRIBUTES


class NotPicklable:
    """Cannot be pickled or copied, for a pool of processes or a cache; says what to do instead. So
    does a name that it does not have and other libraries do.
    """

    if not TYPE_CHECKING:  # with it a type checker would accept every name

        def __getattr__(self, name: str) -> object:
            if hasattr(type(self), name):  # a property that failed: its own error is raised
                return object.__getattribute__(self, name)
            said = f"{type(self).__name__} has no {name!r}"
            if name in ATTRIBUTES:
                said += f": {ATTRIBUTES[name]}"
            raise AttributeError(said, name=name, obj=self)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a {type(self).__name__} has open files and stays in its process: pass the home "
            "folder (and a session's id) on, and open it there"
        )

"""Standard output on a terminal: nothing that is printed moves the cursor, sets a title or reaches
the clipboard.
"""

from __future__ import annotations

import io
import sys

from memorist.core.lazy import lazy_pattern

_CONTROL_CHARACTER = lazy_pattern(
    r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]"
)
"""What a terminal obeys instead of showing: ECMA-48's C0 and C1 sets but tab and line feed, and the
characters that turn the reading direction (Unicode Standard Annex 9).
"""


def escape_control_characters(text: str) -> str:
    """Write each control character as its code, the way of Python's `backslashreplace`."""
    return _CONTROL_CHARACTER.sub(lambda found: _code(found[0]), text)


def _code(sign: str) -> str:
    number = ord(sign)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


class EscapingTerminalStream(io.TextIOWrapper):
    """A text stream to a terminal. What is printed may be a stranger's: a memory that another
    program wrote, the prompt of a past session, the name of a file in a cloned repository.
    """

    def write(self, text: str, /) -> int:
        """Write the text with its control characters as codes; return its own length."""
        super().write(escape_control_characters(text))
        return len(text)


def protect_terminal() -> None:
    """Put such a stream in the place of standard output and standard error where they are a
    terminal. Rich, whose sequences are our own, writes to `sys.__stdout__` and `sys.__stderr__`.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and stream.isatty():
            protected = EscapingTerminalStream(
                stream.buffer,
                encoding=stream.encoding,
                errors=stream.errors,
                line_buffering=True,
                write_through=True,
            )
            setattr(sys, name, protected)

"""memorist: a memory and context engine for LLM agents. The public names, and nothing else;
importing has no effect.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which takes longer to load than all the rest
if TYPE_CHECKING:
    from memorist.context.host_context import HostContext
    from memorist.engine.blocking_engine import BlockingMemorist, BlockingSession
    from memorist.engine.engine import Memorist
    from memorist.engine.session import Session
    from memorist.errors import MemoristError
    from memorist.extensions import SessionExtension
    from memorist.ports import HostInfo
    from memorist.runtime import SessionContext
    from memorist.settings import Settings

__all__ = [
    "BlockingMemorist",
    "BlockingSession",
    "HostContext",
    "HostInfo",
    "Memorist",
    "MemoristError",
    "Session",
    "SessionContext",
    "SessionExtension",
    "Settings",
    "__version__",
]
__version__ = "0.1.0"

_HOMES = {
    "BlockingMemorist": "memorist.engine.blocking_engine",
    "BlockingSession": "memorist.engine.blocking_engine",
    "HostInfo": "memorist.ports",
    "HostContext": "memorist.context.host_context",
    "Memorist": "memorist.engine.engine",
    "MemoristError": "memorist.errors",
    "Session": "memorist.engine.session",
    "SessionContext": "memorist.runtime",
    "SessionExtension": "memorist.extensions",
    "Settings": "memorist.settings",
}


def __dir__() -> list[str]:
    """The public names, for completion and `help`."""
    return sorted(__all__)


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for, so that `import memorist` stays instant."""
    if name not in _HOMES:
        raise AttributeError(f"module 'memorist' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415 - part of the lazy loading

    return getattr(import_module(_HOMES[name]), name)

"""A memory and context engine for LLM agents.

    from memorist import Memorist

    async with Memorist() as engine:
        session = await engine.open("my-session", project="/home/ana/shop", format="anthropic")
        request = await session.prepare({"model": …, "max_tokens": …, "messages": messages})
        reply = await client.messages.create(**request)
        await session.observe(reply)
        await session.end_turn()

The main names:

Memorist          the engine: opens sessions over one home folder; `async with`, or `with` for a
                  program without an event loop (then `BlockingMemorist`, `BlockingSession`)
Session           one conversation: `prepare` each request, `observe` each reply, `end_turn`;
                  `compact`, `notes`, `search_project`, `pin`, `turn_memory_off`
Settings          everything that can be set, as in docs/settings.md
HostInfo          what a host says of itself: its window, a subagent, a session without memory
HostContext       the surroundings that `Session.assemble_context` shows to the model
SessionExtension  the base of a part of your own in every session; sees a `SessionContext`
MemoristError     the base of every error that memorist raises

These are the public names; importing has no effect. The packages below hold the parts; a store,
a clock or a model of your own is a protocol of `memorist.ports`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which takes longer to load than all the rest
if TYPE_CHECKING:
    from memorist.context.first_context_assembly import HostContext
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
    "HostContext": "memorist.context.first_context_assembly",
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
    from importlib import import_module  # noqa: PLC0415 - part of the lazy loading

    if name not in _HOMES:
        guessed = import_module("memorist.core.guessed_names").PUBLIC_NAMES.get(name)
        text = f"memorist has no {name!r}" + (f": {guessed}" if guessed else "")
        caller = import_module("inspect").currentframe().f_back.f_code.co_name
        if guessed and caller == "_handle_fromlist":
            # `from memorist import …` says nothing of the text of an AttributeError
            raise ImportError(text, name=name)
        raise AttributeError(text)

    return getattr(import_module(_HOMES[name]), name)

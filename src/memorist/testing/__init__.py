"""Parts for tests of memorist and of what is built on it: a scripted model, a loopback model
server, a frozen clock, files in memory.

Nothing here needs the network or a key. `ScriptedModel` and `ScriptedServer` take the same scripts
(`memorist.testing.steps`).

Elsewhere: the tests of memorist, in the folder `tests`.
"""

from memorist.testing.assertions import assert_prefix_grows, check_prefix
from memorist.testing.conformance import check_files, check_model
from memorist.testing.frozen_clock import FrozenClock
from memorist.testing.in_memory_files import InMemoryFiles
from memorist.testing.models import ScriptedModel
from memorist.testing.provider_server import ReceivedRequest, ScriptedServer
from memorist.testing.steps import (
    CallTool,
    DelayReply,
    Fail,
    Garbage,
    GivenReplyBody,
    Hang,
    HttpError,
    InterruptedReply,
    ReplyParts,
    Say,
    Step,
    Think,
)

__all__ = [
    "CallTool",
    "DelayReply",
    "Fail",
    "FrozenClock",
    "Garbage",
    "GivenReplyBody",
    "Hang",
    "HttpError",
    "InMemoryFiles",
    "InterruptedReply",
    "ReceivedRequest",
    "ReplyParts",
    "Say",
    "ScriptedModel",
    "ScriptedServer",
    "Step",
    "Think",
    "assert_prefix_grows",
    "check_files",
    "check_model",
    "check_prefix",
]

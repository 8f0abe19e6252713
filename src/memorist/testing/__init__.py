"""Parts for tests of memorist and of what is built on it: a scripted model, a loopback model server, a frozen clock, files in memory.

Nothing here needs the network or a key. `ScriptedModel` and `ScriptedServer` take the same scripts (`memorist.testing.steps`).
"""

from memorist.testing.clock import FrozenClock
from memorist.testing.conformance import check_files, check_model
from memorist.testing.files import MemoryFiles
from memorist.testing.prefix import check_prefix, only_grows
from memorist.testing.received import Received
from memorist.testing.scripted import ScriptedModel
from memorist.testing.server import ScriptedServer
from memorist.testing.steps import Call, Cut, Delay, Fail, Garbage, Hang, Many, Raw, Say, Status, Step, Think

__all__ = [
    "Call",
    "Cut",
    "Delay",
    "Fail",
    "FrozenClock",
    "Garbage",
    "Hang",
    "Many",
    "MemoryFiles",
    "Raw",
    "Received",
    "Say",
    "ScriptedModel",
    "ScriptedServer",
    "Status",
    "Step",
    "Think",
    "check_files",
    "check_model",
    "check_prefix",
    "only_grows",
]

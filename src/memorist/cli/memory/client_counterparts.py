"""What the files of Claude Code and Codex say to the memories of the working folder."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.cli import output
from memorist.context.client_rule_reader import ClientRuleReader
from memorist.recall.memory_rendering import render_client_rule_conflict
from memorist.recall.reachable_memory import compare_memory_with_client_rules
from memorist.settings import Family, Settings
from memorist.store.disk_files import DiskFiles

_FAMILIES: tuple[Family, ...] = ("file-native", "rollout")


class ClientFileComparison(Struct, frozen=True):
    """Where a memory stands in the files of agents, and where they say otherwise."""

    also_in: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """The lines for a reader."""
        also = (f"also in {', '.join(self.also_in)}",) if self.also_in else ()
        return (*also, *self.conflicts)


def compare_memories_with_client_files(
    settings: Settings, memory: AutoMemory
) -> dict[str, ClientFileComparison]:
    """Return what the agents' files say to each memory, by path; nothing for most of them."""
    own = ClientRuleReader(DiskFiles(), settings.context, os.environ)
    counterparts: dict[str, ClientFileComparison] = {}
    for family in _FAMILIES:
        rules = own.read_rules(family, Path.cwd())
        for path, found in compare_memory_with_client_rules(memory, rules).items():
            known = counterparts.get(path, ClientFileComparison())
            also = (
                (output.make_terminal_safe_line(found.same.source),)
                if found.same is not None
                else ()
            )
            conflict = output.make_terminal_safe_line(render_client_rule_conflict(found))
            counterparts[path] = ClientFileComparison(
                tuple(dict.fromkeys((*known.also_in, *also))),
                tuple(dict.fromkeys(filter(None, (*known.conflicts, conflict)))),
            )
    return counterparts

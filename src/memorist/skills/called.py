"""Track the skills invoked in a session, message by message, so that they survive a compaction
(SK-2, CP-8).

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from memorist.compaction.restore import InvokedSkill, restored_skill
from memorist.core.messages import Message, Origin
from memorist.skills.injection import invoked
from memorist.skills.skill import Skill


class CalledSkills:
    """Follows every message of a session once; a skill's newest body counts.

    `template` is the text with which compaction restores a skill.
    """

    def __init__(self, template: str) -> None:
        self._template = template
        self._found: dict[str, InvokedSkill] = {}
        self._count = 0

    def took(self, message: Message) -> None:
        """Follow a message, of the host or injected by memorist."""
        if message.origin is Origin.MODEL or message.role == "assistant":
            return
        found = list(invoked([message]))
        if not found and message.origin is Origin.INJECTED and (back := restored_skill(message, self._template)) is not None:
            found = [InvokedSkill(back[0], "", back[1], 0.0)]
        for each in found:
            self._count += 1
            self._found.pop(each.name, None)
            self._found[each.name] = replace(each, order=float(self._count), message=message.id)

    def all(self, skills: Sequence[Skill] = ()) -> tuple[InvokedSkill, ...]:
        """Return the invoked skills, oldest first; those in `skills` with their current body."""
        now = {skill.path: skill for skill in skills}
        return tuple(replace(each, content=now[each.path].body) if each.path in now else each for each in self._found.values())

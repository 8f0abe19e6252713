"""The skills invoked in a session, tracked message by message, so that they survive a
compaction.
"""

from __future__ import annotations

from msgspec.structs import replace

from memorist.compaction.restored_content import InvokedSkill, parse_restored_skill
from memorist.core.messages import Message, Origin
from memorist.extensions import SessionExtension, SessionView
from memorist.skills.skill_invocation import find_invoked_skills


class InvokedSkills(SessionExtension):
    """Follows every message of a session once; a skill's newest body counts.

    `template` is the text with which compaction restores a skill.
    """

    def __init__(self, template: str) -> None:
        self._template = template
        self._found: dict[str, InvokedSkill] = {}
        self._count = 0

    def on_resume(self, view: SessionView) -> None:
        """Follow what memorist itself injected, which is not recorded as a message."""
        for message in view.messages():
            if message.origin is Origin.INJECTED:
                self.on_message(message)

    def on_message(self, message: Message, *, replayed: bool = False) -> None:
        """Follow a message, of the host or injected by memorist."""
        del replayed
        if message.origin is Origin.MODEL or message.role == "assistant":
            return
        found = list(find_invoked_skills([message]))
        if (
            not found
            and message.origin is Origin.INJECTED
            and (back := parse_restored_skill(message, self._template)) is not None
        ):
            found = [InvokedSkill(back[0], "", back[1], 0.0)]
        for each in found:
            self._count += 1
            self._found.pop(each.name, None)
            self._found[each.name] = replace(each, order=float(self._count), message=message.id)

    def list_invoked(self) -> tuple[InvokedSkill, ...]:
        """Return the invoked skills, oldest first."""
        return tuple(self._found.values())

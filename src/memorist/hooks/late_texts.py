"""What was ready for the model after the agent had gone on without it: shown at the session's next
prompt. It counts as shown since it was made, so nothing else would show it. Pure.
"""

from __future__ import annotations

from memorist.core.bounded_collections import BoundedDict
from memorist.hooks.hook_event import Client, HookEvent
from memorist.hooks.hook_response import CuttableHookText, join_hook_texts_within_limit

TEXT_EVENTS = ("SessionStart", "UserPromptSubmit")
"""Events whose texts still say something at the next prompt; those of a call or a compaction do
not.
"""
MAX_SESSIONS = 100
"""Sessions whose texts are kept; of more, the oldest are dropped."""


class LateTexts:
    """The texts by session, as long as this process lives."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[str, ...]] = BoundedDict(MAX_SESSIONS)

    def keep(self, event: HookEvent, text: str) -> None:
        """Keep a text that the agent did not get."""
        if text.strip() and event.hook_event_name in TEXT_EVENTS:
            session = event.session_id
            self._texts[session] = (*self._texts.pop(session, ()), text)

    def join(self, event: HookEvent, client: Client, text: str) -> str:
        """The text of this event behind those that came late, which are shown by it.

        A session that starts anew, is cleared or compacted is shown all again and needs none.
        """
        name = event.hook_event_name
        restarts = name == "SessionStart" and event.source != "resume"
        if restarts or name == "SessionEnd":
            self._texts.pop(event.session_id, None)
        if name not in TEXT_EVENTS:
            return text
        late = self._texts.pop(event.session_id, ())
        if not late:
            return text
        parts = [CuttableHookText(each) for each in (*late, text)]
        return join_hook_texts_within_limit(parts, client)

"""The prompt for a skill, for a client whose model interviews its user.

Imported on demand: the ledger of a session takes long to load.
"""

from __future__ import annotations

from memorist.errors import InputError, NothingToDo
from memorist.mcp_server.asked import sound
from memorist.mcp_server.sessions.run import Sessions
from memorist.mcp_server.told import bounded
from memorist.session_memory.ledger import Ledger
from memorist.skills.material.run import Material, material
from memorist.skills.skillify import interview, skeleton
from memorist.skills.texts import shipped


def request(sessions: Sessions, session: str, description: str) -> str:
    """Build the prompt, with what is known of the named session, or of the newest one.

    Raises InputError, NothingToDo, StoreError.
    """
    found = _material(sessions, session)
    draft = skeleton(found.ledger, found.said, description=description)
    return bounded(sound(interview(draft, found.notes, found.said, shipped(), description)))


def _material(sessions: Sessions, session: str) -> Material:
    for each in [sessions.named(session)] if session else sessions.known():
        try:
            return material(each.layout.transcript, sessions.notes_of(each))
        except (NothingToDo, InputError, FileNotFoundError) as error:
            if session:
                raise NothingToDo(f"the session {session!r} holds nothing that a skill could be made of") from error
    return Material(Ledger(), (), "")  # the client's model knows the conversation itself

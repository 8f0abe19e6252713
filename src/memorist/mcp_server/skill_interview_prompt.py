"""The prompt for a skill, for a client whose model interviews its user.

Imported on demand: the ledger of a session takes long to load.
"""

from __future__ import annotations

from memorist.core.text_encoding import replace_surrogates
from memorist.errors import InputError, NothingToDo
from memorist.mcp_server.project_sessions import RecordedProjectSessions
from memorist.mcp_server.result_rendering import cut_to_answer_limit
from memorist.skills.skill_file import load_skill_prompts
from memorist.skills.skillify import build_skill_skeleton, render_skill_interview
from memorist.skills.skillify_source import SkillMaterial, read_skill_material
from memorist.transcript_analysis.transcript_ledger import TranscriptLedger


def build_skill_interview_prompt(
    sessions: RecordedProjectSessions, session: str, description: str
) -> str:
    """Build the prompt, with what is known of the named session, or of the newest one.

    Raises InputError, NothingToDo, StoreError.
    """
    found = _find_material(sessions, session)
    draft = build_skill_skeleton(found.ledger, found.user_messages, description=description)
    return cut_to_answer_limit(
        replace_surrogates(
            render_skill_interview(
                draft, found.notes, found.user_messages, load_skill_prompts(), description
            )
        )
    )


def _find_material(sessions: RecordedProjectSessions, session: str) -> SkillMaterial:
    for each in [sessions.find_session(session)] if session else sessions.list_sessions():
        try:
            return read_skill_material(each.layout.transcript, sessions.read_notes(each))
        except (NothingToDo, InputError, FileNotFoundError) as error:
            if session:
                raise NothingToDo(
                    f"the session {session!r} holds nothing that a skill could be made of"
                ) from error
    return SkillMaterial(
        TranscriptLedger(), (), ""
    )  # the client's model knows the conversation itself

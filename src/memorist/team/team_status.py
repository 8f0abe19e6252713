"""How a project stands to its team: what would be sent, what stays and why, what waits, and what
could be shared.
"""

from __future__ import annotations

from msgspec import Struct, field

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.team_memory import TEAM_PREFIX, get_kind_sharing_scope, is_team_path
from memorist.core.text_encoding import replace_surrogates
from memorist.team.team_sync import TeamSync


class TeamStatus(Struct, frozen=True, kw_only=True):
    """What is known without asking the remote. Its fields are those of `memorist team status
    --json`.
    """

    remote: str
    version: str | int
    """Of the remote, when it was last seen; empty before the first time."""
    memories: int
    """Number of memories that were alike after the last run."""
    to_send: list[str]
    to_delete: list[str]
    staying: dict[str, str]
    """Why a memory of the team's folder is not sent, by its path."""
    waiting: dict[str, str]
    """Paths of proposals in the inbox, by their id."""
    conflict_copies: dict[str, str] = field(name="beside")
    """The memory that each copy says otherwise than."""
    could_be_shared: list[str]


def read_team_status(memory: AutoMemory, sync: TeamSync) -> TeamStatus:
    """Read the status; nothing is sent or asked."""
    state, steps = sync.load_state(), sync.plan_pending_sends()
    waiting = [each for each in memory.inbox.list_proposals() if is_team_path(each.path)]
    return TeamStatus(
        remote=sync.remote.name,
        version=state.seen.version,
        memories=len(state.keys),
        to_send=[*steps.send],
        to_delete=[*steps.remove],
        staying={
            replace_surrogates(each.key): each.why for each in sync.list_unshareable_memories()
        }
        | {
            replace_surrogates(path.removeprefix(TEAM_PREFIX)): "it is a link"
            for path in memory.folder.list_links()
            if is_team_path(path)
        },
        waiting={each.id: replace_surrogates(each.path) for each in waiting},
        conflict_copies=state.conflict_copies,
        could_be_shared=[
            head.path
            for head in memory.headers()
            if not is_team_path(head.path) and get_kind_sharing_scope(head.kind) == "team"
        ],
    )

"""The report of synchronising a folder with its remote. Pure."""

from __future__ import annotations

from msgspec import Struct

from memorist.team.shared_memory_form import UnshareableMemory


class TeamSyncReport(Struct, frozen=True, kw_only=True):
    """Names of shared memories, by what became of them."""

    received: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    conflict_copies: tuple[tuple[str, str], ...] = ()
    """Unmergeable texts: the name, and the name under which the local text is kept."""
    dropped: tuple[str, ...] = ()
    """Deleted here because they were deleted on the remote; the history still has them."""
    sent: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Deleted on the remote because they were deleted here."""
    waiting: tuple[tuple[str, str], ...] = ()
    """Remote changes that wait in the inbox, and why."""
    refused: tuple[tuple[str, str], ...] = ()
    """Remote changes that were rejected, and why."""
    staying: tuple[UnshareableMemory, ...] = ()
    """What is not sent."""
    deletions: tuple[str, ...] = ()
    """Deletions that wait for the user: too many at once."""
    remarks: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything was written, here or on the remote."""
        return any(
            (
                self.received,
                self.merged,
                self.conflict_copies,
                self.dropped,
                self.sent,
                self.removed,
            )
        )

    def __add__(self, other: TeamSyncReport) -> TeamSyncReport:
        """Combine two consecutive reports; unshareable memories are those of the later one."""
        later = ("staying",)
        return TeamSyncReport(
            **{
                name: getattr(other, name)
                if name in later
                else tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name))))
                for name in self.__struct_fields__
            }
        )

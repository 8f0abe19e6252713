"""What came of bringing a folder in line with its remote. Pure."""

from __future__ import annotations

from msgspec import Struct

from memorist.team.wire import Unshareable


class Report(Struct, frozen=True, kw_only=True):
    """Names of shared memories, by what became of them."""

    taken: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    beside: tuple[tuple[str, str], ...] = ()
    """Where two texts could not be brought together: the name, and the name under which the text from here is kept."""
    dropped: tuple[str, ...] = ()
    """Deleted here, since they were deleted there; the history still has them."""
    sent: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    """Deleted there, since they were deleted here."""
    waiting: tuple[tuple[str, str], ...] = ()
    """What came from there and waits in the inbox, and why."""
    refused: tuple[tuple[str, str], ...] = ()
    """What came from there and was not taken, and why."""
    staying: tuple[Unshareable, ...] = ()
    """What is not sent."""
    deletions: tuple[str, ...] = ()
    """Deletions that wait for a person: too many at once."""
    remarks: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything was written, here or there."""
        return any((self.taken, self.merged, self.beside, self.dropped, self.sent, self.removed))

    def __add__(self, other: Report) -> Report:
        """Both, one after the other; what stays is as the later one says."""
        later = ("staying",)
        return Report(
            **{
                name: getattr(other, name) if name in later else tuple(dict.fromkeys((*getattr(self, name), *getattr(other, name))))
                for name in self.__struct_fields__
            }
        )

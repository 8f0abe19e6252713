"""Say in words what an error of the file system means and what to do. Pure, and loads nothing: the
program behind a hook uses it.
"""

from __future__ import annotations

import errno

_CAUSES = {
    errno.ENOSPC: "the disk is full; free space and try again",
    errno.EDQUOT: "the disk quota is used up; free space and try again",
    errno.EROFS: "the file system is read-only; choose another folder (MEMORIST_HOME) or mount it "
    "for writing",
    errno.EACCES: "permission is denied; give yourself access to it",
    errno.EPERM: "the system does not permit it; check the owner and attributes of the path",
    errno.ENOENT: "the folder that it should be in is not there; check the path",
    errno.ELOOP: "its links lead in a loop; remove one of them",
    errno.EISDIR: "it is a folder, not a file; move it away",
    errno.ENOTDIR: "a part of the path is a file, not a folder; move it away",
    errno.EEXIST: "something else has that name; move it away",
    errno.ENAMETOOLONG: "the name is too long for the file system; choose a shorter one",
    errno.EMFILE: "too many files are open; close some or raise the limit",
    errno.ENOLCK: "the file system has no locks, as some network folders; name a folder on this "
    "machine's disk (MEMORIST_HOME)",
    errno.EIO: "the disk reports an error; check it",
}


def describe_storage_error(error: OSError) -> str:
    """The cause of an error and its remedy, in one clause."""
    return _CAUSES.get(error.errno or 0) or f"the system says: {error.strerror or error}"

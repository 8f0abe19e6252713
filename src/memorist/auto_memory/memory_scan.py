"""What one scan of a memory folder found, and how it differs from the last one. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from memorist.auto_memory.git_objects import compute_blob_id
from memorist.auto_memory.memory_file import Trust, parse_memory_file
from memorist.auto_memory.memory_manifest import (
    HEADER_READ_BYTES,
    MemoryHeader,
    build_memory_header,
    has_misleading_name,
    is_memory_file,
    is_single_line_path,
    parse_memory_header,
)
from memorist.auto_memory.visible_memory import (
    USER_TRUST,
    compute_review_digest,
    find_memory_suspicions,
)
from memorist.ports import FileInfo
from memorist.safety.secrets import redact_bytes

RULES_VERSION = 5
"""Version of the rules by which files are judged; a scan made under another version is discarded.
"""


class ScannedFile(Struct, frozen=True, gc=False):
    """One file as the last scan saw it."""

    size: int
    modified_ns: int
    blob: str
    """The history's blob id of its bytes; empty for a file that is too large."""
    head: MemoryHeader | None = None
    """None for the index, and for a file whose name cannot be in a list."""
    is_by_other_program: bool = field(default=False, name="foreign")
    """Another program made the file and nothing that passed the gate has changed it since: its
    claim of origin is not believed.
    """
    redacted_blob: str = ""
    """The blob id of its bytes without their secrets, where somebody wrote any into it by hand: the
    history has these instead.
    """

    @property
    def is_judged(self) -> bool:
        """Whether its content was judged, so that it need not be judged again."""
        return self.head is not None and self.blob != ""

    @property
    def recorded_blob_id(self) -> str:
        """The blob that the history has of it; empty for a file that is too large."""
        return self.redacted_blob or self.blob


class FolderScan(Struct, frozen=True):
    """All files of the folder, and the settings that decided how much of each was read."""

    lines: int = 0
    rules: int = RULES_VERSION
    files: dict[str, ScannedFile] = {}
    is_complete: bool = field(default=True, name="whole")
    """Whether all files were scanned; False after an incremental scan that stopped early."""


def build_scan_entry(
    path: str, facts: FileInfo, data: bytes, *, blob: str, lines: int, foreign: bool = False
) -> ScannedFile:
    """Build a file's scan entry from its facts and bytes (its first bytes where it is too
    large).
    """
    if not is_memory_file(path) or has_misleading_name(path):
        return ScannedFile(facts.size, facts.modified_ns, blob)
    modified = facts.modified_ns / 1e9
    written = topic = parse_memory_file(path, data)
    clean = redact_bytes(data)
    redacted_blob = ""
    if clean is not data:
        redacted_blob = compute_blob_id(clean) if blob else ""
        topic, data = parse_memory_file(path, clean), clean
    if len(data) <= HEADER_READ_BYTES and data.count(b"\n") < lines and b"\r" not in data:
        head = build_memory_header(
            topic, modified=modified, size=facts.size
        )  # the whole file was read
    else:
        head = parse_memory_header(
            path, data[:HEADER_READ_BYTES], lines=lines, modified=modified, size=facts.size
        )
    if topic is not written:
        head = replace(head, is_whole=False)
    if foreign:
        head = replace(head, trust=Trust.UNKNOWN)
    found = find_memory_suspicions(topic, Trust.UNKNOWN if foreign else None)
    if found:
        head = replace(head, doubts=found, content_digest=compute_review_digest(written))
    return ScannedFile(facts.size, facts.modified_ns, blob, head, foreign, redacted_blob)


def update_scan_entry_file_info(previous: ScannedFile, facts: FileInfo) -> ScannedFile:
    """Update the entry of a file whose bytes were judged before: copies and touched files cost
    nothing more.
    """
    head = previous.head and replace(
        previous.head, modified=facts.modified_ns / 1e9, size=facts.size
    )
    return replace(previous, size=facts.size, modified_ns=facts.modified_ns, head=head)


def newly_claims_user_trust(before: ScannedFile, after: ScannedFile) -> bool:
    """Whether a file newly claims to be the user's word; only what passes the gate may do so."""
    return (
        before.head is not None
        and after.head is not None
        and before.head.trust not in USER_TRUST
        and after.head.trust in USER_TRUST
    )


def find_paths_with_trusted_origin(scan: FolderScan, *gated_paths: str) -> frozenset[str]:
    """Return the paths whose claim of origin is believed when they change.

    These are the paths of the last scan that are not foreign, and those that passed the gate.
    """
    return frozenset(gated_paths) | {
        path for path, each in scan.files.items() if not each.is_by_other_program
    }


class FilesChangedSinceScan(Struct, frozen=True):
    """Paths whose facts differ from the last scan, and paths that are gone."""

    changed: tuple[str, ...]
    missing: tuple[str, ...]

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.changed or self.missing)


def find_files_changed_since_scan(
    known: Mapping[str, ScannedFile], entries: Sequence[tuple[str, FileInfo]]
) -> FilesChangedSinceScan:
    """Determine which files must be read again.

    Links are not memories: their targets are not the folder's.
    """
    names = set()
    changed = []
    for path, facts in entries:
        if not path.endswith(".md") or not facts.is_file or not is_single_line_path(path):
            continue
        names.add(path)
        seen = known.get(path)
        if seen is None or seen.size != facts.size or seen.modified_ns != facts.modified_ns:
            changed.append(path)
    return FilesChangedSinceScan(tuple(changed), tuple(sorted(known.keys() - names)))


ABSENT_FILE = ScannedFile(0, 0, "")
"""The scan entry of a file that does not exist."""

"""A team's memories as files on a branch of a Git remote, accessed with the user's own `git`, so
that their keys, proxies and helpers apply.

A bare copy of the branch is kept next to the memory; no working copy is touched, and no hook is
run, not even one of a remote on this machine. Deletions are found by comparing a commit with the
one last seen.
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from memorist.auto_memory.memory_manifest import is_index_file
from memorist.core.plural import join_first
from memorist.errors import (
    RemoteChanged,
    RemoteError,
    RemoteRefused,
    RemoteRolledBack,
    RemoteUnavailable,
    SettingsError,
)
from memorist.store.disk_files import make_folders
from memorist.team.git_command import (
    check_git_url,
    find_git_failure_reason,
    run_git,
    strip_url_credentials_in_text,
)
from memorist.team.shared_memory_form import compute_text_checksum, to_shared_text
from memorist.team.team_remote import (
    MAX_KEYS,
    MAX_NAME_CHARACTERS,
    MAX_REVISIONS,
    ChangeAuthor,
    LastSeenRemoteState,
    MemoryRevision,
    RemoteChange,
    RemoteListing,
)

REVISION_LOG_OPTIONS = ("--format=%x01%h%x00%an%x00%at", "--name-status", "--no-renames", "-z")
"""Options of `git log` whose output `parse_revisions` reads."""
_MAX_TIME_DIGITS = 12
"""Longest valid time in digits."""


def parse_revisions(output: bytes, prefix: str) -> tuple[MemoryRevision, ...]:
    """Parse the changes of Markdown files below the prefix from the output of `git log` with
    `REVISION_LOG_OPTIONS`; malformed parts are skipped.
    """
    found = []
    for commit in output.decode("utf-8", "replace").split("\1")[1:]:
        version, name, at, *changed = (*commit.split("\0"), "", "")
        by = ChangeAuthor(
            name[:MAX_NAME_CHARACTERS],
            float(at) if at.isdecimal() and len(at) < _MAX_TIME_DIGITS else 0.0,
        )
        for did, path in zip(changed[::2], changed[1::2], strict=False):
            if path.startswith(prefix) and path.endswith(".md"):
                found.append(
                    MemoryRevision(
                        key=path.removeprefix(prefix),
                        version=version,
                        by=by,
                        deleted=did.strip() == "D",
                    )
                )
    return tuple(found)


def is_local_folder_url(url: str) -> bool:
    """Whether Git reads the address as a folder: `file:`, or no scheme and no host in front of a
    colon; a letter, a colon and a backslash are a disk of Windows.
    """
    is_elsewhere = re.match(r"(?!file:|[A-Za-z]:\\)(?:[A-Za-z][\w+.-]*://|[^/\\:]+:)", url)
    return is_elsewhere is None


_REMOTE_REF = "refs/team/there"
_NEXT_REF = "refs/team/next"
_FILE_MODES = ("100644", "100755")
_BRANCH = re.compile(
    r"(?!.*(?:\.\.|//|@\{|\.lock(?:/|\Z)))[A-Za-z0-9_][A-Za-z0-9._/-]{0,99}(?<![./])\Z"
)
_FOLDER = re.compile(r"(?:[A-Za-z0-9_][A-Za-z0-9._ -]*(?:/[A-Za-z0-9_][A-Za-z0-9._ -]*)*)?\Z")
REF_RETRIES = 3
REF_RETRY_SECONDS = 0.2
"""How often a command is repeated, and after what pause, where another Git moved the same ref
meanwhile: that of a killed process goes on for a moment.
"""
_BEHIND_MESSAGES = (
    "[rejected]",
    "fetch first",
    "non-fast-forward",
    "cannot lock ref",
    "failed to update ref",
    "stale info",
)
_IDENTITY = "memorist <memorist@localhost>"


class TeamBranchConfiguration(Struct, frozen=True, kw_only=True):
    """Which branch of which remote, and the folder on it."""

    url: str
    project: Path | None = None
    """The repository whose settings say who commits; None for those of the user alone."""
    branch: str = "memorist-team"
    folder: str = "team"
    timeout_seconds: float = 30.0
    entry_bytes: int = 250_000


class _BranchTree(Struct, frozen=True, kw_only=True):
    blobs: dict[str, tuple[str, int]] = {}
    problems: dict[str, str] = {}


class GitRemote:
    """One team's branch. Raises SettingsError for an unusable address, branch or folder."""

    def __init__(
        self,
        mirror: Path,
        branch: TeamBranchConfiguration,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        if (
            not _BRANCH.match(branch.branch)
            or not _FOLDER.match(branch.folder)
            or ".." in branch.folder
        ):
            raise SettingsError(
                f"{branch.branch!r} with the folder {branch.folder!r} is no location on a branch: "
                f"use letters, digits, dashes and slashes"
            )
        check_git_url(branch.url)
        self._mirror = mirror
        self._branch = branch
        self._environment = os.environ if environment is None else environment
        self._texts: dict[str, str] = {}
        """Blob id to shared text."""
        self._there: dict[str, str] = {}
        self._tip = ""
        address = strip_url_credentials_in_text(branch.url)
        self.name = f"git:{address} ({branch.branch}:{branch.folder or '/'})"

    def fetch_listing(self, known_state: LastSeenRemoteState) -> RemoteListing | None:
        """Fetch the listing; None if the branch is at the known commit.

        A branch that does not exist yet is empty.
        """
        self._ensure_mirror()
        listing = self._git("ls-remote", self._branch.url, f"refs/heads/{self._branch.branch}")
        tip = listing.split()[0].decode("ascii", "replace") if listing.split() else ""
        if (
            tip
            and tip == known_state.tag
            and self._run(("rev-parse", "--quiet", "--verify", _REMOTE_REF)).stdout.strip().decode()
            == tip
        ):
            if self._tip != tip:
                self._tip, self._there = tip, {}
            return None
        if not tip:
            if known_state.version:
                raise RemoteRolledBack(
                    f"the branch is gone from {self.name}; where that is meant, begin it again "
                    f"with `memorist team pull --from-scratch`"
                )
            self._tip, self._there = "", {}
            return RemoteListing(state=LastSeenRemoteState(id=self.name), checksums={})
        self._git(
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            self._branch.url,
            f"+refs/heads/{self._branch.branch}:{_REMOTE_REF}",
        )
        return self._build_listing(known_state)

    def _build_listing(self, seen: LastSeenRemoteState) -> RemoteListing:
        tip = self._git("rev-parse", _REMOTE_REF).strip().decode("ascii", "replace")
        if seen.version and not self._is_ancestor(seen.version, tip):
            raise RemoteRolledBack(
                f"the branch of {self.name} does not go on from the commit that was seen last "
                f"({seen.version[:10]}): its history was rewritten, or an old copy was put in its "
                "place; look into it, then go on with `memorist team pull --from-scratch`"
            )
        now = self._read_tree(tip)
        before = self._read_tree(seen.version) if seen.version else _BranchTree()
        there, problems = self._judge_files(now)
        self._tip, self._there = tip, there
        names = now.blobs.keys() | now.problems.keys()
        return RemoteListing(
            state=LastSeenRemoteState(id=self.name, version=tip, tag=tip),
            checksums=there,
            deleted=frozenset(before.blobs.keys() - names),
            sizes={key: len(self._texts[now.blobs[key][0]].encode()) for key in there},
            problems=problems,
        )

    def list_revisions(self, key: str = "") -> tuple[MemoryRevision, ...]:
        """List changes by the newest commits of the branch, as of the last listing."""
        if not self._tip:
            return ()
        prefix = f"{self._branch.folder}/" if self._branch.folder else ""
        pathspec = ["--", f":(literal){prefix}{key}"] if prefix or key else []
        return parse_revisions(
            self._git(
                "log", f"--max-count={MAX_REVISIONS}", *REVISION_LOG_OPTIONS, self._tip, *pathspec
            ),
            prefix,
        )[:MAX_REVISIONS]

    def _is_ancestor(self, commit: str, tip: str) -> bool:
        return self._run(("merge-base", "--is-ancestor", commit, tip)).returncode == 0

    def _read_tree(self, commit: str) -> _BranchTree:
        """List the Markdown files of the folder: blob and size by name; anything but a plain file
        with the reason.
        """
        found = _BranchTree()
        prefix = f"{self._branch.folder}/" if self._branch.folder else ""
        listed = self._git("ls-tree", "-r", "-l", "-z", commit, *(["--", prefix] if prefix else []))
        for row in filter(None, listed.split(b"\0")):
            facts, _, path = row.partition(b"\t")
            mode, kind, sha, size = facts.decode("ascii", "replace").split()
            name = path.decode("utf-8", "replace")
            key = name.removeprefix(prefix)
            if not key.endswith(".md") or is_index_file(key) or not name.startswith(prefix):
                continue
            if mode not in _FILE_MODES or kind != "blob":
                found.problems[key] = "It is a link."
            elif int(size) > 2 * self._branch.entry_bytes:
                found.problems[key] = f"It has more than {self._branch.entry_bytes:,} bytes."
            else:
                found.blobs[key] = (sha, int(size))
            if len(found.blobs) > MAX_KEYS:
                raise RemoteRefused(
                    f"{self.name} has more than {MAX_KEYS:,} memories; look into it"
                )
        return found

    def _judge_files(self, tree: _BranchTree) -> tuple[dict[str, str], dict[str, str]]:
        wanted = {sha for sha, _ in tree.blobs.values()}
        self._texts = {sha: text for sha, text in self._texts.items() if sha in wanted}
        data = self._read_blobs(sorted(wanted - self._texts.keys()))
        there, problems = {}, dict(tree.problems)
        for key, (sha, _) in tree.blobs.items():
            try:
                text = self._texts.get(sha) or to_shared_text(data[sha])
            except (UnicodeDecodeError, KeyError):
                problems[key] = "It is no UTF-8 text."
                continue
            self._texts[sha] = text
            there[key] = compute_text_checksum(text)
        return there, problems

    def _read_blobs(self, ids: Sequence[str]) -> dict[str, bytes]:
        if not ids:
            return {}
        output = self._git("cat-file", "--batch", given="".join(f"{id}\n" for id in ids).encode())
        found, at = {}, 0
        for id in ids:
            end = output.index(b"\n", at)
            size = int(output[at:end].split()[2])
            found[id] = output[end + 1 : end + 1 + size]
            at = end + size + 2
        return found

    def read_texts(self, keys: Sequence[str], _: Mapping[str, int], /) -> dict[str, str]:
        """Read texts by name, as of the last listing."""
        by_digest = {compute_text_checksum(text): text for text in self._texts.values()}
        return {
            key: by_digest[self._there[key]] for key in keys if self._there.get(key) in by_digest
        }

    def push_changes(
        self, changes: Mapping[str, RemoteChange], _: LastSeenRemoteState
    ) -> LastSeenRemoteState:
        """Add one commit on top of the last seen one, and push it; the push is refused if another
        was faster.
        """
        if self._tip and not self._there:
            self._build_listing(LastSeenRemoteState())
        if any(self._there.get(key, "") != change.was for key, change in changes.items()):
            raise RemoteChanged(f"somebody changed the same memory at {self.name}")
        self._git("fast-import", "--quiet", "--force", given=self._import_stream(changes))
        local = is_local_folder_url(self._branch.url)
        # A remote on this machine would run its hooks as us.
        quiet = ("--receive-pack=git -c core.hooksPath=/dev/null receive-pack",) if local else ()
        pushed = self._run(
            (
                "push",
                "--no-verify",
                "--porcelain",
                *quiet,
                self._branch.url,
                f"{_NEXT_REF}:refs/heads/{self._branch.branch}",
            )
        )
        if pushed.returncode:
            raise self._push_error((pushed.stdout + pushed.stderr).decode("utf-8", "replace"))
        self._git("update-ref", _REMOTE_REF, _NEXT_REF)
        return self._build_listing(
            LastSeenRemoteState()
        ).state  # the commit stands on the one that was looked at, so that nothing lies between

    def _push_error(self, said: str) -> RemoteError:
        if "hook declined" not in said and any(sign in said for sign in _BEHIND_MESSAGES):
            return RemoteChanged(f"somebody pushed to {self.name} meanwhile")
        if "[remote rejected]" in said:
            return RemoteRefused(
                f"{self.name} does not take the push: {find_git_failure_reason(said)}"
            )
        return RemoteUnavailable(f"cannot push to {self.name}: {find_git_failure_reason(said)}")

    def _import_stream(self, changes: Mapping[str, RemoteChange]) -> bytes:
        """Build the commit as input of `git fast-import`."""
        changed = sorted(changes)
        message = f"Team memory: {join_first(changed, 3)}\n".encode()
        folder = () if self._branch.project is None else ("-C", str(self._branch.project))
        found = self._run((*folder, "var", "GIT_COMMITTER_IDENT"), inside=not folder)
        who = (
            found.stdout.strip()
            if found.returncode == 0
            else f"{_IDENTITY} {int(time.time())} +0000".encode()
        )
        parts = [
            b"commit %s\ncommitter %s\ndata %d\n%s\n"
            % (_NEXT_REF.encode(), who, len(message), message)
        ]
        if self._tip:
            parts.append(b"from %s\n" % self._tip.encode())
        prefix = f"{self._branch.folder}/" if self._branch.folder else ""
        for key in changed:
            path = '"' + (prefix + key).replace("\\", "\\\\").replace('"', '\\"') + '"'
            text = changes[key].text
            if text is None:
                parts.append(f"D {path}\n".encode())
            else:
                data = text.encode()
                parts.append(
                    b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data)
                )
        if not self._tip:
            return b"".join((b"reset %s\n\n" % _NEXT_REF.encode(), *parts))
        return b"".join(parts)

    def check_access(self) -> bool:
        """Check whether the remote can be read, and whether it lets us push, by a dry-run push.

        Raises RemoteError.

        Without a copy of the branch there is nothing to push, and only readability is checked.
        """
        self._git("ls-remote", self._branch.url, f"refs/heads/{self._branch.branch}", inside=False)
        if self._run(("rev-parse", "--quiet", "--verify", _REMOTE_REF)).returncode:
            return True
        pushed = self._run(
            (
                "push",
                "--dry-run",
                "--no-verify",
                "--porcelain",
                self._branch.url,
                f"{_REMOTE_REF}:refs/heads/{self._branch.branch}",
            )
        )
        said = (pushed.stdout + pushed.stderr).decode("utf-8", "replace")
        return pushed.returncode == 0 or any(sign in said for sign in _BEHIND_MESSAGES)

    def find_damage(self) -> str:
        """Return what is wrong with the local copy of the branch; empty if nothing is, or there is
        none. Raises RemoteError.
        """
        if not self._mirror.exists():
            return ""
        if not (self._mirror / "HEAD").is_file():
            return "it has no HEAD"
        found = self._run(("fsck", "--connectivity-only", "--no-dangling", "--no-progress"))
        if found.returncode:
            return find_git_failure_reason((found.stderr + found.stdout).decode("utf-8", "replace"))
        return ""

    def close(self) -> None:
        """Nothing to close."""

    def _ensure_mirror(self) -> None:
        if not (self._mirror / "HEAD").is_file():
            make_folders(self._mirror.parent)
            self._git("init", "--quiet", "--bare", "--template=", str(self._mirror), inside=False)

    def _git(self, *words: str, given: bytes = b"", inside: bool = True) -> bytes:
        found = self._run(words, given=given, inside=inside)
        for _ in range(REF_RETRIES):
            if not found.returncode or b"cannot lock ref" not in found.stderr:
                break
            time.sleep(REF_RETRY_SECONDS)
            found = self._run(words, given=given, inside=inside)
        if found.returncode:
            raise RemoteUnavailable(
                f"git {words[0]} failed for {self.name}: "
                f"{find_git_failure_reason(found.stderr.decode('utf-8', 'replace'))}"
            )
        return found.stdout

    def _run(
        self, words: Sequence[str], *, given: bytes = b"", inside: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        return run_git(
            words,
            self._environment,
            git_dir=self._mirror if inside else None,
            given=given,
            seconds=self._branch.timeout_seconds,
            remote=self.name,
        )


def find_project_remote(root: Path, name: str) -> str:
    """Return the address of a remote of a repository.

    Raises SettingsError if it has none of that name.
    """
    try:
        found = subprocess.run(
            ["git", "config", "--get", f"remote.{name}.url"],
            cwd=root,
            capture_output=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SettingsError(
            "git cannot be run; install it, or keep the team's memories on a server"
        ) from error
    url = found.stdout.decode("utf-8", "replace").strip()
    if not url:
        raise SettingsError(f"{root} has no Git remote {name!r}")
    return str((root / url).resolve()) if url.startswith(("./", "../")) else url

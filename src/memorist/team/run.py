"""Synchronise a folder `team/` with its remote: pull, then push (TM-2).

Incoming changes pass auto memory's gate like any write.

The steps are ordered so that the next run repairs a kill between any two of them: common texts are
saved before files are written, files before the sync state. Nothing is lost: what would be
overwritten is in the folder's history, in a conflict copy, or on the remote.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from memorist.auto_memory.changes import Change, Why, headline
from memorist.auto_memory.gate import Refused
from memorist.auto_memory.run import AutoMemory, Written
from memorist.auto_memory.shared import TEAM
from memorist.errors import InputError, RemoteError, RemoteMoved, RemoteUnavailable, RemoteWentBack
from memorist.ports import Files
from memorist.store.files import present
from memorist.store.locks import held
from memorist.team.arriving import Arriving, Here, kept, met
from memorist.team.common.authors.run import Authors
from memorist.team.common.run import Common
from memorist.team.delta import Known, Sides, State, Steps, batches, new_again, plan, too_many, without_lost
from memorist.team.local.run import Local, LocalTexts
from memorist.team.merge import beside, merged
from memorist.team.remote import MOST_KEYS, Look, Put, Remote, Revision, Seen
from memorist.team.report import Report
from memorist.team.settings import TeamSettings
from memorist.team.wire import Unshareable, digest

ATTEMPTS = 3
"""One push and at most two retries if others were faster (claude-code.md section 10.4)."""


class TeamSync:
    """One project's `team/` and its remote. Used from one thread."""

    def __init__(self, memory: AutoMemory, remote: Remote, *, files: Files, settings: TeamSettings) -> None:
        self.remote = remote
        self._memory = memory
        self._files = files
        self._settings = settings
        self._where = memory.where.team
        self._local = Local(memory, files, settings.entry_bytes)
        self._common = Common(self._where, files)
        self._authors = Authors(self._where, files)

    @property
    def folder(self) -> Path:
        """The folder `team/`."""
        return self._memory.where.folder / TEAM

    def state(self) -> State:
        """Load the last state of both sides; empty if it is damaged, or of another remote.

        Both sides are then compared as if for the first time.
        """
        try:
            found = msgspec.json.decode(self._files.read(self._where.synced), type=State)
        except (FileNotFoundError, msgspec.DecodeError):
            found = State()
        return found if found.remote == self.remote.name else State(remote=self.remote.name)

    def pending(self) -> Steps:
        """Plan what would be sent now, by what the last run knew of the remote."""
        state, local = self.state(), self._local.texts()
        return plan(self._sides(local, _there(state), state))

    def staying(self) -> tuple[Unshareable, ...]:
        """Return what is not sent, and why."""
        return self._local.texts().staying

    def pull(self, *, deletions: bool = False, anew: bool = False, wait_seconds: float = 10.0) -> Report:
        """Take what others changed. Raises RemoteError, StoreError.

        Args:
            deletions: delete even if it is many at once.
            from_scratch: trust the remote though it is older than before: both sides are compared
                as if for the first time, and nothing is deleted.
            wait_seconds: longest wait for another process that does the same.
        """
        with held(self._where.lock, wait_seconds=wait_seconds):
            return self._pull(deletions=deletions, anew=anew)

    def push(self, *, deletions: bool = False, wait_seconds: float = 10.0) -> Report:
        """Take what others changed, then send what was changed here.

        Raises RemoteError (also if others kept being faster), StoreError.
        """
        report = Report()
        with held(self._where.lock, wait_seconds=wait_seconds):
            for _ in range(ATTEMPTS):
                report += self._pull(deletions=deletions)
                try:
                    return report + self._send(deletions=deletions)
                except RemoteMoved:
                    continue
        raise RemoteUnavailable(f"others kept changing the same memories at {self.remote.name}; push again")

    def _pull(self, *, deletions: bool = False, anew: bool = False) -> Report:
        local = self._local.texts()
        report = Report(staying=local.staying)
        if self._memory.settings.policy == "off":
            return replace(report, remarks=("auto_memory.policy is off: nothing is taken",))
        state = self.state()
        found = self._look(Seen() if anew else state.seen)
        look = found or Look(seen=state.seen, there=_there(state))
        if found is not None:
            self._authors.told(found, self._log())
        if anew or (state.seen.id and look.seen.id != state.seen.id):
            state = State(remote=state.remote, beside=state.beside)
        usable, refused = self._usable(look, local)
        state = replace(state, keys=without_lost(state.keys, {*look.there, *look.gone, *look.problems}))
        steps = plan(self._sides(local, usable | self._unusable(state, look, usable), state))
        state = replace(state, keys=new_again(state.keys, steps.send, {*look.there, *look.problems}))
        drop = steps.drop if deletions or not too_many(steps.drop, state.keys) else ()
        arriving = self._arriving(steps, local, state, replace(look, there=usable))
        drops = [Change(path=TEAM + key, before=local.data[key], after=None) for key in drop]
        written = self._write([*arriving.changes, *drops])
        state = self._noted(state, arriving, replace(steps, drop=drop), usable, written)
        # What waits for a user, and what could not be read, is still to come: the next look must
        # not be answered by "nothing changed".
        whole = drop == steps.drop and not arriving.bad
        # It goes on from the same version, so that a remote which tells deletions by comparing two
        # of them tells them again.
        state = replace(state, seen=look.seen if whole else replace(look.seen, tag="", version=state.seen.version))
        self._common.prune(known.here for known in state.keys.values())
        self._save(state)
        return self._told(report, arriving, written, drop, (*refused, *look.problems.items(), *arriving.bad), steps)

    def _look(self, seen: Seen) -> Look | None:
        look = self.remote.look(seen)
        if look is not None and len(look.there) > MOST_KEYS:
            raise RemoteWentBack(f"{self.remote.name} tells of more than {MOST_KEYS:,} memories; look into it")
        return look

    def _log(self) -> tuple[Revision, ...]:
        """Return who changed what; a remote that does not tell is no reason to take nothing."""
        try:
            return self.remote.log()
        except RemoteError:
            return ()

    def _usable(self, look: Look, local: LocalTexts) -> tuple[dict[str, str], list[tuple[str, str]]]:
        """Return what the remote holds under names that can be files here; the others with the
        reason.
        """
        fit: dict[str, str] = {}
        refused = []
        for key in sorted(look.there):
            problem = self._local.key_problem(key, (*fit, *local.hashes))
            if not problem and look.sizes.get(key, 0) > self._settings.entry_bytes:
                problem = f"It has more than {self._settings.entry_bytes:,} bytes."
            if problem:
                refused.append((key, problem))
            else:
                fit[key] = look.there[key]
        return fit, refused

    @staticmethod
    def _unusable(state: State, look: Look, usable: Mapping[str, str]) -> dict[str, str]:
        """Unusable remote texts count as unchanged: they are neither taken nor deleted here."""
        names = (key for key in (*look.there, *look.problems) if key not in usable)
        return {key: state.keys[key].there for key in names if key in state.keys}

    @staticmethod
    def _sides(local: LocalTexts, there: Mapping[str, str], state: State) -> Sides:
        return Sides(here=local.hashes, there=there, known=state.keys, staying={each.key for each in local.staying})

    def _arriving(self, steps: Steps, local: LocalTexts, state: State, look: Look) -> Arriving:
        wanted = (*steps.take, *steps.meet)
        texts, bad = self._checked(self.remote.read(wanted, look.sizes) if wanted else {}, wanted, look.there)
        found = Arriving(texts=texts, bad=bad)
        for key in steps.aside:
            found = self._kept(found, key, local)
        for key, text in texts.items():
            known, mine = state.keys.get(key), local.texts.get(key)
            both = merged(self._common.text(known.here) if known else None, mine, text) if key in steps.meet and mine is not None else text
            found = met(found if both is not None else self._kept(found, key, local), key, text, both, local.data.get(key))
        self._common.keep(text for each in (texts, local.texts) for key, text in each.items() if key in (*wanted, *steps.alike))
        return found

    @staticmethod
    def _kept(found: Arriving, key: str, local: LocalTexts) -> Arriving:
        return kept(found, key, Here(local.data[key], local.texts[key]), local.here(beside(key, local.texts[key])))

    def _checked(
        self, texts: Mapping[str, str], wanted: tuple[str, ...], there: Mapping[str, str]
    ) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
        fit, bad = {}, []
        for key in wanted:
            text = texts.get(key)
            if text is None:
                bad.append((key, "The remote did not give it."))
            elif digest(text) != there[key]:
                bad.append((key, "Its text does not have the checksum that was told."))
            elif len(text.encode("utf-8", "surrogatepass")) > self._settings.entry_bytes:
                bad.append((key, f"It has more than {self._settings.entry_bytes:,} bytes."))
            else:
                fit[key] = text
        return fit, tuple(bad)

    def _write(self, changes: list[Change]) -> Written:
        """Write all in one change of the history; one by one if one of them cannot be a
        file here.
        """
        real = [change for change in changes if present(self._files, self._memory.where.folder / change.path) != change.after]
        if not real:
            return Written()
        what = ", ".join(change.path.removeprefix(TEAM) for change in real[:3]) + (f" and {len(real) - 3} more" if len(real) > 3 else "")
        why = Why(actor="team", what=headline("team", what))
        try:
            return self._memory.write(real, why)
        except InputError:
            parts = [self._one(change, why) for change in real]
            return Written(
                paths=tuple(path for part in parts for path in part.paths),
                waiting=tuple(each for part in parts for each in part.waiting),
                refused=tuple(each for part in parts for each in part.refused),
            )

    def _one(self, change: Change, why: Why) -> Written:
        try:
            return self._memory.write([change], why)
        except InputError as error:
            return Written(refused=(Refused(change.path, (str(error),)),))

    def _noted(self, state: State, arriving: Arriving, steps: Steps, there: Mapping[str, str], written: Written) -> State:
        keys, local = dict(state.keys), self._local.texts()
        away = {each.path for each in written.waiting} | {each.path for each in written.refused}
        for key in (*steps.alike, *steps.drop):
            if there.get(key) or TEAM + key in away:
                keys[key] = Known(there.get(key, ""), local.hashes.get(key, ""), held=TEAM + key in away)
            else:
                keys.pop(key, None)
        for key in steps.aside:
            keys[key] = replace(keys[key], here=local.hashes.get(key, ""))
        for key, text in arriving.texts.items():
            if TEAM + key in away:
                keys[key] = Known(there[key], local.hashes.get(key, ""), held=True)
            elif key in arriving.merged:
                keys[key] = Known(there[key], digest(text))
            else:
                keys[key] = Known(there[key], local.hashes.get(key, ""))
        self._common.keep(text for key, text in local.texts.items() if key in arriving.texts and key not in arriving.merged)
        there_still = {other: key for other, key in state.beside.items() if other in local.hashes and key in local.hashes}
        return replace(state, keys=keys, beside=there_still | {other: key for key, other in arriving.beside})

    @staticmethod
    def _told(
        report: Report, arriving: Arriving, written: Written, drop: tuple[str, ...], refused: tuple[tuple[str, str], ...], steps: Steps
    ) -> Report:
        gate = {each.path.removeprefix(TEAM): "; ".join(each.reasons) for each in written.refused}
        waits = {each.path.removeprefix(TEAM): "; ".join(each.reasons) for each in written.waiting}
        away = {*gate, *waits}
        return replace(
            report,
            taken=tuple(key for key in arriving.taken if key not in away),
            merged=tuple(key for key in arriving.merged if key not in away),
            beside=arriving.beside,
            dropped=drop,
            waiting=tuple(waits.items()),
            refused=(*refused, *gate.items()),
            deletions=() if drop == steps.drop else steps.drop,
            remarks=written.remarks,
        )

    def _send(self, *, deletions: bool) -> Report:
        state, local = self.state(), self._local.texts()
        steps = plan(self._sides(local, _there(state), state))
        waits = not deletions and too_many(steps.remove, state.keys)
        puts = {key: Put(local.texts[key], self._was(state, key)) for key in steps.send}
        puts |= {} if waits else {key: Put(None, state.keys[key].there) for key in steps.remove}
        self._common.keep(put.text for put in puts.values() if put.text is not None)
        for batch in batches(puts, self._settings.body_bytes):
            state = replace(self._after(state, batch), seen=self.remote.put(batch, state.seen))
            self._save(state)
            self._authors.ours(batch)
        if puts and (log := self._log()):
            self._authors.told(Look(seen=state.seen, there=_there(state)), log)
        return Report(
            sent=tuple(key for key, put in puts.items() if put.text is not None),
            removed=tuple(key for key, put in puts.items() if put.text is None),
            staying=local.staying,
            deletions=steps.remove if waits else (),
        )

    @staticmethod
    def _was(state: State, key: str) -> str:
        return state.keys[key].there if key in state.keys else ""

    @staticmethod
    def _after(state: State, batch: Mapping[str, Put]) -> State:
        keys = {key: known for key, known in state.keys.items() if key not in batch or batch[key].text is not None}
        sent = {key: Known(digest(put.text), digest(put.text)) for key, put in batch.items() if put.text is not None}
        return replace(state, keys=keys | sent)

    def _save(self, state: State) -> None:
        if state != self.state():
            self._files.write(self._where.synced, msgspec.json.encode(state))


def _there(state: State) -> dict[str, str]:
    """Return what the remote holds, as far as is known."""
    return {key: known.there for key, known in state.keys.items() if known.there}

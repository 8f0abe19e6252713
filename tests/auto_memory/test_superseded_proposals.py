"""What waits in the inbox and was said otherwise since is named, and asked about before it counts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from memorist.auto_memory.auto_memory import AutoMemory
from memorist.auto_memory.memory_changes import NOT_TYPED
from memorist.auto_memory.superseded_proposals import find_later_words_against_proposals
from memorist.cli.main import memorist_group
from memorist.engine.engine import Memorist
from memorist.settings import Settings


class Talk:
    """One project; each call of `says` is a session in which the user types one message, and which
    an answer ends.
    """

    def __init__(self, root: Path) -> None:
        (root / "shop" / ".git").mkdir(parents=True)
        self.project = str(root / "shop")
        self.engine = Memorist(model="structural", settings=Settings(home=str(root / "home")))
        self.count = 0

    @property
    def memory(self) -> AutoMemory:
        return self.engine.memory(self.project)

    async def says(self, *texts: str) -> None:
        for text in texts:
            self.count += 1
            session = await self.engine.open(f"s{self.count}", project=self.project)
            said = {"role": "user", "content": text}
            await session.prepare({"model": "m", "max_tokens": 10, "messages": [said]})
            noted = [{"type": "text", "text": "Noted."}]
            await session.observe({"role": "assistant", "content": noted})
            await session.end_turn()
            await session.close()

    def superseded(self) -> dict[str, str]:
        """What waits and was said otherwise since, with the later words."""
        bodies = {
            each.id: (each.after or "").rpartition("---")[2].strip()
            for each in self.memory.list_proposals()
        }
        found = find_later_words_against_proposals(self.memory)
        return {bodies[id]: words for id, words in found.items()}


@pytest.fixture
async def talk(tmp_path: Path) -> Talk:
    return Talk(tmp_path)


@pytest.mark.covers("AM-10", "AM-12")
@pytest.mark.parametrize(
    ("maybe", "later", "beside"),
    [
        ("no emojis please", "Always use emojis.", "Always use short titles."),
        ("use tabs", "Always use spaces.", "Always run make lint before pushing."),
        ("no uses emojis por favor", "Siempre usa emojis.", "Siempre usa títulos cortos."),
    ],
)
async def test_what_waits_names_the_users_later_word_against_it(
    talk: Talk, maybe: str, later: str, beside: str
) -> None:
    """Only the opposite counts, and only where it came later; both stay where they are."""
    await talk.says(maybe, beside)
    assert len(talk.memory.list_proposals()) == 1
    assert not talk.superseded()

    await talk.says(later)

    assert [words.rstrip(".").casefold() for words in talk.superseded().values()] == [
        next(
            topic.one_line_text.rstrip(".").casefold()
            for topic in talk.memory.read_memory_files()
            if topic.provenance.session == "s3"
        )
    ]
    assert len(talk.memory.list_proposals()) == 1
    assert len(talk.memory.headers()) == 2
    await talk.engine.close()


@pytest.mark.covers("AM-10", "AM-12")
async def test_of_two_opposites_that_wait_the_older_names_the_newer(talk: Talk) -> None:
    """Neither is certain; once the older is accepted all the same, it is the newer word."""
    await talk.says("use tabs", "keep titles short please", "use spaces")
    assert len(talk.memory.list_proposals()) == 3

    assert talk.superseded() == {"use tabs": "use spaces"}

    talk.memory.accept("1")

    assert talk.superseded() == {"use spaces": "use tabs"}
    await talk.engine.close()


@pytest.mark.covers("AM-10", "AM-12")
async def test_words_that_nobody_typed_are_not_called_the_users(talk: Talk) -> None:
    """What a program passed on waits as well, and says nothing of what the user wants now."""
    await talk.says("use tabs", "use spaces")
    newer = next(each for each in talk.memory.list_proposals() if "use spaces" in str(each.after))
    talk.memory.inbox.remove(newer)
    talk.memory.inbox.add([replace(newer, reasons=(NOT_TYPED,))])

    assert not talk.superseded()
    await talk.engine.close()


@pytest.mark.covers("AM-10", "AM-12")
async def test_a_word_that_waits_beside_an_earlier_opposite_is_the_newer_one(talk: Talk) -> None:
    """A rule from before speaks against nothing that was said after it, until it is said again."""
    await talk.says("Always use spaces.", "use tabs")
    assert len(talk.memory.list_proposals()) == 1
    assert not talk.superseded()

    await talk.says("Always use spaces.")

    assert list(talk.superseded()) == ["use tabs"]
    await talk.engine.close()


@pytest.mark.covers("AM-10", "AM-12")
def test_the_inbox_asks_before_an_older_word_takes_the_newer_ones_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list names the later word; accepting needs a yes, and what is not superseded does not."""

    async def talk() -> None:
        given = Talk(tmp_path)
        await given.says("no emojis please", "keep titles short please", "Always use emojis.")
        await given.engine.close()

    asyncio.run(talk())
    monkeypatch.setenv("MEMORIST_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "shop")

    def call(*words: str) -> Result:
        return CliRunner().invoke(memorist_group, ("memory", *words))

    listed = call("inbox").stdout
    assert listed.count("you said otherwise since: “") == 1
    (id,) = json.loads(call("inbox", "--json").stdout)["superseded"]
    assert "you said otherwise since" in call("inbox", "show", id).stdout

    refused = call("inbox", "accept", id)
    assert refused.exit_code == 2
    assert "--yes" in refused.output
    assert len(json.loads(call("list", "--json").stdout)["memories"]) == 1

    assert call("inbox", "accept", "2").exit_code == 0
    assert "in place of" in call("inbox", "accept", "--yes", id).stdout
    sayings = {row["description"] for row in json.loads(call("list", "--json").stdout)["memories"]}
    assert sayings == {"no emojis please", "keep titles short please"}

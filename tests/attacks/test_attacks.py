"""Attacks on memory, end to end: whatever comes in, and however obedient the model is, nothing of
it becomes an instruction of a later session.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from attacks.catalogue import DROPPED, HONEST, ORDERS, TYPED, Dropped, Order, Typed, ways
from attacks.host import Attacked, squeezed, writes
from memorist.auto_memory.memory_file import Trust
from memorist.events import ExtractionFailed

SPEAKS = ("user", "feedback")


def named(each: Order | Dropped | Typed) -> str:
    return f"{each.channel}: {each.name}".replace(" ", "-")


@pytest.mark.covers("SF-2", "SF-3", "AM-10")
@pytest.mark.parametrize("order", ORDERS, ids=named)
async def test_an_order_from_outside_never_becomes_a_memory(tmp_path: Path, order: Order) -> None:
    """A model that obeys it and writes it in every way there is leaves nothing of it in memory;
    what is not refused waits with a reason.
    """
    async with Attacked(tmp_path) as host:
        session = await host.open()
        every = ways(order.text)
        host.obeys = writes(host.folder, dict(every.values()))
        await host.tool_says(session, order.text, HONEST)
        await session.close()

        through = [
            way
            for way, (path, _) in every.items()
            if squeezed(order.payload) in squeezed(host.kept().get(path, ""))
        ]
        assert through == []
        assert len(host.memory.inbox.list_proposals()) >= len(every) - 2
        assert not [
            head
            for head in host.memory.headers()
            if head.trust in (Trust.STATED, Trust.REVIEWED) or head.kind in SPEAKS
        ]
        assert all(each.reasons for each in host.memory.inbox.list_proposals())
        assert not [event for event in host.events if isinstance(event, ExtractionFailed)]
        assert squeezed(order.payload) not in squeezed(await host.shown_later())


@pytest.mark.covers("SF-2", "SF-3", "RC-4")
@pytest.mark.parametrize("attack", DROPPED, ids=named)
async def test_a_planted_file_or_line_is_not_shown_as_it_came(
    tmp_path: Path, attack: Dropped
) -> None:
    """What another program left in the folder is judged before it is shown: in the index, in what
    is recalled, and in what a fork is asked.
    """
    async with Attacked(tmp_path) as host:
        host.drop({path: text for path, text in attack.files.items() if path.endswith(".md")})
        shown = await host.shown_later(
            "Tell me about the importer stages, please",
            "And the importer instructions, previous ones too?",
        )

        texts = [shown, *host.forks]
        if attack.payload.startswith("\n"):
            assert not [text for text in texts if attack.payload in text]
        else:
            assert not [text for text in texts if squeezed(attack.payload) in squeezed(text)]
        assert shown.count("</system-reminder>") == shown.count("<system-reminder>")
        assert not [
            head for head in host.memory.headers() if head.trust in (Trust.STATED, Trust.REVIEWED)
        ]
        if attack.ends == "shown as data":
            assert "four stages" in shown


@pytest.mark.covers("SF-2", "AM-7", "AM-8")
@pytest.mark.parametrize("attack", TYPED, ids=named)
async def test_words_of_others_in_a_message_are_not_the_persons(
    tmp_path: Path, attack: Typed
) -> None:
    """Neither the structural way nor an obedient model that quotes them makes a memory of them."""
    async with Attacked(tmp_path) as host:
        session = await host.open()
        host.obeys = writes(
            host.folder,
            {
                "x.md": f"---\nname: x\ndescription: importer\ntype: feedback\nmemorist:\n  "
                f"quote: {attack.quote!r}\n---\n\n{attack.quote}\n"
            },
        )
        await host.turn(session, attack.message)
        await host.turn(session, "Thanks, please go on with it")
        await session.close()

        assert host.kept() == {}
        assert "Fridays" not in await host.shown_later("When is the importer deployed, on Fridays?")

"""The chat server of the examples under gunicorn with four workers, on one machine and on two that
share a PostgreSQL.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memorist.testing.provider_server import ScriptedServer
from support.chat_users import WINDOW, ChatService, ChatSizes, repeat_signs, serve_chat
from support.postgres_server import postgres

pytest.importorskip("gunicorn")
pytest.importorskip("uvicorn_worker")

pytestmark = pytest.mark.slow

_log = logging.getLogger(__name__)


@contextmanager
def chat(folder: Path, sizes: ChatSizes, *, machines: int, shared: str) -> Iterator[ChatService]:
    with (
        ScriptedServer(repeat_signs, window=WINDOW, max_calls=3 * sizes.requests) as provider,
        serve_chat(folder, sizes, provider, machines=machines, shared=shared) as service,
    ):
        yield service


def check_whole(service: ChatService) -> None:
    """No request was over the window or had another user's words, no thread lost a word, and each
    was compacted.
    """
    _log.info(service.describe())
    assert not service.provider.refusals
    assert not service.seen.leaks
    assert [key for key in service.said if not service.is_whole(*key)] == []
    assert all(service.compactions(*key) for key in service.said)
    assert len(service.openings_elsewhere) > len(service.openings) // 3


@pytest.mark.parametrize(
    "sizes",
    [ChatSizes(), ChatSizes(kills=(150, 300, 450), stop_every=40)],
    ids=["all-live", "three-killed"],
)
async def test_sixty_users_on_four_workers(tmp_path: Path, sizes: ChatSizes) -> None:
    """No request is over the window, none has words of another user, each transcript is whole and
    in order, and what a user wished in one thread is recalled in the next; also where a worker is
    killed in the middle of an answer and users stop theirs.
    """
    with chat(tmp_path, sizes, machines=1, shared="") as service:
        await service.run()

    check_whole(service)
    assert service.seen.recalled == {f"u{number}" for number in range(sizes.users)}
    processes = {opening.process for opening in service.openings}
    assert len(processes) == sizes.workers + len(sizes.kills)


async def test_users_of_two_machines_that_share_their_sessions(tmp_path: Path) -> None:
    """Each request goes to any worker of either machine, and workers are killed: the same holds,
    with the transcript on the machine that had the thread last.
    """
    sizes = ChatSizes(workers=2, kills=(150, 300), stop_every=40)
    with postgres() as address, chat(tmp_path, sizes, machines=2, shared=address) as service:
        await service.run()
    check_whole(service)

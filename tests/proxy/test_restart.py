"""Conversations after a restart of the proxy: each goes on as itself, and none as another."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from memorist.errors import StoreError
from memorist.formats.codec_registry import find_codec
from memorist.proxy import conversation_store as remembered
from memorist.proxy.conversation_matching import (
    ConversationMatcher,
    IncomingCall,
    UnrelatedCall,
    to_stored_conversation,
)
from memorist.proxy.conversation_store import (
    ConversationFileSalt,
    ConversationStore,
    StoredConversation,
    encode_conversation_line,
    parse_key_salt,
    parse_stored_conversations,
)
from memorist.proxy.declared_conversation import (
    hash_instructions_and_tools,
    read_declared_conversation,
)
from memorist.proxy.upstream_exchange import ReplyEndDetector
from memorist.store.disk_files import DiskFiles
from memorist.testing import Say, ScriptedServer
from proxy.conftest import (
    KEY,
    Answer,
    Proxied,
    RunningProxy,
    anthropic,
    assistant,
    raw_provider,
    user,
)
from proxy.test_identity import TOOLS, body
from support.sweeps import examples

FILE = "proxy/conversations.jsonl"
JSON = {"content-type": "application/json"}


class Provider:
    """Lanes that begin anew from their lines after each request, or that never do."""

    def __init__(self, *, restarts: bool) -> None:
        numbers = itertools.count(1)
        self._fresh = lambda: f"fresh-{next(numbers)}"
        self._restarts = restarts
        self._data = encode_conversation_line(ConversationFileSalt(b"salt"))
        self._lanes = ConversationMatcher(self._fresh)

    def ask(
        self,
        caller: str,
        messages: list[Any],
        answer: str | None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> str:
        """The session that a request is found to be of, or why it is of none."""
        asked = body(anthropic(messages, **more))
        found = self._lanes.find_or_start_conversation(
            IncomingCall(
                format="anthropic",
                identity=read_declared_conversation(headers or {}, asked),
                caller=caller,
                body=asked,
                shape=hash_instructions_and_tools("anthropic", asked),
            )
        )
        if isinstance(found, UnrelatedCall):
            return found.why
        if answer is not None:
            reply = {
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": "m",
                "content": [{"type": "text", "text": answer}],
            }
            self._lanes.on_reply(found, reply, find_codec("anthropic").decode_reply(reply).messages)
        entry = to_stored_conversation(found.conversation)
        self._data += encode_conversation_line(entry) if entry is not None else b""
        if self._restarts:
            self._lanes = ConversationMatcher(
                self._fresh, parse_stored_conversations(self._data, 100).values()
            )
        return found.conversation.id


STEP = st.tuples(
    st.sampled_from(["one", "two"]),  # key
    st.integers(0, 6),  # which of the histories so far is gone on from
    st.sampled_from(["a", "b"]),
    st.sampled_from([None, "x", "y"]),
    st.sampled_from([{}, {"system": "You code.", "tools": TOOLS}, {"system": "You name talks."}]),
    st.sampled_from(
        [
            {},
            {"x-memorist-session": "mine"},
            {"x-claude-code-session-id": "c"},
            {"x-memorist-project": "shop"},
        ]
    ),
)


@pytest.mark.covers("IN-3")
@examples(15, whole=150, suppress_health_check=[HealthCheck.too_slow])
@example(
    [
        ("one", 0, "a", "x", {}, {}),
        ("one", 1, "b", None, {}, {}),
        ("two", 1, "b", None, {}, {}),
        ("one", 0, "a", "x", {}, {}),
    ]
)
@given(st.lists(STEP, min_size=1, max_size=12))
def test_a_proxy_that_is_restarted_after_each_request_tells_conversations_apart_as_one_that_never_is(
    steps: list[Any],
) -> None:
    """Openings, retries, branches, other keys, other instructions, names: the same session for each
    request, in every order.
    """
    stays, restarts = Provider(restarts=False), Provider(restarts=True)
    histories: list[list[Any]] = [[]]
    for caller, place, text, answer, more, headers in steps:
        asked = [*histories[place % len(histories)], user(text)]
        histories.append([*asked, assistant(answer)] if answer is not None else asked)

        assert restarts.ask(caller, asked, answer, headers, **more) == stays.ask(
            caller, asked, answer, headers, **more
        )


@pytest.mark.covers("IN-3")
def test_a_conversation_that_says_nothing_of_itself_goes_on_after_a_restart(
    proxied: Proxied,
) -> None:
    """Two that begin alike, and one of another key: each finds its own session and transcript
    again; a branch, and another key, find none.
    """
    with ScriptedServer(
        [Say(text="Hello, Ada."), Say(text="Hello, Bob."), *[Say(text="Yes.")] * 4]
    ) as server:
        proxy = proxied(server)
        ada, bob = ask(proxy, [user("Hi.")]), ask(proxy, [user("Hi.")])
        proxy.close()
        proxy = proxied(server)
        longer = [user("Hi."), assistant("Hello, Ada."), user("What is new?")]
        again = ask(proxy, longer)
        proxy.close()
        proxy = proxied(server)
        last = ask(proxy, [*longer, assistant("Yes."), user("More.")])
        other = ask(proxy, [*longer, assistant("Yes."), user("More.")], "another key")
        opening = ask(proxy, [user("Hi.")])
        proxy.close()

    assert (again.session, last.session) == (ada.session, ada.session)
    assert len({ada.session, bob.session, other.session, opening.session}) == 4
    transcript = proxy.transcript(ada.session)
    assert [
        transcript.count(f'"{said}"')
        for said in ("Hi.", "Hello, Ada.", "What is new?", "More.", "Hello, Bob.")
    ] == [1, 1, 1, 1, 0]
    kept = proxy.files()[FILE]
    assert not [word for word in (KEY, "Hi.", "Hello", "another key") if word.encode() in kept]
    assert (proxy.home / FILE).stat().st_mode & 0o077 == 0


def ask(proxy: RunningProxy, messages: list[Any], key: str = KEY, **headers: str) -> Answer:
    return proxy.ask("/v1/messages", anthropic(messages), headers={"x-api-key": key, **headers})


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize("count", [2, 3, 8])
def test_clients_that_send_their_newest_messages_alone_keep_their_sessions(
    proxied: Proxied, count: int
) -> None:
    """Two at once, under one key, which begin alike; also over a restart of the proxy, and where a
    reply is made again or the last message is worded anew. Each message is recorded once; where the
    host went back, the record of that names what it kept.
    """
    with ScriptedServer(lambda request: Say(text=f"Reply {len(server.received)}.")) as server:
        proxy = proxied(server)
        talks: list[list[Any]] = [[], []]
        sessions: list[set[str | None]] = [set(), set()]

        def send(name: int) -> str:
            request = {"model": "m", "messages": talks[name][-count:]}
            found = proxy.ask("/v1/chat/completions", request)
            sessions[name].add(found.session)
            return str(found.body["choices"][0]["message"]["content"])

        for turn in range(8):
            for name, talk in enumerate(talks):
                talk.append(user("Hello." if not turn else f"{name} asks {turn}."))
                reply = send(name)
                if turn in (5, 6):
                    talk[-1] = user(f"{name} asks {turn} anew.") if turn == 6 else talk[-1]
                    reply = send(name)
                talk.append(assistant(reply))
            if turn == 3:
                proxy.close()
                proxy = proxied(server)
        proxy.close()

    assert [len(each) for each in sessions] == [1, 1]
    assert sessions[0] != sessions[1]
    transcripts = [proxy.transcript(str(each)) for (each,) in sessions]
    for turn in range(1, 8):
        said = [
            sum(
                f"{name} asks {turn}." in line
                for line in transcripts[name].splitlines()
                if '"boundary"' not in line
            )
            for name in (0, 1)
        ]
        assert said == [1, 1], turn


@pytest.mark.covers("IN-3")
def test_a_project_that_was_named_once_is_that_of_the_conversation_after_a_restart_too(
    proxied: Proxied, tmp_path: Path
) -> None:
    """The client's own compaction may take the environment text away. A text that names another
    folder counts.
    """
    folder = tmp_path / "shop"
    folder.mkdir()
    name = {"x-memorist-session": "s"}
    with ScriptedServer(lambda request: Say(text="Done.")) as server:
        proxy = proxied(server)
        ask(proxy, [user(f"<env>\nWorking directory: {folder}\n</env>"), user("Go.")], **name)
        proxy.close()
        proxy = proxied(server)
        ask(proxy, [user("A summary of it all."), user("Go on.")], **name)
        proxy.close()
        (mine,) = [
            data.decode()
            for path, data in proxy.files().items()
            if path.endswith("transcript.jsonl")
        ]
        proxy = proxied(server)
        ask(
            proxy,
            [user(f"<env>\nWorking directory: {tmp_path / 'other'}\n</env>"), user("Elsewhere.")],
            **name,
        )
        proxy.close()

    assert "Go on." in mine
    found = [
        data.decode() for path, data in proxy.files().items() if path.endswith("transcript.jsonl")
    ]
    assert sorted("Elsewhere." in text for text in found) == [False, True]


@pytest.mark.covers("IN-3")
def test_one_name_in_two_projects_is_two_sessions(proxied: Proxied) -> None:
    """Else the second project would be shown what was said in the first."""
    with ScriptedServer(lambda request: Say(text="Done.")) as server:
        proxy = proxied(server)
        for project in ("/srv/shop", "/srv/bank", "/srv/shop"):
            ask(
                proxy,
                [user(f"This is {project}.")],
                **{"x-memorist-session": "main", "x-memorist-project": project},
            )
        proxy.close()

    found = [
        data.decode()
        for path, data in proxy.files().items()
        if path.endswith("/main/transcript.jsonl")
    ]
    assert sorted(("is /srv/shop" in text, "is /srv/bank" in text) for text in found) == [
        (False, True),
        (True, False),
    ]


@pytest.mark.covers("IN-3")
def test_a_response_of_another_key_is_not_gone_on_from(proxied: Proxied) -> None:
    """Whoever learns the id of somebody's response sees nothing of what was said there."""
    with ScriptedServer(lambda request: Say(text="Yes.")) as server:
        proxy = proxied(server)

        def go(text: str, key: str, previous: str | None = None) -> Answer:
            return proxy.ask(
                "/v1/responses",
                {"model": "m", "input": text, "previous_response_id": previous},
                headers={"x-api-key": key},
            )

        first = go("A secret.", "one")
        stranger, owner = (
            go("What was said?", "two", first.body["id"]),
            go("And then?", "one", first.body["id"]),
        )

    assert stranger.word == "passed: its history is with the provider"
    assert owner.session == first.session


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize("closed", [True, False], ids=["closed", "killed"])
def test_a_response_of_before_a_restart_is_gone_on_from(proxied: Proxied, closed: bool) -> None:
    """A history that is with the provider is taken up from the record: the same session goes on
    with what was said, and another key gets nothing of it.
    """
    with ScriptedServer(lambda request: Say(text="Noted, the port is 4017.")) as server:

        def go(proxy: RunningProxy, text: str, key: str, previous: str | None = None) -> Answer:
            body = {"model": "m", "input": text, "previous_response_id": previous}
            return proxy.ask("/v1/responses", body, headers={"x-api-key": key})

        proxy = proxied(server)
        first = go(proxy, "The API runs on port 4017.", "one")
        second = go(proxy, "Which port was it?", "one", first.body["id"])
        if closed:
            proxy.close()
        proxy = proxied(server)
        third = go(proxy, "Write that down.", "one", second.body["id"])
        stranger = go(proxy, "What was said?", "two", second.body["id"])
        proxy.close()

    assert third.session == first.session
    assert third.word in ("unchanged", "changed")
    assert stranger.word == "passed: its history is with the provider"
    (transcript,) = (
        data.decode()
        for path, data in proxy.files().items()
        if path.endswith("transcript.jsonl") and b"4017" in data
    )
    for text in ("The API runs on port 4017.", "Which port was it?", "Write that down."):
        assert transcript.count(text) == 1, text


@pytest.mark.covers("IN-3")
def test_a_client_that_hangs_up_after_the_last_event_can_go_on_from_it(proxied: Proxied) -> None:
    """Codex reads a stream up to `response.completed` and asks again; the provider may keep the
    connection open for as long as it likes.
    """
    done = threading.Event()
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Yes.\n\ndata: [DONE]"}]}  # fmt: skip
    reply = {"id": "resp_1", "status": "completed", "output": [said]}
    event = f"data: {json.dumps({'type': 'response.completed', 'response': reply})}\n\n".encode()

    def answer(connection: socket.socket) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
        connection.sendall(head + event[:30])
        connection.sendall(event[30:])
        done.wait(20)

    def go(text: str, previous: str | None = None) -> str:
        body = {"model": "m", "input": text, "stream": True, "previous_response_id": previous}
        client = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=20)
        client.request("POST", "/v1/responses", json.dumps(body).encode(), JSON)
        found = client.getresponse()
        got = b""
        while b"\n\n" not in got.partition(b'"response.completed"')[2]:
            got += found.read1()
        client.close()
        return found.headers["x-memorist-session"]

    with raw_provider(answer) as url:
        proxy = proxied(url)
        first = go("The API runs on port 4017.")
        second = go("Which port was it?", "resp_1")
        done.set()

    assert second == first


@pytest.mark.covers("IN-3")
@given(
    newline=st.sampled_from(["\n", "\r\n"]),
    last=st.sampled_from(
        [
            'event: message_stop{n}data: {{"type":"message_stop"}}',
            'data: {{"type": "response.completed", "response": {{"id": "1"}}}}',
            "data: [DONE]",
        ]
    ),
    cuts=st.sets(st.integers(1, 200)),
)
def test_the_end_of_a_stream_is_found_however_it_is_cut(
    newline: str, last: str, cuts: set[int]
) -> None:
    """Neither one part too early, as what it ends is incomplete there, nor one too late."""
    deltas = [
        f"data: {json.dumps({'text': text})}" for text in ('"message_stop"', "\ndata: [DONE]")
    ]
    events = [*deltas, last.format(n=newline)]
    data = "".join(each + newline * 2 for each in events).encode()
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    parts = [data[start:end] for start, end in itertools.pairwise(edges)]

    ending = ReplyEndDetector(None)
    reached = [ending.append_and_check_end(part) for part in parts]

    assert reached.index(True) == len(parts) - 1
    whole = ReplyEndDetector(len(data))
    assert [whole.append_and_check_end(part) for part in parts].index(True) == len(parts) - 1


@pytest.mark.parametrize(
    "spoilt",
    [
        b"",
        b"\xff\xfe\x00",
        b'{"salt":7}\n',
        b"[]\n{}\n",
        b'{"salt":"c2FsdA=="}\n{"id":3}\n{"id":"a","form',
    ],
)
def test_a_file_that_is_spoilt_stops_nothing(tmp_path: Path, spoilt: bytes) -> None:
    """What can be read is taken up, the rest is left out, and what is written from then on can be
    read again.
    """
    path = tmp_path / "proxy" / "conversations.jsonl"
    path.parent.mkdir()
    path.write_bytes(spoilt)

    found = ConversationStore(DiskFiles(), path)
    found.save(entry := StoredConversation(id="new", format="anthropic", response=b"end"))

    assert [*ConversationStore(DiskFiles(), path).conversations] == [entry]
    assert ConversationStore(DiskFiles(), path).salt == found.salt


@given(
    st.binary(max_size=200),
    st.lists(
        st.builds(
            StoredConversation,
            id=st.text(),
            format=st.text(),
            name=st.text(),
            response=st.binary(max_size=16),
        ),
        max_size=5,
    ),
)
def test_no_bytes_among_the_lines_break_the_reading(
    noise: bytes, entries: list[StoredConversation]
) -> None:
    """Whole lines are found whatever else stands between them."""
    data = encode_conversation_line(ConversationFileSalt(b"salt")) + b"".join(
        noise.replace(b"\n", b"") + b"\n" + encode_conversation_line(entry) for entry in entries
    )

    found = parse_stored_conversations(data, 100)

    assert parse_key_salt(data) == b"salt"
    assert {entry.key: entry for entry in entries}.items() <= found.items()


def test_the_file_stays_small_and_holds_the_newest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lines that no longer count are dropped as the file grows, and again at a start."""
    monkeypatch.setattr(remembered, "MAX_STALE_LINES", 20)
    monkeypatch.setattr(remembered, "MAX_STORED_CONVERSATIONS", 5)
    path = tmp_path / "conversations.jsonl"
    found = ConversationStore(DiskFiles(), path)
    for number in range(500):
        found.save(
            StoredConversation(id=f"c{number % 9}", format="anthropic", response=b"%d" % number)
        )

    assert path.read_bytes().count(b"\n") <= 5 + 20 + 1
    again = ConversationStore(DiskFiles(), path)
    assert again.salt == found.salt
    assert [entry.response for entry in again.conversations] == [
        b"495",
        b"496",
        b"497",
        b"498",
        b"499",
    ]


def test_names_that_are_no_text_stop_nothing(proxied: Proxied) -> None:
    """A header may hold any bytes; they stay a name, and that of one conversation alone."""
    strange = b"caf\xe9".decode("latin-1")
    with ScriptedServer(lambda request: Say(text="Yes.")) as server:
        proxy = proxied(server)
        answers = [
            ask(proxy, [user("Hi.")], **{name: strange})
            for name in (
                "x-memorist-session",
                "x-memorist-project",
                "x-claude-code-session-id",
                "session-id",
            )
        ]
        tools = proxy.ask(
            "/v1/messages",
            anthropic([user("Hi.")], tools=TOOLS),
            headers={"x-claude-code-session-id": strange},
        )
        other = ask(proxy, [user("Hi.")], **{"x-memorist-session": b"caf\xe8".decode("latin-1")})
        proxy.close()

    assert answers[0].session != other.session
    assert {(answer.status, answer.word) for answer in answers[:2]} == {(200, "unchanged")}
    assert (tools.status, tools.word) == (200, "unchanged")
    assert (
        sum(name.endswith("transcript.jsonl") for name in proxy.files()) == 4
    )  # one name is one session, whichever header says it


class Full(DiskFiles):
    """A disk that takes nothing more."""

    def append(self, path: Path, data: bytes) -> None:
        raise StoreError(f"Cannot write {len(data)} bytes to {path}: the disk is full.")


def test_a_disk_that_is_full_is_told_once_and_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What is known then is known as long as the process runs."""
    found = ConversationStore(Full(), tmp_path / "conversations.jsonl")
    for number in range(3):
        found.save(StoredConversation(id="c", format="anthropic", response=b"%d" % number))

    assert [entry.response for entry in found.conversations] == [b"2"]
    assert [record.getMessage().count("after a restart") for record in caplog.records] == [1]

"""Whose conversation a request is of."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from memorist.formats.codec_registry import find_codec
from memorist.ports import Request
from memorist.proxy import conversation_matching
from memorist.proxy.client_working_folder import find_working_folder
from memorist.proxy.conversation_matching import (
    CallInConversation,
    ConversationMatcher,
    IncomingCall,
    UnrelatedCall,
)
from memorist.proxy.declared_conversation import (
    hash_instructions_and_tools,
    read_declared_conversation,
)
from memorist.proxy.provider_routing import find_provider_route, join_url
from memorist.proxy.request_body import RequestBody, parse_request_body
from memorist.testing import Say, ScriptedServer
from proxy.conftest import KEY, Proxied, anthropic, assistant, user
from support.sweeps import examples

CODEX = {"session_id": "s", "thread_id": "s", "request_kind": "turn"}
CLAUDE = {"x-claude-code-session-id": "c"}
TOOLS = [{"name": "Bash"}]


def body(request: dict[str, Any], key: str = "messages") -> RequestBody:
    return parse_request_body(json.dumps(request).encode(), key)


def made() -> ConversationMatcher:
    numbers = itertools.count(1)
    return ConversationMatcher(lambda: f"fresh-{next(numbers)}")


class Client:
    """A client of one proxy that says nothing of itself but by its key."""

    def __init__(self, lanes: ConversationMatcher, caller: str = "one") -> None:
        self._lanes = lanes
        self._caller = caller

    def ask(
        self,
        messages: list[Any],
        answer: str | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> str:
        """The session that a request is found to be of, or why it is of none; the reply to it, if
        any, is told.
        """
        asked = body(anthropic(messages, **more))
        found = self._lanes.find_or_start_conversation(
            IncomingCall(
                format="anthropic",
                identity=read_declared_conversation(headers or {}, asked),
                caller=self._caller,
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
        return found.conversation.id


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize(
    ("headers", "request_body", "expected"),
    [
        ({"x-memorist-session": "mine", **CLAUDE}, {}, ("mine", "named", True, False)),
        ({"x-memorist": "off", **CLAUDE}, {"tools": TOOLS}, ("", "unknown", True, True)),
        (CLAUDE, {"tools": TOOLS}, ("c", "likely", True, False)),
        (
            {**CLAUDE, "x-claude-code-agent-id": "a1"},
            {"tools": TOOLS},
            ("c/a1", "named", False, False),
        ),
        (CLAUDE, {}, ("c", "named", True, True)),
        (
            CLAUDE,
            {"tools": TOOLS, "messages": [user("CRITICAL: Respond with TEXT ONLY. Do so.")]},
            ("c", "named", True, True),
        ),
        (
            CLAUDE,
            {"tools": TOOLS, "system": [{"type": "text", "text": "x: cc_is_subagent=true;"}]},
            ("c/agents", "grouped", False, False),
        ),
        (
            {},
            {"tools": TOOLS, "metadata": {"user_id": '{"session_id": "j"}'}},
            ("j", "likely", True, False),
        ),
        (
            {},
            {"tools": TOOLS, "metadata": {"user_id": "user_1_account_2_session_k"}},
            ("k", "likely", True, False),
        ),
        ({}, {"metadata": {"user_id": "somebody"}}, ("", "unknown", True, False)),
        ({"x-codex-turn-metadata": json.dumps(CODEX)}, {}, ("s", "named", True, False)),
        (
            {"x-codex-turn-metadata": json.dumps({**CODEX, "thread_id": "t"})},
            {},
            ("t", "named", False, False),
        ),
        (
            {"x-codex-turn-metadata": json.dumps({**CODEX, "request_kind": "compaction"})},
            {},
            ("s", "named", True, True),
        ),
        ({"x-codex-turn-metadata": "{broken", "session-id": "h"}, {}, ("h", "named", True, False)),
        ({"originator": "codex_exec", "thread-id": "h"}, {}, ("h", "named", False, False)),
        (
            {"originator": "codex-tui", "session-id": "h", "x-openai-subagent": "review"},
            {},
            ("h", "named", False, False),
        ),
        ({}, {"prompt_cache_key": "group"}, ("group", "grouped", True, False)),
        ({}, {}, ("", "unknown", True, False)),
    ],
)
def test_clients_are_known_by_what_they_say(
    headers: dict[str, str], request_body: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    """Name, how sure that is, whether it is the main agent, and whether the request is a turn at
    all.
    """
    who = read_declared_conversation(headers, body({"messages": [user("Hello.")], **request_body}))

    assert (who.name, who.certainty, who.is_main_agent, bool(who.unrelated_reason)) == expected


@pytest.mark.covers("WD-3", "IN-3")
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"originator": "codex_exec", "session-id": "s"}, False),
        ({"originator": "codex_sdk_ts", "session-id": "s"}, False),
        ({"originator": "codex-app-server-sdk", "session-id": "s"}, False),
        ({"originator": "codex-tui", "session-id": "s"}, True),
        ({"originator": "codex_vscode", "session-id": "s"}, True),
        ({"originator": "Codex Desktop", "session-id": "s"}, True),
        ({**CLAUDE, "user-agent": "claude-cli/2.1.200 (external, sdk-cli)"}, False),
        ({**CLAUDE, "user-agent": "claude-cli/2.1.200 (external, sdk-py)"}, False),
        ({**CLAUDE, "user-agent": "claude-cli/2.1.200 (external, mcp)"}, False),
        (
            {**CLAUDE, "user-agent": "claude-cli/2.1.200 (external, claude-code-github-action)"},
            False,
        ),
        ({**CLAUDE, "user-agent": "claude-cli/2.1.200 (external, cli)"}, True),
        ({**CLAUDE, "user-agent": "claude-cli/2.1.200 (external, remote_mobile)"}, True),
        ({**CLAUDE, "user-agent": "claude-cli/2.1.200 (external, claude-desktop)"}, True),
    ],
)
def test_print_mode_is_known(headers: dict[str, str], expected: bool) -> None:
    """A prompt of print mode may have come through a pipe; one that is typed has not."""
    who = read_declared_conversation(headers, body({"messages": [user("Hello.")], "tools": TOOLS}))

    assert who.has_typing_user is expected


@pytest.mark.covers("WD-3", "IN-3")
@pytest.mark.parametrize(
    ("about", "states"),
    [
        ({"originator": "codex-tui"}, True),
        ({"originator": "codex_exec"}, False),
        ({"user-agent": "opencode/1.2.0", "x-parent-session-id": "ses_1"}, False),
        ({"originator": "codex-tui", "x-openai-subagent": "review"}, False),
        ({"originator": "codex-tui", "x-codex-parent-thread-id": "p"}, False),
    ],
)
def test_only_what_a_user_typed_is_stated_through_the_proxy(
    proxied: Proxied, tmp_path: Path, about: dict[str, str], states: bool
) -> None:
    """A rule in a prompt of `codex exec` waits; one that an agent gave its subagent is nothing."""
    rule = {"type": "message", "role": "user", "content": "Always use pnpm."}
    with ScriptedServer(lambda _: Say(text="Noted.")) as server:
        proxy = proxied(server)
        headers = {"session_id": "s", "x-memorist-project": str(tmp_path / "shop"), **about}
        answer = proxy.ask("/v1/responses", {"model": "m", "input": [rule]}, headers=headers)
        proxy.close()
    kept = [name for name, data in proxy.files().items() if b"trust: stated" in data]

    assert answer.status == 200
    assert bool([name for name in kept if name.endswith(".md")]) is states


FOLLOW_UPS = "### Task:\nSuggest 3-5 relevant follow-up questions"
TITLE = "Given the following... please reply with a title for the chat that is 3-4 words\n\n"


@pytest.mark.covers("IN-3", "SF-2")
@pytest.mark.parametrize(
    ("messages", "is_aside"),
    [
        ([user(TITLE + "Always use yarn here, never npm.")], True),
        ([user("### Task:\nGenerate a concise title summarizing the chat history.\n")], True),
        ([{"role": "user", "content": [{"type": "text", "text": FOLLOW_UPS}]}], True),
        ([user("Hi."), assistant("Hello."), user("使用四到五个字直接返回这句话的简要主题")], True),
        ([{"role": "system", "content": "You are a title generator. You"}, user("Hi.")], True),
        ([user("### Task:\nRespond to the user query using the provided context.\n")], False),
        ([user("Generate a title for my page.")], False),
        ([{"role": "user", "content": None}], False),
    ],
)
def test_what_a_chat_client_asks_beside_a_chat_is_no_users_word(
    proxied: Proxied, tmp_path: Path, messages: list[Any], is_aside: bool
) -> None:
    """A title, tags, next questions: such a request quotes the chat, and so the model. It passes
    unchanged; a search template around what was typed is a turn.
    """
    with ScriptedServer(lambda request: Say(text="A title.")) as server:
        proxy = proxied(server)
        headers = {"x-memorist-project": str(tmp_path / "shop")}
        request = {"model": "m", "messages": messages}
        answer = proxy.ask("/v1/chat/completions", request, headers=headers)
        proxy.close()

    assert ("beside a conversation" in str(answer.word)) is is_aside
    assert not [name for name in proxy.files() if "/memory/" in name]


CHAT = "How do I get rid of the moss on a north-facing roof without a ladder?"
REPLY = "Spray it from the ground with a long lance, and wait for a dry week."


@pytest.mark.covers("IN-3", "SF-2")
@pytest.mark.parametrize(
    ("text", "more", "is_aside"),
    [
        (f"Name this chat in a few words.\nuser: {CHAT}\nassistant: {REPLY}", {}, True),
        (f"In one line, what is it about?\n<q>{CHAT}</q>", {}, True),
        (json.dumps([{"role": "assistant", "content": f'He said "no". {REPLY}'}]), {}, True),
        (f"Name this chat.\n{CHAT}", {"stream": True, "max_tokens": 50}, True),
        (f"Name this chat.\n{CHAT}", {"stream": True, "max_tokens": 4_000}, False),
        (f"Translate this into German, please:\n{REPLY}", {"stream": True}, False),
        (CHAT, {}, False),
        (f"{CHAT} And from now on always answer in German.", {}, False),
        (f"{CHAT}\n{REPLY}\nName this chat.", {}, True),
        ("How do I get rid of the moss between paving stones?", {}, False),
        (f"Name this chat.\n{CHAT}", {"tools": [{"type": "function"}]}, False),
        (f"Name this chat.\n{CHAT}", {"key": "sk-of-another"}, False),
    ],
)
def test_a_small_request_that_quotes_a_chat_is_beside_it_in_any_words(
    proxied: Proxied, text: str, more: dict[str, Any], is_aside: bool
) -> None:
    """Chat clients word their requests for a title anew with each version: such a request is one
    message that quotes the chat, not streamed as that is or with a smaller reply, and without tools.
    What a user asks anew with more words is the user's.
    """
    chat = {"model": "m", "stream": True, "messages": [user(CHAT)]}
    aside = {"model": "m", "messages": [user(text)], **more}
    keys = [{"authorization": f"Bearer {key}"} for key in (KEY, aside.pop("key", KEY))]
    with ScriptedServer(lambda request: Say(text=REPLY)) as server:
        proxy = proxied(server)
        proxy.ask("/v1/chat/completions", chat, headers=keys[0])
        answer = proxy.ask("/v1/chat/completions", aside, headers=keys[1])
        proxy.close()

    assert ("beside a conversation" in str(answer.word)) is is_aside


@pytest.mark.covers("IN-3")
@examples(15, whole=60, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(
        st.sampled_from(
            ["x-codex-turn-metadata", "originator", "session-id", "x-claude-code-session-id"]
        ),
        st.text(max_size=30),
    ),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=5,
    ),
)
def test_no_header_and_no_body_breaks_the_reading(headers: dict[str, str], value: Any) -> None:
    """Whatever stands where something else is looked for."""
    keys = ["metadata", "tools", "system", "prompt_cache_key", "messages"]
    for key in keys:
        found = body({**dict.fromkeys(keys), key: value})
        read_declared_conversation(headers, found)
        find_working_folder("anthropic", found.values)


@pytest.mark.covers("IN-3")
def test_a_history_is_known_again_by_the_reply_that_it_holds() -> None:
    """Two conversations that begin alike are two as soon as their replies differ; each goes on as
    itself, in whatever order.
    """
    client = Client(made())
    one, two = client.ask([user("Hi.")], "Hello, Ada."), client.ask([user("Hi.")], "Hello, Bob.")

    assert one != two
    assert (
        client.ask([user("Hi."), assistant("Hello, Bob."), user("What is new?")], "Little.") == two
    )
    assert client.ask([user("Hi."), assistant("Hello, Ada."), user("What is new?")], "Much.") == one
    assert (
        client.ask(
            [
                user("Hi."),
                assistant("Hello, Ada."),
                user("What is new?"),
                assistant("Much."),
                user("Tell."),
            ]
        )
        == one
    )


@pytest.mark.covers("IN-3")
def test_a_retry_is_the_same_conversation_and_an_answered_opening_is_not() -> None:
    """What was never answered is asked again; what was answered and is asked again is somebody
    else, or another try, and begins anew.
    """
    client = Client(made())
    first = client.ask([user("Hi.")])

    assert client.ask([user("Hi.")], "Hello.") == first
    assert client.ask([user("Hi.")]) != first
    assert (
        Client(client._lanes, "another key").ask([user("Hi."), assistant("Hello."), user("And?")])
        != first
    )


@pytest.mark.covers("IN-3")
def test_one_opening_from_two_clients_at_once_begins_two_conversations(proxied: Proxied) -> None:
    """Both wait for their replies, which are the same; each goes on as itself. A client that gave
    up waiting and asks again has one.
    """
    both, more = threading.Barrier(2, timeout=20), ["Which?", "Where?"]

    def answer(request: Request) -> Say:
        if len(request.body["messages"]) == 1:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait()
        return Say(text="Hello.")

    with ScriptedServer(answer) as server, ThreadPoolExecutor(2) as clients:
        proxy = proxied(server)

        def ask(*messages: Any) -> str:
            found = proxy.ask("/v1/messages", anthropic([*messages]))
            return str(found.session)

        first = [*clients.map(ask, [user("Hi.")] * 2)]
        second = [ask(user("Hi."), assistant("Hello."), user(text)) for text in more]
        third = [
            ask(user("Hi."), assistant("Hello."), user(text), assistant("Hello."), user("And?"))
            for text in more
        ]
        client = http.client.HTTPConnection("127.0.0.1", proxy.port)
        client.request("POST", "/v1/messages", json.dumps(anthropic([user("Hi.")])))
        assert server.wait_received(len(first + second + third) + 1)
        client.close()
        both.abort()
        gave_up = {path for path in proxy.files() if path.endswith("transcript.jsonl")}
        ask(user("Hi."))
        proxy.close()

    assert len({*first}) == 2
    assert {*second} == {*first}
    assert third == second
    assert len(gave_up) == 3
    assert {path for path in proxy.files() if path.endswith("transcript.jsonl")} == gave_up


@pytest.mark.covers("IN-3")
def test_branches_and_rewritten_histories_are_conversations_of_their_own() -> None:
    """A history that leaves a known one before its end is not that conversation, nor is one whose
    beginning changed.
    """
    client = Client(made())
    history = [
        user("Plan it."),
        assistant("A plan."),
        user("Do it."),
        assistant("Done."),
        user("Check it."),
    ]
    first = client.ask(history[:1], "A plan.")
    assert client.ask(history[:3], "Done.") == first
    assert client.ask(history, "Fine.") == first

    branch = client.ask([*history[:2], user("Do otherwise.")], "Otherwise.")
    assert branch != first
    assert client.ask([user("Sum of it all."), *history[3:]]) not in (first, branch)
    assert client.ask([*history, assistant("Fine."), user("Thanks.")]) == first


@pytest.mark.covers("IN-3")
def test_a_side_request_about_a_conversation_is_not_mixed_into_it() -> None:
    """Other instructions and no tools: passed on. Other instructions and other tools: a
    conversation of its own. Changed tools alone: the same.
    """
    client = Client(made())
    shape: dict[str, Any] = {"system": "You code.", "tools": TOOLS}
    first = client.ask([user("Fix it.")], "Fixed.", **shape)
    more = [user("Fix it."), assistant("Fixed."), user("Next.")]

    assert "another kind" in client.ask(
        [*more[:2], user("Name this talk.")], system="You name talks."
    )
    assert (
        client.ask([*more[:2], user("Judge it.")], system="You judge.", tools=[{"name": "Judge"}])
        != first
    )
    assert client.ask(more, "Next done.", **{**shape, "tools": [{"name": "Write"}]}) == first


@pytest.mark.covers("IN-3")
def test_a_subagent_of_an_older_claude_code_is_not_taken_for_the_main_agent() -> None:
    """It carries its parent's session id and nothing else: other instructions and other tools make
    it a conversation of its own.
    """
    client = Client(made())
    main: dict[str, Any] = {
        "system": [
            {"type": "text", "text": "x-anthropic-billing-header: 1"},
            {"type": "text", "text": "Main."},
        ],
        "tools": TOOLS,
    }
    changed = {
        **main,
        "system": [{"type": "text", "text": "x-anthropic-billing-header: 2"}, main["system"][1]],
    }

    assert client.ask([user("Go.")], "Going.", CLAUDE, **main) == "c"
    sub = client.ask(
        [user("Look.")], "Looked.", CLAUDE, system="Explore.", tools=[{"name": "Grep"}]
    )
    assert sub != "c"
    assert (
        client.ask(
            [user("Look."), assistant("Looked."), user("More.")],
            "x",
            CLAUDE,
            system="Explore.",
            tools=[{"name": "Grep"}],
        )
        == sub
    )
    assert client.ask([user("A summary of all.")], "Yes.", CLAUDE, **changed) == "c"


@pytest.mark.covers("IN-3")
def test_conversations_under_one_cache_key_stay_apart() -> None:
    """An application may use one key for all of its users."""
    lanes = made()

    def ask(text: str) -> str:
        asked = body({"model": "m", "input": text, "prompt_cache_key": "app"}, "input")
        found = lanes.find_or_start_conversation(
            IncomingCall(
                format="openai_responses",
                identity=read_declared_conversation({}, asked),
                caller="k",
                body=asked,
                shape=("", ""),
            )
        )
        assert isinstance(found, CallInConversation)
        return found.conversation.id

    assert ask("I am Ada.") != ask("I am Bob.")


@pytest.mark.covers("IN-3")
def test_a_response_that_is_gone_on_from_twice_makes_two_conversations(proxied: Proxied) -> None:
    """`previous_response_id`: the history of the first way, a branch for the second, passed on
    where memorist does not know it.
    """
    with ScriptedServer(lambda request: Say(text="Yes.")) as server:
        proxy = proxied(server)

        def ask(text: str, previous: str | None = None, **more: Any) -> Any:
            return proxy.ask(
                "/v1/responses",
                {"model": "m", "input": text, "previous_response_id": previous, **more},
            )

        first = ask("One.")
        second, other = ask("Two.", first.body["id"]), ask("Other.", first.body["id"])
        third = ask("Three.", second.body["id"])
        strange, conversation = ask("Who?", "resp_of_yesterday"), ask("Who?", conversation="conv_1")
        proxy.close()

    assert first.session == second.session == third.session != other.session
    assert {strange.word, conversation.word} == {"passed: its history is with the provider"}
    transcript = proxy.transcript(first.session)
    assert [transcript.count(f'"{word}."') for word in ("One", "Two", "Three", "Other")] == [
        1,
        1,
        1,
        0,
    ]
    assert [request.body["input"] for request in server.received] == [
        "One.",
        "Two.",
        "Other.",
        "Three.",
        "Who?",
        "Who?",
    ]


@pytest.mark.covers("IN-3")
def test_remembered_responses_hold_no_more_than_their_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The newest stay; what goes on from an older one is the provider's. A thousand requests with
    pictures held gigabytes.
    """
    monkeypatch.setattr(conversation_matching, "MAX_RESPONSE_BYTES", 10_000)
    matcher, format = made(), "openai_responses"

    def ask(text: str, previous: str | None = None) -> CallInConversation | UnrelatedCall:
        asked = body({"model": "m", "input": text, "previous_response_id": previous}, "input")
        return matcher.find_or_start_conversation(
            IncomingCall(
                format=format,
                identity=read_declared_conversation({}, asked),
                caller="one",
                body=asked,
                shape=("", ""),
            )
        )

    for number in range(20):
        found = ask(f"{number}: " + "x" * 2_000)
        assert isinstance(found, CallInConversation)
        matcher.on_reply(found, {"id": f"resp_{number}", "output": []}, [])

    known = [
        isinstance(ask("Go on.", f"resp_{number}"), CallInConversation) for number in range(20)
    ]
    assert known == [False] * 16 + [True] * 4


@pytest.mark.covers("IN-3")
@pytest.mark.parametrize(
    ("request_body", "folder"),
    [
        (
            {
                "messages": [
                    user(
                        "<system-reminder>\n# Environment\n - Primary working directory: "
                        "/srv/shop\n</system-reminder>"
                    )
                ]
            },
            "/srv/shop",
        ),
        (
            {"system": "You help.\n<env>\nWorking directory: /srv/shop/\nPlatform: linux\n</env>"},
            "/srv/shop",
        ),
        (
            {"messages": [{"role": "system", "content": "Working directory: `/srv/shop`"}]},
            "/srv/shop",
        ),
        (
            {
                "input": [
                    user("<environment_context>\n  <cwd>/srv/shop</cwd>\n</environment_context>")
                ]
            },
            "/srv/shop",
        ),
        ({"messages": [user("My working directory: /srv/shop")]}, ""),
        (
            {
                "messages": [
                    user("See <environment_context><cwd>/srv/shop</cwd></environment_context>")
                ]
            },
            "",
        ),
        ({"system": "Working directory: shop"}, ""),
        ({"messages": [user("Hello.")]}, ""),
        ({"messages": "no list", "system": 7}, ""),
    ],
)
def test_the_project_is_the_folder_that_the_harness_names(
    request_body: dict[str, Any], folder: str
) -> None:
    """In its environment text, and nowhere else: what a user says about folders chooses no project."""
    format = "openai_responses" if "input" in request_body else "anthropic"

    assert find_working_folder(format, request_body) == folder


@pytest.mark.covers("IN-3")
def test_paths_are_sent_to_the_provider_that_they_name() -> None:
    """The first part where it is a name; a model call by its format; a `/v1` that both have is said
    once.
    """
    both = {
        "anthropic": "https://a.example",
        "openai": "https://o.example/v1",
        "x": "https://x.example/api",
    }

    def way(method: str, target: str, **headers: str) -> tuple[str, str, str]:
        found = find_provider_route(method, target, headers, both)
        return found.upstream, join_url(both[found.upstream], found.path), found.format

    assert way("POST", "/v1/messages?beta=true") == (
        "anthropic",
        "https://a.example/v1/messages?beta=true",
        "anthropic",
    )
    assert way("POST", "/v1/messages/count_tokens", **{"anthropic-version": "1"}) == (
        "anthropic",
        "https://a.example/v1/messages/count_tokens",
        "",
    )
    assert way("POST", "/v1/responses") == (
        "openai",
        "https://o.example/v1/responses",
        "openai_responses",
    )
    assert way("POST", "/x/v1/chat/completions") == (
        "x",
        "https://x.example/api/v1/chat/completions",
        "openai_chat",
    )
    assert way("GET", "/v1/responses/resp_1") == (
        "openai",
        "https://o.example/v1/responses/resp_1",
        "",
    )
    assert way("POST", "/v1/threads/t/messages") == (
        "openai",
        "https://o.example/v1/threads/t/messages",
        "",
    )
    assert (
        find_provider_route("POST", "/v1/messages", {}, {"only": "https://only.example"}).upstream
        == "only"
    )

"""One proxy for many users: whose request it is, what each is shown, and what becomes of nobody's."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic
from hypothesis import given
from hypothesis import strategies as st
from openai import AsyncOpenAI

from memorist.errors import SettingsError, UsageError
from memorist.proxy.proxy_server import open_proxy_socket
from memorist.proxy.tenant_lookup import (
    TenantIdentificationRules,
    find_tenant,
    parse_tenants_by_token_hash,
    read_tenant_identification,
)
from memorist.settings import ProxySettings
from memorist.testing import Say, ScriptedServer
from proxy.conftest import KEY, Proxied, anthropic, user

ALICE, BOB = "alice-made-up-token-1", "bob-made-up-token-22"
HASHED = "sha256:" + hashlib.sha256(BOB.encode()).hexdigest()
TOKENS = TenantIdentificationRules(
    tokens=parse_tenants_by_token_hash(
        f'[tenants]\nalice = "{ALICE}"\n"Bob Smith" = "{HASHED}"\n', "the file", private=True
    )
)
RULE = "No, always use pnpm in this repo, never npm."
ASKED = "Add the package left-pad to the shop"
SHOP = {"x-memorist-project": "/srv/shop"}


def below(files: dict[str, bytes], tenant: str) -> bytes:
    """All that is in the homes whose names begin so."""
    return b"\n".join(data for name, data in files.items() if name.startswith(tenant))


@pytest.mark.covers("IN-3", "RC-1", "SF-6")
@pytest.mark.parametrize("by_header", [False, True])
def test_what_one_tenant_said_is_shown_to_that_tenant_alone(
    proxied: Proxied, by_header: bool
) -> None:
    """The same project, the same name for the session, the same key of the provider: only the
    tenant differs, and nothing passes over.
    """
    tenancy = TenantIdentificationRules(by_header=True) if by_header else TOKENS

    def headers(tenant: str) -> dict[str, str]:
        said = (
            {"x-memorist-tenant": tenant}
            if by_header
            else {"x-memorist-token": ALICE if tenant == "alice" else BOB}
        )
        return {**SHOP, **said, "x-api-key": KEY}

    with ScriptedServer(lambda request: Say(text="Done.")) as server:
        proxy = proxied(server, tenancy=tenancy)
        proxy.ask(
            "/v1/messages",
            anthropic([user(RULE)]),
            headers={**headers("alice"), "x-memorist-session": "s"},
        )
        proxy.close()
        again = proxied(server, tenancy=tenancy)
        for tenant in ("alice", "Bob Smith"):
            again.ask(
                "/v1/messages",
                anthropic([user(ASKED)]),
                headers={**headers(tenant), "x-memorist-session": "t"},
            )
        again.close()

    shown = ["always use pnpm" in json.dumps(request.body) for request in server.received]
    assert shown == [True, True, False]
    files = again.files()
    assert b"pnpm" in below(files, "alice/")
    assert ASKED.encode() in below(files, "bob-smith-")
    assert b"pnpm" not in below(files, "bob-smith-")
    assert not [name for name in files if not name.startswith(("alice/", "bob-smith-"))]
    assert not [
        name
        for name, data in files.items()
        if any(each.encode() in data for each in (ALICE, BOB, KEY))
    ]
    assert not [
        name
        for request in server.received
        for name in request.headers
        if name.lower().startswith("x-memorist")
    ]


@pytest.mark.covers("IN-3")
async def test_many_sessions_of_many_tenants_at_once_keep_to_themselves_with_the_real_sdks(
    proxied: Proxied,
) -> None:
    """Half of them name their session, all by the same names; the others are known by histories
    that begin with the same words.
    """

    async def one(tenant: int, number: int, url: str) -> None:
        named = {"x-memorist-session": f"s{number}"} if number % 2 else {}
        headers = {"x-memorist-tenant": f"t{tenant}", **named}
        said: list[Any] = [
            user("Hi."),
            {"role": "assistant", "content": f"Tenant {tenant}, session {number}."},
        ]
        if number % 3:
            async with AsyncAnthropic(
                base_url=url, api_key=KEY, max_retries=0, default_headers=headers
            ) as client:
                for turn in range(3):
                    said.append(user(f"Secret of {tenant}-{number}: {turn}."))
                    async with client.messages.stream(
                        model="m", max_tokens=50, messages=said
                    ) as stream:
                        said.append({"role": "assistant", "content": await stream.get_final_text()})
        else:
            async with AsyncOpenAI(
                base_url=f"{url}/v1", api_key=KEY, max_retries=0, default_headers=headers
            ) as chat:
                for turn in range(3):
                    said.append(user(f"Secret of {tenant}-{number}: {turn}."))
                    reply = await chat.chat.completions.create(model="m", messages=said)
                    said.append({"role": "assistant", "content": reply.choices[0].message.content})

    with ScriptedServer(lambda request: Say(text="Yes.")) as server:
        proxy = proxied(server, tenancy=TenantIdentificationRules(by_header=True))
        await asyncio.gather(
            *(one(tenant, number, proxy.url) for tenant in range(5) for number in range(6))
        )
        await asyncio.to_thread(proxy.close)

    transcripts = {
        name: data.decode()
        for name, data in proxy.files().items()
        if name.endswith("transcript.jsonl")
    }
    assert len(transcripts) == 30
    for name, text in transcripts.items():
        tenant = name[1 : name.index("/")]
        (number,) = {number for number in range(6) if f"Secret of {tenant}-{number}: " in text}
        assert text.count("Secret of ") == text.count(f"Secret of {tenant}-{number}: ") == 3


@pytest.mark.covers("IN-3", "SF-6")
@pytest.mark.parametrize(
    ("tenancy", "headers", "status", "said"),
    [
        (TOKENS, {}, 401, "a tenant's token"),
        (TOKENS, {"x-memorist-token": ALICE[:-1]}, 401, "a tenant's token"),
        (TOKENS, {"x-memorist-tenant": "alice"}, 401, "a tenant's token"),
        (TenantIdentificationRules(by_header=True), {}, 400, "x-memorist-tenant"),
        (
            TenantIdentificationRules(by_header=True),
            {"x-memorist-tenant": "  "},
            400,
            "x-memorist-tenant",
        ),
    ],
)
def test_a_request_of_nobody_is_refused_with_what_is_missing(
    proxied: Proxied,
    tenancy: TenantIdentificationRules,
    headers: dict[str, str],
    status: int,
    said: str,
) -> None:
    """It reaches no provider and makes no file, whatever it asks for."""
    with ScriptedServer(lambda request: Say(text="Yes.")) as server:
        proxy = proxied(server, tenancy=tenancy)
        call = proxy.ask("/v1/messages", anthropic([user("Hi.")]), headers=headers)
        models = proxy.ask("/v1/models", method="GET", headers=headers)
        proxy.close()

    assert (call.status, models.status, call.word) == (status, status, "refused")
    assert said in call.body["error"]["message"]
    assert not server.received
    assert not proxy.files()


@pytest.mark.covers("IN-3")
def test_a_request_of_nobody_is_passed_on_untouched_where_the_settings_say_so(
    proxied: Proxied,
) -> None:
    """The bytes as they came, and nothing kept."""
    raw = json.dumps(anthropic([user("Hi.")]), indent=3).encode()
    with ScriptedServer(lambda request: Say(text="Yes.")) as server:
        proxy = proxied(
            server, tenancy=TenantIdentificationRules(tokens=TOKENS.tokens, unknown="pass")
        )
        answer = proxy.ask("/v1/messages", raw, headers={"x-memorist-session": "s"})
        proxy.close()

    assert (answer.status, answer.word) == (200, "passed: it is of no tenant that is known")
    assert [request.raw for request in server.received] == [raw]
    assert not proxy.files()


@pytest.mark.covers("SF-6")
def test_whoever_names_tenants_must_send_the_proxys_own_token_where_there_is_one(
    proxied: Proxied,
) -> None:
    """A name is no secret. A tenant's own token stands for the proxy's."""
    with ScriptedServer(lambda request: Say(text="Yes.")) as server:
        named = proxied(
            server, tenancy=TenantIdentificationRules(by_header=True), token="the proxy's own"
        )
        name = {"x-memorist-tenant": "alice"}
        statuses = [
            named.ask("/v1/messages", anthropic([user("Hi.")]), headers={**name, **more}).status
            for more in ({}, {"x-memorist-token": "wrong"}, {"x-memorist-token": "the proxy's own"})
        ]
        named.close()
        own = proxied(server, tenancy=TOKENS, token="the proxy's own")
        statuses += [
            own.ask(
                "/v1/messages", anthropic([user("Hi.")]), headers={"x-memorist-token": token}
            ).status
            for token in (ALICE, "the proxy's own")
        ]

    assert statuses == [401, 401, 200, 200, 401]


@pytest.mark.covers("IN-3")
def test_a_tenant_whose_settings_are_broken_does_without_memorist_and_stops_nobody(
    proxied: Proxied, tmp_path: Path
) -> None:
    """The request goes out as it came, with the reason; the other tenants are served."""
    home = tmp_path / "home" / "alice"
    home.mkdir(parents=True)
    (home / "config.toml").write_text("this is no TOML")
    with ScriptedServer(lambda request: Say(text="Yes.")) as server:
        proxy = proxied(server, tenancy=TOKENS)
        broken, fine = (
            proxy.ask("/v1/messages", anthropic([user("Hi.")]), headers={"x-memorist-token": each})
            for each in (ALICE, BOB)
        )

    assert broken.status == fine.status == 200
    assert "config.toml is not valid TOML" in broken.word
    assert fine.word == "unchanged"


@pytest.mark.covers("IN-3")
def test_a_folder_that_a_tenant_names_is_never_looked_at_on_this_machine(
    proxied: Proxied, tmp_path: Path
) -> None:
    """Two folders of one repository here are two projects there: the disk of the proxy says nothing
    about those of its tenants.
    """
    shop = tmp_path / "shop"
    (shop / ".git").mkdir(parents=True)
    (shop / "part").mkdir()
    with ScriptedServer(lambda request: Say(text="Done.")) as server:
        proxy = proxied(server, tenancy=TOKENS)
        token = {"x-memorist-token": ALICE}
        for folder in (shop, shop / "part", tmp_path / "home" / "bob-smith"):
            answer = proxy.ask(
                "/v1/messages",
                anthropic([user(RULE)]),
                headers={**token, "x-memorist-project": str(folder)},
            )
            assert not answer.word.startswith("passed")
        proxy.close()

    memories = {
        name.partition("/memory/")[0] for name in proxy.files() if "/memory/MEMORY.md" in name
    }
    assert len(memories) == 3


@pytest.mark.parametrize(
    ("text", "private", "said"),
    [
        ("no toml", True, "not valid TOML"),
        ("", True, "one table"),
        ("[tenants]", True, "one table"),
        (f'alice = "{ALICE}"', True, "one table"),
        (f'[tenants]\nalice = "{ALICE}"\n[more]\na = 1', True, "one table"),
        ('[tenants]\nalice = "short"', True, "16 printable"),
        ("[tenants]\nalice = 1234567890123456", True, "16 printable"),
        ('[tenants]\nalice = "ééééééééééééééééé"', True, "16 printable"),
        ('[tenants]\nalice = "sha256:12"', True, "64 hex digits"),
        (f'[tenants]\n"" = "{ALICE}"', True, "no name"),
        (f'[tenants]\na = "{BOB}"\nb = "{HASHED}"', True, "a token of its own"),
        (f'[tenants]\na = "{ALICE}"', False, "chmod 600"),
    ],
)
def test_a_tenants_file_that_cannot_be_used_is_told(text: str, private: bool, said: str) -> None:
    """What is wrong, where, and what to write; the token itself is not repeated."""
    with pytest.raises(SettingsError, match=said) as error:
        parse_tenants_by_token_hash(text, "tenants.toml", private=private)

    assert ALICE not in str(error.value)


@given(st.text())
def test_no_token_but_the_tenants_own_is_theirs(token: str) -> None:
    """Whatever stands in the header."""
    assert find_tenant({"x-memorist-token": token}, TOKENS) == {
        ALICE: "alice",
        BOB: "Bob Smith",
    }.get(token, "")


@pytest.mark.covers("SF-6")
def test_tenants_tokens_guard_a_proxy_beyond_this_machine_and_names_do_not(tmp_path: Path) -> None:
    """Where nobody's requests are passed on, or whoever comes names a tenant, the proxy's own token
    is needed.
    """
    beyond = ProxySettings(host="192.0.2.1", port=0)
    for tenancy in (
        TenantIdentificationRules(by_header=True),
        TenantIdentificationRules(tokens=TOKENS.tokens, unknown="pass"),
    ):
        with pytest.raises(UsageError, match="MEMORIST_PROXY_TOKEN"):
            open_proxy_socket(beyond, "", tenancy)
    open_proxy_socket(
        ProxySettings(host="127.0.0.2", port=0), "", TOKENS
    ).close()  # one of the addresses beyond `LOOPBACK`
    with pytest.raises(SettingsError, match="cannot be read"):
        read_tenant_identification(ProxySettings(tenants=str(tmp_path / "missing.toml")))
    file = tmp_path / "tenants.toml"
    file.write_text(f'[tenants]\nbob = "{HASHED}"\n')
    file.chmod(0o644)
    assert read_tenant_identification(
        ProxySettings(tenants=str(file), unknown_tenant="pass")
    ) == TenantIdentificationRules(tokens={HASHED[7:]: "bob"}, unknown="pass")
    assert read_tenant_identification(ProxySettings()).has_tenants is False

"""One string chooses a model."""

from __future__ import annotations

import contextlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.errors import ModelNameError
from memorist.models.model_choice import (
    AnthropicChoice,
    LocalLlmChoice,
    ModelChoice,
    NoModelChoice,
    OpenAIChatChoice,
    OpenAIChoice,
    create_model_from_string,
    get_model_wire_name,
    parse_model_name,
)
from memorist.models.model_settings import ModelSettings
from memorist.testing import Say, ScriptedServer

GOOD: list[tuple[str, ModelChoice]] = [
    ("structural", NoModelChoice()),
    ("local", LocalLlmChoice()),
    ("local:/models/a b.gguf", LocalLlmChoice("/models/a b.gguf")),
    ("anthropic:claude-opus-4-5", AnthropicChoice("claude-opus-4-5")),
    ("anthropic:claude-opus-4-1@20250805", AnthropicChoice("claude-opus-4-1@20250805")),
    (
        "anthropic:m@https://gate.example/anthropic/",
        AnthropicChoice("m", "https://gate.example/anthropic"),
    ),
    ("openai:gpt-5", OpenAIChoice("gpt-5")),
    ("openai:gpt-5@http://127.0.0.1:9/v1", OpenAIChoice("gpt-5", "http://127.0.0.1:9/v1")),
    (
        "openai-chat:qwen3:8b@http://localhost:11434/v1",
        OpenAIChatChoice("qwen3:8b", "http://localhost:11434/v1"),
    ),
    (
        " OpenAI-Chat:org/model@x@http://[::1]:1/v1 ",
        OpenAIChatChoice("org/model@x", "http://[::1]:1/v1"),
    ),
]

BAD = [
    "",
    "gpt-5",
    "anthropic",
    "anthropic:",
    "openai:@http://a/v1",
    "openai-chat:qwen3",
    "openai-chat:qwen3@localhost:11434",
    "openai-chat:m@ftp://a/v1",
    "openai-chat:m@http://",
    "openai-chat:m@http://a:99999/v1",
    "openai:a b",
    "structural:x",
    "local:",
    "gemini:x",
    "ollama:qwen3:8b",
    "vllm:org/model",
]


@pytest.mark.covers("OP-1")
@pytest.mark.parametrize(("text", "choice"), GOOD)
def test_every_form_of_a_model_string_is_read(text: str, choice: ModelChoice) -> None:
    """Names may hold colons, slashes and at signs."""
    assert parse_model_name(text) == choice


@pytest.mark.covers("OP-1")
@pytest.mark.parametrize("text", BAD)
def test_a_bad_model_string_is_refused_with_the_right_forms(text: str) -> None:
    """The error says what to write instead."""
    with pytest.raises(ModelNameError, match=r"openai-chat:|http://"):
        parse_model_name(text)


@pytest.mark.covers("OP-1")
def test_a_local_server_by_its_own_name_is_told_how_it_is_written() -> None:
    """Who writes the server as if it were a provider gets the line that works, with the model."""
    with pytest.raises(ModelNameError) as refused:
        parse_model_name("ollama:qwen3:8b")

    assert "openai-chat:qwen3:8b@http://127.0.0.1:11434/v1" in str(refused.value)


@pytest.mark.covers("SF-1")
def test_a_key_in_the_address_is_refused_and_not_repeated() -> None:
    """Model strings are shown in receipts and logs, so no secret may stand in one."""
    with pytest.raises(ModelNameError) as caught:
        parse_model_name("openai-chat:m@https://me:s3cret@host/v1")

    assert "s3cret" not in str(caught.value)


@pytest.mark.covers("OP-1")
@given(
    st.text(max_size=40)
    | st.from_regex(
        r"(anthropic|openai|openai-chat|local):.{0,20}(@https?://.{0,12})?", fullmatch=True
    )
)
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but a choice or a ModelNameError comes out, and a choice keeps its kind when it is
    read.
    """
    with contextlib.suppress(ModelNameError):
        choice = parse_model_name(text)
        assert text.strip().lower().startswith(str(type(choice).__struct_config__.tag))


@pytest.mark.covers("OP-1")
def test_the_name_in_a_body_is_the_bare_one() -> None:
    """What a request body must carry as its model."""
    assert get_model_wire_name("openai-chat:qwen3:8b@http://h/v1") == "qwen3:8b"
    assert get_model_wire_name("anthropic:claude-opus-5") == "claude-opus-5"
    assert get_model_wire_name("local") == "local"


@pytest.mark.covers("SM-13")
def test_structural_is_no_model() -> None:
    """No key, no package, no network."""
    assert create_model_from_string("structural", environment={}) is None


@pytest.mark.covers("OP-1")
@pytest.mark.parametrize(
    ("text", "variable"), [("anthropic:c", "ANTHROPIC_API_KEY"), ("openai:g", "OPENAI_API_KEY")]
)
def test_a_missing_key_is_told_by_its_name(text: str, variable: str) -> None:
    """The error names the variable to set."""
    with pytest.raises(ModelNameError, match=variable):
        create_model_from_string(text, environment={})
    assert create_model_from_string(text, environment={variable: "k"}) is not None


@pytest.mark.covers("OP-1")
@pytest.mark.parametrize(
    ("text", "package"),
    [("anthropic:c", "anthropic"), ("openai:g", "openai"), ("openai-chat:m@http://h/v1", "openai")],
)
def test_a_missing_extra_is_told_with_the_command_that_installs_it(
    text: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error holds the pip command."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelNameError, match=rf"pip install 'memorist\[{package}\]'"):
        create_model_from_string(
            text, environment={"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}
        )


@pytest.mark.covers("SF-1")
@pytest.mark.parametrize("kind", ["anthropic", "openai", "openai-chat"])
async def test_a_providers_key_is_not_sent_to_another_server(kind: str) -> None:
    """A server named in the string gets MEMORIST_API_KEY, or no key; the provider's key only when
    the settings name its variable.
    """
    keys = {"ANTHROPIC_API_KEY": "provider", "OPENAI_API_KEY": "provider"}
    own = ModelSettings(key_variable="MINE")
    seen = [
        _key(f"{kind}:m@http://h/v1", ModelSettings(), keys),
        _key(f"{kind}:m@http://h/v1", ModelSettings(), keys | {"MEMORIST_API_KEY": "own"}),
        _key(f"{kind}:m@http://h/v1", own, keys | {"MINE": "named"}),
    ]

    assert seen == ["none", "own", "named"]
    with pytest.raises(ModelNameError, match="MINE"):
        create_model_from_string(f"{kind}:m@http://h/v1", own, environment=keys)


def _key(text: str, settings: ModelSettings, environment: dict[str, str]) -> str | None:
    model = create_model_from_string(text, settings, environment=environment)
    client = vars(model)["_client"]
    assert client.base_url.host == "h"
    return str(client.api_key)


@pytest.mark.covers("OP-1")
async def test_the_environments_address_is_used() -> None:
    """ANTHROPIC_BASE_URL with its key or token, as the provider's own tools read them."""
    with ScriptedServer([Say(text="ok")]) as server:
        model = create_model_from_string(
            "anthropic:c",
            environment={"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_AUTH_TOKEN": "t"},
        )
        client = vars(model)["_client"]

    assert str(client.base_url).rstrip("/") == server.url
    assert (client.api_key, client.auth_token) == (None, "t")


@pytest.mark.covers("CP-1")
def test_the_window_comes_from_settings_then_table_then_default() -> None:
    """The first that knows the model decides."""
    keys = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}

    def window(text: str, settings: ModelSettings) -> int:
        model = create_model_from_string(text, settings, environment=keys)
        assert model is not None
        return model.window

    assert window("openai:gpt-4.1", ModelSettings()) == 1_047_576
    assert window("openai:gpt-4.1", ModelSettings(window=9_000)) == 9_000
    assert window("openai:who", ModelSettings()) == 128_000
    assert window("anthropic:who", ModelSettings()) == 200_000

"""The lines of docs/models.md for servers on one's own machine, run against each server's answers."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from memorist.config import load_settings
from memorist.core.messages import JsonObject
from memorist.models.model_choice import create_model_from_string
from memorist.ports import Request, discover_window
from memorist.testing import Say, ScriptedServer

PAGE = Path(__file__).parents[2] / "docs" / "models.md"

LISTED_ONLY: JsonObject = {"object": "model", "created": 1, "owned_by": "somebody"}

OLLAMA: dict[str, JsonObject] = {
    "/v1/models": {"object": "list", "data": [{"id": "qwen2.5-coder:14b", **LISTED_ONLY}]},
    "/api/ps": {"models": []},
    "/api/show": {
        "parameters": "stop  x\nnum_ctx    16384",
        "model_info": {"general.architecture": "qwen2", "qwen2.context_length": 32_768},
    },
}
SERVERS: dict[str, tuple[int, dict[str, JsonObject], int]] = {
    "Ollama": (11434, OLLAMA, 16_384),
    "llama.cpp": (
        8080,
        {
            "/v1/models": {
                "object": "list",
                "data": [{"id": "model.gguf", **LISTED_ONLY, "meta": {"n_ctx_train": 131_072}}],
            },
            "/props": {"default_generation_settings": {"n_ctx": 32_768}, "total_slots": 1},
        },
        32_768,
    ),
    "LM Studio": (
        1234,
        {
            "/v1/models": {
                "object": "list",
                "data": [{"id": "qwen2.5-coder-14b-instruct", **LISTED_ONLY}],
            },
            "/props": {"error": "Unexpected endpoint or method. (GET /props)"},
            "/api/v0/models": {
                "data": [
                    {"id": "other", "state": "not-loaded", "max_context_length": 8_192},
                    {
                        "id": "qwen2.5-coder-14b-instruct",
                        "state": "loaded",
                        "max_context_length": 131_072,
                        "loaded_context_length": 12_288,
                    },
                ]
            },
        },
        12_288,
    ),
    "vLLM": (
        8000,
        {
            "/v1/models": {
                "object": "list",
                "data": [{"id": "MODEL", **LISTED_ONLY, "max_model_len": 24_576}],
            }
        },
        24_576,
    ),
}
"""By name: the port that it listens on, what it answers about itself, and the window that follows."""


def documented() -> dict[str, str]:
    """The settings of the page's section, by the server that their comment names."""
    section = PAGE.read_text("utf-8").partition("## A model on your own machine")[2]
    own = section.partition("\n## ")[0]
    return dict(re.findall(r"```toml\n# ([^:\n]+)[^\n]*\n(.*?)```", own, re.DOTALL))


def test_the_page_has_a_line_for_each_server() -> None:
    """None is missing here, and none there; each names the port at which its server listens."""
    lines = documented()

    assert set(lines) == set(SERVERS)
    for name, (port, _, _) in SERVERS.items():
        assert f"@http://127.0.0.1:{port}/v1" in tomllib.loads(lines[name])["model"]


@pytest.mark.parametrize("name", SERVERS)
async def test_each_documented_line_finds_the_servers_window_and_gets_an_answer(
    name: str, tmp_path: Path
) -> None:
    """The line as a settings file, with only the port another one: the window is the server's, no
    request is refused, and the time limits are those of a model on this machine.
    """
    port, answers, window = SERVERS[name]
    with ScriptedServer([Say(text="Here.")], window=window) as server:
        server.descriptions.update(answers)
        line = documented()[name].replace(f"http://127.0.0.1:{port}/v1", server.openai_url)
        (tmp_path / "config.toml").write_text(line, "utf-8")
        settings = load_settings({}, home=tmp_path).settings
        model = create_model_from_string(settings.model, settings.models, environment={})
        assert model is not None
        try:
            found = await discover_window(model)
            wire_name = settings.model.partition(":")[2].partition("@")[0]
            body = {"model": wire_name, "messages": [{"role": "user", "content": "Are you there?"}]}
            reply = await model.send(Request(format=model.format, body=body))
        finally:
            await model.close()

    assert found == model.window == window
    assert [message.text for message in reply.messages] == ["Here."]
    assert server.refusals == []
    assert (settings.forks.seconds, settings.models.timeout_seconds) == (600.0, 600.0)


async def test_ollamas_loaded_window_comes_before_the_models_own(tmp_path: Path) -> None:
    """A loaded model's window is what `/api/ps` says, whatever `/api/show` would."""
    loaded = {"name": "qwen2.5-coder:14b", "model": "qwen2.5-coder:14b", "context_length": 20_480}
    with ScriptedServer([]) as server:
        server.descriptions.update({**OLLAMA, "/api/ps": {"models": [loaded]}})
        model = create_model_from_string(
            f"openai-chat:qwen2.5-coder:14b@{server.openai_url}", environment={}
        )
        assert model is not None
        try:
            assert await discover_window(model) == 20_480
        finally:
            await model.close()

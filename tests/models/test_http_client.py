"""What a model's server may not do: send a key elsewhere, or fill the memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from memorist.errors import ModelRequestRejected, ModelUnavailable
from memorist.models import http_client
from memorist.models.anthropic_model import AnthropicModel
from memorist.models.model_access import ModelAccess
from memorist.models.openai_model import OpenAIResponsesModel
from memorist.ports import Request
from memorist.testing import FrozenClock

BODY = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "x"}]}


@contextmanager
def server(answer: bytes, **headers: str) -> Iterator[tuple[str, list[str]]]:
    """A server with one answer; gives its address and the paths it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            asked.append(self.path)
            self.send_response(307 if "Location" in headers else 200)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}", asked
    finally:
        running.shutdown()
        thread.join()
        running.server_close()


@pytest.mark.covers("SF-1")
@pytest.mark.parametrize("kind", [AnthropicModel, OpenAIResponsesModel])
async def test_no_redirect_is_followed(kind: type[AnthropicModel | OpenAIResponsesModel]) -> None:
    """A server that sends the client elsewhere gets no second request, and nobody else the first;
    the error names the address.
    """
    with server(b"") as (elsewhere, asked), server(b"", Location=elsewhere) as (place, _):
        model = kind("n", "m", ModelAccess(key="sesame", base_url=place))
        with pytest.raises(ModelRequestRejected, match="no redirect is followed") as caught:
            await model.send(Request(format=model.format, body=BODY))
        await model.close()

    assert elsewhere in str(caught.value)
    assert asked == []


@pytest.mark.covers("SF-5")
async def test_an_endless_answer_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than any reply is not read to its end, even without a line end in it."""
    monkeypatch.setattr(http_client, "MAX_REPLY_BYTES", 10_000)
    with server(b"data: " + b"x" * 200_000, content_type="text/event-stream") as (place, _):
        access = ModelAccess(key="k", base_url=place)
        model = OpenAIResponsesModel("n", "m", access, clock=FrozenClock(0))
        with pytest.raises(ModelUnavailable, match="larger than 10,000 bytes"):
            await model.send(Request(format=model.format, body=BODY))
        await model.close()


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
async def test_a_model_on_this_machine_is_called_past_the_proxy_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """A proxy that a company prescribes does not reach this machine, and few leave loopback out of
    it: a local model, the embedded one too, could not be reached.
    """
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "example.test")
    with server(b"{}") as (address, asked):
        client = http_client.build_size_limited_http_client()
        await client.post(f"{address}/v1/x", json={})
        await client.aclose()

    assert asked == ["/v1/x"]

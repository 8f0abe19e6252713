"""Answers of compatible servers that are not quite as the format says, over the real SDK."""

from __future__ import annotations

from typing import Any

import pytest

from memorist.core.messages import JsonObject
from memorist.errors import ModelRequestRejected
from memorist.formats.codec_registry import find_codec
from memorist.models.model_choice import create_model_from_string
from memorist.ports import Reply, Request
from memorist.testing import HttpError, Say, ScriptedServer, Step

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"facts": {"type": "array", "items": {"type": "string"}}},
    "required": ["facts"],
    "additionalProperties": False,
}


async def ask(server: ScriptedServer, name: str, requests: int = 1) -> list[Reply]:
    """The replies to the same request with a schema, so many times."""
    kind, _, rest = name.partition(":")
    url = server.url if kind == "anthropic" else server.openai_url
    model = create_model_from_string(f"{kind}:{rest}@{url}", environment={})
    assert model is not None
    body = find_codec(model.format).build_request(
        rest, system="List facts.", text="Tea is hot.", max_output=200, schema=SCHEMA
    )
    try:
        return [await model.send(Request(format=model.format, body=body)) for _ in range(requests)]
    finally:
        await model.close()


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ('<think>\n{"facts": ["no"]} or so?\n</think>\n\n{"facts": []}', '{"facts": []}'),
        ("<thinking>hm</thinking>Yes.", "Yes."),
        ("\n<think>never ends", ""),
        ('Is it {"facts": ["no"]}?\n</think>\n\n{"facts": []}', '{"facts": []}'),
        ("Write it so:\n```\n</think>\n```\n", "Write it so:\n```\n</think>\n```\n"),
        ("Between <think> and\n</think>\nit thinks.", "Between <think> and\n</think>\nit thinks."),
        ("It says <think>x</think> here.", "It says <think>x</think> here."),
        ("Plain.", "Plain."),
    ],
)
async def test_what_a_model_thought_is_no_part_of_its_answer(said: str, answer: str) -> None:
    """A server without a parser for the model passes its thoughts on in the text: they are set
    apart where they come first, and left where a text speaks of them.
    """
    with ScriptedServer([Say(text=said)]) as server:
        (reply,) = await ask(server, "openai-chat:qwen3")

    assert "".join(message.text for message in reply.messages) == answer


@pytest.mark.covers("FM-2")
@pytest.mark.parametrize(
    ("name", "key", "words"),
    [
        ("openai-chat:m", "response_format", "Unsupported response_format: json_schema"),
        ("openai-chat:m", "response_format", "failed to parse grammar"),
        ("openai:m", "text", "text.format is not supported by this model"),
        ("anthropic:m", "output_config", "output_config.format: structured outputs not available"),
    ],
)
async def test_a_server_that_takes_no_schema_is_asked_without_and_never_again_with_one(
    name: str, key: str, words: str
) -> None:
    """The prompt names the form as well, so that the answer is of use all the same."""
    answers: list[Step] = [HttpError(code=400, message=words), Say(text="{}"), Say(text="{}")]
    with ScriptedServer(answers) as server:
        replies = await ask(server, name, requests=2)

    assert [key in sent.body for sent in server.received] == [True, False, False]
    assert len(replies) == 2


@pytest.mark.covers("FM-2")
async def test_another_refusal_is_no_reason_to_drop_the_schema() -> None:
    """A wrong name stays an error, and is said once."""
    with ScriptedServer([HttpError(code=404, message="model 'm' not found")]) as server:
        with pytest.raises(ModelRequestRejected, match="check the model's name"):
            await ask(server, "openai-chat:m")
        sent: list[Any] = list(server.received)

    assert len(sent) == 1

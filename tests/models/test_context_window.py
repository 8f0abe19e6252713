"""The window of a server: what its refusals and its own description say."""

from __future__ import annotations

import pytest

from memorist.models.context_window import (
    RefusedRequestSize,
    parse_refused_request_size,
    read_window_from_llama_props,
    read_window_from_model_list,
    read_window_from_ollama_loaded,
    read_window_from_ollama_model,
)


@pytest.mark.parametrize(
    ("message", "size"),
    [
        ("prompt is too long: 210000 tokens > 200000 maximum", (210_000, 200_000)),
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted "
            "in 9001 tokens. Please reduce the length of the messages.",
            (9_001, 8_192),
        ),
        (
            "This model's maximum context length is 4096 tokens. However, you requested 5120 "
            "tokens (4100 in the messages, 1020 in the completion).",
            (5_120, 4_096),
        ),
        (
            "request (5200 tokens) exceeds the available context size (4096 tokens), try "
            "increasing it",
            (5_200, 4_096),
        ),
        (
            "The input token count (1048999) exceeds the maximum number of tokens allowed "
            "(1048576).",
            (1_048_999, 1_048_576),
        ),
        ("Your input exceeds the context window of this model.", (None, None)),
        (
            "'max_tokens' is too large: 8192. This model's maximum context length is 16,384 "
            "tokens and your request has 12000 input tokens (8192 > 16384 - 12000).",
            (None, 16_384),
        ),
        ("connect to 127.0.0.1:11434 failed after 3000 ms", (None, None)),
        (
            "input length and `max_tokens` exceed context limit: 174000 + 64000 > 200000",
            (None, 200_000),
        ),
        (
            "The input (52000 tokens) is longer than the model's context length (32768).",
            (52_000, 32_768),
        ),
        (
            "Input length (52000 tokens) exceeds the maximum allowed length (32768).",
            (52_000, 32_768),
        ),
        ("keep the first 9000 tokens; loaded with context length of only 8192", (9_000, 8_192)),
        ("greater than the context length (n_keep: 9100>= n_ctx: 8192)", (9_100, 8_192)),
        ("maximum prompt length is 131072 but the request contains 140000", (140_000, 131_072)),
        ("prompt token count of 95000 exceeds the limit of 90000", (95_000, 90_000)),
        ("Current length is 41000 while limit is 40000", (41_000, 40_000)),
        ("must be <= 2048. Given: 3000 `inputs` tokens and 60 `max_new_tokens`", (3_000, 2_048)),
        ("Range of input length should be [1, 129024]", (None, 129_024)),
        ("qwen2.5-7b-0613 at /v1/models/8192: request 12345678 was refused", (None, None)),
    ],
)
def test_a_refusal_tells_the_window_and_the_size(
    message: str, size: tuple[int | None, int | None]
) -> None:
    """Each server's own words are read, and where there are only two numbers, the smaller is the
    window; a number that is neither (a port, a time, part of a name) is not read.
    """
    assert parse_refused_request_size(message) == RefusedRequestSize(*size)


def test_the_fields_of_an_error_count_before_its_words() -> None:
    """llama.cpp gives both numbers as fields; a value of another type is no number."""
    fields = {"n_prompt_tokens": 3058, "n_ctx": 2048}

    assert parse_refused_request_size("too long", fields) == RefusedRequestSize(3_058, 2_048)
    assert parse_refused_request_size("too long", {"n_ctx": True}) == RefusedRequestSize()


def test_each_server_tells_its_window() -> None:
    """llama.cpp, vLLM, LM Studio and Ollama each name it in a place of their own."""
    listed = {
        "data": [
            {"id": "a", "max_model_len": 16_384},
            {"id": "b", "loaded_context_length": 4_096, "max_context_length": 32_768},
            {"id": "c", "max_context_length": 32_768},
        ]
    }

    assert read_window_from_llama_props({"default_generation_settings": {"n_ctx": 8_192}}) == 8_192
    assert [read_window_from_model_list(listed, name) for name in "abcd"] == [
        16_384,
        4_096,
        32_768,
        None,
    ]
    assert (
        read_window_from_model_list({"data": [{"id": "x.gguf", "meta": {"n_ctx": 2_048}}]}, "m")
        == 2_048
    )
    assert (
        read_window_from_ollama_loaded(
            {"models": [{"name": "q:7b", "model": "q:7b", "context_length": 65_536}]}, "q:7b"
        )
        == 65_536
    )


def test_ollama_serves_less_than_a_model_was_trained_for() -> None:
    """It cuts what does not fit without a word, so its small default counts until it tells."""
    trained = {"model_info": {"qwen2.context_length": 32_768}}

    assert read_window_from_ollama_model(trained) == 4_096
    assert (
        read_window_from_ollama_model({**trained, "parameters": "stop x\nnum_ctx 16384"}) == 16_384
    )
    assert read_window_from_ollama_model({"model_info": {"x.context_length": 2_048}}) == 2_048
    assert read_window_from_ollama_model({"error": "not found"}) is None


@pytest.mark.parametrize("body", [None, [], "x", {"data": "x"}, {"data": [None]}, {"models": 1}])
def test_an_answer_of_another_kind_tells_nothing(body: object) -> None:
    """Any program may listen at that address."""
    assert read_window_from_llama_props(body) is None
    assert read_window_from_model_list(body, "m") is None
    assert read_window_from_ollama_loaded(body, "m") is None
    assert read_window_from_ollama_model(body) is None

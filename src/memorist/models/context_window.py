"""A model's context window in tokens: what its server says of itself, what its refusals and its
counts show, else the settings and the price table. Pure.

Sources of the fields: llama.cpp's server (`/props`, `/v1/models`, `exceed_context_size_error`),
vLLM (`/v1/models`), LM Studio (`/api/v0/models`), Ollama (`/api/ps`, `/api/show`), and the wording
of the refusals that `models.call_failure` knows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from memorist.core.lazy import lazy_pattern
from memorist.core.messages import JsonObject
from memorist.models.model_pricing import ModelPrice, find_request_model_price
from memorist.models.model_settings import ModelSettings

MIN_WINDOW, MAX_WINDOW = 256, 100_000_000
"""Bounds in tokens between which a number is taken for a window; anything else is no window. Our
choice.
"""

OLLAMA_DEFAULT_WINDOW = 4_096
"""Window in tokens that Ollama serves when neither the model nor the server names one: its default
on a machine with little graphics memory (its page on the context length). It cuts what does not fit
without an error, so the smallest is assumed until the model is loaded and `/api/ps` tells.
"""

_COUNT = r"(\d{1,3}(?:[,_]\d{3})+|\d{3,9})"
_WINDOW_PHRASES = tuple(
    lazy_pattern(phrase, re.IGNORECASE)
    for phrase in (
        rf"\+ \d+ > {_COUNT}",
        rf"\bn_ctx:? {_COUNT}",
        rf"(?!input length \()(?:context|input|window)[\w' ]{{0,30}}(?:length|size|limit|window)"
        rf"[^\d\n]{{0,24}}?{_COUNT}",
        rf"maximum number of tokens[^\d\n]{{0,24}}{_COUNT}",
        rf"(?:prompt|model|allowed) length(?: is| of)? ?\(?{_COUNT}",
        rf"\blimit(?: of| is|:)? {_COUNT}",
        rf"must be <= {_COUNT}",
        rf"range of input length[^\d\n]{{0,24}}\d, ?{_COUNT}",
        rf"{_COUNT}(?: tokens?)? (?:maximum|limit)\b",
        rf"\(\d+ > {_COUNT}\)",
    )
)
_SIZE_PHRASES = tuple(
    lazy_pattern(phrase, re.IGNORECASE)
    for phrase in (
        rf"(?:resulted in|requested|request \(|too long:|input token count \(?)[^\d\n]{{0,24}}?"
        rf"{_COUNT}",
        rf"\({_COUNT} > \d+\)",
        rf"{_COUNT} tokens? (?:>|from the input|in the messages)",
    )
)


_LONE_COUNT = lazy_pattern(rf"(?<![\w.\-/:#])(?:{_COUNT})(?![\w.\-/%]*[\w/%])")


class RefusedRequestSize(NamedTuple):
    """What a refusal says: the tokens of the request and the window, each None where it does not
    say.
    """

    tokens: int | None = None
    window: int | None = None


def parse_refused_request_size(
    message: str, fields: Mapping[str, object] | None = None
) -> RefusedRequestSize:
    """Read how large a refused request was and how large the window is.

    `fields` is the error's object: its numbers (llama.cpp's `n_prompt_tokens` and `n_ctx`) count
    before those in the words. `message` are the provider's own words, without the model's name or
    address, whose digits mean nothing.
    """
    given = fields or {}
    window = _as_window(given.get("n_ctx")) or _find_count(_WINDOW_PHRASES, message)
    tokens = _as_window(given.get("n_prompt_tokens")) or _find_count(_SIZE_PHRASES, message)
    if window is None or tokens is None:
        pair = _find_pair(message)
        if window in (None, pair.window) and tokens in (None, pair.tokens):
            return RefusedRequestSize(tokens or pair.tokens, window or pair.window)
    if tokens is not None and window is not None and tokens <= window:
        # With the output that was asked for the sum is too long; only the window is certain.
        tokens = None
    return RefusedRequestSize(tokens, window)


def _find_pair(message: str) -> RefusedRequestSize:
    """The only two numbers of a refusal that names its sizes in words of its own: the request's,
    and the window, which is smaller.
    """
    found = {int(re.sub(r"\D", "", each)) for each in _LONE_COUNT.findall(message[:2_000])}
    counts = sorted(count for count in found if _as_window(count) is not None)
    return RefusedRequestSize(counts[1], counts[0]) if len(counts) == 2 else RefusedRequestSize()


def _find_count(phrases: tuple[re.Pattern[str], ...], message: str) -> int | None:
    for phrase in phrases:
        found = phrase.search(message[:2_000])
        if found and (count := _as_window(int(re.sub(r"\D", "", found[1])))) is not None:
            return count
    return None


def _as_window(value: object) -> int | None:
    """The value if it is a plausible number of tokens."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if MIN_WINDOW <= value <= MAX_WINDOW else None


def read_window_from_llama_props(body: object) -> int | None:
    """The window from llama.cpp's `/props`: that of one slot."""
    settings = body.get("default_generation_settings") if isinstance(body, Mapping) else None
    return _as_window(settings.get("n_ctx")) if isinstance(settings, Mapping) else None


def read_window_from_model_list(body: object, model: str) -> int | None:
    """The window from a list of models: vLLM's `max_model_len`, llama.cpp's `meta.n_ctx`, LM
    Studio's `loaded_context_length` and, for a model that is not loaded, `max_context_length`.

    The entry of this name counts; a list of one entry is that model's, whatever its name.
    """
    data = body.get("data") if isinstance(body, Mapping) else None
    entries = (
        [entry for entry in data if isinstance(entry, Mapping)] if isinstance(data, list) else []
    )
    found = [entry for entry in entries if entry.get("id") == model] or (
        entries if len(entries) == 1 else []
    )
    for entry in found:
        meta = entry.get("meta")
        numbers = (
            entry.get("max_model_len"),
            entry.get("loaded_context_length"),
            meta.get("n_ctx") if isinstance(meta, Mapping) else None,
            entry.get("max_context_length"),
        )
        if (window := next(filter(None, map(_as_window, numbers)), None)) is not None:
            return window
    return None


def read_window_from_ollama_loaded(body: object, model: str) -> int | None:
    """The window from Ollama's `/api/ps`, for a model that is loaded."""
    models = body.get("models") if isinstance(body, Mapping) else None
    for entry in models if isinstance(models, list) else ():
        if isinstance(entry, Mapping) and model in (entry.get("name"), entry.get("model")):
            return _as_window(entry.get("context_length"))
    return None


def read_window_from_ollama_model(body: object) -> int | None:
    """The window from Ollama's `/api/show` for a model that is not loaded: its own `num_ctx`, or
    what Ollama serves by default; None where the answer is not Ollama's.
    """
    if not isinstance(body, Mapping) or not isinstance(info := body.get("model_info"), Mapping):
        return None
    parameters = body.get("parameters")
    chosen = (
        re.search(r"^\s*num_ctx\s+(\d{3,9})", parameters, re.MULTILINE)
        if isinstance(parameters, str)
        else None
    )
    if chosen:
        return _as_window(int(chosen[1]))
    trained = next(
        (
            window
            for key, value in info.items()
            if str(key).endswith(".context_length") and (window := _as_window(value))
        ),
        OLLAMA_DEFAULT_WINDOW,
    )
    return min(trained, OLLAMA_DEFAULT_WINDOW)


DEFAULT_WINDOW = 200_000
"""Context window in tokens of a model that is not in the price table, until its server shows
another one.
"""


def resolve_context_window(
    request: JsonObject, models: ModelSettings, learned: int | None = None
) -> int:
    """Return the window of a request's model in tokens: what its server showed, else the price
    table's, else `models.window`, else the default.
    """
    known = find_request_model_price(request, models.prices) or ModelPrice()
    return learned or known.window or models.window or DEFAULT_WINDOW

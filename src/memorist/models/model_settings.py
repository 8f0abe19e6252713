"""The settings of model calls."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from memorist.models.model_pricing import ModelPrice


class ModelSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How models are called. Times are seconds, sizes are tokens."""

    timeout_seconds: float = 120.0
    """Longest time of one call with its retries. Chosen here: most forks finish within a minute,
    and no caller waits longer for a session memory update.
    """
    attempts: int = 4
    """Most requests sent for one call. Chosen here: two more than the providers' SDKs retry,
    because background work can wait.
    """
    backoff_seconds: float = 0.5
    """Wait before the second attempt (the providers' SDKs)."""
    backoff_factor: float = 2.0
    """Factor by which the wait grows with each attempt (the providers' SDKs)."""
    backoff_cap_seconds: float = 8.0
    """Longest wait unless the provider asks for one (the providers' SDKs)."""
    jitter: float = 0.25
    """Share of the wait that may be subtracted at random (the providers' SDKs)."""
    retry_after_cap_seconds: float = 60.0
    """Longest wait when the provider asks for one with `Retry-After` (the providers' SDKs)."""
    max_output: int | None = None
    """Most tokens of output that any request may ask for; None leaves each task its own limit."""
    window: int | None = None
    """Context window of memorist's own model, and of a host's that no price table knows (of others
    `compaction.window` lowers it). None: what the server says of itself (llama.cpp, vLLM,
    LM Studio, Ollama) or in a refusal, else the price table's number for the model, else 128,000
    (8,192 for the embedded model, 200,000 for a host's).
    """
    temperature: float | None = 0.0
    """Sampling temperature of memorist's own requests to a compatible server (`openai-chat:…@URL`);
    None leaves the server's default. OpenAI's and Anthropic's own servers get none: some of their
    models refuse it.
    """
    forms: Literal["near", "always", "never"] = "near"
    """Which models get notes and memories as a form, one JSON object whose schema the server holds
    them to: `near` those on this machine or its network, `always` every one that has no cached
    conversation to lose. Without a form they write edits.
    """
    prices: dict[str, ModelPrice] = field(default_factory=dict)
    """The user's own prices, by model name or prefix; they override the shipped ones, field by
    field.
    """
    headers: dict[str, str] = field(default_factory=dict)
    """Headers sent with every request, such as `anthropic-beta`."""
    key_variable: str | None = None
    """Environment variable that holds the key; None uses `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`,
    and for an address of the user's own `MEMORIST_API_KEY`: a provider's key is not sent to another
    server unless it is named here.
    """
    stream_usage: bool = True
    """Request the usage of a Chat Completions stream (`stream_options`); False for a server that
    rejects the key.
    """
    threads: int | None = None
    """Processor threads of the embedded model; None lets llama.cpp choose."""

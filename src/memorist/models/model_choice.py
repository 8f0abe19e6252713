"""Choosing a model by one string.

anthropic:NAME[@BASE_URL]       Anthropic Messages; the key is in ANTHROPIC_API_KEY
openai:NAME[@BASE_URL]          OpenAI Responses; the key is in OPENAI_API_KEY
openai-chat:NAME@BASE_URL       Chat Completions of any compatible server; a key, if it wants one,
is in MEMORIST_API_KEY local[:PATH.gguf]               a small model in this process structural
no model
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from memorist.errors import ModelNameError
from memorist.models.anthropic_model import AnthropicModel
from memorist.models.local_model import EmbeddedLlamaCppModel
from memorist.models.model_access import resolve_model_access
from memorist.models.model_settings import ModelSettings
from memorist.models.openai_chat_model import OpenAIChatModel
from memorist.models.openai_model import OpenAIResponsesModel
from memorist.platforms.extra_installation import build_extra_install_command
from memorist.ports import Clock, Model

MODEL_NAME_FORMS = (
    "anthropic:NAME, openai:NAME, openai-chat:NAME@BASE_URL, local, local:PATH.gguf or structural"
)
"""The forms of a model string, for error messages and help."""


class NoModelChoice(Struct, frozen=True, tag="structural"):
    """No model: every subsystem uses its structural method."""


class LocalLlmChoice(Struct, frozen=True, tag="local"):
    """The embedded small model; `path` None searches for a model file."""

    path: str | None = None


class AnthropicChoice(Struct, frozen=True, tag="anthropic"):
    """Anthropic Messages, at the provider or at `base_url`."""

    name: str
    base_url: str | None = None


class OpenAIChoice(Struct, frozen=True, tag="openai"):
    """OpenAI Responses, at the provider or at `base_url`."""

    name: str
    base_url: str | None = None


class OpenAIChatChoice(Struct, frozen=True, tag="openai-chat"):
    """Chat Completions at `base_url`."""

    name: str
    base_url: str


ModelChoice = NoModelChoice | LocalLlmChoice | AnthropicChoice | OpenAIChoice | OpenAIChatChoice
"""A parsed model string."""

_WITH_URL = re.compile(r"(?P<name>.*?)@(?P<url>[A-Za-z][A-Za-z0-9+.-]*://.*)", re.DOTALL)


_LOCAL_SERVERS = {
    "ollama": 11_434,
    "lmstudio": 1_234,
    "lm-studio": 1_234,
    "llamacpp": 8_080,
    "llama.cpp": 8_080,
    "vllm": 8_000,
}
"""Servers that people name as if they were a provider, and the port on which each listens by
default (their own pages).
"""


def parse_model_name(text: str) -> ModelChoice:
    """Parse a model string. Raises `ModelNameError`, which says what is wrong and what is right."""
    given = text.strip()
    kind, colon, rest = given.partition(":")
    match kind.lower():
        case "structural" if not colon:
            return NoModelChoice()
        case "local" if not colon or rest:
            return LocalLlmChoice(rest or None)
        case "anthropic":
            return AnthropicChoice(*_split_address(given, rest))
        case "openai":
            return OpenAIChoice(*_split_address(given, rest))
        case "openai-chat":
            name, url = _split_address(given, rest)
            if url is None:
                raise ModelNameError(
                    f"The model {given!r} names no server; write openai-chat:NAME@BASE_URL, "
                    f"such as openai-chat:qwen3@http://127.0.0.1:11434/v1."
                )
            return OpenAIChatChoice(name, url)
        case server if server in _LOCAL_SERVERS and colon:
            raise ModelNameError(
                f"The model {given!r} is written as openai-chat:{rest.strip() or 'NAME'}@"
                f"http://127.0.0.1:{_LOCAL_SERVERS[server]}/v1, with the address at which the "
                f"server listens."
            )
        case _:
            raise ModelNameError(f"There is no model {given!r}; use {MODEL_NAME_FORMS}.")


def _split_address(given: str, rest: str) -> tuple[str, str | None]:
    found = _WITH_URL.fullmatch(rest)
    name, url = (found["name"], found["url"]) if found else (rest, None)
    if not name or any(sign.isspace() for sign in rest):
        raise ModelNameError(
            f"The model {given!r} has no name, or a space in it; use {MODEL_NAME_FORMS}."
        )
    return name, None if url is None else _check_url(given, url)


def _check_url(given: str, url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
        parts = None
    if parts is not None and usable and "@" in parts.netloc:
        raise ModelNameError(
            "The model's address holds a user name or password; put the key into "
            "MEMORIST_API_KEY instead."
        )
    if not usable:
        raise ModelNameError(
            f"The address in the model {given!r} cannot be used; it must begin with http:// or "
            f"https:// and name a host."
        )
    return url.rstrip("/")


def get_model_wire_name(text: str) -> str:
    """The model's name as a request body gives it: `gpt-5` for `openai:gpt-5`; `local` and
    `structural` stand for themselves.
    """
    match parse_model_name(text):
        case AnthropicChoice(name=name) | OpenAIChoice(name=name) | OpenAIChatChoice(name=name):
            return name
        case LocalLlmChoice():
            return "local"
        case NoModelChoice():
            return "structural"


def create_model_from_string(
    text: str,
    settings: ModelSettings | None = None,
    *,
    clock: Clock | None = None,
    environment: Mapping[str, str] | None = None,
) -> Model | None:
    """Create the model that the string names, not yet connected; None for `structural`.

    Keys are read from the environment. Raises `ModelNameError` when the string cannot be parsed, an
    extra is not installed or a key is missing.
    """
    settings = settings or ModelSettings()
    environment = os.environ if environment is None else environment
    choice = parse_model_name(text)
    name = text.strip()
    match choice:
        case NoModelChoice():
            return None
        case LocalLlmChoice(path=path):
            return EmbeddedLlamaCppModel(name, path, settings, clock=clock, environment=environment)
        case AnthropicChoice(name=model):
            access = resolve_model_access("ANTHROPIC", choice.base_url, settings, environment)
            with _RequiredExtra("anthropic"):
                return AnthropicModel(name, model, access, settings, clock=clock)
        case OpenAIChoice(name=model):
            access = resolve_model_access("OPENAI", choice.base_url, settings, environment)
            with _RequiredExtra("openai"):
                return OpenAIResponsesModel(name, model, access, settings, clock=clock)
        case OpenAIChatChoice(name=model):
            access = resolve_model_access("OPENAI", choice.base_url, settings, environment)
            with _RequiredExtra("openai"):
                return OpenAIChatModel(name, model, access, settings, clock=clock)


def open_sibling_model(
    model: Model,
    wire_name: str,
    settings: ModelSettings,
    *,
    environment: Mapping[str, str] | None = None,
) -> Model | None:
    """Another model at the same provider and address, by its name as a request gives it, with the
    key of this environment; None where the given one is no model of a provider.
    """
    try:
        choice = parse_model_name(model.name)
        if not isinstance(choice, AnthropicChoice | OpenAIChoice | OpenAIChatChoice):
            return None
        suffix = f"@{choice.base_url}" if choice.base_url else ""
        name = f"{model.name.partition(':')[0]}:{wire_name}{suffix}"
        return create_model_from_string(name, settings, environment=environment)
    except ModelNameError:
        return None


class _RequiredExtra:
    """Turns the ImportError of a missing extra into an error that names the package to install."""

    def __init__(self, extra: str) -> None:
        self._extra = extra

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> Literal[False]:
        if isinstance(error, ImportError):
            raise ModelNameError(
                f"This model needs the package {self._extra}, which is not installed; run "
                f"{build_extra_install_command(self._extra)}"
            ) from error
        return False

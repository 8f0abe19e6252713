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
from memorist.models.access import Access
from memorist.models.anthropic import AnthropicModel
from memorist.models.local import LocalModel
from memorist.models.openai_chat import OpenAIChatModel
from memorist.models.openai_responses import OpenAIResponsesModel
from memorist.models.settings import ModelSettings
from memorist.ports import Clock, Model

FORMS = "anthropic:NAME, openai:NAME, openai-chat:NAME@BASE_URL, local, local:PATH.gguf or structural"
"""The forms of a model string, for error messages and help."""

NO_KEY = "none"
"""Sent as the key to a server that needs none; the SDK requires one."""


class Structural(Struct, frozen=True, tag="structural"):
    """No model: every subsystem uses its structural method."""


class Local(Struct, frozen=True, tag="local"):
    """The embedded small model; `path` None searches for a model file."""

    path: str | None = None


class Anthropic(Struct, frozen=True, tag="anthropic"):
    """Anthropic Messages, at the provider or at `base_url`."""

    name: str
    base_url: str | None = None


class OpenAI(Struct, frozen=True, tag="openai"):
    """OpenAI Responses, at the provider or at `base_url`."""

    name: str
    base_url: str | None = None


class OpenAIChat(Struct, frozen=True, tag="openai-chat"):
    """Chat Completions at `base_url`."""

    name: str
    base_url: str


Choice = Structural | Local | Anthropic | OpenAI | OpenAIChat
"""A parsed model string."""

_WITH_URL = re.compile(r"(?P<name>.*?)@(?P<url>[A-Za-z][A-Za-z0-9+.-]*://.*)", re.DOTALL)


def parse_name(text: str) -> Choice:
    """Parse a model string. Raises `ModelNameError`, which says what is wrong and what is right."""
    given = text.strip()
    kind, colon, rest = given.partition(":")
    match kind.lower():
        case "structural" if not colon:
            return Structural()
        case "local" if not colon or rest:
            return Local(rest or None)
        case "anthropic":
            return Anthropic(*_name_and_url(given, rest))
        case "openai":
            return OpenAI(*_name_and_url(given, rest))
        case "openai-chat":
            name, url = _name_and_url(given, rest)
            if url is None:
                raise ModelNameError(
                    f"The model {given!r} names no server; write openai-chat:NAME@BASE_URL, such as openai-chat:qwen3@http://127.0.0.1:11434/v1."
                )
            return OpenAIChat(name, url)
        case _:
            raise ModelNameError(f"There is no model {given!r}; use {FORMS}.")


def _name_and_url(given: str, rest: str) -> tuple[str, str | None]:
    found = _WITH_URL.fullmatch(rest)
    name, url = (found["name"], found["url"]) if found else (rest, None)
    if not name or any(sign.isspace() for sign in rest):
        raise ModelNameError(f"The model {given!r} has no name, or a space in it; use {FORMS}.")
    return name, None if url is None else _checked_url(given, url)


def _checked_url(given: str, url: str) -> str:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
        parts = None
    if parts is not None and usable and "@" in parts.netloc:
        raise ModelNameError("The model's address holds a user name or password; put the key into MEMORIST_API_KEY instead.")
    if not usable:
        raise ModelNameError(f"The address in the model {given!r} cannot be used; it must begin with http:// or https:// and name a host.")
    return url.rstrip("/")


def wire_name(text: str) -> str:
    """The model's name as a request body gives it: `gpt-5` for `openai:gpt-5`; `local` and
    `structural` stand for themselves.
    """
    match parse_name(text):
        case Anthropic(name=name) | OpenAI(name=name) | OpenAIChat(name=name):
            return name
        case Local():
            return "local"
        case Structural():
            return "structural"


def open_model(
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
    choice = parse_name(text)
    name = text.strip()
    match choice:
        case Structural():
            return None
        case Local(path=path):
            return LocalModel(name, path, settings, clock=clock, environment=environment)
        case Anthropic(name=model):
            access = _access(choice, settings, environment)
            with _Extra("anthropic"):
                return AnthropicModel(name, model, access, settings, clock=clock)
        case OpenAI(name=model):
            access = _access(choice, settings, environment)
            with _Extra("openai"):
                return OpenAIResponsesModel(name, model, access, settings, clock=clock)
        case OpenAIChat(name=model):
            access = _access(choice, settings, environment)
            with _Extra("openai"):
                return OpenAIChatModel(name, model, access, settings, clock=clock)


class _Extra:
    """Turns the ImportError of a missing extra into an error that names the package to install."""

    def __init__(self, extra: str) -> None:
        self._extra = extra

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> Literal[False]:
        if isinstance(error, ImportError):
            raise ModelNameError(
                f"This model needs the package {self._extra}, which is not installed; run pip install 'memorist[{self._extra}]'."
            ) from error
        return False


def _access(choice: Anthropic | OpenAI | OpenAIChat, settings: ModelSettings, environment: Mapping[str, str]) -> Access:
    """Find key and address.

    A provider's key goes to the provider, or to the address that the environment sets for it; any
    other server gets `MEMORIST_API_KEY` or the variable named in the settings, and no key at all
    without one.
    """
    prefix = "ANTHROPIC" if isinstance(choice, Anthropic) else "OPENAI"
    url = choice.base_url or environment.get(f"{prefix}_BASE_URL")
    if settings.key_variable is not None:
        key = environment.get(settings.key_variable)
        if not key:
            raise ModelNameError(f"The key for this model is missing; set {settings.key_variable}, which the settings name.")
        return Access(key=key, base_url=url)
    if choice.base_url is not None:
        return Access(key=environment.get("MEMORIST_API_KEY") or NO_KEY, base_url=url)
    if key := environment.get(f"{prefix}_API_KEY"):
        return Access(key=key, base_url=url)
    if prefix == "ANTHROPIC" and (token := environment.get("ANTHROPIC_AUTH_TOKEN")):
        return Access(key=token, base_url=url, bearer=True)
    raise ModelNameError(f"The key for this model is missing; set {prefix}_API_KEY, or use the model structural, which needs none.")

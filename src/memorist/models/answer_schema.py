"""Answers that a model's server holds to a schema: which models fill in forms (`models.forms`), and
which servers take no schema. Pure.
"""

from __future__ import annotations

import re

from memorist.core.lazy import lazy_pattern
from memorist.core.messages import JsonObject
from memorist.models.call_failure import CallFailure, is_context_too_long
from memorist.models.model_settings import ModelSettings
from memorist.models.own_network_servers import is_model_on_own_network
from memorist.ports import Model

SCHEMA_KEYS = {
    "anthropic": "output_config",
    "openai_chat": "response_format",
    "openai_responses": "text",
}
"""By wire format the key of a request that holds the schema of its answer."""

_SCHEMA_WORDS = lazy_pattern(
    r"response[ _]?format|output[ _](?:config|format)|text\.format|json[ _]?schema|"
    r"structured[ _-]?output|grammar|guided",
    re.IGNORECASE,
)
"""Words by which a server says that it does not take a schema, or not this one."""


def should_use_answer_form(model: Model, settings: ModelSettings, *, shares: bool) -> bool:
    """Whether a model is given a task as a form, whose answer its server holds to a schema.

    `shares`: beside a conversation that the server has cached. There only a near server of Chat
    Completions may: at providers a schema comes before the conversation and voids the cache.
    """
    if settings.forms == "never":
        return False
    near = is_model_on_own_network(model.name) and model.format == "openai_chat"
    return near or (settings.forms == "always" and not shares)


def is_answer_schema_refused(format: str, body: JsonObject, failure: CallFailure) -> bool:
    """Whether a server says that it cannot hold the answer to this request to its schema."""
    return (
        SCHEMA_KEYS[format] in body
        and failure.status in {400, 404, 415, 422, 500, 501}
        and not is_context_too_long(failure)
        and _SCHEMA_WORDS.search(failure.message) is not None
    )


def remove_answer_schema(format: str, body: JsonObject) -> JsonObject:
    """The body without the schema of its answer: the prompt names the form too."""
    return {key: value for key, value in body.items() if key != SCHEMA_KEYS[format]}

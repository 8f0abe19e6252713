"""The most tokens that a request to a model may ask for (`models.max_output`). Pure."""

from __future__ import annotations

from memorist.core.messages import JsonObject
from memorist.formats.request_codec import OUTPUT_LIMIT_KEYS
from memorist.models.model_settings import ModelSettings


def cap_output_limit(body: JsonObject, settings: ModelSettings) -> JsonObject:
    """The body with an output limit of at most `models.max_output`; itself where that is not set or
    not exceeded.
    """
    most = settings.max_output
    over = {
        key: most
        for key in OUTPUT_LIMIT_KEYS
        if most is not None and isinstance(given := body.get(key), int) and given > most
    }
    return {**body, **over} if over else body

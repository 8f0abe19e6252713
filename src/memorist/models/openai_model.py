"""The base of the two OpenAI APIs: the client, and one attempt over it (extra `openai`)."""

from __future__ import annotations

from importlib import import_module

from msgspec.structs import replace

from memorist.core.messages import JsonObject
from memorist.models.call_failure import (
    CallFailure,
    build_failure_from_error_object,
    build_failure_from_status,
)
from memorist.models.event_stream import read_reply_stream
from memorist.models.model_access import ModelAccess
from memorist.models.model_settings import ModelSettings
from memorist.models.reply_assembly import ReplyAssembler, assemble_responses_reply
from memorist.models.streaming_model import StreamingModel
from memorist.ports import Clock


class OpenAIBaseModel(StreamingModel):
    """A model over `AsyncOpenAI`. The constructor raises ImportError without the extra."""

    def __init__(
        self,
        name: str,
        model: str,
        access: ModelAccess,
        settings: ModelSettings | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        import openai  # noqa: PLC0415 - an optional extra

        super().__init__(name, model, settings, clock=clock)
        self._connection_error = openai.APIConnectionError
        self._status_error = openai.APIStatusError
        self._stream_error = openai.APIError
        self._stream_type = openai.AsyncStream[object]
        self._client = openai.AsyncOpenAI(
            api_key=access.key,
            base_url=access.base_url or "https://api.openai.com/v1",
            max_retries=0,
            timeout=None,
            default_headers=access.headers,
            http_client=import_module(
                "memorist.models.http_client"
            ).build_size_limited_http_client(),
        )

    async def close(self) -> None:
        """Close the connections. May be called twice."""
        await self._client.close()

    async def _post(
        self, path: str, body: JsonObject, assemble: ReplyAssembler
    ) -> JsonObject | CallFailure:
        events: list[JsonObject] = []
        try:
            async with await self._client.post(
                path, cast_to=object, body=body, stream=True, stream_cls=self._stream_type
            ) as stream:
                self._report_rate_limits(stream.response.headers)
                return await read_reply_stream(stream, assemble, (self._connection_error,), events)
        except self._status_error as error:
            headers = error.response.headers
            return self._with_rate_limits(
                build_failure_from_status(error.status_code, error.message, error.body, headers),
                headers,
            )
        except self._connection_error as error:
            return CallFailure(kind="connection", message=str(error.__cause__ or error))
        except self._stream_error as error:
            # An error event inside a stream; its object is the body.
            failure = build_failure_from_error_object(
                error.body if isinstance(error.body, dict) else {"message": error.message}
            )
            return replace(failure, has_started=bool(events))


# OpenAI's Responses API as a `Model`.


class OpenAIResponsesModel(OpenAIBaseModel):
    """A model that speaks Responses."""

    _format = "openai_responses"

    async def _attempt(self, body: JsonObject) -> JsonObject | CallFailure:
        return await self._post("/responses", {**body, "stream": True}, assemble_responses_reply)

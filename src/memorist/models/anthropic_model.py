"""Anthropic's Messages API as a `Model`, over the official SDK (extra `anthropic`)."""

from __future__ import annotations

from importlib import import_module

from msgspec.structs import replace

from memorist.core.messages import JsonObject
from memorist.models.call_failure import CallFailure, build_failure_from_status
from memorist.models.event_stream import read_reply_stream
from memorist.models.model_access import ModelAccess
from memorist.models.model_settings import ModelSettings
from memorist.models.reply_assembly import assemble_anthropic_reply
from memorist.models.streaming_model import StreamingModel
from memorist.ports import Clock


class AnthropicModel(StreamingModel):
    """A model that speaks Messages. The constructor raises ImportError without the extra."""

    _format = "anthropic"
    _default_window = 200_000

    def __init__(
        self,
        name: str,
        model: str,
        access: ModelAccess,
        settings: ModelSettings | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        import anthropic  # noqa: PLC0415 - an optional extra

        super().__init__(name, model, settings, clock=clock)
        # The SDK's streams raise the errors of its HTTP library as they are.
        self._connection_errors: tuple[type[Exception], ...] = (
            anthropic.APIConnectionError,
            import_module("httpx2").TransportError,
        )
        self._status_error = anthropic.APIStatusError
        self._stream_type = anthropic.AsyncStream[object]
        self._client = anthropic.AsyncAnthropic(
            api_key=None if access.is_bearer_token else access.key,
            auth_token=access.key if access.is_bearer_token else None,
            base_url=access.base_url or "https://api.anthropic.com",
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

    async def _attempt(self, body: JsonObject) -> JsonObject | CallFailure:
        sent = {**body, "stream": True}
        events: list[JsonObject] = []
        try:
            async with await self._client.post(
                "/v1/messages", cast_to=object, body=sent, stream=True, stream_cls=self._stream_type
            ) as stream:
                self._report_rate_limits(stream.response.headers)
                return await read_reply_stream(
                    stream, assemble_anthropic_reply, self._connection_errors, events
                )
        except self._status_error as error:
            headers = error.response.headers
            failure = build_failure_from_status(
                error.status_code, error.message, error.body, headers
            )
            return self._with_rate_limits(replace(failure, has_started=bool(events)), headers)
        except self._connection_errors as error:
            return CallFailure(kind="connection", message=str(error.__cause__ or error))

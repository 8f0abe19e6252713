"""The base of the two OpenAI APIs: the client, and one attempt over it (extra `openai`)."""

from __future__ import annotations

from memorist.core.messages import JsonObject
from memorist.models.access import Access
from memorist.models.faults import Fault, fault_of_object
from memorist.models.settings import ModelSettings
from memorist.models.wire_model import WireModel
from memorist.models.wire_stream import Assemble, read_stream, status_fault
from memorist.ports import Clock


class OpenAIClientModel(WireModel):
    """A model over `AsyncOpenAI`. The constructor raises ImportError without the extra."""

    def __init__(self, name: str, model: str, access: Access, settings: ModelSettings | None = None, *, clock: Clock | None = None) -> None:
        import openai  # noqa: PLC0415 - an optional extra

        super().__init__(name, model, settings, clock=clock)
        self._broken = openai.APIConnectionError
        self._refused = openai.APIStatusError
        self._told = openai.APIError
        self._stream = openai.AsyncStream[object]
        self._client = openai.AsyncOpenAI(
            api_key=access.key,
            base_url=access.base_url or "https://api.openai.com/v1",
            max_retries=0,
            timeout=None,
            default_headers=self._settings.headers,
        )

    async def close(self) -> None:
        """Close the connections. May be called twice."""
        await self._client.close()

    async def _post(self, path: str, body: JsonObject, assemble: Assemble) -> JsonObject | Fault:
        try:
            async with await self._client.post(path, cast_to=object, body=body, stream=True, stream_cls=self._stream) as stream:
                self._answered(stream.response.headers)
                return await read_stream(stream, assemble, (self._broken,))
        except self._refused as error:
            headers = error.response.headers
            return self._refused_with(status_fault(error.status_code, error.message, error.body, headers), headers)
        except self._broken as error:
            return Fault(kind="connection", message=str(error.__cause__ or error))
        except self._told as error:
            # An error event inside a stream; its object is the body.
            return fault_of_object(error.body if isinstance(error.body, dict) else {"message": error.message})

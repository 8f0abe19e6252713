"""One call of a model, which may be a host's own object and then fail in any way."""

from __future__ import annotations

import asyncio

from memorist.errors import MemoristError, ModelError
from memorist.ports import Model, Reply, Request


async def send_to_model(model: Model, request: Request) -> Reply:
    """As `Model.send`: raises a `ModelError`, also for any other exception of a host's own model,
    for an answer that is no `Reply`, and where the model cancelled itself. A cancellation from
    outside propagates.
    """
    try:
        reply: object = await model.send(request)
    except (MemoristError, TimeoutError):
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise ModelError(f"the model {model.name} cancelled its own call") from error
    except Exception as error:
        raise ModelError(
            f"the model {model.name} failed: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(reply, Reply):
        raise ModelError(
            f"the model {model.name} answered with {type(reply).__name__}, not with a "
            "memorist.ports.Reply"
        )
    return reply

"""One open model that several sessions use."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from memorist.models.rate_limits import RateLimitListener, RateLimitReport, subscribe_to_rate_limits
from memorist.ports import Model, Reply, Request, discover_window


class SharedModelPool:
    """Open clients, each kept as long as it has a user."""

    def __init__(self) -> None:
        self._open: dict[Hashable, SharedModel] = {}

    def acquire(
        self, key: Hashable, open_client: Callable[[], Model | None]
    ) -> SharedModelHandle | None:
        """A handle on the client of this key, opened for its first user and closed by its last;
        None when `open_client` returns None. Raises what `open_client` raises.
        """
        if key not in self._open:
            model = open_client()
            if model is None:
                return None
            self._open[key] = SharedModel(model, lambda: self._open.pop(key))
        return self._open[key].acquire()


class SharedModel:
    """A model and its users. A provider counts its limits per key, so its reports go to every user
    of the client.

    `on_unused` is called when the last user is done, and the model is closed then; without it the
    caller closes the model.
    """

    def __init__(self, model: Model, on_unused: Callable[[], object] | None = None) -> None:
        self.model = model
        self._on_unused = on_unused
        self._handles: list[SharedModelHandle] = []
        subscribe_to_rate_limits(model, self._broadcast)

    def acquire(self) -> SharedModelHandle:
        """A handle for one more user, who closes it when done."""
        self._handles.append(SharedModelHandle(self))
        return self._handles[-1]

    async def release(self, handle: SharedModelHandle) -> None:
        """Remove a user's handle; close the model if it was the last."""
        if handle not in self._handles:
            return
        self._handles.remove(handle)
        if not self._handles and self._on_unused is not None:
            self._on_unused()
            await self.model.close()

    def _broadcast(self, report: RateLimitReport) -> None:
        for used in list(self._handles):
            used.on_rate_limits(report)


class SharedModelHandle:
    """The model as one of its users sees it. Closing the handle leaves the model open for the
    others.
    """

    def __init__(self, shared: SharedModel) -> None:
        self._shared = shared
        self._listener: RateLimitListener | None = None

    @property
    def name(self) -> str:
        """The string it was chosen by."""
        return self._shared.model.name

    @property
    def format(self) -> str:
        """The wire format of its requests."""
        return self._shared.model.format

    @property
    def window(self) -> int:
        """Context window in tokens."""
        return self._shared.model.window

    async def discover_window(self) -> int:
        """The context window, asked of the server where that can tell."""
        return await discover_window(self._shared.model)

    async def send(self, request: Request) -> Reply:
        """Send one request and return the whole reply. Raises a `ModelError`."""
        return await self._shared.model.send(request)

    def set_rate_limit_listener(self, listener: RateLimitListener) -> None:
        """Set this user's listener for the provider's rate limits."""
        self._listener = listener

    def on_rate_limits(self, report: RateLimitReport) -> None:
        """Pass a rate limit report on to this user's listener."""
        if self._listener is not None:
            self._listener(report)

    async def close(self) -> None:
        """Release the handle. May be called twice."""
        self._listener = None
        await self._shared.release(self)

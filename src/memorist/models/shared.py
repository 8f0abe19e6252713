"""One provider client shared by several homes: its connections and the rate limits its provider
reports are shared, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from memorist.models.limits import RateNews, Told, listen_to
from memorist.ports import Model, Reply, Request


class SharedModels:
    """Open clients, each kept as long as it has a user."""

    def __init__(self) -> None:
        self._open: dict[Hashable, SharedModel] = {}

    def use(self, key: Hashable, opening: Callable[[], Model | None]) -> ModelUse | None:
        """A handle on the client of this key, opened for its first user and closed by its last;
        None when `open_client` returns None. Raises what `open_client` raises.
        """
        if key not in self._open:
            model = opening()
            if model is None:
                return None
            self._open[key] = SharedModel(model, lambda: self._open.pop(key))
        return self._open[key].use()


class SharedModel:
    """A model and its users. A provider counts its limits per key, so its reports go to every user
    of the client.

    `on_unused` is called when the last user is done, and the model is closed then; without it the
    caller closes the model.
    """

    def __init__(self, model: Model, unused: Callable[[], object] | None = None) -> None:
        self.model = model
        self._unused = unused
        self._users: list[ModelUse] = []
        listen_to(model, self._said)

    def use(self) -> ModelUse:
        """A handle for one more user, who closes it when done."""
        self._users.append(ModelUse(self))
        return self._users[-1]

    async def drop(self, used: ModelUse) -> None:
        """Remove a user's handle; close the model if it was the last."""
        if used not in self._users:
            return
        self._users.remove(used)
        if not self._users and self._unused is not None:
            self._unused()
            await self.model.close()

    def _said(self, news: RateNews) -> None:
        for used in list(self._users):
            used.heard(news)


class ModelUse:
    """The model as one of its users sees it. Closing the handle leaves the model open for the
    others.
    """

    def __init__(self, shared: SharedModel) -> None:
        self._shared = shared
        self._told: Told | None = None

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

    async def send(self, request: Request) -> Reply:
        """Send one request and return the whole reply. Raises a `ModelError`."""
        return await self._shared.model.send(request)

    def listen(self, told: Told) -> None:
        """Set this user's listener for the provider's rate limits."""
        self._told = told

    def heard(self, news: RateNews) -> None:
        """Pass a rate limit report on to this user's listener."""
        if self._told is not None:
            self._told(news)

    async def close(self) -> None:
        """Release the handle. May be called twice."""
        self._told = None
        await self._shared.drop(self)

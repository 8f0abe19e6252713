"""One client of a provider used by several homes at once: its connections and what its provider says of limits are shared, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from memorist.models.limits import RateNews, Told, listen_to
from memorist.ports import Model, Reply, Request


class SharedModels:
    """Clients that are open, each for as long as anybody uses it."""

    def __init__(self) -> None:
        self._open: dict[Hashable, SharedModel] = {}

    def use(self, key: Hashable, opening: Callable[[], Model | None]) -> ModelUse | None:
        """The client of this key, opened by the first user and closed by the last; None where the opening gives none. Raises as the opening does."""
        if key not in self._open:
            model = opening()
            if model is None:
                return None
            self._open[key] = SharedModel(model, lambda: self._open.pop(key))
        return self._open[key].use()


class SharedModel:
    """A model and those who use it. A provider counts its limits by key, so that what it says of them is told to all users of the client.

    `unused` is called when the last user is done, and the model closed then; without it the model is somebody else's to close.
    """

    def __init__(self, model: Model, unused: Callable[[], object] | None = None) -> None:
        self.model = model
        self._unused = unused
        self._users: list[ModelUse] = []
        listen_to(model, self._said)

    def use(self) -> ModelUse:
        """The model for one more user, who closes it when done."""
        self._users.append(ModelUse(self))
        return self._users[-1]

    async def drop(self, used: ModelUse) -> None:
        """One user is done with it."""
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
    """The model as one of its users has it. Closing it leaves the model open for the others."""

    def __init__(self, shared: SharedModel) -> None:
        self._shared = shared
        self._told: Told | None = None

    @property
    def name(self) -> str:
        """The string it was chosen by."""
        return self._shared.model.name

    @property
    def format(self) -> str:
        """The wire format its requests must have."""
        return self._shared.model.format

    @property
    def window(self) -> int:
        """Context window in tokens."""
        return self._shared.model.window

    async def send(self, request: Request) -> Reply:
        """Send one request and return the whole reply. Raises a `ModelError`."""
        return await self._shared.model.send(request)

    def listen(self, told: Told) -> None:
        """Tell this user too what the provider says of its limits."""
        self._told = told

    def heard(self, news: RateNews) -> None:
        """The provider said something to one of the users."""
        if self._told is not None:
            self._told(news)

    async def close(self) -> None:
        """Be done with it. May be called twice."""
        self._told = None
        await self._shared.drop(self)

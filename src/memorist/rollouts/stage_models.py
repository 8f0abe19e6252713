"""The models of the two stages: `rollouts.model`, `rollouts.consolidation_model`, or `model`."""

from __future__ import annotations

from collections.abc import Callable

from memorist.models.model_choice import create_model_from_string
from memorist.models.rate_limits import RateLimitReport, subscribe_to_rate_limits
from memorist.ports import Clock, Model
from memorist.settings import RolloutsSettings, Settings


class StageModelOpener:
    """Opens each model once. A `model` that is given serves both stages.

    The methods raise ModelNameError.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock,
        on_rate_limits: Callable[[RateLimitReport], None],
        model: Model | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._on_rate_limits = on_rate_limits
        self._given = model
        self._models: dict[str, Model | None] = {}

    def open_extraction(self, rollouts: RolloutsSettings) -> Model | None:
        """The model of stage one; None for structure alone."""
        return self._open(rollouts.model)

    def open_consolidation(self, rollouts: RolloutsSettings) -> Model | None:
        """The model of stage two; None for structure alone."""
        return self._open(rollouts.consolidation_model or rollouts.model)

    def _open(self, name: str) -> Model | None:
        if self._given is not None:
            return self._given
        name = name or self._settings.model
        if name not in self._models:
            self._models[name] = create_model_from_string(
                name, self._settings.models, clock=self._clock
            )
            subscribe_to_rate_limits(self._models[name], self._on_rate_limits)
        return self._models[name]

    async def close(self) -> None:
        """Close the models that were opened here."""
        for model in self._models.values():
            if model is not None:
                await model.close()
        self._models.clear()

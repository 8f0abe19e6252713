"""Flags from any OpenFeature provider: the host sets one with `openfeature.api.set_provider`. Needs the extra `flags`."""

from __future__ import annotations

from collections.abc import Mapping

from openfeature.client import OpenFeatureClient
from openfeature.flag_evaluation import FlagEvaluationDetails, Reason

from memorist.flags.values import names


class OpenFeatureSource:
    """Every flag that memorist knows, asked for by its name and kind. `read` asks the client for each, which may take a network's time."""

    def __init__(self, client: OpenFeatureClient) -> None:
        self._client = client

    def read(self) -> Mapping[str, object]:
        """The flags that the provider sets; those that it does not know, and those in error, are left out."""
        found: dict[str, object] = {}
        for name, own in names().items():
            details = self._details(name, own)
            if details.error_code is None and details.reason != Reason.DEFAULT:
                found[name] = details.value
        return found

    def _details(
        self, name: str, own: bool | float
    ) -> FlagEvaluationDetails[bool] | FlagEvaluationDetails[int] | FlagEvaluationDetails[float]:
        if isinstance(own, bool):
            return self._client.get_boolean_details(name, own)
        if isinstance(own, int):
            return self._client.get_integer_details(name, own)
        return self._client.get_float_details(name, own)

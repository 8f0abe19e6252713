"""Flags from any OpenFeature provider: the host sets one with `openfeature.api.set_provider`. Needs
the extra `flags`.
"""

from __future__ import annotations

from collections.abc import Mapping

from openfeature.client import OpenFeatureClient
from openfeature.flag_evaluation import FlagEvaluationDetails, Reason

from memorist.flags.flag_overrides import list_flag_defaults


class OpenFeatureFlagSource:
    """Every flag known to memorist, queried by its name and type. `read` asks the client for each,
    which may involve the network.
    """

    def __init__(self, client: OpenFeatureClient) -> None:
        self._client = client

    def read(self) -> Mapping[str, object]:
        """The flags set by the provider; those unknown to it, and those in error, are left out."""
        found: dict[str, object] = {}
        for name, own in list_flag_defaults().items():
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

"""Learning a model's context window from what its server does: it refuses what is too long, or
counts less than it was sent. Pure.
"""

from __future__ import annotations

from memorist.core.media_size import iterate_base64_media_in_json

REFUSED_SHARE = 0.95
"""Share of the tokens of a refused request that is taken for the window: sizes here are estimates
within some 5 % of the provider's count.
"""


GROWTH, SAME = 0.3, 1.02
"""A server cuts what it is sent when requests should have grown by three tenths while its count
stayed within 2 %. Our choice: the count of a longer request never stands still otherwise.
"""


MIN_COUNTED_TOKENS = 1_000
"""Tokens below which a count says nothing about a window."""


MAX_MEDIA_CHARACTERS = 1_000_000
"""Characters of pictures and documents beyond which a refused request may have been too large in
bytes: servers in front of a model take from 1 MB (nginx, unless told otherwise) to 32 MB
(Anthropic). That says nothing about a window.
"""


def is_too_large_in_bytes(request: object) -> bool:
    """Whether a request that was refused as too long may have been refused for its bytes."""
    return (
        sum(len(data) for data, _ in iterate_base64_media_in_json(request)) > MAX_MEDIA_CHARACTERS
    )


class ContextWindowObserver:
    """Learns the window of one conversation's model from refusals and from counts that stop
    growing.

    Some servers (Ollama) cut the beginning of what does not fit without a word.
    """

    def __init__(self) -> None:
        self._counted = 0
        self._standing = 0
        """The count that all later ones are within 2 % of."""
        self._uncounted = 0
        """Tokens that were added since the server's count stopped growing."""

    def on_reply(self, expected: int, counted: int) -> int | None:
        """Compare the tokens that were sent (the last count and an estimate of what came since)
        with those that the server counted; the window, where it must have cut the request.
        """
        before, self._counted = self._counted, counted
        # Held against the first of them and not against the last: a long context that grows by
        # half a percent with each request is not cut.
        first = self._standing
        stands = (
            MIN_COUNTED_TOKENS <= before <= expected and first <= counted * SAME <= first * SAME**2
        )
        if not stands:
            self._standing, self._uncounted = counted, 0
            return None
        self._uncounted += expected - before
        return counted if self._uncounted >= first * GROWTH else None

    def on_compaction(self) -> None:
        """Begin to add up anew: what a conversation that is compacted to the same size with every
        request was estimated beyond its count is no growth.
        """
        self._uncounted = 0

    def infer_window_from_refusal(self, sent: int, assumed: int) -> int | None:
        """The window after a refusal of `sent` tokens; None where that many exceed the assumed
        window anyway.
        """
        return int(sent * REFUSED_SHARE) if MIN_COUNTED_TOKENS <= sent < assumed else None

"""Addresses within the page, and the links between the parts of a long list."""

from __future__ import annotations

from urllib.parse import urlencode

from memorist.views.page_texts import say
from memorist.views.view_blocks import LinkBlock

PAGE_ROWS = 100
"""Rows of one page of a long list. Our choice."""


def address_of(view: str, /, **query: object) -> str:
    """An address of this page."""
    given = {name: value for name, value in query.items() if value not in {"", None}}
    return f"/{view}?{urlencode(given)}" if given else f"/{view}"


def list_pages(view: str, total: int, page: int, **query: object) -> tuple[LinkBlock, ...]:
    """Links to the pages before and after; none where there is one page."""
    last = max(1, -(-total // PAGE_ROWS))
    links = [
        (word, address_of(view, **query, page=number), False)
        for word, number in ((say("Newer"), page - 1), (say("Older"), page + 1))
        if 1 <= number <= last
    ]
    here = (
        say("Page {page:,} of {last:,}", page=page, last=last),
        address_of(view, **query, page=page),
        True,
    )
    return (LinkBlock(label=say("Pages"), links=[here, *links]),) if last > 1 else ()

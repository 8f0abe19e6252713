"""Render a view as a page or as one self-contained file. Pure.

Text of sessions is untrusted: it is escaped, its hidden characters are written out, and a saved
file's policy forbids scripts and addresses.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from jinja2 import DictLoader, Environment, StrictUndefined
from msgspec import Struct

from memorist.views.markdown_html import render_markdown_html
from memorist.views.page_texts import current_language, say
from memorist.views.view_blocks import PageView, show_untrusted, to_safe_object
from memorist.views.view_formatting import format_number


def name_views() -> dict[str, str]:
    """The views in the order of the navigation, each with what it is called there."""
    return {
        "now": say("Now"),
        "sessions": say("Sessions"),
        "memories": say("Memories"),
        "why": say("Why"),
        "inbox": say("Inbox"),
        "dreams": say("Dreams"),
        "past": say("Past sessions"),
        "spend": say("Spend"),
        "health": say("Health"),
        "team": say("Team"),
        "machines": say("My machines"),
    }


class PageFrame(Struct, frozen=True, kw_only=True):
    """What a page says around its view."""

    csrf: str = ""
    here: str = "/now"
    """Address of the view with its query: where a change comes back to."""
    said: str = ""
    """What the last change did."""
    waiting: int = 0
    """Changes in the inbox."""
    json_address: str = ""
    save_address: str = ""
    saved: bool = False
    footer: str = ""
    """How the file came to be, at its end."""


def render_page(view: PageView, frame: PageFrame) -> str:
    """The whole page; with `frame.saved` one file that needs neither network nor scripts."""
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            view=to_safe_object(view),
            view_names=name_views(),
            language=current_language(),
            live=view.name == "now",
            style=read_asset("page.css").decode() if frame.saved else "",
            **_frame_values(frame),
        )
    )


def render_blocks(view: PageView, frame: PageFrame) -> str:
    """The blocks alone, for the live stream."""
    template = _environment().from_string(
        '{% from "blocks.html.j2" import show_block with context %}'
        "{% for block in view.blocks %}{{ show_block(block, loop.index) }}{% endfor %}"
    )
    return template.render(view=to_safe_object(view), **_frame_values(frame))


def read_asset(name: str) -> bytes:
    """A file of the folder `static`. Raises FileNotFoundError."""
    return files("memorist.views").joinpath("static", name).read_bytes()


def _frame_values(frame: PageFrame) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(frame)
    return values | {"said": show_untrusted(frame.said), "footer": show_untrusted(frame.footer)}


@cache
def _environment() -> Environment:
    folder = files("memorist.views")
    environment = Environment(
        loader=DictLoader(
            {
                name: folder.joinpath(name).read_text("utf-8")
                for name in ("page.html.j2", "blocks.html.j2")
            }
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["say"] = say
    environment.filters["whole"] = lambda number: format_number(round(number))
    environment.filters["markdown"] = render_markdown_html
    return environment

"""Render a view as a page or as one self-contained file. Pure.

Text of sessions is untrusted: it is escaped, its hidden characters are written out, and a saved
file's policy forbids scripts and addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from jinja2 import DictLoader, Environment, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from msgspec import Struct

from memorist.session_memory.notes_template import STRUCTURAL_MARK
from memorist.views.page_texts import get_current_language, translate
from memorist.views.view_blocks import (
    PageView,
    convert_view_to_safe_values,
    mask_and_bound_untrusted_text,
)
from memorist.views.view_formatting import format_number, reveal_invisible_characters

_SHOWN_AS_TEXT = ("link", "image", "autolink", "reference")
"""Links stay plain text: their target is visible, and nothing can be clicked or loaded."""

_BADGE = '<span class="badge">from the transcript\'s structure</span>'


def render_markdown_html(text: str, top: int = 4) -> str:
    """Render the Markdown with its first-level headings as `<h4>` (or `top`); deeper levels end at
    `<h6>`.
    """
    reader = _markdown_renderer()
    tokens = reader.parse(reveal_invisible_characters(text))
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + top - 1)}"
    return str(reader.renderer.render(tokens, reader.options, {}))


@cache
def _markdown_renderer() -> MarkdownIt:
    reader = (
        MarkdownIt("commonmark", {"html": False})
        .enable(["table", "strikethrough"])
        .disable(_SHOWN_AS_TEXT)
    )
    reader.add_render_rule("text", _render_text)
    return reader


def _render_text(
    _renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    _options: OptionsDict,
    _env: EnvType,
) -> str:
    content = tokens[index].content
    return _BADGE if content.strip() == STRUCTURAL_MARK else escapeHtml(content)


def list_navigation_labels() -> dict[str, str]:
    """The views in the order of the navigation, each with what it is called there."""
    return {
        "now": translate("Now"),
        "sessions": translate("Sessions"),
        "memories": translate("Memories"),
        "why": translate("Why"),
        "inbox": translate("Inbox"),
        "dreams": translate("Dreams"),
        "past": translate("Past sessions"),
        "spend": translate("Spend"),
        "health": translate("Health"),
        "team": translate("Team"),
        "machines": translate("My machines"),
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
            view=convert_view_to_safe_values(view),
            view_names=list_navigation_labels(),
            language=get_current_language(),
            live=view.name == "now",
            style=read_static_asset("page.css").decode() if frame.saved else "",
            **_frame_values(frame),
        )
    )


def render_view_blocks(view: PageView, frame: PageFrame) -> str:
    """The blocks alone, for the live stream."""
    template = _environment().from_string(
        '{% from "blocks.html.j2" import show_block with context %}'
        "{% for block in view.blocks %}{{ show_block(block, loop.index) }}{% endfor %}"
    )
    return template.render(view=convert_view_to_safe_values(view), **_frame_values(frame))


def read_static_asset(name: str) -> bytes:
    """A file of the folder `static`. Raises FileNotFoundError."""
    return files("memorist.views").joinpath("static", name).read_bytes()


def _frame_values(frame: PageFrame) -> dict[str, Any]:
    values: dict[str, Any] = msgspec.to_builtins(frame)
    return values | {
        "said": mask_and_bound_untrusted_text(frame.said),
        "footer": mask_and_bound_untrusted_text(frame.footer),
    }


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
    environment.globals["translate"] = translate
    environment.filters["whole"] = lambda number: format_number(round(number))
    environment.filters["markdown"] = render_markdown_html
    return environment

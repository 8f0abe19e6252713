"""Markdown of notes as HTML: headings, lists, tables, emphasis and code, and nothing that leads
anywhere. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from memorist.session_memory.notes_template import STRUCTURAL_MARK
from memorist.views.view_formatting import make_legible

_SHOWN_AS_TEXT = ("link", "image", "autolink", "reference")
"""Links stay plain text: their target is visible, and nothing can be clicked or loaded."""

_BADGE = '<span class="badge">from the transcript\'s structure</span>'


def render_markdown_html(text: str, top: int = 4) -> str:
    """Render the Markdown with its first-level headings as `<h4>` (or `top`); deeper levels end at
    `<h6>`.
    """
    reader = _markdown_renderer()
    tokens = reader.parse(make_legible(text))
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

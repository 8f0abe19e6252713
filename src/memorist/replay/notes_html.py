"""Render notes as HTML.

They quote untrusted text, so only headings, lists, tables, emphasis and code become markup. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from memorist.replay.legible import legible
from memorist.session_memory.sections import STRUCTURAL_MARK

_SHOWN_AS_TEXT = ("link", "image", "autolink", "reference")
"""Links stay plain text: their target is visible, and nothing can be clicked or loaded."""

_BADGE = '<span class="badge">from the transcript\'s structure</span>'


def notes_html(notes: str, top: int = 4) -> str:
    """Render the Markdown with its first-level headings as `<h4>` (or `top`); deeper levels end at
    `<h6>`.
    """
    reader = _reader()
    tokens = reader.parse(legible(notes))
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + top - 1)}"
    return str(reader.renderer.render(tokens, reader.options, {}))


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(_SHOWN_AS_TEXT)
    reader.add_render_rule("text", _text)
    return reader


def _text(_renderer: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, _env: EnvType) -> str:
    content = tokens[index].content
    return _BADGE if content.strip() == STRUCTURAL_MARK else escapeHtml(content)

"""Images and documents of one wire format as another takes them: links, sources, texts. Pure."""

from __future__ import annotations

from memorist.core.messages import DocumentBlock, ImageBlock, JsonObject

_PDF = "application/pdf"


def get_image_url(image: ImageBlock) -> str | None:
    """The image as a URL (`data:` for inline bytes); None when only a file id is known."""
    source = image.source
    kind = source.get("type")
    if kind == "image_url":
        holder = source.get("image_url")
        return _nonempty_text(holder.get("url")) if isinstance(holder, dict) else None
    if kind == "input_image":
        return _nonempty_text(source.get("image_url"))
    return _source_link(source)


def get_link_or_data_url(document: DocumentBlock) -> str | None:
    """The document as a URL (`data:` for inline bytes); None when it is plain text or only a file
    id is known.
    """
    source = document.source
    kind = source.get("type")
    if kind == "file":
        holder = source.get("file")
        return _nonempty_text(holder.get("file_data")) if isinstance(holder, dict) else None
    if kind == "input_file":
        return _nonempty_text(source.get("file_data")) or _nonempty_text(source.get("file_url"))
    return _source_link(source)


def get_document_text(document: DocumentBlock) -> str | None:
    """The text of a document that the wire carries as plain text."""
    source = document.source
    return _nonempty_text(source.get("data")) if source.get("type") == "text" else None


def get_document_name(document: DocumentBlock) -> str:
    """The document's file name, or a default; OpenAI requires one with inline bytes."""
    holder = document.source.get("file")
    holders = (document.extra, document.source, holder if isinstance(holder, dict) else None)
    for source in holders:
        for key in ("filename", "title"):
            if source is not None and (name := _nonempty_text(source.get(key))):
                return name
    return "document.pdf"


def build_anthropic_source(link: str) -> JsonObject:
    """A link as Anthropic's source object: base64 for a `data:` URL, otherwise the URL."""
    head, comma, data = link.partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return {"type": "base64", "media_type": head[5:-7] or _PDF, "data": data}
    return {"type": "url", "url": link}


def _source_link(source: JsonObject) -> str | None:
    if source.get("type") == "url":
        return _nonempty_text(source.get("url"))
    data = _nonempty_text(source.get("data"))
    if source.get("type") != "base64" or data is None:
        return None
    return f"data:{source.get('media_type') or _PDF};base64,{data}"


def _nonempty_text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None

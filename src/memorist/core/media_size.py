"""The size of pictures, audio, video and documents as providers count them: by pixels, seconds and
pages, never by the length of their base64. Pure.
"""

from __future__ import annotations

import base64
import math
import re
import zlib
from collections.abc import Iterator

MEDIA_TOKENS = 2_000
"""Tokens of a picture whose size cannot be read, and of a document whose pages cannot be counted
(Claude Code).
"""

MAX_PICTURE_EDGE = 2_576
"""Pixels to which Claude scales the longer edge of a picture down, from 4.7 on (before: 1,568)."""

PICTURE_PATCH_EDGE = 28
"""Pixels of a square of a picture that is one token for Claude. OpenAI's newer models count squares
of 32, their older ones 170 tokens for each 512.
"""

PICTURE_PATCHES_PER_TOKEN = 1.55
"""Such squares for one token before the factor of the model's family, which was measured on words:
what comes of it is 0.92 to 1.11 times what Claude counts, and 0.88 times what OpenAI does.
"""

MAX_PICTURE_TOKENS = 2_500
"""Most tokens of a picture before the factor: 4,300 for Claude from 4.7 on, which counts up to
4,784, and 2,625 for OpenAI's newer models, which count 2,500. Older ones count 1,568 and less.
"""

_HEAD_CHARS = 200_000
"""Characters of base64 in which a picture's size is looked for: in front of a JPEG's may be a small
picture.
"""

PAGE_TOKENS = 1_500
"""Tokens of one page of a PDF, before the factor of the model's family. Anthropic's documentation
says 1,500 to 3,000 for the text of a page, and its picture; Gemini counts 258 to 560 a page.
"""

AUDIO_TOKENS = 25
"""Tokens of a second of audio, before the factor. Gemini's documentation says 32; the
other providers whose rates were seen count less. Our choice.
"""

VIDEO_TOKENS = 250
"""Tokens of a second of video, before the factor: Gemini's documentation says about 300."""

BYTES_PER_SECOND = {"pcm": 48_000, "pcm16": 48_000, "wav": 48_000, "l16": 48_000, "mp3": 16_000}
"""Of audio without a readable header: 24 kHz with 16 bits, and MP3 with 128 kbit/s."""
COMPRESSED_BYTES_PER_SECOND = 8_000
"""Of other audio formats: 64 kbit/s, above what speech mostly has."""
VIDEO_BYTES_PER_SECOND = 125_000
"""Of a video whose length cannot be read: 1 Mbit/s."""

MIN_MEDIA_CHARS = 256
"""Characters of base64 from which a text beside a media type counts as media, not as words."""
MAX_INFLATED_BYTES = 4_000_000
"""Of each compressed object stream of a PDF: a page's entry takes some hundred bytes."""

_DATA_URL = re.compile(r"data:([\w.+-]*/?[\w.+-]*)[^,]{0,80};base64,")
_BASE64_START = re.compile(rf"[A-Za-z0-9+/_=-]{{{MIN_MEDIA_CHARS}}}")
_TYPE_KEYS = ("media_type", "mime_type", "mimeType", "format", "type", "filename")
_AUDIO = re.compile(r"audio|(?<![a-z])(wav|mp3|pcm\d*|opus|flac|ogg|m4a|aac|g711\w*)(?![a-z])")
_VIDEO = re.compile(r"video|(?<![a-z])(mp4|mov|webm|mkv|mpeg)(?![a-z])")
_TEXT = re.compile(r"text/|(?<![a-z])(json|csv|xml|markdown|html)(?![a-z])")
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""Markers of the segments of a JPEG that say its size."""
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_OBJECT_STREAM = re.compile(rb"/ObjStm\b.{0,400}?stream\r?\n", re.DOTALL)


def estimate_media_tokens(data: str, media_type: str) -> int:
    """Tokens of base64 (also as a `data:` URL) of this media type, or of a format's bare name."""
    found = _DATA_URL.match(data)
    media_type = (found.group(1) if found and found.group(1) else media_type).lower()
    data = data[found.end() :] if found else data
    if "pdf" in media_type or data.startswith("JVBERi0"):  # %PDF-
        return _count_pdf_pages(data) * PAGE_TOKENS or MEDIA_TOKENS
    if _AUDIO.search(media_type):
        return round(_measure_audio_seconds(data, media_type) * AUDIO_TOKENS)
    if _VIDEO.search(media_type):
        return round(_measure_video_seconds(data) * VIDEO_TOKENS)
    if _TEXT.search(media_type):
        return len(data) * 3 // 16
    return _estimate_picture_tokens(data)


def _estimate_picture_tokens(data: str) -> int:
    """Tokens of a picture by its pixels; `MEDIA_TOKENS` where its header does not say them."""
    width, height = _read_picture_size(_decode(data[:_HEAD_CHARS]))
    if not width or not height:
        return MEDIA_TOKENS
    scale = min(1.0, MAX_PICTURE_EDGE / max(width, height)) / PICTURE_PATCH_EDGE
    patches = math.ceil(width * scale) * math.ceil(height * scale)
    return min(MAX_PICTURE_TOKENS, math.ceil(patches / PICTURE_PATCHES_PER_TOKEN))


def _read_picture_size(head: bytes) -> tuple[int, int]:
    """Width and height in the header of a PNG, GIF, WebP or JPEG file; zeros where it has none."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    if head.startswith(b"GIF8"):
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _read_webp_size(head)
    return _read_jpeg_size(head) if head.startswith(b"\xff\xd8") else (0, 0)


def _read_webp_size(head: bytes) -> tuple[int, int]:
    match head[12:16]:
        case b"VP8X":
            return (
                int.from_bytes(head[24:27], "little") + 1,
                int.from_bytes(head[27:30], "little") + 1,
            )
        case b"VP8L":
            bits = int.from_bytes(head[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case _:
            return (
                int.from_bytes(head[26:28], "little") & 0x3FFF,
                int.from_bytes(head[28:30], "little") & 0x3FFF,
            )


def _read_jpeg_size(head: bytes) -> tuple[int, int]:
    """What the frame header of a JPEG says, behind its other segments."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        if head[at + 1] in _JPEG_FRAMES:
            return (
                int.from_bytes(head[at + 7 : at + 9], "big"),
                int.from_bytes(head[at + 5 : at + 7], "big"),
            )
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return 0, 0


def iterate_base64_media_in_json(value: object, media_type: str = "") -> Iterator[tuple[str, str]]:
    """Yield base64 in JSON, with its media type: as `data:` URLs say it, or the keys beside it."""
    if isinstance(value, dict):
        named = " ".join(
            value[key].lower() for key in _TYPE_KEYS if isinstance(value.get(key), str)
        )
        for each in value.values():
            yield from iterate_base64_media_in_json(each, f"{media_type} {named}".strip())
    elif isinstance(value, list | tuple):
        for each in value:
            yield from iterate_base64_media_in_json(each, media_type)
    elif isinstance(value, str) and (_DATA_URL.match(value) or _is_media(value, media_type)):
        yield value, media_type


def _is_media(value: str, media_type: str) -> bool:
    kinds = ("image", "pdf")
    named = any(kind in media_type for kind in kinds) or _AUDIO.search(media_type)
    return bool(named or _VIDEO.search(media_type)) and _BASE64_START.match(value) is not None


def _decode(data: str) -> bytes:
    try:
        return base64.b64decode(data + "=" * (-len(data) % 4))
    except ValueError:
        return b""


def _count_pdf_pages(data: str) -> int:
    """Pages of a PDF; 0 where they are not found, as in one that is encrypted."""
    content = _decode(data)
    pages = len(_PAGE.findall(content))
    if not pages:
        for match in _OBJECT_STREAM.finditer(content):
            try:
                inflated = zlib.decompressobj().decompress(
                    memoryview(content)[match.end() :], MAX_INFLATED_BYTES
                )
            except zlib.error:
                continue
            pages += len(_PAGE.findall(inflated))
    return pages


def _measure_audio_seconds(data: str, media_type: str) -> float:
    head, size = _decode(data[:64]), len(data) * 3 // 4
    if head.startswith(b"RIFF") and len(head) >= 32:
        return size / max(1, int.from_bytes(head[28:32], "little"))
    if head[4:8] == b"ftyp":
        return _read_mp4_seconds(data) or size / COMPRESSED_BYTES_PER_SECOND
    names = re.findall(r"\w+", media_type)
    known = (BYTES_PER_SECOND[name] for name in names if name in BYTES_PER_SECOND)
    return size / next(known, COMPRESSED_BYTES_PER_SECOND)


def _measure_video_seconds(data: str) -> float:
    return _read_mp4_seconds(data) or len(data) * 3 / 4 / VIDEO_BYTES_PER_SECOND


def _read_mp4_seconds(data: str) -> float:
    """What the header of an MP4 file says of its length; 0 where it is not found."""
    content = _decode(data)
    at = content.find(b"mvhd")
    if at < 0:
        return 0.0
    width = 8 if content[at + 4 : at + 5] == b"\x01" else 4
    start = at + 8 + 2 * width
    scale = int.from_bytes(content[start : start + 4], "big")
    return int.from_bytes(content[start + 4 : start + 4 + width], "big") / scale if scale else 0.0

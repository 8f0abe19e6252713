"""Counting tokens: a provider's numbers first, estimates for what came after."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.core.messages import (
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    TextBlock,
    ToolResult,
    ToolUse,
    Usage,
)
from memorist.core.token_count import (
    ContextMeter,
    estimate_message_tokens,
    estimate_text_tokens,
    get_token_factor,
)
from memorist.formats.openai_chat import decode_content_part


def message(text: str, **more: object) -> Message:
    made: dict[str, Any] = {
        "id": text[:8],
        "role": "user",
        "blocks": (TextBlock(text),),
        "origin": Origin.USER,
        **more,
    }
    return Message(**made)


def reply(text: str, reply_id: str, usage: Usage | None = None) -> Message:
    return message(text, role="assistant", origin=Origin.MODEL, reply_id=reply_id, usage=usage)


def test_a_token_is_four_bytes_and_chinese_is_not_undercounted() -> None:
    """Bytes are counted, so a Chinese sign weighs three quarters of a token."""
    assert estimate_text_tokens("abcd" * 100) == 100
    assert estimate_text_tokens("汉字" * 100) == 150


@pytest.mark.parametrize(
    ("model", "factor"),
    [
        ("claude-opus-4-6", 1.42),
        ("claude-sonnet-4-20250514", 1.42),
        ("claude-opus-4-5-20251101", 1.42),
        ("claude-opus-4-7", 1.72),
        ("claude-opus-5", 1.72),
        ("gpt-5.1-codex", 1.05),
        ("qwen3", 1.2),
    ],
)
def test_families_have_the_factor_that_was_measured(model: str, factor: float) -> None:
    """Plain characters / 4 is too low on Claude by what parts.md measured."""
    assert get_token_factor(model) == factor


def test_a_picture_that_cannot_be_read_counts_flat_and_a_call_counts_its_arguments() -> None:
    """A base64 payload is not text."""
    picture = message("", blocks=(ImageBlock({"data": "A" * 1_000_000}),))
    call = message("", blocks=(ToolUse("t1", "Read", {"path": "x" * 400}),))

    assert estimate_message_tokens(picture) == 2_000
    assert 100 <= estimate_message_tokens(call) <= 110


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + width.to_bytes(4, "big") + height.to_bytes(4, "big")


def _jpeg(width: int, height: int) -> bytes:
    thumbnail = b"\xff\xe1" + (40_002).to_bytes(2, "big") + bytes(40_000)
    sizes = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    return b"\xff\xd8" + thumbnail + b"\xff\xc2\0\x11\x08" + sizes + bytes(99)


def _gif(width: int, height: int) -> bytes:
    return b"GIF89a" + width.to_bytes(2, "little") + height.to_bytes(2, "little")


def _webp(kind: bytes, width: int, height: int) -> bytes:
    match kind:
        case b"VP8X":
            sizes = (
                bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
            )
        case b"VP8L":
            sizes = b"\x2f" + (width - 1 | height - 1 << 14).to_bytes(4, "little")
        case _:
            sizes = bytes(6) + width.to_bytes(2, "little") + height.to_bytes(2, "little")
    return b"RIFF\0\0\0\0WEBP" + kind + bytes(4) + sizes


PICTURES = [
    _png, _jpeg, _gif, partial(_webp, b"VP8X"), partial(_webp, b"VP8L"), partial(_webp, b"VP8 "),
]  # fmt: skip


@pytest.mark.parametrize("make", PICTURES)
@pytest.mark.parametrize(
    ("width", "height", "claude"),
    [(512, 320, 228), (1092, 1092, 1_521), (200, 2_000, 576), (2_576, 1_449, 4_784), (9, 9, 1)],
)
def test_a_picture_counts_by_its_pixels(
    make: Callable[[int, int], bytes], width: int, height: int, claude: int
) -> None:
    """In every format and on every wire: about what Claude counts for 28 × 28 pixels each, whatever
    the bytes are.
    """
    data = _base64(make(width, height) + bytes(300))
    for source in (
        {"type": "base64", "media_type": "image/png", "data": data},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{data}"},
    ):
        picture = message("", blocks=(ImageBlock(source),))
        # Models up to 4.6 scale larger ones down further.
        for model in ("claude-opus-4-6", "claude-opus-4-8")[max(width, height) > 1_568 :]:
            counted = estimate_message_tokens(picture, get_token_factor(model))
            assert 0.85 * claude <= counted <= 1.15 * claude + 2


def test_a_picture_with_a_broken_header_counts_flat() -> None:
    """A JPEG without its size, an empty PNG, a size of nothing."""
    for content in (b"\xff\xd8\xff\xe1\xff\xff", b"\x89PNG\r\n\x1a\n", _png(0, 5), b"\xff\xd8"):
        source = {"media_type": "image/png", "data": _base64(content + bytes(300))}
        if content == b"\x89PNG\r\n\x1a\n":
            source["data"] = _base64(content)
        assert estimate_message_tokens(message("", blocks=(ImageBlock(source),))) == 2_000


WAV = b"RIFF" + bytes(24) + (32_000).to_bytes(4, "little") + bytes(32_000 * 60)
PAGES = b"<</Type /Page /Parent 2 0 R>>" * 30 + b"<</Type /Pages /Count 30>>"
PDF = b"%PDF-1.4\n" + PAGES + bytes(900_000)
PACKED_PDF = (
    b"%PDF-1.5\n<</Type /ObjStm /Filter /FlateDecode>>stream\n"
    + zlib.compress(PAGES)
    + bytes(900_000)
)
MP4 = b"ftyp" + bytes(99) + b"mvhd" + bytes(12) + b"\0\0\x03\xe8\0\0\xea\x60" + bytes(900_000)


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        ({"type": "input_audio", "input_audio": {"data": _base64(WAV), "format": "wav"}}, 1_500),
        ({"type": "audio", "mimeType": "audio/wav", "data": _base64(WAV)}, 1_500),
        ({"type": "input_audio", "input_audio": {"data": "A" * 900_000, "format": "opus"}}, 2_100),
        (
            {"type": "video_url", "video_url": {"url": f"data:video/mp4;base64,{_base64(MP4)}"}},
            15_000,
        ),
        ({"type": "image_generation_call", "result": "A" * 900_000}, 2_000),
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": _base64(PDF)}}, 45_000),
        (
            {
                "type": "file",
                "file": {"file_data": f"data:application/pdf;base64,{_base64(PACKED_PDF)}"},
            },
            45_000,
        ),
        ({"type": "file", "file": {"file_id": "file-1"}}, 2_000),
        ({"type": "reasoning", "encrypted_content": "A" * 40_000}, 10_000),
    ],
)
def test_media_count_by_their_seconds_and_pages(part: dict[str, Any], tokens: int) -> None:
    """Three megabytes of speech are some minutes, not a million tokens; what is not known to be
    media still counts by its length.
    """
    counted = estimate_message_tokens(message("", blocks=(decode_content_part(part),)))

    assert tokens <= counted <= tokens * 1.1


def test_the_words_of_a_text_document_count() -> None:
    """Its source is plain text in the request."""
    text = {"type": "text", "media_type": "text/plain", "data": "word " * 8_000}

    assert estimate_message_tokens(message("", blocks=(DocumentBlock(text),))) > 9_000


def test_a_counter_of_the_host_counts_messages_instructions_and_calls() -> None:
    """What it says of the texts so far is also the factor for all other estimates."""
    meter = ContextMeter(count_tokens=lambda text: len(text.split()))
    meter.assume_prefix(["You are brief."], limit=5_000)
    meter.add(message("one two three"))
    meter.add(message("", blocks=(ToolUse("t1", "Read", {"path": "a b"}),)))
    assert meter.tokens == 3 + 3 + 3

    meter.add(message("words " * 4_000))
    assert 0.6 < meter.calibrated_factor < 0.7


@pytest.mark.covers("SM-2")
def test_usage_replaces_the_estimate_and_what_follows_is_added() -> None:
    """The newest usage is the truth; later messages are estimated on top of it."""
    meter = ContextMeter()
    meter.add(message("x" * 400))
    meter.add(
        reply("y" * 400, "r1", Usage(input=10, cache_read=9_000, cache_write=500, output=100))
    )
    meter.add(message("z" * 400))

    assert meter.tokens == 9_610 + 100


def test_results_between_the_records_of_one_reply_stay_counted() -> None:
    """A parallel call's result is not part of the usage that the reply's last record carries."""
    meter = ContextMeter()
    meter.add(reply("a" * 40, "r1"))
    meter.add(
        message("", blocks=(ToolResult("t1", (TextBlock("r" * 4_000),)),), origin=Origin.TOOL)
    )
    meter.add(reply("b" * 40, "r1", Usage(input=5_000, output=50)))

    assert meter.tokens == 5_050 + 1_000


def test_a_server_that_gives_all_replies_one_id_is_measured_like_others() -> None:
    """What stood before an earlier reply is in the later one's count, and not added to it."""
    meter = ContextMeter()
    for turn in range(20):
        meter.add(message("r" * 4_000))
        meter.add(reply("a" * 40, "chat-1", Usage(input=1_000 * (turn + 1), output=10)))

    assert meter.tokens == 20_010


@given(st.lists(st.text(max_size=200), max_size=30))
def test_adding_messages_never_makes_the_context_smaller(texts: list[str]) -> None:
    """Growth is monotone as long as no provider says otherwise."""
    meter, sizes = ContextMeter(1.42), [0]
    for text in texts:
        meter.add(message(text))
        sizes.append(meter.tokens)

    assert sizes == sorted(sizes)


def test_a_restart_keeps_only_the_fixed_prefix() -> None:
    """After a compaction the instructions and tools are still there."""
    meter = ContextMeter()
    meter.add(message("x" * 4_000))
    meter.add(reply("y" * 400, "r1", Usage(input=21_000, output=100)))
    meter.reset_to_fixed_prefix()

    assert meter.tokens == 21_100 - 1_100


@pytest.mark.covers("CP-2")
def test_a_count_that_comes_after_the_results_of_its_reply_leaves_them_counted() -> None:
    """Codex writes the count of a call behind the answers of its tools; they are not part of it."""
    meter = ContextMeter()
    meter.add(message("x" * 400))
    meter.add(reply("call", "r1"))
    meter.add(
        message("", blocks=(ToolResult("t1", (TextBlock("r" * 4_000),)),), origin=Origin.TOOL)
    )
    meter.record_measurement(5_000)

    assert meter.tokens == 5_000 + 1_000


def thinking_turn(meter: ContextMeter, given: int, *, of: str) -> None:
    """A user's message and the answer to it, of 1,000 tokens of which 900 are hidden reasoning."""
    meter.add(message("What next?"))
    meter.add(reply("This.", of, Usage(input=given, output=1_000, reasoning=900)))


@pytest.mark.parametrize(("model", "next_request"), [("gpt-5.5", 20_100), ("gpt-5.6-sol", 21_000)])
def test_hidden_reasoning_of_a_turn_leaves_the_context_as_the_model_has_it(
    model: str, next_request: int
) -> None:
    """Codex counts the request that begins a turn without the reasoning of the turn before, with
    models up to 5.5; within the turn the reasoning counts.
    """
    meter = ContextMeter()
    meter.set_model(model)
    thinking_turn(meter, 20_000, of="r1")
    within = meter.tokens
    meter.add(message("What next?"))

    assert within == 21_000
    assert meter.tokens == next_request + 3


@pytest.mark.parametrize(("model", "kept"), [("gpt-5.5", True), ("gpt-5.6", False), ("o9", True)])
def test_counts_say_more_about_hidden_reasoning_than_the_name_of_the_model(
    model: str, kept: bool
) -> None:
    """One turn shows what the provider does; the next is predicted by that."""
    meter = ContextMeter()
    meter.set_model(model)
    for turn in range(2):
        thinking_turn(meter, 20_000 + turn * (1_003 if kept else 103), of=f"r{turn}")
    before = meter.tokens
    meter.add(message("What next?"))

    assert meter.tokens - before == 3 - (0 if kept else 900)


def test_a_session_seen_from_its_middle_on_can_become_small() -> None:
    """What was there before the first message that was seen counts as instructions and tools, until
    a count says that it is gone.
    """
    meter = ContextMeter()
    meter.add(message("x" * 400))
    meter.add(reply("y" * 400, "r1", Usage(input=112_000, output=100)))
    meter.add(reply("z" * 400, "r2", Usage(input=30_000, output=100)))

    assert meter.tokens == 30_100

    meter.reset_to_fixed_prefix()

    assert meter.tokens <= 30_100


def test_instructions_and_tools_count_by_an_estimate_until_a_provider_counted() -> None:
    """The newest estimate holds, also after the history was replaced, and no more than the limit; a
    measured context takes its place for good.
    """
    meter = ContextMeter()
    meter.assume_prefix(["s" * 4_000], limit=5_000)
    meter.add(message("x" * 400))
    assert meter.tokens == 1_100

    meter.assume_prefix(["s" * 36_000], limit=5_000)
    assert meter.tokens == 5_100

    meter.reset_to_fixed_prefix()
    assert meter.tokens == 5_000

    meter.add(message("x" * 400))
    meter.add(reply("y" * 400, "r1", Usage(input=2_000, output=100)))
    meter.assume_prefix(["s" * 36_000], limit=5_000)
    assert meter.tokens == 2_100
